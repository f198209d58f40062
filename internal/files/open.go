package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Handle is an open file, or an object that is read like one.
type Handle interface {
	io.Reader
	io.Seeker
	io.ReaderAt
	io.Closer
}

// ErrNotRegular is the error of a file that cannot be read twice, nor from its end.
var ErrNotRegular = errors.New("is not a regular file")

// Open opens a file and stamps it before its first byte is read. The error names the file by its
// label; it is ErrNotRegular if the path is not a regular file.
func (f File) Open() (Handle, Stamp, error) {
	file, stamp, regular, err := f.OpenAny()
	if err == nil && !regular {
		err = errors.Join(f.Err(ErrNotRegular), file.Close())
	}
	return file, stamp, err
}

// OpenAny is Open of what may be no regular file: a pipe, which has no stamp.
func (f File) OpenAny() (opened Handle, stamp Stamp, regular bool, err error) {
	if f.object != nil {
		return f.object.open(), f.object.stamp(), true, nil
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, Stamp{}, false, f.Err(err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return file, Stamp{}, false, nil
	}
	if err == nil {
		stamp, err = StampOf(file)
	}
	if err != nil {
		return nil, Stamp{}, false, errors.Join(f.Err(err), file.Close())
	}
	return file, stamp, true, nil
}

// ErrNotOpened is the error of a file of a source that was opened without it.
var ErrNotOpened = errors.New("was not opened with the others")

// Reopen opens the file again, for a pass, and makes sure that it is the one that was
// stamped; same, which may be nil, looks whether it holds what it held then.
func (f File) Reopen(stamp Stamp, same func(io.ReaderAt) error) (Handle, error) {
	file, err := f.reopen(stamp)
	if err != nil {
		return nil, f.Err(err)
	}
	if same != nil {
		err = same(file)
	}
	if err != nil {
		file.Close()
		return nil, f.Err(err)
	}
	return file, nil
}

func (f File) reopen(stamp Stamp) (Handle, error) {
	if f.object != nil {
		return f.object.open(), nil // each read of it names its ETag
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	if err := stamp.Holds(file); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Err gives an error the file's label and keeps the path out of it: the folders of a
// partitioned source hold values.
func (f File) Err(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", f.Label, err)
}

// At reports whether a path is that of one of the files, or of a
// folder between one of them and the root.
func (s *Set) At(path string) (bool, error) {
	if here := objectpath.Is(s.path); here || objectpath.Is(path) {
		return here && objectpath.Is(path) && s.objectAt(path), nil
	}
	out, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, f := range s.Files {
		for p := f.Path; ; p = filepath.Dir(p) {
			if in, err := os.Stat(p); err == nil && os.SameFile(in, out) {
				return true, nil
			}
			if p == s.Root || filepath.Dir(p) == p {
				break
			}
		}
	}
	return false, nil
}

// PartitionFields are the columns that the folders' keys stand for.
func (s *Set) PartitionFields() []microdata.Field {
	var fields []microdata.Field
	for i, k := range s.PartitionKeys {
		null := false
		for _, f := range s.Files {
			null = null || f.Partitions[i].Null
		}
		fields = append(fields, microdata.Field{Name: k, Type: arrow.BinaryTypes.String, Nullable: null})
	}
	return fields
}

// Watch is the files of a source, which are opened anew for every pass; a nil Watch is that of one that is
// read from a pipe.
type Watch struct {
	set    *Set
	stamps []Stamp
	reopen func(i int) (Handle, error)
}

// Watching watches the files of a set with their stamps. reopen opens the i-th of them
// with File.Reopen.
func Watching(set *Set, stamps []Stamp, reopen func(i int) (Handle, error)) *Watch {
	return &Watch{set, stamps, reopen}
}

// Abilities are those of a source of files.
func (w *Watch) Abilities() connectors.SourceAbilities {
	if w == nil {
		return OfPipe
	}
	return connectors.SourceAbilities{
		Unchanged: w.unchanged, Changed: func() time.Time { return Latest(w.stamps) }, At: w.set.At,
		PartitionKeys: w.PartitionKeys, Folder: w.Folder,
	}
}

// OfPipe are the abilities of a source that is read from a pipe.
var OfPipe = connectors.SourceAbilities{
	Unchanged: func() error { return nil }, At: connectors.NoFiles, PartitionKeys: (*Watch)(nil).PartitionKeys,
	Folder: (*Watch)(nil).Folder,
}

func (w *Watch) unchanged() error {
	if err := Each(len(w.set.Files), func(i int) error {
		if w.stamps[i] == (Stamp{}) {
			return nil // it was not opened
		}
		file, err := w.reopen(i)
		if err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return w.set.Files[i].Err(err)
		}
		return nil
	}); err != nil {
		return err
	}
	return w.set.Unchanged(w.stamps)
}

// Folder reports whether the path stands for a folder of files.
func (w *Watch) Folder() bool { return w != nil && w.set.Folder }

// PartitionKeys returns the keys by which the folders of the files are named.
func (w *Watch) PartitionKeys() []string {
	if w == nil {
		return nil
	}
	return w.set.PartitionKeys
}
