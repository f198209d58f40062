package iceberg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// sink writes data files into a folder of their own in the table's, which no snapshot names. At the commit they get
// their names and the table a snapshot with them.
type sink struct {
	label   string
	mode    string
	catalog catalog
	table   *table // as it was when the run began
	schema  *meta.Schema
	spec    *meta.PartitionSpec
	run     *attempt
	to      writer

	written  []parquet.Written
	values   []map[int]any // of the partition fields of each of them
	finished bool
	done     bool
	unknown  error // that of a commit of which it is not known whether it has made a snapshot
}

// writer is the part of a sink that writes the data files, into the attempt's folder.
type writer interface {
	Encode(b *microdata.Block) (connectors.Encoded, error)
	Write(ctx context.Context, e connectors.Encoded) error
	Finish(ctx context.Context) error
	Abort() error
}

// Create implements connectors.SinkConfig.
func (c *SinkConfig) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	s := &sink{label: "table " + c.name(), mode: c.Mode}
	if s.mode == "" {
		s.mode = overwriteMode
	}
	if err := s.create(ctx, c, plan); err != nil {
		return nil, fmt.Errorf("%s: %w", s.label, errors.Join(err, s.Abort()))
	}
	return s, nil
}

func (s *sink) create(ctx context.Context, c *SinkConfig, plan connectors.Plan) (err error) {
	c.newLocation = c.Location
	if s.catalog, err = c.catalogOf(); err != nil {
		return err
	}
	if s.table, err = s.catalog.load(ctx); err != nil {
		return err
	}
	if s.table == nil {
		if s.schema, err = schemaOf(plan.Layout); err != nil {
			return err
		}
		if s.table, err = s.catalog.prepare(ctx, s.schema); err != nil {
			return err
		}
	}
	root, err := pathOf(s.table.Location)
	if err != nil {
		return err
	}
	if err := s.spares(ctx, plan.Source, root); err != nil {
		return err
	}
	if s.schema, s.spec = s.table.schema(), s.table.spec(); s.mode == partitionsMode && s.spec.Unpartitioned() {
		return errors.New("has no partitions that a release could take the place of (mode: partitions)")
	}
	ids, err := s.takes(plan.Layout)
	if err != nil {
		return err
	}
	_, atOnce := s.catalog.(*folder)
	if s.run, err = begun(ctx, root, s.table, atOnce); err != nil {
		return err
	}
	if !s.spec.Unpartitioned() && slices.ContainsFunc(plan.Layout.Release, func(o microdata.Output) bool {
		return o.Column < 0
	}) {
		return errConflict // Carries has seen it unpartitioned
	}
	files := c.files()
	files.Path = s.run.dir.Path()
	if s.spec.Unpartitioned() {
		within := files.Within(&parquet.Table{Dir: s.run.dir, IDs: ids, Written: func(w parquet.Written) { s.add(w, nil) }})
		s.to, err = within.Create(ctx, plan)
		return err
	}
	s.to, err = s.partition(files, ids, plan.Layout)
	return err
}

func (s *sink) add(w parquet.Written, partition map[int]any) {
	if w.Records > 0 {
		s.written, s.values = append(s.written, w), append(s.values, partition)
	}
}

// schemaOf is the schema of a new table for a release. None of its columns is required: a mask may take values away.
func schemaOf(layout *microdata.Layout) (*meta.Schema, error) {
	var fields []meta.Field
	for i, o := range layout.Release {
		t, err := tableType(o.Field.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s %w", o.Field.Name, err)
		}
		fields = append(fields, meta.Field{ID: i + 1, Name: o.Field.Name, Type: t})
	}
	return &meta.Schema{Fields: fields}, nil
}

// takes holds the release against the table, and returns the ids of its columns. The table must have the columns of the
// release, no others and with their types: what a table lacks is not added to it, as its earlier snapshots would then
// be read with that too.
func (s *sink) takes(layout *microdata.Layout) (map[string]int32, error) {
	if s.table.FormatVersion != 2 {
		return nil, fmt.Errorf("is of version %d of the format, and releases are written into tables of version 2",
			s.table.FormatVersion)
	}
	for key := range s.table.Properties {
		if strings.HasPrefix(key, "encryption.") {
			return nil, errors.New("is encrypted, and a release into it would not be")
		}
	}
	ids := map[string]int32{}
	for _, f := range s.schema.Fields {
		ids[f.Name] = int32(f.ID)
	}
	for _, o := range layout.Release {
		f, ok := s.schema.Named(o.Field.Name)
		if !ok {
			return nil, fmt.Errorf("has no column %s; add it to the table, or name another one", o.Field.Name)
		}
		t, err := tableType(o.Field.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s %w", o.Field.Name, err)
		}
		if t != f.Type && !(f.Type == meta.UUID && t == meta.Fixed(16)) {
			return nil, fmt.Errorf("column %s is %s in the table and %s in the release", f.Name, f.Type, t)
		}
		if f.Required && o.Field.Nullable {
			return nil, fmt.Errorf("column %s must not be missing in the table, and may be in the release", f.Name)
		}
	}
	if n := len(s.schema.Fields); n != len(layout.Release) {
		return nil,
			fmt.Errorf("has %d columns, and the release %d; a release has all columns of its table", n, len(layout.Release))
	}
	return ids, nil
}

// spares returns an error if the table is the source of the run, or has its files: the original values would stay in
// the table's earlier snapshots, for all who read it.
func (s *sink) spares(ctx context.Context, from connectors.Source, root string) error {
	folders := []string{root, join(root, dataFolder)}
	if now := s.table.current(); now != nil {
		manifests, err := manifestsOf(ctx, now)
		if err != nil {
			return err
		}
		for i := range manifests {
			m := &manifests[i]
			if m.Deletes && s.mode != appendMode {
				return errors.New(
					"has records that were deleted by separate files (merge-on-read), so that its files cannot be replaced here; rewrite them first (rewrite_data_files, rewrite_position_delete_files), or append")
			}
			entries, err := liveEntries(ctx, m)
			if err != nil {
				return err
			}
			for _, e := range entries {
				p, err := pathOf(e.File.Path)
				if err != nil {
					return err
				}
				folders = append(folders, folderOf(p))
			}
		}
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		if connectors.Spare(from, folder) != nil {
			return errors.New(
				"the release would go into the table that it is made of, whose earlier snapshots keep the original values; name another table")
		}
	}
	return nil
}

// Encode implements connectors.Sink.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) { return s.to.Encode(b) }

// Write implements connectors.Sink.
func (s *sink) Write(ctx context.Context, e connectors.Encoded) error { return s.to.Write(ctx, e) }

// Finish implements connectors.Sink.
func (s *sink) Finish(ctx context.Context) error {
	if s.finished {
		return nil
	}
	err := s.to.Finish(ctx)
	s.finished = err == nil
	return err
}

// Abilities implements connectors.Sink.
func (s *sink) Abilities() connectors.SinkAbilities {
	return connectors.SinkAbilities{Content: s.run.dir.Content, Labels: s.labels}
}

// labels says what the data files tell of codes; nothing in a partitioned table.
func (s *sink) labels() []microdata.Said {
	if files, is := s.to.(connectors.Sink); is {
		return files.Abilities().Labels()
	}
	return nil
}

// tries is how often a commit is tried when others change the table at the same time.
const tries = 20

// commitTimeout bounds what Commit takes in all.
const commitTimeout = 10 * time.Minute

// Commit implements connectors.Sink: the data files get their names, manifests are written, and the catalog adds the
// snapshot. Records are appended to whatever the table then is; they take the place of nothing but what was there when
// the run began.
func (s *sink) Commit() error {
	if s.done {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	if err := s.run.name(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.label, err)
	}
	err := s.commit(ctx)
	var unclear *doubt
	if errors.As(err, &unclear) && !unclear.there {
		s.done, s.unknown = true, fmt.Errorf("%s: %w", s.label, err)
		return s.unknown
	}
	if err != nil && unclear == nil {
		return fmt.Errorf("%s: nothing is released: %w", s.label, err)
	}
	s.done = true
	if left := s.run.end(ctx, s.catalog.load); left != nil && err == nil {
		err = &doubt{left, true}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.label, err)
	}
	return nil
}

func (s *sink) commit(ctx context.Context) error {
	t := s.table
	for try := 1; ; try++ {
		next, err := s.snapshot(ctx, t, try)
		if err != nil {
			return err
		}
		if err := s.run.still(ctx); err != nil {
			return err
		}
		err = s.catalog.commit(ctx, t, next)
		if !errors.Is(err, errConflict) {
			return err
		}
		if try == tries || ctx.Err() != nil {
			return err
		}
		if err := s.run.forget(ctx, try); err != nil {
			return err
		}
		// The longer the more, and never in step with who else tries.
		time.Sleep(time.Duration(rand.Int64N(int64(min(5*time.Millisecond<<try, time.Second)))))
		if t, err = s.catalog.load(ctx); err != nil {
			return err
		}
		if err := s.still(t); err != nil {
			return err
		}
	}
}

// still reports whether the release may go into the table as another program has left it.
func (s *sink) still(t *table) error {
	switch {
	case t == nil || t.UUID != s.table.UUID:
		return fmt.Errorf("%w: another table has its name", errConflict)
	case t.CurrentSchema != s.table.CurrentSchema || t.DefaultSpec != s.table.DefaultSpec ||
		t.FormatVersion != s.table.FormatVersion:
		return fmt.Errorf("%w: its columns or partitions are others", errConflict)
	case s.mode != appendMode && idOf(t.current()) != idOf(s.table.current()):
		return fmt.Errorf("%w: it has another snapshot, whose records the release would have replaced unseen; run again",
			errConflict)
	}
	return nil
}

func idOf(s *snapshot) int64 {
	if s == nil {
		return -1
	}
	return s.ID
}

// Abort implements connectors.Sink. The error is that of a commit whose outcome is not known.
func (s *sink) Abort() error {
	if s.done {
		return s.unknown
	}
	s.done = true
	var err error
	if s.to != nil {
		err = s.to.Abort()
	}
	return errors.Join(err, s.run.abandon())
}
