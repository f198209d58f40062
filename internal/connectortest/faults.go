package connectortest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// truncated: a file cut off is an error that names it, or, in a format that
// cannot know, gives whole records of the original and no others.
func truncated(t *testing.T, c Contract) {
	in, tab := input(t, c, 300)
	whole, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	all := mustRead(t, c.Source(in))
	path := filepath.Join(t.TempDir(), "cut"+c.Ext)
	lengths := []int{0, 1, 3, 8, 9, len(whole) - 1, len(whole) - 2, len(whole) - 4, len(whole) - 8, len(whole) - 9}
	cuts := c.damages(40)
	for i := 1; i < cuts; i++ {
		lengths = append(lengths, len(whole)*i/cuts)
	}
	for _, n := range lengths {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t.Context(), c.Source(path), connectors.Cut{})
		switch {
		case err != nil && !strings.Contains(err.Error(), "cut"+c.Ext):
			t.Errorf("cut to %d of %d bytes: the error does not name the file: %v", n, len(whole), err)
		case err != nil:
			expectNoValue(t, err, tab)
		case c.DetectsTruncation:
			t.Errorf("cut to %d of %d bytes: no error", n, len(whole))
		default:
			expectPrefix(t, got, all, n)
		}
	}
}

// expectPrefix: all but the last record are those of the whole file; the last
// may lack what was cut off its last field.
func expectPrefix(t *testing.T, got, all *content, length int) {
	t.Helper()
	if got.n > all.n {
		t.Fatalf("cut to %d bytes: %d records of %d", length, got.n, all.n)
	}
	for k, f := range got.schema.Fields {
		i := all.schema.Index(f.Name)
		if i < 0 {
			continue // the header itself is cut
		}
		for row := range got.n - 1 {
			if a, b := got.cells[k][row], all.cells[i][row]; a != b && f.Numeric() == all.schema.Fields[i].Numeric() {
				t.Fatalf("cut to %d bytes: column %s, record %d: %q, want %q", length, f.Name, row, a, b)
			}
		}
	}
}

func expectNoValue(t *testing.T, err error, tab *Table) {
	t.Helper()
	for i := range tab.N {
		if strings.Contains(err.Error(), secretValue(i)) {
			t.Fatalf("the error holds a value: %v", err)
		}
	}
}

// corrupted: whatever bytes are changed, there is an error or a result, never a
// panic, and never an error that shows a value.
func corrupted(t *testing.T, c Contract) {
	in, tab := input(t, c, 60)
	whole, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	path := filepath.Join(t.TempDir(), "bad"+c.Ext)
	out := filepath.Join(t.TempDir(), "out"+c.Ext)
	for range c.damages(120) {
		bad := slices.Clone(whole)
		for range 1 + r.IntN(4) {
			bad[r.IntN(len(bad))] = []byte{0, 0xff, 0x80, byte(r.Uint32())}[r.IntN(4)]
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(t.Context(), c.Source(path), connectors.Cut{Records: 20}); err != nil {
			expectNoValue(t, err, tab)
		}
		j := job{carry: true, drop: []string{secretName}}
		if err := j.run(t.Context(), c.Source(path), c.Sink(out)); err != nil {
			expectNoValue(t, err, tab)
		}
	}
}

// missing: a file that is not there is an error that names it.
func missing(t *testing.T, c Contract) {
	path := filepath.Join(t.TempDir(), "nowhere"+c.Ext)
	src, err := c.Source(path).Open(t.Context())
	if err == nil {
		src.Close()
		t.Fatal("a missing file was opened")
	}
	if !strings.Contains(err.Error(), "nowhere"+c.Ext) {
		t.Errorf("the error does not name the file: %v", err)
	}
}

// cancelled: once the context is done, Next, Write and Finish return its error,
// and nothing is left behind.
func cancelled(t *testing.T, c Contract) {
	in, _ := input(t, c, 300)
	dir := t.TempDir()
	to := c.Sink(filepath.Join(dir, "out"+c.Ext))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	src, err := c.Source(in).Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	j := job{cut: connectors.Cut{Records: 10}}
	layout := j.plan(src, to)
	sink, err := to.Create(ctx, connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Read(ctx, layout, j.cut)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := j.encode([]connectors.Raw{raw}, layout, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Write(ctx, encoded[0]); err != nil {
		t.Fatal(err)
	}
	cancel()
	within(t, "Next", func() {
		if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Next of a cancelled pass: got %v", err)
		}
	})
	within(t, "Write", func() {
		if err := sink.Write(ctx, encoded[0]); !errors.Is(err, context.Canceled) {
			t.Errorf("Write of a cancelled run: got %v", err)
		}
	})
	within(t, "Finish", func() {
		if err := sink.Finish(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Finish of a cancelled run: got %v", err)
		}
	})
	if err := errors.Join(r.Close(), sink.Abort()); err != nil {
		t.Error(err)
	}
	if names := listing(t, dir); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
}

// fullDisk: for any number of bytes that fit, some step returns the error, Abort leaves nothing and
// there is no output.
func fullDisk(t *testing.T, c Contract) {
	if os.Getenv(childVariable) == "" {
		rerun(t)
		return
	}
	in, _ := input(t, c, 300)
	out := filepath.Join(t.TempDir(), "out"+c.Ext)
	j := job{carry: true, cut: connectors.Cut{Records: 64}, mask: double}
	if err := j.run(t.Context(), c.Source(in), c.Sink(out)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	size := info.Size()
	limits := []int64{0, 1, 7, 8, size - 1, size - 2, size - 8, size - 9}
	places := int64(c.damages(25))
	for i := range places {
		limits = append(limits, size*i/places)
	}
	for _, k := range limits {
		if k < 0 || k >= size {
			continue
		}
		dir := t.TempDir()
		to := c.Sink(filepath.Join(dir, "out"+c.Ext))
		var err error
		withFileLimit(t, k, func() { err = j.run(t.Context(), c.Source(in), to) })
		if err == nil {
			t.Errorf("%d of %d bytes fit: no error", k, size)
		}
		if names := listing(t, dir); len(names) > 0 {
			t.Errorf("%d of %d bytes fit: left behind %q", k, size, names)
		}
	}
}

// childVariable tells a process that it was started by rerun.
const childVariable = "CONNECTORTEST_CHILD"

// rerun runs the calling test alone in a process of its own, where a limit on
// files does not strike what the test framework writes.
func rerun(t *testing.T) {
	t.Helper()
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+pattern, "-test.v")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// withFileLimit runs f while no file can grow beyond k bytes: a write past it
// fails as it does on a full disk.
func withFileLimit(t *testing.T, k int64, f func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(k), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}

// nothingLeft: a source that fails in the middle of a run leaves nothing of the
// output.
func nothingLeft(t *testing.T, c Contract) {
	if !c.DetectsTruncation {
		t.Skip("a cut-off file is no error")
	}
	in, _ := input(t, c, 300)
	whole, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, whole[:len(whole)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	err = (&job{}).run(t.Context(), c.Source(in), c.Sink(filepath.Join(dir, "out"+c.Ext)))
	if err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v, want an error that is not io.EOF", err)
	}
	if names := listing(t, dir); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
}
