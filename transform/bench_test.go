package transform

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

const benchRecords = 65536

func benchBlock(columns int) *microdata.Block {
	b := new(microdata.Block)
	b.Reset(0, 0, benchRecords, columns)
	for c := range b.Columns {
		v := b.Columns[c].Alloc(benchRecords, false)
		for i := range v.Values {
			v.Values[i] = float64(i*7919%1000003) / 100
		}
	}
	return b
}

func benchChain(tb testing.TB, columns int, p Params) *Chain {
	setup := Setup{Key: testKey(tb, 1), Window: benchRecords}
	for c := range columns {
		name := fmt.Sprint("c", c)
		setup.Columns = append(setup.Columns,
			ColumnInfo{Name: name, Index: c, Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}, Decimals: 2,
				SD: 2900, Mean: 5000, Days: false})
	}
	chain, err := NewChain([]Spec{{Params: p}}, setup)
	if err != nil {
		tb.Fatal(err)
	}
	return chain
}

// benchApply applies the chain to one block repeatedly, like a pipeline that reuses its blocks.
func benchApply(b *testing.B, chain *Chain, block *microdata.Block) {
	b.ReportAllocs()
	for b.Loop() {
		for c := range block.Columns {
			block.Columns[c].Released = microdata.Vector{}
		}
		if err := chain.Apply(block); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/value")
}

func BenchmarkNormalDraw(b *testing.B) {
	s := testKey(b, 1).Release(keystream.Name{Mask: "noise#1", Column: "c0"})
	dst, values := make([]float64, benchRecords), make([]float64, benchRecords)
	for b.Loop() {
		s.Normals(dst, keystream.Records{Values: values})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/value")
}

func BenchmarkNoise(b *testing.B) {
	sd := &Amount{Value: 35}
	tier := []Tier{{Above: ptr(5000.0), VarianceFactor: ptr(2.0)}}
	for _, bench := range []struct {
		name  string
		noise Noise
	}{
		{"normal", Noise{SD: sd}},
		{"normal/tiers", Noise{SD: sd, Tiers: tier}},
		{"laplace", Noise{SD: sd, Distribution: "laplace"}},
		{"uniform", Noise{SD: sd, Distribution: "uniform"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			bench.noise.Columns = []string{"c0"}
			benchApply(b, benchChain(b, 1, &bench.noise), benchBlock(1))
		})
	}
}

// BenchmarkAdd measures the cost of noise without its draws.
func BenchmarkAdd(b *testing.B) {
	col := &record.NoiseColumn{Column: &core.Column{}, Grid: core.DecimalGrid(2), Scale: 35, Fast: core.Fast}
	x := benchBlock(1).Columns[0].Original.Values
	e := make([]float64, benchRecords)
	changed := make(microdata.Bitmap, benchRecords/64)
	for b.Loop() {
		col.Add(x, x, e, 3500, changed)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/value")
}

func BenchmarkBias(b *testing.B) {
	benchApply(b, benchChain(b, 1, &Bias{Columns: []string{"c0"}, Phi: ptr(0.0167)}), benchBlock(1))
}

func BenchmarkSwap(b *testing.B) {
	for _, policy := range []string{"unique", "random"} {
		b.Run(policy, func(b *testing.B) {
			block := benchBlock(4)
			for i := range benchRecords {
				block.Columns[0].Original.Values[i] = float64(i * 31 % 9973)
				block.Columns[1].Original.Values[i] = float64(i % 3)
				block.Columns[2].Original.Values[i] = float64(i % 4)
			}
			chain := benchChain(b, 4,
				&Swap{Keys: []string{"c0", "c1"}, Attribute: "c2", Columns: []string{"c3"}, Rate: ptr(0.1), Policy: policy})
			benchApply(b, chain, block)
		})
	}
}
