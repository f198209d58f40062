package connectortest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// abort: after Abort, at whichever step, there is nothing; calling it again
// does nothing; an earlier release under the name stays.
func abort(t *testing.T, c Contract) {
	in, tab := input(t, c, 100)
	for steps := range 4 {
		dir := t.TempDir()
		path := filepath.Join(dir, "out"+c.Ext)
		if steps == 3 {
			write(t, c, path, tab)
		}
		src, err := c.Source(in).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		to := c.Sink(path)
		j := job{}
		layout := j.plan(src, to)
		sink, err := to.Create(t.Context(), connectors.Plan{Source: src, Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		if steps >= 1 {
			writeAll(t, &j, src, sink, to)
		}
		if steps >= 2 {
			if err := sink.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := sink.Abort(); err != nil {
				t.Errorf("after %d steps: Abort: %v", steps, err)
			}
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
		names := listing(t, dir)
		if steps == 3 {
			expect(t, mustRead(t, c.Source(path)), tab, c.Typed)
			names = slices.DeleteFunc(names, func(n string) bool {
				return n == "out"+c.Ext || c.Table && strings.HasPrefix(n, "out"+c.Ext+"/")
			})
		}
		if len(names) > 0 {
			t.Errorf("after %d steps: left behind %q", steps, names)
		}
	}
}

// bytesOf are those of a release: of a file, or of all files of a folder with an ending.
func bytesOf(t *testing.T, path, ext string) (all []byte) {
	t.Helper()
	if err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ext) {
			return err
		}
		p, err := os.ReadFile(name)
		all = append(all, p...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func writeAll(t *testing.T, j *job, src connectors.Source, sink connectors.Sink, to connectors.SinkConfig) {
	t.Helper()
	layout := j.plan(src, to)
	raws, err := rawsOf(t.Context(), src, layout, j.cut)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := j.encode(raws, layout, sink)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range encoded {
		if err := sink.Write(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// commit: nothing has a final name before Commit; after it there is exactly
// what Paths says, with the mode of a release, in place of what was there.
func commit(t *testing.T, c Contract) {
	in, tab := input(t, c, 100)
	for _, before := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out"+c.Ext)
		if before {
			write(t, c, path, NewTable(t, c, 3))
		}
		src, err := c.Source(in).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		to := c.Sink(path)
		j := job{carry: true}
		sink, err := to.Create(t.Context(), connectors.Plan{Source: src, Layout: j.plan(src, to)})
		if err != nil {
			t.Fatal(err)
		}
		writeAll(t, &j, src, sink, to)
		if err := sink.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		expectHidden(t, dir, before, "out"+c.Ext)
		if err := sink.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := sink.Abort(); err != nil {
			t.Errorf("Abort after Commit: %v", err)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
		if names := listing(t, dir); !slices.Equal(names, []string{"out" + c.Ext}) ||
			!slices.Equal(to.Paths(), []string{path}) {
			t.Errorf("committed %q, and Paths says %q", names, to.Paths())
		}
		expectMode(t, path)
		expect(t, mustRead(t, c.Source(path)), tab, c.Typed)
	}
}

// expectHidden: before Commit everything but an earlier release is temporary,
// and for its owner alone.
func expectHidden(t *testing.T, dir string, before bool, base string) {
	t.Helper()
	for _, name := range listing(t, dir) {
		if before && name == base {
			continue
		}
		if !publish.IsTemp(name) {
			t.Errorf("%s has its name before Commit", name)
		}
	}
}

func expectMode(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	if want := fs.FileMode(0o666 &^ mask); info.Mode().Perm() != want {
		t.Errorf("mode %v, want %v", info.Mode().Perm(), want)
	}
}
