package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// sink writes a release within a transaction: a new table, a COPY into it and, at the commit, its
// name. Until then no other connection sees any of it, and if the connection ends, nothing remains.
type sink struct {
	*transaction
	shared  bool // the transaction is that of other sinks, too
	label   string
	target  table // with its schema
	staging string
	columns []microdata.Output
	forms   []microdata.Form

	cancel context.CancelCauseFunc // of the COPY, which begins with the first rows
	pipe   *io.PipeWriter
	copied chan struct{} // closed when the COPY has ended, with err
	err    error
	done   bool
}

// errAborted ends a COPY whose release is not to be: the server's log shows it.
var errAborted = errors.New("the release is given up")

// Create implements connectors.SinkConfig.
func (c *SinkConfig) Create(ctx context.Context, plan connectors.Plan) (_ connectors.Sink, err error) {
	target, err := parseTable(c.Table)
	if err != nil {
		return nil, err
	}
	s := &sink{transaction: c.within, shared: c.within != nil, target: target, columns: plan.Layout.Release}
	if !s.shared {
		s.transaction = &transaction{connection: &c.Connection, sources: []connectors.Source{plan.Source}}
	}
	definition, err := s.define(plan.Layout)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", target, err)
	}
	if err := s.begin(ctx, target.String()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.db.close()
		}
	}()
	if err := s.locate(ctx); err != nil {
		return nil, explain(ctx, err, target.String())
	}
	var random [8]byte
	rand.Read(random[:]) // never fails
	s.staging = quote(s.target.schema) + "." + quote("sdlfilter_"+hex.EncodeToString(random[:]))
	if err := s.db.do(ctx, "CREATE TABLE "+s.staging+" ("+definition+")"); err != nil {
		return nil, explain(ctx, err, s.label)
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

// locate finds what stands under the release's name: nothing, or a table that may be dropped and that no source reads.
func (s *sink) locate(ctx context.Context) error {
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
	if err := s.claim(s.target); err != nil {
		return err
	}
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
	reads, err := s.reads(ctx, earlier.number)
	if err == nil && reads {
		err = &Error{What: s.label, Why: "the release would take the place of its own source; name another table"}
	}
	return err
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

// start begins the COPY, which takes what send gives until Finish.
func (s *sink) start() {
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
}

// send gives bytes to the COPY.
func (s *sink) send(ctx context.Context, p []byte) error {
	if s.pipe == nil {
		s.start()
		p = slices.Concat(signature, make([]byte, 8), p)
	}
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

// Commit implements connectors.Sink: the table gets its name and the rights of the one before it, and the transaction
// is committed, unless it is that of other sinks, too.
func (s *sink) Commit() error {
	if s.done {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, commitTimeout)
	defer cancel()
	if err := s.rename(ctx); err != nil {
		return explain(ctx, err, s.label+": nothing is released")
	}
	if !s.shared {
		if err := s.transaction.Commit(); err != nil {
			return err
		}
	}
	s.done = true
	return nil
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

// Abort implements connectors.Sink: the server rolls back. A *CommitError: what became of a commit is not known. Of
// several sinks of a transaction the table of this one is dropped; where that fails, the transaction has failed.
func (s *sink) Abort() error {
	if s.done {
		return nil
	}
	s.done = true
	if s.copied != nil {
		s.giveUp(errAborted)
		<-s.copied
	}
	if !s.shared {
		return s.transaction.Abort()
	}
	ctx, cancel := context.WithTimeout(s.ctx, closeTimeout)
	defer cancel()
	s.targets = slices.DeleteFunc(s.targets, func(t table) bool { return t == s.target })
	_ = s.db.do(ctx, "DROP TABLE "+s.staging) // a transaction in which a statement or a COPY has failed commits nothing
	return nil
}
