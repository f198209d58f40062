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
	CorrectionBounds      = "within bounds" // what the masks did depends on values that users do not have; limits are known
	CorrectionLeast       = "lower bound"   // a truncation hides how far values went; the variance was that at least
	CorrectionUnpublished = "not published"
	CorrectionNone        = "none known"
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
// what the masks did depends on values that users do not have.
type Corrected struct {
	SD          Range  `json:"sd"`                    // greatest: infinite behind a truncation
	Reliability *Range `json:"reliability,omitempty"` // ρ = Var(x)/Var(y); none behind a truncation
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
	chain      correct.Chain // what each of the masks did
	known      correct.Known // of mean and variance, where the column is measured

	least, greatest correct.Masking // of what noise, bias and rounding after noise add
	noise           []NoiseNote
	hidden          bool // something that adds variance is not published
	added           bool // something adds variance
	tiers           bool
	smooth          bool    // a rounding of noised values
	coarse          float64 // half the steps of all other roundings
	truncated       bool
	lower, upper    bool // a truncation may have a bound on that side
	unknown         bool // a mask of which nothing is known, or a rounding without its step
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
	shown := map[bool]bool{} // a program for clipped columns, for others
	for _, name := range p.maskedColumns() {
		column, measured := p.Columns.Get(name)
		c := carried{name: name, unit: column.Unit, measured: measured}
		for i := range p.Masks {
			if m := &p.Masks[i]; slices.Contains(m.Columns, name) {
				c.masks, c.chain = append(c.masks, *m), append(c.chain, p.step(m, name, partial[i]))
			}
		}
		mean, sd := float64(column.Released.Mean), float64(column.Released.SD)
		c.known = c.chain.Undo(mean, sd*sd)
		c.reckon()
		note := ColumnNote{Carries: c.carries(), Correction: c.correction(), Phi2: assess.Float(math.NaN()), Limits: c.limits()}
		if !c.hidden && !c.unknown {
			note.Phi2, note.Noise = assess.Float(c.least.Phi2), c.noise
		}
		if measured {
			note.Corrected = c.corrected(sd)
		}
		note.Statistics = c.statistics(note.Corrected)
		n.Columns = append(n.Columns, Member[ColumnNote]{name, note})
		if kind := c.normal() != nil; !shown[kind] {
			list := c.programs(note.Corrected, column.Released)
			n.Programs, shown[kind] = append(n.Programs, list...), list != nil
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

// step says what a mask did to a column, as far as it is published. partial: what
// sets its variance is published in part only.
func (p *Public) step(m *PublicMask, column string, partial bool) correct.Step {
	switch m.Mask {
	case "bias":
		if phi, ok := m.phi(); ok {
			return correct.Multiplied{Phi: phi}
		}
		return correct.Multiplied{Phi: math.NaN()}
	case "noise":
		λ, ok := m.lambda(column)
		if !ok || partial {
			return correct.Added{SD: math.NaN()}
		}
		return correct.Added{SD: λ, Tiers: m.tiers(), Normal: m.word("distribution") == "normal"}
	case "round":
		if h, ok := m.step(); ok {
			return correct.Rounded{Step: h}
		}
		return correct.Rounded{Step: math.NaN()}
	case "truncate":
		// That there is no bound is known only where bounds are published.
		_, lower := m.numeric("lower")
		_, upper := m.numeric("upper")
		return correct.Truncated{
			Lower:  lower || !slices.Contains(p.Published, "lower"),
			Upper:  upper || !slices.Contains(p.Published, "upper"),
			Redraw: m.word("mode") != "clip",
		}
	case "swap":
		return correct.Exchanged{With: append(m.list("keys"), m.Columns...)}
	}
	return correct.Unknown{}
}

// reckon puts the column's masks together.
func (c *carried) reckon() {
	for i, step := range c.chain {
		switch s := step.(type) {
		case correct.Multiplied:
			c.added = true
			c.hidden = c.hidden || math.IsNaN(s.Phi)
			c.least, c.greatest = c.least.WithBias(s.Phi), c.greatest.WithBias(s.Phi)
			for k := range c.noise {
				c.noise[k].Variance *= assess.Float(1 + s.Phi*s.Phi)
			}
		case correct.Added:
			c.added = true
			c.hidden = c.hidden || math.IsNaN(s.SD)
			least, greatest := correct.FactorRange(s.Tiers)
			c.least, c.greatest = c.least.WithNoise(s.SD, least), c.greatest.WithNoise(s.SD, greatest)
			note := NoiseNote{Variance: assess.Float(s.SD * s.SD)}
			for _, t := range s.Tiers {
				c.tiers = true
				note.Tiers = append(note.Tiers, TierNote{assess.Float(t.Above), assess.Float(t.Factor)})
			}
			c.noise = append(c.noise, note)
		case correct.Rounded:
			switch {
			case math.IsNaN(s.Step):
				c.unknown = true
			case c.chain.Smooth(i):
				c.added, c.smooth = true, true
				c.least, c.greatest = c.least.WithRounding(s.Step), c.greatest.WithRounding(s.Step)
				c.noise = append(c.noise, NoiseNote{Variance: assess.Float(correct.Masking{}.WithRounding(s.Step).Noise)})
			default:
				c.coarse += s.Step / 2
			}
		case correct.Truncated:
			c.truncated, c.lower, c.upper = true, c.lower || s.Lower, c.upper || s.Upper
		case correct.Exchanged:
			c.swaps = append(c.swaps, c.masks[i])
		default:
			c.unknown = true
		}
	}
}

// corrected returns the corrected figures of a release, or nil where it has none,
// the masks leave nothing of its variance, or too little is published.
func (c *carried) corrected(sd float64) *Corrected {
	v := c.known.Variance
	if c.hidden || c.unknown || !c.added && !c.truncated && c.coarse == 0 || !(v.Greatest > 0) || !(sd > 0) {
		return nil
	}
	bounded := !math.IsInf(v.Greatest, 1)
	if !bounded && v.Least == 0 {
		return nil
	}
	found := &Corrected{SD: Range{assess.Float(math.Sqrt(v.Least)), assess.Float(math.Sqrt(v.Greatest))}}
	if bounded {
		found.Reliability = &Range{assess.Float(v.Least / (sd * sd)), assess.Float(v.Greatest / (sd * sd))}
	}
	return found
}

func (c *carried) correction() string {
	switch {
	case c.unknown:
		return CorrectionNone
	case c.hidden:
		return CorrectionUnpublished
	case c.truncated && c.known.Variance.Least > 0:
		return CorrectionLeast
	case c.truncated:
		return CorrectionNone
	case c.tiers || c.coarse > 0:
		return CorrectionBounds
	case c.added:
		return CorrectionFormula
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
