package category

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

func toMiddle(to string) *Date { return &Date{Columns: []string{"a"}, Round: to} }

// dated masks column a of dates (or others) as a run does; column b, where there is json of it, says whose they are.
func dated(t *testing.T, m core.Params, of arrow.DataType, json, by string) []string {
	t.Helper()
	masks := []core.Spec{mask(m)}
	f := microdata.Field{Name: "a", Type: of, Nullable: true}
	days := core.InDays(masks, f)
	setup := core.Setup{
		Key: testKey(t, 5),
		Columns: []core.ColumnInfo{{Name: "a", Field: f, Decimals: -1, Days: days},
			{Name: "b", Index: 1, Field: microdata.Field{Name: "b", Type: text64}}}}
	if days {
		setup.Columns[0].Decimals = core.DecimalsOfDays(of)
	}
	c, err := core.NewChain(masks, setup)
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := array.FromJSON(memory.DefaultAllocator, of, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	b := &microdata.Block{}
	b.Reset(0, 0, a.Len(), 2)
	if (microdata.Field{Type: of}).Numeric() && m.Describe().Retype == nil {
		microdata.NumbersOf(a, &b.Columns[0])
	} else {
		b.Columns[0].Array = a
	}
	if by != "" {
		if b.Columns[1].Array, _, err = array.FromJSON(memory.DefaultAllocator, text64, strings.NewReader(by)); err != nil {
			t.Fatal(err)
		}
	}
	microdata.FillDays(b,
		&microdata.Layout{Read: []microdata.Want{{As: microdata.Array, Days: days}, {Field: 1, As: microdata.Array}}})
	if err := c.Apply(b); err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range a.Len() {
		released := b.Columns[0].OutArray()
		switch {
		case b.Rejected(i):
			out = append(out, b.Rejects[slices.IndexFunc(b.Rejects, func(r microdata.Reject) bool { return r.Row == i })].Reason)
		case released == nil && !b.Columns[0].Out().Valid.Has(i) || released != nil && released.IsNull(i):
			out = append(out, "null")
		case released == nil:
			out = append(out, fmt.Sprint(b.Columns[0].Out().Values[i]))
		default:
			out = append(out, released.ValueStr(i))
		}
	}
	return out
}

func TestRoundingOfDates(t *testing.T) {
	day, moment := arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}
	vienna := &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Vienna"}
	for name, c := range map[string]struct {
		m        *Date
		of       arrow.DataType
		in, want string
	}{
		"months": {toMiddle("month"), day,
			`["2024-02-01", "2024-02-29", "2023-02-28", "2023-04-30", "2023-12-31", null, "1969-12-31", "1900-02-28"]`,
			"2024-02-15 2024-02-15 2023-02-14 2023-04-15 2023-12-16 null 1969-12-16 1900-02-14"},
		"weeks": {toMiddle("week"), day,
			`["2024-02-26", "2024-03-03", "2024-03-04", "1970-01-01", "1969-12-28", "1969-12-29"]`,
			"2024-02-29 2024-02-29 2024-03-07 1970-01-01 1969-12-25 1970-01-01"},
		"quarters": {toMiddle("quarter"), day, `["2024-01-01", "2024-03-31", "2024-04-01", "2023-12-31"]`,
			"2024-02-15 2024-02-15 2024-05-16 2023-11-15"},
		"years":   {toMiddle("year"), day, `["2024-01-01", "2023-12-31"]`, "2024-07-01 2023-07-02"},
		"64 bits": {toMiddle("year"), arrow.FixedWidthTypes.Date64, `["2023-12-31"]`, "2023-07-02"},
		"moments": {toMiddle("year"), moment, `["2023-12-31T23:59:59Z", "2024-01-01T00:00:00Z"]`,
			"2023-07-02T12:00:00Z 2024-07-02T00:00:00Z"},
		"a zone": {toMiddle("month"), vienna, `["2024-06-30T21:59:59Z", "2024-06-30T22:00:00Z"]`,
			"2024-06-16T00:00:00+02:00 2024-07-16T12:00:00+02:00"},
		"another zone": {&Date{Columns: []string{"a"}, Round: "month", Zone: "America/New_York"}, moment,
			`["2024-07-01T03:59:59Z", "2024-07-01T04:00:00Z"]`, "2024-06-16T04:00:00Z 2024-07-16T16:00:00Z"},
		"summer time": {toMiddle("month"), vienna, `["2024-03-10T00:00:00Z"]`, "2024-03-16T11:30:00+01:00"},
		"texts": {toMiddle("month"), text64,
			`["2024-02-29", "2023-02-29", "2023-02-28", "1987-00-00", "1987", "1987-05-00", "1987-05", "", null, "14.5.1987", "1987-05-14T10:00", "1987-13-00", "1987-00-14"]`, "2024-02-15|is no date|2023-02-14|1987-00-00|1987|1987-05-16|1987-05-16|null|null|is no date|is no date|is no date|is no date"},
		"years texts": {toMiddle("year"), text64, `["1987-00-00", "1987", "1987-05-00", "1988-01-01"]`,
			"1987-07-02 1987-07-02 1987-07-02 1988-07-01"},
		"seconds": {&Date{Columns: []string{"a"}, Round: "year", Unit: "seconds"}, arrow.PrimitiveTypes.Int64,
			`[1704067199, 1704067200, null]`,
			fmt.Sprint(time.Date(2023, 7, 2, 12, 0, 0, 0, time.UTC).Unix(), " ",
				time.Date(2024, 7, 2, 0, 0, 0, 0, time.UTC).Unix(), " null")},
		"days": {&Date{Columns: []string{"a"}, Round: "week", Unit: "days"}, arrow.PrimitiveTypes.Int32,
			`[0, 3, 4, 9000000]`, "0|0|7|is no date"},
	} {
		sep := " "
		if strings.Contains(c.want, "|") {
			sep = "|"
		}
		got := strings.Join(dated(t, c.m, c.of, c.in, ""), sep)
		if name == "seconds" {
			got = strings.ReplaceAll(got, "1.6882992e+09", "1688299200")
			got = strings.ReplaceAll(got, "1.7198784e+09", "1719878400")
		}
		if got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

// Every day of four centuries has the middle of its interval, which lies in it: brute force by counting days.
func TestMiddleOfEveryInterval(t *testing.T) {
	for _, to := range []string{"week", "month", "quarter", "year"} {
		m := toMiddle(to)
		name := func(d int64) [2]int {
			day := time.Unix(d*86400, 0).UTC()
			year, week := day.ISOWeek()
			switch to {
			case "week":
				return [2]int{year, week}
			case "month":
				return [2]int{day.Year(), int(day.Month())}
			case "quarter":
				return [2]int{day.Year(), int(day.Month()+2) / 3}
			default:
				return [2]int{day.Year()}
			}
		}
		first, last := map[[2]int]int64{}, map[[2]int]int64{}
		from, end := civil{Year: 1600, Month: 1, Day: 3}.Days(), civil{Year: 2000, Month: 12,
			Day: 31}.Days()
		for d := from; d <= end; d++ {
			if _, known := first[name(d)]; !known {
				first[name(d)] = d
			}
			last[name(d)] = d
		}
		for d := from; d <= end; d++ {
			a, z := m.Interval(civilOf(d))
			if a != first[name(d)] && a >= from || z-1 != last[name(d)] && z <= end {
				t.Fatalf("%s of day %d: from %d to %d, want %d to %d", to, d, a, z, first[name(d)], last[name(d)])
			}
		}
	}
}

func TestAges(t *testing.T) {
	day := arrow.FixedWidthTypes.Date32
	age := func(at string) *Date { return &Date{Columns: []string{"a"}, Age: &at} }
	old, young := 85, age("2024-02-28")
	for name, c := range map[string]struct {
		m        *Date
		of       arrow.DataType
		in, want string
	}{
		"years": {young, day, `["2000-02-28", "2000-02-29", "2024-02-28", "1899-12-31", null, "2024-02-29"]`,
			"24|23|0|124|null|" + unborn},
		"on 1 March":     {age("2023-03-01"), day, `["2000-02-29"]`, "23"},
		"in a leap year": {age("2024-02-29"), day, `["2000-02-29"]`, "24"},
		"top": {&Date{Columns: []string{"a"}, Age: young.Age, Top: &old}, day,
			`["1930-01-01", "1939-02-28", "1939-03-01"]`, "85|85|84"},
		"classes": {&Date{Columns: []string{"a"}, Age: young.Age, Breaks: []float64{0, 18, 65}}, day,
			`["2006-02-28", "2006-03-01", "1959-02-28", "1950-01-01"]`, "[18,65]|[0,18)|[18,65]|has an age beyond the breaks"},
		"moments": {&Date{Columns: []string{"a"}, Age: young.Age, Zone: "Asia/Tokyo"},
			&arrow.TimestampType{Unit: arrow.Nanosecond}, `["2000-02-28T14:59:59", "2000-02-28T15:00:00"]`, "24|23"},
		"texts": {young, text64, `["2000-02-28", "2000-00-00", "1999-03-00", "", "x"]`,
			"24|" + partial + "|24|null|is no date"},
		"texts in classes": {&Date{Columns: []string{"a"}, Age: young.Age, Breaks: []float64{0, 18, 65}}, text64,
			`["2000-00-00", "2006-00-00"]`, "[18,65]|" + partial},
		"days since 1970": {&Date{Columns: []string{"a"}, Age: young.Age, Unit: "days"}, arrow.PrimitiveTypes.Int64,
			`[0, 11015, -1]`, "54|24|54"},
		"seconds since 1970": {&Date{Columns: []string{"a"}, Age: young.Age, Unit: "seconds"}, arrow.PrimitiveTypes.Int64,
			`[951695999, 951696000]`, "24|24"},
	} {
		if got := strings.Join(dated(t, c.m, c.of, c.in, ""), "|"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A shift is uniform on the whole days from −b to b, the same for all dates of a respondent in every file, and others
// for other respondents, bounds, scopes and keys. χ² with 20 degrees of freedom is beyond 60 less than once in 100,000.
func TestShiftOfDates(t *testing.T) {
	const bound, n = 10, 21_000
	b := bound
	of := &Date{Columns: []string{"a"}, Shift: &b, By: "b", Scope: "person"}
	var in, by strings.Builder
	for i := range n {
		fmt.Fprintf(&in, `%c"2024-02-28"`, ",["[b2i(i == 0)])
		fmt.Fprintf(&by, `%c"p%d"`, ",["[b2i(i == 0)], i)
	}
	counts := make([]float64, 2*bound+1)
	got := dated(t, of, arrow.FixedWidthTypes.Date32, in.String()+"]", by.String()+"]")
	for _, text := range got {
		day, _ := dateOf(text)
		k := day.Days() - civil{Year: 2024, Month: 2, Day: 28}.Days() + bound
		if k < 0 || k > 2*bound {
			t.Fatalf("shifted to %s", text)
		}
		counts[k]++
	}
	chi := 0.0
	for _, c := range counts {
		chi += (c - n/21.) * (c - n/21.) / (n / 21.)
	}
	if chi > 60 || chi < 3 {
		t.Errorf("χ² = %v", chi)
	}
	// Intervals stay, over the end of February and the year, with the time of the day to the last nanosecond; 7 of one
	// file is "7" of another.
	from, to := "2023-12-31T23:59:59.123456789Z", "2024-03-01T10:00:00.000000001Z"
	moments := dated(t, of, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
		`["`+from+`", "`+to+`", "`+to+`"]`, `["p0", "p0", "q"]`)
	between := func(a, b string) time.Duration {
		x, err := time.Parse(time.RFC3339Nano, a)
		y, other := time.Parse(time.RFC3339Nano, b)
		if err != nil || other != nil {
			t.Fatal(err, other)
		}
		return y.Sub(x)
	}
	if got, want := between(moments[0], moments[1]), between(from, to); got != want {
		t.Errorf("an interval of %v is %v", want, got)
	}
	if day := moments[0][:10]; day != shiftedBy(t, got[0], "2023-12-31") {
		t.Errorf("the same respondent has another shift in another file: %s and %s", day, got[0])
	}
	for name, other := range map[string]*Date{
		"scope": {Columns: of.Columns, Shift: &b, By: "b", Scope: "patient"},
		"bound": {Columns: of.Columns, Shift: ptr(11), By: "b", Scope: "person"},
	} {
		same := 0
		for i, text := range dated(t, other, arrow.FixedWidthTypes.Date32, in.String()+"]", by.String()+"]") {
			if text == got[i] {
				same++
			}
		}
		if same < 700 || same > 1300 { // 1000 by chance, binomial: SD 31
			t.Errorf("another %s: %d of %d are the same", name, same, n)
		}
	}
	if got := dated(t, of, arrow.FixedWidthTypes.Date32, `["2024-02-28", "2024-02-28", null]`,
		`[null, "", "p0"]`); got[0] != got[1] || !strings.Contains(got[0], "says whose dates") || got[2] != "null" {
		t.Errorf("without identifier: %q", got)
	}
	seconds := &Date{Columns: of.Columns, Shift: &b, By: "b", Scope: "person", Unit: "seconds"}
	if x := dated(t, seconds, arrow.PrimitiveTypes.Int64, `[86399]`, `["p0"]`)[0]; x != fmt.Sprint(
		86399+float64(86400*(daysOfText(got[0])-civil{Year: 2024, Month: 2, Day: 28}.Days()))) {
		t.Errorf("seconds: %s", x)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
func daysOfText(text string) int64 {
	c, _ := dateOf(text)
	return c.Days()
}
func shiftedBy(t *testing.T, shifted, text string) string {
	t.Helper()
	return civilOf(daysOfText(text) + daysOfText(shifted) - civil{Year: 2024, Month: 2,
		Day: 28}.Days()).String()
}

// Noise in days leaves whole days with the standard deviation asked for.
func TestNoiseInDays(t *testing.T) {
	in := "[" + strings.Repeat(`"2020-02-28",`, 9999) + `null]`
	sum, n := 0.0, 0.0
	for _, text := range dated(t, &record.Noise{Columns: []string{"a"}, SD: amount(14)}, arrow.FixedWidthTypes.Date32, in, "") {
		if text == "null" {
			continue
		}
		d := float64(daysOfText(text) - daysOfText("2020-02-28"))
		sum, n = sum+d*d, n+1
	}
	if sd := math.Sqrt(sum / n); n != 9999 || math.Abs(sd-14) > 0.5 { // SE 14/√(2n) = 0.1
		t.Errorf("%v dates have an SD of %v", n, sd)
	}
}
