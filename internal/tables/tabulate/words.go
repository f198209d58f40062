package tabulate

import (
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/internal/recent"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Words holds the distinct texts of a column of a block; a column of codes has few. The list
// may contain a text that no record has. The texts refer to the memory of the block and must be
// copied to be kept longer.
type Words struct {
	Texts  []string
	Places []int32 // by record: index of its text in Texts, -1 for null
}

// WordsOf returns the texts of the released form of a column, as Texts reads them.
func WordsOf(c *microdata.Column) Words {
	switch a := c.OutArray().(type) {
	case *array.Dictionary:
		return wordsOfDictionary(a)
	case *array.String:
		return wordsOfStrings(a.Len(), a.IsValid, a.Value, a.NullN() == 0)
	case *array.LargeString:
		return wordsOfStrings(a.Len(), a.IsValid, a.Value, a.NullN() == 0)
	case nil:
		v := c.Out()
		return wordsOfNumbers(len(v.Values), v.Valid.Has, func(i int) uint64 {
			return math.Float64bits(v.Values[i])
		}, Texts(c))
	case *array.Int64:
		return wordsOfNumbers(a.Len(), a.IsValid, func(i int) uint64 { return uint64(a.Value(i)) }, Texts(c))
	case *array.Int32:
		return wordsOfNumbers(a.Len(), a.IsValid, func(i int) uint64 { return uint64(a.Value(i)) }, Texts(c))
	case *array.Int16:
		return wordsOfNumbers(a.Len(), a.IsValid, func(i int) uint64 { return uint64(a.Value(i)) }, Texts(c))
	case *array.Int8:
		return wordsOfNumbers(a.Len(), a.IsValid, func(i int) uint64 { return uint64(a.Value(i)) }, Texts(c))
	default:
		text := Texts(c)
		return wordsOfStrings(a.Len(), a.IsValid, func(i int) string { s, _ := text(i); return s }, false)
	}
}

func wordsOfDictionary(a *array.Dictionary) Words {
	entries := a.Dictionary()
	w := Words{Texts: make([]string, entries.Len()), Places: make([]int32, a.Len())}
	for k := range w.Texts {
		if entries.IsValid(k) {
			w.Texts[k] = word(entries, k)
		}
	}
	for i := range w.Places {
		if w.Places[i] = -1; a.IsValid(i) && entries.IsValid(a.GetValueIndex(i)) {
			w.Places[i] = int32(a.GetValueIndex(i))
		}
	}
	return w
}

// wordsOfStrings looks up each text among the earlier ones. Codes mostly differ in their
// lengths or at their ends, so the last text in the slot for this length and these ends
// is compared first.
func wordsOfStrings(n int, valid func(int) bool, value func(int) string, clean bool) Words {
	w := Words{Places: make([]int32, n)}
	places := map[string]int32{}
	var last [recent.Slots]int32 // place + 1
	for i := range n {
		if !clean && !valid(i) {
			w.Places[i] = -1
			continue
		}
		s := value(i)
		known := &last[recent.Slot(s)]
		if k := *known - 1; k >= 0 && w.Texts[k] == s {
			w.Places[i] = k
			continue
		}
		w.Places[i] = w.place(places, s)
		*known = w.Places[i] + 1
	}
	return w
}

// wordsOfNumbers formats each distinct number once; numbers are compared by their bits.
func wordsOfNumbers(n int, valid func(int) bool, bits func(int) uint64, text func(int) (string, bool)) Words {
	w := Words{Places: make([]int32, n)}
	of, places := map[uint64]int32{}, map[string]int32{}
	for i := range n {
		w.Places[i] = -1
		if !valid(i) {
			continue
		}
		x := bits(i)
		k, known := of[x]
		if !known {
			s, _ := text(i)
			k = w.place(places, s)
			of[x] = k
		}
		w.Places[i] = k
	}
	return w
}

// place returns the index of a text, which it adds if it is new.
func (w *Words) place(places map[string]int32, s string) int32 {
	k, known := places[s]
	if !known {
		k = int32(len(w.Texts))
		places[s] = k
		w.Texts = append(w.Texts, s)
	}
	return k
}

// Texts returns a function that reads a row of a column as text: numbers in their
// shortest form; false for null.
func Texts(c *microdata.Column) func(row int) (string, bool) {
	a := c.OutArray()
	if a == nil {
		v := c.Out()
		return func(row int) (string, bool) {
			return strconv.FormatFloat(v.Values[row], 'f', -1, 64), v.Valid.Has(row)
		}
	}
	if d, ok := a.(*array.Dictionary); ok {
		words := d.Dictionary()
		return func(row int) (string, bool) {
			if !d.IsValid(row) || !words.IsValid(d.GetValueIndex(row)) {
				return "", false
			}
			return word(words, d.GetValueIndex(row)), true
		}
	}
	return func(row int) (string, bool) {
		if !a.IsValid(row) {
			return "", false
		}
		return word(a, row), true
	}
}

func word(a arrow.Array, i int) string {
	switch s := a.(type) {
	case *array.String:
		return s.Value(i)
	case *array.LargeString:
		return s.Value(i)
	}
	return a.ValueStr(i)
}
