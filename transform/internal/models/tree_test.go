package models

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
)

// splitByForce tries every value of every predictor as a cut, and returns the leaves of the tree.
func splitByForce(x []Predictor, y []float64, rows []int32, leaf int, least, root float64, categories bool) [][]int32 {
	var bestLeft, bestRight []int32
	most := 1e-9 * root
	for _, p := range x {
		cuts := slices.SortedFunc(slices.Values(rows), func(a, b int32) int { return cmp.Compare(p.At(a), p.At(b)) })
		for _, at := range cuts {
			var left, right []int32
			for _, r := range rows {
				if p.At(r) <= p.At(at) {
					left = append(left, r)
				} else {
					right = append(right, r)
				}
			}
			if len(left) < leaf || len(right) < leaf {
				continue
			}
			a, b := masktest.Impurity(y, left, categories), masktest.Impurity(y, right, categories)
			if a/float64(len(left)) <= least || b/float64(len(right)) <= least {
				continue
			}
			// Slightly more: equal gains go to the first predictor, and here they are rounded
			// differently.
			if gain := masktest.Impurity(y, rows, categories) - a - b; gain > most*(1+1e-9) {
				most, bestLeft, bestRight = gain, left, right
			}
		}
	}
	if bestLeft == nil {
		return [][]int32{rows}
	}
	return append(splitByForce(x, y, bestLeft, leaf, least, root, categories),
		splitByForce(x, y, bestRight, leaf, least, root, categories)...)
}

// The leaves equal those of a search through all splits, each computed from the definition of
// variance and index: with skewed numbers, ties and categories, split by numbers and by membership
// of a category.
func TestTreeHasTheBestSplits(t *testing.T) {
	const n, leaf = 240, 7
	columns := codedData(n, 3)
	two := 2.0
	rounded := make([]float64, n)
	for i, v := range columns[2] {
		rounded[i] = math.Round(v)
	}
	rows := rowsUpTo(n)
	for name, of := range map[string]struct {
		x          []Predictor
		y          []float64
		categories []float64
	}{
		"numbers":           {numbers([][]float64{columns[0], columns[3]}), columns[2], nil},
		"ties":              {numbers([][]float64{rounded, columns[4]}), columns[0], nil},
		"tied response":     {numbers([][]float64{columns[0]}), rounded, nil},
		"by a category":     {append(numbers([][]float64{columns[0]}), Predictor{columns[1], &two}), columns[2], nil},
		"categories":        {numbers([][]float64{columns[0], columns[2]}), columns[1], []float64{1, 2, 3}},
		"one by another":    {[]Predictor{{columns[1], &two}}, columns[3], []float64{0, 1}},
		"far from zero":     {numbers([][]float64{columns[0]}), plus(columns[2], 1e9), nil},
		"nothing to go by":  {nil, columns[0], nil},
		"nothing to divide": {numbers([][]float64{repeat(3, n)}), columns[0], nil},
	} {
		var y Response = Numbers(of.y, rows)
		share := leastSpread
		if of.categories != nil {
			y, share = Categories(of.y, of.categories, rows), leastGini
		}
		got := Grow(of.x, y, rows, leaf, nil)
		root := masktest.Impurity(of.y, rows, of.categories != nil)
		want := splitByForce(of.x, of.y, rows, leaf, share*root/n, root, of.categories != nil)
		leaves := 0
		for _, node := range got.Nodes {
			if node.Right == 0 {
				leaves++
			}
		}
		if leaves != len(want) {
			t.Errorf("%s: %d leaves, want %d", name, leaves, len(want))
		}
		if strings.HasPrefix(name, "nothing") != (len(want) == 1) {
			t.Errorf("%s: %d leaves, so this tests nothing", name, len(want))
		}
		for _, records := range want {
			for _, r := range records {
				in := slices.Sorted(slices.Values(got.LeafOf(of.x, r)))
				if !slices.Equal(in, slices.Sorted(slices.Values(records))) {
					t.Fatalf("%s: record %d is in a leaf of %d records, want %d", name, r, len(in), len(records))
				}
			}
		}
	}
}

func plus(values []float64, by float64) []float64 {
	out := slices.Clone(values)
	for i := range out {
		out[i] += by
	}
	return out
}

// A missing predictor counts with the larger part. A missing value stays missing. A column with
// only missing values was refused earlier.
func TestTreesTakeMissingValues(t *testing.T) {
	const n = 400
	a, b := bentData(n, 7)
	for i := 0; i < n; i += 7 {
		a[i] = math.NaN()
	}
	x := numbers([][]float64{a})
	var rows []int32
	for _, r := range rowsUpTo(n) {
		if v := a[r]; v == v {
			rows = append(rows, r)
		}
	}
	tr := Grow(x, Numbers(b, rows), rows, 20, nil)
	got := tr.LeafOf(x, 0)
	node := &tr.Nodes[0]
	for node.Right != 0 {
		left, right := &tr.Nodes[node.left], &tr.Nodes[node.Right]
		if node = left; right.To-right.From > left.To-left.From {
			node = right
		}
	}
	if len(tr.Nodes) < 3 || len(got) == 0 || &got[0] != &tr.Rows[node.From] || len(got) != node.To-node.From {
		t.Errorf("a leaf of %d records, want %d", len(got), node.To-node.From)
	}
}

// No leaf has only one value or category, if the predictor determines it, however many ties there are.
func TestNoLeafIsOfOneValueAlone(t *testing.T) {
	const n = 600
	r := rand.New(rand.NewPCG(5, 17))
	a, b, c := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		a[i] = float64(r.IntN(20))
		if c[i] = 1; a[i] > 9 {
			c[i], b[i] = 2, 1000+a[i]
		}
	}
	rows := rowsUpTo(n)
	x := numbers([][]float64{a})
	for name, y := range map[string]Response{"numbers": Numbers(b, rows),
		"categories": Categories(c, []float64{1, 2}, rows)} {
		for _, node := range Grow(x, y, rows, 5, nil).Nodes {
			values := b
			if name == "categories" {
				values = c
			}
			different := map[float64]bool{}
			for _, row := range Grow(x, y, rows, 5, nil).Rows[node.From:node.To] {
				different[values[row]] = true
			}
			if len(different) < 2 {
				t.Errorf("%s: a node of %d records with one value", name, node.To-node.From)
			}
		}
	}
}

// The tree is the same whether its nodes are divided by one core or by several: also where predictors give the same
// splits, whose gains differ by nothing or by rounding alone, in either order.
func TestTreesAreThoseOfOneCore(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	const records = 3000
	columns := codedData(records, 9)
	two := 2.0
	sums, minus, half, few := make([]float64, records), make([]float64, records), make([]float64, records),
		make([]float64, records)
	for i, v := range columns[2] {
		sums[i], minus[i], half[i], few[i] = v+columns[0][i], -v, v/2, math.Round(4*v)
	}
	rows := rowsUpTo(records)
	category := Predictor{columns[1], &two}
	rescans := 0
	for name, x := range map[string][]Predictor{
		"different":      append(numbers([][]float64{columns[0], few, columns[3]}), category),
		"the same":       append(numbers([][]float64{half, columns[2], few, few}), category, category),
		"from the end":   append(numbers([][]float64{minus, columns[2], columns[0]}), category),
		"from the start": append([]Predictor{category}, numbers([][]float64{columns[2], minus, half})...),
	} {
		for response, y := range map[string]Response{
			"numbers": Numbers(columns[0], rows), "others": Numbers(columns[3], rows), "sums": Numbers(sums, rows),
			"categories": Categories(columns[1], []float64{1, 2, 3}, rows),
		} {
			rescans += rescanned(
				&growing{x: x, y: y, leaf: 7, stop: cores.Asked(nil), rows: rows, orders: make([][]int32, len(x))}, x, rows)
			want := grow(x, y, rows, 7, records+1, nil)
			for _, n := range []int{1, 2, 3, 16} {
				runtime.GOMAXPROCS(n)
				for _, many := range []int{1, 20, 400, records} {
					if got := grow(x, y, rows, 7, many, nil); !slices.Equal(got.Nodes, want.Nodes) ||
						!slices.Equal(got.Rows, want.Rows) {
						t.Errorf("%s, %s, %d cores, many from %d on: another tree", name, response, n, many)
					}
				}
			}
		}
	}
	if rescans == 0 {
		t.Error("no gains differ by rounding alone: this tests less than it should")
	}
}

// rescanned returns how many predictors have a gain at the root that exceeds the greatest one of those before by
// rounding alone.
func rescanned(g *growing, x []Predictor, rows []int32) (some int) {
	best := leastGain
	for k := range x {
		if x[k].Of == nil {
			g.orders[k] = slices.Clone(rows)
			slices.SortStableFunc(g.orders[k], func(a, b int32) int { return cmp.Compare(x[k].At(a), x[k].At(b)) })
		}
		var passed []split
		last, found := g.try(g.y.own(), k, &TreeNode{To: len(rows)}, leastGain, &passed)
		if found && last.gain > best && !exceeds(last.gain, best) {
			some++
		}
		if found {
			best = max(best, last.gain)
		}
	}
	return some
}

// Where the gain of a split that passed exceeds the greatest one before by rounding alone, the predictor is tried
// again.
func TestAnotherTryDecidesBetweenEqualGains(t *testing.T) {
	const n = 200
	columns, rows := codedData(n, 4), rowsUpTo(n)
	x := numbers([][]float64{columns[0], columns[0]})
	order := slices.SortedStableFunc(slices.Values(rows), func(a, b int32) int {
		return cmp.Compare(columns[0][a], columns[0][b])
	})
	g := &growing{x: x, y: Numbers(columns[2], rows), leaf: 7, stop: cores.Asked(nil), rows: rows,
		orders: [][]int32{order, order}}
	node := &TreeNode{To: n}
	want, _ := g.try(g.y.own(), 0, node, leastGain, nil)
	near := want.gain * (1 + leastGain/2)
	for name, passed := range map[string][]split{"one": {{1, -1, near}},
		"and then a greater one": {{1, -1, near}, {1, -2, 2 * want.gain}}} {
		if got, found := g.bestOf(node, [][]split{{want}, passed}); !found || got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	greater := split{1, -2, 2 * want.gain}
	if got, found := g.bestOf(node, [][]split{{want}, {{1, -1, want.gain / 2}, greater}}); !found || got != greater {
		t.Errorf("%+v, want %+v", got, greater)
	}
}
