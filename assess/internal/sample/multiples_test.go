package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Values come back bit by bit, whether they are held as multiples, are not any more, or never were.
func TestMultiplesAreExact(t *testing.T) {
	zero := math.Copysign(0, -1)
	code, other := math.Float64frombits(0x7ffc<<48|5), math.Float64frombits(0x7ffc<<48) // of missing values
	if _, coded := microdata.MissingCode(code); !coded {
		t.Fatal("it stands for no code")
	}
	for name, c := range map[string]struct {
		batches [][]float64
		short   bool
	}{
		"whole":            {[][]float64{{1, -2, 3}, {4}}, true},
		"special":          {[][]float64{{zero, 0, math.NaN()}, {zero, 2.5, math.NaN()}}, true},
		"ever finer":       {[][]float64{{20, zero}, {0.1, math.NaN()}, {0.25}, {-0.125}, {1e-6}}, true},
		"finer in a batch": {[][]float64{{1, 1.5, 0.25, -0.001}}, true},
		"too fine":         {[][]float64{{1, zero}, {1e-7, math.NaN()}, {3}}, false},
		"no decimals":      {[][]float64{{math.Pi}, {1}}, false},
		"one bit off":      {[][]float64{{0.3}, {math.Nextafter(0.3, 1)}}, false},
		"greatest":         {[][]float64{{math.MaxInt32 - 1, -math.MaxInt32 + 1}}, true},
		"too great":        {[][]float64{{5}, {math.MaxInt32}}, false},
		"least":            {[][]float64{{5}, {-math.MaxInt32}}, false},
		"least, rounded":   {[][]float64{{-21474.83647}, {5}}, false}, // times 10⁵ it is −2147483646.9999998
		"too great later":  {[][]float64{{21474836.47}, {0.001}}, false},
		"refined to limit": {[][]float64{{214748364}, {0.5}}, true},
		"beyond the limit": {[][]float64{{214748365}, {0.5}}, false},
		"on the other end": {[][]float64{{-214748365}, {0.5}}, false},
		"huge":             {[][]float64{{1e300}, {1}}, false},
		"nothing":          {[][]float64{{}, {}}, true},
		"a code":           {[][]float64{{1, code, 2}}, false},
		"a code later":     {[][]float64{{1, math.NaN()}, {2.5}, {other, code}}, false},
	} {
		s, o := New(-1, 1), New(-1, 1)
		var origins place.Origins
		var all []float64
		for _, batch := range c.batches {
			for range batch {
				s.note(origins.Of("", 0), int64(s.Len()), 7)
			}
			s.add(0, batch)
			all = append(all, batch...)
		}
		if got := s.short[0].per >= 0; got != c.short {
			t.Errorf("%s: held as multiples: %v", name, got)
		}
		o.Merge(&s)
		o.Merge(&s)
		s.Settle()
		for what, got := range map[string][]float64{"settled": s.Values[0], "merged": valuesOf(&o)[:len(all)],
			"merged again": valuesOf(&o)[len(all):]} {
			if !slices.EqualFunc(got, all, func(a, b float64) bool {
				x, coded := microdata.MissingCode(a)
				y, too := microdata.MissingCode(b)
				return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b && coded == too && (!coded || x == y)
			}) {
				t.Errorf("%s, %s: %v, want %v", name, what, got, all)
			}
		}
	}
}

func valuesOf(s *Sample) []float64 {
	if m := &s.short[0]; len(m.counts) > 0 {
		return m.values(ascending(len(m.counts)))
	}
	return s.Values[0]
}

// The records of a sample are the same however its columns are held, and also if it is settled, and
// so has all values at full length, before more records come.
func TestMultiplesStayWithTheirRecords(t *testing.T) {
	for _, width := range []int{1, wide/2 + 1} {
		for name, per := range map[string]float64{"multiples": 100, "others": math.Pi} {
			rng := rand.New(rand.NewPCG(20, 26))
			var origins place.Origins
			layout := Layout{}
			for c := range width {
				layout.Columns = append(layout.Columns, c)
			}
			straight, stopped := New(2000, layout.Width()), New(2000, layout.Width())
			for first := int64(0); first < 40_000; first += 1000 {
				b := &microdata.Block{N: 1000, First: first, Columns: make([]microdata.Column, width)}
				p := place.Priorities{Words: make([]uint64, 500)}
				for i := range p.Words {
					p.Words[i] = rng.Uint64()
				}
				for c := range b.Columns {
					v := b.Columns[c].Alloc(b.N, false)
					for i := range v.Values {
						v.Values[i] = float64(first+int64(i)+int64(c)) / per
					}
				}
				for _, s := range []*Sample{&straight, &stopped} {
					s.Offer(b, origins.Of("", 0), &p, nil, layout)
				}
				if short := straight.short[0].per > 0; short != (name == "multiples") {
					t.Fatalf("%s: held as multiples: %v", name, short)
				}
				if first == 20_000 {
					stopped.Settle()
				}
			}
			straight.Settle()
			stopped.Settle()
			for what, s := range map[string]*Sample{"straight": &straight, "stopped": &stopped} {
				if s.Len() != 2000 || !slices.IsSorted(s.Row) {
					t.Fatalf("%s, %s: %d records", name, what, s.Len())
				}
				for c, v := range s.Values {
					for i, row := range s.Row {
						if want := float64(row+int64(c/2)) / per; v[i] != want {
							t.Fatalf("%s, %s: column %d of record %d is %v, want %v", name, what, c, row, v[i], want)
						}
					}
				}
				if !slices.Equal(s.Row, straight.Row) {
					t.Errorf("%s: another sample", name)
				}
			}
		}
	}
}

// Samples of many columns, edges of many columns, hold fewer records beyond those that are kept.
func TestRoomOfManyColumns(t *testing.T) {
	for width, want := range map[int]int{1: 25_000, wide: 25_000, wide + 1: 12_500} {
		if s := New(100_000, width); s.room() != want {
			t.Errorf("%d values: room for %d more, want %d", width, s.room(), want)
		}
	}
	var origins place.Origins
	for width, most := range map[int]int{1: 200, wide: 200, wide + 1: 125} {
		e := NewEdge(100, 1)
		held := 0
		for row := range int64(500) {
			e.Add(float64(row), origins.Of("", 0), row, width, func([]float64) {})
			held = max(held, len(e.Entries)+len(e.free))
		}
		if held > most || held < most-1 {
			t.Errorf("%d values: %d records held, want %d", width, held, most)
		}
	}
}
