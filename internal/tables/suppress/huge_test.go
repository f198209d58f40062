package suppress

import (
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Components count as huge, and most questions have no answer. According to all possible tables, all
// needs are still met. The same cells as otherwise are reported as unprotectable, because all searches
// are made before. Fewer cells are published, but not none.
func TestPatternsOfHugeComponents(t *testing.T) {
	sets := tabletest.Small(t)
	second, secondElsewhere := 0, 0
	for _, name := range []string{"3x3", "2x2x2", "4x2", "linked"} {
		rng := rand.New(rand.NewPCG(11, uint64(len(name))))
		protected, refused := 0, 0
		for trial := range 100 {
			q, p, ok := unsafeTable(t, rng, sets[name], float64(1+trial%2))
			if !ok {
				continue
			}
			elsewhere, _, err := Protect(q, p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			q.Huge = 1
			pattern, problems, err := Protect(q, p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) > 0 {
				refused++
				checkRefusal(t, q, p, problems)
				continue
			}
			protected++
			if all, of := met(q, p); !all || !pattern.Verdict.Safe() {
				t.Fatalf("%s: needs %v, verdict %+v, of the table %v", name, of, pattern.Verdict, q.Value)
			}
			second, secondElsewhere = second+pattern.Second, secondElsewhere+elsewhere.Second
		}
		t.Logf("%s: %d protected, %d refused", name, protected, refused)
		if protected < 10 || refused < 3 {
			t.Errorf("%s: %d protected, %d refused: the test shows little", name, protected, refused)
		}
	}
	t.Logf("%d secondary cells, %d elsewhere", second, secondElsewhere)
	if second > 2*secondElsewhere {
		t.Errorf("%d secondary cells, %d elsewhere", second, secondElsewhere)
	}
}

// The same for values: by the ranges that linear programs compute, the patterns of huge components are
// safe against outsiders and against respondents who know a cell.
func TestPatternsOfHugeComponentsOfValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	protected, second := 0, 0
	for trial := range 120 {
		set := tabletest.Small(t)[[]string{"3x3", "4x2", "linked", "2x2x2"}[trial%4]]
		q := tabletest.Random(t, rng, set, 7, 0)
		q.Counts, q.Huge = false, 1
		p := primaries(rng, q, float64(1+trial%2))
		p.Status[0], p.Published = tables.Free, make([]bool, len(q.Value))
		p.Published[0] = q.Value[0] > 0 && trial%8 < 4
		knowers := make([]int32, len(q.Value))
		for c, s := range p.Status {
			if knowers[c] = -1; s == tables.Primary && rng.IntN(3) == 0 {
				knowers[c] = int32(rng.IntN(3))
			}
		}
		pattern, problems, err := Protect(q, p, Options{Knowers: tables.Alone(knowers)})
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) > 0 {
			continue
		}
		if protected, second = protected+1, second+pattern.Second; !pattern.Verdict.Safe() || len(pattern.Insiders) > 0 {
			t.Fatalf("verdict %+v, insiders %v, of the table %v", pattern.Verdict, pattern.Insiders, q.Value)
		}
		q.Huge = 0
		r, err := audit.Audit(q)
		if err != nil {
			t.Fatal(err)
		}
		v, err := audit.Judge(q, r, p)
		if err != nil {
			t.Fatal(err)
		}
		insiders, err := audit.Insiders(q, p, tables.Alone(knowers))
		if err != nil || !v.Safe() || len(insiders) > 0 {
			t.Fatalf("by linear programs: verdict %+v, insiders %v (%v), of the table %v", v, insiders, err, q.Value)
		}
	}
	t.Logf("%d protected with %d secondary cells", protected, second)
	if protected < 40 || second < 40 {
		t.Errorf("%d protected with %d secondary cells: the test shows little", protected, second)
	}
}
