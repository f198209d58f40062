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
	"github.com/sdlfilter/sdlfilter/internal/racetest"
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

// means returns the means of the released values of a file, by the probabilities with which the records of the
// group hold the original of each. Those are the shares of the releases in which two records of two kinds are
// exchanged.
func (p *population) means(releases [][]int, size int) func(y []float64) []float64 {
	type place struct{ window, key, kind int }
	at := func(i, kind int) place { return place{i / size, p.keys[i], kind} }
	number, exchanged := map[place]float64{}, map[place]map[int]float64{}
	for i := range p.x {
		number[at(i, p.kind[i])]++
		exchanged[at(i, p.kind[i])] = map[int]float64{}
	}
	for _, from := range releases {
		for i, j := range from {
			if i != j {
				exchanged[at(i, p.kind[i])][p.kind[j]] += 1 / float64(len(releases))
			}
		}
	}
	return func(y []float64) []float64 {
		sums := map[place]float64{}
		for i, v := range y {
			sums[at(i, p.kind[i])] += v
		}
		means := make([]float64, len(y))
		for i, v := range y {
			own, stay := at(i, p.kind[i]), 1.0
			for kind, n := range exchanged[own] {
				each := n / number[own] / number[at(i, kind)]
				stay -= each * number[at(i, kind)]
				means[i] += each * sums[at(i, kind)]
			}
			means[i] += stay * v
		}
		return means
	}
}

// With more records than the sample, R by index under a swap equals that of whole files that
// independent code has swapped many times: for the typical record, and for the records with the
// targets. The snooper states the released value or the mean by his probabilities, whichever has the smaller expected
// square. The tolerance is five standard errors of these simulations (the mean over replicates of
// a rare exchange is skewed), plus two of the report's own, and what the error of the mean is lowered by in groups that
// are not enumerated, at most 2/9.
func TestSwapByIndexIsThatOfWholeFiles(t *testing.T) {
	racetest.Further(t)
	const n, window, replicates, rate = 3000, 500, 600, 0.4
	targets := []string{"min", "p10", "p50", "p90", "max"}
	for seed, c := range []struct {
		policy, scope string
		keys          int
	}{{"random", "dataset", 400}, {"unique", "window", 30}, {"random", "window", 60}, {"unique", "dataset", 500}} {
		if testing.Short() && seed < 2 {
			continue // the others have each policy and each scope
		}
		t.Run(c.policy+" "+c.scope, func(t *testing.T) {
			p := newPopulation(n, uint64(seed)+1, c.keys)
			measured := p.report(t, c.policy, c.scope, rate, window, targets)
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.x[i], p.x[j]) })
			holders := []int{order[0], order[n/10-1], order[n/2-1], order[n*9/10-1], slices.Index(p.x, slices.Max(p.x))}
			var sum, squares [2][6]float64
			size := n
			if c.scope == "window" {
				size = window
			}
			var releases [][]int
			for range replicates {
				places := make([]float64, n)
				for i := range places {
					places[i] = float64(i)
				}
				for from := 0; from < n; from += size {
					p.released(places, from, min(from+size, n), c.policy, c.scope, rate)
				}
				from := make([]int, n)
				for i, j := range places {
					from[i] = int(j)
				}
				releases = append(releases, from)
			}
			means := p.means(releases, size)
			for _, from := range releases {
				y := make([]float64, n)
				for i, j := range from {
					y[i] = p.x[j]
				}
				for way, stated := range [][]float64{y, means(y)} {
					add := func(k int, v float64) { sum[way][k] += v; squares[way][k] += v * v }
					all := 0.0
					for i, v := range stated {
						all += (v - p.x[i]) * (v - p.x[i]) / n
					}
					add(0, all)
					for k, i := range holders {
						add(k+1, (stated[i]-p.x[i])*(stated[i]-p.x[i]))
					}
				}
			}
			for k, name := range append([]string{assess.TargetTypical}, targets...) {
				way, lowered := 0, 0.0
				if sum[1][k] < 1.3*sum[0][k] {
					lowered = 2.0 / 9
				}
				if sum[1][k] < sum[0][k] {
					way = 1
				}
				mean := sum[way][k] / replicates
				se := math.Sqrt(max(0, squares[way][k]/replicates-mean*mean) / replicates)
				for sampled, m := range measured {
					risk := m.Column("income").Risk
					r := risk[slices.IndexFunc(risk, func(r assess.Risk) bool {
						return r.Target == name && r.Knowledge == assess.KnowledgeIndex
					})]
					got, own := 1/float64(r.R), 0.0
					if se := float64(r.SE); se == se {
						own = se / float64(r.R) / float64(r.R)
					}
					if !(math.Abs(got-mean) <= 5*se+2*own+1e-9*mean || got < mean && got >= (1-lowered)*mean-5*se-2*own) {
						t.Errorf("%s, sampled %v: E(x−y)² is %v ± %v, the simulations give %v ± %v", name, sampled, got, own, mean, se)
					}
				}
			}
		})
	}
}

// report runs the program over the population, with a sample of some records or of all.
func (p *population) report(t *testing.T, policy, scope string, rate float64, window int,
	targets []string) map[bool]*assess.Measures {
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
		write("pipeline.yaml",
			strings.NewReplacer("DIR", dir, "POLICY", policy, "SCOPE", scope, "RATE", fmt.Sprint(rate), "SAMPLE", sample,
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
