// Package memory tells how much memory this process may use, so that what would not fit can be
// refused before the system ends the process.
package memory

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
)

// Limit returns how many bytes of memory this process can have: the least of the machine's memory
// and of what its control groups allow. It is read once. Where nothing is known it is
// math.MaxInt64. What other processes use is not taken off.
var Limit = sync.OnceValue(func() int64 { return limit(os.DirFS("/")) })

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
