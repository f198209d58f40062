package report

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

func TestMaskOf(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	n := func(v int) *int { return &v }
	sd := func(column string) float64 {
		if column == "wage" {
			return 400
		}
		return math.NaN()
	}
	for _, c := range []struct {
		spec transform.Spec
		want string
	}{
		{transform.Spec{Params: &transform.Bias{Columns: []string{"wage"}, Range: f(0.06)}},
			`{"mask":"bias","columns":["wage"],"records":7,"parameters":{"range":0.06,"phi":0.02}}`},
		{transform.Spec{Params: &transform.Bias{Columns: []string{"wage"}, Phi: f(0.02)}},
			`{"mask":"bias","columns":["wage"],"records":7,"parameters":{"phi":0.02}}`},
		{
			transform.Spec{Name: "first",
				Params: &transform.Noise{Columns: []string{"wage", "age"}, SD: &transform.Amount{Value: 0.35, Relative: true},
					Tiers: []transform.Tier{{Above: f(1000), VarianceFactor: f(2)}}}},
			`{"mask":"noise","name":"first","columns":["wage","age"],"records":7,"parameters":{"sd":"35%","distribution":"normal","tiers":[{"above":1000,"variance_factor":2}]},"noise_sd":{"wage":140,"age":null}}`},
		{
			transform.Spec{
				Params: &transform.Noise{Columns: []string{"age"}, SD: &transform.Amount{Value: 3}, Distribution: "laplace"}},
			`{"mask":"noise","columns":["age"],"records":7,"parameters":{"sd":3,"distribution":"laplace"},"noise_sd":{"age":3}}`},
		{transform.Spec{Params: &transform.Truncate{Columns: []string{"wage"}, Lower: f(50)}},
			`{"mask":"truncate","columns":["wage"],"records":7,"parameters":{"lower":50,"mode":"clip"}}`},
		{transform.Spec{Params: &transform.Round{Columns: []string{"wage"}, Decimals: n(-2)}},
			`{"mask":"round","columns":["wage"],"records":7,"parameters":{"decimals":-2}}`},
		{transform.Spec{Params: &transform.Round{Columns: []string{"wage"}, Base: f(5)}},
			`{"mask":"round","columns":["wage"],"records":7,"parameters":{"base":5}}`},
		{
			transform.Spec{
				Params: &transform.Swap{Keys: []string{"education"}, Attribute: "region", Columns: []string{"wage"}, Rate: f(0.1)}},
			`{"mask":"swap","columns":["wage"],"records":7,"parameters":{"keys":["education"],"attribute":"region","rate":0.1,"policy":"unique","scope":"window"}}`},
	} {
		got, err := json.Marshal(MaskOf(c.spec, 7, sd))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
