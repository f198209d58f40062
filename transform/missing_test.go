package transform

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/arraytest"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// codedBlock returns a block of numbers, every seventh of which is the declared code −9, and their setup.
func codedBlock(t *testing.T, n int, m *microdata.Missing) (Setup, *microdata.Block) {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 9))
	values := make([]float64, n)
	for i := range values {
		if values[i] = float64(100 + r.IntN(50)); i%7 == 3 {
			values[i] = -9
		}
	}
	column := floats(0, values...)
	column.Null = []int{5}
	setup := testSetup(t, column)
	setup.Columns[0].Field.Missing = m
	b := block(0, n, column)
	layout := microdata.Layout{Schema: &microdata.Schema{Fields: []microdata.Field{setup.Columns[0].Field}},
		Read: []microdata.Want{{Field: 0}}}
	layout.ClearMissing(b)
	return setup, b
}

// Restore puts the codes into what leaves, and takes them out again.
func TestRestore(t *testing.T) {
	for _, null := range []bool{false, true} {
		for _, masked := range []bool{false, true} {
			setup, b := codedBlock(t, 70, &microdata.Missing{Codes: []string{"-9"}, Null: null})
			if masked {
				sd := Amount{Value: 3}
				apply(t, chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: &sd})), b)
			}
			before := slices.Clone(b.Columns[0].Out().Values)
			undo, err := Restore(b)
			if err != nil {
				t.Fatal(err)
			}
			out := b.Columns[0].Out()
			for i := range b.N {
				coded := i%7 == 3
				if want := !null && coded; (out.Valid.Has(i) && out.Values[i] == -9) != want ||
					out.Valid.Has(i) != (want || !coded && i != 5) {
					t.Errorf("null %v, masked %v: record %d is released as %v, %v", null, masked, i, out.Valid.Has(i), out.Values[i])
				}
			}
			undo()
			out = b.Columns[0].Out()
			if !slices.Equal(out.Values, before) || out.Valid.Has(3) || out.Valid.Has(5) || !out.Valid.Has(4) {
				t.Errorf("null %v, masked %v: the codes stay", null, masked)
			}
		}
	}
	// Without other nulls the column has none while the codes are there.
	values := floats(0, 1, -9, 2)
	b := block(0, 3, values)
	f := microdata.Field{Type: arrow.PrimitiveTypes.Float64, Missing: &microdata.Missing{Codes: []string{"-9"}}}
	(&microdata.Layout{Schema: &microdata.Schema{Fields: []microdata.Field{f}}, Read: []microdata.Want{{}}}).ClearMissing(
		b)
	undo, _ := Restore(b)
	if b.Columns[0].Out().Valid != nil {
		t.Error("a column without nulls has a bitmap")
	}
	if undo(); b.Columns[0].Out().Valid.Has(1) {
		t.Error("the code is not taken out")
	}
}

// A record whose value a mask makes a kept code is rejected, one whose code is kept is not.
func TestCodesAreRejected(t *testing.T) {
	for _, null := range []bool{false, true} {
		setup,
			b := codedBlock(t, 700,
			&microdata.Missing{Codes: []string{"-9"}, Ranges: []microdata.MissingRange{{From: 149, To: 152}}, Null: null})
		sd := Amount{Value: 10}
		apply(t, chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: &sd})), b)
		rejected, out := 0, b.Columns[0].Out()
		for i, x := range out.Values {
			is := out.Valid.Has(i) && x >= 149 && x <= 152
			if b.Rejected(i) != (is && !null) {
				t.Fatalf("null %v: record %d with %v is rejected: %v", null, i, x, b.Rejected(i))
			}
			if is {
				rejected++
			}
		}
		if rejected == 0 {
			t.Error("no value became a code: the test shows nothing")
		}
		for _, r := range b.Rejects {
			if r.Reason != core.BecomesCode || r.Column != "a" {
				t.Errorf("rejected for %+v", r)
			}
		}
	}
}

// Codes in arrays leave in every type, and as text where a mask makes texts of numbers; those that a suppression has
// chosen do not leave.
func TestRestoreArrays(t *testing.T) {
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	texts.AppendValues([]string{"x", "refused", "y", "refused"}, nil)
	ints := array.NewInt64Builder(memory.DefaultAllocator)
	ints.AppendValues([]int64{1, 99, 2, 99}, nil)
	labels := array.NewStringBuilder(memory.DefaultAllocator)
	labels.AppendValues([]string{"low", "", "high", ""}, []bool{true, false, true, false})
	released := labels.NewArray()
	for name, tt := range map[string]struct {
		a, released arrow.Array
		code        string
		want        []string
	}{
		"texts":    {texts.NewArray(), nil, "refused", []string{"x", "refused", "y", "refused"}},
		"integers": {ints.NewArray(), nil, "99", []string{"1", "99", "2", "99"}},
		"labels":   {nil, released, "99", []string{"low", "99", "high", "99"}},
	} {
		if tt.a == nil {
			ints.AppendValues([]int64{1, 99, 2, 99}, nil)
			tt.a = ints.NewArray()
		}
		for _, drop := range []bool{false, true} {
			var b microdata.Block
			b.Reset(0, 0, 4, 1)
			b.Columns[0].Array = tt.a
			f := microdata.Field{Type: tt.a.DataType(), Missing: &microdata.Missing{Codes: []string{tt.code}}}
			(&microdata.Layout{Schema: &microdata.Schema{Fields: []microdata.Field{f}},
				Read: []microdata.Want{{As: microdata.Array}}}).ClearMissing(&b)
			b.Columns[0].ReleasedArray = tt.released
			if drop {
				b.Columns[0].Coded.Drop(3)
			}
			undo, err := Restore(&b)
			if err != nil {
				t.Fatal(err)
			}
			out := b.Columns[0].OutArray()
			for i, want := range tt.want {
				if gone := drop && i == 3; out.IsNull(i) != gone || !gone && out.ValueStr(i) != want {
					t.Errorf("%s: record %d leaves as %s, want %s", name, i, out.ValueStr(i), want)
				}
			}
			if undo(); !b.Columns[0].OutArray().IsNull(1) || b.Columns[0].ReleasedArray != tt.released {
				t.Errorf("%s: the codes stay", name)
			}
		}
	}
}

// Records with a code in an exchanged column have no partner, and are none.
func TestCodesAreNotExchanged(t *testing.T) {
	const n = 400
	r := rand.New(rand.NewPCG(2, 2))
	key, attribute, x := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		key[i], attribute[i], x[i] = float64(i%2), float64(i/2%3), float64(1000+r.IntN(100000))
		if i%5 == 0 {
			x[i] = -9
		}
	}
	setup := testSetup(t, floats(0, key...), floats(0, attribute...), floats(0, x...))
	setup.Columns[2].Field.Missing = &microdata.Missing{Codes: []string{"-9"}}
	b := block(0, n, floats(0, key...), floats(0, attribute...), floats(0, x...))
	layout := microdata.Layout{Schema: &microdata.Schema{}}
	for i, c := range setup.Columns {
		layout.Schema.Fields, layout.Read = append(layout.Schema.Fields, c.Field),
			append(layout.Read, microdata.Want{Field: i})
	}
	layout.ClearMissing(b)
	rate := 1.0
	apply(t,
		chain(t, setup,
			mask(&Swap{Columns: []string{"c"}, Keys: []string{"a"}, Attribute: "b", Rate: &rate, Policy: "random",
				Scope: "window"})), b)
	moved, out := 0, b.Columns[2].Out()
	for i := range x {
		if coded := i%5 == 0; out.Valid.Has(i) == coded {
			t.Fatalf("record %d: a code has moved", i)
		} else if !coded && out.Values[i] != x[i] {
			moved++
		}
	}
	if moved < n/2 {
		t.Errorf("only %d values have moved", moved)
	}
}

// A code that a mask has set missing does not leave, in a column of numbers that a mask has changed and in one that
// none has; undone, nothing of the codes is below the nulls.
func TestDroppedCodesDoNotLeave(t *testing.T) {
	for _, masked := range []bool{false, true} {
		setup, b := codedBlock(t, 70, &microdata.Missing{Codes: []string{"-9"}})
		if masked {
			apply(t, chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: amount(3)})), b)
		}
		for _, row := range []int{3, 66} { // the first code and the last
			b.Columns[0].Coded.Drop(row)
		}
		undo, err := Restore(b)
		if err != nil {
			t.Fatal(err)
		}
		out := b.Columns[0].Out()
		for i := 3; i < 70; i += 7 {
			if left := out.Valid.Has(i); left != (i != 3 && i != 66) || left && out.Values[i] != -9 || !left &&
				out.Values[i] != 0 {
				t.Errorf("masked %v: record %d leaves with %v, %v", masked, i, left, out.Values[i])
			}
		}
		if !masked && b.Columns[0].Released.Values != nil {
			t.Error("a column that no mask has changed is another")
		}
		undo()
		for i := 3; i < 70; i += 7 {
			if out := b.Columns[0].Out(); out.Valid.Has(i) || out.Values[i] != 0 {
				t.Errorf("masked %v: undone, record %d has %v, %v", masked, i, out.Valid.Has(i), out.Values[i])
			}
		}
	}
}

// If the codes of a column cannot be put back, those of the columns before it are taken out again, and nothing has
// changed.
func TestCodesThatCannotBePutBack(t *testing.T) {
	texts := func(values ...string) arrow.Array {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(values, nil)
		return b.NewArray()
	}
	lists := array.NewListBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String) // no code fits in
	for range 2 {
		lists.Append(true)
	}
	var b microdata.Block
	b.Reset(0, 0, 2, 2)
	f := microdata.Field{Type: arrow.BinaryTypes.String, Missing: &microdata.Missing{Codes: []string{"refused"}}}
	b.Columns[0].Array, b.Columns[1].Array = texts("x", "refused"), texts("refused", "y")
	(&microdata.Layout{Schema: &microdata.Schema{Fields: []microdata.Field{f, f}},
		Read: []microdata.Want{{Field: 0, As: microdata.Array}, {Field: 1, As: microdata.Array}}}).ClearMissing(&b)
	released, unfit := texts("z", ""), lists.NewArray()
	b.Columns[0].ReleasedArray, b.Columns[1].ReleasedArray = released, unfit
	if undo, err := Restore(&b); err == nil || undo != nil {
		t.Fatalf("codes are put into lists (error %v)", err)
	}
	if b.Columns[0].ReleasedArray != released || b.Columns[1].ReleasedArray != unfit {
		t.Error("after the error what leaves has changed")
	}
}

// A null is no code, whatever lies below it, and a column that no mask has changed has no value that has become one.
func TestNullsAreNoCodes(t *testing.T) {
	setup, b := codedBlock(t, 70, &microdata.Missing{Codes: []string{"-9", "0"}})
	apply(t, chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: amount(0.001)})), b)
	if len(b.Rejects) > 0 {
		t.Errorf("rejected: %+v", b.Rejects)
	}
	for _, c := range []struct {
		codes    []string
		null     bool
		rejected int
	}{{[]string{"gone"}, false, 0}, {[]string{"B"}, false, 1}, {[]string{"B"}, true, 0}, {[]string{"", "B"}, false, 1}} {
		f := microdata.Field{Name: "a", Type: text64, Nullable: true,
			Missing: &microdata.Missing{Codes: c.codes, Null: c.null}}
		made := chain(t, Setup{Key: testKey(t, 1), Columns: []ColumnInfo{{Name: "a", Field: f}}},
			mask(&Recode{Columns: []string{"a"}, Map: map[string]string{"x": "A", "y": "B"}}))
		b := new(microdata.Block)
		b.Reset(0, 0, 3, 1)
		b.Columns[0].Array = arraytest.FromJSON(t, text64, `["x", null, "y"]`)
		apply(t, made, b)
		if len(b.Rejects) != c.rejected || c.rejected > 0 && b.Rejects[0].Row != 2 {
			t.Errorf("%+v: rejected %+v", c, b.Rejects)
		}
	}
}
