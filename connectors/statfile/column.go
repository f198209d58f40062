package statfile

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// column is a column of a source.
type column struct {
	readstat.Variable
	field microdata.Field
	clock clock
}

// clock says how a program counts time in a column: in units of so many seconds, since a day that is
// epoch days before 1970. A column that is no time has none.
type clock struct {
	date  bool    // whole days
	unit  float64 // seconds; 0: no time
	epoch int64   // days
}

const (
	spssEpoch  = 141428 // days from 14 October 1582 to 1970
	otherEpoch = 3653   // from 1960
	day        = 86400
)

// clockOf tells from the display format of a column whether it is a time.
func clockOf(program, format string) clock {
	name := strings.ToUpper(strings.TrimLeft(format, "%-"))
	if program == stata {
		switch {
		case strings.HasPrefix(name, "TD"), strings.HasPrefix(name, "D"):
			return clock{true, day, otherEpoch}
		case strings.HasPrefix(strings.TrimLeft(format, "%-"), "tc"): // not tC, which counts leap seconds
			return clock{false, 1e-3, otherEpoch}
		}
		return clock{}
	}
	name = strings.TrimRight(name, "0123456789.")
	if program == spss {
		switch {
		case slices.Contains(spssDates, name):
			return clock{true, 1, spssEpoch}
		case name == "DATETIME", name == "YMDHMS":
			return clock{false, 1, spssEpoch}
		}
		return clock{}
	}
	switch {
	case slices.Contains(sasDates, name):
		return clock{true, day, otherEpoch}
	case slices.Contains(sasTimes, name):
		return clock{false, 1, otherEpoch}
	}
	return clock{}
}

var (
	spssDates = []string{"DATE", "ADATE", "EDATE", "SDATE", "JDATE", "QYR", "MOYR", "WKYR"}
	sasDates  = []string{"DATE", "DAY", "DDMMYY", "DDMMYYB", "DDMMYYC", "DDMMYYD", "DDMMYYN", "DDMMYYP", "DDMMYYS",
		"DOWNAME", "E8601DA", "B8601DA",
		"IS8601DA", "JULDAY", "JULIAN", "MMDDYY", "MMDDYYB", "MMDDYYC", "MMDDYYD", "MMDDYYN", "MMDDYYP", "MMDDYYS", "MMYY",
		"MONNAME", "MONTH",
		"MONYY", "NLDATE", "QTR", "QTRR", "WEEKDATE", "WEEKDATX", "WEEKDAY", "WORDDATE", "WORDDATX", "YEAR", "YYMM", "YYMMDD",
		"YYMMDDB",
		"YYMMDDC", "YYMMDDD", "YYMMDDN", "YYMMDDP", "YYMMDDS", "YYMON", "YYQ", "YYQR"}
	sasTimes = []string{"DATETIME", "DATEAMPM", "DTDATE", "DTMONYY", "DTWKDATX", "DTYEAR", "E8601DT", "B8601DT",
		"IS8601DT", "MDYAMPM", "NLDATM"}
)

// fieldType is the type of a column's values.
func fieldType(v readstat.Variable, c clock) arrow.DataType {
	switch {
	case v.Type.Text():
		return arrow.BinaryTypes.String
	case c.date:
		return arrow.FixedWidthTypes.Date32
	case c.unit == 1e-3:
		return &arrow.TimestampType{Unit: arrow.Millisecond}
	case c.unit > 0:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	}
	switch v.Type {
	case readstat.Int8:
		return arrow.PrimitiveTypes.Int8
	case readstat.Int16:
		return arrow.PrimitiveTypes.Int16
	case readstat.Int32:
		return arrow.PrimitiveTypes.Int32
	case readstat.Float:
		return arrow.PrimitiveTypes.Float32
	}
	return arrow.PrimitiveTypes.Float64
}

// days returns the day, counted from 1970, that a stored number stands for; false if it is none.
func (c clock) days(x float64) (int32, bool) {
	d := x*c.unit/day - float64(c.epoch)
	return int32(d), d == math.Trunc(d) && math.Abs(d) < 1<<31
}

// ticks returns the time, counted from 1970 in parts of a second, that a stored number stands for.
func (c clock) ticks(x, parts float64) (int64, bool) {
	t := math.RoundToEven(x*(c.unit*parts)) - float64(c.epoch)*day*parts
	return int64(t), math.Abs(t) < 1<<62
}

// ofDays is the inverse of days, ofTicks that of ticks.
func (c clock) ofDays(d int32) float64 { return (float64(d) + float64(c.epoch)) * day / c.unit }

func (c clock) ofTicks(t int64, parts float64) float64 {
	whole := c.epoch * day * int64(parts)
	return float64(t+whole) / (parts * c.unit)
}

// measures are the levels of measurement, by the library's numbers.
var measures = []string{"", "nominal", "ordinal", "scale"}

// labelsOf returns the labels of a set that texts, or numbers, can have, in the order of their codes.
func labelsOf(all []readstat.Label, text bool) []microdata.ValueLabel {
	var list []microdata.ValueLabel
	for _, l := range all {
		if l.IsText != text || l.Tag == 1 || !l.IsText && l.Tag == 0 && math.IsNaN(l.Number) {
			continue
		}
		code := microdata.Code{Number: l.Number, Text: l.Text, IsText: l.IsText, Tag: l.Tag}
		if code.IsText || code.Tag != 0 {
			code.Number = 0 // where the library has none, it is NaN, which equals nothing
		}
		list = append(list, microdata.ValueLabel{Value: code, Label: l.Label})
	}
	slices.SortStableFunc(list, func(a, b microdata.ValueLabel) int { return a.Value.Compare(b.Value) })
	return slices.CompactFunc(list, func(a, b microdata.ValueLabel) bool { return a.Value == b.Value })
}

// describe returns what a file says of a column.
func describe(program string, v readstat.Variable, labels []microdata.ValueLabel, weight bool) *microdata.Description {
	d := &microdata.Description{Label: v.Label, Values: labels, Program: program, Stored: int(v.Type), Format: v.Format,
		Width: v.Width, Display: v.Display, Alignment: v.Alignment, Weight: weight}
	if v.Measure > 0 && v.Measure < len(measures) {
		d.Measure = measures[v.Measure]
	}
	for _, m := range v.Missing {
		d.Missing = append(d.Missing, microdata.MissingCodes{From: m.From, To: m.To, Text: m.Text, IsText: v.Type.Text()})
	}
	return d
}

// missing are the codes that a file declares as missing, as masks know them; nil if there are none. The configuration
// can replace them.
func missing(d *microdata.Description) *microdata.Missing {
	if len(d.Missing) == 0 {
		return nil
	}
	m := &microdata.Missing{}
	for _, r := range d.Missing {
		switch {
		case r.IsText:
			m.Codes = append(m.Codes, r.Text)
		case r.From == r.To:
			m.Codes = append(m.Codes, strconv.FormatFloat(r.From, 'g', -1, 64))
		default:
			open := microdata.MissingRange{From: r.From, To: r.To}
			if r.From <= -1.7e308 { // LOWEST
				open.From = math.Inf(-1)
			}
			if r.To >= 1.7e308 { // HIGHEST
				open.To = math.Inf(1)
			}
			m.Ranges = append(m.Ranges, open)
		}
	}
	return m
}
