package category

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Date masks dates and moments: the middle of the week, month, quarter or year, one shift for all dates of a respondent
// (as in HIPAA's practice; Hripcsak et al. 2016), or the age at a date. Noise in days is the mask noise.
type Date struct {
	Columns []string  `yaml:"columns" doc:"the columns to mask"`
	Round   string    `yaml:"round" doc:"release the middle of the week (Thursday), month, quarter or year" enum:"week,month,quarter,year"`
	Shift   *int      `yaml:"shift" doc:"b: release the date moved by −b to b days, each with the same probability, and all dates of a respondent by as many, so that intervals stay"`
	By      string    `yaml:"by" doc:"with shift: the column that says whose dates they are"`
	Scope   string    `yaml:"scope" doc:"with shift: what by identifies, such as person: the same respondent has the same shift in every column, file and release of one scope, bound and key"`
	Age     *string   `yaml:"age" doc:"release the age in completed years at this date, such as 2024-12-31"`
	Breaks  []float64 `yaml:"breaks" doc:"with age: bounds of intervals of years, ascending: each interval includes its lower bound, and the last one also its upper bound"`
	Top     *int      `yaml:"top" doc:"with age: release greater ages as this one"`
	Zone    string    `yaml:"zone" doc:"the time zone of calendar days, such as Europe/Vienna, for moments; by default that of the column's type, or UTC"`
	Unit    string    `yaml:"unit" doc:"of whole numbers that count from 1970-01-01, in UTC" enum:"days,seconds,milliseconds,microseconds"`
}

// mostShift is the greatest bound of a shift in days, a hundred years.
const mostShift = 36525

// Check implements Params.
func (m *Date) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	core.CheckWord(&ps, "round", m.Round, "week", "month", "quarter", "year")
	core.CheckWord(&ps, "unit", m.Unit, "days", "seconds", "milliseconds", "microseconds")
	ways := 0
	for _, given := range []bool{m.Round != "", m.Shift != nil, m.Age != nil} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		ps.Addf("", "must have one of round, shift and age, got %d of them", ways)
	}
	if m.Shift != nil {
		if *m.Shift < 1 || *m.Shift > mostShift {
			ps.Addf("shift", "must be between 1 and %d days, got %d", mostShift, *m.Shift)
		}
		for field, v := range map[string]string{"by": m.By, "scope": m.Scope} {
			if v == "" {
				ps.Addf(field, "must be given with shift")
			}
		}
		if slices.Contains(m.Columns, m.By) {
			ps.Addf("by", "must be another column than those that are masked, got %q", m.By)
		}
	} else if m.By != "" || m.Scope != "" {
		ps.Addf("by", "must be left out with its scope where there is no shift")
	}
	m.checkAge(&ps)
	if _, err := m.zone(nil); err != nil {
		ps.Addf("zone", "must be the name of a time zone, such as Europe/Vienna, got %q", m.Zone)
	}
	return ps
}

func (m *Date) checkAge(ps *check.Problems) {
	if m.Age == nil {
		if m.Breaks != nil {
			ps.Addf("breaks", "needs age")
		}
		if m.Top != nil {
			ps.Addf("top", "needs age")
		}
		return
	}
	if _, ok := dateOf(*m.Age); !ok {
		ps.Addf("age", "must be a date, such as 2024-12-31, got %q", *m.Age)
	}
	if m.Top != nil && (*m.Top < 1 || *m.Top > 150) {
		ps.Addf("top", "must be between 1 and 150, got %d", *m.Top)
	}
	if m.Breaks == nil {
		return
	}
	if m.Top != nil {
		ps.Addf("top", "must be left out with breaks")
	}
	(&Recode{Breaks: m.Breaks}).checkBreaks(ps)
}

// zone returns the time zone of calendar days.
func (m *Date) zone(byDefault *time.Location) (*time.Location, error) {
	if m.Zone != "" {
		return time.LoadLocation(m.Zone)
	}
	if byDefault != nil {
		return byDefault, nil
	}
	return time.UTC, nil
}

// Describe implements Params.
func (m *Date) Describe() core.Description {
	d := core.Description{
		Scope: core.ScopeRecord, OnCategories: m.Shift == nil, OnDays: m.Age == nil, Parameters: m.parameters,
		Action:    m.action,
		Published: m, OnColumn: m.onColumn,
		Among: m.checkAmong, Rejects: true, // what is no date, and what has no identifier
	}
	if m.Age != nil {
		d.Retype = m.releasedField
	}
	if m.Shift != nil {
		d.Reads = []core.ReadColumn{{Field: "by", Name: m.By, As: "what says whose dates are shifted"}}
		d.ReadsHidden = true
		d.Warns =
			"all dates of a respondent are shifted alike: whoever knows one of them knows the others to the day (R is infinite); the figures are for a snooper who knows none"
	}
	return d
}

// Masks implements Params.
func (m *Date) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Date) Reads() []string {
	if m.By == "" {
		return nil
	}
	return []string{m.By}
}

// CheckAmong refuses a shift behind other masks: intervals are kept between original dates.
func (m *Date) checkAmong(masks []core.Spec, i int) (ps check.Problems) {
	for k, name := range m.Columns {
		if j := core.LastMaskOn(masks[:i], name); j >= 0 && m.Shift != nil {
			ps.Addf(fmt.Sprintf("[%d].date.columns[%d]", i, k),
				"must not be changed before the shift, which keeps the intervals of the original dates; mask [%d] (%s) changes %s",
				j, masks[j].Kind(), strconv.Quote(name))
		}
	}
	return ps
}

// ReleasedField: an age is a whole number, and a class of ages text.
func (m *Date) releasedField(f microdata.Field) (microdata.Field, bool) {
	if m.Age == nil {
		return f, false
	}
	before := f.Type.ID()
	f.Type = typeOfAge
	if m.Breaks != nil {
		f.Type = textType
	}
	return f, f.Type.ID() != before
}

// dateStep is a date mask on the columns of a chain.
type dateStep struct {
	mask    int
	of      *Date
	at      civil // of age
	columns []dateColumn

	shift  pseudonyms // of a shift: draws by identifier
	by     int        // in Block.Columns
	stream int        // of replicates, which have no identifiers
}

type dateColumn struct {
	*core.Column
	perDay float64 // units that make a day; 0 for text
	number bool    // is held as numbers, and not as dates or text
	moment bool    // has a time of the day
	zone   *time.Location
}

func (m *Date) Compile(c *core.Chain, i int) (core.Step, error) {
	s := &dateStep{mask: i, of: m}
	done := core.Part("date round", float64(slices.Index([]string{"", "week", "month", "quarter", "year"}, m.Round)))
	switch {
	case m.Shift != nil:
		info := c.Info(m.By)
		if info == nil {
			return nil, fmt.Errorf("%s.by: there is no column %s", c.At(i), strconv.Quote(m.By))
		}
		s.by = info.Index
		label := fmt.Sprintf("mask: date shift %d ", *m.Shift) + m.Scope
		s.shift = pseudonyms{hash: c.Setup.Key.Pseudonyms(label)}
		done = core.Part("date shift", float64(*m.Shift)) + core.DigestOfTexts("scope", m.Scope)
		s.stream = c.StreamNamed(i, "shift", done+core.DigestOfTexts("columns", append(core.Sorted(m.Columns), m.By,
			m.Unit)...))
	case m.Age != nil:
		s.at, _ = dateOf(*m.Age)
		top := math.Inf(1)
		if m.Top != nil {
			top = float64(*m.Top)
		}
		done = core.Part("date age", float64(s.at.Days()), top) + core.Part("breaks", m.Breaks...)
	}
	for _, name := range m.Columns {
		col := c.Touch(name)
		if col == nil {
			continue
		}
		of, err := m.column(col)
		if err != nil {
			return nil, fmt.Errorf("%s.columns: column %s %w", c.At(i), strconv.Quote(name), err)
		}
		c.AddToHistory(i, col, done+core.DigestOfTexts("zone", of.zone.String(), m.Unit))
		if m.Age != nil {
			after, _ := m.releasedField(col.Field)
			col.Becomes(after)
		}
		s.columns = append(s.columns, of)
	}
	return s, nil
}

// unitsPerDay are the units of whole numbers.
var unitsPerDay = map[string]float64{"days": 1, "seconds": 86400, "milliseconds": 86400e3, "microseconds": 86400e6}

// column returns how a column holds dates.
func (m *Date) column(col *core.Column) (dateColumn, error) {
	of := dateColumn{Column: col, number: col.Field.Numeric()}
	zone, err := m.zone(zoneOf(col.Field.Type, col.Dated))
	if err != nil {
		return of, err
	}
	of.zone = zone
	t := col.Field.Type
	if col.Days {
		t = col.Dated
	}
	units, isDate := microdata.PerDay(t)
	switch {
	case isDate && m.Unit != "":
		return of, fmt.Errorf("is %s and must have no unit", microdata.TypeName(t))
	case col.Days:
		of.perDay, of.moment = 1, core.DecimalsOfDays(t) < 0
	case isDate && m.Age == nil:
		return of, fmt.Errorf("is %s, and is changed by a mask that does not compute with dates", microdata.TypeName(t))
	case isDate:
		of.perDay, of.moment = float64(units), core.DecimalsOfDays(t) < 0
	case col.Field.Numeric() && m.Unit == "":
		return of, fmt.Errorf("holds numbers: give their unit (days, seconds, milliseconds or microseconds since 1970-01-01)")
	case col.Field.Numeric():
		of.perDay, of.moment = unitsPerDay[m.Unit], m.Unit != "days"
	case !core.TextField(t) || m.Shift != nil:
		return of,
			fmt.Errorf("must hold dates, moments or whole numbers with a unit%s, got %s",
				map[bool]string{true: "", false: ", or text"}[m.Shift != nil], microdata.TypeName(t))
	}
	return of, nil
}

func (s *dateStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed, own := w.NewChanged(b.N), w.NewOwn(b.N)
	var shifts []float64
	if s.of.Shift != nil {
		var err error
		if shifts, err = s.shifts(w, b); err != nil {
			return fmt.Errorf("%s: %w", c.At(s.mask), err)
		}
	}
	for k := range s.columns {
		col := &s.columns[k]
		held := &b.Columns[col.Index]
		switch {
		case held.Array != nil && (s.of.Age != nil || col.perDay == 0):
			if err := s.array(b, col, changed); err != nil {
				return fmt.Errorf("%s: column %s: %w", c.At(s.mask), strconv.Quote(col.Name), err)
			}
		case held.Original.Values == nil && held.Array != nil && b.N > 0:
			return fmt.Errorf("%s: column %s: its dates are not read as days", c.At(s.mask), strconv.Quote(col.Name))
		case held.Original.Values == nil || col.perDay == 0 || s.of.Age != nil && !col.number:
			// not in this block, or a code in a replicate: a date is a code there, and what becomes of it is none either
		default:
			v := held.Mutable()
			for i, x := range v.Values {
				if !v.Valid.Has(i) || b.Rejected(i) {
					continue
				}
				y, reason := s.number(col, x, shifts, i)
				if reason != "" {
					b.Reject(i, col.Name, reason)
				} else if y != x {
					v.Values[i] = y
					own.Set(i)
				}
			}
			core.Settle(v, own, changed)
		}
	}
	c.Count(s.mask, b, changed)
	return nil
}

// shifts returns the shift of each record in days.
func (s *dateStep) shifts(w *core.Work, b *microdata.Block) ([]float64, error) {
	list := make([]float64, b.N)
	bound := *s.of.Shift
	if !w.Leaves {
		for from := 0; from < b.N; from += core.Batch {
			part := list[from:min(from+core.Batch, b.N)]
			w.Fill(part, core.Uniform, s.stream, w.Stretch(b, from, len(part), nil))
			for i, u := range part {
				part[i] = math.Floor(u*float64(2*bound+1)) - float64(bound)
			}
		}
		return list, nil
	}
	by := &b.Columns[s.by]
	text := func(i int) (string, string) {
		if !by.Original.Valid.Has(i) {
			return "", ""
		}
		return core.TextOfNumber(by.Original.Values[i], microdata.MaxExact)
	}
	null := func(int) bool { return false }
	if by.Array != nil {
		var err error
		if text, err = core.TextsOf(by.Array); err != nil {
			return nil, fmt.Errorf("by: column %s %w", strconv.Quote(s.of.By), err)
		}
		null = by.Array.IsNull
	}
	known := map[string]float64{}
	for i := range list {
		if b.Rejected(i) {
			continue
		}
		id, reason := "", ""
		if !null(i) {
			id, reason = text(i)
		}
		if id == "" || reason != "" {
			b.Reject(i, s.of.By, "has no value that says whose dates these are")
			continue
		}
		shift, again := known[id]
		if !again {
			shift = float64(s.shift.below(id, 2*bound+1) - bound)
			known[id] = shift
		}
		list[i] = shift
	}
	return list, nil
}

// number returns what becomes of a number of days or of other units.
func (s *dateStep) number(col *dateColumn, x float64, shifts []float64, i int) (y float64, reason string) {
	if !(math.Abs(x/col.perDay) < mostDays) {
		return 0, notDate
	}
	switch {
	case s.of.Shift != nil:
		return x + shifts[i]*col.perDay, ""
	case s.of.Age != nil:
		return s.ageCode(civilAt(x/col.perDay, col.zone, col.moment))
	}
	if !col.moment {
		from, to := s.of.Interval(civilOf(int64(math.Floor(x / col.perDay))))
		return math.Floor(float64(from+to-1)/2) * col.perDay, ""
	}
	from, to := s.of.Interval(civilAt(x/col.perDay, col.zone, true))
	middle := (instantOf(from, col.zone) + instantOf(to, col.zone)) / 2
	if col.number && !col.Days {
		return math.Floor(middle / 86400 * col.perDay), ""
	}
	return middle / 86400, ""
}
