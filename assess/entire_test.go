package assess

import (
	"encoding/json"
	"math"
	"sync/atomic"
	"testing"
)

// If a mask gives a part of the records another result than all of them, it is assessed with
// replicates if the sample has all records, and otherwise with the release alone, which is one
// draw: it tells means over all records, and bounds nothing of one record. In a snapshot it stands for it.
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
	if whole, other := measures(true, -1, 5, false), measures(false, -1, 5, false); text(whole) != text(other) ||
		made.Load() == 0 {
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
			w := release.Risk[i]
			one := r.Knowledge == KnowledgeIndex || r.Knowledge == KnowledgePosition
			switch {
			case r.Replicates != 0 || !r.Approximate ||
				!(w.RealisedR == r.RealisedR || w.RealisedR != w.RealisedR && r.RealisedR != r.RealisedR):
				t.Errorf("%s: %+v, of the release %+v", what, r, w)
			case r.Target == TargetTypical: // a mean over records varies little
				if r.R != w.R || r.Errs != ErrsEither || !(r.SE > 0) {
					t.Errorf("%s: %+v, want that of the release, %+v", what, r, w)
				}
			case one && what == "a sample": // of one record one draw says nothing
				if !math.IsInf(float64(r.R), 1) || r.Errs != ErrsSafe {
					t.Errorf("%s: %+v, want an infinite R", what, r)
				}
			default: // of percentiles by the mean, a bound
				if r.R != w.R || r.Errs != ErrsEither && w.Errs != ErrsSafe {
					t.Errorf("%s: %+v, want that of the release, %+v", what, r, w)
				}
			}
			if bound := w.Target[0] == 'p' && what == "a sample"; w.Approximate != bound || (w.Errs == ErrsSafe) != bound {
				t.Errorf("%s, without replicates: %+v", what, w)
			}
		}
		u, w := got.Utility, release.Utility
		if !u.Approximate || u.Errs != ErrsEither || !(u.SE > 0) {
			t.Errorf("%s: utility %+v of one draw", what, u)
		}
		u.Approximate, u.Errs, u.SE = false, "", w.SE
		if got, want := text(&Measures{Columns: []ColumnMeasures{{Utility: u}}}), text(
			&Measures{Columns: []ColumnMeasures{{Utility: w}}}); got != want {
			t.Errorf("%s: utility %s, want %s", what, got, want)
		}
	}
	made.Store(0)
	if measures(true, 500, 5, false); made.Load() != 0 {
		t.Errorf("%d replicates were made on a part of the records", made.Load())
	}
	// A quick measure of few records uses all of them.
	blocks = blocks[:5]
	if whole, other := measures(true, -1, 5, true), measures(false, -1, 5, true); text(whole) != text(other) ||
		made.Load() == 0 {
		t.Error("a quick measure of few records is that of the release alone")
	}
}
