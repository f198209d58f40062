package inversion

import (
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

type wages struct {
	Wage       float64 `parquet:"wage"`
	Education  int32   `parquet:"education"`
	Experience int32   `parquet:"experience"`
	Region     string  `parquet:"region"`
}

// cps returns wage, education, experience and region of the Current Population
// Survey 1988, the region as a number.
var cps = sync.OnceValues(func() ([]field, error) {
	text, err := os.ReadFile("../../../examples/cps/cps1988.parquet")
	if err != nil {
		return nil, err
	}
	rows, err := parquet.Read[wages](strings.NewReader(string(text)), int64(len(text)))
	if err != nil {
		return nil, err
	}
	f := []field{{"wage", 2, nil}, {"education", 0, nil}, {"experience", 0, nil}, {"region", 0, nil}}
	codes := map[string]float64{}
	for _, r := range rows {
		code, ok := codes[r.Region]
		if !ok {
			code = float64(len(codes))
			codes[r.Region] = code
		}
		for i, v := range [4]float64{r.Wage, float64(r.Education), float64(r.Experience), code} {
			f[i].values = append(f[i].values, v)
		}
	}
	return f, nil
})

func ptr[T any](v T) *T { return &v }

// field is a column of a test that passes through the masks.
type field struct {
	name     string
	decimals int
	values   []float64
}

func census(tb testing.TB) []field {
	tb.Helper()
	f, err := cps()
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// mask releases the columns through the program's own chain of masks.
func mask(tb testing.TB, columns []field, window int, masks []transform.Spec) []Column {
	tb.Helper()
	key, err := keystream.NewKey([]byte("a key of thirty-two bytes, fixed"))
	if err != nil {
		tb.Fatal(err)
	}
	n := len(columns[0].values)
	if window == 0 {
		window = n
	}
	setup := transform.Setup{Key: key, Window: window}
	b := new(microdata.Block)
	b.Reset(0, 0, n, len(columns))
	for i, c := range columns {
		s := sideOf(c.values)
		setup.Columns = append(setup.Columns, transform.ColumnInfo{Name: c.name, Index: i,
			Field: microdata.Field{Name: c.name, Type: arrow.PrimitiveTypes.Float64}, Decimals: c.decimals, SD: s.sd,
			Mean: s.mean})
		copy(b.Columns[i].Alloc(n, false).Values, c.values)
	}
	chain, err := transform.NewChain(masks, setup)
	if err != nil {
		tb.Fatal(err)
	}
	if chain.NeedsSurvey() {
		if err := chain.Survey(b); err != nil {
			tb.Fatal(err)
		}
		if err := chain.EndSurvey(); err != nil {
			tb.Fatal(err)
		}
		for i, c := range columns {
			if i == 0 {
				b.Reset(0, 0, n, len(columns))
			}
			copy(b.Columns[i].Alloc(n, false).Values, c.values)
		}
	}
	if err := chain.Apply(b); err != nil {
		tb.Fatal(err)
	}
	out := make([]Column, len(columns))
	for i, c := range columns {
		out[i] = Column{c.name, math.Pow10(-c.decimals), c.values, append([]float64{}, b.Columns[i].Out().Values...)}
	}
	return out
}

// publishedMoments returns the published mean and SD of all columns.
func publishedMoments(columns []Column) Published {
	p := Published{Moments: map[string]Moments{}}
	for _, c := range columns {
		s := sideOf(c.Original)
		p.Moments[c.Name] = Moments{s.mean, s.sd}
	}
	return p
}

// attack masks, attacks and returns the outcome for the first column.
func attack(t *testing.T, columns []field, masks ...transform.Spec) ColumnResult {
	t.Helper()
	alone := true // no mask needs another column
	for _, m := range masks {
		named := append(m.Params.Masks(), m.Params.Reads()...)
		alone = alone && len(named) == 1 && named[0] == columns[0].name
	}
	if alone {
		columns = columns[:1]
	}
	out := mask(t, columns, 0, masks)
	r, err := Attack(t.Context(), masks, publishedMoments(out), Release{Columns: out}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Columns[0]
}

func spec(p transform.Params) transform.Spec { return transform.Spec{Params: p} }

func noiseOf(column, amount, distribution string, tiers ...transform.Tier) transform.Spec {
	a := new(transform.Amount)
	if err := a.UnmarshalText([]byte(amount)); err != nil {
		panic(err)
	}
	return spec(&transform.Noise{Columns: []string{column}, SD: a, Distribution: distribution, Tiers: tiers})
}

func biasOf(column string, phi float64) transform.Spec {
	return spec(&transform.Bias{Columns: []string{column}, Phi: &phi})
}

func clipOf(column string, lower, upper *float64, mode string) transform.Spec {
	return spec(&transform.Truncate{Columns: []string{column}, Lower: lower, Upper: upper, Mode: mode})
}

func roundTo(column string, base float64) transform.Spec {
	return spec(&transform.Round{Columns: []string{column}, Base: &base})
}

func swapOf(rate float64, policy, scope string) transform.Spec {
	return spec(&transform.Swap{Keys: []string{"education", "experience"}, Attribute: "region", Columns: []string{"wage"},
		Rate: &rate, Policy: policy, Scope: scope})
}
