package loss

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/golden"
)

// Every measure agrees with that of an independent script on the same data, with gaps
// on both sides.
func TestReferenceMeasures(t *testing.T) {
	ref := golden.ReadReference(t)
	p := Pair{Names: []string{"income", "spending", "savings", "hours"}}
	for _, name := range p.Names {
		p.Original, p.Released = append(p.Original, ref.Numeric[name]), append(p.Released, ref.Masked[name])
	}
	u, err := Measure(t.Context(), p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := ref.Utility
	near(t, "IL1", u.Change.IL1, want.IL1, 0)
	near(t, "IL1s", u.IL1s, want.IL1s, 0)
	near(t, "IL1s per cell", u.IL1sPerCell, want.PerCell, 0)
	near(t, "eigen", *u.Eigen, want.Eigen, 0)
	for j, name := range p.Names {
		c := u.Columns[j]
		for _, m := range []struct {
			what string
			got  Moments
			want golden.Moments
		}{{name, c.Original, want.Moments[name]}, {"released " + name, c.Released, want.ReleasedMoments[name]}} {
			near(t, "mean of "+m.what, *m.got.Mean, m.want.Mean, 0)
			near(t, "SD of "+m.what, *m.got.SD, m.want.SD, 0)
			if m.got.Missing != m.want.Missing {
				t.Errorf("%s: %d missing, want %d", m.what, m.got.Missing, m.want.Missing)
			}
		}
		for l := range p.Names {
			near(t, "covariance", u.Structure.CovarianceOriginal[j][l], want.CovarianceOriginal[j][l],
				math.Sqrt(want.CovarianceOriginal[j][j]*want.CovarianceOriginal[l][l]))
			near(t, "released covariance", u.Structure.CovarianceReleased[j][l], want.CovarianceReleased[j][l],
				math.Sqrt(want.CovarianceReleased[j][j]*want.CovarianceReleased[l][l]))
		}
	}
	widths := []float64{0.05, 0.1, 0.2, 0.5, 1}
	risk, err := IntervalOf(p, widths)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Interval) != len(widths) {
		t.Fatalf("%d widths", len(want.Interval))
	}
	for k, share := range want.Interval {
		near(t, "interval "+k, risk.Risk[k], share, 0)
	}
}
