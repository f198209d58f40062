package assess

import (
	"encoding/json"
	"math"
	"reflect"
	"sync/atomic"
	"testing"
)

// If a mask gives a part of the records another result than all of them, it is assessed with
// replicates if the sample has all records, and otherwise with the release alone, which is one
// draw.
func TestMasksOfAllRecordsAtOnce(t *testing.T) {
	const n = 6000 // more records than a replicate of a quick measure
	key := testKey(t)
	mask := noisy{key: key, columns: []int{0}, lambda: 3}
	blocks := normalBlocks(t, 2, n, 700, 3)
	var made atomic.Int64 // replicates are computed in parallel
	measures := func(entire bool, sample, replicates int, quick bool) *Measures {
		o := Options{
			Columns: []Column{{Name: "a", Masked: true}, {Name: "b", Index: 1}}, Targets: []string{"min", "p50", "p99", "max"},
			Sample: sample, Key: key, Replicates: replicates, Entire: entire,
			Replicate: func(m int) Masker { made.Add(1); r := mask; r.replicate = m; return r },
		}
		a := newAccumulator(t, o)
		for _, b := range blocks {
			a.Add(b)
		}
		made.Store(0)
		if quick {
			m, err := a.MeasureQuick(t.Context())
			must(t, err)
			return m
		}
		return measured(t, a)
	}
	text := func(m *Measures) string {
		s, err := json.Marshal(m)
		must(t, err)
		return string(s)
	}
	// The sample has all records: it makes no difference.
	if whole, other := measures(true, -1, 5, false), measures(false, -1, 5, false); text(whole) != text(other) || made.Load() == 0 {
		t.Errorf("the sample has all records, but the figures differ with Entire")
	}
	for what, m := range map[string][2]*Measures{
		"a sample":        {measures(true, 500, 5, false), measures(false, 500, 0, false)},
		"a quick measure": {measures(true, -1, 5, true), measures(false, -1, 0, true)},
	} {
		got, release := m[0].Column("a"), m[1].Column("a")
		if len(got.Risk) != len(release.Risk) || len(got.Risk) == 0 {
			t.Fatalf("%s: %d risks", what, len(got.Risk))
		}
		for i, r := range got.Risk {
			if r.R != r.RealisedR || r.Replicates != 0 || !r.Approximate || r.Errs != ErrsEither || !math.IsNaN(float64(r.SE)) {
				t.Errorf("%s: %+v", what, r)
			}
			w := release.Risk[i]
			if w.Approximate || w.Errs != "" {
				t.Errorf("%s, without replicates: %+v", what, w)
			}
			w.Approximate, w.Errs, w.SE, r.SE = true, ErrsEither, 0, 0
			if !reflect.DeepEqual(r, w) {
				t.Errorf("%s: %+v, want that of the release, %+v", what, r, w)
			}
		}
		if got, want := text(&Measures{Columns: []ColumnMeasures{{Utility: got.Utility}}}), text(&Measures{Columns: []ColumnMeasures{{Utility: release.Utility}}}); got != want {
			t.Errorf("%s: utility %s, want %s", what, got, want)
		}
	}
	made.Store(0)
	if measures(true, 500, 5, false); made.Load() != 0 {
		t.Errorf("%d replicates were made on a part of the records", made.Load())
	}
	// A quick measure of few records uses all of them.
	blocks = blocks[:5]
	if whole, other := measures(true, -1, 5, true), measures(false, -1, 5, true); text(whole) != text(other) || made.Load() == 0 {
		t.Error("a quick measure of few records is that of the release alone")
	}
}
