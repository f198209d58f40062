package report

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/headline"
)

//go:embed board.html.tmpl
var boardTemplate string

//go:embed board.css
var boardCSS string

var boardPage = page("board", boardTemplate)

// What fits on one sheet; the rest is counted and stands in the report.
const (
	boardFigures  = 12
	boardRules    = 8
	boardMasks    = 7
	boardRemains  = 6
	boardSentence = 320 // cells of a sentence: the report's own are shorter, and their figures stand at the end
	boardLine     = 160 // of a note or a rule
	boardName     = 46  // of a name
	boardShort    = 84  // of each of these where the sheet is too full for them
)

// board is one sheet for those who are responsible for a release: the verdict, the reasons for
// it, the masks, the remaining risk, and room to sign.
type board struct {
	Release   string // for verify
	Report    *Report
	Headline  headlineView
	Name      string
	Line      string
	Finished  string
	Figures   []headline.Figure
	Records   []labelled
	Rules     []boardRule
	Masks     []string
	Remains   []string
	More      []string // descriptions of what did not fit
	File      string
	Signature []string // the roles that sign
}

type boardRule struct {
	Passed      bool
	Rule, Found string
}

// Board returns one page to be printed and signed, a summary of the report. It is as
// confidential as the report.
func (r *Report) Board() ([]byte, error) { return render(boardPage, "board", r.board()) }

func (r *Report) board() *board {
	h := headlineView{r.Headline(), "/verdict"}
	b := &board{
		Release: Identified{r.Release, r.Withheld != ""}.attribute(), Report: r, Headline: h, Name: cut(r.Name, boardName),
		Line: cut(h.Line, boardSentence), Finished: moment(r.Finished), Records: r.recordCells(),
		Signature: []string{"Data steward", "Statistician", "Release board"},
	}
	b.figures(h.Figures)
	b.rules(r)
	b.masks(r)
	remarks := b.remains(r, h.Headline)
	if f := r.Release; f != nil {
		b.File = "standard output"
		if f.Path != "" {
			b.File = cut(f.Path, boardLine)
		}
	}
	b.fit()
	b.more(len(h.Figures)-len(b.Figures), "figure", "figures")
	b.more(len(r.Gate.Rules)-len(b.Rules), "rule", "rules")
	b.more(len(r.Masks)-len(b.Masks), "mask", "masks")
	b.more(remarks-len(b.Remains), "remark", "remarks")
	return b
}

// more notes what did not fit.
func (b *board) more(left int, one, many string) {
	if left > 0 {
		b.More = append(b.More, plural(int64(left), one, many))
	}
}

// figures adds the first figures of the headline, in its order, so that each has its place in
// the JSON. The following ones are single rules, which are also in the list of rules.
func (b *board) figures(list []headline.Figure) {
	for _, f := range list[:min(len(list), boardFigures)] {
		f.Label, f.Unit, f.Note, f.Rule = cut(f.Label, boardName), cut(f.Unit, boardName/2), cut(f.Note, boardLine),
			cut(f.Rule, boardName)
		b.Figures = append(b.Figures, f)
	}
}

// rules adds the rules; those that do not hold come first.
func (b *board) rules(r *Report) {
	for _, passed := range []bool{false, true} {
		for i, rule := range r.Gate.Rules {
			if rule.Passed != passed || len(b.Rules) == boardRules {
				continue
			}
			v := r.ruleView(i, rule)
			b.Rules = append(b.Rules, boardRule{rule.Passed, cut(v.Rule, boardLine), cut(v.Found.Text+v.FoundInUnit, boardName)})
		}
	}
}

// masks describes the masks, one line each.
func (b *board) masks(r *Report) {
	told := map[string]bool{}
	views := r.maskViews()
	for i, m := range r.Masks[:min(len(r.Masks), boardMasks)] {
		line := m.Mask + " of " + names(withLabels(r.Labels, m.Columns, told))
		line += after(": ", views[i].Does)
		var parameters []string
		for k, p := range views[i].Parameters {
			if k < len(m.Parameters) {
				p.Value = boardValue(m.Parameters[k], p.Value)
			}
			parameters = append(parameters, p.Name+" "+p.Value)
		}
		b.Masks = append(b.Masks, cut(line, boardLine)+after("; ", cut(strings.Join(parameters, ", "), 2*boardName)))
	}
}

// boardValue returns a parameter's value; for lists and tables of categories only their number
// of entries.
func boardValue(p Member[any], text string) string {
	switch v := p.Value.(type) {
	case map[string]any:
		return fmt.Sprintf("(%d)", len(v))
	case []any:
		if p.Name == "categories" || p.Name == "labels" {
			return fmt.Sprintf("(%d)", len(v))
		}
	case string:
		if p.Name == "other" || p.Name == "upper_label" || p.Name == "lower_label" {
			return "given"
		}
	}
	return text
}

// remains adds remarks on the remaining risk and on the conditions of the figures: what intruders
// find, warnings, assumptions. It returns the number of remarks.
func (b *board) remains(r *Report, h *headline.Headline) (all int) {
	var remarks []string
	if r.Stopped != nil {
		remarks = append(remarks, capital(r.Stopped.Words())+".")
	}
	for _, l := range r.Loosened {
		remarks = append(remarks, "Loosened: "+l.Path+" by "+l.Origin+".")
	}
	if words := privacyWords(r.Privacy); words != "" {
		remarks = append(remarks, words)
	}
	remarks = append(remarks, r.Warnings...)
	remarks = append(remarks, attackFindings(r.Attack)...)
	for _, a := range h.Assumptions {
		remarks = append(remarks, "Taken for granted: "+a+".")
	}
	if unmeasured := unmeasured(h.Figures); len(unmeasured) > 0 {
		remarks = append(remarks, "Not measured: "+strings.Join(unmeasured, ", ")+".")
	}
	for _, s := range remarks[:min(len(remarks), boardRemains)] {
		b.Remains = append(b.Remains, cut(s, boardSentence))
	}
	return len(remarks)
}

func attackFindings(a *attack.Result) []string {
	if a == nil {
		return nil
	}
	return findings(a)
}

// unmeasured returns the labels of the figures without a number.
func unmeasured(figures []headline.Figure) (labels []string) {
	for _, f := range figures {
		if f.Text == "–" && !slices.Contains(labels, f.Label) {
			labels = append(labels, f.Label)
		}
	}
	return labels
}

// Left describes what the sheet had no room for.
func (b *board) Left() string {
	if len(b.More) == 0 {
		return ""
	}
	return fmt.Sprintf("%s more in the report.", capital(names(b.More)))
}
