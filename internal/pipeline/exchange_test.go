package pipeline_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// population contains data for swaps, and an independent implementation of these swaps.
type population struct {
	x      []float64
	keys   []int
	kind   []int
	random *rand.Rand
}

func newPopulation(n int, seed uint64, keys int) *population {
	p := &population{random: rand.New(rand.NewPCG(seed, 4))}
	for range n {
		x := math.Round(100*math.Exp(8+1.2*p.random.NormFloat64())) / 100
		if p.random.IntN(8) == 0 {
			x = 1000 // many equal values; p10 is one of them
		}
		k := p.random.IntN(keys)
		if p.random.IntN(4) == 0 {
			k = p.random.IntN(2)
		}
		p.x, p.keys, p.kind = append(p.x, x), append(p.keys, k), append(p.kind, min(p.random.IntN(5), p.random.IntN(4)))
	}
	return p
}

// released swaps the records [from, to) as described in docs and in Duncan and Keller-McNulty
// (2000).
func (p *population) released(y []float64, from, to int, policy, scope string, rate float64) {
	byKey := map[int][]int{}
	count := map[[2]int]int{}
	for i := from; i < to; i++ {
		byKey[p.keys[i]] = append(byKey[p.keys[i]], i)
		count[[2]int{p.keys[i], p.kind[i]}]++
	}
	names := make([]int, 0, len(byKey))
	for key := range byKey {
		names = append(names, key)
	}
	slices.Sort(names)
	swap := func(i, j int) { y[i], y[j] = y[j], y[i] }
	for _, key := range names {
		group := byKey[key]
		p.random.Shuffle(len(group), func(i, j int) { group[i], group[j] = group[j], group[i] })
		free := map[int]bool{}
		heads := map[int]bool{}
		for _, i := range group {
			heads[i] = p.random.Float64() < rate
			free[i] = policy == "unique" || scope == "window" || heads[i]
		}
		partner := func(i int, from map[int]bool) int {
			var list []int
			for _, j := range group {
				if from[j] && p.kind[j] != p.kind[i] {
					list = append(list, j)
				}
			}
			if len(list) == 0 {
				return -1
			}
			return list[p.random.IntN(len(list))]
		}
		var left []int
		for _, i := range group {
			if !free[i] || policy == "unique" && count[[2]int{key, p.kind[i]}] > 1 {
				continue
			}
			j := partner(i, free)
			if j < 0 {
				left = append(left, i)
				continue
			}
			delete(free, i)
			delete(free, j)
			if policy == "random" && scope == "dataset" || heads[i] {
				swap(i, j)
			}
		}
		if policy == "random" && scope == "dataset" {
			others := map[int]bool{}
			for _, i := range group {
				others[i] = !heads[i]
			}
			for _, i := range left {
				if j := partner(i, others); j >= 0 {
					delete(others, j)
					if p.random.IntN(2) == 0 {
						swap(i, j)
					}
				}
			}
		}
	}
}

// With more records than the sample, R by index under a swap equals that of whole files that
// independent code has swapped many times: for the typical record, and for the records with the
// targets. The tolerance is five standard errors of these simulations (the mean over replicates of
// a rare exchange is skewed), plus two of the report's own.
func TestSwapByIndexIsThatOfWholeFiles(t *testing.T) {
	const n, window, replicates, rate = 3000, 500, 600, 0.4
	targets := []string{"min", "p10", "p50", "p90", "max"}
	for seed, c := range []struct {
		policy, scope string
		keys          int
	}{{"random", "dataset", 400}, {"unique", "window", 30}, {"random", "window", 60}, {"unique", "dataset", 500}} {
		t.Run(c.policy+" "+c.scope, func(t *testing.T) {
			p := newPopulation(n, uint64(seed)+1, c.keys)
			measured := p.report(t, c.policy, c.scope, rate, window, targets)
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.x[i], p.x[j]) })
			holders := []int{order[0], order[n/10-1], order[n/2-1], order[n*9/10-1], slices.Index(p.x, slices.Max(p.x))}
			var sum, squares [6]float64
			for range replicates {
				y := slices.Clone(p.x)
				size := n
				if c.scope == "window" {
					size = window
				}
				for from := 0; from < n; from += size {
					p.released(y, from, min(from+size, n), c.policy, c.scope, rate)
				}
				add := func(k int, v float64) { sum[k] += v; squares[k] += v * v }
				all := 0.0
				for i := range y {
					all += (y[i] - p.x[i]) * (y[i] - p.x[i]) / n
				}
				add(0, all)
				for k, i := range holders {
					add(k+1, (y[i]-p.x[i])*(y[i]-p.x[i]))
				}
			}
			for k, name := range append([]string{assess.TargetTypical}, targets...) {
				mean := sum[k] / replicates
				se := math.Sqrt(max(0, squares[k]/replicates-mean*mean) / replicates)
				for sampled, m := range measured {
					risk := m.Column("income").Risk
					r := risk[slices.IndexFunc(risk, func(r assess.Risk) bool { return r.Target == name && r.Knowledge == assess.KnowledgeIndex })]
					got, own := 1/float64(r.R), 0.0
					if se := float64(r.SE); se == se {
						own = se / float64(r.R) / float64(r.R)
					}
					if !(math.Abs(got-mean) <= 5*se+2*own+1e-9*mean) {
						t.Errorf("%s, sampled %v: E(x−y)² is %v ± %v, the simulations give %v ± %v", name, sampled, got, own, mean, se)
					}
				}
			}
		})
	}
}

// report runs the program over the population, with a sample of some records or of all.
func (p *population) report(t *testing.T, policy, scope string, rate float64, window int, targets []string) map[bool]*assess.Measures {
	t.Helper()
	dir := t.TempDir()
	var data strings.Builder
	data.WriteString("income,region,kind\n")
	for i, x := range p.x {
		fmt.Fprintf(&data, "%.2f,r%d,%c\n", x, p.keys[i], 'a'+rune(p.kind[i]))
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("in.csv", data.String())
	write("k", "MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n")
	out := map[bool]*assess.Measures{}
	for _, sampled := range []bool{true, false} {
		sample := "all"
		if sampled {
			sample = "300"
		}
		write("pipeline.yaml", strings.NewReplacer("DIR", dir, "POLICY", policy, "SCOPE", scope, "RATE", fmt.Sprint(rate), "SAMPLE", sample,
			"WINDOW", fmt.Sprint(window), "TARGETS", strings.Join(targets, ", ")).Replace(`version: 1
key: {file: DIR/k}
source: {csv: {path: DIR/in.csv}}
columns: {income: {role: sensitive}, region: {role: other}, kind: {role: other}}
masks: [{swap: {keys: [region], attribute: kind, columns: [income], rate: RATE, policy: POLICY, scope: SCOPE}}]
window: {records: WINDOW}
sink: {csv: {path: DIR/out.csv}}
assess: {replicates: 2, sample: SAMPLE, targets: [TARGETS]}
`))
		c, err := config.Load(filepath.Join(dir, "pipeline.yaml"), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		res, err := filejob.Run(context.Background(), c, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out[sampled] = &assess.Measures{Columns: res.Report.Columns}
	}
	return out
}
