package keystream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// placesOf returns n ascending places; the given share of them is followed by a gap.
func placesOf(n int, gaps float64, seed uint64) []int64 {
	r := rand.New(rand.NewPCG(seed, 3))
	places, at := make([]int64, n), int64(1)<<33
	for i := range places {
		places[i] = at
		at++
		if r.Float64() < gaps {
			at += 1 + r.Int64N(1<<20)
		}
	}
	return places
}

// TestPlacesWithGaps: the draw of a record depends on its place, not on its neighbours or on how
// the run is cut.
func TestPlacesWithGaps(t *testing.T) {
	s := testKey(1).Stream("noise", "wage", 0)
	for _, gaps := range []float64{0, 0.001, 0.1, 0.5, 1} {
		const n = 3000
		places := placesOf(n, gaps, 7)
		for _, d := range draws {
			want, got := make([]float64, n), make([]float64, n)
			for i, p := range places {
				d.fill(s, want[i:i+1], Records{Stream: 5, First: p})
			}
			for _, size := range []int{n, 511, 7} {
				for at := 0; at < n; at += size {
					end := min(at+size, n)
					d.fill(s, got[at:end], Records{Stream: 5, First: places[at], Places: places[at:end]})
				}
				sameBits(t, fmt.Sprintf("%s, gaps after %v of the records, in runs of %d", d.name, gaps, size), got, want)
			}
		}
	}
	// The corner of the counter: the last possible places.
	w, corner := make([]uint64, 20), make([]uint64, 1)
	places := make([]int64, 20)
	for i := range places {
		places[i] = math.MaxInt64 - 19 + int64(i)
	}
	s.Words(w, Records{Places: places})
	for i, p := range places[:19] {
		if s.Words(corner, Records{First: p}); corner[0] != w[i] {
			t.Errorf("place %d has a different word in a run with other places", p)
		}
	}
}

func TestPlacesRefused(t *testing.T) {
	s := testKey(1).Stream("noise", "wage", 0)
	for name, places := range map[string][]int64{"too few": {1, 2}, "negative": {4, 5, -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: must panic", name)
				}
			}()
			s.Words(make([]uint64, 3), Records{Places: places})
		}()
	}
}

// jsonIdentity returns identity columns as JSON records contain them: strings, numbers or booleans,
// with nulls among the strings.
func jsonIdentity(values ...any) arrow.Array {
	codes := []arrow.UnionTypeCode{0, 1, 2}
	dt := arrow.DenseUnionOf([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Float64}, {Name: "b", Type: arrow.FixedWidthTypes.Boolean}}, codes)
	b := array.NewDenseUnionBuilder(memory.DefaultAllocator, dt)
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			b.Append(0)
			b.Child(0).AppendNull()
		case string:
			b.Append(0)
			b.Child(0).(*array.StringBuilder).Append(v)
		case float64:
			b.Append(1)
			b.Child(1).(*array.Float64Builder).Append(v)
		case bool:
			b.Append(2)
			b.Child(2).(*array.BooleanBuilder).Append(v)
		}
	}
	return b.NewArray()
}

// TestDigestsOfUnion: a value in a dense union has the same digest as in a column of its own type.
func TestDigestsOfUnion(t *testing.T) {
	union := jsonIdentity("42", 42.0, true, nil, "", 0.1, false, math.Copysign(0, -1))
	if !CanIdentify(union.DataType()) {
		t.Fatalf("%s must be able to identify", union.DataType())
	}
	typed := []arrow.Array{
		arrayOf(t, arrow.BinaryTypes.String, "42"), arrayOf(t, arrow.PrimitiveTypes.Int32, "42"),
		arrayOf(t, arrow.FixedWidthTypes.Boolean, "true"),
		arrayOf(t, arrow.PrimitiveTypes.Int64, "∅"), arrayOf(t, arrow.BinaryTypes.LargeString, ""),
		arrayOf(t, arrow.PrimitiveTypes.Float64, "0.1"),
		arrayOf(t, arrow.FixedWidthTypes.Boolean, "false"), arrayOf(t, arrow.PrimitiveTypes.Uint8, "0"),
	}
	digests := testKey(1).Digests(nil, []*microdata.Column{{Array: union}}, union.Len())
	for i, a := range typed {
		if digests[i] != digestOf(t, a) {
			t.Errorf("value %d has a different digest than in a column of type %s", i, a.DataType())
		}
	}
	slice := array.NewSlice(union, 3, 7)
	if got := testKey(1).Digests(nil, []*microdata.Column{{Array: slice}}, 4); !slices.Equal(got, digests[3:7]) {
		t.Error("a slice of a union has different digests")
	}
	nested := arrow.DenseUnionOf([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String)}},
		[]arrow.UnionTypeCode{0})
	if CanIdentify(nested) {
		t.Error("a union with a list must not be able to identify")
	}
}

func BenchmarkPlaces(b *testing.B) {
	const n = 65536
	s := testKey(1).Stream("noise", "wage", 0)
	dst := make([]float64, n)
	for _, gaps := range []float64{0, 0.001, 0.1, 1} {
		places := placesOf(n, gaps, 1)
		b.Run(fmt.Sprintf("gaps=%v", gaps), func(b *testing.B) {
			for b.Loop() {
				s.Normals(dst, Records{Places: places})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/value")
		})
	}
}
