package transform

import "slices"

// Renaming replaces identifiers by others, different ones by different ones: which records belong together stays.
type Renaming struct{}

func (Renaming) action() {}

// Renames reports whether some mask replaces the identifiers of a column by pseudonyms.
func Renames(masks []Spec, column string) bool {
	for _, m := range masks {
		if m.Params != nil && declared(m.Params).Renames && slices.Contains(m.Params.Masks(), column) {
			return true
		}
	}
	return false
}

func (m *Pseudonym) parameters() []Parameter {
	list := []Parameter{{"scope", m.Scope}, {"form", m.form()}}
	if n := m.length(); n > 0 {
		list = append(list, Parameter{"length", float64(n)})
	}
	return list
}

func (m *Pseudonym) action(string, float64) Action {
	if m.Scope == "" {
		return nil
	}
	return Renaming{}
}

// PublishedAction implements Publishing.
func (*Pseudonym) PublishedAction(Published, string) Action { return Renaming{} }

// Words implements Publishing.
func (*Pseudonym) Words(p Published, _ string) string {
	words :=
		"pseudonyms: pseudonymised, not anonymised; identifiers were replaced by keyed pseudonyms, equal ones by equal ones"
	if form := p.word("form"); form == "like" {
		words += ", each in the shape of the original"
	}
	return words
}

// EfficiencyFollows implements Publishing: there is none.
func (*Pseudonym) EfficiencyFollows(_, _ func(string) bool) bool { return false }

func (m *Pseudonym) onColumn(column string) Params {
	q := *m
	q.Columns = []string{column}
	return &q
}
