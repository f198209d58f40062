package category

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Pseudonym replaces identifiers by keyed pseudonyms: equal ones under one key, scope, form and length, in every
// column, file, table, topic and release, so that files join as before; unrelated ones under another. Which records
// belong to one respondent stays (ISO 25237:2017, Pseudonymization).
type Pseudonym struct {
	Columns []string `yaml:"columns" doc:"the columns to mask"`
	Scope   string   `yaml:"scope" doc:"what the identifiers name, such as person: columns of one scope, form and length have the same pseudonyms under one key, in every file and release, and those of another scope unrelated ones"`
	Form    string   `yaml:"form" doc:"hex (default): hexadecimal digits; uuid: a UUID (RFC 9562, version 8); digits: decimal digits, the first not 0; like: letters and digits as in the original, by a permutation (FF1 of NIST SP 800-38G), so that different ones stay different" enum:"hex,uuid,digits,like"`
	Length  *int     `yaml:"length" doc:"the number of characters of hex (16 to 32; default 32) or digits (12 to 30; default 18)"`
}

// What a length may be. Of n identifiers two have one pseudonym with a probability of n²/2N at most: 1e-7 for a million
// and 16 hexadecimal digits.
const (
	leastHex, mostHex             = 16, 2 * keystream.PseudonymSize
	leastDigits, mostDigits       = 12, 30
	defaultDigits, mostDigitsOf64 = 18, 18
)

// Check implements Params.
func (m *Pseudonym) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	if m.Scope == "" {
		ps.Addf("scope", "must name what the identifiers are of, such as person")
	}
	core.CheckWord(&ps, "form", m.Form, "hex", "uuid", "digits", "like")
	if m.Length == nil {
		return ps
	}
	least, most := leastHex, mostHex
	switch m.Form {
	case "uuid", "like":
		ps.Addf("length", "must be left out with form %s, which has its own", m.Form)
		return ps
	case "digits":
		least, most = leastDigits, mostDigits
	}
	if *m.Length < least || *m.Length > most {
		ps.Addf("length", "must be between %d and %d, got %d", least, most, *m.Length)
	}
	return ps
}

// Describe implements Params.
func (m *Pseudonym) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeRecord, OnCategories: true, Renames: true, Retype: m.ReleasedField, Parameters: m.parameters,
		Action:    m.action,
		Published: m, OnColumn: m.onColumn, Among: m.checkAmong, Rejects: true, // what has no form, and NaN
	}
}

// Masks implements Params.
func (m *Pseudonym) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Pseudonym) Reads() []string { return nil }

// CheckAmong refuses other masks on the column: what they made of a value would not join, and what they made of a
// pseudonym would be none.
func (m *Pseudonym) checkAmong(masks []core.Spec, i int) (ps check.Problems) {
	for k, name := range m.Columns {
		for j, other := range masks {
			if j != i && other.Params != nil && slices.Contains(other.Params.Masks(), name) {
				ps.Addf(fmt.Sprintf("[%d].pseudonym.columns[%d]", i, k),
					"must not be changed by another mask, and mask [%d] (%s) changes %s", j, other.Kind(), strconv.Quote(name))
				break
			}
		}
	}
	return ps
}

// length is the number of characters; 0 where the form has its own.
func (m *Pseudonym) length() int {
	switch {
	case m.Length != nil:
		return *m.Length
	case m.Form == "digits":
		return defaultDigits
	case m.Form == "uuid" || m.Form == "like":
		return 0
	}
	return mostHex
}

// ReleasedField: integers stay integers where the form keeps to the range of their type, and all else becomes text.
func (m *Pseudonym) ReleasedField(f microdata.Field) (microdata.Field, bool) {
	if f.Type.ID() == arrow.STRING || isInteger(f.Type) &&
		(m.Form == "like" || m.Form == "digits" && m.length() <= mostDigitsOf64 && coding.Width(f.Type) == 8) {
		return f, false
	}
	f.Type = arrow.BinaryTypes.String
	return f, true
}

// isInteger reports whether a type holds integers.
func isInteger(t arrow.DataType) bool {
	d, fixed := microdata.Field{Type: t}.Decimals()
	return fixed && d == 0 && !core.IsDecimal(t)
}

// pseudonymStep is a pseudonym mask on the columns of a chain.
type pseudonymStep struct {
	mask    int
	columns []*core.Column
	of      pseudonyms
}

func (m *Pseudonym) Compile(c *core.Chain, i int) (core.Step, error) {
	s := &pseudonymStep{mask: i, of: m.Under(c.Setup.Key)}
	for _, name := range m.Columns {
		col := c.Touch(name)
		if col == nil {
			continue
		}
		if problem := m.Unfit(col.Field); problem != "" {
			return nil,
				fmt.Errorf("%s.columns: column %s %s, got %s", c.At(i), strconv.Quote(name), problem,
					microdata.TypeName(col.Field.Type))
		}
		c.AddToHistory(i, col, core.DigestOfTexts("pseudonym", m.form(), m.Scope)+core.Part("length", float64(m.length())))
		after, _ := m.ReleasedField(col.Field)
		col.Becomes(after)
		s.columns = append(s.columns, col)
	}
	return s, nil
}

// Written says how pseudonyms are written, in words that differ where they do.
func (m *Pseudonym) Written() string {
	if n := m.length(); n > 0 {
		return m.form() + ", " + strconv.Itoa(n) + " characters"
	}
	return m.form()
}

func (m *Pseudonym) form() string { return core.WordOr(m.Form, "hex") }

// Unfit says what the type of a column must be if it cannot have pseudonyms; "" if it can.
func (m *Pseudonym) Unfit(f microdata.Field) string {
	if f.Numeric() {
		if m.Form == "like" && (!isInteger(f.Type) || coding.Width(f.Type) < 4) {
			return "must be text or an integer of 32 or 64 bits for form like"
		}
		return ""
	}
	if t, ok := f.Type.(*arrow.DictionaryType); ok {
		return m.Unfit(microdata.Field{Type: t.ValueType})
	}
	if !core.Textual(f.Type) || f.Type.ID() == arrow.BINARY {
		return "must be text or a number"
	}
	return ""
}

// Apply does nothing in replicates, which have codes of the originals: pseudonyms differ where these do.
func (s *pseudonymStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed := w.NewChanged(b.N)
	for _, col := range s.columns {
		of := &b.Columns[col.Index]
		if of.Array == nil {
			continue
		}
		a, err := s.array(b, col, of.OutArray())
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", c.At(s.mask), strconv.Quote(col.Name), err)
		}
		for i := range b.N {
			if !a.IsNull(i) {
				changed.Set(i)
			}
		}
		of.ReleasedArray = a
	}
	c.Count(s.mask, b, changed)
	return nil
}

// array returns the pseudonyms of a block's values, null where the record is rejected.
func (s *pseudonymStep) array(b *microdata.Block, col *core.Column, from arrow.Array) (arrow.Array, error) {
	text, err := core.TextsOf(from)
	if err != nil {
		return nil, err
	}
	to := array.NewBuilder(memory.DefaultAllocator, col.Field.Type)
	defer to.Release()
	to.Reserve(b.N)
	known := map[string]string{} // identifiers often come several times, one after another
	for i := range b.N {
		if from.IsNull(i) || b.Rejected(i) {
			to.AppendNull()
			continue
		}
		value, reason := text(i)
		pseudonym, again := known[value]
		if !again && reason == "" && value != "" {
			if pseudonym, reason = s.of.Pseudonym(value); reason == "" && len(known) < core.Batch {
				known[value] = pseudonym
			}
		}
		if reason == "" {
			if err := core.AppendText(to, pseudonym); err == nil {
				continue
			}
			reason = "has a pseudonym that its type does not hold"
		}
		b.Reject(i, col.Name, reason)
		to.AppendNull()
	}
	return to.NewArray(), nil
}

// Keeps: its columns are not held as numbers, and no share of their values is measured.
func (*pseudonymStep) Keeps(l *core.KeepingOf, _ int) { l.Silent = true }

// pseudonyms makes the pseudonyms of one scope, form and length.
type pseudonyms struct {
	form    string
	length  int
	hash    *keystream.Pseudonyms
	permute *keystream.Permutation
}

// Under returns the pseudonyms of the mask under a key.
func (m *Pseudonym) Under(key keystream.Key) pseudonyms {
	label := fmt.Sprintf("mask: %s %d ", m.form(), m.length()) + m.Scope
	return pseudonyms{form: m.form(), length: m.length(), hash: key.Pseudonyms(label), permute: key.Permutation(label)}
}

// Pseudonym returns the pseudonym of a text that is not empty; the reason says why it has none.
func (p *pseudonyms) Pseudonym(text string) (pseudonym, reason string) {
	if p.form == "like" {
		return p.Like(text)
	}
	sum := p.hash.Append(nil, []byte(text))
	switch p.form {
	case "digits":
		least := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p.length-1)), nil)
		x := new(big.Int).SetBytes(sum)
		return x.Add(x.Mod(x, new(big.Int).Mul(least, big.NewInt(9))), least).String(), ""
	case "uuid":
		sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
		return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]), ""
	}
	return fmt.Sprintf("%x", sum)[:p.length], ""
}
