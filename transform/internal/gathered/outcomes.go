package gathered

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
	"unsafe"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// outcomes caches what a mask finds for all values, so that the replicates of a chain compute it once.
type outcomes struct {
	Fits    Fits // models
	outcome allOutcome
}

// OutcomesOf returns those of mask i.
func OutcomesOf(c *core.Chain, i int) *outcomes {
	of, _ := c.Outcomes.LoadOrStore(i, new(outcomes))
	return of.(*outcomes)
}

// allOutcome is the result of a mask that draws nothing for some values.
type allOutcome struct {
	mu     sync.Mutex
	of     Digest // the values and strata
	values [][]float64
	err    *decision.Refusal
}

func (o *outcomes) of(g *Data, all Masker) *decision.Refusal {
	outcome := &o.outcome
	of := g.Sum()
	outcome.mu.Lock()
	defer outcome.mu.Unlock()
	if outcome.values == nil || outcome.of != of {
		if outcome.err = g.MaskBy(all); g.Stop.Now() {
			outcome.values = nil // a later replicate, which is not cancelled, must not use unfinished values
			return outcome.err
		}
		outcome.of, outcome.values = of, slices.Clone(g.Values)
	}
	copy(g.Values, outcome.values) // nobody writes to them any more
	return outcome.err
}

// Digest identifies gathered data within the process: 128 bits, of two functions that are drawn when it begins.
type Digest [16]byte

var digestSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// with returns the digest of what d is of, followed by bytes.
func (d Digest) with(buf []byte) (of Digest) {
	both := append(make([]byte, 0, 2*len(d)), d[:]...)
	for _, seed := range digestSeeds {
		both = binary.LittleEndian.AppendUint64(both, maphash.Bytes(seed, buf))
	}
	for k, seed := range digestSeeds {
		binary.LittleEndian.PutUint64(of[8*k:], maphash.Bytes(seed, both))
	}
	return of
}

// Sum returns a digest of the gathered data.
func (g *Data) Sum() (sum Digest) {
	for _, values := range slices.Concat(g.Values, g.On) {
		sum = sum.with(bytesIn(values))
	}
	return sum.with(bytesIn(g.Strata))
}

// bytesIn returns the bytes of numbers, as they lie in memory.
func bytesIn[T float64 | int32](values []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(one)))
}
