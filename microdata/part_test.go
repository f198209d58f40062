package microdata

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestPart takes every part of a block with more than one bitmap word.
func TestPart(t *testing.T) {
	const n = 70
	var b, p Block
	b.Reset(2, 100, n, 2)
	v := b.Columns[0].Alloc(n, true)
	build := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range n {
		v.Values[i] = float64(i)
		if i%7 == 3 {
			v.Valid.Clear(i)
		}
		build.Append(int64(i))
	}
	b.Columns[1].Array = build.NewArray()
	b.Columns[0].Mutable().Values[65] = -1
	b.Reject(64, "x", "for the test")
	b.LeaveOut(64) // stays rejected
	b.LeaveOut(9)
	b.LeaveOut(9)
	b.Reject(9, "x", "stays left out")
	if b.Kept() != n-2 || b.LeftOut() != 1 || len(b.Rejects) != 1 || b.Whole() {
		t.Errorf("%d kept, %d left out, %d rejected", b.Kept(), b.LeftOut(), len(b.Rejects))
	}
	for from := range n {
		for to := from + 1; to <= n; to++ {
			b.Part(&p, from, to)
			if p.Stream != 2 || p.First != int64(100+from) || p.N != to-from {
				t.Fatalf("part %d to %d is %d records from %d of stream %d", from, to, p.N, p.First, p.Stream)
			}
			original, released, codes := p.Columns[0].Original, p.Columns[0].Out(), p.Columns[1].OutArray().(*array.Int64)
			if !slices.Equal(original.Values, v.Values[from:to]) || codes.Len() != p.N {
				t.Fatalf("part %d to %d holds other values", from, to)
			}
			out, bad := from <= 9 && to > 9, from <= 64 && to > 64
			if (p.LeftOut() == 1) != out || (len(p.Rejects) == 1) != bad || p.Whole() == (out || bad) {
				t.Fatalf("part %d to %d: %d left out, %d rejected", from, to, p.LeftOut(), len(p.Rejects))
			}
			for i := range p.N {
				row := from + i
				if original.Valid.Has(i) != (row%7 != 3) || p.Rejected(i) != (row == 64 || row == 9) ||
					codes.Value(i) != int64(row) || (released.Values[i] < 0) != (row == 65) {
					t.Fatalf("part %d to %d: record %d is not that of the block", from, to, row)
				}
			}
		}
	}
}

// TestPartOfStream takes parts of a block with gaps between its places, including empty parts.
func TestPartOfStream(t *testing.T) {
	places := []int64{7, 8, 12, 13, 40}
	var b, p Block
	b.Reset(3, 7, len(places), 1)
	b.Scope, b.Places = "survey", places
	copy(b.Columns[0].Alloc(len(places), true).Values, []float64{0, 1, 2, 3, 4})
	b.Reject(2, "", "for the test")
	for from := range len(places) + 1 {
		for to := from; to <= len(places); to++ {
			b.Part(&p, from, to)
			if p.Scope != "survey" || p.Stream != 3 || p.N != to-from || len(p.Columns[0].Original.Values) != p.N {
				t.Fatalf("part %d to %d is %d records of %q, stream %d", from, to, p.N, p.Scope, p.Stream)
			}
			if p.N == 0 {
				if p.Places != nil {
					t.Errorf("the empty part at %d must not have places", from)
				}
				continue
			}
			if p.First != places[from] {
				t.Errorf("part %d to %d begins at %d", from, to, p.First)
			}
			for i := range p.N {
				if p.Place(i) != places[from+i] || p.Rejected(i) != (from+i == 2) {
					t.Errorf("part %d to %d: record %d is not that of the block", from, to, from+i)
				}
			}
		}
	}
}
