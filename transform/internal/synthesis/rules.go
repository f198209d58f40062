package synthesis

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// synthesisRule is a value that all records have which meet a condition.
type synthesisRule struct {
	column string
	value  core.Comparison // "=" and the value
	when   core.Condition
	of     []comparedIn // where the columns of when are
}

// comparedIn is the place of a column that a rule compares: among those that are read, or those that are drawn.
type comparedIn struct {
	read bool
	at   int
}

var errRule = errors.New(
	`must be a value of one of columns and a condition on columns of on, or of columns before it, such as "income = 0 if age < 16"`)

// parseRule reads "income = 0 if age < 16".
func parseRule(text string) (r synthesisRule, err error) {
	set, rest, err := core.ParseComparison(text)
	word, when, _ := strings.Cut(rest, " ")
	if err != nil || set.Op != "=" || !strings.EqualFold(word, "if") {
		return r, errRule
	}
	r.column, r.value = set.Column, set
	if r.when, err = core.ParseCondition(when); err != nil {
		return r, fmt.Errorf("after if, %w", err)
	}
	return r, nil
}

// name describes a rule without ambiguity, for the names of draws.
func (r *synthesisRule) name() string {
	return r.value.Name() + " if " + strings.Join(r.when.Names(), " and ")
}

func (m *Synthesise) checkRules(ps *check.Problems) {
	for i, text := range m.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		r, err := parseRule(text)
		if err != nil {
			ps.Addf(at, "%v, got %q", err, text)
			continue
		}
		k := slices.Index(m.Columns, r.column)
		if k < 0 {
			ps.Addf(at, "must set one of the columns that are synthesised, got %q%s", r.column,
				check.Suggest(r.column, m.Columns))
			continue
		}
		for _, name := range r.when.Columns() {
			if !slices.Contains(m.On, name) && !slices.Contains(m.Columns[:k], name) {
				ps.Addf(at, "must compare columns of on, or of columns before %q, got %q%s", r.column, name,
					check.Suggest(name, slices.Concat(m.On, m.Columns[:k])))
			}
		}
	}
}

// rules returns the rules of a mask that Check accepts.
func (m *Synthesise) rules() (list []synthesisRule) {
	for _, text := range m.Rules {
		r, err := parseRule(text)
		if err != nil {
			continue
		}
		for _, c := range r.when {
			if k := slices.Index(m.On, c.Column); k >= 0 {
				r.of = append(r.of, comparedIn{true, k})
			} else {
				r.of = append(r.of, comparedIn{false, slices.Index(m.Columns, c.Column)})
			}
		}
		list = append(list, r)
	}
	return list
}

// settleRules checks the types that rules need, and adds the texts that they set to those of the columns.
func settleRules(s *gathered.Step, c *core.Chain, rules []synthesisRule) error {
	of := func(name string) bool {
		info := c.Info(name)
		return info != nil && !info.Field.Numeric()
	}
	for i, r := range rules {
		k := slices.IndexFunc(s.Columns, func(col *core.Column) bool { return col.Name == r.column })
		if text := s.Texts[k] != nil; text != r.value.OfText {
			return fmt.Errorf("%s.rules[%d]: must set %s to %s", c.At(s.Mask), i, strconv.Quote(r.column),
				core.KindOfValue(text))
		} else if text {
			s.Texts[k][r.value.Number] = r.value.Text
		}
		for _, one := range r.when {
			if text := of(one.Column); c.ReplicateNumber == 0 && text != one.OfText {
				return fmt.Errorf("%s.rules[%d]: must compare %s with %s", c.At(s.Mask), i, strconv.Quote(one.Column),
					core.KindOfValue(text))
			}
		}
	}
	return nil
}

// ruleFor returns the first rule for column k whose condition record r meets; nil if there is none. drawn are the
// values of the columns that are drawn.
func (s *synthesis) ruleFor(g *gathered.Data, drawn [][]float64, k int, r int32) *synthesisRule {
	for i := range s.rules {
		rule := &s.rules[i]
		if rule.column == g.Columns[k].Name && rule.meets(g, drawn, r) {
			return rule
		}
	}
	return nil
}

func (r *synthesisRule) meets(g *gathered.Data, drawn [][]float64, row int32) bool {
	for i := range r.when {
		values := drawn
		if r.of[i].read {
			values = g.On
		}
		if !r.when[i].Holds(values[r.of[i].at][row]) {
			return false
		}
	}
	return true
}

// applyRules gives the records whose released values before column k meet a rule its value, and returns the others.
func (s *synthesis) applyRules(g *gathered.Data, original [][]float64, rows []int32, k int) []int32 {
	if len(s.rules) == 0 {
		return rows
	}
	var others []int32
	for _, r := range rows {
		if rule := s.ruleFor(g, g.Values, k, r); rule == nil {
			others = append(others, r)
		} else if original[k][r] == original[k][r] {
			g.Values[k][r] = rule.value.Number
		}
	}
	return others
}

// withoutRules returns the records that meet no rule for column k by their original values: its model is of these.
func (s *synthesis) withoutRules(g *gathered.Data, original [][]float64, rows []int32, k int) []int32 {
	if len(s.rules) == 0 {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r int32) bool { return s.ruleFor(g, original, k, r) != nil })
}
