package transform

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// verifiedByLoop verifies points by loops over all people, for a mask with the rings of each place.
func verifiedByLoop(from, to, points []places.Point, people []float64, ring func(places.Point) (inner, outer float64),
	slack float64, far float64) (k, candidates []float64, square, guess float64) {
	distance := func(p, q places.Point) float64 { return math.Hypot(p.A-q.A, p.B-q.B) }
	for i, y := range to {
		d := distance(from[i], y)
		near, n, weight, a, b := 0.0, 0.0, 0.0, 0.0, 0.0
		_, most := ring(y)
		for j, p := range points {
			if distance(p, y) <= d {
				near += people[j]
			}
			inner, outer := ring(p)
			if e := distance(p, y); e >= inner-slack && e <= outer+slack && e <= far*most {
				n += people[j]
				density := people[j] / (outer*outer - inner*inner)
				weight, a, b = weight+density, a+density*p.A, b+density*p.B
			}
		}
		k, candidates = append(k, near), append(candidates, n)
		square += d * d / float64(len(to))
		if n > 0 {
			d = distance(from[i], places.Point{A: a / weight, B: b / weight})
		}
		guess += d * d / float64(len(to))
	}
	return k, candidates, square, guess
}

func counted3(list []float64) map[int64]int64 {
	counts := map[int64]int64{}
	for _, v := range list {
		n := int64(v)
		for unit := int64(1); ; unit *= 10 {
			if n/unit < 1000 {
				n -= n % unit
				break
			}
		}
		counts[n]++
	}
	return counts
}

// The spatial k of each released point, who else comes into question and how far the best guess is from the true place,
// against loops.
func TestVerifiedPlaces(t *testing.T) {
	points, people, x, y := town(500, 2)
	for i := range people {
		people[i] *= 7 // beyond three digits
	}
	setup := testSetup(t, x, y)
	setup.People = map[PeopleOf]*places.People{{Unit: "metres", A: "a", B: "b",
		Weight: "w"}: places.NewPeople(places.Metres, points, people)}
	for name, m := range map[string]*Donut{
		"ring": {Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(30.0), Most: ptr(150.0), Records: ptr(true),
			Weight: "w"},
		"by people": {Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(1.0), KLeast: ptr(60), KMost: ptr(300),
			Records: ptr(true), Weight: "w"},
	} {
		c := chain(t, setup, mask(m))
		var to []places.Point
		for at := 0; at < 500; at += 100 { // in several blocks
			b := apply(t, c, block(at, at+100, x, y))
			for i := range 100 {
				to = append(to, places.Point{A: b.Columns[0].Out().Values[i], B: b.Columns[1].Out().Values[i]})
			}
		}
		ring := func(p places.Point) (float64, float64) {
			inner, outer, ok := m.Ring(setup.People[PeopleOf{Unit: "metres", A: "a", B: "b", Weight: "w"}], p)
			if !ok {
				t.Fatal("no ring")
			}
			return inner, outer
		}
		far := 2.0
		if name == "ring" {
			far = math.Inf(1)
		}
		const slack = 0.001 + 0.0005*math.Sqrt2 // of three decimals
		k, candidates, square, guess := verifiedByLoop(points, to, points, people, ring, slack, far)
		var lesser, there []float64
		for i := range k {
			if lesser = append(lesser, k[i]); candidates[i] > 0 {
				lesser[i], there = min(k[i], candidates[i]), append(there, candidates[i])
			}
		}
		list, of := c.Verified()
		v := list[0]
		if len(list) != 1 || of[0].Columns != [2]string{"a", "b"} || v.Records != 500 || !v.Guessed {
			t.Fatalf("%s: %+v of %+v", name, list, of)
		}
		for what, got := range map[string][2]map[int64]int64{"k": {v.K, counted3(k)},
			"candidates": {v.Candidates, counted3(there)}, "lesser": {v.Lesser, counted3(lesser)}} {
			if fmt.Sprint(got[0]) != fmt.Sprint(got[1]) {
				t.Errorf("%s: %s is\n%v, want\n%v", name, what, got[0], got[1])
			}
		}
		if got := v.Square.Mean(500); math.Abs(got-square) > 1e-3 {
			t.Errorf("%s: mean square %v, want %v", name, got, square)
		}
		if got := v.SquareGuess.Mean(500); math.Abs(got-guess) > 1e-6*guess {
			t.Errorf("%s: mean square of the guess %v, want %v", name, got, guess)
		}
		if got := v.RMSE(); math.Abs(got-math.Sqrt(min(square, guess))) > 1e-3 {
			t.Errorf("%s: RMSE %v", name, got)
		}
		// Parts that are merged are the whole, also in another chain.
		again := chain(t, setup, mask(m))
		again.ResumeVerified(list)
		if merged, _ := again.Verified(); fmt.Sprint(merged) != fmt.Sprint(list) {
			t.Errorf("%s: merged:\n%+v, want\n%+v", name, merged, list)
		}
	}
}

// Points that are rounded are verified where the setup says so: how far they are, and their spatial k; where nobody
// knows the population, the distance alone. A rounding behind a displacement widens what is possible.
func TestVerifiedRounding(t *testing.T) {
	points, people, x, y := town(300, 3)
	all := places.NewPeople(places.Metres, points, people)
	setup := testSetup(t, x, y)
	round := mask(&Round{Columns: []string{"a", "b"}, Base: ptr(200.0)})
	setup.Places = []Place{{Columns: [2]string{"a", "b"}, Unit: "metres", People: all},
		{Columns: [2]string{"a", "b"}, Unit: "metres"}, {Columns: [2]string{"a", "missing"}, Unit: "metres"}}
	c := chain(t, setup, round)
	b := apply(t, c, block(0, 300, x, y))
	var k []float64
	square, greatest := 0.0, 0.0
	for i, p := range points {
		to := places.Point{A: b.Columns[0].Out().Values[i], B: b.Columns[1].Out().Values[i]}
		d, n := math.Hypot(p.A-to.A, p.B-to.B), 0.0
		for j, q := range points {
			if math.Hypot(q.A-to.A, q.B-to.B) <= d {
				n += people[j]
			}
		}
		k, square, greatest = append(k, n), square+d*d/300, max(greatest, d)
	}
	// Whoever knows the grid looks in the cell.
	var cell, lesser []float64
	guess := 0.0
	for i, p := range points {
		n, a, b := 0.0, 0.0, 0.0
		for j, q := range points {
			if math.RoundToEven(q.A/200) == math.RoundToEven(p.A/200) && math.RoundToEven(q.B/200) == math.RoundToEven(p.B/200) {
				n, a, b = n+people[j], a+people[j]*q.A, b+people[j]*q.B
			}
		}
		cell, lesser = append(cell, n), append(lesser, min(n, k[i]))
		guess += (math.Pow(p.A-a/n, 2) + math.Pow(p.B-b/n, 2)) / 300
	}
	list, _ := c.Verified()
	if fmt.Sprint(list[0].Candidates) != fmt.Sprint(counted3(cell)) ||
		fmt.Sprint(list[0].Lesser) != fmt.Sprint(counted3(lesser)) || math.Abs(list[0].RMSE()-math.Sqrt(guess)) > 1e-3 {
		t.Errorf("cells of the grid: %+v, want %v and ±%v", list[0], counted3(cell), math.Sqrt(guess))
	}
	if len(list) != 2 || fmt.Sprint(list[0].K) != fmt.Sprint(counted3(k)) || list[1].K != nil ||
		math.Abs(list[1].RMSE()-math.Sqrt(square)) > 1e-3 || math.Abs(list[1].Greatest-greatest) > 1e-9 {
		t.Errorf("%+v, want k %v, mean square %v, at most %v", list, counted3(k), square, greatest)
	}
	// Behind noise nobody knows which cell it was.
	noisy := chain(t, setup, mask(&Noise{Columns: []string{"b"}, SD: amount(9)}), round)
	apply(t, noisy, block(0, 300, x, y))
	if list, _ := noisy.Verified(); list[0].Candidates != nil || list[0].K == nil {
		t.Errorf("behind noise: %+v", list[0])
	}
	setup.Places = nil
	setup.People = map[PeopleOf]*places.People{{Unit: "metres", A: "a", B: "b",
		Weight: ""}: places.NewPeople(places.Metres, points, nil)}
	donut := &Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(30.0), Most: ptr(60.0), Records: ptr(true)}
	c = chain(t, setup, mask(donut), round)
	b = apply(t, c, block(0, 300, x, y))
	var candidates []float64
	for i := range points {
		to, n := places.Point{A: b.Columns[0].Out().Values[i], B: b.Columns[1].Out().Values[i]}, 0.0
		for _, q := range points {
			if d := math.Hypot(q.A-to.A, q.B-to.B); d >= 30-100*math.Sqrt2-0.001 && d <= 60+100*math.Sqrt2+0.001 {
				n++
			}
		}
		candidates = append(candidates, n)
	}
	list, _ = c.Verified()
	byPeople := &Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(1.0), KLeast: ptr(9), KMost: ptr(30),
		Records: ptr(true)}
	c = chain(t, setup, mask(byPeople), round)
	b = apply(t, c, block(0, 300, x, y))
	var to []places.Point
	for i := range points {
		to = append(to, places.Point{A: b.Columns[0].Out().Values[i], B: b.Columns[1].Out().Values[i]})
	}
	each := make([]float64, len(points))
	for i := range each {
		each[i] = 1
	}
	_, wide, _, _ := verifiedByLoop(points, to, points, each, func(p places.Point) (float64, float64) {
		inner, outer, _ := byPeople.Ring(setup.People[PeopleOf{Unit: "metres", A: "a", B: "b", Weight: ""}], p)
		return inner, outer
	}, 100*math.Sqrt2+0.001, 2)
	wide = slices.DeleteFunc(wide, func(n float64) bool { return n == 0 })
	if rounded, _ := c.Verified(); fmt.Sprint(rounded[0].Candidates) != fmt.Sprint(counted3(wide)) {
		t.Errorf("by people, rounded behind: %v, want %v", rounded[0].Candidates, counted3(wide))
	}
	if fmt.Sprint(list[0].Candidates) != fmt.Sprint(counted3(candidates)) {
		t.Errorf("rounded behind: %v, want %v", list[0].Candidates, counted3(candidates))
	}
}

func TestVerifiedNumbers(t *testing.T) {
	counts := map[int64]int64{3: 1, 5: 2, 9: 7}
	for share, want := range map[float64]int64{0: 3, 0.1: 3, 0.11: 5, 0.3: 5, 0.31: 9, 1: 9} {
		if got := Quantile(counts, share); got != want {
			t.Errorf("%v: %d, want %d", share, got, want)
		}
	}
	for limit, want := range map[int64]float64{3: 0, 4: 0.1, 5: 0.1, 6: 0.3, 9: 0.3, 10: 1} {
		if got := Below(counts, limit); got != want {
			t.Errorf("below %d: %v, want %v", limit, got, want)
		}
	}
	for people, want := range map[float64]int64{0: 0, 2.9999999999: 3, 2.9: 2, 299.999: 299, 999: 999, 1000: 1000,
		1009: 1000, 12399: 12300} {
		if got := core.Kept(people); got != want {
			t.Errorf("%v people: %d, want %d", people, got, want)
		}
	}
	var s Squares
	for range 10_000 {
		s.Add(2e7) // 4e18 each: beyond 64 bits
	}
	if got := s.Mean(10_000); math.Abs(got/4e14-1) > 1e-12 {
		t.Errorf("mean square %v", got)
	}
	var v Verified
	v.Merge(Verified{Records: 2, Least: 5, Greatest: 6})
	v.Merge(Verified{})
	v.Merge(Verified{Records: 1, Least: 7, Greatest: 9, Guessed: true})
	v.Merge(Verified{Records: 1, Least: 4, Greatest: 4})
	if v.Records != 4 || v.Least != 4 || v.Greatest != 9 || !v.Guessed {
		t.Errorf("%+v", v)
	}
}
