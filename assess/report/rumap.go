package report

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// MapOf returns the R-U map with the points of a column's measures and the thresholds of the
// gate's rules on that column.
func MapOf(c *assess.ColumnMeasures, gate assess.Verdict) figure.RUMap {
	m := figure.RUMap{Column: c.Name, Unit: c.Unit}
	for _, k := range c.Risk {
		m.Points = append(m.Points, figure.RUPoint{
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
		m.Lines = append(m.Lines, figure.RULine{Target: rule.Target, Knowledge: rule.Knowledge, R: limit})
	}
	for i := range m.Points {
		p := &m.Points[i]
		held, concerned := judged(gate, c.Name, p.Target, p.Knowledge, float64(c.Risk[i].Upper()))
		p.Failed = concerned && !held
	}
	if curve, ok := additiveNoise(c); ok {
		m.Curves = append(m.Curves, curve)
	}
	return m
}

// judged reports whether a rule of the gate concerns the risk of a target under a
// knowledge state, and whether this risk is within the limits of all such rules: a rule for
// every target may hold for some targets and not for others.
func judged(gate assess.Verdict, column, target, knowledge string, risk float64) (held, concerned bool) {
	held = true
	for _, rule := range gate.Rules {
		if rule.Column != column || !rule.Covers(target, knowledge) {
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

// additiveNoise returns the curve of simple additive noise against a snooper who knows
// the index: R = 1/λ² (eq. 4) and U/U₀ = S²/(S² + λ²), so R = 1/{S²(U₀/U − 1)}
// with S² = n/U₀. It compares a release with the simplest mask.
func additiveNoise(c *assess.ColumnMeasures) (figure.RUCurve, bool) {
	variance := float64(c.Original.N) / float64(c.Utility.U0)
	if !(variance > 0) || math.IsInf(variance, 0) {
		return figure.RUCurve{}, false
	}
	curve := figure.RUCurve{Label: "plain additive noise, index known (eq. 4)"}
	// Equal steps of log λ²/S², so that the curve is smooth on a log axis; from
	// λ = S/300 to 30 S, which is efficiency 0.99999 to 0.001.
	for e := -5.0; e <= 3; e += 0.05 {
		ratio := math.Pow(10, e)
		curve.Efficiency = append(curve.Efficiency, 1/(1+ratio))
		curve.R = append(curve.R, 1/(variance*ratio))
	}
	return curve, true
}
