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
