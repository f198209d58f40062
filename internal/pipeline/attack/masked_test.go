package attack

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// pairsOf runs the masks of a configuration over its source.
func pairsOf(t *testing.T, p *config.Pipeline) (*pipeline.Plan, assess.Pairs) {
	t.Helper()
	pl, _, pairs := releaseOf(t, p)
	return pl, pairs
}

// releaseOf is pairsOf, and also returns the chain.
func releaseOf(t *testing.T, p *config.Pipeline) (*pipeline.Plan, *transform.Chain, assess.Pairs) {
	t.Helper()
	key, err := p.Key.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	src, err := pipeline.OpenSource(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	ctx, o := pipeline.Options{}.Ready(t.Context())
	r, err := masked(ctx, pipeline.Job{Config: p, Source: src, Carries: true, Key: key, Log: o.Log, Progress: o.Progress})
	if err != nil {
		t.Fatal(err)
	}
	return r.Plan, r.Chain, r.Measured.Pairs()
}

// The information that masks remove from categories is reported for the requested columns, and the
// remaining uniqueness for all keys, with the configured estimator.
func TestCategories(t *testing.T) {
	for name, uniqueness := range map[string]string{
		"nothing is said": "", "the exact estimator": ", intruder: {uniqueness: {approximate: false, k: [2], suda2: false}}",
		"another alpha": ", intruder: {uniqueness: {alpha: 0.4, weight: weight}}", "other parts": ", intruder: {linkage: {}}",
	} {
		p := survey(t, 120,
			"{recode: {columns: [region], map: {n: a, s: a, w: w}}}, {recode: {columns: [house], map: {h0: x, h1: x}, other: y}}", "assess: {keys: [age, region, house, wage]"+uniqueness+"}")
		pl, pairs := pairsOf(t, p)
		// The same with the whole intruder, which always includes uniqueness.
		of, all := *pl, *pl.Config
		if name == "other parts" {
			all.Assess.Intruder = nil
		}
		of.Config = &all
		r, _, err := onPairs(t.Context(), &of, nil, pairs)
		if err != nil || r.Uniqueness == nil {
			t.Fatalf("%s: %v", name, err)
		}
		most, mean := r.Uniqueness.MaxIndividualRisk, r.Uniqueness.ExpectedReidentifications/120
		for _, columns := range [][]string{{"region"}, {"house"}, {"region", "house"}, {"house", "debt", "region"}} {
			m, err := Categories(t.Context(), pl, pairs, columns)
			if err != nil {
				t.Fatalf("%s, %q: %v", name, columns, err)
			}
			if m.MaxRisk != most || math.Abs(m.MeanRisk-mean) > 1e-12 || most <= 0 {
				t.Errorf("%s, %q: risks %v and %v, want %v and %v", name, columns, m.MaxRisk, m.MeanRisk, most, mean)
			}
			var got []string
			for _, c := range m.Loss.Columns {
				got = append(got, c.Name)
			}
			want := slices.DeleteFunc([]string{"region", "house"}, func(c string) bool { return !slices.Contains(columns, c) })
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("%s: the loss has the columns %q, want %q", name, got, want)
			}
		}
		if m, err := Categories(t.Context(), pl, pairs, nil); err == nil {
			t.Errorf("%s: Categories of no column returns %+v, want an error", name, m)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if m, err := Categories(ctx, pl, pairs, []string{"region"}); !errors.Is(err, context.Canceled) || m != nil {
			t.Errorf("%s: with an ended context, Categories returns %+v and error %v", name, m, err)
		}
		if id, err := Some(ctx, pl, nil, pairs, []string{"uniqueness", "linkage"}); id != nil || err != nil &&
			!errors.Is(err, context.Canceled) || err == nil && name != "other parts" {
			t.Errorf("%s: with an ended context, Some returns %+v and error %v", name, id, err)
		}
	}
}

// Of a recoding and a draw, only what is drawn counts as changed, in both orders; of a recoding
// alone nothing, whatever its names.
func TestCategoriesAreComparedAfterRecoding(t *testing.T) {
	const recode, pram = "{recode: {columns: [region], map: {n: a, s: a, w: w}}}",
		"{pram: {columns: [region], keep: 0.6, categories: [%s]}}"
	for masks, coding := range map[string]map[string]string{
		recode: {"n": "a", "s": "a", "w": "w"},
		"{recode: {columns: [region], map: {n: s, s: n, w: w}}}": {"n": "s", "s": "n", "w": "w"},
		recode + ", " + fmt.Sprintf(pram, "a, w"):                {"n": "a", "s": "a", "w": "w"},
		fmt.Sprintf(pram, "n, s, w") + ", " + recode:             {"n": "a", "s": "a", "w": "w"},
		fmt.Sprintf(pram, "n, s, w"):                             {"n": "n", "s": "s", "w": "w"},
		"{recode: {columns: [region], map: {n: a}, other: b}}, {pram: {columns: [region], keep: 0.6, categories: [a, b]}}": {
			"n": "a", "s": "b", "w": "b"},
	} {
		for _, count := range []string{"snooper", "released"} {
			p := survey(t, 120, masks, "assess: {keys: [region], intruder: {count: "+count+", uniqueness: {}}}")
			pl, chain, pairs := releaseOf(t, p)
			r, _, err := onPairs(t.Context(), pl, chain, pairs)
			if err != nil {
				t.Fatal(err)
			}
			index := pl.Intruder.Index["region"]
			i := slices.Index(pairs.CarriedColumns, index)
			changed := 0
			for k, x := range pairs.Carried[i] {
				for from, to := range coding {
					if x == microdata.CategoryCode([]byte(from)) && pairs.CarriedReleased[i][k] != microdata.CategoryCode([]byte(to)) {
						changed++
					}
				}
			}
			got := r.Categories.Columns[0]
			if got.Changed != changed || strings.Contains(masks, "pram") != (changed > 0) {
				t.Errorf("%s, count %s: %d changed, want %d", masks, count, got.Changed, changed)
			}
			if !strings.Contains(masks, "pram") && (r.Categories.PMSE != 0 || got.Distance != 0) {
				t.Errorf("%s, count %s: pMSE %v, distance %v of a recoding alone", masks, count, r.Categories.PMSE, got.Distance)
			}
		}
	}
}

// A part runs on the pairs if it is both configured and selected, wherever it stands in the list.
func TestSomeOfTheParts(t *testing.T) {
	p := survey(t, 60,
		"{noise: {columns: [wage], sd: 5%}}, {recode: {columns: [region], map: {n: a, s: a, w: w}}}, {synthesise: {columns: [debt], held_out: 0.3}}",
		"assess: {keys: [age, region, wage], intruder: {targets: 20, linkage: {}, bayes: {}, uniqueness: {}, population: {formula: age + region, size: 600}, inversion: true, attribute: {}, utility: {}}}")
	pl, chain, pairs := releaseOf(t, p)
	shown := map[string]func(*assess.Identity) bool{
		"linkage": func(i *assess.Identity) bool { return !math.IsNaN(float64(i.Linked)) },
		"bayes":   func(i *assess.Identity) bool { return !math.IsNaN(float64(i.CorrectLinks)) },
		// wage has noise
		"uniqueness": func(i *assess.Identity) bool { return !math.IsNaN(float64(i.Changed)) && i.Uncounted != "" },
		"population": func(i *assess.Identity) bool { return i.Unfitted != "" || !math.IsNaN(float64(i.ExpectedUniques)) },
		"inversion":  func(i *assess.Identity) bool { return i.Inverted != nil },
		"utility":    func(i *assess.Identity) bool { return !math.IsNaN(float64(i.KS)) && math.IsNaN(float64(i.Overlap)) },
		"attribute":  func(i *assess.Identity) bool { return !math.IsNaN(float64(i.AttributeDisclosure)) },
	}
	for _, parts := range [][]string{{"linkage"}, {"bayes"}, {"uniqueness"}, {"inversion"}, {"attribute"}, {"utility"},
		{"population"}, {"linkage", "inversion"}, {"uniqueness", "bayes"}, Judged} {
		found, err := Some(t.Context(), pl, chain, pairs, parts)
		if err != nil || found == nil {
			t.Fatalf("%q: %v", parts, err)
		}
		id := found.Identity()
		for part, there := range shown {
			if there(id) != slices.Contains(parts, part) {
				t.Errorf("parts %q: result has %s: %v", parts, part, there(id))
			}
		}
	}
}

// Codes of categories are looked up by their texts and by their numbers. A category that is not
// among the values has no code, and neither has a null.
func TestCodesOfCategories(t *testing.T) {
	north, south := microdata.CategoryCode([]byte("north")), microdata.CategoryCode([]byte("south"))
	find := codesOf([]float64{north, 7, math.NaN(), south, 0, north}, []int32{4, 2, -1, 9, 0, 4})
	for text, want := range map[string]int32{"north": 4, "south": 9, "7": 2, "7.0": 2, "0": 0, "-0": 0} {
		if got, ok := find(text); !ok || got != want {
			t.Errorf("code of %q is %d (found: %v), want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"west", "8", "", "NaN", "x7"} {
		if got, ok := find(text); ok {
			t.Errorf("%q has the code %d, want none", text, got)
		}
	}
}

// The minimum and maximum cover all values, in any place; without values there are none.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		values    []float64
		low, high float64
	}{
		{[]float64{3, 1, 2}, 1, 3}, {[]float64{1, 2, 3}, 1, 3}, {[]float64{2, 3, 1}, 1, 3},
		{[]float64{math.NaN(), 5, math.NaN()}, 5, 5}, {nil, math.Inf(1), math.Inf(-1)},
	} {
		if low, high := ends(c.values); low != c.low || high != c.high {
			t.Errorf("ends of %v are %v and %v, want %v and %v", c.values, low, high, c.low, c.high)
		}
	}
}

// An intruder knows the window of a swap only if the data is the whole file: the places of a sample's
// records in the file are not known.
func TestWindowThatIsPublished(t *testing.T) {
	for _, c := range []struct {
		masks, extra string
		records      int64
		want         int
	}{
		{"{swap: {columns: [wage], scope: window, keys: [age], attribute: region, rate: 0.5}}", "window: {records: 100}", 0,
			100},
		{"{swap: {columns: [wage], scope: window, keys: [age], attribute: region, rate: 0.5}}", "window: {records: 100}",
			5000, 0},
		{"{noise: {columns: [wage], sd: 5}}", "window: {records: 100}", 0, 0},
		{"{noise: {columns: [wage], sd: 5}}", "", 5000, 0},
	} {
		pl := &pipeline.Plan{Config: survey(t, 5, c.masks, c.extra)}
		if got := publishedMoments(pl, &attack.Data{Records: c.records}).Window; got != c.want {
			t.Errorf("%s, a sample of %d records (0: all): window %d, want %d", c.masks, c.records, got, c.want)
		}
	}
}
