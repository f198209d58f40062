package parquet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// textNode returns the node of a flat column of texts or bytes.
func textNode(t *testing.T, typ arrow.DataType, nullable bool) *node {
	t.Helper()
	elements, err := elementsOf("a", typ, nullable)
	if err != nil {
		t.Fatal(err)
	}
	roots, _, err := treeOf(append([]schemaElement{{Name: "schema", NumChildren: some(int32(1))}}, elements...))
	if err != nil {
		t.Fatal(err)
	}
	return roots[0]
}

// drawnTexts returns an array of n random texts or bytes of up to 5 letters.
func drawnTexts(r *rand.Rand, typ arrow.DataType, n int, nulls bool) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	for range n {
		if nulls && r.IntN(4) == 0 {
			b.AppendNull()
			continue
		}
		text := make([]byte, r.IntN(6))
		for i := range text {
			text[i] = byte('a' + r.IntN(3))
		}
		switch b := b.(type) {
		case *array.StringBuilder:
			b.Append(string(text))
		case *array.BinaryBuilder:
			b.Append(text)
		}
	}
	return b.NewArray()
}

// The fast path for flat texts gives the same result as the general path, for any part of an array
// and any choice of kept records.
func TestFlatTextsAreTheShredded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	refused, missing := 0, 0
	for turn := range 400 {
		typ := []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.Binary}[turn%2]
		n := textNode(t, typ, turn%3 > 0)
		whole := drawnTexts(r, typ, 40, turn%5 < 2)
		cut := r.IntN(10)
		a := array.NewSlice(whole, int64(cut), int64(40-r.IntN(10)))
		from := r.IntN(5)
		rows := 1 + r.IntN(a.Len()-from-1)
		var keep []int32
		if turn%4 == 0 {
			for i := from; i < from+rows; i++ {
				if r.IntN(3) > 0 {
					keep = append(keep, int32(i))
				}
			}
			if keep == nil {
				keep = []int32{int32(from)}
			}
		}
		got, err := arrayValues(n, a, from, rows, keep)
		want, wantErr := shredded(n, a, from, rows, keep)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("turn %d: error %v, want %v", turn, err, wantErr)
		}
		if err != nil {
			refused++
			continue
		}
		g, w := got[0], want[0]
		if g.n != w.n || !slices.Equal(g.def, w.def) || !slices.Equal(g.offsets, w.offsets) ||
			string(g.data) != string(w.data) {
			t.Fatalf("turn %d: got %+v, want %+v", turn, g, w)
		}
		if w.n < len(w.def) {
			missing++
		}
	}
	if refused == 0 || missing == 0 {
		t.Errorf("%d of the required columns lacked a value, and %d of the others: too few for this test", refused, missing)
	}
}

// A page's dictionary distinguishes texts with the same length and the same ends, and keeps them in
// order of appearance. Minimum and maximum equal those of the texts.
func TestDictionariesTellTextsApart(t *testing.T) {
	v := &values{offsets: []uint32{0}}
	var texts []string
	distinct := []string{"", "a", "b", "aXbc", "aYbc", "aZbc", "bcXa", "bc"}
	for i := range 400 {
		text := distinct[i*i%len(distinct)]
		if i%3 == 0 {
			text = fmt.Sprintf("k%02dzz", i%50)
		}
		texts = append(texts, text)
		v.data = append(v.data, text...)
		v.offsets = append(v.offsets, uint32(len(v.data)))
	}
	v.n = len(texts)
	d := localDictionaryOf(v)
	if d == nil {
		t.Fatal("no dictionary")
	}
	var order []string
	for i, text := range texts {
		if !slices.Contains(order, text) {
			order = append(order, text)
		}
		if at := slices.Index(order, text); int(d.index[i]) != at || string(d.value(d.index[i])) != text {
			t.Fatalf("text %d %q is entry %d %q, want %d", i, text, d.index[i], d.value(d.index[i]), at)
		}
	}
	if len(d.offsets)-1 != len(order) {
		t.Errorf("%d entries, want %d", len(d.offsets)-1, len(order))
	}
	n := textNode(t, arrow.BinaryTypes.String, false)
	p, err := (&pageEncoder{leaf: n.leaf}).page(v, v.n)
	if err != nil {
		t.Fatal(err)
	}
	if p.local == nil || string(p.stats.min) != slices.Min(texts) || p.stats.min == nil ||
		string(p.stats.max) != slices.Max(texts) {
		t.Errorf("least %q, greatest %q, want %q and %q of a dictionary", p.stats.min, p.stats.max, slices.Min(texts),
			slices.Max(texts))
	}
}

// Blocks take texts from pages with and without dictionaries; some pages have nulls.
func TestTextsOfSegments(t *testing.T) {
	n := textNode(t, arrow.BinaryTypes.String, true)
	dict := &dictionary{n: 3, data: []byte("xyyzzz"), offs: []uint32{0, 1, 3, 6}}
	indexed := &unit{v: values{n: 4, index: []uint32{2, 0, 1, 2}, dict: dict}}
	plain := &unit{v: values{n: 4, data: []byte("abbccc"), offsets: []uint32{0, 1, 3, 3, 6}}}
	gaps := &unit{v: values{n: 3, data: []byte("q"), offsets: []uint32{0, 0, 1, 1}, valid: []uint64{2}}}
	for _, c := range []struct {
		segs []segment
		want string
	}{
		{[]segment{{indexed, 1, 3}, {plain, 1, 3}}, `["x" "yy" "zzz" "bb" "" "ccc"]`},
		{[]segment{{plain, 1, 2}, {gaps, 0, 3}, {indexed, 0, 2}, {plain, 3, 1}},
			`["bb" "" (null) "q" (null) "zzz" "x" "ccc"]`},
	} {
		rows := 0
		for _, s := range c.segs {
			rows += s.n
		}
		a, err := flatArray(n.leaf, rows, c.segs)
		if err != nil {
			t.Fatal(err)
		}
		if a.String() != c.want {
			t.Errorf("got %s, want %s", a, c.want)
		}
	}
}
