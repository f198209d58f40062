package coding

import (
	"math"
	"slices"
	"testing"
)

// A grouping that merges another has the codes that one grouping of all records has, for keys that both have seen and
// for those of one alone; it says what the other's codes are here.
func TestMergedGroupings(t *testing.T) {
	columns := []int{0, 1, 2}
	const n, first = 700, 300
	b := randomBlock(n, 3, 9, 40)
	for _, i := range []int{0, 299, 300, 699} {
		b.Columns[0].Original.Valid.Clear(i)
	}
	var whole, one, other Grouping
	find := func(g *Grouping, from, n int) []int32 {
		t.Helper()
		if err := g.Find(b, columns, from, n); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(g.Combo)
	}
	find(&whole, 0, first)
	want, wanted := find(&whole, first, n-first), slices.Clone(whole.Group)
	find(&one, 0, first)
	got, grouped := find(&other, first, n-first), slices.Clone(other.Group)
	var p Packer
	other.Pack(&p)
	u := Unpacker{Text: p.Text}
	codes := one.Merge(&u, len(columns))
	if u.Wrong || len(u.Text) > 0 || len(codes.Combo) != int(slices.Max(got))+1 || len(one.InAll()) != len(whole.InAll()) {
		t.Fatalf("wrong %v, %d bytes left, %d codes, %d in all", u.Wrong, len(u.Text), len(codes.Combo), len(one.InAll()))
	}
	for i, k := range got {
		var p Packer
		p.Number(uint64(grouped[i]))
		u := Unpacker{Text: p.Text}
		if codes.Combo[k] != want[i] || int32(codes.Keys[k]) != grouped[i] || codes.GroupOf(&u, int(k)) != wanted[i] ||
			u.Wrong {
			t.Fatalf("record %d: combination %d, want %d", i, codes.Combo[k], want[i])
		}
	}
	for _, wrong := range []int{int(codes.Keys[0]) + 1, 1 << 20} {
		var p Packer
		p.Number(uint64(wrong))
		if u := (Unpacker{Text: p.Text}); codes.GroupOf(&u, 0) != -1 || !u.Wrong {
			t.Errorf("keys %d of combination 0 pass", wrong)
		}
	}
	// Cut off anywhere it is refused, and so is one of other columns; one that has seen nothing adds nothing.
	for cut := range len(p.Text) {
		var g Grouping
		if u := (Unpacker{Text: p.Text[:cut]}); len(g.Merge(&u, len(columns)).Combo) > 0 && !u.Wrong {
			t.Fatalf("%d of %d bytes are read", cut, len(p.Text))
		}
	}
	if u := (Unpacker{Text: p.Text}); new(Grouping).Merge(&u, 2).Combo != nil || !u.Wrong {
		t.Error("three columns are read as two")
	}
	p = Packer{}
	new(Grouping).Pack(&p)
	if u := (Unpacker{Text: p.Text}); len(one.Merge(&u, len(columns)).Combo) > 0 || u.Wrong {
		t.Error("nothing is something")
	}
}

// What was packed is read again; after the end, and after a number that cannot be, all is 0 and wrong.
func TestPacking(t *testing.T) {
	var p Packer
	p.Number(300)
	p.Word(math.MaxUint64)
	p.words([]uint64{1, 2})
	PackBytes(&p, "abc")
	p.Number(1)
	p.Number(0)
	for _, q := range []float64{0, 1, 0.25} {
		p.Word(math.Float64bits(q))
	}
	u := Unpacker{Text: p.Text}
	if a, b, c, d := u.Number(), u.Word(), u.words(), string(u.Bytes()); a != 300 || b != math.MaxUint64 ||
		!slices.Equal(c, []uint64{1, 2}) || d != "abc" {
		t.Error(a, b, c, d)
	}
	if !u.Mark() || u.Mark() || u.Probability() != 0 || u.Probability() != 1 || u.Probability() != 0.25 || u.Wrong ||
		len(u.Text) > 0 {
		t.Errorf("%+v", u)
	}
	if u.Number() != 0 || !u.Wrong || u.Word() != 0 || u.Mark() || len(u.Bytes()) > 0 || u.Count(1) != 0 {
		t.Errorf("after the end: %+v", u)
	}
	var mark, below, above, none, many Packer
	mark.Number(2)
	below.Word(math.Float64bits(-0.5))
	above.Word(math.Float64bits(1.5))
	none.Word(math.Float64bits(math.NaN()))
	many.Number(3)
	many.Word(0)
	many.Word(0)
	for name, read := range map[string]func() Unpacker{
		"a mark of 2":        func() Unpacker { u := Unpacker{Text: mark.Text}; u.Mark(); return u },
		"a probability < 0":  func() Unpacker { u := Unpacker{Text: below.Text}; u.Probability(); return u },
		"a probability > 1":  func() Unpacker { u := Unpacker{Text: above.Text}; u.Probability(); return u },
		"no probability":     func() Unpacker { u := Unpacker{Text: none.Text}; u.Probability(); return u },
		"more than there is": func() Unpacker { u := Unpacker{Text: many.Text}; u.words(); return u },
	} {
		if u := read(); !u.Wrong || u.Text != nil {
			t.Errorf("%s passes", name)
		}
	}
	many.Word(0)
	if u := (Unpacker{Text: many.Text}); len(u.words()) != 3 || u.Wrong {
		t.Error("as many as there are do not pass")
	}
}
