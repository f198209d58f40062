// Package decision holds what decisions about all records of a release share, whatever they decide: they may be
// cancelled, and the data may not allow them.
package decision

// Refusal says that the data do not allow a parameter of a decision.
type Refusal struct {
	Path string // of the parameter within the mask that decides; "" for the mask as a whole
	Text string // contains no value of the data
}
