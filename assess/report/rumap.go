package report

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess"
)

// RUMap is the R-U confidentiality map of one masked column: disclosure risk R
// against data utility, as efficiency U/U₀ (Duncan, Keller-McNulty and Stokes
// 2004, section III).
type RUMap struct {
	Column string
	Unit   string // of the column; R is in 1/unit²
	Points []RUPoint
	Lines  []RULine
	// MinEfficiency is the least admissible efficiency; 0 where no rule sets one.
	MinEfficiency float64
	Curves        []RUCurve
}

// RUPoint is one target under one knowledge state.
type RUPoint struct {
	Target, Knowledge string
	Efficiency        float64
	R                 float64 // +Inf where the snooper's error is 0
	Failed            bool    // a gate rule on this very target and knowledge does not hold
	// Trail is where the point was before, the oldest place first; empty for one release.
	Trail []RUPlace
}

// RUPlace is a place on the map.
type RUPlace struct{ Efficiency, R float64 }

// drawable says whether a place is one on axes of which that of R is logarithmic.
func (p RUPlace) drawable() bool { return p.R > 0 && !math.IsNaN(p.Efficiency) }

// RULine is a threshold of the gate: the greatest admissible R of a target under
// a knowledge state, or of all of them where a word is empty.
type RULine struct {
	Target, Knowledge string
	R                 float64
}

// RUCurve is (efficiency, R) as a parameter of a mask runs over its range.
type RUCurve struct {
	Label      string
	Efficiency []float64
	R          []float64
}

// MapOf draws together the points of a column's measures and the thresholds of
// the gate's rules on that column.
func MapOf(c *assess.ColumnMeasures, gate assess.Verdict) RUMap {
	m := RUMap{Column: c.Name, Unit: c.Unit}
	for _, k := range c.Risk {
		m.Points = append(m.Points, RUPoint{
			Target: k.Target, Knowledge: k.Knowledge,
			Efficiency: float64(c.Utility.Efficiency), R: float64(k.R),
		})
	}
	for _, rule := range gate.Rules {
		if rule.Column != c.Name {
			continue
		}
		limit := float64(rule.Limit)
		switch rule.Measure {
		case "min_efficiency":
			m.MinEfficiency = math.Max(m.MinEfficiency, limit)
			continue
		case "max_risk":
		case "min_rmse":
			limit = 1 / (limit * limit)
		default:
			continue
		}
		m.Lines = append(m.Lines, RULine{rule.Target, rule.Knowledge, limit})
	}
	for i := range m.Points {
		p := &m.Points[i]
		held, concerned := judged(gate, c.Name, p.Target, p.Knowledge, p.R)
		p.Failed = concerned && !held
	}
	if curve, ok := additiveNoise(c); ok {
		m.Curves = append(m.Curves, curve)
	}
	return m
}

// judged says whether a rule of the gate concerns the risk of a target under a
// knowledge state, and whether this very risk is within all of their limits: of a
// rule for every target, some may hold and others not.
func judged(gate assess.Verdict, column, target, knowledge string, risk float64) (held, concerned bool) {
	held = true
	for _, rule := range gate.Rules {
		if rule.Column != column || rule.Target != "" && rule.Target != target || rule.Knowledge != "" && rule.Knowledge != knowledge {
			continue
		}
		switch limit := float64(rule.Limit); rule.Measure {
		case "max_risk":
			held = held && risk <= limit
		case "min_rmse":
			held = held && 1/math.Sqrt(risk) >= limit
		default:
			continue
		}
		concerned = true
	}
	return held, concerned
}

// additiveNoise is the curve of plain additive noise against a snooper who knows
// the index: R = 1/λ² (eq. 4) and U/U₀ = S²/(S² + λ²), so R = 1/{S²(U₀/U − 1)}
// with S² = n/U₀. It shows where a release stands against the simplest mask.
func additiveNoise(c *assess.ColumnMeasures) (RUCurve, bool) {
	variance := float64(c.Original.N) / float64(c.Utility.U0)
	if !(variance > 0) || math.IsInf(variance, 0) {
		return RUCurve{}, false
	}
	curve := RUCurve{Label: "plain additive noise, index known (eq. 4)"}
	// Equal steps of log λ²/S², so that the curve is smooth on a log axis; from
	// λ = S/300 to 30 S, which is efficiency 0.99999 to 0.001.
	for e := -5.0; e <= 3; e += 0.05 {
		ratio := math.Pow(10, e)
		curve.Efficiency = append(curve.Efficiency, 1/(1+ratio))
		curve.R = append(curve.R, 1/(variance*ratio))
	}
	return curve, true
}

// drawable leaves out what has no place on a log axis: points without a positive
// R, and thresholds that demand nothing or are no number.
func (m RUMap) drawable() RUMap {
	points, lines := m.Points, m.Lines
	m.Points, m.Lines = nil, nil
	for _, p := range points {
		if (RUPlace{p.Efficiency, p.R}).drawable() {
			m.Points = append(m.Points, p)
		}
	}
	for _, l := range lines {
		if l.R > 0 && !math.IsInf(l.R, 1) {
			m.Lines = append(m.Lines, l)
		}
	}
	if math.IsNaN(m.MinEfficiency) || math.IsInf(m.MinEfficiency, 0) {
		m.MinEfficiency = 0
	}
	return m
}

// admissibleR is the R at or below which every threshold line is respected.
func (m *RUMap) admissibleR() (limit float64, ok bool) {
	limit = math.Inf(1)
	for _, l := range m.Lines {
		limit = math.Min(limit, l.R)
	}
	return limit, len(m.Lines) > 0
}

// rangeR returns the decades that the map's R axis spans, at least two, from all
// finite points and lines.
func (m *RUMap) rangeR() (lo, hi int) {
	least, most := math.Inf(1), math.Inf(-1)
	see := func(r float64) {
		if r > 0 && !math.IsInf(r, 0) {
			least, most = math.Min(least, math.Log10(r)), math.Max(most, math.Log10(r))
		}
	}
	for _, p := range m.Points {
		see(p.R)
		for _, t := range p.Trail {
			see(t.R)
		}
	}
	for _, l := range m.Lines {
		see(l.R)
	}
	if least > most {
		return -1, 1
	}
	// A little air beyond the outermost, so that a mark never sits on the frame.
	lo, hi = int(math.Floor(least-0.1)), int(math.Ceil(most+0.1))
	if hi-lo < 2 {
		lo--
	}
	return lo, hi
}

// rangeU returns the upper end of the efficiency axis: 1, or more where a mask
// shrinks the variance.
func (m *RUMap) rangeU() float64 {
	top := 1.0
	see := func(efficiency float64) {
		if !math.IsInf(efficiency, 0) && efficiency > top {
			top = efficiency
		}
	}
	for _, p := range m.Points {
		see(p.Efficiency)
		for _, t := range p.Trail {
			see(t.Efficiency)
		}
	}
	// Beyond a few times U₀ the axis would squeeze all else; such points sit on its end.
	return math.Min(math.Ceil(top*10)/10, 3)
}
