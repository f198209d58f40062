package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// transaction is what one release is written in, or several that appear together (connectors.Together): a connection of
// its own, on which one COPY follows the other. Its commit gives all tables their names; whatever ends the connection
// before leaves none.
type transaction struct {
	connection *Connection
	names      []table             // of the releases to be, if there are several
	sources    []connectors.Source // whose tables no release takes the place of
	targets    []table             // the names of the releases so far, with their schemas

	db      *conn           // nil: not begun
	ctx     context.Context // that of its begin, without its end
	unknown error           // that of a COMMIT whose outcome is not known
}

// together is of connectors.SinkConfigAbilities.
func together(sinks []connectors.SinkConfig, sources []connectors.Source) (connectors.Together, error) {
	t := &transaction{sources: sources}
	for _, sink := range sinks {
		c := sink.(*SinkConfig)
		if t.connection == nil {
			t.connection = &c.Connection
		}
		a, b := t.connection, &c.Connection
		if a.URL != b.URL || a.Password.Env != b.Password.Env || a.Password.File != b.Password.File {
			return nil, errors.New(
				"must have the url and the password of the other tables, which are published with it in one transaction")
		}
		name, err := parseTable(c.Table)
		if err != nil {
			return nil, err
		}
		if slices.Contains(t.names, name) {
			return nil, errors.New("must name another table than the others do")
		}
		t.names = append(t.names, name)
	}
	return t, nil
}

// Ready implements connectors.Together.
func (t *transaction) Ready(ctx context.Context) error {
	for _, name := range t.names {
		if err := t.begin(ctx, name.String()); err != nil {
			return err
		}
		s := &sink{transaction: t, target: name}
		if err := s.locate(ctx); err != nil {
			return explain(ctx, err, name.String())
		}
	}
	t.targets = nil
	return nil
}

// Sink implements connectors.Together.
func (t *transaction) Sink(one connectors.SinkConfig) (connectors.SinkConfig, error) {
	c := *one.(*SinkConfig)
	c.within = t
	return &c, nil
}

// begin connects and begins the transaction, once; what is what for.
func (t *transaction) begin(ctx context.Context, what string) (err error) {
	if t.db != nil {
		return nil
	}
	if t.db, err = t.connection.connect(ctx); err != nil {
		return err
	}
	t.ctx = context.WithoutCancel(ctx)
	if err = t.db.do(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"); err != nil {
		t.db.close()
	}
	return explain(ctx, err, what)
}

// claim demands that a table is that of no other release of the transaction: public.a and a can be one.
func (t *transaction) claim(target table) error {
	if slices.Contains(t.targets, target) {
		return &Error{What: target.String(), Why: "two releases would have this name; name another table"}
	}
	t.targets = append(t.targets, target)
	return nil
}

// what names the releases in messages.
func (t *transaction) what() string {
	var names []string
	for _, target := range t.targets {
		names = append(names, target.String())
	}
	return strings.Join(names, ", ")
}

// reads reports whether a source reads a relation of the transaction's database.
func (t *transaction) reads(ctx context.Context, relation string) (bool, error) {
	server, err := t.db.server(ctx)
	return err == nil && slices.ContainsFunc(t.sources, func(from connectors.Source) bool {
		return from != nil && from.Abilities().Snapshot != nil && from.Abilities().Snapshot.Reads(server, relation)
	}), err
}

// commitTimeout bounds what Commit takes in all.
const commitTimeout = 10 * time.Minute

// Commit implements connectors.Together. Where the connection is lost at the very end, the server is asked by a new one
// what became of the transaction; a *CommitError says that this is not known.
func (t *transaction) Commit() error {
	ctx, cancel := context.WithTimeout(t.ctx, commitTimeout)
	defer cancel()
	number, err := t.db.row(ctx, "SELECT txid_current()::text")
	if err != nil {
		return explain(ctx, err, t.what()+": nothing is released")
	}
	if err := t.db.commit(ctx); err != nil {
		committed, known := t.outcome(number[0])
		switch {
		case !known:
			t.unknown = &CommitError{
				&Error{
					What: t.what(),
					Why:  "the connection was lost while the release was committed, and the server could not be asked what became of it: the table shows"}}
			return t.unknown
		case !committed:
			return explain(ctx, err, t.what()+": nothing is released")
		}
	}
	t.db.close()
	return nil
}

// Abort implements connectors.Together: the server rolls back. A *CommitError: what became of a commit is not known.
func (t *transaction) Abort() error {
	if t.db != nil {
		t.db.close()
	}
	return t.unknown
}

// CommitError is the error of a release of which it is not known whether it is committed.
type CommitError struct{ Err *Error }

func (e *CommitError) Error() string { return e.Err.Error() }

// There reports that it is not known whether the release has its name.
func (e *CommitError) There() bool { return false }

// commit ends the transaction. To that of one that has failed before the server answers ROLLBACK, without an error.
func (db *conn) commit(ctx context.Context) error {
	results, err := db.Exec(ctx, "COMMIT").ReadAll()
	if err == nil && (len(results) != 1 || results[0].CommandTag.String() != "COMMIT") {
		err = &Error{What: "COMMIT", Why: "the server rolled the transaction back"}
	}
	return err
}

// outcomeTime bounds how long Commit tries to learn what became of a transaction.
const outcomeTime = 5 * time.Second

// outcome asks the server, by a new connection, whether a transaction is committed.
func (t *transaction) outcome(number string) (committed, known bool) {
	t.db.close()
	ctx, cancel := context.WithTimeout(t.ctx, outcomeTime)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		switch t.asked(ctx, number) {
		case "committed":
			return true, true
		case "aborted":
			return false, true
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false, false
		}
	}
}

// asked is what the server says of a transaction: committed, aborted, or in progress; "": nothing.
func (t *transaction) asked(ctx context.Context, number string) string {
	db, err := t.connection.connect(ctx)
	if err != nil {
		return ""
	}
	defer db.close()
	row, err := db.row(ctx, "SELECT txid_status($1::bigint)", number)
	if err != nil {
		return ""
	}
	return row[0]
}
