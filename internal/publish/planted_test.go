package publish

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// If another process has created the temporary name before a run, it is never written to, removed
// or published: the error names it.
func TestPlantedTemporaryNameIsNotUsed(t *testing.T) {
	plants := map[string]func(t *testing.T, temp, victim string){
		"link": func(t *testing.T, temp, victim string) {
			if err := os.Symlink(victim, temp); err != nil {
				t.Fatal(err)
			}
		},
		"dangling link": func(t *testing.T, temp, victim string) {
			if err := os.Symlink(victim+"-new", temp); err != nil {
				t.Fatal(err)
			}
		},
		"second name": func(t *testing.T, temp, victim string) {
			if err := os.Link(victim, temp); err != nil {
				t.Fatal(err)
			}
		},
		"pipe": func(t *testing.T, temp, _ string) {
			if err := syscall.Mkfifo(temp, 0o666); err != nil {
				t.Fatal(err)
			}
		},
		"another user's": func(t *testing.T, temp, _ string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			if err := errors.Join(os.WriteFile(temp, []byte("before"), 0o666), os.Chown(temp, 65534, 65534)); err != nil {
				t.Fatal(err)
			}
		},
	}
	words := map[string]string{"link": "is a link", "dangling link": "is a link",
		"second name": "is a file of several names", "pipe": "is no regular file", "another user's": "is another user's file"}
	uses := map[string]func(path string) (io.Closer, error){
		"file": func(path string) (io.Closer, error) { return Create(path, Confidential) },
		"guard of a folder": func(path string) (io.Closer, error) {
			_, err := CreateDir(strings.TrimSuffix(path, ".lock"), ".csv")
			return nil, err
		},
		"abandoned": func(path string) (io.Closer, error) { _, err := RemoveAbandoned(TempName(path)); return nil, err },
		"pending":   func(path string) (io.Closer, error) { return CreatePending(TempName(path)) },
		"named":     func(path string) (io.Closer, error) { return nil, Name(TempName(path), path) },
	}
	for how, plant := range plants {
		for what, use := range uses {
			t.Run(how+", "+what, func(t *testing.T) {
				dir := t.TempDir()
				path, victim := filepath.Join(dir, "r.json.lock"), filepath.Join(dir, "victim")
				if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
					t.Fatal(err)
				}
				temp := TempName(path)
				plant(t, temp, victim)
				before, err := os.Lstat(temp)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := use(path); err == nil || !strings.Contains(err.Error(), filepath.Base(temp)) || what != "pending" &&
					!strings.Contains(err.Error(), words[how]) {
					t.Errorf("got %v", err)
				}
				after, err := os.Lstat(temp)
				if err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
					t.Errorf("the existing file was changed: %v", err)
				}
				got, _ := os.ReadFile(victim)
				info, _ := os.Stat(victim)
				if string(got) != "precious" || info.Mode().Perm() != 0o644 {
					t.Errorf("the other file holds %q, mode %v", got, info.Mode())
				}
				for _, name := range []string{path, victim + "-new"} {
					if _, err := os.Lstat(name); err == nil {
						t.Errorf("%s is there", name)
					}
				}
			})
		}
	}
}

// A temporary folder that is a link, or belongs to another user, is not used; one of a killed run
// is.
func TestPlantedTemporaryFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "release")
	victim := filepath.Join(dir, "victim")
	if err := errors.Join(os.Mkdir(victim, 0o755), os.WriteFile(filepath.Join(victim, "a"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, TempName(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateDir(path, ".csv"); err == nil {
		t.Error("a link was taken for the temporary folder")
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Remove(TempName(path)), os.Mkdir(TempName(path), 0o777),
			os.Chown(TempName(path), 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		if _, err := CreateDir(path, ".csv"); err == nil {
			t.Error("another user's folder was used")
		}
	}
	if err := errors.Join(os.Remove(TempName(path)), os.MkdirAll(filepath.Join(TempName(path), "half"), 0o700)); err !=
		nil {
		t.Fatal(err)
	}
	d := writeDir(t, path, "a.csv")
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names(t, dir), " "); got != "release release/a.csv victim victim/a" {
		t.Errorf("the folder holds %s", got)
	}
}

// If another process takes the temporary name while a run writes, the file is not published and not
// removed.
func TestTemporaryNameTakenWhileWriting(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, finished := range []bool{false, true} {
		f, err := Create(path, Public)
		if err != nil {
			t.Fatal(err)
		}
		if finished {
			if err := f.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Remove(f.Name()), os.WriteFile(f.Name(), []byte("forged"), 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); err == nil {
			t.Error("a forged file was published")
		}
		if err := f.Abort(); err != nil {
			t.Error(err)
		}
		if got := strings.Join(names(t, dir), " "); got != ".a.sdlfilter-tmp" {
			t.Errorf("the folder holds %s", got)
		}
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Create(path, Public)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(f.Name(), filepath.Join(dir, "kept")); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil {
		t.Error("a file with a second name was published")
	}
}

// Devices and pipes are written to when everything is ready, and stay devices and pipes.
func TestDeviceIsWrittenTo(t *testing.T) {
	dir := t.TempDir()
	pipe, null := filepath.Join(dir, "pipe"), filepath.Join(dir, "null")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/dev/null", null)); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	for _, commit := range []bool{true, false} {
		f, err := Create(pipe, Public)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			text, _ := os.ReadFile(pipe)
			read <- string(text)
		}()
		if _, err := io.WriteString(f, "masked"); err != nil {
			t.Fatal(err)
		}
		want := "masked"
		if commit {
			err = f.Commit()
		} else {
			// The reader is released as soon as it waits.
			want = ""
			for opened := false; !opened && err == nil; {
				var probe *os.File
				if probe, err = os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
					opened = true
					err = errors.Join(f.Abort(), probe.Close())
				} else if errors.Is(err, syscall.ENXIO) {
					err = nil
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := <-read; got != want {
			t.Errorf("the reader got %q, want %q", got, want)
		}
	}
	if err := WriteFile(null, Confidential, []byte("x")); err != nil {
		t.Error(err)
	}
	for path, mode := range map[string]os.FileMode{pipe: os.ModeNamedPipe, null: os.ModeSymlink} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if got := strings.Join(names(t, dir), " "); got != "null pipe" {
		t.Errorf("the folder holds %s", got)
	}
	socket := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Create(socket, Public); err == nil || !strings.Contains(err.Error(), "socket") {
		t.Errorf("a socket: %v", err)
	}
}

// A file that a process has open is appended to under its /dev/fd or /proc name, and stays the file
// of the process.
func TestOpenFileOfAProcessIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	open, err := os.OpenFile(filepath.Join(dir, "open"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	link := filepath.Join(dir, "link")
	path := filepath.Join("/proc/self/fd", filepath.Base(fdName(open)))
	if _, err := os.Stat(path); err != nil {
		t.Skip("no /proc")
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link, "/dev/fd/" + filepath.Base(path)} {
		if err := WriteFile(name, Public, []byte("x")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	got, err := os.ReadFile(open.Name())
	if err != nil || string(got) != "xxx" {
		t.Errorf("the open file holds %q, %v", got, err)
	}
	if got := strings.Join(names(t, dir), " "); got != "link open" {
		t.Errorf("the folder holds %s", got)
	}
	// Regular files elsewhere are replaced as usual.
	if device, err := Device(open.Name()); device || err != nil {
		t.Errorf("a regular file is taken for a device: %v", err)
	}
}

func fdName(f *os.File) string { return strconv.Itoa(int(f.Fd())) }

// A folder that is replaced, changes its owner or is removed during writing is neither written to
// nor published nor removed.
func TestFolderTakenWhileWriting(t *testing.T) {
	dir := t.TempDir()
	path, part := filepath.Join(dir, "release"), filepath.Join(dir, "part")
	if err := os.WriteFile(part, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := writeDir(t, path, "a.csv")
	if d.Path() != path {
		t.Errorf("its name is %s", d.Path())
	}
	if c, err := d.Content(t.Context()); err != nil || c.Path != path || !c.Folder || summary(c) != line("a.csv", "") {
		t.Errorf("%+v, %v", c, err)
	}
	// A taken name, a missing folder, and a path that is not a file.
	for name, from := range map[string]string{"a.csv": part, "no/b.csv": part, "c.csv": dir,
		"d.csv": filepath.Join(dir, "gone")} {
		if err := d.Adopt(from, name); err == nil {
			t.Errorf("%s became %s", from, name)
		}
	}
	if err := errors.Join(os.Rename(d.temp, d.temp+"-aside"), os.Mkdir(d.temp, 0o755),
		os.WriteFile(filepath.Join(d.temp, "a.csv"), []byte("forged"), 0o644)); err != nil {
		t.Fatal(err)
	}
	before := strings.Join(names(t, dir), " ")
	_, err := d.Create("b.csv")
	_, other := d.Content(t.Context())
	for what, err := range map[string]error{"Create": err, "Content": other, "Adopt": d.Adopt(part, "b.csv"),
		"Commit": d.Commit()} {
		if err == nil || !strings.Contains(err.Error(), "was replaced") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := strings.Join(names(t, dir), " "); got != before {
		t.Errorf("the folder contains %s, before it contained %s", got, before)
	}
	if err := errors.Join(d.Abort(), d.Abort()); err != nil {
		t.Error(err)
	}
	if got := strings.Join(names(t, dir), " "); got !=
		".release.sdlfilter-tmp .release.sdlfilter-tmp/a.csv .release.sdlfilter-tmp-aside .release.sdlfilter-tmp-aside/a.csv part" {
		t.Errorf("given up, the folder holds %s", got)
	}
}

// A name in a folder is used once, and a file is not a folder.
func TestNamesInAFolderAreTakenOnce(t *testing.T) {
	dir := t.TempDir()
	d := writeDir(t, filepath.Join(dir, "release"), "a.csv")
	if f, err := d.Create("a.csv"); !errors.Is(err, os.ErrExist) {
		t.Errorf("a name that is taken: %v, %v", f, err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := CreateDir(filepath.Join(dir, "file"), ".csv"); err == nil ||
		!strings.Contains(err.Error(), "is a file, and the output is a folder") {
		t.Errorf("a file: %v, %v", d, err)
	}
}

// If a name changes its owner between the check and the opening, that is detected.
func TestPlantedWhileOpening(t *testing.T) {
	dir := t.TempDir()
	temp := TempName(filepath.Join(dir, "a"))
	if err := os.WriteFile(temp, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	real := system
	defer exchanged(real)()
	system.openFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := real.openFile(name, flag, mode)
		return f, errors.Join(err, os.Link(name, filepath.Join(dir, "second")))
	}
	if gone, err := RemoveAbandoned(temp); gone || err == nil ||
		!strings.Contains(err.Error(), "is a file of several names") {
		t.Errorf("gone %v, %v", gone, err)
	}
	if got := strings.Join(names(t, dir), " "); got != ".a.sdlfilter-tmp second" {
		t.Errorf("the folder holds %s", got)
	}
}
