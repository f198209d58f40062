package transform

// every is the number of records, or of combinations, after which it is checked again whether
// a decision was cancelled.
const every = 1 << 12

// stopper reports whether a decision was cancelled. Once it returns true it always does, and the
// results of the decision must not be used. A nil stopper is never cancelled.
type stopper func() bool

// now reports whether the decision was cancelled.
func (s stopper) now() bool { return s != nil && s() }

// at is now for iteration i of a loop: it checks only if i is a multiple of every.
func (s stopper) at(i int) bool { return i%every == 0 && s.now() }
