package shuffle

import (
	"os"
	"path/filepath"
	"testing"
)

// Most buckets of these small releases have a file nevertheless, and some have none.
func init() { mostHeld = 600 }

// TestSmallBucketsHaveNoFile: only what does not fit into memory needs a folder for temporary files, in which it has no
// name.
func TestSmallBucketsHaveNoFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	s := &sink{dir: dir, schema: placed()}
	b := s.open()
	if n, err := b.Write(make([]byte, mostHeld-1)); n != mostHeld-1 || err != nil || b.file != nil {
		t.Fatalf("%d bytes of %d: file %v, error %v", n, mostHeld-1, b.file, err)
	}
	if _, err := b.Write([]byte{0}); !os.IsNotExist(err) {
		t.Errorf("no folder: error %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Write([]byte{0}); n != 1 || err != nil || b.file == nil {
		t.Errorf("the last byte: file %v, error %v", b.file, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left are %v, error %v", left, err)
	}
	if info, err := b.file.Stat(); err != nil || info.Size() != int64(mostHeld) || b.held.Len() != 0 {
		t.Errorf("the file has %v, %d bytes are held, error %v", info.Size(), b.held.Len(), err)
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
}
