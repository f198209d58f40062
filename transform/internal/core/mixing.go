package core

// MixesRecords reports whether a mask moves values between records, so that a released value
// may be another respondent's: its matrix A in Z = AXB + C (Duncan and Keller-McNulty 2000,
// section 2) is not diagonal. It is true for a mask that does not declare its scope.
func MixesRecords(p Params) bool { return ScopeOf(p) != ScopeRecord }

// Unmixed returns the masks without those that only move values between records, under the labels
// that they have in the list, so that their replicates have the same draws. As a set of
// values without their records, a column released by the whole list is one released by these
// masks: the others only permute values, and the masks before and after them change a value in
// the same way at every record.
//
// If a mask computes with all values at once, no mask is left out: its result for a record
// depends on where the other values are.
func Unmixed(masks []Spec) []Spec {
	var alone []Spec
	all := AnyComputesWithAll(masks)
	for i, m := range masks {
		if all || !MixesRecords(m.Params) || !Declared(m.Params).MovesOnly {
			alone = append(alone, Spec{Name: Label(masks, i), Params: m.Params})
		}
	}
	return alone
}

// Unmixed returns the chain of the masks that change each record by itself, for replicates of
// one column that identify a record by its place. The other columns need not be in its blocks.
func (c *Chain) Unmixed(column string) (*Chain, error) {
	masks, ok := Alone(Unmixed(c.Masks), column)
	if !ok {
		masks = Unmixed(c.Masks)
	}
	return CompileChain(masks, c.Setup.unreleased(), 0, nil)
}
