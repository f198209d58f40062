package referee

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
)

// small returns files of few values, so that ties, copies and missing values are many.
func small(rng *rand.Rand, sizes [3]int, missing bool) (d Data) {
	d.Columns = []Column{{Name: "a", Numeric: true}, {Name: "b", Numeric: true}, {Name: "c"}, {Name: "d"}}
	for s, n := range sizes {
		for j := range d.Columns {
			for range n {
				v := rng.IntN([]int{9, 4, 5, 3}[j])
				lacks := missing && rng.IntN(7) == 0
				switch c := &d.Columns[j].Sides[s]; {
				case j < 2 && lacks:
					c.Numbers = append(c.Numbers, math.NaN())
				case j < 2:
					c.Numbers = append(c.Numbers, float64(v-2))
				case lacks:
					c.Codes = append(c.Codes, -1)
				default:
					c.Codes = append(c.Codes, int32(v))
				}
			}
		}
	}
	return d
}

var allFour = []int{0, 1, 2, 3}

// TestCountsAreThoseByForce: of distinct records, for all conditions, alone and together.
func TestCountsAreThoseByForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 43))
	for round := range 40 {
		d := small(rng, [3]int{1 + rng.IntN(60), 5, 0}, round%2 > 0)
		f := newFinder(&d, Original, allFour, nil)
		var rows []int32 // the first of each set of equal records
		for i := range int32(d.Len(Original)) {
			if !slices.ContainsFunc(rows, func(o int32) bool {
				return !slices.ContainsFunc(allFour, func(j int) bool {
					x, y := d.Columns[j].Sides[Original].at(i), d.Columns[j].Sides[Original].at(o)
					return x != y && !(math.IsNaN(x) && math.IsNaN(y))
				})
			}) {
				rows = append(rows, i)
			}
		}
		if f.records != len(rows) {
			t.Fatalf("%d distinct records, want %d", f.records, len(rows))
		}
		for range 200 {
			var p predicate
			for j := range 4 {
				if p.n < mostConditions && rng.IntN(2) == 0 {
					op := operator(rng.IntN(8))
					if j > 1 {
						op = []operator{equal, unequal, isMissing, isPresent}[rng.IntN(4)]
					}
					p.conditions[p.n] = condition{j, op, float64(rng.IntN(7) - 2)}
					p.n++
				}
			}
			if p.n == 0 {
				continue
			}
			want := 0
			for _, i := range rows {
				all := true
				for _, c := range p.conditions[:p.n] {
					v := d.Columns[c.column].Sides[Original].at(i)
					all = all && map[operator]bool{equal: v == c.value, unequal: !math.IsNaN(v) && v != c.value, atMost: v <= c.value,
						atLeast: v >= c.value,
						below:   v < c.value, above: v > c.value, isMissing: math.IsNaN(v), isPresent: !math.IsNaN(v)}[c.op]
				}
				if all {
					want++
				}
			}
			if got := f.count(&p, 1000); got != want {
				t.Fatalf("%+v holds for %d, want %d", p, got, want)
			}
			if got := f.count(&p, 1); got != min(want, 2) {
				t.Fatalf("%+v holds for %d up to 2, want %d", p, got, want)
			}
		}
	}
}

// gowerForce is the distance of two records over some columns: |difference| over the range of all files, 1 for another
// category; 1 and the mean distance to the candidates that have a value for a number that one of them lacks.
func gowerForce(d *Data, columns []int, s Side, i int32, to Side, k int32) (sum float64) {
	for _, j := range columns {
		c := &d.Columns[j]
		x, y := c.Sides[s].at(i), c.Sides[to].at(k)
		switch {
		case x != x && y != y:
		case !c.Numeric:
			if x != y {
				sum++
			}
		case x != x:
			sum++
		case y != y:
			mean, n := 0.0, 0.0
			for _, v := range c.Sides[to].Numbers {
				if v == v {
					mean, n = mean+math.Abs(x-v)/c.span(), n+1
				}
			}
			if n == 0 {
				mean, n = 1, 1
			}
			sum += 1 + mean/n
		default:
			sum += math.Abs(x-y) / c.span()
		}
	}
	return sum
}

// nearestForce returns the records of a file that are nearest, and their distance.
func nearestForce(d *Data, columns []int, s Side, i int32, to Side) (list []int32, best float64) {
	best = math.Inf(1)
	for k := range int32(d.Len(to)) {
		switch g := gowerForce(d, columns, s, i, to, k); {
		case g < best-1e-9:
			best, list = g, []int32{k}
		case g < best+1e-9:
			list = append(list, k)
		}
	}
	return list, best
}

// forceRun prepares a run on all records as targets.
func forceRun(t *testing.T, d *Data, aux [][]string) *run {
	t.Helper()
	r, err := newRun(d, &Options{Attempts: 1000, Seed: 3, Level: 0.95, Aux: aux})
	if err != nil {
		t.Fatal(err)
	}
	r.usable = true
	return r
}

// TestLinksAndGuessesAreThoseByForce: successes of linkability, inference and combinations that occur once, and the
// shares of closest records, by comparing all pairs. Ties are exact or clearly apart in these data.
func TestLinksAndGuessesAreThoseByForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 43))
	rare := 0
	for round := range 30 {
		d := small(rng, [3]int{10 + rng.IntN(20), 10 + rng.IntN(20), 10 + rng.IntN(20)}, false)
		r := forceRun(t, &d, [][]string{{"a", "c"}, {"b", "d"}})
		for _, part := range []func() error{
			func() error { return r.linkability(t.Context()) }, func() error { return r.inference(t.Context()) },
			func() error { return r.rarest(t.Context()) }, func() error { return r.closest(t.Context()) },
		} {
			if err := part(); err != nil {
				t.Fatal(err)
			}
		}
		same := func(what string, got *Rate, want float64, of int) {
			t.Helper()
			if got == nil && of == 0 {
				return
			}
			if got == nil || math.Abs(got.Successes-want) > 1e-9 || got.Attempts != of {
				t.Fatalf("round %d, %s: %+v, want %v of %d", round, what, got, want, of)
			}
		}
		for _, s := range []Side{Original, Control} {
			links := 0.0
			for i := range int32(d.Len(s)) {
				a, _ := nearestForce(&d, []int{0, 2}, s, i, Released)
				b, _ := nearestForce(&d, []int{1, 3}, s, i, Released)
				for _, k := range a {
					if slices.Contains(b, k) {
						links += 1 / float64(len(a)*len(b))
					}
				}
			}
			rateOf := func(o *Outcome) *Rate { return []*Rate{o.Attack, nil, o.Control}[s] }
			same("linkability", rateOf(r.r.Linkability), links, d.Len(s))
			for j := range 4 {
				c := &d.Columns[j]
				others := slices.DeleteFunc(slices.Clone(allFour), func(k int) bool { return k == j })
				hit := func(k, i int32) bool {
					g, is := c.Sides[Released].at(k), c.Sides[s].at(i)
					return g == is // within 5 % no two of these values are equal
				}
				guesses, once, found := 0.0, 0.0, 0
				for i := range int32(d.Len(s)) {
					list, _ := nearestForce(&d, others, s, i, Released)
					for _, k := range list {
						if hit(k, i) {
							guesses += 1 / float64(len(list))
						}
					}
					categories := slices.DeleteFunc(slices.Clone(others), func(k int) bool { return k < 2 })
					list, best := nearestForce(&d, categories, s, i, Released)
					if best == 0 && len(list) == 1 {
						found++
						if hit(list[0], i) {
							once++
						}
					}
				}
				same("inference of "+c.Name, rateOf(&r.r.Inference[j].Outcome), guesses, d.Len(s))
				if s == Original && found == 0 {
					continue
				}
				rare += found
				if r.r.Rarest[j].Attack != nil {
					same("rarest, "+c.Name, rateOf(&r.r.Rarest[j].Outcome), once, found)
				}
			}
		}
		nearer, tied, credit := 0.0, 0.0, 0.0
		for i := range int32(d.Len(Released)) {
			a, x := nearestForce(&d, allFour, Released, i, Original)
			b, y := nearestForce(&d, allFour, Released, i, Control)
			switch {
			case math.Abs(x-y) < 1e-9:
				tied++
				credit += float64(len(a)) / float64(len(a)+len(b))
			case x < y:
				nearer++
				credit++
			}
		}
		same("nearer", r.r.Closest.Nearer, nearer, d.Len(Released))
		same("tied", r.r.Closest.Tied, tied, d.Len(Released))
		same("share", r.r.Closest.Share, credit, d.Len(Released))
		n, m := float64(d.Len(Original)), float64(d.Len(Control))
		if c := r.r.Closest; *c.Expected != n/(n+m) || math.Abs(c.Excess.Value-(c.Share.Share-n/(n+m))*(n+m)/m) > 1e-12 {
			t.Fatalf("%+v, expected %v", c.Excess, *c.Expected)
		}
	}
	if rare < 100 {
		t.Errorf("only %d combinations that occur once", rare)
	}
}

// TestDistancesWithMissingValues are those that keys describes.
func TestDistancesWithMissingValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 43))
	for range 30 {
		d := small(rng, [3]int{15, 25, 20}, true)
		r := forceRun(t, &d, nil)
		search, err := r.targetKeys(allFour).search()
		if err != nil {
			t.Fatal(err)
		}
		err = search.Visit(t.Context(), func(i int, n *linkage.Neighbours) {
			_, s, record := r.side(i)
			if _, best := nearestForce(&d, allFour, s, record, Released); math.Abs(n.Distance-best) > 1e-9 {
				t.Errorf("target %d is at %v, want %v", i, n.Distance, best)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRandomGuessesAreCounted: the share of released values that are right, by trying all of them.
func TestRandomGuessesAreCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 43))
	numbers := Column{Name: "x", Numeric: true}
	codes := Column{Name: "c"}
	for range 500 {
		v := math.Round(rng.NormFloat64()*50) / 4
		if rng.IntN(10) == 0 {
			v = math.NaN()
		}
		numbers.Sides[Released].Numbers = append(numbers.Sides[Released].Numbers, v)
		codes.Sides[Released].Codes = append(codes.Sides[Released].Codes, int32(rng.IntN(5)-1))
	}
	for _, c := range []*Column{&numbers, &codes} {
		g := newGuesser(c)
		for _, is := range []float64{0, 1, 2, 3, -7.25, 12.5, 40, math.NaN()} {
			want := 0.0
			for i := range int32(500) {
				if right(c.Numeric, c.Sides[Released].at(i), is) {
					want++
				}
			}
			if got := g.share(is); got != want/500 {
				t.Errorf("%s: %v of %v are right, want %v", c.Name, got, is, want/500)
			}
		}
	}
	for _, c := range []struct {
		guess, is float64
		want      bool
	}{{100, 95, true}, {100, 105, true}, {100, 94.9, false}, {95, 100, false}, {-100, -95, true}, {-100, 95, false},
		{0, 0, true}, {0, 0.001, false}} {
		if right(true, c.guess, c.is) != c.want {
			t.Errorf("%v for %v", c.guess, c.is)
		}
	}
}

// TestSingledInASample: the mean over samples of the control records, by drawing them; and what is extrapolated to a
// larger file of the same population, by drawing that.
func TestSingledInASample(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 43))
	counts := []int{0, 1, 1, 2, 3, 7, 30}
	const m, n, draws = 60, 25, 20_000
	sum := 0.0
	for range draws {
		in := sample(m, n, rng)
		for _, c := range counts {
			k := 0
			for _, i := range in {
				if int(i) < c {
					k++
				}
			}
			if k == 1 {
				sum++
			}
		}
	}
	// A draw's number has a variance below 7²/4, so the mean has an SD below 0.025; 4 SDs.
	if got := singledIn(counts, m, n); math.Abs(got-sum/draws) > 0.1 {
		t.Errorf("%v, want %v", got, sum/draws)
	}
	if got := singledIn(counts, m, m); math.Abs(got-2) > 1e-9 {
		t.Errorf("of the same size: %v", got)
	}
	// Weights of a gamma law with shape ½ and mean 1/400, for a control file of 400 and one of 1,500 records: the
	// predicates that hold for one record are counted in both.
	const predicates = 20_000
	var of400 []int
	of1500 := 0.0
	for range predicates {
		z := rng.NormFloat64()
		w := z * z / 400
		poisson := func(mean float64) (k int) {
			for p := rng.ExpFloat64(); p < mean; p += rng.ExpFloat64() {
				k++
			}
			return k
		}
		of400 = append(of400, poisson(400*w))
		if poisson(1500*w) == 1 {
			of1500++
		}
	}
	// √20,000·½ = 71 is the greatest SD; the fit's grid is as coarse as 2^¼.
	if got := singledIn(of400, 400, 1500); math.Abs(got-of1500) > 300 {
		t.Errorf("%v of a larger file, want %v", got, of1500)
	}
}

// TestMembershipByForce: AUC by all pairs; the advantage of two halves by all limits.
func TestMembershipByForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 43))
	r := &run{z: quantile(0.95)}
	draw := func(n, below int) (list []float64) {
		for range n {
			list = append(list, float64(rng.IntN(below)))
		}
		return list
	}
	for range 50 {
		members, others := draw(10+rng.IntN(20), 12), draw(10+rng.IntN(20), 15)
		want := 0.0
		for _, x := range members {
			for _, y := range others {
				switch {
				case x < y:
					want++
				case x == y:
					want += 0.5
				}
			}
		}
		want /= float64(len(members) * len(others))
		if got := r.auc(members, others); math.Abs(got.Value-want) > 1e-12 || !(got.Lower < want && want < got.Upper) {
			t.Fatalf("AUC %+v, want %v", got, want)
		}
		called := func(list []float64, from int, limit float64) float64 {
			n, of := 0.0, 0.0
			for i := from; i < len(list); i += 2 {
				if of++; list[i] <= limit {
					n++
				}
			}
			return n / of
		}
		want = 0
		for half := range 2 {
			limit, most := math.Inf(-1), 0.0
			for l := range 15 {
				if a := called(members, half, float64(l)) - called(others, half, float64(l)); a > most+1e-12 {
					limit, most = float64(l), a
				}
			}
			want += (called(members, 1-half, limit) - called(others, 1-half, limit)) / 2
		}
		if got := r.advantage(members, others); math.Abs(got.Value-want) > 1e-12 {
			t.Fatalf("advantage %+v, want %v", got, want)
		}
	}
	if a := r.auc([]float64{0, 0}, []float64{1, 1}); a.Value != 1 || a.Upper != 1 || a.Lower > 0.5 {
		t.Errorf("of two against two: %+v", a)
	}
}

// TestWilson: 10 of 50 by the formula worked out by hand, 95 %: 0.1124 to 0.3304.
func TestWilson(t *testing.T) {
	r := rate(50, 10, quantile(0.95))
	if math.Abs(r.Lower-0.11244) > 5e-5 || math.Abs(r.Upper-0.33037) > 5e-5 || r.Share != 0.2 {
		t.Errorf("%+v", r)
	}
	if r := rate(20, 0, 1.96); r.Lower != 0 || r.Upper < 0.1 {
		t.Errorf("none of 20: %+v", r)
	}
	if rate(0, 0, 1.96) != nil || risk(nil, r) != nil {
		t.Error("no attempts have a rate")
	}
	// (0.6 − 0.2)/(1 − 0.2) = 0.5; the error of a divided by 0.8, that of c times 0.4/0.64.
	k := risk(&Rate{centre: 0.6, half: 0.04}, &Rate{centre: 0.2, half: 0.08})
	if half := math.Hypot(0.05, 0.05); math.Abs(k.Value-0.5) > 1e-12 || math.Abs(k.Upper-0.5-half) > 1e-12 ||
		math.Abs(k.Lower-0.5+half) > 1e-12 {
		t.Errorf("%+v", k)
	}
}
