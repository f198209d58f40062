package connectortest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// job is one run of the small pipeline.
type job struct {
	cut   connectors.Cut
	carry bool // leave undecoded what the sink carries
	// mask changes the column maskedName; nil: it is released as it is.
	mask    func(b *microdata.Block, c *microdata.Column)
	masks   map[string]func(b *microdata.Block, c *microdata.Column) // of further columns
	drop    []string                                                 // columns that are not released
	ordered bool                                                     // decode on one goroutine, in order
}

// plan lays out a job: numbers as Numbers, everything else as Array, or carried.
func (j *job) plan(src connectors.Source, sink connectors.SinkConfig) *microdata.Layout {
	schema := src.Schema()
	l := &microdata.Layout{Schema: schema}
	carries := j.carry && sink.Carries(src)
	for i, f := range schema.Fields {
		if slices.Contains(j.drop, f.Name) {
			continue
		}
		o := microdata.Output{Field: f, Source: i, Column: -1, Decimals: -1}
		o.Masked = j.maskOf(f.Name) != nil
		if !carries || o.Masked {
			o.Column = len(l.Read)
			form := microdata.Array
			if f.Numeric() {
				form = microdata.Numbers
			}
			l.Read = append(l.Read, microdata.Want{Field: i, As: form})
		}
		l.Release = append(l.Release, o)
	}
	return l
}

// run copies the source into the sink and commits; where anything fails it
// aborts.
func (j *job) run(ctx context.Context, from connectors.SourceConfig, to connectors.SinkConfig) error {
	src, err := from.Open(ctx)
	if err != nil {
		return err
	}
	err = j.copy(ctx, src, to, true)
	return errors.Join(err, src.Close())
}

func (j *job) copy(ctx context.Context, src connectors.Source, to connectors.SinkConfig, commit bool) (err error) {
	layout := j.plan(src, to)
	sink, err := to.Create(ctx, connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil || !commit {
			err = errors.Join(err, sink.Abort())
		}
	}()
	raws, err := rawsOf(ctx, src, layout, j.cut)
	if err != nil {
		return err
	}
	encoded, err := j.encode(raws, layout, sink)
	if err != nil {
		return err
	}
	for _, e := range encoded {
		if err := sink.Write(ctx, e); err != nil {
			return err
		}
	}
	if err := sink.Finish(ctx); err != nil || !commit {
		return err
	}
	return sink.Commit()
}

// rawsOf makes a whole pass.
func rawsOf(ctx context.Context, src connectors.Source, layout *microdata.Layout, cut connectors.Cut) ([]connectors.Raw,
	error) {
	r, err := src.Read(ctx, layout, cut)
	if err != nil {
		return nil, err
	}
	var raws []connectors.Raw
	for {
		raw, err := r.Next(ctx)
		if errors.Is(err, io.EOF) && err != io.EOF {
			err = fmt.Errorf("Next wraps io.EOF, which callers take for the end: %w", err)
		}
		if err == io.EOF {
			return raws, r.Close()
		}
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		raws = append(raws, raw)
	}
}

// encode decodes, masks and encodes every run, by several goroutines in
// shuffled order unless the job is ordered.
func (j *job) encode(raws []connectors.Raw, layout *microdata.Layout, sink connectors.Sink) ([]connectors.Encoded,
	error) {
	workers, order := 4, rand.New(rand.NewPCG(1, 1)).Perm(len(raws))
	if j.ordered {
		workers = 1
		slices.Sort(order)
	}
	next := make(chan int)
	out := make([]connectors.Encoded, len(raws))
	errs := make([]error, len(raws))
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			var b microdata.Block // reused, as a pipeline does
			for i := range next {
				if errs[i] = raws[i].Decode(&b); errs[i] != nil {
					continue
				}
				j.apply(&b, layout)
				out[i], errs[i] = sink.Encode(&b)
				spoil(&b)
			}
		})
	}
	for _, i := range order {
		next <- i
	}
	close(next)
	group.Wait()
	return out, errors.Join(errs...)
}

func (j *job) apply(b *microdata.Block, layout *microdata.Layout) {
	for _, o := range layout.Release {
		if o.Masked {
			j.maskOf(o.Field.Name)(b, &b.Columns[o.Column])
		}
	}
}

// maskOf returns the mask of a column; nil if it has none.
func (j *job) maskOf(column string) func(b *microdata.Block, c *microdata.Column) {
	if column == maskedName {
		return j.mask
	}
	return j.masks[column]
}

// spoil overwrites the block's own buffers: what was encoded must not share
// them.
func spoil(b *microdata.Block) {
	for i := range b.Columns {
		c := &b.Columns[i]
		for k := range c.Released.Values {
			c.Released.Values[k] = -12345
		}
		for k := range c.Released.Valid {
			c.Released.Valid[k] = 0
		}
	}
}

// content is what a source holds, as text.
type content struct {
	schema *microdata.Schema
	cells  [][]string // by column
	blocks []string   // stream, first, number of records
	n      int
}

// column returns the cells of a named column.
func (c *content) column(t testing.TB, name string) []string {
	t.Helper()
	i := c.schema.Index(name)
	if i < 0 {
		t.Fatalf("no column %s among %q", name, c.schema.Names())
	}
	return c.cells[i]
}

// readAll reads everything that a source has.
func readAll(ctx context.Context, from connectors.SourceConfig, cut connectors.Cut) (*content, error) {
	src, err := from.Open(ctx)
	if err != nil {
		return nil, err
	}
	c, err := contentOf(ctx, src, cut)
	return c, errors.Join(err, src.Close())
}

func contentOf(ctx context.Context, src connectors.Source, cut connectors.Cut) (*content, error) {
	schema := src.Schema()
	layout := &microdata.Layout{Schema: schema}
	for i, f := range schema.Fields {
		form := microdata.Array
		if f.Numeric() {
			form = microdata.Numbers
		}
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: form})
	}
	raws, err := rawsOf(ctx, src, layout, cut)
	if err != nil {
		return nil, err
	}
	c := &content{schema: schema, cells: make([][]string, len(schema.Fields))}
	var b microdata.Block
	for _, raw := range raws {
		if err := raw.Decode(&b); err != nil {
			return nil, err
		}
		c.blocks = append(c.blocks, fmt.Sprintf("stream %d, record %d, %d records", b.Stream, b.First, b.N))
		c.n += b.N
		for i, f := range schema.Fields {
			col := b.Columns[i]
			if f.Numeric() {
				c.cells[i] = append(c.cells[i], numbers(col.Original, b.N)...)
				continue
			}
			for row := range b.N {
				c.cells[i] = append(c.cells[i], text(col.Array, row))
			}
		}
		for _, r := range b.Rejects {
			return nil, fmt.Errorf("record %d, column %s: %s", r.Row, r.Column, r.Reason)
		}
	}
	if n := src.Records(); n >= 0 && n != int64(c.n) {
		return nil, fmt.Errorf("Records says %d, and %d were read", n, c.n)
	}
	return c, nil
}

// input writes a table of n records to a new file and returns its path.
func input(t testing.TB, c Contract, n int) (string, *Table) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in"+c.Ext)
	tab := NewTable(t, c, n)
	write(t, c, path, tab)
	return path, tab
}

// WriteTable writes a table of n records and of the two columns that every table
// has.
func WriteTable(t testing.TB, path string, n int, sink connectors.SinkConfig) {
	t.Helper()
	c := Contract{Sink: func(string) connectors.SinkConfig { return sink }}
	write(t, c, path, NewTable(t, c, n))
}

func write(t testing.TB, c Contract, path string, tab *Table) {
	t.Helper()
	if c.Write != nil {
		c.Write(t, path, tab)
		return
	}
	j := job{cut: connectors.Cut{Records: 61}}
	if err := j.run(t.Context(), tab.Config(0), c.Sink(path)); err != nil {
		t.Fatalf("writing the input: %v", err)
	}
}

// listing returns the names of everything in a folder, below it too.
func listing(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if rel, _ := filepath.Rel(dir, p); rel != "." {
			names = append(names, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// within fails the test where f takes longer than a caller would wait.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s did not return", what)
	}
}
