package entered_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// edited replaces in the source what an expression matches.
func edited(t *testing.T, dir, expression, by string) {
	t.Helper()
	path := filepath.Join(dir, "in.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := regexp.MustCompile("(?m)"+expression).ReplaceAllString(string(text), by)
	if changed == string(text) {
		t.Fatalf("%s matches nothing", expression)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What today's records are not any more, an earlier release cannot be told from: who numbers respondents anew, writes
// cents as euros, empties a column or takes another part of the records would else be told that the earlier release
// tells nothing. Each of them is tried before and after the other, and beside an unchanged release.
func TestReleasesOfOtherRecordsAreNotToldFromTodays(t *testing.T) {
	racetest.Further(t)
	const areas = noise + ", {recode: {columns: [region], map: {r0: n, r1: n, r2: s, r3: s, r4: e, r5: e}, other: none}}"
	const most = `(?s)\np(1\d\d|2[0-4]\d),.*?(\np460,)`
	for name, c := range map[string]struct {
		first     release
		edit, by  string
		then      release
		says      string
		otherwise assess.Float // least RMSE by all releases where nothing is changed
	}{
		"numbered anew": {first: release{masks: noise}, edit: `^p(\d)`, by: "q$1",
			says: "fewer than half of the respondents", otherwise: 98},
		"a sixth anew": {first: release{masks: noise}, edit: `^p1(\d\d,)`, by: "q$1", otherwise: 98},
		"without identity": {first: release{masks: noise}, edit: `^p\d+`, by: "", says: "today 600 records have none",
			otherwise: 98},
		"one without": {first: release{masks: noise}, edit: `^p599,`, by: ",", says: "today 1 records have none",
			otherwise: 98},
		"cents": {first: release{masks: noise}, edit: `(\d)(\d)\.(\d\d)$`, by: "${1}${2}${3}.00",
			then: release{masks: "{noise: {columns: [wage], sd: 10000}}", key: "k2"},
			says: "wage: its values have another magnitude", otherwise: 98},
		"euros": {first: release{masks: noise}, edit: `(\d\d)\.(\d\d)$`, by: ".${1}${2}",
			then: release{masks: noise, key: "k2"}, says: "wage: its values have another magnitude", otherwise: 70},
		"emptied": {first: release{masks: noise, columns: "tax: {role: other}"}, edit: `,\d+\.\d\d,(\d+\.\d\d)$`,
			by: ",,$1", then: release{masks: noise, columns: "age: {role: other}"}, says: "tax was of type float64"},
		"nearly emptied": {first: release{masks: noise, columns: "tax: {role: other}"}, edit: `,\d+\.[1-9]\d,(\d+\.\d\d)$`,
			by: ",,$1", then: release{masks: noise, columns: "age: {role: other}"}, says: "tax: fewer than half as many"},
		"text": {first: release{masks: noise, columns: "tax: {role: other}"}, edit: `,(\d+\.\d\d),(\d+\.\d\d)$`,
			by: ",about $1,$2", then: release{masks: noise, columns: "age: {role: other}"},
			says: "tax was of type float64, and is of type string"},
		"number": {first: release{masks: noise, columns: "region: {role: other}"}, edit: `,r(\d),`, by: ",$1,",
			then: release{masks: noise, columns: "age: {role: other}"}, says: "region was of type string, and is of type"},
		"other codes": {first: release{masks: areas}, edit: `,r(\d),`, by: ",R$1,",
			then: release{masks: noise, columns: "age: {role: other}"}, says: "region: its values are less different today",
			otherwise: 98},
		"some of the codes": {first: release{masks: areas}, edit: `,r[0-3],`, by: ",r9,",
			then: release{masks: noise, columns: "age: {role: other}"}, says: "region: its values are less different today",
			otherwise: 98},
		"a code": {first: release{masks: areas}, edit: `,r5,`, by: ",R5,",
			then: release{masks: noise, columns: "age: {role: other}"}, otherwise: 98},
		"other records": {first: release{masks: "{topcode: {columns: [wage], upper_percentile: 90, replace: mean}}"},
			edit: most, by: "$2", says: "go by all records, of which there were 600, and today there are 240"},
		"other, same draws": {first: release{masks: noise}, edit: most, by: "$2", otherwise: 98},
	} {
		dir := records(t, 600)
		const rest = "assess: {replicates: 2, targets: [p50], sample: all, intruder: {inversion: false}}\n"
		if len(name)%2 == 0 { // in half of the cases it is the second of two
			release{name: "z", masks: "{noise: {columns: [wage], sd: 5000}}", columns: "age: {role: other}", noIdentity: true,
				rest: rest}.run(t, dir)
		}
		c.first.name, c.first.rest = "a", rest
		c.first.run(t, dir)
		path := filepath.Join(dir, "ledger")
		ledger, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.then.masks == "" {
			c.then = c.first
		}
		c.then.name, c.then.rest, c.then.rule = "b", rest,
			"{column: wage, target: typical, knowledge: index, min_rmse: 0.001}, {column: wage, max_unchanged: 1}"
		if rep := c.then.run(t, dir); rep.Ledger.Not != "" ||
			!(rmse(t, rep, assess.KnowledgeAllReleases).RMSE > 0.9*c.otherwise) {
			t.Fatalf("%s: unchanged: %q, %v", name, rep.Ledger.Not, rmse(t, rep, assess.KnowledgeAllReleases))
		}
		if err := os.Remove(filepath.Join(dir, "b.json")); err != nil { // which knows of the release that is taken back
			t.Fatal(err)
		}
		if err := os.WriteFile(path, ledger, 0o600); err != nil {
			t.Fatal(err)
		}
		edited(t, dir, c.edit, c.by)
		rep := c.then.run(t, dir)
		if refused := c.says != ""; rep.Gate.Passed == refused || !strings.Contains(rep.Ledger.Not, c.says) || refused &&
			!strings.Contains(rep.Gate.Rules[0].Advice, "of the ledger (") {
			t.Errorf("%s: says %q; %+v", name, rep.Ledger.Not, rep.Gate.Rules[0])
		}
		if len(name)%3 > 0 {
			continue
		}
		c.then.rule = strings.ReplaceAll(c.then.rule, "0.001", "0.001, releases: alone")
		if rep := c.then.run(t, dir); !rep.Gate.Passed {
			t.Errorf("%s: alone: %+v", name, rep.Gate.Rules)
		}
	}
}

// A rule of a column by itself says nothing of two releases of it.
func TestAColumnByItselfInTwoReleases(t *testing.T) {
	dir := records(t, 600)
	release{name: "a", masks: noise}.run(t, dir)
	second := release{name: "b", masks: noise, key: "k2",
		rule: "{column: wage, target: typical, knowledge: index, record: alone, min_rmse: 80}, {column: wage, max_unchanged: 1}"}
	if rep := second.run(t, dir); rep.Gate.Passed || !strings.Contains(rep.Gate.Rules[0].Advice, "releases: alone") {
		t.Errorf("two independent draws pass a rule that one does: %+v", rep.Gate.Rules[0])
	}
}

// A release that cannot be read any more still guards the columns that it masked.
func TestUnreadableReleasesGuardTheirColumns(t *testing.T) {
	dir := records(t, 300)
	table := filepath.Join(dir, "map.csv")
	if err := os.WriteFile(table, []byte("from,to\nr0,x\nr1,x\nr2,y\nr3,y\nr4,y\nr5,y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	release{name: "a", masks: noise + ", {recode: {columns: [region], file: DIR/map.csv}}"}.run(t, dir)
	later := func() []string {
		p := release{name: "b", masks: noise, columns: "region: {role: key}, tax: {role: other}",
			rule: "{column: wage, max_unchanged: 1}"}.parse(t, dir)
		p.Masks, p.Columns.Named("wage").Unmasked = nil, true
		p.Gate.Rules = nil
		p.Gate.AllowUnchanged = new(float64)
		result, err := filejob.Run(t.Context(), p, pipeline.Options{Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		return result.Report.Warnings
	}
	masked := func(list []string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(w, "masked wage") })
	}
	if list := later(); !masked(list) {
		t.Fatalf("an earlier release that masked wage is not warned of: %q", list)
	}
	if err := os.Remove(table); err != nil {
		t.Fatal(err)
	}
	if list := later(); !masked(list) {
		t.Errorf("one whose table is gone is not: %q", list)
	}
}

// Under a key that is not today's, equal values of a respondent had equal draws only where the respondents had their
// identities: of two draws of SD 100 and today's, 1/√(2/100² + 1/500²) = 70.0 is known by two and 1/√(3/100² + 1/500²)
// = 57.4 by three. The relative standard error of the root of a mean of 3,000 squares is 1.3 %.
func TestRespondentsNumberedAnewUnderAnEarlierKey(t *testing.T) {
	racetest.Further(t)
	for _, c := range []struct {
		anew bool
		want float64
	}{{false, 70}, {true, 57.4}} {
		dir := records(t, 3000)
		release{name: "a", masks: noise, key: "k2"}.run(t, dir)
		if c.anew {
			edited(t, dir, `^p(\d)`, "q$1")
		}
		release{name: "b", masks: noise, key: "k2", columns: "age: {role: other}"}.run(t, dir)
		rep := release{name: "c", masks: noise}.run(t, dir)
		if got := rmse(t, rep, assess.KnowledgeAllReleases).RMSE; !near(got, c.want) {
			t.Errorf("numbered anew %v: known to ± %v, want %v", c.anew, got, c.want)
		}
	}
}

// A column with another declared unit than today's is another column.
func TestAnotherUnit(t *testing.T) {
	dir := records(t, 300)
	of := func(name, unit string) *report.Report {
		return release{name: name, masks: noise, columns: "tax: {role: other, unit: " + unit + "}",
			rule: "{column: wage, target: typical, knowledge: index, min_rmse: 0.001}"}.run(t, dir)
	}
	of("a", "EUR")
	if rep := of("b", "EUR"); rep.Ledger.Not != "" || !rep.Gate.Passed {
		t.Errorf("the same unit: %q", rep.Ledger.Not)
	}
	if rep := of("c", "USD"); !strings.Contains(rep.Ledger.Not, `tax had the unit "EUR", and has "USD" today`) ||
		rep.Gate.Passed {
		t.Errorf("another unit: %q", rep.Ledger.Not)
	}
}

// Pounds that become kilograms without a word, and codes that are exchanged one to one, are noticed, though the numbers are
// of less than three times the magnitude and as many pairs of codes differ. Taxes that have grown by a third, and regions
// of which one in twenty has moved, are not.
func TestUnitsAndCodesThatNobodyDeclares(t *testing.T) {
	for name, c := range map[string]struct {
		tax    float64
		region func(region string, i int) string
		says   string
	}{
		"kilograms": {tax: 0.4536, says: "tax: its values have another magnitude today, and are as spread as they were"},
		"grown":     {tax: 1.33},
		"exchanged": {tax: 1, says: "region: its values have exchanged their shares", region: func(region string, _ int) string {
			return map[string]string{"r0": "r4", "r1": "r3", "r2": "r2", "r3": "r1", "r4": "r0"}[region]
		}},
		"moved": {tax: 1, region: func(region string, i int) string {
			if i%20 == 0 {
				return "r0"
			}
			return region
		}},
	} {
		dir := records(t, 1500)
		regions(t, dir, rand.New(rand.NewPCG(2, 9)))
		of := func(name string) release {
			return release{name: name, masks: noise, columns: "region: {role: key}, tax: {role: other}",
				rule: "{column: wage, target: typical, knowledge: index, min_rmse: 0.001}, {column: wage, max_unchanged: 1}"}
		}
		of("a").run(t, dir)
		records := table(t, filepath.Join(dir, "in.csv"))
		var text strings.Builder
		text.WriteString("pid,region,age,tax,wage\n")
		for i, tax := range numbersOf(records["tax"]) {
			region := records["region"][i]
			if c.region != nil {
				region = c.region(region, i)
			}
			fmt.Fprintf(&text, "%s,%s,%s,%.2f,%s\n", records["pid"][i], region, records["age"][i], c.tax*tax, records["wage"][i])
		}
		if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if rep := of("b").run(t, dir); rep.Gate.Passed == (c.says != "") || !strings.Contains(rep.Ledger.Not, c.says) ||
			c.says == "" && rep.Ledger.Not != "" {
			t.Errorf("%s: says %q, passes %v", name, rep.Ledger.Not, rep.Gate.Passed)
		}
	}
}
