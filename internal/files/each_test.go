package files

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Each element is processed once, several in parallel and never more than the limit.
func TestEachIsDoneOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, atOnce - 1, atOnce, atOnce + 1, 1000} {
		synctest.Test(t, func(t *testing.T) {
			done := make([]atomic.Int32, n)
			var now, most atomic.Int32
			if err := Each(n, func(i int) error {
				done[i].Add(1)
				if k := now.Add(1); k > most.Load() {
					most.Store(k)
				}
				time.Sleep(time.Second)
				now.Add(-1)
				return nil
			}); err != nil {
				t.Error(err)
			}
			for i := range done {
				if k := done[i].Load(); k != 1 {
					t.Errorf("%d of %d was done %d times", i, n, k)
				}
			}
			if k := int(most.Load()); k != min(n, atOnce) {
				t.Errorf("%d of %d were done at once", k, n)
			}
		})
	}
}

// The error is that of the first failing file in order, even if a later one fails earlier, and
// files after an error are not started.
func TestEachReturnsTheFirstError(t *testing.T) {
	const n = 100
	for _, fails := range [][]int{{0}, {n - 1}, {5, 6}, {6, 5, 7}, {40, 90}} {
		synctest.Test(t, func(t *testing.T) {
			var begun atomic.Int32
			err := Each(n, func(i int) error {
				begun.Add(1)
				for k, f := range fails {
					if f == i {
						time.Sleep(time.Duration(len(fails)-k) * time.Second) // the last element fails first
						return fmt.Errorf("%d", i)
					}
				}
				return nil
			})
			first := n
			for _, f := range fails {
				first = min(first, f)
			}
			if err == nil || err.Error() != fmt.Sprint(first) {
				t.Errorf("%v: got %v", fails, err)
			}
		})
	}
	var begun atomic.Int32
	bad := errors.New("bad")
	err := Each(1000, func(i int) error {
		begun.Add(1)
		return bad
	})
	if !errors.Is(err, bad) || begun.Load() > atOnce {
		t.Errorf("%d were started after the first failure: %v", begun.Load(), err)
	}
}
