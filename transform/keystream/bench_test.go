package keystream

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// benchBlock is the usual block of the pipeline; the draws of 10 million records
// are made so many at a time.
const (
	benchBlock   = 65_536
	benchRecords = 10_000_000
)

// BenchmarkNormals compares keyed normal draws by place, for a release (bound to the value) and for
// a replicate (not bound), with the fastest secure generator of the standard library: 10 million
// draws in blocks of 65,536.
func BenchmarkNormals(b *testing.B) {
	key := testKey(1)
	perDraw := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/draw")
	}
	values := make([]float64, benchBlock)
	for i := range values {
		values[i] = float64(i%5000) / 4
	}
	for _, c := range []struct {
		name   string
		stream *Stream
		values []float64
	}{
		{"release", key.Release(Name{Mask: "noise", Column: "wage"}), values},
		{"replicate", key.Stream("noise", "wage", 1), nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			dst := make([]float64, benchBlock)
			b.ReportAllocs()
			for b.Loop() {
				for at := 0; at < benchRecords; at += benchBlock {
					c.stream.Normals(dst[:min(benchBlock, benchRecords-at)], Records{First: int64(at), Values: c.values})
				}
			}
			perDraw(b)
		})
	}
	b.Run("chacha8", func(b *testing.B) {
		r := rand.New(rand.NewChaCha8([32]byte{1}))
		dst := make([]float64, benchBlock)
		b.ReportAllocs()
		for b.Loop() {
			for at := 0; at < benchRecords; at += benchBlock {
				part := dst[:min(benchBlock, benchRecords-at)]
				for i := range part {
					part[i] = r.NormFloat64()
				}
			}
		}
		perDraw(b)
	})
}

// BenchmarkDraws measures the other draws, and the normal draws of records identified by digest,
// one block at a time.
func BenchmarkDraws(b *testing.B) {
	s, leaves := testKey(1).Stream("noise", "wage", 1), testKey(1).Release(Name{Mask: "noise", Column: "wage"})
	dst, words := make([]float64, benchBlock), make([]uint64, benchBlock)
	digests, values := make([]microdata.Digest, benchBlock), make([]float64, benchBlock)
	for i := range digests {
		digests[i][0], digests[i][1], digests[i][2] = byte(i), byte(i>>8), byte(i>>16)
		values[i] = float64(i)
	}
	for _, c := range []struct {
		name string
		run  func(r Records)
	}{
		{"words", func(r Records) { s.Words(words, r) }},
		{"uniforms", func(r Records) { s.Uniforms(dst, r) }},
		{"laplaces", func(r Records) { s.Laplaces(dst, r) }},
		{"normals-digest", func(r Records) { r.Digests, r.Values = digests, values; leaves.Normals(dst, r) }},
		{"quantiles", func(r Records) {
			s.Uniforms(dst, r)
			for i, u := range dst {
				dst[i] = NormalQuantile(u)
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			at := int64(0)
			for b.Loop() {
				c.run(Records{First: at})
				at += benchBlock
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchBlock, "ns/draw")
		})
	}
}

// BenchmarkDigests measures the identity digests of a block.
func BenchmarkDigests(b *testing.B) {
	ints := array.NewInt64Builder(memory.DefaultAllocator)
	strs := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range benchBlock {
		ints.Append(int64(i) * 7919)
		strs.Append("person-" + strconv.Itoa(i))
	}
	id, name := &microdata.Column{Array: ints.NewArray()}, &microdata.Column{Array: strs.NewArray()}
	for _, c := range []struct {
		name    string
		columns []*microdata.Column
	}{
		{"integer", []*microdata.Column{id}},
		{"string", []*microdata.Column{name}},
		{"both", []*microdata.Column{id, name}},
	} {
		b.Run(c.name, func(b *testing.B) {
			key := testKey(1)
			var dst []microdata.Digest
			b.ReportAllocs()
			for b.Loop() {
				dst = key.Digests(dst, c.columns, benchBlock)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchBlock, "ns/record")
		})
	}
}

// BenchmarkBinding measures the bindings of the records of a block, for one column.
func BenchmarkBinding(b *testing.B) {
	few, many := array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	coded := array.NewDictionaryBuilder(memory.DefaultAllocator,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	for i := range benchBlock {
		few.Append("region-" + strconv.Itoa(i*7%16))
		many.Append("person-" + strconv.Itoa(i))
		if err := coded.AppendString("person-" + strconv.Itoa(i/2)); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		column arrow.Array
	}{
		{"categories", few.NewArray()}, {"strings", many.NewArray()}, {"dictionary", coded.NewArray()},
	} {
		b.Run(c.name, func(b *testing.B) {
			binding := testKey(1).Binding()
			b.ReportAllocs()
			for b.Loop() {
				binding.Begin(benchBlock, 1)
				binding.Array(c.column)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchBlock, "ns/record")
		})
	}
}
