package group

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// A record in quarantine is no candidate: cells are set missing for a record that would agree only
// with it, at any place in a block.
func TestSuppressCountsNoRejectedRecord(t *testing.T) {
	k := 2
	for _, word := range []string{"any", "none"} {
		for at := range 4 {
			in := rows{{1, 2}, {1, 2}, {1, 2}, {1, 2}}
			in[at], in[(at+1)%4] = []int{1, 1}, []int{1, 1} // the first of them is rejected
			columns := in.Columns(arrow.PrimitiveTypes.Int64)
			records := func() *microdata.Block {
				b := block(0, len(in), columns...)
				b.Reject(at, "a", "is broken")
				return b
			}
			c := chain(t, testSetup(t, columns...), mask(&Suppress{Keys: []string{"a", "b"}, K: &k, Missing: word}))
			if err := c.Survey(records()); err != nil {
				t.Fatal(err)
			}
			if err := c.EndSurvey(); err != nil {
				t.Fatal(err)
			}
			b := apply(t, c, records())
			lost := 0
			for col := range 2 {
				v := b.Columns[col].Out()
				for i := range in {
					if !v.Valid.Has(i) && i != at {
						lost++
					}
				}
			}
			if lost == 0 {
				t.Errorf("%s, record %d is rejected: no cell is missing, though the only record like it is then unique", word, at)
			}
		}
	}
}
