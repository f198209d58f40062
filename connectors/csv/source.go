package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

type source struct {
	config *SourceConfig
	*text.Input
	dialect dialect
	numbers notation
	nulls   nulls
	schema  *microdata.Schema
	heads   []head       // by stream
	kinds   []text.Kinds // kinds of the columns' values; nil if all types are declared
	records int64        // -1 if no pass has counted them
	// carried says that a sink of this package uses the text of the fields.
	carried atomic.Bool
	part    *connectors.Part // nil: all of it
}

// head describes the beginning of a stream.
type head struct {
	bom    bool
	fields [][]byte // of the first record, including quotes
	crlf   bool     // how the first record ends
}

func open(ctx context.Context, c *SourceConfig) (_ connectors.Source, err error) {
	decode, err := text.DecoderOf(c.Encoding)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	in, err := text.OpenNeeded(ctx, c.Path, c.Stdin, decode, c.needed, Kind.Extensions...)
	if err != nil {
		return nil, err
	}
	s := &source{config: c, Input: in, dialect: c.dialect(), numbers: c.notation(),
		nulls: newNulls(c.nulls(), c.quotedNulls()), records: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
		}
	}()
	if err := s.readHeads(ctx); err != nil {
		return nil, err
	}
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	s.dialect.fields = len(names)
	if err := s.setSchema(ctx, names); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *source) Schema() *microdata.Schema { return s.schema }
func (s *source) Records() int64            { return s.records }

func (s *source) Abilities() connectors.SourceAbilities {
	can := s.Input.Abilities()
	can.Folder, can.Missplit, can.InfersTypes, can.Divisible, can.Survey = s.Folder, s.missplit, true, s, s.found
	return can
}

func (s *source) missplit() string {
	head, err := s.beginning()
	if err != nil {
		return ""
	}
	if d := guessDelimiter(head, s.dialect.delimiter); d != s.dialect.delimiter {
		return string(rune(d))
	}
	return ""
}

// beginning returns the first 64 KiB of text of the first stream.
func (s *source) beginning() ([]byte, error) { return beginningOf(context.Background(), s.Input) }

func beginningOf(ctx context.Context, in *text.Input) ([]byte, error) {
	if !in.Rewindable() {
		head, _ := in.Head()
		return head, nil
	}
	st, err := in.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return io.ReadAll(io.LimitReader(st, 64<<10))
}

// readHeads reads the first record of every stream that is open.
func (s *source) readHeads(ctx context.Context) error {
	for i, name := range s.Streams() {
		if !s.Opened(i) {
			s.heads = append(s.heads, head{})
			continue
		}
		h, err := s.readHead(ctx, i)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.heads = append(s.heads, h)
	}
	return nil
}

func (s *source) readHead(ctx context.Context, i int) (h head, err error) {
	var r io.Reader
	if s.Rewindable() {
		st, err := s.Input.Open(ctx, i)
		if err != nil {
			return h, err
		}
		defer st.Close()
		r = st
	} else {
		start, _ := s.Input.Head()
		r = bytes.NewReader(start)
	}
	start, skipped, err := text.SkipMark(r)
	if err != nil {
		return h, err
	}
	if bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}) {
		return h, errors.New("the text is UTF-16: say so (encoding: utf-16)")
	}
	chunks := text.NewChunks(r, start, s.dialect.split, connectors.Cut{Records: 1, Exact: true}, nil)
	defer chunks.Close()
	chunk, err := chunks.Next()
	if err == io.EOF {
		if s.config.header() {
			return h,
				errors.New("the file is empty; its first record must name the columns (header: false where there is no header)")
		}
		return head{bom: skipped > 0}, nil
	}
	if errors.Is(err, text.ErrTooLong) {
		return h, fmt.Errorf("%w: lines must end with LF or CRLF, and not with CR alone", err)
	}
	if err != nil {
		return h, err
	}
	h = head{bom: skipped > 0, crlf: bytes.HasSuffix(chunk.Data, []byte("\r\n"))}
	line := text.Chomp(bytes.TrimLeft(chunk.Data, "\r\n"))
	if err := foreignStart(line); err != nil {
		chunk.Release()
		return h, err
	}
	h.fields, err = s.dialect.splitRecord(line)
	chunk.Release()
	return h, err
}

// splitRecord returns copies of the fields of one record of any number of them.
func (d *dialect) splitRecord(line []byte) ([][]byte, error) {
	reason, n := d.fieldEnds(nil, line, 0)
	if reason != "" {
		return nil, fmt.Errorf("the first record is malformed: %s", reason)
	}
	b := bounds{starts: make([]uint32, 1), ends: make([]uint32, n), fields: n}
	d.fieldEnds(b.ends, line, 0)
	fields := make([][]byte, n)
	for f := range fields {
		start, end := b.field(0, f)
		fields[f] = bytes.Clone(line[start:end])
	}
	return fields, nil
}

// names returns the columns' names, the same for every stream.
func (s *source) names() ([]string, error) {
	if !s.config.header() {
		return s.numbered()
	}
	var names []string
	for i, h := range s.heads {
		if !s.Opened(i) {
			continue
		}
		got, err := s.dialect.decodeNames(h.fields)
		if err != nil {
			return nil, fmt.Errorf("%s: header: %w", s.Streams()[i], err)
		}
		if err := s.checkNames(got); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Streams()[i], err)
		}
		if i > 0 && !slices.Equal(got, names) {
			return nil, fmt.Errorf("%s: header: must be that of %s: %s", s.Streams()[i], s.Streams()[0], difference(names, got))
		}
		names = got
	}
	return names, nil
}

// difference says where two headers differ. Their names may be values: they are not shown.
func difference(want, got []string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf(
				"column %d has another name; if the file has no header, give it one, or all of them none (header: false)", i+1)
		}
	}
	return fmt.Sprintf("it must have %d columns, got %d", len(want), len(got))
}

func (d *dialect) decodeNames(fields [][]byte) ([]string, error) {
	names := make([]string, len(fields))
	seen := map[string]int{}
	for i, f := range fields {
		content, _ := d.bare(f)
		if !utf8.Valid(content) {
			return nil,
				fmt.Errorf(
					"the name of column %d is not valid UTF-8: say which encoding the text has (encoding: windows-1252, for example)",
					i+1)
		}
		names[i] = string(content)
		if names[i] == "" {
			names[i] = fmt.Sprintf("c%d", i+1) // an empty name, as R writes for row names
		}
		if j, ok := seen[names[i]]; ok {
			return nil,
				fmt.Errorf(
					"columns %d and %d are the same, and every name must be there once: the file seems to have no header (header: false, and names)", j, i+1)
		}
		seen[names[i]] = i + 1
	}
	return names, nil
}

// numbered returns the names of files without a header.
func (s *source) numbered() ([]string, error) {
	names := s.config.Names
	n := len(names)
	for i, h := range s.heads {
		switch {
		case h.fields == nil:
		case n == 0:
			n = len(h.fields)
		case n != len(h.fields):
			return nil, fmt.Errorf("%s: the first record must have %d fields, got %d", s.Streams()[i], n, len(h.fields))
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("%s: the file is empty and names no columns (names: gives them)", s.Streams()[0])
	}
	if names == nil {
		names = make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("c%d", i+1)
		}
	}
	return names, nil
}

// setSchema uses the declared types and infers the others.
func (s *source) setSchema(ctx context.Context, names []string) error {
	s.schema = &microdata.Schema{Fields: make([]microdata.Field, len(names))}
	declared := make([]arrow.DataType, len(names))
	for _, name := range slices.Sorted(maps.Keys(s.config.Types)) {
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("%s: types.%s: the file has no such column%s", s.Streams()[0], name,
				check.SuggestPlace(name, names))
		}
		t, err := text.ParseType(s.config.Types[name])
		if err != nil {
			return fmt.Errorf("types.%s: %w", name, err)
		}
		declared[i] = t
	}
	kinds := make([]text.Kinds, len(names))
	if slices.Contains(declared, nil) {
		if err := s.survey(ctx, names, kinds, declared); err != nil {
			return err
		}
		s.kinds = kinds
	}
	for i, name := range names {
		f := microdata.Field{Name: name, Type: declared[i], Nullable: true}
		if f.Type == nil {
			f.Type = kinds[i].Type()
			// A column is not examined any further once it has text.
			f.Unseen = kinds[i]&^text.SeenNull == 0
			f.Nullable = kinds[i]&(text.SeenNull|text.SeenString) != 0 || !s.Rewindable()
		}
		s.schema.Fields[i] = f
	}
	return nil
}

// survey examines every value of the columns without a declared type.
func (s *source) survey(ctx context.Context, names []string, kinds []text.Kinds, declared []arrow.DataType) error {
	if !s.Rewindable() {
		start, all := s.Input.Head()
		start = bytes.TrimPrefix(start, []byte(text.ByteOrderMark))
		skip := 0
		if s.config.header() {
			skip, _ = s.headSplit(start, 1, true)
		}
		n, records := s.dialect.split(start[skip:], 0, all)
		s.look(kinds, declared, &text.Chunk{Data: start[skip : skip+n], Records: records, Final: all}, &bounds{})
		return nil
	}
	if s.config.survey != nil {
		return s.recall(names, kinds)
	}
	seen := make([][]text.Kinds, text.Workers())
	found := make([]bounds, text.Workers())
	for w := range seen {
		seen[w] = make([]text.Kinds, len(kinds))
	}
	records, err := s.pass(connectors.Cut{}).Survey(ctx, func(w int, c *text.Chunk, _ int64) {
		s.look(seen[w], declared, c, &found[w])
	})
	if err != nil {
		return err
	}
	s.records = records
	for _, k := range seen {
		for i := range kinds {
			kinds[i] |= k[i]
		}
	}
	return nil
}

// headSplit finds the end of the header, before the number of fields of a record is known.
func (s *source) headSplit(p []byte, max int, final bool) (n, records int) {
	d := s.dialect
	d.fields = 0
	return d.split(p, max, final)
}

// nulls are the texts that mean that there is no value.
type nulls struct {
	empty  bool
	others [][]byte
	quote  byte // 0: a field in quotes is never a null
}

func newNulls(words []string, quote byte) nulls {
	n := nulls{quote: quote}
	for _, w := range words {
		if w == "" {
			n.empty = true
		} else {
			n.others = append(n.others, []byte(w))
		}
	}
	return n
}

// has reports whether a field, quotes included, is a null.
func (n *nulls) has(field []byte) bool {
	if len(field) == 0 {
		return n.empty
	}
	if n.quote != 0 && field[0] == n.quote && len(n.others) > 0 {
		field = field[1 : len(field)-1] // no word has a quote in it
	}
	for _, w := range n.others {
		if bytes.Equal(field, w) {
			return true
		}
	}
	return false
}
