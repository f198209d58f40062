package assess

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// What a relation gives is used for the next: wage = hours · hourly, then rent = total − wage, then
// gift = both / rent, wherever the columns stand. Without the hours none of them is exact.
func TestRelationsThatFollow(t *testing.T) {
	const n = 2000
	r := rand.New(rand.NewPCG(37, 5))
	column := func(value func(i int) float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = value(i)
		}
		return values
	}
	cents := func(v float64) float64 { return math.Round(100*v) / 100 }
	skewed := func(int) float64 { return cents(math.Exp(6 + 0.5*r.NormFloat64())) }
	hours := column(func(int) float64 { return float64(10 + r.IntN(50)) })
	hourly := column(func(int) float64 { return float64(5 + r.IntN(200)) })
	wage := column(func(i int) float64 { return hours[i] * hourly[i] })
	rent, gift := column(skewed), column(skewed)
	total := column(func(i int) float64 { return cents(wage[i] + rent[i]) })
	both := column(func(i int) float64 { return gift[i] * rent[i] })
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		for _, known := range []bool{true, false} {
			b := new(microdata.Block)
			b.Reset(0, 0, n, 7)
			var columns []Column
			for at, c := range order {
				b.Columns[at].Original.Values = [][]float64{wage, rent, gift}[c]
				b.Columns[at].Released.Values = column(func(i int) float64 {
					return b.Columns[at].Original.Values[i] + 500*r.NormFloat64()
				})
				columns = append(columns, Column{Name: []string{"wage", "rent", "gift"}[c], Index: at, Masked: true})
			}
			var beside []BesideColumn
			for at, values := range [][]float64{total, both, hourly, hours} {
				b.Columns[3+at].Original.Values = values
				if known || at < 3 {
					beside = append(beside, BesideColumn{Name: []string{"total", "both", "hourly", "hours"}[at], Index: 3 + at})
				}
			}
			o := recordOptions(t, beside...)
			o.Columns = columns
			a := newAccumulator(t, o)
			a.Add(b)
			m, err := a.Measure(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range m.Columns {
				for _, k := range c.Risk {
					if k.Knowledge == KnowledgeRecord && k.Target == TargetTypical {
						if exact := k.RMSE == 0; exact != known {
							t.Errorf("%s: %s is off by %v, with the hours: %v", fmt.Sprint(order), c.Name, k.RMSE, known)
						}
					}
				}
			}
		}
	}
}
