package category

import (
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Renaming replaces identifiers by others, different ones by different ones: which records belong together stays.
type Renaming struct{}

func (Renaming) IsAction() {}

func (m *Pseudonym) parameters() []core.Parameter {
	list := []core.Parameter{{Name: "scope", Value: m.Scope}, {Name: "form", Value: m.form()}}
	if n := m.length(); n > 0 {
		list = append(list, core.Parameter{Name: "length", Value: float64(n)})
	}
	return list
}

func (m *Pseudonym) action(string, float64) core.Action {
	if m.Scope == "" {
		return nil
	}
	return Renaming{}
}

// PublishedAction implements Publishing.
func (*Pseudonym) PublishedAction(core.Published, string) core.Action { return Renaming{} }

// Words implements Publishing.
func (*Pseudonym) Words(p core.Published, _ string) string {
	words :=
		"pseudonyms: pseudonymised, not anonymised; identifiers were replaced by keyed pseudonyms, equal ones by equal ones"
	if form := p.Word("form"); form == "like" {
		words += ", each in the shape of the original"
	}
	return words
}

// EfficiencyFollows implements Publishing: there is none.
func (*Pseudonym) EfficiencyFollows(_, _ func(string) bool) bool { return false }

func (m *Pseudonym) onColumn(column string) core.Params {
	q := *m
	q.Columns = []string{column}
	return &q
}
