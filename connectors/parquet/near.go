package parquet

import (
	"cmp"
	"io"
	"os"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/files"
)

// The parts of a small row group are read from the file in few calls, instead of two for each
// page: extents that lie at most nearGap apart are read as one piece, and all pieces together
// have at most nearBytes, which is a variable only for the tests.
const nearGap = 16 << 10

var nearBytes = int64(1 << 20)

// near reads the parts of a file that it has in memory from there, and all others from the file.
type near struct {
	io.ReaderAt
	pieces []nearPiece // in the order of the file, not overlapping
}

type nearPiece struct {
	from int64
	data []byte // from buffers
}

// nearby returns a reader of the extents of a file. It has no pieces if the extents are large, or
// if f is not a local file: an object of a store reads ahead itself. The caller must call free at
// the end. A piece that cannot be read into memory is left to the reader of the pages, whose error
// names the place.
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

// joined returns the pieces that contain the extents; none if they are too large together.
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

// free releases the memory; later reads are from the file.
func (n *near) free() {
	if n == nil {
		return
	}
	for _, p := range n.pieces {
		putBuffer(p.data)
	}
	n.pieces = nil
}
