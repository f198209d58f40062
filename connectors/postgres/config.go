package postgres

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
)

// Kind is the entry of this folder in the list of formats.
var Kind = connectors.Format{
	Name:      "postgres",
	SourceDoc: "a table of PostgreSQL, or what a query gives",
	NewSource: func() connectors.SourceConfig { return new(SourceConfig) },
	SinkDoc:   "a table of PostgreSQL, which takes the place of the earlier one in one transaction",
	NewSink:   func() connectors.SinkConfig { return new(SinkConfig) },
}

// Connection says how a server is reached.
type Connection struct {
	URL      string            `yaml:"url" required:"true" doc:"postgres://USER@HOST:PORT/DATABASE, with the parameters of libpq (?sslmode=verify-full&sslrootcert=ca.pem), without the password; sslmode is require by default, and prefer for a server on this machine"`
	Password connectors.Secret `yaml:"password" doc:"where the password is kept: {env: NAME} or {file: PATH}; by default where libpq looks for it (PGPASSWORD, the passfile)"`

	application string // by SetPipeline
}

// SourceConfig describes what is read.
type SourceConfig struct {
	Connection `yaml:",inline"`
	Table      string   `yaml:"table" doc:"the table or view to read, instead of query: survey, or public.survey; names as in the catalogue, in double quotes if a name contains a dot"`
	Query      string   `yaml:"query" doc:"a SELECT that gives the records; needs order"`
	Order      []string `yaml:"order" doc:"columns whose combination of values is different in every record: all passes read in the order of these columns; by default the table's primary key"`
}

// SinkConfig describes the table that is written.
type SinkConfig struct {
	Connection `yaml:",inline"`
	Table      string `yaml:"table" required:"true" doc:"the table of the release: released, or open.released; an existing table of this name is replaced as a whole after the gate has passed, and users with the right to read it may read the new one"`

	within *transaction // of several sinks; nil: the sink has its own
}

var (
	_ connectors.SourceConfig = (*SourceConfig)(nil)
	_ connectors.SinkConfig   = (*SinkConfig)(nil)
)

// abilities are those of both configurations. By the pipeline's name the server's lists of connections say whose they
// are.
func (c *Connection) abilities(table string) connectors.ConfigAbilities {
	return connectors.ConfigAbilities{
		Description: "postgres " + table, Dataset: c.dataset(table), SetPipeline: func(name string) { c.application = name },
		SetLookup: func(lookup func(name string) (string, bool)) { c.Password.Lookup = lookup },
	}
}

// dataset names a table by the server and the database of the URL.
func (c *Connection) dataset(table string) connectors.Dataset {
	u, err := url.Parse(c.URL)
	if err != nil {
		return connectors.Dataset{Namespace: "postgres", Name: table}
	}
	server := net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "5432"))
	if database := strings.Trim(u.Path, "/"); database != "" {
		table = database + "." + table
	}
	return connectors.Dataset{Namespace: "postgres://" + server, Name: table}
}

// secrets are the parameters of a URL that would hold a password.
var secrets = []string{"password", "sslpassword"}

// check finds what is wrong with the URL without repeating it, as it may hold a password.
func (c *Connection) check(ps *check.Problems) {
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		ps.Addf("url", "must be given: postgres://USER@HOST:PORT/DATABASE")
		return
	case err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql":
		ps.Addf("url", "must be of the form postgres://USER@HOST:PORT/DATABASE")
		return
	}
	_, has := u.User.Password()
	parameters, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		ps.Addf("url", "has parameters that cannot be read")
	}
	for _, name := range secrets {
		has = has || parameters.Has(name)
	}
	if has {
		ps.Addf("url", "must not hold a password; say where it is kept: password: {env: NAME}")
	}
	ps.Within("password", c.Password.Check())
}

// Check implements connectors.SourceConfig.
func (c *SourceConfig) Check() check.Problems {
	var ps check.Problems
	c.check(&ps)
	switch {
	case (c.Table == "") == (c.Query == ""):
		ps.Addf("", "must have a table or a query, one of them")
	case c.Table != "":
		checkTable(&ps, c.Table)
	case len(c.Order) == 0:
		ps.Addf("order",
			"must name columns whose values are different in every record of the query: without an order, two passes may read the records in different orders")
	}
	for i, name := range c.Order {
		if name == "" || slices.Contains(c.Order[:i], name) {
			ps.Addf("order", "must name columns, each once, got %q", name)
		}
	}
	return ps
}

// Check implements connectors.SinkConfig.
func (c *SinkConfig) Check() check.Problems {
	var ps check.Problems
	c.check(&ps)
	checkTable(&ps, c.Table)
	return ps
}

func checkTable(ps *check.Problems, name string) {
	if _, err := parseTable(name); err != nil {
		ps.Addf("table", "%v", err)
	}
}

// Abilities implements connectors.SourceConfig.
func (c *SourceConfig) Abilities() connectors.SourceConfigAbilities {
	return connectors.SourceConfigAbilities{ConfigAbilities: c.abilities(cmp.Or(c.Table, "query")),
		OpenTogether: openTogether}
}

// Abilities implements connectors.SinkConfig.
func (c *SinkConfig) Abilities() connectors.SinkConfigAbilities {
	return connectors.SinkConfigAbilities{ConfigAbilities: c.abilities(c.Table), ColumnsAlone: true,
		Together: together}
}

// Paths implements connectors.SinkConfig.
func (c *SinkConfig) Paths() []string { return []string{"table " + c.Table} }

// Carries implements connectors.SinkConfig: every value is decoded.
func (c *SinkConfig) Carries(connectors.Source) bool { return false }

// statement is a query as it can stand within another one.
func statement(query string) string { return strings.TrimRight(strings.TrimSpace(query), "; \t\r\n") }
