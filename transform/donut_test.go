package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

// displaced returns what a mask makes of points, as far as they are not rejected.
func displaced(t *testing.T, setup Setup, m *Donut, columns ...testColumn) (x, y []float64, b *microdata.Block) {
	t.Helper()
	b = apply(t, chain(t, setup, mask(m)), block(0, len(columns[0].Values), columns...))
	return b.Columns[0].Out().Values, b.Columns[1].Out().Values, b
}

// sphere is the distance and the bearing from a point to another, by formulas of the sphere's triangle, the bearing as
// a share of a turn.
func sphere(lat, lon, lat2, lon2 float64) (d, turn float64) {
	rad := math.Pi / 180
	sinA, cosA := math.Sincos(lat * rad)
	sinB, cosB := math.Sincos(lat2 * rad)
	sinL, cosL := math.Sincos((lon2 - lon) * rad)
	y, x := sinL*cosB, cosA*sinB-sinA*cosB*cosL
	d = 6371008.8 * math.Atan2(math.Hypot(x, y), sinA*sinB+cosA*cosB*cosL)
	turn = math.Atan2(y, x) / (2 * math.Pi)
	return d, turn - math.Floor(turn)
}

// Points are spread evenly over the area of the ring: the share (d² − a²)/(b² − a²) and the direction are uniform
// (Kolmogorov-Smirnov, see kolmogorov), and independent: of 10 × 10 cells, chi-square on 99 degrees of freedom exceeds
// 173 with probability 5e-6. A place that few people share is drawn once, so each record has a place of its own.
func TestDonutIsUniformInArea(t *testing.T) {
	n := thin(100_000)
	for name, c := range map[string]struct {
		unit        string
		a, b        float64
		lat, lon    float64 // of the first place
		least, most float64
	}{
		"plane":         {unit: "metres", a: 500_000, b: 5_300_000, least: 200, most: 900},
		"Vienna":        {unit: "degrees", lat: 48.2, lon: 16.37, least: 200, most: 900},
		"date line":     {unit: "degrees", lat: -17, lon: 179.9995, least: 200, most: 900},
		"near the pole": {unit: "degrees", lat: 89.99, lon: -3, least: 200, most: 900},
		"wide":          {unit: "degrees", lat: 10, lon: 10, least: 1, most: 300},
		"narrow":        {unit: "degrees", lat: -33, lon: 0, least: 899, most: 900},
	} {
		x, y := floats(9, make([]float64, n)...), floats(9, make([]float64, n)...)
		for i := range n { // some 0.1 mm apart
			x.Values[i], y.Values[i] = c.lat+float64(i)*1e-9, c.lon
			if c.unit == "metres" {
				x.Values[i], y.Values[i] = c.a+float64(i)*1e-4, c.b
				x.Decimals, y.Decimals = 4, 4
			}
		}
		p, q,
			b := displaced(t, testSetup(t, x, y),
			&Donut{Columns: []string{"a", "b"}, Unit: c.unit, Least: &c.least, Most: &c.most}, x, y)
		if b.Touched[0] != int64(n) {
			t.Fatalf("%s: %d of %d points are displaced", name, b.Touched[0], n)
		}
		var shares, turns []float64
		cells, square := make([]float64, 100), 0.0
		for i := range n {
			d, turn := math.Hypot(p[i]-x.Values[i], q[i]-y.Values[i]), math.Atan2(q[i]-y.Values[i], p[i]-x.Values[i])/(2*math.Pi)
			if c.unit == "degrees" {
				d, turn = sphere(x.Values[i], y.Values[i], p[i], q[i])
				if q[i] <= -180 || q[i] > 180 {
					t.Fatalf("%s: longitude %v", name, q[i])
				}
			}
			if d < c.least-0.001 || d > c.most+0.001 {
				t.Fatalf("%s: %v metres", name, d)
			}
			turn -= math.Floor(turn)
			share := min(1, max(0, (d*d-c.least*c.least)/(c.most*c.most-c.least*c.least)))
			shares, turns = append(shares, share), append(turns, turn)
			cells[min(9, int(10*share))*10+min(9, int(10*turn))]++
			square += d * d / float64(n)
		}
		uniform := func(v float64) float64 { return min(1, max(0, v)) }
		if ks := kolmogorov(shares, uniform); ks > 2.5 && name != "narrow" { // 0.1 mm are 1e-4 of the narrow ring
			t.Errorf("%s: the distances are not uniform in area: %v", name, ks)
		}
		if ks := kolmogorov(turns, uniform); ks > 2.5 {
			t.Errorf("%s: the directions are not uniform: %v", name, ks)
		}
		chi := 0.0
		for _, observed := range cells {
			e := float64(n) / 100
			chi += (observed - e) * (observed - e) / e
		}
		if chi > 173 {
			t.Errorf("%s: distance and direction: chi-square %v", name, chi)
		}
		// E d² = (a² + b²)/2, and d² is uniform between a² and b²: its mean has the standard error (b² − a²)/√(12n).
		a2, b2 := c.least*c.least, c.most*c.most
		if want := (a2 + b2) / 2; math.Abs(square-want) > 5*(b2-a2)/math.Sqrt(12*float64(n))+0.2 {
			t.Errorf("%s: mean square %v, want %v", name, square, want)
		}
	}
}

// All records of a place are displaced alike: in any block, order, column, stream, scope, respondent and household.
// Another place, key or ring is displaced otherwise.
func TestDonutBindsThePlace(t *testing.T) {
	lat, lon := floats(6, 48.1, 48.2, 48.1, 48.1, 48.2), floats(6, 16.1, 16.2, 16.1, 16.2, 16.2)
	other, where := floats(6, 48.2, 48.1, 48.1, 48.1, 48.1), floats(6, 16.2, 16.1, 16.1, 16.1, 16.1)
	id := floats(0, 1, 2, 3, 4, 5)
	columns := []testColumn{lat, lon, other, where, id}
	setup := testSetup(t, columns...)
	m := &Donut{Columns: []string{"a", "b", "c", "d"}, Unit: "degrees", Least: ptr(100.0), Most: ptr(500.0)}
	at := func(b *microdata.Block, i, k int) places.Point {
		return places.Point{A: b.Columns[k].Out().Values[i], B: b.Columns[k+1].Out().Values[i]}
	}
	plain := apply(t, chain(t, setup, mask(m)), block(0, 5, columns...))
	first, second, third := at(plain, 0, 0), at(plain, 1, 0), at(plain, 3, 0)
	if at(plain, 2, 0) != first || at(plain, 4, 0) != second || at(plain, 0, 2) != second || at(plain, 1, 2) != first ||
		at(plain, 4, 2) != first {
		t.Error("records of one place differ")
	}
	if first == second || first == third || second == third || first.A-48.1 == second.A-48.2 {
		t.Error("two places are displaced alike")
	}
	distance := func(lat, lon float64, p places.Point) float64 {
		d, _ := sphere(lat, lon, p.A, p.B)
		return d
	}
	if d := distance(48.1, 16.2, third); math.Abs(d-distance(48.1, 16.1, first)) < 0.01 ||
		math.Abs(d-distance(48.2, 16.2, second)) < 0.01 {
		t.Error("places with one coordinate in common are displaced as far")
	}
	identified, household, scoped := setup, setup, block(0, 5, columns...)
	identified.Identity = []int{4}
	household.Households = Households{Index: []int{4}, Shared: []string{"a", "b"}, Personal: []string{"c"}}
	scoped.Scope, scoped.Stream, scoped.First = "topic", 3, 77
	swapped := *m
	swapped.Columns = []string{"c", "d", "a", "b"}
	for name, b := range map[string]*microdata.Block{
		"identity":               apply(t, chain(t, identified, mask(m)), block(0, 5, columns...)),
		"household":              apply(t, chain(t, household, mask(m)), block(0, 5, columns...)),
		"scope":                  apply(t, chain(t, setup, mask(m)), scoped),
		"pairs in another order": apply(t, chain(t, setup, mask(&swapped)), block(0, 5, columns...)),
		"another name":           apply(t, chain(t, setup, Spec{Name: "moved", Params: m}), block(0, 5, columns...)),
	} {
		if at(b, 0, 0) != first || at(b, 1, 0) != second || at(b, 4, 2) != first {
			t.Errorf("%s: a place is displaced otherwise", name)
		}
	}
	keyed := setup
	keyed.Key = testKey(t, 9)
	wider, farther := *m, *m
	wider.Most, farther.Least = ptr(501.0), ptr(101.0)
	for name, b := range map[string]*microdata.Block{
		"key":   apply(t, chain(t, keyed, mask(m)), block(0, 5, columns...)),
		"most":  apply(t, chain(t, setup, mask(&wider)), block(0, 5, columns...)),
		"least": apply(t, chain(t, setup, mask(&farther)), block(0, 5, columns...)),
	} {
		d, turn := sphere(48.1, 16.1, first.A, first.B)
		e, other := sphere(48.1, 16.1, at(b, 0, 0).A, at(b, 0, 0).B)
		if math.Abs(d-e) < 0.01 || math.Abs(turn-other) < 1e-4 {
			t.Errorf("another %s has the same distance or direction", name)
		}
	}
}

// Half a place and what is no place are not released; both coordinates missing stay so.
func TestDonutRejectsHalfPlaces(t *testing.T) {
	lat, lon := floats(6, 48.1, 0, 48.1, 0, 91, 48.1, -90.5, 90, -90), floats(6, 16.1, 16.1, 0, 0, 16.1, 361, 3, 360, -180)
	lat.Null, lon.Null = []int{1, 3}, []int{2, 3}
	p, q,
		b := displaced(t, testSetup(t, lat, lon),
		&Donut{Columns: []string{"a", "b"}, Unit: "degrees", Least: ptr(100.0), Most: ptr(500.0)}, lat, lon)
	want := map[int]microdata.Reject{1: {Row: 1, Column: "a", Reason: record.HalfPlace},
		2: {Row: 2, Column: "b", Reason: record.HalfPlace}, 4: {Row: 4, Column: "a", Reason: record.NoPlace},
		5: {Row: 5, Column: "a", Reason: record.NoPlace}, 6: {Row: 6, Column: "a", Reason: record.NoPlace}}
	for i := range 9 {
		r, rejected := want[i]
		if b.Rejected(i) != rejected {
			t.Errorf("record %d is rejected: %v", i, b.Rejected(i))
		}
		if rejected && !slices.Contains(b.Rejects, r) {
			t.Errorf("record %d: %+v", i, b.Rejects)
		}
	}
	if b.Columns[0].Out().Valid.Has(3) || b.Columns[1].Out().Valid.Has(3) || p[3] != 0 || q[3] != 0 {
		t.Error("a missing place is there")
	}
	for i, from := range map[int][2]float64{0: {48.1, 16.1}, 7: {90, 360}, 8: {-90, -180}} {
		if d, _ := sphere(from[0], from[1], p[i], q[i]); d < 99.9 || d > 500.1 {
			t.Errorf("record %d is displaced by %v metres", i, d)
		}
	}
	// A coordinate that is a kept code is missing.
	setup := testSetup(t, lat, lon)
	setup.Columns[0].Field.Missing = &microdata.Missing{Codes: []string{"48.1"}}
	coded := block(0, 9, lat, lon)
	layout := microdata.Layout{
		Schema: &microdata.Schema{Fields: []microdata.Field{setup.Columns[0].Field, setup.Columns[1].Field}},
		Read:   []microdata.Want{{Field: 0}, {Field: 1}}}
	layout.ClearMissing(coded)
	apply(t,
		chain(t, setup, mask(&Donut{Columns: []string{"a", "b"}, Unit: "degrees", Least: ptr(100.0), Most: ptr(500.0)})),
		coded)
	if !coded.Rejected(0) || coded.Rejected(2) {
		t.Errorf("a code beside a coordinate: %+v", coded.Rejects)
	}
}

// town is a place with many people in the middle and few around, in metres.
func town(n int, seed uint64) (points []places.Point, people []float64, x, y testColumn) {
	r := rand.New(rand.NewPCG(seed, 4))
	for range n {
		spread := 50 * math.Exp(3*r.Float64())
		p := places.Point{A: math.Round(r.NormFloat64() * spread), B: math.Round(r.NormFloat64() * spread)}
		points, people = append(points, p), append(people, float64(1+r.IntN(3)))
		x.Values, y.Values = append(x.Values, p.A), append(y.Values, p.B)
	}
	x.Type, y.Type, x.Decimals, y.Decimals = arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float64, 3, 3
	return points, people, x, y
}

// With k_least and k_most so many people live within the displacement, by a loop over all of them; it is at least
// least, and rings are no narrower than √2.
func TestDonutByPeople(t *testing.T) {
	points, people, x, y := town(400, 1)
	setup := testSetup(t, x, y)
	setup.People = map[PeopleOf]*places.People{{Unit: "metres", A: "a", B: "b",
		Weight: "w"}: places.NewPeople(places.Metres, points, people),
		{Unit: "metres", A: "a", B: "b", Weight: ""}: places.NewPeople(places.Metres, points, nil)}
	for _, c := range []struct {
		weight string
		least  float64
		most   *float64
	}{{"w", 0.5, nil}, {"", 0.5, nil}, {"w", 40, nil}, {"w", 0.5, ptr(60.0)}} {
		m := &Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: &c.least, Most: c.most, KLeast: ptr(8),
			KMost: ptr(40), Records: ptr(true), Weight: c.weight}
		p, q, b := displaced(t, setup, m, x, y)
		rejected := 0
		for i, from := range points {
			type one struct{ d, n float64 }
			var all []one
			for j, other := range points {
				n := people[j]
				if c.weight == "" {
					n = 1
				}
				all = append(all, one{math.Hypot(other.A-from.A, other.B-from.B), n})
			}
			slices.SortFunc(all, func(a, b one) int { return int(math.Copysign(1, a.d-b.d)) })
			inner, outer, sum := -1.0, 0.0, 0.0
			for _, a := range all {
				if sum += a.n; sum >= 8 && inner < 0 {
					inner = a.d
				}
				if outer = a.d; sum >= 40 {
					break
				}
			}
			inner = max(inner, c.least)
			outer = max(outer, math.Sqrt2*inner)
			if c.most != nil {
				outer = min(outer, *c.most)
			}
			if b.Rejected(i) != (inner >= outer) {
				t.Errorf("%+v: record %d with the ring from %v to %v is rejected: %v", c, i, inner, outer, b.Rejected(i))
			}
			if b.Rejected(i) {
				rejected++
				continue
			}
			if d := math.Hypot(p[i]-from.A, q[i]-from.B); d < inner-0.002 || d > outer+0.002 {
				t.Errorf("%+v: record %d is displaced by %v, want %v to %v", c, i, d, inner, outer)
			}
		}
		if (rejected > 0) != (c.most != nil) {
			t.Errorf("%+v: %d records are rejected", c, rejected)
		}
	}
	setup.People[PeopleOf{Unit: "metres", A: "a", B: "b", Weight: ""}] = places.NewPeople(places.Metres, points[:39], nil)
	for n, want := range map[int]bool{39: true, 40: false} {
		_,
			err := NewChain(
			[]Spec{
				mask(&Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(1.0), KLeast: ptr(8), KMost: &n,
					Records: ptr(true)})}, setup)
		if (err == nil) != want {
			t.Errorf("39 people and k_most %d: %v", n, err)
		}
	}
	delete(setup.People, PeopleOf{Unit: "metres", A: "a", B: "b", Weight: ""})
	if _, err := NewChain(
		[]Spec{
			mask(&Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(1.0), Most: ptr(2.0), Records: ptr(true)})},
		setup); err == nil {
		t.Error("without the places of the records there is a chain")
	}
}

// In replicates the places are displaced as in the release: by other draws in each, alike for the records of a place,
// with the mean square of the ring. A block that lacks a coordinate stays as it is.
func TestDonutReplicates(t *testing.T) {
	n := thin(20_000)
	x, y := floats(3, make([]float64, n)...), floats(3, make([]float64, n)...)
	for i := range n {
		x.Values[i], y.Values[i] = float64(i/2*10), -float64(i/2) // two records at each place
	}
	c := chain(t, testSetup(t, x, y),
		mask(&Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(100.0), Most: ptr(300.0)}))
	var last float64
	for m := 1; m <= 2; m++ {
		b := block(0, n, x, y)
		if err := c.Replicate(m).Apply(b); err != nil {
			t.Fatal(err)
		}
		p, q := b.Columns[0].Out().Values, b.Columns[1].Out().Values
		square, corners := 0.0, [2][2]float64{}
		for i := range n {
			far, back := 0, 0
			if a, b := p[i]-x.Values[i], q[i]-y.Values[i]; a*a+b*b > 5e4 {
				far = 1
			}
			if q[i] < y.Values[i] {
				back = 1
			}
			corners[far][back]++
			square += ((p[i]-x.Values[i])*(p[i]-x.Values[i]) + (q[i]-y.Values[i])*(q[i]-y.Values[i])) / float64(n)
			if i%2 == 1 && (p[i] != p[i-1] || q[i] != q[i-1]) {
				t.Fatalf("replicate %d: records of one place differ", m)
			}
		}
		// d² is uniform from 10⁴ to 9·10⁴, of n/2 places.
		if math.Abs(square-5e4) > 5*8e4/math.Sqrt(6*float64(n)) {
			t.Errorf("replicate %d: mean square %v", m, square)
		}
		// Distance and direction are independent: a quarter of the n/2 places is in each corner, with the standard error
		// √(3n/8)/2 and two records for each.
		for _, c := range []float64{corners[0][0], corners[0][1], corners[1][0], corners[1][1]} {
			if math.Abs(c-float64(n)/4) > 5*math.Sqrt(3*float64(n)/8) {
				t.Errorf("replicate %d: near and far, forth and back are %v", m, corners)
			}
		}
		if p[0] == last {
			t.Error("two replicates are the same")
		}
		last = p[0]
	}
	b := block(0, 10, x, y)
	b.Columns[1].Original.Values = nil
	if err := c.Replicate(1).Apply(b); err != nil || b.Columns[0].Out().Values[3] != x.Values[3] {
		t.Errorf("half a block: %v", err)
	}
	list, _ := c.Replicate(1).Verified()
	if len(list) > 0 {
		t.Error("a replicate is verified")
	}
}

// A coordinate that stays by chance stays no more often than the law says.
func TestDonutKeeps(t *testing.T) {
	n := thin(50_000)
	x, y := floats(0, make([]float64, n)...), floats(0, make([]float64, n)...)
	for i := range n {
		x.Values[i] = float64(i)
	}
	c := chain(t, testSetup(t, x, y),
		mask(&Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(5.0), Most: ptr(7.0)}))
	b := apply(t, c, block(0, n, x, y))
	for k, of := range []testColumn{x, y} {
		same, share := countSame(of.Values, b.Columns[k].Out().Values), c.Keeping(names(2)[k], 1, true).Share(3)
		// Of a ring from 5 to 7 the mean of (2/π) asin(½/r) is between that at 7 and that at 5.
		if got, low := same/float64(n), 2/math.Pi*math.Asin(0.5/7); got > share+5*math.Sqrt(share/float64(n)) ||
			got < low-5*math.Sqrt(low/float64(n)) || share > 0.0638 {
			t.Errorf("%v of a coordinate stays, the law says %v at most", got, share)
		}
	}
	// Rounded back to where it was, it explains nothing.
	c = chain(t, testSetup(t, x, y),
		mask(&Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(5.0), Most: ptr(7.0)}),
		mask(&Round{Columns: []string{"a"}, Base: ptr(100.0)}))
	if share := c.Keeping("a", 1, true).Share(100); share != 0 {
		t.Errorf("rounded to 100 metres: %v", share)
	}
}

func TestDonutParameters(t *testing.T) {
	for want, change := range map[string]func(m *Donut){
		"": func(*Donut) {}, "columns: must be pairs": func(m *Donut) {
			m.Columns = []string{"a", "b", "c"}
		}, "unit: must be one of degrees, metres": func(m *Donut) { m.Unit = "feet" },
		"least: must be given": func(m *Donut) { m.Least = nil }, "least: must be above 0": func(m *Donut) {
			m.Least = ptr(0.0)
		}, "most: must be greater than 100": func(m *Donut) { m.Most = ptr(100.0) },
		"most: must be above 0 and at most 5000000": func(m *Donut) {
			m.Most = ptr(5000001.0)
		}, "most: must be given": func(m *Donut) { m.Most = nil }, "least: must be above 0 and": func(m *Donut) {
			m.Least = ptr(math.NaN())
		},
		"k_least: must be given": func(m *Donut) { m.KMost, m.File = ptr(5), "f" }, "k_most: must be given": func(m *Donut) {
			m.KLeast, m.File = ptr(5), "f"
		},
		"k_least: must be between 2":           func(m *Donut) { m.KLeast, m.KMost, m.File = ptr(1), ptr(5), "f" },
		"k_most: must be greater than k_least": func(m *Donut) { m.KLeast, m.KMost, m.File = ptr(5), ptr(5), "f" },
		"k_most: must be greater than k_least and at most 10000": func(m *Donut) {
			m.KLeast, m.KMost, m.File = ptr(5), ptr(10001), "f"
		}, "k_least: must be between 2 and 10000": func(m *Donut) { m.KLeast, m.KMost, m.File = ptr(10001), ptr(10002), "f" },
		"file: must be given with k_least": func(m *Donut) {
			m.KLeast, m.KMost = ptr(5), ptr(6)
		}, "file: must be given with": func(m *Donut) { m.KLeast, m.KMost, m.Records = ptr(5), ptr(6), ptr(false) },
		"records: must be left out beside file": func(m *Donut) {
			m.Records, m.File = ptr(true), "f"
		}, "records: must be left out with more than one pair": func(m *Donut) {
			m.Records, m.Columns = ptr(true), []string{"a", "b", "c", "d"}
		},
		"weight: must be left out without records": func(m *Donut) {
			m.Weight = "w"
		}, "weight: must be another column": func(m *Donut) { m.Records, m.Weight = ptr(true), "b" },
	} {
		m := &Donut{Columns: []string{"a", "b"}, Unit: "degrees", Least: ptr(100.0), Most: ptr(500.0)}
		change(m)
		ps := fmt.Sprint(m.Check())
		if want == "" && len(m.Check()) > 0 || !strings.Contains(ps, want) {
			t.Errorf("%s, want %q", ps, want)
		}
	}
	for _, m := range []*Donut{{Least: ptr(2.0), KLeast: ptr(2), KMost: ptr(3), File: "f"},
		{Least: ptr(1e-9), KLeast: ptr(9999), KMost: ptr(10000), Records: ptr(true), Weight: "w"},
		{Least: ptr(1.0), Most: ptr(5e6), File: "f"}} {
		if m.Columns, m.Unit = []string{"a", "b"}, "metres"; len(m.Check()) > 0 {
			t.Errorf("%+v: %v", m, m.Check())
		}
	}
	// Beside other masks: rounding behind it is all that keeps the place.
	donut := mask(&Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(1.0), Most: ptr(2.0)})
	round, noise, elsewhere := mask(&Round{Columns: []string{"b"}, Decimals: ptr(0)}),
		mask(&Noise{Columns: []string{"b"}, SD: amount(1)}), mask(&Noise{Columns: []string{"c"}, SD: amount(1)})
	for name, c := range map[string]struct {
		masks   []Spec
		refused bool
	}{
		"alone": {[]Spec{donut, elsewhere}, false}, "round behind": {[]Spec{elsewhere, donut, round}, false},
		"round before": {[]Spec{round, donut}, true}, "noise behind": {[]Spec{donut, noise}, true},
		"noise before": {[]Spec{noise, donut}, true},
	} {
		if ps := CheckSpecs(c.masks); (len(ps) > 0) != c.refused {
			t.Errorf("%s: %v", name, ps)
		}
	}
	// Coordinates too coarse for the displacement.
	for decimals, refused := range map[int]bool{2: true, 3: true, 4: false, -1: false} {
		x := floats(decimals, 48, 49)
		if _, err := NewChain(
			[]Spec{mask(&Donut{Columns: []string{"a", "b"}, Unit: "degrees", Least: ptr(100.0), Most: ptr(500.0)})},
			testSetup(t, x, x)); (err != nil) != refused {
			t.Errorf("%d decimals: %v", decimals, err)
		}
	}
	text := testSetup(t, floats(3, 1), floats(3, 1))
	text.Columns[1].Field.Type = arrow.BinaryTypes.String
	if _, err := NewChain([]Spec{donut}, text); err == nil {
		t.Error("a coordinate of text is displaced")
	}
}

// Without decimals what is released has those of a centimetre.
func TestDonutDecimals(t *testing.T) {
	for unit, step := range map[string]float64{"degrees": 1e7, "metres": 100} {
		x, y := floats(-1, math.Pi, math.E), floats(-1, math.Sqrt2, 1)
		p, q,
			_ := displaced(t, testSetup(t, x, y),
			&Donut{Columns: []string{"a", "b"}, Unit: unit, Least: ptr(100.0), Most: ptr(500.0)}, x, y)
		for _, v := range append(p, q...) {
			if math.Round(v*step)/step != v {
				t.Errorf("%s: %v", unit, v)
			}
		}
	}
}

func TestDonutReadsPeople(t *testing.T) {
	for text, want := range map[string]string{
		"lat,lon,n\n48,16,3\n48.5,16,2.5\n": "", "\ufefflat;lon\n48;16\n": "", "lat,lon\n48,16": "",
		"lat\n48\n": "two or three columns", "a,b,c,d\n": "two or three columns", "48,16\n": "first line with the names",
		"lat,lon,n\n48,x,1\n48,16,y\n": "line 2: field 2 must be a number\nline 3: field 3 must be a number",
		"lat,lon,n\n48,16,-1\n":        "line 2: the number of people must be at least 0",
		"lat,lon\n91,16\n":             "line 2: is no place",
		"lat,lon\n48,16\n48\n":         "line 3 is not valid CSV", "lat,lon,n\n48,16,0\n": "at least one place with people",
		"lat,lon\n": "at least one place", "": "at least one place", "lat,lon\n48,NaN\n": "line 2: field 2",
		"lat,lon\n\"4\n": "line 2 is not valid",
	} {
		m := &Donut{Columns: []string{"a", "b"}, Unit: "degrees", File: "f"}
		err := FileOf(m).Read([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		people, _ := m.Table()
		if err != nil && people != nil && people.Total() > 0 || err != nil &&
			(strings.Contains(err.Error(), "x\"") || strings.Contains(err.Error(), "91")) {
			t.Errorf("%q: %v", text, err)
		}
	}
	m := &Donut{Columns: []string{"a", "b"}, Unit: "degrees", File: "f"}
	err := FileOf(m).Read([]byte("lat,lon,n\n48,16,3\n48.5, 16 ,2.5\n"))
	people, digest := m.Table()
	if err != nil || people.Total() != 5.5 || people.Len() != 2 ||
		people.AsNear(places.Point{A: 48, B: 16}, places.Point{A: 48.1, B: 16}) != 3 {
		t.Errorf("%v: %+v", err, people)
	}
	err = FileOf(m).Read([]byte("lat,lon,n\n48,16,3\n48.5, 16 ,2.6\n"))
	if _, other := m.Table(); err != nil || other == digest {
		t.Error("another population has the same name")
	}
	faults := "lat,lon\n" + strings.Repeat("x,y\n", 30)
	if err := FileOf(m).Read([]byte(faults)); strings.Count(err.Error(), "\n") != core.MostFaults-1 {
		t.Errorf("%d faults", strings.Count(err.Error(), "\n")+1)
	}
	of := Reading([]string{"a", "b"}, "metres", "f")
	if err := FileOf(of).Read([]byte("x,y\n1000,2000\n")); err != nil {
		t.Fatal(err)
	}
	if p := PlacesOf(of)[0]; p.Ring != nil || p.Same || p.People.Total() != 1 || !p.Counts() || p.Unit != "metres" {
		t.Errorf("%+v", p)
	}
}

// What the mask says of itself.
func TestDonutSays(t *testing.T) {
	for _, c := range []struct {
		m     Donut
		named string
		want  string
		sd    float64
	}{
		{Donut{Unit: "metres", Least: ptr(30.0), Most: ptr(40.0)}, "least,most", ", by 30 to 40 metres", 25},
		{Donut{Unit: "metres", Least: ptr(30.0), Most: ptr(40.0)}, "least", ", by at least 30 metres", 25},
		{Donut{Unit: "metres", Least: ptr(30.0), Most: ptr(40.0)}, "most", ", by at most 40 metres", 25},
		{Donut{Unit: "degrees", Least: ptr(30.0), KLeast: ptr(3), KMost: ptr(9)}, "k_least,k_most",
			"; between 3 and 9 people live within that distance", 30 / math.Sqrt2 / 111195.0797},
	} {
		c.m.Columns = []string{"a", "b"}
		const words = "displacement: points were moved in a random direction, all records of one place alike"
		if got := c.m.Words(published(&c.m, 20, splitNames(c.named)...), "a"); got != words+c.want {
			t.Errorf("%s: %s", c.named, got)
		}
		if got := ActionOf(&c.m, "a", 1).(Displacing).Noise(); math.Abs(got.SD/c.sd-1) > 1e-6 ||
			got.Distribution != "normal" {
			t.Errorf("%+v: noise %+v", c.m, got)
		}
	}
	all := func(string) bool { return true }
	for hidden, want := range map[string]bool{"": true, "least": false, "most": false, "unit": false} {
		named := func(p string) bool { return p != hidden }
		if got := new(Donut).EfficiencyFollows(func(p string) bool { return p != "k_least" }, named); got != want {
			t.Errorf("without %q the efficiency follows: %v", hidden, got)
		}
	}
	if new(Donut).EfficiencyFollows(all, all) {
		t.Error("the efficiency follows by people")
	}
}

// A ring needs a width, and ends at 5,000 km.
func TestDonutWithoutARing(t *testing.T) {
	for _, c := range []struct {
		apart    float64
		most     *float64
		rejected bool
	}{{60, ptr(60.0), true}, {60, ptr(60.5), false}, {60, nil, false}, {3.5e6, nil, false}, {3.6e6, nil, true}} {
		var points []places.Point
		var x, y testColumn
		for i := range 3 { // on a line
			points = append(points, places.Point{A: float64(i) * c.apart})
			x.Values, y.Values = append(x.Values, points[i].A), append(y.Values, 0)
		}
		x.Type, y.Type, x.Decimals, y.Decimals = arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float64, 2, 2
		setup := testSetup(t, x, y)
		setup.People = map[PeopleOf]*places.People{{Unit: "metres", A: "a", B: "b",
			Weight: ""}: places.NewPeople(places.Metres, points, nil)}
		_, _,
			b := displaced(t, setup,
			&Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(1.0), Most: c.most, KLeast: ptr(2), KMost: ptr(3),
				Records: ptr(true)}, x, y)
		if b.Rejected(1) != c.rejected { // of the middle: two people within one step, and three
			t.Errorf("%+v: rejected %v", c, b.Rejected(1))
		}
	}
}
