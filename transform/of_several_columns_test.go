package transform

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/arraytest"
)

// The law of a mask of several columns for one column, and its unchanged values, equal those of the
// same mask on that column alone, for each column. A mask of another column changes neither.
func TestLawsOfOneColumnOfSeveral(t *testing.T) {
	columns := []testColumn{
		{Values: []float64{12, 15, 31, 47, 50}, Type: arrow.PrimitiveTypes.Int32},
		{Values: []float64{2, 4, 5.5, 7.25, 90}, Type: arrow.PrimitiveTypes.Float64, Decimals: 2},
		{Values: []float64{100, 300, 900, 1100, 1300}, Type: arrow.PrimitiveTypes.Float64, Decimals: -1},
	}
	setup := testSetup(t, columns...)
	kinds := map[string]func(columns []string) []Spec{
		"noise": func(c []string) []Spec { return []Spec{mask(&Noise{Columns: c, SD: amount(3)})} },
		"redraw": func(c []string) []Spec {
			return []Spec{mask(&Noise{Columns: c, SD: amount(3)}), mask(&Truncate{Columns: c, Lower: ptr(3.0), Mode: "redraw"})}
		},
		"clip":  func(c []string) []Spec { return []Spec{mask(&Truncate{Columns: c, Upper: ptr(40.0)})} },
		"round": func(c []string) []Spec { return []Spec{mask(&Round{Columns: c, Base: ptr(5.0)})} },
	}
	two := map[string]func(columns []string) []Spec{ // of columns with decimals
		"bias": func(c []string) []Spec { return []Spec{mask(&Bias{Columns: c, Phi: ptr(0.3)})} },
		"pram": func(c []string) []Spec {
			return []Spec{
				mask(&PRAM{Columns: c, Keep: ptr(0.7), Categories: []string{"2", "12", "4", "15", "31", "47"}, Other: ptr("2")})}
		},
	}
	describe := func(masks []Spec, column string, values []float64) string {
		c := chain(t, setup, masks...)
		for i := range masks {
			c.TouchedBy[i].Store(1)
		}
		law, ok := c.Law(column)
		keeping := c.Keeping(column, 30, true)
		s := fmt.Sprint(ok, keeping.Changes)
		for _, x := range values {
			if ok {
				shift, square := law.Moments(x)
				s += fmt.Sprintf(" %v %v", shift, square)
			}
			s += fmt.Sprintf(" stays %v", keeping.Share(x))
		}
		return s
	}
	compare := func(kind string, of func([]string) []Spec, several ...string) {
		for i, name := range several {
			values := columns[strings.Index("abc", name)].Values
			want := describe(of([]string{name}), name, values)
			if got := describe(of(several), name, values); got != want {
				t.Errorf("%s of %v, of %s: %s, want %s", kind, several, name, got, want)
			}
			// Next to a mask of another column, which comes first or last.
			other := Spec{Name: "other", Params: of([]string{several[(i+1)%len(several)]})[0].Params}
			for _, masks := range [][]Spec{append([]Spec{other}, of([]string{name})...), append(of([]string{name}), other)} {
				if kind == "pram" || kind == "redraw" {
					continue // a mask of the same kind has another label, and a redraw another position
				}
				if got := strings.Replace(describe(masks, name, values), "true true", "true false", 1); got != strings.Replace(want,
					"true true", "true false", 1) {
					t.Errorf("%s of %s with a mask of another column: %s, want %s", kind, name, got, want)
				}
			}
		}
	}
	for kind, of := range kinds {
		compare(kind, of, "a", "b", "c")
		compare(kind, of, "c", "b", "a")
	}
	for kind, of := range two {
		compare(kind, of, "a", "b")
		compare(kind, of, "b", "a")
	}
}

// Admit rejects the same records as Apply, for the same reasons, and omits the same records, with
// and without a sample. It masks nothing.
func TestAdmitIsWhatApplyRejects(t *testing.T) {
	n := 300
	columns := []testColumn{floats(2, incomes(n, 5)...), floats(0, make([]float64, n)...)}
	for i := range columns[1].Values {
		columns[1].Values[i] = float64(i % 4)
	}
	columns[0].Values[3], columns[0].Values[77], columns[0].Values[299] = math.NaN(), math.NaN(), math.Inf(-1)
	columns[0].Null = []int{77}
	noise := mask(&Noise{Columns: []string{"a"}, SD: amount(40)})
	sample := mask(&Sample{By: "b", Rates: map[string]float64{"0": 0.5, "1": 1, "2": 0.1}})
	for name, masks := range map[string][]Spec{"no sample": {noise}, "a sample": {sample, noise}} {
		for _, identity := range [][]int{nil, {1}} {
			setup := testSetup(t, columns...)
			setup.Columns[0].SD, setup.Columns[0].Mean = 100, 100
			setup.Identity = identity
			applied, admitted := block(0, n, columns...), block(0, n, columns...)
			apply(t, chain(t, setup, masks...), applied)
			if err := chain(t, setup, masks...).Admit(admitted); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(admitted.Rejects, applied.Rejects) || len(applied.Rejects) < 2 ||
				admitted.LeftOut() != applied.LeftOut() {
				t.Errorf("%s: %v rejected and %d left out, want %v and %d", name, admitted.Rejects, admitted.LeftOut(),
					applied.Rejects, applied.LeftOut())
			}
			if (applied.LeftOut() > 0) != (name == "a sample") {
				t.Errorf("%s: %d left out", name, applied.LeftOut())
			}
			for i := range n {
				if admitted.Rejected(i) != applied.Rejected(i) {
					t.Errorf("%s: record %d is admitted: %v", name, i, !admitted.Rejected(i))
				}
			}
			if masked := admitted.Columns[0].Out(); masked.Values[5] != columns[0].Values[5] {
				t.Errorf("%s: Admit masks", name)
			}
		}
	}
	// A block with more or fewer numbers in a column than records is an error, not a release.
	for _, name := range []string{"no sample", "a sample"} {
		masks := map[string][]Spec{"no sample": {noise}, "a sample": {sample, noise}}[name]
		for _, of := range []int{n - 1, n - 2} {
			b := block(0, n, columns...)
			b.Columns[0].Original.Values = b.Columns[0].Original.Values[:of]
			wants(t, name, chain(t, testSetup(t, columns...), masks...).Admit(b),
				fmt.Sprintf("column a: block of %d records has %d numbers", n, of))
		}
	}
}

// An extension type is compared, exchanged and set missing like its storage type.
func TestSwapsAndKeysOfAnExtension(t *testing.T) {
	own := &labelled{arrow.ExtensionBase{Storage: arrow.BinaryTypes.String}}
	arrays := func(typ arrow.DataType) *microdata.Block {
		var b microdata.Block
		b.Reset(0, 0, 60, 3)
		for k := range 3 {
			of := array.NewStringBuilder(memory.DefaultAllocator)
			for i := range 60 {
				switch {
				case i%13 == k:
					of.AppendNull()
				case k == 0:
					of.Append(fmt.Sprint("own ", i))
				default:
					of.Append(fmt.Sprint(i * k % 3))
				}
			}
			a := arrow.Array(of.NewArray())
			if typ != arrow.BinaryTypes.String {
				a = array.NewExtensionArrayWithStorage(own, a)
			}
			b.Columns[k].Array = a
		}
		return &b
	}
	released := func(typ arrow.DataType, m Params) (out [][]string) {
		setup := Setup{Key: testKey(t, 3), Window: 60}
		for i, name := range names(3) {
			setup.Columns = append(setup.Columns,
				ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: typ, Nullable: true}, Decimals: -1})
		}
		c := chain(t, setup, mask(m))
		if c.NeedsSurvey() {
			if err := c.Survey(arrays(typ)); err != nil {
				t.Fatal(err)
			}
			if err := c.EndSurvey(); err != nil {
				t.Fatal(err)
			}
		}
		b := apply(t, c, arrays(typ))
		for k := range 3 {
			a := b.Columns[k].OutArray()
			if a.DataType().ID() != typ.ID() {
				t.Errorf("%T: column %d became %v", m, k, a.DataType())
			}
			if e, ok := a.(array.ExtensionArray); ok {
				a = e.Storage()
			}
			out = append(out, arraytest.Texts(a))
		}
		return out
	}
	for name, m := range map[string]Params{
		"within windows": &Swap{Keys: []string{"b"}, Attribute: "c", Columns: []string{"a"}, Rate: ptr(0.9),
			Policy: "random"},
		"of all records": &Swap{Keys: []string{"b"}, Attribute: "c", Columns: []string{"a"}, Rate: ptr(0.9), Policy: "random",
			Scope: "dataset"},
		"suppressed": &Suppress{Keys: []string{"b", "c"}, K: ptr(18)},
	} {
		got, want := released(own, m), released(arrow.BinaryTypes.String, m)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if before := released(own,
			&Swap{Keys: []string{"b"}, Attribute: "c", Columns: []string{"a"}, Rate: ptr(0.0),
				Policy: "random"}); fmt.Sprint(before) == fmt.Sprint(got) {
			t.Errorf("%s: nothing is masked", name)
		}
	}
}
