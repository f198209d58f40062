package transform

import (
	"crypto/sha256"
	"encoding/binary"
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
	of     [sha256.Size]byte // the values and strata
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

// sum returns a digest of the gathered data.
func (g *gatheredData) sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	var buf []byte
	for _, values := range slices.Concat(g.values, g.on) {
		for part := range slices.Chunk(values, 1<<13) {
			buf = buf[:0]
			for _, v := range part {
				buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(v))
			}
			h.Write(buf)
		}
	}
	for part := range slices.Chunk(g.strata, 1<<13) {
		buf = buf[:0]
		for _, v := range part {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(v))
		}
		h.Write(buf)
	}
	h.Sum(sum[:0])
	return sum
}
