package uniqueness

import (
	"context"
	"maps"
	"slices"
)

// Persons are the measures of persons who have several records, each by all of its records together: what a snooper
// finds who knows all records of a person (the waves of a panel), and sees which released records are one person's.
type Persons struct {
	Persons int `json:"persons" doc:"number of persons; a record without one is a person of its own"`
	Several int `json:"several" doc:"persons with more than one record"`
	Unknown int `json:"unknown,omitempty" doc:"records without a person"`
	// MinFrequency is the least joined k.
	MinFrequency float64 `json:"min_k" doc:"least joined k: the number of persons whose released records together can be a person's, for a snooper who knows the keys of all records of that person"`
	Uniques      int     `json:"uniques" doc:"persons with a joined k of 1: the records of nobody else can be theirs"`
	UniqueShare  float64 `json:"unique_share" doc:"share of the persons with a joined k of 1"`
	// Violations is the number of persons with a joined k below k, by k.
	Violations        map[int]int `json:"violations" doc:"persons with a joined k below k, by k"`
	MaxIndividualRisk float64     `json:"max_individual_risk" doc:"greatest probability that a person is re-identified by all records together; of the weights of a person's records the least"`
	// Found is the mean of 1 over the joined k.
	Found float64 `json:"found" doc:"share of the persons who are expected to be found by all records together: the mean of 1 over the joined k"`
	// AtLeast says that records with missing keys matched only their like, since there are too many to compare.
	AtLeast bool `json:"at_least,omitempty" doc:"true: too many records lack keys to be compared, so that a missing key matched only a missing one, and k may be greater"`

	// Frequency is the joined k by record.
	Frequency []float64 `json:"-"`
}

// panel is the records of a file by person.
type panel struct {
	start           []int32 // of each person in records, and the end
	records         []int32
	known, released []int32   // the tuple of each record
	tuples          []field   // the distinct tuples of both, by key
	weight          []float64 // by person: the least of the records'; nil without weights
	alpha           float64
	steps           int // that comparisons of histories which lack keys may still take
}

// newPanel groups the records of each person; −1 is a person of its own.
func newPanel(g *grouper, data *Data, alpha float64) *panel {
	p := &panel{alpha: alpha, steps: maxSteps}
	n := len(data.Person)
	of := make([]int32, n) // person of each record
	persons := g.group([]field{newField(data.Person)}, nil, of)
	first := true
	for i, who := range data.Person {
		if who >= 0 {
			continue
		}
		if first {
			first = false
			continue
		}
		of[i] = int32(persons)
		persons++
	}
	p.start, p.records = make([]int32, persons+1), make([]int32, n)
	for _, who := range of {
		p.start[who+1]++
	}
	for who := range persons {
		p.start[who+1] += p.start[who]
	}
	next := slices.Clone(p.start)
	for i, who := range of {
		p.records[next[who]] = int32(i)
		next[who]++
	}
	if data.Weights != nil {
		p.weight = make([]float64, persons)
		for who := range p.weight {
			p.weight[who] = data.Weights[p.records[p.start[who]]]
			for _, i := range p.of(who) {
				p.weight[who] = min(p.weight[who], data.Weights[i])
			}
		}
	}
	columns := make([]field, len(data.Keys))
	for j, key := range data.Keys {
		known := key.Codes
		if data.Known != nil {
			known = data.Known[j]
		}
		columns[j] = newField(slices.Concat(known, key.Codes))
	}
	both := newClasses(g, columns, nil)
	p.known, p.released, p.tuples = both.of[:n:n], both.of[n:], both.keys
	return p
}

func (p *panel) persons() int { return len(p.start) - 1 }

// of returns the records of a person.
func (p *panel) of(who int) []int32 { return p.records[p.start[who]:p.start[who+1]] }

// counts returns the joined k of each person by the keys of set, and its weighted form; without weights both are one
// slice. atLeast says that they are lower bounds. The only error is that of ctx.
func (p *panel) counts(ctx context.Context, g *grouper, set []int) (f, F []float64, atLeast bool, err error) {
	columns := make([]field, len(set))
	for at, j := range set {
		columns[at] = p.tuples[j]
	}
	tuples := newClasses(g, columns, nil) // of the tuples by all keys
	h := newHistories(p, tuples)
	r := h.released()
	same, err := h.add(ctx, r)
	if err != nil {
		return nil, nil, false, err
	}
	f = make([]float64, p.persons())
	if p.weight != nil {
		F = make([]float64, len(f))
	}
	for who := range f {
		k := h.knownBy[who]
		// A person is always a candidate, and whole, whatever the masks have hidden.
		own := h.own(int(k), int(h.releasedBy[who]))
		f[who] = r.sum[k] + 1 - own
		if F != nil {
			F[who] = r.weights[k] + (1-own)*p.weight[who]
		}
	}
	if F == nil {
		F = f
	}
	return f, F, !same, nil
}

// measurePersons computes Persons by all keys, and for each of the sets of subsets the least joined k and the greatest
// risk.
func measurePersons(ctx context.Context, g *grouper, data *Data, o *Options, subsets []Subset) (*Persons, error) {
	p := newPanel(g, data, o.Alpha)
	all := make([]int, len(data.Keys))
	for j := range all {
		all[j] = j
	}
	f, F, atLeast, err := p.counts(ctx, g, all)
	if err != nil {
		return nil, err
	}
	r := &Persons{Persons: p.persons(), AtLeast: atLeast, Violations: map[int]int{}, MinFrequency: f[0]}
	for _, who := range data.Person {
		if who < 0 {
			r.Unknown++
		}
	}
	r.Frequency = make([]float64, len(data.Person))
	for _, k := range slices.Concat(o.K, o.Limits) {
		r.Violations[k] = 0
	}
	for who, k := range f {
		if len(p.of(who)) > 1 {
			r.Several++
		}
		r.MinFrequency = min(r.MinFrequency, k)
		r.MaxIndividualRisk = max(r.MaxIndividualRisk, o.Estimator.Risk(k, F[who]))
		r.Found += 1 / k / float64(len(f))
		if k == 1 {
			r.Uniques++
		}
		for limit := range maps.Keys(r.Violations) {
			if k < float64(limit) {
				r.Violations[limit]++
			}
		}
		for _, i := range p.of(who) {
			r.Frequency[i] = k
		}
	}
	r.UniqueShare = float64(r.Uniques) / float64(r.Persons)
	p.steps = 4 * maxSteps
	return r, p.bySubset(ctx, g, o, r, subsets, f, F)
}

// mostCounted is the number of records, times sets of keys, that are counted anew for the sets of some keys.
const mostCounted = 200_000_000

// bySubset enters the least joined k and the greatest joined risk over sets of some keys. f and F are the figures by
// all keys, which bound those by some, and stand for them where there are too many sets.
func (p *panel) bySubset(ctx context.Context, g *grouper, o *Options, r *Persons, subsets []Subset, f,
	F []float64) error {
	for i := range subsets {
		s := &subsets[i]
		sets := setsOf(len(p.tuples), min(s.Size, len(p.tuples)))
		if len(sets)*len(p.records) > mostCounted {
			s.PersonK, s.PersonRisk = r.MinFrequency, r.MaxIndividualRisk
			continue
		}
		for at, set := range sets {
			some, weighted, _, err := p.counts(ctx, g, set)
			if err != nil {
				return err
			}
			for who, k := range some {
				if k = max(k, f[who]); at+who == 0 || k < s.PersonK {
					s.PersonK = k
				}
				s.PersonRisk = max(s.PersonRisk, o.Estimator.Risk(k, max(weighted[who], F[who])))
			}
		}
	}
	return nil
}
