package s3_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// TestHeld has one writer write objects, and others name them or give them up: nobody sees
// what is held, it can be named again by who has not heard that it was, and nothing else
// takes its name away.
func TestHeld(t *testing.T) {
	eachServer(t, func(t *testing.T, b objects.Bucket) {
		for _, size := range []int{0, 10, 17 << 20} {
			key, data := fmt.Sprintf("held/%d", size), noise(size)
			w := write(t, b, key, data)
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
				if got := readAll(t, b, key); !bytes.Equal(got, data) {
					t.Errorf("%d bytes: other ones are read: %d", size, len(got))
				}
			}
			if err := objects.Discard(t.Context(), b, again); err != nil {
				t.Errorf("%d bytes: what is committed is given up: %v", size, err)
			}
			if got := readAll(t, b, key); !bytes.Equal(got, data) {
				t.Errorf("%d bytes: given up, and gone", size)
			}
		}
		w := write(t, b, "taken", noise(10))
		h, err := w.Hold()
		if err != nil {
			t.Fatal(err)
		}
		put(t, b, "taken", "theirs")
		if w, err = objects.Resume(t.Context(), b, h); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); !errors.Is(err, objects.ErrCondition) {
			t.Errorf("over another object: %v", err)
		}
		if got := readAll(t, b, "taken"); string(got) != "theirs" {
			t.Error("it was overwritten")
		}
		for range 2 {
			if err := objects.Discard(t.Context(), b, h); err != nil {
				t.Errorf("discard: %v", err)
			}
		}
		if _, err := objects.Resume(t.Context(), b, h); !errors.Is(err, objects.ErrNoUpload) {
			t.Errorf("what was given up: %v", err)
		}
		h.Upload = []byte(`{"id": "x"}`)
		if _, err := objects.Resume(t.Context(), b, h); err == nil {
			t.Error("a token without parts is taken")
		}
	})
}
