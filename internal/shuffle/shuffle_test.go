package shuffle

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/jsonl"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// shuffledConfig is a sink with a release shuffled by ranks.
type shuffledConfig struct {
	connectors.SinkConfig
	ranks Ranks
	most  int64 // bytes of a bucket in memory; 0: the default
}

func (c shuffledConfig) Carries(connectors.Source) bool { return false }

func (c shuffledConfig) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	s, err := Create(ctx, c.SinkConfig, plan, c.ranks)
	if err == nil && c.most > 0 {
		s.(*sink).most = c.most
	}
	return s, err
}

// asValues is a sink whose records are put in order as values, although they are texts.
type asValues struct{ connectors.SinkConfig }

func (asValues) Abilities() (none connectors.SinkConfigAbilities) { return none }

// inOrder are ranks that keep the records in the order of their source, spread over the buckets: at
// most four streams of at most 512 records.
func inOrder(dst []uint64, b *microdata.Block) {
	for i := range dst {
		dst[i] = uint64(b.Stream)<<62 | uint64(b.Place(i))<<53
	}
}

// hashed returns ranks from a key, in an apparently random order.
func hashed(key byte) Ranks {
	return func(dst []uint64, b *microdata.Block) {
		for i := range dst {
			h := fnv.New64a()
			h.Write([]byte{key})
			h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(b.Stream)),
				uint64(b.Place(i))))
			// The last written byte hardly influences the first bits.
			x := h.Sum64()
			x ^= x >> 31
			dst[i] = x * 0x9e3779b97f4a7c15
		}
	}
}

// format is a format of files for the contract test.
type format struct {
	ext    string
	source func(path string) connectors.SourceConfig
	sink   func(path string) connectors.SinkConfig
	types  []arrow.DataType
	nested []arrow.DataType
	typed  bool
}

var nested = []arrow.DataType{
	arrow.ListOf(arrow.PrimitiveTypes.Int32),
	arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "b", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64), Nullable: true}),
	arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64),
}

var all = []format{
	{".csv", func(p string) connectors.SourceConfig { return &csv.SourceConfig{Path: p} },
		func(p string) connectors.SinkConfig { return &csv.SinkConfig{Path: p} }, connectortest.TextTypes, nil, false},
	{".jsonl", func(p string) connectors.SourceConfig { return &jsonl.SourceConfig{Path: p} },
		func(p string) connectors.SinkConfig { return &jsonl.SinkConfig{Path: p} }, connectortest.TextTypes, nil, false},
	{".parquet", func(p string) connectors.SourceConfig { return &parquet.SourceConfig{Path: p} },
		func(p string) connectors.SinkConfig { return &parquet.SinkConfig{Path: p, Compression: "none"} },
		connectortest.AllTypes, nested, true},
	{".arrow", func(p string) connectors.SourceConfig { return &arrowipc.SourceConfig{Path: p} },
		func(p string) connectors.SinkConfig { return &arrowipc.SinkConfig{Path: p, Compression: "none"} },
		connectortest.AllTypes, nested, true},
}

// With ranks that keep the order, a shuffled sink behaves like any other sink of its format: no
// data of a respondent are lost, added, left behind or contained in an error.
func TestContract(t *testing.T) {
	for _, f := range all {
		if testing.Short() && f.ext != ".csv" && f.ext != ".arrow" {
			continue // the buckets are those of all formats: of texts, and of values
		}
		t.Run(f.ext, func(t *testing.T) {
			connectortest.Run(t, connectortest.Contract{
				Ext: f.ext, Source: f.source,
				Sink: func(path string) connectors.SinkConfig {
					return shuffledConfig{SinkConfig: f.sink(path), ranks: inOrder}
				},
				Types: f.types, Nested: f.nested, Typed: f.typed, Nulls: true, DetectsTruncation: f.typed, Folders: true,
				Few: testing.Short(),
			})
		})
	}
}
