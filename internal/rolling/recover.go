package rolling

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Publish gives the files of a committed transaction their names, durably. What
// has its name already is passed over, so it can be called again.
func (f *Files) Publish(m Manifest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.publish(m)
}

func (f *Files) publish(m Manifest) error {
	if err := m.check(); err != nil {
		return err
	}
	for _, e := range m { // from here on Abort must not touch them
		for _, p := range f.finished {
			p.committed = p.committed || p.Topic == e.Topic && filepath.Base(p.file.Name()) == e.Temp
		}
	}
	var dirs []string
	named := make(map[Partition]bool)
	for _, e := range m {
		renamed, err := f.name(e)
		if err != nil {
			return err
		}
		if renamed {
			named[Partition{e.Topic, e.Partition}] = true
			dirs = append(dirs, filepath.Join(f.folder(e.Topic), filepath.Dir(filepath.FromSlash(e.Final))),
				filepath.Join(f.folder(e.Topic), pendingFolder))
		}
	}
	if err := publish.SyncDirs(f.root, dirs...); err != nil {
		return f.failed(f.root, err)
	}
	for at, part := range m.ByPartition() {
		if named[at] {
			if err := f.mark(at, part); err != nil {
				return f.failed(f.folder(at.Topic), err)
			}
		}
	}
	var err error
	f.finished = slices.DeleteFunc(f.finished, func(p *part) bool {
		if p.committed {
			err = errors.Join(err, p.file.Release())
		}
		return p.committed
	})
	return err
}

// name gives a file its name, unless it has it already.
func (f *Files) name(e Entry) (renamed bool, err error) {
	temp := f.pendingPath(e.Topic, e.Temp)
	final := filepath.Join(f.folder(e.Topic), filepath.FromSlash(e.Final))
	for range 2 { // a second time where another owner was faster
		info, terr := os.Lstat(temp)
		_, ferr := os.Lstat(final)
		switch missing := errors.Is(ferr, fs.ErrNotExist); {
		case terr == nil && ferr == nil:
			return false, fmt.Errorf("%s: is there already, beside %s, whose name it has; move it away", final, temp)
		case terr == nil && missing:
			if info.Size() != e.Bytes {
				return false,
					fmt.Errorf("%s: has %d bytes of %d: records that are committed have been lost outside of this program", temp,
						info.Size(), e.Bytes)
			}
			if err := os.MkdirAll(filepath.Dir(final), 0o777); err != nil {
				return false, f.failed(filepath.Dir(final), err)
			}
			err := publish.Name(temp, final)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return false, f.failed(filepath.Dir(final), err)
			}
			return true, nil
		case errors.Is(terr, fs.ErrNotExist) && ferr == nil:
			return false, nil
		case errors.Is(terr, fs.ErrNotExist) && missing:
			if f.marked(e) {
				return false, nil // published, and since then moved by its user
			}
			return false,
				fmt.Errorf(
					"%s: its %d records are committed, and the file is neither there nor, unfinished, at %s: it has been removed outside of this program, or the sink's path is another than when they were written", final, e.Records, temp)
		default:
			return false, f.failed(f.folder(e.Topic), errors.Join(onlyOther(terr), onlyOther(ferr)))
		}
	}
	return false, fmt.Errorf("%s: comes and goes while it is given its name", temp)
}

func onlyOther(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *Files) markPath(at Partition) string {
	return f.pendingPath(at.Topic, fmt.Sprintf("published-%05d.json", at.Number))
}

// mark notes what was published last of a partition: files that are taken away
// afterwards are then not missed.
func (f *Files) mark(at Partition, m Manifest) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	temp := publish.TempName(fmt.Sprintf("published-%05d-%s.json", at.Number, unique()))
	p, err := publish.CreatePending(f.pendingPath(at.Topic, temp))
	if err != nil {
		return err
	}
	if _, err := p.Write(text); err != nil {
		return errors.Join(err, p.Abort())
	}
	if err := p.Sync(); err != nil {
		return errors.Join(err, p.Abort())
	}
	if err := publish.Name(p.Name(), f.markPath(at)); err != nil {
		return errors.Join(err, p.Abort())
	}
	return p.Release()
}

// marked reports whether a file is among those that were published last.
func (f *Files) marked(e Entry) bool {
	text, err := os.ReadFile(f.markPath(Partition{e.Topic, e.Partition}))
	if err != nil {
		return false
	}
	var m Manifest
	return json.Unmarshal(text, &m) == nil && m.has(e.Final)
}

// Recover puts a partition's files in order for a new owner, before its first
// Write: m is the manifest of the partition's last committed transaction (nil:
// none), which must be settled, and older owners fenced. What m names is
// published; other files without a name are removed, unless a process that is
// still alive has them open, which removes them itself once its commit has failed.
//
// It is an error that names the file if one that m names is gone: committed
// records have then been lost outside of this program.
func (f *Files) Recover(topic string, partition int32, m Manifest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !validTopic(topic) {
		return fmt.Errorf("topic %q: cannot be a folder's name", topic)
	}
	if err := f.publish(m); err != nil {
		return err
	}
	folder := filepath.Join(f.folder(topic), pendingFolder)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return f.failed(folder, err)
	}
	for _, e := range entries {
		at := tempName.FindStringSubmatch(e.Name())
		if at == nil {
			at = markTemp.FindStringSubmatch(e.Name())
		}
		if at == nil || !is(at[1], partition) || !e.Type().IsRegular() {
			continue
		}
		if _, err := publish.RemoveAbandoned(filepath.Join(folder, e.Name())); err != nil {
			return f.failed(folder, err)
		}
	}
	return nil
}
