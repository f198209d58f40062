// Package cores divides work whose parts do not depend on one another among all cores. The results of such work do not
// depend on their number: each part has its own place.
package cores

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// Each calls do(i) for every i below n, on all cores, and returns when all calls have. Where one core would do, the
// calls come in ascending order.
func Each(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	for range workers - 1 {
		wg.Go(func() {
			defer bug.Guard()
			work()
		})
	}
	work()
	wg.Wait()
}

// Parts calls do, on all cores, for the parts of size elements of the n from 0 on; the last has what is left.
func Parts(n, size int, do func(from, to int)) {
	Each((n+size-1)/size, func(i int) { do(i*size, min(n, (i+1)*size)) })
}

// Asked returns stop for use by several goroutines: it is called by one at a time, and no more once it has said so. A
// nil stop never does.
func Asked(stop func() bool) func() bool {
	if stop == nil {
		return func() bool { return false }
	}
	var mu sync.Mutex
	var stopped bool
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		stopped = stopped || stop()
		return stopped
	}
}
