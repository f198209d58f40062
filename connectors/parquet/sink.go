package parquet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sync/errgroup"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/labels"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// outColumn is one column of the release's files.
type outColumn struct {
	microdata.Output
	root     *node // in the release's schema
	from     *node // in the source's schema; nil if the source has another format
	carried  bool
	constant int // partition key whose value the column has; −1 for all other columns
	pages    []*pageEncoder
	first    int // index of its first leaf in the release
}

// sink writes the release. Encode may run on many goroutines; everything else
// belongs to one.
type sink struct {
	cfg       SinkConfig
	source    *source // nil if the source has another format
	streams   int
	columns   []*outColumn
	schema    []schemaElement
	leaves    []*leaf
	partition []int // partition keys that are released as folders
	labels    *labels.Collector
	inFile    *labels.Collector // of the current file

	single *publish.File
	dir    *publish.Dir

	stream int // current; −1 before the first
	out    *output
	group  *pendingGroup
	spool  spool

	writing *errgroup.Group // writes the last row group that was flushed; nil: flush writes it itself
	stop    context.CancelFunc
}

func newSink(c *SinkConfig, plan connectors.Plan) (connectors.Sink, error) {
	s := &sink{cfg: *c, stream: -1, streams: len(plan.Source.Streams()), writing: new(errgroup.Group)}
	if s.source = sourceOf(plan.Source); s.source != nil && s.source.part != nil {
		s.stream, s.streams = s.source.part.Stream-1, s.source.part.Stream+1
	}
	if err := s.design(plan.Layout); err != nil {
		return nil, err
	}
	if c.create != nil {
		return s, nil
	}
	if c.table != nil {
		s.dir = c.table.Dir
		return s, nil
	}
	var err error
	if connectors.Folder(plan.Source) {
		s.dir, err = publish.CreateDir(c.Path, extension)
	} else {
		s.single, err = publish.Create(c.Path, publish.Public)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// design decides the release's schema and how each column is written.
func (s *sink) design(layout *microdata.Layout) error {
	s.schema = []schemaElement{{Name: "schema"}}
	if s.source != nil {
		s.schema[0].Name = rootName(s.source.streams[0].Schema[0].Name)
	}
	if s.source == nil { // which has no labels; its columns may be carried
		s.labels = labels.Collect(layout)
	}
	for _, o := range layout.Release {
		col := &outColumn{Output: o, carried: o.Column < 0, constant: -1}
		if s.source != nil {
			if k, ok := s.source.partition(o.Source); ok {
				if !o.Masked && s.source.Folder() && s.cfg.table == nil {
					s.partition = append(s.partition, k)
					continue
				}
				if o.Column < 0 {
					return fmt.Errorf("column %s is a folder's name, and cannot be carried", o.Field.Name)
				}
			} else {
				col.from = s.source.streams[0].roots[o.Source]
			}
		}
		if col.carried && col.from == nil {
			return fmt.Errorf("column %s is not decoded, and the source is not Parquet", o.Field.Name)
		}
		elements, err := s.elements(col)
		if err != nil {
			return err
		}
		if err := s.cfg.table.number(elements); err != nil {
			return err
		}
		s.schema = append(s.schema, elements...)
		s.columns = append(s.columns, col)
	}
	if len(s.columns) == 0 {
		return errors.New("no column is released into the files themselves")
	}
	s.schema[0].NumChildren = some(int32(len(s.columns)))
	roots, leaves, err := treeOf(s.schema)
	if err != nil {
		return err
	}
	s.leaves = leaves
	for i, col := range s.columns {
		col.root = roots[i]
		col.first = roots[i].leaves[0].index
		for k, l := range col.root.leaves {
			col.pages = append(col.pages, &pageEncoder{leaf: l, comp: s.compressor(col, k), plain: s.cfg.Encoding == "plain"})
		}
	}
	return nil
}

// rootName keeps only the usual names of the root: it is not the name of a column, and could
// contain anything.
func rootName(name string) string {
	switch name {
	case "schema", "root", "spark_schema", "duckdb_schema", "arrow_schema", "hive_schema", "m":
		return name
	}
	return "schema"
}

// elements returns a column's part of the schema: the source's own if the type is unchanged.
func (s *sink) elements(col *outColumn) ([]schemaElement, error) {
	if col.from != nil && arrow.TypeEqual(col.from.typ, col.Field.Type) &&
		(col.carried || col.from.nullable || !col.Field.Nullable) {
		elements := append([]schemaElement{}, col.from.elements...)
		elements[0].Name = col.Field.Name
		for i := range elements {
			elements[i].tidy()
		}
		return elements, nil
	}
	if col.carried {
		return nil, fmt.Errorf("column %s is carried, and its type changes", col.Field.Name)
	}
	return elementsOf(col.Field.Name, col.Field.Type, col.Field.Nullable)
}

// compressor returns the codec of a column's encoded pages: the configured one, or
// that of the source's first row group. A carried column some of whose row groups must
// be rewritten keeps the source's codec: some readers, such as parquet-go, assume that
// all chunks of a column have the codec of the first.
func (s *sink) compressor(col *outColumn, k int) compressor {
	codec, ok := codecNames[s.cfg.Compression]
	if !ok || col.carried {
		codec = format.Zstd
		if col.from != nil && len(col.from.leaves) == len(col.root.leaves) {
			for _, st := range s.source.streams {
				if len(st.RowGroups) > 0 {
					codec = st.RowGroups[0].Columns[col.from.leaves[k].index].MetaData.V.Codec
					break
				}
			}
		}
	}
	switch codec {
	case format.Lz4:
		codec = format.Lz4Raw
	case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd, format.Brotli, format.Lz4Raw:
	default:
		codec = format.Zstd
	}
	return compressor{codec: codec, level: zstd.SpeedFastest}
}

// encoded is a block in the form for Write.
type encoded struct {
	stream int
	parts  []encodedPart
	codes  labels.Found
}

// encodedPart is the part of a block that lies in one row group of the source.
type encodedPart struct {
	span
	kept    int
	dropped []int64          // rows of the row group, in order
	pages   [][]*encodedPage // by leaf of the release; none for carried columns
}

// Encode encodes the columns that are not carried as pages. Each block is one page, or
// several if it spans row groups.
func (s *sink) Encode(b *microdata.Block) (e connectors.Encoded, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("encoding a block failed")
		}
	}()
	out := &encoded{stream: b.Stream, codes: s.labels.Look(b)}
	spans := []span{{group: -1, n: int64(b.N)}}
	if c, ok := b.Carried.(*carried); ok && c.source == s.source {
		spans = c.spans
	} else if s.source != nil {
		return nil, errors.New("a block of this source does not say where its records are stored")
	}
	at := 0
	for _, sp := range spans {
		part, err := s.encodePart(b, sp, at)
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, part)
		at += int(sp.n)
	}
	return out, nil
}

func (s *sink) encodePart(b *microdata.Block, sp span, at int) (encodedPart, error) {
	n := int(sp.n)
	part := encodedPart{span: sp, kept: n, pages: make([][]*encodedPage, len(s.leaves))}
	var keep []int32
	if !b.Whole() {
		keep = make([]int32, 0, n)
		for i := at; i < at+n; i++ {
			if b.Rejected(i) {
				part.dropped = append(part.dropped, sp.from+int64(i-at))
			} else {
				keep = append(keep, int32(i))
			}
		}
		if part.kept = len(keep); part.kept == n {
			keep = nil
		}
	}
	if part.kept == 0 {
		return part, nil
	}
	for _, col := range s.columns {
		if col.carried {
			continue
		}
		vs, err := s.values(col, &b.Columns[col.Column], at, n, keep)
		if err != nil {
			return part, &connectors.RecordError{Stream: s.label(b.Stream), Column: col.Field.Name, Reason: err.Error()}
		}
		for k, v := range vs {
			p, err := col.pages[k].page(v, part.kept)
			v.free()
			if err != nil {
				return part, fmt.Errorf("column %s: %w", col.Field.Name, err)
			}
			part.pages[col.first+k] = append(part.pages[col.first+k], p)
		}
	}
	return part, nil
}

func (s *sink) values(col *outColumn, c *microdata.Column, at, n int, keep []int32) ([]*values, error) {
	if arr := c.OutArray(); arr != nil {
		return arrayValues(col.root, arr, at, n, keep)
	}
	v, err := numberValues(col.root.leaf, c.Out(), at, n, keep)
	return []*values{v}, err
}

func (s *sink) label(stream int) string {
	if s.source == nil {
		return fmt.Sprintf("stream %d", stream)
	}
	return s.source.streams[stream].file.Label
}

// Write appends a block's pages to the current row group. That is written when the
// source's row group is complete, or, if it mirrors none, when it is large enough.
func (s *sink) Write(ctx context.Context, e connectors.Encoded) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b := e.(*encoded)
	if err := s.advance(b.stream); err != nil {
		return err
	}
	s.labels.Take(b.codes)
	s.inFile.Take(b.codes)
	for i := range b.parts {
		if err := s.add(ctx, &b.parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// advance completes the files before a stream's and begins its own. A single
// file takes all streams.
func (s *sink) advance(stream int) error {
	for s.stream < stream {
		if s.out != nil && (s.dir != nil || s.source != nil) {
			if err := s.flush(context.Background()); err != nil {
				return err
			}
		}
		if err := s.written(); err != nil {
			return err
		}
		if s.out != nil && s.dir != nil {
			if err := s.out.finish(); err != nil {
				return err
			}
			s.out = nil
		}
		s.stream++
		if s.out == nil {
			f, settle, err := s.createFile()
			if err != nil {
				return err
			}
			meta, err := s.metadata()
			if err != nil {
				return errors.Join(err, f.Close())
			}
			if s.out, err = newOutput(f, meta, settle); err != nil {
				return err
			}
			inFile := s.labels.Fresh()
			s.inFile = inFile
			s.out.complete = func(m *fileMetaData) error { return s.describe(m, inFile) }
			if s.cfg.table != nil {
				s.out.known = s.tells(s.name())
			}
		}
		if err := s.out.from(s.source, s.stream); err != nil {
			return err
		}
	}
	return nil
}

// createFile creates the current stream's file. For a file in a folder, settle syncs and closes it
// while the next one is written.
func (s *sink) createFile() (f file, settle func() error, err error) {
	switch {
	case s.cfg.create != nil:
		f, err = s.cfg.create(s.cfg.Path)
		return f, nil, err
	case s.dir != nil:
		part, err := s.dir.Create(s.name())
		return part, func() error { return s.dir.Settle(part) }, err
	}
	return unclosed{s.single}, nil, nil
}

// name returns the name of the current stream's file in the folder. The source's own
// names may identify respondents and are not used.
func (s *sink) name() string {
	name := fmt.Sprintf("part-%05d%s", s.stream, extension)
	for i := len(s.partition) - 1; i >= 0; i-- {
		p := s.source.streams[s.stream].file.Partitions[s.partition[i]]
		value := url.PathEscape(p.Value)
		if p.Null {
			value = "__HIVE_DEFAULT_PARTITION__"
		}
		key := strings.ReplaceAll(url.PathEscape(p.Key), "=", "%3D")
		name = filepath.Join(key+"="+value, name)
	}
	return name
}

// Finish writes the last row group and the footer, and syncs. Streams without
// records give files without records.
func (s *sink) Finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.advance(max(s.streams-1, 0)); err != nil {
		return err
	}
	if s.out == nil {
		return nil // finished already
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	if err := s.written(); err != nil {
		return err
	}
	err := errors.Join(s.out.finish(), s.spool.close())
	s.out = nil
	if err == nil && s.dir != nil {
		err = s.dir.Settled()
	}
	return err
}

// content digests what Finish has completed.
func (s *sink) content(ctx context.Context) (*publish.Content, error) {
	if s.dir != nil {
		return s.dir.Content(ctx)
	}
	return s.single.Content(ctx)
}

// Commit gives the release its name.
func (s *sink) Commit() error {
	switch {
	case s.dir != nil:
		return s.dir.Commit()
	case s.single != nil:
		return s.single.Commit()
	}
	return nil
}

func (s *sink) hold() (json.RawMessage, error) {
	if s.single == nil {
		return nil, fmt.Errorf("%s: can get its name from no other process", s.cfg.Path)
	}
	return s.single.Hold()
}

// Abort removes what has no name yet.
func (s *sink) Abort() error {
	if s.stop != nil {
		s.stop()
	}
	_ = s.written() // its error was returned by an earlier call, or does not matter any more
	err := s.spool.close()
	if s.out != nil {
		err = errors.Join(err, s.out.abandon())
		s.out = nil
	}
	switch {
	case s.dir != nil:
		err = errors.Join(err, s.dir.Abort())
	case s.single != nil:
		err = errors.Join(err, s.single.Abort())
	}
	return err
}

// Abilities implements connectors.Sink.
func (s *sink) Abilities() connectors.SinkAbilities {
	said := func() []microdata.Said { return s.labels.Released(s.cfg.Labels) }
	return connectors.SinkAbilities{Content: s.content, Hold: s.hold, Labels: said}
}

// describe adds what the release says of its columns to the footer of a file, when all its records are known.
func (s *sink) describe(m *fileMetaData, codes *labels.Collector) error {
	columns := codes.Released(s.cfg.Labels)
	if columns == nil {
		return nil
	}
	text, err := labels.JSON(columns)
	m.KeyValueMetadata = append(m.KeyValueMetadata, format.KeyValue{Key: labels.Key, Value: text})
	return err
}

// metadata begins the footer of the current stream's file.
func (s *sink) metadata() (*fileMetaData, error) {
	m := &fileMetaData{Version: 2, Schema: s.schema, RowGroups: thrift.Slice[rowGroup]{}, CreatedBy: createdBy()}
	for range s.leaves {
		m.ColumnOrders = append(m.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	if s.source == nil {
		return m, nil
	}
	st := s.source.streams[s.stream]
	var err error
	if m.KeyValueMetadata, err = s.keyValues(st.KeyValueMetadata); err != nil {
		err = &corrupt{file: st.file.Label, err: err}
	}
	return m, err
}
