package core

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

// CheckWhere checks the condition of a mask; "" is none.
func CheckWhere(ps *check.Problems, where string, columns []string) {
	if where == "" {
		return
	}
	c, err := ParseCondition(where)
	if err != nil {
		ps.Addf("where", "%v, got %q", err, where)
		return
	}
	if len(columns) != 1 {
		ps.Addf("where", "must be of a mask of one column, got %d; give each column a mask of its own", len(columns))
		return
	}
	for _, one := range c {
		if one.Column == columns[0] && one.OfText {
			ps.Addf("where", "must compare %q with a number, got a text", one.Column)
		}
	}
}

// WhereReads returns the columns other than the masked ones that a condition compares.
func WhereReads(where string, columns []string) (list []string) {
	if where == "" {
		return nil
	}
	c, err := ParseCondition(where)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(c.Columns(), func(name string) bool { return slices.Contains(columns, name) })
}

// WhereRead are the columns of WhereReads, for Reading.
func WhereRead(where string, columns []string) (list []ReadColumn) {
	for _, name := range WhereReads(where, columns) {
		list = append(list, ReadColumn{"where", name, "compared by a mask"})
	}
	return list
}

// CheckWhereAmong refuses mask i with a condition behind a mask that gives its column the values of other records: U,
// and R by position, of masks that exchange values are those without them, and the condition is on a record's own
// original value, which these values do not have. It refuses a condition on another column that is masked, too: who
// knows a record's value sees whether it has changed, and so what its original value in the compared column is.
func CheckWhereAmong(masks []Spec, i int, where string) check.Problems {
	var ps check.Problems
	if where == "" {
		return nil
	}
	for _, name := range WhereReads(where, masks[i].Params.Masks()) {
		for k, m := range masks {
			if slices.Contains(m.Params.Masks(), name) {
				ps.Addf(fmt.Sprintf("[%d].%s.where", i, masks[i].Kind()),
					"must not compare %s, which mask [%d] (%s) changes: which records have changed would tell their original value in it; compare columns that no mask changes",
					strconv.Quote(name), k, m.Kind())
				break
			}
		}
	}
	for _, name := range masks[i].Params.Masks() {
		for k, before := range masks[:i] {
			if slices.Contains(before.Params.Masks(), name) && MixesRecords(before.Params) {
				ps.Addf(fmt.Sprintf("[%d].%s.where", i, masks[i].Kind()),
					"must not be given behind mask [%d], a %s, which gives %s values of other records; put the mask before that", k,
					before.Kind(), strconv.Quote(name))
			}
		}
	}
	return ps
}

// whereStep is the step of a mask that changes only records whose original value meets a condition.
type whereStep struct {
	Step
	mask int
	*Column
	where Condition
	other []int // by comparison: the place in Block.Columns of another column that it compares, −1: it is the masked one
}

// CompileWhere compiles mask i with a condition; compile makes its step without one.
func (c *Chain) CompileWhere(i int, where string, columns []string, compile func(*Chain, int) (Step, error)) (Step,
	error) {
	if where == "" {
		return compile(c, i)
	}
	of, err := ParseCondition(where)
	if err != nil {
		return nil, err
	}
	col, err := c.Arithmetic(i, columns[0])
	if err != nil {
		return nil, err
	}
	other, err := c.comparedWhere(i, columns[0], of)
	if err != nil {
		return nil, err
	}
	onGrid := col.OnGrid
	col.Done.Text += DigestOfTexts("where", of.Names()...) // before the mask's own part, which its draws are named by
	s, err := compile(c, i)
	if err != nil {
		return nil, err
	}
	col.OnGrid = onGrid // the other records stay as they are
	return &whereStep{s, i, col, of, other}, nil
}

// comparedWhere finds the columns that a condition of mask i on a column compares.
func (c *Chain) comparedWhere(i int, masked string, of Condition) (other []int, err error) {
	for _, one := range of {
		if one.Column == masked {
			other = append(other, -1)
			continue
		}
		info := c.Info(one.Column)
		if info == nil {
			return nil, fmt.Errorf("%s.where: there is no column %s", c.At(i), strconv.Quote(one.Column))
		}
		numeric, text := info.Field.Numeric(), TextField(info.Field.Type)
		switch {
		case c.ReplicateNumber != 0: // the release has been checked
		case !numeric && !text:
			return nil, fmt.Errorf("%s.where: must compare a column of numbers or texts, and %s is of type %s", c.At(i),
				strconv.Quote(one.Column), microdata.TypeName(info.Field.Type))
		case text != one.OfText:
			return nil, fmt.Errorf("%s.where: must compare %s with %s", c.At(i), strconv.Quote(one.Column), KindOfValue(text))
		}
		other = append(other, info.Index)
	}
	return other, nil
}

// WritesAlone implements writingAlone.
func (*whereStep) WritesAlone() {}

func (s *whereStep) Apply(c *Chain, w *Work, b *microdata.Block) error {
	v, err := s.Numbers(b)
	if err != nil {
		return err
	}
	before, counted := slices.Clone(v.Values), b.Touched[s.mask]
	if err := s.Step.Apply(c, w, b); err != nil {
		return err
	}
	changed := w.NewChanged(b.N)
	for i, old := range before {
		switch {
		case !s.meets(b, i):
			v.Values[i] = old
		case v.Values[i] != old && v.Valid.Has(i):
			changed.Set(i)
		}
	}
	c.CountIn(s.mask, b, int(counted-b.Touched[s.mask])) // what the step has counted of all records
	c.Count(s.mask, b, changed)
	return nil
}

// meets reports whether the original values of a record meet the condition; a missing one never does, nor one that no
// float64 holds.
func (s *whereStep) meets(b *microdata.Block, i int) bool {
	for k := range s.where {
		at := s.other[k]
		if at < 0 {
			at = s.Index
		}
		if col := &b.Columns[at]; !s.where[k].Holds(originalOf(col, i)) {
			return false
		}
	}
	return true
}

// originalOf returns the original number of a record, or the code of its text; NaN where there is none.
func originalOf(col *microdata.Column, i int) float64 {
	switch {
	case col.Array != nil:
		return microdata.CodeOf(col.Array, i)
	case !col.Original.Valid.Has(i):
		return NaN
	}
	return col.Original.Values[i]
}

// WithWhere adds a condition to a mask's parameters.
func WithWhere(list []Parameter, where string) []Parameter {
	if where != "" {
		list = append(list, Parameter{"where", where})
	}
	return list
}

// WhereWords says which records a mask changed, after what it did to them.
func WhereWords(p Published) string {
	switch {
	case !p.Has("where"):
		return ""
	case strings.TrimSpace(p.Word("where")) == "":
		return "; only in records that met a condition, which is not published"
	}
	return "; only where " + p.Word("where")
}
