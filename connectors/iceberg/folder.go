package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// folder is a table whose metadata are numbered files in its own folder, as Hadoop's catalog has them: the present ones
// are those with the greatest number. A file says which number to look from.
type folder struct {
	path string
}

const (
	metadataFolder = "metadata"
	hint           = "version-hint.text"
)

func (f *folder) numbered(n int) string {
	return filepath.Join(f.path, metadataFolder, fmt.Sprintf("v%d.metadata.json", n))
}

// version is the number of the present metadata, 0 if there are none.
func (f *folder) version() (int, error) {
	n := 0
	if text, err := os.ReadFile(filepath.Join(f.path, metadataFolder, hint)); err == nil {
		if n, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil || n < 1 {
			return 0,
				fmt.Errorf(
					"%s: its %s is no number: the table is of a catalog, or was written by another kind of program; name the catalog, or, to read it, the file of its metadata", f.path, hint)
		}
		if !exists(f.numbered(n)) {
			return 0, fmt.Errorf("%s: its %s names metadata that are not there", f.path, hint)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	} else if n, err = f.greatest(); err != nil {
		return 0, err
	}
	for n > 0 && exists(f.numbered(n+1)) {
		n++
	}
	return n, nil
}

// greatest looks for numbered metadata without a hint.
func (f *folder) greatest() (n int, err error) {
	list, err := os.ReadDir(filepath.Join(f.path, metadataFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range list {
		middle, ok := strings.CutSuffix(strings.TrimPrefix(e.Name(), "v"), ".metadata.json")
		if k, err := strconv.Atoi(middle); ok && err == nil && e.Name() == fmt.Sprintf("v%d.metadata.json", k) {
			n = max(n, k)
		} else if ok && !publish.IsTemp(e.Name()) {
			return 0,
				fmt.Errorf(
					"%s: its metadata are those of a catalog, which knows the present ones; name the catalog, or, to read it, the file of its metadata", f.path)
		}
	}
	return n, err
}

func (f *folder) load(ctx context.Context) (*table, error) {
	path := f.path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		if !strings.HasSuffix(path, ".metadata.json") {
			return nil, fmt.Errorf("%s: is neither the folder of a table nor a file of its metadata (.metadata.json)", path)
		}
	} else {
		n, err := f.version()
		if n == 0 || err != nil {
			return nil, err
		}
		path = f.numbered(n)
	}
	text, err := readPath(ctx, path)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	t, err := parseTable(text, absolute)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	if path == f.path {
		return t, nil // of a catalog, which may keep it elsewhere
	}
	// The metadata of a table that was moved or copied name the files of the other one.
	if at, err := pathOf(t.Location); err != nil || resolved(at) != resolved(f.path) {
		return nil,
			errors.Join(
				fmt.Errorf("%s: by its metadata the table lies at another place, and its files are there; tables cannot be moved",
					f.path), err)
	}
	return t, nil
}

func (f *folder) prepare(_ context.Context, schema *meta.Schema) (*table, error) {
	at, err := filepath.Abs(f.path)
	if err != nil {
		return nil, err
	}
	return begin(uuid.NewString(), at, schema, time.Now())
}

// pendingMetadata is the name of a run's metadata before their commit, by the mark of the run.
func pendingMetadata(folder, mark string) string {
	return publish.TempName(filepath.Join(folder, metadataFolder, mark+".metadata.json"))
}

// commit gives the metadata the next number, which nobody else must have. The hint comes afterwards: who reads an older
// one looks further.
func (f *folder) commit(_ context.Context, t *table, s *snapshot) error {
	n := 0
	if t.location != "" {
		base := filepath.Base(t.location)
		if base != filepath.Base(f.numbered(1)) {
			if _, err := fmt.Sscanf(base, "v%d.metadata.json", &n); err != nil {
				return fmt.Errorf("%s: a file of metadata can be read, not written; name the folder", f.path)
			}
		} else {
			n = 1
		}
	}
	text, err := t.with(s)
	if err != nil {
		return err
	}
	temp := pendingMetadata(f.path, markOf(s.Manifests))
	if err := os.MkdirAll(filepath.Dir(temp), 0o777); err != nil {
		return err
	}
	if err := writeSynced(temp, text); err != nil {
		return errors.Join(err, removed(temp))
	}
	err = os.Link(temp, f.numbered(n+1))
	if left := removed(temp); err == nil && left != nil {
		err = &doubt{left, true}
	}
	var there *doubt
	switch {
	case errors.Is(err, fs.ErrExist):
		return errConflict
	case err != nil && !errors.As(err, &there):
		return err
	}
	if err := publish.SyncDir(filepath.Join(f.path, metadataFolder)); err != nil {
		return &doubt{err, true}
	}
	// Another run may write its own at this moment: either does, as readers look further.
	if told := publish.WriteFile(filepath.Join(f.path, metadataFolder, hint), publish.Public,
		[]byte(strconv.Itoa(n+1))); told != nil && !errors.Is(told, publish.ErrLive) {
		return &doubt{told, true}
	}
	return err
}

func writeSynced(path string, text []byte) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
