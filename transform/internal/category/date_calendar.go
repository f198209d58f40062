package category

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

var (
	typeOfAge = arrow.PrimitiveTypes.Int32
	textType  = arrow.DataType(arrow.BinaryTypes.String)
)

// mostDays bounds the days from 1970-01-01 that are taken for a date: the years 0 to 9999 have fewer.
const mostDays = 3_000_000

const (
	notDate = "is no date"
	partial = "is a date without a day or month, from which what is released does not follow"
	unborn  = "is after the date at which the age is taken"
)

// civil is a day of the proleptic Gregorian calendar. In a partial date month or day is 0.
type civil struct{ Year, Month, Day int }

// civilOf returns the date that is some days after 1970-01-01.
func civilOf(days int64) civil {
	t := time.Unix(days*86400, 0).UTC()
	return civil{t.Year(), int(t.Month()), t.Day()}
}

// civilAt returns the day in a time zone so many days after 1970-01-01T00:00Z; without a moment, the day itself.
func civilAt(days float64, zone *time.Location, moment bool) civil {
	if !moment {
		return civilOf(int64(math.Floor(days)))
	}
	t := time.Unix(int64(math.Floor(days*86400)), 0).In(zone)
	return civil{t.Year(), int(t.Month()), t.Day()}
}

// Days returns the days since 1970-01-01; months beyond the year count on.
func (c civil) Days() int64 {
	return time.Date(c.Year, time.Month(c.Month), c.Day, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

// instantOf returns the seconds since 1970-01-01T00:00Z of the beginning of a day in a time zone.
func instantOf(days int64, zone *time.Location) float64 {
	c := civilOf(days)
	return float64(time.Date(c.Year, time.Month(c.Month), c.Day, 0, 0, 0, 0, zone).Unix())
}

// Interval returns the first day of the week, month, quarter or year, and that of the next.
func (m *Date) Interval(c civil) (from, to int64) {
	switch m.Round {
	case "week":
		days := c.Days() + 3 // 1970-01-01 was a Thursday
		from = days - 3 - (days%7+7)%7
		return from, from + 7
	case "month":
		return civil{c.Year, c.Month, 1}.Days(), civil{c.Year, c.Month + 1, 1}.Days()
	case "quarter":
		first := (c.Month-1)/3*3 + 1
		return civil{c.Year, first, 1}.Days(), civil{c.Year, first + 3, 1}.Days()
	}
	return civil{c.Year, 1, 1}.Days(), civil{c.Year + 1, 1, 1}.Days()
}

// dateOf reads a full date as ISO 8601 writes it.
func dateOf(text string) (civil, bool) {
	c, ok := partialOf(text)
	return c, ok && c.Day > 0
}

// partialOf reads a date of which the day, or month and day, may be missing or 0: 1987-05-14, 1987-05, 1987-05-00,
// 1987, 1987-00-00.
func partialOf(text string) (c civil, ok bool) {
	parts := strings.Split(text, "-")
	fields := []*int{&c.Year, &c.Month, &c.Day}
	if len(parts) > 3 {
		return c, false
	}
	for i, part := range parts {
		if len(part) != []int{4, 2, 2}[i] || !core.AllDigits(part) {
			return c, false
		}
		for _, digit := range part {
			*fields[i] = 10**fields[i] + int(digit-'0')
		}
	}
	switch {
	case c.Month > 12 || c.Month == 0 && c.Day > 0:
		return c, false
	case c.Day > 0:
		return c, civilOf(c.Days()) == c
	}
	return c, true
}

// String writes a date as in ISO 8601.
func (c civil) String() string { return fmt.Sprintf("%04d-%02d-%02d", c.Year, c.Month, c.Day) }

// ends returns the first and the last day that a date can be.
func (c civil) ends() (first, last civil) {
	first, last = c, c
	if c.Month == 0 {
		first.Month, last.Month = 1, 12
	}
	if c.Day == 0 {
		first.Day = 1
		last = civilOf(civil{last.Year, last.Month + 1, 1}.Days() - 1)
	}
	return first, last
}

// ageAt returns the completed years at a day: who is born on 29 February completes them on 1 March of other years.
func (c civil) ageAt(at civil) int {
	years := at.Year - c.Year
	if at.Month < c.Month || at.Month == c.Month && at.Day < c.Day {
		years--
	}
	return years
}

// ageText is the age at the mask's date as it is released.
func (s *dateStep) ageText(c civil) (text, reason string) {
	age := c.ageAt(s.at)
	switch {
	case age < 0:
		return "", unborn
	case s.of.Breaks != nil:
		breaks := &Recode{Breaks: s.of.Breaks}
		if k := breaks.interval(float64(age)); k >= 0 {
			return breaks.intervals()[k], ""
		}
		return "", "has an age beyond the breaks"
	case s.of.Top != nil:
		age = min(age, *s.of.Top)
	}
	return fmt.Sprint(age), ""
}

// ageCode is ageText as the number that stands for it.
func (s *dateStep) ageCode(c civil) (float64, string) {
	text, reason := s.ageText(c)
	if reason != "" {
		return 0, reason
	}
	code, _ := core.CodeOf(text, s.of.Breaks == nil)
	return code, ""
}

// zoneOf returns the time zone of a type of moments; nil if it has none that is known.
func zoneOf(types ...arrow.DataType) *time.Location {
	for _, t := range types {
		if m, ok := t.(*arrow.TimestampType); ok && m.TimeZone != "" {
			if zone, err := m.GetZone(); err == nil {
				return zone
			}
		}
	}
	return nil
}

// array masks a column that is held as an array: of ages, or of texts.
func (s *dateStep) array(b *microdata.Block, col *dateColumn, changed microdata.Bitmap) error {
	from := b.Columns[col.Index].OutArray()
	value := func(i int) (civil, bool) {
		return civilAt(float64(microdata.UnitsAt(from, i))/col.perDay, col.zone, col.moment), true
	}
	same := func(i int, text string) bool { return false }
	if _, dated := microdata.PerDay(from.DataType()); !dated {
		text, err := core.TextsOf(from)
		if err != nil {
			return err
		}
		value = func(i int) (civil, bool) {
			t, reason := text(i)
			if col.perDay == 0 {
				return partialOf(t)
			}
			x, err := core.CodeOf(t, true)
			return civilAt(x/col.perDay, col.zone, col.moment), err == nil && reason == "" && math.Abs(x/col.perDay) < mostDays
		}
		same = func(i int, to string) bool { t, _ := text(i); return t == to }
	}
	released := textType
	if s.of.Age != nil && s.of.Breaks == nil {
		released = typeOfAge
	}
	to := array.NewBuilder(memory.DefaultAllocator, released)
	defer to.Release()
	for i := range b.N {
		if from.IsNull(i) || b.Rejected(i) || same(i, "") {
			to.AppendNull()
			continue
		}
		c, ok := value(i)
		text, reason := "", notDate
		if ok {
			text, reason = s.text(c)
		}
		if reason != "" {
			b.Reject(i, col.Name, reason)
			to.AppendNull()
			continue
		}
		if text == stays {
			t, _ := core.TextsOf(from)
			text, _ = t(i)
		}
		if err := core.AppendText(to, text); err != nil {
			return err
		}
		if !same(i, text) {
			changed.Set(i)
		}
	}
	b.Columns[col.Index].ReleasedArray = to.NewArray()
	return nil
}

// stays is what a partial date becomes that says no more than the rounding.
const stays = "\x00"

// text returns what becomes of a date that may be partial.
func (s *dateStep) text(c civil) (text, reason string) {
	first, last := c.ends()
	if s.of.Age != nil {
		a, reason := s.ageText(first)
		z, other := s.ageText(last)
		switch {
		case reason != "" || other != "":
			return "", max(reason, other)
		case a != z:
			return "", partial
		}
		return a, ""
	}
	from, to := s.of.Interval(first)
	if from2, _ := s.of.Interval(last); from2 != from {
		return stays, ""
	}
	return civilOf((from + to - 1) >> 1).String(), ""
}
