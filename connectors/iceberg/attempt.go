package iceberg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// attempt is what one run puts into a table's folder: a folder of data files and files of metadata, whose names have
// its mark. A claim says that it is not complete. The claim of a run that was killed is found by a later one, which
// removes what no snapshot names.
type attempt struct {
	root  string // the table's folder
	mark  string
	dir   *publish.Dir
	table string        // its UUID
	fresh bool          // the table is yet to be made
	claim *publish.File // of a table on this machine
	store *store        // of one in object storage
	dead  []grave
}

// grave is the claim of a run that is dead.
type grave struct {
	mark  string
	text  string
	claim *publish.File // nil in object storage
}

// words is what the run's claim says: its mark and the table, as a folder may have two (one that was renamed, and a
// new one of its name).
func (a *attempt) words() string {
	if a.fresh {
		return a.mark + " new " + digest(a.table)
	}
	return a.mark + " in " + digest(a.table)
}

// digest stands for a table's UUID in claims; what another program has put there may be any text.
func digest(table string) string {
	sum := sha256.Sum256([]byte(table))
	return hex.EncodeToString(sum[:8])
}

// of reports whether a dead run was one into a table: into a new one, if it was to make it.
func (g grave) of(t *table) bool {
	return strings.HasPrefix(g.text, g.mark+" new ") || g.text == g.mark+" in "+digest(t.UUID)
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

// rootMetadata is the name of the table metadata that a run writes for a catalog that knows them by their location.
func rootMetadata(mark string, version int) string {
	return fmt.Sprintf("%05d-%s.metadata.json", version, strings.TrimPrefix(mark, markPrefix))
}

// marked reports whether a file of metadata is of a run, also under a temporary name.
func marked(name, mark string) bool {
	name = strings.TrimPrefix(name, ".")
	return strings.HasPrefix(name, mark) ||
		strings.Contains(name, "-"+strings.TrimPrefix(mark, markPrefix)+".metadata.json")
}

const (
	dataFolder = "data"
	claimEnd   = ".pending"
)

// claimOf is where a claim is on this machine. Its name is what it says, so that there is none that does not say it,
// even of a run that was killed as it made the claim or took over that of another one.
func claimOf(root, words string) string {
	return filepath.Join(root, dataFolder, strings.ReplaceAll(words, " ", ".")+claimEnd)
}

// claimWords is what the claim on this machine says that has this name, "" if it is none.
func claimWords(name string) string {
	name, is := strings.CutSuffix(strings.TrimPrefix(name, "."), strings.TrimPrefix(publish.TempName(claimEnd), "."))
	if words := strings.ReplaceAll(name, ".", " "); is && markOf("/"+name) != "" {
		return words
	}
	return ""
}

// claimMark is the mark of the run whose claim in object storage has this name, "" if it is no claim.
func claimMark(name string) string {
	mark := markOf("/" + strings.TrimPrefix(name, "."))
	if mark == "" || name != publish.TempName(mark+claimEnd) {
		return ""
	}
	return mark
}

// begun claims a new mark. What killed runs have left is removed at once where only live processes commit, as in a
// folder of this machine. A catalog may still be about to commit what a run has asked for that was killed then, so that
// it is removed when a later commit has made this impossible.
func begun(ctx context.Context, root string, t *table, atOnce bool) (*attempt, error) {
	a := &attempt{root: root, table: t.UUID, fresh: len(t.Snapshots) == 0, mark: markPrefix + uuid.NewString()}
	var err error
	if objectpath.Is(root) {
		if a.store, err = storeOf(ctx, root, a.mark); err != nil {
			return nil, err
		}
		a.dir, err = publish.CreateListed(a.folder(), ".parquet")
		return a, err
	}
	if err := a.find(); err != nil {
		return nil, errors.Join(err, a.release())
	}
	if atOnce {
		if err := a.bury(ctx, t); err != nil {
			return nil, errors.Join(err, a.release())
		}
	}
	if a.claim, err = publish.Create(claimOf(root, a.words()), publish.Confidential); err != nil {
		a.tidy()
		return nil, errors.Join(err, a.release())
	}
	if a.dir, err = publish.CreateListed(a.folder(), ".parquet"); err != nil {
		return nil, errors.Join(err, a.abandon())
	}
	return a, nil
}

func (a *attempt) folder() string { return join(a.root, dataFolder, a.mark) }

// name gives the data files their names. In object storage nothing of the run was to be seen before.
func (a *attempt) name(ctx context.Context) error {
	if a.store != nil {
		var err error
		if a.dead, err = a.store.enter(ctx, a.words()); err != nil {
			return err
		}
	}
	return a.dir.Commit()
}

// still is an error if the run must not commit: another one may have taken it for dead.
func (a *attempt) still(ctx context.Context) error {
	if a.store == nil {
		return nil // its claim is locked
	}
	return a.store.still(ctx)
}

// end releases the claim of a run whose snapshot is there, and removes what killed runs have left: none of them can
// commit any more what was based on the table as it was before. What cannot be removed now is left to the next run.
func (a *attempt) end(ctx context.Context, load func(context.Context) (*table, error)) error {
	if len(a.dead) > 0 {
		if t, err := load(ctx); err == nil && t != nil {
			_ = a.bury(ctx, t)
		}
	}
	if a.store != nil {
		return errors.Join(a.release(), a.store.forget(ctx, a.mark))
	}
	return errors.Join(a.release(), a.claim.Abort())
}

// release lets go of the claims of dead runs, which stay.
func (a *attempt) release() error {
	var errs []error
	for _, g := range a.dead {
		if g.claim != nil {
			errs = append(errs, g.claim.Close())
		}
	}
	a.dead = nil
	return errors.Join(errs...)
}

// abandon removes everything of the run.
func (a *attempt) abandon() error {
	if a == nil {
		return nil
	}
	err := a.release()
	if a.dir != nil {
		err = errors.Join(err, a.dir.Abort())
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	if a.store != nil && !a.store.entered {
		return err
	}
	if err == nil {
		err = a.remove(ctx, a.mark)
	}
	if err != nil {
		return err // the claim stays for a later run
	}
	if a.store != nil {
		return a.store.forget(ctx, a.mark)
	}
	err = a.claim.Abort()
	a.tidy()
	return err
}

// tidy removes the folders of a table on this machine that was not made, if they are empty.
func (a *attempt) tidy() {
	if !a.fresh {
		return
	}
	for _, folder := range []string{dataFolder, metadataFolder, ""} {
		_ = os.Remove(filepath.Join(a.root, folder))
	}
}

// tried is how the names of the files of metadata of one try begin.
func (a *attempt) tried(try int) string { return fmt.Sprintf("%s-%d-", a.mark, try) }

// write writes a file of metadata.
func (a *attempt) write(name string, text []byte) error {
	return publish.WriteFile(join(a.root, metadataFolder, name), publish.Public, text)
}

// forget removes the files of metadata of a try that has failed.
func (a *attempt) forget(ctx context.Context, try int) error {
	if a.store != nil {
		return a.store.remove(ctx, metadataFolder+"/"+a.tried(try), nil)
	}
	return removeNamed(filepath.Join(a.root, metadataFolder), func(name string) bool {
		return strings.HasPrefix(strings.TrimPrefix(name, "."), a.tried(try))
	})
}

// remove removes what a run has put into the table's folder, but its claim.
func (a *attempt) remove(ctx context.Context, mark string) error {
	ours := func(name string) bool { return marked(name, mark) }
	if a.store != nil {
		return errors.Join(a.store.remove(ctx, dataFolder+"/"+mark+"/", nil), a.store.remove(ctx, metadataFolder+"/", ours))
	}
	at := filepath.Join(a.root, dataFolder, mark)
	return errors.Join(os.RemoveAll(at), os.RemoveAll(publish.TempName(at)), removed(publish.TempName(at+".lock")),
		removed(pendingMetadata(a.root, mark)), removeNamed(filepath.Join(a.root, metadataFolder), ours))
}

// removeNamed removes files of a folder.
func removeNamed(folder string, which func(name string) bool) error {
	list, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range list {
		if which(e.Name()) {
			errs = append(errs, removed(filepath.Join(folder, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// find takes over the claims that no live run holds.
func (a *attempt) find() error {
	list, err := os.ReadDir(filepath.Join(a.root, dataFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		words := claimWords(e.Name())
		if words == "" {
			continue
		}
		claim, err := publish.Adopt(claimOf(a.root, words))
		if errors.Is(err, publish.ErrLive) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		a.dead = append(a.dead, grave{words[:markLength], words, claim})
	}
	return nil
}

// bury removes what dead runs have left: what has their marks and is not part of the table.
func (a *attempt) bury(ctx context.Context, t *table) error {
	if len(a.dead) == 0 {
		return nil
	}
	parts, err := marks(ctx, t)
	if err != nil {
		return err
	}
	ours := a.dead[:0]
	var others []grave
	for _, g := range a.dead {
		if g.of(t) {
			ours = append(ours, g)
		} else {
			others = append(others, g)
		}
	}
	for a.dead = append(ours, others...); len(a.dead) > len(others); {
		g := a.dead[0]
		if !parts[g.mark] {
			if err := a.remove(ctx, g.mark); err != nil {
				return err
			}
		}
		a.dead = a.dead[1:]
		if g.claim != nil {
			err = g.claim.Abort()
		} else {
			err = a.store.forget(ctx, g.mark)
		}
		if err != nil {
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
