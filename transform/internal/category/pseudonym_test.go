package category

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

func person(form string, length ...int) *Pseudonym {
	m := &Pseudonym{Columns: []string{"a"}, Scope: "person", Form: form}
	if length != nil {
		m.Length = &length[0]
	}
	return m
}

func pseudonymsOf(t *testing.T, m *Pseudonym, of arrow.DataType, json string) []string {
	t.Helper()
	got, _ := categories(t, []core.Spec{mask(m)}, of, json)
	return got
}

// One identifier has one pseudonym whatever the type that a file holds it in; a text with leading zeros is another one
// than the number.
func TestPseudonymIsThatOfTheValue(t *testing.T) {
	const json, quoted = `[7123456, null, 40]`, `["7123456", null, "40"]`
	for _, m := range []*Pseudonym{person("hex"), person("", 16), person("uuid"), person("digits"), person("digits", 25),
		person("like")} {
		want := pseudonymsOf(t, m, text64, quoted)
		if want[1] != "null" || want[0] == want[2] || want[0] == "7123456" {
			t.Fatalf("%+v: %v", m, want)
		}
		for _, of := range []arrow.DataType{
			arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
			arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32,
			&arrow.Decimal128Type{Precision: 12, Scale: 2}, &arrow.Decimal64Type{Precision: 12}, arrow.BinaryTypes.LargeString,
			arrow.BinaryTypes.StringView, coded64,
			&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64},
		} {
			f := microdata.Field{Name: "a", Type: of}
			if m.Unfit(f) != "" {
				if m.Form != "like" || isInteger(of) || core.Textual(of) {
					t.Errorf("%+v takes no %s", m, of)
				}
				continue
			}
			values := json
			if d, ok := of.(*arrow.DictionaryType); ok && core.Textual(d.ValueType) || core.Textual(of) {
				values = quoted
			} else if core.IsDecimal(of) {
				values = `["7123456", null, "40"]`
			}
			got := pseudonymsOf(t, m, of, values)
			if !slices.Equal(got, want) {
				t.Errorf("%+v of %s: %v, want %v", m, of, got, want)
			}
			after, retyped := m.ReleasedField(f)
			if integer := after.Type.ID() != arrow.STRING; integer != !retyped && of.ID() != arrow.STRING || integer &&
				(!isInteger(of) || m.Form == "hex" || m.Form == "uuid" || *orNil(m.Length, 0) > 18) {
				t.Errorf("%+v makes %s of %s", m, after.Type, of)
			}
		}
		if got := pseudonymsOf(t, m, text64, `["07123456", "7123456 ", "7123456"]`); got[0] == got[2] || got[1] == got[2] ||
			got[0] == got[1] {
			t.Errorf("%+v: leading zeros or blanks are lost: %v", m, got)
		}
	}
}

func orNil[T any](p *T, none T) *T {
	if p == nil {
		return &none
	}
	return p
}

// The forms.
func TestFormsOfPseudonyms(t *testing.T) {
	for form, want := range map[string]string{
		"hex": "^[0-9a-f]{32}$", "hex 16": "^[0-9a-f]{16}$",
		"uuid": "^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", "digits": "^[1-9][0-9]{17}$",
		"digits 30": "^[1-9][0-9]{29}$",
	} {
		name, length, given := strings.Cut(form, " ")
		m := person(name)
		if given {
			n, _ := strconv.Atoi(length)
			m.Length = &n
		}
		for _, got := range pseudonymsOf(t, m, text64, `["a", "bc", "Müller", "-7"]`) {
			if !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("%s: %s", form, got)
			}
		}
	}
	for text, want := range map[string]string{
		"AB-123456": "^[A-Z]{2}-[0-9]{6}$", "x9y8z7w6": "^[a-z][0-9][a-z][0-9][a-z][0-9][a-z][0-9]$",
		"7123456": "^[1-9][0-9]{6}$", "-7123456": "^-[1-9][0-9]{6}$",
		"00000071": "^0[0-9]{7}$", "-012345": "rejected", "-01234567": "^-0[0-9]{7}$", "12": "^(0|[1-9][0-9]{0,5})$",
		"012": "rejected", "abcd": "rejected", "Mülleranna": "rejected", "12345678901234567890123": "^[1-9][0-9]{22}$",
		"٣٤٥٦٧٨٩abcde": "rejected", "1234-5678/90 x": "^[0-9]{4}-[0-9]{4}/[0-9]{2} [a-z]$", "": "^$",
	} {
		got := pseudonymsOf(t, person("like"), text64, `["`+text+`"]`)[0]
		if !regexp.MustCompile(want).MatchString(got) || got == text && text != "" {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
	if got := pseudonymsOf(t, person("hex"), text64, `["", null]`); got[0] != "" || got[1] != "null" {
		t.Errorf("an empty identifier, and none: %q", got)
	}
}

// Form like is a permutation of each class and each shape, which keeps to the types that hold the value: of 20,000
// values below a million, a function that is no permutation gives 200 pairs.
func TestLikeIsAPermutation(t *testing.T) {
	of := person("like").Under(testKey(t, 5))
	seen := map[string]bool{}
	put := func(text, y string) {
		t.Helper()
		if seen[y] {
			t.Fatalf("%s: two have %s", text, y)
		}
		seen[y] = true
	}
	for i := range 20_000 {
		for _, text := range []string{strconv.Itoa(i), strconv.Itoa(-i - 1), fmt.Sprintf("0%06d", i),
			fmt.Sprintf("A%06d", i)} {
			y, reason := of.Like(text)
			if reason != "" {
				t.Fatal(text, reason)
			}
			put(text, y)
		}
	}
	for _, ends := range [][2]int64{
		{0, 999_999}, {1_000_000, 9_999_999}, {1_000_000_000, math.MaxInt32}, {math.MaxInt32 + 1, math.MaxUint32},
		{math.MaxUint32 + 1, 9_999_999_999},
		{1_000_000_000_000_000, 1<<53 - 1}, {1 << 53, 9_999_999_999_999_999}, {1_000_000_000_000_000_000, math.MaxInt64},
		{-1_000_000, -1}, {-10_000_000, -1_000_001}, {math.MinInt32, -1_000_000_001},
		{math.MinInt64, -1_000_000_000_000_000_001},
	} {
		for _, x := range []int64{ends[0], ends[1], ends[0]/2 + ends[1]/2} {
			y, _ := of.Like(strconv.FormatInt(x, 10))
			got, err := strconv.ParseInt(y, 10, 64)
			if err != nil || got < ends[0] || got > ends[1] {
				t.Errorf("%d becomes %s, which is not from %d to %d", x, y, ends[0], ends[1])
			}
		}
	}
	for _, text := range []string{"9223372036854775808", "18446744073709551615"} {
		if y, _ := of.Like(text); len(y) < 19 {
			t.Errorf("%s becomes %s", text, y)
		} else if _, err := strconv.ParseUint(y, 10, 64); err != nil {
			t.Errorf("%s becomes %s", text, y)
		}
	}
	ends := pseudonymsOf(t, person("like"), arrow.PrimitiveTypes.Int32,
		fmt.Sprintf("[%d, %d, 5, -5]", math.MinInt32, math.MaxInt32))
	if slices.Contains(ends, "rejected") {
		t.Errorf("at the ends of a type: %v", ends)
	}
}

// Another key, scope, form or length gives unrelated pseudonyms; another column does not.
func TestWhatPseudonymsDependOn(t *testing.T) {
	seen := map[string]string{}
	for name, m := range map[string]*Pseudonym{
		"hex": person("hex"), "shorter": person("hex", 31), "uuid": person("uuid"),
		"other scope": {Columns: []string{"a"}, Scope: "persons"}, "like": person("like"),
		"like, other scope": {Columns: []string{"a"}, Scope: "x", Form: "like"},
		"digits":            person("digits"), "more digits": person("digits", 19),
		"digits, other scope": {Columns: []string{"a"}, Scope: "x", Form: "digits"},
	} {
		got := strings.ReplaceAll(pseudonymsOf(t, m, text64, `["71234567"]`)[0], "-", "")[:8]
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s begin alike", name, other)
		}
		seen[got] = name
	}
	for _, form := range []string{"hex", "like"} {
		a, b := person(form).Under(testKey(t, 1)), person(form).Under(testKey(t, 2))
		x, _ := a.Pseudonym("71234567")
		y, _ := b.Pseudonym("71234567")
		if x == y {
			t.Errorf("%s: two keys give the same", form)
		}
	}
	two := &Pseudonym{Columns: []string{"a", "b"}, Scope: "person"}
	c,
		err := core.NewChain([]core.Spec{mask(two)},
		core.Setup{
			Key: testKey(t, 5), Columns: []core.ColumnInfo{{Name: "a", Index: 0, Field: microdata.Field{Name: "a", Type: text64}},
				{Name: "b", Index: 1, Field: microdata.Field{Name: "b", Type: arrow.PrimitiveTypes.Int64}}}})
	if err != nil {
		t.Fatal(err)
	}
	b := new(microdata.Block)
	b.Reset(0, 0, 1, 2)
	b.Columns[0].Array, _, _ = array.FromJSON(memory.DefaultAllocator, text64, strings.NewReader(`["77"]`))
	b.Columns[1].Array, _,
		_ = array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64, strings.NewReader(`[77]`))
	apply(t, c, b)
	if x, y := b.Columns[0].OutArray().ValueStr(0), b.Columns[1].OutArray().ValueStr(0); x != y ||
		x != pseudonymsOf(t, person("hex"), text64, `["77"]`)[0] {
		t.Errorf("two columns of one scope: %s and %s", x, y)
	}
	if got := c.Touched()[0].Records; got != 1 {
		t.Errorf("%d records are changed", got)
	}
}

// What has no pseudonym goes to quarantine, with a reason that holds nothing of it.
func TestWhatHasNoPseudonym(t *testing.T) {
	for _, c := range []struct {
		m      *Pseudonym
		of     arrow.DataType
		json   string
		reason string
	}{
		{person("like"), text64, `["Q7"]`, tooShort}, {person("like"), text64, `["Åse0123456"]`, foreign},
		{person("hex"), arrow.PrimitiveTypes.Float64, `[9007199254740993]`,
			"is beyond the whole numbers that its type tells apart"},
		{person("hex"), arrow.PrimitiveTypes.Float32, `[16777217]`, "is beyond the whole numbers that its type tells apart"},
	} {
		got, b := categories(t, []core.Spec{mask(c.m)}, c.of, c.json)
		if got[0] != "rejected" || b.Rejects[0].Reason != c.reason {
			t.Errorf("%s: %v, %+v", c.json, got, b.Rejects)
		}
	}
	builder := array.NewFloat64Builder(memory.DefaultAllocator)
	builder.Append(math.NaN())
	text, err := core.TextsOf(builder.NewArray())
	if _, reason := text(0); err != nil || reason != "is not a finite number" {
		t.Errorf("NaN: %q, %v", reason, err)
	}
}

func TestColumnsWithoutPseudonyms(t *testing.T) {
	for _, c := range []struct {
		m    *Pseudonym
		of   arrow.DataType
		want string
	}{
		{person("like"), arrow.PrimitiveTypes.Int16, "must be text or an integer of 32 or 64 bits"},
		{person("like"), arrow.PrimitiveTypes.Float64, "must be text or an integer"},
		{person("like"), &arrow.Decimal128Type{Precision: 9}, "must be text or an integer"},
		{person("hex"), arrow.FixedWidthTypes.Date32, "must be text or a number"},
		{person("hex"), arrow.FixedWidthTypes.Boolean, "must be text or a number"},
		{person("hex"), arrow.BinaryTypes.Binary, "must be text or a number"},
	} {
		_,
			err := core.NewChain([]core.Spec{mask(c.m)},
			core.Setup{Key: testKey(t, 5), Columns: []core.ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: c.of}}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v", c.m.Form, c.of, err)
		}
	}
	for _, c := range []struct {
		m    *Pseudonym
		want string
	}{
		{&Pseudonym{Columns: []string{"a"}}, "scope: must name"}, {person("hex", 15), "between 16 and 32, got 15"},
		{person("hex", 33), "between 16 and 32"}, {person("digits", 11), "between 12 and 30"},
		{person("digits", 31), "between 12 and 30"}, {person("uuid", 20), "must be left out"},
		{person("like", 20), "must be left out"}, {person("base64"), "form"},
	} {
		if ps := c.m.Check(); len(ps) != 1 || !strings.Contains(ps[0].Path+": "+ps[0].Text, c.want) {
			t.Errorf("%+v: %v", c.m, ps)
		}
	}
	for _, masks := range [][]core.Spec{{mask(person("hex")), mask(&record.Noise{Columns: []string{"a"}, SD: amount(1)})},
		{mask(&Recode{Columns: []string{"a"}, Map: map[string]string{"x": "y"}}), mask(person("hex"))}} {
		if ps := core.CheckSpecs(masks); len(ps) != 1 || !strings.Contains(ps[0].Text, "must not be changed by another mask") {
			t.Errorf("%v: %v", masks, ps)
		}
	}
}

// In replicates a column of pseudonyms has the codes of its originals.
func TestPseudonymsInReplicates(t *testing.T) {
	c,
		err := core.NewChain([]core.Spec{mask(person("hex"))},
		core.Setup{Key: testKey(t, 5), Columns: []core.ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: text64}}}})
	if err != nil {
		t.Fatal(err)
	}
	b := new(microdata.Block)
	b.Reset(0, 0, 2, 1)
	copy(b.Columns[0].Alloc(2, false).Values, []float64{4, 5})
	if err := c.Replicate(1).Apply(b); err != nil || !slices.Equal(b.Columns[0].Out().Values, []float64{4, 5}) {
		t.Errorf("%v, %v", b.Columns[0].Out().Values, err)
	}
}
