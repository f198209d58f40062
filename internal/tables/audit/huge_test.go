package audit_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// If components count as huge, no interval is narrower than that of all possible tables,
// every unsafe cell that is reported as safe is safe, and almost all safe cells are
// reported as safe.
func TestHugeComponentsAgainstEveryTable(t *testing.T) {
	for name, set := range tabletest.Small(t) {
		rng := rand.New(rand.NewPCG(12, uint64(len(name))))
		safe, called, unsafe := 0, 0, 0
		for trial := range 50 {
			q := tabletest.Random(t, rng, set, 4, 0.8)
			q.Huge = 1
			low, high, _ := tabletest.Enumerated(q)
			p := allUnsafe(rng, q)
			r, err := audit.Audit(q)
			if err != nil {
				t.Fatal(err)
			}
			if trial%2 == 0 {
				askAll(q, r, p)
			}
			v, err := audit.Judge(q, r, p)
			if err != nil {
				t.Fatal(err)
			}
			for c := range low {
				if r.Low[c] > low[c] || r.High[c] < high[c] || r.ShownLow[c] < low[c] || r.ShownHigh[c] > high[c] {
					t.Fatalf("%s, %s: bounds %v to %v, shown %v to %v; of all tables %v to %v",
						name, set.Name(c), r.Low[c], r.High[c], r.ShownLow[c], r.ShownHigh[c], low[c], high[c])
				}
				if !q.Hidden[c] {
					continue
				}
				is := low[c] <= q.Value[c]-p.Down[c] && high[c] >= q.Value[c]+p.Up[c] && low[c] < high[c]
				reportedSafe := !slices.Contains(v.Disclosed, int32(c)) && !slices.Contains(v.Narrow, int32(c))
				switch {
				case reportedSafe && !is:
					t.Fatalf("%s, %s is called safe: of all tables %v to %v, asked for %v -%v +%v", name, set.Name(c), low[c], high[c],
						q.Value[c], p.Down[c], p.Up[c])
				case is && reportedSafe:
					safe, called = safe+1, called+1
				case is:
					safe++
				default:
					unsafe++
				}
			}
		}
		t.Logf("%s: %d safe, %d of them called so, %d unsafe", name, safe, called, unsafe)
		if safe < 10 || unsafe < 10 || called < safe*9/10 {
			t.Errorf("%s: %d safe, %d of them called so, %d unsafe", name, safe, called, unsafe)
		}
	}
}

// allUnsafe makes every hidden cell unsafe, with a protection of 1 or 2.
func allUnsafe(rng *rand.Rand, q audit.Question) *primary.Result {
	p := &primary.Result{Status: make([]tables.Status, len(q.Value)), Up: make([]float64, len(q.Value)),
		Down: make([]float64, len(q.Value))}
	for c, hidden := range q.Hidden {
		if hidden {
			p.Status[c], p.Up[c] = tables.Primary, float64(1+rng.IntN(2))
			p.Down[c] = min(p.Up[c], q.Value[c])
		}
	}
	return p
}

// askAll requires for every unsafe cell the protection of its whole interval.
func askAll(q audit.Question, r *audit.Ranges, p *primary.Result) {
	for c, s := range p.Status {
		if s == tables.Primary && r.High[c] < 1e9 {
			p.Up[c], p.Down[c] = math.Ceil(r.High[c]-q.Value[c]), math.Ceil(q.Value[c]-r.Low[c])
		}
	}
}

// For values the verdict is that of the intervals, although no interval is computed.
func TestHugeComponentsOfValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	safe, unsafe := 0, 0
	for trial := range 60 {
		set := randomSet(t, rng)
		q := audit.Question{Set: set, Value: randomValues(rng, set), Hidden: make([]bool, set.Cells())}
		for c := range q.Value {
			q.Hidden[c] = rng.IntN(2) == 0
		}
		p := allUnsafe(rng, q)
		var unsafes [2]map[int32]bool
		for i := range unsafes {
			q.Huge = 1 - i
			r, err := audit.Audit(q)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 && trial%2 == 0 {
				askAll(q, r, p)
			}
			v, err := audit.Judge(q, r, p)
			if err != nil {
				t.Fatal(err)
			}
			unsafes[i] = map[int32]bool{}
			for _, c := range append(v.Disclosed, v.Narrow...) {
				unsafes[i][c] = true
			}
		}
		for c, hidden := range q.Hidden {
			switch {
			case unsafes[0][int32(c)] != unsafes[1][int32(c)]:
				t.Fatalf("%s: unsafe %v, where components are huge %v", set.Name(c), unsafes[1][int32(c)], unsafes[0][int32(c)])
			case unsafes[0][int32(c)]:
				unsafe++
			case hidden:
				safe++
			}
		}
	}
	if safe < 50 || unsafe < 50 {
		t.Errorf("%d safe, %d unsafe: the test shows little", safe, unsafe)
	}
}

// The result of Upward is a valid table, while some cells are fixed and again after they
// are freed.
func TestUpwardIsATable(t *testing.T) {
	for name, set := range tabletest.Small(t) {
		rng := rand.New(rand.NewPCG(14, uint64(len(name))))
		found := 0
		for range 12 {
			q := tabletest.Random(t, rng, set, 4, 1)
			q.Hidden[0] = true
			parts, _, err := audit.Components(q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range parts {
				p := &parts[i]
				for j, c := range p.Cells {
					if rng.IntN(5) == 0 {
						if err := p.Fix(j); err != nil {
							t.Fatal(err)
						}
						q.Hidden[c] = false
					}
				}
				for j := range p.Cells {
					for d := -3.0; d <= 3; d++ {
						if columns, by := p.Upward(j, d); columns != nil && d != 0 {
							found++
							checkChanges(t, q, p, int32(j), d, columns, by)
						}
					}
				}
			}
		}
		t.Logf("%s: %d found", name, found)
		if found < 20 && name != "line" {
			t.Errorf("%s: %d found", name, found)
		}
	}
}
