package transform

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
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

func (m *Sample) ofHouseholds() { m.household = true }

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

// checkAmong requires that the mask is the first one: other masks, and all measures, refer to
// the records that are released.
func (m *Sample) checkAmong(masks []Spec, i int) check.Problems {
	var ps check.Problems
	if i > 0 {
		ps.Addf(fmt.Sprintf("[%d].sample", i),
			"must be the first mask, so that the other masks and all measures use only the records that are released, got it after %s", describe(masks, i-1))
	}
	return ps
}

// Describe implements Params.
func (m *Sample) Describe() Description {
	return Description{
		Scope: ScopeRecord, Reads: m.readColumns(), OnCategories: m.By != "", LeavesOut: true, byHousehold: true,
		Parameters: m.parameters,
		// records of strata that are not listed
		Action: m.action, Published: m, among: m.checkAmong, Mechanism: m.mechanism, rejects: m.Rate == nil,
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

func (m *Sample) readColumns() []ReadColumn {
	if m.By == "" {
		return nil
	}
	return []ReadColumn{{"by", m.By, "strata of a sample"}}
}

// sampleStep is a Sample of a chain. In a replicate it does nothing, because a replicate has only
// the records that were released.
type sampleStep struct {
	mask   int
	stream int
	rate   float64 // of strata that rates does not list; 0: no rate
	by     *categoryColumn
	rates  []float64 // by place in the list of by
}

func (m *Sample) compile(c *Chain, i int) (step, error) {
	s := &sampleStep{mask: i}
	if c.replicate != 0 {
		return s, nil
	}
	if m.Rate != nil {
		s.rate = *m.Rate
	}
	if m.By != "" {
		listed := slices.Sorted(maps.Keys(m.Rates))
		col := c.lookup(m.By)
		if col == nil {
			return nil, fmt.Errorf("%s.by: there is no column %s", c.at(i), strconv.Quote(m.By))
		}
		var err error
		if s.by, err = c.categoriesOf(i, col, "by", "rates", listed); err != nil {
			return nil, err
		}
		for _, name := range listed {
			s.rates = append(s.rates, m.Rates[name])
		}
	}
	// The name of the draws holds neither the rate nor a value: a record that one rate
	// releases, every greater rate releases too.
	s.stream = c.streamNamed(i, "", "sample;")
	c.choice, c.chosen = s, m.description(c.labels[i])
	if len(c.setup.Households.Index) > 0 {
		c.chosen += "household;"
	}
	return s, nil
}

// description lists all that a sample depends on, for the names of draws of masks that mix
// records: what such a mask does to a record depends on which other records there are.
func (m *Sample) description(label string) string {
	text := digestOfTexts("of", label, m.By)
	if m.Rate != nil {
		text += part("rate", *m.Rate)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Rates)) {
		text += digestOfTexts("stratum", name) + part("rate", m.Rates[name])
	}
	return text
}

// choose leaves out the records whose uniform draw is not below the rate of their stratum. The members of
// a household have one draw.
func (s *sampleStep) choose(c *Chain, w *work, b *microdata.Block) error {
	var places []int32
	if s.by != nil {
		places = w.placesFor(b.N)
		there, err := s.by.look(places, b)
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", c.at(s.mask), strconv.Quote(s.by.Name), err)
		}
		if !there {
			return fmt.Errorf("%s: the block does not hold column %s", c.at(s.mask), strconv.Quote(s.by.Name))
		}
	}
	for from := 0; from < b.N; from += batch {
		n := min(batch, b.N-from)
		u := w.floats(n)
		records := w.stretchOf(true, b, from, n, unbound(w, n))
		w.streams[s.stream].Uniforms(u, records)
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
func unbound(w *work, n int) []float64 {
	if cap(w.bound) < n {
		w.bound = make([]float64, n)
	}
	zeros := w.bound[:n]
	clear(zeros)
	return zeros
}

// apply only counts the records left out: choose has left them out.
func (s *sampleStep) apply(c *Chain, w *work, b *microdata.Block) error {
	c.countIn(s.mask, b, b.LeftOut()-w.left)
	return nil
}

// keeps: every value of a record that is released stays.
func (s *sampleStep) keeps(*keepingOf, int) {}

func (m *Sample) parameters() []Parameter {
	list := withNumber(nil, "rate", m.Rate)
	if m.By != "" {
		list = append(list, Parameter{"by", m.By})
	}
	if m.Rates != nil {
		table := make(map[string]any, len(m.Rates))
		for name, v := range m.Rates {
			table[name] = v
		}
		list = append(list, Parameter{"rates", table})
	}
	return withHousehold(list, m.household)
}

func (m *Sample) action(string, float64) Action {
	if len(m.Check()) > 0 {
		return nil
	}
	return Sampling{}
}

// PublishedAction implements Publishing.
func (m *Sample) PublishedAction(Published, string) Action { return Sampling{} }

// Words implements Publishing. column is "": a sample is of whole records.
func (m *Sample) Words(p Published, _ string) string {
	rate, known := p.number("rate")
	drawn := "sampling: each record was drawn by itself, with "
	if p.Has("household") {
		drawn = "sampling: each household was drawn by itself, with all its members, with "
	}
	switch rates, _ := p.Parameters("rates"); {
	case rates != nil:
		table, _ := rates.(map[string]any)
		s := drawn + "a probability by " + wordOr(p.word("by"), "a stratum that is not published") + ": "
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

func (m *Sample) mechanism(string) Mechanism {
	if m.By != "" || m.Rate == nil {
		return Mechanism{Not: "whether a record is drawn depends on a column (by)"}
	}
	return Mechanism{Kind: Drawing, Rate: *m.Rate}
}
