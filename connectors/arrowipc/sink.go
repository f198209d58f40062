package arrowipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// sink writes a release: one file, a folder with a file for each stream, or
// standard output.
type sink struct {
	config  SinkConfig
	format  string
	columns []column
	schema  *arrow.Schema
	head    message // of the schema
	dicts   bool    // some column has a dictionary

	encoders sync.Pool
	noValues map[int]arrow.Array // empty dictionaries, in place of those written at a file's end

	target target
	names  []string // of a folder's files, by stream
	stream int      // the stream whose file is open; -1 before the first
	out    *output
	ended  bool
}

// target takes the bytes until the release gets its name.
type target interface {
	open(name string) (io.Writer, error) // the next file; in a folder it ends the one before
	finish() error                       // syncs
	Content(context.Context) (*publish.Content, error)
	commit() error
	abort() error
}

func newSink(c *SinkConfig, plan connectors.Plan) (connectors.Sink, error) {
	s := &sink{config: *c, format: c.format(), stream: -1, noValues: map[int]arrow.Array{}}
	keepFolders := hive(plan)
	var err error
	if s.columns, s.schema, err = released(plan, keepFolders); err != nil {
		return nil, err
	}
	for i, col := range s.columns {
		if col.dict != nil {
			s.dicts = true
			s.noValues[i] = noRows(col.dict.ValueType)
		}
	}
	if s.head, err = schemaMessage(s.schema); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	src, ours := plan.Source.(*source)
	switch {
	case c.Path == "-":
		s.target, err = newSpool(c.stdout)
	case ours && src.Folder():
		ext := ".arrow"
		if s.format == formatStream {
			ext = ".arrows"
		}
		s.names = fileNames(src, c.Path, ext, keepFolders)
		s.target, err = newFolder(c.Path, ext)
	default:
		s.target, err = newFile(c.Path)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// fileNames returns the names of a folder's files. If the source's partition folders are
// not kept, their names, which are values, must not appear either; nor do names of
// objects, which may identify respondents.
func fileNames(src *source, to, ext string, keepFolders bool) []string {
	var names []string
	for i, st := range src.streams {
		name := st.file.Rel
		if e := path.Ext(name); slices.Contains(extensions, strings.ToLower(e)) {
			name = strings.TrimSuffix(name, e)
		}
		if len(src.PartitionKeys()) > 0 && !keepFolders || objectpath.Is(st.file.Path) || objectpath.Is(to) {
			name = fmt.Sprintf("part-%05d", i)
		}
		for slices.Contains(names, name+ext) {
			name += "_"
		}
		names = append(names, name+ext)
	}
	return names
}

// Write appends a block to the file of its stream, or to the one file.
func (s *sink) Write(ctx context.Context, e connectors.Encoded) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b := e.(*block)
	if err := s.advance(b.stream); err != nil {
		return err
	}
	return s.out.write(b)
}

// advance opens the file of a stream; the files before it, which have no records, are
// created too.
func (s *sink) advance(stream int) error {
	if s.names == nil {
		stream = 0
	}
	for s.stream < stream {
		if s.out != nil {
			if err := s.out.end(); err != nil {
				return err
			}
			s.out = nil
		}
		name := ""
		if s.names != nil {
			name = s.names[s.stream+1]
		}
		w, err := s.target.open(name)
		if err != nil {
			return err
		}
		s.stream++
		if s.out, err = s.begin(w); err != nil {
			return err
		}
	}
	return nil
}

// Finish ends and syncs all files; a source without records gives files without
// records.
func (s *sink) Finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.ended {
		return nil
	}
	if err := s.advance(max(len(s.names)-1, 0)); err != nil {
		return err
	}
	if err := s.out.end(); err != nil {
		return err
	}
	s.ended = true
	return s.target.finish()
}

// Abilities implements connectors.Sink.
func (s *sink) Abilities() connectors.SinkAbilities {
	return connectors.SinkAbilities{Content: s.target.Content}
}

// Commit gives the release its name.
func (s *sink) Commit() error {
	if !s.ended {
		return errors.New("a release that is not finished cannot be committed")
	}
	return s.target.commit()
}

// Abort removes everything that has not been published.
func (s *sink) Abort() error { return s.target.abort() }

// oneFile is a release that is a file.
type oneFile struct{ *publish.File }

func newFile(path string) (target, error) {
	f, err := publish.Create(path, publish.Public)
	if err != nil {
		return nil, err
	}
	return oneFile{f}, nil
}

func (f oneFile) open(string) (io.Writer, error) { return f.File, nil }
func (f oneFile) finish() error                  { return f.File.Finish() }
func (f oneFile) commit() error                  { return f.File.Commit() }
func (f oneFile) abort() error                   { return f.File.Abort() }

// folder is a release that is a folder.
type folder struct {
	*publish.Dir
	file publish.Part
}

func newFolder(path, ext string) (target, error) {
	d, err := publish.CreateDir(path, ext)
	if err != nil {
		return nil, err
	}
	return &folder{Dir: d}, nil
}

func (f *folder) open(name string) (io.Writer, error) {
	if err := f.settle(); err != nil {
		return nil, err
	}
	file, err := f.Dir.Create(name)
	f.file = file
	return file, err
}

// settle syncs and closes the current file.
func (f *folder) settle() error {
	if f.file == nil {
		return nil
	}
	err := f.Dir.Settle(f.file)
	f.file = nil
	return err
}

func (f *folder) finish() error {
	if err := f.settle(); err != nil {
		return err
	}
	return f.Dir.Settled()
}

func (f *folder) commit() error { return f.Dir.Commit() }

func (f *folder) abort() error {
	if f.file != nil {
		f.file.Close() // it is removed
		f.file = nil
	}
	return f.Dir.Abort()
}

// spool stores the output for standard output until the release is complete and has
// passed the gate: a file without a name, which disappears with the process.
type spool struct {
	file   *os.File
	stdout io.Writer
}

func newSpool(stdout io.Writer) (target, error) {
	if stdout == nil {
		stdout = os.Stdout
	}
	f, err := os.CreateTemp("", "sdlfilter-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &spool{f, stdout}, nil
}

func (s *spool) open(string) (io.Writer, error) { return s.file, nil }
func (s *spool) finish() error                  { return nil }

// Content digests the spool, which has no name.
func (s *spool) Content(ctx context.Context) (*publish.Content, error) {
	file, err := publish.Digest(ctx, s.file)
	return &publish.Content{Files: []publish.FileContent{file}}, err
}

func (s *spool) commit() error {
	if s.file == nil {
		return nil
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(s.stdout, s.file); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return s.abort()
}

func (s *spool) abort() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}
