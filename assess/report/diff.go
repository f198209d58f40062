package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/headline"
)

// DifferenceSchemaName is the value of a difference's "schema" member.
const DifferenceSchemaName = "sdlfilter.diff/1"

// Difference is what has changed between two reports for those who decide about a release, or between two data files.
// It is as confidential as they are.
type Difference struct {
	Schema  string   `json:"schema"`
	Before  Compared `json:"before"`
	After   Compared `json:"after"`
	Changes []Change `json:"changes"` // those that ask for a decision first
}

// Compared is one of two reports, or of two data files.
type Compared struct {
	Name     string    `json:"name"`
	Finished time.Time `json:"finished,omitzero"` // absent of data files
	Verdict  string    `json:"verdict"`
	Version  string    `json:"version,omitempty"` // absent of data files
}

// Change is one thing that is not the same in two reports.
type Change struct {
	About  string `json:"about"` // verdict, rule, figure, column, mask, records, setting or warning
	Name   string `json:"name"`
	Before string `json:"before"` // "" where it was not there
	After  string `json:"after"`  // "" where it is there no more
	// bad: riskier or less useful, or a rule does not hold; good: the contrary; neutral: neither, or it is not known
	Tone headline.Tone `json:"tone"`
}

// Compare returns what has changed from one report to another. Figures count as changed where the
// texts are that people read.
func Compare(before, after *Report) *Difference {
	a, b := before.Headline(), after.Headline()
	d := &Difference{Schema: DifferenceSchemaName, Before: compared(before, a), After: compared(after, b),
		Changes: []Change{}}
	d.add("verdict", "verdict", a.Word, b.Word, turned(a.Tone, b.Tone))
	d.rules(before, after)
	d.figures(a.Figures, b.Figures)
	d.columns(before, after)
	d.masks(before.Masks, after.Masks)
	d.records(before, after)
	d.codes(before.MissingCodes, after.MissingCodes)
	d.settings(before, after)
	slices.SortStableFunc(d.Changes, func(x, y Change) int { return cmp.Compare(urgency(x), urgency(y)) })
	return d
}

func compared(r *Report, h *headline.Headline) Compared {
	return Compared{r.Name, r.Finished, h.Word, r.Version}
}

func (d *Difference) add(about, name, before, after string, tone headline.Tone) {
	if before != after {
		d.Changes = append(d.Changes, Change{about, name, before, after, tone})
	}
}

// turned is the tone of a change from one tone to another.
func turned(a, b headline.Tone) headline.Tone {
	switch {
	case a == b:
		return headline.Neutral
	case b == headline.Bad, a == headline.Good:
		return headline.Bad
	case a == headline.Bad, b == headline.Good:
		return headline.Good
	}
	return headline.Neutral
}

// urgency orders changes: what got worse, what got better, the rest.
func urgency(c Change) int {
	switch {
	case c.About == "verdict":
		return 0
	case c.Tone == headline.Bad:
		return 1
	case c.Tone == headline.Good:
		return 2
	}
	return 3
}

// both calls f for each key of two lists in order: those of the second, and where they stood before.
func both[T any](before, after []T, key func(T) string, f func(name string, a, b *T)) {
	at := func(list []T) (map[string]*T, []string) {
		found, names := map[string]*T{}, []string(nil)
		for i := range list {
			name := key(list[i])
			for found[name] != nil {
				name += " again"
			}
			found[name] = &list[i]
			names = append(names, name)
		}
		return found, names
	}
	a, names := at(before)
	b, more := at(after)
	for _, name := range more {
		if a[name] == nil {
			names = append(names, name)
		}
	}
	for _, name := range names {
		f(name, a[name], b[name])
	}
}

// rules compares the rules of the gates and whether they hold.
func (d *Difference) rules(before, after *Report) {
	type state struct {
		rule, found string
		passed      bool
	}
	of := func(r *Report) (list []state) {
		for i, rule := range r.Gate.Rules {
			v := r.ruleView(i, rule)
			list = append(list, state{plainOf(v.Rule), plainOf(v.Found.Text + v.FoundInUnit), rule.Passed})
		}
		return list
	}
	words := func(s *state) string {
		switch {
		case s == nil:
			return ""
		case s.passed:
			return "holds; " + s.found
		}
		return "does not hold; " + s.found
	}
	both(of(before), of(after), func(s state) string { return s.rule }, func(name string, a, b *state) {
		tone := headline.Neutral
		switch {
		case b == nil: // a rule that nobody demands any more
			tone = headline.Bad
		case a == nil || a.passed != b.passed:
			if tone = headline.Good; !b.passed {
				tone = headline.Bad
			}
		}
		d.add("rule", name, words(a), words(b), tone)
	})
}

// figures compares what decides.
func (d *Difference) figures(before, after []headline.Figure) {
	words := func(f *headline.Figure) string {
		if f == nil {
			return ""
		}
		text := strings.TrimSpace(f.Text + " " + f.Unit)
		if f.Column != "" {
			text += " (" + f.Column + ")"
		}
		return plainOf(text)
	}
	both(before, after, func(f headline.Figure) string { return f.Label }, func(name string, a, b *headline.Figure) {
		tone := headline.Neutral
		if a != nil && b != nil {
			if tone = turned(a.Tone, b.Tone); tone == headline.Neutral {
				tone = direction(a.Measure, float64(a.Value), float64(b.Value))
			}
		}
		d.add("figure", name, words(a), words(b), tone)
	})
}

// direction says whether the value of a measure got worse: a limit max_ is worse when greater, min_ when
// less, and known is a distance. Of other measures, such as how much a category changed, more is neither.
func direction(measure string, before, after float64) headline.Tone {
	change := cmp.Compare(after, before)
	switch {
	case math.IsNaN(before) || math.IsNaN(after), change == 0:
		return headline.Neutral
	case strings.HasPrefix(measure, "min_"), measure == "known", measure == "precision":
		change = -change
	case strings.HasPrefix(measure, "max_"), measure == "bias", measure == "inversion", measure == "lost":
	default:
		return headline.Neutral
	}
	if change > 0 {
		return headline.Bad
	}
	return headline.Good
}

// columns compares which columns there are, and of masked ones how well they are known and how useful they are.
func (d *Difference) columns(before, after *Report) {
	type state struct {
		name, masked, known, efficiency string
		rmse, useful                    float64
	}
	of := func(r *Report) (list []state) {
		for i := range r.Columns {
			c := &r.Columns[i]
			s := state{name: c.Name, masked: "not masked"}
			if c.Masked {
				known, _ := r.knownBest(c)
				s.masked, s.rmse, s.useful = "masked", float64(known.Value), float64(c.Utility.Efficiency)
				s.known = plainOf(strings.TrimSpace(known.Text + " " + known.Unit))
				s.efficiency = plainOf(percent(s.useful))
			}
			list = append(list, s)
		}
		return list
	}
	both(of(before), of(after), func(s state) string { return s.name }, func(name string, a, b *state) {
		switch {
		case a == nil:
			d.add("column", name, "", b.masked, headline.Bad)
		case b == nil:
			d.add("column", name, a.masked, "", headline.Neutral)
		case a.masked != b.masked:
			d.add("column", name, a.masked, b.masked,
				map[string]headline.Tone{"masked": headline.Good, "not masked": headline.Bad}[b.masked])
		default:
			d.add("column", name+", best known to", a.known, b.known, direction("known", a.rmse, b.rmse))
			d.add("column", name+", efficiency", a.efficiency, b.efficiency, direction("precision", a.useful, b.useful))
		}
	})
}

// masks compares the masks by kind, name and columns, and their parameters.
func (d *Difference) masks(before, after []Mask) {
	name := func(m Mask) string {
		if m.Name != "" {
			return m.Mask + " " + m.Name
		}
		return m.Mask + " of " + names(m.Columns)
	}
	parameters := func(m *Mask) (texts []Member[string]) {
		for _, p := range m.Parameters {
			text, err := json.Marshal(p.Value)
			if err != nil {
				text = []byte("?")
			}
			texts = append(texts, Member[string]{p.Name, string(text)})
		}
		return append(texts, Member[string]{"columns", names(m.Columns)})
	}
	both(before, after, name, func(name string, a, b *Mask) {
		switch {
		case a == nil:
			d.add("mask", name, "", "added", headline.Neutral)
		case b == nil:
			d.add("mask", name, "there", "", headline.Bad)
		default:
			both(parameters(a), parameters(b), func(p Member[string]) string {
				return p.Name
			}, func(field string, p, q *Member[string]) {
				x, y := "", ""
				if p != nil {
					x = p.Value
				}
				if q != nil {
					y = q.Value
				}
				if most := 40; x != y && max(len(x), len(y)) > most { // a list of categories
					x, y = "one list", "another"
				}
				d.add("mask", name+", "+field, x, y, headline.Neutral)
			})
		}
	})
	if order := func(list []Mask) (s string) {
		for _, m := range list {
			s += name(m) + "; "
		}
		return s
	}; len(before) == len(after) && order(before) != order(after) {
		d.add("mask", "order of the masks", "one", "another", headline.Neutral)
	}
}

// records compares the numbers of records and why some are in quarantine.
func (d *Difference) records(before, after *Report) {
	both(before.recordCells(), after.recordCells(), func(l labelled) string {
		return l.Label
	}, func(name string, a, b *labelled) {
		x, y := "", ""
		if a != nil {
			x = plainOf(a.Text)
		}
		if b != nil {
			y = plainOf(b.Text)
		}
		d.add("records", name, x, y, headline.Neutral)
	})
	type reason struct {
		name string
		n    int64
	}
	of := func(r *Report) (list []reason) {
		for name, n := range r.Records.Reasons {
			list = append(list, reason{name, n})
		}
		slices.SortFunc(list, func(a, b reason) int { return cmp.Compare(a.name, b.name) })
		return list
	}
	both(of(before), of(after), func(r reason) string { return r.name }, func(name string, a, b *reason) {
		var x, y int64
		if a != nil {
			x = a.n
		}
		if b != nil {
			y = b.n
		}
		d.add("records", "in quarantine: "+name, count(x), count(y), direction("lost", float64(x), float64(y)))
	})
}

// codes compares how often declared codes for missing values occur.
func (d *Difference) codes(before, after []assess.MissingCodes) {
	type code struct {
		name string
		n    int64
	}
	of := func(list []assess.MissingCodes) (all []code) {
		for _, c := range list {
			for _, k := range c.Codes {
				all = append(all, code{c.Column + ", missing " + k.Code, k.Records})
			}
		}
		return all
	}
	words := func(c *code) string {
		if c == nil {
			return ""
		}
		return count(c.n)
	}
	both(of(before), of(after), func(c code) string { return c.name }, func(name string, a, b *code) {
		d.add("records", name, words(a), words(b), headline.Neutral)
	})
}

// settings compares what the figures rest on.
func (d *Difference) settings(before, after *Report) {
	d.add("setting", "key", before.KeyID, after.KeyID, headline.Neutral)
	d.add("setting", "version of the program", before.Version, after.Version, headline.Neutral)
	said := func(s string) string { return s }
	list := func(about string, a, b []string, tone headline.Tone) {
		both(a, b, said, func(name string, x, y *string) {
			switch {
			case x == nil:
				d.add(about, name, "", "there", tone)
			case y == nil:
				d.add(about, name, "there", "", headline.Neutral)
			}
		})
	}
	loosened := func(r *Report) (texts []string) {
		for _, l := range r.Loosened {
			texts = append(texts, "loosened: "+l.Path+" by "+l.Origin)
		}
		return texts
	}
	list("setting", loosened(before), loosened(after), headline.Bad)
	list("warning", before.Warnings, after.Warnings, headline.Bad)
}

// JSON returns the difference as an object.
func (d *Difference) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(d)
	return b.Bytes(), err
}

// told names what was compared.
func (d *Difference) told() string {
	if d.Before.Finished.IsZero() {
		return "is compared of data"
	}
	return "the reports tell"
}

// diffLines is how many changes a terminal shows; the JSON has all.
const diffLines = 80

// Summary writes the difference for a terminal of the given width, as Report.Summary does.
func (d *Difference) Summary(w io.Writer, color bool, width int) {
	s := summary{Terminal: figure.NewTerminal(color, width)}
	s.Line("")
	for _, c := range []struct {
		word string
		of   Compared
	}{{"before", d.Before}, {"after", d.After}} {
		s.Line("  " + pad(c.word, 8) + s.bold(cut(printable(c.of.Name), s.Width-12)))
		said := c.of.Verdict
		if !c.of.Finished.IsZero() {
			said += ", " + moment(c.of.Finished)
		}
		s.Line(strings.Repeat(" ", 10) + cut(said, s.Width-12))
	}
	s.Line("")
	if len(d.Changes) == 0 {
		s.Line("  Nothing has changed that " + d.told() + ".")
	}
	for i, c := range d.Changes {
		if i == diffLines {
			s.Line("  " + plural(int64(len(d.Changes)-i), "change", "changes") + " more (--json)")
			break
		}
		before, after := c.Before, c.After
		if before == "" {
			before = "not there"
		}
		if after == "" {
			after = "not there"
		}
		s.change(c, ascii(printable(c.Name))+": "+ascii(printable(before))+" -> "+ascii(printable(after)))
	}
	s.Line("")
	_, _ = io.WriteString(w, s.String())
}

func (s *summary) change(c Change, text string) {
	for i, l := range wrap(text, s.Width-15) {
		head := strings.Repeat(" ", 15)
		if i == 0 {
			head = "  " + s.Paint(colours[c.Tone], c.Tone.Sign()) + " " + pad(c.About, 11)
		}
		s.Line(head + l)
	}
}
