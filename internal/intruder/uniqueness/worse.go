package uniqueness

// Worse joins the results of two readings of the same records, of which the snooper may know
// the right one: for each respondent the smaller frequencies and the greater risk, and of each
// total the worse one.
func Worse(a, b *Result, household []int32, o Options) *Result {
	r := *a
	n := len(a.SampleFrequency)
	r.SampleFrequency, r.Risk = make([]float64, n), make([]float64, n)
	r.PopulationFrequency = make([]float64, n)
	count := make([]int64, n)
	for i := range n {
		r.SampleFrequency[i] = min(a.SampleFrequency[i], b.SampleFrequency[i])
		r.PopulationFrequency[i] = min(a.PopulationFrequency[i], b.PopulationFrequency[i])
		r.Risk[i] = max(a.Risk[i], b.Risk[i])
		count[i] = 1
	}
	r.Violations = make(map[int]int, len(o.K))
	r.MinFrequency, r.MaxIndividualRisk, r.ExpectedReidentifications, r.SampleUniques = 0, 0, 0, 0
	r.total(count, r.SampleFrequency, r.Risk, o.K)
	if household != nil {
		r.Household = householdOf(household, r.Risk)
	}
	if a.SUDA2 != nil && b.SUDA2 != nil && b.SUDA2.Mean > a.SUDA2.Mean {
		r.SUDA2 = b.SUDA2
	}
	if a.LDiversity != nil {
		r.LDiversity = make(map[string]Diversity, len(a.LDiversity))
		for name, d := range a.LDiversity {
			r.LDiversity[name] = d.lower(b.LDiversity[name])
		}
	}
	if a.LDiversityMulti != nil && b.LDiversityMulti != nil {
		d := a.LDiversityMulti.lower(*b.LDiversityMulti)
		r.LDiversityMulti = &d
	}
	r.Combinations = nil
	for i, c := range a.Combinations {
		c.Uniques = max(c.Uniques, b.Combinations[i].Uniques)
		r.Combinations = append(r.Combinations, c)
	}
	r.Subsets = nil
	for i, s := range a.Subsets {
		if other := b.Subsets[i]; other.MinFrequency < s.MinFrequency {
			s.MinFrequency, s.Keys = other.MinFrequency, other.Keys
		}
		s.MaxIndividualRisk = max(s.MaxIndividualRisk, b.Subsets[i].MaxIndividualRisk)
		r.Subsets = append(r.Subsets, s)
	}
	return &r
}

// lower returns the lesser diversity of each record, and the lesser minima.
func (d Diversity) lower(e Diversity) Diversity {
	n := len(d.Distinct)
	both := classDiversity{make([]int32, n), make([]int32, n), make([]float64, n)}
	each := make([]int32, n)
	for i := range n {
		each[i] = int32(i)
		both.lower(i, d.Distinct[i], d.Entropy[i], d.Recursive[i])
		both.lower(i, e.Distinct[i], e.Entropy[i], e.Recursive[i])
	}
	return both.spread(each)
}
