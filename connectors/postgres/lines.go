package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sdlfilter/sdlfilter/internal/ledger/place"
)

func init() {
	place.OpenTable = func(t place.Table) place.Store { return &lines{at: Connection{URL: t.URL}, table: t} }
}

// lineColumn is the column of a ledger's lines. A release takes no table's place that has a column of this name.
const lineColumn = "ledger_line"

// lines is a ledger in a table: a row for each line, with its number from 1. A row is added on the condition that the
// one before it is the last and known, by a statement of its own, and the unique index on numbers lets one of two
// succeed. The session that holds the ledger has a lock that all runs ask for, so that they wait for one another;
// nothing else depends on it, as a session can be lost.
type lines struct {
	at    Connection
	table place.Table
	held  *conn  // nil: it is not held
	count int64  // of the lines that were read and added
	last  []byte // of them, without its end
}

func (l *lines) String() string { return l.table.String() }

func (l *lines) name() string { return quote(l.table.Schema) + "." + quote(l.table.Name) }

// lockEvery is how long a run waits before it asks again whether another one has let go of the ledger.
const lockEvery = 250 * time.Millisecond

// durable has a commit wait for the disk, whatever defaults server and role have, and a server end the session of a
// machine that is gone, and with it the lock.
const durable = `SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off';
SELECT set_config(name, '0', false) FROM pg_settings
WHERE name IN ('idle_session_timeout', 'transaction_timeout');
SET default_transaction_read_only = off; SET default_transaction_isolation = 'read committed';
SET tcp_keepalives_idle = 60; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 6`

func (l *lines) connect(ctx context.Context) (*conn, error) {
	db, err := l.at.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := db.do(ctx, durable); err != nil {
		db.close()
		return nil, explain(ctx, err, "connecting to PostgreSQL")
	}
	return db, nil
}

// failed explains an error, and names the table.
func (l *lines) failed(ctx context.Context, err error) error {
	var ours *Error
	switch {
	case err == nil:
		return nil
	case is(err, "42P01"):
		return fmt.Errorf("%s: %w", l, place.ErrAbsent)
	case errors.Is(err, place.ErrMoved), errors.As(err, &ours) && ctx.Err() == nil:
		return fmt.Errorf("%s: %w", l, err)
	}
	return explain(ctx, err, l.String())
}

// is reports whether an error is one of the server's.
func is(err error, states ...string) bool {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		for _, state := range states {
			if server.Code == state {
				return true
			}
		}
	}
	return false
}

// Hold implements place.Store.
func (l *lines) Hold(ctx context.Context, waiting func()) error {
	db, err := l.connect(ctx)
	if err != nil {
		return l.failed(ctx, err)
	}
	if err = l.lock(ctx, db, waiting); err == nil {
		err = l.within(ctx, db, l.prepare, "COMMIT")
	}
	if err == nil {
		err = l.within(ctx, db, l.mayAdd, "ROLLBACK")
	}
	if err != nil {
		db.close()
		return l.failed(ctx, err)
	}
	l.held = db
	return nil
}

// lock waits until no other session has the ledger.
func (l *lines) lock(ctx context.Context, db *conn, waiting func()) error {
	sum := sha256.Sum256([]byte("sdlfilter ledger " + l.name()))
	key := strconv.FormatInt(int64(binary.BigEndian.Uint64(sum[:])), 10)
	for told := false; ; told = true {
		row, err := db.row(ctx, "SELECT pg_try_advisory_lock($1::bigint)::text", key)
		if err != nil || row[0] == "true" {
			return err
		}
		if !told && waiting != nil {
			waiting()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockEvery):
		}
	}
}

// within does something in a transaction with an end.
func (l *lines) within(ctx context.Context, db *conn, do func(context.Context, *conn) error, end string) error {
	if err := db.do(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"); err != nil {
		return err
	}
	if err := do(ctx, db); err != nil {
		return err // with the connection, the transaction ends
	}
	if end == "COMMIT" {
		return db.commit(ctx)
	}
	return db.do(ctx, end)
}

// prepare makes the table if it is not there, and demands that it is one that keeps what is added, lets one of two
// writers succeed, and is not everybody's to read.
func (l *lines) prepare(ctx context.Context, db *conn) error {
	const about = `SELECT c.relkind::text, c.relpersistence::text, row_security_active(c.oid)::text,
  (EXISTS (SELECT FROM aclexplode(c.relacl) a WHERE a.grantee = 0) OR EXISTS (SELECT FROM pg_attribute a, aclexplode(a.attacl) g
    WHERE a.attrelid = c.oid AND g.grantee = 0))::text,
  (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    AND (a.attname = 'number' AND a.atttypid = 'bigint'::regtype OR a.attname = '` + lineColumn + `' AND a.atttypid = 'bytea'::regtype))::text,
  (EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] WHERE i.indrelid = c.oid
    AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indnkeyatts = 1 AND a.attname = 'number'))::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`
	found, err := db.rows(ctx, about, l.table.Schema, l.table.Name)
	if err == nil && len(found) == 0 {
		if err = db.do(ctx,
			"CREATE TABLE "+l.name()+" (number bigint PRIMARY KEY, "+lineColumn+" bytea NOT NULL)"); err == nil {
			found, err = db.rows(ctx, about, l.table.Schema, l.table.Name)
		}
	}
	if err != nil {
		return err
	}
	why := "is not there"
	if len(found) == 1 {
		why = wrongTable(found[0])
	}
	if why != "" {
		return &Error{What: "the table", Why: why}
	}
	return nil
}

// wrongTable says why a table is none for a ledger; "": it is one.
func wrongTable(about []string) string {
	switch {
	case about[0] != "r":
		return "is no table of its own (a view, or a partitioned or foreign table)"
	case about[1] != "p":
		return "is temporary or not logged: what a release is entered into must outlast a crash"
	case about[2] == "true":
		return "shows this user some rows only (row security)"
	case about[3] == "true":
		return "can be read or changed by everybody: a ledger is confidential (REVOKE ALL … FROM PUBLIC)"
	case about[4] != "2":
		return "must have the columns number bigint and " + lineColumn + " bytea"
	case about[5] != "true":
		return "must have a unique index on number, which lets one of two runs enter its release"
	}
	return ""
}

// mayAdd adds a row that no line has, in a transaction that is rolled back.
func (l *lines) mayAdd(ctx context.Context, db *conn) error {
	return db.do(ctx, "INSERT INTO "+l.name()+" (number, "+lineColumn+
		") SELECT least(0, min(number)) - 1 - floor(random() * 1e15)::bigint, ''::bytea FROM ONLY "+l.name())
}

// Read implements place.Store.
func (l *lines) Read(ctx context.Context) ([]byte, error) {
	db, err := l.connect(ctx)
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	defer db.close()
	rows, err := db.rows(ctx, "SELECT number::text, "+lineColumn+" FROM ONLY "+l.name()+" ORDER BY number")
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	l.count, l.last = int64(len(rows)), nil
	var text []byte
	for i, row := range rows {
		l.last, err = hex.DecodeString(strings.TrimPrefix(row[1], `\x`))
		if err != nil || row[0] != strconv.Itoa(i+1) || strings.Contains(string(l.last), "\n") {
			text = append(text, '\n') // no line: the chain is broken here
		}
		text = append(append(text, l.last...), '\n')
	}
	return text, nil
}

// Add implements place.Store. Where the connection is lost, a new one shows whether the line is there.
func (l *lines) Add(ctx context.Context, line []byte) error {
	line = line[:len(line)-1]
	number, text := strconv.FormatInt(l.count+1, 10), `\x`+hex.EncodeToString(line)
	added, err := l.ask(ctx, "INSERT INTO "+l.name()+" (number, "+lineColumn+`)
SELECT $1::bigint, $2::bytea WHERE $1::bigint = 1 OR $3::bytea = (SELECT `+lineColumn+" FROM ONLY "+l.name()+
		" WHERE number = $1::bigint - 1) RETURNING true::text",
		number, text, `\x`+hex.EncodeToString(l.last))
	switch {
	case err == nil && !added, is(err, "23505", "40001", "42P01"): // a row of that number, or none of the one before
		err = place.ErrMoved
	case err != nil: // the row may be there all the same
		there, unknown := l.ask(ctx, "SELECT ("+lineColumn+" = $2::bytea)::text FROM ONLY "+l.name()+
			" WHERE number = $1::bigint", number, text)
		if unknown == nil && there {
			err = nil
		}
	}
	if err != nil {
		return l.failed(ctx, err)
	}
	l.count, l.last = l.count+1, line
	return nil
}

// ask runs one statement in a connection of its own, since one that was idle for hours may be gone, and reports whether
// its answer is a row with "true".
func (l *lines) ask(ctx context.Context, sql string, parameters ...string) (bool, error) {
	db, err := l.connect(ctx)
	if err != nil {
		return false, err
	}
	defer db.close()
	rows, err := db.rows(ctx, sql, parameters...)
	return err == nil && len(rows) == 1 && rows[0][0] == "true", err
}

// Probe implements place.Store.
func (l *lines) Probe(ctx context.Context) error {
	db, err := l.connect(ctx)
	if err != nil {
		return l.failed(ctx, err)
	}
	defer db.close()
	return l.failed(ctx, l.within(ctx, db, func(ctx context.Context, db *conn) error {
		if err := l.prepare(ctx, db); err != nil {
			return err
		}
		return l.mayAdd(ctx, db)
	}, "ROLLBACK"))
}

// Close implements place.Store.
func (l *lines) Close() error {
	if l.held != nil {
		l.held.close()
		l.held = nil
	}
	return nil
}
