package uniqueness

import "context"

// Result holds the measures: totals, and in the fields with JSON name "-" one entry per
// record.
type Result struct {
	Keys []string `json:"keys" doc:"columns whose combinations are counted"`
	// Count is CountSnooper or CountReleased.
	Count string `json:"count" doc:"snooper: k of a respondent is the number of released records that can be the respondent's for a snooper who knows the original keys; released: the number of released records with the same released keys, which is what other tools report"`
	// Posterior lists the keys that are drawn at random, where the posterior takes the place of
	// the count.
	Posterior []string `json:"posterior,omitempty" doc:"keys that masks draw at random: k is then 1 divided by the probability of the snooper's best claim"`
	// Records is the number of records. MinFrequency is the least k (f_k): the file is
	// k-anonymous for every k up to MinFrequency.
	Records      int     `json:"records" doc:"number of records among which frequencies are counted"`
	MinFrequency float64 `json:"min_k" doc:"least k: the file is k-anonymous for every k up to this value"`
	// SampleUniques is the number of records with k = 1.
	SampleUniques int `json:"sample_uniques" doc:"number of respondents with k = 1: only one released record can be theirs"`
	// Violations is the number of records with a frequency below k, by k.
	Violations map[int]int `json:"violations" doc:"number of respondents with fewer than k candidates, by k"`
	// Estimator is the estimator of the individual risk: exact or approx.
	Estimator string `json:"estimator" doc:"estimator of the individual risk: exact or approx"`
	// ExpectedReidentifications is the sum of the individual risks.
	ExpectedReidentifications float64              `json:"expected_reidentifications" doc:"sum of the individual risks"`
	MaxIndividualRisk         float64              `json:"max_individual_risk" doc:"greatest probability of re-identification of a record"`
	Household                 *Household           `json:"household,omitempty" doc:"risk that at least one member of a household is found"`
	Persons                   *Persons             `json:"persons,omitempty" doc:"persons who have several records, by all of these together"`
	SUDA2                     *SUDA2               `json:"suda2,omitempty" doc:"scores of special uniques"`
	LDiversity                map[string]Diversity `json:"l_diversity,omitempty" doc:"l-diversity of each sensitive column"`
	LDiversityMulti           *Diversity           `json:"l_diversity_multi,omitempty" doc:"l-diversity of the sensitive columns together"`
	Combinations              []Combination        `json:"combinations,omitempty" doc:"records that are unique by some of the keys alone, for each set of keys"`
	Subsets                   []Subset             `json:"subsets,omitempty" doc:"least k and greatest risk over all sets of a number of keys, which rules with combinations demand"`

	// SampleFrequency is f_k and PopulationFrequency F_k; without weights both are the
	// same slice.
	SampleFrequency     []float64 `json:"-"`
	PopulationFrequency []float64 `json:"-"`
	Risk                []float64 `json:"-"`
}

// The ways to count k.
const (
	CountSnooper  = "snooper"
	CountReleased = "released"
)

// Household is the risk that at least one member of a household is found.
type Household struct {
	// ExpectedReidentifications is the sum over records, not over households, of their
	// households' risks: the expected number of respondents in whose household at least
	// one member is found.
	ExpectedReidentifications float64 `json:"expected_reidentifications" doc:"expected number of respondents in whose household at least one member is found"`
	MaxRisk                   float64 `json:"max_risk" doc:"greatest probability that a member of a household is found"`

	Risk []float64 `json:"-"`
}

// Measure computes the measures that o selects. It does not change data. The order of the records affects the
// results by rounding at most; the number of goroutines does not affect them. It returns an error if the
// columns or the options are not valid, or if ctx ends.
func Measure(ctx context.Context, data Data, o Options) (*Result, error) {
	if err := check(data, o); err != nil {
		return nil, err
	}
	g := &grouper{workers: workers()}
	r, err := measureRecords(ctx, g, &data, &o)
	if err != nil || data.Person == nil {
		return r, err
	}
	r.Persons, err = measurePersons(ctx, g, &data, &o, r.Subsets)
	return r, err
}

// measureRecords is Measure of single records.
func measureRecords(ctx context.Context, g *grouper, data *Data, o *Options) (*Result, error) {
	if data.Known != nil {
		return measureKnown(ctx, g, data, o)
	}
	c := newClasses(g, fieldsOf(data.Keys), data.Weights)
	f, F, err := frequencies(ctx, g, c.keys, c.count, c.weight, o.Alpha)
	if err != nil {
		return nil, err
	}
	r := newResult(data, o)
	r.fill(data, o, c, f, F)
	if err := r.more(ctx, g, c, *data, *o); err != nil {
		return nil, err
	}
	return r, nil
}

// newResult returns a result without measures.
func newResult(data *Data, o *Options) *Result {
	r := &Result{Count: CountReleased, Records: len(data.Keys[0].Codes), Estimator: o.Estimator.String(),
		Violations: make(map[int]int, len(o.K))}
	if data.Known != nil {
		r.Count = CountSnooper
	}
	for _, key := range data.Keys {
		r.Keys = append(r.Keys, key.Name)
	}
	return r
}

// fill enters the frequencies of classes and what follows from them.
func (r *Result) fill(data *Data, o *Options, c *classes, f, F []float64) {
	risk := make([]float64, len(f))
	inChunks(len(f), workers(), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			risk[k] = o.Estimator.Risk(f[k], F[k])
		}
	})
	r.total(c.count, f, risk, o.K)
	r.SampleFrequency, r.Risk = byRecord(c.of, f), byRecord(c.of, risk)
	r.PopulationFrequency = r.SampleFrequency
	if data.Weights != nil {
		r.PopulationFrequency = byRecord(c.of, F)
	}
	if data.Household != nil {
		r.Household = householdOf(data.Household, r.Risk)
	}
}

func householdOf(household []int32, risk []float64) *Household {
	h := &Household{Risk: householdRisk(household, risk)}
	for _, risk := range h.Risk {
		h.ExpectedReidentifications += risk
		h.MaxRisk = max(h.MaxRisk, risk)
	}
	return h
}

// total fills in the totals over all classes.
func (r *Result) total(count []int64, f, risk []float64, ks []int) {
	r.MinFrequency = f[0]
	for k, n := range count {
		r.MinFrequency = min(r.MinFrequency, f[k])
		r.MaxIndividualRisk = max(r.MaxIndividualRisk, risk[k])
		r.ExpectedReidentifications += float64(n) * risk[k]
		if f[k] == 1 {
			r.SampleUniques++
		}
	}
	for _, limit := range ks {
		violations := 0
		for k, n := range count {
			if f[k] < float64(limit) {
				violations += int(n)
			}
		}
		r.Violations[limit] = violations
	}
}

// byRecord returns for each record the figure of its class.
func byRecord[T any](class []int32, figure []T) []T {
	records := make([]T, len(class))
	inChunks(len(class), workers(), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			records[i] = figure[class[i]]
		}
	})
	return records
}

// more computes l-diversity, SUDA2 scores and combinations, if they are requested.
func (r *Result) more(ctx context.Context, g *grouper, c *classes, data Data, o Options) (err error) {
	if len(data.Sensitive) > 0 {
		r.LDiversity, r.LDiversityMulti, err = measureDiversity(ctx, g, c.of, len(c.count), data.Sensitive, o.RecursiveC)
		if err != nil {
			return err
		}
	}
	if o.SUDA2 != nil {
		fraction := o.SUDA2.SampleFraction
		if fraction == 0 {
			fraction = sampleFraction(data.Weights)
		}
		r.SUDA2, err = measureSUDA2(ctx, g, c, r.Keys, *o.SUDA2, fraction, workers())
		if err != nil {
			return err
		}
	}
	if o.Combinations > 0 {
		if r.Combinations, err = tabulate(ctx, c, r.Keys, o.Combinations, o.Alpha, workers()); err != nil {
			return err
		}
	}
	if len(o.Subsets) > 0 {
		r.Subsets, err = releasedSubsets(ctx, g, data, &o, r.Keys)
	}
	return err
}

func sampleFraction(weights []float64) float64 {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	if total <= float64(len(weights)) {
		return 1
	}
	return float64(len(weights)) / total
}

// ViolationsBelow returns the number of records with f_k < k, for any k.
func (r *Result) ViolationsBelow(k float64) int { return below(r.SampleFrequency, k) }

// PopulationViolationsBelow returns the number of records with F_k < k.
func (r *Result) PopulationViolationsBelow(k float64) int { return below(r.PopulationFrequency, k) }

func below(frequencies []float64, k float64) int {
	n := 0
	for _, f := range frequencies {
		if f < k {
			n++
		}
	}
	return n
}
