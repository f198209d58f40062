package audit_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Against all possible tables, while some cells are fixed, and from any earlier deviations: every result of Mend is
// a table in which the column deviates as asked, most tables are found, and always the same ones.
func TestMendAgainstEveryTable(t *testing.T) {
	for name, set := range tabletest.Small(t) {
		rng := rand.New(rand.NewPCG(19, uint64(len(name))))
		found, some := 0, 0
		for range 20 {
			q := tabletest.Random(t, rng, set, 4, 0.9)
			parts, _, err := audit.Components(q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range parts {
				for j, c := range parts[i].Cells {
					if rng.IntN(6) > 0 {
						continue
					}
					if err := parts[i].Fix(j); err != nil {
						t.Fatal(err)
					}
					q.Hidden[c] = false
				}
			}
			_, _, taken := tabletest.Enumerated(q)
			for i := range parts {
				p := &parts[i]
				var from []int32
				var as []float64
				for j, c := range p.Cells {
					for d := -3.0; d <= 3; d++ {
						columns, by := p.Mend(j, d, from, as, 2000)
						again, _ := p.Mend(j, d, from, as, 2000)
						if !slices.Equal(again, columns) {
							t.Fatalf("%s, %s: another table the second time", name, set.Name(int(c)))
						}
						if taken[c][q.Value[c]+d] {
							some++
						} else if columns != nil {
							t.Fatalf("%s, %s: %v more in no table", name, set.Name(int(c)), d)
						}
						if columns == nil {
							continue
						}
						if found++; d != 0 {
							checkChanges(t, q, p, int32(j), d, columns, by)
						}
						from, as = nil, nil
						for k := range p.Cells { // any deviations, possible or not
							if rng.IntN(3) == 0 {
								from, as = append(from, int32(k)), append(as, float64(rng.IntN(7)-3))
							}
						}
					}
				}
			}
		}
		t.Logf("%s: %d of %d found", name, found, some)
		if some < 50 || found < some*9/10 {
			t.Errorf("%s: %d of %d found", name, found, some)
		}
	}
}

// Tables that are shown to the audit for respondents count only if they are tables: false ones change no
// result, and neither do true ones where the audit finds all tables itself.
func TestShownTablesAreChecked(t *testing.T) {
	safe, unsafe, valid := 0, 0, 0
	for name, set := range tabletest.Small(t) {
		rng := rand.New(rand.NewPCG(21, uint64(len(name))))
		for range 40 {
			q := tabletest.Random(t, rng, set, 4, 0.8)
			p := allUnsafe(rng, q)
			knower := make([]int32, len(q.Value))
			for c := range knower {
				if knower[c] = -1; q.Hidden[c] && rng.IntN(3) == 0 {
					knower[c] = int32(rng.IntN(4))
				}
			}
			knowers := tables.Alone(knower)
			want, err := audit.Insiders(q, p, knowers)
			if err != nil {
				t.Fatal(err)
			}
			var shown []audit.Table
			for c, s := range p.Status {
				if s != tables.Primary {
					continue
				}
				up, o := p.Up[c], int32(rng.IntN(len(q.Value)))
				shown = append(shown,
					audit.Table{Of: int32(c), Cells: []int32{int32(c)}, By: []float64{up}},
					audit.Table{Of: int32(c), Cells: []int32{int32(c)}, By: []float64{-p.Down[c]}},
					audit.Table{Of: int32(c), Cells: []int32{int32(c), o}, By: []float64{up, -up}})
			}
			parts, _, err := audit.Components(q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range parts {
				for j, c := range parts[i].Cells {
					for _, d := range []float64{p.Up[c], -p.Down[c]} {
						if columns, by := parts[i].Mend(j, d, nil, nil, 2000); columns != nil && d != 0 {
							valid++
							for k := range columns {
								columns[k] = parts[i].Cells[columns[k]]
							}
							shown = append(shown, audit.Table{Of: c, Cells: columns, By: by})
						}
					}
				}
			}
			got, err := audit.Insiders(q, p, knowers, shown...)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %v, without tables shown %v", name, got, want)
			}
			if len(want) > 0 {
				unsafe++
			} else {
				safe++
			}
		}
	}
	if t.Logf("%d safe, %d not, %d tables", safe, unsafe, valid); safe < 10 || unsafe < 10 || valid < 500 {
		t.Errorf("%d safe, %d not, %d tables: the test shows little", safe, unsafe, valid)
	}
}
