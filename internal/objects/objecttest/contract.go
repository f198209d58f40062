package objecttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// Contract contains the requirements on a protocol, tested against a server. The bucket is emptied
// first.
type Contract struct {
	Bucket objects.Bucket
	// CompletesOver says that the server is known not to keep to If-Match where an upload is
	// completed.
	CompletesOver bool
	// GivesNothingUp says that by the protocol an upload cannot be given up.
	GivesNothingUp bool
}

// Run runs the contract's tests.
func (c Contract) Run(t *testing.T) {
	var old []string
	if err := c.Bucket.List(t.Context(), "", func(o objects.Info) error {
		old = append(old, o.Key)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, key := range old {
		if err := c.Bucket.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("objects", c.objects)
	t.Run("conditions", c.conditions)
	t.Run("held", c.held)
	t.Run("changed", c.changed)
}

// objects writes objects of one part and of several, which are not visible before they are
// committed, and reads them back.
func (c Contract) objects(t *testing.T) {
	b := c.Bucket
	for _, size := range []int{0, 1, 16<<20 - 1, 16 << 20, 36_000_001} {
		key := fmt.Sprintf("a folder/%d.bin", size)
		data := Noise(size)
		w := Write(t, b, key, data)
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Head(t.Context(), key); !errors.Is(err, objects.ErrAbsent) {
			t.Fatalf("%d bytes: before the commit Head says %v", size, err)
		}
		sum := sha256.Sum256(data)
		if n, digest := w.Sum(); n != int64(size) || digest != hex.EncodeToString(sum[:]) {
			t.Errorf("%d bytes: the sum is of %d, %s", size, n, digest)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := w.Abort(); err != nil {
			t.Errorf("abort after commit: %v", err)
		}
		if got := ReadAll(t, b, key); !bytes.Equal(got, data) {
			t.Errorf("%d bytes: other ones are read: %d", size, len(got))
		}
	}
	var keys []string
	if err := b.List(t.Context(), "a folder/", func(o objects.Info) error {
		keys = append(keys, o.Key)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 5 || !slices.IsSorted(keys) {
		t.Errorf("the list is %q", keys)
	}
}

// conditions has something come under a name, change there or vanish while a writer
// is busy: it is left as it is.
func (c Contract) conditions(t *testing.T) {
	for _, size := range []int{10, 17 << 20} {
		for _, before := range []string{"", "old"} {
			for _, after := range []string{"", "old", "new"} {
				c.overwritten(t, size, before, after)
			}
		}
	}
}

// overwritten commits an object of a given size under a name with the text before when the writer
// begins and the text after when it commits; "" means no object.
func (c Contract) overwritten(t *testing.T, size int, before, after string) {
	b := c.Bucket
	key := fmt.Sprintf("%d-%s-%s", size, before, after)
	if before != "" {
		Put(t, b, key, before)
	}
	w := Write(t, b, key, Noise(size))
	switch after {
	case before:
	case "":
		if err := b.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	default:
		Put(t, b, key, after)
	}
	err := w.Commit()
	switch {
	case after == before:
		if err != nil {
			t.Errorf("%s: nothing has changed: %v", key, err)
		}
	case c.CompletesOver && size > 16<<20 && before != "":
		if err != nil {
			t.Errorf("%s: the server keeps to the condition: %v", key, err)
		}
		return
	case !errors.Is(err, objects.ErrCondition) && !(after == "" && errors.Is(err, objects.ErrAbsent)):
		t.Errorf("%s: the commit says %v", key, err)
	}
	if err == nil {
		return
	}
	if err := w.Abort(); err != nil {
		t.Errorf("%s: abort: %v", key, err)
	}
	info, err := b.Head(t.Context(), key)
	if after == "" {
		if !errors.Is(err, objects.ErrAbsent) {
			t.Errorf("%s: there is %+v, %v", key, info, err)
		}
		return
	}
	if err != nil || info.Size != 3 {
		t.Errorf("%s: there is %+v, %v", key, info, err)
	}
}

// held has one writer write objects, and others name them or give them up: nobody sees
// what is held, it can be named again by who has not heard that it was, and nothing else
// takes its name away.
func (c Contract) held(t *testing.T) {
	for _, size := range []int{0, 10, 17 << 20} {
		c.heldAndNamed(t, size)
	}
	c.heldAndTaken(t)
}

// heldAndNamed has an object of a size held by one writer and named twice by another.
func (c Contract) heldAndNamed(t *testing.T, size int) {
	b := c.Bucket
	key, data := fmt.Sprintf("held/%d", size), Noise(size)
	w := Write(t, b, key, data)
	h, err := w.Hold()
	if err != nil {
		t.Fatalf("%d bytes: %v", size, err)
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := b.Head(t.Context(), key); !errors.Is(err, objects.ErrAbsent) {
		t.Fatalf("%d bytes: before the commit Head says %v", size, err)
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	again := &objects.Held{}
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w, err := objects.Resume(t.Context(), b, again)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if n, digest := w.Sum(); n != int64(size) || digest != h.SHA256 {
			t.Errorf("%d bytes: the sum is of %d, %s", size, n, digest)
		}
		if err := w.Commit(); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got := ReadAll(t, b, key); !bytes.Equal(got, data) {
			t.Errorf("%d bytes: other ones are read: %d", size, len(got))
		}
	}
	if err := objects.Discard(t.Context(), b, again); err != nil {
		t.Errorf("%d bytes: what is committed is given up: %v", size, err)
	}
	if got := ReadAll(t, b, key); !bytes.Equal(got, data) {
		t.Errorf("%d bytes: given up, and gone", size)
	}
}

// heldAndTaken has another object come under the name of one that is held.
func (c Contract) heldAndTaken(t *testing.T) {
	b := c.Bucket
	w := Write(t, b, "taken", Noise(10))
	h, err := w.Hold()
	if err != nil {
		t.Fatal(err)
	}
	Put(t, b, "taken", "theirs")
	// What was put may have removed the upload.
	w, err = objects.Resume(t.Context(), b, h)
	if err == nil {
		err = w.Commit()
	}
	if !errors.Is(err, objects.ErrCondition) && !errors.Is(err, objects.ErrNoUpload) {
		t.Errorf("over another object: %v", err)
	}
	if got := ReadAll(t, b, "taken"); string(got) != "theirs" {
		t.Error("it was overwritten")
	}
	for range 2 {
		if err := objects.Discard(t.Context(), b, h); err != nil {
			t.Errorf("discard: %v", err)
		}
	}
	if _, err := objects.Resume(t.Context(), b, h); !errors.Is(err, objects.ErrNoUpload) && !c.GivesNothingUp {
		t.Errorf("what was given up: %v", err)
	}
	h.Upload = []byte(`{"id": "x"}`)
	if _, err := objects.Resume(t.Context(), b, h); err == nil {
		t.Error("a token without parts is taken")
	}
}

// changed has an object change behind its first bytes.
func (c Contract) changed(t *testing.T) {
	b := c.Bucket
	Put(t, b, "k", strings.Repeat("a", 300_000))
	info, err := b.Head(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	r := objects.NewReader(t.Context(), b, info)
	defer r.Close()
	if _, err := r.ReadAt(make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	Put(t, b, "k", strings.Repeat("b", 300_000))
	if _, err := r.ReadAt(make([]byte, 10), 200_000); !errors.Is(err, objects.ErrCondition) {
		t.Errorf("of an object that has changed: %v", err)
	}
	if err := b.Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadAt(make([]byte, 10), 100_000); !errors.Is(err, objects.ErrAbsent) &&
		!errors.Is(err, objects.ErrCondition) {
		t.Errorf("of an object that is gone: %v", err)
	}
}

// Noise is bytes that no compression makes fewer.
func Noise(n int) []byte {
	data := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(data)
	return data
}

// Write writes an object, up to its end.
func Write(t *testing.T, b objects.Bucket, key string, data []byte) *objects.Writer {
	t.Helper()
	w, err := objects.NewWriter(t.Context(), b, key, false)
	if err != nil {
		t.Fatal(err)
	}
	// Pieces that no part ends with.
	for at := 0; at < len(data); at += 1_000_003 {
		if _, err := w.Write(data[at:min(at+1_000_003, len(data))]); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// ReadAll reads an object.
func ReadAll(t *testing.T, b objects.Bucket, key string) []byte {
	t.Helper()
	info, err := b.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	r := objects.NewReader(t.Context(), b, info)
	defer r.Close()
	r.Want(objects.Extent{To: info.Size})
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Put puts a whole object.
func Put(t *testing.T, b objects.Bucket, key, text string) {
	t.Helper()
	if err := objects.PutWhole(t.Context(), b, key, []byte(text), objects.Condition{}); err != nil {
		t.Fatal(err)
	}
}
