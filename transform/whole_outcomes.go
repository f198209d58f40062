package transform

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"sync"
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
	err    *SurveyError
}

func (o *allOutcomes) of(mask int, g *gatheredData, all allMasker) *SurveyError {
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
		if outcome.err = g.maskBy(all); g.stop.now() {
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
	for k, seed := range digestSeeds {
		binary.LittleEndian.PutUint64(of[8*k:], maphash.Bytes(seed, append(buf, d[:]...)))
	}
	return of
}

// sum returns a digest of the gathered data.
func (g *gatheredData) sum() (sum digest) {
	buf := make([]byte, 0, 1<<16+len(sum))
	for _, values := range slices.Concat(g.values, g.on) {
		for part := range slices.Chunk(values, 1<<13) {
			buf = buf[:8*len(part)]
			for i, v := range part {
				binary.LittleEndian.PutUint64(buf[8*i:], math.Float64bits(v))
			}
			sum = sum.with(buf)
		}
	}
	for part := range slices.Chunk(g.strata, 1<<14) {
		buf = buf[:4*len(part)]
		for i, v := range part {
			binary.LittleEndian.PutUint32(buf[4*i:], uint32(v))
		}
		sum = sum.with(buf)
	}
	return sum
}
