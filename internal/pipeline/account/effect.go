package account

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Effect is what the masks did to a number of records.
type Effect struct {
	Changed []int64 `json:"changed"` // records changed, for each mask; shorter if the last masks changed none
	// records whose identity is their place, although identity columns are configured
	Unidentified int64 `json:"unidentified"`
	// Listed says which of the categories that recodings list the records have, see transform.Chain.Unmatched; shorter if
	// none of the last ones.
	Listed microdata.Bitmap `json:"listed,omitempty"`
}

// None reports whether no record was changed, none lacked its identity, and none has a listed category.
func (e Effect) None() bool {
	return e.Unidentified == 0 && !slices.ContainsFunc(e.Listed, func(w uint64) bool { return w != 0 }) &&
		!slices.ContainsFunc(e.Changed, func(n int64) bool { return n != 0 })
}

// Unidentified returns how many of the records that are reported are identified by their place, although identity
// columns are configured.
func (r *Reporter) Unidentified() int64 { return r.effect().Unidentified }

// Plus returns the sum of two effects of the same masks, and changes neither of them.
func (e Effect) Plus(f Effect) Effect {
	if f.None() {
		return e
	}
	sum := slices.Clone(e.Changed)
	if n := len(f.Changed); len(sum) < n {
		sum = append(sum, make([]int64, n-len(sum))...)
	}
	for i, n := range f.Changed {
		sum[i] += n
	}
	listed := slices.Clone(e.Listed)
	if n := len(f.Listed); len(listed) < n {
		listed = append(listed, make(microdata.Bitmap, n-len(listed))...)
	}
	for i, w := range f.Listed {
		listed[i] |= w
	}
	return Effect{sum, e.Unidentified + f.Unidentified, listed}
}

// changed returns how many records mask i has changed.
func (e Effect) changed(i int) int64 {
	if i < len(e.Changed) {
		return e.Changed[i]
	}
	return 0
}

// effect returns what the masks did: to all records of the chain unless the reporter has another
// account of it.
func (r *Reporter) effect() Effect {
	if r.Effect != nil {
		return *r.Effect
	}
	e := Effect{Unidentified: r.Chain.Unidentified(), Listed: r.Chain.Listed()}
	for _, t := range r.Chain.Touched() {
		e.Changed = append(e.Changed, t.Records)
	}
	return e
}
