package assess_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// An accumulator takes pairs of original and released values block by block. With replicates of the
// masks it computes the expected risk and utility, and the measures are compared with rules.
func ExampleAccumulator() {
	key, err := keystream.NewKey(bytes.Repeat([]byte("0123456789abcdef"), 2)) // in production: keystream.Generate()
	if err != nil {
		log.Fatal(err)
	}
	masks := []transform.Spec{{Params: &transform.Noise{Columns: []string{"wage"}, SD: &transform.Amount{Value: 50}}}}
	chain, err := transform.NewChain(masks, transform.Setup{Key: key, Columns: []transform.ColumnInfo{{
		Name: "wage", Field: microdata.Field{Name: "wage", Type: arrow.PrimitiveTypes.Float64}, Decimals: 2,
	}}})
	if err != nil {
		log.Fatal(err)
	}
	a, err := assess.New(assess.Options{
		Columns: []assess.Column{{Name: "wage", Unit: "USD/week", Index: 0, Masked: true}},
		Targets: []string{"p50", "max"}, Key: key,
		Replicates: 50, Replicate: func(m int) assess.Masker { return chain.Replicate(m) },
	})
	if err != nil {
		log.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(1, 2))
	var b microdata.Block
	for first := int64(0); first < 10_000; first += 1000 {
		b.Reset(0, first, 1000, 1)
		wages := b.Columns[0].Alloc(1000, false)
		for i := range wages.Values {
			wages.Values[i] = 600 + 100*draw.NormFloat64()
		}
		if err := chain.Apply(&b); err != nil {
			log.Fatal(err)
		}
		a.Add(&b)
	}
	m, err := a.Measure(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	wage := m.Column("wage")
	fmt.Printf("%d records, efficiency %.2f\n", m.Records, float64(wage.Utility.Efficiency))
	for _, r := range wage.Risk {
		if r.Target == assess.TargetTypical {
			fmt.Printf("%s by %s: known to within %.0f %s\n", r.Target, r.Knowledge, float64(r.RMSE), wage.Unit)
		}
	}

	least := 60.0
	verdict := assess.Judge(
		[]assess.Rule{{Column: "wage", Target: assess.TargetTypical, Knowledge: assess.KnowledgeIndex, MinRMSE: &least}}, m)
	fmt.Println("passed:", verdict.Passed)
	fmt.Println(verdict.Rules[0].Rule)
	fmt.Println(verdict.Rules[0].Advice)
	// Output:
	// 10000 records, efficiency 0.80
	// typical by mean: known to within 100 USD/week
	// typical by index: known to within 50 USD/week
	// passed: false
	// wage: RMSE of typical (index) at least 60 USD/week
	// typical is known by index to within 49.97 USD/week: with added noise R = 1/λ², so λ of at least 60 USD/week where the target lies (a tier does it there alone)
}
