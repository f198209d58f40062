package publish

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// heldPart is a part with a sync that waits for the test.
type heldPart struct {
	begun, resume chan struct{}
	err           error
	closed        atomic.Bool
}

func newHeldPart(err error) *heldPart {
	return &heldPart{begun: make(chan struct{}), resume: make(chan struct{}), err: err}
}

func (p *heldPart) Write(b []byte) (int, error) { return len(b), nil }
func (p *heldPart) Sync() error {
	close(p.begun)
	<-p.resume
	return p.err
}
func (p *heldPart) Close() error {
	p.closed.Store(true)
	return nil
}

func newDir(t *testing.T) *Dir {
	t.Helper()
	d, err := CreateDir(filepath.Join(t.TempDir(), "release"), ".csv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Abort() })
	return d
}

// Parts are synced in parallel, and nothing continues before all are synced.
func TestPartsAreSyncedBesideOneAnother(t *testing.T) {
	for name, waits := range map[string]func(*Dir) error{
		"Settled": (*Dir).Settled,
		"Content": func(d *Dir) error { _, err := d.Content(t.Context()); return err },
		"Commit":  (*Dir).Commit,
		"Abort":   (*Dir).Abort,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t)
			parts := make([]*heldPart, settling)
			for i := range parts {
				parts[i] = newHeldPart(nil)
				if err := d.Settle(parts[i]); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range parts {
				<-p.begun // all of them, before any has ended
			}
			var early atomic.Bool
			early.Store(true)
			var all sync.WaitGroup
			all.Go(func() {
				if err := waits(d); err != nil {
					t.Error(err)
				}
				if early.Load() {
					t.Error("did not wait for the last part")
				}
			})
			for _, p := range parts[1:] {
				close(p.resume)
			}
			early.Store(false)
			close(parts[0].resume)
			all.Wait()
			for i, p := range parts {
				if !p.closed.Load() {
					t.Errorf("part %d is open", i)
				}
			}
		})
	}
}

// If any part cannot be synced, that is an error of the next step, and nothing gets the name.
func TestPartThatCannotBeSynced(t *testing.T) {
	broken := errors.New("no room")
	for bad := range 3 {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			d := newDir(t)
			var parts []*heldPart
			for i := range 3 {
				p := newHeldPart(nil)
				if i == bad {
					p.err = broken
				}
				parts = append(parts, p)
				if err := d.Settle(p); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range parts {
				close(p.resume)
			}
			if err := d.Settled(); !errors.Is(err, broken) {
				t.Errorf("Settled: %v", err)
			}
			late := newHeldPart(nil)
			if err := d.Settle(late); !errors.Is(err, broken) || !late.closed.Load() {
				t.Errorf("a part after it: %v, closed %v", err, late.closed.Load())
			}
			if _, err := d.Content(t.Context()); !errors.Is(err, broken) {
				t.Errorf("Content: %v", err)
			}
			if err := d.Commit(); !errors.Is(err, broken) {
				t.Errorf("Commit: %v", err)
			}
			if _, err := os.Lstat(d.Path()); err == nil {
				t.Error("the release has its name")
			}
			if err := d.Abort(); err != nil {
				t.Error(err)
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(d.Path()), "*"))
			if hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(d.Path()), ".*")); err != nil || len(left)+len(hidden) > 0 {
				t.Errorf("remaining files: %s", strings.Join(append(left, hidden...), " "))
			}
		})
	}
}

// More parts than are synced at once, with real files: all are complete and closed.
func TestManySettledParts(t *testing.T) {
	d := newDir(t)
	const n = 5 * settling
	var files []*os.File
	for i := range n {
		p, err := d.Create(fmt.Sprintf("part-%05d.csv", i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(p, i); err != nil {
			t.Fatal(err)
		}
		files = append(files, p.(*dirPart).File)
		if err := d.Settle(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if got, err := os.ReadFile(filepath.Join(d.Path(), fmt.Sprintf("part-%05d.csv", i))); err != nil ||
			string(got) != fmt.Sprintln(i) {
			t.Errorf("part %d: %q, %v", i, got, err)
		}
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("part %d was left open", i)
		}
	}
}
