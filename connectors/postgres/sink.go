package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// sink writes a release within one transaction: a new table, a COPY into it and, at the commit, its
// name. Until then no other connection sees any of it, and if the connection ends, nothing remains.
type sink struct {
	label   string
	target  table // with its schema
	staging string
	columns []microdata.Output
	forms   []microdata.Form
	db      *conn
	ctx     context.Context // of Create, without its end

	cancel context.CancelCauseFunc // of the COPY
	pipe   *io.PipeWriter
	copied chan struct{} // closed when the COPY has ended, with err
	err    error
	done   bool

	config  *SinkConfig
	unknown error // that of a COMMIT whose outcome is not known
}

// commitTimeout bounds what Commit takes in all.
const commitTimeout = 10 * time.Minute

// errAborted ends a COPY whose release is not to be: the server's log shows it.
var errAborted = errors.New("the release is given up")

// Create implements connectors.SinkConfig.
func (c *SinkConfig) Create(ctx context.Context, plan connectors.Plan) (_ connectors.Sink, err error) {
	target, err := parseTable(c.Table)
	if err != nil {
		return nil, err
	}
	s := &sink{config: c, target: target, columns: plan.Layout.Release, ctx: context.WithoutCancel(ctx)}
	definition, err := s.define(plan.Layout)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", target, err)
	}
	if s.db, err = c.connect(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.db.close()
		}
	}()
	if err := s.locate(ctx, plan.Source); err != nil {
		return nil, explain(ctx, err, target.String())
	}
	var random [8]byte
	rand.Read(random[:]) // never fails
	s.staging = quote(s.target.schema) + "." + quote("sdlfilter_"+hex.EncodeToString(random[:]))
	if err := s.db.do(ctx, "CREATE TABLE "+s.staging+" ("+definition+")"); err != nil {
		return nil, explain(ctx, err, s.label)
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
}

// define is the table's columns. None is declared to be without nulls: a mask may take
// values away.
func (s *sink) define(layout *microdata.Layout) (string, error) {
	var columns []string
	for _, o := range layout.Release {
		if len(o.Field.Name) > maxName || o.Field.Name == "" || strings.ContainsRune(o.Field.Name, 0) {
			return "", fmt.Errorf("a column's name must have 1 to %d bytes and no NUL, got %q", maxName, o.Field.Name)
		}
		t, err := sqlType(o.Field.Type)
		if err != nil {
			return "", fmt.Errorf("column %s %w; withhold it (role: identifier)", o.Field.Name, err)
		}
		columns = append(columns, quote(o.Field.Name)+" "+t)
		s.forms = append(s.forms, layout.Read[o.Column].As)
	}
	return strings.Join(columns, ", "), nil
}

// locate begins the transaction and finds what stands under the release's name: nothing,
// or a table that may be dropped and that the source does not read.
func (s *sink) locate(ctx context.Context, from connectors.Source) error {
	if err := s.db.do(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"); err != nil {
		return err
	}
	if s.target.schema == "" {
		row, err := s.db.row(ctx, "SELECT coalesce(current_schema()::text, '')")
		if err != nil {
			return err
		}
		if s.target.schema = row[0]; row[0] == "" {
			return &Error{What: s.target.String(), Why: "names no schema, and the user's search path has none that is there"}
		}
	}
	s.label = s.target.String()
	earlier, err := s.earlier(ctx)
	if err != nil || earlier == nil {
		return err
	}
	switch {
	case earlier.kind != "r" || earlier.partition:
		return &Error{
			What: s.label,
			Why:  "is there and is no table of its own (a view, a partition, a partitioned or foreign table): a release takes the place of tables alone"}
	case earlier.ledger:
		return &Error{What: s.label, Why: "is a ledger of releases (" + lineColumn + "), which no release takes the place of"}
	case !earlier.mine:
		return &Error{What: s.label, Why: "belongs to another user, so that a release cannot take its place"}
	case earlier.dependents:
		return &Error{What: s.label, Why: "cannot be replaced: other objects (views, foreign keys, sequences) depend on it"}
	}
	if src, is := from.(*Source); is {
		server, err := s.db.server(ctx)
		if err != nil {
			return err
		}
		reads, err := src.reads(ctx, server, earlier.number)
		if err != nil {
			return err
		}
		if reads {
			return &Error{What: s.label, Why: "the release would take the place of its own source; name another table"}
		}
	}
	return nil
}

// standing is the relation under the release's name.
type standing struct {
	number, kind                        string
	partition, mine, dependents, ledger bool
}

// earlier finds what stands under the release's name, nil where nothing does.
func (s *sink) earlier(ctx context.Context) (*standing, error) {
	found,
		err := s.db.rows(ctx,
		`SELECT c.oid::text, c.relkind::text, c.relispartition::text, pg_has_role(c.relowner, 'USAGE')::text,
  (EXISTS (SELECT FROM pg_depend d WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.deptype = 'n'))::text,
  (EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = $3 AND NOT a.attisdropped))::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`, s.target.schema, s.target.name, lineColumn)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	f := found[0]
	return &standing{number: f[0], kind: f[1], partition: f[2] == "true", mine: f[3] == "true",
		dependents: f[4] == "true", ledger: f[5] == "true"}, nil
}

// start begins the COPY, which takes what Write gives until Finish.
func (s *sink) start() error {
	var ctx context.Context
	ctx, s.cancel = context.WithCancelCause(s.ctx)
	from, to := io.Pipe()
	s.pipe, s.copied = to, make(chan struct{})
	go func() {
		defer close(s.copied)
		defer bug.Guard()
		_, err := s.db.CopyFrom(ctx, from, "COPY "+s.staging+" FROM STDIN (FORMAT binary)")
		s.err = explain(ctx, err, s.label)
		if err == nil {
			err = io.ErrClosedPipe
		}
		from.CloseWithError(err)
	}()
	return s.send(s.ctx, append(append([]byte(nil), signature...), 0, 0, 0, 0, 0, 0, 0, 0))
}

// send gives bytes to the COPY.
func (s *sink) send(ctx context.Context, p []byte) error {
	stop := context.AfterFunc(ctx, func() { s.giveUp(context.Cause(ctx)) })
	defer stop()
	if _, err := s.pipe.Write(p); err != nil {
		return s.failure(ctx)
	}
	return nil
}

// giveUp ends the COPY before its end.
func (s *sink) giveUp(cause error) {
	s.cancel(cause)
	s.pipe.CloseWithError(errAborted)
}

// failure is why the COPY took no more.
func (s *sink) failure(ctx context.Context) error {
	<-s.copied
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.err != nil {
		return s.err
	}
	return &Error{What: s.label, Why: "the release was ended before it was whole"}
}

// Encode implements connectors.Sink: the rows as COPY takes them.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	arrays := make([]interface{ IsNull(int) bool }, len(s.columns))
	writers := make([]encoder, len(s.columns))
	for i, o := range s.columns {
		a, err := released(b, o, s.forms[i])
		if err != nil {
			return nil, fmt.Errorf("%s, column %s %w", s.label, o.Field.Name, err)
		}
		arrays[i], writers[i] = a, encoderOf(a)
	}
	var out []byte
	for row := range b.N {
		if b.Rejected(row) {
			continue
		}
		out = binary.BigEndian.AppendUint16(out, uint16(len(s.columns)))
		for i, write := range writers {
			if arrays[i].IsNull(row) {
				out = binary.BigEndian.AppendUint32(out, null)
				continue
			}
			var err error
			if out, err = write(out, row); err != nil {
				return nil, &connectors.RecordError{Stream: s.label, Record: b.Place(row) + 1, Column: s.columns[i].Field.Name,
					Reason: err.Error()}
			}
		}
	}
	return out, nil
}

// Write implements connectors.Sink.
func (s *sink) Write(ctx context.Context, e connectors.Encoded) error {
	rows := e.([]byte)
	if len(rows) == 0 {
		return nil
	}
	return s.send(ctx, rows)
}

// Finish implements connectors.Sink: the server has all rows and has taken them.
func (s *sink) Finish(ctx context.Context) error {
	if err := s.send(ctx, []byte{0xff, 0xff}); err != nil { // no more rows
		return err
	}
	if err := s.pipe.Close(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { s.giveUp(context.Cause(ctx)) })
	defer stop()
	<-s.copied
	if s.err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.err
}

// Abilities implements connectors.Sink: none.
func (s *sink) Abilities() (none connectors.SinkAbilities) { return none }

// Commit implements connectors.Sink: the table gets its name, the rights of the one before
// it, and the transaction is committed. Where the connection is lost at the very end, the server
// is asked by a new one what became of the transaction; a *CommitError says that this is not known.
func (s *sink) Commit() error {
	if s.done {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, commitTimeout)
	defer cancel()
	number, err := s.db.row(ctx, "SELECT txid_current()::text")
	if err == nil {
		err = s.rename(ctx)
	}
	if err != nil {
		return explain(ctx, err, s.label+": nothing is released")
	}
	if err := s.db.commit(ctx); err != nil {
		committed, known := s.outcome(number[0])
		switch {
		case !known:
			s.unknown = &CommitError{
				&Error{
					What: s.label,
					Why:  "the connection was lost while the release was committed, and the server could not be asked what became of it: the table shows"}}
			return s.unknown
		case !committed:
			return explain(ctx, err, s.label+": nothing is released")
		}
	}
	s.done = true
	s.db.close()
	return nil
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
func (s *sink) outcome(number string) (committed, known bool) {
	s.db.close()
	ctx, cancel := context.WithTimeout(s.ctx, outcomeTime)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		switch s.asked(ctx, number) {
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
func (s *sink) asked(ctx context.Context, number string) string {
	db, err := s.config.connect(ctx)
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

// rename gives the new table the name. The earlier one is looked for again: another run
// may have released meanwhile.
func (s *sink) rename(ctx context.Context) error {
	earlier, err := s.earlier(ctx)
	if err != nil {
		return err
	}
	var steps []string
	if earlier != nil {
		grants, err := s.grants(ctx, earlier.number)
		if err != nil {
			return err
		}
		steps = append(grants, "DROP TABLE "+s.target.quoted())
	}
	steps = append(steps, "ALTER TABLE "+s.staging+" RENAME TO "+quote(s.target.name))
	for _, step := range steps {
		if err := s.db.do(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// grants gives the new table the rights that others have on the earlier one, so that who
// read last night's release reads this one.
func (s *sink) grants(ctx context.Context, earlier string) ([]string, error) {
	rights,
		err := s.db.rows(ctx,
		`SELECT r.privilege_type, CASE r.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(r.grantee)) END, r.is_grantable::text
FROM pg_class c, aclexplode(c.relacl) r WHERE c.oid = $1::oid AND r.grantee <> c.relowner ORDER BY 1, 2`, earlier)
	if err != nil {
		return nil, err
	}
	var steps []string
	for _, r := range rights {
		step := "GRANT " + r[0] + " ON " + s.staging + " TO " + r[1]
		if r[2] == "true" {
			step += " WITH GRANT OPTION"
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// Abort implements connectors.Sink: the server rolls back. A *CommitError: what became of a commit is not known.
func (s *sink) Abort() error {
	if s.done {
		return nil
	}
	s.done = true
	s.giveUp(errAborted)
	<-s.copied
	s.db.close()
	return s.unknown
}
