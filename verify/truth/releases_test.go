package truth

import (
	"context"
	"crypto/sha256"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// releases masks a file again and again with the program's own masks, under keys of their own: the truth of what a
// report says about masks that are not written down a second time here. Nothing of the assessment takes part.
type releases struct {
	plan *pipeline.Plan
	x    int // place of the column in blocks
	n    int
}

// releases opens the file of a job for them.
func (j job) releases(t testing.TB) *releases {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(j.path), "draws")
	if err != nil {
		t.Fatal(err)
	}
	j.replicates, j.sample = 2, 100
	p := j.configuration(t, dir)
	src, err := pipeline.OpenSource(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	pl, err := (&pipeline.Job{Config: p, Source: src}).Plan()
	if err != nil {
		t.Fatal(err)
	}
	if err := pl.Settle(context.Background(), new(pipeline.Progress)); err != nil {
		t.Fatal(err)
	}
	r := &releases{plan: pl, n: len(j.f.x)}
	for _, c := range pl.Columns {
		if c.Name == "x" {
			r.x = c.Index
		}
	}
	return r
}

// draw returns the released values of one release, NaN where there is none.
func (r *releases) draw(t testing.TB, m int) []float64 {
	t.Helper()
	secret := sha256.Sum256([]byte("draw " + strconv.Itoa(m)))
	key, err := keystream.NewKey(secret[:])
	if err != nil {
		t.Fatal(err)
	}
	chain, err := r.plan.BuildChain(key)
	if err != nil {
		t.Fatal(err)
	}
	r.plan.Displacer = nil // which computes the expectations of swaps
	if chain.NeedsSurvey() {
		if err := r.plan.Survey(context.Background(), chain, new(pipeline.Progress)); err != nil {
			t.Fatal(err)
		}
		if err := r.plan.EndSurvey(context.Background(), chain); err != nil {
			t.Fatal(err)
		}
	}
	y := make([]float64, 0, r.n)
	pass := pipeline.Flow{
		Source: r.plan.Source, Layout: r.plan.Layout, Cut: r.plan.Cut,
		Work: func(p *pipeline.Parcel) error { return chain.Apply(p.Block) },
		Stages: []func(*pipeline.Parcel) error{func(p *pipeline.Parcel) error {
			out := p.Block.Columns[r.x].Out()
			for i := range p.Block.N {
				v := math.NaN()
				if out.Valid.Has(i) && !p.Block.Rejected(i) {
					v = out.Values[i]
				}
				y = append(y, v)
			}
			return nil
		}},
	}
	if err := pass.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return y
}
