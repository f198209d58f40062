package publish

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// summary returns a content as text, with checksums computed here.
func summary(c *Content) string {
	var s strings.Builder
	for _, f := range c.Files {
		fmt.Fprintf(&s, "%s %d %s\n", f.Name, f.Bytes, f.SHA256)
	}
	return s.String()
}

func line(name, text string) string {
	return fmt.Sprintf("%s %d %x\n", name, len(text), sha256.Sum256([]byte(text)))
}

// The content of a release is digested before it has its name and can be read again from the name:
// for a file, and for a folder in the order of names, including subfolders.
func TestContent(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "a"), Confidential)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("what is released")); err != nil {
		t.Fatal(err)
	}
	before, err := f.Content(t.Context())
	if err != nil || before.Folder || before.Path != filepath.Join(dir, "a") ||
		summary(before) != line("", "what is released") {
		t.Errorf("%+v, %v", before, err)
	}
	if err := errors.Join(f.Finish(), f.Commit()); err != nil {
		t.Fatal(err)
	}
	if after, err := ContentOf(t.Context(), filepath.Join(dir, "a")); err != nil || summary(after) != summary(before) {
		t.Errorf("%+v, %v", after, err)
	}

	folder := filepath.Join(dir, "folder")
	want := ""
	for _, name := range []string{"c.csv", "a.csv", "sub/b.csv"} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte("text of "+name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.csv", "c.csv", "sub/b.csv"} {
		want += line(name, "text of "+name)
	}
	if got, err := ContentOf(t.Context(), folder); err != nil || !got.Folder || summary(got) != want {
		t.Errorf("%v: %v\n%s\nwant\n%s", err, got, summary(got), want)
	}
}

// Files are digested concurrently: each has its own checksum, for any number of files, and an
// unreadable file is an error at any place.
func TestContentOfManyFiles(t *testing.T) {
	dir, want := t.TempDir(), ""
	names := 5*runtime.GOMAXPROCS(0) + 1
	for i := range names {
		name, text := fmt.Sprintf("%04d", i), strings.Repeat(fmt.Sprint(i), 1+i*1000)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want += line(name, text)
	}
	if got, err := ContentOf(t.Context(), dir); err != nil || summary(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, summary(got), want)
	}
	for _, i := range []int{0, names / 2, names - 1} {
		path := filepath.Join(dir, fmt.Sprintf("%04d", i))
		if err := errors.Join(os.Rename(path, path+".away"), os.Symlink("gone", path)); err != nil {
			t.Fatal(err)
		}
		if _, err := ContentOf(t.Context(), dir); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s is a link: %v", path, err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
}

// Unreadable files and other objects have no content; a cancelled run has none either.
func TestContentFails(t *testing.T) {
	dir := t.TempDir()
	if _, err := ContentOf(t.Context(), filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := ContentOf(t.Context(), "/dev/null"); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("a device: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range []string{filepath.Join(dir, "a"), dir} {
		if _, err := ContentOf(ctx, path); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, stopped: %v", path, err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if c, err := ContentOf(t.Context(), dir); err == nil {
		t.Errorf("a folder with a link: %+v", c)
	}
}

// Two runs do not write one file: the second is refused, and the file of the first is complete.
func TestTwoRunsOfOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	first, err := Create(path, Confidential)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Write([]byte("the first")); err != nil {
		t.Fatal(err)
	}
	if second, err := Create(path, Confidential); err == nil ||
		!strings.Contains(err.Error(), "another run is writing this file") {
		t.Errorf("the second: %v, %v", second, err)
	}
	if err := errors.Join(first.Finish(), first.Commit()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "the first" {
		t.Errorf("%q, %v", text, err)
	}
	if err := WriteFile(path, Confidential, []byte("the next")); err != nil {
		t.Errorf("after the first: %v", err)
	}
}

// Which paths are written to and which are replaced: pipes and terminals are written to; a socket
// and a disk are neither.
func TestDeviceTellsWhatIsWrittenTo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for path, want := range map[string]struct {
		device bool
		err    string
	}{
		file: {}, dir: {}, filepath.Join(dir, "gone"): {}, "/dev/null": {device: true},
		filepath.Join(dir, "socket"): {err: "is a socket"},
	} {
		device, err := Device(path)
		if device != want.device || (err != nil) != (want.err != "") || err != nil &&
			!strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: %v, %v, want %+v", path, device, err, want)
		}
	}
	// Disks have their own names in /dev; one is enough.
	disks := 0
	for _, pattern := range []string{"/dev/loop[0-9]", "/dev/vd[a-z]", "/dev/sd[a-z]", "/dev/nvme*n1"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			disks++
			if device, err := Device(path); device || err == nil || !strings.Contains(err.Error(), "is a disk") {
				t.Errorf("%s: %v, %v", path, device, err)
			}
		}
	}
	t.Logf("%d disks", disks)
}
