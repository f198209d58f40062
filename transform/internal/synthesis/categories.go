package synthesis

import (
	"fmt"
	"strconv"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/internal/models"
)

// greatestCoefficients bounds the coefficients of one model of categories: the time of a fit is
// proportional to the square of their number.
const greatestCoefficients = 200

// drawCategories draws a column of categories for the records rows from a multinomial logistic
// regression. It is fitted to those of them that have all predictors, without categories of fewer
// than leastLeaf records, which are not released. A column without predictors is drawn from the
// frequencies of the categories.
func (s *synthesis) drawCategories(g *gathered.Data, original [][]float64, rows, fitted []int32, k int,
	by modelled) *decision.Refusal {
	at, name := fmt.Sprintf("columns[%d]", k), strconv.Quote(g.Columns[k].Name)
	categories := models.CategoriesIn(original[k], fitted)
	if len(categories) > models.GreatestCategories {
		return gathered.TooMany(at)
	}
	if need := (len(categories)-1)*(len(by.before)+1) + leastResiduals; len(fitted) < need {
		return tooFewFor(at, name, need, len(fitted))
	}
	fitted = frequent(original[k], fitted, leastLeaf)
	if categories = models.CategoriesIn(original[k], fitted); len(categories) < 2 {
		return determined(at, name)
	}
	if n := (len(categories) - 1) * (len(by.before) + 1); n > greatestCoefficients {
		return &decision.Refusal{
			Path: at,
			Text: fmt.Sprintf(
				"must have a model of at most %d coefficients, one less than its categories times one more than what it goes by: that of %s has %d; "+
					"recode categories more coarsely, or name fewer columns", greatestCoefficients, name, n)}
	}
	model, free := s.logisticFor(s.found(k, by.first, fitCategories), g.Stop, original[k], categories, fitted, by)
	if g.Stop.Now() {
		return nil
	}
	if !(free > models.LeastFree) {
		return determined(at, name)
	}
	u, share := make([]float64, len(by.now)+1), make([]float64, len(categories))
	for i, r := range rows {
		if g.Stop.At(i) {
			return nil
		}
		if y := original[k][r]; y != y {
			continue
		}
		model.Standard(u, by.now, r)
		model.Shares(share, u)
		c, _ := chosen(share, g.Words[k][r])
		g.Values[k][r] = categories[c]
	}
	return nil
}

// logisticFor returns the model of the categories y, fitted or taken over, and how free its draws are
// given on alone.
func (s *synthesis) logisticFor(key gathered.FitKey, stop decision.Stop, y, categories []float64, fitted []int32,
	by modelled) (*models.Logistic, float64) {
	of := gathered.Once(s.fits, key, stop, func() (of logisticFit) {
		of.model = models.FitLogistic(by.before, y, categories, fitted, stop)
		alone := of.model
		if by.on < len(by.before) {
			alone = models.FitLogistic(by.before[:by.on], y, categories, fitted, stop)
		}
		of.free = alone.Free(by.before[:by.on], y, fitted)
		return of
	})
	return of.model, of.free
}

// logisticFit is a model of categories, and how free its draws are given on alone.
type logisticFit struct {
	model *models.Logistic
	free  float64
}

// frequent returns the records whose category at least `least` of the records have.
func frequent(values []float64, rows []int32, least int) []int32 {
	count := map[float64]int{}
	for _, r := range rows {
		count[values[r]]++
	}
	var list []int32
	for _, r := range rows {
		if count[values[r]] >= least {
			list = append(list, r)
		}
	}
	return list
}
