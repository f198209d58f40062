package account

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/transform"
)

// verifiedAt is two points at distances of a and b metres, with spatial k of 4 and 9, and with candidates if there is a
// guess.
func verifiedAt(a, b, guess float64) transform.Verified {
	v := transform.Verified{Records: 2, Least: a, Greatest: b, K: map[int64]int64{4: 1, 9: 1},
		Lesser: map[int64]int64{3: 1, 9: 1}}
	v.Square[1] = uint64(1e4 * (a*a + b*b))
	if v.SquareGuess = v.Square; guess > 0 {
		v.SquareGuess[1], v.Guessed, v.Candidates = uint64(2e4*guess*guess), true, map[int64]int64{3: 1, 20: 1}
	}
	return v
}

func coordinate(name string, mean, sd, index, record, order float64, tells ...string) assess.ColumnMeasures {
	c := assess.ColumnMeasures{Name: name, Original: assess.Moments{Mean: assess.Float(mean), SD: assess.Float(sd)}}
	add := func(target, knowledge string, rmse float64, tells []string) {
		if rmse > 0 {
			c.Risk = append(c.Risk, assess.Risk{Target: target, Knowledge: knowledge, RMSE: assess.Float(rmse), Tells: tells})
		}
	}
	add("p50", assess.KnowledgeRecord, record/100, []string{"other"})
	add(assess.TargetTypical, assess.KnowledgeIndex, index, nil)
	add(assess.TargetTypical, assess.KnowledgeRecord, record, tells)
	add(assess.TargetTypical, assess.KnowledgeOrder, order, nil)
	return c
}

// The distance of a place is that of the best guess, by the point, by the population, by all columns or by the order of
// the records.
func TestDistanceOfPlaces(t *testing.T) {
	metres := transform.Place{Columns: [2]string{"x", "y"}, Unit: "metres", K: 5}
	for name, c := range map[string]struct {
		guess, recordX, recordY, orderX float64
		want                            float64
	}{
		"point": {0, 5, 4, 0, 5}, "population": {2, 5, 4, 0, 2}, "a bad guess": {9, 5, 4, 0, 5},
		"record": {0, 1, 2, 0, math.Sqrt(5)}, "order": {0, 5, 4, 1, math.Sqrt(1 + 16)}, "a bad order": {0, 5, 4, 90, 5},
	} {
		m := &assess.Measures{
			Columns: []assess.ColumnMeasures{coordinate("x", 0, 1, 5, c.recordX, c.orderX, "a", "y"),
				coordinate("y", 0, 1, 4, c.recordY, 0, "x", "b", "a")}}
		p := placeOf(verifiedAt(1, 7, c.guess), metres, m)
		if math.Abs(float64(p.RMSE)-c.want) > 1e-9 || math.Abs(float64(p.Released)-5) > 1e-9 ||
			(p.Population != nil) != (c.guess > 0) || (p.Order != nil) != (c.orderX > 0) ||
			!slices.Equal(p.Tells, []string{"a", "b"}) || p.Least != 1 || p.Greatest != 7 {
			t.Errorf("%s: %+v, want ±%v", name, p, c.want)
		}
		if p.K.Least != 4 || p.K.Median != 4 || p.Lesser.Least != 3 || *p.K.Below != 0.5 ||
			(p.Candidates != nil) != (c.guess > 0) || p.Records != 2 {
			t.Errorf("%s: spatial k is %+v", name, p.K)
		}
	}
	// A degree of longitude counts at the latitude a standard deviation beyond the mean, on both sides of the equator, and
	// up to 89 degrees.
	for _, c := range [][3]float64{{40, 20, 60}, {-40, 20, 60}, {80, 20, 89}, {0, 0, 0}} {
		m := &assess.Measures{
			Columns: []assess.ColumnMeasures{coordinate("x", c[0], c[1], 3, 3, 0), coordinate("y", 0, 1, 3, 4, 0)}}
		degree := places.EarthRadius * math.Pi / 180
		want := degree * math.Hypot(3, 3*math.Cos(c[2]*math.Pi/180)) // a record of 4 is no better than the index
		if got, _ := byColumns(transform.Place{Columns: [2]string{"x", "y"}, Unit: "degrees"}, m,
			assess.KnowledgeRecord); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("%v: %v metres, want %v", c, got, want)
		}
	}
	for _, columns := range [][]assess.ColumnMeasures{nil, {coordinate("x", 0, 1, 3, 3, 0)},
		{coordinate("x", 0, 1, 0, 0, 0), coordinate("y", 0, 1, 3, 3, 0)}} {
		if got, _ := byColumns(metres, &assess.Measures{Columns: columns}, assess.KnowledgeRecord); got == got {
			t.Errorf("%d columns: ±%v", len(columns), got)
		}
	}
	m := &assess.Measures{Columns: []assess.ColumnMeasures{coordinate("x", 0, 1, 3, 3, 0), coordinate("y", 0, 1, 3, 3, 0)}}
	if got, _ := byColumns(metres, m, assess.KnowledgeOrder); got == got {
		t.Errorf("without an order: ±%v", got)
	}
}

// What a gate judges is the least of all places; where one is not counted, or other columns tell of it, there is no
// spatial k.
func TestPlacesThatAreJudged(t *testing.T) {
	racetest.Further(t)
	x := transform.Place{Columns: [2]string{"x", "y"}, Unit: "metres"}
	far, near, alone := verifiedAt(6, 8, 0), verifiedAt(1, 7, 0), verifiedAt(1, 7, 0)
	far.Lesser = map[int64]int64{11: 2}
	alone.K, alone.Lesser = nil, nil
	measured := func(record float64, tells ...string) *assess.Measures {
		return &assess.Measures{
			Columns: []assess.ColumnMeasures{coordinate("x", 0, 1, 9, record, 0, tells...), coordinate("y", 0, 1, 9, 0.001, 0)}}
	}
	for name, c := range map[string]struct {
		all      []transform.Verified
		m        *assess.Measures
		k, rmse  float64
		unplaced string
	}{
		"two":             {[]transform.Verified{far, near}, &assess.Measures{}, 3, 5, ""},
		"the other order": {[]transform.Verified{near, far}, &assess.Measures{}, 3, 5, ""},
		"far":             {[]transform.Verified{far}, &assess.Measures{}, 11, math.Sqrt(50), ""},
		"not counted": {[]transform.Verified{alone, near}, &assess.Measures{}, math.NaN(), 5,
			"population about the points"},
		"not counted last": {[]transform.Verified{near, alone}, &assess.Measures{}, math.NaN(), 5, "population"},
		"told":             {[]transform.Verified{near}, measured(4.7, "plz"), math.NaN(), 4.7, "plz tell of the place"},
		"hardly":           {[]transform.Verified{near}, measured(4.8, "plz"), 3, 4.8, ""},
		"by nothing":       {[]transform.Verified{near}, measured(2), 3, 2, ""},
		"none between":     {[]transform.Verified{{}, near}, &assess.Measures{Identity: assess.Unmeasured()}, 3, 5, ""},
	} {
		list := enter(c.m, c.all, []transform.Place{x, x})
		id := c.m.Identity
		if k := float64(id.SpatialK); k != c.k && (k == k || c.k == c.k) || math.Abs(float64(id.PlaceRMSE)-c.rmse) > 1e-4 ||
			!strings.Contains(id.Unplaced, c.unplaced) || (id.Unplaced == "") != (c.unplaced == "") {
			t.Errorf("%s: %v and %v (%s), want %v and %v of %d", name, id.SpatialK, id.PlaceRMSE, id.Unplaced, c.k, c.rmse,
				len(list))
		}
	}
	attacked := &assess.Measures{Identity: assess.Unmeasured()}
	attacked.Identity.MinK = 12
	if list := enter(attacked, []transform.Verified{near}, []transform.Place{x}); attacked.Identity.MinK != 12 ||
		list[0].K.Below != nil {
		t.Errorf("what an intruder found is gone, or a share is of no k_least: %+v", attacked.Identity)
	}
	m := new(assess.Measures)
	if list := enter(m, []transform.Verified{{}}, []transform.Place{x}); list != nil || m.Identity != nil {
		t.Errorf("nothing is verified as %v", list)
	}
	if told(report.Place{}) {
		t.Error("nobody tells")
	}
}
