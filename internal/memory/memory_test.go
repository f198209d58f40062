package memory

import (
	"math"
	"testing"
	"testing/fstest"
)

// The limit is the minimum of the machine's memory and the limits of all groups; unreadable limits
// are ignored.
func TestLimit(t *testing.T) {
	const meminfo = "MemFree: 1 kB\nMemTotal:       8192 kB\nSwapTotal: 5 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing":     {nil, math.MaxInt64},
		"the machine": {map[string]string{"proc/meminfo": meminfo}, 8 << 20},
		"a group": {
			map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
				"sys/fs/cgroup/a/b/memory.max": "4096\n"}, 4096},
		"the group above": {
			map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
				"sys/fs/cgroup/a/memory.max": "77\n"}, 77},
		"the topmost": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/memory.max": "78\n"}, 78},
		"the least": {
			map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "90\n",
				"sys/fs/cgroup/a/memory.max": "77\n", "sys/fs/cgroup/memory.max": "80\n"}, 77},
		"more than it has": {
			map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
				"sys/fs/cgroup/memory.max": "99999999999\n"}, 8 << 20},
		"an earlier kind": {
			map[string]string{"proc/self/cgroup": "3:cpu:/x\n4:memory:/x\n0::/\n",
				"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "55\n"}, 55},
		"another's": {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/b/memory.max": "55\n"},
			math.MaxInt64},
		"damaged": {
			map[string]string{"proc/meminfo": "MemTotal: x kB\nMemTotal: -4 kB\nMemTotal: 7 MB\n", "proc/self/cgroup": "0:\nx\n",
				"sys/fs/cgroup/memory.max": "-1"}, math.MaxInt64},
		"out of the mount": {map[string]string{"proc/self/cgroup": "0::/../../proc\n", "proc/memory.max": "5\n"},
			math.MaxInt64},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := limit(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := Limit(); got < 1<<20 {
		t.Errorf("this process can have %d bytes", got)
	}
}
