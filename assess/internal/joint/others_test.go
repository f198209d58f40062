package joint

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
)

// statedWithin is the greatest share of x that one of the lists states within a distance.
func statedWithin(x []float64, claims [][]float64, d float64) (most float64) {
	for _, list := range claims {
		hits := 0.0
		for i, v := range list {
			if math.Abs(v-x[i]) <= d*(1+1e-9) {
				hits++
			}
		}
		most = max(most, hits/float64(len(x)))
	}
	return most
}

// drawnAnew are values that follow from a region and a job, but for a spread, with the region as drawn anew at random:
// kept with a probability.
func drawnAnew(w *world, keep, spread float64) (x, region, job []float64, of [][]float64) {
	of = make([][]float64, 6)
	for r := range of {
		for range 9 {
			of[r] = append(of[r], math.Round(2000*w.r.Float64()))
		}
	}
	region, job = w.of(func(int) float64 { return float64(w.r.IntN(6)) }),
		w.of(func(int) float64 { return float64(w.r.IntN(9)) })
	x = w.of(func(i int) float64 { return of[int(region[i])][int(job[i])] + math.Round(spread*w.r.NormFloat64()) })
	region = w.of(func(i int) float64 {
		if w.r.Float64() < keep {
			return region[i]
		}
		return float64(w.r.IntN(6))
	})
	return x, region, job, of
}

func (w *world) categories(v []float64) []float64 {
	return w.of(func(i int) float64 { return cell.Category(v[i]) })
}

// TestCategoriesDrawnAnewState: in the cells of a released region, most of which are true, most values are near one
// another, and state the others; the noise of the release is of little use.
func TestCategoriesDrawnAnewState(t *testing.T) {
	const keep = 0.8
	for _, spread := range []float64{0, 20} {
		w := newWorld(41, 4000)
		x, region, job, _ := drawnAnew(w, keep, spread)
		y := w.noisy(x, 600)
		both := []Column{{Name: "own", Values: y}, {Name: "region", Values: w.categories(region)},
			{Name: "job", Values: w.categories(job)}}
		for _, list := range [][]Column{both, {both[2], both[1], both[0]}} {
			at := slices.IndexFunc(list, func(c Column) bool { return c.Name == "own" })
			f := New(list, w.n, true)
			for _, distances := range [][]float64{nil, {4, 15, 30}} {
				claims := f.Claims(x, y, at, distances)
				for _, d := range append([]float64{0}, distances...) {
					// Of those whose region is true, 5/6 · 1/5 by chance of the others: 0.8 + 0.2/6, times the normal
					// probability of the distance and half a unit, a little less as the middle of some 60 is not theirs, and a
					// little more by chance of the rest; one SD of a share is 0.7 %.
					want := (keep + (1-keep)/6) * math.Erf((d+0.5)/spread/math.Sqrt2)
					if got := statedWithin(x, claims, d); !(got > want-0.05 && got < want+0.035) {
						t.Errorf("spread %v: %.3f are stated within %v, want %.3f", spread, got, d, want)
					}
				}
			}
			r := f.Estimate(x, y, at, []Target{{X: x[7], Row: 7}})
			if known := spread == 0; r.Exact != known {
				t.Errorf("spread %v: known %v, told by %v", spread, r.Exact, r.Tells)
			} else if known && !slices.Equal(slices.Sorted(slices.Values(r.Tells)), []string{"job", "region"}) {
				t.Errorf("told by %v", r.Tells)
			}
		}
	}
}

// TestReleasesWeighOthers: six regions are possible in a job, none of them released; which of their values it is, the
// released value tells in part, as by the theorem of Bayes.
func TestReleasesWeighOthers(t *testing.T) {
	const sd = 120
	w := newWorld(42, 4000)
	x, region, job, of := drawnAnew(w, 1, 0)
	y := w.noisy(x, sd)
	want := 0.0
	for i := range x {
		sum := 0.0
		for _, r := range of {
			sum += math.Exp(((y[i]-x[i])*(y[i]-x[i]) - (y[i]-r[int(job[i])])*(y[i]-r[int(job[i])])) / (2 * sd * sd))
		}
		want += 1 / sum / 4000
	}
	_ = region
	list := []Column{{Name: "job", Values: w.categories(job)}, {Name: "own", Values: y}}
	// The mean posterior of the truth is below that of the best statement.
	if got := statedWithin(x, New(list, w.n, true).Claims(x, y, 1, []float64{1}), 1); got < want {
		t.Errorf("%.3f are stated, and Bayes' theorem gives %.3f on average", got, want)
	}
	lacks := slices.Repeat([]float64{math.NaN()}, w.n) // nothing is released: one of six
	if got := statedWithin(x, New(list[:1], w.n, true).Claims(x, lacks, -1, []float64{1}), 1); math.Abs(got-1.0/6) > 0.04 {
		t.Errorf("without a release %.3f are stated, want a sixth", got)
	}
}

// TestOthersByChance: in groups that have nothing to do with a value nobody states more than what the others of all
// have, and a category that is mostly false does not make a value known.
func TestOthersByChance(t *testing.T) {
	for seed := range uint64(6) {
		w := newWorld(430+seed, 1500)
		x := w.incomes()
		y := w.noisy(x, 300)
		list := columns(y)
		for c := range 5 {
			list = append(list, Column{Name: fmt.Sprint("category ", c),
				Values: w.of(func(int) float64 { return cell.Category(float64(w.r.IntN(3 + 3*c))) })})
		}
		sorted := slices.Sorted(slices.Values(x))
		most := 0
		for from, to := 0, 0; to < w.n; to++ {
			for sorted[from] < sorted[to]-20 {
				from++
			}
			most = max(most, to-from+1)
		}
		// Noise of 300 beside an SD of some 230 hardly tells more; one SD of a share of 6 % is 0.6 %.
		if got := statedWithin(x, New(list, w.n, true).Claims(x, y, 0, []float64{10}), 10); got > float64(most)/1500+0.035 {
			t.Errorf("seed %d: %.3f are stated, a constant states %.3f", seed, got, float64(most)/1500)
		}
	}
	w := newWorld(44, 4000)
	x, region, job, _ := drawnAnew(w, 0.3, 0)
	y := w.noisy(x, 600)
	list := []Column{{Name: "own", Values: y}, {Name: "region", Values: w.categories(region)},
		{Name: "job", Values: w.categories(job)}}
	if r := New(list, w.n, true).Estimate(x, y, 0, nil); r.Exact {
		t.Errorf("known by %v, which states 42 of 100", r.Tells)
	}
}

// TestDensest: the middle of the interval that has the most of the others, whose own value does not count, nor what
// lies beyond the distance on either side.
func TestDensest(t *testing.T) {
	w := newWorld(46, 12)
	x := []float64{0, 4, 10, 30, 31, 50, 0, 0, 7, 7, 7, 9}
	cells := []float64{1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3}
	none := slices.Repeat([]float64{math.NaN()}, w.n)
	f := New([]Column{{Name: "cell", Values: w.categories(cells)}}, w.n, true)
	s := f.seek(x, none, -1)
	at := s.densest(&s.groups[0], s.byValue(), 5, math.Inf(1), mostOthers)
	for i, want := range []float64{7, 5, 2, 5, 5, 5, 3.5, 3.5, 0, 8, 8, 7} {
		if got := at(i); got != want {
			t.Errorf("record %d, of %v: %v, want %v", i, x[i], got, want)
		}
	}
	// Of a released 32 that is off by about 2 it is 30 or 31, and not one of the three far away.
	y := slices.Clone(none)
	y[5] = 32
	s = f.seek(x, y, -1)
	if got := s.densest(&s.groups[0], s.byValue(), 5, 4, mostOthers)(5); got != 30.5 {
		t.Errorf("beside a release: %v, want 30.5", got)
	}
	// The value that the most others have: of two as frequent ones the other one.
	x = []float64{1, 1, 2, 2, 3, 9, 5, 6, 6, 7, 7, 7}
	s = New([]Column{{Name: "cell", Values: w.categories([]float64{1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3})}}, w.n, true).
		seek(x, none, -1)
	often := s.often(&s.groups[0], s.byValue())
	for i, want := range []float64{2, 2, 1, 1, 1, 1, math.NaN(), 7, 7, 7, 7, 7} {
		if got := often(i); got != want && want == want || (got == got) != (want == want) {
			t.Errorf("record %d, of %v: mostly %v, want %v", i, x[i], got, want)
		}
	}
}

// TestGroupsOfOthers: those by what is released of the column itself, or by members of a household, whose values are no
// category, are none, nor is one whose groups have few.
func TestGroupsOfOthers(t *testing.T) {
	w := newWorld(47, 120)
	by := func(k int) []float64 { return w.of(func(i int) float64 { return cell.Category(float64(i % k)) }) }
	f := New([]Column{{Name: "own", Values: by(10)}, {Name: "household", Values: by(12), GroupOnly: true},
		{Name: "few", Values: by(40)}, {Name: "cell", Values: by(20)}}, w.n, true)
	s := f.seek(w.incomes(), w.incomes(), 0)
	var names []string
	s.eachOfSeveral(func(g *grouping) { names = append(names, f.names(g.columns)...) })
	if !slices.Equal(names, []string{"cell"}) {
		t.Errorf("%v, want those by the cell", names)
	}
}

// TestNobodyTellsOfItself: values that occur once are stated by no other record.
func TestNobodyTellsOfItself(t *testing.T) {
	w := newWorld(45, 600)
	x := w.of(func(i int) float64 { return float64(1000 * i) })
	cells := w.of(func(i int) float64 { return cell.Category(float64(i % 100)) })
	s := New([]Column{{Name: "cell", Values: cells}}, w.n, true).
		seek(x, slices.Repeat([]float64{math.NaN()}, w.n), -1)
	order := s.byValue()
	dense, often := s.densest(&s.groups[0], order, 1, math.Inf(1), mostOthers), s.often(&s.groups[0], order)
	for i := range x {
		if dense(i) == x[i] || often(i) == x[i] {
			t.Fatalf("record %d: %v and %v of %v", i, dense(i), often(i), x[i])
		}
	}
	// Of two, the value that another one has.
	x[0], x[100], x[599] = 5, 5, 99_000
	s = New([]Column{{Name: "cell", Values: cells}}, w.n, true).seek(x, slices.Repeat([]float64{math.NaN()}, w.n), -1)
	order = s.byValue()
	dense, often = s.densest(&s.groups[0], order, 1, math.Inf(1), mostOthers), s.often(&s.groups[0], order)
	for _, i := range []int{0, 100, 200, 99, 599} {
		want := 5.0
		if i%100 == 99 {
			want = 99_000
		}
		if dense(i) != want || often(i) != want {
			t.Errorf("record %d: %v and %v, want %v", i, dense(i), often(i), want)
		}
	}
}
