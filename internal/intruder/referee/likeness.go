package referee

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
)

// Likeness compares the release with the original without regard to which record is whose.
type Likeness struct {
	Marginals []Marginal `json:"marginals,omitempty" doc:"by column"`
	Pairs     []Pair     `json:"pairs,omitempty" doc:"by pair of columns"`
	// Marginal and Pairwise are the means of the similarities.
	Marginal   *float64         `json:"marginal,omitempty" doc:"mean similarity of the columns"`
	Pairwise   *float64         `json:"pairwise,omitempty" doc:"mean similarity of the pairs of columns"`
	Propensity *loss.Propensity `json:"propensity,omitempty" doc:"pMSE of all columns, categories as indicators, on equally many records of both files"`
	LeftOut    []string         `json:"left_out,omitempty" doc:"columns with more than 1,000 categories, which are not compared"`
	Not        string           `json:"not,omitempty" doc:"why there is no comparison"`
}

// Marginal compares one column: KSComplement or TVComplement of SDMetrics.
type Marginal struct {
	Column     string   `json:"column"`
	Similarity *float64 `json:"similarity,omitempty" doc:"1 − Kolmogorov-Smirnov distance of numbers, 1 − total variation distance of categories, of the values that are present"`
	Missing    [2]Share `json:"missing" doc:"share of missing values in the original and in the release"`
}

// Share is a share from 0 to 1.
type Share = float64

// Pair compares the dependence of two columns.
type Pair struct {
	Columns  [2]string `json:"columns"`
	Measure  string    `json:"measure" doc:"correlation (Pearson), cramers_v, or correlation_ratio (of a number by a category)"`
	Original *float64  `json:"original,omitempty" doc:"the measure in the original"`
	Released *float64  `json:"released,omitempty" doc:"the measure in the release"`
	// Similarity is CorrelationSimilarity or ContingencySimilarity of SDMetrics; for a number and a category 1 − |Δη|.
	Similarity *float64 `json:"similarity,omitempty" doc:"of two numbers 1 − |difference|/2, of two categories 1 − total variation distance of the table of both, of a number and a category 1 − |difference|"`
}

const (
	mostCategories = 1000    // of a column that is compared
	mostPairs      = 1000    // that are compared
	mostIndicators = 20      // of a column in the propensity model
	mostPropensity = 100_000 // records of each file in the propensity model
	leastRecords   = 10      // of each file
)

func (r *run) likeness(ctx context.Context) error {
	l := &Likeness{}
	r.r.Likeness = l
	if min(r.d.Len(Original), r.d.Len(Released)) < leastRecords {
		l.Not = "there are fewer than 10 original or released records"
		return nil
	}
	var columns []int
	for j := range r.d.Columns {
		c := &r.d.Columns[j]
		if !c.Numeric && c.categories() > mostCategories {
			l.LeftOut = append(l.LeftOut, c.Name)
			continue
		}
		columns = append(columns, j)
		l.Marginals = append(l.Marginals, c.marginal())
	}
	for k, i := range columns {
		for _, j := range columns[:k] {
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(l.Pairs) < mostPairs {
				l.Pairs = append(l.Pairs, pairOf(&r.d.Columns[j], &r.d.Columns[i]))
			}
		}
	}
	l.Marginal = mean(l.Marginals, func(m Marginal) *float64 { return m.Similarity })
	l.Pairwise = mean(l.Pairs, func(p Pair) *float64 { return p.Similarity })
	return r.propensity(ctx, columns)
}

// mean returns the mean of the figures that there are; nil if there are none.
func mean[T any](list []T, of func(T) *float64) *float64 {
	sum, n := 0.0, 0.0
	for _, x := range list {
		if v := of(x); v != nil {
			sum, n = sum+*v, n+1
		}
	}
	if n == 0 {
		return nil
	}
	sum /= n
	return &sum
}

// categories returns the number of categories in original and release, a missing one among them.
func (c *Column) categories() int {
	seen := map[int32]bool{}
	for _, s := range []Side{Original, Released} {
		for _, v := range c.Sides[s].Codes {
			if seen[v] = true; len(seen) > mostCategories {
				return len(seen)
			}
		}
	}
	return len(seen)
}

// marginal compares a column of the release with the original.
func (c *Column) marginal() Marginal {
	m := Marginal{Column: c.Name}
	tables := [2]map[[2]int32]float64{{}, {}}
	for k, s := range []Side{Original, Released} {
		v := c.Sides[s]
		missing := 0.0
		for i := range int32(v.len()) {
			switch x := v.at(i); {
			case x != x:
				missing++
			case !c.Numeric:
				tables[k][[2]int32{int32(x)}]++
			}
		}
		m.Missing[k] = missing / float64(v.len())
	}
	if c.Numeric {
		if d := loss.DistanceOf(c.Sides[Original].Numbers, c.Sides[Released].Numbers); d.Measured {
			m.Similarity = figure(1 - d.KS)
		}
	} else if len(tables[0]) > 0 && len(tables[1]) > 0 {
		m.Similarity = figure(1 - variation(tables))
	}
	return m
}

// figure returns a pointer to a number; nil if it is none.
func figure(x float64) *float64 {
	if x != x {
		return nil
	}
	return &x
}

// variation returns the total variation distance of two tables of counts.
func variation(tables [2]map[[2]int32]float64) float64 {
	var total [2]float64
	for k, t := range tables {
		for _, n := range t { // counts, so that the order of the sum has no effect
			total[k] += n
		}
	}
	var terms []float64
	for cell, n := range tables[0] {
		terms = append(terms, math.Abs(n/total[0]-tables[1][cell]/total[1]))
	}
	for cell, n := range tables[1] {
		if _, also := tables[0][cell]; !also {
			terms = append(terms, n/total[1])
		}
	}
	return inOrder(terms) / 2
}

// inOrder sums terms that come in no order.
func inOrder(terms []float64) (sum float64) {
	slices.Sort(terms)
	for _, t := range terms {
		sum += t
	}
	return sum
}

// pairOf compares the dependence of two columns.
func pairOf(a, b *Column) Pair {
	p := Pair{Columns: [2]string{a.Name, b.Name}}
	var measures [2]*float64
	var tables [2]map[[2]int32]float64
	switch {
	case a.Numeric && b.Numeric:
		p.Measure = "correlation"
	case a.Numeric || b.Numeric:
		p.Measure = "correlation_ratio"
	default:
		p.Measure = "cramers_v"
	}
	for k, s := range []Side{Original, Released} {
		x, y := a.Sides[s], b.Sides[s]
		switch {
		case a.Numeric && b.Numeric:
			measures[k] = figure(loss.Correlation(x.Numbers, y.Numbers))
		case a.Numeric:
			measures[k] = figure(correlationRatio(y.Codes, x.Numbers))
		case b.Numeric:
			measures[k] = figure(correlationRatio(x.Codes, y.Numbers))
		default:
			tables[k] = map[[2]int32]float64{}
			for i, c := range x.Codes {
				tables[k][[2]int32{c, y.Codes[i]}]++
			}
			measures[k] = figure(cramersV(tables[k]))
		}
	}
	p.Original, p.Released = measures[0], measures[1]
	switch both := p.Original != nil && p.Released != nil; {
	case p.Measure == "cramers_v":
		p.Similarity = figure(1 - variation(tables))
	case both && p.Measure == "correlation":
		p.Similarity = figure(1 - math.Abs(*p.Original-*p.Released)/2)
	case both:
		p.Similarity = figure(1 - math.Abs(*p.Original-*p.Released))
	}
	return p
}

// correlationRatio returns η, the square root of the share of the variance of numbers that is between categories; NaN
// if the numbers do not vary. A missing category is a category.
func correlationRatio(codes []int32, numbers []float64) float64 {
	m := loss.MomentsOf(numbers)
	if m.SD == nil || !(*m.SD > 0) {
		return math.NaN()
	}
	type group struct{ n, sum float64 }
	groups := map[int32]*group{}
	for i, x := range numbers {
		if x != x {
			continue
		}
		g := groups[codes[i]]
		if g == nil {
			g = &group{}
			groups[codes[i]] = g
		}
		g.n++
		g.sum += (x - *m.Mean) / *m.SD
	}
	var between []float64
	for _, g := range groups {
		between = append(between, g.sum*g.sum/g.n)
	}
	return math.Sqrt(min(1, inOrder(between)/float64(m.N-1)))
}

// cramersV returns Cramér's V of a table, NaN if a margin has one category. A missing value is a category.
func cramersV(table map[[2]int32]float64) float64 {
	rows, columns := map[int32]float64{}, map[int32]float64{}
	n := 0.0
	for cell, v := range table {
		rows[cell[0]] += v
		columns[cell[1]] += v
		n += v
	}
	if min(len(rows), len(columns)) < 2 {
		return math.NaN()
	}
	// χ²/n + 1 is the sum of n_ij²/(n_i· n_·j); empty cells add nothing.
	var terms []float64
	for cell, v := range table {
		terms = append(terms, v*v/(rows[cell[0]]*columns[cell[1]]))
	}
	return math.Sqrt(max(0, inOrder(terms)-1) / float64(min(len(rows), len(columns))-1))
}

// propensity fits the model that tells released from original records, on as many records of both.
func (r *run) propensity(ctx context.Context, columns []int) error {
	n := min(r.d.Len(Original), r.d.Len(Released), mostPropensity)
	var p loss.Pair
	original, released := sample(r.d.Len(Original), n, r.draws(3)), sample(r.d.Len(Released), n, r.draws(4))
	for _, j := range columns {
		c := &r.d.Columns[j]
		if c.Numeric {
			p.Names = append(p.Names, c.Name)
			p.Original = append(p.Original, gathered(c.Sides[Original].Numbers, original))
			p.Released = append(p.Released, gathered(c.Sides[Released].Numbers, released))
			continue
		}
		x, y := gathered(c.Sides[Original].Codes, original), gathered(c.Sides[Released].Codes, released)
		for k, code := range frequent(x, y, mostIndicators) {
			if k == 0 {
				continue // what the others leave
			}
			p.Names = append(p.Names, c.Name+" #"+strconv.Itoa(k))
			p.Original, p.Released = append(p.Original, indicator(x, code)), append(p.Released, indicator(y, code))
		}
	}
	if len(p.Names) == 0 {
		return nil
	}
	var err error
	r.r.Likeness.Propensity, err = loss.PropensityOf(ctx, p, loss.PropensityOptions{})
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		r.r.Likeness.Not = "the propensity model did not converge"
		return nil
	}
	return err
}

func indicator(codes []int32, code int32) []float64 {
	list := make([]float64, len(codes))
	for i, c := range codes {
		if c == code {
			list[i] = 1
		}
	}
	return list
}

// frequent returns the most frequent codes of both lists together, at most n, the most frequent first.
func frequent(x, y []int32, n int) []int32 {
	counts := map[int32]int{}
	for _, codes := range [2][]int32{x, y} {
		for _, c := range codes {
			counts[c]++
		}
	}
	var list []int32
	for c := range counts {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b int32) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return int(a - b)
	})
	return list[:min(n, len(list))]
}
