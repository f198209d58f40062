package uniqueness

import (
	"encoding/binary"
	"fmt"
)

// Replicated counts the records that are unique in the original on their combination of
// keys and whose combination also occurs in the release, at any record. For synthetic data
// these are the replicated uniques of Raab, Nowok and Dibben (2016). An intruder who finds
// the combination of a respondent in the release may believe to have found this respondent;
// this is correct if the released record is not a random draw. Missing values count as a
// value of their own.
type Replicated struct {
	Uniques  int     `json:"uniques" doc:"number of original records whose combination no other original record has"`
	Standing int     `json:"standing" doc:"number of these records whose combination occurs in the release"`
	Share    float64 `json:"share" doc:"standing divided by uniques; 0 if there are no uniques"`
}

// ReplicatedUniques counts the replicated uniques. original and released hold one slice of
// codes for each key, with the same codes on both sides; −1 is a missing value. It returns
// an error if there is no key or if the columns do not fit each other.
func ReplicatedUniques(original, released [][]int32) (*Replicated, error) {
	if len(original) == 0 || len(released) != len(original) {
		return nil, fmt.Errorf("replicated uniques: must have at least one key, and as many on both sides, got %d and %d",
			len(original), len(released))
	}
	for _, side := range [][][]int32{original, released} {
		for i, column := range side {
			if len(column) != len(side[0]) {
				return nil, fmt.Errorf("replicated uniques: key %d: must have %d records like the others, got %d", i, len(side[0]),
					len(column))
			}
		}
	}
	var key []byte
	combination := func(side [][]int32, record int) []byte {
		key = key[:0]
		for _, column := range side {
			key = binary.LittleEndian.AppendUint32(key, uint32(column[record]))
		}
		return key
	}
	const several = 2
	counts := make(map[string]uint8)
	for record := range original[0] {
		k := combination(original, record)
		if n := counts[string(k)]; n < several {
			counts[string(k)] = n + 1
		}
	}
	r := &Replicated{}
	for k, n := range counts {
		if n == 1 {
			r.Uniques++
		} else {
			delete(counts, k)
		}
	}
	for record := range released[0] {
		k := combination(released, record)
		if _, unique := counts[string(k)]; unique {
			r.Standing++
			delete(counts, string(k)) // counted once
		}
	}
	if r.Uniques > 0 {
		r.Share = float64(r.Standing) / float64(r.Uniques)
	}
	return r, nil
}
