package parquet

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// Which pages get a dictionary of numbers; its entries equal the page's values bit by bit.
func TestGriddedDictionary(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	const n = 1 << 13
	cases := []struct {
		name  string
		value func(i int) float64
		want  bool
	}{
		{"tenths", func(int) float64 { return math.Round(10*(40+15*r.NormFloat64())) / 10 }, true},
		{"hundredths", func(int) float64 { return math.Round(-1000*r.ExpFloat64()) / 100 }, true},
		{"whole", func(int) float64 { return float64(r.IntN(90)) }, true},
		{"one", func(int) float64 { return -3.25 }, true},
		{"millionths", func(int) float64 { return float64(5000000+r.IntN(1000)) / 1e6 }, true},
		{"large", func(int) float64 { return 1e12 + float64(r.IntN(100))/10 }, true},
		{"most differ", func(i int) float64 { return float64(i) / 100 }, false},
		{"spread out", func(int) float64 { return float64(r.IntN(50)) * 1e4 }, false},
		{"as far apart as they may be", func(i int) float64 { return []float64{0, sparsest*n - 1, 3, 4}[i%4] }, true},
		{"one further apart", func(i int) float64 { return []float64{0, sparsest * n, 3, 4}[i%4] }, false},
		{"no decimals", func(int) float64 { return float64(r.IntN(50)) / 7 }, false},
		{"one off the grid", func(i int) float64 {
			if i == 77 {
				return math.Nextafter(4.2, 5)
			}
			return float64(r.IntN(90)) / 10
		}, false},
		{"negative zero", func(i int) float64 {
			if i == 4000 {
				return math.Copysign(0, -1)
			}
			return float64(r.IntN(9))
		}, false},
		{"NaN", func(i int) float64 {
			if i == 5000 {
				return math.NaN()
			}
			return float64(r.IntN(9))
		}, false},
		{"infinite", func(i int) float64 { return []float64{1, math.Inf(1)}[i/(n-1)] }, false},
		{"huge", func(int) float64 { return 1e300 * float64(r.IntN(3)) }, false},
		{"NaN alone", func(int) float64 { return math.NaN() }, false},
	}
	for _, c := range cases {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = c.value(i)
		}
		lo, hi := extremes(xs)
		d := griddedDictionary(xs, lo, hi)
		if d == nil != !c.want {
			t.Errorf("%s: a dictionary: %v", c.name, d != nil)
		}
		if d == nil {
			continue
		}
		seen := map[uint64]bool{}
		for i, k := range d.index {
			if got := words[float64](bytes.Clone(d.value(k)))[0]; !sameBits(got, xs[i]) {
				t.Fatalf("%s: value %d is %v, want %v", c.name, i, got, xs[i])
			}
			seen[math.Float64bits(xs[i])] = true
		}
		if d.values().n != len(seen) {
			t.Errorf("%s: %d entries, and %d values", c.name, d.values().n, len(seen))
		}
		if griddedDictionary(xs[:leastGridded-1], lo, hi) != nil || griddedDictionary(nil, lo, hi) != nil {
			t.Errorf("%s: a dictionary of a small page", c.name)
		}
	}
}

// A chunk's dictionary collects the values of its pages until it is full. Later pages contain their
// values directly, and all pages decode to the original values.
func TestGriddedChunk(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	l := &leaf{phys: format.Double, width: 8, maxDef: 1, path: []string{"x"}}
	pe := &pageEncoder{leaf: l, comp: compressor{codec: format.Zstd, level: zstd.SpeedFastest}}
	d := &chunkDictionary{}
	const n, pages = 1 << 16, 8
	var encoded []*encodedPage
	var want [][]float64
	for k := range pages {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = float64(k*25000+r.IntN(25000)) / 100 // 200000 values, with room for 131072
		}
		p, err := pe.page(&values{n: n, data: raw(xs), def: bytes.Repeat([]byte{1}, n)}, n)
		if err != nil {
			t.Fatal(err)
		}
		if p.local == nil {
			t.Fatalf("page %d has no dictionary", k)
		}
		lo, hi := extremes(xs)
		if a, b := p.stats.doubles(); a != lo || b != hi {
			t.Errorf("page %d: the statistics differ", k)
		}
		if err := d.settle(pe, p); err != nil {
			t.Fatal(err)
		}
		encoded, want = append(encoded, p), append(want, xs)
	}
	dict, err := d.page(pe.comp)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.plain) > maxDictionary || d.size() != len(d.plain)/8 {
		t.Errorf("a dictionary of %d bytes and %d entries", len(d.plain), d.size())
	}
	c := &chunk{leaf: l, codec: format.Zstd, dict: &dictionary{page: storedPage(t, dict)}}
	kinds := map[format.Encoding]int{}
	for k, p := range encoded {
		kinds[p.encoding]++
		var v values
		if err := v.page(c, storedPage(t, p)); err != nil {
			t.Fatal(err)
		}
		if got := words[float64](v.data); !slices.Equal(got, want[k]) {
			t.Errorf("page %d decodes to something else", k)
		}
	}
	if kinds[format.RLEDictionary] < 3 || kinds[format.ByteStreamSplit] < 2 {
		t.Errorf("pages by encoding: %v", kinds)
	}
}

// storedPage reads a page in its stored form.
func storedPage(t *testing.T, p *encodedPage) *page {
	t.Helper()
	out := new(page)
	n, err := unmarshal(p.stored, &out.header)
	if err != nil {
		t.Fatal(err)
	}
	out.body = bytes.Clone(p.stored[n:])
	return out
}

// The scale of any number of values, also of fewer than are looked at of many.
func TestScaleOfFewValues(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 1}, {[]float64{7}, 1}, {[]float64{1.5}, 10}, {[]float64{1, 2, 0.25}, 100}, {[]float64{1, math.Pi}, 0}} {
		if got := scaleOf(c.values); got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}
