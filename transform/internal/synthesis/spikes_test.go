package synthesis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// zeroIncomes returns 3,000 incomes, of which 1,506 are 0, that grow with a second column, an age; the young have 0
// more often.
func zeroIncomes(seed uint64) []testColumn {
	const n, zeros = 3000, 1506
	r := rand.New(rand.NewPCG(seed, 37))
	income, age := make([]float64, n), make([]float64, n)
	type drawn struct {
		at    int
		order float64
	}
	var list []drawn
	for i := range n {
		age[i] = float64(16 + r.IntN(60))
		income[i] = math.Round(100*math.Exp(9+0.01*age[i]+0.8*r.NormFloat64())) / 100
		list = append(list, drawn{i, age[i] + 40*r.NormFloat64()})
	}
	slices.SortFunc(list, func(a, b drawn) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	for _, d := range list[:zeros] {
		income[d.at] = 0
	}
	return []testColumn{floats(2, income...), floats(0, age...)}
}

// Incomes of which half are 0 come out with as many zeros, none negative and none beyond the data, by each method.
// The number of zeros is a sum of draws of each record: its SD is at most √(n/4) = 27.4, so that 20 keys have a mean
// within 4·27.4/√20 = 24.5 and one key is within 5·27.4 = 137 of the expected number, which is that of the data:
// exactly with a model without predictors, by the likelihood's equations with a regression, and in each leaf of a tree.
// The mean of the other values is within 4 standard errors: their SD over √(20·1,494), for both means, where the model
// is not a normal one, which bounds fold.
func TestSpikesAreKept(t *testing.T) {
	const keys, zeros = 20, 1506
	columns := zeroIncomes(1)
	income := columns[0].Values
	var rest []float64
	for _, v := range income {
		if v != 0 {
			rest = append(rest, v)
		}
	}
	mean, sd := meanSD(rest)
	least, greatest := slices.Min(rest), slices.Max(rest)
	for _, method := range []string{"parametric", "normal", "cart"} {
		for _, on := range [][]string{nil, {"b"}} {
			sum, total, within, values := 0, 0.0, 0, 0
			for key := range keys {
				setup := testSetup(t, columns...)
				setup.Key = testKey(t, byte(key))
				out := whole(t, chain(t, setup, synthesise(Synthesise{Columns: []string{"a"}, On: on, Method: method})), 700,
					columns...)[0]
				got := 0
				for _, v := range out {
					switch {
					case v == 0:
						got++
					case v < least || v > greatest:
						t.Fatalf("%s on %v: %v is not between %v and %v", method, on, v, least, greatest)
					default:
						total += v
						values++
					}
				}
				if sum += got; math.Abs(float64(got-zeros)) > 137 {
					t.Errorf("%s on %v: %d zeros, want %d ± 137", method, on, got, zeros)
				}
				if math.Abs(float64(got-zeros)) <= 0.05*zeros {
					within++
				}
			}
			average := float64(sum) / keys
			t.Logf(
				"%s on %v: %.1f zeros on average, within 5 %% of %d with %d of %d keys; mean of the others %.3f of the data's",
				method, on, average, zeros, within, keys, total/float64(values)/mean)
			if math.Abs(average-zeros) > 24.5 {
				t.Errorf("%s on %v: %v zeros on average, want %d ± 24.5", method, on, average, zeros)
			}
			// 2 %: by the bounds
			if tolerance := 4*sd*math.Sqrt(2/float64(values)) + 0.02*mean; method != "normal" &&
				math.Abs(total/float64(values)-mean) > tolerance {
				t.Errorf("%s on %v: the mean of the others is %v, want %v ± %v", method, on, total/float64(values), mean, tolerance)
			}
		}
	}
}

// With identity the release of a spiked column, with a rule, does not depend on the order of the records, nor on where
// blocks are cut.
func TestSpikesInAnyOrder(t *testing.T) {
	columns := zeroIncomes(5)
	id := make([]float64, len(columns[0].Values))
	for i := range id {
		id[i] = float64(1000 + i)
	}
	columns = append(columns, floats(0, id...))
	setup := testSetup(t, columns...)
	setup.Identity = []int{2}
	order := rand.New(rand.NewPCG(2, 37)).Perm(len(id))
	for _, method := range []string{"parametric", "normal", "cart"} {
		m := synthesise(
			Synthesise{Columns: []string{"a"}, On: []string{"b"}, Method: method, Rules: []string{"a = 1 if b = 30"}})
		want := whole(t, chain(t, setup, m), 1000, columns...)[0]
		got := whole(t, chain(t, setup, m), 97, reordered(columns, order)...)[0]
		for at, i := range order {
			if got[at] != want[i] {
				t.Fatalf("%s: a record is released as %v, and as %v in another order", method, want[i], got[at])
			}
		}
	}
}

// What is left of a word after it has chosen between a spike and the rest is uniform, and independent of
// the choice: the Kolmogorov-Smirnov distance of 20,000 of them is below 2.23/√n but with probability 1e-4.
func TestRestOfAWordIsUniform(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 37))
	share := []float64{0.35, 0.05, 0.6}
	got := make([][]float64, 3)
	for range 100_000 {
		c, within := chosen(share, r.Uint64())
		got[c] = append(got[c], within)
	}
	for c, list := range got {
		if p := share[c]; math.Abs(float64(len(list))-1e5*p) > 5*math.Sqrt(1e5*p*(1-p)) {
			t.Errorf("class %d was chosen %d times of 100,000, want %v", c, len(list), 1e5*p)
		}
		slices.Sort(list)
		for i, v := range list {
			if d := math.Abs(v - float64(i)/float64(len(list))); !(d <= 2.23/math.Sqrt(float64(len(list)))) ||
				!(v >= 0 && v < 1) {
				t.Fatalf("class %d: the distance from uniform is %v", c, d)
			}
		}
	}
	if c, within := chosen([]float64{0.5, 0.5 - 1e-16, 0}, math.MaxUint64); c != 2 || within != 0 {
		t.Errorf("beyond the sum of the shares: %d, %v", c, within)
	}
}

// A reflected value is where one comes to that walks on from one bound to the other.
func TestReflectionAtBounds(t *testing.T) {
	walk := func(e extent, v float64) float64 {
		for v < e.low || v > e.high {
			if v < e.low {
				v = 2*e.low - v
			} else {
				v = 2*e.high - v
			}
		}
		return v
	}
	for _, e := range []extent{{0, 1}, {-3, 4}, {5, 5.5}} {
		for v := -20.0; v < 20; v += 0.37 {
			if got, want := e.within(v), walk(e, v); math.Abs(got-want) > 1e-9 {
				t.Errorf("%v in %v: %v, want %v", v, e, got, want)
			}
		}
	}
	if got := (extent{2, 2}).within(7); got != 2 {
		t.Errorf("in one value: %v", got)
	}
	if got := everywhere.within(-7); got != -7 {
		t.Errorf("everywhere: %v", got)
	}
}

// A value that is moved within bounds stays the mean of where it may come to: over draws of both signs alike, exactly.
func TestDrawsAboutAValueKeepItsMean(t *testing.T) {
	e := extent{2, 10}
	for v := 2.0; v <= 10; v += 0.5 {
		for d := 0.0; d < 30; d += 0.7 {
			up, down := e.about(v, d), e.about(v, -d)
			if math.Abs(up+down-2*v) > 1e-9 || min(up, down) < 2-1e-9 || max(up, down) > 10+1e-9 {
				t.Errorf("%v moved by %v: %v and %v", v, d, down, up)
			}
			if d <= min(v-2, 10-v) && math.Abs(up-v-d) > 1e-9 {
				t.Errorf("%v moved by %v: %v", v, d, up)
			}
		}
	}
	if got := everywhere.about(-3, 40); got != 37 {
		t.Errorf("everywhere: %v", got)
	}
}

// The shift brings the mean of reflected draws to that of the draws: for exponential draws about values some of which
// lie beyond a bound. Where no draw lies beyond, there is none.
func TestRecentredDrawsKeepTheMean(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 37))
	draws := make([]float64, 5000)
	for i := range draws {
		draws[i] = 1 + r.NormFloat64() + r.ExpFloat64()
	}
	mean, _ := meanSD(draws)
	for _, e := range []extent{{0, 100}, {-1, 4.5}, {0, 5}} {
		shift, got := e.recentred(draws, nil), 0.0
		for _, v := range draws {
			got += e.within(v+shift) / float64(len(draws))
		}
		if shift == 0 || math.Abs(got-mean) > 1e-3 {
			t.Errorf("%v: shifted by %v the mean is %v, want %v", e, shift, got, mean)
		}
	}
	if got := (extent{-100, 100}).recentred(draws, nil); got != 0 {
		t.Errorf("within: %v", got)
	}
	one := extent{4, 4} // every shift gives 4
	if got := one.recentred(draws, nil); got != 0 {
		t.Errorf("of one value: %v", got)
	}
}

func TestSpikesIn(t *testing.T) {
	repeated := func(parts ...float64) (list []float64) { // value, count, value, count, …
		for i := 0; i < len(parts); i += 2 {
			for range int(parts[i+1]) {
				list = append(list, parts[i])
			}
		}
		return list
	}
	var many []float64
	for i := range 90 {
		many = append(many, 100+float64(i))
	}
	for name, c := range map[string]struct {
		sorted []float64
		want   []float64
	}{
		"a tenth":             {append(repeated(0, 10), many...), []float64{0}},
		"less than a tenth":   {append(repeated(0, 9), many...), nil},
		"at the end":          {append(slices.Clone(many), repeated(999, 40)...), []float64{999}},
		"one on either side":  {append(append(repeated(-9, 30), many...), repeated(999, 30)...), []float64{-9, 999}},
		"numbers of children": {repeated(0, 40, 1, 20, 2, 30, 3, 8, 4, 2), nil},
		"a low neighbour":     {append(repeated(0, 50, 1, 10), many...), []float64{0}},
		"a high neighbour":    {append(repeated(0, 50, 1, 11), many...), nil},
		"few records":         {repeated(0, 4, 1, 1, 2, 1), nil},
		"all":                 {repeated(7, 30), []float64{7}},
		"nothing":             {nil, nil},
	} {
		if got := spikesIn(c.sorted, 5); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Rules hold in the release without exception, for conditions on columns that stay and on released values of columns
// drawn before; models are of the other records alone; missing values stay missing.
func TestRulesOfASynthesis(t *testing.T) {
	const n = 4000
	r := rand.New(rand.NewPCG(6, 37))
	age, work, income := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		age[i] = float64(r.IntN(80))
		if age[i] >= 16 && r.Float64() < 0.7 {
			work[i] = 1
			income[i] = 1000 + 200*r.NormFloat64()
		}
	}
	columns := []testColumn{floats(0, age...), floats(0, work...), floats(2, income...)}
	columns[2].Null = []int{0, 17, n - 1}
	for _, method := range []string{"parametric", "normal", "cart"} {
		out := whole(t, chain(t, testSetup(t, columns...), synthesise(Synthesise{
			Columns: []string{"b", "c"}, On: []string{"a"}, Categories: []string{"b"}, Method: method,
			Rules: []string{"b = 0 if a < 16", "c = 0 if b = 0", "c = -1 if a >= 79 and b != 0"},
		})), 900, columns...)
		var values []float64
		for i := range n {
			b, c := out[1][i], out[2][i]
			switch missing := slices.Contains(columns[2].Null, i); {
			case age[i] < 16 && b != 0:
				t.Fatalf("%s, record %d: work %v at %v", method, i, b, age[i])
			case missing != (c != c):
				t.Fatalf("%s, record %d: income %v, missing %v", method, i, c, missing)
			case missing:
			case b == 0 && c != 0, b != 0 && age[i] >= 79 && c != -1:
				t.Fatalf("%s, record %d: income %v of work %v at %v", method, i, c, b, age[i])
			case b != 0 && age[i] < 79:
				values = append(values, c)
			}
		}
		// If those without work were among the values that a model has learnt, the mean would be far below 1,000 and the SD
		// above 400.
		mean, sd := meanSD(values)
		// 4: by the bounds
		if root := math.Sqrt(float64(len(values))); math.Abs(mean-1000) > 5*200*math.Sqrt2/root ||
			math.Abs(sd-200) > 5*200/root+4 {
			t.Errorf("%s: mean %v and SD %v of %d values, want 1000 and 200", method, mean, sd, len(values))
		}
	}
}

// Texts are set and compared by rules as numbers are, a text that is not among the data too.
func TestRulesOfTexts(t *testing.T) {
	columns := wordedData(2000, 9, arrow.BinaryTypes.String)
	out := wordedRelease(t, chain(t, testSetup(t, columns...), synthesise(Synthesise{
		Columns: []string{"d", "c"}, On: []string{"b"}, Categories: []string{"b", "d"},
		Rules: []string{`d = "kind q" if b = "kind b"`, `c = 5 if d = 'kind q'`},
	})), 300, columns...)
	set := 0
	for i, b := range columns[1].Values {
		met := b == 1
		if met {
			set++
		}
		if (out[3][i] == float64('q'-'a')) != met || met && out[2][i] != 5 {
			t.Fatalf("record %d: %v and %v where the condition is %v", i, out[3][i], out[2][i], met)
		}
	}
	if set == 0 {
		t.Fatal("no record meets the condition")
	}
}

func TestRulesAreRefused(t *testing.T) {
	for rule, want := range map[string]string{
		"":                             "must be a value of one of columns and a condition",
		"a = 0":                        "must be a value of one of columns and a condition",
		"a > 0 if c < 3":               "must be a value of one of columns and a condition",
		"a = 0 if":                     "after if, must be comparisons",
		"a = 0 if c":                   "after if, must be comparisons",
		"a = 0 if c < x":               "after if, must be comparisons",
		"a = 0 if c < 3 or c > 5":      "after if, must be comparisons",
		"a = 0 if c < NaN":             "after if, must be comparisons",
		`a = 0 if c < "x"`:             "after if, must compare a text by = or !=",
		`a = 0 if c = "x`:              "after if, must be comparisons",
		"c = 0 if c < 3":               "must set one of the columns that are synthesised",
		"a = 0 if d < 3":               `must compare columns of on, or of columns before "a", got "d"`,
		"a = 0 if b < 3":               `must compare columns of on, or of columns before "a", got "b"`,
		"a = 0 if a < 3":               `must compare columns of on, or of columns before "a", got "a"`,
		"a = 0 if c < 3 and c < 5 and": "after if, must be comparisons",
	} {
		ps := (&Synthesise{Columns: []string{"a", "b"}, On: []string{"c"}, Rules: []string{"b = 1 if a = 2", rule}}).Check()
		if len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), "rules[1]: "+want) {
			t.Errorf("%q: %v, want %s", rule, ps, want)
		}
	}
	columns := wordedData(200, 9, arrow.BinaryTypes.String)
	for rule, want := range map[string]string{
		`d = 5 if b = "kind b"`:           `rules[0]: must set "d" to a text in quotes`,
		`c = "x" if b = "kind b"`:         `rules[0]: must set "c" to a number`,
		`c = 1 if b = 1`:                  `rules[0]: must compare "b" with a text in quotes`,
		`c = 1 if b = "kind b" and a="1"`: `rules[0]: must compare "a" with a number`,
	} {
		_,
			err := core.NewChain(
			[]core.Spec{
				synthesise(Synthesise{Columns: []string{"d", "c"}, On: []string{"a", "b"}, Categories: []string{"b", "d"},
					Rules: []string{rule}})}, testSetup(t, columns...))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", rule, err, want)
		}
	}
}

func TestConditionsAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"wage > 0":                   "4:wage>0x0p+00",
		"wage>=-1.5e3":               "4:wage>=-0x1.77p+10",
		"a != 2 AND b == 3":          "1:a!=0x1p+01 1:b=0x1.8p+01",
		` "two words" < 1`:           "9:two words<0x1p+00",
		`sex = 'f "x"' and age<=16`:  `3:sex="f \"x\"" 3:age<=0x1p+04`,
		"wage > -0":                  "4:wage>0x0p+00",
		`kind = "and"  and wage = 0`: `4:kind="and" 4:wage=0x0p+00`,
		"größe < 180 and 'and' = 1":  "7:größe<0x1.68p+07 3:and=0x1p+00",
	} {
		c, err := core.ParseCondition(text)
		if got := strings.Join(c.Names(), " "); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for op, want := range map[string][3]bool{"<": {true, false, false}, "<=": {true, true, false},
		">": {false, false, true}, ">=": {false, true, true}, "=": {false, true, false}, "==": {false, true, false},
		"!=": {true, false, true}} {
		c, err := core.ParseCondition("a " + op + " 5")
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]bool{c[0].Holds(4), c[0].Holds(5), c[0].Holds(6)}; got != want || c[0].Holds(math.NaN()) {
			t.Errorf("%s: %v, want %v; of no value %v", op, got, want, c[0].Holds(math.NaN()))
		}
	}
}

// If what stays determines who has a spike, the release would have all spikes where they were: it is refused, with the
// cure.
func TestSpikesThatOnDeterminesAreRefused(t *testing.T) {
	columns := zeroIncomes(3)
	for i, v := range columns[0].Values {
		columns[1].Values[i] = 1
		if v == 0 {
			columns[1].Values[i] = 2
		}
	}
	of := func(m Synthesise) error {
		m.Columns, m.On = []string{"a"}, []string{"b"}
		c := chain(t, testSetup(t, columns...), synthesise(m))
		if err := c.Survey(block(0, len(columns[0].Values), columns...)); err != nil {
			t.Fatal(err)
		}
		return c.EndSurvey()
	}
	if err := of(Synthesise{}); err == nil ||
		!strings.Contains(err.Error(),
			"masks[0].synthesise.columns[0]: must not be determined by on where many records share a value") {
		t.Errorf("got %v", err)
	}
	if err := of(Synthesise{Rules: []string{"a = 0 if b = 2"}}); err != nil {
		t.Errorf("with the rule: %v", err)
	}
	if err := of(Synthesise{Method: "cart"}); err != nil {
		t.Errorf("by trees: %v", err)
	}
}

// A column that is drawn given one with a spike has its own mean where that has the spike: no line through the other
// values leads there. The mean over some 2,000 records has a standard error of 1/√2000 = 0.022, the data's as much.
func TestLaterColumnsFollowSpikes(t *testing.T) {
	const n = 4000
	r := rand.New(rand.NewPCG(9, 37))
	a, b := make([]float64, n), make([]float64, n)
	for i := range n {
		if b[i] = 50 + r.NormFloat64(); r.IntN(2) == 0 {
			a[i] = 10 + 3*r.Float64()
			b[i] = a[i] + r.NormFloat64()
		}
	}
	columns := []testColumn{floats(2, a...), floats(-1, b...)}
	for _, method := range []string{"parametric", "normal", "cart"} {
		out := whole(t,
			chain(t, testSetup(t, columns...), synthesise(Synthesise{Columns: []string{"a", "b"}, Method: method})), n,
			columns...)
		var with []float64
		for i, v := range out[0] {
			if v == 0 {
				with = append(with, out[1][i])
			}
		}
		// no leaf is pure
		if mean, _ := meanSD(with); math.Abs(mean-50) > 5*0.022*math.Sqrt2+map[bool]float64{true: 3}[method == "cart"] {
			t.Errorf("%s: mean %v of %d records with the spike, want 50", method, mean, len(with))
		}
	}
}

// Spikes and bounds are those of the records that models are fitted to. Bounds can be lifted.
func TestShapeIsOfTheFittedRecords(t *testing.T) {
	values := []float64{7, 0, 0, 0, 0, 0, 3, 5, 9, 11, 50}
	g := &gathered.Data{N: len(values), Values: [][]float64{values, values},
		On: [][]float64{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}, Strata: make([]int32, len(values)),
		Columns: []*core.Column{{ColumnInfo: core.ColumnInfo{Name: "a"}}, {ColumnInfo: core.ColumnInfo{Name: "b"}}}}
	s := &synthesis{categories: []bool{false, false}}
	of := func() string { return fmt.Sprint(s.shapes(g)[0]) }
	if got, want := of(), fmt.Sprint(shape{[]float64{0}, extent{0, 50}, extent{3, 50}}); got != want {
		t.Errorf("all: %s, want %s", got, want)
	}
	s.rules = (&Synthesise{Columns: []string{"a", "b"}, On: []string{"c"}, Rules: []string{"a = 50 if c = 1"}}).rules()
	if got, want := of(), fmt.Sprint(shape{[]float64{0}, extent{0, 11}, extent{3, 11}}); got != want {
		t.Errorf("with a rule: %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(s.shapes(g)[1]), fmt.Sprint(shape{[]float64{0}, extent{0, 50}, extent{3, 50}}); got !=
		want {
		t.Errorf("the other column: %s, want %s", got, want)
	}
	s.held = make([]bool, len(values))
	s.held[1], s.held[9] = true, true
	if got, want := of(), fmt.Sprint(shape{nil, extent{0, 9}, extent{0, 9}}); got != want {
		t.Errorf("held out: %s, want %s", got, want)
	}
	g.Strata[6] = -1
	g.Values[0] = slices.Clone(values)
	g.Values[0][2] = -4
	g.Strata[2] = -1
	s.held = nil
	if got, want := of(), fmt.Sprint(shape{nil, extent{0, 11}, extent{0, 11}}); got != want {
		t.Errorf("rejected: %s, want %s", got, want)
	}
	s.unbounded = true
	if got := s.shapes(g)[0].all; got != everywhere {
		t.Errorf("without bounds: %v", got)
	}
}

// In a stratum where a spike has too few other values beside it, all are modelled together, and within the bounds of
// all; where too few have the spike, it is not drawn there.
func TestSpikesInStrata(t *testing.T) {
	const n = 3000
	r := rand.New(rand.NewPCG(8, 37))
	a, d := make([]float64, n), make([]float64, n)
	for i := range n {
		d[i] = float64(i % 3)
		if a[i] = 100 + 10*r.NormFloat64(); d[i] == 1 && i > 30 || d[i] == 0 && r.IntN(2) == 0 {
			a[i] = 0
		}
	}
	for i := range 4 { // four in their stratum
		a[2+300*i] = 0
	}
	columns := []testColumn{floats(-1, a...), floats(0, make([]float64, n)...), floats(0, make([]float64, n)...),
		floats(0, d...)}
	for _, method := range []string{"parametric", "normal", "cart"} {
		out := whole(t,
			chain(t, testSetup(t, columns...),
				synthesise(Synthesise{Columns: []string{"a"}, By: []string{"d"}, Method: method})), n, columns...)[0]
		zeros, low := map[float64]int{}, slices.Min(a)
		var few []float64
		for i, v := range out {
			if v < low {
				t.Fatalf("%s: %v is below the data", method, v)
			}
			if v == 0 {
				zeros[d[i]]++
			}
			if d[i] == 2 {
				few = append(few, v)
			}
		}
		// With the four zeros among them the SD would be √(100 + 40) = 11.8; it has a standard error of 10/√2000 = 0.22 in
		// the data and the draws each.
		if _, sd := meanSD(few); math.Abs(sd-10) > 1.2 {
			t.Errorf("%s: the SD beside four zeros is %v, want 10 ± 1.2", method, sd)
		}
		if zeros[0] < 400 || zeros[0] > 600 || zeros[1] > 0 || zeros[2] > 0 { // about 500 of 1,000, SD 16
			t.Errorf("%s: zeros by stratum %v", method, zeros)
		}
	}
}
