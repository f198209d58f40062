package attack_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// respondents returns n artificial respondents similar to the Current Population Survey of 1988:
// wage (log-normal, depending on the others), education and experience; categorical keys region,
// trade and sex; and union as the sensitive variable.
func respondents(n int) attack.Data {
	r := rand.New(rand.NewPCG(376, 7))
	wage, education, experience := make([]float64, n), make([]float64, n), make([]float64, n)
	region, trade, sex, union := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	household := make([]int32, n)
	for i := range wage {
		education[i] = math.Max(0, math.Min(18, math.Round(13+2.9*r.NormFloat64())))
		experience[i] = math.Round(60 * r.Float64() * r.Float64())
		wage[i] = math.Round(100*math.Exp(4.5+0.08*education[i]+0.015*experience[i]+0.55*r.NormFloat64())) / 100
		region[i], sex[i] = int32(r.IntN(4)), int32(r.IntN(2))
		trade[i] = int32(12 * r.Float64() * r.Float64())
		union[i] = int32(r.IntN(3))
		household[i] = int32(i / 2)
	}
	return attack.Data{
		Numeric: []attack.NumericColumn{
			{Name: "wage", Grid: 0.01, Original: wage, Released: wage},
			{Name: "education", Grid: 1, Original: education, Released: education},
			{Name: "experience", Grid: 1, Original: experience, Released: experience},
		},
		Linked: []int{0, 1, 2},
		Categorical: []attack.CategoricalColumn{{Name: "region", Original: region}, {Name: "trade", Original: trade},
			{Name: "sex", Original: sex}},
		Sensitive: []attack.CategoricalColumn{{Name: "union", Original: union}},
		Household: household,
	}
}

// masked releases the numeric columns through the program's own chain of masks, under the key
// derived from the seed. Decimals are those of the grids.
func masked(tb testing.TB, d attack.Data, seed byte, masks ...transform.Spec) attack.Data {
	tb.Helper()
	secret := []byte("a key of thirty-two bytes, fixed")
	secret[0] = seed
	key, err := keystream.NewKey(secret)
	must(tb, err)
	n := len(d.Numeric[0].Original)
	setup := transform.Setup{Key: key, Window: n}
	b := new(microdata.Block)
	b.Reset(0, 0, n, len(d.Numeric))
	for i, c := range d.Numeric {
		m := loss.MomentsOf(c.Original)
		setup.Columns = append(setup.Columns, transform.ColumnInfo{Name: c.Name, Index: i, SD: *m.SD, Mean: *m.Mean,
			Field:    microdata.Field{Name: c.Name, Type: arrow.PrimitiveTypes.Float64},
			Decimals: int(math.Round(-math.Log10(c.Grid)))})
		copy(b.Columns[i].Alloc(n, false).Values, c.Original)
	}
	chain, err := transform.NewChain(masks, setup)
	must(tb, err)
	must(tb, chain.Apply(b))
	columns := append([]attack.NumericColumn(nil), d.Numeric...)
	for i := range columns {
		columns[i].Released = append([]float64(nil), b.Columns[i].Out().Values...)
	}
	d.Numeric = columns
	return d
}

func ptr[T any](v T) *T { return &v }

func noise(share float64, columns ...string) transform.Spec {
	return transform.Spec{Params: &transform.Noise{Columns: columns, SD: &transform.Amount{Value: share, Relative: true}}}
}

// everything requests all parts except averaging; sigma is the noise of each key that
// the Bayesian intruder assumes.
func everything(masks []transform.Spec, sigma ...float64) attack.Options {
	u := uniqueness.DefaultOptions()
	keys := make([]intruder.Key, len(sigma))
	for i, s := range sigma {
		keys[i].Sigma = s
	}
	return attack.Options{
		Linkage:    &attack.Linkage{OneToOne: true},
		Bayes:      &intruder.Options{Keys: keys},
		Uniqueness: &u,
		Intervals:  []float64{0.05, 0.01, 0.5},
		Loss: &loss.Options{Propensity: &loss.PropensityOptions{},
			Regressions: []loss.Regression{{Response: "wage", Predictors: []string{"education", "experience"}}}},
		Inversion: &attack.Inversion{Masks: masks, Known: inversion.Published{}},
	}
}

func run(tb testing.TB, d attack.Data, o attack.Options) *attack.Result {
	tb.Helper()
	r, err := attack.Run(context.Background(), d, o)
	must(tb, err)
	return r
}

// few returns four respondents for whom every figure can be computed by hand: the
// second and the third have each other's value.
func few() (attack.Data, attack.Options) {
	d := attack.Data{
		Numeric: []attack.NumericColumn{
			{Name: "a", Grid: 1, Original: []float64{1, 2, 3, 10}, Released: []float64{1, 3, 2, 10}}},
		Linked:      []int{0},
		Categorical: []attack.CategoricalColumn{{Name: "g", Original: []int32{5, 5, 5, 5}, Released: []int32{0, 0, 1, 1}}},
		Sensitive:   []attack.CategoricalColumn{{Name: "s", Original: []int32{0, 0, 0, 1}}},
		Household:   []int32{7, 7, 8, 9},
		Earlier:     [][][]float64{{{1, 1, 4, 10}}},
		Released:    true, // frequencies of the release, by hand; known_test.go has the snooper's
	}
	u := uniqueness.DefaultOptions()
	return d, attack.Options{
		Linkage:    &attack.Linkage{Distance: linkage.Standardised, OneToOne: true},
		Bayes:      &intruder.Options{Keys: []intruder.Key{{Sigma: 0.25}}},
		Uniqueness: &u,
		Intervals:  []float64{0.2, 0.3},
		Loss:       &loss.Options{},
		Averaging:  true,
		Inversion:  &attack.Inversion{Masks: []transform.Spec{noise(1, "a")}},
	}
}
