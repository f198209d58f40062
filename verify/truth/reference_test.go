package truth

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// figure is a mean squared error, in the square of the column's unit, with its standard error; R or
// U is its reciprocal.
type figure struct {
	value, se float64
	// most: of an exchange, brute force takes the value linked to the target. The program's snooper
	// also takes the mean over the possible holders, and the figure is that of the nearest.
	most bool
}

// targets of every cell; extremes and percentiles in both tails.
var targets = []string{"min", "p01", "p10", "p50", "p90", "p99", "max"}

// Names of figures without a target. Those of a target are "p10 index" and so on.
const (
	typicalMean  = "typical mean"
	typicalIndex = "typical index"
	utility      = "U"         // 1/U, eq. 14
	gateUtility  = "U (gate)"  // the same with s_x² if that is greater
	meanBias     = "bias of ȳ" // not a square: E ȳ − x̄ itself
)

// rank is k = ⌈np⌉ of a target, at least 1.
func rank(target string, n int) int {
	switch target {
	case "min":
		return 1
	case "max":
		return n
	}
	p, _ := strconv.ParseFloat(target[1:], 64)
	return max(1, int(math.Ceil(p/100*float64(n)-1e-9)))
}

// tally is the mean of squared errors over replicates, with its standard error.
type tally struct{ n, sum, squares float64 }

func (t *tally) add(v float64) {
	t.n++
	t.sum += v
	t.squares += v * v
}

func (t *tally) merge(o tally) {
	t.n += o.n
	t.sum += o.sum
	t.squares += o.squares
}

func (t *tally) mean() float64 { return t.sum / t.n }

// variance of one term.
func (t *tally) variance() float64 {
	return max(0, t.squares-t.sum*t.sum/t.n) / (t.n - 1)
}

func (t *tally) figure() figure {
	return figure{value: t.mean(), se: math.Sqrt(t.variance() / t.n)}
}

// bruteForce contains the results of whole-file replicates of a chain on a file.
type bruteForce struct {
	f       *file
	c       chain
	seed    string
	m       int // replicates
	draws   int // of quantities that depend on one record only
	holders []int
	shared  []bool // whether other records have the target's value too
	top     []int  // records with a large share of the mean square get more draws
}

// replicates runs them and returns every figure by name, or those of an earlier run if the folder
// given by -references contains them.
func (b *bruteForce) replicates() map[string]figure {
	if *referencesFlag == "" {
		return b.marked(b.reckon())
	}
	id := fnv.New64a()
	fmt.Fprintln(id, b.seed, b.c, b.m, b.draws, b.f.name, b.f.mean, b.f.s2, len(b.f.x), b.f.many, b.f.few, b.f.attribute)
	path := filepath.Join(*referencesFlag, fmt.Sprintf("%016x.json", id.Sum64()))
	kept := map[string][2]float64{}
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &kept) == nil {
		figures := map[string]figure{}
		for name, v := range kept {
			figures[name] = figure{value: v[0], se: v[1]}
		}
		return b.marked(figures)
	}
	figures := b.reckon()
	for name, v := range figures {
		kept[name] = [2]float64{v.value, v.se}
	}
	if text, err := json.Marshal(kept); err == nil {
		os.WriteFile(path, text, 0o600) // without it the next run takes longer
	}
	return b.marked(figures)
}

// marked tells the figures by index of a chain with an exchange, where brute force is an upper end.
func (b *bruteForce) marked(figures map[string]figure) map[string]figure {
	if !slices.ContainsFunc(b.c, func(m mask) bool {
		own, ok := m.(black)
		_, exchanges := m.(swap)
		return exchanges || ok &&
			(strings.Contains(own.text, "{swap") || strings.Contains(own.text, "{recordswap") ||
				strings.Contains(own.text, "{rankswap") || strings.Contains(own.text, "{shuffle"))
	}) {
		return figures
	}
	for name, v := range figures {
		if strings.HasSuffix(name, " index") {
			v.most = true
			figures[name] = v
		}
	}
	return figures
}

func (b *bruteForce) reckon() map[string]figure {
	b.find()
	const workers = 2
	parts := make([]part, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			parts[w] = newPart(len(targets))
			for m := w; m < b.m; m += workers {
				b.one(&parts[w], generator(b.seed+strconv.Itoa(m)))
			}
		})
	}
	wait.Wait()
	for _, p := range parts[1:] {
		parts[0].merge(p)
	}
	return b.figures(&parts[0])
}

// find determines the records with the targets (among equal values the first ones in the order of
// the file, according to the rank), and those with the greatest values.
func (b *bruteForce) find() {
	x := b.f.x
	order := b.f.ascending()
	for _, t := range targets {
		k := rank(t, len(order)) - 1
		b.holders = append(b.holders, order[k])
		alike := k > 0 && x[order[k-1]] == x[order[k]] || k+1 < len(order) && x[order[k+1]] == x[order[k]]
		b.shared = append(b.shared, alike)
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if u, v := math.Abs(x[i]), math.Abs(x[j]); u > v {
			return -1
		} else if u < v {
			return 1
		}
		return 0
	})
	if !b.c.mixes() {
		b.top = order[:min(200, len(order))]
	}
}

// part is the result of some of the replicates.
type part struct {
	mean, scaled                tally // ȳ − x̄ and s²/n
	typicalMean, rest           tally
	byMean, byIndex, byPosition []tally
	cross                       float64 // Σ (ȳ − x̄)·s²/n
	y                           []float64
	values                      []float64
}

func newPart(targets int) part {
	return part{byMean: make([]tally, targets), byIndex: make([]tally, targets), byPosition: make([]tally, targets)}
}

func (p *part) merge(o part) {
	p.mean.merge(o.mean)
	p.scaled.merge(o.scaled)
	p.typicalMean.merge(o.typicalMean)
	p.rest.merge(o.rest)
	p.cross += o.cross
	for t := range p.byMean {
		p.byMean[t].merge(o.byMean[t])
		p.byIndex[t].merge(o.byIndex[t])
		p.byPosition[t].merge(o.byPosition[t])
	}
}

// one makes one replicate of the whole file.
func (b *bruteForce) one(p *part, g *rand.Rand) {
	x := b.f.x
	p.y = append(p.y[:0], x...)
	b.c.apply(p.y, b.f, g)
	p.values = p.values[:0]
	var square, both float64
	for i, v := range p.y {
		if v == v {
			p.values = append(p.values, v)
			if d := v - x[i]; d == d {
				both++
				square += d * d
			}
		}
	}
	for _, i := range b.top {
		d := p.y[i] - x[i]
		square -= d * d
	}
	p.rest.add(square / both)
	mean, s2 := moments(p.values)
	drift, scaled := mean-b.f.mean, s2/b.f.n()
	p.mean.add(drift)
	p.scaled.add(scaled)
	p.cross += drift * scaled
	p.typicalMean.add(b.f.population + drift*drift)
	ranks := make([]int, len(targets))
	for t, name := range targets {
		ranks[t] = rank(name, len(p.values)) - 1
	}
	at := orderStatistics(p.values, ranks)
	for t := range targets {
		tau := x[b.holders[t]]
		p.byMean[t].add((tau - mean) * (tau - mean))
		p.byPosition[t].add((tau - at[t]) * (tau - at[t]))
		if b.c.mixes() {
			if d := tau - p.y[b.holders[t]]; d == d {
				p.byIndex[t].add(d * d)
			}
		}
	}
}

func (b *bruteForce) figures(p *part) map[string]figure {
	out := map[string]figure{typicalMean: p.typicalMean.figure()}
	g := generator(b.seed + "records")
	typical := p.rest.figure()
	value, variance := typical.value, typical.se*typical.se
	if len(b.top) > 0 {
		n := b.f.n()
		for _, i := range b.top {
			one := b.record(b.f.x[i], b.draws/10, g)
			value += one.mean() / n
			variance += one.variance() / one.n / (n * n)
		}
	}
	out[typicalIndex] = figure{value: value, se: math.Sqrt(variance)}
	for t, name := range targets {
		out[name+" mean"] = p.byMean[t].figure()
		out[name+" position"] = p.byPosition[t].figure()
		switch {
		case !b.c.mixes():
			index := b.record(b.f.x[b.holders[t]], b.draws, g)
			out[name+" index"] = index.figure()
		case !b.shared[t]: // which of several records is the target determines its partners
			out[name+" index"] = p.byIndex[t].figure()
		}
	}
	// 1/U = E s²/n + (E ȳ − x̄)²; the square of the mean over replicates is too large by the
	// variance of that mean.
	m := p.mean.n
	drift, noise := p.mean.mean(), p.mean.variance()/p.mean.n
	square := max(0, drift*drift-noise)
	covariance := (p.cross - p.mean.sum*p.scaled.sum/m) / (m - 1)
	se := func(scaled, covariance float64) float64 {
		slope := 2 * math.Copysign(math.Sqrt(square), drift)
		return math.Sqrt(max(0, scaled+slope*slope*p.mean.variance()+2*slope*covariance)/m + 2*noise*noise)
	}
	out[utility] = figure{value: p.scaled.mean() + square, se: se(p.scaled.variance(), covariance)}
	if own := b.f.s2 / b.f.n(); own > p.scaled.mean() {
		out[gateUtility] = figure{value: own + square, se: se(0, 0)}
	} else {
		out[gateUtility] = out[utility]
	}
	out[meanBias] = figure{value: drift, se: math.Sqrt(noise)}
	return out
}

// record returns (x − y)² of one value over many draws of the chain.
func (b *bruteForce) record(x float64, draws int, g *rand.Rand) tally {
	y := make([]float64, draws)
	for i := range y {
		y[i] = x
	}
	b.c.apply(y, b.f, g)
	var t tally
	for _, v := range y {
		t.add((x - v) * (x - v))
	}
	return t
}

// orderStatistics returns the values at the given ranks (from 0, ascending) by partitioning; it
// reorders values.
func orderStatistics(values []float64, ranks []int) []float64 {
	out := make([]float64, len(ranks))
	from := 0
	for k, r := range ranks {
		nth(values[from:], r-from)
		out[k] = values[r]
		from = r
	}
	return out
}

// nth moves the k-th smallest value to place k, with no greater value before it and no smaller one
// after it: Hoare's selection.
func nth(v []float64, k int) {
	lo, hi := 0, len(v)-1
	for lo < hi {
		a, b, c := v[lo], v[(lo+hi)/2], v[hi]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}
