package publish

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// mostRead is the size, in bytes, of the largest file that is read as a whole from object
// storage.
const mostRead = 1 << 30

// ReadFile reads a whole file, or object.
func ReadFile(ctx context.Context, p string) ([]byte, error) {
	if !objectpath.Is(p) {
		return os.ReadFile(p)
	}
	r, err := Open(ctx, p)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Size() > mostRead {
		return nil, fmt.Errorf("%s: has %d bytes, more than is read at once", objectpath.Clean(p), r.Size())
	}
	return r.Between(0, r.Size())
}

// Opened is a file, or an object, of which parts are read.
type Opened struct {
	io.ReaderAt
	io.Closer
	path string
	size int64
}

// Open opens a file, or object, until ctx ends.
func Open(ctx context.Context, p string) (*Opened, error) {
	if !objectpath.Is(p) {
		f, err := os.Open(p)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		return &Opened{f, f, p, info.Size()}, nil
	}
	name, err := objectName(p)
	if err != nil {
		return nil, err
	}
	b, err := objects.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	info, err := b.Head(ctx, name.Key)
	if err != nil {
		return nil, withName(p, err)
	}
	r := objects.NewReader(ctx, b, info)
	return &Opened{r, r, p, info.Size}, nil
}

// Size is the number of bytes.
func (f *Opened) Size() int64 { return f.size }

// Between returns the bytes from one to the one before another; io.ErrUnexpectedEOF if there are fewer.
func (f *Opened) Between(from, to int64) ([]byte, error) {
	if from < 0 || to < from || to > f.size {
		return nil, io.ErrUnexpectedEOF
	}
	if r, is := f.ReaderAt.(*objects.Reader); is {
		r.Want(objects.Extent{From: from, To: to})
	}
	text := make([]byte, to-from)
	if n, err := f.ReadAt(text, from); n < len(text) {
		if objectpath.Is(f.path) {
			err = withName(f.path, err)
		}
		return nil, err
	}
	return text, nil
}
