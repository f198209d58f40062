package parquet

import (
	"cmp"
	"io"
	"os"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/files"
)

// What is read of a small row group comes from the file in few calls, where pages would take
// two each: extents that lie at most nearGap apart are one piece, and all pieces together
// have at most nearBytes, which is a variable for the tests alone.
const nearGap = 16 << 10

var nearBytes = int64(1 << 20)

// near reads what it holds of a file from memory, and all else from the file.
type near struct {
	io.ReaderAt
	pieces []nearPiece // in the order of the file, none of which meets another
}

type nearPiece struct {
	from int64
	data []byte // from buffers
}

// nearby returns what reads the extents of a file: the file itself where they are large, and
// of objects, which fetch ahead by themselves. Whoever is done with it calls free. What
// cannot be read into memory is left to the reader of the pages, which knows the place.
func nearby(f io.ReaderAt, extents []files.Extent) *near {
	n := &near{ReaderAt: f}
	if _, local := f.(*os.File); !local {
		return n
	}
	for _, e := range joined(extents) {
		data := getBuffer(int(e.To - e.From))
		n.pieces = append(n.pieces, nearPiece{e.From, data})
		if k, _ := f.ReadAt(data, e.From); k < len(data) {
			n.free()
			break
		}
	}
	return n
}

// joined are the pieces that hold the extents; none where they are too large together.
func joined(extents []files.Extent) (pieces []files.Extent) {
	extents = slices.Clone(extents)
	slices.SortFunc(extents, func(a, b files.Extent) int { return cmp.Compare(a.From, b.From) })
	for _, e := range extents {
		if k := len(pieces) - 1; k >= 0 && e.From <= pieces[k].To+nearGap {
			pieces[k].To = max(pieces[k].To, e.To)
		} else {
			pieces = append(pieces, e)
		}
	}
	left := nearBytes
	for _, p := range pieces {
		if left -= p.To - p.From; left < 0 || p.To < p.From {
			return nil
		}
	}
	return pieces
}

// ReadAt implements io.ReaderAt.
func (n *near) ReadAt(p []byte, at int64) (int, error) {
	for _, piece := range n.pieces {
		if at >= piece.from && at+int64(len(p)) <= piece.from+int64(len(piece.data)) {
			return copy(p, piece.data[at-piece.from:]), nil
		}
	}
	return n.ReaderAt.ReadAt(p, at)
}

// free gives the memory back; what is read after it comes from the file.
func (n *near) free() {
	if n == nil {
		return
	}
	for _, p := range n.pieces {
		putBuffer(p.data)
	}
	n.pieces = nil
}
