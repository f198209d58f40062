package perturb

import (
	"bytes"
	"math"
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

// Keys of records and draws of cells depend on the release key and their argument only,
// are independent of each other, and half of their bits change with one bit of the
// argument.
func TestKeys(t *testing.T) {
	a, again, b := keys(t, 1), keys(t, 1), keys(t, 2)
	differ, n := 0, 0
	for i := range 200 {
		var d microdata.Digest
		d[15], d[3] = byte(i), byte(i*7)
		if a.Record(d) != again.Record(d) || a.Cell(uint64(i)) != again.Cell(uint64(i)) {
			t.Fatal("the same key gives different draws")
		}
		next := d
		next[0] = 1
		for _, x := range [][2]uint64{{a.Record(d), b.Record(d)}, {a.Record(d), a.Record(next)},
			{a.Cell(uint64(i)), a.Cell(uint64(i) | 1<<40)}, {a.Cell(uint64(i)), b.Cell(uint64(i))}} {
			differ += bits.OnesCount64(x[0] ^ x[1])
			n += 64
		}
	}
	// 51,200 bits: the share has a standard deviation of 0.0022.
	if share := float64(differ) / float64(n); share < 0.489 || share > 0.511 {
		t.Errorf("%v of the bits differ", share)
	}
}

// The draw that decides whether a record is in a sample depends on the release key and the record
// only. It is uniform and independent of the record's key: half of the bits differ.
func TestDraw(t *testing.T) {
	a, again, b := keys(t, 1), keys(t, 1), keys(t, 2)
	differ, ones, n := 0, 0, 0
	for i := range 400 {
		var d microdata.Digest
		d[15], d[3], d[4] = byte(i), byte(i*7), byte(i>>8)
		if a.Draw(d) != again.Draw(d) {
			t.Fatal("the same key gives different draws")
		}
		for _, other := range []uint64{a.Record(d), b.Draw(d)} {
			differ += bits.OnesCount64(a.Draw(d) ^ other)
			ones += bits.OnesCount64(a.Draw(d))
			n += 64
		}
	}
	// 51,200 bits: the share has a standard deviation of 0.0022; ones count each draw twice: 0.0031.
	if share := float64(differ) / float64(n); !(math.Abs(share-0.5) <= 0.011) {
		t.Errorf("%v of the bits differ", share)
	}
	if share := float64(ones) / float64(n); !(math.Abs(share-0.5) <= 0.0155) {
		t.Errorf("%v of the bits are set", share)
	}
}
