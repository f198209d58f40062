package quarantined

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/abilities"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// FileEntry is one line of the quarantine of a source of files.
type FileEntry struct {
	Stream string `json:"stream"`
	Record int64  `json:"record"` // from 1
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
}

// FileEntryOf returns the entry of a record of a source.
func FileEntryOf(src connectors.Source, b *microdata.Block, r microdata.Reject) FileEntry {
	return FileEntry{Stream: abilities.NameOf(src, b), Record: b.Place(r.Row) + 1, Column: r.Column, Reason: r.Reason}
}

// InOrder returns the rejected records of a block in the order of its records. In the block
// they are in the order of the columns that were checked.
func InOrder(b *microdata.Block) []microdata.Reject {
	return slices.SortedFunc(slices.Values(b.Rejects), func(x, y microdata.Reject) int { return x.Row - y.Row })
}
