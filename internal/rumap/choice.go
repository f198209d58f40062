package rumap

// Choice writes a point in words: its parameters, or otherwise if none of them varies, and then
// the name of its strategy in brackets. The name is left out if the map has only the
// configured masks.
func (m *Map) Choice(p *Point, otherwise string) string {
	choice := m.Setting(p)
	if choice == "" {
		choice = otherwise
	}
	if names := m.Strategies(); len(names) > 1 || p.Strategy != Configured {
		choice += " (" + p.Strategy + ")"
	}
	return choice
}

// RiskUnlimited is a sentence that goes with a recommendation if no rule limits how near a
// snooper comes to a value of the column: the best point is then the weakest mask. It is "" if
// a rule does, if nothing is recommended, and for a map of categories.
func (m *Map) RiskUnlimited() string {
	if m.chosen() == nil || len(m.Categories) > 0 {
		return ""
	}
	for i := range m.Rules {
		if m.Rules[i].onRisk() {
			return ""
		}
	}
	return "No rule limits how near a snooper comes to a value of " + m.Column +
		" (min_rmse, max_risk), so the point of least masking that the other rules allow is recommended."
}
