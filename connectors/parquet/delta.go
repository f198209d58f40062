package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// decodeDelta reads DELTA_BINARY_PACKED numbers, at most len(dst), and returns their
// number and the bytes that follow them. parquet-go's decoder is not used, because it
// allocates what a header claims and reads in assembly without checking bounds.
func decodeDelta(dst []int64, src []byte) (n int, rest []byte, err error) {
	var head [3]uint64
	for i := range head {
		u, k := binary.Uvarint(src)
		if k <= 0 {
			return 0, nil, errShort
		}
		head[i], src = u, src[k:]
	}
	block, minis, total := head[0], head[1], head[2]
	first, k := binary.Varint(src)
	if k <= 0 {
		return 0, nil, errShort
	}
	src = src[k:]
	switch {
	case block == 0 || block%128 != 0 || block > 1<<20 || minis == 0 || block%minis != 0 || block/minis%32 != 0:
		return 0, nil, fmt.Errorf("delta encoding in blocks of %d in %d parts", block, minis)
	case total > uint64(len(dst)):
		return 0, nil, errors.New("the page holds more values than its header says")
	case total == 0:
		return 0, src, nil
	}
	mini := int(block / minis)
	dst = dst[:total]
	last := first
	dst[0] = last
	for at := 1; at < len(dst); {
		least, k := binary.Varint(src)
		if k <= 0 || uint64(len(src)-k) < minis {
			return 0, nil, errShort
		}
		widths := src[k : k+int(minis)]
		src = src[k+int(minis):]
		for _, w := range widths {
			if at == len(dst) {
				break // the widths of missing parts have no meaning
			}
			if w > 64 {
				return 0, nil, fmt.Errorf("a bit width of %d", w)
			}
			size := mini / 8 * int(w)
			if len(src) < size {
				return 0, nil, errShort
			}
			part := dst[at:min(at+mini, len(dst))]
			unpack64(part, src[:size], int(w))
			for i, d := range part {
				last += d + least
				part[i] = last
			}
			at += len(part)
			src = src[size:]
		}
	}
	return int(total), src, nil
}

func unpack64(dst []int64, src []byte, width int) {
	if width == 0 {
		clear(dst)
		return
	}
	mask := ^uint64(0) >> (64 - width)
	bit := 0
	for i := range dst {
		at, shift := bit>>3, bit&7
		var v uint64
		if at+8 <= len(src) {
			v = binary.LittleEndian.Uint64(src[at:])
		} else {
			for k, b := range src[at:] {
				v |= uint64(b) << (8 * k)
			}
		}
		v >>= shift
		if shift+width > 64 {
			v |= uint64(src[at+8]) << (64 - shift)
		}
		dst[i] = int64(v & mask)
		bit += width
	}
}

// decodeDeltaLengths reads DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes.
// Offsets refer to the data returned, which is part of src.
func decodeDeltaLengths(n int, src []byte) ([]uint32, []byte, error) {
	lengths := make([]int64, n)
	got, rest, err := decodeDelta(lengths, src)
	if err != nil {
		return nil, nil, err
	}
	if got != n {
		return nil, nil, errShort
	}
	at := uint64(0)
	offsets := append(make([]uint32, 0, n+1), 0)
	for _, l := range lengths {
		if l < 0 || uint64(l) > uint64(len(rest))-at {
			return nil, nil, errShort
		}
		at += uint64(l)
		offsets = append(offsets, uint32(at))
	}
	return offsets, rest[:at], nil
}

// decodeDeltaByteArrays reads DELTA_BYTE_ARRAY: each value shares a prefix with
// the one before.
func decodeDeltaByteArrays(n int, src []byte) ([]uint32, []byte, error) {
	prefixes := make([]int64, n)
	got, rest, err := decodeDelta(prefixes, src)
	if err != nil {
		return nil, nil, err
	}
	if got != n {
		return nil, nil, errShort
	}
	suffixes, bytes, err := decodeDeltaLengths(n, rest)
	if err != nil {
		return nil, nil, err
	}
	offsets := append(make([]uint32, 0, n+1), 0)
	var data, previous []byte
	for i, p := range prefixes {
		if p < 0 || p > int64(len(previous)) {
			return nil, nil, errors.New("a prefix longer than the value before")
		}
		from := len(data)
		if from+int(p)+int(suffixes[i+1]-suffixes[i]) > maxPage {
			return nil, nil, errors.New("a page of more than 1 GB")
		}
		data = append(append(data, previous[:p]...), bytes[suffixes[i]:suffixes[i+1]]...)
		previous = data[from:]
		offsets = append(offsets, uint32(len(data)))
	}
	return offsets, data, nil
}
