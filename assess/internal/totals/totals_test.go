package totals

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// tree are the nodes of a variable of n leaves: the total, pairs of leaves, and the leaves.
func tree(n int) (nodes [][]int32) {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	nodes = append(nodes, all)
	for i := 0; i+1 < n; i += 2 {
		nodes = append(nodes, all[i:i+2])
	}
	for i := range n {
		nodes = append(nodes, all[i:i+1])
	}
	return nodes
}

// cellsOf are the published cells of a table, by brute force: for each place whether each record is in it.
func cellsOf(n int, t Table) (list [][]float64) {
	places := 1
	for _, nodes := range t.Nodes {
		places *= len(nodes)
	}
	for at := range places {
		if slices.Contains(t.Hidden, int64(at)) {
			continue
		}
		row := make([]float64, n)
		for i := range row {
			in, rest := true, at
			for v := len(t.Nodes) - 1; v >= 0; v-- {
				node := t.Nodes[v][rest%len(t.Nodes[v])]
				rest /= len(t.Nodes[v])
				in = in && slices.Contains(node, t.Codes[v][i])
			}
			if in {
				row[i] = 1
			}
		}
		list = append(list, row)
	}
	return list
}

// random are tables of n records by one to three variables, some of whose cells are held back.
func random(rng *rand.Rand, n int) (list []Table) {
	variables, nodes := make([][]int32, 3), make([][][]int32, 3)
	for v := range variables {
		leaves := 2 + rng.IntN(4)
		nodes[v] = tree(leaves)
		for range n {
			variables[v] = append(variables[v], int32(rng.IntN(leaves)))
		}
	}
	for range 1 + rng.IntN(2) {
		var t Table
		places := 1
		for _, v := range rng.Perm(3)[:1+rng.IntN(3)] {
			t.Codes, t.Nodes = append(t.Codes, variables[v]), append(t.Nodes, nodes[v])
			places *= len(nodes[v])
		}
		share := rng.Float64()
		for at := range places {
			if rng.Float64() < share {
				t.Hidden = append(t.Hidden, int64(at))
			}
		}
		list = append(list, t)
	}
	return list
}

// What the sums tell is what the least squares of dense matrices over all records tell, A the cells, V the variances:
// x̂ + V Aᵀ(A V Aᵀ)⁺A(x − x̂), with the errors V − V Aᵀ(A V Aᵀ)⁺A V. Some variances are 0, and some values negative, so
// that no range counts.
func TestLeastSquaresOfDenseMatrices(t *testing.T) {
	compared, exact := 0, 0
	for seed := range 150 {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		n := 4 + rng.IntN(30)
		list := random(rng, n)
		x, b, v := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], v[i] = 100*rng.NormFloat64(), math.Exp(rng.NormFloat64())
			if rng.IntN(8) == 0 {
				v[i] = 0
			}
			b[i] = x[i] + math.Sqrt(v[i])*rng.NormFloat64()
		}
		x[0], b[0] = x[0]-1000, b[0]-1000
		s, err := New(n, list)
		if err != nil {
			t.Fatal(err)
		}
		told, err := s.Tell(x, b, b, v)
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]float64
		for _, one := range list {
			rows = append(rows, cellsOf(n, one)...)
		}
		want, left := slices.Clone(b), slices.Clone(v)
		if len(rows) > 0 {
			want, left = dense(rows, x, b, v)
		}
		for i := range x {
			got := v[i]
			if sd := told.SD[i]; sd == sd && v[i] > 0 {
				got = v[i] * sd * sd / (v[i] + sd*sd)
				if both := (b[i]*sd*sd + told.Seen[i]*v[i]) / (v[i] + sd*sd); math.Abs(both-told.Best[i]) > 1e-6*(1+math.Abs(both)) {
					t.Fatalf("seed %d, record %d: both observations give %v, and the best is %v", seed, i, both, told.Best[i])
				}
			}
			if math.Abs(got-left[i]) > 1e-6*v[i] || math.Abs(told.Best[i]-want[i]) > 1e-5*(1+math.Sqrt(v[i])) {
				t.Fatalf("seed %d, record %d (%v, estimate %v, variance %v): %v ± %v, want %v ± %v (%+v)", seed, i, x[i], b[i], v[i], told.Best[i], math.Sqrt(got), want[i],
					math.Sqrt(left[i]), list)
			}
			if compared++; v[i] > 0 && left[i] < 1e-6*v[i] {
				exact++
			}
		}
	}
	if exact < compared/50 || exact > compared/2 {
		t.Errorf("of %d values %d are given: the test checks too little", compared, exact)
	}
}

func dense(rows [][]float64, x, b, v []float64) (best, left []float64) {
	m, n := len(rows), len(x)
	a, av := mat.NewDense(m, n, nil), mat.NewDense(m, n, nil)
	for i, row := range rows {
		for j, one := range row {
			a.Set(i, j, one)
			av.Set(i, j, one*v[j])
		}
	}
	var k, w mat.Dense
	k.Mul(av, a.T())
	symmetric := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			symmetric.SetSym(i, j, k.At(i, j))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(symmetric, true) {
		panic("no decomposition")
	}
	var u mat.Dense
	eigen.VectorsTo(&u)
	inverse := mat.NewDense(m, m, nil)
	for c, value := range eigen.Values(nil) {
		if value <= 1e-10*float64(m) {
			continue
		}
		for i := range m {
			for j := range m {
				inverse.Set(i, j, inverse.At(i, j)+u.At(i, c)*u.At(j, c)/value)
			}
		}
	}
	w.Mul(av.T(), inverse)
	r := mat.NewVecDense(m, nil)
	for i, row := range rows {
		for j, one := range row {
			r.SetVec(i, r.AtVec(i)+one*(x[j]-b[j]))
		}
	}
	var move mat.VecDense
	move.MulVec(&w, r)
	var less mat.Dense
	less.Mul(&w, av)
	for i := range n {
		best, left = append(best, b[i]+move.AtVec(i)), append(left, v[i]-less.At(i, i))
	}
	return best, left
}

// A cell of three with noise of SD 100 leaves 81.6; beside a value with noise of SD 1,000 two of SD 10 leave of it 14.1
// (√(1/(1/1000² + 1/200))), and of them nearly all.
func TestCellsOfThree(t *testing.T) {
	one := func(v []float64) *Told {
		s, err := New(3, []Table{{Codes: [][]int32{{0, 0, 0}}, Nodes: [][][]int32{{{0}}}}})
		if err != nil {
			t.Fatal(err)
		}
		told, err := s.Tell([]float64{1e5, 1e5 + 1, 1e5 + 2}, []float64{1, 2, 3}, []float64{1e5 + 60, 1e5, 1e5 - 10}, v)
		if err != nil {
			t.Fatal(err)
		}
		return told
	}
	left := func(v, sd float64) float64 { return math.Sqrt(1 / (1/v + 1/(sd*sd))) }
	if got := left(1e4, one([]float64{1e4, 1e4, 1e4}).SD[1]); math.Abs(got-100*math.Sqrt(2./3)) > 1e-6 {
		t.Errorf("± %v is left", got)
	}
	told := one([]float64{1e6, 100, 100})
	if got := left(1e6, told.SD[0]); math.Abs(got-14.14) > 0.01 {
		t.Errorf("of the large value ± %v is left", got)
	}
	if got := left(100, told.SD[1]); !(got > 9.99 && got < 10) {
		t.Errorf("of a small value ± %v is left", got)
	}
	if mean := told.Mean[0]; math.Abs(mean-1e5-1) > 1e-6 {
		t.Errorf("the mean is %v", mean)
	}
	// Two with one draw: T = 2x + z.
	nan := math.NaN()
	s, _ := New(3, []Table{{Codes: [][]int32{{0, 0, 0}}, Nodes: [][][]int32{{{0}}}}})
	alike, err := s.Tell([]float64{1e5, 1e5, 2e5}, []float64{5, 5, nan}, []float64{1e5 + 60, 1e5 + 60, 2e5}, []float64{1e4, 1e4, 1e4})
	if got := left(1e4, alike.SD[0]); err != nil || math.Abs(got-100*math.Sqrt(0.2)) > 1e-6 {
		t.Errorf("of two that have one draw ± %v is left, error %v", got, err)
	}
}

// Somebody who knows a value of each group, of which estimates tell least, is told of another one what the sums tell
// beside records of which these have no error: by dense matrices, for one record of each group.
func TestWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	tried := 0
	for range 60 {
		n := 4 + rng.IntN(20)
		list := random(rng, n)
		s, err := New(n, list)
		if err != nil {
			t.Fatal(err)
		}
		x, b, v := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			v[i] = 0.2 + 3*rng.Float64()
			x[i] = 20 * rng.NormFloat64() // also below 0, so that no range counts
			b[i] = x[i] + math.Sqrt(v[i])*rng.NormFloat64()
		}
		first, most := map[int32]int{}, map[int32]int{}
		var of []int
		for i, g := range s.of {
			if _, there := first[g]; !there {
				first[g], of = i, append(of, i)
			} else if j, there := most[g]; !there || v[i] > v[j] {
				most[g] = i
			}
		}
		sds, err := s.Within(x, b, b, v, of)
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]float64
		for _, table := range list {
			rows = append(rows, cellsOf(n, table)...)
		}
		known := slices.Clone(v)
		for _, j := range most {
			known[j] = 0
		}
		left := known
		if len(rows) > 0 {
			_, left = dense(rows, x, b, known)
		}
		for k, i := range of {
			got := v[i]
			if sd := sds[k]; sd == sd {
				got = v[i] * sd * sd / (v[i] + sd*sd)
			}
			if math.Abs(got-left[i]) > 1e-6*v[i] {
				t.Errorf("%d records: a variance of %v is left of record %d, want %v of %v", n, got, i, left[i], v[i])
			}
			if left[i] < 0.9*v[i] && left[i] > 1e-6 {
				tried++
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d variances are told something of", tried)
	}
}

// Two by two cells, all held back, whose margins are published: that none is below 0 leaves the first between
// max(0, R + C − N) and min(R, C). Where that is narrow beside what least squares leave, the totals count as given.
func TestNarrowRanges(t *testing.T) {
	nodes := [][]int32{{0, 1}, {0}, {1}}
	table := Table{Codes: [][]int32{{0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 1, 1, 0, 0, 1, 1}}, Nodes: [][][]int32{nodes, nodes}}
	for r := 1; r < 3; r++ {
		for c := 1; c < 3; c++ {
			table.Hidden = append(table.Hidden, int64(3*r+c))
		}
	}
	s, err := New(8, []Table{table})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	given := 0
	for range 200 {
		x, b, v := make([]float64, 8), make([]float64, 8), make([]float64, 8)
		sd := math.Exp(2 * rng.NormFloat64())
		for i := range x {
			x[i], v[i] = math.Exp(2*rng.NormFloat64()), sd*sd
			b[i] = x[i] + sd*rng.NormFloat64()
		}
		p := s.gather(x, b, b, v)
		if err := p.fit(make([]bool, 4)); err != nil {
			t.Fatal(err)
		}
		low, high := p.ranges()
		group := x[0] + x[1]
		row, column, all := group+x[2]+x[3], group+x[4]+x[5], 0.0
		for _, one := range x {
			all += one
		}
		if l, h := max(0, row+column-all), min(row, column); math.Abs(low[0]-l) > 1e-6*all || math.Abs(high[0]-h) > 1e-6*all {
			t.Fatalf("between %v and %v, want %v and %v", low[0], high[0], l, h)
		}
		narrow := high[0]-low[0] < 6*math.Sqrt(p.variance[0]*(1-p.variance[0]*p.information[0]))
		told, err := s.Tell(x, b, b, v)
		if err != nil {
			t.Fatal(err)
		}
		if is := math.Abs(told.SD[0]-sd) < 1e-6*sd; is != narrow { // of two: the other one's error
			t.Fatalf("narrow %v, but an observation of ± %v beside ± %v", narrow, told.SD[0], sd)
		}
		if narrow {
			given++
		}
	}
	if given < 20 || given > 180 {
		t.Errorf("%d of 200 are narrow: the test checks too little", given)
	}
}

// Whoever draws the masks of a table's records many times and combines them by the stated observation errs as is
// stated: of 4,000 draws a mean square has a relative standard error of √(2/4000) = 2.2 %; five of these.
func TestStatedErrorsAreThoseOfDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	const n, draws = 14, 4000
	list := random(rng, n)
	s, err := New(n, list)
	if err != nil {
		t.Fatal(err)
	}
	x, v := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], v[i] = 1e5*rng.NormFloat64(), math.Exp(rng.NormFloat64())
	}
	square, stated := make([]float64, n), make([]float64, n)
	for range draws {
		b := make([]float64, n)
		for i := range b {
			b[i] = x[i] + math.Sqrt(v[i])*rng.NormFloat64()
		}
		told, err := s.Tell(x, b, b, v)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x {
			d := told.Best[i] - x[i]
			square[i] += d * d / draws
			if stated[i] = v[i]; told.SD[i] == told.SD[i] {
				stated[i] = v[i] * told.SD[i] * told.SD[i] / (v[i] + told.SD[i]*told.SD[i])
			}
		}
	}
	for i := range x {
		if math.Abs(square[i]-stated[i]) > 0.11*stated[i]+1e-9 {
			t.Errorf("record %d: a mean square of %v, stated is %v", i, square[i], stated[i])
		}
	}
}

// A value that is missing is in no sum, and tells nothing; tables that are too large are refused.
func TestMissingAndTooMany(t *testing.T) {
	nan := math.NaN()
	s, err := New(3, []Table{{Codes: [][]int32{{0, 0, 1}}, Nodes: [][][]int32{{{0, 1}, {0}, {1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	told, err := s.Tell([]float64{7, nan, 9}, []float64{5, 5, 8}, []float64{5, 5, 8}, []float64{4, 4, 4})
	if err != nil || told.Best[0] != 7 || told.SD[0] != 0 || told.Best[1] == told.Best[1] || told.Best[2] != 9 {
		t.Errorf("%+v, error %v", told, err)
	}
	const codes = 2 * mostEquations // in a ring of pairs, of which no equation has one unknown
	var ring Table
	ring.Codes, ring.Nodes = [][]int32{nil}, [][][]int32{nil}
	for i := range codes {
		ring.Codes[0] = append(ring.Codes[0], int32(i))
		ring.Nodes[0] = append(ring.Nodes[0], []int32{int32(i), int32((i + 1) % codes)})
	}
	slices.Sort(ring.Nodes[0][codes-1])
	one := slices.Repeat([]float64{1}, codes)
	s, err = New(codes, []Table{ring})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Tell(one, one, slices.Repeat([]float64{2}, codes), one); !errors.Is(err, ErrTooMany) {
		t.Errorf("error %v", err)
	}
	wide := Table{Codes: [][]int32{make([]int32, 4000)}, Nodes: [][][]int32{make([][]int32, 3000)}}
	for i := range wide.Nodes[0] {
		wide.Nodes[0][i] = []int32{0}
	}
	wide.Codes = append(wide.Codes, make([]int32, 4000))
	wide.Nodes = append(wide.Nodes, nil)
	for i := range 4000 {
		wide.Codes[1][i], wide.Nodes[1] = int32(i), append(wide.Nodes[1], []int32{int32(i)})
	}
	if _, err := New(4000, []Table{wide}); !errors.Is(err, ErrTooMany) {
		t.Errorf("error %v for %s", err, fmt.Sprint(len(wide.Nodes[0])))
	}
}
