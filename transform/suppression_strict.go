package transform

// hideStrictly is hide if a missing cell is no value.
func (s *suppression) hideStrictly() (map[int32][]lacking, *SurveyError) {
	members := make([]member, len(s.classes.tuples))
	for class := range members {
		members[class] = member{int32(class), s.lacks[class], s.classes.counts[class]}
	}
	a := s.newBunching(uint16(1<<len(s.weights)-1), s.classes.tuples, s.lacks, members)
	a.gather()
	a.tidy()
	a.improve()
	plan := map[int32][]lacking{}
	for at := range a.bunches {
		b := &a.bunches[at]
		for _, m := range b.members {
			if m.from != b.set {
				plan[m.kind] = append(plan[m.kind], lacking{b.set, m.n})
			}
		}
	}
	return plan, nil
}
