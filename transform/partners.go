package transform

// Partners gives the probabilities of the exchanges in a group for those who know policy, scope and rate. sizes are the
// numbers of records of its combinations of keys and attribute. The result is the probability that a given record of a
// combination of size own is exchanged with a given one of another combination, of size other.
func (e Exchange) Partners() func(sizes []int32) func(own, other int32) float64 {
	p := &pairer{rate: e.Rate, unique: e.Unique, dataset: e.Dataset}
	return func(sizes []int32) func(own, other int32) float64 {
		of := p.of(sizes)
		return func(own, other int32) float64 {
			sum := 0.0
			for _, rates := range of.rates {
				sum += rates[of.class(own)*len(of.sizes)+of.class(other)]
			}
			return sum / float64(len(of.rates))
		}
	}
}
