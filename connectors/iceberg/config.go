package iceberg

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/connectors/postgres"
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
	Path       string            `yaml:"path" doc:"the table's folder on this machine, where its metadata are (metadata/v1.metadata.json, version-hint.text), instead of catalog and table; to read, also one file of metadata"`
	Catalog    string            `yaml:"catalog" doc:"the URL of a REST catalog, https://HOST/PATH, without v1; or of the PostgreSQL database of a SQL catalog, postgres://USER@HOST:PORT/DATABASE, without the password"`
	Warehouse  string            `yaml:"warehouse" doc:"the catalog's warehouse, if it has several; of a SQL catalog its name (catalog_name)"`
	Table      string            `yaml:"table" doc:"the table in the catalog: NAMESPACE.NAME"`
	Token      connectors.Secret `yaml:"token" doc:"where the bearer token of a REST catalog is kept: {env: NAME} or {file: PATH}"`
	Credential connectors.Secret `yaml:"credential" doc:"where CLIENT_ID:CLIENT_SECRET are kept, for which a REST catalog, or oauth_server, gives tokens (OAuth 2), instead of token"`
	OAuth      string            `yaml:"oauth_server" doc:"the URL that gives tokens for credential; by default the catalog's own, v1/oauth/tokens"`
	Scope      string            `yaml:"scope" doc:"the scope of the tokens for credential; by default catalog"`
	Password   connectors.Secret `yaml:"password" doc:"where the password of a SQL catalog's database is kept; by default where libpq looks for it (PGPASSWORD, the passfile)"`

	application string // by SetPipeline
	newLocation string // SinkConfig.Location
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
	Location    string `yaml:"location" doc:"where a table lies that a SQL catalog does not have yet: the folder of the tables of its namespace (s3://BUCKET/FOLDER, or a folder of this machine); by default the namespace's property location"`
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
	case p.Path != "" && (p.Catalog != "" || p.Table != "" || p.Warehouse != "" || p.OAuth != "" || p.Scope != "" ||
		slices.ContainsFunc(p.secrets(), func(s named) bool { return s.Given() })):
		ps.Addf("path", "must stand alone, without a catalog")
		return
	case p.Path != "":
		if objectpath.Is(p.Path) {
			ps.Addf("path",
				"must be a folder of this machine: in object storage nothing but a catalog keeps two commits apart; name the catalog (a REST catalog, or a SQL catalog in PostgreSQL)")
		}
		return
	}
	if names := strings.Split(p.Table, "."); len(names) < 2 || hasEmpty(names) {
		ps.Addf("table", "must be NAMESPACE.NAME, got %q", p.Table)
	}
	if p.isSQL() {
		p.checkSQL(ps)
	} else {
		p.checkREST(ps)
	}
	for _, s := range p.secrets() {
		ps.Within(s.field, s.Check())
	}
}

// named is a secret and its field.
type named struct {
	*connectors.Secret
	field string
}

func (p *Place) secrets() []named {
	return []named{{&p.Token, "token"}, {&p.Credential, "credential"}, {&p.Password, "password"}}
}

// isSQL reports whether the catalog is a database.
func (p *Place) isSQL() bool {
	scheme, _, _ := strings.Cut(p.Catalog, ":")
	return scheme == "postgres" || scheme == "postgresql"
}

// database is the one of a SQL catalog.
func (p *Place) database() *postgres.Connection {
	return postgres.Connection{URL: p.Catalog, Password: p.Password}.Named(p.application)
}

func (p *Place) checkSQL(ps *check.Problems) {
	for _, wrong := range (&postgres.Connection{URL: p.Catalog}).Problems() {
		wrong.Path = "catalog"
		*ps = append(*ps, wrong)
	}
	if p.Warehouse == "" {
		ps.Addf("warehouse", "must be the name of the catalog (catalog_name), of which a database may have several")
	}
	if p.Token.Given() || p.Credential.Given() || p.OAuth != "" || p.Scope != "" {
		ps.Addf("catalog", "is a database, which takes a password, and neither a token nor a credential")
	}
}

// webURL takes the URL of a server apart, nil if it is none or holds a password.
func webURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil
	}
	return u
}

func (p *Place) checkREST(ps *check.Problems) {
	if u, err := url.Parse(p.Catalog); err == nil && u.User != nil {
		ps.Addf("catalog", "must not hold a password; say where the token is kept: token: {env: NAME}")
	} else if webURL(p.Catalog) == nil {
		ps.Addf("catalog", "must be the URL of a REST catalog, https://HOST/PATH, or postgres://USER@HOST:PORT/DATABASE")
	}
	if p.Password.Given() {
		ps.Addf("password", "is that of a database; a REST catalog takes a token or a credential")
	}
	if !p.Credential.Given() {
		if p.OAuth != "" || p.Scope != "" {
			ps.Addf("credential", "must be given with oauth_server and scope")
		}
		return
	}
	if p.Token.Given() {
		ps.Addf("credential", "must stand without token")
	}
	switch u := webURL(p.tokenURL()); {
	case u == nil:
		ps.Addf("oauth_server", "must be a URL without a password: https://HOST/PATH")
	case u.Scheme != "https" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		ps.Addf("credential", "must not be sent to another machine without encryption: the server of the tokens needs https://")
	}
}

// tokenURL gives tokens for the credential.
func (p *Place) tokenURL() string {
	return cmp.Or(p.OAuth, strings.TrimRight(p.Catalog, "/")+"/v1/oauth/tokens")
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
	dataset := connectors.Dataset{Namespace: cmp.Or(p.Catalog, "file"), Name: p.name()}
	if p.isSQL() {
		var database string
		dataset.Namespace, database = p.database().Server()
		dataset.Name = strings.Join([]string{database, p.Warehouse, p.Table}, ".")
	}
	return connectors.ConfigAbilities{
		Description: "iceberg " + p.name(), Dataset: dataset,
		SetPipeline: func(name string) { p.application = name },
		SetLookup: func(lookup func(name string) (string, bool)) {
			for _, s := range p.secrets() {
				s.Lookup = lookup
			}
		},
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
	switch u, err := url.Parse(c.Location); {
	case c.Location == "":
	case !c.isSQL():
		ps.Addf("location", "is for tables of a SQL catalog; others know where a new table lies")
	case objectpath.Is(c.Location):
		objectpath.Check(&ps, "location", c.Location)
	case err != nil || u.Scheme != "" || !filepath.IsAbs(c.Location):
		ps.Addf("location", "must be s3://BUCKET/FOLDER, or of another protocol, or an absolute path of this machine")
	}
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
