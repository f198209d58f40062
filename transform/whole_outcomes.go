package transform

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

// allOutcomes are what masks that draw nothing have made of all values, for replicates: a
// chain and its replicates have them in common.
type allOutcomes struct {
	mu     sync.Mutex
	masks  map[int]*allOutcome
	fitted map[int]*allFits
}

// fits are the models of mask i.
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

// allOutcome is what a mask has made of values.
type allOutcome struct {
	mu     sync.Mutex
	of     [sha256.Size]byte // the values and strata
	values [][]float64
	err    *SurveyError
}

func (o *allOutcomes) of(mask int, g *gathered, all allMasker) *SurveyError {
	o.mu.Lock()
	if o.masks == nil {
		o.masks = map[int]*allOutcome{}
	}
	known := o.masks[mask]
	if known == nil {
		known = &allOutcome{}
		o.masks[mask] = known
	}
	o.mu.Unlock()
	of := g.sum()
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.values == nil || known.of != of {
		if known.err = g.maskBy(all); g.stop.now() {
			known.values = nil // a later replicate, which is not cancelled, must not take them over
			return known.err
		}
		known.of, known.values = of, slices.Clone(g.values)
	}
	copy(g.values, known.values) // nobody writes to them any more
	return known.err
}

// sum tells gathered values from others.
func (g *gathered) sum() (sum [sha256.Size]byte) {
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
