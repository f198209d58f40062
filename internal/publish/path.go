package publish

import (
	"path/filepath"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// CleanPath is a path as messages and reports name it.
func CleanPath(p string) string {
	if objectpath.Is(p) {
		return objectpath.Clean(p)
	}
	return filepath.Clean(p)
}

// FromFolderOf returns a path relative to the folder of a file, with slashes, so that both can
// be moved together; the whole path if there is no relative one.
func FromFolderOf(file, p string) string {
	in, out := objectpath.Is(file), objectpath.Is(p)
	switch {
	case in && out:
		return fromObject(objectpath.Clean(file), objectpath.Clean(p))
	case out:
		return objectpath.Clean(p)
	case in:
		if abs, err := filepath.Abs(p); err == nil {
			p = abs
		}
		return filepath.ToSlash(p)
	}
	absDir, err1 := filepath.Abs(filepath.Dir(file))
	absPath, err2 := filepath.Abs(p)
	if rel, err := filepath.Rel(absDir, absPath); err1 == nil && err2 == nil && err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(p)
}

// fromObject is a path from the folder of an object to one of the same bucket.
func fromObject(file, p string) string {
	a, err1 := objectpath.Parse(file)
	b, err2 := objectpath.Parse(p)
	if err1 != nil || err2 != nil || a.Scheme != b.Scheme || a.Bucket != b.Bucket {
		return p
	}
	rel, err := filepath.Rel(filepath.Dir("/"+a.Key), "/"+b.Key)
	if err != nil {
		return p
	}
	return filepath.ToSlash(rel)
}

// At is what FromFolderOf gave, as a path.
func At(file, rel string) string {
	switch {
	case objectpath.Is(rel):
		return rel
	case objectpath.Is(file) && !strings.HasPrefix(rel, "/"):
		if n, err := objectpath.Parse(file); err == nil {
			n.Key = strings.TrimPrefix(filepath.ToSlash(filepath.Join(filepath.Dir("/"+n.Key), rel)), "/")
			return n.String()
		}
	}
	if at := filepath.FromSlash(rel); filepath.IsAbs(at) || objectpath.Is(file) {
		return at
	}
	return filepath.Join(filepath.Dir(file), filepath.FromSlash(rel))
}
