package report

import (
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/correct"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Note tells the users of a release how its masks change statistics, and how to
// correct these if the parameters are published. It follows from the rest of the
// public report alone, so that it discloses nothing more, with one exception: if a
// parameter that is not published is needed in addition to one that is, it says so,
// since users would otherwise correct wrongly.
type Note struct {
	General  []string            `json:"general"` // sentences
	Columns  Ordered[ColumnNote] `json:"columns"` // every masked one
	Programs []Program           `json:"programs,omitempty"`
}

// What can be done about a column's masks.
const (
	CorrectionUnneeded = "not needed" // the released moments are those of the respondents
	CorrectionFormula  = "formula"    // all parameters needed are published
	// the effect of the masks depends on values that users do not have; limits are known
	CorrectionBounds      = "within bounds"
	CorrectionLeast       = "lower bound" // a truncation or groups hide a part of the variance; a lower bound is known
	CorrectionUnpublished = "not published"
	CorrectionNone        = "none known"
)

// ColumnNote is the note on one masked column.
type ColumnNote struct {
	Carries    []string        `json:"carries"`    // what each mask did, in the order of the masks
	Correction string          `json:"correction"` // one of the words above
	Phi2       assess.Float    `json:"phi2"`       // Var(y|x) = phi2·x² + noise; null if it is not published
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

// Corrected holds corrected figures of a release; least and greatest differ if the effect of
// the masks depends on values that users do not have.
type Corrected struct {
	SD          Range  `json:"sd"`                    // greatest: infinite with a truncation
	Reliability *Range `json:"reliability,omitempty"` // ρ = Var(x)/Var(y); nil with a truncation
}

// Range is an interval that contains a number.
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

// Program is example code that runs without changes.
type Program struct {
	Language string `json:"language"`
	Column   string `json:"column"` // the column whose numbers are in it
	Code     string `json:"code"`
}

// publishedColumn describes a column's masks as far as they are published, in the terms
// of package correct.
type publishedColumn struct {
	name, unit string
	measured   bool // numeric
	masks      []PublicMask
	words      []string           // of each mask
	actions    []transform.Action // likewise, as far as they are published; nil: not known
	chain      correct.Chain      // the same in the terms of the corrections
	moments    correct.Known      // of the original mean and variance, if the column is measured

	least, greatest correct.Masking // bounds of what noise, bias and rounding after noise add
	noise           []NoiseNote
	hidden          bool // something that adds variance is not published
	added           bool // something adds variance
	tiers           bool
	smooth          bool    // a rounding of noised values
	coarse          float64 // half the steps of all other roundings
	truncated       bool
	averaged        bool // values were replaced by those of groups
	medians         bool // which may be medians
	ends            bool // rank swapping replaced the ends by means, or may have
	lower, upper    bool // a truncation may have a bound on that side
	unknown         bool // there is a mask of which nothing is known, or a rounding without its step
	spreads         bool // a mask adds noise or bias, published or not
	swaps           []exchange
	synthetic       bool     // all values are drawn from a model
	method          string   // of synthetic columns: parametric or cart; "" if it is not published
	bounded, ruled  bool     // numbers were, or may have been, drawn within the bounds of the data; some follow from rules
	heldOut         float64  // share of the records that their models were not fitted to; NaN: there is one, not published
	linked          []string // columns whose noise is correlated with this one's
}

// exchange is a swap of the column, with the columns that moved together.
type exchange struct {
	keys, columns []string
	ranks         bool // between similar ranks, each column by itself
	shuffled      bool // all values of the columns were given to records in an order that follows from on
	on            []string
}

// note returns the note of a public report; masks are those of the confidential report, in the
// order of p.Masks.
func (p *Public) note(masks []Mask) *Note {
	if len(p.Masks) == 0 {
		return nil
	}
	n := &Note{}
	spread := false          // some mask adds or multiplies
	linked := false          // some mask adds correlated noise to several columns
	shown := map[bool]bool{} // whether a program was added for clipped columns (true), for others (false)
	together := false        // whether a program was added for copies
	for _, name := range p.maskedColumns() {
		column, measured := p.Columns.Get(name)
		c := publishedColumn{name: name, unit: column.Unit, measured: measured}
		for i := range p.Masks {
			if m := &p.Masks[i]; slices.Contains(m.Columns, name) {
				c.add(p, m, &masks[i])
			}
		}
		mean, sd := float64(column.Released.Mean), float64(column.Released.SD)
		c.moments = c.chain.Undo(mean, sd*sd)
		c.reckon()
		spread, linked = spread || c.spreads, linked || c.linked != nil
		note := ColumnNote{Carries: c.words, Correction: c.correction(), Phi2: assess.Float(math.NaN()), Limits: c.limits()}
		if !c.hidden && !c.unknown {
			note.Phi2, note.Noise = assess.Float(c.least.Phi2), c.noise
		}
		if measured {
			note.Corrected = c.corrected(sd)
		}
		note.Statistics = c.statistics(note.Corrected)
		if list, correction := c.categories(); list != nil {
			note.Statistics, note.Correction = list, correction
		}
		n.Columns = append(n.Columns, Member[ColumnNote]{name, note})
		if kind := c.normal() != nil; !shown[kind] {
			list := c.programs(note.Corrected, column.Released)
			n.Programs, shown[kind] = append(n.Programs, list...), list != nil
		}
		if p.Release != nil && p.Release.Copies != nil && c.synthetic && len(c.chain) == 1 && !together {
			list := c.copiesPrograms(len(p.Release.Copies), column.Released)
			n.Programs, together = append(n.Programs, list...), list != nil
		}
	}
	n.General = append(general(spread, linked), p.sampled(masks)...)
	if words := p.Release.copiesWords(); words != "" {
		n.General = append(n.General, words)
	}
	return n
}

// maskedColumns returns all columns that a mask names, the measured ones first and in their
// order.
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

// publishedOf returns what is published of a mask; its numbers are in a column's unit.
func (p *Public) publishedOf(m *PublicMask, full *Mask, unit string) transform.Published {
	return transform.Published{
		Parameters: m.Parameters.Get,
		SD: func(column string) (float64, bool) {
			λ, ok := m.NoiseSD.Get(column)
			return float64(λ), ok && !math.IsNaN(float64(λ)) && !math.IsInf(float64(λ), 0)
		},
		Named:  func(name string) bool { return slices.Contains(p.Published, name) },
		Has:    func(name string) bool { _, ok := full.Parameters.Get(name); return ok },
		Number: trimmed, Unit: unitAfter(unit),
	}
}

// add adds a mask on the column. What its kind does not declare is not known.
func (c *publishedColumn) add(p *Public, m *PublicMask, full *Mask) {
	published := p.publishedOf(m, full, c.unit)
	words, action := m.Mask+": what it does to a value is not known here", transform.Action(nil)
	if kind := transform.PublishingKind(m.Mask); kind != nil {
		words, action = kind.Words(published, c.name), kind.PublishedAction(published, c.name)
	}
	c.masks = append(c.masks, *m)
	c.words, c.actions = append(c.words, words), append(c.actions, action)
	c.chain = append(c.chain, stepOf(action, m.Columns))
	if drawn, is := action.(transform.Synthesis); is {
		c.synthetic, c.method, c.heldOut = true, drawn.Method, drawn.HeldOut
		c.bounded, c.ruled = drawn.Bounded, drawn.Ruled
	}
}

// stepOf returns an action in the terms of package correct, for columns that one mask
// names.
func stepOf(action transform.Action, columns []string) correct.Step {
	switch a := action.(type) {
	case transform.Multiplication:
		return correct.Multiplied{Phi: a.Phi}
	case transform.Addition:
		added := correct.Added{SD: a.SD, Normal: a.Distribution == "normal"}
		for _, t := range a.Tiers {
			added.Tiers = append(added.Tiers, correct.Tier{Above: t.Above, Factor: t.Factor})
		}
		if a.Correlated {
			added.With = columns
		}
		return added
	case transform.Rounding:
		return correct.Rounded{Step: a.Step}
	case transform.Bounding:
		return correct.Truncated{Lower: !math.IsInf(a.Lower, -1), Upper: !math.IsInf(a.Upper, 1), Redraw: a.Mode != "clip"}
	case transform.Aggregation:
		return correct.Averaged{Mean: a.Aggregate == "mean"}
	case transform.RankExchange:
		if a.Bottom == 0 && a.Top == 0 {
			return correct.Exchanged{} // each column by itself
		}
		return correct.Averaged{Mean: true} // the ends were averaged
	case transform.Shuffling:
		return correct.Exchanged{}
	case transform.Relocation:
		return correct.Exchanged{With: append(slices.Clone(a.Keys), columns...)}
	case transform.Exchange:
		return correct.Exchanged{With: append(slices.Clone(a.Keys), columns...)}
	}
	return correct.Unknown{}
}

// reckon computes the combined effect of the column's masks.
func (c *publishedColumn) reckon() {
	for i, step := range c.chain {
		switch s := step.(type) {
		case correct.Multiplied:
			c.added, c.spreads = true, true
			c.hidden = c.hidden || math.IsNaN(s.Phi)
			c.least, c.greatest = c.least.WithBias(s.Phi), c.greatest.WithBias(s.Phi)
			for k := range c.noise {
				c.noise[k].Variance *= assess.Float(1 + s.Phi*s.Phi)
			}
		case correct.Added:
			c.added, c.spreads = true, true
			c.hidden = c.hidden || math.IsNaN(s.SD)
			least, greatest := correct.FactorRange(s.Tiers)
			c.least, c.greatest = c.least.WithNoise(s.SD, least), c.greatest.WithNoise(s.SD, greatest)
			for _, other := range others(s.With, c.name) {
				if !slices.Contains(c.linked, other) {
					c.linked = append(c.linked, other)
				}
			}
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
		case correct.Averaged:
			_, ranks := c.actions[i].(transform.RankExchange)
			c.averaged, c.medians, c.ends = c.averaged || !ranks, c.medians || !s.Mean, c.ends || ranks
		case correct.Exchanged:
			swap := exchange{columns: c.masks[i].Columns}
			switch e := c.actions[i].(type) {
			case transform.Exchange:
				swap.keys = e.Keys
			case transform.Relocation:
				swap.keys = e.Keys
			case transform.Shuffling:
				swap.shuffled, swap.on = true, e.On
			default:
				swap.ranks, swap.columns = true, nil
			}
			c.swaps = append(c.swaps, swap)
		default:
			c.unknown = true
		}
	}
}

// corrected returns the corrected figures of a release; nil if it has none, the masks leave
// nothing of its variance, or too little is published.
func (c *publishedColumn) corrected(sd float64) *Corrected {
	v := c.moments.Variance
	if c.hidden || c.unknown || !c.added && !c.truncated && !c.grouped() && c.coarse == 0 || !(v.Greatest > 0) ||
		!(sd > 0) {
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

func (c *publishedColumn) correction() string {
	switch {
	case c.synthetic && len(c.chain) == 1 && strings.Contains(c.modelled(), "no correction is known"):
		return CorrectionNone
	case c.synthetic && len(c.chain) == 1:
		return CorrectionFormula
	case c.unknown:
		return CorrectionNone
	case c.hidden:
		return CorrectionUnpublished
	case (c.truncated || c.grouped()) && c.moments.Variance.Least > 0:
		return CorrectionLeast
	case c.truncated, c.grouped():
		return CorrectionNone
	case c.tiers || c.coarse > 0:
		return CorrectionBounds
	case c.added:
		return CorrectionFormula
	}
	return CorrectionUnneeded
}
