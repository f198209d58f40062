// Package memory tells how much memory this process may use, so that what would not fit can be
// refused before the system ends the process.
package memory

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Own is what the program takes by itself, beside what it is asked to hold: with so many bytes less than
// the system's limit, a job of ten columns runs.
const Own = 45e6

// Least is the limit below which not even masks that take each record by itself can be used.
const Least int64 = 64e6

var (
	found = sync.OnceValue(func() int64 { return limit(os.DirFS("/")) })
	given atomic.Int64 // 0: none
)

// Limit returns how many bytes of memory this process can have: the least of the machine's memory,
// of what its control groups allow, and of what was given to Keep. The system is asked once. Where nothing
// is known it is math.MaxInt64. What other processes use is not taken off.
func Limit() int64 {
	if n := given.Load(); n > 0 {
		return min(n, found())
	}
	return found()
}

// Room returns how many of them are left for what is held.
func Room() int64 { return max(0, Limit()-Own) }

// Keep makes the process keep to so many bytes, or to the system's limit if they are 0 or more than that:
// as the limit comes near, garbage is collected more often. A tenth is left for what is not the collector's.
func Keep(bytes int64) {
	given.Store(bytes)
	if n := Limit(); n < math.MaxInt64 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(n / 100 * 85)
	}
}

func limit(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	if text, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		for line := range bytes.Lines(text) {
			if f := strings.Fields(string(line)); len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
				if kB, err := strconv.ParseInt(f[1], 10, 64); err == nil && kB > 0 && kB < math.MaxInt64>>10 {
					least = kB << 10
				}
			}
		}
	}
	text, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range bytes.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		switch {
		case len(f) < 3:
		case f[0] == "0" && f[1] == "":
			least = min(least, allowed(root, "sys/fs/cgroup", f[2], "memory.max"))
		case f[1] == "memory":
			least = min(least, allowed(root, "sys/fs/cgroup/memory", f[2], "memory.limit_in_bytes"))
		}
	}
	return least
}

// allowed returns the least that a group and those above it allow. In a container the path of
// the group may not be there, as the container's own is then the topmost.
func allowed(root fs.FS, mount, group, file string) int64 {
	least := int64(math.MaxInt64)
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		text, err := fs.ReadFile(root, path.Join(mount, dir, file))
		if n, wrong := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && wrong == nil && n > 0 {
			least = min(least, n)
		}
		if dir == "/" {
			return least
		}
	}
}
