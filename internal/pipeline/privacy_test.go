package pipeline

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/privacy"
)

// privacyOf returns what is stated of a release of four columns.
func privacyOf(t *testing.T, head, columns, masks, of string) *assess.Privacy {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.csv"),
		[]byte("id,home,wage,age,sex,past\n1,1,150.25,30,f,9.25\n2,1,100.5,41,m,8.5\n3,2,900.75,52,f,7.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := head + "columns:\n  id: {role: identifier}\n  home: {role: identifier}\n" + columns + "masks: [" + masks +
		"]\nassess: {privacy: {" + of + "}}\nunlisted: drop\n"
	p := planFor(t, parsed(t, dir, text), false).Privacy()
	if p == nil {
		t.Fatal("nothing is stated")
	}
	return p
}

const (
	ofWage  = "  wage: {role: sensitive, unit: USD, decimals: 2}\n"
	clipped = "{truncate: {columns: [wage], lower: 0, upper: 1000}}, "
	laplace = "{noise: {columns: [wage], sd: 500, distribution: laplace}}"
	clip    = clipped + laplace
)

// ε of chains of masks, each with a figure that is derived here by hand or with the reason why there is none.
func TestPrivacyOfAColumn(t *testing.T) {
	wide := math.Sqrt2 * 1000 / 500
	for _, c := range []struct {
		what, head, columns, masks, of string
		epsilon, metric                float64 // NaN: none
		not, metricNot                 string  // parts of the reasons
	}{
		{"clipped", "", ofWage, clip, "", wide, math.Sqrt2 / 500, "", ""},
		{"top-coded", "", ofWage, "{topcode: {columns: [wage], lower: 0, upper: 1000}}, " + laplace, "", wide,
			math.Sqrt2 / 500, "", ""},
		{"two clips", "", ofWage, "{truncate: {columns: [wage], upper: 1000}}, {truncate: {columns: [wage], lower: 500}}, " +
			laplace, "", wide / 2, math.Sqrt2 / 500, "", ""},
		{"clips that leave one value", "", ofWage,
			"{truncate: {columns: [wage], upper: 1000}}, {truncate: {columns: [wage], lower: 2000}}, " + laplace, "", 0,
			math.Sqrt2 / 500, "", ""},
		{"clipped on one side", "", ofWage, "{truncate: {columns: [wage], upper: 1000}}, " + laplace, "", math.NaN(),
			math.Sqrt2 / 500, "no fixed bounds", ""},
		{"not clipped", "", ofWage, laplace, "", math.NaN(), math.Sqrt2 / 500, "no fixed bounds", ""},
		{"clipped behind the noise only", "", ofWage, laplace + ", {truncate: {columns: [wage], lower: 0, upper: 1000}}", "",
			math.NaN(), math.Sqrt2 / 500, "no fixed bounds", ""},
		{"post-processed", "", ofWage,
			clip +
				", {truncate: {columns: [wage], lower: 0}}, {round: {columns: [wage], base: 10}}, {topcode: {columns: [wage], upper: 900}}", "", wide, math.Sqrt2 / 500, "", ""},
		{"rounded in front", "", ofWage, clipped + "{round: {columns: [wage], base: 10}}, " + laplace, "",
			math.Sqrt2 * 1010 / 500, math.NaN(), "", "step apart"},
		{"biased in front", "", ofWage, "{bias: {columns: [wage], phi: 0.1}}, " + clip, "", wide, math.NaN(), "",
			"changes distances"},
		{"biased between", "", ofWage, clipped + "{bias: {columns: [wage], phi: 0.1}}, " + laplace, "", math.NaN(),
			math.NaN(), "no fixed bounds", "changes distances"},
		{"biased behind", "", ofWage, clip + ", {bias: {columns: [wage], phi: 0.1}}", "", wide, math.Sqrt2 / 500, "", ""},
		{"only biased", "", ofWage, "{bias: {columns: [wage], phi: 0.1}}", "", math.NaN(), math.NaN(),
			"no mask on it has an ε", "no mask adds"},
		{"noise and noise: the second has no bounds", "", ofWage,
			clip + ", {noise: {columns: [wage], sd: 5000, distribution: laplace}}", "", wide, math.Sqrt2 / 5000, "", ""},
		{"noise, clip and more noise: the less ε holds", "", ofWage,
			clip +
				", {truncate: {columns: [wage], lower: 0, upper: 1000}}, {noise: {columns: [wage], sd: 5000, distribution: laplace}}", "", wide / 10, math.Sqrt2 / 5000, "", ""},
		{"less noise behind more", "", ofWage,
			clip +
				", {truncate: {columns: [wage], lower: 0, upper: 1000}}, {noise: {columns: [wage], sd: 5, distribution: laplace}}",
			"", wide, math.Sqrt2 / 500, "", ""},
		{"uniform", "", ofWage, clipped + "{noise: {columns: [wage], sd: 500, distribution: uniform}}", "", math.NaN(),
			math.NaN(), "bounded", "no mask adds"},
		{"no noise", "", ofWage, clipped + "{noise: {columns: [wage], sd: 0, distribution: laplace}}", "", math.NaN(),
			math.NaN(), "standard deviation 0", ""},
		{"normal without δ", "", ofWage, clipped + "{noise: {columns: [wage], sd: 500}}", "", math.NaN(), math.NaN(),
			"at a δ only", "d²/(2λ²)"},
		{"normal", "", ofWage, clipped + "{noise: {columns: [wage], sd: 5000}}", "delta: 1e-6",
			privacy.OfGaussian(0.02, privacy.GaussianApart(5e5)).Epsilon(1e-6, 1), math.NaN(), "", "d²/(2λ²)"},
		{"Laplace at δ", "", ofWage, clip, "delta: 1e-6", wide, math.Sqrt2 / 500, "", ""},
		{"Laplace at a δ below that of the draws", "", ofWage, clip, "delta: 1e-12", math.NaN(), math.Sqrt2 / 500, "52 bits",
			""},
		{"great ε", "", ofWage, clipped + "{noise: {columns: [wage], sd: 50, distribution: laplace}}", "", math.NaN(),
			math.Sqrt2 / 50, "52 bits", ""},
		{"percentage", "", ofWage, clipped + "{noise: {columns: [wage], sd: 50%, distribution: laplace}}", "", math.NaN(),
			math.NaN(), "masks[1].noise: λ is a percentage", "λ is a percentage"},
		{"percentage in front", "", ofWage, "{noise: {columns: [wage], sd: 1%}}, " + clip, "", math.NaN(), math.NaN(),
			"masks[0].noise: λ is a percentage", ""},
		{"decimals of the data", "", "  wage: {role: sensitive}\n", clip, "", math.NaN(), math.NaN(), "decimals", "decimals"},
		{"more decimals than a double has", "", "  wage: {role: sensitive, decimals: 15}\n", clip, "", math.NaN(), math.NaN(),
			"exactly", "exactly"},
		{"the same without bounds", "", "  wage: {role: sensitive, decimals: 15}\n", laplace, "", math.NaN(), math.NaN(),
			"exactly", "exactly"},
		{"where", "", ofWage, clipped + "{noise: {columns: [wage], sd: 500, distribution: laplace, where: wage > 10}}", "",
			math.NaN(), math.NaN(), "where", "where"},
		{"where behind", "", ofWage, clip + ", {truncate: {columns: [wage], lower: 0, where: wage > 10}}", "", math.NaN(),
			math.NaN(), "where", "where"},
		{"redraw", "", ofWage, clip + ", {truncate: {columns: [wage], lower: 0, mode: redraw}}", "", math.NaN(), math.NaN(),
			"redraw", "redraw"},
		{"percentiles", "", ofWage, "{topcode: {columns: [wage], upper_percentile: 99, lower: 0}}, " + laplace, "",
			math.NaN(), math.NaN(), "upper_percentile", ""},
		{"ranks behind", "", ofWage, clip + ", {rankswap: {columns: [wage], p: 0.1}}", "", math.NaN(), math.NaN(),
			"other records", ""},
		{"another column is shuffled by it", "", ofWage + "  age: {role: sensitive, decimals: 0}\n",
			clip + ", {shuffle: {columns: [age], on: [wage]}}", "", math.NaN(), math.NaN(), "depends on it", "depends on it"},
		{"identity, unsaid", "identity: [id]\n", ofWage, clip, "", math.NaN(), math.NaN(), "assess.privacy.records: 1", ""},
		{"identity, one record", "identity: [id]\n", ofWage, clip, "records: 1", wide, math.Sqrt2 / 500, "", ""},
		{"identity, a panel", "identity: [id]\n", ofWage, clip, "records: 3", math.NaN(), math.NaN(), "up to 3 records", ""},
		{"place, a panel", "", ofWage, clip, "records: 3", wide, math.Sqrt2 / 500, "", ""},
		{"household, unsaid", "household: home\n", strings.Replace(ofWage, "sensitive", "sensitive, level: household", 1),
			clip, "", math.NaN(), math.NaN(), "of one household", ""},
		{"household", "household: home\n", strings.Replace(ofWage, "sensitive", "sensitive, level: household", 1), clip,
			"records: 1", wide, math.Sqrt2 / 500, "", ""},
		{"as it is", "", "  wage: {role: other}\n  age: {role: sensitive, decimals: 0}\n", "{noise: {columns: [age], sd: 5}}",
			"", math.Inf(1), math.NaN(), "leaves as it is", "leaves as it is"},
	} {
		got := privacyOf(t, c.head, c.columns, c.masks, c.of).Of("wage")
		if !alike(float64(got.Epsilon), c.epsilon) || !alike(float64(got.Metric), c.metric) {
			t.Errorf("%s: ε %v, %v per unit; want %v, %v (%s)", c.what, got.Epsilon, got.Metric, c.epsilon, c.metric, got.Not)
		}
		if !strings.Contains(got.Not, c.not) || (c.not == "") != (got.Not == "") ||
			!strings.Contains(got.MetricNot, c.metricNot) {
			t.Errorf("%s: %q, %q; want %q, %q", c.what, got.Not, got.MetricNot, c.not, c.metricNot)
		}
		if !math.IsNaN(float64(got.Metric)) != !math.IsNaN(float64(got.Distance)) ||
			(got.MetricNot == "") == math.IsNaN(float64(got.Metric)) {
			t.Errorf("%s: distance %v", c.what, got.Distance)
		}
	}
}

func alike(got, want float64) bool {
	return math.IsNaN(got) && math.IsNaN(want) || got == want || math.Abs(got-want) <= 1e-4*want && got >= want*(1-1e-9)
}

// Categories: the matrix decides, and no distance is stated.
func TestPrivacyOfCategories(t *testing.T) {
	of := func(masks string) *assess.ColumnPrivacy {
		return privacyOf(t, "", "  sex: {role: sensitive}\n  age: {role: key, decimals: 0}\n", masks, "").Of("sex")
	}
	pram := "{pram: {columns: [sex], categories: [f, m], keep: 0.8}}"
	if got := of(pram); !alike(float64(got.Epsilon), math.Log(4)) || !(got.Delta > 0 && got.Delta < 1e-14) ||
		!math.IsNaN(float64(got.Metric)) {
		t.Errorf("keep 0.8: %+v", got)
	}
	if got := of(pram + ", {pram: {columns: [sex], categories: [f, m], keep: 0.7}}"); !alike(float64(got.Epsilon),
		math.Log(7.0/3)) {
		t.Errorf("two matrices: %+v", got)
	}
	for masks, not := range map[string]string{
		"{pram: {columns: [sex], categories: [f, m], keep: 1}}":                               "never",
		"{pram: {columns: [sex], categories: [f, m], keep: 0.8, invariant: true}}":            "frequencies",
		"{pram: {columns: [sex], categories: [f, m], keep: 0.8, invariant: true, by: [age]}}": "frequencies",
		"{recode: {columns: [sex], map: {f: x, m: x}}}":                                       "no mask on it has an ε",
		pram + ", {suppress: {keys: [sex, age], k: 2}}":                                       "other records",
		"{sample: {rates: {f: 0.5, m: 1}, by: sex}}, " + pram:                                 "depends on it",
		"{pram: {columns: [sex], matrix: {f: {f: 0.9, m: 0.1}, m: {m: 1}}}}":                  "never",
	} {
		if got := of(masks); !strings.Contains(got.Not, not) || !math.IsNaN(float64(got.Epsilon)) {
			t.Errorf("%s: %+v", masks, got)
		}
	}
}

// All columns together, of all records of a person or household.
func TestPrivacyOfARecord(t *testing.T) {
	two := ofWage + "  age: {role: key, decimals: 0}\n"
	masks := clip +
		", {truncate: {columns: [age], lower: 0, upper: 100}}, {noise: {columns: [age], sd: 100, distribution: laplace}}"
	one := math.Sqrt2*1000/500 + math.Sqrt2*100/100
	for _, c := range []struct {
		what, head, columns, masks, of string
		masked, record, person         float64
		not                            string
		records, members               int
	}{
		{"one record", "", two, masks, "", one, one, one, "", 1, 0},
		{"three records by place", "", two, masks, "records: 3", one, one, 3 * one, "", 3, 0},
		{"households", "household: home\n", two, masks, "members: 2", one, one, 2 * one, "", 1, 2},
		{"households that share the wage", "household: home\n",
			strings.Replace(two, "sensitive", "sensitive, level: household", 1), masks, "records: 1, members: 2", one, one,
			math.Sqrt2*2 + 2*math.Sqrt2, "", 1, 2},
		{"a column as it is", "", two + "  sex: {role: other}\n", masks, "", one, math.Inf(1), math.Inf(1),
			"sex leaves as it is", 1, 0},
		{"a column without a figure", "", two, clip + ", {noise: {columns: [age], sd: 5, distribution: uniform}}", "",
			math.Sqrt2 * 2, math.NaN(), math.NaN(), "no ε is stated of age", 1, 0},
		{"a copy that leaves as it is", "", "  wage: {role: other}\n  age: {role: sensitive, decimals: 0}\n",
			"{truncate: {columns: [age], lower: 0, upper: 100}}, {noise: {columns: [age], sd: 100, distribution: laplace}}", "",
			math.Sqrt2, math.Inf(1), math.Inf(1), "wage leaves as it is", 1, 0},
		{"nothing with a figure", "", ofWage, laplace, "", math.NaN(), math.NaN(), math.NaN(), "no ε is stated of wage", 1,
			0},
		{"a sample by a column", "", two, "{sample: {rate: 0.5, rates: {30: 0.5, 41: 1}, by: age}}, " + masks, "",
			math.Sqrt2 * 2, math.NaN(), math.NaN(), "depends on a column", 1, 0},
	} {
		p := privacyOf(t, c.head, c.columns, c.masks, c.of)
		if !alike(float64(p.Masked.Epsilon), c.masked) || !alike(float64(p.Record.Epsilon), c.record) ||
			!alike(float64(p.Person.Epsilon), c.person) ||
			!strings.Contains(p.Person.Not, c.not) || (c.not == "") != (p.Person.Not == "") || p.Records != c.records ||
			p.Members != c.members {
			t.Errorf("%s: masked %+v, record %+v, person %+v, %d records, %d members", c.what, p.Masked, p.Record, p.Person,
				p.Records, p.Members)
		}
		if want := map[bool]string{true: "household", false: "person"}[c.members > 0]; p.Unit != want {
			t.Errorf("%s: of a %s", c.what, p.Unit)
		}
	}
}

// Two columns that share draws tell of each other, whichever of them names the other.
func TestPrivacyOfSharedDraws(t *testing.T) {
	for _, columns := range []string{
		"  wage: {role: sensitive, decimals: 2, same_as: past}\n  past: {role: sensitive, decimals: 2}\n",
		"  wage: {role: sensitive, decimals: 2}\n  past: {role: sensitive, decimals: 2, same_as: wage}\n",
	} {
		p := privacyOf(t, "", columns,
			"{truncate: {columns: [wage, past], lower: 0, upper: 1000}}, {noise: {columns: [wage, past], sd: 500, distribution: laplace}}", "")
		for _, name := range []string{"wage", "past"} {
			if got := p.Of(name); !math.IsNaN(float64(got.Epsilon)) || !math.IsNaN(float64(got.Metric)) ||
				!strings.Contains(got.Not, "same_as") {
				t.Errorf("%s: %s: %+v", columns, name, got)
			}
		}
	}
}

// passing is a sink that releases more than columns.
type passing struct {
	connectors.SinkConfig
	more string
}

func (s passing) Abilities() connectors.SinkConfigAbilities {
	return connectors.SinkConfigAbilities{PassesMore: s.more}
}

func TestPrivacyBesideColumns(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte("wage\n1.5\n2.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pl := planFor(t, parsed(t, dir, "columns:\n"+ofWage+"masks: ["+clip+"]\nassess: {privacy: {}}\n"), false)
	if p := pl.Privacy(); !alike(float64(p.Record.Epsilon), math.Sqrt2*2) {
		t.Errorf("%+v", p.Record)
	}
	csv := pl.Config.Sink.Config
	for more, want := range map[string]string{"the message's key": "the message's key leaves as it is",
		"": "what the sink adds to a record's columns leaves as it is"} {
		pl.Config.Sink.Config = passing{csv, more} // one that says nothing may add something
		p := pl.Privacy()
		if !math.IsNaN(float64(p.Record.Epsilon)) || !strings.Contains(p.Person.Not, want) ||
			!alike(float64(p.Of("wage").Epsilon), math.Sqrt2*2) {
			t.Errorf("%+v", p)
		}
	}
}

// A sample multiplies δ and leaves ε. The draws' resolution takes some of δ: ε is up to 5 % greater than without.
func TestPrivacyOfASample(t *testing.T) {
	normal := clipped + "{noise: {columns: [wage], sd: 5000}}"
	p := privacyOf(t, "", ofWage, "{sample: {rate: 0.1}}, "+normal, "delta: 1e-7")
	if got, want := float64(p.Of("wage").Epsilon), privacy.GaussianEpsilon(0.02, 1e-6); !(got >= want &&
		got < 1.05*want) || *p.Rate != 0.1 {
		t.Errorf("ε %v, want %v", got, want)
	}
	p = privacyOf(t, "", ofWage, "{sample: {rate: 0.1}}, "+clip, "")
	if got := p.Of("wage"); !alike(float64(got.Epsilon), math.Sqrt2*2) {
		t.Errorf("pure: %+v", got)
	}
	// Three records, each drawn by itself: at least one is with probability 0.3 at most.
	p = privacyOf(t, "", ofWage, "{sample: {rate: 0.1}}, "+normal, "delta: 1e-7, records: 3")
	if got, want := float64(p.Person.Epsilon), privacy.GaussianEpsilon(0.06, 1e-7/0.3); !(got >= want && got < 1.05*want) {
		t.Errorf("three records: ε %v, want %v", got, want)
	}
}

// Nothing is stated unless it is asked for: by the section, or by a rule.
func TestPrivacyIsAskedFor(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte("wage\n1.5\n2.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	of := func(rest string) *Plan {
		return planFor(t, parsed(t, dir, "columns:\n"+ofWage+"masks: ["+clip+"]\n"+rest), false)
	}
	if p := of("").Privacy(); p != nil {
		t.Errorf("unasked: %+v", p)
	}
	for _, rest := range []string{"assess: {privacy: {}}\n", "gate: {rules: [{max_epsilon: 3}]}\n",
		"gate: {rules: [{column: wage, max_metric_epsilon: 3}]}\n"} {
		if of(rest).Privacy() == nil {
			t.Errorf("%s: nothing", rest)
		}
	}
	if err := of("gate: {rules: [{max_epsilon: 2.83}, {column: wage, max_metric_epsilon: 0.003}]}\n").PrivacyHolds(); err != nil {
		t.Error(err)
	}
	err := of("gate: {rules: [{max_epsilon: 2.82}, {column: wage, max_epsilon: 1}, {column: wage, min_rmse: 1}]}\n").
		PrivacyHolds()
	if err == nil || !strings.Contains(fmt.Sprint(err), "gate.rules[0]") ||
		!strings.Contains(fmt.Sprint(err), "gate.rules[1]: wage: ε at most 1 does not hold") {
		t.Errorf("broken: %v", err)
	}
}
