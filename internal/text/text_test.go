package text

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/sdlfilter/sdlfilter/connectors"
)

func TestParseFloat(t *testing.T) {
	for _, s := range []string{
		"0", "-0", "1", "-1", "12.5", ".5", "5.", "-.5", "0.1", "1e5", "1E-5", "1.5e+300", "123456789012345678",
		"9007199254740993",
		"0.30000000000000004", "1e-320", "179769313486231570000", "123456789.123456789123456789", "-123.456",
		"99999999999999999999", "1e22", "1e23",
	} {
		got, ok := ParseFloat([]byte(s))
		want, err := strconv.ParseFloat(s, 64)
		if err != nil || !ok || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s: got %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "-", ".", "-.", "+1", "007", "-01", "00", "1e", "1e+", "e5", "1_000", "0x1p2", " 1",
		"1 ", "1,5", "nan", "Inf", "1e400", "1..2", "--1", "1.2.3", "1e5.0"} {
		if v, ok := ParseFloat([]byte(s)); ok {
			t.Errorf("%q is read as %v", s, v)
		}
	}
}

// Random decimals of every length are read as strconv reads them.
func TestParseFloatRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		whole := strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10)
		s := whole
		if rng.IntN(3) > 0 {
			s += "." + strings.Repeat("0", rng.IntN(4)) + strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10)
		}
		if rng.IntN(10) == 0 {
			s += "e" + strconv.Itoa(rng.IntN(600)-300)
		}
		want, err := strconv.ParseFloat(s, 64)
		got, ok := ParseFloat([]byte(s))
		if ok != (err == nil) || ok && got != want {
			t.Fatalf("%s: got %v, %v; want %v, %v", s, got, ok, want, err)
		}
	}
}

func TestClassify(t *testing.T) {
	for s, want := range map[string]Number{
		"0": Integer, "-5": Integer, "9223372036854775807": Integer, "-9223372036854775808": Integer,
		"9223372036854775808": Huge, "-9223372036854775809": Huge, "99999999999999999999999": Huge, "1e999": Huge,
		"-0": Real, "1.0": Real, "1e3": Real, ".5": Real, "5.": Real, "-0.0": Real,
		"007": NotNumber, "+5": NotNumber, "00.5": NotNumber, "": NotNumber, "-": NotNumber, "1-2": NotNumber,
		"abc": NotNumber, "1a": NotNumber, ".": NotNumber,
		"NaN": Special, "nan": Special, "-inf": Special, "Infinity": Special, "+Inf": Special, "infinit": NotNumber,
	} {
		if got, _ := Classify([]byte(s)); got != want {
			t.Errorf("%q: got %d, want %d", s, got, want)
		}
	}
	for s, want := range map[string]bool{"9007199254740992": false, "9007199254740993": true, "-9007199254740993": true,
		"42": false} {
		if _, wide := Classify([]byte(s)); wide != want {
			t.Errorf("%s: wide is %v", s, wide)
		}
	}
}

func TestAppendFixed(t *testing.T) {
	for _, c := range []struct {
		x        float64
		decimals int
		pad      bool
		want     string
	}{
		{0, 2, false, "0"}, {0, 2, true, "0.00"}, {math.Copysign(0, -1), 2, false, "0"}, {1.5, 2, false, "1.5"},
		{1.5, 2, true, "1.50"},
		{-0.05, 2, false, "-0.05"}, {100, 2, false, "100"}, {1234567.89, 2, false, "1234567.89"}, {-7, 0, false, "-7"},
		{1.0 / 3, 2, false, "0.3333333333333333"}, {1e15, 3, false, "1000000000000000"}, {1e300, 2, false, "1e+300"},
		{0.1, -1, false, "0.1"}, {5e-324, -1, false, "5e-324"}, {123456789012, 0, false, "123456789012"},
		{10, 1, false, "10"}, {0.001, 3, false, "0.001"},
	} {
		if got := string(AppendFixed(nil, c.x, c.decimals, c.pad)); got != c.want {
			t.Errorf("%v with %d decimals: got %s, want %s", c.x, c.decimals, got, c.want)
		}
	}
}

// Written text is read back as the released number, bit by bit, on the grid and off it.
func TestAppendFixedRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300_000 {
		d := rng.IntN(12) - 1
		x := rng.NormFloat64() * math.Pow(10, float64(rng.IntN(12)))
		if d >= 0 && rng.IntN(4) > 0 {
			x = math.Round(x*math.Pow10(d)) / math.Pow10(d)
		}
		s := AppendFixed(nil, x, d, rng.IntN(2) == 0)
		if got, ok := ParseFloat(s); !ok || got != x {
			t.Fatalf("%v with %d decimals is written %s and read %v", x, d, s, got)
		}
	}
}

func TestDates(t *testing.T) {
	for y := 1; y <= 9999; y += 7 {
		for _, md := range []string{"01-01", "02-28", "02-29", "03-01", "12-31", "06-30"} {
			s := time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006-") + md
			want, err := time.Parse("2006-01-02", s)
			got, ok := ParseDate([]byte(s))
			if ok != (err == nil) || ok && int64(got)*86400 != want.Unix() {
				t.Fatalf("%s: got %d, %v", s, got, ok)
			}
			if ok && string(AppendDate(nil, int64(got))) != s {
				t.Fatalf("%s is written %s", s, AppendDate(nil, int64(got)))
			}
		}
	}
	for _, s := range []string{"2024-13-01", "2024-00-01", "2024-1-1", "2023-02-29", "2024/01/01", "0000-01-01",
		"2024-04-31", "abcd-01-01", "2024-01-0x"} {
		if _, ok := ParseDate([]byte(s)); ok {
			t.Errorf("%s is read as a date", s)
		}
	}
}

func TestTimestamps(t *testing.T) {
	for _, c := range []struct {
		s    string
		want string
		zone byte
	}{
		{"2024-02-29 12:30", "2024-02-29T12:30:00", 0}, {"2024-02-29T12:30:15.123456", "2024-02-29T12:30:15.123456", 0},
		{"1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5", 'Z'}, {"2024-01-01T00:30:00+02:00", "2023-12-31T22:30:00", '+'},
		{"2024-01-01 00:30:00-01:15", "2024-01-01T01:45:00", '+'},
	} {
		us, zone, ok := ParseTimestamp([]byte(c.s))
		if got := string(AppendTimestamp(nil, us, 1_000_000, false)); !ok || got != c.want || zone != c.zone {
			t.Errorf("%s: got %s, %q, %v", c.s, got, zone, ok)
		}
	}
	for _, s := range []string{"2024-01-01", "2024-01-01T24:00:00", "2024-01-01T23:60", "2024-01-01T23:59:60",
		"2024-01-01T23:59:59.1234567", "2024-01-01T23:59:59.", "2024-01-01T23:59:59z", "2024-01-01x23:59",
		"2024-01-01T23:59+0200", "2024-01-01T2:59:00"} {
		if _, _, ok := ParseTimestamp([]byte(s)); ok {
			t.Errorf("%s is read as a timestamp", s)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		values string
		want   string
	}{
		{"1 2 3", "int64"}, {"1 2.5", "float64"}, {"1.5 NaN", "float64"}, {"NaN inf", "string"}, {"true FALSE", "bool"},
		{"true 1", "string"},
		{"007 12", "string"}, {"+5", "string"}, {"9223372036854775808", "string"}, {"9007199254740993 1.5", "string"},
		{"9007199254740993", "int64"},
		{"2024-01-01", "date"}, {"2024-01-01 2024-01-01T00:00", "string"}, {"2024-01-01T00:00:00Z", "timestamptz"},
		{"2024-01-01T00:00:00", "timestamp"},
		{"2024-01-01T00:00:00 2024-01-01T00:00:00Z", "string"}, {"2024-01-01T00:00:00+01:00", "string"}, {"a", "string"},
		{"", "string"}, {"1 x", "string"},
	} {
		var k Kinds
		for v := range strings.FieldsSeq(c.values) {
			k |= KindOf([]byte(v))
		}
		if got := TypeName(k.Type()); got != c.want {
			t.Errorf("%s: got %s, want %s", c.values, got, c.want)
		}
	}
}

func TestParseType(t *testing.T) {
	for _, n := range append([]string{"decimal(10,2)", "decimal(38,0)"}, TypeNames...) {
		typ, err := ParseType(n)
		if err != nil || TypeName(typ) != n {
			t.Errorf("%s: %v, %v", n, typ, err)
		}
	}
	for n, want := range map[string]string{"int": "must be one of", "flaot64": `did you mean "float64"?`,
		"decimal(39,0)": "p ≤ 38", "decimal(3,4)": "s ≤ p", "": "must be one of"} {
		if _, err := ParseType(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", n, err)
		}
	}
}

func TestBuilder(t *testing.T) {
	for _, c := range []struct{ typ, good, bad, want string }{
		{"int64", "1|-5|-0", "1.5|x|9223372036854775808", "[1 -5 0]"},
		{"float64", "1|2.5|1e3", "x|007", "[1 2.5 1000]"},
		{"bool", "true|FALSE|true", "1|yes", "[true false true]"},
		{"string", "a||ü", "\xff", `["a" "" "ü"]`},
		{"decimal(5,2)", "1.5|-0.05|999.990", "1000|0.001|1e1|x", "[1.5 -0.05 999.99]"},
	} {
		typ, err := ParseType(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		good := strings.Split(c.good, "|")
		b := NewBuilder(typ, len(good), 0)
		for _, v := range good {
			if reason := b.Append([]byte(v)); reason != "" {
				t.Errorf("%s: %q: %s", c.typ, v, reason)
			}
		}
		a := b.Array()
		if d, ok := a.(*array.Decimal128); ok {
			for i, v := range []string{"1.50", "-0.05", "999.99"} {
				if d.Value(i).ToString(2) != v {
					t.Errorf("%s: got %s", v, d.Value(i).ToString(2))
				}
			}
		} else if a.String() != c.want {
			t.Errorf("%s: got %s, want %s", c.typ, a, c.want)
		}
		bad := strings.Split(c.bad, "|")
		b = NewBuilder(typ, len(bad), 0)
		for _, v := range bad {
			if reason := b.Append([]byte(v)); reason == "" || v != "x" && len(v) > 1 && strings.Contains(reason, v) {
				t.Errorf("%s: %q: got reason %q", c.typ, v, reason)
			}
		}
		if a := b.Array(); a.NullN() != len(bad) {
			t.Errorf("%s: %d nulls", c.typ, a.NullN())
		}
	}
}

func TestParseNumber(t *testing.T) {
	dec := &arrow.Decimal128Type{Precision: 5, Scale: 2}
	for _, c := range []struct {
		s      string
		t      arrow.DataType
		want   float64
		reason string
	}{
		{"12", arrow.PrimitiveTypes.Int64, 12, ""}, {"9007199254740992", arrow.PrimitiveTypes.Int64, 1 << 53, ""},
		{"9007199254740993", arrow.PrimitiveTypes.Int64, 0, TooWide},
		{"1.5", arrow.PrimitiveTypes.Int64, 0, "not a value of type int64"},
		{"1.5", arrow.PrimitiveTypes.Float64, 1.5, ""}, {"inf", arrow.PrimitiveTypes.Float64, math.Inf(1), ""},
		{"", arrow.PrimitiveTypes.Float64, 0, "not a value of type float64"},
		{"1.25", dec, 1.25, ""}, {"1.255", dec, 0, "not a value of type decimal(5,2)"},
		{"10000", dec, 0, "not a value of type decimal(5,2)"},
	} {
		if got, reason := ParseNumber([]byte(c.s), c.t); got != c.want || reason != c.reason {
			t.Errorf("%q as %s: got %v, %q", c.s, c.t, got, reason)
		}
	}
}

func blankLine(line []byte) bool { return len(line) == 0 }

func splitLines(p []byte, max int, final bool) (int, int) {
	return SplitLines(p, max, final, blankLine)
}

// Concatenated chunks equal the stream, for any division and any behaviour of the reader, and
// records are numbered continuously.
func TestChunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var data bytes.Buffer
	total := 0
	for data.Len() < 3*chunkSize {
		n := rng.IntN(200)
		if rng.IntN(2000) == 0 {
			n = chunkSize + rng.IntN(chunkSize)
		}
		if n > 0 {
			total++
		}
		data.WriteString(strings.Repeat("x", n) + "\n")
	}
	data.WriteString("last")
	total++
	for _, cut := range []connectors.Cut{{}, {Records: 1000}, {Records: 1000, Exact: true},
		{Records: 1 << 20, Exact: true}, {Records: 7, Exact: true}} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader {
			return r
		}, "half": iotest.HalfReader, "eof": iotest.DataErrReader} {
			c := NewChunks(wrap(bytes.NewReader(data.Bytes())), nil, splitLines, cut, nil)
			var got []byte
			var chunks []*Chunk
			records := 0
			for {
				k, err := c.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if k.First != int64(records) || k.Records == 0 || cut.Records > 0 && k.Records > cut.Records {
					t.Fatalf("%v %s: chunk of %d records at %d, want at %d", cut, name, k.Records, k.First, records)
				}
				if cut.Exact && k.Records != cut.Records && records+k.Records != total {
					t.Fatalf("%v %s: chunk of %d records", cut, name, k.Records)
				}
				records += k.Records
				got = append(got, k.Data...)
				chunks = append(chunks, k)
				if len(chunks) > 3 { // several are in use at the same time
					chunks[0].Release()
					chunks = chunks[1:]
				}
			}
			c.Close()
			if records != total || !bytes.Equal(got, data.Bytes()) {
				t.Fatalf("%v %s: %d records of %d, %d bytes of %d", cut, name, records, total, len(got), data.Len())
			}
		}
	}
}

func TestChunksErrors(t *testing.T) {
	c := NewChunks(iotest.TimeoutReader(bytes.NewReader(bytes.Repeat([]byte("ab\n"), chunkSize))), nil, splitLines,
		connectors.Cut{}, nil)
	var err error
	for err == nil {
		_, err = c.Next()
	}
	if !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %v", err)
	}
	c = NewChunks(endless{}, nil, splitLines, connectors.Cut{}, nil)
	if _, err := c.Next(); !errors.Is(err, ErrTooLong) {
		t.Errorf("a record without end: got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func FuzzParseFloat(f *testing.F) {
	for _, s := range []string{"1", "-0.5", "1e10", "007", ".5", "5.", "NaN", "12345678901234567890.1", "1e-400"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		v, ok := ParseFloat(p)
		want, err := strconv.ParseFloat(string(p), 64)
		if ok && (err != nil || v != want) {
			t.Errorf("%q: got %v, want %v, %v", p, v, want, err)
		}
		n, _ := Classify(p)
		if ok != (n == Integer || n == Real) && n != Huge {
			t.Errorf("%q: read %v, classified %d", p, ok, n)
		}
	})
}

func BenchmarkAppendFixed(b *testing.B) {
	x := make([]float64, 1000)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = math.Round(rng.NormFloat64()*1e6) / 100
	}
	var dst []byte
	for b.Loop() {
		dst = dst[:0]
		for _, v := range x {
			dst = AppendFixed(dst, v, 2, false)
		}
	}
}
