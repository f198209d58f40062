package tabulation

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
)

// TableMap says what an R-U confidentiality map of tables compares. sdlfilter tables
// ignores it.
type TableMap struct {
	Table   string      `yaml:"table" doc:"a table; the compared methods protect it and all tables of the same value. Optional if all tables have one value"`
	Methods []MapMethod `yaml:"methods" doc:"methods with the values of their parameters; each combination of values is a point. By default all methods that are possible for these tables, with a few values each"`
}

// MapMethod is one method with the values of its parameters; one field is not nil.
type MapMethod struct {
	Suppress *MapSuppress `yaml:"suppress" choice:"true" doc:"cell suppression; fields that are not given are taken from the tables"`
	Round    *MapRound    `yaml:"round" choice:"true" doc:"rounding, of counts"`
	CellKey  *MapCellKey  `yaml:"cell_key" choice:"true" doc:"perturbation by cell keys, of counts"`
	Simulate *MapSimulate `yaml:"simulate" choice:"true" doc:"simulated tables, of counts"`
	Markov   *MapMarkov   `yaml:"markov" choice:"true" doc:"Markov perturbation, of counts"`
	Swap     *MapSwap     `yaml:"swap" choice:"true" doc:"swapping, of counts"`
	Sample   *MapSample   `yaml:"sample" choice:"true" doc:"samples of the records, of counts"`
}

// MapSuppress are values of the parameters of Suppress, and of how far ranges must reach.
type MapSuppress struct {
	Cost     []string   `yaml:"cost" doc:"any of unit, value, log"`
	Zeros    []string   `yaml:"zeros" doc:"any of never, may"`
	Interval []Interval `yaml:"interval" doc:"values of the tables' interval: an interval wider than the tables ask for lowers the risk and holds more cells back; narrower intervals are left out"`
}

// MapRound are values of the parameters of Rounding.
type MapRound struct {
	Base []int    `yaml:"base" required:"true" doc:"bases, each at least 2"`
	Mode []string `yaml:"mode" doc:"any of controlled, small, random, nearest; by default controlled"`
}

// MapCellKey are values of the parameters of CellKey. A variance that a max does not
// allow is left out with it.
type MapCellKey struct {
	Max      []int     `yaml:"max" doc:"greatest changes; by default 3"`
	Variance []float64 `yaml:"variance" doc:"variances of the change; by default 1.5"`
	Least    []int     `yaml:"least" doc:"least counts above 0 that are published; by default 0"`
}

// TableCandidate is one way to protect the tables of one value.
type TableCandidate struct {
	Protect  Protect
	Interval *Interval // nil: that of the tables
}

// String writes the candidate as a configuration has it.
func (c *TableCandidate) String() string {
	text := strings.TrimSuffix(strings.TrimPrefix(c.Protect.flow(), "{"), "}")
	if c.Interval != nil {
		text += ", interval: " + c.Interval.flow()
	}
	return text
}

// Mapping returns the configuration as a map reads it, which needs what any of the
// compared methods needs.
func (t *Config) Mapping() *Config {
	m := *t
	m.mapping = true
	return &m
}

// Mapped are the indexes of the tables that a map is of: those of one value. The error,
// of type Errors, says that it does not say of which.
func (t *Config) Mapped() ([]int, error) {
	at := 0
	if t.Map != nil && t.Map.Table != "" {
		at = slices.IndexFunc(t.Tables, func(o Table) bool { return o.Name == t.Map.Table })
	}
	var list []int
	for i := range t.Tables {
		switch {
		case t.Tables[i].Linked(&t.Tables[at]):
			list = append(list, i)
		case t.Map == nil || t.Map.Table == "":
			return nil,
				config.Errors{
					t.Errorf("map.table",
						"must be given: tables[%d] is of another value than tables[0], and a map compares what protects the tables of one", i)}
		}
	}
	return list, nil
}

// Candidates are the ways to protect the mapped tables, the configured one first; left
// says in words what was left out and why.
func (t *Config) Candidates() (list []TableCandidate, left []string, err error) {
	tables, err := t.Mapped()
	if err != nil {
		return nil, nil, err
	}
	c := &candidates{table: &t.Tables[tables[0]], variables: len(t.variablesOf(&t.Tables[tables[0]])),
		holding: t.Holding != ""}
	c.add(TableCandidate{Protect: c.table.Protect})
	if t.Map == nil || len(t.Map.Methods) == 0 {
		c.usual(len(t.Identity) > 0)
	} else {
		for _, m := range t.Map.Methods {
			c.method(m)
		}
	}
	return c.list, c.omitted, nil
}

// candidates collects them.
type candidates struct {
	table     *Table
	variables int  // of the tables of its value
	holding   bool // contributors are holdings
	list      []TableCandidate
	omitted   []string
}

func (c *candidates) add(n TableCandidate) {
	if !slices.ContainsFunc(c.list, func(o TableCandidate) bool { return reflect.DeepEqual(o, n) }) {
		c.list = append(c.list, n)
	}
}

// counted reports whether the tables are such as can be published changed.
func (t *Table) counted() bool { return t.Value == "" && t.Weight == "" }

// usual is what is compared where nothing is said: what the tables can have.
func (c *candidates) usual(keyed bool) {
	c.method(MapMethod{Suppress: &MapSuppress{Cost: []string{"unit", "value", "log"}}})
	if !c.table.counted() {
		c.omitted = append(c.omitted,
			"rounding, cell_key, simulate, markov, swap and sample, which are for counts without weights")
		return
	}
	modes := []string{"controlled", "small", "nearest"}
	if keyed {
		modes = []string{"controlled", "small", "random", "nearest"}
	} else {
		c.omitted = append(c.omitted, "cell_key, markov, swap, sample and rounding at random, which need key and identity")
	}
	c.method(MapMethod{Round: &MapRound{Base: []int{3, 5, 10}, Mode: modes}})
	c.usualExchange(keyed)
	if keyed {
		c.method(MapMethod{Sample: &MapSample{OneIn: []int{2, 5, 10}}})
		c.method(MapMethod{CellKey: &MapCellKey{Max: []int{2, 3, 5}, Variance: []float64{0.5, 1, 2, 3}}})
	}
}

func (c *candidates) method(m MapMethod) {
	switch {
	case m.Suppress != nil:
		c.suppress(m.Suppress)
	case m.Round != nil:
		for _, mode := range orElse(m.Round.Mode, "controlled") {
			for _, base := range m.Round.Base {
				c.add(
					TableCandidate{
						Protect: Protect{Round: &Rounding{Base: base, Mode: mode, Respondents: c.table.Protect.respondents()}}})
			}
		}
	case m.Sample != nil:
		for _, oneIn := range m.Sample.OneIn {
			c.add(TableCandidate{Protect: Protect{Sample: &TableSample{OneIn: oneIn}}})
		}
	case m.Simulate != nil || m.Markov != nil || m.Swap != nil:
		c.exchange(m)
	case m.CellKey != nil:
		for _, most := range orElse(m.CellKey.Max, 3) {
			for _, variance := range orElse(m.CellKey.Variance, 1.5) {
				for _, least := range orElse(m.CellKey.Least, 0) {
					n := TableCandidate{
						Protect: Protect{
							CellKey: &CellKey{Max: most, Variance: variance, Least: least, Respondents: c.table.Protect.respondents()}}}
					if _, problems := perturb.NewTable(n.Protect.CellKey.Noise()); len(problems) > 0 {
						c.omitted = append(c.omitted, n.String()+": "+problems[0].Error())
						continue
					}
					c.add(n)
				}
			}
		}
	}
}

// suppress crosses the values of the parameters of suppression with what the tables have
// of it.
func (c *candidates) suppress(m *MapSuppress) {
	base := Suppress{Cost: "unit", Zeros: "never", Respondents: c.table.Protect.respondents(), Effort: "usual"}
	if c.table.Protect.Suppress != nil {
		base = *c.table.Protect.Suppress
	}
	intervals := []*Interval{nil}
	if len(m.Interval) > 0 {
		intervals = c.intervals(m.Interval)
	}
	for _, cost := range orElse(m.Cost, base.Cost) {
		for _, zeros := range orElse(m.Zeros, base.Zeros) {
			for _, interval := range intervals {
				s := base
				s.Cost, s.Zeros = cost, zeros
				c.add(TableCandidate{Protect{Suppress: &s}, interval})
			}
		}
	}
}

// intervals are those that ask for no less than the tables do, so that a map recommends
// no table that is protected less than its rules ask for; nil stands for their own.
func (c *candidates) intervals(list []Interval) (wider []*Interval) {
	required := c.table.ownInterval()
	for i := range list {
		switch n := &list[i]; {
		case n.Absolute < required.Absolute || n.Percent < required.Percent:
			c.omitted = append(c.omitted, "interval: "+n.flow()+", narrower than the tables ask for: "+required.flow())
		case c.table.Interval != nil && *n == required:
			wider = append(wider, nil)
		default:
			wider = append(wider, n)
		}
	}
	return wider
}

func orElse[T any](list []T, otherwise T) []T {
	if len(list) == 0 {
		return []T{otherwise}
	}
	return list
}

// With returns the configuration with the mapped tables protected so.
func (t *Config) With(c *TableCandidate) (*Config, error) {
	tables, err := t.Mapped()
	if err != nil {
		return nil, err
	}
	w := *t
	w.Tables = slices.Clone(t.Tables)
	for _, i := range tables {
		w.Tables[i].Protect = c.Protect
		if c.Interval != nil {
			w.Tables[i].Interval = c.Interval
		}
	}
	return &w, nil
}

// flow writes the method as a configuration has it, in braces, without defaults.
func (p *Protect) flow() string {
	switch {
	case p.Suppress != nil:
		s := p.Suppress
		text := "{suppress: {cost: " + s.Cost
		if s.Zeros != "never" {
			text += ", zeros: " + s.Zeros
		}
		if s.Effort == "optimal" {
			text += ", effort: optimal"
		}
		if s.Patience > 0 {
			text += ", patience: " + time.Duration(s.Patience).String()
		}
		return text + ignored(p) + "}}"
	case p.Round != nil:
		text := fmt.Sprintf("{round: {base: %d, mode: %s", p.Round.Base, p.Round.Mode)
		if p.Round.Patience > 0 {
			text += ", patience: " + time.Duration(p.Round.Patience).String()
		}
		return text + ignored(p) + "}}"
	case p.Adjust != nil:
		return p.flowAdjust()
	case p.CellKey != nil:
		text := fmt.Sprintf("{cell_key: {max: %d, variance: %s", p.CellKey.Max, form.Number(p.CellKey.Variance))
		if p.CellKey.Least != 0 {
			text += ", least: " + strconv.Itoa(p.CellKey.Least)
		}
		return text + ignored(p) + "}}"
	case p.Sample != nil:
		return fmt.Sprintf("{sample: {one_in: %d}}", p.Sample.OneIn)
	case p.Exchanges():
		return p.flowExchange()
	}
	return "{none: {}}"
}

// ignored writes that respondents are not protected against, which is not so by default.
func ignored(p *Protect) string {
	if p.respondents() == "ignore" {
		return ", respondents: ignore"
	}
	return ""
}

// respondents says whether the method protects against respondents as well: protect or
// ignore.
func (p *Protect) respondents() string {
	switch {
	case p.Suppress != nil:
		return p.Suppress.Respondents
	case p.Round != nil:
		return p.Round.Respondents
	case p.Adjust != nil:
		return p.Adjust.Respondents
	case p.CellKey != nil:
		return p.CellKey.Respondents
	case p.Simulate != nil:
		return p.Simulate.Respondents
	case p.Markov != nil:
		return p.Markov.Respondents
	case p.Swap != nil:
		return p.Swap.Respondents
	}
	return "protect"
}

// FacesRespondents reports whether changed counts are audited for respondents as well.
func (p *Protect) FacesRespondents() bool { return p.Perturbs() && p.respondents() == "protect" }

func (i *Interval) flow() string {
	switch {
	case i.Percent == 0:
		return fmt.Sprintf("{absolute: %s}", form.Number(i.Absolute))
	case i.Absolute == 0:
		return fmt.Sprintf("{percent: %s}", form.Number(i.Percent))
	}
	return fmt.Sprintf("{absolute: %s, percent: %s}", form.Number(i.Absolute), form.Number(i.Percent))
}

// Protected returns the text of the configuration file with the mapped tables protected
// so, all else as it stands, byte for byte. The error says what is in the way: a
// protection that is not in the file, or a text that cannot be changed in this way.
func (t *Config) Protected(c *TableCandidate) ([]byte, error) {
	if t.loaded == nil {
		return nil, t.Errorf("map", "must be of a configuration file for its choice to be written there")
	}
	changed, err := t.With(c)
	if err != nil {
		return nil, err
	}
	if t.Map == nil && t.Keyed() && !changed.Keyed() {
		return nil,
			t.Errorf("map",
				"must be given, map: {} will do, for %s to be applied: without it, key and identity must not stand where no table uses them", c)
	}
	d, err := form.NewDocument(t.loaded.File(), t.loaded.Text())
	if err != nil {
		return nil, err
	}
	tables, err := t.Mapped()
	if err != nil {
		return nil, err
	}
	var edits []form.Edit
	for _, i := range tables {
		table := d.At(form.Step{Name: "tables"}, form.Step{Index: i})
		at := fmt.Sprintf("tables[%d].protect", i)
		if table == nil || form.Follow(table, form.Step{Name: "protect"}) == nil {
			return nil, t.Errorf(at, "must stand in the file itself, where another can be written; it was set from outside")
		}
		edits = append(edits, d.Replace(table, "protect", c.Protect.flow()))
		if c.Interval != nil {
			edits = append(edits, d.Replace(table, "interval", c.Interval.flow()))
		}
	}
	text := []byte(d.Edited(edits...))
	options := t.loaded.Options()
	read, err := Parse(t.loaded.File(), text, options)
	if err != nil {
		return nil, fmt.Errorf("the rewritten configuration is not valid: %w", err)
	}
	if string(kind.Canonical(read)) != string(kind.Canonical(changed)) {
		return nil,
			t.Errorf("map",
				"cannot be applied in the way that this file is written, or a setting from outside the file would change it; write it by hand: %s", c)
	}
	return text, nil
}

// validateTableMap checks what a map would compare.
func (l *loader) validateTableMap(t *Config) {
	if t.Map == nil || !l.Sound("tables") {
		return
	}
	at := 0
	if name := t.Map.Table; name != "" {
		var known []string
		for i := range t.Tables {
			known = append(known, t.Tables[i].Name)
		}
		if at = slices.Index(known, name); at < 0 {
			l.Wrong("map.table", "must be the name of a table, got %q%s", name, form.Instead(name, known))
			return
		}
	}
	if at >= len(t.Tables) {
		return
	}
	table := &t.Tables[at]
	points := 0.0
	for k := range t.Map.Methods {
		points += l.validateMapMethod(t, &t.Map.Methods[k], table, fmt.Sprintf("map.methods[%d]", k))
	}
	if points > mostTablePoints {
		l.Wrong("map.methods", "must give at most %d points, got %v", mostTablePoints, points)
	}
}

// mostTablePoints bounds what a map of tables compares: at each point all tables are
// protected and audited.
const mostTablePoints = 1000

// validateMapMethod returns how many points the method gives.
func (l *loader) validateMapMethod(t *Config, m *MapMethod, table *Table, at string) float64 {
	among := func(field string, list, words []string) {
		for k, w := range list {
			if path := fmt.Sprintf("%s.%s[%d]", at, field, k); !slices.Contains(words, w) {
				l.Wrong(path, "must be %s, got %q%s", strings.Join(words, ", "), w, form.Instead(w, words))
			}
		}
	}
	whole := func(field string, list []int, least, most int) {
		for k, n := range list {
			if n < least || n > most {
				l.Wrong(fmt.Sprintf("%s.%s[%d]", at, field, k), "must be between %d and %d, got %d", least, most, n)
			}
		}
	}
	size := func(n int) float64 { return float64(max(n, 1)) }
	switch {
	case m.Suppress != nil:
		among("suppress.cost", m.Suppress.Cost, []string{"unit", "value", "log"})
		among("suppress.zeros", m.Suppress.Zeros, []string{"never", "may"})
		for k, i := range m.Suppress.Interval {
			var ps check.Problems
			ps.AtLeast("absolute", i.Absolute, 0)
			ps.AtLeast("percent", i.Percent, 0)
			l.Within(fmt.Sprintf("%s.suppress.interval[%d]", at, k), ps)
		}
		return size(len(m.Suppress.Cost)) * size(len(m.Suppress.Zeros)) * size(len(m.Suppress.Interval))
	case !table.counted() && m.Suppress == nil:
		l.Wrong(at, "must be suppress: %s is no table of counts without weights", table.Name)
	case m.Round != nil:
		among("round.mode", m.Round.Mode, []string{"controlled", "small", "random", "nearest"})
		whole("round.base", m.Round.Base, 2, 10_000)
		if len(m.Round.Base) == 0 && l.Given(at+".round.base") {
			l.Wrong(at+".round.base", "must name at least one base")
		}
		return size(len(m.Round.Base)) * size(len(m.Round.Mode))
	case m.Sample != nil:
		return l.validateMapSample(m.Sample, at)
	case m.Simulate != nil || m.Markov != nil || m.Swap != nil:
		return l.validateMapExchange(t, m, table, at)
	case m.CellKey != nil:
		whole("cell_key.max", m.CellKey.Max, 1, 1000)
		whole("cell_key.least", m.CellKey.Least, 0, 1000)
		for k, v := range m.CellKey.Variance {
			if !(v > 0) || math.IsInf(v, 0) {
				l.Wrong(fmt.Sprintf("%s.cell_key.variance[%d]", at, k), "must be greater than 0 and finite, got %v", v)
			}
		}
		return size(len(m.CellKey.Max)) * size(len(m.CellKey.Variance)) * size(len(m.CellKey.Least))
	}
	return 1
}

// ownInterval is the interval that a table asks for by itself.
func (t *Table) ownInterval() Interval {
	if t.Interval != nil {
		return *t.Interval
	}
	var i Interval
	for _, u := range t.Unsafe {
		switch {
		case u.Threshold != 0 && t.Value == "":
			i.Absolute = max(i.Absolute, float64(u.Threshold))
		case u.Threshold != 0:
			i.Percent = 30
		}
	}
	return i
}

// triesKeyed reports whether a map tries what needs keys of records on a table.
func (t *Config) triesKeyed(table *Table) bool {
	return slices.ContainsFunc(t.tries(table), func(c TableCandidate) bool { return c.Protect.Keyed() })
}

// NeedsKeys reports whether the records of a table's value need keys.
func (t *Config) NeedsKeys(table *Table) bool {
	return table.Protect.Keyed() || t.triesKeyed(table)
}

// keyedMethod is the place of the first listed method of a map that needs keys; "" for
// none.
func (m *TableMap) keyedMethod() string {
	if m == nil {
		return ""
	}
	for k, method := range m.Methods {
		switch {
		case method.CellKey != nil:
			return fmt.Sprintf("map.methods[%d].cell_key", k)
		case method.Markov != nil:
			return fmt.Sprintf("map.methods[%d].markov", k)
		case method.Swap != nil:
			return fmt.Sprintf("map.methods[%d].swap", k)
		case method.Sample != nil:
			return fmt.Sprintf("map.methods[%d].sample", k)
		case method.Round != nil && slices.Contains(method.Round.Mode, "random"):
			return fmt.Sprintf("map.methods[%d].round", k)
		}
	}
	return ""
}

// Is reports whether a text is a configuration of tables: one with the field
// tables at its top.
func Is(text []byte) bool {
	d, err := form.NewDocument("", text)
	return err == nil && d.At(form.Step{Name: "tables"}) != nil
}
