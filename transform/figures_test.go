package transform

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// sums are weighted sums of rows of numbers. Each row has its own weight, so that a changed number,
// or two exchanged ones, changes a sum.
type sums []float64

func (s *sums) add(row int, values ...float64) {
	for len(*s) < len(values) {
		*s = append(*s, 0)
	}
	for i, v := range values {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			(*s)[i] += v * math.Sqrt(float64(row+2))
		}
	}
}

// figureTypes are types with precisions of every kind.
func figureTypes() []lawType {
	return append(slices.Clone(lawTypes), lawType{"single precision", arrow.PrimitiveTypes.Float32, -1},
		lawType{"tens", &arrow.Decimal128Type{Precision: 10, Scale: -1}, 0})
}

// The law of a chain at single originals is compared with stored figures. TestLawIsThatOfTheChain
// compares it with draws, which cannot check the last digits.
func TestFiguresOfLaws(t *testing.T) {
	var f pinned.Figures
	chains := lawChains()
	for _, typ := range figureTypes() {
		for _, name := range slices.Sorted(maps.Keys(chains)) {
			column := testColumn{Values: []float64{80, 120}, Type: typ.of, Decimals: typ.decimals}
			setup := testSetup(t, column)
			setup.Columns[0].SD, setup.Columns[0].Mean = 20, 100
			law, ok := chain(t, setup, chains[name]...).Law("a")
			if !ok {
				t.Fatalf("%s has no law", name)
			}
			var moments, below sums
			originals := []float64{0, 3, 95, 99, 100, 101, 250}
			p := make([]float64, len(originals))
			for i, x := range originals {
				shift, square := law.Moments(x)
				low, high := law.Reach(x)
				moments.add(i, shift, square, low, high)
			}
			for k, at := range []float64{-10, 80, 94.5, 97, 99, 100, 101, 104, 110, 130} {
				law.BelowEach(originals)(at, p)
				for i, x := range originals {
					below.add(10*i+k, law.Below(x, at), p[i])
				}
			}
			low, high, step := law.Support()
			f.Add(fmt.Sprintf("%s of %s", name, typ.name),
				append(append(moments, below...), max(low, -1e300), min(high, 1e300), step)...)
		}
	}
	f.Check(t, "testdata/laws.txt")
}

// displacementChains are masks with swaps of column "a".
func displacementChains() map[string][]Spec {
	noise := func(sd float64) Spec { return mask(&Noise{Columns: []string{"a"}, SD: amount(sd)}) }
	swap := func(policy, scope string, rate float64) Spec { return mask(swapMask(policy, scope, rate)) }
	second := func(scope string) Spec {
		rate := 0.5
		return Spec{
			Name: "second",
			Params: &Swap{Keys: []string{"c"}, Attribute: "d", Columns: []string{"a"}, Rate: &rate, Policy: "random",
				Scope: scope}}
	}
	upper, base := 9000.0, 1000.0
	clip, round := mask(&Truncate{Columns: []string{"a"}, Upper: &upper}),
		mask(&Round{Columns: []string{"a"}, Base: &base})
	chains := map[string][]Spec{
		"noise, swap":              {noise(3000), swap("random", "", 0.4)},
		"swap, clip":               {swap("unique", "dataset", 1), clip},
		"round, swap, noise, clip": {round, swap("random", "dataset", 0.6), noise(2000), clip},
		"swap, swap":               {swap("random", "", 0.5), second("")},
		"swap, swap of dataset":    {swap("unique", "", 0.8), second("dataset")},
		"swap of dataset, swap":    {second("dataset"), noise(500), swap("random", "", 0.7)},
		"bias, round, swap of pairs": {mask(&Bias{Columns: []string{"a"}, Phi: &[]float64{0.2}[0]}), round, noise(100),
			swap("random", "", 0.7)},
	}
	for _, policy := range []string{"unique", "random"} {
		for _, scope := range []string{"", "dataset"} {
			for _, rate := range []float64{0.5, 1} {
				chains[fmt.Sprint(policy, scope, rate)] = []Spec{swap(policy, scope, rate)}
			}
		}
	}
	return chains
}

// The results of a Displacer for every record of a small file, with and without nulls and rejected
// records, in one block and in several.
func TestFiguresOfDisplacements(t *testing.T) {
	const n, window = 240, 80
	var f pinned.Figures
	chains := displacementChains()
	for name, masks := range map[string][]Spec{"random, drawn": chains["random0.5"],
		"unique of dataset, drawn": chains["uniquedataset0.5"]} {
		for i, distribution := range []string{"laplace", "uniform", "laplace"} { // three draws have no law
			masks = append(slices.Clone(masks),
				Spec{Name: fmt.Sprint("noise ", i),
					Params: &Noise{Columns: []string{"a"}, SD: amount(400), Distribution: distribution}})
		}
		chains[name] = masks
	}
	for _, name := range slices.Sorted(maps.Keys(chains)) {
		for _, nulls := range []bool{false, true} {
			columns := displacementData(n, 5, 0.5, nulls)
			setup := testSetup(t, columns...)
			setup.Window = window
			c := chain(t, setup, chains[name]...)
			for _, size := range []int{n, window} {
				var all sums
				for k, moved := range displacements(t, c, size, columns) {
					for i := range moved.Total {
						all.add(k*size+i, moved.Weight[i], moved.Total[i], moved.Stay[i], moved.Square[i], moved.Noise[i])
						all.add(k*size+i, 0, 0, 0, 0, 0, 0, moved.Likeliest[i], moved.Mean[i])
						for _, d := range moved.Deviations {
							all.add(k*size+i, 0, 0, 0, 0, 0, float64(d[i])*float64(d[i]))
						}
					}
				}
				f.Add(fmt.Sprintf("%s, nulls %v, blocks of %d", name, nulls, size), all...)
			}
		}
	}
	f.Check(t, "testdata/displacements.txt")
}

// The unchanged values that chains explain.
func TestFiguresOfKeeping(t *testing.T) {
	var f pinned.Figures
	chains := lawChains()
	for _, typ := range figureTypes() {
		for _, name := range slices.Sorted(maps.Keys(chains)) {
			column := testColumn{Values: []float64{0, 3, 90, 95, 97, 99, 100, 101, 108, 110, 250}, Type: typ.of,
				Decimals: typ.decimals}
			setup := testSetup(t, column)
			setup.Columns[0].SD, setup.Columns[0].Mean = 20, 100
			c := chain(t, setup, chains[name]...)
			apply(t, c, block(0, len(column.Values), column))
			var all sums
			for k, typical := range []float64{0.5, 100, 3000} {
				for w, whole := range []bool{false, true} {
					keeping := c.Keeping("a", typical, whole)
					for i, x := range column.Values {
						all.add(100*k+50*w+i, keeping.Share(x), keeping.Most)
					}
				}
			}
			f.Add(fmt.Sprintf("%s of %s", name, typ.name), all...)
		}
	}
	f.Check(t, "testdata/keeping.txt")
}

// The releases of a file with streams, scopes, gaps, nulls and rejected records, by the same chains
// and by replicates that share their draws.
func TestFiguresOfReleases(t *testing.T) {
	const n, window = 240, 80
	var f pinned.Figures
	chains := displacementChains()
	for name, masks := range lawChains() {
		chains[name] = masks
	}
	columns := displacementData(n, 9, 0.5, true)
	for _, i := range []int{7, 100, 239} {
		columns[0].Values[i] = math.NaN()
	}
	for i := 0; i < n; i += 5 {
		if columns[0].Values[i] == columns[0].Values[i] {
			columns[0].Values[i] = float64(90 + i%17)
		}
	}
	sum := func(c *Chain) sums {
		var all sums
		blocks := func(do func(b *microdata.Block) error) {
			for k, from := range []int{0, window, 2 * window} {
				b := block(from, from+window, columns...)
				if k == 2 {
					b.Scope, b.Places = "other", make([]int64, window)
					for i := range b.Places {
						b.Places[i] = int64(from + 3*i)
					}
					b.First = b.Places[0]
				}
				if err := do(b); err != nil {
					t.Fatal(err)
				}
			}
		}
		if c.NeedsSurvey() {
			blocks(c.Survey)
			if err := c.EndSurvey(); err != nil {
				t.Fatal(err)
			}
		}
		row := 0
		blocks(func(b *microdata.Block) error {
			err := c.Apply(b)
			y := b.Columns[0].Out()
			for i := range b.N {
				row++
				if y.Valid.Has(i) && !b.Rejected(i) {
					all.add(row, y.Values[i], 1)
				}
			}
			return err
		})
		for _, touch := range c.Touched() {
			all = append(all, float64(touch.Records))
		}
		return all
	}
	for _, name := range slices.Sorted(maps.Keys(chains)) {
		setup := testSetup(t, columns...)
		setup.Columns[0].SD, setup.Columns[0].Mean = 20, 100
		setup.Window = window
		c := chain(t, setup, chains[name]...)
		f.Add(name, sum(c)...)
		for m, r := range Replicates(
			[]*Chain{
				c, chain(t, setup, append(slices.Clone(chains[name]), mask(&Round{Columns: []string{"a"}, Base: ptr(2.0)}))...)},
			3) {
			f.Add(fmt.Sprintf("%s, replicate at %d", name, m), sum(r)...)
		}
	}
	f.Check(t, "testdata/releases.txt")
}
