package files

import (
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// atOnce is how many files are opened or looked at beside one another: each waits for the
// system, or for a server.
const atOnce = 8

// Each calls do for 0, 1, … n-1, several of them at once, and returns the error of the first in
// this order that failed, whatever the order in which they end. Behind one that failed
// no other is begun.
func Each(n int, do func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	errs := make([]error, n)
	var all sync.WaitGroup
	for range min(atOnce, n) {
		all.Go(func() {
			defer bug.Guard()
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = do(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
