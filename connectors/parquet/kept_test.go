package parquet

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	pqgo "github.com/parquet-go/parquet-go"
)

// keptFiles returns files of all writers, and uncompressed files of both versions, in which
// decoding in place could change the bytes.
func keptFiles(t *testing.T) [][]byte {
	all := corpus(t)
	for _, version := range []int{1, 2} {
		file, _ := carriedFile(t, pqgo.Compression(&pqgo.Uncompressed), pqgo.DataPageVersion(version))
		all = append(all, file)
	}
	return all
}

// The bytes kept at the inspection equal those of a second reading, and nothing changes them while
// their values are examined.
func TestKeptBytesAreThoseOfTheFile(t *testing.T) {
	for i, file := range keptFiles(t) {
		src, f, err := openedSource(t, file)
		if err != nil {
			t.Fatal(err)
		}
		s := &sink{source: src, out: &output{in: readable{bytes.NewReader(file)}}}
		for g := range f.RowGroups {
			for _, l := range f.leaves {
				read, err1 := s.inspect(t.Context(), s.out.in, g, l, false)
				kept, err2 := s.inspect(t.Context(), s.out.in, g, l, true)
				if err1 != nil || err2 != nil {
					t.Fatalf("file %d, %v: %v, %v", i, l.path, err1, err2)
				}
				if len(read.pieces) > 0 && kept.kept == nil || len(kept.pieces) > 0 || read.kept != nil || read.anew != kept.anew ||
					!reflect.DeepEqual(read.meta, kept.meta) {
					t.Errorf("file %d, %v: %+v\n%+v", i, l.path, read.meta, kept.meta)
				}
				first, second := &memoryFile{}, &memoryFile{}
				a, b := &output{file: first, in: s.out.in}, &output{file: second} // without reading anything
				if err := errors.Join(a.copy(read), b.copy(kept)); err != nil {
					t.Fatalf("file %d, %v: %v", i, l.path, err)
				}
				if !bytes.Equal(first.Bytes(), second.Bytes()) || a.at != b.at {
					t.Errorf("file %d, %v: %d and %d bytes, which differ", i, l.path, a.at, b.at)
				}
				if kept.kept != nil {
					t.Errorf("file %d, %v: bytes are still kept after they were written", i, l.path)
				}
			}
		}
	}
}

// The copy does not depend on how much of a row group is kept in memory: nothing, the smallest
// chunks, or all of it.
func TestCopyDoesNotDependOnWhatIsKept(t *testing.T) {
	defer func(n int64) { keptBytes = n }(keptBytes)
	for i, file := range keptFiles(t) {
		var want []byte
		for _, keptBytes = range []int64{-1, 100, 1000, 1 << 40} {
			got, _, err := carriedInMemory(file)
			if err != nil {
				t.Fatalf("file %d: %v", i, err)
			}
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("file %d: the release differs if %d bytes are kept", i, keptBytes)
			}
		}
	}
}

// A full disk ends a copy of kept bytes with an error, like any other copy.
func TestKeptBytesOnAFullDisk(t *testing.T) {
	file, _ := carriedFile(t)
	src, f, err := openedSource(t, file)
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{source: src, out: &output{file: &fullDisk{left: 10}, in: readable{bytes.NewReader(file)}}}
	in, err := s.inspect(t.Context(), s.out.in, 0, f.leaves[0], true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.splice(0, in); !errors.Is(err, errFull) {
		t.Error(err)
	}
}
