package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// pathOf is a location as the rest of the program names it: a path of this machine, or of an object. A location may
// hold values of records (those of partitions), so that errors do not repeat it.
func pathOf(location string) (string, error) {
	scheme, rest, has := strings.Cut(location, ":")
	switch {
	case !has || strings.Contains(scheme, "/"):
		if !filepath.IsAbs(location) {
			return "", errors.New("a location in the table's metadata is no absolute path")
		}
		return filepath.Clean(location), nil
	case scheme == "file":
		if after, host := strings.CutPrefix(rest, "//"); host {
			if !strings.HasPrefix(after, "/") {
				return "", errors.New("a location in the table's metadata is of another machine")
			}
			rest = after
		}
		if u, err := url.PathUnescape(rest); err == nil && !exists(rest) {
			rest = u // Java writes locations as URIs, others do not
		}
		if !filepath.IsAbs(rest) {
			return "", errors.New("a location in the table's metadata is no absolute path")
		}
		return filepath.Clean(rest), nil
	case scheme == "s3a" || scheme == "s3n":
		location = "s3:" + rest
	}
	if !objectpath.Is(location) {
		return "", fmt.Errorf("the table is stored under %s:, which this program does not read", scheme)
	}
	// What is a path from here on stands in errors.
	if strings.ContainsAny(location, "?#") {
		return "", errors.New("a location in the table's metadata has a question mark, as signed addresses have")
	}
	if _, err := objectpath.Parse(location); err != nil {
		return "", fmt.Errorf("a location in the table's metadata %w", err)
	}
	return location, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// join is a path below a folder of this machine, or of objects.
func join(root string, names ...string) string {
	if objectpath.Is(root) {
		return strings.TrimRight(root, "/") + "/" + strings.Join(names, "/")
	}
	return filepath.Join(append([]string{root}, names...)...)
}

// folderOf is the folder of a file, or of an object.
func folderOf(p string) string {
	if objectpath.Is(p) {
		return p[:strings.LastIndexByte(p, '/')]
	}
	return filepath.Dir(p)
}

// mostMetadata bounds a file of metadata, in bytes.
const mostMetadata = 1 << 30

// readAll reads a file of metadata. what names it in errors, which do not name its location.
func readAll(ctx context.Context, location, what string) ([]byte, error) {
	path, err := pathOf(location)
	if err != nil {
		return nil, err
	}
	text, err := readPath(ctx, path)
	if err != nil {
		var named *fs.PathError
		if errors.As(err, &named) {
			err = named.Err
		}
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return text, nil
}

func readPath(ctx context.Context, path string) ([]byte, error) {
	if !objectpath.Is(path) {
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("is not a regular file")
		}
		if err == nil && info.Size() > mostMetadata {
			err = fmt.Errorf("has more than %d bytes", mostMetadata)
		}
		if err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	}
	name, err := objectpath.Parse(path)
	if err != nil {
		return nil, err
	}
	b, err := objects.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	info, err := b.Head(ctx, name.Key)
	if err != nil {
		return nil, err
	}
	if info.Size > mostMetadata {
		return nil, fmt.Errorf("has more than %d bytes", mostMetadata)
	}
	r := objects.NewReader(ctx, b, info)
	defer r.Close()
	text := make([]byte, info.Size)
	_, err = r.ReadAt(text, 0)
	return text, err
}

// removePath removes a file or an object; one that is not there is no error.
func removePath(ctx context.Context, path string) error {
	if !objectpath.Is(path) {
		return removed(path)
	}
	name, err := objectpath.Parse(path)
	if err != nil {
		return err
	}
	b, err := objects.Open(ctx, name)
	if err != nil {
		return err
	}
	return b.Delete(ctx, name.Key)
}
