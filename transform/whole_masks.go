package transform

import "slices"

// AnyComputesWithAll reports whether some mask decides by the values of all records at
// once what becomes of each: groups, ranks, rare combinations.
func AnyComputesWithAll(masks []Spec) bool {
	return slices.ContainsFunc(masks, func(m Spec) bool { return ScopeOf(m.Params) == ScopeDataset && !movesOnly(m.Params) })
}

// sizing is a mask of scope dataset whose law depends on how many records there are, not
// on how they are distributed alone.
type sizing interface{ dependsOnNumber() bool }

// AnyDependsOnNumber reports whether some mask makes of a sample of the records something
// else than of all: groups of k span a wider range there.
func AnyDependsOnNumber(masks []Spec) bool {
	return slices.ContainsFunc(masks, func(m Spec) bool {
		s, ok := m.Params.(sizing)
		return ok && s.dependsOnNumber()
	})
}
