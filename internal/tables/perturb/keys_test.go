package perturb

import (
	"bytes"
	"math/bits"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

func keys(t *testing.T, last byte) *Keys {
	t.Helper()
	k, err := keystream.NewKey(append(bytes.Repeat([]byte{7}, 31), last))
	if err != nil {
		t.Fatal(err)
	}
	return NewKeys(k)
}

// Keys of records and draws of cells are functions of the release key alone, have nothing
// in common with each other, and half of their bits change with a bit of what they are of.
func TestKeys(t *testing.T) {
	a, again, b := keys(t, 1), keys(t, 1), keys(t, 2)
	differ, n := 0, 0
	for i := range 200 {
		var d microdata.Digest
		d[15], d[3] = byte(i), byte(i*7)
		if a.Record(d) != again.Record(d) || a.Cell(uint64(i)) != again.Cell(uint64(i)) {
			t.Fatal("the same key gives another draw")
		}
		next := d
		next[0] = 1
		for _, x := range [][2]uint64{{a.Record(d), b.Record(d)}, {a.Record(d), a.Record(next)}, {a.Cell(uint64(i)), a.Cell(uint64(i) | 1<<40)}, {a.Cell(uint64(i)), b.Cell(uint64(i))}} {
			differ += bits.OnesCount64(x[0] ^ x[1])
			n += 64
		}
	}
	// 51,200 bits: the share has a standard deviation of 0.0022.
	if share := float64(differ) / float64(n); share < 0.489 || share > 0.511 {
		t.Errorf("%v of the bits differ", share)
	}
}
