// Package place is where a ledger lies, as a configuration or a command line names it: a file of this machine, an
// object (s3://BUCKET/KEY), or a table of PostgreSQL (postgres://USER@HOST:PORT/DATABASE?table=SCHEMA.TABLE). It opens
// nothing.
package place

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Store keeps the lines of a ledger, each with its end. One goroutine may use it.
type Store interface {
	// String names the place in errors and logs, with nothing of it that may be secret.
	String() string
	// Hold makes the place if it is not there, demands that lines can be added, and waits until no other run holds it.
	// It calls waiting, if it is not nil, before it waits for the first time.
	Hold(ctx context.Context, waiting func()) error
	// Read returns all lines. Without a ledger the error is fs.ErrNotExist.
	Read(ctx context.Context) (text []byte, err error)
	// Add adds a line to those that Read has returned and Add has added. It is durable when Add returns without an
	// error. The error is ErrMoved, and nothing is added, if others are there; after any other error it may be added.
	Add(ctx context.Context, line []byte) error
	// Probe demands that Hold would succeed and Add could, and leaves nothing behind.
	Probe(ctx context.Context) error
	Close() error
}

// ErrMoved is the error of a line that does not follow what is there.
var ErrMoved = errors.New("another run has changed it since this one has read it: nothing is entered; run again")

// ErrAbsent is the fs.ErrNotExist of a place that is no file.
var ErrAbsent error = absent{}

type absent struct{}

func (absent) Error() string        { return "no ledger is there" }
func (absent) Is(target error) bool { return target == fs.ErrNotExist }

// Table is a table of PostgreSQL.
type Table struct {
	URL          string // of the database, as connectors/postgres takes it
	Schema, Name string
	at           string // without user and parameters
}

func (t *Table) String() string { return t.at }

// OpenTable makes the store of a table, without connecting. connectors/postgres sets it: programs that read no
// databases do not link it.
var OpenTable func(Table) Store

// IsTable reports whether a ledger is a table of PostgreSQL.
func IsTable(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

const form = "must be of the form postgres://USER@HOST:PORT/DATABASE?table=SCHEMA.TABLE"

var (
	errForm = errors.New(form)
	table   = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,62})\.([A-Za-z_][A-Za-z0-9_]{0,62})$`)
)

// ParseTable takes the address of a table apart. What decides where the table lies must stand in it, and not in the
// environment or in a role's settings, by which somebody could have a run use another ledger, or none. Errors hold
// nothing of the address, since it may have a password in it.
func ParseTable(text string) (*Table, error) {
	u, err := url.Parse(text)
	if err != nil || !IsTable(text) {
		return nil, errForm
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errForm
	}
	_, secret := u.User.Password()
	host, database := u.Hostname(), strings.TrimPrefix(u.Path, "/")
	if host == "" {
		host = q.Get("host") // a folder with a socket
	}
	name := table.FindStringSubmatch(q.Get("table"))
	switch {
	case secret || q.Has("password") || q.Has("sslpassword"):
		return nil, errors.New("must not hold a password, which is kept where libpq looks for it (PGPASSWORD, the passfile)")
	case host == "" || database == "" || strings.Contains(database, "/") || u.Fragment != "":
		return nil, errForm
	case len(q["table"]) != 1 || name == nil:
		return nil, errors.New(
			form + ", with the schema, and names of at most 63 letters, digits and underscores as in the catalogue")
	case strings.Contains(u.Host+strings.Join(q["host"], ","), ",") || u.Hostname() != "" && q.Has("host") ||
		strings.Contains(q.Get("port"), ","):
		return nil, errors.New("must name one server: the ledgers of two would be two")
	}
	for _, other := range []string{"service", "servicefile", "dbname", "database", "hostaddr", "options", "search_path"} {
		if q.Has(other) {
			return nil, errors.New("must not have the parameter " + other + ": server and database stand in the address itself")
		}
	}
	port := u.Port()
	if q.Has("port") {
		port = q.Get("port")
	}
	if port == "" {
		port = "5432" // whatever PGPORT says
	}
	q.Set("port", port)
	q.Del("table")
	u.RawQuery = q.Encode()
	return &Table{URL: u.String(), Schema: name[1], Name: name[2],
		at: "postgres://" + net.JoinHostPort(host, port) + "/" + database + "?table=" + name[0]}, nil
}

// Clean is the place as messages name it.
func Clean(text string) string {
	if t, err := ParseTable(text); err == nil {
		return t.String()
	}
	return objectpath.Clean(text)
}

// Problem is what is wrong with the place as a configuration gives it; "" where nothing is.
func Problem(text string) string {
	if IsTable(text) {
		if _, err := ParseTable(text); err != nil {
			return err.Error()
		}
		return ""
	}
	if wrong := objectpath.Problem(text); wrong != "" {
		return wrong
	}
	if objectpath.Is(text) && strings.HasSuffix(text, "/") {
		return "must name an object, and no folder"
	}
	return ""
}
