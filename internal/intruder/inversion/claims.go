package inversion

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/transform"
)

// attacker is the state of the attack on one column. It holds both what the intruder
// knows and the originals that the claims are compared with.
type attacker struct {
	column     *Column
	grid       float64
	links      []link
	ranks      *transform.RankExchange // one of the links; nil: none exchanges ranks
	masked     bool
	moments    Moments // published
	n          int     // records of the whole release
	confidence float64
	statements [][]float64 // of the originals, by all released columns

	original, released side
	guess              float64
	disclosed          []bool // recovered by an inversion that fails the column
}

// side holds number, mean and SD of the values of a column on one side.
type side struct {
	n        int
	mean, sd float64
}

func sideOf(values []float64) side {
	var s side
	var sum float64
	for _, x := range values {
		if x == x {
			sum += x
			s.n++
		}
	}
	s.mean = sum / float64(s.n)
	var square float64
	for _, x := range values {
		if d := x - s.mean; d == d {
			square += d * d
		}
	}
	s.sd = math.Sqrt(square / float64(s.n-1))
	return s
}

func newAttacker(masks []transform.Spec, known Published, c *Column, swaps *swapReach, confidence float64) (*attacker,
	error) {
	a := &attacker{column: c, grid: c.Grid, n: known.N, confidence: confidence,
		original: sideOf(c.Original), released: sideOf(c.Released), disclosed: make([]bool, len(c.Original))}
	a.guess = modalShare(c.Original, c.Grid)
	if err := a.chain(masks, known, swaps); err != nil {
		return nil, err
	}
	return a, nil
}

// sd returns S_x, for noise that is given as a share f of it: the published SD, or else
// the SD of the original. If it is not published, an intruder estimates it from S_y² =
// S_x²(1 + f²), with the accuracy of the sample.
func (a *attacker) sd() float64 {
	if a.moments.SD >= 0 {
		return a.moments.SD
	}
	if a.original.n > 1 {
		return a.original.sd
	}
	return 0
}

// modalShare returns the share of the most frequent value, where values on the same
// grid point count as equal.
func modalShare(values []float64, grid float64) float64 {
	s := make([]float64, 0, len(values))
	for _, x := range values {
		if x == x {
			s = append(s, x)
		}
	}
	rank.Sort(s)
	most := 0
	for from := 0; from < len(s); {
		to := from + 1
		for to < len(s) && s[to]-s[from] <= grid/2 {
			to++
		}
		most = max(most, to-from)
		from = to
	}
	if len(s) == 0 {
		return 0
	}
	return float64(most) / float64(len(s))
}

// near reports whether a claim is within half a grid step of the original. The
// tolerance allows for the rounding of decimal numbers.
func (a *attacker) near(claim, x float64) bool {
	return math.Abs(claim-x) <= a.grid/2*(1+1e-6)+1e-15*math.Abs(x)
}

func (a *attacker) attack(masks []transform.Spec, distances []float64) ColumnResult {
	c := ColumnResult{Name: a.column.Name, Masked: a.masked, Grid: a.grid, Records: a.original.n, Guess: a.guess,
		Passed: true}
	certain, luck := a.direct(&c)
	a.undo(&c)
	a.heapsByMoments(&c, certain)
	a.affine(&c, luck)
	a.exact(&c, masks, distancesOf(distances))
	best, claimed := 0, 0
	for _, v := range c.Inversions {
		if !v.Fails {
			continue
		}
		c.Passed = false
		claimed += v.Claims
		other := float64(best)
		if v.Kind == OnLattice || v.Kind == ToldApart {
			other *= 1.05 // what undoes the mask itself says more
		}
		if float64(v.Recovered) > other {
			best, c.By = v.Recovered, v.Kind
		}
	}
	for _, f := range a.disclosed {
		if f {
			c.Recovered++
		}
	}
	if c.Records > 0 {
		c.Share = float64(c.Recovered) / float64(c.Records)
	}
	if !c.Passed {
		c.BeyondGuess = max(0, c.Share-a.guess*float64(min(claimed, c.Records))/float64(c.Records))
	}
	return c
}

// direct claims that released values are the originals. Each record is one claim,
// grouped by the mask that most probably has changed it. It returns the certainty of
// each claim and the mean probability that the masks leave a value unchanged. If that is at least the
// confidence, claims are not correct by chance or the masks have no law: it is 0 if the released
// values failed the column, else the share of values that are unchanged.
func (a *attacker) direct(c *ColumnResult) (certain []float64, luck float64) {
	x, y := a.column.Original, a.column.Released
	certain, chance, weakest := a.leftAlone()
	var sum float64
	for i, v := range x {
		if v == v {
			sum += chance[i]
		}
	}
	if a.original.n > 0 {
		luck = sum / float64(a.original.n)
	}
	moved := luck < a.confidence // by more than rounding removes
	if rounded := a.roundedShare(moved); rounded < 1 {
		for i := range chance {
			chance[i] *= rounded
		}
		luck *= rounded
	}
	groups := a.file(certain, chance, weakest, moved)
	failed := false
	for _, g := range a.sorted(groups) {
		a.judge(c, g)
		failed = failed || g.fails
	}
	for i, v := range y {
		if !failed {
			break
		}
		if g := groups[a.fileOf(i, v, certain, weakest, moved)]; g != nil && g.fails {
			a.disclosed[i] = a.disclosed[i] || a.near(v, x[i])
		}
	}
	if luck >= a.confidence {
		// No law says how often: as often as it has come about, unless that failed the column.
		luck = 0
		if hits := 0; !failed && a.original.n > 0 {
			for i, v := range y {
				if a.near(v, x[i]) {
					hits++
				}
			}
			luck = float64(hits) / float64(a.original.n)
		}
	}
	return certain, luck
}

// leftAlone returns for each record a lower bound of the probability, given the released
// value, that the masks left its value unchanged (certain), an upper bound of the same
// probability given the original (chance), and the mask that most probably changed it
// (weakest): 0 for none, k for links[k−1].
func (a *attacker) leftAlone() (certain, chance []float64, weakest []int32) {
	x, y := a.column.Original, a.column.Released
	certain, chance = ones(len(y)), ones(len(y))
	weakest = make([]int32, len(y))
	least := ones(len(y))
	p := make([]float64, len(y))
	for k, l := range a.links {
		if l.trivial {
			continue
		}
		for i := range p {
			p[i] = 1
		}
		switch {
		case l.kind == Rounding:
			for i := range p {
				p[i] = min(1, a.grid/l.step)
			}
		case l.certain != nil:
			l.certain(y, p)
		}
		for i, v := range p {
			certain[i] *= v
			if weakest[i] == 0 || v <= least[i] {
				weakest[i], least[i] = int32(k+1), v
			}
		}
		if l.chance != nil {
			l.chance(x, chance)
		}
	}
	return certain, chance, weakest
}

// file is the group of a claim that the released value is the original. link is the
// index in links plus 1, 0 for none.
type file struct {
	link int32
	kind Kind
}

// fileOf returns the group of the claim for record i with released value y.
func (a *attacker) fileOf(i int, y float64, certain []float64, weakest []int32, moved bool) file {
	link := weakest[i]
	switch {
	case certain[i] >= a.confidence:
		if link > 0 {
			return file{link, a.links[link-1].kind}
		}
		return file{0, Identity}
	case a.heaped(y):
		return file{link, Heap}
	case link > 0 && a.links[link-1].kind == Rounding && !moved:
		return file{link, Rounding}
	}
	return file{0, Luck}
}

// file counts, by group, the claims that released values are the originals.
func (a *attacker) file(certain, chance []float64, weakest []int32, moved bool) map[file]*claims {
	groups := map[file]*claims{}
	x := a.column.Original
	var last file
	var g *claims
	for i, v := range a.column.Released {
		if v != v || x[i] != x[i] {
			continue
		}
		if f := a.fileOf(i, v, certain, weakest, moved); f != last || g == nil {
			if g = groups[f]; g == nil {
				g = &claims{file: f, certainty: 1, deterministic: certain[i] >= a.confidence}
				groups[f] = g
			}
			last = f
		}
		g.add(a.near(v, x[i]), certain[i], chance[i])
	}
	return groups
}

// sorted returns the groups in a fixed order, so that results are reproducible.
func (a *attacker) sorted(groups map[file]*claims) []*claims {
	return slices.SortedFunc(maps.Values(groups), func(a, b *claims) int {
		return cmp.Or(cmp.Compare(a.link, b.link), cmp.Compare(a.kind, b.kind))
	})
}

func ones(n int) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = 1
	}
	return p
}

func (a *attacker) heaped(y float64) bool {
	for _, l := range a.links {
		if l.atBound != nil {
			if lower, upper := l.atBound(y); lower || upper {
				return true
			}
		}
	}
	return false
}

// roundedShare returns an upper bound of the share of values that the coarsest rounding
// leaves unchanged. If noise changes values before the rounding, it takes into account
// the share of originals that are multiples of the step, so that the chance is that of
// the noise. For rounding alone it is the share for evenly spread values, so that the
// attack detects data that are coarser than their grid.
func (a *attacker) roundedShare(moved bool) float64 {
	share := 1.0
	for _, l := range a.links {
		if l.kind != Rounding {
			continue
		}
		even := min(1, a.grid/l.step)
		if moved {
			multiples := 0
			for _, x := range a.column.Original {
				if q := x / l.step; math.Abs(q-math.RoundToEven(q))*l.step <= a.grid/4 {
					multiples++
				}
			}
			even = max(even, float64(multiples)/float64(max(a.original.n, 1)))
		}
		share = min(share, even)
	}
	return share
}

// claims counts the claims of one inversion for a group of records.
type claims struct {
	file
	deterministic bool
	certainty     float64 // the least
	chance        float64 // sum
	n, recovered  int
	fails         bool
}

func (g *claims) add(hit bool, certainty, chance float64) {
	g.n++
	if hit {
		g.recovered++
	}
	g.certainty = min(g.certainty, certainty)
	g.chance += chance
}

// significance is the level of the test for more correct claims than by chance. A
// release of a thousand columns with ten inversions each fails by chance one time in a
// hundred.
const significance = 1e-6

// slack is a factor that allows for errors of the chance probabilities: a standard
// deviation that is estimated from a sample, a tier that was chosen by the value before
// the preceding mask.
const slack = 1.05

// judge decides whether the claims fail the column and appends the inversion to c.
func (a *attacker) judge(c *ColumnResult, g *claims) {
	if g.n == 0 {
		return
	}
	v := Inversion{Kind: g.kind, Claims: g.n, Recovered: g.recovered, Certainty: g.certainty,
		Deterministic: g.deterministic, Chance: a.guess}
	if g.link > 0 {
		v.Mask = a.links[g.link-1].label
	}
	share := float64(g.recovered) / float64(g.n)
	if g.deterministic {
		// If most claims are wrong, the masks are not those of the release.
		v.Fails = share > a.guess && (share >= a.confidence/2 || improbable(g.recovered, g.n, a.guess))
	} else {
		v.Chance = min(1, max(a.guess, slack*g.chance/float64(g.n)))
		v.Fails = improbable(g.recovered, g.n, v.Chance)
	}
	g.fails = v.Fails
	c.Inversions = append(c.Inversions, v)
}

// improbable reports whether r or more hits among m have a probability below
// significance if each has the probability p.
func improbable(r, m int, p float64) bool {
	if float64(r) <= p*float64(m) {
		return false
	}
	if p <= 0 {
		return r > 0
	}
	return mathext.RegIncBeta(float64(r), float64(m-r+1), p) < significance
}
