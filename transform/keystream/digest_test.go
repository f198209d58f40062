package keystream

import (
	"crypto/aes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// arrayOf builds an array of a type from values as text; "∅" is null.
func arrayOf(t testing.TB, dt arrow.DataType, values ...string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	defer b.Release()
	for _, v := range values {
		if v == "∅" {
			b.AppendNull()
		} else if bin, ok := b.(array.BinaryLikeBuilder); ok && !strings.Contains(dt.Name(), "utf8") {
			bin.Append([]byte(v)) // AppendValueFromString would decode base64
		} else if err := b.AppendValueFromString(v); err != nil {
			t.Fatalf("%s %q: %v", dt, v, err)
		}
	}
	return b.NewArray()
}

// digestOf returns the digest of a tuple of single values.
func digestOf(t testing.TB, arrays ...arrow.Array) microdata.Digest {
	t.Helper()
	columns := make([]*microdata.Column, len(arrays))
	for i, a := range arrays {
		columns[i] = &microdata.Column{Array: a}
	}
	return testKey(1).Digests(nil, columns, 1)[0]
}

// value is one identifying value and the forms in which a file may contain it.
type value struct {
	dt   arrow.DataType
	text string
}

// classes contain values of one identity each: within a class all digests are equal, and digests of
// different classes differ.
var classes = map[string][]value{
	"42": {
		{arrow.PrimitiveTypes.Int8, "42"}, {arrow.PrimitiveTypes.Int16, "42"}, {arrow.PrimitiveTypes.Int32, "42"},
		{arrow.PrimitiveTypes.Int64, "42"}, {arrow.PrimitiveTypes.Uint8, "42"}, {arrow.PrimitiveTypes.Uint16, "42"},
		{arrow.PrimitiveTypes.Uint32, "42"}, {arrow.PrimitiveTypes.Uint64, "42"}, {arrow.FixedWidthTypes.Float16, "42"},
		{arrow.PrimitiveTypes.Float32, "42"}, {arrow.PrimitiveTypes.Float64, "42"},
		{&arrow.Decimal32Type{Precision: 5, Scale: 2}, "42"}, {&arrow.Decimal64Type{Precision: 12, Scale: 0}, "42"},
		{&arrow.Decimal128Type{Precision: 38, Scale: 30}, "42"}, {&arrow.Decimal256Type{Precision: 70, Scale: 60}, "42"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int32}, "42"},
	},
	"-42": {{arrow.PrimitiveTypes.Int8, "-42"}, {arrow.PrimitiveTypes.Float64, "-42"},
		{&arrow.Decimal128Type{Precision: 30, Scale: 28}, "-42"}},
	"zero": {{arrow.PrimitiveTypes.Int64, "0"}, {arrow.PrimitiveTypes.Float64, "-0"}, {arrow.PrimitiveTypes.Float64, "0"},
		{&arrow.Decimal128Type{Precision: 20, Scale: 5}, "0"}, {&arrow.Decimal256Type{Precision: 70, Scale: 5}, "0"}},
	"0.1": {{arrow.PrimitiveTypes.Float64, "0.1"}, {&arrow.Decimal32Type{Precision: 5, Scale: 2}, "0.1"},
		{&arrow.Decimal128Type{Precision: 38, Scale: 30}, "0.1"}},
	"0.1 single": {{arrow.PrimitiveTypes.Float32, "0.1"}},
	"2.5": {{arrow.PrimitiveTypes.Float32, "2.5"}, {arrow.PrimitiveTypes.Float64, "2.5"},
		{&arrow.Decimal64Type{Precision: 10, Scale: 3}, "2.5"}},
	"2^53": {{arrow.PrimitiveTypes.Int64, "9007199254740992"}, {arrow.PrimitiveTypes.Float64, "9007199254740992"}},
	"2^53+1": {{arrow.PrimitiveTypes.Int64, "9007199254740993"}, {arrow.PrimitiveTypes.Uint64, "9007199254740993"},
		{&arrow.Decimal128Type{Precision: 38, Scale: 3}, "9007199254740993"}},
	"10^17+10": {{arrow.PrimitiveTypes.Int64, "100000000000000010"},
		{&arrow.Decimal256Type{Precision: 76, Scale: 9}, "100000000000000010"}},
	"2^63-1": {{arrow.PrimitiveTypes.Int64, "9223372036854775807"},
		{arrow.PrimitiveTypes.Uint64, "9223372036854775807"}},
	"2^63": {{arrow.PrimitiveTypes.Uint64, "9223372036854775808"},
		{arrow.PrimitiveTypes.Float64, "9223372036854775808"},
		{&arrow.Decimal128Type{Precision: 38, Scale: 0}, "9223372036854775808"}},
	"-2^63": {{arrow.PrimitiveTypes.Int64, "-9223372036854775808"},
		{arrow.PrimitiveTypes.Float64, "-9223372036854775808"},
		{&arrow.Decimal256Type{Precision: 70, Scale: 2}, "-9223372036854775808"}},
	"10^30": {{&arrow.Decimal128Type{Precision: 38, Scale: 2}, "1000000000000000000000000000000"},
		{&arrow.Decimal256Type{Precision: 60, Scale: 0}, "1000000000000000000000000000000"}},
	"float 10^30": {{arrow.PrimitiveTypes.Float64, "1e30"},
		{&arrow.Decimal128Type{Precision: 38, Scale: 0}, "1000000000000000019884624838656"}},
	"16 digits":   {{&arrow.Decimal128Type{Precision: 38, Scale: 16}, "0.1234567890123456"}},
	"16 digits f": {{arrow.PrimitiveTypes.Float64, "0.1234567890123456"}},
	"string 42": {{arrow.BinaryTypes.String, "42"}, {arrow.BinaryTypes.LargeString, "42"},
		{arrow.BinaryTypes.StringView, "42"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.BinaryTypes.String}, "42"}},
	"binary 42": {{arrow.BinaryTypes.Binary, "42"}, {arrow.BinaryTypes.LargeBinary, "42"},
		{arrow.BinaryTypes.BinaryView, "42"}, {&arrow.FixedSizeBinaryType{ByteWidth: 2}, "NDI="}},
	"zero byte": {{arrow.BinaryTypes.String, "\x00"}},
	"nobody": {{arrow.BinaryTypes.String, ""}, {arrow.BinaryTypes.LargeString, ""}, {arrow.BinaryTypes.Binary, ""},
		{arrow.PrimitiveTypes.Int64, "∅"}, {arrow.PrimitiveTypes.Float64, "∅"}, {arrow.BinaryTypes.String, "∅"},
		{arrow.FixedWidthTypes.Date32, "∅"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "∅"},
		{arrow.Null, "∅"}},
	"true":      {{arrow.FixedWidthTypes.Boolean, "true"}},
	"false":     {{arrow.FixedWidthTypes.Boolean, "false"}},
	"one":       {{arrow.PrimitiveTypes.Int8, "1"}},
	"NaN":       {{arrow.PrimitiveTypes.Float64, "NaN"}, {arrow.PrimitiveTypes.Float32, "NaN"}},
	"+Inf":      {{arrow.PrimitiveTypes.Float64, "+Inf"}},
	"-Inf":      {{arrow.PrimitiveTypes.Float64, "-Inf"}},
	"a day":     {{arrow.FixedWidthTypes.Date32, "1988-03-01"}, {arrow.FixedWidthTypes.Date64, "1988-03-01"}},
	"before 70": {{arrow.FixedWidthTypes.Date32, "1931-12-24"}, {arrow.FixedWidthTypes.Date64, "1931-12-24"}},
	"instant": {{&arrow.TimestampType{Unit: arrow.Second}, "1988-03-01T10:00:00"},
		{&arrow.TimestampType{Unit: arrow.Millisecond}, "1988-03-01T10:00:00"},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, "1988-03-01T10:00:00"},
		{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, "1988-03-01T10:00:00Z"}},
	"midnight instant": {{&arrow.TimestampType{Unit: arrow.Second}, "1988-03-01T00:00:00"}},
	"early instant": {{&arrow.TimestampType{Unit: arrow.Millisecond}, "1960-01-01T00:00:00.25"},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, "1960-01-01T00:00:00.25"},
		{&arrow.TimestampType{Unit: arrow.Nanosecond}, "1960-01-01T00:00:00.25"}},
	"time of day": {{&arrow.Time32Type{Unit: arrow.Second}, "10:00:00"},
		{&arrow.Time32Type{Unit: arrow.Millisecond}, "10:00:00"},
		{&arrow.Time64Type{Unit: arrow.Microsecond}, "10:00:00"}, {&arrow.Time64Type{Unit: arrow.Nanosecond}, "10:00:00"}},
	"span": {{&arrow.DurationType{Unit: arrow.Second}, "36000s"},
		{&arrow.DurationType{Unit: arrow.Nanosecond}, "36000000000000ns"}},
}

func TestDigestsByValueNotByFormat(t *testing.T) {
	seen := map[microdata.Digest]string{}
	for class, values := range classes {
		var first microdata.Digest
		for i, v := range values {
			if !CanIdentify(v.dt) {
				t.Errorf("%s: CanIdentify denies %s", class, v.dt)
			}
			d := digestOf(t, arrayOf(t, v.dt, v.text))
			if i == 0 {
				first = d
				if other, twice := seen[d]; twice {
					t.Errorf("%s and %s share a digest", class, other)
				}
				seen[d] = class
			} else if d != first {
				t.Errorf("%s as %s has a different digest than as %s", class, v.dt, values[0].dt)
			}
		}
	}
}

// TestDigestsOfNobody: a record with only null or empty identifying values is identified by its
// place. One other value, at any position, gives it an identity.
func TestDigestsOfNobody(t *testing.T) {
	null, empty := arrayOf(t, arrow.PrimitiveTypes.Int64, "∅"), arrayOf(t, arrow.BinaryTypes.String, "")
	for _, tuple := range [][]arrow.Array{{null}, {empty}, {null, null}, {empty, null}, {null, empty, empty}} {
		if d := digestOf(t, tuple...); d != (microdata.Digest{}) {
			t.Errorf("%v has the digest %x", tuple, d)
		}
	}
	for _, v := range [][2]string{{"utf8", " "}, {"utf8", "\x00"}, {"int64", "0"}, {"bool", "false"}, {"float64", "NaN"}} {
		dt := map[string]arrow.DataType{"utf8": arrow.BinaryTypes.String, "int64": arrow.PrimitiveTypes.Int64,
			"bool": arrow.FixedWidthTypes.Boolean, "float64": arrow.PrimitiveTypes.Float64}[v[0]]
		some := arrayOf(t, dt, v[1])
		for _, tuple := range [][]arrow.Array{{some}, {some, null, null}, {null, some, null}, {empty, empty, some}} {
			if digestOf(t, tuple...) == (microdata.Digest{}) {
				t.Errorf("%s %q does not count in %v", v[0], v[1], tuple)
			}
		}
	}
}

// TestDigestsOfTuples: the division into values, their order and their number all change the
// digest.
func TestDigestsOfTuples(t *testing.T) {
	str := func(v string) arrow.Array { return arrayOf(t, arrow.BinaryTypes.String, v) }
	null := arrayOf(t, arrow.BinaryTypes.String, "∅")
	one := arrayOf(t, arrow.PrimitiveTypes.Int64, "1")
	seen := map[microdata.Digest]int{}
	for i, tuple := range [][]arrow.Array{
		{str("ab"), str("c")}, {str("a"), str("bc")}, {str("abc"), str("")}, {str(""), str("abc")}, {str("abc")},
		{str("c"), str("ab")}, {str("ab"), null}, {null, str("ab")}, {str("ab")}, {null}, {null, one}, {str(""), one},
		{one, null},
		{one, str("")}, {one}, {one, one}, {one, str("1")}, {str("1"), one}, {str("ab\x03\x00\x00\x00\x01c")},
		{str(strings.Repeat("x", 11))}, {str(strings.Repeat("x", 11) + "\x00")}, {str(strings.Repeat("x", 27))},
		{str(strings.Repeat("x", 1000))}, {str(strings.Repeat("x", 1001))},
	} {
		d := digestOf(t, tuple...)
		if j, twice := seen[d]; twice {
			t.Errorf("tuples %d and %d share a digest", i, j)
		}
		seen[d] = i
	}
	if a, b := testKey(1).Digests(nil, []*microdata.Column{{Array: one}}, 1), testKey(2).Digests(nil,
		[]*microdata.Column{{Array: one}}, 1); a[0] == b[0] {
		t.Error("two keys give the same digest")
	}
}

// TestDigestForms: a numeric column has the same digests in both forms, also as a slice of an
// array, with nulls, and at any place in the block.
func TestDigestForms(t *testing.T) {
	texts := []string{"7", "∅", "42", "0", "-3.25", "∅", "1e300", "12345.67"}
	whole := arrayOf(t, arrow.PrimitiveTypes.Float64, texts...)
	n := len(texts)
	var numbers microdata.Column
	v := numbers.Alloc(n, true)
	for i := range n {
		v.Values[i] = 0
		if whole.IsNull(i) {
			v.Valid.Clear(i)
		} else {
			v.Values[i] = whole.(*array.Float64).Value(i)
		}
	}
	key := testKey(1)
	want := key.Digests(nil, []*microdata.Column{{Array: whole}}, n)
	got := key.Digests(nil, []*microdata.Column{&numbers}, n)
	for i := range n {
		if got[i] != want[i] {
			t.Errorf("record %d: the forms differ", i)
		}
	}
	if want[1] != want[5] || want[0] == want[2] {
		t.Error("all nulls must have the same digest, and different numbers different ones")
	}
	part := array.NewSlice(whole, 1, 7)
	for i, d := range key.Digests(nil, []*microdata.Column{{Array: part}}, 6) {
		if d != want[i+1] {
			t.Errorf("record %d of the slice has a different digest", i)
		}
	}
	strs := arrayOf(t, arrow.BinaryTypes.String, "a", "b", "∅", "a", "c", "b", "∅", "d")
	dict := arrayOf(t, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
		"a", "b", "∅", "a", "c", "b", "∅", "d")
	plain := key.Digests(nil, []*microdata.Column{{Array: strs}, &numbers}, n)
	coded := key.Digests(make([]microdata.Digest, 100), []*microdata.Column{{Array: dict}, {Array: whole}}, n)
	if len(coded) != n {
		t.Fatalf("%d digests, want %d", len(coded), n)
	}
	for i := range n {
		if plain[i] != coded[i] {
			t.Errorf("record %d: plain strings and a dictionary differ", i)
		}
	}
	for i, d := range key.Digests(nil, []*microdata.Column{{Array: array.NewSlice(dict, 2, 8)}}, 6) {
		if s := key.Digests(nil, []*microdata.Column{{Array: strs}}, n); d != s[i+2] {
			t.Errorf("record %d of the sliced dictionary has a different digest", i)
		}
	}
}

// TestDecimalRule compares the rule in number.go with its definition in exact rational arithmetic:
// integers exactly, fractions of at most 15 digits by the nearest float64, everything else as text.
func TestDecimalRule(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for range 20_000 {
		digits := 1 + r.IntN(19)
		coef := int64(r.Uint64() % uint64(math.Pow10(min(digits, 18))))
		if r.IntN(2) == 0 {
			coef -= coef % int64(math.Pow10(r.IntN(digits)))
		}
		if r.IntN(2) == 0 {
			coef = -coef
		}
		scale := int32(r.IntN(30)) - 3
		got := message(nil).decimal(coef, scale)
		if big := message(nil).bigDecimal(big.NewInt(coef), scale); string(big) != string(got) {
			t.Fatalf("%d·10^%d: the two ways of writing it differ: %x and %x", coef, -scale, got, big)
		}
		exact := new(big.Rat).SetInt64(coef)
		ten := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil))
		if scale >= 0 {
			exact.Quo(exact, ten)
		} else {
			exact.Mul(exact, ten)
		}
		nearest, isExact := exact.Float64()
		significant := len(strings.TrimRight(strings.TrimLeft(fmt.Sprint(coef), "-"), "0"))
		var want message
		if exact.IsInt() && isExact || !exact.IsInt() && significant <= 15 {
			want = message(nil).number(nearest)
		}
		switch {
		case want != nil && string(want) != string(got):
			t.Fatalf("%d·10^%d: encoded as %x, want the number %g", coef, -scale, got, nearest)
		case want == nil && got[0] != tagDecimal:
			t.Fatalf("%d·10^%d: encoded as %x, want a decimal", coef, -scale, got)
		case want == nil:
			back, ok := new(big.Rat).SetString(string(got[5:]))
			if !ok || back.Cmp(exact) != 0 {
				t.Fatalf("%d·10^%d: written as %q", coef, -scale, got[5:])
			}
		}
	}
	// Scales that do not occur in practice but that a file might declare.
	for _, c := range []struct {
		coef  int64
		scale int32
		want  string
	}{
		{12, 350, "12e-350"}, {1, math.MaxInt32, "1e-2147483647"}, {-5, -2_000_000_000, "-5e2000000000"}, {3, -400, "3e400"},
	} {
		if got := message(nil).decimal(c.coef, c.scale); got[0] != tagDecimal || string(got[5:]) != c.want {
			t.Errorf("%d with scale %d: %q, want %q", c.coef, c.scale, got, c.want)
		}
	}
}

// TestWideDecimals: values beyond an int64 in 128 and 256 bits.
func TestWideDecimals(t *testing.T) {
	for _, text := range []string{"170141183460469231731687303715884105727", "-170141183460469231731687303715884105727",
		"18446744073709551616", "-18446744073709551615", "9223372036854775808", "-9223372036854775809", "-1", "1"} {
		v, _ := new(big.Int).SetString(text, 10)
		want := string(message(nil).bigDecimal(v, 4))
		if got := message(nil).decimal128(decimal128.FromBigInt(v), 4); string(got) != want {
			t.Errorf("%s in 128 bits: %x, want %x", text, got, want)
		}
		if got := message(nil).decimal256(decimal256.FromBigInt(v), 4); string(got) != want {
			t.Errorf("%s in 256 bits: %x, want %x", text, got, want)
		}
	}
}

// TestMACAgainstDefinition recomputes a digest from the encoding in the specification.
func TestMACAgainstDefinition(t *testing.T) {
	encoding := []byte{
		0, 0, 0, 0, 0, 0, 0, 27, 0, 0, 0, 0, 0, 0, 0, 3,
		1, 0, 0, 0, 8, 0x40, 0x45, 0, 0, 0, 0, 0, 0, // 42
		3, 0, 0, 0, 4, 'J', 'o', 's', 'e',
		0, 0, 0, 0, 0, // null
		0, 0, 0, 0, 0, // padding to 48 bytes
	}
	key := testKey(1)
	e, err := aes.NewCipher(key.derive(labelDigest, 32))
	if err != nil {
		t.Fatal(err)
	}
	var want microdata.Digest
	for at := 0; at < len(encoding); at += 16 {
		for i := range want {
			want[i] ^= encoding[at+i]
		}
		e.Encrypt(want[:], want[:])
	}
	got := digestOf(t, arrayOf(t, arrow.PrimitiveTypes.Uint8, "42"), arrayOf(t, arrow.BinaryTypes.String, "Jose"),
		arrayOf(t, arrow.BinaryTypes.Binary, "∅"))
	if got != want {
		t.Errorf("digest is %x, want %x", got, want)
	}
}

func TestCannotIdentify(t *testing.T) {
	for _, dt := range []arrow.DataType{arrow.ListOf(arrow.PrimitiveTypes.Int8), arrow.StructOf(),
		arrow.FixedWidthTypes.MonthInterval,
		arrow.FixedWidthTypes.MonthDayNanoInterval,
		arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.ListOf(arrow.PrimitiveTypes.Int8)}} {
		if CanIdentify(dt) {
			t.Errorf("%s: CanIdentify returns true", dt)
		}
	}
	list := arrayOf(t, arrow.ListOf(arrow.PrimitiveTypes.Int8), "[1]")
	defer func() {
		if recover() == nil {
			t.Error("Digests of a list must panic")
		}
	}()
	digestOf(t, list)
}

// FuzzDigestEncoding: two tuples of strings and integers have the same encoding only if they are
// equal.
func FuzzDigestEncoding(f *testing.F) {
	f.Add("a", "b", int64(1), "a", "b", int64(1))
	f.Add("ab", "", int64(0), "a", "b", int64(0))
	f.Add("", "\x00", int64(math.MinInt64), "\x00", "", int64(math.MaxInt64))
	f.Add("x", "y", int64(1<<53), "x", "y", int64(1<<53+1))
	f.Fuzz(func(t *testing.T, a, b string, c int64, p, q string, r int64) {
		one := message(nil).begin(3).text(tagString, a).text(tagString, b).signed(c)
		two := message(nil).begin(3).text(tagString, p).text(tagString, q).signed(r)
		if same := a == p && b == q && c == r; same != (string(one) == string(two)) {
			t.Errorf("tuples equal: %t, encodings equal: %t", same, !same)
		}
	})
}
