package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// attempt is what one run puts into a table's folder: a folder of data files and files of metadata, whose names begin
// with its mark. A claim says that it is not complete. The claim of a run that was killed is found by the next one,
// which removes what no snapshot names.
type attempt struct {
	root  string // the table's folder
	mark  string
	claim *publish.File
	dir   *publish.Dir
	named bool // the folder has its name
	fresh bool // the table is yet to be made
}

const markPrefix = "sdlfilter-"

var markLength = len(markPrefix) + len(uuid.Nil.String())

// markOf is the mark of the run that has written a file of metadata, "" if it is none of a run's.
func markOf(location string) string {
	base := location[strings.LastIndexByte(location, '/')+1:]
	if len(base) < markLength || !strings.HasPrefix(base, markPrefix) ||
		uuid.Validate(base[len(markPrefix):markLength]) != nil {
		return ""
	}
	return base[:markLength]
}

const (
	dataFolder = "data"
	claimEnd   = ".pending"
)

func claimOf(root, mark string) string { return filepath.Join(root, dataFolder, mark+claimEnd) }

// begun claims a new mark, after what killed runs have left is removed.
func begun(ctx context.Context, root string, t *table) (*attempt, error) {
	if err := sweep(ctx, root, t); err != nil {
		return nil, err
	}
	a := &attempt{root: root, fresh: len(t.Snapshots) == 0, mark: markPrefix + uuid.NewString()}
	var err error
	if a.claim, err = publish.Create(claimOf(root, a.mark), publish.Confidential); err != nil {
		return nil, err
	}
	if a.dir, err = publish.CreateDir(a.folder(), ".parquet"); err != nil {
		return nil, errors.Join(err, a.abandon())
	}
	return a, nil
}

func (a *attempt) folder() string { return filepath.Join(a.root, dataFolder, a.mark) }

// name gives the data files their names.
func (a *attempt) name() error {
	err := a.dir.Commit()
	var named *publish.NamedError
	a.named = err == nil || errors.As(err, &named)
	return err
}

// end releases the claim of a run whose snapshot is there.
func (a *attempt) end() error { return a.claim.Abort() }

// abandon removes everything of the run.
func (a *attempt) abandon() error {
	if a == nil {
		return nil
	}
	var err error
	if a.dir != nil {
		err = a.dir.Abort()
	}
	if err == nil {
		err = remove(a.root, a.mark)
	}
	if err != nil {
		return err // the claim stays for the next run
	}
	err = a.claim.Abort()
	if a.fresh {
		for _, folder := range []string{dataFolder, metadataFolder, ""} {
			_ = os.Remove(filepath.Join(a.root, folder)) // if it is empty
		}
	}
	return err
}

// tried is how the names of the files of metadata of one try begin.
func (a *attempt) tried(try int) string { return fmt.Sprintf("%s-%d-", a.mark, try) }

// forget removes the files of metadata of a try that has failed.
func (a *attempt) forget(try int) error {
	return removeNamed(filepath.Join(a.root, metadataFolder), a.tried(try))
}

// remove removes what a run has put into the table's folder, but its claim.
func remove(root, mark string) error {
	at := filepath.Join(root, dataFolder, mark)
	errs := []error{os.RemoveAll(at), os.RemoveAll(publish.TempName(at)), removed(publish.TempName(at + ".lock")),
		removed(pendingMetadata(root, mark))}
	return errors.Join(append(errs, removeNamed(filepath.Join(root, metadataFolder), mark))...)
}

// removeNamed removes the files of a folder whose names begin so, those that have a temporary name included.
func removeNamed(folder, prefix string) error {
	list, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range list {
		if strings.HasPrefix(strings.TrimPrefix(e.Name(), "."), prefix) {
			errs = append(errs, removed(filepath.Join(folder, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// sweep removes what killed runs have left in the table: what has the mark of a claim that no live run holds, and is
// not part of the table.
func sweep(ctx context.Context, root string, t *table) error {
	list, err := os.ReadDir(filepath.Join(root, dataFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var parts map[string]bool
	for _, e := range list {
		mark := markOf("/" + strings.TrimPrefix(e.Name(), "."))
		if mark == "" || !publish.IsTemp(e.Name()) || e.Name() != filepath.Base(publish.TempName(claimOf(root, mark))) {
			continue
		}
		claim, err := publish.Create(claimOf(root, mark), publish.Confidential)
		if errors.Is(err, publish.ErrLive) {
			continue
		}
		if err != nil {
			return err
		}
		if parts == nil {
			if parts, err = marks(ctx, t); err != nil {
				return errors.Join(err, claim.Abort())
			}
		}
		if !parts[mark] {
			if err := remove(root, mark); err != nil {
				return err
			}
		}
		if err := claim.Abort(); err != nil {
			return err
		}
	}
	return nil
}

// marks are those of all files that any snapshot of the table names.
func marks(ctx context.Context, t *table) (map[string]bool, error) {
	all := map[string]bool{}
	for i := range t.Snapshots {
		s := &t.Snapshots[i]
		all[markOf(s.Manifests)] = true
		manifests, err := manifestsOf(ctx, s)
		if err != nil {
			return nil, err
		}
		for i := range manifests {
			all[markOf(manifests[i].Path)] = true
			entries, err := liveEntries(ctx, &manifests[i])
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				file := e.File.Path
				all[markOf(file[:max(strings.LastIndexByte(file, '/'), 0)])] = true
			}
		}
	}
	return all, nil
}
