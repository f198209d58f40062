package transform

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/arraytest"
)

// A protected column in Array form is exchanged like a column of numbers, for every type, in
// windows and across blocks.
func TestSwapOfArrays(t *testing.T) {
	const n = 600
	columns := swapData(n, 3, 40, 3)
	for _, typ := range arraytest.Types {
		for _, scope := range []string{"window", "dataset"} {
			t.Run(typ.String()+"/"+scope, func(t *testing.T) {
				m := swapMask("unique", scope, 0.9)
				m.Columns = []string{"a", "e"}
				setup := testSetup(t, columns...)
				setup.Window = 200
				setup.Columns = append(setup.Columns, ColumnInfo{Name: "e", Index: 4, Field: microdata.Field{Name: "e", Type: typ}})
				c := chain(t, setup, mask(m))
				var before []string
				cut := func(from int) *microdata.Block {
					b := block(from, from+200, append(slices.Clone(columns), testColumn{Values: make([]float64, n)})...)
					b.Columns[4].Original = microdata.Vector{}
					b.Columns[4].Array = arraytest.Random(t, typ, 200, uint64(from)) // each block has its own dictionary
					return b
				}
				for from := 0; from < n; from += 200 {
					b := cut(from)
					before = append(before, arraytest.Texts(b.Columns[4].Array)...)
					if c.NeedsSurvey() {
						if err := c.Survey(b); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := c.EndSurvey(); err != nil {
					t.Fatal(err)
				}
				moved := 0
				for from := 0; from < n; from += 200 {
					b := apply(t, c, cut(from))
					got := arraytest.Texts(b.Columns[4].OutArray())
					if !arrow.TypeEqual(b.Columns[4].OutArray().DataType(), typ) {
						t.Fatalf("type became %s", b.Columns[4].OutArray().DataType())
					}
					if v, ok := b.Columns[4].OutArray().(interface{ ValidateFull() error }); ok && v.ValidateFull() != nil {
						t.Fatal(v.ValidateFull())
					}
					for i, v := range b.Columns[0].Out().Values {
						partner := int(v) - 1
						if partner != from+i {
							moved++
						}
						if got[i] != before[partner] {
							t.Fatalf("record %d: got %s, want that of record %d, %s", from+i, got[i], partner, before[partner])
						}
					}
					if again := arraytest.Texts(b.Columns[4].Array); !slices.Equal(again, before[from:from+200]) {
						t.Fatal("the original array changed")
					}
				}
				if moved < 20 {
					t.Errorf("only %d values were exchanged", moved)
				}
			})
		}
	}
}
