package compress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pack(t *testing.T, c Codec, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func sample(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.IntN(7)) + 'a'
	}
	return p
}

func TestRoundTrip(t *testing.T) {
	racetest.Further(t)
	for _, c := range []Codec{None, Gzip, Zstd} {
		for _, n := range []int{0, 1, 1000, pumpBuffer, 3*pumpBuffer*pumpDepth + 17} {
			data := sample(n)
			packed := pack(t, c, data)
			if got := Sniff(packed); got != c {
				t.Errorf("%s, %d bytes: the mark is that of %s", c, n, got)
			}
			r := NewReader(bytes.NewReader(packed), c)
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s, %d bytes: %v, got %d bytes", c, n, err, len(got))
			}
			r.Close()
			// Concatenated streams are one stream, as gzip and zstd define it.
			r = NewReader(bytes.NewReader(append(bytes.Clone(packed), packed...)), c)
			if got, err := io.ReadAll(r); err != nil || len(got) != 2*n {
				t.Errorf("%s, twice %d bytes: %v, got %d", c, n, err, len(got))
			}
			r.Close()
		}
	}
}

func TestTruncated(t *testing.T) {
	for _, c := range []Codec{Gzip, Zstd} {
		for _, n := range []int{0, 2000} {
			packed := pack(t, c, sample(n))
			for cut := range packed {
				r := NewReader(bytes.NewReader(packed[:cut]), c)
				if _, err := io.ReadAll(r); !errors.Is(err, ErrTruncated) {
					t.Errorf("%s of %d bytes cut to %d of %d: got %v, want ErrTruncated", c, n, cut, len(packed), err)
				}
				r.Close()
			}
		}
		packed := pack(t, c, sample(2000))
		packed[len(packed)/2] ^= 0x55
		r := NewReader(bytes.NewReader(packed), c)
		if _, err := io.ReadAll(r); err == nil {
			t.Errorf("%s: a damaged stream is read without an error", c)
		}
		r.Close()
		r = NewReader(bytes.NewReader([]byte("id,wage\n1,2\n")), c)
		if _, err := io.ReadAll(r); err == nil {
			t.Errorf("%s: text is taken for a compressed stream", c)
		}
		r.Close()
	}
}

type failing struct{ left int }

var errFull = errors.New("no space left")

func (f *failing) Write(p []byte) (int, error) {
	if len(p) > f.left {
		return 0, errFull
	}
	f.left -= len(p)
	return len(p), nil
}

func TestWriterFails(t *testing.T) {
	data := make([]byte, 4<<20)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	for _, c := range []Codec{Gzip, Zstd} {
		for _, k := range []int{0, 100, 1 << 20} {
			w, err := NewWriter(&failing{k}, c)
			if err != nil {
				t.Fatal(err)
			}
			w.Write(data)
			if err := w.Close(); !errors.Is(err, errFull) {
				t.Errorf("%s after %d bytes: got %v", c, k, err)
			}
		}
	}
}

// A reader that waits for its source ends with the context.
func TestCancelWhileWaiting(t *testing.T) {
	pr, pw := io.Pipe()
	r := Ahead(pr)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	r.WithContext(ctx)
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	r.Close()
	pw.Close()
}

func TestCloseBeforeEnd(t *testing.T) {
	data := sample(8 << 20)
	for _, c := range []Codec{Gzip, Zstd} {
		r := NewReader(bytes.NewReader(pack(t, c, data)), c)
		if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		r.Close()
		r.Close()
	}
}
