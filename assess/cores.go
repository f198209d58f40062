package assess

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// onCores calls do(i) for every i below n, on all cores, and returns when all calls have.
func onCores(n int, do func(i int)) {
	if n == 1 {
		do(0)
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			defer bug.Guard()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
