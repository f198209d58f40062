package assess

import (
	"bytes"
	"context"
	"testing"
)

func encodedAccumulator(tb testing.TB) (Options, []byte) {
	o := testOptions(tb)
	o.Sample, o.Extremes = 20, 3
	a := newAccumulator(tb, o)
	table := makePairs(3, 200, true)
	a.Add(table.block(0, 200))
	data, err := a.MarshalBinary()
	must(tb, err)
	return o, data
}

func TestEncodingKeepsEverything(t *testing.T) {
	table := makePairs(4, 5000, true)
	o := testOptions(t)
	a, b := newAccumulator(t, o), newAccumulator(t, o)
	a.Add(table.block(0, 3000))
	data, err := a.MarshalBinary()
	must(t, err)
	must(t, b.UnmarshalBinary(data))
	sameAccumulator(t, b, a)
	again, err := b.MarshalBinary()
	must(t, err)
	if !bytes.Equal(data, again) {
		t.Error("an accumulator that was decoded is encoded differently")
	}
	// What goes on from it is as if it had not been interrupted.
	a.Add(table.block(3000, 5000))
	b.Add(table.block(3000, 5000))
	sameAccumulator(t, b, a)
}

func TestDecodingRefuses(t *testing.T) {
	o, data := encodedAccumulator(t)
	for n := range len(data) {
		if newAccumulator(t, o).UnmarshalBinary(data[:n]) == nil {
			t.Fatalf("%d of %d bytes must be refused", n, len(data))
		}
	}
	if newAccumulator(t, o).UnmarshalBinary(append(bytes.Clone(data), 0)) == nil {
		t.Error("a byte too many must be refused")
	}
	other := o
	other.Sample = 21
	if newAccumulator(t, other).UnmarshalBinary(data) == nil {
		t.Error("another sample size must be refused")
	}
	other = o
	other.Columns = append([]Column{}, o.Columns...)
	other.Columns[1].Name = "else"
	if newAccumulator(t, other).UnmarshalBinary(data) == nil {
		t.Error("other columns must be refused")
	}
	version := bytes.Clone(data)
	version[4] = 99
	if newAccumulator(t, o).UnmarshalBinary(version) == nil {
		t.Error("another version must be refused")
	}
	if new(Accumulator).UnmarshalBinary(data) == nil {
		t.Error("an accumulator that New did not make must refuse")
	}
}

// Whatever the bytes, decoding returns; what it accepts can be added to, merged
// and measured.
func FuzzUnmarshalBinary(f *testing.F) {
	o, data := encodedAccumulator(f)
	f.Add(data)
	f.Add(data[:60])
	f.Add([]byte("sdlA"))
	table := makePairs(6, 70, true)
	o.Replicates = 1
	o.Replicate = func(m int) Masker { return noisy{key: o.Key, columns: []int{0, 1, 2}, lambda: 1, replicate: m} }
	f.Fuzz(func(t *testing.T, data []byte) {
		a := newAccumulator(t, o)
		if a.UnmarshalBinary(data) != nil {
			return
		}
		a.Add(table.block(0, 70))
		b := newAccumulator(t, o)
		must(t, b.Merge(a))
		if _, err := b.Measure(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

// Bins come in order, each once and with something in it, and count for the
// values that were seen; what is claimed to be there takes no memory before it is.
func TestDecodingTallies(t *testing.T) {
	for name, c := range map[string]struct {
		seen, bins uint64
		shorts     []uint64 // step and count of each bin
		ok         bool
	}{
		"two bins":                {3, 2, []uint64{5, 1, 3, 2}, true},
		"bin 0":                   {1, 1, []uint64{0, 1}, true},
		"of a long stream":        {2, 1, []uint64{7, 2 * rare}, true},
		"a bin twice":             {3, 2, []uint64{5, 1, 0, 2}, false},
		"an empty bin":            {1, 2, []uint64{5, 1, 3, 0}, false},
		"more seen than counted":  {4, 2, []uint64{5, 1, 3, 2}, false},
		"more counted than seen":  {2, 1, []uint64{7, 3 * rare}, false},
		"counts that overflow":    {3, 2, []uint64{5, 1, 3, 1 << 63}, false},
		"a bin beyond the last":   {1, 1, []uint64{1 << (12 + pageBits), 1}, false},
		"infinity":                {1, 1, []uint64{0x7ff << pageBits, 1}, false},
		"more bins than bytes":    {3, 1 << 60, []uint64{5, 1, 3, 2}, false},
		"fewer bins than claimed": {3, 3, []uint64{5, 1, 3, 2}, false},
	} {
		var e encoder
		e.uint(c.seen)
		e.uint(c.bins)
		for _, v := range c.shorts {
			e.short(v)
		}
		d := decoder{rest: e}
		var tally tally
		tally.decode(&d)
		if ok := !d.failed && len(d.rest) == 0; ok != c.ok {
			t.Errorf("%s: accepted is %v", name, ok)
		}
	}
}
