package transform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// A mask of one column can be limited to the records whose original value meets a condition (where). It then
// describes nothing of itself (no law, no action, no share of values that it leaves), so that nothing is computed as if
// it changed all records: R and U come from replicates, and what needs a description is refused.

// checkWhere checks the condition of a mask; "" is none.
func checkWhere(ps *check.Problems, where string, columns []string) {
	if where == "" {
		return
	}
	c, err := parseCondition(where)
	if err != nil {
		ps.Addf("where", "%v, got %q", err, where)
		return
	}
	if len(columns) != 1 {
		ps.Addf("where", "must be of a mask of one column, got %d; give each column a mask of its own", len(columns))
		return
	}
	for _, one := range c {
		if one.column != columns[0] {
			ps.Addf("where", "must compare the column that is masked, %q, got %q: other columns are not known wherever the release is measured", columns[0], one.column)
		} else if one.ofText {
			ps.Addf("where", "must compare %q with a number, got a text", one.column)
		}
	}
}

// checkWhereAmong refuses mask i with a condition behind a mask that gives its column the values of other records: U, and R by position, of
// masks that exchange values are those without them, and the condition is on a record's own original value, which these values do
// not have.
func checkWhereAmong(masks []Spec, i int, where string) check.Problems {
	var ps check.Problems
	if where == "" {
		return nil
	}
	for _, name := range masks[i].Params.Masks() {
		for k, before := range masks[:i] {
			if slices.Contains(before.Params.Masks(), name) && MixesRecords(before.Params) {
				ps.Addf(fmt.Sprintf("[%d].%s.where", i, masks[i].Kind()), "must not be given behind mask [%d], a %s, which gives %s values of other records; put the mask before that", k, before.Kind(), strconv.Quote(name))
			}
		}
	}
	return ps
}

// whereStep is the step of a mask that changes only records whose original value meets a condition.
type whereStep struct {
	step
	mask int
	*column
	where condition
}

// compileWhere compiles mask i with a condition; compile makes its step without one.
func (c *Chain) compileWhere(i int, where string, columns []string, compile func(*Chain, int) (step, error)) (step, error) {
	if where == "" {
		return compile(c, i)
	}
	of, err := parseCondition(where)
	if err != nil {
		return nil, err
	}
	col, err := c.arithmetic(i, columns[0])
	if err != nil {
		return nil, err
	}
	onGrid := col.onGrid
	col.done.text += digestOfTexts("where", of.names()...) // before the mask's own part, which its draws are named by
	s, err := compile(c, i)
	if err != nil {
		return nil, err
	}
	col.onGrid = onGrid // the other records stay as they are
	return &whereStep{s, i, col, of}, nil
}

// writesAlone implements writingAlone.
func (*whereStep) writesAlone() {}

func (s *whereStep) apply(c *Chain, w *work, b *microdata.Block) error {
	v, err := s.numbers(b)
	if err != nil {
		return err
	}
	before, counted := slices.Clone(v.Values), b.Touched[s.mask]
	if err := s.step.apply(c, w, b); err != nil {
		return err
	}
	original, changed := &b.Columns[s.Index].Original, w.newChanged(b.N)
	for i, old := range before {
		switch {
		case !s.meets(original, i):
			v.Values[i] = old
		case v.Values[i] != old && v.Valid.Has(i):
			changed.Set(i)
		}
	}
	c.countIn(s.mask, b, int(counted-b.Touched[s.mask])) // what the step has counted of all records
	c.count(s.mask, b, changed)
	return nil
}

// meets reports whether an original value meets the condition; a missing one never does.
func (s *whereStep) meets(original *microdata.Vector, i int) bool {
	if !original.Valid.Has(i) {
		return false
	}
	for k := range s.where {
		if !s.where[k].holds(original.Values[i]) {
			return false
		}
	}
	return true
}

// withWhere adds a condition to a mask's parameters.
func withWhere(list []Parameter, where string) []Parameter {
	if where != "" {
		list = append(list, Parameter{"where", where})
	}
	return list
}

// whereWords says which records a mask changed, after what it did to them.
func whereWords(p Published) string {
	switch {
	case !p.Has("where"):
		return ""
	case strings.TrimSpace(p.word("where")) == "":
		return "; only in records that met a condition, which is not published"
	}
	return "; only where " + p.word("where")
}
