package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/compress"
	"github.com/sdlfilter/sdlfilter/internal/files"
)

// peekSize is how much of an input that cannot be read twice its types are
// found from.
const peekSize = 1 << 20

// Input is the files of a path, or one stream that can be read only once.
type Input struct {
	set    *files.Set
	files  []files.Handle // kept open so that every pass reads the same files
	stamps []files.Stamp
	once   *compress.Reader
	label  string
	codec  compress.Codec
	decode Decoder // nil: the text is UTF-8
	closer io.Closer
	// head is what was read of once to find the types, decompressed where it
	// was compressed, as UTF-8; text is what follows it, read by way of plain.
	head  []byte
	plain io.ReadCloser
	text  io.Reader
	taken bool
	mu    sync.Mutex
}

// OpenEncoded finds what path stands for: a file, folder or glob, or - for stdin.
// A path that is no regular file (a pipe) is read once, as stdin is. decode is for the
// encoding of the text, nil where it is UTF-8, as is what is read of the input.
func OpenEncoded(ctx context.Context, path string, stdin io.Reader, decode Decoder, extensions ...string) (*Input,
	error) {
	return OpenNeeded(ctx, path, stdin, decode, nil, extensions...)
}

// OpenNeeded is OpenEncoded of the first file and those that are needed; nil: all are. The
// others can be asked for by Stored alone.
func OpenNeeded(ctx context.Context, path string, stdin io.Reader, decode Decoder, needed func(stream int) bool,
	extensions ...string) (*Input, error) {
	if path == "-" {
		if stdin == nil {
			stdin = os.Stdin
		}
		return openOnce(ctx, stdin, nil, "stdin", decode)
	}
	set, err := files.Find(ctx, path, compress.Extensions(extensions...)...)
	if err != nil {
		return nil, err
	}
	in := &Input{set: set, decode: decode}
	for i, f := range set.Files {
		if i > 0 && needed != nil && !needed(i) {
			in.files, in.stamps = append(in.files, nil), append(in.stamps, files.Stamp{})
			continue
		}
		file, stamp, regular, err := f.OpenAny()
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		if !regular && len(set.Files) == 1 {
			return openOnce(ctx, file, file, f.Label, decode)
		}
		if !regular {
			return nil, errors.Join(f.Err(files.ErrNotRegular), file.Close(), in.Close())
		}
		in.files, in.stamps = append(in.files, file), append(in.stamps, stamp)
	}
	return in, nil
}

func openOnce(ctx context.Context, r io.Reader, owned io.Closer, label string, decode Decoder) (*Input, error) {
	in := &Input{once: compress.Ahead(r), label: label, closer: owned}
	in.once.WithContext(ctx)
	mark := make([]byte, 4)
	n, err := io.ReadFull(in.once, mark)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, errors.Join(fmt.Errorf("%s: %w", label, err), in.Close())
	}
	in.codec = compress.Sniff(mark[:n])
	in.plain = compress.NewReader(io.MultiReader(bytes.NewReader(mark[:n]), in.once), in.codec)
	in.text = in.plain
	if decode != nil {
		in.text = decode(in.plain)
	}
	in.head = make([]byte, peekSize)
	n, err = io.ReadFull(in.text, in.head)
	in.head = in.head[:n]
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, errors.Join(fmt.Errorf("%s: %w", label, err), in.Close())
	}
	return in, nil
}

// Streams returns the files' names for messages.
func (in *Input) Streams() []string {
	if in.once != nil {
		return []string{in.label}
	}
	names := make([]string, len(in.set.Files))
	for i, f := range in.set.Files {
		names[i] = f.Label
	}
	return names
}

// Opened reports whether a stream can be read: see OpenNeeded.
func (in *Input) Opened(stream int) bool { return in.once != nil || in.files[stream] != nil }

func (in *Input) streams() int {
	if in.once != nil {
		return 1
	}
	return len(in.set.Files)
}

// Abilities are those that all formats of text have.
func (in *Input) Abilities() connectors.SourceAbilities {
	if in.set == nil {
		return files.OfPipe
	}
	return connectors.SourceAbilities{
		Unchanged: in.unchanged, Changed: func() time.Time { return files.Latest(in.stamps) }, At: in.set.At,
		PartitionKeys: func() []string { return in.set.PartitionKeys }, Folder: in.Folder,
	}
}

// Folder reports whether the path stands for a folder of files.
func (in *Input) Folder() bool { return in.set != nil && in.set.Folder }

// unchanged is of connectors.SourceAbilities: both the open files and those that have
// their names are what they were.
func (in *Input) unchanged() error {
	if in.set == nil {
		return nil
	}
	for i, f := range in.files {
		if f == nil {
			continue
		}
		if err := in.stamps[i].Holds(f); err != nil {
			return in.set.Files[i].Err(err)
		}
	}
	return in.set.Unchanged(in.stamps)
}

// Rewindable reports whether a stream can be opened more than once.
func (in *Input) Rewindable() bool { return in.once == nil }

// Head returns the beginning of an input that can be read only once, and
// whether that is all of it.
func (in *Input) Head() (head []byte, all bool) { return in.head, len(in.head) < peekSize }

// Stream is one opened stream.
type Stream struct {
	io.Reader
	Stored func() int64 // bytes of the file read so far; nil where they are those of the text
	close  func() error
}

// Close ends what Open started. The input stays open.
func (s *Stream) Close() error { return s.close() }

// Open starts reading a stream from its beginning, decompressed.
func (in *Input) Open(ctx context.Context, i int) (*Stream, error) {
	if in.once != nil {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.taken {
			return nil, fmt.Errorf("%s: can be read only once", in.label)
		}
		in.taken = true
		in.once.WithContext(ctx)
		if r, ok := in.plain.(*compress.Reader); ok {
			r.WithContext(ctx)
		}
		return &Stream{Reader: io.MultiReader(bytes.NewReader(in.head), in.text), close: func() error { return nil }}, nil
	}
	file := in.files[i]
	if file == nil {
		return nil, in.set.Files[i].Err(files.ErrNotOpened)
	}
	files.Want(file, files.Extent{To: in.stamps[i].Size()})
	// Sections leave the file's own offset alone, so passes do not disturb one another.
	section := io.NewSectionReader(file, 0, 1<<62)
	codec := compress.Of(in.set.Files[i].Path)
	if codec == compress.None && in.decode == nil {
		return &Stream{Reader: section, close: func() error { return nil }}, nil
	}
	count := &counter{r: section}
	r := compress.NewReader(count, codec)
	st := &Stream{Reader: r, Stored: count.n.Load, close: r.Close}
	if in.decode != nil {
		st.Reader = in.decode(r)
	}
	return st, nil
}

// whole is the To of a part that reaches the end of its stream.
const whole = -1

// openPart opens the stretch of a stream that a part is; nil: all of it.
func (in *Input) openPart(ctx context.Context, i int, p *connectors.Part) (*Stream, error) {
	if p == nil || p.From == 0 && p.To == whole {
		return in.Open(ctx, i)
	}
	if in.files[i] == nil {
		return nil, in.set.Files[i].Err(files.ErrNotOpened)
	}
	if !in.cuttable(i) {
		return nil, fmt.Errorf("%s: %w: it is compressed, or not UTF-8", in.set.Files[i].Label, connectors.ErrIndivisible)
	}
	size, end := int64(1<<62), in.stamps[i].Size()
	if p.To != whole {
		size, end = p.To-p.From, p.To
	}
	files.Want(in.files[i], files.Extent{From: p.From, To: end})
	return &Stream{Reader: io.NewSectionReader(in.files[i], p.From, size), close: func() error { return nil }}, nil
}

// cuttable reports whether a stream can be read from its middle.
func (in *Input) cuttable(i int) bool {
	return in.once == nil && in.decode == nil && compress.Of(in.set.Files[i].Path) == compress.None
}

type counter struct {
	r io.Reader
	n atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// Close closes every file.
func (in *Input) Close() error {
	var errs []error
	for i := range in.files {
		if in.Opened(i) {
			errs = append(errs, in.files[i].Close())
		}
	}
	in.files = nil
	if in.plain != nil {
		errs = append(errs, in.plain.Close())
	}
	if in.once != nil {
		errs = append(errs, in.once.Close())
	}
	if in.closer != nil {
		errs = append(errs, in.closer.Close())
		in.closer = nil
	}
	return errors.Join(errs...)
}
