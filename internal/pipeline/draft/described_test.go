package draft

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors/statfile"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// What a file says of its columns goes into the draft: weights are none to put noise on, and of a file of SAS the
// release is one of Stata.
func TestDescribedColumns(t *testing.T) {
	c := Column{Values: 500, Distinct: 400, Decimals: 3}
	c.Field = microdata.Field{Name: "income", Type: arrow.PrimitiveTypes.Float64}
	if g := (&Look{}).GuessRole(&c); g.Role != microdata.Sensitive {
		t.Errorf("without a word of the file: %+v", g)
	}
	c.Field.Described = &microdata.Description{Weight: true}
	if g := (&Look{}).GuessRole(&c); g.Role != microdata.Other {
		t.Errorf("a weight: %+v", g)
	}
	for path, want := range map[string]string{
		"made.sav":  "{spss: {path: release/made.sav, labels: [values, variables]}}",
		"made5.xpt": "{stata: {path: release/made5.dta}}",
	} {
		path = "../../../connectors/statfile/testdata/" + path
		for _, k := range statfile.Kinds {
			if _, takes := k.Takes(path); !takes {
				continue
			}
			d, err := Of(t.Context(), path, k.At(path))
			if err != nil || d.Sink != want {
				t.Errorf("%s: %v, %v", path, d, err)
			}
		}
	}
}
