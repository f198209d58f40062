package serial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// letters is a format whose records are the bytes of a file: a digit before them says how many there are; ? that it is
// not known.
type letters struct {
	said      []int64 // what Scan is told of the records of each file
	scanErr   error   // after the records of the last file
	schemaErr error
	describes error
	stuck     chan struct{} // closed when a scan without end has ended
}

type run1 string

func (p run1) Len() int               { return len(p) }
func (p run1) Part(from, to int) run1 { return p[from:to] }
func (p run1) Size() int64            { return 3 * int64(len(p)) }

func (l *letters) Describe(_ context.Context, f File) (int64, error) {
	if l.describes != nil {
		return 0, l.describes
	}
	var head [1]byte
	if _, err := f.In.ReadAt(head[:], 0); err != nil {
		return 0, errors.New("is empty")
	}
	if f.Records != -1 || f.Size < 1 || f.Label == "" {
		return 0, fmt.Errorf("%+v", f)
	}
	if head[0] == '?' {
		return -1, nil
	}
	return int64(head[0] - '0'), nil
}

func (l *letters) Schema() (*microdata.Schema, error) {
	return &microdata.Schema{Fields: []microdata.Field{{Name: "a", Type: arrow.BinaryTypes.String}}}, l.schemaErr
}

func (l *letters) Scan(ctx context.Context, f File, _ *microdata.Layout, rows int, yield func(run1) error) error {
	l.said = append(l.said, f.Records)
	if l.stuck != nil {
		defer close(l.stuck)
	}
	all := make([]byte, f.Size)
	if _, err := f.In.ReadAt(all, 0); err != nil {
		return err
	}
	for part := range slices.Chunk(all[1:], min(rows, 5)) {
		if err := yield(run1(part)); err != nil {
			return err
		}
	}
	if l.stuck != nil {
		for {
			if err := yield("z"); err != nil {
				return err
			}
		}
	}
	return l.scanErr
}

func (l *letters) Decode(b *microdata.Block, _ *microdata.Layout, pieces []run1) error {
	build := array.NewStringBuilder(memory.DefaultAllocator)
	for _, p := range pieces {
		for _, c := range p {
			build.Append(string(c))
		}
	}
	b.Columns[0].Array = build.NewArray()
	return nil
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var layout = &microdata.Layout{Read: []microdata.Want{{Field: 0, As: microdata.Array}}}

// blocks reads a pass: each block as "stream:first:text".
func blocks(t *testing.T, s *Source[run1], cut connectors.Cut) (list []string, bytes int64, err error) {
	t.Helper()
	r, err := s.Read(t.Context(), layout, cut)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	for {
		raw, err := r.Next(t.Context())
		if err == io.EOF {
			if _, again := r.Next(t.Context()); again != io.EOF {
				t.Errorf("after the end: %v", again)
			}
			return list, bytes, nil
		}
		if err != nil {
			if _, again := r.Next(t.Context()); !errors.Is(again, err) {
				t.Errorf("after an error: %v", again)
			}
			return list, bytes, err
		}
		bytes += raw.Bytes()
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			t.Fatal(err)
		}
		text := ""
		for i := range b.N {
			text += b.Columns[0].Array.ValueStr(i)
		}
		list = append(list, fmt.Sprintf("%d:%d:%s", b.Stream, b.First, text))
	}
}

func TestPasses(t *testing.T) {
	dir := folder(t, map[string]string{"a.x": "7abcdefg", "b.x": "0", "c.x": "?hi"})
	f := &letters{}
	s, err := Open(t.Context(), dir, []string{".x"}, f)
	if err != nil {
		t.Fatal(err)
	}
	if s.Records() != -1 || len(s.Streams()) != 3 || !strings.HasSuffix(s.Streams()[2], "c.x") || !s.Rewindable() ||
		s.Schema().Fields[0].Name != "a" || s.Close() != nil || !s.Folder() {
		t.Errorf("%d records of %v", s.Records(), s.Streams())
	}
	for _, c := range []struct {
		cut  connectors.Cut
		want string
	}{
		{connectors.Cut{}, "0:0:abcde 0:5:fg 2:0:hi"},
		{connectors.Cut{Records: 2}, "0:0:ab 0:2:cd 0:4:ef 0:6:g 2:0:hi"},
		{connectors.Cut{Records: 3}, "0:0:abc 0:3:def 0:6:g 2:0:hi"},
		{connectors.Cut{Records: 6, Exact: true}, "0:0:abcdef 0:6:g 2:0:hi"},
		{connectors.Cut{Records: 7, Exact: true}, "0:0:abcdefg 2:0:hi"},
		{connectors.Cut{Records: 1, Exact: true}, "0:0:a 0:1:b 0:2:c 0:3:d 0:4:e 0:5:f 0:6:g 2:0:h 2:1:i"},
	} {
		list, bytes, err := blocks(t, s, c.cut)
		// Of a file with a known number of records, its own 8 bytes, rounded down in each block; otherwise three for each
		// record.
		if err != nil || strings.Join(list, " ") != c.want || bytes > 8+6 || bytes < 6+1 {
			t.Errorf("%+v: %v, %d bytes, %v", c.cut, list, bytes, err)
		}
	}
	if f.said[0] != 7 || f.said[2] != -1 {
		t.Errorf("a scan is told of %v records", f.said)
	}
	if list, bytes, err := blocks(t, s, connectors.Cut{Records: 7, Exact: true}); err != nil || bytes != 8+6 ||
		len(list) != 2 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
	if one, err := Open(t.Context(), filepath.Join(dir, "a.x"), []string{".x"}, f); err != nil || one.Records() != 7 ||
		one.Folder() {
		t.Errorf("%v", err)
	}
	if both, err := Open(t.Context(), filepath.Join(dir, "[ab].x"), []string{".x"}, f); err != nil || both.Records() != 7 {
		t.Errorf("%v", err)
	}
}

// A file without the records that it says, or whose scan fails, is an error that names it and the record.
func TestFilesThatEndEarly(t *testing.T) {
	for content, want := range map[string]string{
		"3ab": "after record 2: is truncated or damaged: it says that it has 3 records, and 2 are there",
		"1ab": "1 records, and 2", "0ab": "0 records, and 2"} {
		dir := folder(t, map[string]string{"a.x": "1a", "b.x": content})
		s, err := Open(t.Context(), dir, []string{".x"}, &letters{})
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := blocks(t, s, connectors.Cut{})
		var at *connectors.RecordError
		if !errors.As(err, &at) || !strings.HasSuffix(at.Stream, "b.x") || !strings.Contains(err.Error(), want) ||
			len(list) != 2 {
			t.Errorf("%s: %v, %v", content, list, err)
		}
	}
	for _, fails := range []error{errors.New("mine"), fmt.Errorf("it ends: %w", io.EOF)} {
		s, err := Open(t.Context(), filepath.Join(folder(t, map[string]string{"a.x": "1a"}), "a.x"), []string{".x"},
			&letters{scanErr: fails})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := blocks(t, s, connectors.Cut{}); err == nil || errors.Is(err, io.EOF) ||
			!strings.Contains(err.Error(), "after record 1: "+fails.Error()) {
			t.Errorf("%v: %v", fails, err)
		}
	}
}

// Open keeps no file open.
func TestFilesAreClosed(t *testing.T) {
	dir := folder(t, map[string]string{"a.x": "1a"})
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(files)
	}
	before := open()
	for range 40 {
		if _, err := Open(t.Context(), dir, []string{".x"}, &letters{}); err != nil {
			t.Fatal(err)
		}
	}
	if after := open(); after > before+20 { // the garbage collector may close what Open does not
		t.Errorf("%d files are open, %d before", after, before)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	dir := folder(t,
		map[string]string{"a.x": "1a", "empty.x": "", "gz.x": "\x1f\x8b\x08\x00", "p/k=1/b.x": "1b", "short.x": "1"})
	for path, want := range map[string]string{
		"empty.x": "empty.x: is empty", "gz.x": "gz.x: is compressed (gzip)", "p": "key=value", "none.x": "none.x",
		"*.y": "no",
	} {
		if _, err := Open(t.Context(), filepath.Join(dir, path), []string{".x"}, &letters{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Open(t.Context(), "/dev/null", []string{".x"}, &letters{}); err == nil ||
		!strings.Contains(err.Error(), "pipe") {
		t.Errorf("a device: %v", err)
	}
	mine := errors.New("mine")
	if _, err := Open(t.Context(), filepath.Join(dir, "a.x"), []string{".x"}, &letters{schemaErr: mine}); !errors.Is(err,
		mine) {
		t.Error(err)
	}
	for _, ends := range []error{context.Canceled, context.DeadlineExceeded} {
		if _, err := Open(t.Context(), filepath.Join(dir, "a.x"), []string{".x"}, &letters{describes: ends}); !errors.Is(err,
			ends) || err.Error() != ends.Error() {
			t.Errorf("%v: %v", ends, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Open(ended, filepath.Join(dir, "a.x"), []string{".x"}, &letters{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s, err := Open(t.Context(), filepath.Join(dir, "a.x"), []string{".x"}, &letters{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(ended, layout, connectors.Cut{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for records, ok := range map[int]bool{-1: false, 0: false, 1: true} {
		r, err := s.Read(t.Context(), layout, connectors.Cut{Exact: true, Records: records})
		if (err == nil) != ok {
			t.Errorf("exact blocks of %d records: %v", records, err)
		}
		if err == nil {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := s.Read(t.Context(), &microdata.Layout{Read: []microdata.Want{{As: microdata.Numbers}}},
		connectors.Cut{}); err == nil {
		t.Error("numbers of texts")
	}
	for path, want := range map[string]string{"": "must name a file", "-": "pipe", "a.x": "", "s3://b": "path"} {
		var ps check.Problems
		CheckPath(&ps, path)
		if (len(ps) > 0) != (want != "") || want != "" && (ps[0].Path != "path" || !strings.Contains(ps[0].Error(), want)) {
			t.Errorf("%q: %v", path, ps)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a.x"), []byte("2aa"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := blocks(t, s, connectors.Cut{}); err == nil || !strings.Contains(err.Error(), "a.x") {
		t.Errorf("a file that was changed: %v", err)
	}
}

// A pass goes on where it was after the end of a context that was only that of one call, and its close ends what it has
// begun.
func TestEndsOfPasses(t *testing.T) {
	dir := folder(t, map[string]string{"a.x": "7abcdefg"})
	s, err := Open(t.Context(), filepath.Join(dir, "a.x"), []string{".x"}, &letters{})
	if err != nil {
		t.Fatal(err)
	}
	reading, readEnds := context.WithCancel(t.Context())
	r, err := s.Read(reading, layout, connectors.Cut{Records: 4, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	readEnds() // the pass does not
	ended, end := context.WithCancel(t.Context())
	end()
	total := 0
	for {
		if _, err := r.Next(ended); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Hour)
		raw, err := r.Next(soon)
		cancel()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		total += raw.(*run[run1]).n
	}
	if total != 7 {
		t.Errorf("%d records", total)
	}
	f := &letters{stuck: make(chan struct{})}
	if s, err = Open(t.Context(), filepath.Join(dir, "a.x"), []string{".x"}, f); err != nil {
		t.Fatal(err)
	}
	if r, err = s.Read(t.Context(), layout, connectors.Cut{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-f.stuck:
	case <-time.After(time.Minute):
		buf := make([]byte, 1<<16)
		t.Fatalf("the scan goes on after the pass is closed:\n%s", buf[:runtime.Stack(buf, true)])
	}
	if _, err := r.Next(t.Context()); err == nil || err == io.EOF {
		t.Errorf("a closed pass goes on: %v", err)
	}
}
