package group

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// Microaggregate replaces the values of each record by the mean or the median of a group
// of at least k records that are alike: Defays and Nanopoulos (1993); by MDAV on columns
// standardised to variance 1, Domingo-Ferrer and Torra (2005), algorithm 1.
type Microaggregate struct {
	Columns   []string `yaml:"columns" doc:"the columns to mask; with mdav, records are grouped by all of them together"`
	K         *int     `yaml:"k" doc:"k, the least number of records in a group"`
	Method    string   `yaml:"method" doc:"mdav (default): groups of records that are similar in all columns, each column scaled to variance 1; univariate: separate groups for each column, in the order of its values" enum:"mdav,univariate"`
	Aggregate string   `yaml:"aggregate" doc:"mean (default) or median; the median of an odd number of values is one of these values, so this value is released unchanged" enum:"mean,median"`
	By        []string `yaml:"by" doc:"strata: groups are formed among records with equal values of these columns; each stratum needs k records"`
	Least     *int     `yaml:"least" doc:"the least k that is accepted; default 3: who knows one of two values knows the other by their mean"`
	Share     *float64 `yaml:"share" share:"whole" doc:"the greatest share that one of the greatest values, by amount, of a column or stratum may have in the sum of its group; not with median; default 0.8"`
}

// Check implements Params.
func (m *Microaggregate) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	if len(m.Columns) > core.GreatestColumns {
		ps.Addf("columns", "must be at most %d, got %d", core.GreatestColumns, len(m.Columns))
	}
	switch {
	case m.K == nil:
		ps.Addf("k", "must be given: the least number of records in a group")
	case *m.K < 2 || *m.K > core.GreatestK:
		ps.Addf("k", "must be at least 2 and at most %d, got %d: a group of one record is that record", core.GreatestK, *m.K)
	}
	core.CheckContributors(&ps, m.Least, m.Share)
	if few := core.ContributorsOf(m.Least, nil); m.K != nil && *m.K >= 2 && *m.K < few.Least {
		ps.Addf("k",
			"must be at least %d, which is least, got %d: who knows all values of a group but one knows this one by their mean; raise k", few.Least, *m.K)
	}
	core.CheckWord(&ps, "method", m.Method, "mdav", "univariate")
	core.CheckWord(&ps, "aggregate", m.Aggregate, "mean", "median")
	core.CheckStrata(&ps, m.By, m.Columns)
	return ps
}

func (m *Microaggregate) checkAmong(masks []core.Spec, i int) check.Problems {
	return core.CheckDataset(masks, i, "columns", "")
}

// Describe implements Params.
func (m *Microaggregate) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeDataset, Reads: core.StrataRead(m.By), FitsData: true, Axis: m.mapAxis(), Parameters: m.parameters,
		Action: m.action, Published: m, Instead: "noise, bias or round, which take each record by itself",
		Among: m.checkAmong, OfNumber: true,
	}
}

// Masks implements Params.
func (m *Microaggregate) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Microaggregate) Reads() []string { return slices.Clone(m.By) }

func (m *Microaggregate) univariate() bool { return m.Method == "univariate" }

func (m *Microaggregate) median() bool { return m.Aggregate == "median" }

func (m *Microaggregate) Compile(c *core.Chain, i int) (core.Step, error) {
	done := core.Part("microaggregate "+core.WordOr(m.Method, "mdav")+" "+core.WordOr(m.Aggregate, "mean"), float64(*m.K))
	s,
		err := gathered.New(c, i, &aggregation{k: *m.K, univariate: m.univariate(), median: m.median(), strata: len(m.By) > 0,
		demand: core.ContributorsOf(m.Least, m.Share)}, done)
	if err != nil {
		return nil, err
	}
	s.Ties = true
	return s, nil
}

// mapAxis: k from least to 30.
func (m *Microaggregate) mapAxis() core.Axis {
	least := float64(core.ContributorsOf(m.Least, nil).Least)
	return core.Axis{Rank: 3, Field: "k", From: core.Amount{Value: least}, To: core.Amount{Value: max(30, 2*least)}}
}

func (m *Microaggregate) parameters() []core.Parameter {
	var list []core.Parameter
	if m.K != nil {
		list = append(list, core.Parameter{Name: "k", Value: float64(*m.K)})
	}
	list = append(list, core.Parameter{Name: "method", Value: core.WordOr(m.Method, "mdav")},
		core.Parameter{Name: "aggregate", Value: core.WordOr(m.Aggregate, "mean")})
	if len(m.By) > 0 {
		list = append(list, core.Parameter{Name: "by", Value: core.JsonWords(m.By)})
	}
	return core.WithContributors(list, m.Least, m.Share)
}

func (m *Microaggregate) action(string, float64) core.Action {
	if m.K == nil {
		return nil
	}
	return core.Aggregation{K: float64(*m.K), Aggregate: core.WordOr(m.Aggregate, "mean")}
}

// PublishedAction implements Publishing.
func (m *Microaggregate) PublishedAction(p core.Published, _ string) core.Action {
	return core.Aggregation{K: p.NumberOr("k", core.NaN), Aggregate: p.Word("aggregate")}
}

// Words implements Publishing.
func (m *Microaggregate) Words(p core.Published, _ string) string {
	aggregate := "one value"
	if w := p.Word("aggregate"); w != "" {
		aggregate = "the " + w
	}
	s := "microaggregation: values were replaced by " + aggregate + " of a group of records with similar values"
	if k, ok := p.Float("k"); ok {
		s += fmt.Sprintf(", of at least k = %s records each", p.Number(k))
	}
	switch p.Word("method") {
	case "mdav":
		s += "; records were grouped by all columns of the mask together (MDAV)"
	case "univariate":
		s += "; each column was grouped by itself, in the order of its values"
	}
	if by := p.List("by"); by != nil {
		s += "; groups agree in " + strings.Join(by, ", ")
	}
	return s
}

// EfficiencyFollows implements Publishing: the efficiency discloses the spread within groups,
// which is not that of any single record.
func (m *Microaggregate) EfficiencyFollows(_, named func(string) bool) bool { return named("k") }
