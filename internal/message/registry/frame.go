package registry

import "encoding/binary"

// HeaderSize is the length of a frame's header in bytes: a zero, and the
// schema's number, most significant byte first.
const HeaderSize = 5

// AppendHeader appends the header of a message of schema id.
func AppendHeader(dst []byte, id uint32) []byte {
	return append(dst, 0, byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

// Header splits a message's value into its schema's number and the rest after the
// header; ok is false if the value has no such header.
func Header(value []byte) (id uint32, rest []byte, ok bool) {
	if len(value) < HeaderSize || value[0] != 0 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint32(value[1:]), value[HeaderSize:], true
}

// AppendIndexes appends the message indexes that follow the header of a
// Protobuf message: the indexes of its message type in the schema, from the outermost
// to the nested one. The first message, [0], is the single byte 0.
func AppendIndexes(dst []byte, indexes []int) []byte {
	if len(indexes) == 1 && indexes[0] == 0 {
		return append(dst, 0)
	}
	dst = binary.AppendVarint(dst, int64(len(indexes)))
	for _, i := range indexes {
		dst = binary.AppendVarint(dst, int64(i))
	}
	return dst
}

// Indexes splits the rest after the header of a Protobuf message into its message
// indexes, appended to buf, and the message. ok is false if there are malformed indexes
// or more than most.
func Indexes(rest []byte, buf []int, most int) (indexes []int, message []byte, ok bool) {
	n, size := binary.Varint(rest)
	if size <= 0 || n < 0 || n > int64(most) {
		return buf, nil, false
	}
	rest = rest[size:]
	if n == 0 {
		return append(buf, 0), rest, true
	}
	for range n {
		i, size := binary.Varint(rest)
		if size <= 0 || i < 0 || i > maxIndex {
			return buf, nil, false
		}
		buf = append(buf, int(i))
		rest = rest[size:]
	}
	return buf, rest, true
}

// maxIndex is the greatest index of a message type in its file or parent.
const maxIndex = 1 << 20
