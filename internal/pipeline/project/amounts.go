package project

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Amount is a masked number of a table: what a snooper knows of it who has the table alone, and one who joins what the
// other tables tell of the same records.
type Amount struct {
	Table  string        `json:"table"`
	Column string        `json:"column"`
	Unit   string        `json:"unit,omitempty"`
	Risk   []AmountRisk  `json:"risk,omitempty" doc:"by target, of a snooper who uses all released columns of the record"`
	Exact  []AmountExact `json:"exact,omitempty" doc:"shares of the values that the best snooper states within a distance"`
	All    []AmountRisk  `json:"all_releases,omitempty" doc:"with ledgers: the risk by what all releases have, of the table (alone) and of all tables (joined)"`
	NotAll string        `json:"not_all_releases,omitempty" doc:"why it is not known what all releases of all tables tell; no rule that rests on it holds"`
	Not    string        `json:"not,omitempty" doc:"why it is not known what the other tables tell; no rule that rests on it holds"`
}

// AmountRisk is the risk of a target.
type AmountRisk struct {
	Target string   `json:"target" doc:"typical, min, p01, …, max"`
	Alone  Known    `json:"alone" doc:"by the table's own columns, as in its own report"`
	Joined Known    `json:"joined" doc:"by those of the other tables too; no less than alone"`
	Tells  []string `json:"tells,omitempty" doc:"the columns that tell of the value, also sums and others of the other tables"`
}

// Known is how well a value is known.
type Known struct {
	R    assess.Float `json:"R" doc:"disclosure risk 1/E(τ − τ̂)², unit 1/(unit of the column)²"`
	SE   assess.Float `json:"R_se" doc:"standard error of R"`
	RMSE assess.Float `json:"rmse" doc:"√(1/R), in the column's unit"`
}

// AmountExact is the share of values that are stated within a distance.
type AmountExact struct {
	Within assess.Float `json:"within" doc:"distance, in the column's unit"`
	Alone  assess.Float `json:"alone"`
	Joined assess.Float `json:"joined"`
}

// mostBeside is the number of columns of a record and of what the other tables tell of it that are looked at together.
const mostBeside = 200

// amounts measures the masked columns of all tables with what the others tell, and judges the rules of the tables by
// that. It returns the verdicts on those by which more is known than by the table alone.
func (r *run) amounts(ctx context.Context) (list []Amount, verdicts []assess.RuleVerdict, err error) {
	for i := range r.config.Tables {
		m := r.members[r.config.Tables[i].Name]
		if !m.part.Joined.Masked() {
			continue
		}
		found, judged, err := r.amountsOf(ctx, m)
		if err != nil {
			return nil, nil, fmt.Errorf("table %s: %w", strconv.Quote(m.table.Name), err)
		}
		list, verdicts = append(list, found...), append(verdicts, judged...)
	}
	return list, verdicts, nil
}

// amountsOf is amounts of one table.
func (r *run) amountsOf(ctx context.Context, m *member) (list []Amount, verdicts []assess.RuleVerdict, err error) {
	rep := m.part.Report
	alone := &assess.Measures{Records: rep.Records.Released, Gated: m.table.pipeline.Gate.Judges(), Columns: rep.Columns,
		Earlier: m.part.Judged.Earlier, Linked: m.part.Judged.Linked}
	if rep.Attack != nil {
		alone.Identity = rep.Attack.Identity()
	}
	not := r.unjoined()
	var lists [][]assess.Seen
	if not == "" {
		if lists, not = r.lists(m, false); len(lists) == 0 && r.ledger == nil {
			return nil, nil, nil // the others tell nothing but by their keys
		}
	}
	joined := unjoinedMeasures(alone, assess.KnowledgeRecord)
	if not == "" {
		if joined, err = m.part.Joined.With(ctx, rep.Columns, alone.Identity, lists); err != nil {
			return nil, nil, err
		}
	}
	notAll := not
	if joined.Earlier, joined.Linked = alone.Earlier, alone.Linked; r.ledger != nil {
		if notAll, err = r.joinAll(ctx, m, alone, joined, not); err != nil {
			return nil, nil, err
		}
	}
	for i := range rep.Columns {
		if c := &rep.Columns[i]; c.Masked {
			a := amountOf(m.table.Name, c, &joined.Columns[i], alone.Identity, joined.Identity, not)
			if r.ledger != nil {
				a.All, a.NotAll = risksOf(c, &joined.Columns[i], assess.KnowledgeAllReleases), notAll
			}
			list = append(list, a)
		}
	}
	return list, r.judgeJoined(m, alone, joined, not, notAll), nil
}

// joinAll enters into what is known of a table by this release of all tables what is known by all releases of all of
// them. not says why that is not known.
func (r *run) joinAll(ctx context.Context, m *member, alone, joined *assess.Measures, not string) (string, error) {
	not = cmp.Or(not, r.ledger.Not())
	others := false
	for _, o := range r.order {
		if j := o.part.Joined; j.NotAll != "" {
			not = cmp.Or(not, fmt.Sprintf("table %s: %s", strconv.Quote(o.table.Name), j.NotAll))
		}
		others = others || len(o.part.Joined.Earlier) > 0
		o.every = true
		defer func() { o.every = false }()
	}
	if not == "" && !others { // no earlier release tells more
		joined.Columns = assess.NoLess(joined.Columns, joined.Columns)
		if joined.Linked != nil {
			joined.Linked = joined.Identity
		}
		return "", nil
	}
	var lists [][]assess.Seen
	if not == "" {
		lists, not = r.lists(m, true)
	}
	if not != "" {
		joined.Columns, joined.Linked = unjoinedMeasures(joined, assess.KnowledgeAllReleases).Columns, nil
		return not, nil
	}
	all, err := m.part.Joined.WithAll(ctx, alone.Columns, alone.Linked, lists)
	if err != nil {
		return "", err
	}
	joined.Columns, joined.Linked = assess.NoLess(all.Columns, joined.Columns), all.Identity
	return "", nil
}

// unjoined says why the records of tables cannot be joined; "" if they can.
func (r *run) unjoined() string {
	for _, m := range r.order {
		if j := m.part.Joined; j.Records > 0 && !j.Whole {
			return "the sample of table " + strconv.Quote(m.table.Name) + " does not hold all records (assess.sample: all)"
		}
	}
	return ""
}

// unseen names released columns that nobody looks at.
func (r *run) unseen() (list []string) {
	for i := range r.config.Tables {
		t := &r.config.Tables[i]
		if names := r.members[t.Name].part.Joined.Unseen; len(names) > 0 {
			list = append(list,
				fmt.Sprintf("table %s: %s, which are nested or beyond the %d columns that are looked at", strconv.Quote(t.Name),
					strings.Join(names, ", "), mostBeside))
		}
	}
	return list
}

// fewRecords is the number of records up to which more columns may hide what few of them tell.
const fewRecords = 5000

// lists are the columns of the other tables, all of them first; of few records also those without further figures, and
// those above and below alone. not says that they are too many. all: also those of the table's own earlier releases
// count.
func (r *run) lists(m *member, all bool) (lists [][]assess.Seen, not string) {
	own := len(m.part.Joined.Shown)
	if all {
		own += len(m.part.Joined.Earlier)
	}
	up, down := r.beside(m)
	both := slices.Concat(up, down)
	further := r.further(m)
	further = further[:min(len(further), max(0, mostBeside-own-len(both)))]
	for _, columns := range [][]shown{slices.Concat(both, further), both, up, down} {
		var list []assess.Seen
		for _, c := range columns {
			list = append(list, c.Seen)
		}
		if len(list) > 0 && (len(lists) == 0 ||
			len(list) < len(lists[len(lists)-1]) && m.part.Joined.Records <= fewRecords) {
			lists = append(lists, list)
		}
	}
	if len(lists) > 0 && len(lists[0])+own > mostBeside {
		not = fmt.Sprintf("a record has %d columns with what the other tables tell of it, and at most %d are looked at",
			len(lists[0])+own, mostBeside)
	}
	return lists, not
}

// unjoinedMeasures are those of a table of which it is not known what the others tell to whoever has some knowledge.
func unjoinedMeasures(alone *assess.Measures, knowledge string) *assess.Measures {
	none := assess.Float(math.NaN())
	m := *alone
	m.Columns, m.Identity = slices.Clone(alone.Columns), nil
	for c := range m.Columns {
		risks := slices.Clone(m.Columns[c].Risk)
		for i := range risks {
			if risks[i].Knowledge == knowledge {
				risks[i].R, risks[i].SE, risks[i].RMSE, risks[i].Tells = none, none, none, nil
			}
		}
		m.Columns[c].Risk = risks
	}
	return &m
}

// amountOf compares what is known of a column.
func amountOf(table string, alone, joined *assess.ColumnMeasures, by, with *assess.Identity, not string) Amount {
	a := Amount{Table: table, Column: alone.Name, Unit: alone.Unit, Not: not}
	a.Risk = risksOf(alone, joined, assess.KnowledgeRecord)
	for _, e := range exactOf(by, alone.Name) {
		x := AmountExact{assess.Float(e.Within), assess.Float(e.Found), assess.Float(math.NaN())}
		for _, o := range exactOf(with, alone.Name) {
			if o.Within == e.Within && (o.Limit == nil) == (e.Limit == nil) {
				x.Joined = assess.Float(max(o.Found, e.Found))
			}
		}
		a.Exact = append(a.Exact, x)
	}
	return a
}

// risksOf compares the risks of a column by some knowledge.
func risksOf(alone, joined *assess.ColumnMeasures, knowledge string) (list []AmountRisk) {
	for i, k := range alone.Risk {
		if k.Knowledge == knowledge {
			o := joined.Risk[i]
			list = append(list, AmountRisk{k.Target, Known{k.R, k.SE, k.RMSE}, Known{o.R, o.SE, o.RMSE}, o.Tells})
		}
	}
	return list
}

func exactOf(id *assess.Identity, column string) (list []assess.ExactShare) {
	if id != nil {
		for _, e := range id.Exact {
			if e.Column == column {
				list = append(list, e)
			}
		}
	}
	return list
}

// judgeJoined judges the rules of a table's gate that rest on what a snooper joins, and returns the verdicts on those
// of which the other tables tell more than the table does by itself. not says why what they tell by this release is not
// known, notAll by all releases.
func (r *run) judgeJoined(m *member, alone, joined *assess.Measures, not, notAll string) (list []assess.RuleVerdict) {
	rules := slices.DeleteFunc(slices.Clone(m.table.pipeline.Gate.Rules), func(rule assess.Rule) bool {
		return rule.MaxExact == nil && !rule.LimitsPosterior() &&
			(rule.MaxRisk == nil && rule.MinRMSE == nil || rule.OfOneRelease())
	})
	before, after := assess.Judge(rules, alone), assess.Judge(rules, joined)
	for i, v := range after.Rules {
		was := slices.IndexFunc(before.Rules, func(o assess.RuleVerdict) bool {
			return o.Measure == v.Measure && o.Column == v.Column && o.Limit == v.Limit
		})
		if i < len(rules) {
			was = i
		}
		switch v.Measure {
		case "min_rmse", "max_risk", "max_exact", "max_posterior", "inversion":
		default:
			continue // does not rest on other columns
		}
		if was >= 0 && !before.Rules[was].Passed || was >= 0 && v.Passed && same(v.Found, before.Rules[was].Found) {
			continue // the table's own gate refuses it, or nothing more is known
		}
		v.Rule = "table " + strconv.Quote(m.table.Name) + ", joined with the other tables: " + v.Rule
		why := not
		if why == "" && v.Found != v.Found {
			why = notAll
		}
		if why != "" && !v.Passed {
			v.Advice = "what the other tables tell is not known: " + why
		} else if !v.Passed {
			v.Advice = "another table tells of the column (amounts, in the project's report): withhold there what is a part, a sum or a copy of it, or mask it there too"
		}
		list = append(list, v)
	}
	if not != "" && alone.Identity != nil && alone.Identity.Inverted != nil && *alone.Identity.Inverted == 0 {
		list = append(list, assess.RuleVerdict{
			Rule:    "table " + strconv.Quote(m.table.Name) + ", joined with the other tables: no value is computed back",
			Measure: "inversion", Found: assess.Float(math.NaN()), Advice: "what the other tables tell is not known: " + not})
	}
	return list
}

// same reports whether two figures are the same, but for what is fitted to columns that tell nothing.
func same(a, b assess.Float) bool {
	x, y := float64(a), float64(b)
	return x == y || x != x && y != y || math.Abs(x-y) <= 1e-3*math.Abs(y)
}
