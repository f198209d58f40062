package postgres

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// conn is a connection to a server.
type conn struct{ *pgconn.PgConn }

// lockWait is how long a session waits for a table that others have locked. A source has several sessions, so that a
// server does not see that one waits for what another one holds: who wants to change a table that is read waits for the
// snapshot, every later pass waits behind him, and the snapshot is kept for the passes.
var lockWait = "5min"

// settings are those of a session beside lockWait, whatever server, database and role have: a run takes
// as long as it takes, and what it holds must not be taken from it.
const settings = `SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET extra_float_digits = 1; SET DateStyle = 'ISO'; SET IntervalStyle = 'iso_8601'; SET TimeZone = 'UTC'; SET bytea_output = 'hex'`

// connect opens a connection and settles the session.
func (c *Connection) connect(ctx context.Context) (*conn, error) {
	const what = "connecting to PostgreSQL"
	config, err := c.parse()
	if err != nil {
		return nil, err
	}
	pg, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, explain(ctx, err, what)
	}
	db := &conn{pg}
	if err := db.do(ctx, settings+"; SET lock_timeout = "+literal(lockWait)); err != nil {
		db.close()
		return nil, explain(ctx, err, what)
	}
	return db, nil
}

// parse is the connection's configuration: the URL, what the environment says as it does to
// every client of libpq, and the password.
func (c *Connection) parse() (*pgconn.Config, error) {
	config, err := pgconn.ParseConfig(c.address())
	if err != nil {
		// The driver's words repeat the address.
		why := "its settings, or those of the environment (PGHOST, PGSERVICE and their like), are not valid"
		var file *fs.PathError
		if errors.As(err, &file) {
			why = file.Error()
		}
		return nil, &Error{What: "url", Why: why}
	}
	if c.Password.Given() {
		if config.Password, err = c.Password.Read(); err != nil {
			return nil, err
		}
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = strings.TrimSuffix("sdlfilter "+c.application, " ")
	}
	// Notices quote values as errors do.
	config.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {}
	return config, nil
}

// address is the URL, with encryption demanded of a server that is not on this machine:
// what libpq does by default falls back to sending the records as they are.
func (c *Connection) address() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return c.URL
	}
	q := u.Query()
	if q.Has("sslmode") || q.Has("service") || os.Getenv("PGSSLMODE") != "" || local(u.Hostname()) &&
		local(q.Get("host")) {
		return c.URL
	}
	q.Set("sslmode", "require")
	u.RawQuery = q.Encode()
	return u.String()
}

// local reports whether a host is this machine; none is, where the environment names none.
func local(host string) bool {
	if host == "" {
		host = os.Getenv("PGHOST")
	}
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || strings.HasPrefix(host, "/") || ip != nil && ip.IsLoopback()
}

// do runs statements that give no rows.
func (db *conn) do(ctx context.Context, sql string) error {
	return db.Exec(ctx, sql).Close()
}

// rows runs a query and returns its rows as text, "" for null. Parameters are sent apart
// from the statement.
func (db *conn) rows(ctx context.Context, sql string, parameters ...string) ([][]string, error) {
	sent := make([][]byte, len(parameters))
	for i := range parameters {
		sent[i] = []byte(parameters[i])
	}
	result := db.ExecParams(ctx, sql, sent, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	out := make([][]string, len(result.Rows))
	for i, row := range result.Rows {
		out[i] = make([]string, len(row))
		for j, value := range row {
			out[i][j] = string(value)
		}
	}
	return out, nil
}

// row is rows for a query that gives one.
func (db *conn) row(ctx context.Context, sql string, parameters ...string) ([]string, error) {
	all, err := db.rows(ctx, sql, parameters...)
	if err == nil && len(all) != 1 {
		err = &Error{What: "the server's catalogue", Why: "gives no answer"}
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// closeTimeout bounds how long a server is told that a connection ends.
const closeTimeout = 10 * time.Second

// close ends the connection, and whatever transaction is open in it without a trace.
func (db *conn) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	// The server rolls back what is open whether it is told of the end or finds it.
	_ = db.Close(ctx)
	select {
	case <-db.CleanupDone():
	case <-ctx.Done():
	}
}

// server identifies the database that a connection is to: when its server was started, and
// the database's number.
func (db *conn) server(ctx context.Context) (string, error) {
	row,
		err := db.row(ctx,
		`SELECT extract(epoch FROM pg_postmaster_start_time())::text || ' ' || (SELECT oid FROM pg_database WHERE datname = current_database())::text`)
	if err != nil {
		return "", err
	}
	return row[0], nil
}
