package lz4

import (
	"encoding/binary"
	"errors"

	"github.com/pierrec/lz4/v4"
)

var (
	// ErrOther is the error for what is a frame of a kind that this package does not read.
	ErrOther = errors.New("another kind of LZ4 frame")
	// ErrLong is the error for content that is longer than it may be.
	ErrLong = errors.New("the content of an LZ4 frame is too long")

	errDamaged = errors.New("an LZ4 frame is damaged")
)

// AppendContent appends what a frame holds, at most `most` bytes in all, dst included. Frames
// of other kinds are ErrOther: whose blocks refer to earlier ones or to a dictionary, or have
// checksums, frames that others follow, and what does not begin as a frame.
func AppendContent(dst, frame []byte, most int) ([]byte, error) {
	rest, block, err := header(frame)
	if err != nil {
		return dst, err
	}
	trailer := 0
	if frame[4]&contentChecksum != 0 {
		trailer = 4
	}
	for {
		if len(rest) < lengthSize {
			return dst, errDamaged
		}
		length := binary.LittleEndian.Uint32(rest)
		rest = rest[lengthSize:]
		if length == 0 {
			if len(rest) > trailer {
				return dst, ErrOther
			}
			if len(rest) < trailer {
				return dst, errDamaged
			}
			return dst, nil
		}
		n := int(length &^ stored)
		if n > len(rest) || n > block {
			return dst, errDamaged
		}
		if dst, err = appendContent(dst, rest[:n], length&stored != 0, block, most); err != nil {
			return dst, err
		}
		rest = rest[n:]
	}
}

// header returns what follows a frame's header, and how long the content of its blocks is at
// most.
func header(frame []byte) (rest []byte, block int, err error) {
	if len(frame) < headerSize || binary.LittleEndian.Uint32(frame) != magic {
		return nil, 0, ErrOther
	}
	flags, descriptor := frame[4], frame[5]
	if flags&versionMask != version1 || flags&independent == 0 ||
		flags&(blockChecksums|contentSize|reserved|dictionary) != 0 {
		return nil, 0, ErrOther
	}
	for _, s := range sizes {
		if s.descriptor == descriptor {
			return frame[headerSize:], s.most, nil
		}
	}
	return nil, 0, ErrOther
}

// appendContent appends the content of a block of at most `block` bytes.
func appendContent(dst, src []byte, asIs bool, block, most int) ([]byte, error) {
	if asIs {
		if len(dst)+len(src) > most {
			return dst, ErrLong
		}
		return append(dst, src...), nil
	}
	// Content is rarely four times as long as the block; a block can hold no more than 255 times
	// its own length.
	at := len(dst)
	for room := min(4*len(src), block); ; room = min(4*room, block) {
		if cap(dst)-at < room {
			grown := make([]byte, at, max(2*cap(dst), at+room))
			copy(grown, dst)
			dst = grown
		}
		n, err := lz4.UncompressBlock(src, dst[at:min(cap(dst), at+block)])
		if err == nil {
			if at+n > most {
				return dst, ErrLong
			}
			return dst[:at+n], nil
		}
		if cap(dst)-at >= block {
			return dst, errDamaged
		}
	}
}
