package suppress

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

func protect(t testing.TB, q audit.Question, p *primary.Result, o Options) *Pattern {
	t.Helper()
	pattern, problems, err := Protect(q, p, o)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return pattern
}

// The test problems of the project. most is the number of cells that was reached when this test was
// written. The optimum for ± 1 is 13 and 96, for ± 3 it is 15 and 113 (cutting planes with HiGHS as
// master). The goals were 123 for 2d50, 185 for 3d10 and 1,400 for hier.
func TestPatternsOfTheTestProblems(t *testing.T) {
	for _, k := range []struct {
		name   string
		around float64
		most   int
	}{{"2d8", 1, 13}, {"2d8", 3, 16}, {"2d50", 1, 96}, {"2d50", 3, 118}, {"3d10", 1, 88}, {"3d10", 3, 104},
		{"hier", 3, 1118}} {
		q, p := load(t, k.name, k.around)
		pattern := protect(t, q, p, Options{})
		if n := pattern.Primary + pattern.Second; n > k.most {
			t.Errorf("%s ± %v: %d cells, %d when this was written", k.name, k.around, n, k.most)
		}
		if !pattern.Verdict.Safe() {
			t.Errorf("%s ± %v: %+v", k.name, k.around, pattern.Verdict)
		}
		again, p := load(t, k.name, k.around)
		if !reflect.DeepEqual(protect(t, again, p, Options{}).Status, pattern.Status) {
			t.Errorf("%s ± %v: a second run gives another pattern", k.name, k.around)
		}
		for cell, s := range pattern.Status {
			if (s == tables.Primary) != (p.Status[cell] == tables.Primary) ||
				q.Hidden[cell] != (s == tables.Primary || s == tables.Secondary) || s == tables.Secondary && q.Value[cell] == 0 {
				t.Fatalf("%s: cell %d of status %v, value %v, hidden %v", k.name, cell, s, q.Value[cell], q.Hidden[cell])
			}
		}
	}
}

// The shuttle algorithm answers most questions whose answer is no: of about ten thousand questions for
// the pattern of hier, only few need linear programs.
func TestFewLinearPrograms(t *testing.T) {
	q, p := load(t, "hier", 3)
	if pattern := protect(t, q, p, Options{}); pattern.Programs > 3_000 || pattern.Trials < 1_000 {
		t.Errorf("%d linear programs of %d trials", pattern.Programs, pattern.Trials)
	} else {
		t.Logf("%d linear programs of %d trials", pattern.Programs, pattern.Trials)
	}
}

// primaries makes some cells with counts up to 2 primary, drawn with rng.
func primaries(rng *rand.Rand, q audit.Question, around float64) *primary.Result {
	p := &primary.Result{Status: make([]tables.Status, len(q.Value)), Up: make([]float64, len(q.Value)),
		Down: make([]float64, len(q.Value))}
	for c, v := range q.Value {
		if v == 0 {
			p.Status[c] = tables.Empty
		}
		if v > 0 && v <= 2 && rng.IntN(2) == 0 {
			p.Status[c], p.Up[c], p.Down[c] = tables.Primary, around, min(around, v)
		}
	}
	return p
}

// met lists the primary cells whose range, over all possible tables, is as wide as required.
func met(q audit.Question, p *primary.Result) (all bool, of map[int]bool) {
	low, high, _ := tabletest.Enumerated(q)
	all, of = true, map[int]bool{}
	for c, s := range p.Status {
		if s == tables.Primary {
			of[c] = low[c] <= q.Value[c]-p.Down[c] && high[c] >= q.Value[c]+p.Up[c]
			all = all && of[c]
		}
	}
	return all, of
}

// Patterns against all possible tables: all needs are met; to publish any further
// secondary cell would violate one; and a cell is reported as unprotectable if and only
// if it cannot be protected even with all candidates suppressed.
func TestPatternsAgainstEveryTable(t *testing.T) {
	patternsAgainstEveryTable(t)
}

// The same if the cells are published in two passes, as with many needs.
func TestPatternsInTwoPassesAgainstEveryTable(t *testing.T) {
	inTwoPasses(t)
	patternsAgainstEveryTable(t)
}

func inTwoPasses(t *testing.T) {
	before := mendingNeeds
	mendingNeeds = 0
	t.Cleanup(func() { mendingNeeds = before })
}

func patternsAgainstEveryTable(t *testing.T) {
	sets := tabletest.Small(t)
	for _, name := range []string{"line", "3x3", "2x2x2", "4x2", "linked"} {
		rng := rand.New(rand.NewPCG(5, uint64(len(name))))
		protected, refused, second := 0, 0, 0
		for trial := range 100 {
			q, p, ok := unsafeTable(t, rng, sets[name], float64(1+trial%2))
			if !ok {
				continue
			}
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
			second += pattern.Second
			checkPattern(t, name, q, p, pattern)
		}
		t.Logf("%s: %d protected with %d secondary cells, %d refused", name, protected, second, refused)
		if protected < 10 || second < 10 || refused < 3 {
			t.Errorf("%s: %d protected with %d secondary cells, %d refused: the test shows little", name, protected, second,
				refused)
		}
	}
}

// unsafeTable draws a small table with cells that must be held back and other cells that must be
// published. ok is false if the grand total is not suitable.
func unsafeTable(t *testing.T, rng *rand.Rand, set *tables.Set, need float64) (q audit.Question, p *primary.Result,
	ok bool) {
	t.Helper()
	q = tabletest.Random(t, rng, set, 7, 0)
	if q.Value[0] < 4 || q.Value[0] > 24 {
		return q, nil, false
	}
	p = primaries(rng, q, need)
	p.Published = make([]bool, len(q.Value))
	p.Published[0] = true
	for c := range q.Value {
		p.Published[c] = p.Published[c] || rng.IntN(4) == 0 && p.Status[c] == tables.Free
	}
	return q, p, p.Status[0] != tables.Primary
}

func checkPattern(t *testing.T, name string, q audit.Question, p *primary.Result, pattern *Pattern) {
	t.Helper()
	if all, of := met(q, p); !all || !pattern.Verdict.Safe() {
		t.Fatalf("%s: needs %v, verdict %+v, of the table %v", name, of, pattern.Verdict, q.Value)
	}
	for c, s := range pattern.Status {
		if s != tables.Secondary {
			continue
		}
		q.Hidden[c] = false
		if all, _ := met(q, p); all {
			t.Fatalf("%s: %s need not be suppressed", name, q.Set.Name(c))
		}
		q.Hidden[c] = true
	}
}

func checkRefusal(t *testing.T, q audit.Question, p *primary.Result, problems check.Problems) {
	t.Helper()
	for c, s := range p.Status {
		q.Hidden[c] = s == tables.Primary || s == tables.Free && !p.Published[c]
	}
	_, of := met(q, p)
	for c, ok := range of {
		named := slices.ContainsFunc(problems, func(x check.Problem) bool { return x.Path == q.Set.Name(c) })
		if named == ok {
			t.Fatalf("%s: named %v, reaches %v, of the table %v", q.Set.Name(c), named, ok, q.Value)
		}
	}
}

// A magnitude table written by hand: 3 × 3 turnovers, one of them primary. The rectangle with the
// least cost is held back: by value, or by the costs given in Own. It contains no cell that must be
// published.
func TestCosts(t *testing.T) {
	set := tabletest.Set(t,
		tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 3), tabletest.Flat(t, "b", 3)}})
	inner := []float64{50, 90, 20, 80, 500, 300, 30, 400, 10}
	rectangle := func(o Options, published ...int) []int {
		q, p := fill(set, inner, 0)
		q.Counts = false
		p.Status[5], p.Up[5], p.Down[5] = tables.Primary, 8, 8 // a=1, b=1: 50
		p.Published = make([]bool, set.Cells())
		for _, c := range published {
			p.Published[c] = true
		}
		pattern := protect(t, q, p, o)
		if !pattern.Verdict.Safe() || pattern.Primary != 1 {
			t.Errorf("%+v: %+v", o, pattern.Verdict)
		}
		var second []int
		for c, s := range pattern.Status {
			if s == tables.Secondary {
				second = append(second, c)
			}
		}
		return second
	}
	// Inner cells are 5 6 7 / 9 10 11 / 13 14 15; 7, 13 and 15 are the least.
	if got := rectangle(Options{Cost: Value}); !slices.Equal(got, []int{7, 13, 15}) {
		t.Errorf("by value: %v", got)
	}
	if got := rectangle(Options{Cost: Log}); !slices.Equal(got, []int{7, 13, 15}) {
		t.Errorf("by logarithm: %v", got)
	}
	own := make([]float64, set.Cells())
	for c := range own {
		own[c] = 100
	}
	own[6], own[9], own[10] = 1, 1, 1
	if got := rectangle(Options{Own: own}); !slices.Equal(got, []int{6, 9, 10}) {
		t.Errorf("by own costs: %v", got)
	}
	if got := rectangle(Options{Cost: Value}, 13); slices.Contains(got, 13) || len(got) != 3 {
		t.Errorf("with a=3, b=1 to be published: %v", got)
	}
}

func TestWhatCannotBeProtectedIsNamedWithoutValues(t *testing.T) {
	set := tabletest.Set(t,
		tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 2), tabletest.Flat(t, "b", 2)}})
	ask := func(o Options) (string, *Pattern) {
		q, p := fill(set, []float64{4321, 0, 0, 8765}, 0)
		// a=1, b=1; it cannot be greater, because the other cells of its lines are 0 and cannot decrease
		p.Status[4], p.Down[4] = tables.Primary, 100
		for _, c := range []int{0, 1, 2, 3, 6} { // every sum must be published
			if p.Published == nil {
				p.Published = make([]bool, 9)
			}
			p.Published[c] = true
		}
		pattern, problems, err := Protect(q, p, o)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(problems), pattern
	}
	text, pattern := ask(Options{})
	if pattern != nil || !strings.Contains(text, "a=1, b=1: it could not be protected") ||
		strings.ContainsAny(text, "45678") {
		t.Errorf("zeros alone could protect: %s, %v", text, pattern)
	}
	if text, pattern = ask(Options{Zeros: true}); pattern == nil || !pattern.Verdict.Safe() || pattern.Second != 3 {
		t.Errorf("with zeros: %s, %+v", text, pattern)
	}
}

// A single suppressed cell of a line follows from the total: a second one must be
// suppressed as well.
func TestALineNeedsASecondCell(t *testing.T) {
	set := tabletest.Set(t, tables.Table{Name: "a", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 4)}})
	q, p := fill(set, []float64{1, 7, 3, 9}, 1)
	pattern := protect(t, q, p, Options{})
	want := []tables.Status{tables.Free, tables.Primary, tables.Free, tables.Secondary, tables.Free}
	if !slices.Equal(pattern.Status, want) || pattern.Ranges.Low[1] != 0 || pattern.Ranges.High[1] != 4 {
		t.Errorf("statuses %v, range %v to %v", pattern.Status, pattern.Ranges.Low[1], pattern.Ranges.High[1])
	}
}

// Respondents know their own cell. According to all possible tables, every other primary cell keeps
// its range if that cell is published as well. Some patterns that are safe against outsiders are not
// safe against respondents.
func TestPatternsAgainstRespondents(t *testing.T) {
	patternsAgainstRespondents(t)
}

func TestPatternsInTwoPassesAgainstRespondents(t *testing.T) {
	inTwoPasses(t)
	patternsAgainstRespondents(t)
}

func patternsAgainstRespondents(t *testing.T) {
	sets := tabletest.Small(t)
	total := 0
	for _, name := range []string{"3x3", "2x2x2", "4x2", "linked"} {
		rng := rand.New(rand.NewPCG(6, uint64(len(name))))
		protected, broken := 0, 0
		for trial := range 150 {
			q := tabletest.Random(t, rng, sets[name], 7, 0)
			if trial%3 == 2 {
				q.Huge = 1
			}
			if q.Value[0] < 6 || q.Value[0] > 24 {
				continue
			}
			p := primaries(rng, q, 1)
			p.Published = make([]bool, len(q.Value))
			p.Published[0] = true
			knowers := make([]int32, len(q.Value)) // some know one cell, some several
			for c, s := range p.Status {
				if knowers[c] = -1; s == tables.Primary && rng.IntN(2) == 0 {
					knowers[c] = int32(rng.IntN(4))
				}
			}
			pattern, problems, err := Protect(q, p, Options{Knowers: tables.Alone(knowers)})
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) > 0 {
				continue
			}
			protected++
			if len(pattern.Insiders) > 0 || !withstands(q, p, knowers) {
				t.Fatalf("%s: insiders %v, of the table %v", name, pattern.Insiders, q.Value)
			}
			pattern = protect(t, q, p, Options{})
			insiders, err := audit.Insiders(q, p, tables.Alone(knowers))
			if err != nil || !pattern.Verdict.Safe() {
				t.Fatal(err, pattern.Verdict)
			}
			if ok := withstands(q, p, knowers); ok != (len(insiders) == 0) {
				t.Fatalf("%s: insiders %v, by every table %v", name, insiders, ok)
			} else if !ok {
				broken++
			}
		}
		t.Logf("%s: %d protected, %d of them would not be without asking", name, protected, broken)
		if total += broken; protected < 10 {
			t.Errorf("%s: %d protected: the test shows little", name, protected)
		}
	}
	if total < 10 {
		t.Errorf("%d patterns would be broken otherwise: the test shows little", total)
	}
}

// withstands reports whether the pattern is still safe if the hidden cells of a knower are published,
// for each knower in turn.
func withstands(q audit.Question, p *primary.Result, knowers []int32) bool {
	for k := range int32(len(knowers)) {
		own := *p
		own.Status = slices.Clone(p.Status)
		publishes := q
		publishes.Hidden = slices.Clone(q.Hidden)
		for c, known := range knowers {
			if known == k && q.Hidden[c] {
				own.Status[c], publishes.Hidden[c] = tables.Free, false
			}
		}
		if ok, _ := met(publishes, &own); !ok {
			return false
		}
	}
	return true
}

// Patterns withstand every pair of respondents who know the cells that only they contribute to, by
// all possible tables.
func TestPatternsWithstandPairs(t *testing.T) {
	sets := tabletest.Small(t)
	protected, broken := 0, 0
	for _, name := range []string{"3x3", "4x2", "2x2x2"} {
		rng := rand.New(rand.NewPCG(38, uint64(len(name))))
		for range 25 {
			q := tabletest.Random(t, rng, sets[name], 5, 0)
			if q.Value[0] < 6 || q.Value[0] > 20 {
				continue
			}
			p := primaries(rng, q, 1)
			p.Published = make([]bool, len(q.Value))
			p.Published[0] = true
			for c, v := range q.Value { // one of two knows that the count is at least 1
				p.Down[c] = min(p.Down[c], v-1)
			}
			single, pairs := respondents(q, 1), respondents(q, 2)
			pattern, problems, err := Protect(q, p, Options{Knowers: pairs})
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) > 0 {
				continue
			}
			protected++
			if len(pattern.Insiders) > 0 || !withstandsPairs(q, p, pairs) {
				t.Fatalf("%s: insiders %v, of the table %v", name, pattern.Insiders, q.Value)
			}
			protect(t, q, p, Options{Knowers: single})
			insiders, err := audit.Insiders(q, p, pairs)
			if err != nil {
				t.Fatal(err)
			}
			if ok := withstandsPairs(q, p, pairs); ok != (len(insiders) == 0) {
				t.Fatalf("%s: insiders %v, by every table %v, of the table %v", name, insiders, ok, q.Value)
			} else if !ok {
				broken++
			}
		}
	}
	t.Logf("%d protected, %d of them would not be against pairs without asking", protected, broken)
	if protected < 20 || broken < 5 {
		t.Errorf("%d protected, %d would be broken: the test shows little", protected, broken)
	}
}

// withstandsPairs reports whether a pattern is safe from each pair, in which each knows the cells
// whose contributors are the two.
func withstandsPairs(q audit.Question, p *primary.Result, pairs *tables.Knowers) bool {
	most := int32(-1)
	for c := range q.Value {
		for _, w := range pairs.Of(int32(c)) {
			most = max(most, w)
		}
	}
	for a := range most + 1 {
		for b := range a + 1 {
			knower := make([]int32, len(q.Value))
			for c := range knower {
				knower[c] = -1
				of := pairs.Of(int32(c))
				if len(of) > 0 && !slices.ContainsFunc(of, func(w int32) bool { return w != a && w != b }) {
					knower[c] = 0
				}
			}
			if !withstands(q, p, knower) {
				return false
			}
		}
	}
	return true
}

// sdcTable issue 135: two rows of five, 1 1 7 1 0 | 1 0 0 2 8. If only the ones are
// suppressed, their contributors can compute each other's cell.
func TestSingletonsDoNotRevealEachOther(t *testing.T) {
	set := tabletest.Set(t,
		tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 2), tabletest.Flat(t, "b", 5)}})
	q, p := fill(set, []float64{1, 1, 7, 1, 0, 1, 0, 0, 2, 8}, 1)
	for c, v := range q.Value {
		if v != 1 {
			p.Status[c] = tables.Free
		}
	}
	known := respondents(q, 1)
	knowers := make([]int32, len(q.Value))
	for c := range knowers {
		if knowers[c] = -1; len(known.Of(int32(c))) > 0 {
			knowers[c] = known.Of(int32(c))[0]
		}
	}
	if knowers[2] != knowers[8] || knowers[2] < 0 || knowers[2] == knowers[7] || knowers[0] != -1 {
		t.Fatalf("knowers %v: b=2 is that of a=1, b=2", knowers)
	}
	pattern := protect(t, q, p, Options{Knowers: tables.Alone(knowers)})
	if len(pattern.Insiders) > 0 || !pattern.Verdict.Safe() || !withstands(q, p, knowers) {
		t.Errorf("insiders %v, verdict %+v", pattern.Insiders, pattern.Verdict)
	}
	outside := protect(t, q, p, Options{})
	if withstands(q, p, knowers) || outside.Second >= pattern.Second {
		t.Errorf("%d secondary cells without asking, %d with: the table shows nothing", outside.Second, pattern.Second)
	}
}

// A search that is stopped, at any question, returns an error and no pattern.
func TestSearchStops(t *testing.T) {
	stop := errors.New("stop")
	for _, name := range []string{"2d8", "2d50"} {
		ask := func(after int) (int, *Pattern, error) {
			q, p := load(t, name, 3)
			for c, v := range q.Value { // one of two respondents knows this
				if v == 2 {
					p.Down[c] = 1
				}
			}
			questions := 0
			q.Stop = func() error {
				if questions++; questions > after {
					return stop
				}
				return nil
			}
			pattern, problems, err := Protect(q, p, Options{Knowers: respondents(q, 1)})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			return questions, pattern, err
		}
		questions, whole, err := ask(math.MaxInt)
		if err != nil || len(whole.Insiders) > 0 || !whole.Verdict.Safe() || questions < 50 {
			t.Fatalf("%s: asked %d times: %v", name, questions, err)
		}
		stops := 40
		if testing.Short() {
			stops = 12
		}
		for after := 0; after < questions; after += 1 + questions/stops {
			if n, pattern, err := ask(after); !errors.Is(err, stop) || pattern != nil {
				t.Errorf("%s: stopped at question %d of %d: error %v after %d questions, pattern %v", name, after+1, questions, err,
					n, pattern)
			}
		}
		if n, _, err := ask(questions); err != nil || n != questions {
			t.Errorf("%s: asked %d times, then %d: %v", name, questions, n, err)
		}
	}
}

// Without time to search for cells to publish, more cells are suppressed, and each
// primary cell keeps its interval.
func TestPatienceProtectsNoLess(t *testing.T) {
	q, p := load(t, "2d50", 3)
	pattern := protect(t, q, p, Options{Patience: 1})
	if !pattern.Short || !pattern.Verdict.Safe() || pattern.Primary+pattern.Second <= 118 {
		t.Errorf("cut short %v, %d cells, %+v", pattern.Short, pattern.Primary+pattern.Second, pattern.Verdict)
	}
	if q, p = load(t, "2d50", 3); protect(t, q, p, Options{Patience: time.Hour}).Short {
		t.Error("an hour was too short")
	}
}
