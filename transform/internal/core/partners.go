package core

import "github.com/sdlfilter/sdlfilter/transform/internal/displacement"

// Partners gives the probabilities of the exchanges in a group for those who know policy, scope and rate. sizes are the
// numbers of records of its combinations of keys and attribute. The result is the probability that a given record of a
// combination of size own is exchanged with a given one of another combination, of size other.
func (e Exchange) Partners() func(sizes []int32) func(own, other int32) float64 {
	p := &displacement.Pairer{Rate: e.Rate, Unique: e.Unique, Dataset: e.Dataset}
	return func(sizes []int32) func(own, other int32) float64 { return p.Of(sizes).Between }
}
