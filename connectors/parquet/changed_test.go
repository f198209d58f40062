package parquet

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/internal/files"
)

// A changed footer is detected even if size and times are equal: here the stamp is taken again
// after the change.
func TestFooterIsHeldAgainstThatOfThePlan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.parquet")
	connectortest.WriteTable(t, path, 50, &SinkConfig{Path: path})
	src, err := (&SourceConfig{Path: path}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	st := src.(*source).streams[0]
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range []int64{st.size - 9, st.size - 8 - st.length} { // the first and the last byte of the footer
		var b [1]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{b[0] ^ 1}, at); err != nil {
			t.Fatal(err)
		}
		if st.stamp, err = files.StampOf(f); err != nil {
			t.Fatal(err)
		}
		in, err := st.reopen()
		if !errors.Is(err, files.ErrChanged) {
			t.Errorf("byte %d: got %v", at, err)
		}
		if err == nil {
			in.Close()
		}
		if _, err := f.WriteAt(b[:], at); err != nil {
			t.Fatal(err)
		}
	}
}
