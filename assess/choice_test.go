package assess

import (
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// tail is masks whose effect on a mean comes from the few greatest values: the values beyond upper become other (NaN:
// upper), and then they are drawn anew from a normal distribution fitted to all that are masked together, or get noise.
type tail struct {
	noisy
	upper, other float64
	model        bool

	sum *momentsOf
}

func (m *tail) before(x float64) float64 {
	switch {
	case x <= m.upper:
		return x
	case m.other == m.other:
		return m.other
	}
	return m.upper
}

func (m *tail) NeedsSurvey() bool { return m.model }
func (m *tail) Survey(b *microdata.Block) error {
	for _, x := range b.Columns[0].Original.Values[:b.N] {
		m.sum.add(m.before(x), 0)
	}
	return nil
}

func (m *tail) Apply(b *microdata.Block) error {
	draws := make([]float64, b.N)
	m.key.Stream("noise", "c0", m.replicate).Normals(draws, keystream.Records{Stream: b.Stream, First: b.First})
	v := b.Columns[0].Mutable()
	for i, x := range v.Values {
		if v.Values[i] = m.before(x) + m.lambda*draws[i]; m.model {
			v.Values[i] = m.sum.mean + m.sum.sd()*draws[i]
		}
	}
	return nil
}

// keyOf returns a key for each number, so that each takes another sample.
func keyOf(t *testing.T, number int) keystream.Key {
	t.Helper()
	secret := make([]byte, 32)
	secret[0], secret[1] = byte(number), 7
	k, err := keystream.NewKey(secret)
	must(t, err)
	return k
}

// Where the change of a mean comes from few records, and which of them are in the sample decides, the release itself
// tells of all: behind a model, figures of the typical record by mean and by index hold within two standard errors for
// at least 85 % of the samples (of 100 that hold with 95 % fewer than 85 do with a probability of 10⁻⁵), and the upper
// end of R is above the truth in all but 10 (beyond 2.5 %: 10⁻⁴). The same upper end holds where noise follows a clip;
// R itself may be overstated there.
func TestFewRecordsDecideTheMean(t *testing.T) {
	const n, sample, samples = 1200, 400, 100
	x := make([]float64, n)
	key := testKey(t)
	key.Stream("x", "", 0).Normals(x, keystream.Records{})
	for i, z := range x {
		x[i] = math.Exp(1.2*z + 8)
	}
	sorted := slices.Sorted(slices.Values(x))
	for name, c := range map[string]tail{
		"category of the greatest, model": {upper: sorted[n*95/100], other: 90_000, model: true},
		"clip of the greatest, noise":     {upper: sorted[n*97/100], other: math.NaN(), noisy: noisy{lambda: 1000}},
	} {
		of := func(replicate int) *tail {
			m := c
			m.key, m.replicate, m.sum = key, replicate, &momentsOf{}
			return &m
		}
		// E ȳ and E(x − y)² over the draws, from sums over all records.
		var z, own momentsOf
		square := 0.0
		for _, v := range x {
			z.add(of(0).before(v), 0)
			own.add(v, 0)
		}
		for _, v := range x {
			if d := v - z.mean; c.model {
				square += (d*d + z.c/(n-1)) / n
			} else {
				d = v - of(0).before(v)
				square += (d*d + c.lambda*c.lambda) / n
			}
		}
		drawn := c.lambda * c.lambda / n
		if c.model {
			drawn = z.c / (n - 1) / n
		}
		mean := own.c/n + (z.mean-own.mean)*(z.mean-own.mean) + drawn
		within, above := map[string]int{}, map[string]int{}
		for s := range samples {
			a := newAccumulator(t, Options{
				Columns: []Column{{Name: "x", Masked: true, Fitted: c.model}}, Mixes: c.model, Sample: sample, Key: keyOf(t, s),
				Extremes: 5,
				Targets:  []string{"p50"}, Replicates: 60, Replicate: func(i int) Masker { return of(1 + 1000*(s+1) + i) },
			})
			b := new(microdata.Block)
			b.Reset(0, 0, n, 1)
			copy(b.Columns[0].Alloc(n, false).Values, x)
			m := of(1000 * (s + 1))
			must(t, m.Survey(b))
			must(t, m.Apply(b))
			a.Add(b)
			got := measured(t, a).Column("x")
			for _, r := range got.Risk {
				truth := map[[2]string]float64{{TargetTypical, KnowledgeMean}: mean,
					{TargetTypical, KnowledgeIndex}: square}[[2]string{r.Target, r.Knowledge}]
				if truth == 0 {
					continue
				}
				said := 1 / float64(r.R)
				se := float64(r.SE) * said * said
				if math.Abs(said-truth) <= 2*se {
					within[r.Knowledge]++
				}
				if said-truth > 2*se {
					above[r.Knowledge]++
				}
			}
		}
		for _, knowledge := range []string{KnowledgeMean, KnowledgeIndex} {
			if t.Logf("%s, %s: %d of %d within, %d above", name, knowledge, within[knowledge], samples,
				above[knowledge]); c.model && within[knowledge] < 85 || above[knowledge] > 10 {
				t.Errorf("%s, %s: %d of %d are within two standard errors, and %d true ones above the upper end", name, knowledge,
					within[knowledge], samples, above[knowledge])
			}
		}
	}
}
