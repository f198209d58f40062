package cores

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// onEach runs a test on several numbers of cores.
func onEach(t *testing.T, test func(t *testing.T, cores int)) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, n := range []int{1, 2, 3, 16} {
		runtime.GOMAXPROCS(n)
		test(t, n)
	}
}

// Every call is made once, and has returned when Each returns.
func TestEach(t *testing.T) {
	onEach(t, func(t *testing.T, cores int) {
		for _, n := range []int{0, 1, 2, cores - 1, cores, cores + 1, 1000} {
			calls := make([]int, n)
			Each(n, func(i int) { calls[i]++ })
			if slices.ContainsFunc(calls, func(c int) bool { return c != 1 }) {
				t.Errorf("%d cores, %d calls: %v", cores, n, calls)
			}
		}
	})
}

// With as many calls as cores, all are under way at once: each waits for all others.
func TestEachIsSideBySide(t *testing.T) {
	onEach(t, func(t *testing.T, cores int) {
		arrived := make(chan struct{}, cores)
		all := make(chan struct{})
		Each(cores, func(int) {
			arrived <- struct{}{}
			if len(arrived) == cores {
				close(all)
			}
			<-all
		})
	})
}

// Parts are those of the size, in their places, with the rest at last.
func TestParts(t *testing.T) {
	onEach(t, func(t *testing.T, cores int) {
		for _, n := range []int{0, 1, 9, 10, 11, 20, 95} {
			covered := make([]int, n)
			Parts(n, 10, func(from, to int) {
				if from%10 != 0 || to != min(n, from+10) {
					t.Errorf("of %d the part from %d to %d", n, from, to)
				}
				for i := from; i < to; i++ {
					covered[i]++
				}
			})
			if slices.ContainsFunc(covered, func(c int) bool { return c != 1 }) {
				t.Errorf("of %d: %v", n, covered)
			}
		}
	})
}

// A stop is asked by one goroutine at a time, and not again once it has said so.
func TestAsked(t *testing.T) {
	onEach(t, func(t *testing.T, cores int) {
		calls := 0
		asked := Asked(func() bool { calls++; return calls == 500 })
		var stopped atomic.Int64
		Each(1000, func(int) {
			if asked() {
				stopped.Add(1)
			}
		})
		if calls != 500 || stopped.Load() != 501 {
			t.Errorf("%d cores: asked %d times, %d are stopped", cores, calls, stopped.Load())
		}
	})
	if Asked(nil)() {
		t.Error("nil stops")
	}
}
