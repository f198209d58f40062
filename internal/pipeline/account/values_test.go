package account

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// A warning says that a mask has changed nothing if any of its columns has a value, first or last.
// Unmeasured columns may have values, so the warning covers them as well.
func TestColumnsWithValues(t *testing.T) {
	m := &assess.Measures{Columns: []assess.ColumnMeasures{{Name: "none"}, {Name: "one"}, {Name: "also none"}}}
	m.Columns[1].Original.N = 1
	for _, c := range []struct {
		columns []string
		want    bool
	}{
		{[]string{"none"}, false}, {[]string{"none", "also none"}, false}, {nil, false}, {[]string{"one"}, true},
		{[]string{"none", "one"}, true},
		{[]string{"one", "none"}, true}, {[]string{"gone"}, true}, {[]string{"none", "gone"}, true},
		{[]string{"gone", "none"}, true},
	} {
		if got := hasValues(m, c.columns); got != c.want {
			t.Errorf("hasValues of the columns %v = %v", c.columns, got)
		}
	}
}
