package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Part is a file of a folder that is being written.
type Part interface {
	io.Writer
	Sync() error
	Close() error
}

// Dir is a folder of files that appears under its name as a whole.
type Dir struct {
	path, ext    string
	temp         string
	tempInfo     fs.FileInfo // the temporary folder
	guard        *os.File    // the lock, and the name that the folder's temporary name is derived from
	done         bool
	objects      *objectDir // nil: a folder of this machine
	settler      settler
	mu           sync.Mutex
	knownContent map[string]FileContent // files that need not be read, by their name in the folder; mu guards it
}

// CreateDir makes a temporary folder next to path. Where path exists already it
// must hold nothing but files with the given extension (".parquet"), an earlier
// release, which Commit replaces: anything else there is an error, since
// publishing would remove it.
func CreateDir(path, ext string) (*Dir, error) {
	if objectpath.Is(path) {
		d, err := createObjectDir(path, ext)
		if err != nil {
			return nil, withName(path, err)
		}
		return &Dir{path: objectpath.Clean(path), objects: d}, nil
	}
	return createLocalDir(filepath.Clean(path), ext)
}

// CreateListed makes a folder whose files are a release because something else lists them, by the names that Create is
// told. Its path must be one that nothing has. In object storage Commit gives the parts their names, one after another.
func CreateListed(path, ext string) (*Dir, error) {
	if !objectpath.Is(path) {
		return CreateDir(path, ext)
	}
	name, err := objectName(path)
	if err != nil {
		return nil, err
	}
	b, err := objects.Open(context.Background(), name)
	if err != nil {
		return nil, withName(path, err)
	}
	return &Dir{path: objectpath.Clean(path),
		objects: &objectDir{bucket: b, prefix: strings.TrimSuffix(name.Key, "/") + "/", ext: ext, listed: true}}, nil
}

func createLocalDir(path, ext string) (*Dir, error) {
	if err := replaceable(path, ext); err != nil {
		return nil, err
	}
	if err := system.mkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	guard, err := claim(path + ".lock")
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, ext: ext, temp: TempName(path), guard: guard}
	if err := d.make(); err != nil {
		return nil, errors.Join(err, d.unlock())
	}
	return d, nil
}

// make makes the temporary folder, new and of this user. It removes the one that a killed run
// has left. Anything else under the name is an error.
func (d *Dir) make() error {
	info, err := system.lstat(d.temp)
	switch {
	case err == nil && !ownFolder(info):
		return fmt.Errorf("%s: is not the temporary folder of a run of this user; look at it and remove it", d.temp)
	case err == nil:
		err = system.removeAll(d.temp)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return err
	}
	if err := system.mkdir(d.temp, 0o700); err != nil {
		return err
	}
	if d.tempInfo, err = system.lstat(d.temp); err == nil && !ownFolder(d.tempInfo) {
		err = errReplaced(d.temp)
	}
	return err
}

func ownFolder(info fs.FileInfo) bool {
	st, known := info.Sys().(*syscall.Stat_t)
	return info.IsDir() && (!known || int64(st.Uid) == int64(os.Geteuid()))
}

// ours reports whether the temporary name still belongs to the folder that was made.
func (d *Dir) ours() bool {
	info, err := system.lstat(d.temp)
	return err == nil && os.SameFile(info, d.tempInfo)
}

func replaceable(path, ext string) error {
	err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == path && !e.IsDir():
			return fmt.Errorf("%s: is a file, and the output is a folder", path)
		case e.IsDir(), strings.HasSuffix(name, ext):
			return nil
		}
		return fmt.Errorf("%s: holds %s, which is not part of a release and would be lost; name a folder of its own", path,
			filepath.Base(name))
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func statFolder(path string) (bool, error) {
	info, err := os.Stat(path)
	return err == nil && info.IsDir(), err
}

// know notes the content of a file that need not be read.
func (d *Dir) know(name string, content FileContent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.knownContent == nil {
		d.knownContent = map[string]FileContent{}
	}
	d.knownContent[name] = content
}

// Path returns the final name.
func (d *Dir) Path() string { return d.path }

// Create makes a file in the folder; name may have folders in it. The caller writes it,
// and syncs and closes it, or has Settle do so, before Commit.
func (d *Dir) Create(name string) (Part, error) {
	if d.objects != nil {
		return d.objects.create(name)
	}
	f, err := d.create(name)
	if err != nil {
		return nil, err // and no Part that is a file that is nil
	}
	return &dirPart{sequential: sequential{File: f}, dir: d, name: filepath.Clean(name)}, nil
}

// Inside returns the path under which a writer of its own puts a file, or a folder of files, into the folder before
// Commit: it makes, syncs and names what it writes as it would anywhere else, and only this user can see it there.
func (d *Dir) Inside(name string) (string, error) {
	if d.objects != nil {
		return "", fmt.Errorf("%s: takes no file of this machine", d.path)
	}
	if !d.ours() {
		return "", errReplaced(d.temp)
	}
	return filepath.Join(d.temp, name), nil
}

// dirPart is a file of a folder of this machine, whose digest the folder knows once it is closed.
type dirPart struct {
	sequential
	dir  *Dir
	name string
}

// Close closes the file.
func (p *dirPart) Close() error {
	content, known := p.content()
	err := p.sequential.Close()
	if known && err == nil {
		content.Name = filepath.ToSlash(p.name)
		p.dir.know(p.name, content)
	}
	return err
}

func (d *Dir) create(name string) (*os.File, error) {
	if !d.ours() {
		return nil, errReplaced(d.temp)
	}
	full := filepath.Join(d.temp, name)
	if err := system.mkdirAll(filepath.Dir(full), 0o700); err != nil {
		return nil, err
	}
	return system.openFile(full, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
}

// Commit gives the folder its name in one step: an existing folder is exchanged for it and
// then removed. After a *NamedError it has its name.
func (d *Dir) Commit() error {
	if d.objects != nil {
		return withName(d.path, d.objects.commit())
	}
	if d.done {
		return nil
	}
	if err := d.Settled(); err != nil {
		return err
	}
	if !d.ours() {
		return errReplaced(d.temp)
	}
	if err := d.open(); err != nil {
		return err
	}
	if err := replaceable(d.path, d.ext); err != nil {
		return err
	}
	err := system.rename(d.temp, d.path)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		err = system.exchange(d.temp, d.path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	d.done = true
	behind := errors.Join(system.removeAll(d.temp), d.unlock())
	return errors.Join(beside(d.path, behind), named(d.path, syncDir(filepath.Dir(d.path))))
}

// open gives everything in the folder the modes of a public release and syncs the folders; the
// writers have synced the files.
func (d *Dir) open() error {
	return filepath.WalkDir(d.temp, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return errors.Join(system.chmodName(name, 0o777&^umask()), syncDir(name))
		}
		return system.chmodName(name, 0o666&^umask())
	})
}

// Abort removes the temporary folder. After Commit it does nothing.
func (d *Dir) Abort() error {
	if d.objects != nil {
		return withName(d.path, d.objects.abort())
	}
	if d.done {
		return nil
	}
	d.done = true
	_ = d.Settled() // what it could not sync is removed
	if !d.ours() {
		return d.unlock()
	}
	return errors.Join(system.removeAll(d.temp), d.unlock())
}

func (d *Dir) unlock() error {
	return errors.Join(system.remove(d.guard.Name()), system.close(d.guard))
}

// Adopt puts a file that is complete into the folder, under a name of its own: a link
// where the file system has links, else a copy. The file itself stays where it is.
func (d *Dir) Adopt(path, name string) error {
	if d.objects != nil {
		return fmt.Errorf("%s: takes no file of this machine", d.path)
	}
	if !d.ours() {
		return errReplaced(d.temp)
	}
	info, err := system.lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: is not a regular file", path)
	}
	full := filepath.Join(d.temp, name)
	if err := system.link(path, full); err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return err
	}
	in, err := system.openFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer system.close(in)
	out, err := d.create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, system.sync(out), system.close(out))
}
