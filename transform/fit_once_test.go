package transform

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/category"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
	"github.com/sdlfilter/sdlfilter/transform/internal/models"
)

// Replicates that share what was found of the data release what each releases by itself: of the same data, of other
// data in between, and in either order.
func TestReplicatesShareWhatWasFound(t *testing.T) {
	data, other := codedData(400, 3), codedData(400, 4)
	for _, of := range [][]testColumn{data, other} { // a spike in c, ties, and values that are missing
		for i := range of[2].Values {
			of[2].Values[i] = math.Round(of[2].Values[i])
			if i%3 == 0 {
				of[2].Values[i] = 0
			}
		}
		of[2].Null = []int{0, 7, 399}
	}
	for name, m := range map[string]Spec{
		"parametric": synthesise(Synthesise{Columns: []string{"c", "a"}, On: []string{"d"}, By: []string{"e"}}),
		"normal":     synthesise(Synthesise{Columns: []string{"a", "c"}, Method: "normal", Bounds: "none"}),
		"held out":   synthesise(Synthesise{Columns: []string{"a", "c"}, On: []string{"d"}, HeldOut: ptr(0.3)}),
		"rules": synthesise(
			Synthesise{Columns: []string{"a", "c"}, On: []string{"d"}, Rules: []string{"c = 0 if d > 1"}}),
		"cart": synthesise(Synthesise{Columns: []string{"c", "b", "a"}, On: []string{"d"}, Categories: []string{"b"},
			Method: "cart"}),
		"rankswap":    mask(&RankSwap{Columns: []string{"a", "c"}, P: ptr(0.1), Top: ptr(0.05)}),
		"correlation": mask(&RankSwap{Columns: []string{"a", "c"}, MinCorrelation: ptr(0.9)}),
		"shuffle":     mask(&Shuffle{Columns: []string{"a", "c"}, On: []string{"d"}}),
	} {
		alone := func(number int, of []testColumn) string {
			return fmt.Sprint(whole(t, chain(t, testSetup(t, data...), m).Replicate(number), 400, of...))
		}
		shared := chain(t, testSetup(t, data...), m)
		for _, turn := range []struct {
			number int
			of     []testColumn
		}{{1, data}, {2, data}, {3, other}, {2, other}, {1, data}, {4, data}} {
			if got := fmt.Sprint(whole(t, shared.Replicate(turn.number), 400, turn.of...)); got != alone(turn.number, turn.of) {
				t.Errorf("%s: replicate %d differs from one that shares nothing", name, turn.number)
			}
		}
	}
}

// The k-th free rank is that of a list, and exchanges are those of a plain computation, for few and many ranks, and any
// reach.
func TestRankExchangesAreThePlainOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 37))
	for _, n := range []int{1, 2, 3, 63, 64, 65, 1023, 1024, 1025, 5000} {
		for _, reach := range []int{1, 2, 7, n / 20, n - 1, n, 2 * n} {
			if reach < 1 {
				continue
			}
			values, words, order := make([]float64, n), make([]uint64, n), make([]int32, n)
			for i := range n {
				values[i], words[i], order[i] = float64(i), r.Uint64(), int32(n-1-i)
			}
			want := slices.Clone(values)
			free := slices.Repeat([]bool{true}, n)
			for k, i := range order {
				if !free[k] {
					continue
				}
				free[k] = false
				var near []int
				for j := k + 1; j < n && j <= k+reach; j++ {
					if free[j] {
						near = append(near, j)
					}
				}
				if len(near) > 0 {
					j := near[matching.Below(words[i], int64(len(near)))]
					free[j] = false
					want[i], want[order[j]] = want[order[j]], want[i]
				}
			}
			exchangeRanks(values, order, words, reach)
			if !slices.Equal(values, want) {
				t.Errorf("%d ranks, reach %d: other exchanges", n, reach)
			}
		}
	}
}

// Free ranks are found beyond the ends of parts of all sizes, from any rank up to which none is free.
func TestFreeRanksAreFoundAcrossParts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	for _, n := range []int{1, 64, 1<<smallPart + 1, 1<<middlePart + 65, 1<<largePart + 1<<middlePart + 3} {
		var free freeRanks
		free.all(n + 70)
		free.all(n) // of a greater number before
		from := r.IntN(n)
		var left []int
		for rank := range n {
			if rank <= from || r.IntN(3) == 0 || rank>>smallPart == 40 { // a part of which all are taken
				free.take(rank)
			} else {
				left = append(left, rank)
			}
		}
		for range min(len(left), 2000) {
			if k := r.IntN(len(left)); free.find(from, n-1, k) != left[k] {
				t.Fatalf("%d ranks: the %d-th free one behind %d is %d, want %d", n, k, from, free.find(from, n-1, k), left[k])
			}
		}
		if last := len(left) - 1; last >= 0 && free.find(from, n-1, last) != left[last] {
			t.Errorf("%d ranks: another last one", n)
		}
	}
}

// A tree on columns that do not change knows the leaf of each record, missing predictors included; one on drawn columns
// does not, nor does that of a small stratum.
func TestLeavesOfUnchangedPredictorsAreKnown(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const n = 600
	x, z, y, rows := make([]float64, n), make([]float64, n), make([]float64, n), make([]int32, n)
	for i := range n {
		x[i], z[i], rows[i] = r.NormFloat64(), r.NormFloat64(), int32(i)
		y[i] = x[i] + r.NormFloat64()/10
	}
	x[5] = math.NaN()
	s := &synthesis{leaf: 10, categories: []bool{false}}
	by := modelled{before: []models.Predictor{{Values: x}, {Values: z}}, on: 2}
	fit := s.fitTree(y, slices.Delete(slices.Clone(rows), 5, 6), 0, by, nil)
	if len(fit.leaves) != n || len(fit.of.Nodes) < 20 {
		t.Fatalf("%d leaves of records, %d nodes", len(fit.leaves), len(fit.of.Nodes))
	}
	for i, leaf := range fit.leaves {
		if int(leaf) != fit.of.NodeOf(by.before, int32(i)) {
			t.Errorf("record %d has another leaf", i)
		}
	}
	for i, row := range fit.of.Rows {
		if fit.y[i] != y[row] {
			t.Errorf("row %d has another value", i)
		}
	}
	if by.on = 0; s.fitTree(y, rows[10:], 0, by, nil).leaves != nil {
		t.Error("the leaves of a drawn predictor are said not to change")
	}
	if by.on = 2; s.fitTree(y, rows[n/2+10:], 0, by, nil).leaves != nil {
		t.Error("a small stratum has the leaves of all records")
	}
}

// Rows of equal values are in the order of their words, those of equal words by their places, where words differ in few
// bits too.
func TestEqualRowsAreInTheOrderOfTheirWords(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	unmixing := uint64(1)
	for range 6 { // Newton's inverse of mixing modulo 2⁶⁴
		unmixing *= 2 - mixing*unmixing
	}
	var order wordOrder
	for _, n := range []int{0, 1, 2, 3000, 3, 12, 100} {
		for kind, word := range map[string]func() uint64{
			"any": r.Uint64, "few": func() uint64 { return r.Uint64N(uint64(n)/2 + 1) }, "last bits": func() uint64 {
				return (r.Uint64N(1<<20) + 7<<40) * unmixing
			},
			"ends": func() uint64 { return (r.Uint64N(2)*math.MaxUint64 ^ r.Uint64N(3)) * unmixing },
		} {
			rows, words := make([]int32, n), make([]uint64, n)
			for i := range n {
				rows[i], words[i] = int32(i), word()
			}
			drawn := slices.Clone(words)
			order.sort(rows, drawn, nil)
			seen := map[int32]bool{}
			for i, a := range rows {
				seen[a] = true
				if drawn[i] != words[a] {
					t.Fatalf("%s: of %d rows number %d has the word of another", kind, n, i)
				}
				if i == 0 {
					continue
				}
				if b := rows[i-1]; words[b]*mixing > words[a]*mixing || words[a] == words[b] && b > a {
					t.Fatalf("%s: of %d rows number %d is out of order", kind, n, i)
				}
			}
			if len(seen) != n {
				t.Errorf("%s: %d of %d rows are left", kind, len(seen), n)
			}
		}
	}
}

// The invariant matrix of many categories that keep makes is the product of two matrices, and keeps the frequencies;
// other matrices of many categories are multiplied.
func TestInvariantMatrixOfManyCategories(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	n := category.ManyCategories + 3
	names, frequencies := make([]string, n), make([]float64, n)
	for i := range n {
		names[i], frequencies[i] = fmt.Sprintf("c%03d", i), float64(r.IntN(50))
	}
	frequencies[0], frequencies[n-1] = 0, 70
	for _, keep := range []float64{0, 0.3, 0.8, 1} {
		_, p := (&PRAM{Categories: names, Keep: &keep}).Transition()
		odd := make([][]float64, n)
		for i, row := range p {
			odd[i] = slices.Clone(row)
		}
		odd[n-1][0], odd[n-1][n-1] = odd[n-1][0]+0.1*keep, odd[n-1][n-1]-0.1*keep
		for which, p := range map[string][][]float64{"even": p, "odd": odd} {
			got := InvariantMatrix(p, frequencies)
			totals := make([]float64, n)
			for m, row := range p {
				for l, v := range row {
					totals[l] += frequencies[m] * v
				}
			}
			for i := range n {
				for j := range n {
					want := 0.0
					for l := range n {
						if totals[l] > 0 {
							want += p[i][l] * frequencies[j] * p[j][l] / totals[l]
						}
					}
					if math.Abs(got[i][j]-want) > 1e-13 {
						t.Fatalf("keep %v, %s: cell %d, %d is %v, want %v", keep, which, i, j, got[i][j], want)
					}
				}
			}
		}
	}
}

// Of more than 100 categories keep stands for the matrix: the report does not list it, the note knows it, and the names
// of draws are those of the matrix.
func TestKeepStandsForTheMatrixOfManyCategories(t *testing.T) {
	for _, n := range []int{category.ManyCategories, category.ManyCategories + 1} {
		m := &PRAM{Columns: []string{"a"}, Keep: ptr(0.7)}
		for i := range n {
			m.Categories = append(m.Categories, fmt.Sprint(i))
		}
		listed := false
		has := map[string]any{}
		for _, p := range m.Parameters() {
			listed = listed || p.Name == "matrix"
			has[p.Name] = p.Value
		}
		if listed != (n == category.ManyCategories) {
			t.Errorf("%d categories: the matrix is listed: %v", n, listed)
		}
		categories, p := m.Transition()
		a, ok := m.PublishedAction(published(m, 1, "matrix", "keep", "categories"), "a").(Randomising)
		if !ok || !slices.Equal(a.Categories, categories) || fmt.Sprint(a.Matrix) != fmt.Sprint(p) {
			t.Errorf("%d categories: the published matrix is another", n)
		}
		if a := m.PublishedAction(published(m, 1, "keep"), "a").(Randomising); a.Matrix != nil {
			t.Errorf("%d categories: the matrix follows from keep alone", n)
		}
		named := func(names ...string) func(string) bool {
			return func(name string) bool { return slices.Contains(names, name) }
		}
		exists := func(name string) bool { return has[name] != nil }
		if m.EfficiencyFollows(exists, named("keep")) || !m.EfficiencyFollows(exists, named("keep", "categories", "matrix")) {
			t.Errorf("%d categories: what the efficiency follows from", n)
		}
		col := &category.PramColumn{}
		want := core.DigestOfTexts("pram", categories...)
		for _, row := range p {
			want += core.Part("row", row...)
		}
		if got := col.Description(categories, p, 3); got != want+core.Part("other", 3) {
			t.Errorf("%d categories: draws have other names, %d bytes and not %d", n, len(got), len(want))
		}
	}
	if got, want := strings.TrimSuffix(core.Part("", 1, 1, 2, 2, math.Copysign(0, -1), 0), ";"), (func() string {
		var b strings.Builder
		category.WriteNumbers(&b, []float64{1, 1, 2, 2, math.Copysign(0, -1), 0})
		return b.String()
	})(); got != want {
		t.Errorf("numbers are %q, want %q", got, want)
	}
}

// Cells that are counted once have the ends and probabilities of cells by themselves: the law is the same to the bit.
func TestCountedCellsAreTheSame(t *testing.T) {
	c := floats(1, 100, 112.5, 250)
	l,
		ok := chain(t, testSetup(t, c), mask(&Noise{Columns: []string{"a"}, SD: amount(20)}),
		mask(&Round{Columns: []string{"a"}, Base: ptr(5.0)}),
		mask(&Truncate{Columns: []string{"a"}, Lower: ptr(90.0)}),
		Spec{Name: "second", Params: &Noise{Columns: []string{"a"}, SD: amount(10), Distribution: "laplace"}}).Law("a")
	if !ok {
		t.Fatal("no law")
	}
	x := []float64{60, 88, 100, 101.3, 112.5}
	each, p := l.BelowEach(x), make([]float64, len(x))
	between := 0
	for at := 0.0; at < 200; at += 1.7 {
		each(at, p)
		for i, v := range x {
			if want := l.Below(v, at); p[i] != want {
				t.Fatalf("P(y ≤ %v | %v) is %v, want %v", at, v, p[i], want)
			}
			if p[i] > 0.01 && p[i] < 0.99 {
				between++
			}
		}
	}
	if between < 50 {
		t.Errorf("only %d probabilities lie between 0 and 1", between)
	}
}

// An exchange of sorted values is that of the records, one by one: with equal values, negative zeros among them, where
// all are equal, and of two records.
func TestSortedValuesAreExchangedAsThoseOfRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, n := range []int{2, 3, 40, 700} {
		for kind, value := range map[string]func() float64{
			"zeros": func() float64 { return math.Copysign(0, r.Float64()-0.5) },
			"few":   func() float64 { return []float64{-1, 0, math.Copysign(0, -1), 3, 1e300}[r.IntN(5)] },
			"one":   func() float64 { return 1e300 },
			"any":   r.NormFloat64,
		} {
			g := &gathered.Data{N: n, Values: [][]float64{nil}, Words: [][]uint64{nil}, Strata: make([]int32, n)}
			for range n {
				g.Values[0], g.Words[0] = append(g.Values[0], value()), append(g.Words[0], r.Uint64())
			}
			values, words := slices.Clone(g.Values[0]), g.Words[0]
			mask := &rankExchange{p: 0.5}
			ranks := mask.ranks(g, 0)
			if ranks.err != nil {
				t.Fatal(ranks.err)
			}
			order := make([]int32, n)
			for i := range order {
				order[i] = int32(i)
			}
			slices.SortFunc(order, func(a, b int32) int {
				return cmp.Or(cmp.Compare(values[a]+0, values[b]+0), cmp.Compare(words[a]*mixing, words[b]*mixing))
			})
			exchangeRanks(values, order, words, n/2)
			new(exchanger).exchange(g.Values[0], words, &ranks, nil)
			for i, v := range g.Values[0] {
				if math.Float64bits(v) != math.Float64bits(values[i]) {
					t.Fatalf("%s: record %d of %d has %v, want %v", kind, i, n, v, values[i])
				}
			}
		}
	}
}
