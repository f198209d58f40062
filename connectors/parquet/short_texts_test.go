package parquet

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Texts of a dictionary are the same whether they are copied in words of 8 bytes or one by one: for
// all lengths, from parts of pages, with and without nulls.
func TestShortTextsOfADictionary(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for longest := range 10 {
		d := &dictionary{offs: []uint32{0}}
		for k := range 12 {
			d.data = append(d.data, strings.Repeat(string(rune('a'+k)), k%(longest+1))...)
			d.offs = append(d.offs, uint32(len(d.data)))
			d.n++
		}
		if d.short = shortWords(d.data, d.offs); (d.short != nil) != (longest <= 8) {
			t.Fatalf("of at most %d bytes: %d words", longest, len(d.short))
		}
		l := &leaf{phys: format.ByteArray, path: []string{"x"}, typ: arrow.BinaryTypes.String}
		var want []string
		var segs []segment
		for k := range 3 {
			u := &unit{v: values{n: 40, dict: d, index: make([]uint32, 40)}}
			for i := range u.v.index {
				u.v.index[i] = rng.Uint32N(12)
			}
			if k == 1 {
				u.v.valid = microdata.NewBitmap(40, nil)
				for i := range 40 {
					if i%9 == 0 {
						u.v.valid.Clear(i)
					}
				}
				u.v.index[9] = 1 << 31 // belongs to no value; never looked up
			}
			segs = append(segs, segment{u: u, from: k, n: 30})
			for i := k; i < k+30; i++ {
				if !u.v.valid.Has(i) {
					want = append(want, "null")
				} else {
					want = append(want, string(u.v.bytes(i)))
				}
			}
		}
		a, err := flatArray(l, len(want), segs)
		if err != nil {
			t.Fatal(err)
		}
		texts := a.(*array.String)
		for i, w := range want {
			if texts.IsNull(i) != (w == "null") || !texts.IsNull(i) && texts.Value(i) != w {
				t.Fatalf("of at most %d bytes: value %d is %q, want %q", longest, i, texts.Value(i), w)
			}
		}
		if whole := texts.ValueBytes(); len(whole) != len(strings.Join(want, ""))-4*texts.NullN() {
			t.Errorf("of at most %d bytes: %d bytes", longest, len(whole))
		}
	}
	if shortWords(make([]byte, 10), make([]uint32, mostShort+1)) != nil ||
		shortWords(nil, make([]uint32, mostShort)) == nil || shortWords(nil, []uint32{0}) != nil {
		t.Error("words of dictionaries of the most entries, of more, of none")
	}
}

// The total length of the present texts is computed before they are copied.
func TestSizesOfTexts(t *testing.T) {
	d := &dictionary{n: 2, data: make([]byte, 7), offs: []uint32{0, 3, 7}}
	coded := values{n: 4, dict: d, index: []uint32{1, 0, 1, 1}}
	some := coded
	some.valid = make(microdata.Bitmap, 1)
	some.valid.Set(3)
	plain := values{n: 3, data: make([]byte, 9), offsets: []uint32{0, 2, 2, 9}}
	for name, c := range map[string]struct {
		v             *values
		from, n, want int
	}{
		"a dictionary": {&coded, 1, 3, 11}, "one value": {&coded, 1, 1, 3}, "with nulls": {&some, 0, 4, 4},
		"nulls alone": {&some, 0, 3, 0},
		"plain":       {&plain, 0, 3, 9}, "the end": {&plain, 2, 1, 7}, "nothing": {&plain, 1, 0, 0},
	} {
		if got := c.v.size(c.from, c.n); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
	l := &leaf{phys: format.ByteArray, path: []string{"x"}, typ: arrow.BinaryTypes.String}
	for most, want := range map[int]bool{11: true, 10: false} {
		c := newColumn(l, 3)
		c.most = most
		if c.reserveFor([]segment{{u: &unit{v: coded}, from: 1, n: 3}}); (c.err == nil) != want {
			t.Errorf("11 bytes of at most %d: %v", most, c.err)
		}
	}
}
