package shard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCommitByStamps: a commit accepts unchanged parts without reading them, and detects changes by
// more than the modification time. A part of another attempt is compared with the digest.
func TestCommitByStamps(t *testing.T) {
	prepare(t, "parquet", 5_000, "")
	m := planned(t, 3)
	for i := range m.Shards {
		runShard(t, m, i)
	}
	s := stateAt(t, "states/2.state")
	part := filepath.Join(m.hidden("released"), s.Files[0].Name)
	// A file system without reliable change times gives no stamp: then the part is read.
	stamp := s.Files[0].Stamp
	if info, err := os.Stat(part); err != nil || stamp != nil &&
		(info.Size() != stamp.Bytes || info.ModTime().UnixNano() != stamp.Modified) {
		t.Errorf("the stamp is %+v, but the file %+v (error %v)", stamp, info, err)
	}
	data, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	rewrite := func(data []byte) {
		t.Helper()
		info, err := os.Stat(part)
		if err != nil {
			t.Fatal(err)
		}
		write(t, part, data)
		if err := os.Chtimes(part, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	data[100] ^= 1
	rewrite(data)
	data[100] ^= 1
	if _, err := Commit(t.Context(), load(t), m, "states", options); err == nil ||
		!strings.Contains(err.Error(), "shard 2: "+filepath.Base(part)+" is not what it wrote") {
		t.Errorf("a changed part with its old time: Commit returns %v, want an error", err)
	}
	rewrite(data)
	// The parts of shard 1 belong to an attempt without a state.
	if _, err := Run(t.Context(), load(t), m, 1, nil, options); err != nil {
		t.Fatal(err)
	}
	if _, err := Commit(t.Context(), load(t), m, "states", options); err != nil {
		t.Fatal(err)
	}
	if records(t, "parquet", "released") == "" {
		t.Error("the commit released nothing")
	}
}

// TestStampOfAnotherAttempt: a stamp is valid only for the files that its own attempt has digested.
func TestStampOfAnotherAttempt(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "part", []byte("own"))
	written, err := os.Lstat("part")
	if err != nil {
		t.Fatal(err)
	}
	own := stampOf("part", written)
	write(t, "other", []byte("oth"))
	if err := errors.Join(os.Chtimes("other", written.ModTime(), written.ModTime()), os.Rename("other", "part")); err !=
		nil {
		t.Fatal(err)
	}
	if s := stampOf("part", written); s != nil {
		t.Errorf("stampOf another file is %+v, want none", s)
	}
	if written, err = os.Lstat("part"); err != nil {
		t.Fatal(err)
	}
	later := written.ModTime().Add(time.Second)
	if err := os.Chtimes("part", later, later); err != nil {
		t.Fatal(err)
	}
	if s := stampOf("part", written); s != nil {
		t.Errorf("stampOf a changed file is %+v, want none", s)
	}
	if err := os.Chtimes("part", written.ModTime(), written.ModTime()); err != nil {
		t.Fatal(err)
	}
	if s := stampOf("part", written); own != nil && s == nil {
		t.Errorf("the first file had the stamp %+v, the second has none", own)
	}
}
