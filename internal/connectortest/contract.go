package connectortest

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Contract describes a connector to the checks.
type Contract struct {
	// Ext is what the names of the format's files end in, with the dot.
	Ext string
	// Source reads a file or, where Folders is set, a folder.
	Source func(path string) connectors.SourceConfig
	// Sink writes a file or, where Folders is set and the plan's source is a
	// folder, a folder. Without compression, so that bytes can be looked for.
	Sink func(path string) connectors.SinkConfig
	// Write makes an input file; nil: Sink writes it.
	Write func(t testing.TB, path string, table *Table)

	// Types are the types of the columns that are tried, besides one of text and
	// one of numbers that every check needs. A format whose types are inferred
	// lists those that it infers.
	Types []arrow.DataType
	// Typed: the format names its types, so that what is read back has the type
	// that was written, and a table without records still has columns.
	Typed bool
	Nulls bool // the format tells nulls from values
	// DetectsTruncation: a file cut off anywhere is an error. Formats of text
	// cannot tell a missing last line, but never give half a record.
	DetectsTruncation bool
	Folders           bool // a path may be a folder
	// Table: a path is the folder of a table, whose files have names of their own. Checks of the bytes and of the name
	// of a file leave it out; its package has them.
	Table bool
	// Few: only a sixth of the damaged files are tried, for the short form of a test where to open and to make a file
	// takes milliseconds.
	Few bool
	// Nested are types that a carried column may have; they are checked through
	// Array form.
	Nested []arrow.DataType
}

// damages is how many damaged files a check tries, of n.
func (c Contract) damages(n int) int {
	if c.Few || racetest.Omits(true) {
		return n / 6
	}
	return n
}

// AllTypes are the types that a typed format keeps.
var AllTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	&arrow.Decimal128Type{Precision: 12, Scale: 3},
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Boolean,
	arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

// TextTypes are the types that a format of text tells apart.
var TextTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String, arrow.FixedWidthTypes.Boolean,
}

// ofFiles are the checks of a file's bytes and name.
var ofFiles = []string{"Spelling", "Truncated", "Corrupted", "Changed", "Commit", "Abilities"}

// Run checks the whole contract.
func Run(t *testing.T, c Contract) {
	for _, check := range []struct {
		name string
		run  func(*testing.T, Contract)
	}{
		{"RoundTrip", roundTrip},
		{"Masked", masked},
		{"Spelling", Spelling},
		{"Rejected", rejected},
		{"Empty", empty},
		{"Streams", streams},
		{"ExactCuts", exactCuts},
		{"Cuts", cuts},
		{"Rewind", rewind},
		{"FromMemory", fromMemory},
		{"Truncated", truncated},
		{"Corrupted", corrupted},
		{"Missing", missing},
		{"Changed", changed},
		{"ChangedFolder", changedFolder},
		{"Cancelled", cancelled},
		{"FullDisk", fullDisk},
		{"Abort", abort},
		{"Commit", commit},
		{"NothingLeft", nothingLeft},
		{"Abilities", declared},
	} {
		t.Run(check.name, func(t *testing.T) {
			if c.Table && slices.Contains(ofFiles, check.name) {
				t.Skip("a table is no file")
			}
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			check.run(t, c)
		})
	}
}
