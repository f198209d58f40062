package keystream

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The number of a record does not depend on earlier or neighbouring entries: many short and long
// texts in one binding, one at a time and all together, compared with a new binding for each text.
func TestBindingOfManyEntries(t *testing.T) {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(37*i + 5)
	}
	key, err := NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	number := func(b *Binding, text string) float64 {
		builder := array.NewStringBuilder(memory.DefaultAllocator)
		defer builder.Release()
		builder.Append(text)
		a := builder.NewArray()
		defer a.Release()
		b.Begin(1, 1)
		b.Array(a)
		var got [1]float64
		b.Values(got[:])
		return got[0]
	}
	var texts []string
	for n := range 40 {
		texts = append(texts, string(make([]byte, n)), string(bytes.Repeat([]byte{'x'}, n)), fmt.Sprintf("%0*d", n, 1))
	}
	for i := range 300 {
		texts = append(texts, fmt.Sprint(i))
	}
	one, numbers := key.Binding(), map[float64]string{}
	for round := range 3 {
		for _, s := range texts {
			want := number(key.Binding(), s)
			if got := number(one, s); got != want {
				t.Fatalf("round %d, a text of %d bytes: %v, want %v", round, len(s), got, want)
			}
			if other, ok := numbers[want]; ok && other != s {
				t.Fatalf("texts of %d and %d bytes have the same number", len(s), len(other))
			}
			numbers[want] = s
		}
	}
	builder := array.NewStringBuilder(memory.DefaultAllocator)
	coded := array.NewDictionaryBuilder(memory.DefaultAllocator,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	for _, s := range texts {
		builder.Append(s)
		if err := coded.AppendString(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range []arrow.Array{builder.NewArray(), coded.NewArray()} {
		got := make([]float64, len(texts))
		one.Begin(len(texts), 1)
		one.Array(a)
		one.Values(got)
		for i, s := range texts {
			if want := number(key.Binding(), s); got[i] != want {
				t.Fatalf("%s: a text of %d bytes among others: %v, want %v", a.DataType(), len(s), got[i], want)
			}
		}
	}
}

// Intervals of any kind are bound by all their bytes: equal ones get equal numbers, different ones
// different numbers, and a null counts as missing, at any place in an array.
func TestBindingOfIntervals(t *testing.T) {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(41*i + 3)
	}
	key, err := NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	month := array.NewMonthIntervalBuilder(memory.DefaultAllocator)
	day := array.NewDayTimeIntervalBuilder(memory.DefaultAllocator)
	nano := array.NewMonthDayNanoIntervalBuilder(memory.DefaultAllocator)
	for i := range int32(6) {
		if i == 2 {
			month.AppendNull()
			day.AppendNull()
			nano.AppendNull()
			continue
		}
		k := i % 5 // the last equals the first
		month.Append(arrow.MonthInterval(k))
		day.Append(arrow.DayTimeInterval{Days: 3 - k/3, Milliseconds: k})
		nano.Append(arrow.MonthDayNanoInterval{Months: 3, Days: 7, Nanoseconds: int64(k) << 56})
	}
	for _, a := range []arrow.Array{month.NewArray(), day.NewArray(), nano.NewArray()} {
		numbers := func(a arrow.Array) []float64 {
			b, got := key.Binding(), make([]float64, a.Len())
			b.Begin(a.Len(), 1)
			b.Array(a)
			b.Values(got)
			return got
		}
		all := numbers(a)
		for i := range all {
			for j := range i {
				if same := all[i] == all[j]; same != (i == 5 && j == 0) {
					t.Errorf("%s: records %d and %d are bound to %v and %v", a.DataType(), j, i, all[j], all[i])
				}
			}
		}
		if part := numbers(array.NewSlice(a, 1, 5)); !slices.Equal(part, all[1:5]) {
			t.Errorf("%s: a part is bound to %v, want %v", a.DataType(), part, all[1:5])
		}
	}
}
