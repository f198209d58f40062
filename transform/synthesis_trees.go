package transform

import (
	"fmt"
	"math"
	"strconv"
)

// Numbers of records in a leaf: the least that can be configured, and the default.
const (
	leastLeaf   = 5
	defaultLeaf = 10
)

// drawFromTree draws column k for the records rows from the leaves of a tree that is fitted to those
// of them that have all predictors: Reiter (2005), Using CART to generate partially synthetic public
// use microdata. A number is that of a random record of the leaf, moved towards the leaf's mean, plus
// normal noise, so that mean and variance of the leaf stay and no original value is released. A
// category is that of a random record of the leaf; categories of fewer records than a leaf must have
// are not released.
func (s *synthesis) drawFromTree(g *gatheredData, original [][]float64, rows, fitted []int32, k int, by modelled, bounds extent) *SurveyError {
	at, name := fmt.Sprintf("columns[%d]", k), strconv.Quote(g.columns[k].Name)
	if need := s.need(by); len(fitted) < need {
		return tooFewFor(at, name, need, len(fitted))
	}
	y := original[k]
	fit := fitOnce(g.trials(s.fits), fitKey{s.of, k, by.first, fitTree}, g.stop, func() treeFit { return s.fitTree(y, fitted, k, by, g.stop) })
	switch {
	case g.stop.now():
		return nil
	case fit.many:
		return tooMany(at)
	case fit.of == nil:
		return determined(at, name)
	}
	for i, r := range rows {
		if g.stop.at(i) {
			return nil
		}
		if y[r] != y[r] {
			continue
		}
		node := fit.of.nodeOf(by.now, r)
		leaf := fit.of.records(node)
		v := y[leaf[below(g.words[2*k][r], int64(len(leaf)))]]
		if !s.categories[k] {
			v = fit.smooth[node].smoothed(v, g.words[2*k+1][r], bounds)
		}
		g.values[k][r] = v
	}
	return nil
}

// treeFit is the tree of a column; nil if there is none to draw from, because its values are all the same or (many) because it has
// too many categories.
type treeFit struct {
	of     *tree
	smooth []smoothing // by node, of the leaves of numbers
	many   bool
}

func (s *synthesis) fitTree(y []float64, fitted []int32, k int, by modelled, stop stopper) (fit treeFit) {
	var of response
	if s.categories[k] {
		if len(categoriesIn(y, fitted)) > greatestCategories {
			return treeFit{many: true}
		}
		fitted = frequent(y, fitted, s.leaf)
		categories := categoriesIn(y, fitted)
		if len(categories) < 2 {
			return fit
		}
		of = newCategoriesOf(y, categories, fitted)
	} else {
		if oneValue(y, fitted) {
			return fit
		}
		of = newNumbersOf(y, fitted)
	}
	fit.of = grow(by.before, of, fitted, s.leaf, stop)
	if s.categories[k] {
		return fit
	}
	fit.smooth = make([]smoothing, len(fit.of.nodes))
	for i, n := range fit.of.nodes {
		if stop.at(i) {
			return fit
		}
		if n.right == 0 {
			fit.smooth[i] = smoothingOf(y, fit.of.records(i))
		}
	}
	return fit
}

// smoothing has the parameters of the smoothed bootstrap in a leaf.
type smoothing struct{ mean, sd, width float64 }

func smoothingOf(y []float64, leaf []int32) smoothing {
	mean, square, n := 0.0, 0.0, float64(len(leaf))
	for _, r := range leaf {
		mean += y[r] / n
	}
	for _, r := range leaf {
		square += float64((y[r]-mean)*(y[r]-mean)) / n
	}
	return smoothing{mean, math.Sqrt(square), bandwidth(len(leaf))}
}

// smoothed returns a value of the leaf after smoothing within bounds; word gives its noise.
func (s smoothing) smoothed(v float64, word uint64, bounds extent) float64 {
	noise, root := float64(float64(s.width*s.sd)*normalOf(word)), math.Sqrt(1+float64(s.width*s.width))
	at := s.mean + (v-s.mean)/root
	if room := min(at-bounds.low, bounds.high-at); math.Abs(noise/root) > room {
		return bounds.about(at, noise/root)
	}
	return s.mean + float64((v-s.mean+noise)/root)
}
