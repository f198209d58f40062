package transform

import (
	"fmt"
	"math"
	"testing"
)

// Replicates that share what was found of the data release what each releases by itself: of the same data, of other
// data in between, and in either order.
func TestReplicatesShareWhatWasFound(t *testing.T) {
	data, other := codedData(400, 3), codedData(400, 4)
	for _, of := range [][]testColumn{data, other} { // a spike in c, ties, and values that are missing
		for i := range of[2].Values {
			of[2].Values[i] = math.Round(of[2].Values[i])
			if i%3 == 0 {
				of[2].Values[i] = 0
			}
		}
		of[2].Null = []int{0, 7, 399}
	}
	for name, m := range map[string]Spec{
		"parametric": synthesise(Synthesise{Columns: []string{"c", "a"}, On: []string{"d"}, By: []string{"e"}}),
		"normal":     synthesise(Synthesise{Columns: []string{"a", "c"}, Method: "normal", Bounds: "none"}),
		"held out":   synthesise(Synthesise{Columns: []string{"a", "c"}, On: []string{"d"}, HeldOut: ptr(0.3)}),
		"rules": synthesise(
			Synthesise{Columns: []string{"a", "c"}, On: []string{"d"}, Rules: []string{"c = 0 if d > 1"}}),
		"cart": synthesise(Synthesise{Columns: []string{"c", "b", "a"}, On: []string{"d"}, Categories: []string{"b"},
			Method: "cart"}),
		"rankswap":    mask(&RankSwap{Columns: []string{"a", "c"}, P: ptr(0.1), Top: ptr(0.05)}),
		"correlation": mask(&RankSwap{Columns: []string{"a", "c"}, MinCorrelation: ptr(0.9)}),
		"shuffle":     mask(&Shuffle{Columns: []string{"a", "c"}, On: []string{"d"}}),
	} {
		alone := func(number int, of []testColumn) string {
			return fmt.Sprint(whole(t, chain(t, testSetup(t, data...), m).Replicate(number), 400, of...))
		}
		shared := chain(t, testSetup(t, data...), m)
		for _, turn := range []struct {
			number int
			of     []testColumn
		}{{1, data}, {2, data}, {3, other}, {2, other}, {1, data}, {4, data}} {
			if got := fmt.Sprint(whole(t, shared.Replicate(turn.number), 400, turn.of...)); got != alone(turn.number, turn.of) {
				t.Errorf("%s: replicate %d differs from one that shares nothing", name, turn.number)
			}
		}
	}
}
