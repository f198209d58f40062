package transform

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// The properties that each kind of mask declares, with all its parameters. The program relies on
// them: whether a source is read twice, what is refused in shards, which columns are read, and
// whether records may go to quarantine.
func TestWhatMasksDeclare(t *testing.T) {
	in := func(list ...string) map[string]bool {
		m := map[string]bool{}
		for _, kind := range list {
			m[kind] = true
		}
		return m
	}
	all := in("rankswap", "synthesise", "shuffle", "microaggregate", "suppress", "calibrate") // see all records at once
	for what, c := range map[string]struct {
		property func(p Params) bool
		of       map[string]bool
	}{
		"computes with all": {func(p Params) bool { return core.AnyComputesWithAll([]Spec{mask(p)}) }, all},
		"not in parts": {func(p Params) bool {
			return !InParts(p)
		}, in("rankswap", "synthesise", "shuffle", "microaggregate", "suppress", "calibrate", "recordswap")},
		"depends on the number": {func(p Params) bool {
			return AnyDependsOnNumber([]Spec{mask(p)})
		}, in("microaggregate", "suppress", "calibrate", "recordswap")},
		// recode with intervals
		"on categories": {OnCategories, in("sample", "pram", "suppress", "pseudonym", "date", "recordswap")},
		"renames":       {func(p Params) bool { return Renames([]Spec{mask(p)}, "a") }, in("pseudonym")},
		"only moves":    {func(p Params) bool { return p.Describe().MovesOnly }, in("swap", "recordswap")},
		"leaves out":    {LeavesOut, in("sample")},
		"synthetic":     {func(p Params) bool { return IsSynthetic([]Spec{mask(p)}, "a") }, in("synthesise")},
		"correlates":    {func(p Params) bool { return NeedsCorrelations(p) != nil }, in()},
		"counts first":  {func(p Params) bool { return NeedsFrequencies(p) != "" }, in()}, // pram with given values
		// topcode with a given bound
		"all values": {func(p Params) bool { return NeedsValues(p) != "" }, in()},
		"reads numbers": {func(p Params) bool {
			_, list := NumbersReadBy(p)
			return list != nil
		}, in("synthesise", "shuffle")},
		"says an alternative": {func(p Params) bool {
			return InsteadOf(p) != InsteadOf(unnamed{})
		}, in("donut", "rankswap", "synthesise", "shuffle", "microaggregate", "suppress", "swap", "calibrate", "recordswap")},
	} {
		for _, k := range Kinds() {
			if got := c.property(filled[k.Name]); got != c.of[k.Name] {
				t.Errorf("%s: %s is %v", k.Name, what, got)
			}
		}
	}
	for kind, want := range map[string][]string{"synthesise": {"k"}, "shuffle": {"k", "l"}} {
		if field, list := NumbersReadBy(filled[kind]); field != "on" || !slices.Equal(list, want) {
			t.Errorf("%s reads %v of %q", kind, list, field)
		}
	}
	for _, p := range []Params{&Topcode{UpperPercentile: ptr(90.0)}, &Topcode{LowerPercentile: ptr(9.0)},
		&Topcode{Upper: ptr(9.0), Replace: "mean"}} {
		if NeedsValues(p) == "" {
			t.Errorf("%+v needs no values", p)
		}
	}
	// The masks that may send records to quarantine.
	for _, c := range []struct {
		p    Params
		want bool
	}{
		{&Sample{Rate: ptr(0.5)}, false}, {&Sample{By: "s", Rates: map[string]float64{"x": 1}}, true},
		{&Sample{Rate: ptr(0.5), By: "s", Rates: map[string]float64{"x": 1}}, false},
		{&Pseudonym{}, true}, {&Date{}, true}, {&Donut{}, true},
		{&Recode{}, true}, {&Recode{Other: ptr("x")}, false},
		{&PRAM{}, true}, {&PRAM{Other: ptr("x")}, false}, {&PRAM{Other: ptr("x"), Invariant: true}, true},
		{&PRAM{Other: ptr("x"), Invariant: true, Frequencies: map[string]float64{}}, false},
	} {
		if got := c.p.Describe().Rejects; got != c.want {
			t.Errorf("%+v rejects: %v", c.p, got)
		}
	}
	// Strata are categories; without strata no column is read.
	if p := (&Sample{Rate: ptr(0.5)}); OnCategories(p) || ReadColumnsOf(p) != nil {
		t.Error("a sample of all records looks at categories")
	}
}

// Only the first mask can be a sample, and its label names its draws.
func TestSampleOfMasks(t *testing.T) {
	sample, noise := &Sample{Rate: ptr(0.5)}, &Noise{Columns: []string{"a"}, SD: amount(1)}
	for what, c := range map[string]struct {
		masks []Spec
		want  string
	}{
		"none":        {nil, ""},
		"no sample":   {[]Spec{mask(noise)}, ""},
		"unnamed":     {[]Spec{mask(sample), mask(noise)}, "sample#1"},
		"named":       {[]Spec{{Name: "half", Params: sample}}, "half"},
		"not decoded": {[]Spec{{}}, ""},
	} {
		got := SampleOf(c.masks)
		if got == nil != (c.want == "") || got != nil && (got.Name != c.want || got.Params != Params(sample)) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// The correlation of two columns is known in either order. A number that is not a correlation
// counts as unknown.
func TestCorrelationsOfColumns(t *testing.T) {
	known := Correlations{{"a", "b"}: 0.6, {"a", "c"}: math.NaN(), {"b", "c"}: -1}
	for _, c := range []struct {
		a, b  string
		want  float64
		known bool
	}{{"a", "b", 0.6, true}, {"b", "a", 0.6, true}, {"c", "b", -1, true}, {"a", "c", 0, false}, {"c", "a", 0, false},
		{"a", "d", 0, false}} {
		if r, ok := known.Of(c.a, c.b); ok != c.known || ok && r != c.want {
			t.Errorf("%s and %s: %v, %v", c.a, c.b, r, ok)
		}
	}
	// For two columns, √(1 − r²) of the noise remains for an intruder who knows the other column,
	// whichever of them is asked for. All of it remains next to a column with no correlation or an
	// unknown one.
	for _, c := range []struct {
		columns []string
		column  string
		want    float64
	}{
		{[]string{"a", "b"}, "a", 0.8}, {[]string{"a", "b"}, "b", 0.8}, {[]string{"a", "c"}, "c", 1},
		{[]string{"a", "c"}, "a", 1},
		{[]string{"b", "c"}, "b", 0}, {[]string{"b", "c"}, "c", 0}, {[]string{"a", "d"}, "a", 1}, {[]string{"a"}, "a", 1},
	} {
		columns := slices.Clone(c.columns)
		if got := NoiseLeft(known, columns, c.column); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v, column %s: NoiseLeft is %v, want %v", c.columns, c.column, got, c.want)
		}
		if !slices.Equal(columns, c.columns) {
			t.Errorf("the columns became %v", columns)
		}
	}
	// Three columns with correlations of ½ each: R² of one on the other two is ⅓.
	three := Correlations{{"a", "b"}: 0.5, {"a", "c"}: 0.5, {"b", "c"}: 0.5}
	for _, column := range []string{"a", "b", "c"} {
		if got := NoiseLeft(three, []string{"a", "b", "c"}, column); math.Abs(got-math.Sqrt(2.0/3)) > 1e-12 {
			t.Errorf("column %s: NoiseLeft is %v", column, got)
		}
	}
}

// The type with which a column is released, and whether cells of it may be missing.
func TestFieldsOfCategories(t *testing.T) {
	text, number := arrow.DataType(arrow.BinaryTypes.String), arrow.DataType(arrow.PrimitiveTypes.Int32)
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	for what, c := range map[string]struct {
		p        Params
		of, want arrow.DataType
		retyped  bool
		nullable bool
	}{
		"suppressed": {&Suppress{Keys: []string{"a"}}, number, number, false, true},
		"drawn as words": {&PRAM{Columns: []string{"a"}, Categories: []string{"x", "y"}, Keep: ptr(0.5)}, number, text,
			true, false},
		"drawn as numbers": {&PRAM{Columns: []string{"a"}, Categories: []string{"1", "2"}, Keep: ptr(0.5)}, number, number,
			false, false},
		"a word stays": {&PRAM{Columns: []string{"a"}, Categories: []string{"1", "2"}, Keep: ptr(0.5)}, text, text,
			false, false},
		"synthetic numbers":   {&Synthesise{Columns: []string{"a"}}, number, number, false, false},
		"numbers that are no": {&Synthesise{Columns: []string{"a"}, Categories: []string{"a"}}, number, number, false, false},
		"synthetic words":     {&Synthesise{Columns: []string{"a"}, Categories: []string{"a"}}, text, text, false, false},
		"of a dictionary":     {&Synthesise{Columns: []string{"a"}, Categories: []string{"a"}}, words, text, true, false},
		"of no category":      {&Synthesise{Columns: []string{"a"}}, words, words, false, false},
	} {
		after, by := FieldAfter([]Spec{mask(c.p)}, microdata.Field{Name: "a", Type: c.of})
		if !arrow.TypeEqual(after.Type, c.want) || by != map[bool]int{false: -1, true: 0}[c.retyped] ||
			after.Nullable != c.nullable {
			t.Errorf("%s: %v, nullable %v, by %d", what, after.Type, after.Nullable, by)
		}
		if CanBeCategory(microdata.Field{Type: c.of}) != (c.of != number) {
			t.Errorf("%v can be a category of words", c.of)
		}
	}
}

// The text for data users for each kind, depending on the published parameters.
func TestWordsOfMasks(t *testing.T) {
	a := []string{"a", "b"}
	const sampling = "sampling: each record was drawn by itself, with "
	strata := &Sample{Rate: ptr(0.5), By: "s", Rates: map[string]float64{"x": 0.25, "y": 1}}
	const noise, linked = "noise: draws of mean 0 and standard deviation λ = 5 were added",
		"; the noise of the mask's columns is correlated as their values are"
	const synthesis = "synthesis: all values were drawn from models of the data"
	const moved = "record swapping: the areas of some records were exchanged, first of those whose keys are rare in their area; each area has as many as before"
	const calibration = "calibration: the weights were multiplied by factors so that weighted totals of released columns are given ones"
	const suppressed = "local suppression: cells of the keys were set missing where the combination of a record was rare, in that record or in others"
	for _, c := range []struct {
		p           Params
		named, want string
	}{
		{&Sample{Rate: ptr(0.5)}, "", sampling + "a probability that is not published"},
		{&Sample{Rate: ptr(0.5)}, "rates", sampling + "a probability that is not published"},
		{&Sample{Rate: ptr(0.5)}, "rate", sampling + "probability 0.5"},
		{strata, "", sampling + "probabilities that are not published and differ between strata"},
		{strata, "rate", sampling + "probability 0.5 outside of strata whose probabilities are not published"},
		{
			strata, "rates",
			sampling +
				"a probability by a stratum that is not published: x 0.25, y 1, and for others one that is not published"},
		{strata, "rate,rates,by", sampling + "a probability by s: x 0.25, y 1, all others 0.5"},
		{&Sample{By: "s", Rates: map[string]float64{"x": 0.25}}, "rates",
			sampling + "a probability by a stratum that is not published: x 0.25"},
		{&Noise{Columns: a, SD: percent(25), Correlated: true}, "",
			"noise: an amount of mean 0 was added, whose standard deviation λ is not published" + linked},
		{&Noise{Columns: a, SD: percent(25), Correlated: true}, "sd", noise + linked},
		{&Noise{Columns: a, SD: percent(25)}, "sd", noise},
		{&Bias{Columns: a, Phi: ptr(0.25)}, "",
			"bias: multiplied by a random factor of mean 1, whose standard deviation φ is not published"},
		{&Bias{Columns: a, Phi: ptr(0.25)}, "phi", "bias: multiplied by θ ~ N(1, φ²) with φ = 0.25"},
		{&Truncate{Columns: a, Lower: ptr(1.0)}, "mode",
			"truncation: values outside of bounds that are not published were moved to the bound"},
		{&Truncate{Columns: a, Lower: ptr(1.0), Upper: ptr(2.0)}, "mode,lower,upper",
			"truncation: values below 1 or above 2 were moved to the bound"},
		{&Truncate{Columns: a, Lower: ptr(1.0), Mode: "redraw"}, "mode,lower",
			"truncation: the noise was drawn so that no value lies below 1"},
		{&Truncate{Columns: a, Upper: ptr(1.0)}, "upper", "truncation: no value lies above 1"},
		{&PRAM{Columns: a, Keep: ptr(0.5), Invariant: true, By: []string{"s", "u"}}, "invariant,by",
			"post-randomisation (PRAM): each category was replaced by one drawn from the row of a transition matrix; the matrix was made so that the expected frequencies are the original's, in each stratum by s, u"},
		{&Shuffle{Columns: a}, "on",
			"shuffling: the values of the mask's columns were given to other records, in the order of draws from a model"},
		{&Shuffle{Columns: a, On: []string{"k", "l"}}, "on",
			"shuffling: the values of the mask's columns were given to other records, in the order of draws from a model that goes by k, l"},
		{&Suppress{Keys: a, K: ptr(3)}, "", suppressed},
		{&Suppress{Keys: a, K: ptr(3)}, "keys,missing", suppressed + "; the keys are a, b"},
		{&Suppress{Keys: a, K: ptr(3)}, "k,missing",
			suppressed +
				"; for whoever knows the keys of a respondent at least 3 records can be the respondent's, counting those that lack no cell, or the same as the respondent's own"},
		{&Suppress{Keys: a, K: ptr(3), Missing: "any"}, "k,missing",
			suppressed +
				"; for whoever knows the keys of a respondent at least 3 records can be the respondent's, counting those whose missing cells may be the same"},
		{&Suppress{Keys: a, K: ptr(3), Missing: "any"}, "k",
			suppressed + "; for whoever knows the keys of a respondent at least 3 records can be the respondent's"},
		{filled["recordswap"], "", moved},
		{filled["recordswap"], "hierarchy,risk,k,rate,similar",
			moved +
				"; the areas are a, b; the keys are k, l; rare are keys that fewer than 4 records of an area have; a share of 0.1 of each area was exchanged, or more where more were rare"},
		{inHouseholds(&RecordSwap{Hierarchy: a, Risk: a, Rate: ptr(0.1)}), "k",
			"record swapping: the areas of some households, with all their members, were exchanged, first of those whose keys are rare in their area; each area has as many as before; rare are keys that fewer than 3 households of an area have"},
		{filled["calibrate"], "", calibration},
		{filled["calibrate"], "by,on,margins,totals,lower,upper",
			calibration + ", those of k, l, m, n; each factor lies between 0.3 and 3"},
		{filled["calibrate"], "upper", calibration + "; each factor is less than 3"},
		{filled["calibrate"], "on,lower", calibration + ", those of l; each factor is greater than 0.3"},
		{&Synthesise{Columns: a}, "", synthesis},
		{&Synthesise{Columns: a}, "method", synthesis + ", linear regressions with residuals like those of the data"},
		{&Synthesise{Columns: a, Categories: []string{"b"}}, "method,categories",
			synthesis +
				", linear regressions with residuals like those of the data; b as categories, by logistic regression where they were drawn"},
		{&Synthesise{Columns: a, Method: "normal", Categories: []string{"b"}}, "method,categories",
			synthesis +
				", linear regressions with normal residuals around a mean that was drawn as well; b as categories, by logistic regression where they were drawn"},
		{&Synthesise{Columns: a, Method: "cart", Leaf: ptr(9)}, "method,leaf",
			synthesis + ", the leaves of trees, numbers with noise beside them, of at least 9 records a leaf"},
		{&Synthesise{Columns: a, On: []string{"k"}, By: []string{"l", "m"}}, "on,by,copy",
			synthesis + ", given k, a model for each value of l, m; this is copy 1"},
		{&Synthesise{Columns: a, Copies: ptr(5), HeldOut: ptr(0.125)}, "copies,copy,held_out",
			synthesis + "; models were fitted without 12.5 % of the records; in 5 copies, each with draws of its own"},
	} {
		if got := PublishingKind(Spec{Params: c.p}.Kind()).Words(published(c.p, 20, splitNames(c.named)...), "a"); got !=
			c.want {
			t.Errorf("%T, published %q:\n%s, want\n%s", c.p, c.named, got, c.want)
		}
	}
}

// The efficiency of suppressed cells may not be published. The efficiency of values that stay or
// are drawn from a model reveals nothing about the mask.
func TestEfficiencyOfMasksOfAllRecords(t *testing.T) {
	every := func(string) bool { return true }
	none := func(string) bool { return false }
	for kind, want := range map[string]bool{"suppress": false, "sample": true, "synthesise": true, "shuffle": true} {
		for _, has := range []func(string) bool{every, none} {
			for _, named := range []func(string) bool{every, none} {
				if got := PublishingKind(kind).EfficiencyFollows(has, named); got != want {
					t.Errorf("%s: follows: %v", kind, got)
				}
			}
		}
	}
}

// Parameters and actions that the other tests of this kind do not cover.
func TestParametersOfMasks(t *testing.T) {
	a := []string{"a", "b"}
	for _, c := range []struct {
		p    Params
		want string
	}{
		{&Noise{Columns: a, SD: amount(3), Correlated: true}, "[{sd 3} {distribution normal} {correlated true}]"},
		{&Noise{Columns: a, SD: percent(30)}, "[{sd 30%} {distribution normal}]"},
		{&Bias{Columns: a, Phi: ptr(0.25)}, "[{phi 0.25}]"},
		{&Bias{Columns: a}, "[]"},
		{&Shuffle{Columns: a}, "[]"},
		{&Synthesise{Columns: a, Copies: ptr(3)}, "[{method parametric} {copies 3}]"},
		{&Synthesise{Columns: a, Copies: ptr(1)}, "[{method parametric} {copy 1}]"},
		{&Suppress{Keys: a}, "[{keys [a b]} {missing none}]"},
	} {
		if got := fmt.Sprint(ParametersOf(c.p)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.p, got, c.want)
		}
	}
	if got := ActionOf(&Round{Base: ptr(5.0)}, "a", 1); got != Action(Rounding{Step: 5}) {
		t.Errorf("to multiples of 5: %+v", got)
	}
	for _, tiers := range [][]Tier{{{Above: ptr(3.0)}}, {{VarianceFactor: ptr(3.0)}}, {{Above: ptr(1.0),
		VarianceFactor: ptr(1.0)}, {}}} {
		if got := ActionOf(&Noise{Columns: a, SD: amount(1), Tiers: tiers}, "a", 1); got != nil {
			t.Errorf("with half a tier: %+v", got)
		}
	}
	if axis, ok := MapAxis(&RankSwap{MinCorrelation: ptr(0.9)}); !ok ||
		axis != (Axis{Rank: 4, Field: "min_correlation", From: Amount{Value: 0.8}, To: Amount{Value: 0.99}}) {
		t.Errorf("a map of the least correlation: %+v", axis)
	}
	if axis, ok := MapAxis(&RankSwap{P: ptr(0.1), MinCorrelation: ptr(0.9)}); !ok || axis.Field != "p" {
		t.Errorf("a map of both: %+v", axis)
	}
}

// If each stratum has only one category, no category could become another one, and the mask is
// refused. It is accepted if the categories differ in one stratum, or if no value is present.
func TestStrataOfOneCategory(t *testing.T) {
	m := &PRAM{Columns: []string{"a"}, Keep: ptr(0.5), Categories: []string{"x", "y"}, Invariant: true, By: []string{"s"}}
	for what, c := range map[string]struct {
		records [][3]string
		refused bool
	}{
		"none":              {nil, false},
		"one of each":       {[][3]string{{"x", "1"}, {"y", "2"}, {"x", "1"}}, true},
		"differ in the 1st": {[][3]string{{"x", "1"}, {"y", "1"}, {"x", "2"}}, false},
		"differ in the 2nd": {[][3]string{{"x", "1"}, {"y", "2"}, {"x", "2"}}, false},
	} {
		for name, f := range counted(t, m, c.records, 10) {
			if err := f.Check(); (err != nil) != c.refused {
				t.Errorf("%s, %s: %v", what, name, err)
			}
		}
	}
}

// What each mask declares, with all its parameters: the kinds by the name of the field. A field that is
// missing here is declared by no mask, and one that a mask lacks is not published, or refused.
func TestWhatIsDeclared(t *testing.T) {
	got := map[string][]string{}
	for _, k := range Kinds() {
		v := reflect.ValueOf(filled[k.Name].Describe())
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !v.Field(i).IsZero() {
				got[name] = append(got[name], k.Name)
			}
		}
	}
	if !maps.EqualFunc(got, declaredBy, slices.Equal) {
		for _, name := range slices.Sorted(maps.Keys(got)) {
			t.Logf("%q: words(%q),", name, strings.Join(got[name], " "))
		}
		t.Error("other masks declare this than the table says")
	}
	v := reflect.TypeFor[Description]()
	for i := range v.NumField() {
		if name := v.Field(i).Name; declaredBy[name] == nil &&
			!slices.Contains(words("Correlates NeedsValues NeedsFrequencies NeedsPeople Warns ReadsHidden"), name) {
			t.Errorf("no mask declares %s in this test", name)
		}
	}
}

func words(text string) []string { return strings.Fields(text) }

const everyKind = "sample bias noise truncate round topcode donut recode pram pseudonym date suppress microaggregate " +
	"swap recordswap rankswap shuffle synthesise calibrate"

// Correlates, NeedsValues, NeedsFrequencies and Rejects depend on parameters: TestWhatMasksDeclare has them.
var declaredBy = map[string][]string{
	"Action":       words(everyKind),
	"ByHousehold":  words("sample suppress recordswap"),
	"Axis":         words("bias noise pram suppress microaggregate swap recordswap rankswap synthesise"),
	"ColumnsField": words("suppress recordswap"),
	"File":         words("donut recode"),
	"FitsData":     words("microaggregate rankswap synthesise"),
	"Instead":      words("donut suppress microaggregate swap recordswap rankswap shuffle synthesise calibrate"),
	"KeepsCode":    words("topcode recode pram suppress recordswap"),
	"LeavesAll":    words("recode pram swap recordswap"),
	"LeavesOut":    words("sample"),
	"Mechanism":    words("sample bias noise truncate round topcode recode pram"),
	"MovesOnly":    words("swap recordswap"),
	"Numbers":      words("shuffle synthesise"),
	"NumbersRead":  words("shuffle synthesise"),
	"OnCategories": words("sample pram pseudonym date suppress recordswap"),

	"OnColumn":   words("bias noise truncate round topcode recode pram pseudonym date rankswap"),
	"OnDays":     words("date"),
	"Parameters": words(everyKind),
	"Permutes":   words("recordswap shuffle"),
	"Places":     words("donut"),
	"Published":  words(everyKind),
	"Puts":       words("topcode"),
	"Reads":      words("sample microaggregate swap recordswap shuffle synthesise calibrate"),
	"Relative":   words("noise"),
	"Renames":    words("pseudonym"),
	"Retype":     words("topcode recode pram pseudonym suppress synthesise"),
	"Scope":      words(everyKind),
	"Weighs":     words("calibrate"),
	"Among": words(
		"sample bias noise truncate round topcode donut pram pseudonym date suppress microaggregate " +
			"swap recordswap rankswap shuffle synthesise calibrate"),
	"Copies":      words("synthesise"),
	"DrawsWithin": words("noise"),
	"Exchanges":   words("swap"),
	"Frequencies": words("pram"),
	"HeldOut":     words("synthesise"),
	"InParts":     words("swap"),
	"OfCopy":      words("synthesise"),
	"OfNumber":    words("suppress microaggregate recordswap calibrate"),
	"Redraws":     words("truncate"),
	"Rejects":     words("donut pseudonym date"),
	"Texts":       words("synthesise"),
}

// inHouseholds tells a mask that households are known.
func inHouseholds(p Params) Params {
	OfHouseholds([]Spec{mask(p)})
	return p
}
