package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/headline"
)

//go:embed page.css
var pageCSS string

//go:embed report.html.tmpl
var reportTemplate string

//go:embed public.html.tmpl
var publicTemplate string

//go:embed attack_page.html.tmpl
var attackPageTemplate string

//go:embed pictures.html.tmpl
var picturesTemplate string

//go:embed parts.html.tmpl
var partsTemplate string

var (
	reportPage = page("report", reportTemplate)
	attackPage = page("attack alone", attackPageTemplate)
	publicPage = page("public", publicTemplate)
)

// page parses a page with the parts that all pages have in common, when it is first asked for: most commands write
// none.
func page(name, text string) func() *template.Template {
	return sync.OnceValue(func() *template.Template { return parsed(name, text) })
}

// Page is a page of another kind of report, text being a template that may use the parts that all pages have in
// common: head, tiles (of Figure) and td.
func Page(name, text string) func(view any) ([]byte, error) {
	t := page(name, text)
	return func(view any) ([]byte, error) { return render(t, name, view) }
}

// Figure is a number of a page: what is shown, and its place and value in the JSON.
type Figure struct{ Label, Path, Value, Text, Note string }

// Number is a number for people: a whole one with all digits, another with four.
func Number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return count(int64(x))
	}
	return figure.Plain(x, digits)
}

// Moment writes when something was, to the minute.
func Moment(t time.Time) string { return moment(t) }

func parsed(name, text string) *template.Template {
	t := template.New(name).Funcs(template.FuncMap{
		"count":    count,
		"style":    func() template.CSS { return template.CSS(pageCSS + figure.Style()) },
		"intruder": func() template.CSS { return template.CSS(attackCSS) },
		"board":    func() template.CSS { return template.CSS(boardCSS) },
		"papers":   func() []paper { return papers },
		"join":     strings.Join,
		"riskUnit": riskUnit,
		"json":     jsonNumber,
		"question": func(s string) bool { return strings.HasSuffix(s, "?") },
	})
	for _, part := range []string{partsTemplate, picturesTemplate, attackTemplate, text} {
		template.Must(t.Parse(part))
	}
	return t
}

// cell is a number in a page: the text that is shown, and its place and value in the
// JSON, for programs that compare the two.
type cell struct {
	Path  string // JSON pointer
	Value string // as in the JSON
	Text  string
}

func number(path string, v assess.Float) cell {
	return shown(path, v, pretty(float64(v), digits))
}

func shown(path string, v assess.Float, text string) cell { return cell{path, jsonNumber(v), text} }

// jsonNumber returns a number in its JSON form, without quotes.
func jsonNumber(v assess.Float) string {
	raw, err := v.MarshalJSON()
	if err != nil {
		return ""
	}
	return strings.Trim(string(raw), `"`)
}

// headlineView is a headline with its place in the JSON; "" if it has none.
type headlineView struct {
	*headline.Headline
	Path string
}

func whole(path string, n int64) cell {
	return cell{path, strconv.FormatInt(n, 10), count(n)}
}

// below extends a JSON pointer.
func below(path string, names ...string) string {
	for _, n := range names {
		path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(n)
	}
	return path
}

// citation holds the data for citing a release; Finished is "" if there is nothing to
// cite.
type citation struct{ Name, Finished, Version string }

// allWithheld reports whether no masked record was released. A stream that its gate has stopped
// withholds only the last records.
func (r *Report) allWithheld() bool { return r.Withheld != "" && r.Stopped == nil }

// HTML returns the report as one page that loads nothing from elsewhere. It is as
// confidential as the JSON.
func (r *Report) HTML() ([]byte, error) {
	v := r.verdict()
	view := struct {
		Release  string // for verify
		Report   *Report
		Kind     string
		Verdict  verdict
		Headline headlineView
		Finished string
		Took     string
		Records  []labelled
		Rules    []ruleView
		Masked   []columnView
		Folded   int // number of columns that are not shown before they are asked for
		Plain    []plainView
		Matrices []matrixView
		TooWide  int // number of columns of a correlation matrix that is in the JSON report only; else 0
		Names    []string
		Masks    []maskView
		Missing  []missingView
		Privacy  *privacyView
		Ledger   []string
		Labelled codesView
		Sampled  *Sampling
		Attack   *attackView
		Pairs    []pairView
		Citation citation
	}{
		Release: Identified{r.Release, r.Withheld != ""}.attribute(),
		Report:  r, Kind: "Disclosure risk and data utility of one release", Verdict: v,
		Headline: headlineView{r.Headline(), "/verdict"},
		Finished: moment(r.Finished),
		Took:     took(r.Finished.Sub(r.Started)),
		Records:  r.recordCells(),
		Sampled:  r.Sampled,
		Missing:  r.missingViews(),
		Privacy:  viewPrivacy(r.Privacy),
		Ledger:   r.ledgerWords(),
		Labelled: codeViews(r.Labels),
		Pairs:    pairViews(r.Pictures, r.Labels),
		Attack:   viewAttack(r.Attack, attackPath),
		Citation: citation{Version: r.Version},
		Names:    r.Correlation.Columns,
	}
	if !r.allWithheld() && r.Foreign == nil { // otherwise there are no data to cite
		view.Citation.Name, view.Citation.Finished = r.Name, r.Finished.UTC().Format("2 January 2006")
	}
	if r.Snapshot > 0 {
		view.Kind = "Disclosure risk and data utility of a stream so far, snapshot " + count(r.Snapshot)
	}
	for i, rule := range v.Rules {
		view.Rules = append(view.Rules, r.ruleView(i, rule))
	}
	view.Masked, view.Plain = r.columnViews()
	for _, c := range view.Masked {
		if c.Folded != "" {
			view.Folded++
		}
	}
	view.Matrices = matrices(r.Correlation)
	if n := len(r.Correlation.Columns); n > widestMatrix {
		view.TooWide = n
	}
	view.Masks = r.maskViews()
	return render(reportPage, "report", view)
}

// columnViews returns views of the columns that masks change, and of the others. Of many masked columns
// those come first that need a decision, and the others are folded.
func (r *Report) columnViews() (masked []columnView, plain []plainView) {
	for i := range r.Columns {
		if c := &r.Columns[i]; !c.Masked {
			plain = append(plain, plainColumn(c, labelOf(r.Labels, c.Name)))
		}
	}
	ranked := r.ranked()
	for i, c := range ranked {
		v := r.columnView(c)
		v.Label = labelOf(r.Labels, c.Name)
		if len(ranked) > wholeColumns && i >= foldedMost {
			known, _ := r.knownBest(c)
			v.Folded = "known best to " + known.Text + after(" ", c.Unit) + ", efficiency " +
				percent(float64(c.Utility.Efficiency))
			v.First = i == foldedMost
		}
		masked = append(masked, v)
	}
	return masked, plain
}

// HTML returns the public report as one page that loads nothing from elsewhere.
func (p *Public) HTML() ([]byte, error) {
	view := struct {
		Release  string // for verify
		Public   *Public
		Headline headlineView
		Finished string
		Records  []labelled
		Columns  []publicColumnView
		Labelled codesView
		Masks    []maskView
		Notes    []noteView
		Privacy  []privacyRow
		Said     []string
		Citation citation
	}{Release: Identified{p.Release, false}.attribute(), Public: p, Headline: headlineView{p.Headline(), "/verdict"},
		Notes: p.noteViews(), Records: p.recordCells(), Finished: p.Finished, Labelled: codeViews(p.Labels)}
	if day, err := time.Parse(time.DateOnly, p.Finished); err == nil {
		view.Finished = day.Format("2 January 2006")
	}
	view.Citation = citation{p.Name, view.Finished, p.Version}
	for _, c := range p.Columns {
		path := below("/columns", c.Name)
		row := publicColumnView{Name: c.Name, Label: labelOf(p.Labels, c.Name), Unit: c.Value.Unit, Masked: c.Value.Masked,
			Cells: []cell{
				whole(path+"/released/n", c.Value.Released.N), whole(path+"/released/nulls", c.Value.Released.Nulls),
				number(path+"/released/mean", c.Value.Released.Mean), number(path+"/released/sd", c.Value.Released.SD),
			}}
		if c.Value.Utility != nil {
			e := c.Value.Utility.Efficiency
			row.Efficiency = shown(path+"/utility/efficiency", e, percent(float64(e)))
		}
		view.Columns = append(view.Columns, row)
	}
	unit := func(column string) string { c, _ := p.Columns.Get(column); return c.Unit }
	for i, m := range p.Masks {
		view.Masks = append(view.Masks, viewMask(i, m, unit))
	}
	for i := range p.Privacy {
		c, path := &p.Privacy[i], fmt.Sprintf("/privacy/%d", i)
		row := lossRow(c.Column, path, c.PrivacyLoss)
		row.Metric = number(path+"/metric_epsilon", c.Metric)
		view.Privacy = append(view.Privacy, row)
		if words := metricWords(c); words != "" {
			view.Said = append(view.Said, words)
		}
	}
	return render(publicPage, "public report", view)
}

type publicColumnView struct {
	Name, Label, Unit string
	Masked            bool
	Cells             []cell
	Efficiency        cell
}

func render(page func() *template.Template, what string, view any) ([]byte, error) {
	var b bytes.Buffer
	if err := page().Execute(&b, view); err != nil {
		return nil, fmt.Errorf("%s: page: %w", what, err)
	}
	return b.Bytes(), nil
}

// labelled is a number with its name.
type labelled struct {
	Label string
	cell
	Note string
}

// recordCells returns the numbers of records read, released and not released.
func (r *Report) recordCells() []labelled {
	read, released := "records read", "released"
	switch {
	case r.Foreign != nil:
		read, released = "original records", "released records"
	case r.allWithheld():
		released = "masked but withheld"
	}
	list := []labelled{
		{Label: read, cell: whole("/records/read", r.Records.Read)},
		{Label: released, cell: whole("/records/released", r.Records.Released)},
	}
	if r.Foreign != nil {
		return append(list,
			labelled{Label: "without a released record", cell: whole("/foreign/unmatched", r.Foreign.Unmatched)})
	}
	if r.Records.LeftOut > 0 {
		list = append(list, labelled{Label: "left out", cell: whole("/records/left_out", r.Records.LeftOut)})
	}
	return append(list, labelled{Label: "in quarantine", cell: whole("/records/quarantined", r.Records.Quarantined)})
}

// moment writes when something was, to the minute.
func moment(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// took writes a duration in the usual form: 0.84 s, 3 min 20 s.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%s h %d min", count(int64(d.Hours())), int(d.Minutes())%60)
	}
}

// matrixView is a correlation matrix, or the difference of two.
type matrixView struct {
	Title string
	Rows  []matrixRow
}

type matrixRow struct {
	Name  string
	Cells []matrixCell
}

type matrixCell struct {
	cell
	Shade string // class
}

// widestMatrix is the maximum number of columns with correlations on the page: a table of hundreds
// of columns is of no use and takes megabytes.
const widestMatrix = 30

// matrices returns the correlations before and after masking, and their difference; none if
// there are fewer than two columns.
func matrices(c assess.Correlation) []matrixView {
	n := len(c.Columns)
	if n < 2 || n > widestMatrix || len(c.Original) != n || len(c.Released) != n {
		return nil
	}
	value := func(m [][]assess.Float, i, j int) float64 {
		if j >= len(m[i]) {
			return math.NaN()
		}
		return float64(m[i][j])
	}
	view := []matrixView{{Title: "Original"}, {Title: "Released"}, {Title: "Released − original"}}
	for i, name := range c.Columns {
		rows := [3]matrixRow{{Name: name}, {Name: name}, {Name: name}}
		for j := range c.Columns {
			x, y := value(c.Original, i, j), value(c.Released, i, j)
			at := fmt.Sprintf("/%d/%d", i, j)
			rows[0].Cells = append(rows[0].Cells,
				matrixCell{shown("/correlation/original"+at, assess.Float(x), fixed(x)), shade(x, 1)})
			rows[1].Cells = append(rows[1].Cells,
				matrixCell{shown("/correlation/released"+at, assess.Float(y), fixed(y)), shade(y, 1)})
			// Differences are shaded on a scale of their own: 0.2 is already much.
			rows[2].Cells = append(rows[2].Cells, matrixCell{cell{Text: signed(y - x)}, shade(y-x, 0.2)})
		}
		for k := range rows {
			view[k].Rows = append(view[k].Rows, rows[k])
		}
	}
	return view
}

// fixed writes a correlation with three decimals.
func fixed(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strings.ReplaceAll(strconv.FormatFloat(v, 'f', 3, 64), "-", "−")
}

// signed is fixed with a plus sign, and 0 for numbers that are rounded to 0.
func signed(v float64) string {
	s := fixed(v)
	switch {
	case s == "0.000" || s == "−0.000":
		return "0"
	case v > 0:
		return "+" + s
	}
	return s
}

// shade returns the CSS class of a cell, by the sign of v and its size relative to full.
func shade(v, full float64) string {
	step := int(math.Round(4 * math.Min(1, math.Abs(v)/full)))
	switch {
	case math.IsNaN(v) || step == 0:
		return "s0"
	case v < 0:
		return "m" + strconv.Itoa(step)
	default:
		return "p" + strconv.Itoa(step)
	}
}
