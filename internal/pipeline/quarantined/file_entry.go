package quarantined

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// FileEntry is one line of the quarantine of a source of files.
type FileEntry struct {
	Stream string `json:"stream"`
	Record int64  `json:"record"` // from 1
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
}

// FileEntries returns the entries of a block's rejected records, in the order of the records.
func FileEntries(src connectors.Source, b *microdata.Block) []FileEntry {
	rejects := InOrder(b)
	if len(rejects) == 0 {
		return nil
	}
	stream := connectors.NameOf(src, b)
	entries := make([]FileEntry, len(rejects))
	for i, r := range rejects {
		entries[i] = FileEntry{Stream: stream, Record: b.Place(r.Row) + 1, Column: r.Column, Reason: r.Reason}
	}
	return entries
}

// InOrder returns the rejected records of a block in the order of its records. In the block
// they are in the order of the columns that were checked.
func InOrder(b *microdata.Block) []microdata.Reject {
	return slices.SortedFunc(slices.Values(b.Rejects), func(x, y microdata.Reject) int { return x.Row - y.Row })
}
