package core

import "slices"

// AnyComputesWithAll reports whether the result of some mask for a record depends on the values
// of all records: groups, ranks, rare combinations.
func AnyComputesWithAll(masks []Spec) bool {
	return slices.ContainsFunc(masks, func(m Spec) bool {
		return ScopeOf(m.Params) == ScopeDataset && !Declared(m.Params).MovesOnly
	})
}
