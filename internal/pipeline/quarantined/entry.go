// Package quarantined has the entries of records that could not be masked: place and reason,
// never a value. File jobs and streams write the same entries.
package quarantined

import (
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// streamEntry is the place of a message and the reason why it was not released.
type streamEntry struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Record    int64  `json:"record,omitempty"` // within the message, from 1, if it holds several records
	Column    string `json:"column,omitempty"`
	Reason    string `json:"reason"`
}

// EntryOf returns the entry of a record; with rows its place is a row of a message.
func EntryOf(p kafka.Partition, b *microdata.Block, r microdata.Reject, rows bool) streamEntry {
	e := streamEntry{Topic: p.Topic, Partition: p.Number, Offset: b.Place(r.Row), Column: r.Column, Reason: r.Reason}
	if rows {
		e.Record = e.Offset&(1<<message.RowBits-1) + 1
		e.Offset >>= message.RowBits
	}
	return e
}
