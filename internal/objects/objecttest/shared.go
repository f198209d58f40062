package objecttest

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Open opens a bucket as the environment says.
func Open(t *testing.T, scheme, name string) objects.Bucket {
	t.Helper()
	b, err := objects.Open(t.Context(), objectpath.Name{Scheme: scheme, Bucket: name})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// RunOn runs the contract's tests on what connect leads to: the server in the process, or,
// as real, one of other people, where the variable of the environment names it.
func RunOn(t *testing.T, variable string, inProcess func(*testing.T) Contract,
	real func(t *testing.T, value string) Contract) {
	if inProcess != nil {
		t.Run("in process", func(t *testing.T) { inProcess(t).Run(t) })
	}
	if value := os.Getenv(variable); value != "" {
		t.Run("real", func(t *testing.T) { real(t, value).Run(t) })
	}
}

// Refused holds an error against what it must be (nil: any) and must say, and against what
// none may hold: credentials and addresses, and the further texts never.
func Refused(t *testing.T, what string, err, want error, words string, never ...string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) || want != nil && !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %q", what, err, words)
		return
	}
	for _, n := range append(never, AccessKey, SecretKey, "http") {
		if strings.Contains(err.Error(), n) {
			t.Errorf("%s: the error holds %q: %v", what, n, err)
		}
	}
}

// AbortLeavesNothing gives up an object of several parts.
func AbortLeavesNothing(t *testing.T, server *Server, b objects.Bucket, name string) {
	w := Write(t, b, "k", Noise(40<<20))
	if server.Uploads() != 1 {
		t.Fatal("nothing is uploaded while it is written")
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if keys := server.Keys(name); len(keys) > 0 || server.Uploads() > 0 {
		t.Errorf("left are %q and %d uploads", keys, server.Uploads())
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("what was given up can be written")
	}
}

// WriteAndRead writes an object and reads it; the test must not notice temporary failures
// meanwhile.
func WriteAndRead(t *testing.T, b objects.Bucket, data []byte) {
	t.Helper()
	if err := Write(t, b, "k", data).Commit(); err != nil {
		t.Fatalf("commit: %v", err)
	}
	if !bytes.Equal(ReadAll(t, b, "k"), data) {
		t.Error("other bytes are read")
	}
}

// Impatient has what the test opens take a server for silent soon: so late that a busy machine
// is none, or none as often as a request is sent.
func Impatient(t *testing.T) {
	old := objects.Silence
	objects.Silence = time.Second
	t.Cleanup(func() { objects.Silence = old })
}
