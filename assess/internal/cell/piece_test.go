package cell

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Pieces order texts as their characters do: the first eight, the next eight, or the last eight from behind.
func TestPiecesOrderTexts(t *testing.T) {
	texts := []string{"", "b", "a", "Ab", "abcdefgh", "abcdefgi", "ABCDEFGHa", "abcdefgh0", "abcdefgh01234567",
		"abcdefgh01234567z", "CASE-2024-NW-0001", "x@kiwi.nz", "9", "-", "9z", "a0", "z9", "0a", "xbcdefgh", "ybcdefgh",
		"abcdefghijklmnox", "abcdefghijklmnoy"}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(texts, nil)
	b.AppendNull()
	c := &microdata.Column{Array: b.NewStringArray()}
	key := func(text string, piece int) string {
		text = strings.ToLower(text)
		switch piece {
		case 1:
			return text[:min(8, len(text))]
		case 2:
			return text[min(8, len(text)):min(16, len(text))]
		}
		last := []byte(text[max(0, len(text)-8):])
		slices.Reverse(last)
		return string(last)
	}
	plain := func(s string) bool { // digits and letters have places of their own
		return !strings.ContainsFunc(s, func(r rune) bool { return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z') })
	}
	for piece := 1; piece <= Pieces; piece++ {
		for i, x := range texts {
			for j, y := range texts {
				a, b := key(x, piece), key(y, piece)
				p, q := Piece(c, i, piece), Piece(c, j, piece)
				if (a == b) != (p == q) || plain(a) && plain(b) && (a < b) != (p < q) {
					t.Errorf("piece %d: %q has %v, %q has %v", piece, x, p, y, q)
				}
			}
		}
		if x := Piece(c, len(texts), piece); !math.IsNaN(x) {
			t.Errorf("piece %d of null is %v", piece, x)
		}
	}
	for i := range texts {
		if got, want := Piece(c, i, 0), Shown(c, i); got != want {
			t.Errorf("%q as a whole: %v, want %v", texts[i], got, want)
		}
	}
	d := array.NewDictionaryBuilder(memory.DefaultAllocator,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	for _, text := range []string{"b", "a", "b"} {
		if err := d.AppendString(text); err != nil {
			t.Fatal(err)
		}
	}
	d.AppendNull()
	coded := &microdata.Column{Array: d.NewArray()}
	for i, want := range []float64{Piece(c, 1, 1), Piece(c, 2, 1), Piece(c, 1, 1), math.NaN()} {
		if got := Piece(coded, i, 1); got != want && (got == got || want == want) {
			t.Errorf("value %d of a dictionary has %v, want %v", i, got, want)
		}
	}
	numbers := &microdata.Column{Original: microdata.Vector{Values: []float64{1}}}
	if x := Piece(numbers, 0, 1); x != 1 {
		t.Errorf("the piece 1 is %v", x)
	}
	days := array.NewInt64Builder(memory.DefaultAllocator)
	days.Append(1)
	if x := Piece(&microdata.Column{Array: days.NewArray()}, 0, 1); !math.IsNaN(x) {
		t.Errorf("what is no text has the piece %v", x)
	}
}

// Values stand apart if more than half of them are different; missing ones are none.
func TestApart(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values []float64
		want   bool
	}{{nil, false}, {[]float64{1}, true}, {[]float64{1, 1}, false}, {[]float64{1, 2, 1, 2}, false},
		{[]float64{1, 2, 3, 1}, true}, {[]float64{1, 2, nan, nan}, false}, {[]float64{1, 2, 3, nan}, true}} {
		if got := Apart(c.values); got != c.want {
			t.Errorf("%v: %v", c.values, got)
		}
	}
}

// A text without a number is a category, whichever it is: of 500, a threshold above Category(0) would take some for
// numbers.
func TestTextsAreCategories(t *testing.T) {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range 500 {
		b.Append("north" + strings.Repeat("x", i%25) + string(rune('a'+i/25)))
	}
	c := &microdata.Column{Array: b.NewStringArray()}
	for i := range 500 {
		if v := Piece(c, i, 0); !(v >= Categories) || math.IsInf(v, 0) {
			t.Fatalf("text %d is seen as %v", i, v)
		}
	}
}
