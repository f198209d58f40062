package exchange

import (
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// A block of a stream is a window wherever it starts; a block with more records is divided.
func TestSwapWindowsOfStreams(t *testing.T) {
	const n, window = 2500, 1000
	columns := swapData(n, 5, 4, 6)
	setup := testSetup(t, columns...)
	setup.Window = window
	c := chain(t, setup, mask(swapMask("random", "window", 1)))
	places := gappy(n, 12345, 2)
	b := apply(t, c, streamBlock("survey", 1, places, 0, n, columns...))
	if exchanged := checkExchanges(t, columns, b.Columns[0].Out().Values, window, false); exchanged < n/2 {
		t.Errorf("%d records exchanged", exchanged)
	}
	// Without gaps, the scope alone identifies a stream.
	b = block(0, n, columns...)
	b.First, b.Scope = 17, "survey"
	apply(t, c, b)
	b = block(0, n, columns...)
	b.First = 17
	if err := c.Apply(b); err == nil || !strings.Contains(err.Error(), "multiple of the window") {
		t.Errorf("a block of a file at record 17 must be refused, got %v", err)
	}
}

// A swap over the data set reads the records of several topics by their places.
func TestDatasetSwapOfStreams(t *testing.T) {
	const n, half = 3000, 1500
	columns := swapData(n, 6, 4, 6)
	setup := testSetup(t, columns...)
	for _, policy := range []string{"unique", "random"} {
		c := chain(t, setup, mask(swapMask(policy, "dataset", 1)))
		places := gappy(half, 700, 3)
		places = append(places, places...) // both topics have a partition 2 with the same offsets
		blocks := func(yield func(*microdata.Block)) {
			for from := 0; from < n; from += 500 {
				yield(streamBlock([]string{"later", "earlier"}[from/half], 2, places, from, from+500, columns...))
			}
		}
		blocks(func(b *microdata.Block) {
			if err := c.Survey(b); err != nil {
				t.Fatal(err)
			}
		})
		if err := c.EndSurvey(); err != nil {
			t.Fatal(err)
		}
		var y []float64
		blocks(func(b *microdata.Block) { y = append(y, apply(t, c, b).Columns[0].Out().Values...) })
		exchanged := checkExchanges(t, columns, y, n, policy == "unique")
		if policy == "random" && exchanged < n/2 {
			t.Errorf("%d records exchanged", exchanged)
		}
		if touched := c.Touched()[0].Records; touched != int64(exchanged) {
			t.Errorf("%d records touched, %d exchanged", touched, exchanged)
		}
		if policy == "unique" {
			continue
		}
		// A record that compaction removes between the passes would take its partner's value with
		// it.
		left := streamBlock("later", 2, slices.DeleteFunc(slices.Clone(places[:half]), func(p int64) bool {
			return p%2 == 1 && p > 710
		}), 0, 500, columns...)
		if err := c.Apply(left); err == nil || !strings.Contains(err.Error(), "is gone") {
			t.Errorf("missing records must be an error, got %v", err)
		}
	}
}
