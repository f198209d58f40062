package foreign

import (
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// TestDrawer: with few records all are kept; with many a part, independent of the division into
// blocks and spread evenly over the file. Rejected records are never kept.
func TestDrawer(t *testing.T) {
	const records = 40_000
	kept := func(most, size int) *drawer {
		d := newDrawer([]string{"a"})
		d.most = most
		b := new(microdata.Block)
		for first := 0; first < records; first += size {
			n := min(size, records-first)
			b.Reset(0, int64(first), n, 1)
			c := &b.Columns[0]
			c.Original.Values, c.Released.Values = make([]float64, n), make([]float64, n)
			for i := range n {
				c.Original.Values[i], c.Released.Values[i] = float64(first+i), -float64(first+i)
			}
			for i := range n {
				if (first+i)%10 == 0 {
					b.Reject(i, "", "malformed")
				}
			}
			d.add(b)
		}
		return d
	}
	if d := kept(records, 1000); len(d.values[0]) != records*9/10 || len(d.values[1]) != records*9/10 {
		t.Errorf("%d of %d records are kept, want all", len(d.values[0]), records*9/10)
	}
	whole, cut := kept(5000, records), kept(5000, 777)
	n := len(whole.values[0])
	// Halving leaves the room between half full and full, up to chance: of 36,000 records, the
	// number kept by a threshold has an SD below 70.
	if n < 2500-350 || n > 5000 || n != len(cut.values[0]) {
		t.Fatalf("%d and %d records are kept, want the same number in both, from 2150 to 5000", n, len(cut.values[0]))
	}
	limit, below := uint64(math.MaxUint64), records
	for below > 5000 {
		limit, below = limit/2, 0
		for i := range records {
			if i%10 > 0 && mixed(uint64(i)) <= limit {
				below++
			}
		}
	}
	if n != below {
		t.Errorf("%d records are kept, want the %d below the first halved limit that leaves few enough", n, below)
	}
	mean := 0.0
	for i, v := range whole.values[0] {
		if v != cut.values[0][i] || whole.values[1][i] != -v || int(v)%10 == 0 {
			t.Fatalf("record %d: %v and %v; with other blocks %v", i, v, whole.values[1][i], cut.values[0][i])
		}
		mean += v / float64(n)
	}
	// The mean of n of 0 … 40,000 has an SD of 11,547/√n.
	if z := (mean - records/2) / (records / math.Sqrt(12*float64(n))); math.Abs(z) > 4.5 {
		t.Errorf("the mean place of the kept records is %v SDs from the middle of the file", z)
	}
	var none *drawer
	none.add(new(microdata.Block))
	if none.pictures() != nil {
		t.Error("a nil drawer returns pictures")
	}
}

// The number of records kept depends on the number of columns: 4 Mi values in total, and at least a
// thousand records.
func TestRoomForPictures(t *testing.T) {
	for columns, want := range map[int]int{1: 2 << 20, 2: 1 << 20, 2000: (4 << 20) / 4000, 2097: 1000, 5000: 1000} {
		if d := newDrawer(make([]string, columns)); d.most != want || len(d.values) != 2*columns {
			t.Errorf("for %d columns, at most %d records are kept, want %d", columns, d.most, want)
		}
	}
}

// A record whose hash is the limit is kept, when it comes and when the limit is halved.
func TestRecordsAtTheLimit(t *testing.T) {
	d := newDrawer([]string{"a"})
	d.limit = mixed(7)
	b := new(microdata.Block)
	b.Reset(0, 7, 1, 1)
	b.Columns[0].Original.Values, b.Columns[0].Released.Values = []float64{1}, []float64{2}
	if d.add(b); len(d.hashes) != 1 {
		t.Error("the record was not kept")
	}
	d = newDrawer([]string{"a"})
	d.limit, d.hashes, d.values = 12, []uint64{5, 7, 6}, [][]float64{{1, 2, 3}, {4, 5, 6}}
	if d.halve(); !slices.Equal(d.hashes, []uint64{5, 6}) || !slices.Equal(d.values[0], []float64{1, 3}) ||
		!slices.Equal(d.values[1], []float64{4, 6}) {
		t.Errorf("after halving, the hashes are %v and the values %v", d.hashes, d.values)
	}
}
