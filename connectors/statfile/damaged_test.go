package statfile

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/readstat"
)

// Files with wrong bytes, above all where they say how long their parts are, and with missing ones, also taken for
// files of other formats: each is read or is an error without a value.
func TestDamagedFiles(t *testing.T) {
	runs := 300
	if !testing.Short() {
		runs = 20000
	}
	r := rand.New(rand.NewPCG(3, 4))
	names := []string{"made.sav", "made.zsav", "made.dta", "made5.xpt", "made8.xpt"}
	for run := range runs {
		name := names[r.IntN(len(names))]
		bad, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + r.IntN(6) {
			bad[r.IntN(min(len(bad), []int{400, 2000, len(bad)}[r.IntN(3)]))] = []byte{
				0, 0xff, 0x7f, 1, byte(r.Uint32())}[r.IntN(5)]
		}
		if r.IntN(4) == 0 {
			k := r.IntN(len(bad))
			bad = slices.Delete(bad, k, min(len(bad), k+r.IntN(60)))
		}
		kind := made(name).kind(name)
		if r.IntN(5) == 0 {
			kind = readstat.Kind(r.IntN(4))
		}
		in := readstat.Input{Kind: kind, From: bytes.NewReader(bad), Size: int64(len(bad))}
		_, err = in.Describe(t.Context())
		if err == nil {
			err = in.Values(t.Context(), func(int) bool { return true }, 64, func([]byte, int) error { return nil })
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Fatalf("run %d, %s: the error shows a value: %v", run, name, err)
		}
	}
}
