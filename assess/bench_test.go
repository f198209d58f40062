package assess

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

func testKey(tb testing.TB) keystream.Key {
	tb.Helper()
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(7*i + 1)
	}
	k, err := keystream.NewKey(secret)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// noisy is y = x + ε, ε ~ N(0, λ²), clipped to [lower, upper] if clip is set.
type noisy struct {
	key       keystream.Key
	columns   []int
	lambda    float64
	replicate int
	clip      bool
	lower     float64
}

func (c noisy) NeedsSurvey() bool               { return false }
func (c noisy) Survey(b *microdata.Block) error { return nil }
func (c noisy) EndSurvey() error                { return nil }
func (c noisy) Apply(b *microdata.Block) error {
	for _, i := range c.columns {
		eps := make([]float64, b.N)
		c.key.Stream("noise", fmt.Sprint("c", i), c.replicate).Normals(eps,
			keystream.Records{Stream: b.Stream, First: b.First})
		v := b.Columns[i].Mutable()
		for r := range v.Values {
			if !v.Valid.Has(r) {
				continue
			}
			y := v.Values[r] + c.lambda*eps[r]
			if c.clip && y < c.lower {
				y = c.lower
			}
			v.Values[r] = y
		}
	}
	return nil
}

// normalBlocks returns masked blocks of n records: columns N(100, 15²), noise λ.
func normalBlocks(tb testing.TB, columns, n, size int, lambda float64) []*microdata.Block {
	key := testKey(tb)
	var all []int
	for c := range columns {
		all = append(all, c)
	}
	mask := noisy{key: key, columns: all, lambda: lambda}
	var blocks []*microdata.Block
	for from := 0; from < n; from += size {
		b := new(microdata.Block)
		m := min(size, n-from)
		b.Reset(0, int64(from), m, columns)
		for c := range columns {
			v := b.Columns[c].Alloc(m, false)
			key.Stream("x", fmt.Sprint(c), 0).Normals(v.Values, keystream.Records{First: int64(from)})
			for i := range v.Values {
				v.Values[i] = 100 + 15*v.Values[i]
			}
		}
		if err := mask.Apply(b); err != nil {
			tb.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func numbered(n int) []Column {
	cols := make([]Column, n)
	for i := range cols {
		cols[i] = Column{Name: fmt.Sprint("c", i), Index: i, Masked: true}
	}
	return cols
}

func BenchmarkAdd(b *testing.B) {
	for _, columns := range []int{4, 8} {
		b.Run(fmt.Sprint(columns, "columns"), func(b *testing.B) {
			blocks := normalBlocks(b, columns, 64<<10, 32<<10, 5)
			a, err := New(Options{Columns: numbered(columns), Key: testKey(b)})
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				blk := *blocks[n%2]
				blk.First = int64(n) << 15
				a.Add(&blk)
				n++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n)/(32<<10), "ns/record")
		})
	}
}

// accumulated returns an accumulator of n records.
func accumulated(tb testing.TB, columns, n int, o Options) *Accumulator {
	tb.Helper()
	const lambda = 5
	blocks := normalBlocks(tb, columns, n, 32<<10, lambda)
	var all []int
	for c := range columns {
		all = append(all, c)
	}
	o.Columns, o.Key = numbered(columns), testKey(tb)
	o.Replicate = func(m int) Masker {
		return noisy{key: o.Key, columns: all, lambda: lambda, replicate: m}
	}
	a, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	for _, b := range blocks {
		a.Add(b)
	}
	return a
}

// The case sampled is the end of a large run: 4 columns, 200 replicates on parts of a sample of
// 100,000. The case complete is one point of a map: 200 replicates of 100,000 records, 1 column, 6
// targets.
func BenchmarkMeasure(b *testing.B) {
	for _, c := range []struct {
		name       string
		columns, n int
	}{{"sampled", 4, 400_000}, {"complete", 1, 100_000}} {
		b.Run(c.name, func(b *testing.B) {
			a := accumulated(b, c.columns, c.n, Options{Replicates: 200, Targets: tableTargets})
			for b.Loop() {
				if _, err := a.Measure(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkProfiler(b *testing.B) {
	blocks := normalBlocks(b, 4, 64<<10, 32<<10, 5)
	for _, blk := range blocks {
		for c := range blk.Columns {
			for i, v := range blk.Columns[c].Original.Values {
				blk.Columns[c].Original.Values[i] = math.Round(v*100) / 100
			}
		}
	}
	p := NewProfiler(numbered(4))
	n := 0
	for b.Loop() {
		blk := *blocks[n%2]
		blk.First = int64(n) << 15
		p.Add(&blk)
		n++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n)/(32<<10), "ns/record")
}
