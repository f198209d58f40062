package referee

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// SinglingOut holds the attacks by predicates that hold for exactly one released record: they succeed where they hold
// for exactly one original record. Equal records count once.
type SinglingOut struct {
	Univariate   *Outcome `json:"univariate" doc:"predicates about one column: a value that occurs once, the least or the greatest number"`
	Multivariate *Outcome `json:"multivariate" doc:"predicates about three columns (all, if there are fewer) of a released record: its categories, and numbers at least or at most its own, away from the median"`
}

// mostTries is how many predicates are tried for each that is wanted.
const mostTries = 200

// atOnce is the number of predicates that are counted at a time.
const atOnce = 2048

func (r *run) singlingOut(ctx context.Context) error {
	stop := func() bool { return ctx.Err() != nil }
	columns := make([]int, len(r.d.Columns))
	for j := range columns {
		columns[j] = j
	}
	release := newFinder(r.d, Released, columns, stop)
	if err := ctx.Err(); err != nil {
		return err
	}
	rng := r.draws(1)
	modes := []struct {
		sought []predicate
		random []predicate
	}{{}, {}}
	var err error
	if modes[0].sought, err = release.univariate(ctx, columns, r.o.Attempts, rng); err != nil {
		return err
	}
	size := min(mostConditions, len(columns))
	if modes[1].sought, err = release.multivariate(ctx, columns, size, r.o.Attempts, rng); err != nil {
		return err
	}
	modes[0].random = release.random(columns, 1, len(modes[0].sought), rng)
	modes[1].random = release.random(columns, size, len(modes[1].sought), rng)
	original := newFinder(r.d, Original, columns, stop)
	var control *finder
	if r.d.Len(Control) > 0 {
		control = newFinder(r.d, Control, columns, stop)
	}
	outcomes := make([]*Outcome, len(modes))
	for k, m := range modes {
		if outcomes[k], err = r.singled(ctx, m.sought, m.random, original, control); err != nil {
			return err
		}
	}
	r.r.SinglingOut = &SinglingOut{Univariate: outcomes[0], Multivariate: outcomes[1]}
	return nil
}

// singled evaluates the predicates on original and control records.
func (r *run) singled(ctx context.Context, sought, random []predicate, original, control *finder) (*Outcome, error) {
	if len(sought) == 0 {
		return &Outcome{Not: "no predicate was found that holds for one released record alone"}, nil
	}
	ones := func(list []predicate, f *finder) (*Rate, error) {
		counts, err := f.counts(ctx, list, 1)
		n := 0.0
		for _, c := range counts {
			if c == 1 {
				n++
			}
		}
		return rate(len(list), n, r.z), err
	}
	attack, err := ones(sought, original)
	if err != nil {
		return nil, err
	}
	baseline, err := ones(random, original)
	if err != nil || control == nil {
		return r.outcome(attack, baseline, nil), err
	}
	limit := 1
	if control.records != original.records {
		limit = math.MaxInt
	}
	counts, err := control.counts(ctx, sought, limit)
	if err != nil {
		return nil, err
	}
	o := r.outcome(attack, baseline,
		rate(len(sought), min(float64(len(sought)), singledIn(counts, control.records, original.records)), r.z))
	if len(sought) < r.o.Attempts {
		o.Not = "fewer predicates than attempts hold for one released record alone"
	}
	return o, nil
}

// counts returns how many records each predicate holds for, up to one above limit.
func (f *finder) counts(ctx context.Context, list []predicate, limit int) ([]int, error) {
	counts := make([]int, len(list))
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(parallel())
	for from := 0; from < len(list); from += 64 {
		g.Go(func() error {
			defer bug.Guard()
			for k := from; k < min(from+64, len(list)); k++ {
				if err := within.Err(); err != nil {
					return err
				}
				counts[k] = f.count(&list[k], limit)
			}
			return nil
		})
	}
	return counts, g.Wait()
}

// univariate returns up to n predicates about one column that hold for one record alone, in random order.
func (f *finder) univariate(ctx context.Context, columns []int, n int, rng *rand.Rand) ([]predicate, error) {
	var list []predicate
	add := func(column int, op operator, v float64) {
		list = append(list, predicate{1, [mostConditions]condition{{column, op, v}}})
	}
	for _, j := range columns {
		v, order := f.d.Columns[j].Sides[f.side], f.order[j]
		starts := f.values(j)
		for k, from := range starts {
			to := int32(f.records)
			if k+1 < len(starts) {
				to = starts[k+1]
			}
			x := v.at(order[from])
			switch alone := to-from == 1; {
			case x != x && alone:
				add(j, isMissing, 0)
			case x != x || !alone:
			default:
				add(j, equal, x)
				if f.d.Columns[j].Numeric && from == 0 {
					add(j, atMost, x)
				}
				if f.d.Columns[j].Numeric && int(to) == f.present[j] {
					add(j, atLeast, x)
				}
			}
		}
	}
	for i := range min(n, len(list)) { // the first n of a random order
		k := i + rng.IntN(len(list)-i)
		list[i], list[k] = list[k], list[i]
	}
	return list[:min(n, len(list))], ctx.Err()
}

// multivariate returns up to n predicates of random records about size columns each that hold for one record alone.
func (f *finder) multivariate(ctx context.Context, columns []int, size, n int, rng *rand.Rand) (found []predicate,
	err error) {
	rows := f.order[columns[0]]
	medians := make([]float64, len(f.d.Columns))
	for _, j := range columns {
		medians[j] = f.median(j)
	}
	known := map[predicate]bool{}
	for tried := 0; tried < mostTries*n && len(found) < n; tried += atOnce {
		var batch []predicate
		for range atOnce {
			p := f.of(rows[rng.IntN(len(rows))], chosen(columns, size, rng), medians)
			if !known[p] {
				known[p] = true
				batch = append(batch, p)
			}
		}
		counts, err := f.counts(ctx, batch, 1)
		if err != nil {
			return nil, err
		}
		for k, c := range counts {
			if c == 1 && len(found) < n {
				found = append(found, batch[k])
			}
		}
	}
	return found, nil
}

// of returns the predicate of a record about some columns.
func (f *finder) of(record int32, columns []int, medians []float64) (p predicate) {
	for _, j := range columns {
		c := condition{column: j, op: equal, value: f.d.Columns[j].Sides[f.side].at(record)}
		switch {
		case c.value != c.value:
			c.op, c.value = isMissing, 0
		case f.d.Columns[j].Numeric && c.value > medians[j]:
			c.op = atLeast
		case f.d.Columns[j].Numeric:
			c.op = atMost
		}
		p.conditions[p.n] = c
		p.n++
	}
	return p
}

// random returns n predicates of random values and comparisons about size columns each.
func (f *finder) random(columns []int, size, n int, rng *rand.Rand) []predicate {
	starts := make([][]int32, len(f.d.Columns))
	list := make([]predicate, n)
	for i := range list {
		p := &list[i]
		for _, j := range chosen(columns, size, rng) {
			if starts[j] == nil {
				starts[j] = f.values(j)
			}
			at := starts[j][rng.IntN(len(starts[j]))]
			c := condition{column: j, value: f.d.Columns[j].Sides[f.side].at(f.order[j][at])}
			switch {
			case c.value != c.value:
				c.op, c.value = []operator{isMissing, isPresent}[rng.IntN(2)], 0
			case f.d.Columns[j].Numeric:
				c.op = []operator{equal, unequal, above, below, atLeast, atMost}[rng.IntN(6)]
			default:
				c.op = []operator{equal, unequal}[rng.IntN(2)]
			}
			p.conditions[p.n] = c
			p.n++
		}
	}
	return list
}

// chosen returns size of the columns, ascending.
func chosen(columns []int, size int, rng *rand.Rand) []int {
	list := slices.Clone(columns)
	for i := range size {
		k := i + rng.IntN(len(list)-i)
		list[i], list[k] = list[k], list[i]
	}
	slices.Sort(list[:size])
	return list[:size]
}

// singledIn returns how many predicates are expected to hold for exactly one of n records, by the numbers of the m
// control records that they hold for. If n is at most m, it is the mean over all samples of n control records. If it is
// above, weights are extrapolated: the number of m control records has a Poisson distribution whose mean is gamma
// distributed over the predicates (a negative binomial one), fitted to how many predicates hold for none, one, two, and
// more. Giomi et al. (2023) assume uniform weights there, which predicates that hold for one released record do not
// have: of their own law they would find few in a larger file.
func singledIn(counts []int, m, n int) (expected float64) {
	if n <= m {
		for _, c := range counts {
			expected += oneOf(c, n, m)
		}
		return expected
	}
	var seen [4]float64
	for _, c := range counts {
		seen[min(c, 3)]++
	}
	t := float64(n) / float64(m)
	most := math.Inf(-1)
	const steps = 60
	for i := range steps {
		shape := math.Exp2(float64(i)/4 - 7) // 2⁻⁷ to 2⁷·⁷⁵: from weights that differ as much as they can to equal ones
		for k := range steps {
			mean := math.Exp2(float64(k)/4 - 10) // 2⁻¹⁰ to 2⁴·⁷⁵ control records a predicate
			rate := shape / mean
			var p [4]float64
			p[0] = math.Pow(rate/(rate+1), shape)
			p[1] = p[0] * shape / (rate + 1)
			p[2] = p[1] * (shape + 1) / 2 / (rate + 1)
			p[3] = max(1e-300, 1-p[0]-p[1]-p[2])
			likelihood := 0.0
			for c, times := range seen {
				likelihood += times * math.Log(max(1e-300, p[c]))
			}
			if likelihood > most {
				most = likelihood
				expected = float64(len(counts)) * math.Pow(rate/(rate+t), shape) * shape * t / (rate + t)
			}
		}
	}
	return expected
}

// oneOf returns the probability that a sample of size out of m records has exactly one of c of them.
func oneOf(c, size, m int) float64 {
	if c == 0 || size == 0 || m-c < size-1 {
		return 0
	}
	return float64(c) * math.Exp(choose(m-c, size-1)-choose(m, size))
}

// choose returns the logarithm of a binomial coefficient.
func choose(n, k int) float64 {
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return lgamma(n) - lgamma(k) - lgamma(n-k)
}
