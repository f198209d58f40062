package transform

import (
	"math"
	"math/big"
	"slices"
	"strings"
)

// below returns a number from 0 to n − 1 of an identifier: the residue of 128 bits.
func (p *pseudonyms) below(id string, n int) int {
	x := new(big.Int).SetBytes(p.hash.Append(nil, []byte(id)))
	return int(x.Mod(x, big.NewInt(int64(n))).Int64())
}

// keeps: a rounded date stays where it is the middle already, a shifted one where the shift is 0.
func (s *dateStep) keeps(l *keepingOf, i int) {
	if s.of.Shift != nil {
		l.moves = append(l.moves, moving{
			mask: i, lost: func(float64, float64) bool { return false },
			share: func(float64, float64) float64 { return 1 / float64(2**s.of.Shift+1) },
		})
		return
	}
	l.changed(i)
	for k := range s.columns {
		if col := &s.columns[k]; col.Name == l.name && s.of.Age == nil {
			l.fixed = append(l.fixed, func(x float64) bool {
				y, reason := s.number(col, x, nil, 0)
				return reason == "" && y == x
			})
		}
	}
}

// RoundsDates reports whether some mask replaces dates by the middle of their interval: R then is that of a snooper who
// does not know how the dates lie in it.
func RoundsDates(masks []Spec, column string) bool {
	for _, m := range masks {
		if a, ok := ActionOf(m.Params, column, 1).(Recoding); ok && a.Midpoints && declared(m.Params).OnDays &&
			slices.Contains(m.Params.Masks(), column) {
			return true
		}
	}
	return false
}

func (m *Date) parameters() []Parameter {
	var list []Parameter
	for name, word := range map[string]string{"round": m.Round, "by": m.By, "scope": m.Scope, "zone": m.Zone,
		"unit": m.Unit} {
		if word != "" {
			list = append(list, Parameter{name, word})
		}
	}
	slices.SortFunc(list, func(a, b Parameter) int { return strings.Compare(a.Name, b.Name) })
	if m.Shift != nil {
		list = append(list, Parameter{"shift", float64(*m.Shift)})
	}
	if m.Age != nil {
		list = append(list, Parameter{"age", *m.Age})
	}
	if m.Breaks != nil {
		var bounds []any
		for _, v := range m.Breaks {
			bounds = append(bounds, v)
		}
		list = append(list, Parameter{"breaks", bounds})
	}
	if m.Top != nil {
		list = append(list, Parameter{"top", float64(*m.Top)})
	}
	return list
}

// action: a date that is rounded or an age is a function of the value; a shift is noise that is uniform on whole days,
// and the same for all dates of a respondent.
func (m *Date) action(string, float64) Action {
	switch {
	case m.Shift != nil:
		n, unit := float64(2**m.Shift+1), 1.0
		if m.Unit != "" {
			unit = unitsPerDay[m.Unit]
		}
		return Addition{SD: math.Sqrt((n*n-1)/12) * unit, Distribution: "uniform", Correlated: true}
	case m.Round != "":
		return Recoding{Midpoints: true}
	case m.Age != nil:
		return Recoding{}
	}
	return nil
}

// PublishedAction implements Publishing.
func (m *Date) PublishedAction(p Published, _ string) Action {
	if p.Has("round") {
		return Recoding{Midpoints: true}
	}
	if p.Has("age") {
		return Recoding{}
	}
	return nil
}

// Words implements Publishing.
func (m *Date) Words(p Published, _ string) string {
	switch {
	case p.Has("shift"):
		words :=
			"shift: all dates of a respondent were moved by the same number of days, so that intervals are those of the original"
		if v, ok := p.number("shift"); ok {
			words += "; by at most " + p.Number(v) + " days"
		}
		return words
	case p.Has("age"):
		return "age: a date was replaced by the age in completed years, or its class"
	}
	if of := p.word("round"); of != "" {
		return "rounding: a date was replaced by the middle of its " + of
	}
	return "rounding: a date was replaced by the middle of its interval"
}

// EfficiencyFollows implements Publishing: it discloses the amount of the shift, or the intervals.
func (m *Date) EfficiencyFollows(has, named func(string) bool) bool {
	return named("shift") && has("shift") || named("round") && has("round")
}

func (m *Date) onColumn(column string) Params {
	q := *m
	q.Columns = []string{column}
	return &q
}
