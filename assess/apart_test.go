package assess

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Accumulators that are merged in parts give, to the bit, what they give as wholes, in every order, and few pieces are
// read: of k records in all, each of n parts has about k/n, so that it is one of its pieces.
func TestMergingApart(t *testing.T) {
	const each, parts = 6000, 12
	table := makePairs(8, each*parts, true)
	for _, k := range []int{4000, 100, 0, -1} {
		o := testOptions(t)
		o.Sample, o.Extremes = k, 5
		order := rand.New(rand.NewPCG(4, 2)).Perm(parts)
		for _, order := range [][]int{order, slices.Sorted(slices.Values(order))} {
			whole, merged := newAccumulator(t, o), newAccumulator(t, o)
			read, of := 0, 0
			for _, i := range order {
				one := newAccumulator(t, o)
				one.Add(table.block(i*each, (i+1)*each))
				text, err := one.MarshalBinary()
				must(t, err)
				again := newAccumulator(t, o)
				must(t, again.UnmarshalBinary(text))
				must(t, whole.Merge(again))

				exact, pieces := one.MarshalApart()
				again = newAccumulator(t, o)
				must(t, again.UnmarshalExact(exact))
				of += len(pieces)
				for p, piece := range pieces {
					if piece.Lowest > merged.Limit() {
						break
					}
					if p > 0 && piece.Lowest < pieces[p-1].Lowest {
						t.Fatalf("piece %d begins with priority %d, the one before with %d", p, piece.Lowest, pieces[p-1].Lowest)
					}
					must(t, again.AddPiece(piece.Data))
					read++
				}
				must(t, merged.Merge(again))
			}
			got, err := merged.MarshalBinary()
			must(t, err)
			want, err := whole.MarshalBinary()
			must(t, err)
			if !bytes.Equal(got, want) {
				t.Errorf("sample of %d: merged in parts, the accumulator is another one", k)
			}
			switch {
			case k < 0 && (read != of || of != parts*6): // 6,000 records in pieces of 1,024
				t.Errorf("%d of %d pieces of whole samples are read", read, of)
			case k == 4000 && (of != parts*4 || read > 4+2*(parts-1)+4):
				// All 4 of the first. The limit falls when the sample has a quarter more than it needs, so that the second
				// may be read to the end as well; later ones give at most 5,000/3 records, 2 pieces.
				t.Errorf("%d of %d pieces of samples of %d are read", read, of, k)
			}
		}
	}
}

// What is no piece, is cut short or has a record too many is refused, and so is more than the sample holds.
func TestPiecesThatAreRefused(t *testing.T) {
	o := testOptions(t)
	o.Sample, o.Extremes = 30, 3
	a := newAccumulator(t, o)
	table := makePairs(3, 200, true)
	a.Add(table.block(0, 200))
	exact, pieces := a.MarshalApart()
	if len(pieces) != 1 || pieces[0].Lowest != a.sample.ByPriority().Priority[0] {
		t.Fatalf("%d pieces", len(pieces))
	}
	fresh := func() *Accumulator {
		b := newAccumulator(t, o)
		must(t, b.UnmarshalExact(exact))
		return b
	}
	data := pieces[0].Data
	for n := range len(data) {
		if err := fresh().AddPiece(data[:n]); !errors.Is(err, errEncoding) {
			t.Fatalf("%d of %d bytes: error %v", n, len(data), err)
		}
	}
	if err := fresh().AddPiece(append(bytes.Clone(data), 0)); !errors.Is(err, errEncoding) {
		t.Errorf("a byte too many: error %v", err)
	}
	b := fresh()
	must(t, b.AddPiece(data))
	sameAccumulator(t, b, a)
	if err := b.AddPiece(data); !errors.Is(err, errEncoding) {
		t.Errorf("the same piece again: error %v", err)
	}
	if err := newAccumulator(t, o).UnmarshalExact(exact[:len(exact)-1]); !errors.Is(err, errEncoding) {
		t.Errorf("a part that is cut short: error %v", err)
	}
	if l := fresh().Limit(); l != math.MaxUint32 {
		t.Errorf("the limit of an empty sample is %d", l)
	}
}
