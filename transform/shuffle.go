package transform

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Shuffle gives the values of its columns to other records: each record draws from the
// distribution of the columns given those of On, and takes the value whose rank the draw has.
// Muralidhar and Sarathy (2006), Data shuffling: a new masking approach for numerical data,
// Management Science 52, section 4. The columns keep their distributions, their rank
// correlations with one another and with On; given On, what a record is released with says
// nothing of its own values.
type Shuffle struct {
	Columns []string `yaml:"columns" doc:"the columns to mask, together"`
	On      []string `yaml:"on" doc:"numeric columns that are not shuffled and whose rank correlations with the shuffled columns are kept; without them values are shuffled at random"`
}

// Check implements Params.
func (m *Shuffle) Check() check.Problems {
	var ps check.Problems
	checkColumns(&ps, "columns", m.Columns, "column")
	if n := len(m.Columns) + len(m.On); n > greatestColumns {
		ps.Addf("on", "must leave at most %d columns together with those that are shuffled, got %d", greatestColumns, n)
	}
	if len(m.On) > 0 {
		checkColumns(&ps, "on", m.On, "column")
	}
	for i, name := range m.On {
		if k := slices.Index(m.Columns, name); k >= 0 && name != "" {
			ps.Addf(fmt.Sprintf("on[%d]", i), "must not be one of the columns that are masked, got %q, which is columns[%d]", name, k)
		}
	}
	return ps
}

// checkAmong implements amongMasks.
func (m *Shuffle) checkAmong(masks []Spec, i int) check.Problems {
	return checkDataset(masks, i, "columns", "")
}

// Masks implements Params.
func (m *Shuffle) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Shuffle) Reads() []string { return slices.Clone(m.On) }

// ReadColumns implements Reading.
func (m *Shuffle) ReadColumns() []ReadColumn {
	var list []ReadColumn
	for i, name := range m.On {
		list = append(list, ReadColumn{fmt.Sprintf("on[%d]", i), name, "what a shuffle goes by"})
	}
	return list
}

// NumbersRead implements ReadingNumbers.
func (m *Shuffle) NumbersRead() (field string, columns []string) { return "on", m.On }

func (m *Shuffle) compile(c *Chain, i int) (step, error) {
	s, err := c.newWholeOn(i, &shuffling{}, part("shuffle")+c.digestOf("on", m.On...), m.On)
	if err != nil {
		return nil, err
	}
	for _, col := range s.columns {
		s.draws(c, col.Name, col.done.text)
	}
	return s, nil
}

// Reach implements Scoped.
func (m *Shuffle) Reach() Scope { return ScopeDataset }

// Instead implements Replaceable.
func (m *Shuffle) Instead() string {
	return "a swap of scope window, or noise, which takes each record by itself"
}

// MapAxis implements Varying: there is nothing to vary.
func (m *Shuffle) MapAxis() Axis { return Axis{} }

// Parameters implements Described.
func (m *Shuffle) Parameters() []Parameter {
	if len(m.On) == 0 {
		return nil
	}
	return []Parameter{{"on", jsonWords(m.On)}}
}

// ActionOn implements Acting.
func (m *Shuffle) ActionOn(string, float64) Action {
	if m.Columns == nil {
		return nil
	}
	return Shuffling{On: m.On}
}

// PublishedAction implements Publishing.
func (m *Shuffle) PublishedAction(p Published, _ string) Action { return Shuffling{On: p.list("on")} }

// Words implements Publishing.
func (m *Shuffle) Words(p Published, _ string) string {
	s := "shuffling: the values of the mask's columns were given to other records, in the order of draws from a model"
	if on := p.list("on"); on != nil {
		s += " that goes by " + strings.Join(on, ", ")
	}
	return s
}

// EfficiencyFollows implements Publishing: the column keeps its values.
func (m *Shuffle) EfficiencyFollows(_, _ func(string) bool) bool { return true }

// shuffling is the arithmetic of Shuffle.
type shuffling struct{}

// most implements allMasker: beside each value there are a word, a score and a rank.
func (*shuffling) most() int { return maxCells / 4 }

func (*shuffling) maskAll(g *gathered) *SurveyError {
	if err := g.checkColumns("columns"); err != nil {
		return err
	}
	if !slices.ContainsFunc(g.strata, func(s int32) bool { return s >= 0 }) {
		return nil // every record was rejected
	}
	var scores []scored
	for k, values := range g.on {
		of := normalScores(values, g.strata, g.stop)
		if g.stop.now() {
			return nil
		}
		if of.scores == nil {
			return &SurveyError{Path: "on[" + strconv.Itoa(k) + "]", Text: "must have different values: a column of which all are the same, or missing, says nothing of others; leave it out"}
		}
		scores = append(scores, of)
	}
	for _, values := range g.values {
		scores = append(scores, normalScores(values, g.strata, g.stop))
	}
	r := copula(scores, g.stop)
	if g.stop.now() {
		return nil
	}
	l := factorOf(r)
	draws := conditionalDraws(g, scores[:len(g.on)], l)
	for k, values := range g.values {
		if g.stop.now() {
			return nil
		}
		inOrderOf(values, draws[k], g.strata, g.stop)
	}
	return nil
}

// meanRanks are the ranks from 1 of the values that take part, the mean of its ranks for each of
// equal ones; NaN elsewhere. n is their number, differ whether two of them do.
func meanRanks(values []float64, strata []int32, stop stopper) (ranks []float64, n int, differ bool) {
	var order []int32
	ranks = make([]float64, len(values))
	for i, v := range values {
		ranks[i] = math.NaN()
		if v == v && strata[i] >= 0 {
			order = append(order, int32(i))
		}
	}
	if rank.Order(order, values, stop); stop.now() {
		return ranks, len(order), false
	}
	at := 0
	for equal := range alike(order, values) {
		for _, i := range equal {
			ranks[i] = float64(at+at+len(equal)+1) / 2
		}
		at += len(equal)
		differ = differ || at < len(order)
	}
	return ranks, len(order), differ
}

// scored is a column by its ranks; both are NaN where there is no value.
type scored struct {
	ranks  []float64 // see meanRanks
	scores []float64 // see normalScores; nil where no two values differ
	n      int       // of the values
}

// normalScores are Φ⁻¹((rank − ½)/n), taken to variance 1, which ties else lessen; NaN where
// there is no value, and nil where no two values differ.
func normalScores(values []float64, strata []int32, stop stopper) scored {
	ranks, n, differ := meanRanks(values, strata, stop)
	if !differ {
		return scored{ranks: ranks, n: n}
	}
	scores := make([]float64, len(ranks))
	square := 0.0
	for i, r := range ranks {
		if stop.at(i) {
			break
		}
		scores[i] = r
		if r == r {
			z := keystream.NormalQuantile((r - 0.5) / float64(n))
			scores[i] = z
			square += float64(z * z)
		}
	}
	sd := math.Sqrt(square / float64(n)) // the mean is 0: ranks lie evenly about their middle
	for i := range scores {
		scores[i] /= sd
	}
	return scored{ranks, scores, n}
}

// copula is the correlation matrix of the normal variables behind columns: 2 sin(π r/6) of
// their rank correlations r, over the records that have both (Muralidhar and Sarathy, step 3).
func copula(columns []scored, stop stopper) [][]float64 {
	m := make([][]float64, len(columns))
	for i := range m {
		m[i] = make([]float64, len(columns))
		m[i][i] = 1
		for k := range i {
			if stop.now() {
				return m
			}
			ρ := 2 * math.Sin(math.Pi/6*rankCorrelation(columns[i], columns[k], stop))
			// The last bits of a sine differ between machines, and the release must not.
			ρ = math.RoundToEven(ρ*1e9) / 1e9
			m[i][k], m[k][i] = ρ, ρ
		}
	}
	return m
}

// rankCorrelation is Spearman's, over the records that have both values; 0 where it has none.
func rankCorrelation(x, y scored, stop stopper) float64 {
	if x.scores == nil || y.scores == nil {
		return 0
	}
	a, b, n := x.ranks, y.ranks, 0
	both := make([]int32, len(a))
	for i := range a {
		if a[i] != a[i] || b[i] != b[i] {
			both[i] = -1
		} else {
			n++
		}
	}
	// Ranks have the order of the values, and ties where these have.
	if n < x.n {
		a, _, _ = meanRanks(a, both, stop)
	}
	if n < y.n {
		b, _, _ = meanRanks(b, both, stop)
	}
	mean := float64(n+1) / 2
	var sxx, syy, sxy float64
	for i := range a {
		if both[i] < 0 {
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

// conditionalDraws draws for each record the normal variables behind the columns given those
// behind on: with L of the two together, u = A⁻¹s of the scores s of on, then Bu + Cz, where A,
// B and C are L's parts. A score that is missing counts as the mean.
func conditionalDraws(g *gathered, on []scored, l [][]float64) [][]float64 {
	draws := make([][]float64, len(g.values))
	for k := range draws {
		draws[k] = make([]float64, g.n)
	}
	u := make([]float64, len(l))
	for i := range g.n {
		if g.stop.at(i) {
			break
		}
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
		for k := range g.values {
			at := len(on) + k
			u[at] = keystream.NormalQuantile((float64(g.words[k][i]>>12) + 0.5) / (1 << 52))
			for m, v := range u[:at+1] {
				draws[k][i] += float64(l[at][m] * v)
			}
		}
	}
	return draws
}

// inOrderOf gives the values to their records anew: the least to the record of the least draw,
// and so on.
func inOrderOf(values, draws []float64, strata []int32, stop stopper) {
	var byValue []int32
	for i, v := range values {
		if v == v && strata[i] >= 0 {
			byValue = append(byValue, int32(i))
		}
	}
	byDraw := slices.Clone(byValue)
	rank.Order(byDraw, draws, stop)
	if rank.Order(byValue, values, stop); stop.now() {
		return
	}
	sorted := make([]float64, len(byValue))
	for at, i := range byValue {
		sorted[at] = values[i]
	}
	for at, i := range byDraw {
		values[i] = sorted[at]
	}
}

// alike are the runs of rows, which are in the order of their values, that have the same value.
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
