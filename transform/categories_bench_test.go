package transform

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Masks of categories compared with noise: go test ./transform -run none -bench Categories
func BenchmarkCategories(b *testing.B) {
	const n = 65536
	list := []string{"Wien", "Graz", "Linz", "Salzburg", "Innsbruck"}
	text := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		text.Append(list[i*7%5])
	}
	regions := text.NewArray()
	up := map[string]string{}
	for i, name := range list {
		up[name] = list[i/2]
	}
	for _, c := range []struct {
		name   string
		m      Params
		of     arrow.DataType
		number bool
	}{
		{"noise", &Noise{Columns: []string{"a"}, SD: amount(5)}, arrow.PrimitiveTypes.Float64, true},
		{"recode", &Recode{Columns: []string{"a"}, Map: up}, arrow.BinaryTypes.String, false},
		{"pram", &PRAM{Columns: []string{"a"}, Keep: ptr(0.8), Categories: list}, arrow.BinaryTypes.String, false},
		{"midpoints", &Recode{Columns: []string{"a"}, Breaks: []float64{0, 1e4, 3e4, 7e4}, Midpoints: true},
			arrow.PrimitiveTypes.Float64, true},
		{"topcode", &Topcode{Columns: []string{"a"}, Upper: ptr(6e4)}, arrow.PrimitiveTypes.Float64, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			chain,
				err := NewChain([]Spec{mask(c.m)},
				Setup{Key: testKey(b, 5),
					Columns: []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: c.of}, Decimals: 2}}})
			if err != nil {
				b.Fatal(err)
			}
			var block microdata.Block
			b.SetBytes(n)
			for b.Loop() {
				block.Reset(0, 0, n, 1)
				if c.number {
					v := block.Columns[0].Alloc(n, false)
					for i := range v.Values {
						v.Values[i] = float64(i)
					}
				} else {
					block.Columns[0].Array = regions
				}
				if err := chain.Apply(&block); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// PRAM with one matrix per stratum: the first pass, which counts, and the second. Text in flat
// arrays and in dictionaries.
func BenchmarkStrata(b *testing.B) {
	const n = 65536
	list := []string{"Wien", "Graz", "Linz", "Salzburg", "Innsbruck"}
	flat := func(of []string, step int) arrow.Array {
		text := array.NewStringBuilder(memory.DefaultAllocator)
		for i := range n {
			text.Append(of[i*step%len(of)])
		}
		return text.NewArray()
	}
	coded := func(of []string, step int) arrow.Array {
		text := array.NewDictionaryBuilder(memory.DefaultAllocator,
			&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
		for i := range n {
			if err := text.AppendString(of[i*step%len(of)]); err != nil {
				b.Fatal(err)
			}
		}
		return text.NewArray()
	}
	trades := []string{"agriculture", "mining", "manufacturing", "energy", "construction", "trade", "transport"}
	for name, of := range map[string]func([]string, int) arrow.Array{"flat": flat, "coded": coded} {
		places, strata := of(list, 7), of(trades, 3)
		m := &PRAM{Columns: []string{"a"}, Keep: ptr(0.8), Categories: list, Invariant: true, By: []string{"b"}}
		columns := []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: places.DataType()}},
			{Name: "b", Index: 1, Field: microdata.Field{Name: "b", Type: strata.DataType()}}}
		var block microdata.Block
		filled := func() *microdata.Block {
			block.Reset(0, 0, n, 2)
			block.Columns[0].Array, block.Columns[1].Array = places, strata
			return &block
		}
		counted, err := NewFrequencies(m, columns)
		if err != nil {
			b.Fatal(err)
		}
		count := func() {
			for _, f := range counted {
				if err := f.Count(filled()); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run(name+"/count", func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				count()
			}
		})
		count()
		chain, err := NewChain([]Spec{mask(m)}, Setup{Key: testKey(b, 5), Columns: columns, Frequencies: counted})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/pram", func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				if err := chain.Apply(filled()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
