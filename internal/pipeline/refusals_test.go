package pipeline

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// What only the data show to be wrong with a mask is refused at the mask's parameter, of the
// first mask and of the last; a map can still tell such a refusal from other errors.
func TestMasksThatTheDataRefuse(t *testing.T) {
	const noise = "{noise: {columns: [wage], sd: 3}}"
	for _, c := range []struct {
		mask, want string
		surveyed   bool
	}{
		{"{round: {columns: [wage], base: 0.001}}", ".round.base", false},
		{"{suppress: {keys: [region, kind], k: 30, max_share: 0.01}}", ".suppress.max_share", true},
	} {
		for at, masks := range []string{c.mask + ", " + noise, noise + ", " + c.mask} {
			pl := planFor(t, people(t, columns+"masks: ["+masks+"]\n"), true)
			if err := pl.Settle(t.Context(), new(Progress)); err != nil {
				t.Fatal(err)
			}
			chain, err := pl.newChain(t.Context(), keytest.Key(1), new(Progress))
			var wrong config.Errors
			want := []string{"masks[0]", "masks[1]"}[at] + c.want
			if !c.surveyed && chain != nil || !errors.As(err, &wrong) || len(wrong) != 1 || wrong[0].Path != want ||
				strings.HasPrefix(wrong[0].Text, "masks") {
				t.Errorf("%s: error %v, want one at %s", masks, err, want)
			}
			var refused *transform.SurveyError
			if errors.As(err, &refused) != c.surveyed {
				t.Errorf("%s: %v is a SurveyError: %v", masks, err, !c.surveyed)
			}
		}
	}
}

// An error of a mask that names no place of the configuration is one of the data, with its text;
// one of a survey without a parameter is at its mask, and masks of other places are named by these.
func TestPlacesOfErrors(t *testing.T) {
	racetest.Further(t)
	p := people(t, columns+"masks: [{noise: {columns: [wage], sd: 3}}, {bias: {columns: [wage], phi: 0.1}}]\n")
	pl := planFor(t, p, true)
	var data *DataError
	for _, text := range []string{"no place", "masks[2].round: no such mask", "masks[0].noiseless: no such mask"} {
		if err := pl.maskError(errors.New(text)); !errors.As(err, &data) || err.Error() != text {
			t.Errorf("maskError of %q returns %v, want a DataError", text, err)
		}
	}
	elsewhere, err := newPlan(p, []string{"map.vary[0]", "map.vary[1]"}, pl.Source, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pl   *Plan
		want string
	}{{pl, "masks[1].bias"}, {elsewhere, "map.vary[1]"}} {
		var wrong config.Errors
		if err := c.pl.maskError(errors.New(c.want + ": whole")); !errors.As(err, &wrong) || wrong[0].Path != c.want ||
			wrong[0].Text != "whole" {
			t.Errorf("error %v, want config.Errors at %s", err, c.want)
		}
		if err := c.pl.SurveyError(&transform.SurveyError{Mask: 1, Text: "surveyed"}); !errors.As(err, &wrong) ||
			wrong[0].Path != c.want || wrong[0].Text != "surveyed" {
			t.Errorf("error %v, want config.Errors at %s", err, c.want)
		}
	}
}

// Where a column has no value there is no standard deviation, so that a percentage of it masks
// nothing and is not warned of; where all values are the same it is.
func TestPercentagesOfNothing(t *testing.T) {
	for rows, want := range map[string][]string{"": nil, "R1,,a,b\nR2,,a,b\n": nil,
		"R1,5,a,b\nR2,5,a,c\nR3,,a,c\n": {"wage"}, "R1,5,a,b\nR2,6,a,c\n": nil} {
		p := people(t, columns+"masks: [{noise: {columns: [wage], sd: 10%}}]\n")
		if err := os.WriteFile(p.Source.Config.(*csv.SourceConfig).Path, []byte("id,wage,region,kind\n"+rows), 0o600); err !=
			nil {
			t.Fatal(err)
		}
		pl := planFor(t, p, true)
		if err := pl.Settle(t.Context(), new(Progress)); err != nil {
			t.Errorf("rows %q: Settle returns %v", rows, err)
			continue
		}
		if sd := pl.SD("wage"); !slices.Equal(pl.Constant, want) || (sd > 0) != (rows == "R1,5,a,b\nR2,6,a,c\n") ||
			!(sd >= 0) {
			t.Errorf("rows %q: SD %v, constant columns %v, want %v", rows, sd, pl.Constant, want)
		}
	}
}

// A survey for masks that decide nothing from all records still sees each of them, in its order,
// and which of them the masks reject.
func TestSurveyOfMasksThatNeedNone(t *testing.T) {
	p := people(t,
		columns+
			"masks: [{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random}}, {noise: {columns: [wage], sd: 3}}]\nwindow: {records: 20}\n")
	in := p.Source.Config.(*csv.SourceConfig).Path
	text, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	// No mask takes an infinite number.
	if err := os.WriteFile(in,
		[]byte(strings.NewReplacer("R7,1049.25", "R7,Inf", "R59,1373.25", "R59,-Inf").Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	pl := planFor(t, p, true)
	if err := pl.Settle(t.Context(), new(Progress)); err != nil {
		t.Fatal(err)
	}
	chain, err := pl.BuildChain(keytest.Key(1))
	if err != nil || chain.NeedsSurvey() {
		t.Fatalf("the masks need a survey, so the test checks nothing (error %v)", err)
	}
	var seen, rejected int
	var firsts []int64
	progress := new(Progress)
	progress.Start("survey", -1)
	err = pl.Survey(t.Context(), chain, progress, func(b *microdata.Block) {
		seen, rejected, firsts = seen+b.N, rejected+len(b.Rejects), append(firsts, b.First)
	})
	if err != nil || seen != 60 || rejected != 2 || !slices.IsSorted(firsts) || progress.Records() != 60 {
		t.Errorf("the survey sees %d records, %d rejected, in blocks from %v; the progress counts %d; error %v", seen,
			rejected, firsts, progress.Records(), err)
	}
}

// Texts that are modelled are read as such, with their codes for the sample; others are refused,
// with what would make them fit.
func TestTextsThatAreModelled(t *testing.T) {
	all := strings.Replace(columns, "kind: {role: other}", "kind: {role: sensitive}", 1)
	for _, c := range []struct {
		mask, want string
		types      map[string]arrow.DataType
		carried    []string
	}{
		{mask: "columns: [wage, kind], categories: [kind]", carried: []string{"kind"}},
		{mask: "columns: [kind, wage], on: [region], categories: [kind, region]", carried: []string{"kind", "region"}},
		{mask: "columns: [wage, kind]",
			want: "masks[0].synthesise.columns: kind is string, and synthesise needs a number, or text that is named in categories; where only some"},
		{mask: "columns: [wage, kind]", types: map[string]arrow.DataType{"kind": arrow.FixedWidthTypes.Boolean},
			want: "masks[0].synthesise.columns: kind is bool, and synthesise needs a number"},
		{mask: "columns: [wage], on: [region]",
			want: "masks[0].synthesise.on[0]: region is string, and synthesise needs numbers to go by, or texts that are named in categories; leave it out, or where only some"},
	} {
		p := parsed(t, t.TempDir(), all+"masks: [{synthesise: {"+c.mask+"}}]\n")
		pl, err := newPlan(p, nil, &table{fields: fieldsOf(c.types)}, true)
		if c.want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || c.types != nil &&
				strings.Contains(err.Error(), "text that is") {
				t.Errorf("%s: error %v, want %s", c.mask, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: error %v, want none", c.mask, err)
			continue
		}
		var carried []string
		for _, i := range pl.Carry {
			if pl.Layout.Read[i].As != microdata.Array {
				t.Errorf("%s: column %d is carried as numbers", c.mask, i)
			}
			carried = append(carried, pl.Source.Schema().Fields[pl.Layout.Read[i].Field].Name)
		}
		if slices.Sort(carried); !slices.Equal(carried, c.carried) {
			t.Errorf("%s: the carried columns are %q, want %q", c.mask, carried, c.carried)
		}
	}
}

// Texts of several kinds cannot be put into categories, nor be what categories are drawn by.
func TestMixedTextsBesideCategories(t *testing.T) {
	const by = "masks: [{pram: {columns: [kind], keep: 0.5, categories: [a, b], invariant: true, by: [%s]}}]\n"
	for _, c := range []struct{ mixed, want string }{
		{"region", "masks[0].pram: region contains JSON values of several types"},
		{"kind", "masks[0].pram.columns: kind contains JSON values of several types"}, {"id", ""},
	} {
		p := parsed(t, t.TempDir(), columns+strings.Replace(by, "%s", "region", 1))
		_, err := newPlan(p, nil, &mixedTexts{&table{fields: fieldsOf(nil)}, []string{c.mixed}}, true)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.mixed, err, c.want)
		}
	}
}

// A numeric column that nothing masks is measured where it is a key that is not taken for
// categories, or where a regression names it; it is read for that alone.
func TestUnmaskedColumnsThatAreMeasured(t *testing.T) {
	all := strings.NewReplacer("region: {role: key}", "region: {role: other}").Replace(columns)
	for more, want := range map[string]string{
		"":                         "wage",
		"assess: {keys: [region]}": "wage region",
		"assess: {keys: [region, kind], intruder: {categorical: [region], uniqueness: {}}}":                          "wage kind",
		"assess: {keys: [kind, region], intruder: {linkage: {}}}":                                                    "wage region kind",
		"assess: {keys: [wage], intruder: {utility: {regressions: [{response: region, predictors: [wage]}]}}}":       "wage region",
		"assess: {keys: [wage], intruder: {utility: {regressions: [{response: wage, predictors: [region, kind]}]}}}": "wage region kind",
		"assess: {keys: [wage], intruder: {utility: {models: [region ~ wage]}}}":                                     "wage region",
		"assess: {keys: [wage], intruder: {utility: {models: [wage ~ I(region^2) + log(kind)]}}}":                    "wage region kind",
		"assess: {keys: [wage], intruder: {linkage: {}}}":                                                            "wage",
	} {
		p := parsed(t, t.TempDir(), all+"masks: [{noise: {columns: [wage], sd: 3}}]\n"+more+"\n")
		pl,
			err := newPlan(p, nil,
			&table{
				fields: fieldsOf(
					map[string]arrow.DataType{"region": arrow.PrimitiveTypes.Int64, "kind": arrow.PrimitiveTypes.Int64})}, true)
		if err != nil {
			t.Errorf("%s: %v", more, err)
			continue
		}
		var got []string
		for _, c := range pl.Assessed {
			got = append(got, c.Name)
			if read := pl.Layout.Read[c.Index]; read.Measured == c.Masked || read.As != microdata.Numbers {
				t.Errorf("%s: %s is read as %+v", more, c.Name, read)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: the measured columns are %q, want %s", more, got, want)
		}
	}
}

// Of categories that are drawn within strata, the inverting intruder must know the strata.
func TestInversionNeedsStrata(t *testing.T) {
	const mask = "masks: [{pram: {columns: [kind], keep: 0.5, categories: [a, b], invariant: true, by: [id, region]}}]\n"
	all := strings.NewReplacer("id: {role: identifier}", "id: {role: other}", "kind: {role: other}",
		"kind: {role: key}").Replace(columns)
	for keys, want := range map[string]string{"id, region, kind": "",
		"region, kind": `the strata of masks[0].pram, but "id" is not`,
		"id, kind":     `the strata of masks[0].pram, but "region" is not`} {
		p := parsed(t, t.TempDir(), all+mask+"assess: {keys: ["+keys+"], intruder: {inversion: true}}\n")
		if _, err := newPlan(p, nil, &table{fields: fieldsOf(nil)}, true); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("keys %s: error %v, want %q", keys, err, want)
		}
	}
}

// What a configuration names is what the plan identifies respondents by, and the sample holds the
// texts of who is set aside, before and after the masks, where an attribute is guessed.
func TestColumnsOfThePlan(t *testing.T) {
	all := strings.Replace(columns, "kind: {role: other}", "kind: {role: sensitive}", 1)
	for more, held := range map[string]bool{"intruder: {attribute: {}}": true, "intruder: {uniqueness: {}}": false} {
		p := parsed(t, t.TempDir(),
			all+
				"masks: [{synthesise: {columns: [wage, kind], categories: [kind], held_out: 0.5}}]\nidentity: [id, region]\nassess: {keys: [region], "+more+"}\n")
		pl, err := newPlan(p, nil, &table{fields: fieldsOf(nil)}, true)
		if err != nil {
			t.Fatal(err)
		}
		at, there := pl.Intruder.Index["kind"]
		if there != held || held &&
			(!slices.Contains(pl.Intruder.Released, at) || !slices.Contains(pl.Intruder.Carried, at)) {
			t.Errorf("%s: intruder columns are %+v", more, pl.Intruder)
		}
		var names []string
		for _, i := range pl.Identity() {
			if pl.Layout.Read[i].As != microdata.Array {
				t.Errorf("the identity column %d is not read as an array", i)
			}
			names = append(names, pl.Source.Schema().Fields[pl.Layout.Read[i].Field].Name)
		}
		if !slices.Equal(names, []string{"id", "region"}) {
			t.Errorf("the identity columns are %q, want id and region", names)
		}
		once := map[microdata.Want]bool{}
		for _, w := range pl.Layout.Read {
			if w.Measured {
				t.Errorf("%+v is read only to be measured", w)
			}
			if once[w] {
				t.Errorf("%+v is read twice", w)
			}
			once[w] = true
		}
	}
}

// Targets that are none are counted by nobody: the assessment says what is wrong with them.
func TestTargetsThatAreNone(t *testing.T) {
	pl, _,
		_ := plannedOf(t,
		columns+
			"masks: [{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random, scope: dataset}}]\nassess: {targets: [max]}\n")
	if pl.locator == nil || pl.newLocator() == nil {
		t.Fatal("no locator, so the test checks nothing")
	}
	for _, targets := range [][]string{{"most"}, {}} {
		if pl.Config.Assess.Targets = targets; pl.newLocator() != nil {
			t.Errorf("a locator for the targets %q", targets)
		}
	}
	if pl.Config.Assess.Targets = []string{"max"}; pl.locator.Brackets("wage") == nil {
		t.Error("the locator has no bracket for wage")
	}
	pl.Assessed = []assess.Column{{Name: "wage", Index: pl.Assessed[0].Index}}
	if pl.newLocator() != nil {
		t.Error("a locator for a column that no mask changes")
	}
}
