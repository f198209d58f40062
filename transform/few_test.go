package transform

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// refusalOf masks columns as a run does, and returns the error that refuses the data.
func refusalOf(t *testing.T, m Params, columns ...testColumn) error {
	t.Helper()
	setup := testSetup(t, columns...)
	setup.Sorted = map[string][]float64{}
	for i := range columns {
		var present []float64
		for row, v := range columns[i].Values {
			if !slices.Contains(columns[i].Null, row) {
				present = append(present, v)
			}
		}
		setup.Sorted[setup.Columns[i].Name] = slices.Sorted(slices.Values(present))
	}
	c, err := NewChain([]Spec{mask(m)}, setup)
	if err == nil && c.NeedsSurvey() {
		if err = c.Survey(block(0, len(columns[0].Values), columns...)); err == nil {
			err = c.EndSurvey()
		}
	}
	if err == nil {
		return nil
	}
	var of *SurveyError
	if !errors.As(err, &of) {
		t.Fatalf("%v: not an error of the data", err)
	}
	for _, c := range columns {
		for _, v := range c.Values {
			if math.Abs(v) >= 1000 && strings.Contains(err.Error(), strconv.FormatFloat(v, 'f', -1, 64)) {
				t.Errorf("shows a value: %v", err)
			}
		}
	}
	return err
}

// judged returns by its definition whether the mean of values beyond a bound tells too much: too
// few, or one with more than the share of all amounts or of all distances.
func judged(values []float64, bound float64, least int, share float64) string {
	if len(values) == 0 {
		return ""
	}
	if len(values) < least {
		return "least"
	}
	for _, from := range []float64{0, bound} {
		for i := range values {
			others := 0.0
			for j := range values {
				if j != i {
					others += math.Abs(values[j] - from)
				}
			}
			own := math.Abs(values[i] - from)
			if own*(1-share) > others*share*(1+1e-9) {
				return "share"
			}
		}
	}
	return ""
}

// The means of the values beyond each bound are judged on both sides, by the definition, for
// tails of no value to some, of either sign, with the outlier in any place.
func TestMeansOfTailsAgainstTheDefinition(t *testing.T) {
	g := rand.New(rand.NewPCG(8, 36))
	seen := map[string]int{}
	for trial := range 3000 {
		n := g.IntN(7)
		sign, bound := float64(1-2*g.IntN(2)), float64(g.IntN(5)-2)*1000
		var tail []float64
		for range n {
			tail = append(tail, bound+sign*math.Ceil(1000*math.Exp(2*g.NormFloat64())))
		}
		if n > 0 && g.IntN(4) == 0 {
			for i := range tail {
				tail[i] = tail[0]
			}
		}
		least, share := 2+g.IntN(4), 0.5+g.Float64()/2
		inside := []float64{bound, bound - sign, bound - sign*100}
		values := slices.Concat(tail, inside)
		g.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		m := &Topcode{Columns: []string{"a"}, Replace: "mean", Least: &least, Share: &share}
		side := "upper"
		if sign > 0 {
			m.Upper = &bound
		} else {
			m.Lower, side = &bound, "lower"
		}
		want := judged(tail, bound, least, share)
		err := refusalOf(t, m, floats(0, values...))
		seen[want+side]++
		switch want {
		case "":
			if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
		default:
			at := map[string]string{"least": "least: ", "share": "share: "}[want]
			if err == nil || !strings.HasPrefix(err.Error(), "masks[0].topcode."+at) ||
				!strings.Contains(err.Error(), "the "+side+" bound") || !strings.Contains(err.Error(), "replace: bound") {
				t.Fatalf("trial %d: %v, want %s", trial, err, want)
			}
		}
	}
	for _, what := range []string{"", "least", "share"} {
		for _, side := range []string{"upper", "lower"} {
			if seen[what+side] < 50 {
				t.Errorf("%q beyond the %s bound occurs in %d trials only", what, side, seen[what+side])
			}
		}
	}
}

// The defaults: three values, of which none has more than four fifths; a share of exactly that is
// allowed.
func TestMeansOfFewByDefault(t *testing.T) {
	above := func(replace string, tail ...float64) error {
		values := append([]float64{1, 2, 3, 4}, tail...)
		return refusalOf(t, &Topcode{Columns: []string{"a"}, Upper: ptr(4000.0), Replace: replace}, floats(2, values...))
	}
	for want, tails := range map[string][][]float64{
		"":      {nil, {5000, 5001, 5002}, {5000, 5000, 12000}, {6000, 7000, 8000, 90}},
		"least": {{987654.32}, {5000, 6000}, {6000, 5000}},
		"share": {{987654.32, 5000, 5001}, {5000, 987654.32, 5001}, {5000, 5001, 987654.32}, {5000, 5000, 12001}},
	} {
		for _, tail := range tails {
			err := above("mean", tail...)
			if got := ""; want != got && (err == nil || !strings.Contains(err.Error(), "topcode."+want+": ")) || want == "" &&
				err != nil {
				t.Errorf("%d values beyond, want %q: %v", len(tail), want, err)
			}
			if err := above("bound", tail...); err != nil {
				t.Errorf("the bound takes no mean: %v", err)
			}
		}
	}
}

// A percentile with one or two values beyond it lies between one of them and a value that is
// released, and so tells it: x = y + (b − y)/f, f the fraction of Hyndman and Fan's definition 7.
func TestPercentileOfFew(t *testing.T) {
	values := make([]float64, 60)
	for i := range values {
		values[i] = 1000 + float64(i*i)
	}
	for _, c := range []struct {
		upper, lower *float64
		refused      string
	}{
		{ptr(99.0), nil, "upper"}, {ptr(95.5), nil, ""}, {ptr(96.7), nil, "upper"}, {nil, ptr(1.0), "lower"},
		{nil, ptr(4.5), ""}, {ptr(95.0), ptr(1.0), "lower"}, {ptr(99.0), ptr(5.0), "upper"},
	} {
		for _, replace := range []string{"bound", "mean", "label"} {
			m := &Topcode{Columns: []string{"a"}, UpperPercentile: c.upper, LowerPercentile: c.lower, Replace: replace}
			if replace == "label" {
				if c.upper != nil {
					m.UpperLabel = ptr("more")
				}
				if c.lower != nil {
					m.LowerLabel = ptr("less")
				}
			}
			err := refusalOf(t, m, floats(2, values...))
			if refused := c.refused != "" && replace != "label"; (err != nil) != refused || refused &&
				!(strings.Contains(err.Error(), "topcode.least: ") && strings.Contains(err.Error(), "the "+c.refused+" ")) {
				t.Errorf("%s beyond %v, %v: %v", replace, c.upper, c.lower, err)
			}
		}
	}
}

// The mean at each end of a rank swap is of three records or more, and of no one above all.
func TestRankSwapEndsOfFew(t *testing.T) {
	values := func(change ...float64) testColumn {
		list := make([]float64, 40)
		for i := range list {
			list[i] = 1000 + float64(10*i)
		}
		copy(list[len(list)-len(change):], change)
		return floats(2, list...)
	}
	for what, c := range map[string]struct {
		of          testColumn
		bottom, top float64
		want        string
	}{
		"no ends":                   {values(), 0, 0, ""},
		"shares of less than one":   {values(), 0.01, 0.02, ""},
		"three at each end":         {values(), 0.08, 0.08, ""},
		"one at the top":            {values(), 0.1, 0.03, "least: must be at most the number of records of top"},
		"two at the bottom":         {values(), 0.05, 0.1, "least: must be at most the number of records of bottom"},
		"one above all, last":       {values(1_000_000), 0.1, 0.1, "share: is exceeded by the records of top"},
		"one below all":             {values(-1_000_000), 0.1, 0.1, "share: is exceeded by the records of bottom"},
		"near the others by amount": {values(1440), 0.1, 0.08, ""},
		"far by its distance":       {values(1900), 0.1, 0.08, "share: is exceeded by the records of top"},
		"all the same":              {values(2000, 2000, 2000, 2000), 0.1, 0.1, ""},
	} {
		err := refusalOf(t, &RankSwap{Columns: []string{"a"}, P: ptr(0.2), Bottom: ptr(c.bottom), Top: ptr(c.top)}, c.of)
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), "masks[0].rankswap."+c.want)) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	// A replicate may be of a sample, where the ends are fewer records; it is not released.
	column := values()
	c := chain(t, testSetup(t, column), mask(&RankSwap{Columns: []string{"a"}, P: ptr(0.2), Top: ptr(0.03)}))
	whole(t, c.Replicate(1), 40, column)
}

// A group with one record above all is refused, in the first and in the last column, of all records
// and of a stratum; small values beside zeros are not.
func TestGroupsThatOneRules(t *testing.T) {
	wages := func(at int, v float64) testColumn {
		list := make([]float64, 60)
		for i := range list {
			list[i] = 2000 + float64(i*i)
		}
		if at >= 0 {
			list[at] = v
		}
		return floats(2, list...)
	}
	gains := floats(2, make([]float64, 60)...)
	for i := range 10 {
		gains.Values[6*i] = float64(1100 + 100*i)
	}
	regions := floats(0, make([]float64, 60)...)
	for i := range regions.Values {
		regions.Values[i] = float64(i / 20)
	}
	rich := wages(-1, 0)
	for i := 40; i < 60; i++ {
		rich.Values[i] *= 1000
	}
	rich.Values[7] = 2_000_000 // above all of its region, and below others
	for what, c := range map[string]struct {
		columns []testColumn
		m       *Microaggregate
		refused bool
	}{
		"alike": {[]testColumn{wages(-1, 0)}, micro(3, "a"), false},
		"by column": {[]testColumn{wages(5, 9e6)},
			&Microaggregate{Columns: []string{"a"}, K: ptr(3), Method: "univariate"}, true},
		"the first record":    {[]testColumn{wages(0, 9e6)}, micro(5, "a"), true},
		"the last record":     {[]testColumn{wages(59, 9e6)}, micro(5, "a"), true},
		"below all":           {[]testColumn{wages(59, -9e6)}, micro(5, "a"), true},
		"in the last column":  {[]testColumn{wages(-1, 0), wages(9, 9e6)}, micro(3, "a", "b"), true},
		"in the first column": {[]testColumn{wages(9, 9e6), wages(-1, 0)}, micro(3, "a", "b"), true},
		"with a greater share": {[]testColumn{wages(5, 9e6)},
			&Microaggregate{Columns: []string{"a"}, K: ptr(3), Share: ptr(1.0)}, false},
		"the median": {[]testColumn{wages(5, 9e6)},
			&Microaggregate{Columns: []string{"a"}, K: ptr(4), Aggregate: "median"}, false},
		"many zeros": {[]testColumn{gains},
			&Microaggregate{Columns: []string{"a"}, K: ptr(3), Method: "univariate"}, false},
		"above all of a stratum": {[]testColumn{rich, regions},
			&Microaggregate{Columns: []string{"a"}, K: ptr(3), By: []string{"b"}}, true},
		"below others without one": {[]testColumn{rich, regions}, micro(3, "a"), false},
	} {
		err := refusalOf(t, c.m, c.columns...)
		if (err != nil) != c.refused || c.refused &&
			!strings.HasPrefix(err.Error(), "masks[0].microaggregate.share: is exceeded in column ") {
			t.Errorf("%s: %v, must be refused: %v", what, err, c.refused)
		}
	}
}
