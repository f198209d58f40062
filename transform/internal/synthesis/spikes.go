package synthesis

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"

	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/internal/models"
)

// A value that many records share, such as an income of 0, is a spike: it is modelled apart from the
// other values, which no regression joins with it. Whether a record has a spike, and which, is drawn
// first, then the value of a record that has none (two-part models: Duan, Manning, Morris and Newhouse
// 1983; in synthetic data Raghunathan, Lepkowski, van Hoewyk and Solenberger 2001).

// spikeShare is the least share of the values that a spike has, and spikeHeight how many times as many
// records it has at least as either distinct value beside it.
const (
	spikeShare  = 0.1
	spikeHeight = 5
)

// spikesIn returns the spikes among values in ascending order. A spike is the value of at least `least`
// records too.
func spikesIn(sorted []float64, least int) (spikes []float64) {
	before, from := 0, 0
	for from < len(sorted) {
		count := runOf(sorted[from:])
		next := from + count
		after := 0
		if next < len(sorted) {
			after = runOf(sorted[next:])
		}
		if float64(count) >= spikeShare*float64(len(sorted)) && count >= least && count >= spikeHeight*max(before, after) {
			spikes = append(spikes, sorted[from])
		}
		before, from = count, next
	}
	return spikes
}

// runOf returns the number of values equal to the first one, in ascending order.
func runOf(sorted []float64) int {
	return sort.Search(len(sorted), func(i int) bool { return sorted[i] > sorted[0] })
}

// shape is what a synthesis keeps of a column of numbers.
type shape struct {
	spikes []float64
	all    extent // of the values
	rest   extent // of those that are no spike
}

// extent is a closed interval.
type extent struct{ low, high float64 }

// within returns a value, reflected at the bounds if it lies beyond them (Silverman 1986, section 2.10).
// A bound itself is the value of a respondent, and so values are not clipped to it.
func (e extent) within(v float64) float64 {
	width := e.high - e.low
	switch {
	case v >= e.low && v <= e.high, math.IsInf(width, 0):
		return v
	case !(width > 0):
		return e.low
	}
	d := math.Abs(math.Mod(v-e.low, 2*width))
	if d > width {
		d = 2*width - d
	}
	return min(max(e.low+d, e.low), e.high)
}

// about returns a value moved by a draw of mean 0, which is reflected at the same distance on either side if it would
// lead beyond a bound: the mean stays the value, which lies within.
func (e extent) about(v, draw float64) float64 {
	if room := min(v-e.low, e.high-v); !math.IsInf(room, 0) {
		draw = extent{-room, room}.within(draw)
	}
	return v + draw
}

// recentred returns what must be added to draws that are reflected at the bounds for them to have the mean that they
// have without bounds, or come as near to it as they can.
func (e extent) recentred(draws []float64, stop decision.Stop) float64 {
	best, least, shift := 0.0, math.Inf(1), 0.0
	for range 20 {
		gain := 0.0
		for _, v := range draws {
			gain += (e.within(v+shift) - v) / float64(len(draws))
		}
		if math.Abs(gain) < least {
			best, least = shift, math.Abs(gain)
		}
		if gain == 0 || stop.Now() {
			break
		}
		shift -= gain
	}
	return best
}

// everywhere is the extent of a column whose draws have no bounds.
var everywhere = extent{math.Inf(-1), math.Inf(1)}

// shapes finds the spikes and bounds of the columns of numbers among the records that models are fitted
// to, of all strata together.
func (s *synthesis) shapes(g *gathered.Data) []shape {
	list := make([]shape, len(g.Values))
	least := max(s.leaf, leastLeaf)
	cores.Each(len(g.Values), func(k int) { list[k] = s.shapeOf(g, k, least) })
	return list
}

// shapeOf is shapes of one column.
func (s *synthesis) shapeOf(g *gathered.Data, k, least int) shape {
	of := shape{all: everywhere, rest: everywhere}
	if s.categories[k] {
		return of
	}
	var sorted []float64
	for i, v := range g.Values[k] {
		if v == v && g.Strata[i] >= 0 && (s.held == nil || !s.held[i]) && s.ruleFor(g, g.Values, k, int32(i)) == nil {
			sorted = append(sorted, v)
		}
	}
	rank.Sort(sorted)
	if len(sorted) == 0 || g.Stop.Now() {
		return of
	}
	of.spikes = spikesIn(sorted, least)
	if s.unbounded {
		return of
	}
	of.all = extent{sorted[0], sorted[len(sorted)-1]}
	of.rest = of.all
	if rest := slices.DeleteFunc(sorted, of.has); len(rest) > 0 {
		of.rest = extent{rest[0], rest[len(rest)-1]}
	}
	return of
}

// has reports whether a value is a spike.
func (s *shape) has(v float64) bool { return slices.Contains(s.spikes, v) }

// drawSpikes draws which of the records rows have a spike, and sets their values. It returns the others,
// for which the first words are made anew from what the draw has left of them, the records that
// the model of their values is fitted to, and the bounds of it. If these are too few, or all of one value, or no spike
// has enough records, all are modelled together.
func (s *synthesis) drawSpikes(g *gathered.Data, original [][]float64, rows, fitted []int32, k int, by modelled) (left,
	rest []int32, bounds extent, err *decision.Refusal) {
	of := &s.shape[k]
	if len(of.spikes) == 0 {
		return rows, fitted, of.all, nil
	}
	y := original[k]
	rest = slices.DeleteFunc(slices.Clone(fitted), func(r int32) bool { return of.has(y[r]) })
	if len(rest) < s.need(by) || oneValue(y, rest) {
		return rows, fitted, of.all, nil
	}
	if len(s.class) < g.N {
		s.class = make([]float64, g.N)
	}
	class := s.class // 0: no spike; else 1 more than its place among the spikes
	for _, r := range fitted {
		class[r] = float64(1 + slices.Index(of.spikes, y[r]))
	}
	fitted = frequent(class, fitted, max(s.leaf, leastLeaf))
	classes := models.CategoriesIn(class, fitted)
	if len(classes) < 2 {
		return rows, rest, of.rest, nil
	}
	pick, err := s.picker(g, class, classes, fitted, k, by)
	if err != nil || g.Stop.Now() {
		return nil, nil, of.rest, err
	}
	for i, r := range rows {
		if g.Stop.At(i) {
			return nil, nil, of.rest, nil
		}
		if y[r] != y[r] {
			continue
		}
		c, word := pick(r, g.Words[k][r])
		if c > 0 {
			g.Values[k][r] = of.spikes[int(c)-1]
			continue
		}
		g.Words[k][r] = word
		left = append(left, r)
	}
	return left, rest, of.rest, nil
}

// picker returns a function that draws the class of a record by a word, and the word that is left, which
// is as good as a new one.
func (s *synthesis) picker(g *gathered.Data, class, classes []float64, fitted []int32, k int,
	by modelled) (func(r int32, word uint64) (float64, uint64), *decision.Refusal) {
	at, name := fmt.Sprintf("columns[%d]", k), strconv.Quote(g.Columns[k].Name)
	if s.leaf > 0 {
		t := gathered.Once(g.Trials(s.fits), s.found(k, by.first, fitSpikes), g.Stop, func() *models.Tree {
			return models.Grow(by.before, models.Categories(class, classes, fitted), fitted, s.leaf, g.Stop)
		})
		return func(r int32, word uint64) (float64, uint64) {
			leaf := t.LeafOf(by.now, r)
			index, left := bits.Mul64(word, uint64(len(leaf)))
			return class[leaf[index]], left
		}, nil
	}
	if need := (len(classes)-1)*(len(by.before)+1) + leastResiduals; len(fitted) < need {
		return nil, tooFewFor(at, name, need, len(fitted))
	}
	if n := (len(classes) - 1) * (len(by.before) + 1); n > greatestCoefficients {
		return nil,
			&decision.Refusal{
				Path: at,
				Text: fmt.Sprintf(
					"must have a model of at most %d coefficients for the values that many records of %s share, got %d; name fewer columns", greatestCoefficients, name, n)}
	}
	model, free := s.logisticFor(s.found(k, by.first, fitSpikes), g.Stop, class, classes, fitted, by)
	if !g.Stop.Now() && !(free > models.LeastFree) {
		return nil,
			&decision.Refusal{
				Path: at,
				Text: fmt.Sprintf(
					"must not be determined by on where many records share a value: which of them have it would leave as it is for %s; "+
						"say it in rules, such as %q, name other columns in on, or use method: cart", name, "income = 0 if age < 16")}
	}
	u, share := make([]float64, len(by.now)+1), make([]float64, len(classes))
	return func(r int32, word uint64) (float64, uint64) {
		model.Standard(u, by.now, r)
		model.Shares(share, u)
		c, left := chosen(share, word)
		return classes[c], uint64(left*(1<<53)) << 11
	}, nil
}

// chosen returns which of some shares, which sum to 1, a word falls into, and how far within it, from 0 to below 1.
func chosen(share []float64, word uint64) (c int, within float64) {
	left := float64(word>>11) / (1 << 53)
	for left >= share[c] && c < len(share)-1 {
		left -= share[c]
		c++
	}
	if !(left < share[c]) { // the shares sum to a little less than 1
		return c, 0
	}
	return c, min(left/share[c], 1-1.0/(1<<53))
}
