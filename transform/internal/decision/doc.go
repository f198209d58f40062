// Package decision holds what decisions about all records of a release share, whatever they decide: they may be
// cancelled, and the data may not allow them.
package decision

import "errors"

// Refusal says that the data do not allow a parameter of a decision.
type Refusal struct {
	Path string // of the parameter within the mask that decides; "" for the mask as a whole
	Text string // contains no value of the data
}

// A part of the data is seen by one process, and another decides about all of it.
var (
	// ErrDamaged is the error for what another process has written, if it cannot be right.
	ErrDamaged = errors.New("the result of the survey is damaged, or was made with other masks")
	// ErrOtherRecords is the error for a result about records that the part does not have.
	ErrOtherRecords = errors.New(
		"the result of the survey is about records that this shard does not have, or about more records than it has")
)
