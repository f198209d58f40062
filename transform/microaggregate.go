package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
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
	checkColumns(&ps, "columns", m.Columns, "column")
	if len(m.Columns) > greatestColumns {
		ps.Addf("columns", "must be at most %d, got %d", greatestColumns, len(m.Columns))
	}
	switch {
	case m.K == nil:
		ps.Addf("k", "must be given: the least number of records in a group")
	case *m.K < 2 || *m.K > greatestK:
		ps.Addf("k", "must be at least 2 and at most %d, got %d: a group of one record is that record", greatestK, *m.K)
	}
	checkContributors(&ps, m.Least, m.Share)
	if few := contributorsOf(m.Least, nil); m.K != nil && *m.K >= 2 && *m.K < few.least {
		ps.Addf("k",
			"must be at least %d, which is least, got %d: who knows all values of a group but one knows this one by their mean; raise k", few.least, *m.K)
	}
	checkWord(&ps, "method", m.Method, "mdav", "univariate")
	checkWord(&ps, "aggregate", m.Aggregate, "mean", "median")
	checkStrata(&ps, m.By, m.Columns)
	return ps
}

// greatestColumns is the greatest number of columns that one mask may group records by: the
// bits of one word mark which of them are missing.
const greatestColumns = 64

func (m *Microaggregate) checkAmong(masks []Spec, i int) check.Problems {
	return checkDataset(masks, i, "columns", "")
}

// Describe implements Params.
func (m *Microaggregate) Describe() Description {
	return Description{
		Scope: ScopeDataset, Reads: strataRead(m.By), FitsData: true, Axis: m.mapAxis(), Parameters: m.parameters,
		Action: m.action, Published: m, Instead: "noise, bias or round, which take each record by itself",
		among: m.checkAmong, ofNumber: true,
	}
}

// Masks implements Params.
func (m *Microaggregate) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Microaggregate) Reads() []string { return slices.Clone(m.By) }

func (m *Microaggregate) univariate() bool { return m.Method == "univariate" }

func (m *Microaggregate) median() bool { return m.Aggregate == "median" }

func (m *Microaggregate) compile(c *Chain, i int) (step, error) {
	done := part("microaggregate "+wordOr(m.Method, "mdav")+" "+wordOr(m.Aggregate, "mean"), float64(*m.K))
	s,
		err := newWhole(c, i, &aggregation{k: *m.K, univariate: m.univariate(), median: m.median(), strata: len(m.By) > 0,
		demand: contributorsOf(m.Least, m.Share)}, done)
	if err != nil {
		return nil, err
	}
	s.ties = true
	return s, nil
}

// mapAxis: k from least to 30.
func (m *Microaggregate) mapAxis() Axis {
	least := float64(contributorsOf(m.Least, nil).least)
	return Axis{Rank: 3, Field: "k", From: Amount{Value: least}, To: Amount{Value: max(30, 2*least)}}
}

func (m *Microaggregate) parameters() []Parameter {
	var list []Parameter
	if m.K != nil {
		list = append(list, Parameter{"k", float64(*m.K)})
	}
	list = append(list, Parameter{"method", wordOr(m.Method, "mdav")}, Parameter{"aggregate", wordOr(m.Aggregate, "mean")})
	if len(m.By) > 0 {
		list = append(list, Parameter{"by", jsonWords(m.By)})
	}
	return withContributors(list, m.Least, m.Share)
}

func (m *Microaggregate) action(string, float64) Action {
	if m.K == nil {
		return nil
	}
	return Aggregation{K: float64(*m.K), Aggregate: wordOr(m.Aggregate, "mean")}
}

// PublishedAction implements Publishing.
func (m *Microaggregate) PublishedAction(p Published, _ string) Action {
	return Aggregation{K: p.numberOr("k", nan), Aggregate: p.word("aggregate")}
}

// Words implements Publishing.
func (m *Microaggregate) Words(p Published, _ string) string {
	aggregate := "one value"
	if w := p.word("aggregate"); w != "" {
		aggregate = "the " + w
	}
	s := "microaggregation: values were replaced by " + aggregate + " of a group of records with similar values"
	if k, ok := p.number("k"); ok {
		s += fmt.Sprintf(", of at least k = %s records each", p.Number(k))
	}
	switch p.word("method") {
	case "mdav":
		s += "; records were grouped by all columns of the mask together (MDAV)"
	case "univariate":
		s += "; each column was grouped by itself, in the order of its values"
	}
	if by := p.list("by"); by != nil {
		s += "; groups agree in " + strings.Join(by, ", ")
	}
	return s
}

// EfficiencyFollows implements Publishing: the efficiency discloses the spread within groups,
// which is not that of any single record.
func (m *Microaggregate) EfficiencyFollows(_, named func(string) bool) bool { return named("k") }
