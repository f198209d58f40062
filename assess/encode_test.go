package assess

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
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
	// A measurement that continues from the encoded state gives the same results as one without
	// interruption.
	a.Add(table.block(3000, 5000))
	b.Add(table.block(3000, 5000))
	sameAccumulator(t, b, a)
}

func TestDecodingRefuses(t *testing.T) {
	racetest.Alone(t)
	o, data := encodedAccumulator(t)
	for n := range len(data) {
		if testing.Short() && n > 100 && n < len(data)-100 && n%19 != 0 {
			continue // 19 has no factor in common with the size of a field
		}
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
		t.Error("decoding with different columns must be an error")
	}
	version := bytes.Clone(data)
	version[4] = 99
	if newAccumulator(t, o).UnmarshalBinary(version) == nil {
		t.Error("another version must be refused")
	}
	if new(Accumulator).UnmarshalBinary(data) == nil {
		t.Error("decoding into an accumulator that was not made by New must be an error")
	}
}

// Decoding returns for any bytes. Accumulators that it accepts can be added to, merged and
// measured.
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

// Impossible counts are refused, each separately, and so is an encoding truncated within the
// options.
func TestImplausibleCounts(t *testing.T) {
	o := testOptions(t)
	table := makePairs(3, 400, true)
	const n = 400
	fill := func() *Accumulator {
		a := newAccumulator(t, o)
		a.Add(table.block(0, n))
		a.sample.Settle()
		return a
	}
	if !fill().plausible() {
		t.Fatal("added records are not plausible")
	}
	records := fill().records
	for name, change := range map[string]func(a *Accumulator){
		"fewer records than in the sample": func(a *Accumulator) {
			for i := range a.columns {
				s := &a.columns[i]
				s.pairs, s.unchanged = 0, 0
				if s.counts != nil {
					s.counts.X.Seen, s.counts.Y.Seen = 0, 0
				}
			}
			clear(a.original.Pairs)
			clear(a.released.Pairs)
			a.records = int64(a.sample.Len()) - 1
		},
		"records below 0":              func(a *Accumulator) { a.records = -1 },
		"a sample too large":           func(a *Accumulator) { a.opts.Sample = a.sample.Len() - 1 },
		"more pairs than records":      func(a *Accumulator) { a.columns[2].pairs = records + 1 },
		"pairs below 0":                func(a *Accumulator) { a.columns[0].pairs, a.columns[0].unchanged = -1, -1 },
		"more unchanged than pairs":    func(a *Accumulator) { a.columns[1].unchanged = a.columns[1].pairs + 1 },
		"unchanged below 0":            func(a *Accumulator) { a.columns[3].unchanged = -1 },
		"more originals than records":  func(a *Accumulator) { a.columns[0].counts.X.Seen = uint64(records) + 1 },
		"more released than records":   func(a *Accumulator) { a.columns[2].counts.Y.Seen = uint64(records) + 1 },
		"moments of more":              func(a *Accumulator) { a.original.At(0, 0).N = float64(records) + 1 },
		"moments of half a record":     func(a *Accumulator) { a.released.At(2, 1).N = 0.5 },
		"moments of fewer than none":   func(a *Accumulator) { a.released.At(3, 3).N = -1 },
		"moments of what is no number": func(a *Accumulator) { a.original.At(3, 3).N = math.NaN() },
	} {
		a := fill()
		change(a)
		if a.plausible() {
			t.Errorf("%s: plausible", name)
		}
	}
	// At their limits the counts are accepted.
	for name, change := range map[string]func(a *Accumulator){
		"as many pairs":     func(a *Accumulator) { a.columns[3].pairs, a.columns[3].unchanged = records, records },
		"as many originals": func(a *Accumulator) { a.columns[0].counts.X.Seen = uint64(records) },
		"as many released":  func(a *Accumulator) { a.columns[0].counts.Y.Seen = uint64(records) },
		"as many moments":   func(a *Accumulator) { a.original.At(0, 0).N = float64(records) },
		"none":              func(a *Accumulator) { a.original.At(0, 0).N = 0 },
		"the whole sample":  func(a *Accumulator) { a.opts.Sample = a.sample.Len() },
	} {
		a := fill()
		if change(a); !a.plausible() {
			t.Errorf("%s: not plausible", name)
		}
	}
	var e wire.Encoder
	e.Text(o.Key.ID())
	e.Uint(uint64(len(o.Columns)))
	for _, c := range o.Columns {
		e.Text(c.Name)
		e.Uint(uint64(c.Index))
	}
	e.Uint(uint64(len(o.Carry)))
	for _, c := range o.Carry {
		e.Uint(uint64(c))
	}
	e.Uint(0)
	e.Uint(uint64(len(o.Beside)))
	for _, c := range o.Beside {
		e.Text(c.Name)
		e.Uint(uint64(c.Index))
		e.Uint(uint64(c.Piece))
	}
	e.Int(int64(o.Sample))
	e.Int(int64(o.Extremes))
	if err := o.sameOptions(&wire.Decoder{Rest: e}); err != nil {
		t.Error(err)
	}
	for cut := range len(e) {
		if err := o.sameOptions(&wire.Decoder{Rest: e[:cut:cut]}); !errors.Is(err, errEncoding) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	for name, change := range map[string]func(o *Options){
		"is of other columns":       func(o *Options) { o.Columns[len(o.Columns)-1].Index++ },
		"is of other columns ":      func(o *Options) { o.Columns[0].Name += "s" },
		"is of other columns  ":     func(o *Options) { o.Columns = o.Columns[:2] },
		"is of other columns   ":    func(o *Options) { o.Carry = append([]int{1}, o.Carry...) },
		"is of other columns    ":   func(o *Options) { o.Released = []int{4} },
		"is of other columns     ":  func(o *Options) { o.Beside = nil },
		"is of other columns      ": func(o *Options) { o.Beside = []BesideColumn{{Name: "other", Index: 9}} },
		"is of other columns       ": func(o *Options) {
			o.Beside = []BesideColumn{{Name: o.Beside[0].Name, Index: o.Beside[0].Index + 1}}
		},
		"is of other columns        ": func(o *Options) {
			o.Beside = []BesideColumn{{Name: o.Beside[0].Name, Index: o.Beside[0].Index, Piece: 1}}
		},
		"must have sample 7":        func(o *Options) { o.Sample = 7 },
		"and extremes 8":            func(o *Options) { o.Extremes = 8 },
		"was made with another key": func(o *Options) { o.Key = keystream.Key{} },
	} {
		other := o
		other.Columns = slices.Clone(o.Columns)
		change(&other)
		if err := other.sameOptions(&wire.Decoder{Rest: e}); err == nil ||
			!strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
