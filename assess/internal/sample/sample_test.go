package sample

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// coarse draws only a few different priorities, so that ties decide.
func coarse(dst []uint64, _ string, r keystream.Records) {
	for i := range dst {
		at := r.First + int64(i)
		if r.Places != nil {
			at = r.Places[i]
		}
		h := place.Mix(uint64(at)<<8 | uint64(r.Stream))
		dst[i] = h&7<<32 | h>>8&7
	}
}

type record struct {
	stream   int
	row      int64
	priority uint32
	value    float64
}

// offer adds n records of a stream, in blocks of random size and with some rejected, to one of the
// samples chosen at random. It returns the records that were not rejected.
func offer(rng *rand.Rand, from *place.Origin, n int, samples []*Sample) (all []record) {
	var p place.Priorities
	word := make([]uint64, 1)
	for first := 0; first < n; {
		var b microdata.Block
		b.Reset(int(from.Stream), int64(first), 1+rng.IntN(min(70, n-first)), 1)
		v := b.Columns[0].Alloc(b.N, false)
		keep := microdata.NewBitmap(b.N, nil)
		for i := range v.Values {
			row := int64(first + i)
			v.Values[i] = float64(1000*int(from.Stream)) + float64(row)
			if rng.IntN(9) == 0 {
				keep.Clear(i)
				continue
			}
			coarse(word, "", keystream.Records{Stream: b.Stream, First: row >> 1})
			all = append(all, record{b.Stream, row, uint32(word[0] >> (32 * (row & 1))), v.Values[i]})
		}
		p.Draw(&b, coarse)
		samples[rng.IntN(len(samples))].Offer(&b, from, &p, keep, Layout{Columns: []int{0}})
		first += b.N
	}
	return all
}

// A sample consists of the k records with the lowest priority, the earlier place first among
// equals, in the order of place. This does not depend on how the records were split, and it
// survives encoding.
func TestSampleIsTheLowest(t *testing.T) {
	for _, k := range []int{-1, 0, 1, 37, 100, 5000} {
		rng := rand.New(rand.NewPCG(6, uint64(k+10)))
		var origins place.Origins
		parts := make([]*Sample, 3)
		for i := range parts {
			s := New(k, 2)
			parts[i] = &s
		}
		var all []record
		for stream := range int32(3) {
			all = append(all, offer(rng, origins.Of("", stream), 400, parts)...)
		}
		total := New(k, 2)
		for _, s := range parts {
			total.Merge(s)
		}
		total.Settle()

		slices.SortFunc(all, func(a, b record) int {
			return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.stream, b.stream), cmp.Compare(a.row, b.row))
		})
		if k >= 0 {
			all = all[:min(k, len(all))]
		}
		slices.SortFunc(all, func(a, b record) int {
			return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.row, b.row))
		})
		check := func(what string, s *Sample) {
			if s.Len() != len(all) {
				t.Fatalf("k %d, %s: %d records, want %d", k, what, s.Len(), len(all))
			}
			for i, r := range all {
				if int(s.From[i].Stream) != r.stream || s.Row[i] != r.row || s.Priority[i] != r.priority ||
					s.Values[0][i] != r.value || s.Values[1][i] != r.value {
					t.Fatalf("k %d, %s: record %d is %v/%d of priority %d, want %+v", k, what, i, s.From[i], s.Row[i], s.Priority[i],
						r)
				}
			}
		}
		check("merged", &total)

		n := place.NewNumbering()
		total.Number(n)
		var e wire.Encoder
		n.Encode(&e)
		total.Encode(&e, n)
		var known place.Origins
		d, again := wire.Decoder{Rest: e}, New(k, 2)
		again.Decode(&d, known.Decode(&d))
		if d.Failed || len(d.Rest) > 0 {
			t.Fatalf("k %d: decoding fails", k)
		}
		check("decoded", &again)
		if again.Limit != total.Limit {
			t.Errorf("k %d: limit %d, want %d", k, again.Limit, total.Limit)
		}
	}
}

// The buffer of a sample holds at most twice the sample's size, also for an empty sample. A sample
// of all records has no bound.
func TestSampleIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var origins place.Origins
	from := origins.Of("", 0)
	for _, k := range []int{-1, 0, 1, 2, 10} {
		s := New(k, 1)
		for row := range int64(100) {
			s.note(from, row, rng.Uint32())
			for i := range s.Values {
				s.Values[i] = append(s.Values[i], 1)
			}
			before := s.Len()
			s.Bound()
			want := before
			if k >= 0 && before > 2*k {
				want = k
			}
			if s.Len() != want {
				t.Fatalf("k %d: of %d records %d stay, want %d", k, before, s.Len(), want)
			}
		}
	}
}

func TestDecodingRefuses(t *testing.T) {
	var origins place.Origins
	from := []*place.Origin{origins.Of("", 0)}
	for what, write := range map[string]func(e *wire.Encoder){
		"a limit of more than 32 bits": func(e *wire.Encoder) { e.Uint(1 << 32); e.Uint(0) },
		"a priority above the limit": func(e *wire.Encoder) {
			e.Uint(5)
			e.Uint(1)
			e.Words([]uint32{6})
			e.Short(0)
			e.Signed(0)
			e.Floats(1)
		},
		"an infinite value": func(e *wire.Encoder) {
			e.Uint(5)
			e.Uint(1)
			e.Words([]uint32{5})
			e.Short(0)
			e.Signed(0)
			e.Floats(math.Inf(1))
		},
		"more records than bytes": func(e *wire.Encoder) { e.Uint(5); e.Uint(1 << 50) },
	} {
		var e wire.Encoder
		write(&e)
		d, s := wire.Decoder{Rest: e}, New(10, 1)
		if s.Decode(&d, from); !d.Failed {
			t.Errorf("%s is taken", what)
		}
	}
}

// An edge consists of the r most extreme records, the earlier place first among equals, in whatever
// order they arrive.
func TestEdgesAreTheMostExtreme(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(7, seed))
		r, n := 1+rng.IntN(12), rng.IntN(300)
		var origins place.Origins
		type entry struct {
			x      float64
			stream int32
			row    int64
		}
		var all []entry
		for i := range n {
			all = append(all, entry{float64(rng.IntN(30)), int32(i % 2), int64(i)})
		}
		rng.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, sign := range []float64{-1, 1} {
			parts := []Edge{NewEdge(r, sign), NewEdge(r, sign)}
			for _, a := range all {
				e := &parts[rng.IntN(2)]
				from := origins.Of("", a.stream)
				if bound := e.Threshold(from, a.row); !(a.x*sign > bound*sign) {
					continue // the record cannot enter
				}
				e.Add(a.x, from, a.row, 1, func(dst []float64) { dst[0] = a.x })
			}
			total := NewEdge(r, sign)
			total.Merge(&parts[0])
			total.Merge(&parts[1])
			n := place.NewNumbering()
			total.Number(n)
			var e wire.Encoder
			total.Encode(&e, n)
			byNumber := make([]*place.Origin, len(n.Of))
			for o, k := range n.Of {
				byNumber[k] = origins.Of(o.Scope, o.Stream)
			}
			again, d := NewEdge(r, sign), wire.Decoder{Rest: e}
			if again.Decode(&d, 1, byNumber); d.Failed || len(d.Rest) > 0 {
				t.Fatal("decoding fails")
			}

			want := slices.Clone(all)
			slices.SortFunc(want, func(a, b entry) int {
				return cmp.Or(cmp.Compare(b.x*sign, a.x*sign), cmp.Compare(a.stream, b.stream), cmp.Compare(a.row, b.row))
			})
			want = want[:min(r, len(want))]
			for what, got := range map[string]*Edge{"merged": &total, "decoded": &again} {
				first := got.First()
				if len(got.Entries) != len(want) || (first == nil) != (len(want) == 0) {
					t.Fatalf("%s: %d entries, want %d", what, len(got.Entries), len(want))
				}
				for i, w := range want {
					if g := got.Entries[i]; g.X != w.x || g.From.Stream != w.stream || g.Row != w.row || g.Values[0] != w.x {
						t.Fatalf("seed %d, sign %v, %s: entry %d is %+v, want %+v", seed, sign, what, i, g, w)
					}
				}
			}
		}
	}
}

// An edge is decoded if it has at most the allowed number of records, with finite values at valid
// places. Truncated bytes are refused.
func TestDecodingEdgesRefuses(t *testing.T) {
	var origins place.Origins
	from := []*place.Origin{origins.Of("", 0), origins.Of("other", 3)}
	write := func(n uint64, records int, x float64, number uint64, step int64) wire.Encoder {
		var e wire.Encoder
		e.Uint(n)
		for i := range records {
			e.Floats(x + float64(i))
			e.Short(number)
			e.Signed(step)
			e.Floats(1, math.NaN())
		}
		return e
	}
	decode := func(data []byte) (*Edge, bool) {
		edge := NewEdge(3, +1)
		d := wire.Decoder{Rest: data}
		edge.Decode(&d, 2, from)
		return &edge, !d.Failed && len(d.Rest) == 0
	}
	whole := write(3, 3, 5, 1, 2)
	edge, ok := decode(whole)
	if !ok || len(edge.Entries) != 3 {
		t.Fatalf("a valid encoding is refused: %v", edge.Entries)
	}
	for i, e := range edge.Entries {
		if e.From != from[1] || e.X != 5+float64(e.Row/2-1) || len(e.Values) != 2 || e.Values[0] != 1 ||
			e.Values[1] == e.Values[1] {
			t.Errorf("record %d: %+v", i, e)
		}
	}
	for cut := range len(whole) {
		if _, ok := decode(whole[:cut:cut]); ok {
			t.Errorf("cut at %d of %d: accepted", cut, len(whole))
		}
	}
	for name, c := range map[string]struct {
		data wire.Encoder
		ok   bool
	}{
		"none":                  {write(0, 0, 0, 0, 0), true},
		"one too many":          {write(4, 4, 5, 1, 2), false},
		"fewer than claimed":    {write(3, 2, 5, 1, 2), false},
		"more than claimed":     {write(2, 3, 5, 1, 2), false},
		"an infinite one":       {write(2, 2, math.Inf(1), 1, 2), false},
		"one that is no number": {write(1, 1, math.NaN(), 1, 2), false},
		"an origin too far":     {write(1, 1, 5, 2, 2), false},
		"a place before all":    {write(1, 1, 5, 1, -1), false},
		"the first place":       {write(1, 1, 5, 0, 0), true},
		"claims without an end": {write(1<<60, 3, 5, 1, 2), false},
	} {
		if _, ok := decode(c.data); ok != c.ok {
			t.Errorf("%s: accepted is %v", name, ok)
		}
	}
}

// An edge after Reset behaves like a new one: the value needed to enter depends only on the records
// since then, wherever earlier records stood.
func TestEdgeThatWasEmptied(t *testing.T) {
	var origins place.Origins
	from := origins.Of("", 0)
	for _, sign := range []float64{-1, 1} {
		old, fresh := NewEdge(2, sign), NewEdge(2, sign)
		for row := range int64(20) {
			old.Add(sign*float64(100+row), from, 1000+row, 1, func(v []float64) { v[0] = 1 })
		}
		old.Reset()
		for row := range int64(8) {
			for _, e := range []*Edge{&old, &fresh} {
				e.Add(sign*float64(row%3), from, row, 1, func(v []float64) { v[0] = float64(row) })
			}
			for _, first := range []int64{0, row, row + 1, 500, 1019, 2000} {
				if got, want := old.Threshold(from, first), fresh.Threshold(from, first); got != want {
					t.Errorf("sign %v, after %d: a block from %d on must pass %v, want %v", sign, row, first, got, want)
				}
			}
		}
		// A block that begins after all records of the edge must exceed the bound. An earlier block
		// can win a tie.
		last := int64(7)
		for first, tie := range map[int64]bool{last - 1: true, last: true, last + 1: false} {
			bound := sign * 2
			if tie {
				bound = math.Nextafter(bound, -sign*10)
			}
			if got := old.Threshold(from, first); got != bound {
				t.Errorf("sign %v: a block from %d on must pass %v, want %v", sign, first, got, bound)
			}
		}
		a, b := old.First(), fresh.First()
		if a.X != b.X || a.Row != b.Row || a.Values[0] != b.Values[0] || len(old.Entries) != 2 {
			t.Errorf("sign %v: %+v, want %+v", sign, a, b)
		}
	}
}
