package transform

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/displacement"
)

// displacedInParts lets Displacers survey consecutive parts of the columns and one of them decide.
// It returns the results of all parts under these decisions, concatenated.
func displacedInParts(t *testing.T, of func() *displacement.Displacer, ends []int, columns ...testColumn) (
	all []microdata.Moved) {
	t.Helper()
	whole, from, found := of(), 0, make([][]byte, len(ends))
	for i, end := range ends {
		part := of()
		for at := from; at < end; at += 100 {
			if err := part.Survey(block(at, min(at+100, end), columns...)); err != nil {
				t.Fatal(err)
			}
		}
		found[i], from = part.MarshalSurvey(), end
		if err := whole.MergeSurvey(found[i], int64(len(columns[0].Values))); err != nil {
			t.Fatal(err)
		}
	}
	whole.EndSurvey()
	from = 0
	for i, end := range ends {
		decided, err := whole.MarshalDecisions(found[i])
		if err != nil {
			t.Fatal(err)
		}
		part := of()
		if err := part.UseDecisions(decided); err != nil {
			t.Fatal(err)
		}
		all = append(all, displacedBy(t, part, from, end, columns...)...)
		from = end
	}
	return all
}

// displacedBy returns the results of a Displacer, record by record.
func displacedBy(t *testing.T, d *displacement.Displacer, from, end int, columns ...testColumn) (
	all []microdata.Moved) {
	t.Helper()
	for ; from < end; from += 100 {
		b := block(from, min(from+100, end), columns...)
		if err := d.Apply(b); err != nil {
			t.Fatal(err)
		}
		m := &b.Columns[0].Moved
		for i := range b.N {
			one := microdata.Moved{Stay: m.Stay[i : i+1], Square: m.Square[i : i+1], Noise: m.Noise[i : i+1],
				Weight: m.Weight[i : i+1], Total: m.Total[i : i+1],
				Likeliest: m.Likeliest[i : i+1], Mean: m.Mean[i : i+1]}
			for _, batch := range m.Deviations {
				one.Deviations = append(one.Deviations, batch[i:i+1])
			}
			all = append(all, one)
		}
	}
	return all
}

// A survey in parts, cut anywhere, gives each record the same result as one survey of all records:
// with closed forms and with draws, for one swap and for two, if the parts consist of whole
// windows.
func TestDisplacementInParts(t *testing.T) {
	const n = 900
	columns := displacementData(n, 4, 0.5, true)
	setup := testSetup(t, columns...)
	setup.Window = 100
	noise := mask(&Noise{Columns: []string{"a"}, SD: amount(3)})
	drawn := mask(&Round{Columns: []string{"a"}, Base: ptr(5.0)})
	for i, masks := range [][]Spec{
		{noise, mask(swapMask("random", "dataset", 0.7))},
		{noise, mask(swapMask("unique", "dataset", 0.9))},
		{noise, drawn, mask(swapMask("random", "dataset", 0.4))},
		{noise, mask(swapMask("random", "dataset", 0.4)), mask(swapMask("unique", "window", 0.8))},
	} {
		name := []string{"closed", "unique", "drawn", "twice"}[i]
		of := func() *displacement.Displacer { return chain(t, setup, masks...).Displacer() }
		one := of()
		if err := one.Survey(block(0, n, columns...)); err != nil {
			t.Fatal(err)
		}
		one.EndSurvey()
		want := displacedBy(t, one, 0, n, columns...)
		draw := rand.New(rand.NewPCG(1, 2))
		for k, parts := range []int{1, 2, 7, 40} {
			if testing.Short() && (i+k)%2 > 0 {
				continue // each number of parts for two chains
			}
			ends := []int{0, n} // the first part is empty
			for len(ends) < parts {
				ends = append(ends, 100*draw.IntN(n/100+1))
			}
			slices.Sort(ends)
			got := displacedInParts(t, of, ends, columns...)
			moving := 0
			for i := range want {
				if !sameMoved(&got[i], &want[i]) {
					t.Fatalf("%s in %d: of record %d %+v, want %+v", name, parts, i, got[i], want[i])
				}
				if want[i].Stay[0] < 1 {
					moving++
				}
			}
			if len(got) != n || moving == 0 {
				t.Errorf("%s in %d: %d records, %d of which may move", name, parts, len(got), moving)
			}
		}
	}
}

// sameMoved compares the results for one record. Sums differ in order and centre: values of some
// thousands have squares of 1e7, each rounded by 1e-9, while a mean square is at least 100,000, or
// 9 for the noise. Deviations are stored as float32.
func sameMoved(a, b *microdata.Moved) bool {
	same := func(a, b []float64) bool {
		return math.Abs(a[0]-b[0]) <= 1e-8*(1+math.Abs(b[0])) || a[0] != a[0] && b[0] != b[0]
	}
	for k := range b.Deviations {
		if len(a.Deviations) != len(b.Deviations) ||
			!(math.Abs(float64(a.Deviations[k][0]-b.Deviations[k][0])) <= 1e-4*(1+math.Abs(float64(b.Deviations[k][0])))) {
			return false
		}
	}
	noise := math.Abs(a.Noise[0]-b.Noise[0]) <= 1e-8*b.Noise[0]+1e-14*b.Square[0]*b.Square[0] ||
		a.Noise[0] != a.Noise[0] && b.Noise[0] != b.Noise[0]
	return same(a.Stay, b.Stay) && same(a.Square, b.Square) && noise && same(a.Weight, b.Weight) &&
		same(a.Total, b.Total) &&
		same(a.Likeliest, b.Likeliest) && same(a.Mean, b.Mean)
}

// Truncated and extended bytes are errors, wherever they are cut. Changed bytes do no harm.
// Decisions require surveys that were read before.
func TestDisplacementInPartsThatAreNone(t *testing.T) {
	columns := displacementData(60, 2, 0.5, true)
	of := func() *displacement.Displacer {
		return chain(t, testSetup(t, columns...), mask(&Noise{Columns: []string{"a"}, SD: amount(3)}),
			mask(swapMask("random", "dataset", 0.7))).Displacer()
	}
	surveyed := func(from, to int) []byte {
		d := of()
		if err := d.Survey(block(from, to, columns...)); err != nil {
			t.Fatal(err)
		}
		return d.MarshalSurvey()
	}
	found := surveyed(0, 30)
	whole := of()
	if err := whole.MergeSurvey(found, 30); err != nil {
		t.Fatal(err)
	}
	whole.EndSurvey()
	decided, err := whole.MarshalDecisions(found)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whole.MarshalDecisions(surveyed(30, 60)); err == nil {
		t.Error("decided of records that were not surveyed")
	}
	for what, c := range map[string]struct {
		text []byte
		take func(d *displacement.Displacer, text []byte) error
	}{
		"survey":   {found, func(d *displacement.Displacer, text []byte) error { return d.MergeSurvey(text, 30) }},
		"decision": {decided, (*displacement.Displacer).UseDecisions},
	} {
		for k := range c.text {
			if err := c.take(of(), c.text[:k]); err == nil {
				t.Fatalf("%s: cut off after %d of %d bytes", what, k, len(c.text))
			}
			other := slices.Clone(c.text)
			other[k] ^= 0xff
			_ = c.take(of(), other)
		}
		if err := c.take(of(), append(slices.Clone(c.text), 0)); err == nil {
			t.Errorf("%s: a byte too much", what)
		}
	}
	if err := of().MergeSurvey(found, 29); !errors.Is(err, decision.ErrOtherRecords) {
		t.Errorf("of fewer records: %v", err)
	}
	decidedElsewhere := of()
	if err := decidedElsewhere.UseDecisions(decided); err != nil {
		t.Fatal(err)
	}
	if err := decidedElsewhere.Apply(block(30, 60, columns...)); err == nil {
		t.Error("Apply returned no error for records that were not in the survey")
	}
}
