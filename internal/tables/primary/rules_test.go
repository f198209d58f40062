package primary

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// cell makes a set of one leaf and its total, both with the given contributions,
// and returns the content; cell 1 is the leaf.
func content(t *testing.T, most int, contributions ...float64) *tables.Cells {
	t.Helper()
	d, problems := tables.NewDimension("a", "", tables.Flat("", []string{"x", "empty"}))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	set, _ := tables.NewSet(tables.Table{Name: "t", Dimensions: []*tables.Dimension{d}})
	c := tables.NewCells(set, 0, most)
	for _, cell := range []int{0, 1} {
		for _, x := range contributions {
			c.Value[cell] += x
			c.Contributors[cell]++
			c.Keep(cell, tables.Contribution{Value: x, Weight: 1})
		}
	}
	return c
}

func counts(c *tables.Cells) *tables.Cells {
	c.Counts = true
	for i, n := range c.Contributors {
		c.Value[i] = float64(n)
	}
	return c
}

func TestRulesByHand(t *testing.T) {
	for _, k := range []struct {
		name          string
		rule          Rule
		contributions []float64
		up            float64 // 0: safe
	}{
		// 100 + 20 + 5 + 4: the others add 9 to the two largest, 15 % of 100 is 15.
		{"p percent", Rule{PPercent: 15}, []float64{20, 100, 4, 5}, 6},
		{"p percent, just safe", Rule{PPercent: 9}, []float64{20, 100, 4, 5}, 0},
		{"p percent, just not", Rule{PPercent: 9.001}, []float64{20, 100, 4, 5}, 1},
		{"p percent, one", Rule{PPercent: 10}, []float64{50}, 5},
		{"pq", Rule{PQ: &PQ{15, 80}}, []float64{20, 100, 4, 5}, 10}, // 18.75 - 9
		{"pq, safe", Rule{PQ: &PQ{7, 80}}, []float64{20, 100, 4, 5}, 0},
		{"dominance", Rule{Dominance: &Dominance{2, 85}}, []float64{20, 100, 4, 5}, 13}, // 141.2 - 129
		{"dominance, safe", Rule{Dominance: &Dominance{1, 85}}, []float64{20, 100, 4, 5}, 0},
		{"dominance, more than there are", Rule{Dominance: &Dominance{3, 75}}, []float64{30, 30}, 20},
		{"threshold", Rule{Threshold: 5}, []float64{20, 100, 4, 5}, 39}, // 30 percent of 129
		{"threshold, safe", Rule{Threshold: 4}, []float64{20, 100, 4, 5}, 0},
		{"zero with p percent", Rule{PPercent: 10}, []float64{0, 0, 0}, 0},
		{"zero with threshold", Rule{Threshold: 4}, []float64{0, 0, 0}, 1},
	} {
		r, problems := Apply(content(t, Most([]Rule{k.rule}), k.contributions...), Options{Rules: []Rule{k.rule}})
		if len(problems) > 0 {
			t.Fatal(k.name, problems)
		}
		total := 0.0
		for _, x := range k.contributions {
			total += x
		}
		status, rule := tables.Primary, int16(0)
		if k.up == 0 {
			status, rule = tables.Free, None
		}
		if r.Status[1] != status || r.Up[1] != k.up || r.Down[1] != min(k.up, total) || r.Rule[1] != rule {
			t.Errorf("%s: %v, up %v, down %v, rule %d; want %v and %v", k.name, r.Status[1], r.Up[1], r.Down[1], r.Rule[1],
				status, k.up)
		}
		if r.Status[2] != tables.Empty {
			t.Errorf("%s: the cell without contributors is %v", k.name, r.Status[2])
		}
	}
}

func TestCountsAskForTheThreshold(t *testing.T) {
	for n := range 6 {
		x := make([]float64, n)
		r, problems := Apply(counts(content(t, 0, x...)), Options{Rules: []Rule{{Threshold: 3}}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		want := tables.Free
		switch n {
		case 0:
			want = tables.Empty
		case 1, 2:
			want = tables.Primary
		}
		if r.Status[1] != want || want == tables.Primary && (r.Up[1] != 3 || r.Down[1] != float64(n)) {
			t.Errorf("count %d: %v, up %v, down %v", n, r.Status[1], r.Up[1], r.Down[1])
		}
	}
}

// The protection of each rule is the least change of the total at which the rule holds for the changed
// total. The test computes it by this definition, not by the formula.
func TestProtectionIsWhereTheRuleHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	fired := 0
	for range 3000 {
		x := make([]float64, 2+rng.IntN(5))
		for i := range x {
			x[i] = math.Ceil(math.Exp(2 * rng.NormFloat64() * float64(1+i)))
		}
		p, q, k, n := 5+20*rng.Float64(), 40+60*rng.Float64(), 50+45*rng.Float64(), 1+rng.IntN(3)
		first, second, sum := largestTwo(x)
		satisfied := map[string]func(total float64) bool{
			"p":  func(total float64) bool { return total-second-first >= p/100*first },
			"pq": func(total float64) bool { return q/100*(total-second-first) >= p/100*first },
			"nk": func(total float64) bool { return largestSum(x, n) <= k/100*total },
		}
		for name, rule := range map[string]Rule{"p": {PPercent: p}, "pq": {PQ: &PQ{p, q}},
			"nk": {Dominance: &Dominance{n, k}}} {
			r, problems := Apply(content(t, 3, x...), Options{Rules: []Rule{rule}})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if satisfied[name](sum) != (r.Status[1] == tables.Free) {
				t.Fatalf("%s of %v: %v, the rule holds: %v", name, x, r.Status[1], satisfied[name](sum))
			}
			if up := r.Up[1]; up > 0 {
				fired++
				if !satisfied[name](sum+up+1e-9*sum) || up > 1 && satisfied[name](sum+up-1-1e-9*sum) {
					t.Fatalf("%s of %v: protection %v is not the least whole one", name, x, up)
				}
			}
		}
	}
	if fired < 500 {
		t.Errorf("the rules fired %d times only", fired)
	}
}

func largestTwo(x []float64) (first, second, sum float64) {
	return largestSum(x, 1), largestSum(x, 2) - largestSum(x, 1), largestSum(x, len(x))
}

func largestSum(x []float64, n int) float64 {
	best := 0.0
	for mask := range 1 << len(x) {
		sum, k := 0.0, 0
		for i := range x {
			if mask>>i&1 == 1 {
				sum += x[i]
				k++
			}
		}
		if k <= n {
			best = max(best, sum)
		}
	}
	return best
}

func TestSeveralRulesTakeTheGreatestProtection(t *testing.T) {
	rules := []Rule{{Threshold: 3}, {PPercent: 50}, {Dominance: &Dominance{2, 85}}}
	for range len(rules) {
		r, problems := Apply(content(t, 2, 20, 100, 4, 5), Options{Rules: rules})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if r.Up[1] != 41 || r.Status[1] != tables.Primary { // p 50: 50 - 9
			t.Errorf("%+v: %v, up %v", rules, r.Status[1], r.Up[1])
		}
		if first := rules[r.Rule[1]]; first.Threshold != 0 {
			t.Errorf("%+v: rule %d fired", rules, r.Rule[1])
		}
		rules = append(rules[1:], rules[0])
	}
}

func TestRequests(t *testing.T) {
	for requested, up := range map[float64]float64{19: 0, 30: 0, 31: 4, 100: 234} {
		c := content(t, 2, 60, 40)
		c.Requested = []float64{0, requested, 0}
		r, problems := Apply(c, Options{Rules: []Rule{{Request: 30}}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if r.Up[1] != up {
			t.Errorf("%v of 100 asked for protection at 30 percent: up %v, want %v", requested, r.Up[1], up)
		}
		if r.Status[0] != tables.Free {
			t.Error("a cell without a request is primary")
		}
	}
}

// The range that a request asks for is the wider one of the rule's own and the interval's.
func TestRequestsAskForTheInterval(t *testing.T) {
	for absolute, up := range map[float64]float64{3: 4, 4: 4, 5: 5} { // the rule's own: 31/0.3 - 100, rounded up
		c := content(t, 2, 60, 40)
		c.Requested = []float64{0, 31, 0}
		r, problems := Apply(c, Options{Rules: []Rule{{Request: 30}}, Interval: &Interval{Absolute: absolute}})
		if len(problems) > 0 || r.Up[1] != up || r.Down[1] != up {
			t.Errorf("interval %v: up %v, down %v, want %v (%v)", absolute, r.Up[1], r.Down[1], up, problems)
		}
	}
}

// Levels of the list raise those of the rule, each by itself, and never lower them.
func TestLevelsOfTheListRaise(t *testing.T) {
	for _, as := range []As{Levels, Unsafe} {
		for _, listed := range []struct{ up, down, wantUp, wantDown float64 }{
			{4, 4, 5, 5}, {5, 5, 5, 5}, {6, 4, 6, 5}, {4, 6, 5, 6}, {6, 7, 6, 7},
		} {
			c := content(t, 2, 60, 40)
			r, problems := Apply(c, Options{Rules: []Rule{{Threshold: 3}}, Interval: &Interval{Absolute: 5},
				List: []Listed{{Cell: 1, As: as, Up: listed.up, Down: listed.down}}})
			wantDown := listed.wantDown
			if as == Unsafe { // whose one interval is for both sides
				wantDown = max(wantDown, listed.wantUp)
			}
			if len(problems) > 0 || r.Up[1] != listed.wantUp || r.Down[1] != wantDown {
				t.Errorf("%v, %+v: up %v, down %v, want %v (%v)", as, listed, r.Up[1], r.Down[1], wantDown, problems)
			}
		}
	}
}

func TestListOutweighsRules(t *testing.T) {
	rules := []Rule{{Threshold: 3}}
	apply := func(list ...Listed) (*Result, string) {
		r, problems := Apply(content(t, 2, 60, 40), Options{Rules: rules, List: list})
		if len(problems) > 0 {
			return nil, problems[0].Error()
		}
		return r, ""
	}
	if r, _ := apply(Listed{Cell: 1, As: Safe}); r.Status[1] != tables.Free || r.Status[0] != tables.Primary ||
		r.Published != nil || r.Up[1] != 0 {
		t.Errorf("safe: %+v", r)
	}
	if r, _ := apply(Listed{Cell: 1, As: Published}); r.Status[1] != tables.Free || !r.Published[1] || r.Published[0] {
		t.Errorf("published: %+v", r)
	}
	rules = []Rule{{Threshold: 2}}
	if r, _ := apply(Listed{Cell: 1, As: Unsafe, Up: 7, Down: 12}); r.Status[1] != tables.Primary || r.Up[1] != 7 ||
		r.Down[1] != 12 || r.Rule[1] != ByList {
		t.Errorf("unsafe: %+v", r)
	}
	if _, problem := apply(Listed{Cell: 1, As: Safe, Line: 4}, Listed{Cell: 1, As: Unsafe, Line: 9}); problem !=
		"list:9: cell a=x stands in line 4 as something else" {
		t.Errorf("twice: %q", problem)
	}
	if _, problem := apply(Listed{Cell: 9}); !strings.Contains(problem, "outside") {
		t.Errorf("outside: %q", problem)
	}
}

func TestZerosAndNegatives(t *testing.T) {
	r, _ := Apply(content(t, 2, 0, 0, 0), Options{Rules: []Rule{{Threshold: 2}}, Zeros: ZerosUnsafe})
	if r.Status[1] != tables.Primary || r.Rule[1] != ByZero || r.Up[1] != 1 || r.Down[1] != 0 ||
		r.Status[2] != tables.Empty {
		t.Errorf("unsafe zeros: %+v", r)
	}
	c := content(t, 2, 5, -5)
	c.Negative, c.Gross = []int64{1, 1, 0}, []float64{10, 10, 0}
	if _, problems := Apply(c, Options{Rules: []Rule{{PPercent: 10}}}); len(problems) != 1 ||
		!strings.Contains(problems[0].Error(), "negative") {
		t.Errorf("negative contributions: %v", problems)
	}
	if r, problems := Apply(c, Options{Rules: []Rule{{Threshold: 3}}}); len(problems) > 0 || r.Up[1] != 1 ||
		r.Down[1] != 1 {
		t.Errorf("a threshold with negative contributions: %v %+v", problems, r)
	}
	c.Absolute = true
	c.Keep(1, tables.Contribution{Value: 5, Weight: 1})
	if r, problems := Apply(c, Options{Rules: []Rule{{Dominance: &Dominance{1, 40}}}}); len(problems) > 0 ||
		r.Status[1] != tables.Primary || r.Up[1] != 3 {
		t.Errorf("5 of 10 without signs at (1,40): %v %+v", problems, r) // 12.5 - 10
	}
}

func TestWrongOptionsAreSaidAtOnce(t *testing.T) {
	o := Options{
		Rules: []Rule{{}, {Threshold: 3, PPercent: 10}, {Threshold: 1}, {PPercent: -1}, {PQ: &PQ{80, 15}}, {PQ: &PQ{5, 101}},
			{Dominance: &Dominance{0, 85}}, {Dominance: &Dominance{2, 100}}, {Request: 101}, {PPercent: math.Inf(1)}},
		Interval: &Interval{Absolute: -1, Percent: math.NaN()},
	}
	var all strings.Builder
	for _, p := range o.Check(false) {
		all.WriteString(p.Error() + "\n")
	}
	for _, want := range []string{"rules[0]: must be exactly one", "rules[1]: must be exactly one",
		"rules[2].threshold: must be at least 2",
		"rules[3].p_percent: must be greater than 0", "rules[4].pq: p must be less than q",
		"rules[5].pq[1]: must be between 0 and 100",
		"rules[6].dominance[0]", "rules[7].dominance[1]", "rules[8].request", "rules[9].p_percent", "interval.absolute",
		"interval.percent"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &all)
		}
	}
	if p := (Options{Rules: []Rule{{PPercent: 10}}}).Check(true); len(p) != 1 {
		t.Errorf("p percent for counts: %v", p)
	}
	if _, p := Apply(content(t, 1, 5), Options{Rules: []Rule{{PPercent: 10}}}); len(p) != 1 ||
		!strings.Contains(p[0].Text, "keep 1") {
		t.Errorf("one contribution kept of two: %v", p)
	}
}
