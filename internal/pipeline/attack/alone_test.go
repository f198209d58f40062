package attack

import (
	"maps"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// A column is judged alone where a rule says so, in any place of the list, unless another one limits what is stated.
func TestColumnsJudgedAlone(t *testing.T) {
	by := func(column string) assess.Rule { return assess.Rule{Column: column, Record: assess.RecordAlone} }
	exact := assess.Rule{Column: "b", MaxExact: &assess.ExactLimit{Share: 0.1, Within: 1}}
	for _, rules := range [][]assess.Rule{{by("a"), by("b"), exact, by("c"), {Column: "d"}},
		{exact, {Column: "d"}, by("c"), by("b"), by("a")}} {
		if got := alone(rules); !maps.Equal(got, map[string]bool{"a": true, "c": true}) {
			t.Errorf("%v", got)
		}
	}
}
