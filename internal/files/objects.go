package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// object is a file of a set that is an object.
type object struct {
	ctx    context.Context
	bucket objects.Bucket
	info   objects.Info
}

func (o *object) open() Handle { return &objectHandle{objects.NewReader(o.ctx, o.bucket, o.info)} }

func (o *object) stamp() Stamp {
	return Stamp{size: o.info.Size, etag: o.info.ETag, modified: o.info.Modified, changed: o.info.Modified}
}

// objectHandle reads an object, and calls a change what is one.
type objectHandle struct{ *objects.Reader }

func (h *objectHandle) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	return n, changed(err)
}

func (h *objectHandle) ReadAt(p []byte, off int64) (int, error) {
	n, err := h.Reader.ReadAt(p, off)
	return n, changed(err)
}

func changed(err error) error {
	switch {
	case errors.Is(err, objects.ErrCondition):
		return fmt.Errorf("%w: it has another ETag", ErrChanged)
	case errors.Is(err, objects.ErrAbsent):
		return fmt.Errorf("%w: it is gone", ErrChanged)
	}
	return err
}

// Extent is a stretch of a file, [From, To).
type Extent = objects.Extent

// Want announces what will be read of an open file, each extent from its beginning to its
// end and several at once: an object's are then fetched ahead, those of a file by the
// system.
func Want(h any, extents ...Extent) {
	if o, ok := h.(*objectHandle); ok {
		o.Want(extents...)
	}
}

// stampNow stamps what is under the file's name now. A folder of objects has just been
// listed, with the stamps of all.
func (f File) stampNow() (Stamp, error) {
	if f.object == nil {
		return statPath(f.Path)
	}
	info := f.object.info
	if !f.object.listed() {
		var err error
		if info, err = f.object.bucket.Head(f.object.ctx, info.Key); err != nil {
			return Stamp{}, err
		}
	}
	return (&object{info: info}).stamp(), nil
}

// findObjects is find of objects. What is listed tells nothing more than Head would, so
// that one list does for a folder.
func findObjects(ctx context.Context, p string, extensions []string) (*Set, error) {
	name, err := objectpath.Parse(p)
	if err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	b, err := objects.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	at := objectpath.Name{Scheme: name.Scheme, Bucket: name.Bucket}
	if name.Key != "" && !strings.HasSuffix(name.Key, "/") {
		info, err := b.Head(ctx, name.Key)
		if err == nil {
			dir, base := path.Split(name.Key)
			at.Key = strings.TrimSuffix(dir, "/")
			return &Set{Root: root(at), Files: []File{{Path: p, Rel: base, Label: p, object: &object{ctx, b, info}}}}, nil
		}
		if !errors.Is(err, objects.ErrAbsent) {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	segments := []string(nil)
	if at.Key = strings.TrimSuffix(name.Key, "/"); hasMeta(at.Key) {
		parts := strings.Split(at.Key, "/")
		i := slices.IndexFunc(parts, hasMeta)
		at.Key = strings.Join(parts[:i], "/")
		segments = slices.CompactFunc(parts[i:], func(a, b string) bool { return a == "**" && b == "**" })
	}
	for _, s := range segments {
		if _, err := path.Match(s, ""); err != nil {
			return nil, fmt.Errorf("%s: not a valid glob: %q has an unfinished [ or \\", p, s)
		}
	}
	t, err := newTree(ctx, b, at.Key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	w := walker{root: root(at), extensions: extensions, objects: t}
	if segments == nil {
		err = w.tree("")
	} else {
		err = w.glob("", segments)
	}
	switch {
	case err != nil:
		return nil, err
	case len(w.paths) > 0:
		return w.set()
	case segments != nil:
		return nil, fmt.Errorf("%s: no object matches", p)
	case len(t.all) > 0:
		return nil, fmt.Errorf("%s: the folder holds no data file (%s)", p, strings.Join(extensions, ", "))
	}
	return nil, fmt.Errorf("%s: no such object or folder", p)
}

func root(n objectpath.Name) string { return strings.TrimSuffix(n.String(), "/") }

// objectAt reports whether a path is that of one of the objects, or of a folder between
// one of them and the root.
func (s *Set) objectAt(p string) bool {
	p = objectpath.Clean(p)
	for _, f := range s.Files {
		if f.Path == p || objectpath.Below(p, f.Path) && (p == s.Root || objectpath.Below(s.Root, p)) {
			return true
		}
	}
	return false
}

// tree is the objects below a prefix, as folders.
type tree struct {
	all     map[string]*object // by their names below the prefix
	folders map[string][]entry
}

// newTree lists what lies below a key. A release that names its parts is those parts: what
// else lies there is left of runs that died, or about to be removed.
func newTree(ctx context.Context, b objects.Bucket, key string) (*tree, error) {
	t := &tree{all: map[string]*object{}, folders: map[string][]entry{}}
	prefix := ""
	if key != "" {
		prefix = key + "/"
	}
	err := b.List(ctx, prefix, func(info objects.Info) error {
		rel := strings.TrimPrefix(info.Key, prefix)
		if rel == "" || strings.HasSuffix(rel, "/") || strings.Contains(rel, "//") {
			return nil // what consoles call a folder, and what no path could name
		}
		info.Mark = listedMark
		t.all[rel] = &object{ctx, b, info}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := t.keepReleased(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for rel := range t.all {
		t.add(rel, false, seen)
	}
	for _, list := range t.folders {
		slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	}
	return t, nil
}

// listedMark says of an object's info that it is of a list, and as new as that.
const listedMark = "listed"

func (o *object) listed() bool { return o.info.Mark == listedMark }

// keepReleased leaves, of every folder with the manifest of a release, the parts that it
// names.
func (t *tree) keepReleased() error {
	for rel, o := range t.all {
		if path.Base(rel) != publish.Success || o.info.Size > publish.MostSuccess {
			continue
		}
		r := objects.NewReader(o.ctx, o.bucket, o.info)
		text := make([]byte, o.info.Size)
		_, err := r.ReadAt(text, 0)
		r.Close()
		if err != nil {
			return changed(err)
		}
		m, err := publish.ReadManifest(text)
		if err != nil {
			return fmt.Errorf("%s: %w", publish.Success, err)
		}
		if m == nil {
			continue // of another program
		}
		folder := strings.TrimSuffix(rel, publish.Success)
		parts := map[string]bool{}
		for _, p := range m.Parts {
			parts[folder+p.Name] = true
			if there := t.all[folder+p.Name]; there == nil || there.info.Size != p.Bytes || there.info.ETag != p.ETag {
				return fmt.Errorf(
					"the folder is a release that is not whole any more: a part that its %s names is gone or another one",
					publish.Success)
			}
		}
		for other := range t.all {
			if strings.HasPrefix(other, folder) && !parts[other] && other != rel {
				delete(t.all, other)
			}
		}
	}
	return nil
}

func (t *tree) add(rel string, dir bool, seen map[string]bool) {
	if dir && seen[rel] {
		return
	}
	seen[rel] = dir // an object may have the name of a folder
	folder, name := path.Split(rel)
	folder = strings.TrimSuffix(folder, "/")
	t.folders[folder] = append(t.folders[folder], entry{name, rel, dir})
	if folder != "" {
		t.add(folder, true, seen)
	}
}

func (t *tree) entries(rel string) []entry { return t.folders[rel] }

func (t *tree) object(rel string) *object {
	if t == nil {
		return nil
	}
	return t.all[rel]
}

// Stored is an open file as it is stored.
func Stored(h Handle, err error) (connectors.Stored, error) {
	if err != nil {
		return connectors.Stored{}, err
	}
	stored := connectors.Stored{ReaderAt: h, Closer: h}
	switch f := h.(type) {
	case *objectHandle:
		stored.Size, stored.ETag = f.Size(), f.ETag()
	case *os.File:
		info, err := f.Stat()
		if err != nil {
			return connectors.Stored{}, errors.Join(err, f.Close())
		}
		stored.Size = info.Size()
	}
	return stored, nil
}
