package weights

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// calibrateStep gathers weights and margin columns in the survey, and multiplies the weights by the factors.
type calibrateStep struct {
	mask       int
	params     *Calibrate
	weight     *core.Column
	categories []*categoryMargin
	numbers    []*numberMargin

	data    gathered.Data // the places of the records; values[0] has the weights
	before  []float64     // by record: its weight in the original, NaN where it has none
	dropped []bool        // by record: it is not released
	result  *Calibrated
}

// categoryMargin is a categorical column whose categories have totals.
type categoryMargin struct {
	*core.Column
	path     string
	listed   *core.CategoryColumn // with given totals; nil: they come from the original
	totals   []float64            // by category, see settle; of the listed ones from the start
	drawn    bool                 // masks draw released categories from original ones, or move them
	coder    coding.Coder
	codes    []int32 // by record, of its released category: 0 for none; −1 for one that is not listed
	original []int32 // of its original category; nil where released categories stand for them
}

// numberMargin is a numeric column that has a total.
type numberMargin struct {
	*core.Column
	path     string
	total    float64   // 0: it comes from the original
	values   []float64 // by record, NaN for none
	original []float64
}

// Calibrated says how a calibration of weights ended. Factors are relative to the ratio of all weights after
// to all before.
type Calibrated struct {
	Records    int     // released records with a weight above 0
	Iterations int     // of Newton's method
	Gap        float64 // greatest relative error of a margin by the weights as they are released
	Least      float64 // factor
	Greatest   float64 // factor
	AtLower    int     // records whose factor is within a hundredth of the bound, by the distance from 1
	AtUpper    int
	// DesignBefore and DesignAfter are Kish's 1 + CV² of the weights, the loss of precision by their differences (Kish
	// 1965, Survey Sampling, section 11.2C).
	DesignBefore, DesignAfter float64
	Alone                     int // records whose released weight no other has
}

func (idle) Apply(*core.Chain, *core.Work, *microdata.Block) error { return nil }
func (idle) Keeps(*core.KeepingOf, int)                            {}

func (s *calibrateStep) Weights() *core.ColumnInfo { return &s.weight.ColumnInfo }

func (s *calibrateStep) Of() int { return s.mask }

// Holds implements surveying.
func (s *calibrateStep) Holds(expected int64) int64 {
	return max(expected, int64(s.data.N)) * int64(40+12*len(s.categories)+24*len(s.numbers))
}

// CalibratedBy returns how the calibration of mask i ended; nil for other masks.
func CalibratedBy(c *core.Chain, i int) *Calibrated {
	if i >= len(c.Steps) {
		return nil // a chain of a part of the masks
	}
	if s, ok := c.Steps[i].(*calibrateStep); ok {
		return s.result
	}
	return nil
}

func (s *calibrateStep) Survey(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if b.N == 0 {
		return nil
	}
	g, from := &s.data, s.data.N
	if (from+b.N)*(2+len(s.categories)+len(s.numbers)) > gathered.MaxCells {
		return s.error(c, "",
			"must not be used on so many records: it holds a weight and the margin columns of each in memory, at most %d in all; name fewer margins, or use %s", gathered.MaxCells, core.InsteadOf(s.params))
	}
	if err := s.weight.InNumbers(b); err != nil {
		return fmt.Errorf("%s: %w", c.At(s.mask), err)
	}
	if g.Values == nil {
		g.Values = make([][]float64, 1)
	}
	col := b.Columns[s.weight.Index]
	original := microdata.Column{Original: col.Original}
	s.before = gathered.AppendNumbers(s.before, &original, b.N)
	g.Values[0] = gathered.AppendNumbers(g.Values[0], &col, b.N)
	for _, k := range s.categories {
		if err := k.take(b); err != nil {
			return fmt.Errorf("%s.%s: %w", c.At(s.mask), k.path, err)
		}
	}
	for _, k := range s.numbers {
		col := b.Columns[k.Index]
		k.values = gathered.AppendNumbers(k.values, &col, b.N)
		if k.total == 0 {
			k.original = gathered.AppendNumbers(k.original, &microdata.Column{Array: col.Array, Original: col.Original}, b.N)
		}
	}
	for i := range b.N {
		s.dropped = append(s.dropped, b.Rejected(i))
	}
	g.N += b.N
	g.Identify(w, b)
	g.Follow(b, from)
	return nil
}

// take adds the categories of a block.
func (k *categoryMargin) take(b *microdata.Block) error {
	codes := gathered.Extended(&k.codes, b.N)
	if k.listed != nil {
		if there, err := k.listed.Look(codes, b); err != nil || !there {
			return cmp.Or(err, coding.ErrNotHeld)
		}
		for i, j := range codes {
			if codes[i] = j + 1; j < 0 {
				codes[i] = -1
			}
		}
		return nil
	}
	col := b.Columns[k.Index]
	if err := k.coder.Code(codes, &col, 0); err != nil || !k.drawn {
		return err
	}
	original := microdata.Column{Array: col.Array, Original: col.Original}
	return k.coder.Code(gathered.Extended(&k.original, b.N), &original, 0)
}

func (s *calibrateStep) error(c *core.Chain, path, text string, args ...any) error {
	return c.Refused(s.mask, &decision.Refusal{Path: path, Text: fmt.Sprintf(text, args...)})
}

// released reports whether record i leaves with a weight above 0, which takes part.
func (s *calibrateStep) released(i int) bool { return !s.dropped[i] && s.data.Values[0][i] > 0 }

// counts reports whether record i has a weight in the original, released or not.
func (s *calibrateStep) counts(i int32) bool { return s.before[i] > 0 }

func (s *calibrateStep) Decide(c *core.Chain) error {
	g := &s.data
	g.SortRuns()
	g.Stop = c.Cancelled.Load
	var rows []int32
	for i := range g.N {
		if s.released(i) {
			rows = append(rows, int32(i))
		}
	}
	s.result = &Calibrated{Records: len(rows), Least: 1, Greatest: 1, DesignBefore: 1, DesignAfter: 1}
	if len(rows) == 0 {
		return nil
	}
	for _, k := range s.categories {
		if err := s.settle(c, k, rows); err != nil {
			return err
		}
	}
	for _, k := range s.numbers {
		if err := s.settleNumbers(c, k); err != nil {
			return err
		}
	}
	s.inOrder(rows)
	p, err := s.problem(c, rows)
	if err != nil {
		return err
	}
	if g.Stop.Now() {
		return core.ErrCancelled
	}
	if !p.solve(g.Stop) {
		if g.Stop.Now() {
			return core.ErrCancelled
		}
		return s.error(c, "",
			"did not converge after %d iterations, and nothing is released: the greatest relative error of a margin is %.2g, and %d of %d factors are at their bounds; widen lower and upper, name fewer margins, or mask their columns less",
			p.iterations, p.gap(p.factors), s.atBounds(p.factors, p), len(rows))
	}
	return s.finish(c, p, rows)
}

// atBounds counts the records whose factors are at one of the bounds.
func (s *calibrateStep) atBounds(factors []float64, p *calibration) int {
	n := 0
	for i := range p.units {
		if low, high := p.atBound(factors[i]); low || high {
			n += len(p.units[i].rows)
		}
	}
	return n
}

// InOrder puts records in an order that does not depend on that of the source: by their margins and weights.
func (s *calibrateStep) inOrder(rows []int32) {
	rank.OrderFunc(rows, func(a, b int32) int {
		if v := s.compareMargins(a, b); v != 0 {
			return v
		}
		return cmp.Or(cmp.Compare(s.data.Values[0][a], s.data.Values[0][b]), s.data.CompareTies(a, b), cmp.Compare(a, b))
	}, s.data.Stop)
}

// compareMargins compares all that the factor of a record depends on.
func (s *calibrateStep) compareMargins(a, b int32) int {
	for _, k := range s.categories {
		if v := cmp.Compare(k.codes[a], k.codes[b]); v != 0 {
			return v
		}
	}
	for _, k := range s.numbers {
		if v := cmp.Compare(k.values[a], k.values[b]); v != 0 {
			return v
		}
	}
	return 0
}

// settle finds the total of each category and numbers the categories from 0 in codes.
func (s *calibrateStep) settle(c *core.Chain, k *categoryMargin, rows []int32) error {
	name := strconv.Quote(k.Name)
	if k.listed != nil {
		there := make([]bool, len(k.totals))
		for _, i := range rows {
			if k.codes[i] < 0 {
				return s.error(c, k.path,
					"must have a total for each released category of column %s, and for none of it to be missing", name)
			}
			k.codes[i]--
			there[k.codes[i]] = true
		}
		if slices.Contains(there, false) {
			return s.error(c, k.path, "must have no total for a category that no released record of column %s has", name)
		}
		return nil
	}
	all := slices.Concat(k.codes, k.original)
	k.coder.InOrder(all)
	copy(k.codes, all)
	origin := k.codes // whose weights make the totals
	if k.drawn {
		copy(k.original, all[len(k.codes):])
		origin = k.original
	}
	number := make([]int32, slices.Max(all)+1) // 1 + the place of a category that is released
	n := int32(0)
	for _, i := range rows {
		number[k.codes[i]] = 1
	}
	for code := range number {
		if number[code] != 0 {
			n++
			number[code] = n
		}
	}
	counted := make([]int32, 0, len(origin))
	for i := range origin {
		switch {
		case !s.counts(int32(i)):
		case s.dropped[i] && !k.drawn && !s.unmasked(c, k):
			return s.error(c, k.path,
				"must have totals that are given (margins) where records are left out or sent to quarantine: what the masks of column %s make of these is not known", name)
		default:
			counted = append(counted, int32(i))
		}
	}
	rank.OrderFunc(counted, func(a, b int32) int {
		return cmp.Or(cmp.Compare(origin[a], origin[b]), cmp.Compare(s.before[a], s.before[b]), cmp.Compare(a, b))
	}, s.data.Stop)
	k.totals = make([]float64, n)
	for from := 0; from < len(counted); {
		to, weights := from, []float64(nil)
		for ; to < len(counted) && origin[counted[to]] == origin[counted[from]]; to++ {
			weights = append(weights, s.before[counted[to]])
		}
		at := number[origin[counted[from]]]
		if at == 0 {
			return s.error(c, k.path,
				"must have a released record for each category of the original, and column %s has a category that only records without release have; recode it, or give the totals (margins)", name)
		}
		if err := s.judge(c, weights, "a category of column "+name); err != nil {
			return err
		}
		k.totals[at-1] = sumOf(weights)
		from = to
	}
	if slices.Contains(k.totals, 0) {
		return s.error(c, k.path,
			"must have a weighted total for each released category, and column %s has one that the original has not; give the totals (margins)", name)
	}
	for _, i := range rows {
		k.codes[i] = number[k.codes[i]] - 1
	}
	return nil
}

// unmasked reports whether the released category of a record that is not released is known all the same: no mask
// changes it.
func (s *calibrateStep) unmasked(c *core.Chain, k *categoryMargin) bool {
	return !slices.ContainsFunc(c.Masks[:s.mask], func(m core.Spec) bool {
		return slices.Contains(m.Params.Masks(),
			k.Name)
	})
}

// judge refuses a total of the original that few records make, or one does.
func (s *calibrateStep) judge(c *core.Chain, values []float64, of string) error {
	demand := core.ContributorsOf(s.params.Least, s.params.Share)
	switch {
	case len(values) < demand.Least:
		return s.error(c, core.TooFewValues,
			"must be at most the number of records of %s, which is less, got %d: the calibrated weights tell the total, which is about so few; recode the column, or leave it out", of, demand.Least)
	case demand.Dominated(values, 0):
		return s.error(c, core.OneRules,
			"is exceeded: one record has more than %s %% of the weighted total of %s, which the calibrated weights tell; recode the column, or leave it out", core.ShareText(demand.Share), of)
	}
	return nil
}

// settleNumbers finds the total of a numeric column.
func (s *calibrateStep) settleNumbers(c *core.Chain, k *numberMargin) error {
	if k.total != 0 {
		return nil
	}
	var parts []float64
	for i, v := range k.original {
		if s.counts(int32(i)) && v == v && v != 0 {
			parts = append(parts, s.before[i]*v)
		}
	}
	if err := s.judge(c, parts, "column "+strconv.Quote(k.Name)); err != nil {
		return err
	}
	slices.Sort(parts)
	if k.total = sumOf(parts); k.total == 0 || k.total-k.total != 0 {
		return s.error(c, k.path, "must have a weighted total other than 0, and column %s has not", strconv.Quote(k.Name))
	}
	return nil
}

func sumOf(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// greatestGap is the relative error of a margin by rounded weights from which on they are not released.
const greatestGap = 0.01

// finish rounds the weights as the column is and says how the calibration ended.
func (s *calibrateStep) finish(c *core.Chain, p *calibration, rows []int32) error {
	g, r := &s.data, s.result
	before := make([]float64, len(rows))
	for i, row := range rows {
		before[i] = g.Values[0][row]
	}
	r.Iterations, r.Least, r.Greatest = p.iterations, math.Inf(1), math.Inf(-1)
	for i := range p.units {
		f := p.factors[i]
		r.Least, r.Greatest = min(r.Least, f), max(r.Greatest, f)
		low, high := p.atBound(f)
		for _, row := range p.units[i].rows {
			if low {
				r.AtLower++
			} else if high {
				r.AtUpper++
			}
			g.Values[0][row] = s.onGrid(g.Values[0][row] * p.scale * f)
			if v := g.Values[0][row]; v < s.weight.Lo || v > s.weight.Hi {
				return s.error(c, "columns[0]", "must hold the calibrated weights, and the type of column %s does not",
					strconv.Quote(s.weight.Name))
			}
		}
	}
	after, seen := make([]float64, len(rows)), map[float64]int{}
	for i, row := range rows {
		after[i] = g.Values[0][row]
		seen[after[i]]++
	}
	for _, n := range seen {
		if n == 1 {
			r.Alone++
		}
	}
	r.DesignBefore, r.DesignAfter = kish(before), kish(after)
	r.Gap = p.gapOf(func(u *calibrationUnit) float64 {
		sum := 0.0
		for _, row := range u.rows {
			sum += g.Values[0][row]
		}
		return sum
	})
	if r.Gap > greatestGap {
		return s.error(c, "",
			"must release weights that meet the margins, and rounded to the decimals of column %s they miss a margin by %.2g %%: give it more decimals, or narrower bounds", strconv.Quote(s.weight.Name), 100*r.Gap)
	}
	s.before, s.dropped = nil, nil
	for _, k := range s.categories {
		k.codes, k.original, k.coder = nil, nil, coding.Coder{}
	}
	for _, k := range s.numbers {
		k.values, k.original = nil, nil
	}
	return nil
}

// onGrid rounds a weight to the column's decimals. Without any it keeps ten digits: the last bits of an
// exponential differ between machines, and the release must not.
func (s *calibrateStep) onGrid(v float64) float64 {
	if s.weight.Digits >= 0 {
		one := []float64{v}
		core.DecimalGrid(s.weight.Digits).SnapAll(one)
		return one[0]
	}
	x, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 9, 64), 64)
	return x
}

// kish returns n Σw²/(Σw)².
func kish(weights []float64) float64 {
	var sum, square float64
	for _, w := range weights {
		sum += w
		square += float64(w * w)
	}
	return float64(len(weights)) * square / sum / sum
}

func (s *calibrateStep) Apply(c *core.Chain, _ *core.Work, b *microdata.Block) error {
	if b.N == 0 {
		return nil
	}
	v, err := s.weight.Numbers(b)
	if err != nil {
		return fmt.Errorf("%s: %w", c.At(s.mask), err)
	}
	changed := microdata.Bitmap(make([]uint64, (b.N+63)/64))
	near := -1
	for i := range b.N {
		at := s.data.Find(b.Scope, b.Stream, b.Place(i), &near)
		if at < 0 {
			return fmt.Errorf("%s: a record that the first pass did not see is there now", c.At(s.mask))
		}
		if !v.Valid.Has(i) || b.Rejected(i) {
			continue
		}
		switch y := s.data.Values[0][at]; {
		case y != y:
			return fmt.Errorf("%s: a value that the first pass did not see is there now", c.At(s.mask))
		case y != v.Values[i]:
			v.Values[i] = y
			changed.Set(i)
		}
	}
	c.Count(s.mask, b, changed)
	return nil
}

// Keeps: which factors are 1 is not known.
func (s *calibrateStep) Keeps(l *core.KeepingOf, i int) { l.Changed(i) }
