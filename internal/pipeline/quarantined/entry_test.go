package quarantined

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// An entry says where a record is: counted from 1 in a file, by offset in a topic, and counted from
// 1 within a message of many records. Entries have the order of the records.
func TestEntries(t *testing.T) {
	b := new(microdata.Block)
	b.Reset(0, 40, 5, 1)
	b.Reject(4, "wage", "last")
	b.Reject(0, "", "first")
	b.Reject(2, "debt", "middle")
	in := InOrder(b)
	if len(in) != 3 || in[0].Row != 0 || in[1].Row != 2 || in[2].Row != 4 {
		t.Fatalf("rejects in order are %+v, want rows 0, 2 and 4", in)
	}
	text := func(e any) string {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	at := kafka.Partition{Topic: "in", Number: 3}
	if got, want := text(
		EntryOf(at, b, in[2], false)), `{"topic":"in","partition":3,"offset":44,"column":"wage","reason":"last"}`; got != want {
		t.Errorf("entry %s, want %s", got, want)
	}
	if got, want := text(EntryOf(at, b, in[0], false)), `{"topic":"in","partition":3,"offset":40,"reason":"first"}`; got !=
		want {
		t.Errorf("entry %s, want %s", got, want)
	}
	// The messages 6 and 7 contain records; these are the last record of one and the first of the
	// other.
	b.Places = []int64{6<<message.RowBits | (1<<message.RowBits - 1), 7 << message.RowBits, 7<<message.RowBits | 1, 0, 0}
	if got, want := text(EntryOf(at, b, microdata.Reject{Row: 0, Reason: "r"}, true)), `"offset":6,"record":`; !strings.
		Contains(got, want) || strings.Contains(got, `"record":0`) {
		t.Errorf("entry %s, want %s", got, want)
	}
	if got, want := text(
		EntryOf(at, b, microdata.Reject{Row: 1, Reason: "r"}, true)),
		`{"topic":"in","partition":3,"offset":7,"record":1,"reason":"r"}`; got != want {
		t.Errorf("entry %s, want %s", got, want)
	}
	if got, want := text(
		EntryOf(at, b, microdata.Reject{Row: 2, Reason: "r"}, true)),
		`{"topic":"in","partition":3,"offset":7,"record":2,"reason":"r"}`; got != want {
		t.Errorf("entry %s, want %s", got, want)
	}
}

// files is a source of two files, and at is a source with columns that contain the place of a
// record.
type (
	files struct{ connectors.Source }
	at    struct{ files }
)

func (files) Streams() []string                            { return []string{"a.csv", "b.csv"} }
func (files) Abilities() (none connectors.SourceAbilities) { return none }
func (a at) Abilities() connectors.SourceAbilities         { return connectors.SourceAbilities{Relocated: a} }
func (at) NameOf(*microdata.Block) string                  { return "stored" }
func (at) StoredIn(*microdata.Block) int                   { return 0 }

// An entry of a file names the file, and counts its records from 1, in the file or by the columns
// with places.
func TestEntriesOfFiles(t *testing.T) {
	b := new(microdata.Block)
	b.Reset(1, 40, 3, 1)
	if got := FileEntries(files{}, b); got != nil {
		t.Errorf("no record is rejected: entries %+v", got)
	}
	b.Reject(2, "wage", "last")
	b.Reject(0, "age", "first")
	first, last := FileEntry{"b.csv", 41, "age", "first"}, FileEntry{"b.csv", 43, "wage", "last"}
	want := []FileEntry{first, last}
	if got := FileEntries(files{}, b); !slices.Equal(got, want) {
		t.Errorf("entries %+v, want %+v", got, want)
	}
	b.Places = []int64{7, 8, 5}
	want = []FileEntry{{"stored", 8, "age", "first"}, {"stored", 6, "wage", "last"}}
	if got := FileEntries(at{}, b); !slices.Equal(got, want) {
		t.Errorf("entries %+v, want %+v", got, want)
	}
}
