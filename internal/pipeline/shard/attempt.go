package shard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// attempt is where one attempt of a shard writes its parts, so that others of the same
// shard may run beside it.
type attempt interface {
	// part is the name of a part's file in the release, and the path to write it under.
	part(name string) (file, path string)
	// keep keeps the output of a finished sink without giving it a name. upload is nil for a file.
	keep(sink connectors.Sink, path string) (upload json.RawMessage, err error)
	// complete ends the attempt: its parts are ready for the commit, with a stamp if there can be
	// one.
	complete(files []StateFile) error
	// abandon removes what the attempt has kept. After complete it leaves files, which all
	// attempts share.
	abandon(files []StateFile) error
}

func (m *Manifest) newAttempt(release string) (attempt, error) {
	if objectpath.Is(release) {
		return &uploads{strings.TrimSuffix(objectpath.Clean(release), "/"), publish.NewAttempt()}, nil
	}
	dir := m.hidden(release)
	if err := privateFolder(dir); err != nil {
		return nil, err
	}
	own, err := os.MkdirTemp(dir, ".attempt-")
	return &folder{dir, own}, err
}

// folder is an attempt that writes files into a folder of its own. Completed files replace
// those of other attempts.
type folder struct{ hidden, own string }

func (f *folder) part(name string) (string, string) { return name, filepath.Join(f.own, name) }

func (f *folder) keep(sink connectors.Sink, path string) (json.RawMessage, error) {
	return nil, errors.Join(sink.Commit(), os.Chmod(path, 0o600))
}

func (f *folder) complete(files []StateFile) error {
	written := make([]os.FileInfo, len(files))
	for i, one := range files {
		var err error
		if written[i], err = os.Lstat(filepath.Join(f.own, one.Name)); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(f.own, one.Name), filepath.Join(f.hidden, one.Name)); err != nil {
			return err
		}
	}
	if err := errors.Join(publish.SyncDir(f.hidden), os.RemoveAll(f.own)); err != nil {
		return err
	}
	for i, one := range files {
		files[i].Stamp = stampOf(filepath.Join(f.hidden, one.Name), written[i])
	}
	return nil
}

// stampOf stamps a file that this attempt has written and digested. If another attempt has
// replaced the file there is no stamp.
func stampOf(path string, written os.FileInfo) *publish.Stamp {
	stamp := publish.StampOf(path)
	if now, err := os.Lstat(path); err != nil || !os.SameFile(now, written) || !now.ModTime().Equal(written.ModTime()) {
		return nil
	}
	return stamp
}

func (f *folder) abandon([]StateFile) error {
	os.RemoveAll(f.own) // an error leaves files that are no parts
	return nil
}

// uploads is an attempt whose parts are uploads below the release's name. They are not visible
// before the commit completes them, and their names are unique to the attempt.
type uploads struct{ release, mark string }

func (u *uploads) part(name string) (string, string) {
	name = publish.PartName(name, u.mark)
	return name, u.release + "/" + name
}

func (u *uploads) keep(sink connectors.Sink, _ string) (json.RawMessage, error) {
	return connectors.Hold(sink)
}

func (u *uploads) complete([]StateFile) error { return nil }

func (u *uploads) abandon(files []StateFile) error { return discard(u.release, files) }

// discard aborts the uploads of parts.
func discard(release string, files []StateFile) error {
	var held []json.RawMessage
	for _, f := range files {
		held = append(held, f.Upload)
	}
	if len(held) == 0 {
		return nil
	}
	return publish.DiscardHeld(context.Background(), release, held...)
}

// privateFolder makes a folder for files that have no name yet, for this user alone. Other
// shards of the plan may make it at the same time.
func privateFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, known := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || known && int64(st.Uid) != int64(os.Geteuid()) || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: is not a folder of this user alone, made by a shard; look at it and remove it", dir)
	}
	return nil
}
