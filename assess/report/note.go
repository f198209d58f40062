package report

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/correct"
)

// Note tells the users of a release what its masks do to statistics, and how to
// take that out again where the parameters are published. It follows from what
// else is in the public report alone, so that it tells nothing more; but for one
// thing: where a parameter that is not published would be needed beside one that
// is, it says so, since users would else correct wrongly.
type Note struct {
	General  []string            `json:"general"` // sentences
	Columns  Ordered[ColumnNote] `json:"columns"` // every masked one
	Programs []Program           `json:"programs,omitempty"`
}

// What can be done about a column's masks.
const (
	CorrectionUnneeded    = "not needed"    // its own moments are the respondents'
	CorrectionFormula     = "formula"       // all that is needed is published
	CorrectionApproximate = "approximate"   // by the formula, which truncation disturbs
	CorrectionBounds      = "within bounds" // the variance of the noise depends on values that users do not have
	CorrectionUnpublished = "not published"
	CorrectionNone        = "no formula"
)

// ColumnNote is the note on one masked column.
type ColumnNote struct {
	Carries    []string        `json:"carries"`    // what each mask did, in their order
	Correction string          `json:"correction"` // one of the words above
	Phi2       assess.Float    `json:"phi2"`       // Var(y|x) = phi2·x² + noise; null where it is not published
	Noise      []NoiseNote     `json:"noise,omitempty"`
	Corrected  *Corrected      `json:"corrected,omitempty"` // of this release
	Statistics []StatisticNote `json:"statistics"`
	Limits     []string        `json:"limits,omitempty"` // what no formula corrects
}

// NoiseNote is a part of the variance that the masks added, in the square of the
// column's unit.
type NoiseNote struct {
	Variance assess.Float `json:"variance"`
	Tiers    []TierNote   `json:"tiers,omitempty"`
}

// TierNote gives values above a bound a multiple of the variance.
type TierNote struct {
	Above  assess.Float `json:"above"`
	Factor assess.Float `json:"variance_factor"`
}

// Corrected are corrected figures of a release; least and greatest differ where
// the noise has tiers.
type Corrected struct {
	SD          Range `json:"sd"`
	Reliability Range `json:"reliability"` // ρ = Var(x)/Var(y)
}

// Range holds what is known of a number.
type Range struct {
	Least    assess.Float `json:"least"`
	Greatest assess.Float `json:"greatest"`
}

// StatisticNote says how to correct one statistic.
type StatisticNote struct {
	Statistic string `json:"statistic"`
	Formula   string `json:"formula,omitempty"`
	Text      string `json:"text"`
}

// Program is an example that runs as it is.
type Program struct {
	Language string `json:"language"`
	Column   string `json:"column"` // whose numbers are in it
	Code     string `json:"code"`
}

// carried is what is published of a column's masks, in the terms of the
// corrections.
type carried struct {
	name, unit string
	measured   bool // numeric
	masks      []PublicMask
	partial    []bool // whether what a mask does to the variance is published in part only

	least, greatest correct.Masking // of the noise's variance
	noise           []NoiseNote
	hidden          bool // something that adds variance is not published
	added           bool // something adds variance
	tiers, rounded  bool
	truncated       bool
	swaps           []PublicMask
}

// note returns the note of a public report; partial says of each mask whether it
// has a parameter that adds to the variance and is not published beside one that
// is.
func (p *Public) note(partial []bool) *Note {
	if len(p.Masks) == 0 {
		return nil
	}
	n := &Note{General: general(p)}
	for _, name := range p.maskedColumns() {
		column, measured := p.Columns.Get(name)
		c := carried{name: name, unit: column.Unit, measured: measured}
		for i, m := range p.Masks {
			if slices.Contains(m.Columns, name) {
				c.masks, c.partial = append(c.masks, m), append(c.partial, partial[i])
			}
		}
		c.reckon()
		note := ColumnNote{Carries: c.carries(), Correction: c.correction(), Phi2: assess.Float(math.NaN()), Limits: c.limits()}
		if !c.hidden {
			note.Phi2, note.Noise = assess.Float(c.least.Phi2), c.noise
			if measured && c.added {
				note.Corrected = c.corrected(float64(column.Released.Mean), float64(column.Released.SD))
			}
		}
		note.Statistics = c.statistics(note.Corrected)
		n.Columns = append(n.Columns, Member[ColumnNote]{name, note})
		if n.Programs == nil && note.Corrected != nil {
			n.Programs = programs(name, note, column.Released)
		}
	}
	return n
}

// maskedColumns are all columns that a mask names, the measured ones first and
// in their order.
func (p *Public) maskedColumns() []string {
	var list []string
	add := func(name string) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, c := range p.Columns {
		if slices.ContainsFunc(p.Masks, func(m PublicMask) bool { return slices.Contains(m.Columns, c.Name) }) {
			add(c.Name)
		}
	}
	for _, m := range p.Masks {
		for _, name := range m.Columns {
			add(name)
		}
	}
	return list
}

// reckon puts the column's masks together.
func (c *carried) reckon() {
	for i, m := range c.masks {
		switch m.Mask {
		case "bias":
			c.added = true
			phi, ok := m.phi()
			c.hidden = c.hidden || !ok
			c.least, c.greatest = c.least.WithBias(phi), c.greatest.WithBias(phi)
			for k := range c.noise {
				c.noise[k].Variance *= assess.Float(1 + phi*phi)
			}
		case "noise":
			c.added = true
			λ, ok := m.lambda(c.name)
			c.hidden = c.hidden || !ok || c.partial[i]
			tiers := m.tiers()
			least, greatest := correct.FactorRange(tiers)
			c.least, c.greatest = c.least.WithNoise(λ, least), c.greatest.WithNoise(λ, greatest)
			note := NoiseNote{Variance: assess.Float(λ * λ)}
			for _, t := range tiers {
				c.tiers = true
				note.Tiers = append(note.Tiers, TierNote{assess.Float(t.Above), assess.Float(t.Factor)})
			}
			c.noise = append(c.noise, note)
		case "round":
			c.added, c.rounded = true, true
			h, ok := m.step()
			c.hidden = c.hidden || !ok
			c.least, c.greatest = c.least.WithRounding(h), c.greatest.WithRounding(h)
			c.noise = append(c.noise, NoiseNote{Variance: assess.Float(correct.Masking{}.WithRounding(h).Noise)})
		case "truncate":
			c.truncated = true
		case "swap":
			c.swaps = append(c.swaps, m)
		default:
			c.added, c.hidden = true, true
		}
	}
}

// corrected returns the corrected figures of a release, or nil where it has none
// or the noise leaves nothing of its variance.
func (c *carried) corrected(mean, sd float64) *Corrected {
	low, high := c.greatest.Reliability(mean, sd*sd), c.least.Reliability(mean, sd*sd)
	if math.IsNaN(low) || math.IsNaN(high) {
		return nil
	}
	return &Corrected{
		SD:          Range{assess.Float(sd * math.Sqrt(low)), assess.Float(sd * math.Sqrt(high))},
		Reliability: Range{assess.Float(low), assess.Float(high)},
	}
}

func (c *carried) correction() string {
	switch {
	case c.hidden:
		return CorrectionUnpublished
	case c.tiers:
		return CorrectionBounds
	case c.added && c.truncated:
		return CorrectionApproximate
	case c.added:
		return CorrectionFormula
	case c.truncated:
		return CorrectionNone
	}
	return CorrectionUnneeded
}

// phi returns φ of a bias, where it is published.
func (m *PublicMask) phi() (float64, bool) {
	if v, ok := m.numeric("phi"); ok {
		return v, true
	}
	half, ok := m.numeric("range")
	return half / 3, ok
}

// lambda returns λ of a noise on a column, where it is published and known.
func (m *PublicMask) lambda(column string) (float64, bool) {
	λ, ok := m.NoiseSD.Get(column)
	if !ok || math.IsNaN(float64(λ)) || math.IsInf(float64(λ), 0) {
		return 0, false
	}
	return float64(λ), true
}

// step returns what a rounding rounds to multiples of, where it is published.
func (m *PublicMask) step() (float64, bool) {
	if v, ok := m.numeric("base"); ok {
		return v, true
	}
	decimals, ok := m.numeric("decimals")
	if !ok {
		return 0, false
	}
	return math.Pow(10, -decimals), true
}

func (m *PublicMask) tiers() []correct.Tier {
	list, _ := m.Parameters.Get("tiers")
	entries, _ := list.([]any)
	var tiers []correct.Tier
	for _, e := range entries {
		tier, _ := e.(map[string]any)
		above, hasBound := tier["above"].(float64)
		factor, hasFactor := tier["variance_factor"].(float64)
		if hasBound && hasFactor {
			tiers = append(tiers, correct.Tier{Above: above, Factor: factor})
		}
	}
	return tiers
}

func (m *PublicMask) numeric(name string) (float64, bool) {
	v, _ := m.Parameters.Get(name)
	f, ok := v.(float64)
	return f, ok && !math.IsNaN(f) && !math.IsInf(f, 0)
}

func (m *PublicMask) word(name string) string {
	v, _ := m.Parameters.Get(name)
	s, _ := v.(string)
	return s
}
