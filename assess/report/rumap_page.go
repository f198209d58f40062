package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

//go:embed rumap.html.tmpl
var mapTemplate string

var mapPage = page("map", mapTemplate)

// mostRisks bounds the rows of a strategy's table of every target.
const mostRisks = 1500

// mapView is everything that the page of a map shows.
type mapView struct {
	Map        *rumap.Map
	Word, Line string
	Tone       string // good, amber or bad
	Unjudged   []string
	Binding    []string
	Tried      []string
	Unlimited  string // a warning if the rules limit no risk
	Rules      []mapRule
	Tiles      []labelled
	Wide, Slim template.HTML
	Paper      template.HTML // the map in print
	Epsilon    *mapPictures  // ε against utility
	Strategies []mapStrategy
	Groups     *mapGroups
	Facts      []labelled
	Basis      string
	Citation   citation
}

// mapPictures are a figure for wide and slim windows and for print.
type mapPictures struct{ Wide, Slim, Paper template.HTML }

// mapRule is a rule of the gate, and whether it holds at the recommended point.
type mapRule struct {
	Rule, Sign, Class, AltText, Found string
}

// mapStrategy is the table of one strategy.
type mapStrategy struct {
	ID, Name string
	Axes     []string
	Beside   []string // figures other than R and U
	Relative bool     // some axis is in per cent of the standard deviation
	Rows     []mapRow
	Risks    []mapRisk
	Left     int64 // number of rows that Risks leaves out
}

type mapRow struct {
	Impossible              string
	Parameters              []cell
	Efficiency, U, USE      cell
	Bias                    cell
	Beside                  []cell
	Worst                   mapRisk
	Admissible, Recommended bool
	Unjudged                string // rules that could not be judged here
	Broken                  string
}

type mapRisk struct {
	Setting, Subject string
	R, SE, Known     cell
}

// mapGroups is the table of groups: each group at the recommended point, or, if nothing is
// recommended, the worst group of each point.
type mapGroups struct {
	By, Line, Setting string
	PerPoint          bool
	Rows              []mapGroup
}

type mapGroup struct {
	Name                string
	Records, Efficiency cell
	Risk                mapRisk
	Worst               bool
}

// WriteMapHTML writes map.html: an R-U map on data as one page that loads nothing from
// elsewhere. It is as confidential as map.json.
func WriteMapHTML(w io.Writer, m *rumap.Map) error {
	text, err := render(mapPage, "map", viewMap(m))
	if err != nil {
		return err
	}
	if _, err = w.Write(figure.PageText(text)); err != nil {
		return fmt.Errorf("map.html: %w", err)
	}
	return nil
}

func viewMap(m *rumap.Map) *mapView {
	v := &mapView{Map: m, Basis: rumap.Basis(m), Citation: citation{Version: m.Version}}
	ru := m.Pictures()
	v.Wide = template.HTML(figure.RUMapsSVG(ru, figure.SVGOptions{Width: 1136, Height: 660, ID: "map-wide"}))
	v.Slim = template.HTML(
		figure.RUMapsSVG(ru, figure.SVGOptions{Width: 328, Height: 520 + 14*len(ru[0].Key), ID: "map-slim"}))
	v.Paper = template.HTML(figure.RUMapsSVG(ru, figure.SVGOptions{Width: 720, Height: 480, ID: "map-paper", Still: true}))
	if e, ok := m.EpsilonPicture(); ok {
		of := []figure.RUMap{e}
		v.Epsilon = &mapPictures{
			Wide: template.HTML(figure.RUMapsSVG(of, figure.SVGOptions{Width: 1136, Height: 440, ID: "epsilon-wide"})),
			Slim: template.HTML(
				figure.RUMapsSVG(of, figure.SVGOptions{Width: 328, Height: 400 + 14*len(e.Key), ID: "epsilon-slim"})),
			Paper: template.HTML(
				figure.RUMapsSVG(of, figure.SVGOptions{Width: 720, Height: 360, ID: "epsilon-paper", Still: true})),
		}
	}
	at := -1
	if m.Recommended != nil && m.Recommended.Point >= 0 && m.Recommended.Point < len(m.Points) {
		at = m.Recommended.Point
	}
	v.verdict(m, at)
	for _, name := range m.Strategies() {
		v.Strategies = append(v.Strategies, strategyView(m, name, "strategy-"+strconv.Itoa(len(v.Strategies)+1), at))
	}
	v.Groups = groupsView(m, at)
	unmasked := "U₀ of the unmasked data, n/S²"
	if len(m.Categories) > 0 {
		unmasked = "U₀ of the unmasked data, H(X) in bits"
	}
	records := "records in the data"
	if m.Samples > 0 {
		records = "records of the greatest sample"
	}
	v.Facts = []labelled{
		{Label: records, cell: whole("/records", m.Records)},
		{Label: "replicates of every point, M", cell: whole("/replicates", int64(m.Replicates))},
		{Label: unmasked, cell: number("/U0", m.U0)},
		{Label: "points", cell: cell{Text: count(int64(len(m.Points)))}},
	}
	if m.Sampled > 0 {
		v.Facts = append(v.Facts,
			labelled{Label: "records of the keyed sample that replicates were made on",
				cell: whole("/sampled", int64(m.Sampled))})
	}
	for _, a := range m.Axes {
		in := "in its own unit"
		if a.Relative {
			in = "in per cent of the column’s standard deviation"
		}
		v.Facts = append(v.Facts, labelled{Label: "varied: " + m.Label(a), cell: cell{Text: a.Path + ", " + in}})
	}
	return v
}

func (v *mapView) verdict(m *rumap.Map, at int) {
	if at < 0 {
		v.Tone, v.Word, v.Line = "bad", "No recommendation", m.Why()
		v.Unjudged = m.Unjudged
		if len(m.Unjudged) > 0 && slices.ContainsFunc(m.Points, func(p rumap.Point) bool { return p.Admissible }) {
			v.Tone = "amber" // nothing is known to fail
		}
		v.Line = strings.ToUpper(v.Line[:1]) + figure.Raised(strings.TrimSuffix(v.Line[1:], ".")) + "."
		for _, r := range m.Rules {
			rule := mapRule{Rule: figure.Raised(r.String()), Sign: "·"}
			if slices.Contains(m.Unjudged, r.String()) {
				rule = unjudgedRule(rule.Rule)
			}
			v.Rules = append(v.Rules, rule)
		}
		return
	}
	p := &m.Points[at]
	v.Tone, v.Word = "good", "Recommended"
	v.Line = fmt.Sprintf("%s: %s of the utility of the unmasked data is left, and every rule of the gate holds.",
		m.Choice(p, "the masks as they are configured"), percent(float64(p.Efficiency)))
	v.Unlimited = m.RiskUnlimited()
	for _, b := range m.Binding() {
		v.Binding = append(v.Binding, figure.Raised(b))
	}
	v.Tried = m.Tried()
	for i, r := range m.Rules {
		rule := mapRule{Rule: figure.Raised(r.String()), Sign: "✓", Class: "held", AltText: "Holds:"}
		if slices.ContainsFunc(p.Broken, func(b rumap.Broken) bool { return b.Rule == i }) {
			rule.Sign, rule.Class, rule.AltText = "✗", "broken", "Does not hold:"
		} else if slices.Contains(p.Unjudged, r.String()) {
			rule = unjudgedRule(rule.Rule)
		}
		v.Rules = append(v.Rules, rule)
	}
	path := "/points/" + strconv.Itoa(at)
	v.Tiles = []labelled{
		{Label: "efficiency, U/U₀", cell: shown(path+"/efficiency", p.Efficiency, percent(float64(p.Efficiency)))},
		{Label: "bias of the mean", cell: shown(path+"/bias", p.Bias, pretty(float64(p.Bias), 3)), Note: m.Unit},
	}
	if p.Records > 0 {
		v.Tiles = append(v.Tiles, labelled{Label: "records of its sample", cell: whole(path+"/records", p.Records)})
	}
	k, ok := m.Worst(p.Risk, m.Protected())
	switch risk := riskView(path, p.Risk, k); {
	case len(m.Categories) > 0 && ok:
		v.Tiles = append(v.Tiles[:1],
			labelled{Label: "greatest probability of re-identification", cell: risk.R, Note: "by the categorical keys"})
	case ok:
		v.Tiles = append(v.Tiles,
			labelled{Label: "worst protected, known to", cell: risk.Known,
				Note: strings.TrimPrefix(m.Unit+"; ", "; ") + risk.Subject},
			labelled{Label: "its disclosure risk R", cell: risk.R, Note: riskUnit(m.Unit)})
	}
}

// unjudgedRule is a rule that could not be judged on the map.
func unjudgedRule(words string) mapRule {
	return mapRule{Rule: words, Sign: "?", Class: "unsure", AltText: "Could not be judged:",
		Found: "not judged on the map; a run judges it"}
}

// riskView returns the view of risk k, one of the risks of a point or of a group; path is the
// place of that point or group.
func riskView(path string, risks []rumap.Risk, k rumap.Risk) mapRisk {
	i := slices.IndexFunc(risks, func(r rumap.Risk) bool { return r.Target == k.Target && r.Knowledge == k.Knowledge })
	return riskCells(path, "", i, k)
}

func riskCells(path, setting string, i int, k rumap.Risk) mapRisk {
	path += "/risk/" + strconv.Itoa(i)
	return mapRisk{
		Setting: setting, Subject: k.Target + ", " + k.Knowledge,
		R:     shown(path+"/R", k.R, pretty(float64(k.R), riskDigits)),
		SE:    shown(path+"/R_se", k.RSE, pretty(float64(k.RSE), 2)),
		Known: shown(path+"/rmse", k.RMSE, "± "+pretty(float64(k.RMSE), riskDigits)),
	}
}

func strategyView(m *rumap.Map, name, id string, chosen int) mapStrategy {
	s := mapStrategy{ID: id, Name: name}
	axes := m.AxesOf(name)
	for _, a := range axes {
		s.Axes = append(s.Axes, m.Label(a))
		s.Relative = s.Relative || a.Relative
	}
	beside := m.Beside()
	for _, b := range beside {
		s.Beside = append(s.Beside, b.Words)
	}
	protected := m.Protected()
	for i := range m.Points {
		p := &m.Points[i]
		if p.Strategy != name {
			continue
		}
		path := "/points/" + strconv.Itoa(i)
		row := mapRow{
			Efficiency: shown(path+"/efficiency", p.Efficiency, percent(float64(p.Efficiency))),
			U:          number(path+"/U", p.U),
			USE:        shown(path+"/U_se", p.USE, pretty(float64(p.USE), 2)),
			Bias:       shown(path+"/bias", p.Bias, pretty(float64(p.Bias), 3)),
			Admissible: p.Admissible, Recommended: i == chosen, Broken: strings.TrimPrefix(m.BrokenBy(p), ": "),
		}
		if p.Impossible != "" {
			row.Impossible, row.Broken = figure.Raised(p.Impossible), "cannot be used"
		}
		if p.Admissible {
			row.Unjudged = figure.Raised(strings.Join(p.Unjudged, "; "))
		}
		for _, b := range beside {
			row.Beside = append(row.Beside, besideCell(path, b, p))
		}
		for _, a := range axes {
			row.Parameters = append(row.Parameters, parameterCell(path, a, p))
		}
		if k, ok := m.Worst(p.Risk, protected); ok {
			row.Worst = riskView(path, p.Risk, k)
		} else {
			row.Worst.Subject = "–"
		}
		s.Rows = append(s.Rows, row)
		setting := m.Setting(p)
		for k := range p.Risk {
			if len(s.Risks) == mostRisks {
				s.Left++
				continue
			}
			s.Risks = append(s.Risks, riskCells(path, setting, k, p.Risk[k]))
		}
	}
	return s
}

func besideCell(path string, b rumap.Beside, p *rumap.Point) cell {
	at, v := b.Of(p)
	if at == nil {
		return cell{Text: "–"}
	}
	return shown(below(path, at...), v, pretty(float64(v), 3))
}

func parameterCell(path string, a rumap.Axis, p *rumap.Point) cell {
	v, ok := p.Parameters[a.Path]
	if !ok {
		return cell{Text: "–"}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return cell{Text: "–"}
	}
	return cell{below(path+"/parameters", a.Path), string(raw), a.Value(v)}
}

func groupsView(m *rumap.Map, chosen int) *mapGroups {
	if len(m.Groups) == 0 {
		return nil
	}
	view := &mapGroups{By: strings.Join(m.Groups, ", ")}
	row := func(name string, g *rumap.Group, k rumap.Risk, path string) mapGroup {
		return mapGroup{Name: name, Records: whole(path+"/records", int64(g.Records)),
			Efficiency: shown(path+"/efficiency", g.Efficiency, percent(float64(g.Efficiency))), Risk: riskView(path, g.Risk, k)}
	}
	protected := m.Protected()
	if chosen >= 0 && len(m.Points[chosen].Groups) > 0 {
		p := &m.Points[chosen]
		worst, _ := m.WorstGroup(p)
		view.Setting = "at the recommended point"
		for k := range p.Groups {
			g := &p.Groups[k]
			if risk, ok := m.Worst(g.Risk, protected); ok {
				r := row(m.GroupName(g), g, risk, fmt.Sprintf("/points/%d/groups/%d", chosen, k))
				r.Worst = g == worst
				view.Rows = append(view.Rows, r)
			}
		}
		view.Line = "The rules judge the data as a whole; a group of few records may be known better."
	} else {
		view.PerPoint = true
		for i := range m.Points {
			p := &m.Points[i]
			g, risk := m.WorstGroup(p)
			if g == nil {
				continue
			}
			path := fmt.Sprintf("/points/%d/worst", i)
			for k := range p.Groups {
				if g == &p.Groups[k] {
					path = fmt.Sprintf("/points/%d/groups/%d", i, k)
				}
			}
			view.Rows = append(view.Rows,
				row(strings.Trim(p.Strategy+", "+m.Setting(p), ", ")+": "+m.GroupName(g), g, risk, path))
		}
		view.Line = "The worst group at each point."
	}
	if len(view.Rows) == 0 {
		return nil
	}
	return view
}

// addAlternatives draws the strategies of a map on data behind a release's own
// points.
func addAlternatives(ru *figure.RUMap, of *rumap.Map) {
	curves, key := of.Alternatives()
	ru.Curves = append(ru.Curves, curves...)
	ru.Key = append(ru.Key, key...)
}
