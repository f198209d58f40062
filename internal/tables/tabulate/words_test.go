package tabulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// The words of a column, of any type, are the texts of its values: each record gets the right one, and
// no word occurs twice.
func TestWordsAreTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	some := []string{"", "a", "b", "01", "10", "north-east", "north-west", "noXth-east", "-0", "0", "NaN"}
	for name, typ := range map[string]arrow.DataType{
		"text": arrow.BinaryTypes.String, "long text": arrow.BinaryTypes.LargeString,
		"dictionary": &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		"int64":      arrow.PrimitiveTypes.Int64, "int32": arrow.PrimitiveTypes.Int32, "int16": arrow.PrimitiveTypes.Int16,
		"int8":  arrow.PrimitiveTypes.Int8,
		"uint8": arrow.PrimitiveTypes.Uint8, "boolean": arrow.FixedWidthTypes.Boolean, "date": arrow.FixedWidthTypes.Date32,
	} {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		for range 2000 {
			value := ""
			switch x := rng.IntN(11); typ.ID() {
			case arrow.STRING, arrow.LARGE_STRING, arrow.DICTIONARY:
				value = some[x]
			case arrow.BOOL:
				value = fmt.Sprint(x%2 == 0)
			case arrow.DATE32:
				value = fmt.Sprintf("20%02d-03-01", x)
			case arrow.UINT8:
				value = fmt.Sprint(250 + x%5)
			default:
				value = fmt.Sprint(x - 5)
			}
			if rng.IntN(9) == 0 {
				b.AppendNull()
			} else if err := b.AppendValueFromString(value); err != nil {
				t.Fatal(err)
			}
		}
		for part, a := range map[string]arrow.Array{"whole": b.NewArray()} {
			sliced := array.NewSlice(a, 3, 1990)
			sameWords(t, name+", "+part, &microdata.Column{Array: a}, a.Len())
			sameWords(t, name+", part of it", &microdata.Column{Array: sliced}, sliced.Len())
		}
	}
	numbers := []float64{0, math.Copysign(0, -1), 1.5, -2, math.NaN(), 1e21}
	c := &microdata.Column{Original: microdata.Vector{Values: make([]float64, 500), Valid: microdata.NewBitmap(500, nil)}}
	for i := range c.Original.Values {
		if c.Original.Values[i] = numbers[rng.IntN(len(numbers))]; rng.IntN(5) == 0 {
			c.Original.Valid.Clear(i)
		}
	}
	sameWords(t, "numbers", c, 500)
}

func sameWords(t *testing.T, name string, c *microdata.Column, n int) {
	t.Helper()
	w, text := WordsOf(c), Texts(c)
	seen := map[string]bool{}
	for _, s := range w.Texts {
		if seen[s] {
			t.Errorf("%s: a text is there twice", name)
		}
		seen[s] = true
	}
	if len(w.Places) != n {
		t.Fatalf("%s: %d places of %d records", name, len(w.Places), n)
	}
	nulls := 0
	for i, k := range w.Places {
		s, ok := text(i)
		if ok != (k >= 0) || ok && w.Texts[k] != s {
			t.Fatalf("%s: record %d is not its text", name, i)
		}
		if !ok {
			nulls++
		}
	}
	if nulls == 0 || len(seen) < 2 {
		t.Errorf("%s: %d nulls, %d texts", name, nulls, len(seen))
	}
}
