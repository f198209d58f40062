package publish

import (
	"path/filepath"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// CleanPath is a path as messages and reports name it.
func CleanPath(p string) string {
	if objects.Is(p) {
		return objects.Clean(p)
	}
	return filepath.Clean(p)
}

// FromFolderOf returns a path relative to the folder of a file, with slashes, so that both can
// be moved together; the whole path if there is no relative one.
func FromFolderOf(file, p string) string {
	in, out := objects.Is(file), objects.Is(p)
	switch {
	case in && out:
		return fromObject(objects.Clean(file), objects.Clean(p))
	case out:
		return objects.Clean(p)
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
	a, err1 := objects.Parse(file)
	b, err2 := objects.Parse(p)
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
	case objects.Is(rel):
		return rel
	case objects.Is(file) && !strings.HasPrefix(rel, "/"):
		if n, err := objects.Parse(file); err == nil {
			n.Key = strings.TrimPrefix(filepath.ToSlash(filepath.Join(filepath.Dir("/"+n.Key), rel)), "/")
			return n.String()
		}
	}
	if at := filepath.FromSlash(rel); filepath.IsAbs(at) || objects.Is(file) {
		return at
	}
	return filepath.Join(filepath.Dir(file), filepath.FromSlash(rel))
}
