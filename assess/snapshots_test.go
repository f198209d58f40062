package assess

import (
	"context"
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// Windows add up to the whole, which equals the accumulator of one pass.
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
			t.Errorf("windows hold %d records, the whole %d, of %d; %d pending", windows, total.Records, one.records,
				s.Pending())
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

// The extremes of a window are distinguished from those of the whole run: each window has its own
// min and max.
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
		if mean := float64(w.Original.Mean); !(math.Abs(mean-1100+float64(1000*i)) <= 1) {
			t.Errorf("window %d: mean %v", i, mean)
		}
		if i == 1 && (float64(c.Original.Mean) < 599 || float64(c.Original.Mean) > 601 || c.Original.Max < 1000 ||
			w.Original.Max > 900) {
			t.Errorf("whole: %+v, window: %+v", c.Original, w.Original)
		}
	}
}

// A snapshot is due after the configured number of records, from one on, and otherwise after
// 100,000.
func TestSnapshotsAreDue(t *testing.T) {
	table := makePairs(5, 20, false)
	for _, every := range []int64{1, 2, 7} {
		s, err := NewSnapshots(testOptions(t), every)
		must(t, err)
		for row := range 20 {
			s.Add(table.block(row, row+1))
			if pending := s.Pending(); s.Due() != (pending >= every) {
				t.Errorf("every %d: due at %d is %v", every, pending, s.Due())
			}
			if s.Due() {
				if _, _, err := s.Take(t.Context()); err != nil || s.Pending() != 0 {
					t.Fatalf("%d pending: %v", s.Pending(), err)
				}
			}
		}
		if want := int(20 / every); s.Taken() != want {
			t.Errorf("every %d: %d taken of 20 records, want %d", every, s.Taken(), want)
		}
	}
	for _, every := range []int64{0, -1} {
		if s, err := NewSnapshots(testOptions(t), every); err != nil || s.every != 100_000 {
			t.Errorf("every %d: %d, %v", every, s.every, err)
		}
	}
}

// A delta keeps no more of the order of the records than the accumulator that it is merged into: if
// the accumulator has thinned its levels, the delta is thinned from the start.
func TestDeltaIsThinnedFromTheStart(t *testing.T) {
	o := Options{Columns: []Column{{Name: "x", Masked: true}}, Key: testKey(t), OrderBins: 512, Sample: 50}
	a := newAccumulator(t, o)
	const n = 60_000
	blocks := normalBlocks(t, 1, n+20_000, 2_000, 1)
	for _, b := range blocks[:n/2_000] {
		a.Add(b)
	}
	d, err := a.Delta()
	must(t, err)
	plain := newAccumulator(t, o)
	for _, b := range blocks[n/2_000:] {
		d.Add(b)
		plain.Add(b)
	}
	size := func(a *Accumulator) int {
		var e wire.Encoder
		from := place.NewNumbering()
		a.columns[0].order.Number(from)
		a.columns[0].order.Encode(&e, from)
		return len(e)
	}
	if of, alone := size(d), size(plain); of >= alone {
		t.Errorf("a delta has %d bytes of the order, a separate accumulator %d", of, alone)
	}
}
