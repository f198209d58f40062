package inversion

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform"
)

// Determined is the inversion of a column whose categories follow from other released columns.
const Determined Kind = "determined"

const (
	// enough is the number of records from which the frequencies of a stratum are a prior by
	// themselves: their standard error is then at most 0.05.
	enough = 100.0
	// told is the probability from which a category counts as told by other columns.
	told = 0.99
	// leastGain is the gain of the log-likelihood from which other records confirm that strata
	// tell something.
	leastGain = 4
)

// weights are the trial weights of the coarser stratum, in records.
var weights = []float64{0.01, 0.1, 1, 3, 10, 30, 100, 300, 1000}

// Told replaces the posterior of each result by that of an intruder who sees all released columns
// beside it, and knows the joint frequencies of the originals. With π the frequencies of the
// original categories in the stratum of records that agree in all other columns, and P the matrix
// of all masks on the column,
//
//	P(k | l, stratum) = π_k P_kl / Σ_m π_m P_ml
//
// and the posterior is the greatest one of any record. Columns that are masked themselves are taken
// as they are released.
//
// In a stratum of few records these frequencies are the records' own: with one record, the
// posterior would always be 1. So the columns come one after another, in the order of what each
// tells by itself, and a stratum has the frequencies of its other records, with those of the
// coarser stratum (without the last column) in a weight of m records. m is, for each column, the
// weight under which the records are likeliest, each given all others: near 0 if the column
// determines the category even in strata of two records. Where no weight makes them likelier, what
// the strata show is chance, and the column is left out, alone and together with others that are
// left out. The frequencies of a stratum are taken as they are from 100 records and from 10·m on, and
// where it differs from others by more than chance. In the other ones, and on a sample in all, the share of the
// likeliest category is taken two standard errors higher.
func Told(ctx context.Context, masks []transform.Spec, columns []CategoryColumn, keys map[string][]int32, beside []Key,
	whole bool, list []CategoryResult) error {
	for i := range columns {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &columns[i]
		k, ok := kernelOf(masks, c, keys)
		if !ok {
			continue
		}
		t := &teller{c: c, k: k, whole: whole}
		for _, b := range beside {
			if b.Name == c.Name {
				continue
			}
			if len(b.Codes) != len(c.Original) {
				return fmt.Errorf("column %q: must have as many records as %q", b.Name, c.Name)
			}
			t.beside = append(t.beside, b)
		}
		if err := t.settle(ctx); err != nil {
			return err
		}
		t.judge(&list[i])
	}
	return nil
}

// teller computes the posteriors of one column.
type teller struct {
	c      *CategoryColumn
	k      *kernel
	whole  bool
	beside []Key
	levels []level

	codes        []int32   // the original categories
	at           []int32   // by cell: the place of its category in codes
	joint, share []float64 // by category: room for a posterior
}

// level is a partition of the records by the first columns in order.
type level struct {
	names   []string // the columns that it has beyond the level before
	stratum []int32
	size    []int32 // by stratum, of the records with an original category
	pair    []int32 // by record: its stratum and cell
	count   []int32 // by pair
	cells   []int32 // by pair
	first   []int32 // by stratum, the first of its pairs in order
	order   []int32 // the pairs by stratum
	weight  float64 // of the coarser stratum; infinite: this one tells nothing, and is no level
	gain    float64
	apart   []bool // by stratum: its own frequencies are beyond chance
}

// of makes the level of a partition.
func (t *teller) of(names []string, stratum []int32, n int) level {
	l := level{names: names, stratum: stratum, size: make([]int32, n), first: make([]int32, n+1), weight: math.Inf(1)}
	var pairs int
	l.pair, pairs = joined(stratum, t.k.cell)
	l.count, l.cells, l.order = make([]int32, pairs), make([]int32, pairs), make([]int32, pairs)
	of := make([]int32, pairs)
	for i, s := range stratum {
		p, cell := l.pair[i], t.k.cell[i]
		if l.cells[p], of[p] = cell, s; cell >= 0 {
			l.size[s]++
			l.count[p]++
		}
	}
	for _, s := range of {
		l.first[s+1]++
	}
	for s := range n {
		l.first[s+1] += l.first[s]
	}
	next := slices.Clone(l.first)
	for p, s := range of {
		l.order[next[s]] = int32(p)
		next[s]++
	}
	return l
}

// pairsOf returns the pairs of a stratum.
func (l *level) pairsOf(s int32) []int32 { return l.order[l.first[s]:l.first[s+1]] }

// given returns the probability of a record's cell by the other records of its stratum and, with
// a weight, by the coarser one.
func (l *level) given(i int, weight, coarser float64) float64 {
	return (float64(l.count[l.pair[i]]-1) + weight*coarser) / (float64(l.size[l.stratum[i]]-1) + weight)
}

// mostWeighed is the number of records that weights are tried on.
const mostWeighed = 50_000

// weigh finds the weight of the coarser stratum, given the probability of each record's cell there,
// and returns these probabilities at this level.
func (t *teller) weigh(l *level, coarser []float64) []float64 {
	n := len(l.stratum)
	step := max(1, n/mostWeighed)
	best := leastGain / float64(step)
	for _, m := range weights {
		gain := 0.0
		for i := 0; i < n; i += step {
			if t.k.cell[i] >= 0 {
				gain += math.Log(l.given(i, m, coarser[i]) / coarser[i])
			}
		}
		if gain > best {
			best, l.weight, l.gain = gain, m, gain
		}
	}
	if math.IsInf(l.weight, 1) {
		return coarser
	}
	finer := slices.Clone(coarser)
	for i, cell := range t.k.cell {
		if cell >= 0 {
			finer[i] = l.given(i, l.weight, coarser[i])
		}
	}
	l.setApart(t.k.cell, finer, coarser)
	return finer
}

// setApart finds the strata whose own frequencies, with a weight of one record, make them likelier
// than the level's weight does, by more than the greatest of as many strata would by chance.
func (l *level) setApart(cells []int32, finer, coarser []float64) {
	gain := make([]float64, len(l.size))
	for i, s := range l.stratum {
		if cells[i] >= 0 {
			gain[s] += math.Log(l.given(i, 1, coarser[i]) / finer[i])
		}
	}
	l.apart = make([]bool, len(l.size))
	for s, v := range gain {
		l.apart[s] = v > leastGain+math.Log(float64(len(gain)))
	}
}

// settle orders the columns by what each tells and makes the levels.
func (t *teller) settle(ctx context.Context) error {
	n := len(t.c.Original)
	all := t.of(nil, make([]int32, n), 1)
	own := make([]float64, n)
	for i, cell := range t.k.cell {
		if cell >= 0 {
			own[i] = float64(all.count[all.pair[i]]) / float64(all.size[0])
		}
	}
	type candidate struct {
		level
		key Key
	}
	var single []candidate
	for _, b := range t.beside {
		if err := ctx.Err(); err != nil {
			return err
		}
		codes, strata := joined(all.stratum, b.Codes)
		if strata < 2 {
			continue
		}
		l := t.of([]string{b.Name}, codes, strata)
		t.weigh(&l, own)
		single = append(single, candidate{l, b})
	}
	slices.SortStableFunc(single, func(a, b candidate) int {
		switch {
		case a.gain != b.gain && a.gain > b.gain:
			return -1
		case a.gain != b.gain:
			return 1
		}
		return len(a.size) - len(b.size)
	})
	t.levels = []level{all}
	stratum := all.stratum
	var left []candidate
	for _, next := range single {
		if err := ctx.Err(); err != nil {
			return err
		}
		codes, strata := joined(stratum, next.key.Codes)
		l := t.of([]string{next.key.Name}, codes, strata)
		if own = t.weigh(&l, own); math.IsInf(l.weight, 1) {
			left = append(left, next)
			continue
		}
		t.levels = append(t.levels, l)
		stratum = codes
	}
	// Columns that tell nothing one by one may tell together.
	slices.SortStableFunc(left, func(a, b candidate) int { return len(a.size) - len(b.size) })
	var together []string
	for i, next := range left {
		if err := ctx.Err(); err != nil {
			return err
		}
		together = append(together, next.key.Name)
		var strata int
		if stratum, strata = joined(stratum, next.key.Codes); i == 0 {
			continue // has been tried
		}
		if strata == n {
			break // every record by itself
		}
		l := t.of(slices.Clone(together), stratum, strata)
		if own = t.weigh(&l, own); !math.IsInf(l.weight, 1) {
			t.levels = append(t.levels, l)
		}
	}
	return nil
}

// exact reports whether the frequencies of a record's stratum are a prior by themselves.
func (l *level) exact(i int) bool {
	s := l.stratum[i]
	return float64(l.size[s]) >= max(enough, 10*l.weight) || l.apart != nil && l.apart[s]
}

// prior returns the prior of record i over the cells at a level, and the variance factor of its
// shares: 0 where they are exact.
func (t *teller) prior(i, level int) (prior []float64, factor float64) {
	prior = make([]float64, len(t.k.of))
	from := level // the deepest level with enough records
	for from > 0 && !t.levels[from].exact(i) {
		from--
	}
	for j := from; j <= level; j++ {
		l := &t.levels[j]
		s := l.stratum[i]
		size := float64(l.size[s])
		if j == from {
			for _, p := range l.pairsOf(s) {
				if cell := l.cells[p]; cell >= 0 {
					prior[cell] = float64(l.count[p]) / size
				}
			}
			if !t.whole {
				factor = 1 / size
			}
			continue
		}
		own, all := t.k.cell[i], size-1+l.weight
		for cell := range prior {
			prior[cell] *= l.weight / all
		}
		for _, p := range l.pairsOf(s) {
			if cell := l.cells[p]; cell == own {
				prior[cell] += float64(l.count[p]-1) / all
			} else if cell >= 0 {
				prior[cell] += float64(l.count[p]) / all
			}
		}
		factor = 1 / (all + 1)
	}
	return prior, factor
}

// posterior returns the likeliest original category given a place of the law, and its probability
// with its prior two standard errors higher.
func (t *teller) posterior(prior []float64, factor float64, place int) (best int32, p float64) {
	t.index()
	joint, share, total := t.joint, t.share, 0.0
	clear(joint)
	clear(share)
	for cell, q := range prior {
		if q > 0 {
			x, v := t.at[cell], q*t.k.law[cell][place]
			joint[x], share[x], total = joint[x]+v, share[x]+q, total+v
		}
	}
	if !(total > 0) {
		return -1, 0
	}
	likeliest := -1
	for x, v := range joint {
		if share[x] > 0 && (likeliest < 0 || v > joint[likeliest] || v == joint[likeliest] && t.codes[x] < best) {
			likeliest, best = x, t.codes[x]
		}
	}
	own, rest := joint[likeliest], total-joint[likeliest]
	if q := share[likeliest]; factor > 0 && q > 0 && q < 1 {
		up := min(1, q+2*math.Sqrt(q*(1-q)*factor))
		own, rest = own*up/q, max(0, rest)*(1-up)/(1-q)
	}
	return best, own / (own + rest)
}

// index numbers the original categories.
func (t *teller) index() {
	if t.at != nil {
		return
	}
	t.at = make([]int32, len(t.k.of))
	known := map[int32]int32{}
	for cell, x := range t.k.of {
		at, there := known[x]
		if !there {
			at = int32(len(t.codes))
			known[x], t.codes = at, append(t.codes, x)
		}
		t.at[cell] = at
	}
	t.joint, t.share = make([]float64, len(t.codes)), make([]float64, len(t.codes))
}

// judge sets the posterior, and fails a column that others determine: of the records whose
// category does not follow from the released one alone, more than half are told by all of them.
func (t *teller) judge(r *CategoryResult) {
	type asked struct{ level, stratum, place, cell int32 }
	type answer struct {
		x int32
		p float64
	}
	memo := map[asked]answer{}
	find := func(i, j int, place int32) answer {
		l := &t.levels[j]
		at := asked{int32(j), l.stratum[i], place, t.k.cell[i]}
		if j == 0 || l.exact(i) {
			at.cell = -1
		}
		a, there := memo[at]
		if !there {
			prior, factor := t.prior(i, j)
			a.x, a.p = t.posterior(prior, factor, int(place))
			memo[at] = a
		}
		return a
	}
	greatest, some := 0.0, false
	open, known, right := 0, 0, 0
	for i, y := range t.c.Released {
		if y < 0 || t.k.cell[i] < 0 {
			continue
		}
		place := int32(t.k.places[y])
		a := find(i, len(t.levels)-1, place)
		if a.x < 0 {
			continue
		}
		greatest, some = max(greatest, a.p), true
		if find(i, 0, place).p >= told {
			continue
		}
		open++
		if a.p >= told {
			known++
			if a.x == t.c.Original[i] {
				right++
			}
		}
	}
	if !some {
		return
	}
	r.Posterior = &greatest
	for _, l := range t.levels[1:] {
		for _, name := range l.names {
			if !slices.Contains(r.Tells, name) {
				r.Tells = append(r.Tells, name)
			}
		}
	}
	if r.Passed && 2*known > open && len(r.Tells) > 0 {
		r.Passed, r.By, r.Recovered = false, Determined, right
	}
}
