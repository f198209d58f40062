package parquet

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// The reference implementations in this file work bit by bit and share no code with the code that
// they check.

// bitsOf returns the bits of bytes, the least significant bit of each byte first.
func bitsOf(b []byte) (out []bool) {
	for _, c := range b {
		for i := range 8 {
			out = append(out, c&(1<<i) != 0)
		}
	}
	return out
}

// number returns the number with these bits, the least significant first.
func number(b []bool) (x uint64) {
	for i, one := range b {
		if one {
			x |= 1 << i
		}
	}
	return x
}

// leb reads a LEB128 number. bytes is 0 if there is none, and least reports whether the form is the
// shortest possible.
func leb(b []byte) (x uint64, bytes int, least bool) {
	for i, c := range b {
		if i == 9 && c > 1 || i > 9 {
			return 0, 0, false
		}
		x += uint64(c&127) << (7 * i)
		if c < 128 {
			return x, i + 1, i == 0 || c != 0
		}
	}
	return 0, 0, false
}

// hybridByDefinition reads n numbers in the hybrid encoding of runs and bit-packed groups. It
// returns the numbers, nil if they cannot be read, and whether the bytes are exactly these numbers.
func hybridByDefinition(src []byte, width, n int) (out []uint32, exact bool) {
	exact = true
	out = []uint32{}
	var before []bool
	// The lengths of the runs of equal numbers, and the number of padding values in the last run.
	type run struct {
		number uint32
		length int
	}
	var runs []run // packed groups have no run length
	filled := 0
	defer func() {
		for i := range max(1, len(runs)) - 1 {
			if l := runs[i].length; l > 0 && runs[i].number == runs[i+1].number && filled > 0 && (l%8 != 0 || filled > 7) {
				exact = false
			}
		}
		if width == 0 && n > 0 {
			exact = exact && len(runs) == 1 && runs[0].length == n
		}
	}()
	for len(out) < n {
		head, k, least := leb(src)
		if k == 0 {
			return nil, false
		}
		src = src[k:]
		exact = exact && least && head > 1
		if head%2 == 0 {
			size := (width + 7) / 8
			if len(src) < size {
				return nil, false
			}
			x := number(bitsOf(src[:size]))
			if width < 64 && x>>width != 0 {
				if head > 1 {
					return nil, false
				}
				exact = false
			}
			src = src[size:]
			exact = exact && head/2 <= uint64(n-len(out))
			runs = append(runs, run{uint32(x), int(min(head/2, uint64(n)))})
			for i := uint64(0); i < head/2 && len(out) < n; i++ {
				out = append(out, uint32(x))
			}
			continue
		}
		groups := head / 2
		all := bitsOf(src)
		whole := width == 0 || groups <= uint64(len(src)/width)
		missing := n - len(out)
		taken := missing
		if groups < uint64(missing) {
			taken = min(int(groups)*8, missing)
		}
		if taken*width > len(all) {
			return nil, false
		}
		for i := range taken {
			out = append(out, uint32(number(all[i*width:(i+1)*width])))
		}
		if !whole {
			return out, false // the output is complete: all of src was needed
		}
		size := int(min(groups, uint64(len(src)+n))) * width
		packed := all[:8*size]
		runs = append(runs, run{number: uint32(number(packed[:min(width, len(packed))]))})
		filled = max(0, int(groups)*8-missing)
		if width == 0 && groups > uint64((missing+7)/8) {
			exact = false
		}
		if rest := packed[taken*width:]; slices.Contains(rest, true) &&
			!(len(before) == len(packed) && slices.Equal(before[taken*width:], rest)) {
			exact = false
		}
		before, src = packed, src[size:]
	}
	return out, exact && len(src) == 0
}

// hybrid makes bytes that encode n numbers exactly or almost.
func hybrid(r *rand.Rand, width, n int) (src []byte) {
	put := func(x uint64) {
		src = binary.AppendUvarint(src, x)
		if r.IntN(40) == 0 { // one byte more than needed
			src[len(src)-1] |= 128
			src = append(src, 0)
		}
	}
	var before []byte
	for left := n; left > 0; {
		if r.IntN(2) == 0 {
			k := min(1+r.IntN(12), left)
			if r.IntN(20) == 0 {
				k = r.IntN(left + 3)
			}
			put(uint64(k) << 1)
			x := r.Uint64()
			if r.IntN(20) != 0 {
				x &= 1<<width - 1
			}
			src = append(src, binary.LittleEndian.AppendUint64(nil, x)[:(width+7)/8]...)
			left -= k
			continue
		}
		groups := 1 + r.IntN(3)
		if r.IntN(4) == 0 {
			groups = (left + 7) / 8
		}
		put(uint64(groups)<<1 | 1)
		run := make([]byte, groups*width)
		for i := range run {
			run[i] = byte(r.Uint32())
		}
		if used := left * width; used < 8*len(run) && r.IntN(3) > 0 {
			for bit := used; bit < 8*len(run); bit++ {
				run[bit/8] &^= 1 << (bit % 8)
				if r.IntN(2) == 0 && len(before) == len(run) {
					run[bit/8] |= before[bit/8] & (1 << (bit % 8))
				}
			}
			if len(before) == len(run) && r.IntN(2) == 0 {
				for bit := used; bit < 8*len(run); bit++ {
					run[bit/8] = run[bit/8]&^(1<<(bit%8)) | before[bit/8]&(1<<(bit%8))
				}
			}
		}
		src, before = append(src, run...), run
		left -= 8 * groups
	}
	switch r.IntN(12) {
	case 0:
		src = append(src, byte(r.Uint32()))
	case 1:
		src = src[:r.IntN(len(src)+1)]
	case 2:
		if len(src) > 0 {
			src[r.IntN(len(src))] ^= 1 << r.IntN(8)
		}
	}
	return src
}

// Runs and packed groups are read, and are exact or not, as the reference implementation says.
func TestHybridByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	exact, inexact, failed := 0, 0, 0
	for range 30_000 {
		width, n := r.IntN(33), r.IntN(60)
		if r.IntN(3) == 0 {
			width = r.IntN(9)
		}
		src := hybrid(r, width, n)
		if r.IntN(30) == 0 { // a count that needs 64 bits
			src = append(binary.AppendUvarint(nil, r.Uint64()>>r.IntN(8)), src...)
		}
		holdHybrid(t, src, width, n, &exact, &inexact, &failed)
	}
	// With a width of 0 bits only the count of the groups matters.
	for n := range 20 {
		for groups := range 6 {
			holdHybrid(t, []byte{byte(groups<<1 | 1)}, 0, n, &exact, &inexact, &failed)
			holdHybrid(t, []byte{byte(groups<<1 | 1), 1}, 0, n, &exact, &inexact, &failed)
		}
	}
	if min(exact, inexact, failed) < 2000 {
		t.Errorf("%d exact, %d not, %d failed", exact, inexact, failed)
	}
	for _, width := range []int{-1, 33, 64} {
		if err := decodeHybrid(make([]uint32, 1), []byte{2, 1, 0, 0, 0, 0, 0, 0, 0}, width); err == nil {
			t.Errorf("numbers of %d bits are read", width)
		}
	}
}

func holdHybrid(t *testing.T, src []byte, width, n int, exact, inexact, failed *int) {
	t.Helper()
	want, ok := hybridByDefinition(src, width, n)
	if width == 0 { // the bytes are not read at all
		want = make([]uint32, n)
	}
	got := make([]uint32, n)
	for i := range got {
		got[i] = 0xdeadbeef
	}
	err := decodeHybrid(got, slices.Clip(src), width)
	if (err == nil) != (want != nil) || err == nil && !slices.Equal(got, want) {
		t.Fatalf("%d numbers of %d bits in %x: %v, %v, want %v", n, width, src, got, err, want)
	}
	if width <= 8 && err == nil {
		narrow := make([]uint8, n)
		if err := decodeHybrid(narrow, src, width); err != nil {
			t.Fatal(err)
		}
		for i, x := range narrow {
			if uint32(x) != want[i] {
				t.Fatalf("%d numbers of %d bits in %x: %v, want %v", n, width, src, narrow, want)
			}
		}
	}
	switch {
	case want == nil:
		*failed++
		return // another test checks unreadable bytes
	case ok:
		*exact++
	default:
		*inexact++
	}
	if e := exactHybrid(src, width, n); e != ok {
		t.Fatalf("%d numbers of %d bits in %x: exact %v, want %v", n, width, src, e, ok)
	}
}

// deltaByDefinition reads numbers in the DELTA_BINARY_PACKED encoding: nil if there are none. rest
// is the bytes after them. exact reports whether the bytes before rest are exactly n numbers.
func deltaByDefinition(src []byte, n int) (out []int64, rest []byte, exact bool) {
	exact = true
	next := func() (x uint64, ok bool) {
		x, k, least := leb(src)
		if k == 0 {
			return 0, false
		}
		exact, src = exact && least, src[k:]
		return x, true
	}
	signed := func(x uint64) int64 { return int64(x>>1) ^ -int64(x&1) }
	var head [4]uint64
	for i := range head {
		var ok bool
		if head[i], ok = next(); !ok {
			return nil, nil, false
		}
	}
	block, parts, total := head[0], head[1], head[2]
	if block < 128 || block%128 != 0 || block > 1<<20 || parts == 0 || block%parts != 0 || block/parts%32 != 0 ||
		total > uint64(n) {
		return nil, nil, false
	}
	exact = exact && total == uint64(n)
	if total == 0 {
		return []int64{}, src, exact && head[3] == 0 && block == 128 && parts == 4
	}
	out = append(out, signed(head[3]))
	packed := false
	for uint64(len(out)) < total {
		least, ok := next()
		if !ok || uint64(len(src)) < parts {
			return nil, nil, false
		}
		widths := src[:parts]
		src = src[parts:]
		for _, w := range widths {
			missing := int(total) - len(out)
			if missing == 0 {
				exact = exact && w == 0
				continue
			}
			size := int(block/parts) * int(w) / 8
			if w > 64 || len(src) < size {
				return nil, nil, false
			}
			packed = packed || w > 0
			all := bitsOf(src[:size])
			src = src[size:]
			taken := min(missing, int(block/parts))
			for i := range taken {
				out = append(out, out[len(out)-1]+signed(least)+int64(number(all[i*int(w):(i+1)*int(w)])))
			}
			if slices.Contains(all[taken*int(w):], true) {
				exact = false
			}
		}
	}
	return out, src, exact && (packed || block == 128 && parts == 4)
}

// packedDifferences makes bytes that encode n numbers exactly or almost.
func packedDifferences(r *rand.Rand, n int) (b []byte) {
	put := func(x uint64) {
		b = binary.AppendUvarint(b, x)
		if r.IntN(60) == 0 {
			b[len(b)-1] |= 128
			b = append(b, 0)
		}
	}
	parts := uint64(1 + r.IntN(4))
	block := 128 * parts
	if r.IntN(2) == 0 {
		block, parts = 128, 4
	}
	part := int(block / parts)
	put(block)
	put(parts)
	put(uint64(n))
	put(uint64(r.IntN(1000)) * uint64(min(n, 1)))
	wide := r.IntN(6)
	for left := n - 1; left > 0; {
		put(r.Uint64() >> r.IntN(64))
		widths := make([]byte, parts)
		k := 0
		for i := range widths {
			if left > k*part {
				k++
				switch wide {
				case 0:
				case 1:
					widths[i] = byte(57 + r.IntN(8))
				default:
					widths[i] = byte(r.IntN(20))
				}
			} else if r.IntN(30) == 0 {
				widths[i] = byte(r.IntN(256))
			}
		}
		b = append(b, widths...)
		for _, w := range widths[:k] {
			values := make([]byte, part*int(w)/8)
			for i := range values {
				values[i] = byte(r.Uint32())
			}
			if left < part && r.IntN(6) > 0 {
				for bit := left * int(w); bit < 8*len(values); bit++ {
					values[bit/8] &^= 1 << (bit % 8)
				}
			}
			b = append(b, values...)
			left -= part
		}
	}
	switch r.IntN(12) {
	case 0:
		b = b[:r.IntN(len(b)+1)]
	case 1:
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	case 2, 3:
		b = append(b, make([]byte, 1+r.IntN(3))...)
	}
	return b
}

// Packed differences are read, and are exact or not, as the reference implementation says.
func TestDeltaByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	exact, inexact, failed := 0, 0, 0
	for i := range 6000 {
		n := r.IntN(300)
		if i%3 == 0 {
			n = r.IntN(4)
		}
		count := n
		if r.IntN(20) == 0 {
			count = max(0, n+r.IntN(3)-1)
		}
		src := packedDifferences(r, n)
		want, rest, ok := deltaByDefinition(src, count)
		dst := make([]int64, count)
		k, left, err := decodeDelta(dst, slices.Clip(src))
		if (err == nil) != (want != nil) || err == nil &&
			(k != len(want) || !slices.Equal(dst[:k], want) || !bytes.Equal(left, rest)) {
			t.Fatalf("%d numbers in %x: %v, %v, want %v", count, src, dst[:k], err, want)
		}
		if err != nil && (k != 0 || left != nil) {
			t.Fatalf("%d numbers in %x: %d and an error", count, src, k)
		}
		switch {
		case want == nil:
			failed++
			continue
		case ok:
			exact++
		default:
			inexact++
		}
		if left, e := exactDelta(src, count); e != ok || ok && !bytes.Equal(left, rest) {
			t.Fatalf("%d numbers in %x: exact %v, want %v", count, src, e, ok)
		}
	}
	if min(exact, inexact, failed) < 300 {
		t.Errorf("%d exact, %d not, %d failed", exact, inexact, failed)
	}
	// Bytes that no reader accepts are not exact, and neither are truncated bytes.
	head := func(v ...uint64) (b []byte) {
		for _, u := range v {
			b = binary.AppendUvarint(b, u)
		}
		return b
	}
	packed := append(head(1<<20, 1<<15, 2, 0, 0), append(append([]byte{1}, make([]byte, 1<<15-1)...), 1, 0, 0, 0)...)
	if rest, ok := exactDelta(packed, 2); !ok || len(rest) != 0 {
		t.Error("the largest block is not exact")
	}
	for _, c := range [][]byte{
		nil, head(128), head(128, 4), head(128, 4, 2), head(128, 4, 2, 0), head(128, 4, 2, 0, 0), head(0, 4, 2, 0, 0),
		head(128, 0, 2, 0, 0), head(128, 3, 2, 0, 0, 0),
		append(head(1<<20+1<<15, 1<<15, 2, 0, 0), make([]byte, 1<<15)...),
		append(head(128, 32, 2, 0, 0), make([]byte, 33)...), head(128, 4, 0, 1),
		append(head(128, 4, 2, 0, 0, 65), make([]byte, 3+65*4)...), append(head(128, 4, 2, 0, 0, 8), make([]byte, 3+31)...),
	} {
		for n := range 4 {
			if n == 2 && len(c) == 4 {
				continue
			}
			if _, ok := exactDelta(c, n); ok {
				t.Errorf("%d numbers in %x are exact", n, c[:min(len(c), 20)])
			}
		}
	}
}
