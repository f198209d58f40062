package decision

// Every is the number of records, or of combinations, after which it is checked again whether
// a decision was cancelled.
const Every = 1 << 12

// Stop reports whether a decision was cancelled. Once it returns true it always does, and the
// results of the decision must not be used. A nil Stop is never cancelled.
type Stop func() bool

// Now reports whether the decision was cancelled.
func (s Stop) Now() bool { return s != nil && s() }

// At is Now for iteration i of a loop: it asks only if i is a multiple of Every.
func (s Stop) At(i int) bool { return i%Every == 0 && s.Now() }
