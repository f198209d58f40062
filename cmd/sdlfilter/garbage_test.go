package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The garbage percentage is the usual one up to 100 MB, then about 100 MB, then what is left of 500
// MB, and never less than 7 %.
func TestSharesOfGarbage(t *testing.T) {
	for _, c := range []struct {
		percent int
		live    uint64
		want    int
	}{{40, 0, 40}, {40, 250 << 20, 40}, {40, 257 << 20, 38}, {40, 400 << 20, 25}, {40, 430 << 20, 16}, {40, 470 << 20, 7},
		{40, 500 << 20, 7}, {40, 800 << 20, 7}, {40, math.MaxUint64, 7}, {100, 90 << 20, 100}, {100, 200 << 20, 50}} {
		if got := garbagePercent(c.percent, c.live); got != c.want {
			t.Errorf("%d %% of %d MB: %d, want %d", c.percent, c.live>>20, got, c.want)
		}
	}
}

// The percentage follows the memory in use, also downwards, until it is stopped.
func TestGarbageFollows(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	share := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	until := func(want int) {
		t.Helper()
		for range 500 {
			if runtime.GC(); share() == want {
				return
			}
			time.Sleep(10 * time.Millisecond) // the finalizer runs in a separate goroutine
		}
		t.Fatalf("%d %%, want %d", share(), want)
	}
	var g garbage
	g.collect(40)
	much := make([]byte, 1<<30) // never touched: uses no memory
	until(leastPercent)
	runtime.KeepAlive(much)
	much = nil
	until(40)
	g.leave(200)
	for range 5 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	if share() != 200 {
		t.Errorf("%d %% where it was left at 200", share())
	}
}
