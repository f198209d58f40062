package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// createObject begins an object. Its requests are repeated a limited number of times; Abort
// ends those that are under way.
func createObject(p string, mode Mode) (*File, error) {
	name, err := objectName(p)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	b, err := objects.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	w, err := objects.NewWriter(ctx, b, name.Key, false)
	if err != nil {
		return nil, withName(p, err)
	}
	return &File{path: objectpath.Clean(p), mode: mode, object: w}, nil
}

func objectName(p string) (objectpath.Name, error) {
	if wrong := objectpath.Problem(p); wrong != "" {
		return objectpath.Name{}, fmt.Errorf("the path %s", wrong)
	}
	return objectpath.Parse(p)
}

// withName adds the name of the object to an error of object storage.
func withName(p string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, objects.ErrCondition):
		return fmt.Errorf("%s: %w: somebody else has written or removed it meanwhile, and it stays as it is",
			objectpath.Clean(p), err)
	}
	return fmt.Errorf("%s: %w", objectpath.Clean(p), err)
}

// Hold leaves an object complete and without a name; another process gives it its name with
// Dir.Take.
func (f *File) Hold() (json.RawMessage, error) {
	if f.object == nil {
		return nil, fmt.Errorf("%s: is a file, which gets its name from no other process", f.path)
	}
	held, err := f.object.Hold()
	if err != nil {
		return nil, withName(f.path, err)
	}
	return json.Marshal(held)
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	if f.object != nil {
		n, err := f.object.Write(p)
		return n, withName(f.path, err)
	}
	return f.sequential.Write(p)
}

// Sync makes sure that all that was written so far survives a crash. Nothing can be added to
// an object after it.
func (f *File) Sync() error {
	if f.object != nil {
		return withName(f.path, f.object.Finish())
	}
	return f.File.Sync()
}

// Exists reports whether a file, folder or object has a name. If that cannot be found out it
// returns false: it is for messages.
func Exists(ctx context.Context, p string) bool {
	_, err := ContentInfo(ctx, p)
	return err == nil
}

// ContentInfo is the error of what is not there, or cannot be looked at; folder tells a
// folder.
func ContentInfo(ctx context.Context, p string) (folder bool, err error) {
	if !objectpath.Is(p) {
		return statFolder(p)
	}
	name, err := objectName(p)
	if err != nil {
		return false, err
	}
	b, err := objects.Open(ctx, name)
	if err != nil {
		return false, err
	}
	if !strings.HasSuffix(name.Key, "/") {
		if _, err := b.Head(ctx, name.Key); !errors.Is(err, objects.ErrAbsent) {
			return false, withName(p, err)
		}
	}
	err = b.List(ctx, strings.TrimSuffix(name.Key, "/")+"/", func(objects.Info) error { return errFound })
	switch {
	case errors.Is(err, errFound):
		return true, nil
	case err == nil:
		err = fs.ErrNotExist
	}
	return false, withName(p, err)
}

var errFound = errors.New("found")

func replaceObject(p string, data []byte) error {
	name, err := objectName(p)
	if err != nil {
		return err
	}
	ctx := context.Background()
	b, err := objects.Open(ctx, name)
	if err != nil {
		return err
	}
	return withName(p, objects.PutWhole(ctx, b, name.Key, data, objects.Condition{}))
}

// List returns the files of a folder, or the objects right below it, but for those whose
// name begins with a point, in the order of their names. An object folder that is not there
// has none.
func List(ctx context.Context, folder string) (paths []string, err error) {
	if !objectpath.Is(folder) {
		entries, err := os.ReadDir(folder)
		for _, e := range entries {
			if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
				paths = append(paths, filepath.Join(folder, e.Name()))
			}
		}
		return paths, err
	}
	name, err := objectName(folder)
	if err != nil {
		return nil, err
	}
	b, err := objects.Open(ctx, name)
	if err != nil {
		return nil, withName(folder, err)
	}
	name.Key = strings.TrimSuffix(name.Key, "/") + "/"
	err = b.List(ctx, name.Key, func(o objects.Info) error {
		if rel := strings.TrimPrefix(o.Key, name.Key); rel != "" && !strings.Contains(rel, "/") && rel[0] != '.' {
			paths = append(paths, name.String()+rel)
		}
		return nil
	})
	return paths, withName(folder, err)
}

// contentOfObjects digests an object, or a release in parts, which its manifest lists.
func contentOfObjects(ctx context.Context, p string) (*Content, error) {
	folder, err := ContentInfo(ctx, p)
	if err != nil {
		return nil, err
	}
	name, _ := objectpath.Parse(p)
	b, err := objects.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	c := &Content{Path: objectpath.Clean(p), Folder: folder}
	if !folder {
		file, err := digestObject(ctx, b, name.Key, "")
		c.Files = []FileContent{file}
		return c, withName(p, err)
	}
	prefix := strings.TrimSuffix(name.Key, "/") + "/"
	m, err := manifestOf(ctx, b, prefix)
	if err != nil {
		return nil, withName(p, err)
	}
	if m.ETag == "" || m.Manifest == nil {
		return nil, fmt.Errorf("%s: is no release of this program: it has no %s that names its parts", objectpath.Clean(p),
			Success)
	}
	for _, part := range m.Parts {
		file, err := digestObject(ctx, b, prefix+part.Name, part.Name)
		if err != nil && !errors.Is(err, objects.ErrAbsent) {
			return nil, withName(p, err)
		}
		if err == nil {
			c.Files = append(c.Files, file)
		}
	}
	slices.SortFunc(c.Files, func(a, b FileContent) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

func digestObject(ctx context.Context, b objects.Bucket, key, name string) (FileContent, error) {
	info, err := b.Head(ctx, key)
	if err != nil {
		return FileContent{}, err
	}
	r := objects.NewReader(ctx, b, info)
	defer r.Close()
	r.Want(objects.Extent{To: info.Size})
	h := sha256.New()
	n, err := io.Copy(h, r)
	return FileContent{Name: name, Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// manifest is a manifest and the ETag under which it was found; "" where there is none.
type manifest struct {
	*Manifest
	ETag     string
	Modified time.Time // by the server's clock
}

// manifestOf reads the manifest of the release below a prefix. Manifest is nil if there is
// none, or one of another program.
func manifestOf(ctx context.Context, b objects.Bucket, prefix string) (m manifest, err error) {
	info, err := b.Head(ctx, prefix+Success)
	if errors.Is(err, objects.ErrAbsent) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	m.ETag, m.Modified = info.ETag, info.Modified
	if info.Size > MostSuccess {
		return m, nil
	}
	r := objects.NewReader(ctx, b, info)
	defer r.Close()
	text := make([]byte, info.Size)
	if _, err := r.ReadAt(text, 0); err != nil {
		return m, err
	}
	m.Manifest, err = ReadManifest(text)
	return m, err
}

// partName is the name of a part: the name in a folder of files, with the ID of this writing,
// so that no part replaces one of an earlier release.
func partName(name, mark string) string {
	dir, base := path.Split(name)
	stem, ext, _ := strings.Cut(base, ".")
	return dir + stem + "-" + mark + "." + ext
}
