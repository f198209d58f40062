package tally

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// A count beyond the range of the counters is not lost: a tally with nearly full counters has every
// count as defined, after a merge and after encoding.
func TestCountersThatAreFull(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 1))
	want := map[uint64]uint64{}
	var a, b Tally
	room := []uint64{0, 1, 7, 8, 100, 5000, math.MaxUint32}
	for range 400 {
		values := make([]float64, rng.IntN(600))
		for i := range values {
			values[i] = math.Round(rng.NormFloat64()*50) / 4
		}
		weight := []uint64{1, rare}[rng.IntN(2)]
		of := []*Tally{&a, &b}[rng.IntN(2)]
		of.recent = max(of.recent, math.MaxUint32-room[rng.IntN(len(room))])
		of.add(values, weight)
		for _, v := range values {
			want[math.Float64bits(v)>>41] += weight
		}
	}
	// As many values as a counter cannot hold, in a new bin and in an existing one.
	for _, v := range []float64{3, 1e9} {
		a.put(BinCode(v), 1<<33)
		a.N += 1 << 33
		a.Seen += 1 << 33
		want[BinCode(v)] += 1 << 33
	}
	if a.over == nil || b.over == nil {
		t.Fatal("no counter was full")
	}
	var e wire.Encoder
	b.encode(&e)
	var again Tally
	d := wire.Decoder{Rest: e}
	if again.decode(&d); d.Failed {
		t.Fatal("decoding fails")
	}
	var left, right Tally
	left.merge(&a)
	left.merge(&again)
	right.merge(&b)
	right.merge(&a)
	for _, total := range []*Tally{&left, &right} {
		n, bins := uint64(0), 0
		total.Each(func(x Bin) bool {
			bins++
			n += x.Count
			if x.Count != want[x.Code] {
				t.Errorf("bin %x holds %d, want %d", x.Code, x.Count, want[x.Code])
			}
			return true
		})
		if bins != len(want) || n != total.N {
			t.Errorf("%d bins of %d, %d records of %d", bins, len(want), n, total.N)
		}
	}
	var first, second wire.Encoder
	left.encode(&first)
	right.encode(&second)
	if !bytes.Equal(first, second) {
		t.Error("the encoding depends on how the counts were merged")
	}
	left.reset()
	left.Each(func(x Bin) bool { t.Errorf("an emptied tally has bin %x", x.Code); return true })
}
