package lp

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestRangesEqualEnumeratedVertices(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	shapes := [][]int{{2, 2}, {2, 3}, {3, 3}, {2, 4}, {2, 2, 2}, {2, 2, 3}}
	for trial := range 240 {
		shape := shapes[trial%len(shapes)]
		dense := lines(shape...)
		p := around(rng, dense, len(dense[0]))
		checkRanges(t, p)
	}
}

// The rows are not lines of a table: coefficients have any sign and size, some rows repeat others, and
// some rows and columns are empty.
func TestRangesOfGeneralRowsEqualEnumeratedVertices(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n, m := 3+rng.IntN(5), 1+rng.IntN(4)
		dense := make([][]float64, m)
		for i := range dense {
			dense[i] = make([]float64, n)
			for j := range n {
				if rng.IntN(2) == 0 {
					dense[i][j] = float64(rng.IntN(7) - 3)
				}
			}
			if i > 0 && rng.IntN(3) == 0 {
				for j := range n {
					dense[i][j] = -2 * dense[i-1][j]
				}
			}
		}
		checkRanges(t, around(rng, dense, n))
	}
}

func checkRanges(t *testing.T, p problem) {
	t.Helper()
	low, high := vertices(p)
	s := p.system(t)
	for j := range low {
		got, err := s.Maximize(j, math.Inf(1))
		if err != nil || !(math.Abs(got-high[j]) <= 1e-7) {
			t.Fatalf("greatest of column %d: %v (%v), by enumeration %v\n%+v", j, got, err, high[j], p)
		}
		if got, err = s.Minimize(j, math.Inf(-1)); err != nil || !(math.Abs(got-low[j]) <= 1e-7) {
			t.Fatalf("least of column %d: %v (%v), by enumeration %v\n%+v", j, got, err, low[j], p)
		}
		fresh := p.system(t)
		if alone, _ := fresh.Minimize(j, math.Inf(-1)); !(math.Abs(got-alone) <= 1e-7) {
			t.Fatalf("column %d: %v after other problems, %v from a new system", j, got, alone)
		}
	}
	for j := range low { // attained, so never beyond the range
		if s.Low[j] < low[j]-1e-7 || s.High[j] > high[j]+1e-7 {
			t.Fatalf("column %d: attained %v to %v outside %v to %v", j, s.Low[j], s.High[j], low[j], high[j])
		}
	}
}

// dualBound returns a lower bound of the sum of terms that is valid for any prices of
// the rows (weak duality), so it proves an optimum independent of the simplex.
func dualBound(s *System, terms []Term) float64 {
	s.factorise()
	reduced := make([]float64, s.a.columns)
	for _, t := range terms {
		reduced[t.Column] += t.Weight
		if p := s.place[t.Column]; p >= 0 {
			s.byPlace[p] += t.Weight
		}
	}
	y := make([]float64, s.a.rows)
	s.f.backward(s.byPlace, y)
	for i, v := range y {
		for p := s.a.rowStart[i]; p < s.a.rowStart[i+1]; p++ {
			reduced[s.a.columnOf[p]] -= v * s.a.byRow[p]
		}
	}
	bound := 0.0
	for j, d := range reduced {
		if !(math.Abs(d) <= 1e-7) {
			bound += min(d*s.lower[j], d*s.upper[j])
		}
	}
	return bound
}

// Larger tables than can be enumerated: the optimum is proved by weak duality, for
// single cells and for sums, and bounds are fixed and freed in between.
func TestOptimaAreProvedByDuality(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, shape := range [][]int{{12, 9}, {6, 5, 4}, {4, 4, 3, 3}} {
		dense := lines(shape...)
		n := len(dense[0])
		p := around(rng, dense, n)
		s := p.system(t)
		for range 60 {
			terms := []Term{{rng.IntN(n), 1}}
			for rng.IntN(3) > 0 {
				terms = append(terms, Term{rng.IntN(n), float64(rng.IntN(9) - 4)})
			}
			got, err := s.MinimizeSum(terms)
			if err != nil {
				t.Fatal(err)
			}
			if bound := dualBound(s, terms); !(math.Abs(got-bound) <= 1e-6) {
				t.Fatalf("%v: least sum %v, bound by duality %v", shape, got, bound)
			}
			j := rng.IntN(n)
			if rng.IntN(2) == 0 {
				err = s.SetBounds(j, 0, 0)
			} else {
				err = s.SetBounds(j, p.lower[j], p.upper[j])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestEnoughStopsOnAFeasiblePoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	stopped, beyond := 0, 0
	for range 50 {
		dense := lines(5, 5)
		p := around(rng, dense, 25)
		s := p.system(t)
		j := rng.IntN(25)
		top, _ := s.Maximize(j, math.Inf(1))
		s.Reset()
		want := top / 2
		got, err := s.Maximize(j, want)
		if err != nil || !(math.Abs(got-want) <= 1e-9) {
			t.Fatalf("asked for %v of %v, got %v (%v)", want, top, got, err)
		}
		if top > 0 {
			stopped++
		}
		s.Reset()
		s.ToVertex = true
		if got, err := s.Maximize(j, want/2+0.01); err != nil || top > 0 && got < want/2+0.01 || got != math.Round(got) {
			t.Fatalf("a vertex with %v of %v: %v (%v)", want/2+0.01, top, got, err)
		} else if got > want/2+0.02 {
			beyond++
		}
		for i, row := range dense {
			sum := 0.0
			for k, v := range row {
				sum += v * s.Point()[k]
			}
			if !(math.Abs(sum) <= 1e-9) {
				t.Fatalf("row %d of the point sums to %v", i, sum)
			}
		}
	}
	if beyond < 5 {
		t.Errorf("%d vertices had more than enough", beyond)
	}
	if stopped < 20 {
		t.Errorf("only %d of 50 cells could move: the test shows nothing", stopped)
	}
}

// Some values are as large as turnovers, others are 1: rounding errors must not widen or narrow the
// range of the small cell.
func TestLargeBesideSmall(t *testing.T) {
	p := problem{
		dense: [][]float64{{1, 1, 0, 0}, {0, 0, 1, 1}, {1, 0, 1, 0}, {0, 1, 0, 1}},
		lower: []float64{-3, -1e12, -1e12, -5}, upper: []float64{1e12, 1e12, 1e12, 1e12},
	}
	s := p.system(t)
	if v, err := s.Minimize(0, math.Inf(-1)); err != nil || !(math.Abs(v+3) <= 1e-9) {
		t.Errorf("least: %v (%v), want -3", v, err)
	}
	if v, err := s.Maximize(0, math.Inf(1)); err != nil || v != 1e12 {
		t.Errorf("greatest: %v (%v), want 1e12", v, err)
	}
}

func TestUnboundedAndRefused(t *testing.T) {
	inf := math.Inf(1)
	p := problem{dense: [][]float64{{1, -1}}, lower: []float64{-1, -1}, upper: []float64{inf, inf}}
	s := p.system(t)
	if v, err := s.Maximize(0, inf); err != nil || !math.IsInf(v, 1) {
		t.Errorf("greatest: %v (%v), want +Inf", v, err)
	}
	if v, err := s.Minimize(0, -inf); err != nil || v != -1 {
		t.Errorf("least: %v (%v), want -1", v, err)
	}
	for _, vertex := range []bool{false, true} { // there is no vertex to go to
		s.Reset()
		s.ToVertex = vertex
		if v, err := s.Maximize(0, 7); err != nil || v != 7 || s.Point()[1] != 7 {
			t.Errorf("enough is 7, to a vertex %v: %v (%v) at %v", vertex, v, err, s.Point())
		}
	}
	if err := s.SetBounds(0, 1, 2); err == nil {
		t.Error("bounds without 0 were accepted")
	}
	if err := s.SetBounds(0, math.NaN(), 2); err == nil {
		t.Error("a bound that is no number was accepted")
	}
	if _, err := NewMatrix(2, [][]Entry{{{2, 1}}}); err == nil {
		t.Error("a column outside the matrix was accepted")
	}
	if _, err := New(s.a, []float64{0}, []float64{0}); err == nil {
		t.Error("too few bounds were accepted")
	}
}

func TestSameProblemSamePoint(t *testing.T) {
	point := func() []float64 {
		rng := rand.New(rand.NewPCG(9, 10))
		dense := lines(8, 7, 3)
		s := around(rng, dense, len(dense[0])).system(t)
		for j := range 40 {
			if _, err := s.Maximize(j, math.Inf(1)); err != nil {
				t.Fatal(err)
			}
		}
		return append([]float64(nil), s.Point()...)
	}
	first := point()
	for j, v := range point() {
		if v != first[j] {
			t.Fatalf("column %d: %v, then %v", j, first[j], v)
		}
	}
}

func BenchmarkAllRanges20x20(b *testing.B) {
	rng := rand.New(rand.NewPCG(11, 12))
	dense := lines(20, 20)
	p := around(rng, dense, 400)
	for b.Loop() {
		s := p.system(b)
		for j := range 400 {
			_, _ = s.Maximize(j, math.Inf(1))
			_, _ = s.Minimize(j, math.Inf(-1))
		}
		b.ReportMetric(float64(s.Total), "steps")
	}
}

func TestEntriesOfOneColumnAddUp(t *testing.T) {
	a, err := NewMatrix(2, [][]Entry{{{0, 1}, {1, -1}, {0, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(a, []float64{-9, -9}, []float64{9, 4})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Maximize(0, math.Inf(1)); err != nil || v != 2 {
		t.Errorf("greatest of z₀ with 2 z₀ = z₁ ≤ 4: %v (%v), want 2", v, err)
	}
}

// A point that is infeasible because of rounding is detected with the matrix itself,
// and the problem is solved again from 0; Low and High do not include points outside
// the set.
func TestAPointGoneAstrayIsNoticed(t *testing.T) {
	dense := lines(4, 4)
	p := around(rand.New(rand.NewPCG(13, 14)), dense, 16)
	s := p.system(t)
	want, _ := s.Maximize(5, math.Inf(1))
	s.Reset()
	copy(s.Low, s.z)
	copy(s.High, s.z)
	for j := range s.z[:16] {
		if s.place[j] < 0 && s.lower[j] < s.upper[j] {
			s.z[j] = s.upper[j] + 0.25 // and the basis does not follow
		}
	}
	got, err := s.Maximize(5, math.Inf(1))
	if err != nil || !(math.Abs(got-want) <= 1e-9) || !s.feasible() {
		t.Errorf("greatest %v (%v), feasible %v; want %v", got, err, s.feasible(), want)
	}
	for j := range s.High {
		if s.High[j] > p.upper[j] {
			t.Errorf("column %d: %v is noted as attained, its bound is %v", j, s.High[j], p.upper[j])
		}
	}
}

// A basis of dependent columns is repaired, and the repaired one is solved right.
func TestDependentColumnsAreReplaced(t *testing.T) {
	dense := lines(3, 3)
	s := around(rand.New(rand.NewPCG(15, 16)), dense, 9).system(t)
	f := newFactors(6)
	basis := []int32{0, 1, 3, 4, 8, 14} // cells (0,0) (0,1) (1,0) (1,1) are a cycle
	dropped := f.factorise(s.a, basis)
	if len(dropped) != 1 {
		t.Fatalf("%d columns were replaced, want 1", len(dropped))
	}
	var unit unitColumn
	for place, j := range basis {
		w, x := make([]float64, 6), make([]float64, 6)
		rows, values := s.a.column(int(j), &unit)
		for p, r := range rows {
			w[r] = values[p]
		}
		f.forward(w, x)
		for i, v := range x {
			if want := map[bool]float64{true: 1}[i == place]; !(math.Abs(v-want) <= 1e-12) {
				t.Fatalf("column %d of B gives %v", place, x)
			}
		}
	}
}

// Beale's example cycles under the greatest reduced cost with exact ties.
func TestBealesExampleEnds(t *testing.T) {
	inf := math.Inf(1)
	p := problem{
		dense: [][]float64{
			{0.25, -60, -1. / 25, 9, 1, 0, 0},
			{0.5, -90, -1. / 50, 3, 0, 1, 0},
			{0, 0, 1, 0, 0, 0, 1},
		},
		lower: []float64{0, 0, 0, 0, 0, 0, -1}, upper: []float64{inf, inf, inf, inf, inf, inf, inf},
	}
	s := p.system(t)
	v, err := s.MinimizeSum([]Term{{0, -0.75}, {1, 150}, {2, -0.02}, {3, 6}})
	if err != nil || !(math.Abs(v+0.05) <= 1e-9) {
		t.Errorf("least sum %v (%v), want -0.05", v, err)
	}
}

// A problem that exceeds its limit of work reports this, at a point of the set; with a
// greater limit it ends at the same point as without one, and the work is the same every
// time.
func TestLimitOfWork(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 1))
	stalled, eliminated := 0, int64(0)
	for range 60 {
		dense := lines(3, 4, 3)
		p := around(rng, dense, len(dense[0]))
		for j := range p.lower {
			free, bound := p.system(t), p.system(t)
			before := free.Work
			want, err := free.Maximize(j, math.Inf(1))
			if err != nil {
				t.Fatal(err)
			}
			used := free.Work - before
			bound.Limit = bound.Work + used/2
			v, err := bound.Maximize(j, math.Inf(1))
			if err != nil {
				if stalled++; !errors.Is(err, ErrStalled) || !(v <= want+1e-9) || !bound.feasible() {
					t.Fatalf("%v of %v: %v", v, want, err)
				}
			}
			bound.Limit = bound.Work + 2*used
			if v, err = bound.Maximize(j, math.Inf(1)); err != nil || !(math.Abs(v-want) <= 1e-7) {
				t.Fatalf("%v, without a limit %v: %v", v, want, err)
			}
			free.factorise()
			once := free.Work
			free.factorise()
			if free.factorise(); (free.Work-once)%2 != 0 || free.f.eliminated+int64(free.a.rows) != (free.Work-once)/2 {
				t.Fatalf("the same factors twice: work %d, of the last ones %d", free.Work-once, free.f.eliminated)
			}
			eliminated += free.f.eliminated
			again := p.system(t)
			if _, err = again.Maximize(j, math.Inf(1)); err != nil || again.Work != used+before {
				t.Fatalf("work %d, before %d: %v", again.Work, used+before, err)
			}
		}
	}
	if stalled < 100 || eliminated == 0 {
		t.Errorf("%d problems passed their limit: the test shows little", stalled)
	}
}
