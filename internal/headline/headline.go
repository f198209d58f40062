// Package headline is what a report says before any detail: the verdict in a word and
// a sentence, and the few figures that decide whether a release may leave, each held
// against its rule. A page, a terminal, a printed sheet and the JSON all show one
// Headline; none of them words or colours a figure of its own.
package headline

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// Tone is the colour of a verdict or a figure, by its word in the JSON.
type Tone string

// The tones.
const (
	Good    Tone = "good"    // green: what was demanded holds
	Bad     Tone = "bad"     // red: it does not
	Amber   Tone = "amber"   // records were lost, or a figure is approximate or could not be computed
	Neutral Tone = "neutral" // grey: nothing was demanded
)

// Sign replaces the colour of the tone where there are no colours.
func (t Tone) Sign() string {
	switch t {
	case Good:
		return "✓"
	case Amber:
		return "!"
	case Neutral:
		return "–"
	}
	return "✗"
}

// AltText is the tone of a figure in words, for readers who see neither colour nor sign.
func (t Tone) AltText() string {
	switch t {
	case Good:
		return "within its rule"
	case Amber:
		return "with a caution"
	case Neutral:
		return "no rule"
	}
	return "beyond its rule"
}

// rank orders tones by how much they ask for attention.
func (t Tone) rank() int {
	switch t {
	case Neutral:
		return 0
	case Good:
		return 1
	case Amber:
		return 2
	}
	return 3
}

// Worse returns the tone that asks for more attention.
func (t Tone) Worse(u Tone) Tone {
	if u.rank() > t.rank() {
		return u
	}
	return t
}

// Headline is the verdict with its figures.
type Headline struct {
	Word    string   `json:"word" doc:"Released, Withheld, Stopped or Gate failed; Measured if nothing was released or judged"`
	Line    string   `json:"line" doc:"the verdict in a sentence"`
	Tone    Tone     `json:"tone" doc:"good: all rules hold; bad: a rule does not hold; amber: all rules hold, but records were lost; neutral: there were no rules"`
	Figures []Figure `json:"figures" doc:"the figures that decide whether the data may be released"`
	// Assumptions are what the figures rest on that the data do not show.
	Assumptions []string `json:"assumptions,omitempty" doc:"assumptions of the figures, which the data do not show"`
}

// Figure is one figure of a headline. What it is about, its number, and how that is
// written for people.
type Figure struct {
	Measure string `json:"measure" doc:"name of the limit that a rule can set on this figure, or known, bias, precision, inversion, lost"`
	Column  string `json:"column,omitempty" doc:"the column of this figure; the worst one if there are several"`
	// Combinations is the number of keys of the sets that the figure is about; 0: all keys.
	Combinations int          `json:"combinations,omitempty" doc:"number of keys of the sets that the figure is about; absent if it is about all keys together"`
	Label        string       `json:"label" doc:"the name of the figure, in words"`
	Value        assess.Float `json:"value" doc:"the value; null if it was not measured"`
	Text         string       `json:"text" doc:"the value, formatted for people; – if it was not measured"`
	Unit         string       `json:"unit,omitempty" doc:"what the text counts, or its unit"`
	Note         string       `json:"note,omitempty" doc:"what the figure refers to, how it was computed and what is not known about it"`
	Rule         string       `json:"rule,omitempty" doc:"the limit with which the value is compared, formatted for people"`
	Tone         Tone         `json:"tone" doc:"good: its rule holds; bad: its rule does not hold; amber: approximate, or it could not be computed; neutral: it has no rule"`
}

// Add puts a remark behind a figure's note.
func (f *Figure) Add(remark string) {
	switch {
	case remark == "":
	case f.Note == "":
		f.Note = remark
	default:
		f.Note += "; " + remark
	}
}

// Hold sets the tone of a figure from the rules about it: red where one does not
// hold, amber where all do and the figure is doubtful, grey without any. The limit
// that is shown is that of a broken rule, else of the first.
func (f *Figure) Hold(rules []assess.RuleVerdict, doubt string, limit func(assess.RuleVerdict) string) {
	f.Tone = Neutral
	for i, rule := range rules {
		t := Good
		if !rule.Passed {
			t = Bad
		}
		if i == 0 || t == Bad && f.Tone != Bad {
			f.Tone, f.Rule = t, limit(rule)
		}
	}
	if doubt != "" {
		f.Tone = f.Tone.Worse(Amber)
		f.Add(doubt)
	}
}

// Beside formats the figure's value and its limit so that the texts show whether the value is
// within the limit, and returns the limit's text. A figure that was not measured keeps its text.
func (f *Figure) Beside(value, limit float64, as, bound figure.Writing) string {
	text, rule := figure.Beside(value, limit, as, bound)
	if !math.IsNaN(value) {
		f.Text = text
	}
	return rule
}

// Named are the rules of one measure.
func Named(rules []assess.RuleVerdict, measures ...string) (list []assess.RuleVerdict) {
	for _, r := range rules {
		for _, m := range measures {
			if r.Measure == m {
				list = append(list, r)
			}
		}
	}
	return list
}

// WholePopulation is the assumption of a risk that no weights were given for.
const WholePopulation = "without sampling weights (uniqueness.weight) the file is taken as the whole population"

// Subject is what is known of the respondents beside their measures.
type Subject struct {
	Identity   *assess.Identity // nil: not searched for
	Population bool             // weights say how many of the population a record stands for
	// Unknown says why nothing can be inverted, "" where it was only not asked for.
	Unknown string
}

// Respondents are the figures about the respondents: each measure of
// assess.RespondentMeasures that was found, that a rule is about, or that is looked at
// by default, and what was computed back from the list of masks. So a measure that is
// new in the table is shown without a line here.
func Respondents(s Subject, rules []assess.RuleVerdict) (figures []Figure, assumptions []string) {
	id := s.Identity
	if id == nil {
		id = assess.Unmeasured()
	}
	for i := range assess.RespondentMeasures {
		m := &assess.RespondentMeasures[i]
		for subset, about := range bySubset(Named(rules, m.Name)) {
			f := respondent(m, subset, about, s, id)
			if f == nil {
				continue
			}
			if m.Population && !math.IsNaN(float64(f.Value)) && !s.Population {
				assumptions = appendNew(assumptions, WholePopulation)
			}
			figures = append(figures, *f)
		}
	}
	return append(figures, inverted(id, s.Unknown, Named(rules, "inversion"))), assumptions
}

// bySubset yields the rules about all keys together, under 0 and even if there are none, and then
// those about sets of some of them.
func bySubset(rules []assess.RuleVerdict) iter.Seq2[int, []assess.RuleVerdict] {
	by := map[int][]assess.RuleVerdict{0: nil}
	for _, r := range rules {
		by[r.Combinations] = append(by[r.Combinations], r)
	}
	return func(yield func(int, []assess.RuleVerdict) bool) {
		for _, subset := range slices.Sorted(maps.Keys(by)) {
			if !yield(subset, by[subset]) {
				return
			}
		}
	}
}

// respondent is the figure of one measure, about all keys or the sets of some of them; nil if it
// is not to be shown.
func respondent(m *assess.RespondentMeasure, subset int, about []assess.RuleVerdict, s Subject,
	id *assess.Identity) *Figure {
	v := float64(m.ValueBy(subset, id))
	if math.IsNaN(v) && len(about) > 0 {
		v = float64(about[0].Found)
	}
	if math.IsNaN(v) && len(about) == 0 && (!m.ByDefault || m.Loss) {
		return nil
	}
	f := &Figure{Measure: m.Name, Combinations: subset, Label: cmp.Or(m.Label, m.Name), Value: assess.Float(v)}
	if subset > 0 {
		f.Label += fmt.Sprintf(" by %d keys", subset)
	}
	f.Text, f.Unit = written(m, v)
	switch {
	case subset > 0:
	case id.KByPersons && m.Name == "min_k":
		f.Unit = counted(v, "person", "persons")
		f.Add("by all records of a person together; of single records it is greater")
	case id.RiskByPersons && m.Name == "max_individual_risk":
		f.Add("by all records of a person together; of single records it is less")
	}
	doubt := ""
	switch {
	case math.IsNaN(v) && m.Counts() && id.Uncounted != "":
		f.Note = NotMeasured
		doubt = id.Uncounted
	case math.IsNaN(v) && m.Part == "population" && id.Unfitted != "":
		f.Note = NotMeasured
		doubt = id.Unfitted
	case math.IsNaN(v) && id.Sampled && !m.FromSample:
		doubt = "a sample does not tell it: assess.sample: all"
	case math.IsNaN(v):
		f.Note = NotMeasured
		if len(about) > 0 {
			doubt = "so that its rule cannot hold"
		}
	case id.Sampled && m.Loss:
		doubt = "found among a sample"
	case id.Sampled:
		doubt = "found among a sample, where people are found more easily than in the whole release"
	}
	if m.Population && !math.IsNaN(v) && !s.Population {
		f.Add(WholePopulation)
	}
	f.Hold(about, doubt, func(r assess.RuleVerdict) string {
		limit := f.Beside(v, float64(r.Limit), Value(m), Limit(m))
		return bound(m.Least, strings.TrimSpace(limit+" "+counted(float64(r.Limit), m.One, m.Many)))
	})
	return f
}

// inverted is what was computed back from the list of masks.
func inverted(id *assess.Identity, unknown string, rules []assess.RuleVerdict) Figure {
	f := Figure{Measure: "inversion", Label: "computed back", Value: assess.Float(math.NaN()), Text: "–",
		Note: cmp.Or(unknown, NotMeasured)}
	switch {
	case id.Inverted != nil:
		f.Value = assess.Float(*id.Inverted)
	case len(rules) > 0:
		f.Value = rules[0].Found
	}
	doubt := ""
	if v := float64(f.Value); !math.IsNaN(v) {
		f.Text, f.Unit, f.Note = figure.Amount(v), counted(v, "value", "values"), ""
		if v > 0 {
			f.Note = strings.Join(id.InvertedBy, "; ")
		}
		if id.Sampled {
			doubt = "counted among a sample"
		}
	}
	f.Hold(rules, doubt, func(assess.RuleVerdict) string { return "0 values" })
	if v := float64(f.Value); v > 0 {
		f.Tone = Bad // no rule need say that this is wrong
	}
	return f
}

// bound words a limit.
func bound(least bool, limit string) string {
	if least {
		return "at least " + limit
	}
	return "at most " + limit
}

// written is how a measure about the respondents is written, and what it counts.
func written(m *assess.RespondentMeasure, v float64) (text, unit string) {
	if math.IsNaN(v) {
		return "–", ""
	}
	text, _ = Value(m)(v, 0)
	return text, counted(v, m.One, m.Many)
}

// Value is how a measure about the respondents is written.
func Value(m *assess.RespondentMeasure) figure.Writing {
	switch m.Form {
	case assess.AsShare:
		return figure.Risking
	case assess.AsProbability:
		return figure.Estimated(figure.RiskDigits)
	}
	return figure.Counted
}

// Limit is how a limit of it is written.
func Limit(m *assess.RespondentMeasure) figure.Writing {
	if m.Form == assess.AsShare {
		return figure.StatedShare
	}
	return figure.Stated
}

// counted is the word for what a number counts.
func counted(v float64, one, many string) string {
	if v == 1 {
		return one
	}
	return many
}

// NotMeasured is the note of a figure that was not requested.
const NotMeasured = "not measured"

func appendNew(list []string, s string) []string {
	for _, t := range list {
		if t == s {
			return list
		}
	}
	return append(list, s)
}
