package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Content is what a release holds, a file or a folder of them.
type Content = connectors.Content

// FileContent is the content of one file.
type FileContent = connectors.FileContent

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// Content digests the file, which everything has been written to.
func (f *File) Content(ctx context.Context) (*Content, error) {
	c := &Content{Path: f.path}
	if f.object != nil {
		size, digest := f.object.Sum()
		c.Files = []FileContent{{Bytes: size, SHA256: digest}}
		return c, nil
	}
	if f.device {
		c.Path = ""
	}
	file, known := f.content()
	var err error
	if !known {
		file, err = Digest(ctx, f.File)
	}
	c.Files = []FileContent{file}
	return c, err
}

// pieces are the buffers of Digest, which are used again: a release may have thousands of
// small files.
var pieces = sync.Pool{New: func() any { return new([1 << 20]byte) }}

// Digest reads an open file from its beginning, whatever its present offset.
func Digest(ctx context.Context, f *os.File) (c FileContent, err error) {
	h, buf := sha256.New(), pieces.Get().(*[1 << 20]byte)
	defer pieces.Put(buf)
	c.Bytes, err = io.CopyBuffer(h, &interruptible{ctx, io.NewSectionReader(f, 0, 1<<62)}, buf[:])
	c.SHA256 = sum(h)
	return c, err
}

// interruptible is a reader that ends with its context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// Content digests the folder's files, which are all written and closed.
func (d *Dir) Content(ctx context.Context) (*Content, error) {
	if d.objects != nil {
		c := d.objects.content()
		c.Path = d.path
		return c, nil
	}
	if err := d.Settled(); err != nil {
		return nil, err
	}
	if !d.ours() {
		return nil, errReplaced(d.temp)
	}
	c, err := contentOfFolder(ctx, d.temp, d.knownContent)
	if err != nil {
		return nil, err
	}
	c.Path = d.path
	return c, nil
}

// ContentOf digests what is under a name: a file or a folder of files.
func ContentOf(ctx context.Context, path string) (*Content, error) {
	if objectpath.Is(path) {
		return contentOfObjects(ctx, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return contentOfFolder(ctx, path, nil)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: is no regular file and no folder, so what it holds cannot be compared", path)
	}
	f, err := system.openFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer system.close(f)
	file, err := Digest(ctx, f)
	return &Content{Path: path, Files: []FileContent{file}}, err
}

// contentOfFolder digests as many files at once as there are processors: a commit of shards
// has not read the release. It does not read files whose digest is known.
func contentOfFolder(ctx context.Context, root string, known map[string]FileContent) (*Content, error) {
	c := &Content{Path: root, Folder: true}
	var unread []FileContent
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if file, ok := known[rel]; ok {
			info, err := e.Info()
			if err == nil && info.Size() == file.Bytes && info.Mode().IsRegular() {
				c.Files = append(c.Files, file)
				return nil
			}
		}
		unread = append(unread, FileContent{Name: filepath.ToSlash(rel)})
		return err
	})
	if err != nil {
		return c, err
	}
	for some := range slices.Chunk(unread, runtime.GOMAXPROCS(0)) {
		if err := digestAll(ctx, root, some); err != nil {
			return c, err
		}
	}
	c.Files = append(c.Files, unread...)
	slices.SortFunc(c.Files, func(a, b FileContent) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// digestAll digests several files of a folder at once and returns the first error.
func digestAll(ctx context.Context, root string, files []FileContent) error {
	var all sync.WaitGroup
	errs := make([]error, len(files))
	opened := make([]*os.File, 0, len(files))
	for i := range files {
		f,
			err := system.openFile(filepath.Join(root, filepath.FromSlash(files[i].Name)),
			os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			errs[i] = err
			break
		}
		opened = append(opened, f)
		all.Go(func() {
			defer bug.Guard()
			name := files[i].Name
			files[i], errs[i] = Digest(ctx, f)
			files[i].Name = name
		})
	}
	all.Wait()
	for _, f := range opened {
		errs = append(errs, system.close(f))
	}
	if first := slices.IndexFunc(errs, func(err error) bool { return err != nil }); first >= 0 {
		return errs[first]
	}
	return nil
}
