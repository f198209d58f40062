package synthesis

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
	"github.com/sdlfilter/sdlfilter/transform/internal/models"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

const (
	fitCategories = gathered.FitOwn + iota
	fitSpikes     // which records have a spike
	fitLearnt     // the records that models may learn from
	fitRecords    // those that a model is fitted to
	fitNumbers
	fitTree
	fitShapes // of all columns
	fitStrata // the records of each stratum
)

// synthesis is the arithmetic of Synthesise.
type synthesis struct {
	onCategories, categories []bool        // which columns of on, and which of those to be drawn, are categories
	normal                   bool          // residuals are normal, and the mean is drawn
	leaf                     int           // trees with at least this number of records in a leaf; 0: regressions
	heldOut                  float64       // share of the records that models are not fitted to
	key                      keystream.Key // determines which records these are
	held                     []bool        // by record: whether it is one of these; nil: none is
	ordered                  bool          // by identity: the result does not depend on the order of the records
	unbounded                bool          // draws may lie beyond the values of the data
	rules                    []synthesisRule
	shape                    []shape   // by column
	class                    []float64 // by record, of the stratum at hand
	fits                     *gathered.Fits
	of                       gathered.Digest // digest of the data and of which records are held out
}

// Most implements Masker: besides each value there are two words, a residual and the value
// that replaces it.
func (*synthesis) Most() int { return gathered.MaxCells / 8 }

func (*synthesis) Takes() (record, value int64) { return 12, 76 }

// leastResiduals is the number of records that a model needs in addition to that of its
// coefficients.
const leastResiduals = 10

func (s *synthesis) MaskAll(g *gathered.Data) *decision.Refusal {
	s.held = g.HeldOut(s.key, s.heldOut)
	defer func() { s.held, s.class = nil, nil }()
	if g.Trial {
		s.identify(g)
	}
	if err := g.CheckColumns(s.fits, s.of); err != nil {
		return err
	}
	s.shape = gathered.Once(g.Trials(s.fits), s.found(0, 0, fitShapes), g.Stop, func() []shape { return s.shapes(g) })
	if !g.Trial && s.leaf == 0 &&
		(slices.Contains(s.categories, true) || slices.ContainsFunc(s.shape, func(of shape) bool {
			return of.spikes != nil
		})) {
		s.identify(g) // models of categories are cached
	}
	original := make([][]float64, len(g.Values))
	for k, values := range g.Values {
		original[k] = append(g.Own.Number(), values...)
	}
	defer g.Own.Again(original...)
	for _, rows := range gathered.Once(g.Trials(s.fits), s.found(0, 0, fitStrata), g.Stop, g.RowsByStratum) {
		if s.ordered {
			g.InOrder(rows)
		}
		for k := range g.Values {
			if g.Stop.Now() {
				return nil
			}
			if err := s.column(g, original, rows, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// Identify takes the digest of the data, by which what is found of them is cached.
func (s *synthesis) identify(g *gathered.Data) {
	s.of = gathered.SumWith(g.Sum(), s.held)
	s.fits.Begin(s.of, g.N*(len(g.Values)+len(g.On)))
}

// column draws column k for the records of a stratum. A missing value stays missing. The model
// is fitted to the original values of the records that are not held out, meet no rule for the column, and have values
// in all columns of on, the columns before k, and k. It is applied to on and to the released values of the columns
// before k, in which a missing value counts as the mean.
func (s *synthesis) column(g *gathered.Data, original [][]float64, rows []int32, k int) *decision.Refusal {
	if len(rows) == 0 {
		return nil
	}
	first := rows[0]
	learnt := gathered.Once(g.Trials(s.fits), s.found(k, first, fitLearnt), g.Stop, func() []int32 {
		return s.withoutRules(g, original, gathered.LearntFrom(rows, s.held), k)
	})
	by, err := s.predictors(g, original, learnt, k)
	if err != nil {
		return err
	}
	by.first = first
	rows = s.applyRules(g, original, rows, k)
	if !slices.ContainsFunc(rows, func(r int32) bool { return original[k][r] == original[k][r] }) {
		return nil
	}
	fitted := gathered.Once(g.Trials(s.fits), s.found(k, first, fitRecords), g.Stop, func() []int32 {
		return completeOf(learnt, original[k], by.before)
	})
	switch {
	case s.leaf > 0 && s.categories[k]:
		return s.drawFromTree(g, original, rows, fitted, k, by, everywhere)
	case s.categories[k]:
		return s.drawCategories(g, original, rows, fitted, k, by)
	}
	return s.drawNumbers(g, original, rows, fitted, k, by)
}

// drawNumbers draws a column of numbers: which records have a spike, and then the values of the others.
func (s *synthesis) drawNumbers(g *gathered.Data, original [][]float64, rows, fitted []int32, k int,
	by modelled) *decision.Refusal {
	at, name := fmt.Sprintf("columns[%d]", k), strconv.Quote(g.Columns[k].Name)
	if need := s.need(by); len(fitted) < need {
		return tooFewFor(at, name, need, len(fitted))
	}
	// The posterior of the mean with a flat prior, in SDs of the residuals: one draw for all of the stratum,
	// by the word of its first record that would choose a residual.
	shift := normalOf(g.Words[k][rows[0]])
	rows, fitted, bounds, err := s.drawSpikes(g, original, rows, fitted, k, by)
	if err != nil || g.Stop.Now() {
		return err
	}
	if s.leaf > 0 {
		return s.drawFromTree(g, original, rows, fitted, k, by, bounds)
	}
	fit := gathered.Once(g.Trials(s.fits), s.found(k, by.first, fitNumbers), g.Stop, func() numbersFit {
		return s.fitNumbers(original[k], fitted, by, bounds, g.Stop)
	})
	if g.Stop.Now() {
		return nil
	}
	if fit.determined {
		return determined(at, name)
	}
	shift /= math.Sqrt(float64(len(fitted)))
	draws := s.residuals(fit.model, fit.spread)
	predicted := g.Own.Number()
	gathered.Extended(&predicted, len(rows))
	defer g.Own.Again(predicted)
	words, normals, y, to := g.Words[k], g.Normals[k], original[k], g.Values[k]
	cores.Parts(len(rows), gathered.InPart, func(from, end int) {
		if g.Stop.Now() {
			return
		}
		rows, predicted := rows[from:end], predicted[from:end]
		fit.model.Predict(by.now, rows, predicted, g.Stop)
		for i, r := range rows {
			if y[r] != y[r] {
				continue
			}
			z := normals[r]
			if s.normal {
				z += shift
			}
			to[r] = bounds.within(predicted[i] + fit.centre + draws(words[r], z))
		}
	})
	return nil
}

// numbersFit is a regression of a column of numbers, or says that there is none to draw from.
type numbersFit struct {
	model          *models.Linear
	spread, centre float64 // the SD of its residuals, and what is added to predictions, see recentredFor
	determined     bool
}

func (s *synthesis) fitNumbers(y []float64, fitted []int32, by modelled, bounds extent, stop decision.Stop) (
	fit numbersFit) {
	var free, sd float64
	cores.Each(3, func(part int) {
		switch part {
		case 0:
			fit.model = models.Regress(by.before, y, fitted, stop)
			fit.spread = models.Deviation(fit.model.Residuals)
		case 1: // a column that on determines would be released as it is, and so would a constant one
			free = models.Deviation(models.Regress(by.before[:by.on], y, fitted, stop).Residuals)
		case 2:
			total := make([]float64, len(fitted))
			for i, r := range fitted {
				total[i] = y[r]
			}
			sd = models.Deviation(total)
		}
	})
	if stop.Now() {
		return fit
	}
	if !(free > 1e-6*sd) || oneValue(y, fitted) {
		fit.determined = true
		return fit
	}
	fit.centre = bounds.recentredFor(fit.model, by.before, fitted, s.residuals(fit.model, fit.spread), stop)
	return fit
}

// residuals draws about the predictions of a model.
func (s *synthesis) residuals(model *models.Linear, spread float64) residualDraw {
	if s.normal {
		return normals(spread)
	}
	return residualsOf(model, spread)
}

// residualDraw returns a draw about a prediction for a word and a normal draw.
type residualDraw func(word uint64, z float64) float64

func normals(spread float64) residualDraw {
	return func(_ uint64, z float64) float64 { return float64(spread * z) }
}

// residualsOf draws the residuals of a model, with noise, with the variance that they have without it.
func residualsOf(model *models.Linear, spread float64) residualDraw {
	width := bandwidth(len(model.Residuals))
	shrink := 1 / math.Sqrt(1+float64(width*width))
	return func(word uint64, z float64) float64 {
		e := model.Residuals[matching.Below(word, int64(len(model.Residuals)))]
		return float64((e + float64(float64(width*spread)*z)) * shrink)
	}
}

// Numbers of records, and of draws for each of them, from which recentredFor computes: the mean of so many is known to
// 1/100 of an SD, and the difference that bounds make to it far better.
const (
	recentredRecords = 1000
	recentredDraws   = 16
)

// recentredFor is recentred for the draws of a model, for some of the records that it is fitted to, evenly from first
// to last, with residuals and noise of all sizes.
func (e extent) recentredFor(model *models.Linear, x []models.Predictor, fitted []int32, draw residualDraw,
	stop decision.Stop) float64 {
	if e == everywhere {
		return 0
	}
	every := 1 + (len(fitted)-1)/recentredRecords
	var normals [recentredDraws]float64
	for j := range normals {
		normals[j] = keystream.NormalQuantile((float64(j) + 0.5) / recentredDraws)
	}
	var draws []float64
	for i := 0; i < len(fitted); i += every {
		m := model.At(x, fitted[i])
		for _, z := range normals {
			// the golden section spreads them evenly, and not in step with z
			_, u := math.Modf(float64(len(draws)) * 0.6180339887498949)
			draws = append(draws, m+draw(uint64(u*(1<<53))<<11, z))
		}
	}
	return e.recentred(draws, stop)
}

// need returns the number of records that a model of numbers needs.
func (s *synthesis) need(by modelled) int {
	if s.leaf > 0 {
		return max(s.leaf, 1+leastResiduals)
	}
	return len(by.before) + 1 + leastResiduals
}

// completeOf returns the records of rows that have the explained value and all predictors.
func completeOf(rows []int32, explained []float64, by []models.Predictor) (complete []int32) {
	for _, r := range rows {
		if y := explained[r]; y == y && !slices.ContainsFunc(by, func(x models.Predictor) bool {
			return x.At(r) != x.At(r)
		}) {
			complete = append(complete, r)
		}
	}
	return complete
}

// normalOf returns the standard normal draw for a word.
func normalOf(word uint64) float64 {
	return keystream.NormalQuantile((float64(word>>12) + 0.5) / (1 << 52))
}

func tooFewFor(at, name string, need, got int) *decision.Refusal {
	return &decision.Refusal{
		Path: at,
		Text: fmt.Sprintf(
			"must have at least %d records, in each stratum, with values in it, in those before it and in on: %s has %d; "+
				"name fewer columns in by or on, or leave it out", need, name, got)}
}

// oneValue reports whether all records of rows have the same value. Their SD might not be 0,
// because the mean is rounded.
func oneValue(values []float64, rows []int32) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(r int32) bool { return values[r] != values[rows[0]] })
}

func determined(at, name string) *decision.Refusal {
	return &decision.Refusal{
		Path: at,
		Text: fmt.Sprintf(
			"must not be determined by on, nor be one value alone in a stratum, or one category alone of as many records as a leaf has (5 by regressions): %s would leave as it is; leave it out, or name other columns in on or by", name)}
}

// bandwidth returns the bandwidth of Silverman's rule for n values, in units of their SD.
func bandwidth(n int) float64 {
	// n^(−1/5) by its logarithm in six digits: the last bits of a power differ between machines.
	return math.RoundToEven(0.9*math.Pow(float64(n), -0.2)*1e6) / 1e6
}

// modelled are the predictors of a model in a stratum: before has their original values, now the released
// ones. The first on of them are those of columns that do not change.
type modelled struct {
	before, now []models.Predictor
	on          int
	first       int32 // the first record of the stratum
}

// predictors returns the predictors of the model of column k in a stratum. A column of categories has one
// indicator for each category except the first, and a column of
// numbers that is drawn has one for each of its spikes too.
func (s *synthesis) predictors(g *gathered.Data, original [][]float64, rows []int32, k int) (by modelled,
	err *decision.Refusal) {
	add := func(path string, was, is []float64, categories bool) {
		if !categories {
			by.before, by.now = append(by.before, models.Predictor{Values: was}), append(by.now, models.Predictor{Values: is})
			return
		}
		list := models.CategoriesIn(was, rows)
		if len(list) > models.GreatestCategories {
			err = gathered.TooMany(path)
			return
		}
		for i := 1; i < len(list); i++ {
			by.before, by.now = append(by.before, models.Predictor{Values: was, Of: &list[i]}),
				append(by.now, models.Predictor{Values: is, Of: &list[i]})
		}
	}
	for i, values := range g.On {
		add(fmt.Sprintf("on[%d]", i), values, values, s.onCategories[i])
	}
	by.on = len(by.before)
	for i := range k {
		add(fmt.Sprintf("columns[%d]", i), original[i], g.Values[i], s.categories[i])
		for j := range s.shape[i].spikes {
			of := &s.shape[i].spikes[j]
			by.before, by.now = append(by.before, models.Predictor{Values: original[i], Of: of}),
				append(by.now, models.Predictor{Values: g.Values[i], Of: of})
		}
	}
	return by, err
}

func (s *synthesis) Share(fits *gathered.Fits) { s.fits = fits }

// found names what is found of column k in the stratum that begins with a record.
func (s *synthesis) found(k int, first int32, what gathered.FitWhat) gathered.FitKey {
	return gathered.FitKey{Of: s.of, Column: k, First: first, What: what}
}
