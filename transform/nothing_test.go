package transform

import "testing"

// If every record is rejected, by a fault or by an earlier mask, masks that compute with all values
// do nothing and return no error, in one block and in many.
func TestMasksOfAllValuesWithoutRecords(t *testing.T) {
	columns := shuffleData(40, 3)
	for name, m := range map[string]Params{
		"shuffle":        &Shuffle{Columns: []string{"a", "b"}, On: []string{"c", "d"}},
		"shuffle of all": &Shuffle{Columns: []string{"a", "b"}},
		"rankswap":       &RankSwap{Columns: []string{"a", "b"}, P: ptr(0.1), Bottom: ptr(0.1), Top: ptr(0.1)},
		"mdav":           &Microaggregate{Columns: []string{"a", "b"}, K: ptr(3)},
		"univariate": &Microaggregate{Columns: []string{"a", "b"}, K: ptr(3), Method: "univariate",
			Aggregate: "median"},
		"parametric": &Synthesise{Columns: []string{"a", "b"}, On: []string{"c"}},
		"normal":     &Synthesise{Columns: []string{"a", "b"}, Method: "normal"},
		"cart":       &Synthesise{Columns: []string{"a", "b"}, Method: "cart"},
		"suppress":   &Suppress{Keys: []string{"c", "d"}, K: ptr(3)},
		"calibrate":  &Calibrate{Columns: []string{"a"}, By: []string{"c"}, On: []string{"d"}},
		"recordswap": &RecordSwap{Hierarchy: []string{"a", "b"}, Risk: []string{"c"}, Rate: ptr(0.5),
			Similar: [][]string{{"d"}, nil}},
		"swap of all data": swapMask("random", "dataset", 0.5),
	} {
		for _, size := range []int{40, 7} {
			c := chain(t, testSetup(t, columns...), mask(m))
			for from := 0; from < 40; from += size {
				b := block(from, min(from+size, 40), columns...)
				for i := range b.N {
					b.Reject(i, "a", "a fault")
				}
				if err := c.Survey(b); err != nil {
					t.Fatal(name, err)
				}
			}
			if err := c.EndSurvey(); err != nil {
				t.Errorf("%s, blocks of %d: %v", name, size, err)
			}
		}
	}
}
