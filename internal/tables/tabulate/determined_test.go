package tabulate

import (
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

func TestVariablesThatTellOthers(t *testing.T) {
	coarse, fine, other := tabletest.Flat(t, "coarse", 2), tabletest.Flat(t, "fine", 4), tabletest.Flat(t, "other", 2)
	one := func(d ...*tables.Dimension) tables.Table { return tables.Table{Name: d[0].Name, Dimensions: d} }
	apart := tabletest.Set(t, one(coarse, other), one(fine))
	together := tabletest.Set(t, one(coarse, fine), one(other))
	for _, c := range []struct {
		name    string
		set     *tables.Set
		records int
		odd     bool // the last record does not agree
		want    [][2]int
	}{
		{"tells", apart, 24, false, [][2]int{{0, 2}}},
		{"too few records", apart, 23, false, nil},
		{"not always", apart, 200, true, nil},
		{"in one table", together, 24, false, nil},
	} {
		a, _ := New(c.set, Options{Counts: true})
		codes := map[string][]int32{}
		for i := range c.records {
			f := i % 4
			codes["fine"] = append(codes["fine"], int32(f+1))
			codes["coarse"] = append(codes["coarse"], int32(f/2+1))
			codes["other"] = append(codes["other"], int32(i/4%2+1))
		}
		if c.odd {
			codes["coarse"][c.records-1] = 1
		}
		var r Records
		for _, d := range a.Variables() {
			r.Codes = append(r.Codes, codes[d.Name])
		}
		if err := a.Add(r); err != nil {
			t.Fatal(err)
		}
		if got := a.Determined(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
