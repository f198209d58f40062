package pipeline

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// movedRecords returns a plan with a swap over windows, its measurement, its records (all of them
// if sample is negative), and the exchange that was measured with it.
func movedRecords(t *testing.T, how string, sample, limit int) (*Plan, *Exchange, *Exchange, *assess.Accumulator,
	func(ctx context.Context) error) {
	t.Helper()
	pl, chain,
		key := plannedOf(t, columns+"masks: [{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, "+how+
		"}}]\nwindow: {records: 20}\nassess: {targets: [p10, p50, max], replicates: 2}\n")
	o, err := pl.assessOptions(key, chain)
	if err != nil {
		t.Fatal(err)
	}
	o.Sample = sample
	measured, err := assess.New(o)
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewExchange(chain, pl.Displacer, pl.Assessed, limit)
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewExchange(chain, chain.Displacer(), pl.Assessed, -1)
	if err != nil {
		t.Fatal(err)
	}
	pass := Flow{Source: pl.Source, Layout: pl.Layout, Cut: pl.Cut, Work: func(p *Parcel) error {
		if err := chain.Apply(p.Block); err != nil {
			return err
		}
		return x.displace(p.Block)
	}, Stages: []func(*Parcel) error{func(p *Parcel) error {
		measured.Add(p.Block)
		x.Add(p.Block)
		return nil
	}}}
	if err := pass.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return pl, x, again, measured, func(ctx context.Context) error {
		return x.Join(ctx, pl, chain, measured, key, new(Progress))
	}
}

// If not all records were kept, the records with the targets are searched for in the source. If the
// search is cancelled, the caller gets the error and no record has a target.
func TestTheSearchForHoldersEnds(t *testing.T) {
	_, x, _, _, join := movedRecords(t, "policy: random", 10, 7)
	if x.keepsAll || len(x.columns) != 1 {
		t.Fatalf("want an exchange that does not keep all records, got %+v", x)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := join(ended); !errors.Is(err, context.Canceled) || len(x.columns[0].holders) != 0 {
		t.Errorf("with an ended context, Join returns %v and the holders are %v, want none", err, x.columns[0].holders)
	}
	if err := join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(x.columns[0].holders)); len(got) == 0 {
		t.Error("no record was found that holds a target")
	}
}

// Displacement computed from the originals in an assessment equals displacement computed while they
// were read: each record has the same expectations.
func TestReplayedExchangesAreTheSame(t *testing.T) {
	for _, how := range []string{"policy: random", "policy: unique", "policy: random, scope: dataset"} {
		_, x, again, measured, _ := movedRecords(t, how, -1, -1)
		if err := again.Replay(measured, 20); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		got, want := again.columns[0].records, x.columns[0].records
		if len(want) < 40 || !slices.Equal(got, want) {
			t.Errorf("%s: %d records replayed and %d recorded while reading, want equal lists of at least 40", how, len(got),
				len(want))
		}
	}
}

// Deviations are added to the sums of their batches, for any number of blocks at once.
func TestDeviationsAreAdded(t *testing.T) {
	for n := range 10 {
		sums, want := make([]float64, n), make([]float64, n)
		for range 3 { // blocks
			batches := make([][]float32, n)
			for k := range batches {
				for i := range 5 {
					v := float32(1+k) / 4 * float32(i-1)
					batches[k], want[k] = append(batches[k], v), want[k]+float64(v)
				}
			}
			addDeviations(sums, batches)
		}
		if !slices.Equal(sums, want) {
			t.Errorf("sums of %d batches are %v, want %v", n, sums, want)
		}
	}
}
