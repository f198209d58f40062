package memory

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

func TestAbove(t *testing.T) {
	data := touched(64 << 20)
	above := Above()
	extra := touched(32 << 20)
	got := above()
	runtime.KeepAlive(extra)
	runtime.KeepAlive(data)
	// The runtime allocates its own arenas and spans: some megabytes more, and fewer if a span was
	// already allocated when the measurement began.
	if got < 31<<20 || got > 48<<20 {
		t.Errorf("32 MiB beside 64 MiB of data: found %d bytes above", got)
	}
}

// Memory that was freed before the end counts.
func TestAboveSeesWhatIsGone(t *testing.T) {
	above := Above()
	func() {
		extra := touched(32 << 20)
		eventually.Elapse(t, 50*interval) // memory is sampled once per interval
		runtime.KeepAlive(extra)
	}()
	debug.FreeOSMemory()
	if got := above(); got < 31<<20 {
		t.Errorf("32 MiB that are gone: found %d bytes above", got)
	}
}

func touched(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	return b
}
