package tabling

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// ReportSchema names the format of a report of tables.
const ReportSchema = "sdlfilter.tables/1"

// Report is the report of one run of sdlfilter tables. It is confidential.
type Report struct {
	Schema       string         `json:"schema"`
	Name         string         `json:"name"`
	Version      string         `json:"version"`
	Started      time.Time      `json:"started"`
	Finished     time.Time      `json:"finished"`
	ConfigSHA256 string         `json:"config_sha256"`
	KeyID        string         `json:"key_id,omitempty"` // of the release key, if one was used
	Coalition    int            `json:"coalition"`        // how many respondents the audit lets combine what they know
	Records      Records        `json:"records"`
	Tables       []TableReport  `json:"tables"`
	Families     []FamilyReport `json:"families"`
	Cells        *Release       `json:"cells,omitempty"` // the file with all cells, seen from the folder of the report
	// the earlier releases with which the tables were protected and audited
	Earlier   []Earlier      `json:"earlier,omitempty"`
	Unaudited []string       `json:"unaudited,omitempty"`
	Gate      assess.Verdict `json:"gate"`
	Withheld  string         `json:"withheld,omitempty"`
	Release   *Release       `json:"release,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"`

	Loosened []config.Loosening `json:"loosened,omitempty"` // settings that disclose more than the configuration does
}

// Records counts the records that were read, and those that are in no table, by reason.
type Records struct {
	Read       int64            `json:"read"`
	Tabulated  int64            `json:"tabulated"`
	Malformed  int64            `json:"malformed"`
	NoCode     int64            `json:"no_code"`
	NoValue    int64            `json:"no_value"`
	NoWeight   int64            `json:"no_weight"`
	NoHolding  int64            `json:"no_holding"`
	NoIdentity int64            `json:"no_identity,omitempty"`
	Unknown    map[string]int64 `json:"unknown,omitempty"` // by variable
}

// Lost returns how many records are in no table.
func (r Records) Lost() int64 { return r.Read - r.Tabulated }

// Release is the file of the public tables.
type Release struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// TableReport is the report on one table.
type TableReport struct {
	Name       string             `json:"name"`
	Variables  []string           `json:"variables"`
	Value      string             `json:"value,omitempty"` // the column; none: counts
	Weight     string             `json:"weight,omitempty"`
	Method     string             `json:"method"`
	Parameters map[string]float64 `json:"parameters,omitempty"` // of a method that changes values
	// the variable that records exchange, the counts by which stay
	Exchanged string `json:"exchanged,omitempty"`
	// variables in which records that swap are alike: counts by them and the exchanged one stay, too
	Matched   []string       `json:"matched,omitempty"`
	Cells     int            `json:"cells"`
	Empty     int            `json:"empty"`
	Published int            `json:"published"`
	Primary   int            `json:"primary"`
	Secondary int            `json:"secondary"`
	Rules     map[string]int `json:"rules,omitempty"` // unsafe cells by the rule that they break first
	// share of the cells with contributors that are published with their value
	Efficiency assess.Float `json:"efficiency"`
	// greatest 1/entropy of an intruder's belief about an unsafe cell; 0 if there is none
	Risk assess.Float `json:"risk"`
	// the belief is estimated: risk is this much, two standard errors, above the estimate
	RiskError assess.Float `json:"risk_error,omitempty"`
	Error     assess.Float `json:"expected_squared_error"` // least expected squared error of that belief
	Utility   assess.Float `json:"utility"`                // 1/mean squared error of the cells with contributors
	Changed   *Changed     `json:"changed,omitempty"`      // of adjusted tables
	Disclosed []string     `json:"disclosed"`              // unsafe cells whose value can be computed
	// unsafe cells about which more can be inferred than their rule allows
	Narrow []string `json:"narrow"`
	// of narrow: the bounds are wide enough, but no table of whole numbers was found that reaches them
	Unproven int `json:"unproven"`
	// cells about which a respondent, or a coalition of them, can infer too much: who know other cells, in which they are
	// the only ones, and their own part of all others
	Respondent []string `json:"respondent"`
}

// Changed says how adjusted values differ from the true ones.
type Changed struct {
	// mean of the changes of the cells with contributors, each divided by its value
	Mean     assess.Float `json:"mean"`
	Greatest assess.Float `json:"greatest"` // the greatest of them
	Cost     assess.Float `json:"cost"`     // of all tables of the value: what the method makes small
	AtLeast  assess.Float `json:"at_least"` // a lower bound of it
	// unsafe cells of which somebody who knows that they are, and how far they had to change, can tell in which direction
	// they did
	OneSided int `json:"one_sided"`
}

// Earlier is an earlier release with which the tables were protected and audited. Its cells, and those of the parts of
// the records that have come or left, are named with the records that they are of.
type Earlier struct {
	Name    string   `json:"name"`
	SHA256  string   `json:"sha256"`            // of the file of its cells
	Tables  []string `json:"tables"`            // those of values that are tabulated, or on which these depend
	Records int64    `json:"records,omitempty"` // of its own; none: those of today
	Today   int64    `json:"today,omitempty"`   // how many of these are records of today
	// unsafe cells of any earlier release, or of those who have come or left, that were not protected before these tables,
	// either
	Known []string `json:"known,omitempty"`
	Open  []string `json:"open,omitempty"` // unsafe cells about which too much could be inferred by these tables
}

// FamilyReport is the report on the tables of one value, which are protected and audited together.
type FamilyReport struct {
	Tables     []string `json:"tables"`
	Cells      int      `json:"cells"`
	Sums       int      `json:"sums"`
	Hidden     int      `json:"hidden"`
	Components int      `json:"components"`
	Largest    int      `json:"largest"`  // cells of the largest component
	Programs   int      `json:"programs"` // linear programs that the audit has solved
	Steps      int      `json:"steps"`
	// ends of ranges that are only outer bounds: their programs were stopped or left out
	Unsolved int `json:"unsolved"`
	// patience ended the search: more cells than necessary may be suppressed, or counts changed more
	CutShort      bool     `json:"cut_short,omitempty"`
	Optimum       *Optimum `json:"optimum,omitempty"`  // with effort: optimal
	Rounding      *Rounded `json:"rounding,omitempty"` // of controlled rounding
	PatternSHA256 string   `json:"pattern_sha256"`     // of the statuses of all cells, in their order
	Refused       []string `json:"refused,omitempty"`
	// what holds between values in every record; tables of these values are audited together
	Related []string `json:"related,omitempty"`
}

// Rounded compares the changes of all counts of a controlled rounding with the least possible ones.
type Rounded struct {
	Changes assess.Float `json:"changes"`  // sum of all changes
	AtLeast assess.Float `json:"at_least"` // no controlled rounding has less
}

// Optimum compares the cost of the secondary suppressions with the least possible cost.
type Optimum struct {
	Cost    assess.Float `json:"cost"`     // of the secondary suppressions
	AtLeast assess.Float `json:"at_least"` // lower bound of the cost of any choice that protects all cells
	Proven  bool         `json:"proven"`   // no choice is cheaper
	Gap     assess.Float `json:"gap"`      // the greatest share of the cost that another choice could save
	Nodes   int          `json:"nodes"`    // parts of the search
	Cuts    int          `json:"cuts"`     // valid inequalities that were added
}

func (p *protected) optimumReport() *Optimum {
	o := p.optimum
	if o == nil {
		return nil
	}
	unit := 1.0
	if p.costs == nil && p.table.Protect.Suppress.Cost == "value" {
		unit = p.number(1)
	}
	r := &Optimum{Cost: assess.Float(o.Cost * unit), AtLeast: assess.Float(o.AtLeast * unit), Proven: o.Proven(),
		Nodes: o.Nodes, Cuts: o.Cuts}
	if !r.Proven {
		r.Gap = assess.Float(1 - o.AtLeast/o.Cost)
	}
	return r
}

// reportCells is the greatest number of cells that a list in the report names.
const reportCells = 1000

func (p *protected) report() FamilyReport {
	f := FamilyReport{Cells: p.set.Cells(), Sums: p.set.Sums(), CutShort: p.cutShort, Optimum: p.optimumReport(),
		Related: p.related}
	if c := p.rounding; c != nil {
		f.Rounding = &Rounded{assess.Float(c.Changes), assess.Float(c.AtLeast)}
	}
	for _, t := range p.set.Tables {
		f.Tables = append(f.Tables, t.Name)
	}
	for _, problem := range p.unprotectable {
		f.Refused = append(f.Refused, problem.Error())
	}
	digest := sha256.New()
	for cell := range p.status {
		if p.question.Hidden[cell] {
			f.Hidden++
		}
		digest.Write([]byte{byte(p.status[cell])})
	}
	f.PatternSHA256 = hex.EncodeToString(digest.Sum(nil))
	if r := p.ranges; r != nil {
		f.Components, f.Largest, f.Programs, f.Steps, f.Unsolved = r.Components, r.Largest, r.Programs, r.Steps, r.Unsolved
	}
	return f
}

// tableReport returns the report on table t of a family.
func (p *protected) tableReport(t int, c *tabulation.Table) TableReport {
	r := TableReport{Name: c.Name, Variables: c.Rows, Value: c.Value, Weight: c.Weight, Method: methodOf(&c.Protect),
		Parameters: p.parameters(&c.Protect), Rules: map[string]int{}, Disclosed: []string{}, Narrow: []string{},
		Respondent: []string{}}
	if c.Protect.Exchanges() {
		r.Exchanged, r.Matched = p.exchangedVariable(), c.Protect.Matched()
	}
	inside := map[int32]bool{}
	filled, unchanged := 0, 0
	for at := range p.size(t) {
		cell := p.set.Cell(t, at)
		inside[cell] = true
		r.Cells++
		switch {
		case p.published == nil && p.isEmpty(cell) && !p.hidden(cell):
			r.Empty++
		case p.status[cell] == tables.Primary:
			r.Primary++
			r.Rules[p.ruleName(cell)]++
		case p.hidden(cell):
			r.Secondary++
		}
		if !p.hidden(cell) && (p.published != nil || !p.isEmpty(cell)) {
			r.Published++
		}
		if !p.isEmpty(cell) {
			filled++
			if !p.hidden(cell) && p.publishedValue(cell) == p.question.Value[cell] {
				unchanged++
			}
		}
	}
	r.Efficiency = 1
	if filled > 0 {
		r.Efficiency = assess.Float(float64(unchanged) / float64(filled))
	}
	r.Changed = p.changes(t)
	risk, square, utility := p.riskOf(p.cellsOf(t))
	r.Risk, r.Error, r.Utility = assess.Float(risk), assess.Float(square), assess.Float(utility)
	r.RiskError = assess.Float(p.riskError(p.cellsOf(t)))
	name := func(list *[]string, cell int32) {
		if inside[cell] && len(*list) < reportCells {
			*list = append(*list, p.set.Name(int(cell)))
		}
	}
	for _, cell := range p.verdict.Disclosed {
		name(&r.Disclosed, cell)
	}
	for _, cell := range p.verdict.Narrow {
		name(&r.Narrow, cell)
	}
	for _, cell := range p.verdict.Unproven {
		if inside[cell] {
			r.Unproven++
		}
	}
	for _, in := range p.insiders {
		name(&r.Respondent, in.Infers)
	}
	slices.Sort(r.Respondent)
	r.Respondent = slices.Compact(r.Respondent)
	return r
}

// methodOf returns the method in the words of the configuration.
func methodOf(p *tabulation.Protect) string {
	if p.Round != nil {
		return "round: " + p.Round.Mode
	}
	return p.Name()
}

// parameters returns the parameters of a method that changes values, which users need to know.
func (f *protected) parameters(p *tabulation.Protect) map[string]float64 {
	// p_table says that other changes have the same figures
	if c := p.CellKey; c != nil && c.PTable != "" && f.noise != nil {
		return map[string]float64{"max": float64(f.noise.Max), "variance": f.noise.Variance, "least": float64(f.noise.Least),
			"p_table": 1}
	}
	if p.Adjust != nil {
		w := f.table.AdjustedWithin(f.options.Decimals)
		return map[string]float64{"absolute": w.Absolute, "percent": w.Percent}
	}
	return parametersOf(p)
}

func parametersOf(p *tabulation.Protect) map[string]float64 {
	if c := p.CellKey; c != nil && c.Values != nil {
		return valueParameters(c.Values)
	}
	if c := p.CellKey; c != nil {
		return map[string]float64{"max": float64(c.Max), "variance": c.Variance, "least": float64(c.Least)}
	}
	if c := p.Round; c != nil {
		return map[string]float64{"base": float64(c.Base)}
	}
	if m := p.Markov; m != nil {
		return map[string]float64{"theta": m.Theta}
	}
	if s := p.Swap; s != nil {
		return map[string]float64{"rate": s.Rate}
	}
	if s := p.Sample; s != nil {
		return map[string]float64{"one_in": float64(s.OneIn)}
	}
	return nil
}

// valueParameters returns the parameters of the changes of values.
func valueParameters(c *tabulation.CellKeyValues) map[string]float64 {
	m := map[string]float64{"most": c.Most, "least": c.Least}
	if c.Point != 0 {
		m["large"], m["point"], m["q"] = c.Large, c.Point, float64(c.Q)
	}
	for i, e := range c.Units(0).Epsilon[1:] {
		m[fmt.Sprintf("epsilon_%d", i+2)] = e
	}
	return m
}

// JSON returns the report for programs.
func (r *Report) JSON() ([]byte, error) { return indented(r) }

func indented(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

// Public is the public report on published tables.
type Public struct {
	Schema  string        `json:"schema"`
	Name    string        `json:"name"`
	Version string        `json:"version"`
	Tables  []PublicTable `json:"tables"`
	// what can be inferred about the suppressed cells was computed over all linked tables
	Audited bool     `json:"audited"`
	Release *Release `json:"release,omitempty"`

	Earlier   []string `json:"earlier,omitempty"`   // the earlier releases that were part of this
	Unaudited []string `json:"unaudited,omitempty"` // what was not part of it
}

// PublicTable is the public report on one table.
type PublicTable struct {
	Name       string             `json:"name"`
	Variables  []string           `json:"variables"`
	Value      string             `json:"value,omitempty"`
	Method     string             `json:"method"`
	Parameters map[string]float64 `json:"parameters,omitempty"` // of a method that changes values
	// the variable that records exchange, the counts by which stay
	Exchanged string `json:"exchanged,omitempty"`
	// variables in which records that swap are alike: counts by them and the exchanged one stay, too
	Matched    []string `json:"matched,omitempty"`
	Cells      int      `json:"cells"`
	Empty      int      `json:"empty"`
	Published  int      `json:"published"`
	Suppressed int      `json:"suppressed"`
}

// PublicSchema names the format of a public report of tables.
const PublicSchema = "sdlfilter.tables.public/1"

// Public returns the public report, which says nothing about the suppressed cells.
func (r *Report) Public() *Public {
	p := &Public{Schema: PublicSchema, Name: r.Name, Version: r.Version, Audited: len(r.Unaudited) == 0,
		Release: r.Release, Unaudited: r.Unaudited}
	for _, l := range r.Earlier {
		p.Earlier = append(p.Earlier, l.Name)
	}
	for _, t := range r.Tables {
		p.Tables = append(p.Tables, PublicTable{t.Name, t.Variables, t.Value, t.Method, t.Parameters, t.Exchanged, t.Matched,
			t.Cells, t.Empty, t.Published, t.Cells - t.Empty - t.Published})
	}
	return p
}

// JSON returns the public report for programs.
func (p *Public) JSON() ([]byte, error) { return indented(p) }
