package avro

import "math"

// maxDepth is the greatest nesting depth of values.
const maxDepth = 64

// long reads a zigzag varint of up to 64 bits; next is -1 if it is malformed. A varint
// that is longer than necessary counts as malformed: no writer produces it, other
// readers reject an int of more than 5 bytes, and its length could carry information.
func long(b []byte, at int) (v int64, next int) {
	if at < len(b) && b[at] < 0x80 {
		u := b[at]
		return int64(u>>1) ^ -int64(u&1), at + 1
	}
	var u uint64
	for shift := uint(0); shift < 70; shift += 7 {
		if at >= len(b) {
			return 0, -1
		}
		c := b[at]
		at++
		if c < 0x80 {
			if shift == 63 && c > 1 || c == 0 { // a single byte was read above
				return 0, -1
			}
			u |= uint64(c) << shift
			return int64(u>>1) ^ -int64(u&1), at
		}
		u |= uint64(c&0x7f) << shift
	}
	return 0, -1
}

// appendLong appends a zigzag varint.
func appendLong(dst []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// span reads the length of a string or of bytes and returns their begin and end; from
// is -1 if the length is malformed or exceeds b.
func span(b []byte, at int) (from, to int) {
	n, at := long(b, at)
	if at < 0 || n < 0 || n > int64(len(b)-at) {
		return -1, -1
	}
	return at, at + int(n)
}

// skip returns the end of the value of type n that begins at b[at], -1 if it is
// malformed. Its time is limited by the number of bytes that it passes.
func (n *node) skip(b []byte, at, depth int) int {
	switch n.kind {
	case kindNull:
		return at
	case kindBoolean:
		if at >= len(b) || b[at] > 1 {
			return -1
		}
		return at + 1
	case kindInt:
		v, at := long(b, at)
		if v < math.MinInt32 || v > math.MaxInt32 {
			return -1
		}
		return at
	case kindLong:
		_, at := long(b, at)
		return at
	case kindFloat:
		return forward(b, at, 4)
	case kindDouble:
		return forward(b, at, 8)
	case kindFixed:
		return forward(b, at, n.size)
	case kindBytes, kindString:
		_, at := span(b, at)
		return at
	case kindEnum:
		v, at := long(b, at)
		if v < 0 || v >= int64(len(n.symbols)) {
			return -1
		}
		return at
	case kindUnion:
		v, at := long(b, at)
		if at < 0 || v < 0 || v >= int64(len(n.branches)) || depth == maxDepth {
			return -1
		}
		return n.branches[v].skip(b, at, depth+1)
	case kindRecord:
		if n.min == 0 {
			return at // its values have no bytes, for any number of fields
		}
		if depth == maxDepth {
			return -1
		}
		for i := range n.fields {
			if at = n.fields[i].node.skip(b, at, depth+1); at < 0 {
				return -1
			}
		}
		return at
	case kindArray, kindMap:
		return n.skipBlocks(b, at, depth)
	}
	return -1
}

func forward(b []byte, at, n int) int {
	if n > len(b)-at {
		return -1
	}
	return at + n
}

func (n *node) skipBlocks(b []byte, at, depth int) int {
	if depth == maxDepth {
		return -1
	}
	for {
		count, end, next := n.block(b, at)
		if next < 0 || count == 0 {
			return next
		}
		at = next
		if n.least() == 0 {
			continue // these items have no bytes
		}
		for range count {
			if n.kind == kindMap {
				if _, at = span(b, at); at < 0 {
					return -1
				}
			}
			if at = n.elem.skip(b, at, depth+1); at < 0 {
				return -1
			}
		}
		if end >= 0 && at != end {
			return -1
		}
	}
}

// least returns the least number of bytes of an item of an array or map.
func (n *node) least() int {
	if n.kind == kindMap {
		return n.elem.min + 1
	}
	return n.elem.min
}

// maxEmpty is the greatest number of items without bytes in a block, because a few
// bytes could announce any number of them.
const maxEmpty = 64

// block reads the head of a block of items: their number (0: the last block), their end
// (-1: not given) and their begin; next is -1 if the head is malformed or announces
// more items than can follow.
func (n *node) block(b []byte, at int) (count, end, next int) {
	c, at := long(b, at)
	if at < 0 {
		return 0, 0, -1
	}
	end = -1
	if c < 0 {
		var size int64
		if size, at = long(b, at); at < 0 || size < 0 || size > int64(len(b)-at) || c == math.MinInt64 {
			return 0, 0, -1
		}
		c, end = -c, at+int(size)
	}
	limit := int64(maxEmpty)
	if least := n.least(); least > 0 {
		limit = int64((len(b) - at) / least)
	} else if end > at {
		return 0, 0, -1
	}
	if c > limit {
		return 0, 0, -1
	}
	return int(c), end, at
}
