package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// twosComplement returns x as n bytes, the most significant first, or nil if it does not fit.
func twosComplement(x *big.Int, n int) []byte {
	one := new(big.Int).Lsh(big.NewInt(1), uint(8*n-1))
	if x.Cmp(one) >= 0 || x.Cmp(new(big.Int).Neg(one)) < 0 {
		return nil
	}
	u := new(big.Int).Set(x)
	if x.Sign() < 0 {
		u.Add(u, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	return u.FillBytes(make([]byte, n))
}

func quotient(u *big.Int, scale int32) float64 {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	x, _ := new(big.Rat).SetFrac(u, p).Float64()
	return x
}

// numberLeaf returns a leaf of decimals, or of integers if the scale is negative.
func numberLeaf(phys format.Type, width int, scale int32) *leaf {
	l := &leaf{phys: phys, width: width, path: []string{"x"}}
	switch {
	case scale >= 0:
		l.typ = &arrow.Decimal128Type{Precision: 38, Scale: scale}
	case phys == format.Int32:
		l.typ = arrow.PrimitiveTypes.Int32
	default:
		l.typ = arrow.PrimitiveTypes.Int64
	}
	return l
}

func storedAsLeaf(l *leaf, us []*big.Int) (v values, ok bool) {
	if l.width == 0 {
		v.offsets = []uint32{0}
	}
	for _, u := range us {
		n := l.width
		if n == 0 {
			for n = 1; twosComplement(u, n) == nil; n++ {
			}
		}
		b := twosComplement(u, n)
		if b == nil {
			return v, false
		}
		if l.phys == format.Int32 || l.phys == format.Int64 {
			slices.Reverse(b)
		}
		v.data = append(v.data, b...)
		v.n++
		if l.width == 0 {
			v.offsets = append(v.offsets, uint32(len(v.data)))
		}
	}
	return v, true
}

// Integers and decimals, however they are stored, become the nearest double, or are reported as out
// of range. The result is the same for a part that starts at any place.
func TestNumbersOfEveryKind(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 1))
	kinds := []struct {
		phys  format.Type
		width int
	}{{format.Int32, 4}, {format.Int64, 8}, {format.ByteArray, 0}, {format.FixedLenByteArray, 1},
		{format.FixedLenByteArray, 5}, {format.FixedLenByteArray, 8}, {format.FixedLenByteArray, 9},
		{format.FixedLenByteArray, 16}}
	exact := big.NewInt(microdata.MaxExact)
	for _, k := range kinds {
		for _, scale := range []int32{-1, 0, 1, 2, 15, 22, 23, 30} {
			if scale < 0 && k.phys != format.Int32 && k.phys != format.Int64 {
				continue
			}
			l := numberLeaf(k.phys, k.width, scale)
			bytes := k.width
			if bytes == 0 {
				bytes = 16
			}
			var us []*big.Int
			for range 60 {
				u := new(big.Int).SetUint64(r.Uint64())
				u.Mul(u, new(big.Int).SetUint64(r.Uint64()))
				u.Rsh(u, uint(128-8*bytes+1+r.IntN(8*bytes)))
				if r.IntN(2) == 0 {
					u.Neg(u)
				}
				us = append(us, u)
			}
			edges := []int64{0, 1, -1, 127, -128, 128, -129, 255, 1<<31 - 1, -1 << 31, microdata.MaxExact - 1,
				microdata.MaxExact, microdata.MaxExact + 1, microdata.MaxExact + 2, -microdata.MaxExact, -microdata.MaxExact - 1,
				1e15, 1e15 + 1, -1e15 - 1, 1 << 50, 1<<50 + 1, math.MaxInt64, math.MinInt64}
			for _, e := range edges {
				if u := big.NewInt(e); twosComplement(u, bytes) != nil {
					us = append(us, u)
				}
			}
			v, ok := storedAsLeaf(l, us)
			if !ok {
				t.Fatal("a number does not fit")
			}
			for _, from := range []int{0, 1, len(us) / 2} {
				out := make([]float64, len(us)-from)
				bad := convert(out, &v, l, from)
				some := false
				for i, x := range out {
					u := us[from+i]
					want := quotient(u, max(scale, 0))
					beyond := u.CmpAbs(exact) > 0
					switch {
					case math.IsNaN(x):
						some = true
						if !beyond && u.CmpAbs(big.NewInt(digits15)) <= 0 {
							t.Errorf("%s of %d, scale %d: %s is refused", k.phys, k.width, scale, u)
						}
						if !beyond && quotient(new(big.Int).Add(u, big.NewInt(1)), scale) != want &&
							quotient(new(big.Int).Sub(u, big.NewInt(1)), scale) != want {
							t.Errorf("%s of %d, scale %d: %s is refused, but no other decimal has the same float64", k.phys, k.width, scale,
								u)
						}
					case x != want || beyond:
						t.Errorf("%s of %d, scale %d: %s becomes %v, want %v", k.phys, k.width, scale, u, x, want)
					}
					if got := v.nearest(l, from+i); got != want {
						t.Errorf("%s of %d, scale %d: the nearest to %s is %v, want %v", k.phys, k.width, scale, u, got, want)
					}
				}
				if some != bad {
					t.Errorf("%s of %d, scale %d: reports refused values: %v, want %v", k.phys, k.width, scale, bad, some)
				}
			}
		}
	}
}

// Unsigned integers and floating-point numbers.
func TestUnsignedAndFloatingNumbers(t *testing.T) {
	out := make([]float64, 2)
	u64 := &leaf{phys: format.Int64, width: 8, typ: arrow.PrimitiveTypes.Uint64, path: []string{"x"}}
	v := values{n: 3, data: raw([]uint64{7, microdata.MaxExact, math.MaxUint64})}
	if bad := convert(out, &v, u64, 1); !bad || out[0] != microdata.MaxExact || !math.IsNaN(out[1]) {
		t.Errorf("%v %v", bad, out)
	}
	if got := v.nearest(u64, 2); got != 1<<64 {
		t.Errorf("%v", got)
	}
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint16,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint64} {
		if !(&leaf{typ: typ}).unsigned() {
			t.Errorf("%s has a sign", typ)
		}
	}
	if (&leaf{typ: arrow.PrimitiveTypes.Int32}).unsigned() {
		t.Error("int32 has no sign")
	}
	u32 := &leaf{phys: format.Int32, width: 4, typ: arrow.PrimitiveTypes.Uint32}
	if bad := convert(out, &values{n: 3, data: raw([]uint32{1, 2, math.MaxUint32})}, u32, 1); bad || out[0] != 2 ||
		out[1] != math.MaxUint32 {
		t.Errorf("%v %v", bad, out)
	}
	f32 := &leaf{phys: format.Float, width: 4, typ: arrow.PrimitiveTypes.Float32}
	if bad := convert(out, &values{n: 3, data: raw([]float32{1, 2.5, -3})}, f32, 1); bad || out[0] != 2.5 || out[1] != -3 {
		t.Errorf("%v %v", bad, out)
	}
	f64 := &leaf{phys: format.Double, width: 8, typ: arrow.PrimitiveTypes.Float64}
	if bad := convert(out, &values{n: 3, data: raw([]float64{1, 2.5, math.NaN()})}, f64, 1); bad || out[0] != 2.5 ||
		!math.IsNaN(out[1]) {
		t.Errorf("%v %v", bad, out)
	}
}

// Two segments of a column become the numbers of a block. A null becomes 0 with its null bit. A
// value outside the range of doubles rejects its record, or becomes the nearest double if the
// column is only measured.
func TestNumbersOfABlock(t *testing.T) {
	for _, coded := range []bool{false, true} {
		numbersOfABlock(t, coded)
	}
	// Without nulls there is no bitmap. A NaN in a floating-point column is an ordinary value.
	b := new(microdata.Block)
	b.Reset(0, 0, 2, 1)
	numbers(b, &b.Columns[0], &leaf{phys: format.Double, width: 8, typ: arrow.PrimitiveTypes.Float64, path: []string{"x"}},
		[]segment{{&unit{v: values{n: 2, data: raw([]float64{math.NaN(), 1})}}, 0, 2}}, false)
	if v := b.Columns[0].Original; v.Valid != nil || !math.IsNaN(v.Values[0]) || len(b.Rejects) != 0 {
		t.Errorf("%+v, %v", v, b.Rejects)
	}
}

func TestCopyBits(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 2))
	for range 3000 {
		at, from, n := r.IntN(140), r.IntN(140), r.IntN(200)
		if r.IntN(2) == 0 {
			at, from = at/64*64, from/64*64
		}
		src := make(microdata.Bitmap, 8)
		for i := range src {
			src[i] = r.Uint64() | r.Uint64()
		}
		dst := microdata.NewBitmap(512, nil)
		copyBits(dst, at, src, from, n)
		for i := range 512 {
			want := i < at || i >= at+n || src.Has(from+i-at)
			if dst.Has(i) != want {
				t.Fatalf("%d bits from %d to %d: bit %d", n, from, at, i)
			}
		}
	}
}

// A double is converted back to the integer or decimal that it was made from, or to the nearest
// one.
func TestRescaledNumbers(t *testing.T) {
	for _, c := range []struct {
		x     float64
		scale int32
		want  int64
		ok    bool
	}{
		{2.5, 0, 2, true}, {3.5, 0, 4, true}, {-2.5, 0, -2, true}, {microdata.MaxExact, 0, microdata.MaxExact, true},
		{-microdata.MaxExact, 0, -microdata.MaxExact, true}, {microdata.MaxExact + 2, 0, 0, false},
		{0.125, 2, 12, true}, {-0.375, 2, -38, true}, {1.23, 2, 123, true},
		{microdata.MaxExact / 10., 1, microdata.MaxExact, true}, {microdata.MaxExact, 1, 0, false},
		{math.Inf(1), 1, 0, false}, {math.NaN(), 1, 0, false},
		{1e-22, 22, 1, true}, {3e-22, 22, 3, true}, {7e-23, 23, 7, true}, {1.25e-28, 30, 125, true},
		{-1.25e-28, 30, -125, true}, {1e-7, 23, 0, false}, {2.5e-30, 30, 2, true},
	} {
		if got, ok := rescale(c.x, c.scale); ok != c.ok || ok && got != c.want {
			t.Errorf("%v at scale %d: %d, %v", c.x, c.scale, got, ok)
		}
	}
	// Near 53 bits the products next to it are checked as well.
	r := rand.New(rand.NewPCG(33, 3))
	back, other := 0, 0
	for range 20_000 {
		u, scale := 1<<50+r.Int64N(microdata.MaxExact-1<<50+1), int32(1+r.IntN(28))
		if r.IntN(2) == 0 {
			u = -u
		}
		x := quotient(big.NewInt(u), scale)
		got, ok := rescale(x, scale)
		if !ok && (u == microdata.MaxExact || u == -microdata.MaxExact) {
			continue
		}
		if !ok || quotient(big.NewInt(got), scale) != x {
			t.Fatalf("%d at scale %d: %d, %v", u, scale, got, ok)
		}
		if got == u {
			back++
		} else {
			other++
		}
	}
	if back < other {
		t.Errorf("%d values are restored, %d are not", back, other)
	}
	for x, want := range map[int64]int{0: 1, 127: 1, 128: 2, -128: 1, -129: 2, 32767: 2, 32768: 3, -32768: 2,
		math.MaxInt64: 8, math.MinInt64: 8} {
		if got := shortest(x); got != want {
			t.Errorf("%d takes %d bytes, want %d", x, got, want)
		}
		for n := 1; n <= 9; n++ {
			b := make([]byte, n)
			full := twosComplement(big.NewInt(x), n)
			if ok := putBigEndian(b, x); ok != (full != nil) || ok && !bytes.Equal(b, full) {
				t.Errorf("%d in %d bytes: %x, %v", x, n, b, ok)
			}
		}
	}
}

// Stored decimals of every physical type become Arrow decimals. A value with more digits than the
// type allows is refused.
func TestDecimalsOfEveryForm(t *testing.T) {
	us := []*big.Int{big.NewInt(0), big.NewInt(1), big.NewInt(-1), big.NewInt(127), big.NewInt(-128), big.NewInt(128),
		big.NewInt(-129), big.NewInt(-70000), big.NewInt(1 << 30)}
	for _, k := range []struct {
		phys  format.Type
		width int
	}{{format.Int32, 4}, {format.Int64, 8}, {format.ByteArray, 0}, {format.FixedLenByteArray, 5},
		{format.FixedLenByteArray, 16}, {format.FixedLenByteArray, 20}, {format.FixedLenByteArray, 32},
		{format.FixedLenByteArray, 40}} {
		for _, typ := range []arrow.DataType{&arrow.Decimal128Type{Precision: 30, Scale: 2},
			&arrow.Decimal256Type{Precision: 60, Scale: 2}} {
			l := &leaf{phys: k.phys, width: k.width, path: []string{"x"}, typ: typ}
			v, _ := storedAsLeaf(l, us)
			v.valid = microdata.NewBitmap(v.n, nil)
			v.valid.Clear(4)
			got, err := flatArray(l, v.n, []segment{{&unit{v: v}, 0, v.n}})
			if err != nil {
				t.Fatal(err)
			}
			for i, u := range us {
				want := new(big.Rat).SetFrac64(u.Int64(), 100).FloatString(2)
				if i == 4 {
					want = "(null)"
				}
				have := got.ValueStr(i)
				if i != 4 {
					have = new(big.Rat).SetFrac(unscaled(got, i), big.NewInt(100)).FloatString(2)
				}
				if have != want {
					t.Errorf("%s of %d as %s: %s is %s", k.phys, k.width, typ, want, have)
				}
			}
		}
	}
	// A decimal of 17 bytes fits into 16 if the first byte is only a sign extension.
	l := &leaf{phys: format.FixedLenByteArray, width: 17, path: []string{"x"}, typ: &arrow.Decimal128Type{Precision: 38}}
	for _, c := range []struct {
		first, second byte
		ok            bool
	}{{0, 0x7f, true}, {0xff, 0x80, true}, {1, 0, false}, {0xfe, 0xff, false}, {0x7f, 0xff, false}, {0x80, 0, false}} {
		data := append([]byte{c.first, c.second}, make([]byte, 15)...)
		if _, err := flatArray(l, 1, []segment{{&unit{v: values{n: 1, data: data}}, 0, 1}}); (err == nil) != c.ok {
			t.Errorf("%x: %v", data, err)
		}
	}
	if got := resized([]byte{1, 0xff}, 2); !bytes.Equal(got, []byte{1, 0xff}) {
		t.Errorf("%x", got)
	}
	for _, c := range []struct{ b, want []byte }{{[]byte{1, 0x80}, []byte{1, 0x80, 0xff, 0xff}},
		{[]byte{1, 0x7f}, []byte{1, 0x7f, 0, 0}}, {[]byte{1, 2, 3, 4, 5}, []byte{1, 2, 3, 4}}} {
		if got := resized(c.b, 4); !bytes.Equal(got, c.want) {
			t.Errorf("%x in four bytes: %x", c.b, got)
		}
	}
}

// unscaled returns the unscaled integer of a decimal.
func unscaled(a arrow.Array, i int) *big.Int {
	switch a := a.(type) {
	case *array.Decimal128:
		return a.Value(i).BigInt()
	case *array.Decimal256:
		return a.Value(i).BigInt()
	}
	return nil
}

// Columns of several segments become one array. It is null exactly where a segment is null, for
// every width.
func TestFlatArrays(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 4))
	for _, k := range []struct {
		phys  format.Type
		width int
		typ   arrow.DataType
		text  func(b []byte) string
	}{
		{format.Boolean, 1, arrow.FixedWidthTypes.Boolean, func(b []byte) string {
			return map[byte]string{0: "false", 1: "true"}[b[0]]
		}},
		{format.Int32, 4, arrow.PrimitiveTypes.Int8, func(b []byte) string { return big.NewInt(int64(int8(b[0]))).String() }},
		{format.Int32, 4, arrow.PrimitiveTypes.Uint8, func(b []byte) string { return big.NewInt(int64(b[0])).String() }},
		{format.Int32, 4, arrow.PrimitiveTypes.Int16, func(b []byte) string {
			return big.NewInt(int64(int16(binary.LittleEndian.Uint16(b)))).String()
		}},
		{format.Int32, 4, arrow.PrimitiveTypes.Uint16, func(b []byte) string {
			return big.NewInt(int64(binary.LittleEndian.Uint16(b))).String()
		}},
		{format.Int32, 4, arrow.PrimitiveTypes.Uint32, func(b []byte) string {
			return big.NewInt(int64(binary.LittleEndian.Uint32(b))).String()
		}},
		{format.Int64, 8, arrow.PrimitiveTypes.Int64, func(b []byte) string {
			return big.NewInt(int64(binary.LittleEndian.Uint64(b))).String()
		}},
		{format.ByteArray, 0, arrow.BinaryTypes.String, func(b []byte) string { return string(b) }},
		{format.FixedLenByteArray, 3, &arrow.FixedSizeBinaryType{ByteWidth: 3}, func(b []byte) string { return string(b) }},
	} {
		l := &leaf{phys: k.phys, width: k.width, path: []string{"x"}, typ: k.typ}
		for range 60 {
			var segs []segment
			var want []string
			n := 0
			for range 1 + r.IntN(4) {
				u := &unit{v: values{n: 1 + r.IntN(40)}}
				vs := someValues(r, k.phys, k.width, u.v.n)
				if k.width == 0 {
					u.v.offsets = []uint32{0}
				}
				if r.IntN(2) == 0 {
					u.v.valid = microdata.NewBitmap(u.v.n, nil)
				}
				var texts []string
				for i, b := range vs {
					if k.phys == format.ByteArray {
						b = []byte(strings.Repeat("ab", len(b)))
					}
					u.v.data = append(u.v.data, b...)
					if k.width == 0 {
						u.v.offsets = append(u.v.offsets, uint32(len(u.v.data)))
					}
					text := k.text(b)
					if u.v.valid != nil && r.IntN(4) == 0 {
						u.v.valid.Clear(i)
						text = "(null)"
					}
					texts = append(texts, text)
				}
				from := r.IntN(u.v.n)
				s := segment{u, from, 1 + r.IntN(u.v.n-from)}
				segs, want, n = append(segs, s), append(want, texts[from:from+s.n]...), n+s.n
			}
			got, err := flatArray(l, n, segs)
			if err != nil {
				t.Fatal(err)
			}
			nulls := 0
			for i, text := range want {
				if (text == "(null)") != got.IsNull(i) {
					t.Fatalf("%s: record %d of %d is null or not", k.typ, i, n)
				}
				if text == "(null)" {
					nulls++
					continue
				}
				have := got.ValueStr(i)
				if a, ok := got.(*array.FixedSizeBinary); ok {
					have = string(a.Value(i))
				}
				if have != text {
					t.Fatalf("%s: record %d is %q, want %q", k.typ, i, have, text)
				}
			}
			if got.Len() != n || got.NullN() != nulls {
				t.Fatalf("%s: %d records with %d nulls, want %d with %d", k.typ, got.Len(), got.NullN(), n, nulls)
			}
		}
	}
	// 1970-01-01, one day earlier plus one nanosecond, and one day later.
	data := make([]byte, 36)
	binary.LittleEndian.PutUint32(data[8:], julian)
	binary.LittleEndian.PutUint64(data[12:], 1)
	binary.LittleEndian.PutUint32(data[20:], julian-1)
	binary.LittleEndian.PutUint64(data[24:], 5)
	binary.LittleEndian.PutUint32(data[32:], julian+1)
	l := &leaf{phys: format.Int96, width: 12, path: []string{"x"}, typ: arrow.FixedWidthTypes.Timestamp_ns}
	got, err := flatArray(l, 3, []segment{{&unit{v: values{n: 3, data: data}}, 0, 3}})
	if err != nil ||
		!slices.Equal(got.(*array.Timestamp).Values(), []arrow.Timestamp{0, 1 - 86_400_000_000_000, 5 + 86_400_000_000_000}) {
		t.Errorf("%v, %v", got, err)
	}
}

// The limit on the bytes of a column in one block is exact.
func TestMostOfAColumn(t *testing.T) {
	for n, want := range map[int]int{1: (256 << 20), 1 << 18: (256 << 20), 1<<18 + 1: (256 << 20) + 1<<10,
		1 << 22: 1<<31 - 1} {
		if got := mostOf(n); got != want {
			t.Errorf("%d records: %d, want %d", n, got, want)
		}
	}
	// A column that is too wide is refused before memory is allocated.
	for n, want := range map[int]bool{(256 << 20) / (1 << 16): true, (256<<20)/(1<<16) + 1: false} {
		l := &leaf{phys: format.FixedLenByteArray, width: 1 << 16, path: []string{"x"},
			typ: &arrow.FixedSizeBinaryType{ByteWidth: 1 << 16}}
		if c := newColumn(l, n); (c.err == nil) != want || !want && !strings.Contains(c.err.Error(), "more than 256 MB") {
			t.Errorf("%d records of 64 kB: %v", n, c.err)
		}
	}
	l := &leaf{phys: format.ByteArray, path: []string{"x"}, typ: arrow.BinaryTypes.Binary}
	for more, want := range map[int]bool{0: true, 1: false} {
		c := newColumn(l, 2)
		c.most = 10
		c.reserve(2, func(add func(v *values, i int) bool) {
			v := &values{n: 2, data: make([]byte, 10+more), offsets: []uint32{0, 4, uint32(10 + more)}}
			for i := range 2 {
				if !add(v, i) && (want || i == 0) {
					t.Errorf("value %d of 2 is too long", i)
				}
			}
		})
		if (c.err == nil) != want || want && cap(c.data) != 10 {
			t.Errorf("%d bytes: %v", 10+more, c.err)
		}
	}
	// The total length of dictionary values is computed before they are copied.
	long := &unit{
		v: values{index: make([]uint32, 300), dict: &dictionary{n: 1, data: make([]byte, 1<<20), offs: []uint32{0, 1 << 20}},
			n: 300, rowValues: make([]int32, 301), def: make([]uint8, 300)}}
	for i := range long.v.rowValues {
		long.v.rowValues[i] = int32(i)
	}
	if _, err := flatArray(l, 300, []segment{{long, 0, 300}}); err == nil ||
		!strings.Contains(err.Error(), "more than 256 MB") {
		t.Errorf("300 MB: %v", err)
	}
	root := fieldOf(t,
		arrow.Field{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.BinaryTypes.Binary})})
	if _, err := nestedArray(root, 300, [][]segment{{{long, 0, 300}}}); err == nil ||
		!strings.Contains(err.Error(), "more than 256 MB") {
		t.Errorf("300 MB in structures: %v", err)
	}
}
