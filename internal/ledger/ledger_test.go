package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/microdata"
)

func release(name string) *Release {
	return &Release{Name: name, KeyID: "k", Releasing: json.RawMessage(`{"masks":[]}`),
		Columns: []Column{{Name: "wage", Mean: 1, SD: 2}}}
}

func opened(t *testing.T, path string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// written has three releases: published, not published, and one without outcome.
func written(t *testing.T, path string) {
	t.Helper()
	l := opened(t, path)
	for i, name := range []string{"a", "b", "c"} {
		n, err := l.Enter(release(name))
		if err == nil && i < 2 {
			err = l.Settle(n, i == 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func names(list []Listed) string {
	var s []string
	for _, r := range list {
		s = append(s, r.Release.Name)
	}
	return strings.Join(s, " ")
}

// A line has the digest that the next one names; before the first and behind the last there is none.
func TestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	written(t, path)
	l := opened(t, path)
	last, head := l.Next()
	for n := int64(0); n < last; n++ {
		want := head
		if n < last-1 {
			want = l.content.entries[n].Previous
		}
		if digest, ok := l.Line(n); !ok || digest != want {
			t.Errorf("line %d has the digest %q (%v), want %q", n, digest, ok, want)
		}
	}
	for _, n := range []int64{-1, last, last + 1} {
		if digest, ok := l.Line(n); ok || digest != "" {
			t.Errorf("line %d has the digest %q", n, digest)
		}
	}
}

// What is entered is read again: what was not published does not count, what has no outcome does. The file is its
// owner's only.
func TestReleasesAreEntered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in", "ledger")
	written(t, path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the ledger has mode %v, error %v, want 0600", info.Mode(), err)
	}
	l := opened(t, path)
	if got := names(l.Releases()); got != "a c" {
		t.Errorf("published are %q, want a and c", got)
	}
	if got := names(l.Unknown()); got != "c" {
		t.Errorf("without outcome are %q, want c", got)
	}
	if next, head := l.Next(); next != 6 || head != l.content.entries[4].SHA256 {
		t.Errorf("the next entry is %d after %s, want 6 after that of the last line", next, head)
	}
	if err := l.Settle(5, false); err != nil || names(l.Releases()) != "a" {
		t.Errorf("settled late: %q, error %v, want a", names(l.Releases()), err)
	}
	if err := l.Settle(5, true); err == nil {
		t.Error("a second outcome of one release is entered")
	}
	if n, err := l.Enter(release("d")); err != nil || n != 7 {
		t.Errorf("the entry after a refused one is %d, error %v", n, err)
	}
	look, err := Look(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := look.Enter(release("d")); err == nil {
		t.Error("a ledger that is not held takes an entry")
	}
}

// Whatever byte is changed, and whatever line is missing, doubled or moved, the ledger says so; only lines that are
// missing at the end are not noticed, and a change of the last line's end makes it one that was cut off.
func TestChangesAreNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	written(t, path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		for _, flip := range []byte{1, 0x20} {
			other := bytes.Clone(text)
			other[i] ^= flip
			c, err := parse(path, other)
			if i == len(text)-1 && err == nil && c.torn && len(c.entries) == 4 {
				continue
			}
			if err == nil {
				t.Fatalf("byte %d changed: no error", i)
			}
			if broken := (*BrokenError)(nil); !errors.As(err, &broken) || broken.Line < 1 || broken.Line > 5 {
				t.Fatalf("byte %d changed: error %v, want the line", i, err)
			}
		}
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	lines[4] = append(lines[4], '\n')
	join := func(order ...int) []byte {
		var all []byte
		for _, i := range order {
			all = append(all, lines[i]...)
		}
		return all
	}
	for _, order := range [][]int{{1, 2, 3, 4}, {0, 2, 3, 4}, {0, 1, 3, 4}, {0, 0, 1, 2}, {0, 2, 1, 3, 4}} {
		if _, err := parse(path, join(order...)); err == nil {
			t.Errorf("lines %v: no error", order)
		}
	}
	other := filepath.Join(t.TempDir(), "other") // whole by itself, with other times
	written(t, other)
	foreign, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	second := append(bytes.Clone(lines[0]), bytes.SplitAfter(foreign, []byte("\n"))[1]...)
	if _, err := parse(path, second); err == nil {
		t.Error("a line of another ledger: no error")
	}
	if c, err := parse(path, join(0, 1, 2)); err != nil || len(c.entries) != 3 {
		t.Errorf("three lines: %v", err)
	}
}

// Of a ledger that was cut off anywhere the whole lines are left, and the next run goes on behind them.
func TestTornLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger")
	written(t, path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	step := 1
	if testing.Short() {
		step = 97 // of five lines of about 600 bytes
	}
	for n := 0; n < len(text); n += step {
		cut := filepath.Join(dir, "cut")
		if err := os.WriteFile(cut, text[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(t.Context(), cut, nil)
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
		whole := bytes.Count(text[:n], []byte("\n"))
		if len(l.content.entries) != whole || l.Torn != (n > 0 && text[n-1] != '\n') {
			t.Fatalf("cut after %d bytes: %d entries, torn %v, want %d", n, len(l.content.entries), l.Torn, whole)
		}
		if _, err := l.Enter(release("d")); err != nil {
			t.Fatal(err)
		}
		l.Close()
		if again, err := Look(t.Context(), cut); err != nil || len(again.content.entries) != whole+1 {
			t.Fatalf("cut after %d bytes, and continued: %v", n, err)
		}
	}
	zeros := append(bytes.Clone(text), make([]byte, 100)...)
	if c, err := parse(path, append(zeros, '\n')); err != nil || !c.torn || len(c.entries) != 5 {
		t.Errorf("a line that has not come to the disk: %v", err)
	}
}

// A ledger that others may read or replace is refused.
func TestOthersLedgers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger")
	written(t, path)
	link, hard, folder := filepath.Join(dir, "link"), filepath.Join(dir, "hard"), filepath.Join(dir, "folder")
	if err := errors.Join(os.Symlink(path, link), os.Mkdir(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{link, folder} {
		if l, err := Open(t.Context(), p, nil); err == nil {
			l.Close()
			t.Errorf("%s: is opened", p)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("mode 0640: error %v", err)
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.Link(path, hard)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, nil); err == nil {
		t.Error("a file with two names is opened")
	}
}

// Of two runs one waits until the other has let go, and then sees its entry. One whose context ends does not wait.
func TestOneAtATime(t *testing.T) { oneAtATime(t, filepath.Join(t.TempDir(), "ledger")) }

func oneAtATime(t *testing.T, path string) {
	first := opened(t, path)
	waits, done := make(chan bool), make(chan string)
	go func() {
		l, err := Open(t.Context(), path, func() { close(waits) })
		if err != nil {
			done <- err.Error()
			return
		}
		done <- names(l.Releases())
		l.Close()
	}()
	<-waits
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ended, path, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that is told to end: error %v", err)
	}
	if _, err := first.Enter(release("first")); err != nil {
		t.Fatal(err)
	}
	first.Close()
	if got := <-done; got != "first" {
		t.Errorf("the second run sees %q, want the release of the first", got)
	}
}

// failing makes the n-th call of the operating system fail, and reports by used whether there were so many.
func failing(t *testing.T, n int) (used func() bool) {
	t.Helper()
	real, count := system, 0
	fails := func() error {
		if count++; count == n {
			return fs.ErrInvalid
		}
		return nil
	}
	one := func(f func(*os.File) error) func(*os.File) error {
		return func(file *os.File) error { return errors.Join(fails(), f(file)) }
	}
	system.openFile = func(name string, flag int, mode fs.FileMode) (*os.File, error) {
		if err := fails(); err != nil {
			return nil, err
		}
		return real.openFile(name, flag, mode)
	}
	system.mkdirAll = func(name string, mode fs.FileMode) error { return errors.Join(fails(), real.mkdirAll(name, mode)) }
	system.stat = func(f *os.File) (fs.FileInfo, error) {
		if err := fails(); err != nil {
			return nil, err
		}
		return real.stat(f)
	}
	system.read = func(f *os.File) ([]byte, error) {
		text, err := real.read(f)
		return text, errors.Join(fails(), err)
	}
	system.write = func(f *os.File, data []byte, at int64) (int, error) {
		if err := fails(); err != nil {
			n, _ := real.write(f, data[:len(data)/2], at) // the disk is full
			return n, err
		}
		return real.write(f, data, at)
	}
	system.truncate = func(f *os.File, size int64) error {
		if err := fails(); err != nil {
			return err
		}
		return real.truncate(f, size)
	}
	system.sync, system.close, system.lock = one(real.sync), one(real.close), one(real.lock)
	t.Cleanup(func() { system = real })
	return func() bool {
		system = real
		return count >= n
	}
}

// Whichever call of the operating system fails, a release whose Enter has succeeded is in the ledger, and one whose
// Enter has failed is not, or counts as published.
func TestCallsFail(t *testing.T) {
	for n := 1; ; n++ {
		path := filepath.Join(t.TempDir(), "ledger")
		written(t, path)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(`{"schema":`) // cut off
		f.Close()
		used := failing(t, n)
		entered, settled := false, false
		l, err := Open(t.Context(), path, nil)
		if err == nil {
			var number int64
			if number, err = l.Enter(release("d")); err == nil {
				entered = true
				settled = l.Settle(number, false) == nil
			}
			l.Close()
		}
		failed := used()
		again := opened(t, path)
		got := names(again.Releases())
		switch {
		case settled && got != "a c", entered && !settled && got != "a c d", !entered && got != "a c" && got != "a c d":
			t.Errorf("call %d failed: entered %v, settled %v, and the ledger has %q", n, entered, settled, got)
		case !failed && !settled:
			t.Errorf("without a failure, Enter or Settle fails: %v", err)
		}
		again.Close()
		if !failed {
			if n < 15 {
				t.Errorf("only %d calls can fail", n-1)
			}
			return
		}
	}
}

// What is entered is on the disk before anything is published by it: a line is synced after it is written, and a new
// ledger's folder is.
func TestEntriesAreSynced(t *testing.T) {
	real := system
	t.Cleanup(func() { system = real })
	var order []string
	system.write = func(f *os.File, data []byte, at int64) (int, error) {
		order = append(order, "write")
		return real.write(f, data, at)
	}
	system.sync = func(f *os.File) error {
		order = append(order, "sync "+filepath.Base(f.Name()))
		return real.sync(f)
	}
	dir := t.TempDir()
	l := opened(t, filepath.Join(dir, "ledger"))
	number, err := l.Enter(release("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Settle(number, true); err != nil {
		t.Fatal(err)
	}
	want := []string{"sync ledger", "sync " + filepath.Base(dir), "write", "sync ledger", "write", "sync ledger"}
	if !slices.Equal(order, want) {
		t.Errorf("calls are %v, want %v", order, want)
	}
}

// Sketches tell the share of common respondents: of 40,000, half of which are in both, the standard error of a share
// of 1,024 is √(0.25/1024) = 0.016, and 4.5 of these are exceeded with a probability below 1e-5.
func TestSketches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	digest := func() (d microdata.Digest) {
		for i := range d {
			d[i] = byte(rng.Uint32())
		}
		return d
	}
	var all []microdata.Digest
	for range 60_000 {
		all = append(all, digest())
	}
	sketch := func(from, to int) *Sketch {
		var s Sketcher
		for ; from < to; from += 5000 {
			b := microdata.Block{N: 5000, Digests: all[from : from+5000]}
			s.Add(&b)
			s.Add(&b) // twice in the file
		}
		return s.Sketch()
	}
	a, b := sketch(0, 40_000), sketch(20_000, 60_000)
	if got := Share(a, b); math.Abs(got-0.5) > 4.5*0.016 {
		t.Errorf("share %v, want about 0.5", got)
	}
	if got := Share(a, a); got != 1 {
		t.Errorf("share of itself %v", got)
	}
	if got := Share(a, nil); got == got {
		t.Errorf("share of an unknown one %v, want NaN", got)
	}
	var few Sketcher
	few.Add(&microdata.Block{N: 3, Digests: []microdata.Digest{all[0], all[1], {}}})
	if s := few.Sketch(); !s.Whole || len(s.Digests) != 2 || Share(s, s) != 1 {
		t.Errorf("sketch of two: %+v, share %v", s, Share(s, s))
	}
	if new(Sketcher).Sketch() != nil {
		t.Error("nobody has a sketch")
	}
}

// No content of a file makes the reader panic, and what it accepts has a whole chain.
func FuzzParse(f *testing.F) {
	line, err := sealed(Entry{Schema: Schema, Number: 1, Previous: first, Time: time.Unix(0, 0).UTC(), Release: release("a")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(line, '\n'))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parse("ledger", text)
		if err != nil {
			return
		}
		previous := first
		for i, e := range c.entries {
			if e.Previous != previous || e.Number != int64(i)+1 {
				t.Fatalf("entry %d is accepted", i)
			}
			previous = e.SHA256
		}
	})
}

func digestOf(text string) (d microdata.Digest) {
	sum := sha256.Sum256([]byte(text))
	copy(d[:], sum[:])
	return d
}

// The union of sketches of parts is the sketch of all, in any order: of few respondents, of just as many as it holds,
// of more in one part, and of more only together.
func TestUnionOfSketches(t *testing.T) {
	for _, sizes := range [][]int{{0, 0}, {3, 0}, {0, 5}, {Sketched, 0}, {Sketched - 5, 5}, {Sketched, 1}, {1, Sketched},
		{700, 700}, {5000, 10}, {10, 5000}, {3000, 3000}} {
		var all Sketcher
		var parts []*Sketch
		n := 0
		for _, size := range sizes {
			var one Sketcher
			b := &microdata.Block{N: size}
			for range size {
				b.Digests = append(b.Digests, digestOf(fmt.Sprint(n)))
				n++
			}
			if size > 0 { // one respondent is in both parts
				b.Digests[0] = digestOf("both")
			}
			all.Add(b)
			one.Add(b)
			parts = append(parts, one.Sketch())
		}
		want := all.Sketch()
		for _, got := range []*Sketch{parts[0].Union(parts[1]), parts[1].Union(parts[0])} {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v: the union differs", sizes)
			}
		}
	}
}

// A sketch that is not of all respondents stays one, whatever is joined to it.
func TestUnionWithAPart(t *testing.T) {
	var all Sketcher
	b := &microdata.Block{N: 3000}
	for n := range b.N {
		b.Digests = append(b.Digests, digestOf(fmt.Sprint(n)))
	}
	all.Add(b)
	big := all.Sketch()
	part := &Sketch{Whole: true, Digests: big.Digests[7:9]}
	for _, got := range []*Sketch{big.Union(part), part.Union(big), big.Union(nil), (*Sketch)(nil).Union(big)} {
		if !reflect.DeepEqual(got, big) || got.Whole {
			t.Errorf("the union of a sketch with a part of it is another one, whole %v", got.Whole)
		}
	}
}

// A line is one thing: of two in one, the second would not be counted.
func TestLinesOfOneThing(t *testing.T) {
	r, tables := release("a"), &Tables{Name: "t", Releasing: json.RawMessage("{}")}
	for name, c := range map[string]struct {
		entry Entry
		whole bool
	}{
		"release": {Entry{Release: r}, true}, "tables": {Entry{Tables: tables}, true}, "nothing": {Entry{}, false},
		"release and tables":  {Entry{Release: r, Tables: tables}, false},
		"release and outcome": {Entry{Release: r, Outcome: &Outcome{Of: 1}}, false},
		"tables and outcome":  {Entry{Tables: tables, Outcome: &Outcome{Of: 1}}, false},
		"all":                 {Entry{Release: r, Tables: tables, Outcome: &Outcome{Of: 1}}, false},
	} {
		c.entry.Schema, c.entry.Number, c.entry.Previous = Schema, 1, first
		line, err := sealed(c.entry)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse("ledger", append(line, '\n')); (err == nil) != c.whole {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
