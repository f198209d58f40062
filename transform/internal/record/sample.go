package record

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Sample releases a keyed share of the records and leaves the others out: each record by
// itself (or each household, if households are known), with the probability Rate or that of its stratum (Bernoulli or
// Poisson sampling; Särndal, Swensson and Wretman 1992, Model Assisted Survey Sampling, section 3.2). It is the first
// mask of a list, so that all others, and all measures, refer to the records that are released.
//
// Whether a record is drawn depends on the key, the mask's name and the record's identity
// (or place) alone, not on the rate or on its values: a sample of a smaller rate is part of
// one of a greater rate, and several releases of one file under one key do not together
// contain the whole file.
type Sample struct {
	Rate  *float64           `yaml:"rate" share:"whole" doc:"the probability that a record is released; with rates, the probability for strata that rates does not list"`
	By    string             `yaml:"by" doc:"the column whose categories are the strata of rates"`
	Rates map[string]float64 `yaml:"rates" doc:"with by: the probability that a record is released, by stratum; without rate, a record that has no stratum, or one that is not listed, goes to quarantine"`

	household bool // whole households are drawn
}

// OfHouseholds says that households are known.
func (m *Sample) OfHouseholds() { m.household = true }

// Check implements Params.
func (m *Sample) Check() check.Problems {
	var ps check.Problems
	if m.Rate == nil && m.Rates == nil {
		ps.Addf("rate", "must be given: the probability with which a record is released")
	}
	probability := func(path string, v float64) {
		if !(v > 0 && v <= 1) {
			ps.Addf(path, "must be a probability above 0 and at most 1, got %v", v)
		}
	}
	if m.Rate != nil {
		probability("rate", *m.Rate)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Rates)) {
		probability("rates."+name, m.Rates[name])
	}
	switch {
	case m.Rates != nil && len(m.Rates) == 0:
		ps.Addf("rates", "must list at least one stratum")
	case m.Rates != nil && m.By == "":
		ps.Addf("by", "must name the column whose categories rates lists")
	case m.Rates == nil && m.By != "":
		ps.Addf("rates", "must be given with by: the probability of each stratum")
	}
	return ps
}

// CheckAmong requires that the mask is the first one: other masks, and all measures, refer to
// the records that are released.
func (m *Sample) checkAmong(masks []core.Spec, i int) check.Problems {
	var ps check.Problems
	if i > 0 {
		ps.Addf(fmt.Sprintf("[%d].sample", i),
			"must be the first mask, so that the other masks and all measures use only the records that are released, got it after %s", core.Describe(masks, i-1))
	}
	return ps
}

// Describe implements Params.
func (m *Sample) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeRecord, Reads: m.readColumns(), OnCategories: m.By != "", LeavesOut: true, ByHousehold: true,
		Parameters: m.parameters,
		// records of strata that are not listed
		Action: m.action, Published: m, Among: m.checkAmong, Mechanism: m.mechanism, Rejects: m.Rate == nil,
	}
}

// Masks implements Params: no value changes.
func (m *Sample) Masks() []string { return nil }

// Reads implements Params.
func (m *Sample) Reads() []string {
	if m.By == "" {
		return nil
	}
	return []string{m.By}
}

func (m *Sample) readColumns() []core.ReadColumn {
	if m.By == "" {
		return nil
	}
	return []core.ReadColumn{{Field: "by", Name: m.By, As: "strata of a sample"}}
}

// sampleStep is a Sample of a chain. In a replicate it does nothing, because a replicate has only
// the records that were released.
type sampleStep struct {
	mask   int
	stream int
	rate   float64 // of strata that rates does not list; 0: no rate
	by     *core.CategoryColumn
	rates  []float64 // by place in the list of by
}

func (m *Sample) Compile(c *core.Chain, i int) (core.Step, error) {
	s := &sampleStep{mask: i}
	if c.ReplicateNumber != 0 {
		return s, nil
	}
	if m.Rate != nil {
		s.rate = *m.Rate
	}
	if m.By != "" {
		listed := slices.Sorted(maps.Keys(m.Rates))
		col := c.Lookup(m.By)
		if col == nil {
			return nil, fmt.Errorf("%s.by: there is no column %s", c.At(i), strconv.Quote(m.By))
		}
		var err error
		if s.by, err = c.CategoriesOf(i, col, "by", "rates", listed); err != nil {
			return nil, err
		}
		for _, name := range listed {
			s.rates = append(s.rates, m.Rates[name])
		}
	}
	// The name of the draws holds neither the rate nor a value: a record that one rate
	// releases, every greater rate releases too.
	s.stream = c.StreamNamed(i, "", "sample;")
	c.Choice, c.Chosen = s, m.description(c.Labels[i])
	if len(c.Setup.Households.Index) > 0 {
		c.Chosen += "household;"
	}
	return s, nil
}

// description lists all that a sample depends on, for the names of draws of masks that mix
// records: what such a mask does to a record depends on which other records there are.
func (m *Sample) description(label string) string {
	text := core.DigestOfTexts("of", label, m.By)
	if m.Rate != nil {
		text += core.Part("rate", *m.Rate)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Rates)) {
		text += core.DigestOfTexts("stratum", name) + core.Part("rate", m.Rates[name])
	}
	return text
}

// Choose leaves out the records whose uniform draw is not below the rate of their stratum. The members of
// a household have one draw.
func (s *sampleStep) Choose(c *core.Chain, w *core.Work, b *microdata.Block) error {
	var places []int32
	if s.by != nil {
		places = w.PlacesFor(b.N)
		there, err := s.by.Look(places, b)
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", c.At(s.mask), strconv.Quote(s.by.Name), err)
		}
		if !there {
			return fmt.Errorf("%s: the block does not hold column %s", c.At(s.mask), strconv.Quote(s.by.Name))
		}
	}
	for from := 0; from < b.N; from += core.Batch {
		n := min(core.Batch, b.N-from)
		u := w.Floats(n)
		records := w.StretchOf(true, b, from, n, unbound(w, n))
		w.Streams[s.stream].Uniforms(u, records)
		for k, v := range u {
			i, rate := from+k, s.rate
			if s.by != nil && places[i] >= 0 {
				rate = s.rates[places[i]]
			}
			switch {
			case rate == 0:
				b.Reject(i, s.by.Name, "has a stratum that the sample does not list")
			case v >= rate:
				b.LeaveOut(i)
			}
		}
	}
	return nil
}

// unbound returns n zeros: the numbers for draws that are bound to no value.
func unbound(w *core.Work, n int) []float64 {
	if cap(w.Bound) < n {
		w.Bound = make([]float64, n)
	}
	zeros := w.Bound[:n]
	clear(zeros)
	return zeros
}

// Apply only counts the records left out: choose has left them out.
func (s *sampleStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	c.CountIn(s.mask, b, b.LeftOut()-w.Left)
	return nil
}

// Keeps: every value of a record that is released stays.
func (s *sampleStep) Keeps(*core.KeepingOf, int) {}

func (m *Sample) parameters() []core.Parameter {
	list := core.WithNumber(nil, "rate", m.Rate)
	if m.By != "" {
		list = append(list, core.Parameter{Name: "by", Value: m.By})
	}
	if m.Rates != nil {
		table := make(map[string]any, len(m.Rates))
		for name, v := range m.Rates {
			table[name] = v
		}
		list = append(list, core.Parameter{Name: "rates", Value: table})
	}
	return core.WithHousehold(list, m.household)
}

func (m *Sample) action(string, float64) core.Action {
	if len(m.Check()) > 0 {
		return nil
	}
	return core.Sampling{}
}

// PublishedAction implements Publishing.
func (m *Sample) PublishedAction(core.Published, string) core.Action { return core.Sampling{} }

// Words implements Publishing. column is "": a sample is of whole records.
func (m *Sample) Words(p core.Published, _ string) string {
	rate, known := p.Float("rate")
	drawn := "sampling: each record was drawn by itself, with "
	if p.Has("household") {
		drawn = "sampling: each household was drawn by itself, with all its members, with "
	}
	switch rates, _ := p.Parameters("rates"); {
	case rates != nil:
		table, _ := rates.(map[string]any)
		s := drawn + "a probability by " + core.WordOr(p.Word("by"), "a stratum that is not published") + ": "
		for i, name := range slices.Sorted(maps.Keys(table)) {
			if i > 0 {
				s += ", "
			}
			v, _ := table[name].(float64)
			s += name + " " + p.Number(v)
		}
		if known {
			s += ", all others " + p.Number(rate)
		} else if p.Has("rate") {
			s += ", and for others one that is not published"
		}
		return s
	case known && p.Has("rates"):
		return drawn + "probability " + p.Number(rate) + " outside of strata whose probabilities are not published"
	case known:
		return drawn + "probability " + p.Number(rate)
	case p.Has("rates"):
		return drawn + "probabilities that are not published and differ between strata"
	}
	return drawn + "a probability that is not published"
}

// EfficiencyFollows implements Publishing: the figures of a column are those of the records
// that are released.
func (m *Sample) EfficiencyFollows(has, named func(string) bool) bool { return true }

func (m *Sample) mechanism(string) core.Mechanism {
	if m.By != "" || m.Rate == nil {
		return core.Mechanism{Not: "whether a record is drawn depends on a column (by)"}
	}
	return core.Mechanism{Kind: core.Drawing, Rate: *m.Rate}
}
