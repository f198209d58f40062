package transform

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// The descriptions of masks of categories, ranks and groups: parameters in the report, the action,
// whether it acts on categories, and the text for each set of published parameters.
func TestWhatMasksSay(t *testing.T) {
	a := []string{"a"}
	for _, c := range []struct {
		name       string
		p          Params
		parameters string
		action     string
		categories bool
		words      map[string]string // by the published parameters, separated by commas
	}{
		{
			"a map", &Recode{Columns: a, Map: map[string]string{"x": "y"}, Level: ptr(2), Other: ptr("z")},
			`[{"Name":"map","Value":{"x":"y"}},{"Name":"level","Value":2},{"Name":"other","Value":"z"}]`,
			`Recoding{Breaks:[]float64(nil), Midpoints:false, From:[]string{"x"}, To:[]string{"y", "z"}, Other:given}`,
			true,
			map[string]string{"": "recoding: categories were joined to coarser ones",
				"map,level": "recoding: categories were joined to coarser ones"},
		},
		{
			"a file", &Recode{Columns: a, File: "f.csv", Table: map[string]string{"u": "v"}},
			`[{"Name":"map","Value":{"u":"v"}},{"Name":"file","Value":"f.csv"}]`,
			`Recoding{Breaks:[]float64(nil), Midpoints:false, From:[]string{"u"}, To:[]string{"v"}, Other:(*string)(nil)}`, true, nil,
		},
		{
			"labels", &Recode{Columns: a, Breaks: []float64{0, 2.5, 7}, Labels: []string{"low", "high"}},
			`[{"Name":"breaks","Value":[0,2.5,7]},{"Name":"labels","Value":["low","high"]}]`,
			"Recoding{Breaks:[]float64{0, 2.5, 7}, Midpoints:false}", false,
			map[string]string{
				"breaks": "recoding: a number was replaced by its interval; the bounds are 0, 2.5, 7",
				"labels": "recoding: categories were joined to coarser ones",
			},
		},
		{
			"midpoints", &Recode{Columns: a, Breaks: []float64{0, 2, 6}, Midpoints: true},
			`[{"Name":"breaks","Value":[0,2,6]},{"Name":"midpoints","Value":true}]`,
			"Recoding{Breaks:[]float64{0, 2, 6}, Midpoints:true}", false,
			map[string]string{
				"breaks":           "recoding: a number was replaced by its interval; the bounds are 0, 2, 6",
				"midpoints":        "recoding: categories were joined to coarser ones",
				"breaks,midpoints": "recoding: a number was replaced by the middle of its interval; the bounds are 0, 2, 6",
			},
		},
		{
			"months", &Date{Columns: a, Round: "month", Zone: "Asia/Tokyo"},
			`[{"Name":"round","Value":"month"},{"Name":"zone","Value":"Asia/Tokyo"}]`,
			"Recoding{Breaks:[]float64(nil), Midpoints:true}", true,
			map[string]string{"": "rounding: a date was replaced by the middle of its interval",
				"round": "rounding: a date was replaced by the middle of its month"},
		},
		{
			"ages", &Date{Columns: a, Age: ptr("2024-01-01"), Breaks: []float64{0, 18}, Unit: "days"},
			`[{"Name":"unit","Value":"days"},{"Name":"age","Value":"2024-01-01"},{"Name":"breaks","Value":[0,18]}]`,
			"Recoding{Breaks:[]float64(nil), Midpoints:false}", true,
			map[string]string{"": "age: a date was replaced by the age in completed years, or its class"},
		},
		{
			"oldest", &Date{Columns: a, Age: ptr("2024-01-01"), Top: ptr(80)},
			`[{"Name":"age","Value":"2024-01-01"},{"Name":"top","Value":80}]`,
			"Recoding{Breaks:[]float64(nil), Midpoints:false}", true, nil,
		},
		{
			"a shift", &Date{Columns: a, Shift: ptr(1), By: "b", Scope: "p", Unit: "seconds"},
			`[{"Name":"by","Value":"b"},{"Name":"scope","Value":"p"},{"Name":"unit","Value":"seconds"},{"Name":"shift","Value":1}]`,
			`Addition{SD:70545.30459215553, Distribution:"uniform", Tiers:[]ActionTier(nil), Correlated:true}`, false,
			map[string]string{
				"": "shift: all dates of a respondent were moved by the same number of days, so that intervals are those of the original", "shift": "shift: all dates of a respondent were moved by the same number of days, so that intervals are those of the original; by at most 1 days"},
		},
		{
			"pseudonyms", &Pseudonym{Columns: a, Scope: "person", Form: "like"},
			`[{"Name":"scope","Value":"person"},{"Name":"form","Value":"like"}]`, "Renaming{}", true,
			map[string]string{
				"":     "pseudonyms: pseudonymised, not anonymised; identifiers were replaced by keyed pseudonyms, equal ones by equal ones",
				"form": "pseudonyms: pseudonymised, not anonymised; identifiers were replaced by keyed pseudonyms, equal ones by equal ones, each in the shape of the original",
			},
		},
		{
			"keep", &PRAM{Columns: a, Keep: ptr(0.5), Categories: []string{"x", "y", "z"}, Other: ptr("x")},
			`[{"Name":"matrix","Value":{"x":{"x":0.5,"y":0.25,"z":0.25},"y":{"x":0.25,"y":0.5,"z":0.25},"z":{"x":0.25,"y":0.25,"z":0.5}}},{"Name":"keep","Value":0.5},{"Name":"categories","Value":["x","y","z"]},{"Name":"other","Value":"x"}]`,
			`Randomising{Categories:[]string{"x", "y", "z"}, Matrix:[][]float64{[]float64{0.5, 0.25, 0.25}, []float64{0.25, 0.5, 0.25}, []float64{0.25, 0.25, 0.5}}, Counted:false, By:[]string(nil), Other:given}`, true,
			map[string]string{
				"":       "post-randomisation (PRAM): each category was replaced by one drawn from the row of a transition matrix",
				"matrix": "post-randomisation (PRAM): each category was replaced by one drawn from the row of a transition matrix",
				"keep":   "post-randomisation (PRAM): each category was replaced by one drawn from the row of a transition matrix; it stayed with probability 0.5",
			},
		},
		{
			"invariant", &PRAM{Columns: a, Keep: ptr(0.5), Invariant: true, Frequencies: map[string]float64{"x": 1, "y": 1}},
			`[{"Name":"matrix","Value":{"x":{"x":0.5,"y":0.5},"y":{"x":0.5,"y":0.5}}},{"Name":"keep","Value":0.5},{"Name":"invariant","Value":true},{"Name":"frequencies","Value":{"x":1,"y":1}}]`,
			`Randomising{Categories:[]string{"x", "y"}, Matrix:[][]float64{[]float64{0.5, 0.5}, []float64{0.5, 0.5}}, Counted:false, By:[]string(nil), Other:(*string)(nil)}`, true,
			map[string]string{
				// The diagonal of an invariant matrix is not keep.
				"keep":           "post-randomisation (PRAM): each category was replaced by one drawn from the row of a transition matrix",
				"invariant,keep": "post-randomisation (PRAM): each category was replaced by one drawn from the row of a transition matrix; the matrix was made so that the expected frequencies are the original's",
			},
		},
		{
			"a matrix", &PRAM{Columns: a, Matrix: map[string]map[string]float64{"x": {"y": 1}, "y": {"x": 0.25, "y": 0.75}}},
			`[{"Name":"matrix","Value":{"x":{"x":0,"y":1},"y":{"x":0.25,"y":0.75}}}]`,
			`Randomising{Categories:[]string{"x", "y"}, Matrix:[][]float64{[]float64{0, 1}, []float64{0.25, 0.75}}, Counted:false, By:[]string(nil), Other:(*string)(nil)}`, true, nil,
		},
		{
			"what is refused", &PRAM{Columns: a, Keep: ptr(2.0), Categories: []string{"x", "y"}},
			`[{"Name":"keep","Value":2},{"Name":"categories","Value":["x","y"]}]`, "<nil>", true, nil,
		},
		{
			"bounds", &Topcode{Columns: a, Lower: ptr(1.0), Upper: ptr(9.0)},
			`[{"Name":"upper","Value":9},{"Name":"lower","Value":1},{"Name":"replace","Value":"bound"}]`,
			`Bounding{Lower:1, Upper:9, Mode:"clip"}`, false,
			map[string]string{
				"":                    "top and bottom coding: values beyond bounds that are not published were coded",
				"replace":             "top and bottom coding: values beyond bounds that are not published were moved to the bound",
				"lower":               "top and bottom coding: values below 1 were coded",
				"upper,replace":       "top and bottom coding: values above 9 were moved to the bound",
				"lower,upper,replace": "top and bottom coding: values below 1 or above 9 were moved to the bound",
			},
		},
		{
			"percentiles", &Topcode{Columns: a, UpperPercentile: ptr(95.0), LowerPercentile: ptr(5.0), Replace: "mean"},
			`[{"Name":"upper_percentile","Value":95},{"Name":"lower_percentile","Value":5},{"Name":"replace","Value":"mean"}]`,
			"Recoding{Breaks:[]float64(nil), Midpoints:false}", false,
			map[string]string{
				"upper_percentile":         "top and bottom coding: values above percentile 95 were coded",
				"lower_percentile,replace": "top and bottom coding: values below percentile 5 were replaced by their mean, so that the column's mean and sum are kept",
			},
		},
		{
			"labels beyond", &Topcode{Columns: a, Upper: ptr(80.0), Replace: "label", UpperLabel: ptr("80+")},
			`[{"Name":"upper","Value":80},{"Name":"replace","Value":"label"},{"Name":"upper_label","Value":"80+"}]`,
			"Recoding{Breaks:[]float64(nil), Midpoints:false}", false,
			map[string]string{"upper,replace": "top and bottom coding: values above 80 were replaced by a label"},
		},
		{
			"a label below", &Topcode{Columns: a, Lower: ptr(18.0), Replace: "label", LowerLabel: ptr("minor")},
			`[{"Name":"lower","Value":18},{"Name":"replace","Value":"label"},{"Name":"lower_label","Value":"minor"}]`,
			"Recoding{Breaks:[]float64(nil), Midpoints:false}", false, nil,
		},
		{
			"ranks", &RankSwap{Columns: a, P: ptr(0.05), Bottom: ptr(0.02), Top: ptr(0.03)},
			`[{"Name":"p","Value":0.05},{"Name":"bottom","Value":0.02},{"Name":"top","Value":0.03}]`,
			"RankExchange{P:0.05, Correlation:0, Bottom:0.02, Top:0.03}", false,
			map[string]string{
				"":             "rank swapping: values were exchanged between records with values of similar rank",
				"p":            "rank swapping: values were exchanged between records with values of similar rank, at most 5 % of the records apart",
				"bottom":       "rank swapping: values were exchanged between records with values of similar rank; the lowest 2 % of values became their mean",
				"p,bottom,top": "rank swapping: values were exchanged between records with values of similar rank, at most 5 % of the records apart; the lowest 2 % of values became their mean; the highest 3 % of values became their mean",
			},
		},
		{
			"no ends", &RankSwap{Columns: a, P: ptr(0.05), Bottom: ptr(0.0), Top: ptr(0.0)},
			`[{"Name":"p","Value":0.05},{"Name":"bottom","Value":0},{"Name":"top","Value":0}]`,
			"RankExchange{P:0.05, Correlation:0, Bottom:0, Top:0}", false,
			map[string]string{"bottom,top": "rank swapping: values were exchanged between records with values of similar rank"},
		},
		{
			"groups", &Microaggregate{Columns: a, K: ptr(3)},
			`[{"Name":"k","Value":3},{"Name":"method","Value":"mdav"},{"Name":"aggregate","Value":"mean"}]`,
			`Aggregation{K:3, Aggregate:"mean"}`, false,
			map[string]string{
				"":                   "microaggregation: values were replaced by one value of a group of records with similar values",
				"k":                  "microaggregation: values were replaced by one value of a group of records with similar values, of at least k = 3 records each",
				"k,aggregate,method": "microaggregation: values were replaced by the mean of a group of records with similar values, of at least k = 3 records each; records were grouped by all columns of the mask together (MDAV)",
			},
		},
		{
			"groups in strata",
			&Microaggregate{Columns: a, K: ptr(4), Method: "univariate", Aggregate: "median", By: []string{"r", "s"}},
			`[{"Name":"k","Value":4},{"Name":"method","Value":"univariate"},{"Name":"aggregate","Value":"median"},{"Name":"by","Value":["r","s"]}]`,
			`Aggregation{K:4, Aggregate:"median"}`, false,
			map[string]string{
				"method,aggregate": "microaggregation: values were replaced by the median of a group of records with similar values; each column was grouped by itself, in the order of its values",
				"by":               "microaggregation: values were replaced by one value of a group of records with similar values; groups agree in r, s",
			},
		},
	} {
		text, err := json.Marshal(ParametersOf(c.p))
		if err != nil || string(text) != c.parameters {
			t.Errorf("%s: parameters %s (%v), want %s", c.name, text, err, c.parameters)
		}
		if got := sayAction(ActionOf(c.p, "a", 20)); got != c.action {
			t.Errorf("%s: action %s, want %s", c.name, got, c.action)
		}
		if OnCategories(c.p) != c.categories || Computes(c.p) == c.categories {
			t.Errorf("%s: on categories %v, computes %v", c.name, OnCategories(c.p), Computes(c.p))
		}
		kind := Spec{Params: c.p}.Kind()
		for names, want := range c.words {
			if got := PublishingKind(kind).Words(published(c.p, 20, splitNames(names)...), "a"); got != want {
				t.Errorf("%s, published %q: %q, want %q", c.name, names, got, want)
			}
		}
		if ps := c.p.Check(); len(ps) > 0 && c.name != "what is refused" {
			t.Errorf("%s: %v", c.name, ps)
		}
	}
}

func splitNames(list string) (names []string) {
	for from, i := 0, 0; i <= len(list); i++ {
		if i == len(list) || list[i] == ',' {
			if i > from {
				names = append(names, list[from:i])
			}
			from = i + 1
		}
	}
	return names
}

// Conclusions from the published parameters of such masks, and unknown ones.
func TestWhatIsKnownOfMasks(t *testing.T) {
	for _, c := range []struct {
		p     Params
		named string
		want  string
	}{
		{&Topcode{Upper: ptr(9.0)}, "upper,replace", `Bounding{Lower:NaN, Upper:9, Mode:"clip"}`},
		{&Topcode{Upper: ptr(9.0)}, "upper,lower,replace", `Bounding{Lower:-Inf, Upper:9, Mode:"clip"}`},
		{&Topcode{Lower: ptr(1.0)}, "upper,lower,replace", `Bounding{Lower:1, Upper:+Inf, Mode:"clip"}`},
		{&Topcode{Upper: ptr(9.0)}, "upper", `Recoding{Breaks:[]float64(nil), Midpoints:false}`},
		{&Topcode{Upper: ptr(9.0), LowerPercentile: ptr(2.0)}, "upper,lower,replace",
			`Recoding{Breaks:[]float64(nil), Midpoints:false}`},
		{&Topcode{UpperPercentile: ptr(98.0)}, "upper,lower,replace,upper_percentile",
			`Recoding{Breaks:[]float64(nil), Midpoints:false}`},
		{&Topcode{Upper: ptr(9.0), Replace: "mean"}, "upper,lower,replace",
			`Recoding{Breaks:[]float64(nil), Midpoints:false}`},
		{&Recode{Breaks: []float64{1, 2}, Midpoints: true}, "midpoints",
			`Recoding{Breaks:[]float64(nil), Midpoints:true}`},
		{&Recode{Breaks: []float64{1, 2}, Midpoints: true}, "breaks",
			`Recoding{Breaks:[]float64{1, 2}, Midpoints:false}`},
		{&PRAM{Keep: ptr(0.75), Categories: []string{"x", "y"}}, "keep",
			`Randomising{Categories:[]string(nil), Matrix:[][]float64(nil), Counted:false, By:[]string(nil), Other:(*string)(nil)}`},
		{&PRAM{Columns: []string{"a"}, Keep: ptr(0.75), Categories: []string{"x", "y"}}, "matrix",
			`Randomising{Categories:[]string{"x", "y"}, Matrix:[][]float64{[]float64{0.75, 0.25}, []float64{0.25, 0.75}}, Counted:false, By:[]string(nil), Other:(*string)(nil)}`},
		{&RankSwap{P: ptr(0.1)}, "p", `RankExchange{P:0.1, Correlation:0, Bottom:NaN, Top:NaN}`},
		{&RankSwap{P: ptr(0.1)}, "bottom,top", `RankExchange{P:NaN, Correlation:0, Bottom:0, Top:0}`},
		{&RankSwap{P: ptr(0.1), Top: ptr(0.2)}, "p,bottom,top",
			`RankExchange{P:0.1, Correlation:0, Bottom:0, Top:0.2}`},
		{&RankSwap{P: ptr(0.1), Top: ptr(0.2)}, "p,bottom",
			`RankExchange{P:0.1, Correlation:0, Bottom:0, Top:NaN}`},
		{&RankSwap{MinCorrelation: ptr(0.9)}, "p,min_correlation,bottom,top",
			`RankExchange{P:1, Correlation:0.9, Bottom:0, Top:0}`},
		{&RankSwap{P: ptr(0.1), MinCorrelation: ptr(0.9)}, "p,bottom,top",
			`RankExchange{P:0.1, Correlation:0, Bottom:0, Top:0}`},
		{&Microaggregate{K: ptr(3)}, "aggregate", `Aggregation{K:NaN, Aggregate:"mean"}`},
		{&Microaggregate{K: ptr(3)}, "k", `Aggregation{K:3, Aggregate:""}`},
	} {
		if got := sayAction(
			PublishingKind(Spec{Params: c.p}.Kind()).PublishedAction(published(c.p, 20, splitNames(c.named)...),
				"a")); got != c.want {
			t.Errorf("%T, published %s: %s, want %s", c.p, c.named, got, c.want)
		}
	}
}

// A relative amount is a share of the column's standard deviation.
func TestAmountsOfActions(t *testing.T) {
	for _, sd := range []float64{0.5, 1, 20} {
		if a := ActionOf(&Noise{SD: percent(25)}, "a", sd).(Addition); a.SD != 0.25*sd {
			t.Errorf("25 %% of %v: %v", sd, a.SD)
		}
		if a := ActionOf(&Noise{SD: amount(3)}, "a", sd).(Addition); a.SD != 3 {
			t.Errorf("3 where the SD is %v: %v", sd, a.SD)
		}
	}
	for level, refused := range map[int]bool{0: true, 1: false, 100: false, 101: true} {
		m := &Recode{Columns: []string{"a"}, Map: map[string]string{"x": "y"}, Level: &level}
		if ps := m.Check(); (len(ps) > 0) != refused || refused && ps[0].Path != "level" {
			t.Errorf("level %d: %v", level, ps)
		}
	}
}

// The efficiency of such masks is published only if everything that it reveals is published.
func TestEfficiencyOfCategories(t *testing.T) {
	for _, c := range []struct {
		kind, has, named string
		want             bool
	}{
		{"recode", "breaks", "", false}, {"recode", "breaks", "breaks", true},
		{"recode", "breaks,midpoints", "midpoints", false},
		{"recode", "map", "", false}, {"recode", "map", "map", true}, {"recode", "map", "breaks", false},
		{"recode", "map,breaks", "map", false}, {"recode", "map,breaks", "breaks", false},
		{"recode", "map,breaks", "map,breaks", true},
		{"pram", "matrix,keep", "keep", false}, {"pram", "matrix,keep", "matrix", true},
		{"topcode", "upper,replace", "upper", false}, {"topcode", "upper,replace", "replace", false},
		{"topcode", "upper,replace", "upper,replace", true},
		{"topcode", "lower,replace", "replace", false}, {"topcode", "upper_percentile,replace", "replace", false},
		{"topcode", "lower_percentile,replace", "replace", false},
		{"topcode", "upper,lower_percentile,replace", "upper,replace", false},
		{"topcode", "upper,lower_percentile,replace", "upper,replace,lower_percentile", true},
	} {
		in := func(list string) func(string) bool {
			return func(name string) bool { return slices.Contains(splitNames(list), name) }
		}
		if got := PublishingKind(c.kind).EfficiencyFollows(in(c.has), in(c.named)); got != c.want {
			t.Errorf("%s with %s, named %s: %v", c.kind, c.has, c.named, got)
		}
	}
}

// A mask restricted to one of its columns differs only in its columns, and the original mask does
// not change.
func TestMasksOnOneColumn(t *testing.T) {
	for kind, p := range filled {
		onColumn := p.Describe().OnColumn
		if onColumn == nil {
			continue
		}
		for _, column := range []string{"a", "b"} {
			before := fmt.Sprintf("%+v %+v", p.Masks(), ParametersOf(p))
			one := onColumn(column)
			if !slices.Equal(one.Masks(), []string{column}) {
				t.Errorf("%s on %s is on %v", kind, column, one.Masks())
			}
			// The exchange of several columns has one draw.
			if got, want := fmt.Sprintf("%+v", ParametersOf(one)), fmt.Sprintf("%+v", ParametersOf(p)); got != want {
				t.Errorf("%s on %s: %s, want %s", kind, column, got, want)
			}
			if after := fmt.Sprintf("%+v %+v", p.Masks(), ParametersOf(p)); after != before {
				t.Errorf("%s: %s, was %s", kind, after, before)
			}
			if reflect.ValueOf(one).Pointer() == reflect.ValueOf(p).Pointer() {
				t.Errorf("%s on %s is the mask itself", kind, column)
			}
		}
	}
}

// Which masks change the type of a column, and which mask in a list changes it first.
func TestTypesOfReleasedColumns(t *testing.T) {
	number, text := arrow.DataType(arrow.PrimitiveTypes.Int32), arrow.DataType(arrow.BinaryTypes.String)
	label := Spec{Params: &Topcode{Columns: []string{"b", "a"}, Upper: ptr(5.0), Replace: "label", UpperLabel: ptr("+")}}
	bound := Spec{Params: &Topcode{Columns: []string{"a"}, Upper: ptr(5.0)}}
	mean := Spec{Params: &Topcode{Columns: []string{"a"}, Upper: ptr(5.0), Replace: "mean"}}
	words := Spec{Params: &Recode{Columns: []string{"a"}, Map: map[string]string{"1": "x"}}}
	numbers := Spec{Params: &Recode{Columns: []string{"a"}, Map: map[string]string{"1": "2"}, Other: ptr("0")}}
	other := Spec{Params: &Recode{Columns: []string{"c"}, Map: map[string]string{"1": "x"}}}
	round := Spec{Params: &Round{Columns: []string{"a"}, Base: ptr(5.0)}}
	for name, c := range map[string]struct {
		masks []Spec
		want  arrow.DataType
		by    int
	}{
		"none":             {nil, number, -1},
		"bounds and means": {[]Spec{bound, mean, round, numbers}, number, -1},
		"labels":           {[]Spec{round, label}, text, 1},
		"words":            {[]Spec{words}, text, 0},
		"the first":        {[]Spec{bound, words, label, words}, text, 1},
		"the first of two": {[]Spec{words, label}, text, 0},
		"another column":   {[]Spec{other}, number, -1},
		"behind another":   {[]Spec{other, label}, text, 1},
	} {
		after, by := FieldAfter(c.masks, microdata.Field{Name: "a", Type: number, Nullable: true})
		if !arrow.TypeEqual(after.Type, c.want) || by != c.by || after.Name != "a" || !after.Nullable {
			t.Errorf("%s: %v by %d, want %v by %d", name, after, by, c.want, c.by)
		}
	}
}

// A map varies the first mask of the lowest rank, between useful bounds.
func TestAxesOfMaps(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want Axis
	}{
		{&PRAM{Keep: ptr(0.8)}, Axis{Rank: 3, Field: "keep", From: Amount{Value: 0.5}, To: Amount{Value: 0.95}}},
		{&PRAM{Matrix: map[string]map[string]float64{}}, Axis{}},
		{&Synthesise{Method: "cart"}, Axis{Rank: 4, Field: "leaf", From: Amount{Value: 5}, To: Amount{Value: 50}}},
		{&Synthesise{Method: "normal"}, Axis{}},
		{&Synthesise{}, Axis{}},
		{&RankSwap{}, Axis{Rank: 4, Field: "p", From: Amount{Value: 0.01}, To: Amount{Value: 0.3}}},
		{&Swap{}, Axis{Rank: 2, Field: "rate", From: Amount{Value: 0.05}, To: Amount{Value: 1}}},
		{&Microaggregate{}, Axis{Rank: 3, Field: "k", From: Amount{Value: 3}, To: Amount{Value: 30}}},
		{&Microaggregate{Least: ptr(20)}, Axis{Rank: 3, Field: "k", From: Amount{Value: 20}, To: Amount{Value: 40}}},
	} {
		if got, ok := MapAxis(c.p); got != c.want || ok != (c.want.Field != "") {
			t.Errorf("%T: %+v, %v", c.p, got, ok)
		}
	}
	for _, p := range []Params{&Recode{}, &Topcode{}, &Truncate{}} {
		if axis, ok := MapAxis(p); ok {
			t.Errorf("%T: %+v", p, axis)
		}
	}
	for want, of := range map[Scope][]Params{
		ScopeRecord:  {&Recode{}, &Topcode{}, &PRAM{}, &Noise{}, &Bias{}, &Round{}, &Truncate{}},
		ScopeWindow:  {&Swap{}, &Swap{Scope: "window"}},
		ScopeDataset: {&Swap{Scope: "dataset"}, &RankSwap{}, &Microaggregate{}},
	} {
		for _, p := range of {
			if got := ScopeOf(p); got != want {
				t.Errorf("%T: scope %v, want %v", p, got, want)
			}
		}
	}
}

// sayAction writes an action as Go does, a pointer by whether it is given, and a recoding of no
// categories without them.
func sayAction(a Action) string {
	text := regexp.MustCompile(`\(\*string\)\(0x[0-9a-f]+\)`).ReplaceAllString(fmt.Sprintf("%#v", a), "given")
	text = regexp.MustCompile(`\b[a-z]+\.([A-Z])`).ReplaceAllString(text, "$1") // in whichever package it is
	if _, ok := a.(Recoding); ok {
		text = strings.Replace(text, ", From:[]string(nil), To:[]string(nil), Other:(*string)(nil)", "", 1)
	}
	return text
}
