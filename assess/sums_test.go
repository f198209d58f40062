package assess

import (
	"bytes"
	"runtime"
	"testing"
)

// All bits are the same whatever the number of cores, and however the runs are divided into windows and parts: with missing
// values and without.
func TestSumsDoNotDependOnCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, nulls := range []bool{false, true} {
		table := makePairs(11, 30_000, nulls)
		added := func(cores, window, group int) []byte {
			runtime.GOMAXPROCS(cores)
			o := testOptions(t)
			o.Sample, o.Extremes = 500, 20
			a := newAccumulator(t, o)
			if window > 0 {
				a.work.window, a.work.group = window, group
			}
			for from := 0; from < 30_000; from += 10_000 {
				a.Add(table.block(from, from+10_000))
			}
			data, err := a.MarshalBinary()
			must(t, err)
			return data
		}
		want := added(1, 1, 1) // one run after another
		for _, c := range [][3]int{{1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {7, 0, 0}, {7, 5, 2}, {7, 1000, 1}, {3, 4, 4}} {
			if !bytes.Equal(added(c[0], c[1], c[2]), want) {
				t.Errorf("missing values %v: %d cores, windows of %d runs, parts of %d: others than of one run after another",
					nulls, c[0], c[1], c[2])
			}
		}
	}
}
