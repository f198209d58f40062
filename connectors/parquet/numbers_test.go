package parquet

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Every unscaled decimal of at most 53 bits is recovered from its float64, or is reported as not
// recoverable.
func TestRescale(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for scale := range int32(30) {
		for i := range 2000 {
			u := r.Int64N(microdata.MaxExact+1) >> (i % 53)
			if i%2 == 1 {
				u = -u
			}
			x := []float64{float64(u)}
			if unscaleExactly(x, scale) {
				if u > -digits15 && u < digits15 {
					t.Fatalf("%d at scale %d is not exact", u, scale)
				}
				continue
			}
			if got, ok := rescale(x[0], scale); !ok || got != u {
				t.Fatalf("%d at scale %d became %v and then %d, %v", u, scale, x[0], got, ok)
			}
		}
	}
	if _, ok := rescale(1e17, 2); ok {
		t.Error("the unscaled value 1e19 is accepted")
	}
	if _, ok := rescale(math.NaN(), 2); ok {
		t.Error("NaN is accepted")
	}
}

func TestBigEndian(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		want int64
		ok   bool
	}{
		{nil, 0, true}, {[]byte{5}, 5, true}, {[]byte{0xff}, -1, true}, {[]byte{0x80, 0}, -32768, true},
		{[]byte{0, 0x20, 0, 0, 0, 0, 0, 0}, 1 << 53, true}, {[]byte{0, 0x20, 0, 0, 0, 0, 0, 1}, 1<<53 + 1, false},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, -2, true},
		{[]byte{0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0}, 0, false}, {[]byte{1, 0, 0, 0, 0, 0, 0, 0, 0}, 0, false},
	} {
		got, ok := bigEndian(c.b)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("% x: %d, %v; want %d, %v", c.b, got, ok, c.want, c.ok)
		}
	}
	for _, x := range []int64{0, 1, -1, 127, 128, -128, -129, 1 << 40, -(1 << 53)} {
		b := make([]byte, shortest(x))
		if got, ok := bigEndian(b); !putBigEndian(b, x) || ok && got != 0 {
			t.Errorf("%d does not fit %d bytes", x, len(b))
		}
		if got, ok := bigEndian(b); !ok || got != x {
			t.Errorf("%d became %d", x, got)
		}
	}
	if putBigEndian(make([]byte, 1), 128) {
		t.Error("128 is accepted as a signed byte")
	}
}

// inDictionary converts values of 8 bytes to indexes into a dictionary that has them in reverse
// order.
func inDictionary(t *testing.T, v *values) {
	d := &dictionary{n: v.n}
	var index []uint32
	for i := range v.n {
		if v.valid.Has(i) {
			index = append(index, uint32(v.n-1-i))
		}
		d.data = append(d.data, v.data[8*(v.n-1-i):8*(v.n-i)]...)
	}
	v.dict, v.data = d, nil
	var err error
	if v.packed, err = packedIndexes(packedIndex(index, 7), 7, len(index)); err != nil {
		t.Fatal(err)
	}
	if v.valid != nil {
		v.ranks = ranksOf(v.valid)
	}
}

func numbersOfABlock(t *testing.T, coded bool) {
	const big1 = int64(microdata.MaxExact + 1)
	for _, decimal := range []bool{false, true} {
		for _, measured := range []bool{false, true} {
			l := &leaf{phys: format.Int64, width: 8, typ: arrow.PrimitiveTypes.Int64, path: []string{"x"}}
			reason := inexact
			if decimal {
				l.typ, reason = &arrow.Decimal128Type{Precision: 18}, inexactDecimal
			}
			one := &unit{chunk: &chunk{leaf: l}, v: values{n: 5, data: raw([]int64{9, 8, big1, 6, 5})}}
			two := &unit{chunk: &chunk{leaf: l},
				v: values{n: 70, data: raw(make([]int64, 70)), valid: microdata.NewBitmap(70, nil)}}
			x := words[int64](two.v.data)
			for i := range x {
				x[i] = int64(i) + 100
			}
			x[3], x[4] = big1, -big1
			two.v.valid.Clear(3)
			two.v.valid.Clear(66)
			if coded {
				inDictionary(t, &one.v)
				inDictionary(t, &two.v)
			}
			segs := []segment{{one, 1, 4}, {two, 2, 68}}
			for i := range segs {
				var err error
				if segs[i], err = segs[i].unpacked(true); err != nil {
					t.Fatal(err)
				}
			}
			b := new(microdata.Block)
			b.Reset(0, 0, 72, 1)
			numbers(b, &b.Columns[0], l, segs, measured)
			got := b.Columns[0].Original
			if len(got.Values) != 72 {
				t.Fatalf("%d values", len(got.Values))
			}
			var rejects []int
			for i := range 72 {
				want, valid := float64(0), true
				switch {
				case i < 4:
					want = float64([]int64{8, big1, 6, 5}[i])
				default:
					k := i - 4 + 2
					want, valid = float64(x[k]), k != 3 && k != 66
				}
				if !valid {
					want = 0
				}
				if math.Abs(want) > microdata.MaxExact-1 {
					rejects = append(rejects, i)
					if !measured {
						want = 0
					}
				}
				if got.Values[i] != want || got.Valid.Has(i) != valid {
					t.Errorf("record %d: %v, valid %v; want %v, %v", i, got.Values[i], got.Valid.Has(i), want, valid)
				}
			}
			if measured {
				rejects = nil
			}
			for i := range 72 {
				if b.Rejected(i) != slices.Contains(rejects, i) {
					t.Errorf("measured %v: record %d is rejected: %v", measured, i, b.Rejected(i))
				}
			}
			for _, r := range b.Rejects {
				if r.Column != "x" || r.Reason != reason {
					t.Errorf("rejected for %+v", r)
				}
			}
		}
	}
}
