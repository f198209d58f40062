package category

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// below returns a number from 0 to n − 1 of an identifier: the residue of 128 bits.
func (p *pseudonyms) below(id string, n int) int {
	x := new(big.Int).SetBytes(p.hash.Append(nil, []byte(id)))
	return int(x.Mod(x, big.NewInt(int64(n))).Int64())
}

// Keeps: a rounded date stays where it is the middle already, a shifted one where the shift is 0.
func (s *dateStep) Keeps(l *core.KeepingOf, i int) {
	if s.of.Shift != nil {
		l.Moves = append(l.Moves, core.Moving{
			Mask: i, Lost: func(float64, float64) bool { return false },
			Share: func(float64, float64) float64 { return 1 / float64(2**s.of.Shift+1) },
		})
		return
	}
	l.Changed(i)
	for k := range s.columns {
		if col := &s.columns[k]; col.Name == l.Name && s.of.Age == nil {
			l.Fixed = append(l.Fixed, func(x float64) bool {
				y, reason := s.number(col, x, nil, 0)
				return reason == "" && y == x
			})
		}
	}
}

// RoundsDates reports whether some mask replaces dates by the middle of their interval: R then is that of a snooper who
// does not know how the dates lie in it.
func RoundsDates(masks []core.Spec, column string) bool {
	for _, m := range masks {
		if a, ok := core.ActionOf(m.Params, column, 1).(core.Recoding); ok && a.Midpoints && core.Declared(m.Params).OnDays &&
			slices.Contains(m.Params.Masks(), column) {
			return true
		}
	}
	return false
}

func (m *Date) parameters() []core.Parameter {
	var list []core.Parameter
	for name, word := range map[string]string{"round": m.Round, "by": m.By, "scope": m.Scope, "zone": m.Zone,
		"unit": m.Unit} {
		if word != "" {
			list = append(list, core.Parameter{Name: name, Value: word})
		}
	}
	slices.SortFunc(list, func(a, b core.Parameter) int { return strings.Compare(a.Name, b.Name) })
	if m.Shift != nil {
		list = append(list, core.Parameter{Name: "shift", Value: float64(*m.Shift)})
	}
	if m.Age != nil {
		list = append(list, core.Parameter{Name: "age", Value: *m.Age})
	}
	if m.Breaks != nil {
		var bounds []any
		for _, v := range m.Breaks {
			bounds = append(bounds, v)
		}
		list = append(list, core.Parameter{Name: "breaks", Value: bounds})
	}
	if m.Top != nil {
		list = append(list, core.Parameter{Name: "top", Value: float64(*m.Top)})
	}
	return list
}

// action: a date that is rounded or an age is a function of the value; a shift is noise that is uniform on whole days,
// and the same for all dates of a respondent.
func (m *Date) action(string, float64) core.Action {
	switch {
	case m.Shift != nil:
		n, unit := float64(2**m.Shift+1), 1.0
		if m.Unit != "" {
			unit = unitsPerDay[m.Unit]
		}
		return core.Addition{SD: math.Sqrt((n*n-1)/12) * unit, Distribution: "uniform", Correlated: true}
	case m.Round != "":
		return core.Recoding{Midpoints: true}
	case m.Age != nil:
		return core.Recoding{}
	}
	return nil
}

// PublishedAction implements Publishing.
func (m *Date) PublishedAction(p core.Published, _ string) core.Action {
	if p.Has("round") {
		return core.Recoding{Midpoints: true}
	}
	if p.Has("age") {
		return core.Recoding{}
	}
	return nil
}

// Words implements Publishing.
func (m *Date) Words(p core.Published, _ string) string {
	switch {
	case p.Has("shift"):
		words :=
			"shift: all dates of a respondent were moved by the same number of days, so that intervals are those of the original"
		if v, ok := p.Float("shift"); ok {
			words += "; by at most " + p.Number(v) + " days"
		}
		return words
	case p.Has("age"):
		return "age: a date was replaced by the age in completed years, or its class"
	}
	if of := p.Word("round"); of != "" {
		return "rounding: a date was replaced by the middle of its " + of
	}
	return "rounding: a date was replaced by the middle of its interval"
}

// EfficiencyFollows implements Publishing: it discloses the amount of the shift, or the intervals.
func (m *Date) EfficiencyFollows(has, named func(string) bool) bool {
	return named("shift") && has("shift") || named("round") && has("round")
}

func (m *Date) onColumn(column string) core.Params {
	q := *m
	q.Columns = []string{column}
	return &q
}
