package category

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Recode replaces categories by coarser ones, or numbers by intervals: global recoding
// (Hundepool et al. 2012, Statistical Disclosure Control, section 3.2.3). If the file is a
// hierarchy, in which each line has a category and the one above it, a value goes up Level
// steps.
type Recode struct {
	Columns   []string          `yaml:"columns" doc:"the columns to mask"`
	Map       map[string]string `yaml:"map" doc:"the new category for each category, or for all texts that match a pattern such as '01*': * stands for any characters, ? for one"`
	File      string            `yaml:"file" doc:"a CSV file with the columns from and to, instead of map; or a hierarchy with a line for each category, value;level 1;level 2;… without a header, as ARX writes it"`
	Level     *int              `yaml:"level" doc:"how many steps a category goes up, if map or file is a hierarchy that gives for each category the one above it; 1 by default. Of a file with a column for each level, the level"`
	Prefix    *int              `yaml:"prefix" doc:"instead of map: release the first characters of a code, so many"`
	Other     *string           `yaml:"other" doc:"what replaces a value that is not listed or lies outside the breaks; without it such a record goes to quarantine"`
	Breaks    []float64         `yaml:"breaks" doc:"bounds of intervals of numbers, ascending: each interval includes its lower bound, and the last one also its upper bound"`
	Labels    []string          `yaml:"labels" doc:"names of the intervals: one fewer than breaks, or one more than breaks, to also name the values below the first break and above the last"`
	Midpoints bool              `yaml:"midpoints" doc:"release the middle of the interval, a number, instead of a label"`

	Table  map[string]string   `yaml:"-"` // what ReadTable has read of File
	Levels []map[string]string `yaml:"-"` // of a file with a column for each level: the category of each level, by value
}

// ReadTable reads CSV with the header from,to. The error joins one for each
// line that is wrong, up to 20 of them.
func (m *Recode) ReadTable(content []byte) error {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if line, _, _ := bytes.Cut(content, []byte("\n")); bytes.ContainsRune(line, ';') &&
		!bytes.HasPrefix(line, []byte("from,to")) {
		return m.readLevels(content)
	}
	r := csv.NewReader(bytes.NewReader(content))
	r.FieldsPerRecord = 2
	head, err := r.Read()
	if err != nil || head[0] != "from" || head[1] != "to" {
		return errors.New("must begin with the line from,to, or be a hierarchy with semicolons: value;level 1;level 2")
	}
	table, lines := map[string]string{}, map[string]int{}
	var faults []error
	for len(faults) <= core.MostFaults {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			faults = append(faults, fmt.Errorf("line %d: must have two fields, from and to: %w", wrong.Line, wrong.Err))
			continue
		} else if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		if first, again := lines[row[0]]; again && table[row[0]] != row[1] {
			faults = append(faults,
				fmt.Errorf("line %d: %s becomes %s here and %s in line %d; a category has one above it", line,
					strconv.Quote(row[0]), strconv.Quote(row[1]), strconv.Quote(table[row[0]]), first))
		} else if !again {
			lines[row[0]], table[row[0]] = line, row[1]
		}
	}
	if len(faults) > core.MostFaults {
		faults[core.MostFaults] = fmt.Errorf("further lines are wrong: only the first %d are reported", core.MostFaults)
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	m.Table = table
	return nil
}

// Check implements Params.
func (m *Recode) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	ways := 0
	for _, given := range []bool{m.Map != nil, m.File != "", m.Breaks != nil, m.Prefix != nil} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		ps.Addf("", "must have one of map, file, breaks and prefix, got %d of them", ways)
	}
	if m.Prefix != nil {
		if *m.Prefix < 1 || *m.Prefix > 100 {
			ps.Addf("prefix", "must be between 1 and 100 characters, got %d", *m.Prefix)
		}
		if m.Other != nil {
			ps.Addf("other", "must be left out with prefix, which takes every value")
		}
	}
	if m.Map != nil && len(m.Map) == 0 {
		ps.Addf("map", "must list at least one category")
	}
	if m.Table != nil && len(m.Table) == 0 {
		ps.Addf("file", "must list at least one category")
	}
	if m.Level != nil {
		switch {
		case m.Breaks != nil || m.Prefix != nil:
			ps.Addf("level", "must be left out with breaks and prefix: it is of a hierarchy of categories")
		case m.Levels != nil && *m.Level > len(m.Levels):
			ps.Addf("level", "must be at most %d, the levels of the file, got %d", len(m.Levels), *m.Level)
		case *m.Level < 1 || *m.Level > 100:
			ps.Addf("level", "must be between 1 and 100, got %d", *m.Level)
		default:
			m.checkHierarchy(&ps)
		}
	}
	m.checkBreaks(&ps)
	return ps
}

// checkHierarchy refuses a hierarchy in which going up leads back to the same category. A
// category that is the one above itself is a root.
func (m *Recode) checkHierarchy(ps *check.Problems) {
	list := m.list()
	field := "map"
	if m.File != "" {
		field = "file"
	}
	for _, from := range slices.Sorted(maps.Keys(list)) {
		at := from
		for range len(list) + 1 {
			up, ok := list[at]
			if !ok || up == at {
				at = ""
				break
			}
			if at = up; at == from {
				break
			}
		}
		if at == from && from != "" {
			ps.Addf(field, "must be a hierarchy for level, and %s stands above itself", strconv.Quote(from))
			return
		}
	}
}

func (m *Recode) checkBreaks(ps *check.Problems) {
	if m.Breaks == nil {
		if m.Labels != nil {
			ps.Addf("labels", "needs breaks")
		}
		if m.Midpoints {
			ps.Addf("midpoints", "needs breaks")
		}
		return
	}
	if len(m.Breaks) < 2 {
		ps.Addf("breaks", "must have at least 2 bounds, got %d", len(m.Breaks))
	}
	for i, v := range m.Breaks {
		if at := fmt.Sprintf("breaks[%d]", i); v-v != 0 {
			ps.Addf(at, "must be a finite number, got %v", v)
		} else if i > 0 && !(v > m.Breaks[i-1]) {
			ps.Addf(at, "must be greater than the bound before it, which is %v, got %v", m.Breaks[i-1], v)
		}
	}
	switch n := len(m.Breaks); {
	case m.Labels != nil && m.Midpoints:
		ps.Addf("midpoints", "must be left out where labels are given")
	case m.Labels != nil && len(m.Labels) != n-1 && len(m.Labels) != n+1:
		ps.Addf("labels", "must have %d entries, or %d with what lies below and above the breaks, got %d", n-1, n+1,
			len(m.Labels))
	}
	if m.Midpoints && m.Other != nil {
		if _, err := core.CodeOf(*m.Other, true); err != nil {
			ps.Addf("other", "must be a number beside midpoints, got %q", *m.Other)
		}
	}
}

// list is the table of categories, of map or file.
func (m *Recode) list() map[string]string {
	switch {
	case m.Map != nil:
		return m.Map
	case m.Levels != nil:
		return m.Levels[min(m.steps(), len(m.Levels))-1]
	}
	return m.Table
}

// steps is how many steps a category goes up.
func (m *Recode) steps() int {
	if m.Level != nil {
		return max(*m.Level, 1)
	}
	return 1
}

// resolved returns the categories in the order of their text, and those that replace them, Level
// steps up; Other comes last if it is given.
func (m *Recode) resolved() (from, to []string) {
	if m.Breaks != nil {
		to = m.intervals()
	}
	list, steps := m.list(), m.steps()
	if m.Levels != nil {
		steps = 1 // the list is that of the level
	}
	for _, f := range slices.Sorted(maps.Keys(list)) {
		t := f
		for range steps {
			up, ok := list[t]
			if !ok {
				break
			}
			t = up
		}
		from, to = append(from, f), append(to, t)
	}
	if m.Other != nil {
		to = append(to, *m.Other)
	}
	return from, to
}

// intervals returns the categories that replace values between the breaks.
func (m *Recode) intervals() []string {
	if m.Labels != nil {
		return slices.Clone(m.Labels)
	}
	var list []string
	for i := 1; i < len(m.Breaks); i++ {
		lower, upper, end := m.Breaks[i-1], m.Breaks[i], ")"
		if i == len(m.Breaks)-1 {
			end = "]"
		}
		if m.Midpoints {
			list = append(list, core.NumberText(lower+(upper-lower)/2))
		} else {
			list = append(list, "["+core.NumberText(lower)+","+core.NumberText(upper)+end)
		}
	}
	return list
}

// interval returns the index in intervals of the interval that contains a number; unlisted if
// none does.
func (m *Recode) interval(x float64) int32 {
	n := len(m.Breaks)
	open := len(m.Labels) == n+1
	i := sort.SearchFloat64s(m.Breaks, x) // first break ≥ x
	if i < n && m.Breaks[i] == x {
		i++
	}
	switch { // i breaks are at or below x
	case open:
		return int32(i)
	case i == n && x == m.Breaks[n-1]:
		return int32(n - 2)
	case i == 0 || i == n:
		return core.Unlisted
	}
	return int32(i - 1)
}

// Describe implements Params.
func (m *Recode) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeRecord, OnCategories: m.Breaks == nil, LeavesAll: m.leavesAll, Retype: m.releasedField,
		File: &core.TableFile{Field: "file", Path: m.File, Read: m.ReadTable}, Parameters: m.parameters,
		// values that are not listed
		Action: m.action, Published: m, OnColumn: m.onColumn, Rejects: m.Other == nil && m.Prefix == nil,
		KeepsCode: m.keepsCode, Mechanism: m.mechanism,
	}
}

// Masks implements Params.
func (m *Recode) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Recode) Reads() []string { return nil }

// keepsCode: a category that becomes itself, and that no other one becomes.
func (m *Recode) keepsCode(c microdata.Code) bool {
	if m.Breaks != nil || c.Tag != 0 {
		return c.Tag != 0
	}
	same := func(category string) bool {
		if c.IsText {
			return category == c.Text
		}
		x, err := strconv.ParseFloat(category, 64)
		return err == nil && x == c.Number
	}
	from, to := m.resolved()
	kept := false
	for i, t := range to {
		switch {
		case !same(t):
		case i < len(from) && same(from[i]):
			kept = true
		default:
			return false
		}
	}
	return kept
}

func (m *Recode) releasedField(f microdata.Field) (microdata.Field, bool) {
	_, to := m.resolved()
	return core.CategoryField(f, to)
}

// recodeStep is a recode mask on the columns of a chain.
type recodeStep struct {
	mask    int
	of      *Recode
	other   int32 // place of Other; unlisted where there is none
	columns []*core.CategoryColumn
	same    [][]bool // by column and place in the list: whether the category stays
}

func (m *Recode) Compile(c *core.Chain, i int) (core.Step, error) {
	if m.Prefix != nil {
		return m.compilePrefix(c, i)
	}
	if m.File != "" && m.Table == nil {
		return nil, fmt.Errorf("%s.file: has not been read", c.At(i))
	}
	from, to := m.resolved()
	s := &recodeStep{mask: i, of: m, other: core.Unlisted}
	if m.Other != nil {
		s.other = int32(len(to) - 1)
	}
	field := "map"
	switch {
	case m.Breaks != nil:
		field = "breaks"
	case m.File != "":
		field = "file"
	}
	for _, name := range m.Columns {
		if col := c.Lookup(name); col != nil && m.Breaks != nil && !col.Field.Numeric() {
			return nil, fmt.Errorf("%s.columns: column %s must be numeric, got type %s", c.At(i), strconv.Quote(name),
				microdata.TypeName(col.Field.Type))
		}
		if col := c.Lookup(name); col != nil && col.Field.Numeric() && slices.ContainsFunc(from, core.IsPattern) {
			return nil,
				fmt.Errorf(
					"%s.%s: column %s holds numbers, and a pattern is of texts: give the column the type string, which also keeps leading zeros", c.At(i), field, strconv.Quote(name))
		}
		after := microdata.Field{}
		if col := c.Lookup(name); col != nil {
			after, _ = core.CategoryField(col.Field, to)
		}
		col, err := c.Categorical(i, name, field, from, to, after)
		if err != nil {
			return nil, err
		}
		if col == nil {
			continue
		}
		col.Match(from)
		m.listIn(c, col)
		same := make([]bool, len(to))
		for j := range from {
			same[j] = from[j] == to[j] || col.Numeric && after.Numeric() && col.Numbers[col.Codes[j]] == int32(j) &&
				hasNumber(col.Numbers, col.Codes[j])
		}
		text := core.Part("recode", m.Breaks...) + core.DigestOfTexts("from", from...) + core.DigestOfTexts("to", to...)
		if m.Other != nil {
			text += "other;"
		}
		c.AddToHistory(i, col.Column, text)
		col.Becomes(after)
		s.columns, s.same = append(s.columns, col), append(s.same, same)
	}
	return s, nil
}

func hasNumber(of map[float64]int32, x float64) bool { _, ok := of[x]; return ok }

func (s *recodeStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed := w.NewChanged(b.N)
	for k, col := range s.columns {
		places := w.PlacesFor(b.N)
		there, err := s.look(places, col, b)
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", c.At(s.mask), strconv.Quote(col.Name), err)
		}
		if !there {
			continue
		}
		if c.ReplicateNumber == 0 {
			col.Mark(b, places)
		}
		core.SettleUnlisted(b, col.Name, places, s.other, nil)
		col.Put(b, places, changed, func(i int) bool { return !s.same[k][places[i]] })
	}
	c.Count(s.mask, b, changed)
	return nil
}

// look finds the categories of a column's records, or their intervals.
func (s *recodeStep) look(dst []int32, col *core.CategoryColumn, b *microdata.Block) (bool, error) {
	if s.of.Breaks == nil {
		return col.Look(dst, b)
	}
	of := &b.Columns[col.Index]
	v := of.Out()
	var beyond []int
	switch {
	case of.Array != nil:
		var numbers microdata.Column
		a := of.OutArray()
		if len(dst) > 0 {
			beyond = microdata.NumbersOf(a, &numbers)
		}
		v = numbers.Original
	case of.Original.Values == nil:
		return false, nil
	}
	for i, x := range v.Values {
		switch {
		case !v.Valid.Has(i):
			dst[i] = core.Missing
		case x-x != 0:
			dst[i] = core.Missing
			b.Reject(i, col.Name, "is not a finite number")
		default:
			dst[i] = s.of.interval(x)
		}
	}
	for _, i := range beyond {
		dst[i] = core.Missing
		b.Reject(i, col.Name, "is beyond what can be compared exactly (2^53 units of the last place)")
	}
	return true, nil
}

// Keeps: a category that is recoded to itself stays.
func (s *recodeStep) Keeps(l *core.KeepingOf, i int) {
	l.Changed(i)
	for k, col := range s.columns {
		if col.Name == l.Name {
			l.Fixed = append(l.Fixed, func(x float64) bool {
				if s.of.Breaks != nil {
					j := s.of.interval(x)
					return j >= 0 && int(j) < len(col.Codes) && col.Codes[j] == x
				}
				j := col.Place(x, true)
				return j >= 0 && s.same[k][j]
			})
		}
	}
}

func (m *Recode) parameters() []core.Parameter {
	var list []core.Parameter
	if of := m.list(); of != nil {
		table := make(map[string]any, len(of))
		for from, to := range of {
			table[from] = to
		}
		list = append(list, core.Parameter{Name: "map", Value: table})
	}
	if m.File != "" {
		list = append(list, core.Parameter{Name: "file", Value: m.File})
	}
	if m.Prefix != nil {
		list = append(list, core.Parameter{Name: "prefix", Value: float64(*m.Prefix)})
	}
	if m.Level != nil {
		list = append(list, core.Parameter{Name: "level", Value: float64(*m.Level)})
	}
	if m.Other != nil {
		list = append(list, core.Parameter{Name: "other", Value: *m.Other})
	}
	if m.Breaks != nil {
		var bounds []any
		for _, v := range m.Breaks {
			bounds = append(bounds, v)
		}
		list = append(list, core.Parameter{Name: "breaks", Value: bounds})
	}
	if m.Labels != nil {
		list = append(list, core.Parameter{Name: "labels", Value: core.JsonWords(m.Labels)})
	}
	if m.Midpoints {
		list = append(list, core.Parameter{Name: "midpoints", Value: true})
	}
	return list
}

func (m *Recode) action(string, float64) core.Action {
	switch {
	case m.Prefix != nil:
		return core.Recoding{}
	case m.Breaks == nil && m.list() == nil:
		return nil
	case m.Breaks == nil:
		for from := range m.list() {
			if core.IsPattern(from) {
				return core.Recoding{} // what becomes of a category is not said by the list alone
			}
		}
	}
	a := core.Recoding{Breaks: m.Breaks, Midpoints: m.Midpoints, Other: m.Other}
	if m.Breaks == nil {
		a.From, a.To = m.resolved()
	}
	return a
}

// PublishedAction implements Publishing.
func (m *Recode) PublishedAction(p core.Published, _ string) core.Action {
	return core.Recoding{Breaks: p.Floats("breaks"), Midpoints: p.Flag("midpoints")}
}

// Words implements Publishing.
func (m *Recode) Words(p core.Published, _ string) string {
	breaks := p.Floats("breaks")
	switch {
	case breaks != nil && p.Flag("midpoints"):
		return "recoding: a number was replaced by the middle of its interval; the bounds are " + core.NumbersText(p, breaks)
	case breaks != nil:
		return "recoding: a number was replaced by its interval; the bounds are " + core.NumbersText(p, breaks)
	case p.Has("prefix"):
		return "recoding: codes were cut to their first characters"
	}
	return "recoding: categories were joined to coarser ones"
}

// EfficiencyFollows implements Publishing: the variance within intervals discloses their
// widths.
func (m *Recode) EfficiencyFollows(has, named func(string) bool) bool {
	return !has("prefix") && (named("breaks") || !has("breaks")) && (named("map") || !has("map"))
}

func (m *Recode) onColumn(column string) core.Params {
	q := *m
	q.Columns = []string{column}
	return &q
}

func (m *Recode) mechanism(string) core.Mechanism { return core.Mechanism{Kind: core.OwnValue} }

// leavesAll: each category that is listed becomes itself, and one that is
// not goes to quarantine.
func (m *Recode) leavesAll() bool {
	if m.Other != nil || m.Breaks != nil || m.Prefix != nil {
		return false
	}
	for _, table := range []map[string]string{m.list()} {
		for from, to := range table {
			if from != to || core.IsPattern(from) {
				return false
			}
		}
	}
	return true
}
