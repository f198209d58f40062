package rumap

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/check"
)

// Analytic holds what the analytic map of additive noise is drawn from. Equations
// whose parameter is nil are left out; those of a typical target (2), a linked
// record (4) and, from two records on, the expected extreme (10) need none.
type Analytic struct {
	N  int     `json:"n"`  // records in the sample, at least 1
	SD float64 `json:"sd"` // σ of the population, in the unit of x, above 0

	// MeanDistance is μ−τ, in the unit of x: the distance of a fixed target from
	// the mean (1).
	MeanDistance *float64 `json:"mean_distance,omitempty"`
	// MeanSquare is (1/n)Σ(μ−x_i)², in the squared unit of x, at least 0: a typical
	// target of the sample (3). It is near σ².
	MeanSquare *float64 `json:"mean_square,omitempty"`
	// Percentile is p, above 0 and below 1: the percentile of a normal population
	// under normal noise (8, which is 5 in that case).
	Percentile *float64 `json:"percentile,omitempty"`
	// Extreme is x_(n)−μ or μ−x_(1), in the unit of x: the extreme of the sample at
	// a known place (9), at least 2 records.
	Extreme *float64 `json:"extreme,omitempty"`

	// Ratios are the values of λ²/σ², at least 0, +Inf allowed. Empty:
	// Ratios(0, 1, 21).
	Ratios []assess.Float `json:"-"`
}

// Ratios returns steps values of λ²/σ² at equal distances, from and to among them:
// equal steps of the variance, as in the figures of Duncan et al. (2004).
func Ratios(from, to float64, steps int) []assess.Float {
	g := make([]assess.Float, steps)
	for i := range g {
		g[i] = assess.Float(from)
		if steps > 1 {
			g[i] = assess.Float(from + (to-from)*float64(i)/float64(steps-1))
		}
	}
	return g
}

// Check reports parameters outside of their domains.
func (a Analytic) Check() check.Problems {
	var ps check.Problems
	checkSample(&ps, a.N, a.SD)
	if a.MeanDistance != nil {
		checkFinite(&ps, "mean_distance", *a.MeanDistance)
	}
	if a.MeanSquare != nil {
		ps.AtLeast("mean_square", *a.MeanSquare, 0)
	}
	if a.Percentile != nil {
		checkShare(&ps, "percentile", *a.Percentile)
	}
	if a.Extreme != nil {
		checkFinite(&ps, "extreme", *a.Extreme)
		Noise{N: a.N}.checkExtreme(&ps)
	}
	for i, r := range a.Ratios {
		if !(r >= 0) {
			ps.Addf(fmt.Sprintf("ratios[%d]", i), "must be at least 0, got %v", float64(r))
		}
	}
	return ps
}

// AnalyticMap is the R-U confidentiality map of the closed forms: U and R of every
// curve as λ²/σ² runs over a grid. U and R are in 1/(unit of x)².
type AnalyticMap struct {
	Parameters Analytic     `json:"parameters"`
	U0         assess.Float `json:"U0"` // n/σ²

	Ratios     []assess.Float `json:"ratios"`   // λ²/σ²
	Variance   []assess.Float `json:"variance"` // λ², in the squared unit of x
	U          []assess.Float `json:"U"`
	Efficiency []assess.Float `json:"efficiency"`
	Curves     []Curve        `json:"curves"` // by equation number

	// SwitchOver is the λ² above which ȳ is nearer to a typical target than the value
	// of the linked record.
	SwitchOver assess.Float `json:"switch_over"`
}

// Curve is R of one target under one knowledge state, one value for each of AnalyticMap.Ratios.
type Curve struct {
	Target    string         `json:"target"`    // fixed, typical, typical of sample, p99, max, max at its place
	Knowledge string         `json:"knowledge"` // mean, index, position
	Equation  int            `json:"equation"`  // of Duncan et al. (2004)
	R         []assess.Float `json:"R"`
}

// Curves computes the analytic map. Its error joins those of Check.
func Curves(a Analytic) (*AnalyticMap, error) {
	if len(a.Ratios) == 0 {
		a.Ratios = Ratios(0, 1, 21)
	}
	if err := invalid(a.Check()); err != nil {
		return nil, err
	}
	over, err := SwitchOver(a.N, a.SD)
	if err != nil {
		return nil, err
	}
	m := &AnalyticMap{Parameters: a, Ratios: a.Ratios, SwitchOver: assess.Float(over)}
	risks := m.curves(a)
	for _, ratio := range a.Ratios {
		n := Noise{N: a.N, SD: a.SD, Lambda: a.SD * math.Sqrt(float64(ratio))}
		u, err := n.Utility()
		if err != nil {
			return nil, err
		}
		e, err := n.Efficiency()
		if err != nil {
			return nil, err
		}
		m.Variance = append(m.Variance, assess.Float(n.Lambda*n.Lambda))
		m.U = append(m.U, assess.Float(u))
		m.Efficiency = append(m.Efficiency, assess.Float(e))
		for i, risk := range risks {
			r, err := risk(n)
			if err != nil {
				return nil, err
			}
			m.Curves[i].R = append(m.Curves[i].R, assess.Float(r))
		}
	}
	u0, err := Noise{N: a.N, SD: a.SD}.UnmaskedUtility()
	m.U0 = assess.Float(u0)
	return m, err
}

// curves names the curves that the parameters allow, and returns the risk of each.
func (m *AnalyticMap) curves(a Analytic) (risks []func(Noise) (float64, error)) {
	add := func(equation int, target, knowledge string, risk func(Noise) (float64, error)) {
		m.Curves = append(m.Curves, Curve{Target: target, Knowledge: knowledge, Equation: equation})
		risks = append(risks, risk)
	}
	if d := a.MeanDistance; d != nil {
		add(1, "fixed", assess.KnowledgeMean, func(n Noise) (float64, error) { return n.RiskOfMean(*d) })
	}
	add(2, assess.TargetTypical, assess.KnowledgeMean, Noise.RiskOfTypical)
	if q := a.MeanSquare; q != nil {
		add(3, "typical of sample", assess.KnowledgeMean, func(n Noise) (float64, error) {
			return n.RiskOfTypicalInSample(float64(n.N) * *q)
		})
	}
	add(4, assess.TargetTypical, assess.KnowledgeIndex, Noise.RiskOfRecord)
	if p := a.Percentile; p != nil {
		add(8, percentileName(*p), assess.KnowledgePosition, func(n Noise) (float64, error) {
			return n.RiskOfNormalPercentile(*p)
		})
	}
	if x := a.Extreme; x != nil {
		add(9, "max at its place", assess.KnowledgePosition, func(n Noise) (float64, error) { return n.RiskOfExtreme(*x) })
	}
	if a.N > 1 {
		add(10, "max", assess.KnowledgePosition, Noise.RiskOfExpectedExtreme)
	}
	return risks
}

// percentileName writes p as targets are named: p01, p50, p99.9.
func percentileName(p float64) string {
	s := fmt.Sprintf("%.6g", 100*p)
	if 100*p < 10 {
		s = "0" + s
	}
	return "p" + s
}
