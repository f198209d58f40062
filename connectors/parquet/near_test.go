package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/files"
)

func onDisk(t *testing.T, b []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func pieces(n *near) (all []string) {
	for _, p := range n.pieces {
		all = append(all, fmt.Sprintf("%d-%d", p.from, p.from+int64(len(p.data))))
	}
	return all
}

// Which pieces are kept in memory; every read returns the bytes of the file.
func TestNearby(t *testing.T) {
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(i>>16 ^ i>>8 ^ i)
	}
	f := onDisk(t, content)
	type extent = files.Extent
	for _, c := range []struct {
		name    string
		extents []extent
		want    []string
	}{
		{"none", nil, nil},
		{"one", []extent{{From: 10, To: 500}}, []string{"10-500"}},
		{"the gap is joined", []extent{{From: 10, To: 500}, {From: 500 + nearGap, To: 30000}}, []string{"10-30000"}},
		{"a byte more is not", []extent{{From: 10, To: 500}, {From: 501 + nearGap, To: 30000}},
			[]string{"10-500", "16885-30000"}},
		{"in any order, one within another", []extent{{From: 90000, To: 90001}, {From: 10, To: 5000}, {From: 20, To: 30}},
			[]string{"10-5000", "90000-90001"}},
		{"as much as is held", []extent{{From: 7, To: 7 + nearBytes}}, []string{fmt.Sprintf("7-%d", 7+nearBytes)}},
		{"a byte too much", []extent{{From: 7, To: 8 + nearBytes}}, nil},
		{"too much together", []extent{{From: 0, To: nearBytes / 2}, {From: 1 << 20, To: 1<<20 + nearBytes/2 + 1}}, nil},
		{"beyond the end of the file", []extent{{From: 5, To: 10}, {From: 3<<20 - 5, To: 3<<20 + 1}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := nearby(f, c.extents)
			if got := pieces(n); !slices.Equal(got, c.want) {
				t.Fatalf("holds %q, want %q", got, c.want)
			}
			places := []int64{0, 3 << 20, nearBytes}
			held := &near{ReaderAt: strings.NewReader(""), pieces: n.pieces}
			for _, p := range n.pieces {
				if k, err := held.ReadAt(make([]byte, len(p.data)), p.from); k != len(p.data) || err != nil {
					t.Errorf("the piece from %d is not in memory: %d bytes, %v", p.from, k, err)
				}
				places = append(places, p.from, p.from+int64(len(p.data)))
			}
			for _, from := range places {
				for _, to := range places {
					for d := int64(-1); d <= 1; d++ {
						a, b := max(0, from+d), min(to, int64(len(content)))
						if a > b {
							continue
						}
						got := make([]byte, b-a)
						if k, err := n.ReadAt(got, a); k != len(got) || err != nil || !bytes.Equal(got, content[a:b]) {
							t.Fatalf("%d to %d: %d bytes, %v, equal %v", a, b, k, err, bytes.Equal(got, content[a:b]))
						}
					}
				}
			}
			n.free()
			got := make([]byte, 100)
			if _, err := n.ReadAt(got, 10); err != nil || !bytes.Equal(got, content[10:110]) {
				t.Errorf("after free: %v", err)
			}
		})
	}
	if n := nearby(bytes.NewReader(content), []extent{{From: 1, To: 100}}); len(n.pieces) > 0 {
		t.Error("keeps pieces of a file that is not local")
	}
}

// A release is identical, bit by bit, whether its row groups are read into memory or not.
func TestNearGroupsGiveTheSameRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "people.parquet")
	writePeople(t, path, 3000)
	most := nearBytes
	defer func() { nearBytes = most }()
	var releases [][]byte
	for _, nearBytes = range []int64{most, 0, 20000} {
		out := filepath.Join(t.TempDir(), "out.parquet")
		r := release{from: SourceConfig{Path: path}, to: SinkConfig{Path: out},
			layout: layoutOf([]string{"wage", "age"}, []string{"respondent_name"}), mask: mask}
		if err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, b)
	}
	if len(releases[0]) < 1000 || !bytes.Equal(releases[0], releases[1]) || !bytes.Equal(releases[0], releases[2]) {
		t.Error("the releases differ")
	}
}

// Small and large writes are buffered in every order. The file contains them in that order, and
// offsets count as if each had been written at once.
func TestGatheredWrites(t *testing.T) {
	sizes := []int{1, pendingBytes/4 - 1, pendingBytes / 4, pendingBytes - 5, pendingBytes, pendingBytes + 1, 7}
	for first := range sizes {
		to := &inMemory{}
		settled := 0
		o, err := newOutput(to, &fileMetaData{}, func() error { settled++; return nil })
		if err != nil {
			t.Fatal(err)
		}
		want := []byte(magic)
		for i := range 3 * len(sizes) {
			part := bytes.Repeat([]byte{byte(i + 1)}, sizes[(first+i*(first+1))%len(sizes)])
			want = append(want, part...)
			if err := o.write(part); err != nil {
				t.Fatal(err)
			}
			if o.at != int64(len(want)) {
				t.Fatalf("at %d, want %d", o.at, len(want))
			}
		}
		if err := o.finish(); err != nil || settled != 1 {
			t.Fatalf("%v, settled %d times", err, settled)
		}
		if got := to.Bytes(); len(got) <= len(want) || !bytes.Equal(got[:len(want)], want) ||
			string(got[len(got)-4:]) != magic {
			t.Errorf("beginning with size %d: %d bytes, want %d and a footer, in order", sizes[first], len(got), len(want))
		}
	}
}

// If the disk is full when buffered bytes are written, at any byte, finish returns an error and
// nothing is settled.
func TestGatheredWritesThatFail(t *testing.T) {
	for _, room := range []int{0, 3, 4, 5, 100, 103} {
		to := &fullDisk{left: room}
		o, err := newOutput(to, &fileMetaData{}, func() error { t.Error("settled"); return nil })
		if err == nil {
			err = o.write(make([]byte, 100))
		}
		if err == nil {
			err = o.finish()
		}
		if err == nil {
			t.Errorf("room for %d bytes: no error", room)
		}
		if err := o.abandon(); err != nil {
			t.Errorf("room for %d bytes: abandon: %v", room, err)
		}
	}
	broken := errors.New("broken")
	o, err := newOutput(&inMemory{}, &fileMetaData{}, func() error { return broken })
	if err != nil {
		t.Fatal(err)
	}
	if err := o.finish(); !errors.Is(err, broken) {
		t.Errorf("a part that cannot be settled: %v", err)
	}
	if err := o.abandon(); err != nil {
		t.Errorf("the file taken over by settle is closed again: %v", err)
	}
}
