package transform

import (
	"fmt"
	"testing"
)

// The codes of texts are consecutive in order of appearance, and equal if and only if the texts are
// equal, whichever texts are cached: lengths above and below the limit of the cache, trailing
// zeros, more texts than it has room for, and again after a reset.
func TestTextsHaveCodesOfTheirOwn(t *testing.T) {
	var texts []string
	for length := range 10 {
		for _, fill := range []byte{0, 1, 'a', 0xff} {
			b := make([]byte, length)
			for i := range b {
				b[i] = fill
			}
			if length == 0 && fill > 0 {
				continue // the same
			}
			texts = append(texts, string(b))
		}
	}
	for i := range 300 {
		texts = append(texts, fmt.Sprint("t", i), fmt.Sprint("village ", i))
	}
	var c coder
	for round := range 2 {
		seen := map[string]int32{}
		for k := range 5 * len(texts) {
			s := texts[k*k%len(texts)]
			if round == 1 {
				s = texts[len(texts)-1-k*k%len(texts)]
			}
			want, ok := seen[s]
			if !ok {
				want = int32(len(seen)) + 1
				seen[s] = want
			}
			if got := c.text([]byte(s)); got != want {
				t.Fatalf("round %d: text %d has code %d, want %d", round, k, got, want)
			}
		}
		c.reset()
	}
}
