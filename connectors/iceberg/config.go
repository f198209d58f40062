package iceberg

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Kind is the entry of this folder in the list of formats.
var Kind = connectors.Format{
	Name:      "iceberg",
	SourceDoc: "a snapshot of a table of Apache Iceberg",
	NewSource: func() connectors.SourceConfig { return new(SourceConfig) },
	SinkDoc:   "a table of Apache Iceberg, to which a release adds one snapshot",
	NewSink:   func() connectors.SinkConfig { return new(SinkConfig) },
}

// Place says where a table is.
type Place struct {
	Path      string            `yaml:"path" doc:"the table's folder on this machine, where its metadata are (metadata/v1.metadata.json, version-hint.text), instead of catalog and table; to read, also one file of metadata"`
	Catalog   string            `yaml:"catalog" doc:"the URL of a REST catalog: https://HOST/PATH, without v1"`
	Warehouse string            `yaml:"warehouse" doc:"the catalog's warehouse, if it has several"`
	Table     string            `yaml:"table" doc:"the table in the catalog: NAMESPACE.NAME"`
	Token     connectors.Secret `yaml:"token" doc:"where the catalog's bearer token is kept: {env: NAME} or {file: PATH}"`
}

// SourceConfig describes what is read.
type SourceConfig struct {
	Place    `yaml:",inline"`
	Snapshot int64  `yaml:"snapshot" doc:"the snapshot to read, by its number; by default the current one"`
	AsOf     string `yaml:"as_of" doc:"read the snapshot that was the current one at this time, instead of snapshot: 2026-01-31T12:00:00Z"`
}

// SinkConfig describes the table that is written.
type SinkConfig struct {
	Place       `yaml:",inline"`
	Mode        string `yaml:"mode" doc:"overwrite (default): the release takes the place of all records of the table; append: it is added to them; partitions: it takes the place of those partitions that it has records of" enum:"overwrite,append,partitions"`
	Compression string `yaml:"compression" doc:"codec of the columns that are encoded again; by default that of the source if the source is Parquet, otherwise zstd" enum:"none,snappy,gzip,zstd,lz4,brotli"`
}

// The modes of a sink.
const (
	overwriteMode  = "overwrite"
	appendMode     = "append"
	partitionsMode = "partitions"
)

var (
	_ connectors.SourceConfig = (*SourceConfig)(nil)
	_ connectors.SinkConfig   = (*SinkConfig)(nil)
)

func (p *Place) check(ps *check.Problems) {
	switch {
	case p.Path == "" && p.Catalog == "":
		ps.Addf("", "must have a path, or a catalog with a table")
		return
	case p.Path != "" && (p.Catalog != "" || p.Table != "" || p.Warehouse != "" || p.Token.Given()):
		ps.Addf("path", "must stand alone, without a catalog")
		return
	case p.Path != "":
		if objectpath.Is(p.Path) {
			ps.Addf("path",
				"must be a folder of this machine: in object storage nothing but a catalog keeps two commits apart; name the catalog")
		}
		return
	}
	if u, err := url.Parse(p.Catalog); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		u.RawQuery != "" || u.Fragment != "" {
		ps.Addf("catalog", "must be the URL of a REST catalog: https://HOST/PATH")
	} else if u.User != nil {
		ps.Addf("catalog", "must not hold a password; say where the token is kept: token: {env: NAME}")
	}
	if names := strings.Split(p.Table, "."); len(names) < 2 || hasEmpty(names) {
		ps.Addf("table", "must be NAMESPACE.NAME, got %q", p.Table)
	}
	ps.Within("token", p.Token.Check())
}

func hasEmpty(names []string) bool {
	for _, n := range names {
		if n == "" {
			return true
		}
	}
	return false
}

// name is the table's for messages.
func (p *Place) name() string { return cmp.Or(p.Table, p.Path) }

func (p *Place) abilities() connectors.ConfigAbilities {
	return connectors.ConfigAbilities{
		Description: "iceberg " + p.name(), Dataset: connectors.Dataset{Namespace: cmp.Or(p.Catalog, "file"), Name: p.name()},
		SetPipeline: func(string) {}, // catalogs are not told
		SetLookup:   func(lookup func(name string) (string, bool)) { p.Token.Lookup = lookup },
	}
}

// Check implements connectors.SourceConfig.
func (c *SourceConfig) Check() check.Problems {
	var ps check.Problems
	c.check(&ps)
	if c.Snapshot != 0 && c.AsOf != "" {
		ps.Addf("as_of", "must stand without snapshot")
	}
	if c.AsOf != "" {
		if _, err := time.Parse(time.RFC3339, c.AsOf); err != nil {
			ps.Addf("as_of", "must be a time with its zone: 2026-01-31T12:00:00Z")
		}
	}
	return ps
}

// Abilities implements connectors.SourceConfig.
func (c *SourceConfig) Abilities() connectors.SourceConfigAbilities {
	return connectors.SourceConfigAbilities{ConfigAbilities: c.abilities()}
}

// Check implements connectors.SinkConfig.
func (c *SinkConfig) Check() check.Problems {
	var ps check.Problems
	c.check(&ps)
	ps.OneOf("mode", c.Mode, "", overwriteMode, appendMode, partitionsMode)
	ps.OneOf("compression", c.Compression, "", "none", "snappy", "gzip", "zstd", "lz4", "brotli")
	return ps
}

// Abilities implements connectors.SinkConfig.
func (c *SinkConfig) Abilities() connectors.SinkConfigAbilities {
	return connectors.SinkConfigAbilities{ConfigAbilities: c.abilities(), ColumnsAlone: true}
}

// Paths implements connectors.SinkConfig.
func (c *SinkConfig) Paths() []string { return []string{"table " + c.name()} }

// files is the sink of the data files.
func (c *SinkConfig) files() *parquet.SinkConfig {
	return &parquet.SinkConfig{Path: "table", Compression: c.Compression}
}

// Carries implements connectors.SinkConfig: columns of Parquet files are copied, except into a partitioned table, where
// the records of a block go to several files; whether it is one is known when it is looked up.
func (c *SinkConfig) Carries(src connectors.Source) bool {
	if keys, known := connectors.PartitionKeys(src); !known || len(keys) > 0 || !c.files().Carries(src) {
		return false
	}
	// Create says why if this fails.
	t, err := c.open(context.Background())
	return err == nil && (t == nil || t.spec().Unpartitioned())
}
