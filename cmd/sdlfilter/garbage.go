package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Where a lot of memory is in use, garbage is collected when there is less of it than the usual
// share: mostGarbage bytes, or what is left of muchMemory, but always leastPercent of what is in use.
// What takes so much are mostly numbers, in which the collector has nothing to follow.
const (
	mostGarbage  = 100 << 20
	muchMemory   = 500 << 20
	leastPercent = 7
)

// garbagePercent is the share of garbage for so many bytes in use; percent is the usual one.
func garbagePercent(percent int, live uint64) int {
	most := min(mostGarbage, muchMemory-min(live, muchMemory))
	return min(percent, max(leastPercent, int(most*100/max(live, 1))))
}

// garbage sets the share after each collection, until it is left alone.
type garbage struct {
	mu           sync.Mutex
	percent, now int
	ended        bool
}

// collect begins with the usual share.
func (g *garbage) collect(percent int) {
	g.percent, g.now = percent, percent
	debug.SetGCPercent(percent)
	runtime.SetFinalizer(new([16]byte), g.collected)
}

// collected is called with a mark that a collection has found, and has the next one find it again.
func (g *garbage) collected(mark *[16]byte) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended || live[0].Value.Kind() != metrics.KindUint64 {
		return
	}
	if p := garbagePercent(g.percent, live[0].Value.Uint64()); p != g.now {
		g.now = p
		debug.SetGCPercent(p)
	}
	runtime.SetFinalizer(mark, g.collected)
}

// leave sets the share for good.
func (g *garbage) leave(percent int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	debug.SetGCPercent(percent)
}

// collector is that of the process.
var collector garbage
