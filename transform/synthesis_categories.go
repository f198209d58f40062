package transform

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"sync"
)

// greatestCoefficients bounds those of one model of categories, with whose square the time goes
// that a fit takes.
const greatestCoefficients = 200

// leastFree is the least probability, in the mean over the records and beside that of a draw from
// all of them, with which a category may become another one as far as on says.
// Where predictors separate categories it is some 1/√n, as only those near the border may change.
const leastFree = 0.05

// drawCategories draws a column of categories of the records rows from a multinomial logistic
// regression that is fitted to those of them that have all predictors, without categories of fewer than
// leastLeaf of them, which do not come out. The first column,
// without any, is so drawn from the categories of the data.
func (s *synthesis) drawCategories(g *gathered, original [][]float64, rows, fitted []int32, k int, before, now []predictor, on int) *SurveyError {
	at, name := fmt.Sprintf("columns[%d]", k), strconv.Quote(g.columns[k].Name)
	categories := categoriesIn(original[k], fitted)
	if len(categories) > greatestCategories {
		return tooMany(at)
	}
	if need := (len(categories)-1)*(len(before)+1) + leastResiduals; len(fitted) < need {
		return tooFewFor(at, name, need, len(fitted))
	}
	fitted = frequent(original[k], fitted, leastLeaf)
	if categories = categoriesIn(original[k], fitted); len(categories) < 2 {
		return determined(at, name)
	}
	if n := (len(categories) - 1) * (len(before) + 1); n > greatestCoefficients {
		return &SurveyError{Path: at, Text: fmt.Sprintf("must have a model of at most %d coefficients, one less than its categories times one more than what it goes by: that of %s has %d; "+
			"recode categories more coarsely, or name fewer columns", greatestCoefficients, name, n)}
	}
	model, free := s.fits.of(fitKey{s.of, k, rows[0]}, g.stop, func() (*logistic, float64) {
		m := fitLogistic(before, original[k], categories, fitted, g.stop)
		alone := m
		if on < len(before) {
			alone = fitLogistic(before[:on], original[k], categories, fitted, g.stop)
		}
		return m, alone.free(before[:on], original[k], fitted)
	})
	if g.stop.now() {
		return nil
	}
	if !(free > leastFree) {
		return determined(at, name)
	}
	u, share := make([]float64, len(now)+1), make([]float64, len(categories))
	for i, r := range rows {
		if g.stop.at(i) {
			return nil
		}
		if y := original[k][r]; y != y {
			continue
		}
		model.standard(u, now, r)
		model.shares(share, u)
		left, c := float64(g.words[2*k][r]>>11)/(1<<53), 0
		for left -= share[0]; left >= 0 && c < len(share)-1; left -= share[c] {
			c++
		}
		g.values[k][r] = categories[c]
	}
	return nil
}

// free is the mean probability of another category than a record has, by what that would be of
// a draw from all records.
func (m *logistic) free(x []predictor, y []float64, rows []int32) float64 {
	u, share := make([]float64, len(x)+1), make([]float64, len(m.categories))
	other, same := 0.0, make([]float64, len(m.categories))
	n := float64(len(rows))
	for _, r := range rows {
		m.standard(u, x, r)
		m.shares(share, u)
		for c, v := range m.categories {
			if y[r] == v {
				other += (1 - share[c]) / n
				same[c] += 1 / n
			}
		}
	}
	chance := 1.0
	for _, v := range same {
		chance -= float64(v * v)
	}
	return other / chance
}

// allFits are the models of categories, for replicates: a chain and its replicates have them in
// common, as they follow from the data alone.
type allFits struct {
	mu     sync.Mutex
	models map[fitKey]*oneFit
}

// fitting is the arithmetic of a mask whose models take long to fit.
type fitting interface{ share(*allFits) }

func (s *synthesis) share(fits *allFits) { s.fits = fits }

type fitKey struct {
	of     [sha256.Size]byte
	column int
	first  int32 // record of the stratum
}

type oneFit struct {
	mu    sync.Mutex
	model *logistic
	free  float64
}

func (f *allFits) of(key fitKey, stop stopper, fit func() (*logistic, float64)) (*logistic, float64) {
	f.mu.Lock()
	if f.models == nil {
		f.models = map[fitKey]*oneFit{}
	}
	known := f.models[key]
	if known == nil {
		known = &oneFit{}
		f.models[key] = known
	}
	f.mu.Unlock()
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.model != nil {
		return known.model, known.free
	}
	model, free := fit()
	if !stop.now() { // a later replicate, which is not cancelled, must not take half a model over
		known.model, known.free = model, free
	}
	return model, free
}
