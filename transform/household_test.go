package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// households draws members of n households: the number of the household (0: none), a value of the
// household, one of the person, and a category of the household, in random order.
func households(n int, seed uint64) []testColumn {
	r := rand.New(rand.NewPCG(seed, 41))
	household, value, own := floats(0), floats(2), floats(2)
	category := testColumn{Type: arrow.PrimitiveTypes.Int64}
	type person struct{ h, v, own, c float64 }
	var all []person
	for h := 1; h <= n; h++ {
		v, c := math.RoundToEven(100*math.Exp(6+r.NormFloat64()))/100, float64(1+r.IntN(3))
		for range 1 + r.IntN(5) {
			all = append(all, person{float64(h), v, 100, c})
		}
	}
	for range 40 {
		all = append(all, person{0, 500, 100, 1})
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, p := range all {
		household.Values, value.Values = append(household.Values, p.h), append(value.Values, p.v)
		own.Values, category.Values = append(own.Values, p.own), append(category.Values, p.c)
		if p.h == 0 {
			household.Null = append(household.Null, i)
		}
	}
	return []testColumn{value, own, household, category}
}

func householdSetup(t *testing.T, columns []testColumn, identity bool) Setup {
	s := testSetup(t, columns...)
	s.Households = Households{Index: []int{2}, Shared: []string{"a", "d"}}
	if identity {
		s.Identity = []int{1}
	}
	return s
}

// Members have one released value of a column of the household, in whatever order and blocks they come,
// and one of their own in other columns; records without a household have their own; and households with
// the same value have different noise.
func TestMembersShareADraw(t *testing.T) {
	for name, masks := range map[string][]Spec{
		"noise": {mask(&Noise{Columns: []string{"a", "b"}, SD: amount(50)})},
		"laplace": {
			mask(&Noise{Columns: []string{"a", "b"}, SD: amount(50), Distribution: "laplace",
				Tiers: []Tier{{Above: ptr(1000.0), VarianceFactor: ptr(4.0)}}})},
		"redraw": {mask(&Noise{Columns: []string{"a", "b"}, SD: amount(50)}),
			mask(&Truncate{Columns: []string{"a", "b"}, Lower: ptr(0.0), Mode: "redraw"})},
		"bias": {mask(&Bias{Columns: []string{"a", "b"}, Range: ptr(0.2)})},
		"bias noise": {mask(&Bias{Columns: []string{"a", "b"}, Range: ptr(0.2)}),
			mask(&Noise{Columns: []string{"a", "b"}, SD: amount(50)})},
		"pram": {mask(&PRAM{Columns: []string{"d"}, Keep: ptr(0.5), Categories: []string{"1", "2", "3"}}),
			mask(&Noise{Columns: []string{"a", "b"}, SD: amount(50)})},
	} {
		t.Run(name, func(t *testing.T) {
			columns := households(900, 5)
			byHousehold := map[float64][2]float64{}
			var first [][]float64
			for _, size := range []int{len(columns[0].Values), 977} {
				out := whole(t, chain(t, householdSetup(t, columns, false), masks...), size, columns...)
				if first == nil {
					first = out
				}
				own, alone := map[float64]bool{}, map[float64]bool{}
				for i, h := range columns[2].Values {
					own[out[1][i]] = true
					if h == 0 {
						alone[out[0][i]] = true
						continue
					}
					y := [2]float64{out[0][i], out[3][i]}
					if before, known := byHousehold[h]; known && y != before {
						t.Fatalf("record %d of household %v: %v, another member has %v", i, h, y, before)
					}
					byHousehold[h] = y
					if size != 977 && first[0][i] != out[0][i] {
						t.Fatalf("record %d depends on the limits of blocks", i)
					}
				}
				if len(own) < 500 || len(alone) < 20 {
					t.Errorf("%d values of persons, %d of records without a household: members share draws that are their own",
						len(own), len(alone))
				}
			}
			// In the opposite order, under new places.
			order := make([]int, len(columns[0].Values))
			for i := range order {
				order[i] = len(order) - 1 - i
			}
			out := whole(t, chain(t, householdSetup(t, columns, false), masks...), 500, reordered(columns, order)...)
			for i, from := range order {
				if columns[2].Values[from] != 0 && out[0][i] != first[0][from] {
					t.Fatalf("record %d has another value in the opposite order", from)
				}
			}
		})
	}
}

// Households with the same value are independent of one another, and categories move for whole
// households at the rate of the mask.
func TestHouseholdsHaveTheirOwnDraws(t *testing.T) {
	columns := households(3000, 6)
	for i := range columns[0].Values {
		columns[0].Values[i], columns[3].Values[i] = 1000, 2
	}
	out := whole(t, chain(t, householdSetup(t, columns, true), mask(&Noise{Columns: []string{"a"}, SD: amount(50)}),
		mask(&PRAM{Columns: []string{"d"}, Keep: ptr(0.7), Categories: []string{"1", "2", "3"}})), 4000, columns...)
	noise, kept := map[float64]float64{}, map[float64]bool{}
	for i, h := range columns[2].Values {
		if h != 0 {
			noise[h], kept[h] = out[0][i]-1000, out[3][i] == 2
		}
	}
	sum, square, stay := 0.0, 0.0, 0.0
	for h, e := range noise {
		sum, square = sum+e, square+e*e
		if kept[h] {
			stay++
		}
	}
	// 3000 draws: the mean has SD 50/√3000 = 0.91, the variance 2500·√(2/3000) = 64.5, the share
	// √(0.7·0.3/3000) = 0.0084; the limits are 5 of these.
	if n := float64(len(noise)); n != 3000 || math.Abs(sum/n) > 4.6 || math.Abs(square/n-2500) > 323 ||
		math.Abs(stay/n-0.7) > 0.042 {
		t.Errorf("of %v households: mean %v, variance %v, kept %v", n, sum/n, square/n, stay/n)
	}
}

// In replicates members share a draw as they do in the release, if the households are known there, and
// what is masked for each member does not change.
func TestReplicatesShareADraw(t *testing.T) {
	columns := households(500, 7)
	c := chain(t, householdSetup(t, columns, false), mask(&Noise{Columns: []string{"a", "b"}, SD: amount(50)}))
	for m := 1; m < 3; m++ {
		out := whole(t, c.Replicate(m), 700, columns...)
		by, noise, own := map[float64]float64{}, map[float64]bool{}, map[float64]bool{}
		for i, h := range columns[2].Values {
			e := math.Round(100 * (out[0][i] - columns[0].Values[i]))
			own[out[1][i]] = true
			if h == 0 {
				continue
			}
			if before, known := by[h]; known && e != before {
				t.Fatalf("replicate %d: two noises in household %v", m, h)
			}
			by[h], noise[e] = e, true
		}
		// 500 draws on a grid of 0.01 with SD 5000 steps: 500²/(2·5000·√(4π)) ≈ 7 pairs are equal.
		if len(noise) < 450 || len(own) < 1000 {
			t.Errorf("replicate %d: %d noises of 500 households, %d of persons", m, len(noise), len(own))
		}
	}
	without := c.Replicate(1)
	b := block(0, 300, columns[0], columns[1])
	apply(t, without, b)
	if b.Columns[0].Out().Values[0] == columns[0].Values[0] {
		t.Error("a replicate without the households masks nothing")
	}
}

// A sample draws whole households at its rate, in any order; a smaller rate's households are among those of a
// greater one; records without a household are drawn by themselves.
func TestSampleDrawsHouseholds(t *testing.T) {
	columns := households(4000, 8)
	n := len(columns[0].Values)
	order := make([]int, n)
	for i := range order {
		order[i] = n - 1 - i
	}
	var smaller map[float64]bool
	for _, rate := range []float64{0.2, 0.6} {
		kept := drawnBy(t, householdSetup(t, columns, false), &Sample{Rate: ptr(rate)}, 1000, columns...)
		by, alone := map[float64]bool{}, 0
		for i, h := range columns[2].Values {
			if h == 0 {
				if kept[i] {
					alone++
				}
				continue
			}
			if before, known := by[h]; known && before != kept[i] {
				t.Fatalf("rate %v: household %v is torn apart", rate, h)
			}
			by[h] = kept[i]
		}
		drawn := 0.0
		for h, k := range by {
			if k {
				drawn++
			} else if smaller[h] {
				t.Fatalf("household %v leaves at a smaller rate only", h)
			}
		}
		if far(drawn, 4000, rate) || alone == 0 || alone == 40 {
			t.Errorf("rate %v: %v of 4000 households, %d of 40 records without one", rate, drawn, alone)
		}
		back := drawnBy(t, householdSetup(t, columns, false), &Sample{Rate: ptr(rate)}, 333, reordered(columns, order)...)
		for i, from := range order {
			if columns[2].Values[from] != 0 && back[i] != kept[from] {
				t.Fatalf("rate %v: record %d is drawn in one order only", rate, from)
			}
		}
		smaller = by
	}
}

// householdRows draws keys of persons: the last keys are of households, with a share of households in
// which members differ.
func householdRows(r *rand.Rand, n, persons int, cards []int, differ float64) (out rows, of []int) {
	for h := 1; h <= n; h++ {
		shared := categoriesAt(r, 1, cards, 0.05)[0]
		odd := r.Float64() < differ
		for m := range 1 + r.IntN(4) {
			record := categoriesAt(r, 1, cards, 0.05)[0]
			if !odd || m == 0 {
				copy(record[persons:], shared[persons:])
			}
			out, of = append(out, record), append(of, h)
		}
	}
	return out, of
}

// Records that look alike are of k households, by comparing all pairs; a key of households is missing for
// all members or for none, and never where members differ; the release depends neither on the order of the
// records nor on blocks; and nothing is suppressed where k holds already.
func TestSuppressByHousehold(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for trial := range 40 {
		cards := [][]int{{3, 2, 4, 3}, {5, 9, 30}, {2, 2, 2, 2, 2}, {12, 3}}[trial%4]
		persons := len(cards) / 2
		if trial%8 == 5 {
			persons = 0 // all keys are of households
		}
		k := 2 + trial%4
		n := []int{30, 120, 300}[trial%3]
		in, of := householdRows(r, n, persons, cards, []float64{0, 0.03}[trial%2])
		if trial%2 == 1 && len(of)%2 == 1 { // so few households that more than 5 % may differ: the keys are declared
			in, of = in[:len(in)-1], of[:len(of)-1]
		}
		out := suppressedBy(t, in, of, persons, k, 64, nil)
		for i := range in {
			missingCells(t, in[i], out[i])
			alike := map[int]bool{}
			for j := range out {
				if slices.Equal(out[i], out[j]) {
					alike[of[j]] = true
				}
				if of[i] == of[j] && !slices.Equal(out[i][persons:], out[j][persons:]) {
					t.Fatalf("trial %d: members of household %d leave with %v and %v", trial, of[i], out[i], out[j])
				}
			}
			if len(alike) < k {
				t.Fatalf("trial %d: record %d, %v, is alike in %d households, want %d", trial, i, out[i], len(alike), k)
			}
		}
		order := r.Perm(len(in))
		back := suppressedBy(t, in, of, persons, k, len(in), order)
		if fmt.Sprint(back) != fmt.Sprint(out) {
			t.Fatalf("trial %d: the release depends on the order of the records", trial)
		}
		again := suppressedBy(t, out, of, persons, k, len(in), nil)
		if fmt.Sprint(again) != fmt.Sprint(out) {
			t.Fatalf("trial %d: cells are missing that need not be", trial)
		}
	}
}

// suppressedBy masks records in an order and returns them in their own; keys from persons on are of
// households, which the mask must find.
func suppressedBy(t *testing.T, in rows, of []int, persons, k, size int, order []int) rows {
	t.Helper()
	columns := in.Columns(arrow.PrimitiveTypes.Int64)
	household := floats(0)
	for _, h := range of {
		household.Values = append(household.Values, float64(h))
	}
	keys := names(len(columns))
	columns = append(columns, household)
	if order != nil {
		columns = reordered(columns, order)
	}
	setup := testSetup(t, columns...)
	setup.Households = Households{Index: []int{len(keys)}, Personal: keys[:persons]}
	if len(of)%2 == 0 { // found in the data, or said
		setup.Households.Shared = keys[persons:]
	}
	values := whole(t, chain(t, setup, mask(&Suppress{Keys: keys, K: ptr(k)})), size, columns...)
	out := make(rows, len(in))
	for i := range in {
		at := i
		if order != nil {
			at = order[i]
		}
		out[at] = make([]int, len(keys))
		for c := range keys {
			if y := values[c][i]; y == y {
				out[at][c] = int(y)
			}
		}
	}
	return out
}

// Five members of one household protect nobody; with too few households nothing is released.
func TestSuppressCountsHouseholds(t *testing.T) {
	in := rows{{1}, {1}, {1}, {1}, {1}, {2}, {2}, {2}}
	out := suppressedBy(t, in, []int{1, 1, 1, 1, 1, 2, 3, 4}, 0, 3, 8, nil)
	// Household 1 alone has the value 1: it must be hidden, and of the others at least two beside it.
	if fmt.Sprint(out) != "[[0] [0] [0] [0] [0] [0] [0] [0]]" {
		t.Errorf("got %v", out)
	}
	out = suppressedBy(t, rows{{1}, {1}, {1}, {2}, {2}}, []int{1, 2, 3, 4, 4}, 0, 2, 8, nil)
	if fmt.Sprint(out) != "[[0] [0] [0] [0] [0]]" {
		t.Errorf("got %v", out)
	}
	columns := []testColumn{floats(0, 1, 1, 1, 2), floats(0, 1, 1, 1, 2)}
	setup := testSetup(t, columns...)
	setup.Households = Households{Index: []int{1}}
	c := chain(t, setup, mask(&Suppress{Keys: []string{"a"}, K: ptr(3)}))
	if err := c.Survey(block(0, 4, columns...)); err != nil {
		t.Fatal(err)
	}
	if err := c.EndSurvey(); err == nil {
		t.Error("3 of 2 households")
	}
}

// A record without a household is masked by its identity: alike in any order.
func TestRecordsWithoutAHouseholdKeepTheirIdentity(t *testing.T) {
	columns := households(100, 9)
	n := len(columns[0].Values)
	order := make([]int, n)
	for i := range order {
		columns[1].Values[i], order[i] = float64(i), n-1-i
	}
	masks := []Spec{mask(&Sample{Rate: ptr(0.5)}), mask(&Noise{Columns: []string{"a"}, SD: amount(50)})}
	out := whole(t, chain(t, householdSetup(t, columns, true), masks...), 64, columns...)
	back := whole(t, chain(t, householdSetup(t, columns, true), masks...), 50, reordered(columns, order)...)
	kept := drawnBy(t, householdSetup(t, columns, true), &Sample{Rate: ptr(0.5)}, 64, columns...)
	again := drawnBy(t, householdSetup(t, columns, true), &Sample{Rate: ptr(0.5)}, 50, reordered(columns, order)...)
	for i, from := range order {
		if back[0][i] != out[0][from] || kept[from] != again[i] {
			t.Fatalf("record %d is masked or drawn by its place", from)
		}
	}
}

// In a replicate that tells respondents apart, their records with the same value share a draw, as they do in the
// release, and others do not: of one respondent with another value, of other respondents, and without an identity.
func TestReplicatesOfRespondents(t *testing.T) {
	value, person := floats(0), floats(0)
	for p := range 400 {
		for range 3 {
			value.Values, person.Values = append(value.Values, 1000), append(person.Values, float64(p))
		}
		value.Values, person.Values = append(value.Values, 1001), append(person.Values, float64(p))
	}
	n := len(person.Values)
	person.Null = []int{0, 1, 2}
	setup := testSetup(t, value, person)
	for _, known := range []bool{false, true} {
		if known {
			setup.Persons = []int{1}
		}
		c := chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: amount(1e6)}))
		out := whole(t, c.Replicate(1), 77, value, person)
		draws := map[float64]int{}
		for i := range n {
			draws[out[0][i]-value.Values[i]]++
		}
		want := n
		if known {
			want = 800 + 2 // the first three records have nobody
		}
		// Of 1,600 draws on a grid of 1 with SD 10⁶ a pair is equal with 1600²/2/(10⁶·√(4π)) = 0.4.
		if len(draws) < want-3 || len(draws) > want {
			t.Errorf("known %v: %d draws, want %d", known, len(draws), want)
		}
		if other := whole(t, c.Replicate(2), 77, value, person); slices.Equal(other[0], out[0]) {
			t.Error("two replicates are the same")
		}
	}
	// without the column
	apply(t, chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: amount(50)})).Replicate(1), block(0, 300, value))
}

// Of masks that decide about whole households the report says so where these are known, and of no others.
func TestMasksSayThatHouseholdsAreKnown(t *testing.T) {
	said := func(p Params) bool {
		return slices.ContainsFunc(ParametersOf(p), func(q Parameter) bool { return q.Name == "household" })
	}
	for _, k := range Kinds() {
		p := k.New()
		if said(p) {
			t.Errorf("%s: households are said that nobody knows", k.Name)
		}
		if OfHouseholds([]Spec{{Params: &Noise{}}, {Params: p}}); said(p) != ByHousehold(p) {
			t.Errorf("%s: households are said: %v", k.Name, said(p))
		}
	}
}
