package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Source is one snapshot of what a table or a query gives. A connection of its own keeps
// the snapshot and the locks under which no table is emptied or changed in its columns;
// every pass has one beside it.
type Source struct {
	config    *SourceConfig
	label     string
	from      string // what stands behind FROM
	keeper    *conn
	using     sync.Mutex // of keeper
	server    string     // and its database, as conn.server names them
	snapshot  string     // for passes
	state     string     // the snapshot of the first source that was opened with this one in its database
	columns   []column
	order     []int // indexes in columns
	relations []string
	schema    *microdata.Schema

	seed        maphash.Seed
	fingerprint fingerprint // of the passes so far
}

// Open implements connectors.SourceConfig: it takes the snapshot.
func (c *SourceConfig) Open(ctx context.Context) (connectors.Source, error) {
	list, err := openTogether(ctx, []connectors.SourceConfig{c})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// openTogether is of connectors.SourceConfigAbilities. All tables are locked before the first snapshot is taken, and
// sources of one database take over that of the first of them: a session each, so that users may differ.
func openTogether(ctx context.Context, all []connectors.SourceConfig) (list []connectors.Source, err error) {
	var opened []*Source
	defer func() {
		if err != nil {
			for _, s := range opened {
				s.keeper.close()
			}
		}
	}()
	for i, c := range all {
		s, err := c.(*SourceConfig).hold(ctx)
		if err != nil {
			return make([]connectors.Source, i), err
		}
		opened = append(opened, s)
	}
	for i, s := range opened {
		take := func(ctx context.Context) error { return s.take(ctx, opened[:i]) }
		for _, step := range []func(context.Context) error{take, s.describe, s.arrange} {
			if err := step(ctx); err != nil {
				return list, explain(ctx, err, s.label)
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// hold connects, and locks the tables that are read.
func (c *SourceConfig) hold(ctx context.Context) (*Source, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	s := &Source{config: c, label: "query", seed: maphash.MakeSeed()}
	if c.Table == "" {
		s.from = "(" + statement(c.Query) + "\n) AS q"
	} else {
		of, err := parseTable(c.Table)
		if err != nil {
			return nil, err
		}
		s.label, s.from = of.String(), of.quoted()
	}
	var err error
	if s.keeper, err = c.connect(ctx); err != nil {
		return nil, err
	}
	if err := s.lock(ctx); err != nil {
		s.keeper.close()
		return nil, explain(ctx, err, s.label)
	}
	return s, nil
}

// touched are the relations that this session has a lock on: number, quoted name, kind, and
// whether the user may lock it by name. Those of the catalogue are not among them.
const touched = `SELECT c.oid::text, quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relkind::text,
  has_table_privilege(c.oid, 'SELECT')::text
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND n.nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
GROUP BY 1, 2, 3, 4 ORDER BY 2`

// plan has the server lock all that a query reads. It is sent alone in its message, and as a statement that is
// prepared: of a query that holds several statements none is run.
func (s *Source) plan(ctx context.Context) error {
	_, err := s.keeper.rows(ctx, "EXPLAIN SELECT * FROM "+s.from)
	return err
}

// lock begins the transaction and locks the tables that are read, before the snapshot is taken. The other way round, a
// table that is emptied by TRUNCATE between the two would be empty to the snapshot too.
func (s *Source) lock(ctx context.Context) (err error) {
	db := s.keeper
	if s.server, err = db.server(ctx); err != nil {
		return err
	}
	if err := db.do(ctx, "BEGIN READ ONLY"); err != nil {
		return err
	}
	if err := s.plan(ctx); err != nil {
		return err
	}
	found, err := db.rows(ctx, touched)
	if err != nil {
		return err
	}
	if err := db.do(ctx, "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return err
	}
	var lock []string
	for _, r := range found {
		switch name, kind, may := r[1], r[2], r[3]; {
		case kind == "f":
			return &Error{What: s.label,
				Why: "reads the foreign table " + name + ", whose rows no snapshot holds; copy them into a table first"}
		case kind != "m" && may == "true":
			lock = append(lock, name)
		}
	}
	if len(lock) > 0 {
		return db.do(ctx, "LOCK TABLE "+strings.Join(lock, ", ")+" IN ACCESS SHARE MODE")
	}
	return nil
}

// take takes the snapshot: that of a source before it in the same database, or else a new one.
func (s *Source) take(ctx context.Context, before []*Source) error {
	db := s.keeper
	for _, o := range before {
		if o.server == s.server {
			if err := db.do(ctx, "SET TRANSACTION SNAPSHOT "+literal(o.snapshot)); err != nil {
				return err
			}
			s.state = o.state
			break
		}
	}
	if err := s.plan(ctx); err != nil {
		return err
	}
	held, err := db.rows(ctx, touched)
	if err != nil {
		return err
	}
	for _, r := range held {
		s.relations = append(s.relations, r[0])
	}
	exported, err := db.row(ctx, "SELECT pg_export_snapshot()")
	if err != nil {
		return err
	}
	s.snapshot = exported[0]
	s.state = cmp.Or(s.state, s.server+" "+s.snapshot)
	return nil
}

// describe finds the columns.
func (s *Source) describe(ctx context.Context) error {
	d, err := s.keeper.Prepare(ctx, "", "SELECT * FROM "+s.from, nil)
	if err != nil {
		return err
	}
	required := map[string]bool{} // of a table; of a query a join can make a null of anything
	if s.config.Table != "" {
		names, err := s.keeper.rows(ctx, `SELECT attname::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE attrelid = `+literal(s.from)+`::regclass AND attnotnull AND NOT attisdropped AND attnum > 0 AND relkind IN ('r', 'p')`)
		if err != nil {
			return err
		}
		for _, n := range names {
			required[n[0]] = true
		}
	}
	s.schema = &microdata.Schema{}
	for _, f := range d.Fields {
		c := columnOf(f.Name, f.DataTypeOID, f.TypeModifier, !required[f.Name])
		s.columns = append(s.columns, c)
		s.schema.Fields = append(s.schema.Fields, c.Field)
	}
	if a, b := s.schema.Twice(); b > 0 {
		return &Error{What: s.label, Why: fmt.Sprintf("has one name for columns %d and %d; name them apart (AS)", a, b)}
	}
	return nil
}

// arrange finds by which columns the rows are put into order.
func (s *Source) arrange(ctx context.Context) error {
	names := s.config.Order
	if len(names) == 0 {
		key,
			err := s.keeper.rows(ctx,
			`SELECT a.attname::text FROM pg_index i, unnest(i.indkey) WITH ORDINALITY k(n, at), pg_attribute a
WHERE i.indrelid = `+literal(s.from)+`::regclass AND i.indisprimary AND a.attrelid = i.indrelid AND a.attnum = k.n ORDER BY k.at`)
		if err != nil {
			return err
		}
		for _, n := range key {
			names = append(names, n[0])
		}
	}
	if len(names) == 0 {
		return &Error{
			What: s.label,
			Why:  "has no primary key, so that nothing says in which order its records come; name the columns that tell them apart (order)"}
	}
	for _, name := range names {
		i := s.schema.Index(name)
		if i < 0 {
			return &Error{What: s.label, Why: fmt.Sprintf("order names the column %q, which is not there", name)}
		}
		if _, ok := s.columns[i].ordered(); !ok {
			return &Error{
				What: s.label,
				Why: fmt.Sprintf(
					"column %s is of a type by which records have no order that is always the same; order by integers, text, dates, numeric, uuid or bool", name)}
		}
		s.order = append(s.order, i)
	}
	return nil
}

// Schema implements connectors.Source.
func (s *Source) Schema() *microdata.Schema { return s.schema }

// Streams implements connectors.Source: there is one.
func (s *Source) Streams() []string { return []string{s.label} }

// Records implements connectors.Source: to count them is to read them.
func (s *Source) Records() int64 { return -1 }

// Rewindable implements connectors.Source.
func (s *Source) Rewindable() bool { return true }

// Abilities implements connectors.Source. When the data changed is not known.
func (s *Source) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{Unchanged: s.unchanged, At: connectors.NoFiles, Snapshot: s}
}

// watchTimeout is the maximum wait for the server in a wait that cannot be cancelled.
const watchTimeout = time.Minute

// unchanged is of connectors.SourceAbilities: what a snapshot holds stays what it is, as long
// as the connection that keeps it is there.
func (s *Source) unchanged() error {
	ctx, cancel := context.WithTimeout(context.Background(), watchTimeout)
	defer cancel()
	s.using.Lock()
	defer s.using.Unlock()
	if err := s.keeper.do(ctx, "SELECT 1"); err != nil {
		if ctx.Err() != nil {
			return &Error{What: s.label, Why: "the server does not answer, so that the snapshot may be lost"}
		}
		return explain(ctx, err, s.label+": the snapshot is lost")
	}
	return nil
}

// State implements connectors.Snapshot.
func (s *Source) State() string { return s.state }

// Reads implements connectors.Snapshot: it reports whether there is a lock on the relation.
func (s *Source) Reads(server, relation string) bool {
	return s.server == server && slices.Contains(s.relations, relation)
}

// Close implements connectors.Source.
func (s *Source) Close() error {
	s.keeper.close()
	return nil
}

// Read implements connectors.Source: one COPY of the columns of the layout, and of those
// that order the rows.
func (s *Source) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	p := &pass{source: s, layout: layout, at: map[int]int{}}
	for _, w := range layout.Read {
		p.want(w.Field)
	}
	for _, i := range s.order {
		p.want(i)
	}
	db, err := s.config.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := db.do(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT "+
		literal(s.snapshot)); err != nil {
		db.close()
		return nil, explain(ctx, err, s.label+": the snapshot")
	}
	p.start(ctx, db, cut)
	return p, nil
}

// copySQL asks for some of the columns, in order.
func (s *Source) copySQL(columns []int) string {
	var expressions, by []string
	for _, i := range columns {
		expressions = append(expressions, s.columns[i].expression)
	}
	for _, i := range s.order {
		o, _ := s.columns[i].ordered()
		by = append(by, o)
	}
	return "COPY (SELECT " + strings.Join(expressions, ", ") + " FROM " + s.from + " ORDER BY " + strings.Join(by, ", ") +
		") TO STDOUT (FORMAT binary)"
}

// fingerprint is what passes have in common: the number of records, and of each column that
// was read a hash of its values in order.
type fingerprint struct {
	records int64 // of the passes; -1: none so far
	columns map[int]uint64
}

// errOther is the reason why a query's passes cannot be parts of one run.
var errOther = errors.New(
	"gives different records each time that it is read, such as a query that uses random numbers or the current time; copy its result into a table first")

// compare holds a pass against those before it.
func (f *fingerprint) compare(records int64, columns map[int]uint64) error {
	if f.columns == nil {
		f.columns = map[int]uint64{}
		f.records = records
	}
	if f.records != records {
		return errOther
	}
	for i, h := range columns {
		if before, read := f.columns[i]; read && before != h {
			return errOther
		}
		f.columns[i] = h
	}
	return nil
}
