package transform

import "slices"

// AnyComputesWithAll reports whether the result of some mask for a record depends on the values
// of all records: groups, ranks, rare combinations.
func AnyComputesWithAll(masks []Spec) bool {
	return slices.ContainsFunc(masks, func(m Spec) bool {
		return ScopeOf(m.Params) == ScopeDataset && !declared(m.Params).MovesOnly
	})
}

// AnyDependsOnNumber reports whether some mask acts differently on a sample than on all
// records: in a sample, groups of k records span a wider range.
func AnyDependsOnNumber(masks []Spec) bool {
	return slices.ContainsFunc(masks, func(m Spec) bool {
		return declared(m.Params).ofNumber
	})
}
