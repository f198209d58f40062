package places

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// haversine is the distance by another formula (Sinnott 1984).
func haversine(p, q Point) float64 {
	rad := math.Pi / 180
	a, b := math.Sin((q.A-p.A)*rad/2), math.Sin((q.B-p.B)*rad/2)
	h := a*a + math.Cos(p.A*rad)*math.Cos(q.A*rad)*b*b
	return 2 * EarthRadius * math.Atan2(math.Sqrt(h), math.Sqrt(1-h))
}

// edges are the points at which formulas of the sphere go wrong.
var edges = []Point{{0, 0}, {48.2, 16.37}, {-33.9, 151.2}, {90, 0}, {90, 77}, {-90, 12}, {89.9999, -30},
	{-89.9999, 170}, {0, 180}, {0, -180}, {12, 179.9999}, {12, -179.9999}, {70, 359.9}}

func TestDistances(t *testing.T) {
	for _, p := range edges {
		for _, q := range edges {
			want := haversine(p, q)
			if got := Degrees.Distance(p, q); math.Abs(got-want) > 1e-6+1e-9*want && want < 2e7 || math.Abs(got-want) > 1 {
				t.Errorf("from %v to %v are %v m, want %v", p, q, got, want)
			}
		}
	}
	// A degree of latitude, and of longitude at 60°.
	for _, c := range []struct {
		p, q Point
		want float64
	}{{Point{10, 5}, Point{11, 5}, 111195.08}, {Point{60, 5}, Point{60, 6}, 55595.4},
		{Point{0, 179.5}, Point{0, -179.5}, 111195.08}, {Point{89.5, 0}, Point{89.5, 180}, 111195.08}} {
		if got := Degrees.Distance(c.p, c.q); math.Abs(got-c.want) > 3 {
			t.Errorf("from %v to %v are %v m, want %v", c.p, c.q, got, c.want)
		}
	}
	if got := Metres.Distance(Point{1, 2}, Point{4, -2}); got != 5 {
		t.Errorf("in the plane: %v m, want 5", got)
	}
	for _, c := range [][2]Point{{{5, 200}, {5, -160}}, {{5, 180}, {5, -180}}, {{5, 360}, {5, 0}}, {{90, 3}, {90, 100}},
		{{-90, 3}, {-90, 0}}} {
		if got := Degrees.Distance(c[0], c[1]); got != 0 {
			t.Errorf("%v and %v are one place, and %v m apart", c[0], c[1], got)
		}
	}
}

// A point that is moved lies at the distance, and in the direction.
func TestMoves(t *testing.T) {
	for _, p := range edges {
		for _, d := range []float64{0.5, 300, 20_000, 3e6} {
			var seen []Point
			for k := range 16 {
				q := Degrees.Move(p, d, float64(k)/16)
				if got := haversine(p, q); math.Abs(got-d) > 1e-6*d+1e-6 {
					t.Errorf("from %v by %v m: %v m are moved", p, d, got)
				}
				if !Degrees.Valid(q) || q.B <= -180 || q.B > 180 {
					t.Errorf("from %v by %v m to %v", p, d, q)
				}
				seen = append(seen, q)
			}
			// Opposite directions are 2d apart, and a quarter of a turn √2 d where the Earth is flat.
			for k := range 8 {
				if got := haversine(seen[k], seen[k+8]); math.Abs(got-2*d) > 1e-5*d+1e-5 {
					t.Errorf("from %v by %v m: opposite points are %v m apart", p, d, got)
				}
				if got := haversine(seen[k], seen[k+4]); d < 1000 && math.Abs(got-math.Sqrt2*d) > 1e-5*d+1e-5 {
					t.Errorf("from %v by %v m: points of a quarter of a turn are %v m apart", p, d, got)
				}
			}
		}
	}
	for turn, want := range map[float64]Point{0: {1, 20}, 0.5: {-1, 20}, 0.25: {0, 21}, 0.75: {0, 19}} {
		if got := Degrees.Move(Point{0, 20}, 111195.0797, turn); math.Abs(got.A-want.A) > 1e-6 ||
			math.Abs(got.B-want.B) > 1e-6 {
			t.Errorf("turn %v: %v, want %v", turn, got, want)
		}
	}
	if got := Degrees.Move(Point{0, 179.9}, 22239.0159, 0.25); math.Abs(got.B+179.9) > 1e-6 {
		t.Errorf("over the date line: %v", got)
	}
	if got := Metres.Move(Point{10, 20}, 5, 0.25); math.Abs(got.A-10) > 1e-9 || got.B != 25 {
		t.Errorf("in the plane: %v", got)
	}
}

// The share of a ring's area within a radius.
func TestRadii(t *testing.T) {
	for _, c := range []struct {
		u                         Unit
		inner, outer, share, want float64
	}{
		{Metres, 3, 5, 0, 3}, {Metres, 3, 5, 1, 5}, {Metres, 0, 2, 0.25, 1}, {Metres, 3, 5, 0.5, math.Sqrt(17)},
		{Degrees, 300, 500, 0, 300}, {Degrees, 300, 500, 1, 500},
		{Degrees, 0, math.Pi * EarthRadius, 0.5, math.Pi / 2 * EarthRadius},
		{Degrees, 0, math.Pi * EarthRadius, 0.75, 2 * math.Pi / 3 * EarthRadius},
	} {
		if got := c.u.Radius(c.inner, c.outer, c.share); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if got, want := Degrees.Area(math.Pi*EarthRadius), 4*math.Pi*EarthRadius*EarthRadius; math.Abs(got/want-1) > 1e-12 {
		t.Errorf("the area of the Earth is %v, want %v", got, want)
	}
}

func TestValid(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		u    Unit
		p    Point
		want bool
	}{
		{Degrees, Point{90, 360}, true}, {Degrees, Point{-90, -180}, true}, {Degrees, Point{90.001, 0}, false},
		{Degrees, Point{-90.001, 0}, false}, {Degrees, Point{0, 360.1}, false},
		{Degrees, Point{0, -180.1}, false}, {Degrees, Point{nan, 0}, false}, {Degrees, Point{0, nan}, false},
		{Metres, Point{1e9, -1e9}, true}, {Metres, Point{inf, 0}, false},
		{Metres, Point{0, -1.1e9}, false}, {Metres, Point{1.1e9, 0}, false}, {Metres, Point{0, nan}, false},
	} {
		if got := c.u.Valid(c.p); got != c.want {
			t.Errorf("%v of unit %v is valid: %v", c.p, c.u, got)
		}
	}
}

// The tree finds what a loop over all points finds.
func TestPeople(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, u := range []Unit{Degrees, Metres} {
		for _, n := range []int{0, 1, 5, 9, 300} {
			var points []Point
			var count []float64
			for i := range n {
				// many at one place, over the date line
				p := Point{math.Round(r.NormFloat64() * 3), math.Round(r.NormFloat64()*3) + 178}
				if u == Degrees && p.B > 180 {
					p.B -= 360
				}
				if i%50 == 7 {
					p = Point{89.9, float64(i)}
				}
				points, count = append(points, p), append(count, float64(r.IntN(4)))
			}
			people := NewPeople(u, points, count)
			total := 0.0
			for _, c := range count {
				total += c
			}
			if people.Total() != total {
				t.Fatalf("%d points: %v people, want %v", n, people.Total(), total)
			}
			for range 200 {
				at := Point{math.Round(r.NormFloat64() * 3), math.Round(r.NormFloat64()*3) + 178}
				other := Point{math.Round(r.NormFloat64() * 3), math.Round(r.NormFloat64()*3) + 178}
				inner, outer := r.Float64()*3e5, 3e5+r.Float64()*3e5
				if u == Metres {
					inner, outer = inner/1e5, outer/1e5
				}
				asNear, surely, ring := 0.0, 0.0, 0.0
				type one struct{ distance, people float64 }
				var all []one
				for i, p := range points {
					d := u.Distance(at, p)
					// Points that lie as near by symmetry may differ in the last bits.
					if d <= u.Distance(at, other)*(1+1e-12) {
						asNear += count[i]
					}
					if d < u.Distance(at, other)*(1-1e-12) || p == other {
						surely += count[i]
					}
					if d >= inner && d <= outer {
						ring += count[i]
					}
					if count[i] > 0 {
						all = append(all, one{d, count[i]})
					}
				}
				if got := people.AsNear(at, other); got > asNear || got < surely || u == Metres && got != asNear {
					t.Fatalf("unit %v, %d points: %v as near, want %v to %v", u, n, got, surely, asNear)
				}
				mean := NewMean(u)
				for i, p := range points {
					if d := u.Distance(at, p); d >= inner && d <= outer {
						mean.Add(p, count[i])
					}
				}
				got, centre := people.Ring(at, inner, outer)
				if got != ring {
					t.Fatalf("unit %v, %d points: %v in the ring, want %v", u, n, got, ring)
				}
				if want := mean.Point(Point{}); ring > 0 && (math.Abs(centre.A-want.A) > 1e-9 || math.Abs(centre.B-want.B) > 1e-9) {
					t.Fatalf("unit %v, %d points: the centre of the ring is %v, want %v", u, n, centre, want)
				}
				slices.SortFunc(all, func(a, b one) int { return int(math.Copysign(1, a.distance-b.distance)) })
				wantInner, wantOuter, sum := math.Inf(1), math.Inf(1), 0.0
				for _, a := range all {
					sum += a.people
					if sum >= 4 && math.IsInf(wantInner, 1) {
						wantInner = a.distance
					}
					if sum >= 30 && math.IsInf(wantOuter, 1) {
						wantOuter = a.distance
					}
				}
				if gotInner, gotOuter := people.Radii(at, 4, 30); gotInner != wantInner || gotOuter != wantOuter {
					t.Fatalf("unit %v, %d points: radii %v and %v, want %v and %v", u, n, gotInner, gotOuter, wantInner, wantOuter)
				}
				last, seen := -1.0, 0
				people.Nearest(at, func(_ int, d, _ float64) bool {
					if d < last {
						t.Fatalf("%v m after %v m", d, last)
					}
					last = d
					seen++
					return true
				})
				if seen != people.Len() {
					t.Fatalf("%d of %d points are seen", seen, people.Len())
				}
			}
		}
	}
	one := NewPeople(Metres, []Point{{0, 0}, {4, 0}, {100, 100}}, []float64{1, 3, 5})
	if n, centre := one.Ring(Point{0, 1}, 0, 50); n != 4 || centre != (Point{3, 0}) {
		t.Errorf("%v people about %v", n, centre)
	}
	if one := NewPeople(Metres, []Point{{0, 0}, {1, 1}, {2, 2}}, []float64{1, 0, -1}); one.Len() != 1 || one.Total() != 1 {
		t.Errorf("points without people count: %d", one.Len())
	}
	for range 2 { // the second time they are remembered
		for _, k := range [][3]float64{{1, 4, 0}, {2, 9, 4}, {2, 4, 4}, {1, 9, 0}} {
			if inner, _ := one.Radii(Point{0, 0}, k[0], k[1]); inner != k[2] {
				t.Errorf("%v people live within %v", k[0], inner)
			}
		}
		if inner, outer := one.Radii(Point{0, 0}, 4, 10); inner != 4 || !math.IsInf(outer, 1) {
			t.Errorf("more people than there are: %v, %v", inner, outer)
		}
	}
	mean := NewMean(Degrees)
	if mean.Point(Point{1, 2}) != (Point{1, 2}) {
		t.Error("the mean of nothing")
	}
	mean.Add(Point{0, 179}, 3)
	mean.Add(Point{0, -179}, 1)
	if p := mean.Point(Point{}); math.Abs(p.B-179.5) > 1e-3 || math.Abs(p.A) > 1e-9 {
		t.Errorf("the weighted mean over the date line is %v", p)
	}
	if NewPeople(Metres, []Point{{0, 0}, {1, 1}}, nil).Total() != 2 {
		t.Error("without counts there is one person at each point")
	}
}
