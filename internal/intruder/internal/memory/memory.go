// Package memory tells benchmarks how much memory a computation takes beside the
// data that it is given.
package memory

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// interval is short beside the seconds for which what is measured holds its memory.
const interval = time.Millisecond

// Above notes what the process holds, after a collection; the function that it
// returns says, once, how many bytes more it has held at most since. Held is what
// the runtime has from the system, garbage that waits for its collection included,
// without what it has given back.
func Above() func() int64 {
	debug.FreeOSMemory()
	before := inUse()
	peak := before
	stop := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				peak = max(peak, inUse())
			}
		}
	})
	return func() int64 {
		close(stop)
		watcher.Wait()
		return max(peak, inUse()) - before
	}
}

func inUse() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()) - int64(samples[1].Value.Uint64())
}
