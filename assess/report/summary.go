package report

import (
	"cmp"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/headline"
)

// What a summary shows of many columns and reasons; the rest is counted and stands in the report.
const (
	wholeColumns = 6  // masked columns, each with its table
	foldedMost   = 3  // of more columns, those with a table: the ones of broken rules, then the best known
	foldedLines  = 30 // of the others, one line each
	reasonLines  = 5
)

// Summary writes the results of a run for a terminal: records, utility and risk of each
// masked column, what intruders find, the gate with its advice, and the files, one line
// each as given. Of many columns it shows those that need a decision, and of the others a line
// each. Lines have at most width columns (0: 100; no less than 60), except those of files. With
// color it uses ANSI bold, dim, green and red. Errors of w are not returned, since a summary that
// cannot be shown changes nothing; the caller finds them when it flushes w.
func (r *Report) Summary(w io.Writer, color bool, width int, files []string) {
	s := summary{Terminal: figure.NewTerminal(color, width)}
	s.head(r)
	s.columns(r)
	s.intruder(r.Attack)
	s.privacy(r.Privacy)
	s.ledger(r)
	s.gate(r)
	if len(files) > 0 {
		s.Line(s.bold("Files"))
		for _, f := range files {
			s.Line("  " + printable(f))
		}
		s.Line("")
	}
	_, _ = io.WriteString(w, s.String())
}

type summary struct {
	figure.Terminal
	plain bool // without colours, words of the program are ASCII
}

func (s *summary) bold(text string) string { return s.Paint("1", text) }
func (s *summary) dim(text string) string  { return s.Paint("2", text) }

func (s *summary) sign(good bool) string {
	if good {
		return s.Paint("32", "✓")
	}
	return s.Paint("31", "✗")
}

func (s *summary) head(r *Report) {
	v := r.verdict()
	color := colours[v.Tone]
	word := v.Word
	if s.Color {
		word = s.Paint("1;"+color, word)
	}
	s.Line("")
	s.Line(s.Paint(color, ascii(v.Tone.Sign())) + " " + word + "  " + s.bold(cut(printable(r.Name), s.Width-24)))
	s.paragraph(ascii(v.Line))
	s.paragraph(ascii(printable(v.Reason)))
	records := r.recordsLine()
	if t := took(r.Finished.Sub(r.Started)); t != "" {
		records += "; " + t
	}
	s.paragraph(records)
	s.reasons(r.Records.Reasons)
	for _, warning := range r.Warnings {
		s.remark("warning: " + ascii(printable(warning)))
	}
	for _, line := range r.missingLines() {
		s.paragraph(ascii(printable(line)))
	}
	for _, o := range r.Loosened {
		s.paragraph("loosened: " + printable(o.Path) + " by " + printable(o.Origin))
	}
	s.figures(r.Headline())
	s.Line("")
}

// ReasonsByNumber returns the reasons of the quarantine, the most frequent first.
func (r Records) ReasonsByNumber() []string {
	of := r.Reasons
	return slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b))
	})
}

// reasons writes why records are in quarantine, the most frequent reasons first.
func (s *summary) reasons(of map[string]int64) {
	names := Records{Reasons: of}.ReasonsByNumber()
	for i, name := range names {
		text := count(of[name]) + " of them: " + printable(name)
		if i == reasonLines {
			text = plural(int64(len(names)-i), "reason", "reasons") + " more in the report"
		}
		s.Wrapped("    ", "", s.terminalText(text))
		if i == reasonLines {
			return
		}
	}
}

// recordsLine writes the numbers of records read, released and not released.
func (r *Report) recordsLine() string {
	var parts []string
	for _, c := range r.recordCells() {
		parts = append(parts, c.Text+" "+c.Label)
	}
	return strings.Join(parts, ", ")
}

// colours are those of the tones.
var colours = map[headline.Tone]string{headline.Good: "32", headline.Bad: "31", headline.Amber: "33",
	headline.Neutral: "2"}

// figures writes a headline's figures: sign, words, number, and remarks, which continue on the
// next line, and begin there if the terminal is narrow.
func (s *summary) figures(h *headline.Headline) {
	const label, value = 30, 24
	indent := strings.Repeat(" ", 3+cells(s.signOf(headline.Good))+label-2+value)
	if s.Width < besideFrom {
		indent = strings.Repeat(" ", 6)
	}
	s.Line("")
	for _, f := range h.Figures {
		more := "no rule"
		if f.Rule != "" {
			more = "rule: " + f.Rule
		}
		text, unit := s.terminalText(f.Text), s.terminalText(f.Unit)
		if unit != "" && cells(text+" "+unit) < value {
			text += " " + unit
		} else {
			more = unit + after("; ", more)
		}
		more = strings.TrimPrefix(more, "; ") + after("; ", f.Note)
		head := "  " + s.Paint(colours[f.Tone], s.signOf(f.Tone)) + " " + pad(s.short(f.Label, label-3), label-2) +
			pad(s.short(text, value-1), value)
		if s.Width < besideFrom {
			s.Line(head)
			head = indent
		}
		for _, l := range wrap(s.terminalText(more), s.Width-len(indent)) {
			s.Line(head + s.dim(l))
			head = indent
		}
	}
}

// terminalText converts a text of the page for a terminal.
func (s *summary) terminalText(text string) string {
	text = plainOf(ascii(printable(text)))
	if s.plain {
		return s.Words(text)
	}
	return text
}

// short is terminalText, cut to a width.
func (s *summary) short(text string, width int) string {
	text = cut(s.terminalText(text), width)
	if s.plain {
		return s.Words(text)
	}
	return text
}

// signOf returns the sign of a tone, or a word if signs cannot be used.
func (s *summary) signOf(t headline.Tone) string {
	if s.plain && !s.Color {
		return pad(s.Words(t.Sign()), 3)
	}
	return t.Sign()
}

// columns writes the masked columns: all with their tables, or of many those that need a decision.
func (s *summary) columns(r *Report) {
	masked := r.ranked()
	whole := len(masked)
	if whole > wholeColumns {
		whole = foldedMost
	}
	for _, c := range masked[:whole] {
		s.column(c, labelOf(r.Labels, c.Name))
	}
	if whole < len(masked) {
		s.folded(r, masked[whole:])
	}
}

// ranked returns the masked columns: in their order, or if there are many those of broken rules first,
// then those that are known best, whatever their units.
func (r *Report) ranked() (masked []*assess.ColumnMeasures) {
	for i := range r.Columns {
		if r.Columns[i].Masked {
			masked = append(masked, &r.Columns[i])
		}
	}
	if len(masked) <= wholeColumns {
		return masked
	}
	broken := map[string]bool{}
	for _, rule := range r.Gate.Rules {
		if !rule.Passed {
			broken[rule.Column] = true
		}
	}
	urgency := map[string]float64{}
	for _, c := range masked {
		urgency[c.Name] = r.severity(c)
	}
	slices.SortStableFunc(masked, func(a, b *assess.ColumnMeasures) int {
		if broken[a.Name] != broken[b.Name] {
			if broken[a.Name] {
				return -1
			}
			return 1
		}
		return cmp.Compare(urgency[b.Name], urgency[a.Name])
	})
	return masked
}

// severity is how well a column is known, in its SDs; what could not be computed comes first.
func (r *Report) severity(c *assess.ColumnMeasures) float64 {
	if _, share := r.knownBest(c); !math.IsNaN(share) {
		return share
	}
	return math.Inf(1)
}

// folded writes a line of each column, the best known first.
func (s *summary) folded(r *Report, list []*assess.ColumnMeasures) {
	name := s.Width - 36
	s.Line(s.dim("  " + pad("the other columns", name) + left("efficiency", 14) + left("known best to", 18)))
	for i, c := range list {
		if i == foldedLines {
			s.Line("  " + plural(int64(len(list)-i), "column", "columns") + " more in the report")
			break
		}
		known, _ := r.knownBest(c)
		s.Line("  " + pad(cut(printable(c.Name), name-2), name) + left(plainPercent(c.Utility.Efficiency), 14) +
			left(s.short(known.Text, 17), 18))
	}
	s.Line("")
}

// column writes utility and the risks, one line a target, index beside position.
func (s *summary) column(c *assess.ColumnMeasures, label string) {
	name := s.bold(cut(printable(c.Name), s.Width*6/10))
	if c.Unit != "" {
		name += "  " + cut(printable(c.Unit), s.Width*3/10)
	}
	s.Line(name)
	if label != "" {
		s.Line("  " + s.dim(s.short(label, s.Width-2)))
	}
	o, y, u := c.Original, c.Released, c.Utility
	s.wrapped("efficiency " + plainPercent(u.Efficiency) + " (U/U0)   U " + plain(float64(u.U), digits) +
		"   U0 " + plain(float64(u.U0), digits) + "   bias " + plain(float64(u.Bias), 3))
	if percent(float64(u.EfficiencyGate)) != percent(float64(u.Efficiency)) {
		gate := figure.LeftOf(float64(u.EfficiencyGate))
		s.wrapped("precision of the mean " + strings.ReplaceAll(gate, "\u00a0", " ") +
			", by which the gate judges: a lower variance is no utility")
	}
	s.wrapped("mean " + plain(float64(o.Mean), digits) + " -> " + plain(float64(y.Mean), digits) +
		"   SD " + plain(float64(o.SD), digits) + " -> " + plain(float64(y.SD), digits) +
		"   n " + count(o.N) + nulls(o.Nulls))
	s.spikes(c.Spikes)
	s.remark(ascii(c.Remark))
	s.Line("")
	s.risks(c)
	s.tells(c)
	s.order(c)
	s.Line("")
}

// block writes a text in lines of a width, the first of them behind one indent and the others behind another.
func (s *summary) block(first, others, text string, width int) {
	for _, l := range wrap(text, width) {
		s.Line(first + l)
		first = others
	}
}

func (s *summary) paragraph(text string) { s.block("  ", "  ", text, s.Width-2) }

// remark writes a paragraph that is to be seen.
func (s *summary) remark(text string) { s.block("  "+s.Paint("33", "! "), "    ", text, s.Width-4) }

// hanging writes a paragraph whose further lines are indented.
func (s *summary) hanging(text string) { s.block("  ", "    ", text, s.Width-6) }

// wrapped writes a line, or several where the terminal is narrow.
func (s *summary) wrapped(text string) {
	if cells(text)+2 <= s.Width {
		s.Line("  " + text)
		return
	}
	s.block("  ", "    ", text, s.Width-4)
}

// spikes writes the parts of a column of which many records share a value. A value that is not 0 stands in the report
// alone: it is a respondent's, and a terminal may be a log.
func (s *summary) spikes(of *assess.Spikes) {
	if of == nil {
		return
	}
	for _, k := range of.Values {
		at := "one value, in the report"
		if k.Value == 0 {
			at = "0"
		}
		s.wrapped("spike at " + at + ": " + plainPercent(k.Share) + " -> " + plainPercent(k.Released) +
			" of the values; kept for " + plainPercent(k.Kept) + " of those who have it")
	}
	const few = 10 // their mean and SD would tell single values
	r := of.Rest
	if r.N < few {
		return
	}
	s.wrapped("the others: known to ± " + plain(float64(r.RMSE), riskDigits) + " by index in this release   mean " +
		plain(float64(r.Original.Mean), digits) + " -> " + plain(float64(r.Released.Mean), digits) +
		"   SD " + plain(float64(r.Original.SD), digits) + " -> " + plain(float64(r.Released.SD), digits))
}

func plainPercent(v assess.Float) string {
	return strings.ReplaceAll(percent(float64(v)), "\u00a0", " ")
}

func nulls(n int64) string {
	if n == 0 {
		return ""
	}
	return ", " + count(n) + " nulls"
}

func (s *summary) risks(c *assess.ColumnMeasures) {
	var targets, states []string
	found := map[[2]string]assess.Risk{}
	for _, k := range c.Risk {
		if k.Knowledge == assess.KnowledgeOrder {
			continue // it has a line of its own
		}
		key := [2]string{k.Target, k.Knowledge}
		if _, twice := found[key]; twice {
			continue
		}
		found[key] = k
		targets = appendNew(targets, k.Target)
		states = appendNew(states, k.Knowledge)
	}
	if len(targets) == 0 {
		return
	}
	sort.SliceStable(states, func(i, j int) bool { return rank(states[i]) < rank(states[j]) })
	// More than three states of knowledge would not fit the line.
	states = states[:min(len(states), 3)]
	const first = 11
	known, each, by, to := 19, 29, "", ": known to"
	if s.Width < first+3*each {
		known, each, by, to = 12, min((s.Width-first)/3, 22), "by ", ""
		if s.Width < first+3*21 {
			states = states[:min(len(states), 2)]
			each = 22
		}
	}
	head := pad("  target", first)
	for _, k := range states {
		head += left(by+cut(printable(k), 8)+to, known) + left("R", each-known)
	}
	s.Line(s.dim(head))
	for _, t := range targets {
		row := pad("  "+cut(printable(t), first-3), first)
		for _, k := range states {
			risk, ok := found[[2]string{t, k}]
			if !ok {
				row += left("–", known) + left("–", each-known)
				continue
			}
			sign := "± "
			if risk.Approximate {
				sign = "~ "
			}
			row += left(sign+plain(float64(risk.RMSE), riskDigits), known) + left(plain(float64(risk.R), riskDigits), each-known)
		}
		s.Line(row)
	}
}

// tells names the columns that tell of the values of a masked one.
func (s *summary) tells(c *assess.ColumnMeasures) {
	for _, k := range c.Risk {
		if k.Knowledge == assess.KnowledgeRecord && len(k.Tells) > 0 {
			s.hanging("told by the other columns of the record: " + printable(strings.Join(k.Tells, ", ")))
			return
		}
	}
}

// order writes what the order of the records discloses, if anything.
func (s *summary) order(c *assess.ColumnMeasures) {
	for _, k := range c.Risk {
		if k.Knowledge == assess.KnowledgeOrder && c.Order != nil {
			s.wrapped("by the order of the records: known to ± " + plain(float64(k.RMSE), riskDigits) + "   R " +
				plain(float64(k.R), riskDigits) +
				"   (" + printable(c.Order.Fit) + ")")
		}
	}
}

// rank orders states of knowledge: those that risk is judged by come first.
func rank(knowledge string) int {
	switch knowledge {
	case "index":
		return 0
	case "record":
		return 1
	case "position":
		return 2
	}
	return 3
}

func appendNew(list []string, s string) []string {
	for _, t := range list {
		if t == s {
			return list
		}
	}
	return append(list, s)
}

func (s *summary) gate(r *Report) {
	if len(r.Gate.Rules) == 0 {
		return
	}
	s.Line(s.bold("Gate"))
	for i, rule := range r.Gate.Rules {
		v := r.ruleView(i, rule)
		found := plainOf(v.Found.Text + printable(v.FoundInUnit))
		s.block("  "+s.sign(rule.Passed)+" ", "    ", printable(v.Rule)+"; found "+found, s.Width-6)
		if !rule.Passed && rule.Advice != "" {
			s.block("      ", "      ", "to change: "+printable(rule.Advice), s.Width-8)
		}
	}
	s.Line("")
}

// raised matches a power of ten with one digit, which Go writes with two.
var raised = regexp.MustCompile(`×10(-?)(\d)\b`)

// plainOf converts numbers from the form of the page to that of the terminal.
func plainOf(text string) string {
	text = strings.NewReplacer("−", "-", "\u00a0", " ", "∞", "infinite", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4",
		"⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9", "⁻", "-").Replace(text)
	return strings.ReplaceAll(raised.ReplaceAllString(text, "e${1}0$2"), "×10", "e")
}

// ascii replaces typographic apostrophes, for terminals.
func ascii(s string) string { return strings.ReplaceAll(s, "’", "'") }
