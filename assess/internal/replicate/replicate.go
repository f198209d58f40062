// Package replicate masks records with new draws, on subsets of the sample and on all cores,
// and returns statistics of every column in each replicate.
package replicate

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Question says what is to be computed for one masked column from every replicate.
type Question struct {
	Column  int
	slot    int // of the column in replicator.columns
	Targets []orderstat.Target
	// by target: the share of the data below the order statistic, if the subset does not have all of them; else nil
	Quantile []float64
	Index    []*sample.Extreme  // by target: the record that holds it; nil if the column is empty
	Fitted   orderstat.Selector // bins fitted to the column; copied by each worker
	Class    *Class             // the records to be evaluated; nil: all
	Between  bool               // whether Answer.Between is to be computed
}

// Class is a set of records of a subset that is evaluated by itself.
type Class struct {
	Rows   []int32
	X      map[int][]float64        // by masked column: original values, 0 where there is none
	Valid  map[int]microdata.Bitmap // nil where every record has a value
	Holder map[int][]int            // by masked column and target: the row of the class that holds it, −1: none
}

// Of gathers the class's values.
func (g *Class) Of(y []float64, buf *[]float64) []float64 {
	if cap(*buf) < len(g.Rows) {
		*buf = make([]float64, len(g.Rows))
	}
	out := (*buf)[:len(g.Rows)]
	for i, row := range g.Rows {
		out[i] = y[row]
	}
	return out
}

// Answer holds the statistics of one column in one replicate.
type Answer struct {
	N          float64   // number of records with a released value, without records added to the subset
	Mean       float64   // ȳ
	Variance   float64   // s², divisor n−1
	Both       float64   // number of records with both values
	Diff       float64   // mean of y−x
	SquareDiff float64   // mean of (x−y)²
	Position   []float64 // by target: the same order statistic of the released values
	Linked     []float64 // by target: y_t, NaN where it is null

	// Between is the mean of (x−y)(x−y′), where y′ is from another replicate of the same
	// records. Since the draws are independent, its expectation is the mean square of a record's
	// expected change by the masks. NaN if it was not requested, and for the first of two
	// replicates.
	Between float64
}

// Masker is the masks of one point; see assess.Masker.
type Masker interface {
	NeedsSurvey() bool
	Survey(b *microdata.Block) error
	EndSurvey() error
	Apply(b *microdata.Block) error
}

// Trial describes the masks to be replicated, at one point or at several.
type Trial struct {
	Of               sample.Layout // of the subsets' records
	Mixes            bool          // whether a mask moves values between records
	Points           int
	From, Replicates int
	Each             func(m int) []Masker // of replicate m, by point
	Done             func(points int)     // after each replicate; may be nil
}

// Run runs the replicates of a trial, the i-th (from 0) on subset
// i mod len(subsets), on all cores, and returns the answers by point, replicate
// and question. Each replicate has its own place in the result, which so does not
// depend on the number of cores.
func Run(ctx context.Context, e Trial, subsets []*Subset, questions []Question) ([][][]Answer, error) {
	answers := make([][][]Answer, e.Points)
	for p := range answers {
		answers[p] = make([][]Answer, e.Replicates)
	}
	turns := turnsOf(e.Replicates, len(subsets), questions)
	workers := min(runtime.GOMAXPROCS(0), len(turns))
	errs := make([]error, workers)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			defer bug.Guard()
			r := newReplicator(&e, questions)
			for !failed.Load() {
				turn := int(next.Add(1)) - 1
				if turn >= len(turns) {
					return
				}
				if err := r.take(ctx, turns[turn], subsets, answers); err != nil {
					errs[w] = err
					failed.Store(true)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// replicator is the scratch of one worker.
type replicator struct {
	trial     *Trial
	questions []Question
	selectors []orderstat.Selector
	placings  [][]orderstat.Placing // of the selectors, by point: released values have a different spread at each
	columns   []int                 // that occur in questions
	block     microdata.Block
	valid     []microdata.Bitmap
	kept      [][]float64 // by slot, if a replicate has several stretches or nulls
	released  [][]float64 // by slot
	holes     []bool      // by slot: whether some released value is missing
	part      []float64   // of a group
	compact   []float64
	ranks     []int
	order     []float64
	between   []float64
	second    bool        // whether the replicate is the second of two on the same records
	earlier   [][]float64 // by question that needs them: the released values of the first
}

func newReplicator(e *Trial, questions []Question) *replicator {
	r := &replicator{trial: e, questions: slices.Clone(questions),
		valid: make([]microdata.Bitmap, len(e.Of.Columns)+len(e.Of.Carry))}
	for k := range r.questions {
		q := &r.questions[k]
		r.selectors = append(r.selectors, q.Fitted)
		if q.slot = slices.Index(r.columns, q.Column); q.slot < 0 {
			q.slot = len(r.columns)
			r.columns = append(r.columns, q.Column)
		}
	}
	r.placings = make([][]orderstat.Placing, e.Points)
	for p := range r.placings {
		for k := range r.selectors {
			r.placings[p] = append(r.placings[p], r.selectors[k].Placing)
		}
	}
	r.kept, r.released, r.holes = make([][]float64, len(r.columns)), make([][]float64, len(r.columns)),
		make([]bool, len(r.columns))
	return r
}

// run masks a subset with the masks of a point and answers every question about it.
func (r *replicator) run(point int, mask Masker, s *Subset) ([]Answer, error) {
	if err := r.mask(mask, s); err != nil {
		return nil, err
	}
	answers := make([]Answer, len(r.questions))
	values := make([]float64, 2*len(r.questions)*len(r.questions[0].Targets))
	for k := range r.questions {
		q, a := &r.questions[k], &answers[k]
		n := len(q.Targets)
		a.Linked, a.Position, values = values[:n:n], values[n:2*n:2*n], values[2*n:]
		x, y, valid := s.Values[q.Column], r.released[q.slot], s.Valid[q.Column]
		low, high := math.Inf(1), math.Inf(-1)
		if q.Class != nil {
			y = q.Class.Of(y, &r.part)
			x, valid = q.Class.X[q.Column], q.Class.Valid[q.Column]
			for t, row := range q.Class.Holder[q.Column] {
				a.Linked[t] = math.NaN()
				if row >= 0 {
					a.Linked[t] = y[row]
				}
			}
		} else {
			for t, e := range q.Index {
				a.Linked[t] = math.NaN()
				if e != nil {
					a.Linked[t] = y[s.index[e]]
				}
			}
			low, high = ends(y[s.Size:])
			x, y = x[:s.Size], y[:s.Size]
		}
		r.pair(k, a, x, y, valid)
		var least, most float64
		if r.holes[q.slot] || valid != nil {
			least, most = ends(y)
			y = a.partial(x, y, valid, r)
		} else {
			least, most = a.moments(x, y)
		}
		low, high = min(low, least), max(high, most)
		if r.trial.Mixes && q.Class == nil && len(s.Values[q.Column]) > s.Size {
			a.exchanged(s.Values[q.Column], r.released[q.slot], s.Valid[q.Column])
		}
		r.selectors[k].Placing = r.placings[point][k]
		r.positions(k, y, low, high, a.Position)
		r.placings[point][k] = r.selectors[k].Placing
	}
	return answers, nil
}

// mask applies the masks to a subset and leaves the released values in r.released.
func (r *replicator) mask(mask Masker, s *Subset) error {
	if mask.NeedsSurvey() {
		for _, stretch := range s.Runs {
			s.Present(&r.block, r.trial.Of, stretch, r.valid)
			if err := mask.Survey(&r.block); err != nil {
				return err
			}
		}
		if err := mask.EndSurvey(); err != nil {
			return err
		}
	}
	total := len(s.Values[0])
	clear(r.holes)
	for _, stretch := range s.Runs {
		s.Present(&r.block, r.trial.Of, stretch, r.valid)
		if err := mask.Apply(&r.block); err != nil {
			return err
		}
		for k, c := range r.columns {
			out := r.block.Columns[r.trial.Of.Index(c)].Out()
			if len(s.Runs) == 1 && out.Valid == nil && r.block.Whole() {
				r.released[k] = out.Values
				continue
			}
			if cap(r.kept[k]) < total {
				r.kept[k] = make([]float64, total)
			}
			r.released[k] = r.kept[k][:total]
			to := r.released[k][stretch.From:stretch.To]
			copy(to, out.Values)
			for i := range to {
				if !out.Valid.Has(i) || r.block.Rejected(i) {
					to[i] = math.NaN()
					r.holes[k] = true
				}
			}
		}
	}
	return nil
}

// positions writes the order statistics of y for the targets. If y represents more
// data than it has, order statistics are interpolated between the midpoints (i−½)/n
// (Hazen), so that the size of a subset causes no bias; extremes are those of the
// subset together with the records added to it.
func (r *replicator) positions(k int, y []float64, low, high float64, out []float64) {
	q := &r.questions[k]
	r.ranks, r.between = r.ranks[:0], r.between[:0]
	for t, target := range q.Targets {
		if target.Extremal() || len(y) == 0 {
			continue
		}
		h := float64(target.Rank(len(y)))
		if q.Quantile != nil {
			h = q.Quantile[t]*float64(len(y)) + 0.5
		}
		h = max(1, min(h, float64(len(y))))
		i := int(h)
		r.ranks = append(r.ranks, i-1, min(i, len(y)-1))
		r.between = append(r.between, h)
	}
	slices.Sort(r.ranks)
	r.ranks = slices.Compact(r.ranks)
	r.order = append(r.order[:0], make([]float64, len(r.ranks))...)
	r.selectors[k].Ranks(y, r.ranks, r.order)
	next := 0
	for t, target := range q.Targets {
		switch {
		case len(y) == 0:
			out[t] = math.NaN()
		case target.Minimum():
			out[t] = low
		case target.Maximum():
			out[t] = high
		default:
			h := r.between[next]
			next++
			i, _ := slices.BinarySearch(r.ranks, int(h)-1)
			out[t] = r.order[i]
			if f := h - math.Floor(h); f > 0 && i+1 < len(r.order) {
				out[t] += f * (r.order[i+1] - r.order[i])
			}
		}
	}
}

// ends returns the least and greatest value that is not NaN.
func ends(y []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range y {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	return low, high
}

// moments sets mean, variance and differences, from records that all have both
// values, and returns the least and the greatest released value.
func (a *Answer) moments(x, y []float64) (low, high float64) {
	n := len(y)
	x = x[:n]
	centre := 0.0
	for i, v := range y[:min(n, cell.Run)] {
		centre += (v - centre) / float64(i+1)
	}
	var s0, s1, q0, q1, d0, d1, e0, e1 float64
	low, high = math.Inf(1), math.Inf(-1)
	i := 0
	for ; i+1 < n; i += 2 {
		a, b := y[i], y[i+1]
		if a < low {
			low = a
		}
		if a > high {
			high = a
		}
		if b < low {
			low = b
		}
		if b > high {
			high = b
		}
		u, v := a-centre, b-centre
		d, e := a-x[i], b-x[i+1]
		s0 += u
		s1 += v
		q0 += u * u
		q1 += v * v
		d0 += d
		d1 += e
		e0 += d * d
		e1 += e * e
	}
	if i < n {
		if y[i] < low {
			low = y[i]
		}
		if y[i] > high {
			high = y[i]
		}
		u, d := y[i]-centre, y[i]-x[i]
		s0 += u
		q0 += u * u
		d0 += d
		e0 += d * d
	}
	a.N, a.Both = float64(n), float64(n)
	a.fill(centre, s0+s1, q0+q1, d0+d1, e0+e1)
	return low, high
}

func (a *Answer) fill(centre, s, q, d, e float64) {
	a.Mean = centre + s/a.N
	a.Variance = math.NaN()
	if a.N > 1 {
		a.Variance = max(0, q-s*s/a.N) / (a.N - 1)
	}
	a.Diff, a.SquareDiff = d/a.Both, e/a.Both
}

// exchanged sets the difference of the means over the records of the subset and the
// records added to it together, if a mask moves values between records: a subset record
// may have received an extreme from an added one, and the records of the subset alone
// would then show a bias of the mean that does not exist.
func (a *Answer) exchanged(x, y []float64, valid microdata.Bitmap) {
	var before, after, xs, ys float64
	for i, v := range y {
		if v == v {
			after++
			ys += v - x[0]
		}
		if valid.Has(i) {
			before++
			xs += x[i] - x[0]
		}
	}
	a.Both, a.Diff = after, ys/after-xs/before
}

// partial is moments if some values are missing; it returns the released values that
// are not missing.
func (a *Answer) partial(x, y []float64, valid microdata.Bitmap, r *replicator) []float64 {
	r.compact = r.compact[:0]
	var d, e float64
	for i, v := range y {
		if v != v {
			continue
		}
		r.compact = append(r.compact, v)
		if valid.Has(i) {
			a.Both++
			d += v - x[i]
			e += (v - x[i]) * (v - x[i])
		}
	}
	a.N = float64(len(r.compact))
	if a.N == 0 {
		a.Mean, a.Variance, a.Diff, a.SquareDiff = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		return nil
	}
	centre := r.compact[0]
	var s, q float64
	for _, v := range r.compact {
		s += v - centre
		q += (v - centre) * (v - centre)
	}
	a.fill(centre, s, q, d, e)
	return r.compact
}
