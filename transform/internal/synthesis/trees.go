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
func (s *synthesis) drawFromTree(g *gathered.Data, original [][]float64, rows, fitted []int32, k int, by modelled,
	bounds extent) *decision.Refusal {
	at, name := fmt.Sprintf("columns[%d]", k), strconv.Quote(g.Columns[k].Name)
	if need := s.need(by); len(fitted) < need {
		return tooFewFor(at, name, need, len(fitted))
	}
	y := original[k]
	fit := gathered.Once(g.Trials(s.fits), s.found(k, by.first, fitTree), g.Stop, func() treeFit {
		return s.fitTree(y, fitted, k, by, g.Stop)
	})
	switch {
	case g.Stop.Now():
		return nil
	case fit.many:
		return gathered.TooMany(at)
	case fit.of == nil:
		return determined(at, name)
	}
	cores.Parts(len(rows), decision.Every, func(start, end int) {
		if g.Stop.Now() {
			return
		}
		for _, r := range rows[start:end] {
			if y[r] != y[r] {
				continue
			}
			node := fit.leafOf(by.now, r)
			from, to := fit.of.Nodes[node].From, fit.of.Nodes[node].To
			v := fit.y[from+int(matching.Below(g.Words[k][r], int64(to-from)))]
			if !s.categories[k] {
				v = fit.smooth[node].smoothed(v, g.Normals[k][r], bounds)
			}
			g.Values[k][r] = v
		}
	})
	return nil
}

// treeFit is the tree of a column; nil if there is none to draw from, because its values are all the same or (many)
// because it has too many categories.
type treeFit struct {
	of     *models.Tree
	y      []float64   // by the tree's rows
	smooth []smoothing // by node, of the leaves of numbers
	leaves []int32     // by record, its leaf, where only columns that do not change decide on it; else nil
	many   bool
}

func (f *treeFit) leafOf(x []models.Predictor, r int32) int {
	if f.leaves != nil {
		return int(f.leaves[r])
	}
	return f.of.NodeOf(x, r)
}

// findLeaves notes the values of the tree's rows, and the leaves of all records if they are the same for each draw. At
// most two strata can have half of the records, so that not every one has as many leaves as there are records.
func (f *treeFit) findLeaves(y []float64, fitted []int32, by modelled, stop decision.Stop) {
	f.y = make([]float64, len(f.of.Rows))
	cores.Parts(len(f.y), decision.Every, func(from, to int) {
		for i, r := range f.of.Rows[from:to] {
			f.y[from+i] = y[r]
		}
	})
	drawn := slices.ContainsFunc(f.of.Nodes, func(n models.TreeNode) bool {
		return n.Right != 0 && n.Predictor >= by.on
	})
	if drawn || 2*len(fitted) < len(y) {
		return
	}
	leaves := make([]int32, len(y))
	cores.Parts(len(leaves), decision.Every, func(from, to int) {
		if stop.Now() {
			return
		}
		for r := from; r < to; r++ {
			leaves[r] = int32(f.of.NodeOf(by.before, int32(r)))
		}
	})
	f.leaves = leaves
}

func (s *synthesis) fitTree(y []float64, fitted []int32, k int, by modelled, stop decision.Stop) (fit treeFit) {
	var of models.Response
	if s.categories[k] {
		if len(models.CategoriesIn(y, fitted)) > models.GreatestCategories {
			return treeFit{many: true}
		}
		fitted = frequent(y, fitted, s.leaf)
		categories := models.CategoriesIn(y, fitted)
		if len(categories) < 2 {
			return fit
		}
		of = models.Categories(y, categories, fitted)
	} else {
		if oneValue(y, fitted) {
			return fit
		}
		of = models.Numbers(y, fitted)
	}
	fit.of = models.Grow(by.before, of, fitted, s.leaf, stop)
	if stop.Now() {
		return fit
	}
	if fit.findLeaves(y, fitted, by, stop); s.categories[k] {
		return fit
	}
	fit.smooth = make([]smoothing, len(fit.of.Nodes))
	cores.Parts(len(fit.of.Nodes), decision.Every, func(from, to int) {
		if stop.Now() {
			return
		}
		for i := from; i < to; i++ {
			if fit.of.Nodes[i].Right == 0 {
				fit.smooth[i] = smoothingOf(y, fit.of.Records(i))
			}
		}
	})
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

// smoothed returns a value of the leaf after smoothing within bounds; z is the normal draw of its noise.
func (s smoothing) smoothed(v, z float64, bounds extent) float64 {
	noise, root := float64(float64(s.width*s.sd)*z), math.Sqrt(1+float64(s.width*s.width))
	at := s.mean + (v-s.mean)/root
	if room := min(at-bounds.low, bounds.high-at); math.Abs(noise/root) > room {
		return bounds.about(at, noise/root)
	}
	return s.mean + float64((v-s.mean+noise)/root)
}
