package exchange

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Shuffle gives the values of its columns to other records: each record draws from the
// distribution of the columns given those of On, and takes the value whose rank the draw has.
// Muralidhar and Sarathy (2006), Data shuffling: a new masking approach for numerical data,
// Management Science 52, section 4. The columns keep their distributions, and their rank
// correlations with one another and with On; given On, the released values of a record are
// independent of its own values.
type Shuffle struct {
	Columns []string `yaml:"columns" doc:"the columns to mask, together"`
	On      []string `yaml:"on" doc:"numeric columns that are not shuffled and whose rank correlations with the shuffled columns are kept; without them values are shuffled at random"`
}

// Check implements Params.
func (m *Shuffle) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	if n := len(m.Columns) + len(m.On); n > core.GreatestColumns {
		ps.Addf("on", "must leave at most %d columns together with those that are shuffled, got %d", core.GreatestColumns, n)
	}
	if len(m.On) > 0 {
		core.CheckColumns(&ps, "on", m.On, "column")
	}
	for i, name := range m.On {
		if k := slices.Index(m.Columns, name); k >= 0 && name != "" {
			ps.Addf(fmt.Sprintf("on[%d]", i), "must not be one of the columns that are masked, got %q, which is columns[%d]",
				name, k)
		}
	}
	return ps
}

func (m *Shuffle) checkAmong(masks []core.Spec, i int) check.Problems {
	return core.CheckDataset(masks, i, "columns", "")
}

// Describe implements Params.
func (m *Shuffle) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeDataset, Reads: m.readColumns(), NumbersRead: "on", Numbers: m.On, Permutes: true,
		Parameters: m.parameters,
		Action:     m.action, Published: m, Instead: "a swap of scope window, or noise, which takes each record by itself",
		Among: m.checkAmong,
	}
}

// Masks implements Params.
func (m *Shuffle) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Shuffle) Reads() []string { return slices.Clone(m.On) }

func (m *Shuffle) readColumns() []core.ReadColumn {
	var list []core.ReadColumn
	for i, name := range m.On {
		list = append(list, core.ReadColumn{Field: fmt.Sprintf("on[%d]", i), Name: name, As: "what a shuffle goes by"})
	}
	return list
}

func (m *Shuffle) Compile(c *core.Chain, i int) (core.Step, error) {
	s, err := gathered.NewOn(c, i, &shuffling{}, core.Part("shuffle")+c.DigestOf("on", m.On...), m.On)
	if err != nil {
		return nil, err
	}
	for _, col := range s.Columns {
		s.DrawsNormals(c, col.Name, col.Done.Text)
	}
	return s, nil
}

func (m *Shuffle) parameters() []core.Parameter {
	if len(m.On) == 0 {
		return nil
	}
	return []core.Parameter{{Name: "on", Value: core.JsonWords(m.On)}}
}

func (m *Shuffle) action(string, float64) core.Action {
	if m.Columns == nil {
		return nil
	}
	return core.Shuffling{On: m.On}
}

// PublishedAction implements Publishing.
func (m *Shuffle) PublishedAction(p core.Published, _ string) core.Action {
	return core.Shuffling{On: p.List("on")}
}

// Words implements Publishing.
func (m *Shuffle) Words(p core.Published, _ string) string {
	s := "shuffling: the values of the mask's columns were given to other records, in the order of draws from a model"
	if on := p.List("on"); on != nil {
		s += " that goes by " + strings.Join(on, ", ")
	}
	return s
}

// EfficiencyFollows implements Publishing: the column keeps its values.
func (m *Shuffle) EfficiencyFollows(_, _ func(string) bool) bool { return true }

// shuffling is the arithmetic of Shuffle.
type shuffling struct{ fits *gathered.Fits }

// Most implements Masker: besides each value there are a word, a score and a rank.
func (*shuffling) Most() int { return gathered.MaxCells / 4 }

func (*shuffling) Takes() (record, value int64) { return 0, 52 }

func (s *shuffling) MaskAll(g *gathered.Data) *decision.Refusal {
	if !slices.ContainsFunc(g.Strata, func(s int32) bool { return s >= 0 }) {
		return nil // every record was rejected
	}
	of := gathered.Digest{}
	if g.Trial {
		of = g.Sum()
		s.fits.Begin(of, g.N*(len(g.Values)+len(g.On)))
	}
	if err := g.CheckColumns(s.fits, of); err != nil {
		return err
	}
	found := gathered.Once(g.Trials(s.fits), gathered.FitKey{Of: of, What: fitDraws}, g.Stop,
		func() shuffleFit { return fitShuffle(g) })
	if g.Stop.Now() {
		return nil
	}
	if found.err != nil {
		return found.err
	}
	own := &shuffler{}
	if g.Trial {
		own = shuffleScratch.Get().(*shuffler)
		defer shuffleScratch.Put(own)
	}
	draws := own.draw(g, &found)
	for k, values := range g.Values {
		if g.Stop.Now() {
			return nil
		}
		at := gathered.FitKey{Of: of, Column: k, What: fitRanks}
		order := gathered.Once(g.Trials(s.fits), at, g.Stop, func() valuesInOrder {
			return byValueOf(values, g.Strata, g.Stop)
		})
		own.give(&order, values, draws[k], g.Stop)
	}
	return nil
}

// shuffleFit is what draws go by, or says why there are none.
type shuffleFit struct {
	means  [][]float64 // by column and record: the draw's mean given on
	factor [][]float64 // by column: the coefficients of the normal variables of the columns up to it
	err    *decision.Refusal
}

func fitShuffle(g *gathered.Data) (fit shuffleFit) {
	columns := slices.Concat(g.On, g.Values)
	scores := make([]rankScores, len(columns))
	cores.Each(len(columns), func(k int) { scores[k] = normalScores(columns[k], g.Strata, g.Stop) })
	if g.Stop.Now() {
		return fit
	}
	for k := range g.On {
		if scores[k].scores == nil {
			fit.err = &decision.Refusal{Path: "on[" + strconv.Itoa(k) + "]",
				Text: "must have different values: a column of which all are the same, or missing, says nothing of others; leave it out"}
			return fit
		}
	}
	r := copula(scores, g.Stop)
	if g.Stop.Now() {
		return fit
	}
	l := core.FactorOf(r)
	on := len(g.On)
	fit.means = conditionalMeans(g, scores[:on], l)
	for k := range g.Values {
		fit.factor = append(fit.factor, l[on+k][on:on+k+1])
	}
	return fit
}

// meanRanks returns the ranks, from 1, of the values of records that are not rejected; equal
// values get the mean of their ranks, and records without a value NaN. n is the number of
// values; differ says whether any two of them differ.
func meanRanks(values []float64, strata []int32, stop decision.Stop) (ranks []float64, n int, differ bool) {
	var order []int32
	ranks = make([]float64, len(values))
	for i, v := range values {
		ranks[i] = math.NaN()
		if v == v && strata[i] >= 0 {
			order = append(order, int32(i))
		}
	}
	if rank.Order(order, values, stop); stop.Now() {
		return ranks, len(order), false
	}
	at := 0
	for equal := range alike(order, values) {
		mean := float64(at+at+len(equal)+1) / 2
		for _, i := range equal {
			ranks[i] = mean
		}
		at += len(equal)
		differ = differ || at < len(order)
	}
	return ranks, len(order), differ
}

// rankScores holds ranks and scores of a column; both are NaN where there is no value.
type rankScores struct {
	ranks  []float64 // see meanRanks
	scores []float64 // see normalScores; nil if all values are equal
	n      int       // of the values
}

// normalScores returns the scores Φ⁻¹((rank − ½)/n), scaled to variance 1, since ties lower the
// variance. A score is NaN where there is no value; scores is nil if all values are equal.
func normalScores(values []float64, strata []int32, stop decision.Stop) rankScores {
	ranks, n, differ := meanRanks(values, strata, stop)
	if !differ {
		return rankScores{ranks: ranks, n: n}
	}
	scores := make([]float64, len(ranks))
	cores.Parts(len(ranks), gathered.InPart, func(from, to int) {
		if stop.Now() {
			return
		}
		for i, r := range ranks[from:to] {
			if scores[from+i] = r; r == r {
				scores[from+i] = keystream.NormalQuantile((r - 0.5) / float64(n))
			}
		}
	})
	square := 0.0
	for _, z := range scores {
		if z == z {
			square += float64(z * z)
		}
	}
	sd := math.Sqrt(square / float64(n)) // the mean is taken as 0: ranks are symmetric about their middle
	cores.Parts(len(scores), gathered.InPart, func(from, to int) {
		for i := from; i < to; i++ {
			scores[i] /= sd
		}
	})
	return rankScores{ranks, scores, n}
}

// copula returns the correlation matrix of the normal variables underlying the columns:
// 2 sin(π r/6) for their rank correlations r, over the records that have both values (Muralidhar
// and Sarathy, step 3).
func copula(columns []rankScores, stop decision.Stop) [][]float64 {
	m := make([][]float64, len(columns))
	var pairs [][2]int
	for i := range m {
		m[i] = make([]float64, len(columns))
		m[i][i] = 1
		for k := range i {
			pairs = append(pairs, [2]int{i, k})
		}
	}
	cores.Each(len(pairs), func(pair int) {
		if stop.Now() {
			return
		}
		i, k := pairs[pair][0], pairs[pair][1]
		ρ := 2 * math.Sin(math.Pi/6*rankCorrelation(columns[i], columns[k], stop))
		// The last bits of a sine differ between machines; the release must be the same on all.
		ρ = math.RoundToEven(ρ*1e9) / 1e9
		m[i][k], m[k][i] = ρ, ρ
	})
	return m
}

// rankCorrelation returns Spearman's rank correlation over the records that have both values; 0
// if it is not defined.
func rankCorrelation(x, y rankScores, stop decision.Stop) float64 {
	if x.scores == nil || y.scores == nil {
		return 0
	}
	a, b, n := x.ranks, y.ranks, 0
	for i := range a {
		if a[i] == a[i] && b[i] == b[i] {
			n++
		}
	}
	if n < x.n || n < y.n {
		both := make([]int32, len(a))
		for i := range a {
			if a[i] != a[i] || b[i] != b[i] {
				both[i] = -1
			}
		}
		// Ranks are in the order of the values and have the same ties.
		if n < x.n {
			a, _, _ = meanRanks(a, both, stop)
		}
		if n < y.n {
			b, _, _ = meanRanks(b, both, stop)
		}
	}
	mean := float64(n+1) / 2
	var sxx, syy, sxy float64
	for i := range a {
		if a[i] != a[i] || b[i] != b[i] {
			continue
		}
		d, e := a[i]-mean, b[i]-mean
		sxx += float64(d * d)
		syy += float64(e * e)
		sxy += float64(d * e)
	}
	if !(sxx > 0 && syy > 0) {
		return 0
	}
	return sxy / math.Sqrt(sxx) / math.Sqrt(syy)
}

// conditionalMeans returns for each record the means of the normal variables underlying the columns, given those
// underlying on. With the blocks A, B and C of the factor L = (A 0; B C) of on and the columns
// together, it is Bu, where u = A⁻¹s and s are the scores of on. A missing score counts as the mean.
func conditionalMeans(g *gathered.Data, on []rankScores, l [][]float64) [][]float64 {
	means := make([][]float64, len(g.Values))
	for k := range means {
		means[k] = make([]float64, g.N)
	}
	cores.Parts(g.N, gathered.InPart, func(from, to int) {
		if g.Stop.Now() {
			return
		}
		u := make([]float64, len(on))
		for i := from; i < to; i++ {
			for k := range on {
				s := on[k].scores[i]
				if s != s {
					s = 0
				}
				for m := range k {
					s -= float64(l[k][m] * u[m])
				}
				if u[k] = 0; l[k][k] > 0 {
					u[k] = s / l[k][k]
				}
			}
			for k := range g.Values {
				for m, v := range u {
					means[k][i] += float64(l[len(on)+k][m] * v)
				}
			}
		}
	})
	return means
}

// shuffler is the memory of a shuffle, for which replicates take turns.
type shuffler struct {
	draws [][]float64 // by column and record
	order []int32
}

var shuffleScratch = sync.Pool{New: func() any { return new(shuffler) }}

// draw draws for each record the normal variables underlying the columns, given those underlying on: Bu + Cz with
// standard normal z, see conditionalMeans.
func (s *shuffler) draw(g *gathered.Data, f *shuffleFit) [][]float64 {
	for len(s.draws) < len(g.Values) {
		s.draws = append(s.draws, nil)
	}
	for k := range g.Values {
		if g.Stop.Now() {
			return s.draws
		}
		draws, means := slices.Grow(s.draws[k][:0], g.N)[:g.N], f.means[k]
		cores.Parts(g.N, gathered.InPart, func(from, to int) {
			means := means
			for m, c := range f.factor[k] { // of at least one column, itself
				for i, v := range g.Normals[m][from:to] {
					draws[from+i] = means[from+i] + float64(c*v)
				}
				means = draws
			}
		})
		s.draws[k] = draws
	}
	return s.draws
}

// valuesInOrder are the values of records, and these records by their places.
type valuesInOrder struct {
	rows   []int32
	sorted []float64
}

func byValueOf(values []float64, strata []int32, stop decision.Stop) (of valuesInOrder) {
	for i, v := range values {
		if v == v && strata[i] >= 0 {
			of.rows = append(of.rows, int32(i))
		}
	}
	byValue := slices.Clone(of.rows)
	if rank.Order(byValue, values, stop); stop.Now() {
		return of
	}
	of.sorted = make([]float64, len(byValue))
	cores.Parts(len(byValue), gathered.InPart, func(from, to int) {
		for at, i := range byValue[from:to] {
			of.sorted[from+at] = values[i]
		}
	})
	return of
}

// give reassigns the values to the records in the order of the draws: the least value to
// the record with the least draw, and so on.
func (s *shuffler) give(of *valuesInOrder, values, draws []float64, stop decision.Stop) {
	s.order = append(s.order[:0], of.rows...)
	if rank.Order(s.order, draws, stop); stop.Now() {
		return
	}
	cores.Parts(len(s.order), gathered.InPart, func(from, to int) {
		for at, i := range s.order[from:to] {
			values[i] = of.sorted[from+at]
		}
	})
}

// alike yields the runs of equal values in rows, which are in the order of their values.
func alike(rows []int32, values []float64) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		for len(rows) > 0 {
			n := 1
			for n < len(rows) && values[rows[n]] == values[rows[0]] {
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

func (s *shuffling) Share(fits *gathered.Fits) { s.fits = fits }
