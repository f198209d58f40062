package headline

import (
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// TestHold: one failed rule makes a figure red at any place among the others. A doubt turns green
// and grey into amber and keeps red. The limit shown is the broken one.
func TestHold(t *testing.T) {
	held := assess.RuleVerdict{Rule: "wide", Passed: true}
	broken := assess.RuleVerdict{Rule: "strict"}
	for _, c := range []struct {
		rules []assess.RuleVerdict
		doubt string
		tone  Tone
		rule  string
	}{
		{nil, "", Neutral, ""},
		{nil, "approximate", Amber, ""},
		{[]assess.RuleVerdict{held}, "", Good, "wide"},
		{[]assess.RuleVerdict{held}, "approximate", Amber, "wide"},
		{[]assess.RuleVerdict{broken}, "approximate", Bad, "strict"},
		{[]assess.RuleVerdict{broken, held, held}, "", Bad, "strict"},
		{[]assess.RuleVerdict{held, broken, held}, "", Bad, "strict"},
		{[]assess.RuleVerdict{held, held, broken}, "", Bad, "strict"},
	} {
		var f Figure
		f.Hold(c.rules, c.doubt, func(r assess.RuleVerdict) string { return r.Rule })
		if f.Tone != c.tone || f.Rule != c.rule || f.Note != c.doubt {
			t.Errorf("%+v, %q: %s, compared with %q, note %q; want %s, %q", c.rules, c.doubt, f.Tone, f.Rule, f.Note, c.tone,
				c.rule)
		}
	}
	order := []Tone{Neutral, Good, Amber, Bad}
	for i, a := range order {
		for j, b := range order {
			if got := a.Worse(b); got != order[max(i, j)] {
				t.Errorf("the worse of %s and %s is %s", a, b, got)
			}
		}
	}
}

func figureOf(figures []Figure, measure string) *Figure {
	for i := range figures {
		if figures[i].Measure == measure {
			return &figures[i]
		}
	}
	return nil
}

// TestEveryMeasureShows: each measure of the table is shown if it was measured or a rule is about
// it, with its value, and in red beyond the limit. A default measure without a value is shown as
// not measured.
func TestEveryMeasureShows(t *testing.T) {
	for i := range assess.RespondentMeasures {
		m := &assess.RespondentMeasures[i]
		id := assess.Unmeasured()
		*m.ValueIn(id) = 0.5
		for _, c := range []struct {
			what  string
			id    *assess.Identity
			rules []assess.RuleVerdict
			want  Tone
			found float64
		}{
			{"found", id, nil, Neutral, 0.5},
			{"within", id, []assess.RuleVerdict{{Measure: m.Name, Passed: true, Limit: 0.5, Found: 0.5}}, Good, 0.5},
			{"beyond", id, []assess.RuleVerdict{{Measure: m.Name, Limit: 0.25, Found: 0.5}}, Bad, 0.5},
			{"of a rule alone", nil, []assess.RuleVerdict{{Measure: m.Name, Limit: 0.25, Found: 0.5}}, Bad, 0.5},
			{"demanded, not measured", nil,
				[]assess.RuleVerdict{{Measure: m.Name, Limit: 0.25, Found: assess.Float(math.NaN())}}, Bad, math.NaN()},
		} {
			figures, _ := Respondents(Subject{Identity: c.id}, c.rules)
			f := figureOf(figures, m.Name)
			if f == nil {
				t.Errorf("%s, %s: is not shown", m.Name, c.what)
				continue
			}
			same := float64(f.Value) == c.found || math.IsNaN(c.found) && math.IsNaN(float64(f.Value)) && f.Text == "–"
			if f.Tone != c.want || !same || f.Label == "" || f.Text == "" || (f.Rule == "") != (len(c.rules) == 0) {
				t.Errorf("%s, %s: %+v", m.Name, c.what, *f)
			}
			if c.rules != nil && strings.HasPrefix(f.Rule, "at least") != m.Least {
				t.Errorf("%s: the limit reads %q", m.Name, f.Rule)
			}
		}
		figures, _ := Respondents(Subject{}, nil)
		f := figureOf(figures, m.Name)
		if (f != nil) != (m.ByDefault && !m.Loss) || f != nil &&
			(f.Tone != Neutral || !strings.Contains(f.Note, NotMeasured)) {
			t.Errorf("%s, which was not requested: %+v", m.Name, f)
		}
	}
}

// TestPopulationIsAnAssumption: without weights a risk states that the file is taken as the
// population; with weights it does not.
func TestPopulationIsAnAssumption(t *testing.T) {
	id := assess.Unmeasured()
	id.MaxIndividualRisk, id.Linked = 0.5, 0.5
	figures, assumptions := Respondents(Subject{Identity: id}, nil)
	if f := figureOf(figures, "max_individual_risk"); !strings.Contains(f.Note, "uniqueness.weight") ||
		len(assumptions) != 1 {
		t.Errorf("%+v, assumptions %q", f, assumptions)
	}
	if f := figureOf(figures, "max_linked"); strings.Contains(f.Note, "population") {
		t.Errorf("linkage rests on no population: %+v", f)
	}
	if figures, assumptions = Respondents(Subject{Identity: id, Population: true}, nil); len(assumptions) != 0 ||
		figureOf(figures, "max_individual_risk").Note != "" {
		t.Errorf("weights were given: %+v, %q", figures, assumptions)
	}
	if _, assumptions = Respondents(Subject{}, nil); len(assumptions) != 0 {
		t.Errorf("nothing was measured: %q", assumptions)
	}
}

// TestSampled: a measure from a sample is amber although its rule holds; a measure that no sample
// can give is amber and has no number.
func TestSampled(t *testing.T) {
	id := assess.Unmeasured()
	id.Sampled, id.Linked = true, 0.01
	figures,
		_ := Respondents(Subject{Identity: id},
		[]assess.RuleVerdict{{Measure: "max_linked", Passed: true, Limit: 0.05, Found: 0.01}})
	if f := figureOf(figures, "max_linked"); f.Tone != Amber || f.Text != "1.0\u00a0%" ||
		!strings.Contains(f.Note, "sample") {
		t.Errorf("linked: %+v", f)
	}
	for _, measure := range []string{"min_k", "max_individual_risk"} {
		if f := figureOf(figures, measure); f.Tone != Amber || f.Text != "–" ||
			!strings.Contains(f.Note, "assess.sample: all") {
			t.Errorf("%s: %+v", measure, f)
		}
	}
}

// TestInversion: recovered values are red without any rule; none are grey without a rule and green
// with one; if the masks are unknown, the headline says so.
func TestInversion(t *testing.T) {
	found := func(n int64) *assess.Identity {
		id := assess.Unmeasured()
		id.Inverted = &n
		if n > 0 {
			id.InvertedBy = []string{"wage, by rounding"}
		}
		return id
	}
	rule := func(n float64) []assess.RuleVerdict {
		return []assess.RuleVerdict{{Measure: "inversion", Found: assess.Float(n), Passed: n == 0}}
	}
	for _, c := range []struct {
		s          Subject
		rules      []assess.RuleVerdict
		tone       Tone
		text, note string
	}{
		{Subject{Identity: found(3)}, nil, Bad, "3", "wage, by rounding"},
		{Subject{Identity: found(1)}, rule(1), Bad, "1", "wage, by rounding"},
		{Subject{Identity: found(0)}, nil, Neutral, "0", ""},
		{Subject{Identity: found(0)}, rule(0), Good, "0", ""},
		{Subject{}, rule(2), Bad, "2", ""},
		{Subject{}, nil, Neutral, "–", NotMeasured},
		{Subject{Unknown: "which masks is not known"}, nil, Neutral, "–", "which masks is not known"},
	} {
		figures, _ := Respondents(c.s, c.rules)
		if f := figureOf(figures, "inversion"); f.Tone != c.tone || f.Text != c.text || f.Note != c.note {
			t.Errorf("%+v, want %s, %q, %q", f, c.tone, c.text, c.note)
		}
	}
}
