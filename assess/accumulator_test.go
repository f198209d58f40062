package assess

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// pairTable is a data set with its release, kept complete for reference: three columns with nulls,
// ties, a mean far from 0 and a constant, and some rejected records.
type pairTable struct {
	x, y     [4][]float64 // NaN: null
	rejected []bool
}

func makePairs(seed uint64, n int, nulls bool) pairTable {
	rng := rand.New(rand.NewPCG(seed, 1))
	var t pairTable
	t.rejected = make([]bool, n)
	for i := range n {
		base := rng.NormFloat64()
		row := [4]float64{
			math.Exp(2 * base),
			1.7e9 + 40*(base+rng.NormFloat64()),
			float64(rng.IntN(5)),
			0.1,
		}
		for c, v := range row {
			x, y := v, v
			if c < 3 {
				y += rng.NormFloat64()
			}
			if nulls && c < 3 && rng.IntN(50) == 0 {
				x, y = math.NaN(), math.NaN()
				if rng.IntN(3) == 0 { // like a swap
					y = v
				}
			}
			t.x[c], t.y[c] = append(t.x[c], x), append(t.y[c], y)
		}
		t.rejected[i] = nulls && rng.IntN(200) == 0
	}
	return t
}

// block returns rows [from, to) as a block of stream 0, with a text column at index 4.
func (t *pairTable) block(from, to int) *microdata.Block {
	b := new(microdata.Block)
	b.Reset(0, int64(from), to-from, 5)
	put := func(v microdata.Vector, values []float64) {
		for i, x := range values {
			v.Values[i] = x
			if math.IsNaN(x) {
				v.Values[i] = 0
				v.Valid.Clear(i)
			}
		}
	}
	for c := range t.x {
		col := &b.Columns[c]
		put(*col.Alloc(to-from, true), t.x[c][from:to])
		if c == 3 {
			continue // not masked: released unchanged
		}
		released := col.Mutable()
		released.Valid = microdata.NewBitmap(to-from, released.Valid)
		put(*released, t.y[c][from:to])
	}
	sb := array.NewStringBuilder(memory.DefaultAllocator)
	for i := from; i < to; i++ {
		if i%7 == 0 {
			sb.AppendNull()
		} else {
			sb.Append(fmt.Sprint("area ", i%5))
		}
	}
	b.Columns[4].Array = sb.NewArray()
	for i := from; i < to; i++ {
		if t.rejected[i] {
			b.Columns[0].Original.Values[i-from] = math.NaN() // the values of rejected records must not matter
			b.Reject(i-from, "c0", "not finite")
		}
	}
	return b
}

func testOptions(tb testing.TB) Options {
	return Options{
		Columns: []Column{{Name: "income", Index: 0, Masked: true}, {Name: "time", Index: 1, Masked: true},
			{Name: "class", Index: 2, Masked: true}, {Name: "constant", Index: 3}},
		Sample: 300, Extremes: 20, Key: testKey(tb), Carry: []int{4, 0}, Beside: []BesideColumn{{Name: "region", Index: 4}},
		Targets: []string{"min", "p50", "max"},
	}
}

func newAccumulator(tb testing.TB, o Options) *Accumulator {
	tb.Helper()
	a, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// sameAccumulator checks that counts, extremes and sample are equal, and sums up to 1e-11 of their
// scale.
func sameAccumulator(tb testing.TB, got, want *Accumulator) {
	tb.Helper()
	if got.records != want.records {
		tb.Errorf("%d records, want %d", got.records, want.records)
	}
	near := func(what string, g, w, scale float64) {
		if !(math.Abs(g-w) <= 1e-11*math.Max(scale, math.Abs(w))) && !(math.IsNaN(g) && math.IsNaN(w)) {
			tb.Errorf("%s: %v, want %v", what, g, w)
		}
	}
	for c := range want.columns {
		g, w := &got.columns[c], &want.columns[c]
		if g.pairs != w.pairs || g.low != w.low || g.high != w.high {
			tb.Errorf("column %d: pairs %d, released %v … %v; want %d, %v … %v", c, g.pairs, g.low, g.high, w.pairs, w.low,
				w.high)
		}
		near("squared difference", g.squareDiff, w.squareDiff, 0)
		// A sum of values that cancel is as accurate as the values are.
		near("difference", g.diff, w.diff, math.Sqrt(w.squareDiff*float64(w.pairs)))
		name := want.opts.Columns[c].Name
		gt, gb := got.Extremes(name)
		wt, wb := want.Extremes(name)
		sameExtreme := func(a, b Extreme) bool {
			return a.Scope == b.Scope && a.Stream == b.Stream && a.Row == b.Row && a.Original == b.Original &&
				math.Float64bits(a.Released) == math.Float64bits(b.Released)
		}
		if !slices.EqualFunc(gt, wt, sameExtreme) || !slices.EqualFunc(gb, wb, sameExtreme) {
			tb.Errorf("column %d: extremes differ", c)
		}
	}
	for s, grams := range [][2]*comoment.Gram{{&got.original, &want.original}, {&got.released, &want.released}} {
		for p := range grams[1].Pairs {
			g, w := grams[0].Pairs[p], grams[1].Pairs[p]
			what := fmt.Sprintf("side %d pair %d ", s, p)
			near(what+"n", g.N, w.N, 0)
			near(what+"mean i", g.Mi, w.Mi, 0)
			near(what+"mean j", g.Mj, w.Mj, 0)
			near(what+"C ii", g.Cii, w.Cii, 0)
			near(what+"C jj", g.Cjj, w.Cjj, 0)
			near(what+"C ij", g.Cij, w.Cij, math.Sqrt(w.Cii*w.Cjj))
		}
	}
	got.sample.Settle()
	want.sample.Settle()
	if !slices.Equal(got.sample.Priority, want.sample.Priority) || !slices.Equal(got.sample.Row, want.sample.Row) ||
		!slices.EqualFunc(got.sample.From, want.sample.From, func(a, b *place.Origin) bool { return a.Compare(b) == 0 }) {
		tb.Error("samples hold different records")
		return
	}
	for i := range want.sample.Values {
		if !slices.EqualFunc(got.sample.Values[i], want.sample.Values[i], func(a, b float64) bool {
			return math.Float64bits(a) == math.Float64bits(b)
		}) {
			tb.Errorf("samples differ in value %d", i)
		}
	}
}

// Any division into blocks, in any order, and into accumulators merged in any order, gives the same
// assessment, which equals the definitions.
func TestAnySplitGivesTheSame(t *testing.T) {
	for _, nulls := range []bool{false, true} {
		const n = 7001
		table := makePairs(11, n, nulls)
		o := testOptions(t)
		want := newAccumulator(t, o)
		want.Add(table.block(0, n))
		checkAgainstDefinition(t, want, &table)
		for trial := range 12 {
			rng := rand.New(rand.NewPCG(uint64(trial), 5))
			parts := make([]*Accumulator, 1+rng.IntN(5))
			for i := range parts {
				parts[i] = newAccumulator(t, o)
			}
			var cuts []int
			for at := 0; at < n; at += 1 + rng.IntN([]int{3, 100, 3000}[trial%3]) {
				cuts = append(cuts, at)
			}
			cuts = append(cuts, n)
			order := rng.Perm(len(cuts) - 1)
			for _, i := range order {
				parts[rng.IntN(len(parts))].Add(table.block(cuts[i], cuts[i+1]))
			}
			total := newAccumulator(t, o)
			if trial%2 == 0 { // left to right
				for _, p := range parts {
					must(t, total.Merge(p))
				}
			} else { // right to left, nested
				for i := len(parts) - 1; i > 0; i-- {
					must(t, parts[i-1].Merge(parts[i]))
				}
				total = parts[0]
			}
			sameAccumulator(t, total, want)
			if t.Failed() {
				t.Fatalf("trial %d, nulls %v", trial, nulls)
			}
		}
	}
}

// Sums are taken about a centre of either side, and what comes of them does not depend on
// it: whether it is 0, 1 or far off on one side, on the other or on both.
func TestSumsDoNotDependOnTheirCentres(t *testing.T) {
	const n = 1024 // of which the first 512 give the centre
	for _, of := range []float64{0, 1, 1e6} {
		for _, released := range []float64{0, 1, 1e6} {
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i], y[i] = of, released
				if i >= n/2 {
					x[i] += float64(1 - 2*(i%2))
					y[i] += float64(2 - 4*(i/2%2))
				}
			}
			a := newAccumulator(t, Options{Columns: numbered(1), Sample: 10})
			a.Add(orderBlock(x, y, 0, n))
			u, v, s := a.original.At(0, 0), a.released.At(0, 0), &a.columns[0]
			if u.N != n || u.Mi != of || u.Cii != n/2 || v.N != n || v.Mi != released || v.Cii != 2*n {
				t.Errorf("values about %v and %v: %+v and %+v", of, released, *u, *v)
			}
			d := released - of
			if s.pairs != n || s.diff != n*d || s.squareDiff != n*d*d+n/2*5 {
				t.Errorf("values about %v and %v: differences %v, squares %v", of, released, s.diff, s.squareDiff)
			}
		}
	}
}

// Of the released values the least and the greatest are kept, where -0 is less than 0.
func TestLeastAndGreatestReleasedZero(t *testing.T) {
	zero := math.Copysign(0, -1)
	for _, c := range []struct{ y, want []float64 }{
		{[]float64{0, 5, zero}, []float64{zero, 5}},
		{[]float64{zero, -5, 0}, []float64{-5, 0}},
		{[]float64{zero, 5, 0}, []float64{zero, 5}},
		{[]float64{0, -5, zero}, []float64{-5, 0}},
	} {
		a := newAccumulator(t, Options{Columns: numbered(1), Sample: 10})
		a.Add(orderBlock([]float64{1, 2, 3}, c.y, 0, 3))
		s := &a.columns[0]
		if got := []float64{s.low, s.high}; !slices.EqualFunc(got, c.want, func(a, b float64) bool {
			return math.Float64bits(a) == math.Float64bits(b)
		}) {
			t.Errorf("of %v: least and greatest %v, want %v", c.y, got, c.want)
		}
	}
}

// A null counts as one in whichever column it is, the first, the last or one between them.
func TestNullsCountInEveryColumn(t *testing.T) {
	const n = 1024
	for missing := range 3 {
		for _, side := range []string{"original", "released"} {
			b := new(microdata.Block)
			b.Reset(0, 0, n, 3)
			for c := range 3 {
				x := b.Columns[c].Alloc(n, true)
				y := b.Columns[c].Mutable()
				y.Valid = microdata.NewBitmap(n, y.Valid)
				for i := range n {
					x.Values[i], y.Values[i] = 5, 7
				}
				if v := map[string]*microdata.Vector{"original": x, "released": y}[side]; c == missing {
					v.Valid.Clear(700)
					v.Values[700] = 1e3
				}
			}
			a := newAccumulator(t, Options{Columns: numbered(3), Sample: 10})
			a.Add(b)
			for c := range 3 {
				want, of, released := int64(n), float64(n), float64(n)
				if c == missing {
					want--
					if side == "original" {
						of--
					} else {
						released--
					}
				}
				s, u, v := &a.columns[c], a.original.At(c, c), a.released.At(c, c)
				if s.pairs != want || u.N != of || v.N != released || u.Mi != 5 || v.Mi != 7 || s.diff != 2*float64(want) ||
					s.high != 7 {
					t.Errorf("%s value of column %d missing: column %d has %d pairs, %+v and %+v", side, missing, c, s.pairs, *u, *v)
				}
			}
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// checkAgainstDefinition computes everything exactly in two passes.
func checkAgainstDefinition(t *testing.T, a *Accumulator, table *pairTable) {
	t.Helper()
	n := len(table.rejected)
	for side, data := range [][4][]float64{table.x, table.y} {
		g := &a.original
		if side == 1 {
			g = &a.released
			data[3] = table.x[3]
		}
		for i := range 4 {
			for j := range i + 1 {
				var k, mi, mj, cii, cjj, cij float64
				for pass := range 2 {
					for r := range n {
						u, v := data[i][r], data[j][r]
						if table.rejected[r] || math.IsNaN(u) || math.IsNaN(v) {
							continue
						}
						if pass == 0 {
							k++
							mi += (u - mi) / k
							mj += (v - mj) / k
						} else {
							cii += (u - mi) * (u - mi)
							cjj += (v - mj) * (v - mj)
							cij += (u - mi) * (v - mj)
						}
					}
				}
				c := g.At(i, j)
				if c.N != k || !(math.Abs(c.Mi-mi) <= 1e-13*math.Abs(mi)) || math.Abs(c.Cij-cij) > 1e-11*math.Sqrt(cii*cjj) ||
					!(math.Abs(c.Cii-cii) <= 1e-11*cii) {
					t.Errorf("side %d, columns %d, %d: %+v, want n %v, mean %v, C %v and %v", side, i, j, *c, k, mi, cii, cij)
				}
			}
		}
	}
	type at struct {
		v   float64
		row int
	}
	for c := range 4 {
		var all []at
		for r := range n {
			if !table.rejected[r] && !math.IsNaN(table.x[c][r]) {
				all = append(all, at{table.x[c][r], r})
			}
		}
		top, bottom := a.Extremes(a.opts.Columns[c].Name)
		for _, end := range []struct {
			sign float64
			got  []Extreme
		}{{1, top}, {-1, bottom}} {
			slices.SortFunc(all, func(p, q at) int { return cmp.Or(cmp.Compare(q.v*end.sign, p.v*end.sign), p.row-q.row) })
			for i, e := range end.got {
				if e.Original != all[i].v || e.Row != int64(all[i].row) {
					t.Fatalf("column %d: extreme %d is row %d, want %d", c, i, e.Row, all[i].row)
				}
			}
			if len(end.got) != a.opts.Extremes {
				t.Errorf("column %d: %d extremes, want %d", c, len(end.got), a.opts.Extremes)
			}
		}
	}
}

// Without a key the sample is fixed: also uniform, and different from all keyed samples.
func TestSampleWithoutKey(t *testing.T) {
	o := Options{Columns: numbered(1), Sample: 200}
	a, b := newAccumulator(t, o), newAccumulator(t, o)
	o.Key = testKey(t)
	keyed := newAccumulator(t, o)
	for i, block := range normalBlocks(t, 1, 4000, 500, 1) {
		[]*Accumulator{a, b}[i%2].Add(block)
		keyed.Add(block)
	}
	must(t, a.Merge(b))
	a.sample.Settle()
	keyed.sample.Settle()
	late := 0
	for _, r := range a.sample.Row {
		if r >= 2000 {
			late++
		}
	}
	// Hypergeometric, SD √(200·¼·0.95) = 6.9; 5.5 of them.
	if a.sample.Len() != 200 || !(math.Abs(float64(late)-100) <= 38) {
		t.Errorf("%d records, %d of the second half", a.sample.Len(), late)
	}
	if slices.Equal(a.sample.Row, keyed.sample.Row) {
		t.Error("the sample does not depend on the key")
	}
	if a.Merge(keyed) == nil {
		t.Error("samples of different keys must not merge")
	}
}

// The sample is uniform: each of 20,000 records is in a sample of 2,000 with probability 1/10.
// Counts per tenth of the rows have a hypergeometric SD of √(2000·0.1·0.9·0.9) = 12.7; 5.5 of them
// give a false-reject rate below 1e-6.
func TestSampleIsUniform(t *testing.T) {
	const n = 20_000
	a := newAccumulator(t, Options{Columns: numbered(1), Sample: 2000, Key: testKey(t)})
	for _, b := range normalBlocks(t, 1, n, 777, 1) {
		a.Add(b)
	}
	a.sample.Settle()
	if a.sample.Len() != 2000 {
		t.Fatalf("%d records in the sample", a.sample.Len())
	}
	var tenth, odd [10]int
	for _, r := range a.sample.Row {
		tenth[r*10/n]++
		odd[r%2]++
	}
	for i, k := range tenth {
		if !(math.Abs(float64(k)-200) <= 70) {
			t.Errorf("tenth %d: %d records, want 200 ± 70", i, k)
		}
	}
	if !(math.Abs(float64(odd[0]-odd[1])) <= 5.5*2*math.Sqrt(2000*0.25*0.9)) {
		t.Errorf("%d even rows, %d odd ones", odd[0], odd[1])
	}
}

func TestMergeRefusesAnotherSetup(t *testing.T) {
	o := testOptions(t)
	a := newAccumulator(t, o)
	for name, change := range map[string]func(*Options){
		"columns":  func(o *Options) { o.Columns = o.Columns[:2] },
		"sample":   func(o *Options) { o.Sample = 7 },
		"extremes": func(o *Options) { o.Extremes = 7 },
		"carry":    func(o *Options) { o.Carry = nil },
		"beside":   func(o *Options) { o.Beside = nil },
	} {
		p := o
		change(&p)
		if a.Merge(newAccumulator(t, p)) == nil {
			t.Errorf("merging accumulators with different %s must be an error", name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no columns":        func(o *Options) { o.Columns, o.Carry = nil, nil },
		"released only":     func(o *Options) { o.Released = []int{7} },
		"an index twice":    func(o *Options) { o.Columns = []Column{{Name: "a"}, {Name: "b"}} },
		"target p100":       func(o *Options) { o.Targets = []string{"p100"} },
		"target p00":        func(o *Options) { o.Targets = []string{"p00"} },
		"target p5":         func(o *Options) { o.Targets = []string{"p5"} },
		"target p50.":       func(o *Options) { o.Targets = []string{"p50."} },
		"target median":     func(o *Options) { o.Targets = []string{"median"} },
		"extremes":          func(o *Options) { o.Extremes = -1 },
		"replicates":        func(o *Options) { o.Replicates = -1 },
		"a negative column": func(o *Options) { o.Columns = []Column{{Index: -1}} },
		"negative carry":    func(o *Options) { o.Carry = []int{-1} },
	} {
		o := testOptions(t)
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s must be refused", name)
		}
	}
}

// Extremes returns the r largest and the r smallest records of a column by original value, the most
// extreme first, and the earliest place first among equal values. It returns nil if the column is
// not assessed. The results are as confidential as the original data.
func (a *Accumulator) Extremes(column string) (top, bottom []Extreme) {
	c := slices.IndexFunc(a.opts.Columns, func(c Column) bool { return c.Name == column })
	if c < 0 {
		return nil, nil
	}
	list := func(e *sample.Edge) []Extreme {
		e.Prune()
		out := make([]Extreme, len(e.Entries))
		for i, x := range e.Entries {
			out[i] = Extreme{x.From.Scope, int(x.From.Stream), x.Row, x.X, x.Values[2*c+1]}
		}
		return out
	}
	return list(&a.columns[c].top), list(&a.columns[c].bottom)
}

// Extreme is one of the most extreme records of a column, by original value.
type Extreme struct {
	Scope              string // of its original block
	Stream             int
	Row                int64 // place in the stream
	Original, Released float64
}
