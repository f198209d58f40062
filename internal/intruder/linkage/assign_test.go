package linkage

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every order of a few records, and the dual solution for many.
func TestAssign(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	draws := map[string]func() float64{
		"real":     random.Float64,
		"integers": func() float64 { return float64(random.IntN(4)) },
		"equal":    func() float64 { return 7 },
		"far":      func() float64 { return math.Exp(40 * random.NormFloat64()) },
	}
	for name, draw := range draws {
		for range 200 {
			rows := 1 + random.IntN(6)
			columns := rows + random.IntN(3)
			cost := make([]float64, rows*columns)
			for i := range cost {
				cost[i] = draw()
			}
			columnOf, _, err := assign(t.Context(), cost, rows, columns)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := total(t, cost, columns, columnOf), leastOfAll(cost, columns, 0, 0,
				rows); !(math.Abs(got-want) <= 1e-12*want) {
				t.Fatalf("%s, %d × %d: %v, the least is %v", name, rows, columns, got, want)
			}
		}
		for _, size := range [][2]int{{300, 300}, {150, 300}} {
			rows, columns := size[0], size[1]
			cost := make([]float64, rows*columns)
			greatest := 0.0
			for i := range cost {
				cost[i] = draw()
				greatest = max(greatest, cost[i])
			}
			columnOf, price, err := assign(t.Context(), cost, rows, columns)
			if err != nil {
				t.Fatal(err)
			}
			// By weak duality no assignment costs less than Σu + Σv, with v ≤ 0 if some
			// columns remain unassigned, and v = 0 for these.
			lower := 0.0
			for i := range rows {
				u := math.Inf(1)
				for j, c := range cost[i*columns:][:columns] {
					u = min(u, c-price[j])
				}
				lower += u
			}
			for _, v := range price {
				if rows < columns && v > 0 {
					t.Errorf("%s: a price of %v above 0", name, v)
				}
				lower += v
			}
			// Prices are sums and differences of some hundred costs.
			got := total(t, cost, columns, columnOf)
			if gap := got - lower; !(math.Abs(gap) <= 1e-13*float64(rows)*greatest) {
				t.Errorf("%s, %d × %d: %v is %v above its lower bound", name, rows, columns, got, gap)
			}
		}
	}
}

func total(t *testing.T, cost []float64, columns int, columnOf []int32) (sum float64) {
	t.Helper()
	taken := make(map[int32]bool)
	for i, j := range columnOf {
		if j < 0 || taken[j] {
			t.Fatalf("row %d has column %d, taken or none", i, j)
		}
		taken[j] = true
		sum += cost[i*columns+int(j)]
	}
	return sum
}

func leastOfAll(cost []float64, columns, row, taken, rows int) float64 {
	if row == rows {
		return 0
	}
	least := math.Inf(1)
	for j := range columns {
		if taken>>j&1 == 0 {
			least = min(least, cost[row*columns+j]+leastOfAll(cost, columns, row+1, taken|1<<j, rows))
		}
	}
	return least
}

func TestOneToOneByHand(t *testing.T) {
	for name, c := range map[string]struct {
		targets, released Keys
		o                 Options
		correct           float64
	}{
		// Record 0 is the nearest of targets 0 and 1; both get their own record at cost
		// 0+3 against 1+4.
		"conflict": {numeric([]float64{0, 1}), numeric([]float64{0, 4}), Options{}, 2},
		// Record 1 is the nearest of both.
		"one nearest of two": {numeric([]float64{9, 9.5}), numeric([]float64{8, 9.4}), Options{}, 2},
		// Three equal records: all six assignments are equally good, 1/3 for each
		// target.
		"equal records": {numeric([]float64{1, 2, 3}), numeric([]float64{2, 2, 2}), Options{Distance: Gower}, 1},
		// Two groups of microaggregation, of 2 and 3 records: 2·½ + 3·⅓.
		"groups": {numeric([]float64{1, 2, 7, 8, 9}), numeric([]float64{1.5, 1.5, 8, 8, 8}), Options{}, 2},
		// Equal targets too: two of three go to the records of which one is theirs.
		"equal targets": {numeric([]float64{5, 5, 5, 9}), numeric([]float64{5, 5, 7, 9}), Options{}, (2.0/3/2)*2 + 1.0/3 + 1},
		"one":           {numeric([]float64{5}), numeric([]float64{4}), Options{}, 1},
		"constant":      {numeric([]float64{5, 6, 7}), numeric([]float64{4, 4, 4}), Options{}, 1},
		"fewer targets": {numeric([]float64{1, 9}), numeric([]float64{1, 5, 9}), Options{Truth: []int32{0, 1}}, 1},
		// Two of three equal targets go without a record.
		"more targets": {numeric([]float64{1, 1, 1, 9}), numeric([]float64{1, 9}), Options{Truth: []int32{0, -1, -1, 1}},
			1 + 1.0/3},
		"none released": {numeric([]float64{1, 9}), numeric([]float64{1, 9}), Options{Truth: []int32{-1, -1}}, 0},
		"nothing in common": {numeric([]float64{missing, 1, 5}, []float64{2, missing, 6}),
			numeric([]float64{1, missing, 5}, []float64{missing, 2, 6}),
			Options{Distance: Gower, Truth: []int32{1, 0, 2}}, 3},
		"no targets": {numeric([]float64{}), numeric([]float64{1, 9}), Options{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.OneToOne = true
			if r := link(t, c.targets, c.released, c.o); !near(*r.OneToOneCorrect, c.correct) {
				t.Errorf("%v correct, want %v", *r.OneToOneCorrect, c.correct)
			}
		})
	}
}
