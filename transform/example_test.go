package transform_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Masks are checked, prepared for the columns of a run, and applied block by block.
func ExampleNewChain() {
	lower := 0.0
	masks := []transform.Spec{
		{Params: &transform.Noise{Columns: []string{"wage"}, SD: &transform.Amount{Value: 0.35, Relative: true}}},
		{Params: &transform.Truncate{Columns: []string{"wage"}, Lower: &lower}},
	}
	for i, m := range masks {
		for _, p := range m.Params.Check() {
			log.Fatalf("masks[%d].%s.%s", i, m.Kind(), p)
		}
	}
	for _, p := range transform.CheckSpecs(masks) { // problems between the masks
		log.Fatal(p)
	}
	key, err := keystream.NewKey(bytes.Repeat([]byte("0123456789abcdef"), 2)) // in production: keystream.Generate()
	if err != nil {
		log.Fatal(err)
	}
	chain, err := transform.NewChain(masks, transform.Setup{Key: key, Columns: []transform.ColumnInfo{{
		Name: "wage", Index: 0, Field: microdata.Field{Name: "wage", Type: arrow.PrimitiveTypes.Float64},
		Decimals: 2, Mean: 603, SD: 445, // of the original column: "35%" is a share of this SD
	}}})
	if err != nil {
		log.Fatal(err)
	}

	var b microdata.Block
	b.Reset(0, 0, 4, 1)
	copy(b.Columns[0].Alloc(4, false).Values, []float64{1200, 950, 310.5, 88.25})
	if err := chain.Apply(&b); err != nil {
		log.Fatal(err)
	}
	for i, y := range b.Columns[0].Out().Values {
		fmt.Printf("%.2f released as %.2f\n", b.Columns[0].Original.Values[i], y)
	}
	// Output:
	// 1200.00 released as 1189.19
	// 950.00 released as 716.89
	// 310.50 released as 447.02
	// 88.25 released as 27.94
}
