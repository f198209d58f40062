package keystream

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A record's number does not depend on which entries came before it: many short and long
// texts of which most share a slot, in one binding, against a new binding for each.
func TestBindingOfRecentEntries(t *testing.T) {
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
				t.Fatalf("texts of %d and %d bytes have one number", len(s), len(other))
			}
			numbers[want] = s
		}
	}
}
