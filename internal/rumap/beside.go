package rumap

import (
	"maps"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Loss is what masking has cost apart from the mean: the same figures as in the report of a release.
type Loss struct {
	KS      map[string]assess.Float `json:"ks" doc:"Kolmogorov-Smirnov distance between original and released values, by column"`
	PMSE    *assess.Float           `json:"pmse,omitempty" doc:"propensity score mean squared error of a logistic regression on the values: 0 if it distinguishes no released record from an original one, 0.25 if it distinguishes all; detects shifts of means and lost values, but no change of spread"`
	Overlap *assess.Float           `json:"overlap,omitempty" doc:"least overlap of the confidence intervals of a regression before and after masking; absent if the sample does not contain all records"`
}

// A Beside is a figure of a point apart from R and U, which not every map has.
type Beside struct {
	Name  string // of its column in map.csv
	Words string // what a page calls it
	find  func(*Point) (path []string, v assess.Float, there bool)
}

// besides are all such figures, in the order in which they are shown.
var besides = []Beside{
	{"ks", "KS", func(p *Point) (path []string, most assess.Float, there bool) {
		if p.Loss == nil {
			return nil, 0, false
		}
		for _, name := range slices.Sorted(maps.Keys(p.Loss.KS)) {
			if v := p.Loss.KS[name]; !there || v > most {
				path, most, there = []string{"loss", "ks", name}, v, true
			}
		}
		return path, most, there
	}},
	{"pmse", "pMSE", func(p *Point) ([]string, assess.Float, bool) {
		if p.Loss == nil || p.Loss.PMSE == nil {
			return nil, 0, false
		}
		return []string{"loss", "pmse"}, *p.Loss.PMSE, true
	}},
	{"overlap", "overlap", func(p *Point) ([]string, assess.Float, bool) {
		if p.Loss == nil || p.Loss.Overlap == nil {
			return nil, 0, false
		}
		return []string{"loss", "overlap"}, *p.Loss.Overlap, true
	}},
	{"attribute_disclosure", "attribute", func(p *Point) ([]string, assess.Float, bool) {
		v, there := p.Respondents[MeasureAttribute]
		return []string{"respondents", MeasureAttribute}, v, there
	}},
	{"epsilon", "ε", func(p *Point) ([]string, assess.Float, bool) {
		if p.Epsilon == nil {
			return nil, 0, false
		}
		return []string{"epsilon"}, *p.Epsilon, true
	}},
}

// Beside are the figures that at least one point of the map has apart from R and U: ks, the greatest distance of a
// column, pmse, overlap, attribute_disclosure, epsilon.
func (m *Map) Beside() []Beside {
	return slices.DeleteFunc(slices.Clone(besides), func(b Beside) bool {
		return !slices.ContainsFunc(m.Points, func(p Point) bool { _, _, there := b.find(&p); return there })
	})
}

// Of is the figure of a point, and its field in the JSON of the point; NaN and nil if the point does not have it.
func (b Beside) Of(p *Point) (path []string, v assess.Float) {
	if path, v, there := b.find(p); there {
		return path, v
	}
	return nil, assess.Float(nan)
}
