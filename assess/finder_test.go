package assess

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// A second look finds the record of each percentile among equal values in the order of the source, its released value,
// and the released value of the same rank, over two streams with missing values and rejected records. If the second
// pass has other records, nothing is found.
func TestSecondLook(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	type pair struct{ x, y float64 }
	var all []pair
	var blocks []*microdata.Block
	for stream := range 2 {
		for first := 0; first < 600; first += 200 {
			b := new(microdata.Block)
			b.Reset(stream, int64(first), 200, 1)
			x, y := make([]float64, 200), make([]float64, 200)
			there, out := microdata.NewBitmap(200, nil), microdata.NewBitmap(200, nil)
			for i := range x {
				x[i] = math.Round(20*r.NormFloat64() + 100) // many ties
				y[i] = math.Round(30 * r.ExpFloat64())
				p := pair{x[i], y[i]}
				switch {
				case i%37 == 0:
					b.Reject(i, "x", "test")
					continue
				case i%11 == 0:
					there.Clear(i)
					p.x = math.NaN()
				case i%13 == 0:
					out.Clear(i)
					p.y = math.NaN()
				}
				all = append(all, p)
			}
			b.Columns[0].Original = microdata.Vector{Values: x, Valid: there}
			b.Columns[0].Released = microdata.Vector{Values: y, Valid: out}
			blocks = append(blocks, b)
		}
	}
	targets := []string{"p01", "p10", "p50", "p95", "p99.9"}
	a := newAccumulator(t,
		Options{Columns: []Column{{Name: "x", Masked: true}}, Targets: targets, Sample: 40, Key: testKey(t)})
	for _, b := range blocks {
		a.Add(b)
	}
	before := measured(t, a).Column("x")
	for _, target := range targets {
		if r := risk(t, before, target, KnowledgeIndex); !math.IsInf(float64(r.R), 1) || !r.Approximate ||
			r.RealisedR == r.RealisedR {
			t.Errorf("%s by index, not found: %+v", target, r)
		}
	}
	look := func(blocks []*microdata.Block) *ColumnMeasures {
		f := a.Finder()
		for _, b := range blocks {
			f.Add(b)
		}
		a.SetFound(f)
		return measured(t, a).Column("x")
	}
	if m := look(blocks[:5]); fmt.Sprint(m.Risk) != fmt.Sprint(before.Risk) {
		t.Error("other records in the second pass make a difference")
	}
	m := look(blocks)
	byX := slices.DeleteFunc(slices.Clone(all), func(p pair) bool { return p.x != p.x })
	slices.SortStableFunc(byX, func(a, b pair) int { return cmp.Compare(a.x, b.x) })
	byY := slices.DeleteFunc(slices.Clone(all), func(p pair) bool { return p.y != p.y })
	slices.SortStableFunc(byY, func(a, b pair) int { return cmp.Compare(a.y, b.y) })
	for i, share := range []float64{0.01, 0.1, 0.5, 0.95, 0.999} {
		holder := byX[int(math.Ceil(share*float64(len(byX))-1e-9))-1]
		position := byY[int(math.Ceil(share*float64(len(byY))-1e-9))-1].y
		for knowledge, d := range map[string]float64{KnowledgeIndex: holder.x - holder.y,
			KnowledgePosition: holder.x - position} {
			r := risk(t, m, targets[i], knowledge)
			if want := 1 / (d * d); !(math.Abs(float64(r.R)-want) <= 1e-9*want) && d == d || r.Approximate || d == d &&
				r.R != r.RealisedR {
				t.Errorf("%s by %s: %+v, want R %v", targets[i], knowledge, r, want)
			}
		}
		least := risk(t, before, targets[i], KnowledgePosition)
		if d := holder.x - position; float64(least.RMSE) > math.Abs(d) {
			t.Errorf("%s by position: %v, but it is %v", targets[i], least.RMSE, d)
		}
	}
}

// moving moves the records with a mark in column 1 by 8 to 12.
type moving struct{ r *rand.Rand }

func (moving) NeedsSurvey() bool             { return false }
func (moving) Survey(*microdata.Block) error { return nil }
func (moving) EndSurvey() error              { return nil }
func (m moving) Apply(b *microdata.Block) error {
	v := b.Columns[0].Mutable()
	for i := range b.N {
		if b.Columns[1].Original.Values[i] > 0.5 {
			v.Values[i] += 8 + 4*m.r.Float64()
		}
	}
	return nil
}

// A record that holds a percentile beyond the sample has its own values in the columns that masks read, in every part
// of the sample: who holds one that the mask leaves is known exactly. Without a second look nothing says whether the
// mask changes it.
func TestSecondLookTakesWhatMasksRead(t *testing.T) {
	const n = 60_000
	r := rand.New(rand.NewPCG(37, 5))
	x, mark := make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], mark[i] = math.Round(1000*r.NormFloat64()), float64(r.IntN(2))
	}
	var blocks []*microdata.Block
	for from := 0; from < n; from += 10_000 {
		b := new(microdata.Block)
		b.Reset(0, int64(from), 10_000, 2)
		b.Columns[0].Original, b.Columns[1].Original = microdata.Vector{Values: x[from : from+10_000]},
			microdata.Vector{Values: mark[from : from+10_000]}
		if err := (moving{r}).Apply(b); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	targets := []string{"p02", "p10", "p30", "p50", "p60", "p80", "p95", "p99"}
	a := newAccumulator(t,
		Options{Columns: []Column{{Name: "x", Masked: true, Elsewhere: true}}, Carry: []int{1}, Targets: targets,
			Sample: 25_000, Key: testKey(t), Replicates: 12,
			Replicate: func(m int) Masker { return moving{rand.New(rand.NewPCG(uint64(m), 1))} }})
	for _, b := range blocks {
		a.Add(b)
	}
	for _, target := range targets {
		if r := risk(t, measured(t, a).Column("x"), target, KnowledgeIndex); !math.IsInf(float64(r.R), 1) ||
			r.Errs != ErrsSafe || !r.Bound {
			t.Errorf("%s by index before the second look: %+v, want a bound", target, r)
		}
	}
	f := a.Finder()
	for _, b := range blocks {
		f.Add(b)
	}
	a.SetFound(f)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	m, left := measured(t, a).Column("x"), 0
	for _, target := range targets {
		var p int
		fmt.Sscanf(target, "p%d", &p)
		low, high := 1.0/(12*12), 1.0/(8*8)
		if mark[order[n*p/100-1]] == 0 {
			low, high = math.Inf(1), math.Inf(1)
			left++
		}
		if got := float64(risk(t, m, target, KnowledgeIndex).R); !(got >= low && got <= high) {
			t.Errorf("%s by index: R is %v, want %v to %v", target, got, low, high)
		}
	}
	if left == 0 || left == len(targets) {
		t.Errorf("%d of %d holders are left", left, len(targets))
	}
}

// One record more than the sample has, and no record must be taken for kept that will be dropped: percentiles are
// looked for.
func TestSecondLookAtOneRecordMore(t *testing.T) {
	for _, n := range []int{2, 3, 5, 41, 1101} {
		o := Options{Columns: []Column{{Name: "x", Masked: true}}, Targets: []string{"p01", "p50", "p99"}, Sample: n - 1,
			Key: testKey(t)}
		b := new(microdata.Block)
		b.Reset(0, 0, n, 1)
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i * i)
		}
		b.Columns[0].Original = microdata.Vector{Values: x}
		b.Columns[0].Released = microdata.Vector{Values: x}
		a := newAccumulator(t, o)
		a.Add(b)
		if a.Finder() == nil {
			t.Errorf("%d records, a sample of %d: nothing is looked for", n, o.Sample)
		}
		a = newAccumulator(t, o)
		a.Add(b)
		if got := len(a.Brackets("x")); got != len(o.Targets) {
			t.Errorf("%d records, a sample of %d: %d brackets", n, o.Sample, got)
		}
		o.Sample = n
		a = newAccumulator(t, o)
		a.Add(b)
		if a.Finder() != nil || a.Brackets("x") != nil {
			t.Errorf("%d records: something is looked for that the sample holds", n)
		}
	}
}
