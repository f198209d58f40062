package assess

import (
	"context"
	"math"
	"testing"
)

// Windows add up to the whole, whose accumulator is that of one pass.
func TestSnapshots(t *testing.T) {
	const n = 6000
	table := makePairs(31, n, true)
	o := testOptions(t)
	o.Replicates = 3
	o.Replicate = func(m int) Masker { return noisy{key: o.Key, columns: []int{0, 1, 2}, lambda: 1, replicate: m} }
	s, err := NewSnapshots(o, 2000)
	must(t, err)
	one := newAccumulator(t, o)
	var windows int64
	for from := 0; from < n; from += 500 {
		s.Add(table.block(from, from+500))
		one.Add(table.block(from, from+500))
		if !s.Due() {
			continue
		}
		if s.Pending() < 2000 || s.Pending() > 2500 {
			t.Errorf("due at %d records", s.Pending())
		}
		window, total, err := s.Take(context.Background())
		must(t, err)
		windows += window.Records
		if total.Records != windows || total.Records != one.records || s.Pending() != 0 {
			t.Errorf("windows hold %d records, the whole %d, of %d; %d pending", windows, total.Records, one.records, s.Pending())
		}
		if window.Sample != min(int(window.Records), o.Sample) {
			t.Errorf("%d in the window's sample", window.Sample)
		}
		// Both have all measures.
		for _, m := range []*Measures{window, total} {
			for _, r := range m.Column("income").Risk {
				if math.IsNaN(float64(r.R)) || r.Replicates != 3 {
					t.Errorf("%+v", r)
				}
			}
		}
	}
	if s.Taken() != 2 {
		t.Errorf("%d snapshots, want 2: 12 blocks of 497 records or so", s.Taken())
	}
	total, err := s.Total()
	must(t, err)
	sameAccumulator(t, total, one)
}

// A window's first extremes and the whole's are told apart: min and max of a
// window are its own.
func TestWindowsAreTheirOwn(t *testing.T) {
	o := Options{Columns: numbered(1), Key: testKey(t)}
	s, err := NewSnapshots(o, 10)
	must(t, err)
	blocks := normalBlocks(t, 1, 40_000, 20_000, 1)
	for i, b := range blocks {
		for j := range b.Columns[0].Original.Values {
			b.Columns[0].Original.Values[j] += float64(1000 * (1 - i))
		}
		s.Add(b)
		window, total, err := s.Take(context.Background())
		must(t, err)
		w, c := window.Column("c0"), total.Column("c0")
		if mean := float64(w.Original.Mean); math.Abs(mean-1100+float64(1000*i)) > 1 {
			t.Errorf("window %d: mean %v", i, mean)
		}
		if i == 1 && (float64(c.Original.Mean) < 599 || float64(c.Original.Mean) > 601 || c.Original.Max < 1000 || w.Original.Max > 900) {
			t.Errorf("whole: %+v, window: %+v", c.Original, w.Original)
		}
	}
}
