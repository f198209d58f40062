package objects

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// flaky is a bucket with one object and faulty bodies.
type flaky struct {
	Bucket
	data  []byte
	asked atomic.Int64
	// wrong returns the number of good bytes of the n-th body, and its fault after them; if the
	// number exceeds the request, there is no fault.
	wrong func(n int64) (good int, stall bool, err error)
}

func (f *flaky) Get(ctx context.Context, _, _ string, offset, n int64) (io.ReadCloser, error) {
	good, stall, err := f.wrong(f.asked.Add(1))
	if err != nil {
		return nil, err
	}
	return &flakyBody{ctx: ctx, data: f.data[offset : offset+n], good: good, stall: stall}, nil
}

type flakyBody struct {
	ctx   context.Context
	data  []byte
	good  int
	stall bool
}

func (b *flakyBody) Close() error { return nil }

func (b *flakyBody) Read(p []byte) (int, error) {
	if b.good == 0 {
		if b.stall {
			<-b.ctx.Done() // like a silent server
			return 0, b.ctx.Err()
		}
		return 0, errors.New("http://server?Signature=secret: connection reset")
	}
	n := copy(p, b.data[:min(len(b.data), b.good)])
	b.data, b.good = b.data[n:], b.good-n
	if len(b.data) == 0 {
		return n, io.EOF
	}
	return n, nil
}

func readFlaky(t *testing.T, f *flaky) ([]byte, error) {
	t.Helper()
	f.data = make([]byte, 3*stretchMost+12345)
	rng := rand.NewChaCha8([32]byte{7})
	rng.Read(f.data)
	r := NewReader(t.Context(), f, Info{Key: "k", Size: int64(len(f.data)), ETag: "e"})
	defer r.Close()
	r.Want(Extent{To: r.Size()})
	got, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(got, f.data) {
		t.Errorf("%d other bytes are read", len(got))
	}
	return got, err
}

// TestReaderTakesUpWhatBroke cuts every second body, or makes it silent, at any place: bytes
// already read are not requested again, and the reader notices nothing.
func TestReaderTakesUpWhatBroke(t *testing.T) {
	old := Silence
	Silence = 5 * time.Millisecond
	defer func() { Silence = old }()
	for _, stall := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(3, 4))
		places := make([]int, 64)
		for i := range places {
			places[i] = 1 + rng.IntN(stretchMost)
		}
		f := &flaky{wrong: func(n int64) (int, bool, error) {
			if n%2 == 1 && n < 20 {
				return places[n], stall, nil
			}
			return 1 << 40, false, nil
		}}
		if _, err := readFlaky(t, f); err != nil {
			t.Errorf("silent %v: %v", stall, err)
		}
		if f.asked.Load() < 5 {
			t.Errorf("silent %v: nothing went wrong in %d requests", stall, f.asked.Load())
		}
	}
}

// TestReaderGivesUp: if connections return no byte, the number of retries is limited, and permanent
// errors are not retried. The error contains nothing of the connection.
func TestReaderGivesUp(t *testing.T) {
	f := &flaky{wrong: func(int64) (int, bool, error) { return 0, false, nil }}
	if _, err := readFlaky(t, f); err == nil ||
		!strings.Contains(err.Error(), "the connection was cut, 6 times in a row") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	for _, final := range []error{ErrCondition, ErrDenied, ErrAbsent} {
		f := &flaky{wrong: func(int64) (int, bool, error) { return 0, false, final }}
		if _, err := readFlaky(t, f); !errors.Is(err, final) {
			t.Errorf("got %v, want %v", err, final)
		}
		if n := f.asked.Load(); n > 4 {
			t.Errorf("%v: asked %d times for 4 stretches", final, n)
		}
	}
}
