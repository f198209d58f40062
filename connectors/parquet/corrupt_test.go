package parquet

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pqgo "github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

var cutAny connectors.Cut

// readWhole decodes every column of a file, as arrays and as numbers.
func readWhole(ctx context.Context, path string) error {
	src, err := (&SourceConfig{Path: path}).Open(ctx)
	if err != nil {
		return err
	}
	l := &microdata.Layout{Schema: src.Schema()}
	for i, f := range src.Schema().Fields {
		l.Read = append(l.Read, microdata.Want{Field: i, As: microdata.Array})
		if f.Numeric() {
			l.Read = append(l.Read, microdata.Want{Field: i, As: microdata.Numbers})
		}
	}
	r, err := src.Read(ctx, l, connectors.Cut{Records: 300})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		raw, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := raw.Decode(new(microdata.Block)); err != nil {
			return err
		}
	}
}

// A file that is cut off anywhere gives an error that names it.
func TestTruncated(t *testing.T) {
	path, _ := variedFile(t, pqgo.Compression(&pqgo.Snappy))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.parquet")
	for n := 0; n < len(whole); n += 1 + n/20 {
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := readWhole(t.Context(), cut); err == nil || !strings.Contains(err.Error(), "cut.parquet") {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

// A file with wrong bytes can be read, or gives an error that names it, and never a panic.
func TestCorrupt(t *testing.T) {
	racetest.Further(t)
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for _, in := range inputs()[:8] {
		path, _ := variedFile(t, in.options...)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := filepath.Join(t.TempDir(), "bad.parquet")
		r := rand.New(rand.NewPCG(7, 7))
		for range rounds {
			b := bytes.Clone(whole)
			for range 1 + r.IntN(4) {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
			if err := os.WriteFile(bad, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := readWhole(t.Context(), bad); err != nil && !strings.Contains(err.Error(), "bad.parquet") {
				t.Errorf("%s: the error does not name the file: %v", in.name, err)
			}
		}
	}
}

func TestEncrypted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.parquet")
	if err := os.WriteFile(path, []byte("PARE0000000000000000\x04\x00\x00\x00PARE"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := readWhole(t.Context(), path); err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	path, _ := variedFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := readWhole(ctx, path); err == nil {
		t.Error("a cancelled context reads on")
	}
}

func FuzzFile(f *testing.F) {
	for _, in := range inputs()[:4] {
		path := filepath.Join(f.TempDir(), "seed.parquet")
		if err := pqgo.WriteFile(path, []varied{variedRow(1), variedRow(2), variedRow(7)}, in.options...); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("PAR1\x15\x00\x00\x00\x00\x01\x00\x00\x00PAR1"))
	path := filepath.Join(f.TempDir(), "fuzz.parquet")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := readWhole(context.Background(), path); err != nil && !strings.Contains(err.Error(), "fuzz.parquet") {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}

func FuzzHybrid(f *testing.F) {
	f.Add([]byte{6, 1, 3, 0xff}, 3, 9)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, 1, 100)
	f.Fuzz(func(t *testing.T, b []byte, width, n int) {
		if n < 0 || n > 1<<16 {
			return
		}
		_ = decodeHybrid(make([]uint32, n), b, width)
		if len(b) <= 64 {
			// The padding of the last run is zero or repeats the previous run, so one changed bit
			// may turn the one into the other.
			everyBitCounts(t, b, 1, readHybrid(width, n))
		}
		if width <= 8 {
			_ = decodeHybrid(make([]uint8, n), b, width)
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte{0x80, 1, 4, 3, 2, 2, 0, 0, 0, 0}, 10)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 0 || n > 1<<16 {
			return
		}
		if got, _, err := decodeDelta(make([]int64, n), b); err == nil && got > n {
			t.Errorf("%d values of at most %d", got, n)
		}
		if len(b) <= 64 {
			everyBitCounts(t, b, 0, readDelta(min(n, 1000)))
		}
		_, _, _ = decodeDeltaLengths(min(n, 1000), b)
		_, _, _ = decodeDeltaByteArrays(min(n, 1000), b)
	})
}
