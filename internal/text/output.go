package text

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/compress"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// OutputConfig says where output goes.
type OutputConfig struct {
	Path       string
	Extensions []string // that tell a file from a folder; the first is that of the files in one (".csv")
	Codec      compress.Codec
	Stdout     io.Writer               // for the path -; nil: os.Stdout
	Begin      func(stream int) []byte // what a file begins with
	Streams    int                     // of the source
	Folder     bool                    // the source is a folder
}

// Folder reports whether the output is a folder: where the path ends in a
// separator or is a folder already, and where it has no extension of a file and
// the source is a folder or has several streams.
func (c OutputConfig) folder() bool {
	if c.Path == "-" {
		return false
	}
	if os.IsPathSeparator(c.Path[len(c.Path)-1]) {
		return true
	}
	if folder, err := publish.ContentInfo(context.Background(), c.Path); err == nil {
		return folder
	}
	known := compress.Extensions(append([]string{".txt"}, c.Extensions...)...)
	named := slices.ContainsFunc(known, func(e string) bool { return strings.HasSuffix(strings.ToLower(c.Path), e) })
	return !named && (c.Folder || c.Streams > 1)
}

// Output is the file, the folder or the stdout that a sink writes to. A folder
// gets one file for each stream, part-00000 and so on: the names of the source's
// files may identify respondents. What goes to stdout is spooled to a file
// without a name, and copied at Commit: a release that is withheld never leaves.
type Output struct {
	config OutputConfig
	file   *publish.File
	dir    *publish.Dir
	spool  *os.File
	part   io.Writer      // the file being written
	inDir  publish.Part   // part, where it is a file of dir
	w      io.WriteCloser // nil: none has been begun
	stream int            // the next stream to begin a file for
	ahead  int64          // bytes written to part
	done   bool
}

// flushEvery is how often the kernel is asked to start writing out, so that the
// sync at the end has little left to wait for.
const flushEvery = 16 << 20

// CreateOutput prepares the output under a temporary name.
func CreateOutput(c OutputConfig) (*Output, error) {
	o := &Output{config: c}
	var err error
	switch {
	case c.Path == "-":
		o.spool, err = os.CreateTemp("", ".sdlfilter-*")
		if err == nil {
			err = os.Remove(o.spool.Name())
		}
		o.part = o.spool
	case c.folder():
		o.dir, err = publish.CreateDir(c.Path, o.extension())
	default:
		o.file, err = publish.Create(c.Path, publish.Public)
		if err == nil {
			o.part = o.file
		}
	}
	if err != nil {
		return nil, errors.Join(err, o.Abort())
	}
	return o, nil
}

func (o *Output) extension() string { return o.config.Extensions[0] + o.config.Codec.Extension() }

// Write appends text that comes from a stream.
func (o *Output) Write(ctx context.Context, stream int, p []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := o.beginUpTo(stream); err != nil {
		return err
	}
	_, err := o.w.Write(p)
	return o.withName(err)
}

func (o *Output) withName(err error) error {
	if err == nil {
		return nil
	}
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", o.config.Path, err)
}

// beginUpTo begins the files of all streams up to the given one: one that has
// no record has a file too.
func (o *Output) beginUpTo(stream int) error {
	for o.stream <= stream {
		first := o.stream == 0
		if o.dir != nil {
			if err := o.endPart(); err != nil {
				return err
			}
			part, err := o.dir.Create(fmt.Sprintf("part-%05d%s", o.stream, o.extension()))
			if err != nil {
				return o.withName(err)
			}
			o.part, o.inDir = part, part
		}
		if o.dir != nil || first {
			w, err := compress.NewWriter((*flushing)(o), o.config.Codec)
			if err != nil {
				return err
			}
			o.w, o.ahead = w, 0
			if _, err := o.w.Write(o.config.Begin(o.stream)); err != nil {
				return o.withName(err)
			}
		}
		o.stream++
	}
	return nil
}

// flushing writes to part and has the kernel write out in the background.
type flushing Output

func (f *flushing) Write(p []byte) (int, error) {
	n, err := f.part.Write(p)
	before := f.ahead / flushEvery
	f.ahead += int64(n)
	if after := f.ahead / flushEvery; after > before && f.spool == nil {
		publish.WriteBack(f.part, before*flushEvery, (after-before)*flushEvery)
	}
	return n, err
}

// endPart completes the compressed stream of the current file, and in a folder
// has the file synced and closed.
func (o *Output) endPart() error {
	if o.w == nil {
		return nil
	}
	err := o.w.Close()
	o.w = nil
	if o.dir != nil {
		err = errors.Join(err, o.dir.Settle(o.inDir))
		o.part, o.inDir = nil, nil
	}
	return o.withName(err)
}

// Finish completes and syncs everything; streams is how many the source has.
func (o *Output) Finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := o.beginUpTo(max(o.config.Streams, 1) - 1); err != nil {
		return err
	}
	if err := o.endPart(); err != nil {
		return err
	}
	switch {
	case o.file != nil:
		return o.withName(o.file.Sync())
	case o.dir != nil:
		return o.withName(o.dir.Settled())
	}
	return nil
}

// Abilities are those of a sink of files.
func (o *Output) Abilities() connectors.SinkAbilities {
	return connectors.SinkAbilities{Content: o.Content, Hold: o.Hold}
}

// Content digests what Finish has completed.
func (o *Output) Content(ctx context.Context) (*publish.Content, error) {
	switch {
	case o.spool != nil:
		file, err := publish.Digest(ctx, o.spool)
		return &publish.Content{Files: []publish.FileContent{file}}, err
	case o.dir != nil:
		return o.dir.Content(ctx)
	}
	return o.file.Content(ctx)
}

// Commit gives the output its name, or copies it to stdout.
func (o *Output) Commit() error {
	if o.done {
		return nil
	}
	var err error
	switch {
	case o.spool != nil:
		if _, err = o.spool.Seek(0, io.SeekStart); err == nil {
			out := o.config.Stdout
			if out == nil {
				out = os.Stdout
			}
			_, err = io.Copy(out, o.spool)
		}
		if err == nil {
			err = o.spool.Close()
		}
		if err != nil {
			err = fmt.Errorf("stdout: %w", err)
		}
	case o.dir != nil:
		err = o.dir.Commit()
	default:
		err = o.file.Commit()
	}
	o.done = err == nil
	return err
}

// Hold keeps an object without its name.
func (o *Output) Hold() (json.RawMessage, error) {
	if o.file == nil || o.done {
		return nil, fmt.Errorf("%s: can get its name from no other process", CleanPath(o.config.Path))
	}
	held, err := o.file.Hold()
	o.done = err == nil
	return held, err
}

// Abort removes what has no final name yet.
func (o *Output) Abort() error {
	if o.done {
		return nil
	}
	o.done = true
	if o.w != nil {
		o.w.Close() // ends its goroutine; what it could not write is removed anyway
		o.w = nil
	}
	switch {
	case o.spool != nil:
		return o.spool.Close()
	case o.dir != nil:
		var err error
		if o.inDir != nil {
			err = o.inDir.Close()
		}
		return errors.Join(err, o.dir.Abort())
	case o.file != nil:
		return o.file.Abort()
	}
	return nil
}

// CleanPath is the final name for messages.
func CleanPath(path string) string {
	if path == "-" {
		return "stdout"
	}
	return publish.CleanPath(path)
}
