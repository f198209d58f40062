package transform

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
	"unsafe"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// allOutcomes caches the results of masks that draw nothing for all values, so that the
// replicates of a chain compute them once.
type allOutcomes struct {
	mu     sync.Mutex
	masks  map[int]*allOutcome
	fitted map[int]*allFits
}

// fits returns the models of mask i.
func (o *allOutcomes) fits(i int) *allFits {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fitted == nil {
		o.fitted = map[int]*allFits{}
	}
	if o.fitted[i] == nil {
		o.fitted[i] = &allFits{}
	}
	return o.fitted[i]
}

// allOutcome is the result of a mask for some values.
type allOutcome struct {
	mu     sync.Mutex
	of     digest // the values and strata
	values [][]float64
	err    *decision.Refusal
}

func (o *allOutcomes) of(mask int, g *gatheredData, all allMasker) *decision.Refusal {
	o.mu.Lock()
	if o.masks == nil {
		o.masks = map[int]*allOutcome{}
	}
	outcome := o.masks[mask]
	if outcome == nil {
		outcome = &allOutcome{}
		o.masks[mask] = outcome
	}
	o.mu.Unlock()
	of := g.sum()
	outcome.mu.Lock()
	defer outcome.mu.Unlock()
	if outcome.values == nil || outcome.of != of {
		if outcome.err = g.maskBy(all); g.stop.Now() {
			outcome.values = nil // a later replicate, which is not cancelled, must not use unfinished values
			return outcome.err
		}
		outcome.of, outcome.values = of, slices.Clone(g.values)
	}
	copy(g.values, outcome.values) // nobody writes to them any more
	return outcome.err
}

// digest identifies gathered data within the process: 128 bits, of two functions that are drawn when it begins.
type digest [16]byte

var digestSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// with returns the digest of what d is of, followed by bytes.
func (d digest) with(buf []byte) (of digest) {
	both := append(make([]byte, 0, 2*len(d)), d[:]...)
	for _, seed := range digestSeeds {
		both = binary.LittleEndian.AppendUint64(both, maphash.Bytes(seed, buf))
	}
	for k, seed := range digestSeeds {
		binary.LittleEndian.PutUint64(of[8*k:], maphash.Bytes(seed, both))
	}
	return of
}

// sum returns a digest of the gathered data.
func (g *gatheredData) sum() (sum digest) {
	for _, values := range slices.Concat(g.values, g.on) {
		sum = sum.with(bytesIn(values))
	}
	return sum.with(bytesIn(g.strata))
}

// bytesIn returns the bytes of numbers, as they lie in memory.
func bytesIn[T float64 | int32](values []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(one)))
}
