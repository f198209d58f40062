package transform

// every is the number of records, or of combinations, between two looks at whether a decision
// was cancelled.
const every = 1 << 12

// stopper reports whether a decision was cancelled: what it has come to is of no use then, and
// once it was it stays so. nil: never.
type stopper func() bool

// now reports whether it was.
func (s stopper) now() bool { return s != nil && s() }

// at is now in a loop, at its turn i: it looks only where i is a multiple of every.
func (s stopper) at(i int) bool { return i%every == 0 && s.now() }
