package inversion

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// hideSome returns codes of which each is hidden with a probability of 1/4, and how many are.
func hideSome(r *rand.Rand, codes []int32) (released []int32, hidden int) {
	released = slices.Clone(codes)
	for i := range released {
		if r.IntN(4) == 0 {
			released[i] = -1
			hidden++
		}
	}
	return released, hidden
}

// Whatever determines a key tells its hidden cells, wherever another record shows the value: a finer category, two
// columns together, what the members of a group share, an order.
func TestHiddenCellsThatAreTold(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 1))
	const n = 600
	city, half, quarter, home := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	born := make([]float64, n)
	by := map[string][]int32{"city": make([]int32, n), "two": make([]int32, n), "home": make([]int32, n),
		"born": make([]int32, n)}
	for i := range n {
		city[i], half[i], quarter[i], home[i] = int32(r.IntN(20)), int32(r.IntN(2)), int32(r.IntN(4)), int32(i/4)
		born[i] = r.Float64()
		by["city"][i] = city[i] / 4
		by["two"][i] = (half[i] + quarter[i]) % 3
		by["home"][i] = home[i] * 7 % 5
		by["born"][i] = int32(born[i] * 6)
	}
	clues := []Clue{{Name: "half", Codes: half}, {Name: "quarter", Codes: quarter}, {Name: "city", Codes: city},
		{Name: "home", Codes: home}, {Name: "born", Numbers: born}}
	for key, want := range map[string]struct {
		tells string
		share float64 // of the hidden cells
	}{"city": {"city", 1}, "two": {"half with quarter", 1}, "home": {"home", 0.95}, "born": {"born", 0.95}} {
		known := by[key]
		released, hidden := hideSome(r, known)
		for name, list := range map[string][]Clue{"": clues, ", the other way about": reversed(clues)} {
			s := CluesOf(list).Shown("x", known, released)
			if s.Hidden != hidden || float64(s.Told) < want.share*float64(hidden) || len(s.Tells) == 0 {
				t.Errorf("%s%s: %d of %d (%d) cells told by %v", key, name, s.Told, s.Hidden, hidden, s.Tells)
				continue
			}
			if tells := s.Tells[0]; tells != want.tells && tells != "quarter with half" {
				t.Errorf("%s%s: told by %v, want %s", key, name, s.Tells, want.tells)
			}
			told := 0
			for i, v := range s.Codes {
				if v != released[i] {
					told++
					if released[i] >= 0 || v != known[i] {
						t.Fatalf("%s%s: record %d has %d released, %d told, %d known", key, name, i, released[i], v, known[i])
					}
				}
			}
			if told != s.Told {
				t.Errorf("%s%s: %d cells are told, and %d said", key, name, told, s.Told)
			}
		}
	}
}

func reversed(list []Clue) []Clue {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// Columns that have nothing to do with a key tell no cell, in whatever groups: a claim is believed by chance with a
// probability of about e⁻⁸, and there are 200·4·(10 + 3) clues with two groups to a few records each.
func TestHiddenCellsThatNothingTells(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 2))
	told := 0
	for range 200 {
		const n = 240
		clues := []Clue{{Name: "number", Numbers: make([]float64, n)}}
		for _, groups := range []int{2, 5, 20, 60, 120} {
			codes := make([]int32, n)
			for i := range codes {
				codes[i] = int32(r.IntN(groups))
			}
			clues = append(clues, Clue{Name: string(rune('a' + len(clues))), Codes: codes})
		}
		for i := range n {
			clues[0].Numbers[i] = r.Float64()
		}
		prepared := CluesOf(clues)
		for _, odds := range []float64{0.5, 0.9, 0.99, 0.3} {
			known := make([]int32, n)
			for i := range known {
				if r.Float64() > odds {
					known[i] = int32(1 + r.IntN(3))
				}
			}
			released, _ := hideSome(r, known)
			told += prepared.Shown("x", known, released).Told
		}
	}
	if told > 3 { // of 48,000 hidden cells
		t.Errorf("%d cells are told by chance", told)
	}
}

// A clue of which one claim in a hundred is wrong is believed, about the cells that leave and about the hidden ones
// each, and one of which more are is not; nor are claims that chance would make as well.
func TestClaimsThatAreBelieved(t *testing.T) {
	for _, c := range []struct {
		n, wrong, hidden int
		common           bool // the value that all have but the wrong ones
		want             bool
	}{
		{200, 0, 0, false, true}, {200, 1, 0, false, true}, {200, 2, 0, false, true}, {200, 3, 0, false, false},
		{200, 0, 2, false, true}, {200, 0, 3, false, false},
		{200, 1, 0, true, false}, {5000, 25, 0, true, false}, {3, 0, 0, false, false}, {10, 0, 0, false, true},
	} {
		// Groups of three, the last record of each hidden; two values, or nearly one.
		var known, released, codes []int32
		for g := range c.n {
			v := int32(g % 2)
			if c.common {
				v = 0
			}
			second, third := v, v
			if g < c.wrong {
				second = 2
			} else if g < c.wrong+c.hidden {
				third = 2
			}
			known = append(known, v, second, third)
			released = append(released, v, second, -1)
			codes = append(codes, int32(g), int32(g), int32(g))
		}
		s := CluesOf([]Clue{{Name: "group", Codes: codes}}).Shown("x", known, released)
		if (s.Told > 0) != c.want {
			t.Errorf("%+v: %d of %d cells told", c, s.Told, s.Hidden)
		}
	}
}

// One group of many that show anything tells its cells, if the claims about all of them are true.
func TestGroupsThatTellAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 3))
	// those that are as shown, and others
	for cells, want := range map[[2]int]bool{{8, 0}: true, {1, 0}: false, {8, 1}: false, {40, 1}: false} {
		var known, released, codes []int32
		add := func(x, y int32, g int) {
			known, released, codes = append(known, x), append(released, y), append(codes, int32(g))
		}
		for range 1000 {
			x := int32(r.IntN(20))
			y := x
			if r.IntN(2) == 0 {
				y = -1
			}
			add(x, y, r.IntN(40))
		}
		for k := range 2 + cells[0] + cells[1] {
			switch {
			case k < 2:
				add(7, 7, 40)
			case k < 2+cells[0]:
				add(7, -1, 40)
			default:
				add(8, -1, 40)
			}
		}
		if s := CluesOf([]Clue{{Name: "group", Codes: codes}}).Shown("x", known, released); (s.Told == cells[0]) != want ||
			!want && s.Told > 0 {
			t.Errorf("%v: %d cells told, want all: %t", cells, s.Told, want)
		}
	}
}

// A value that leaves in a coarser coding is told by whatever determines it in many records, also if only some have it:
// a grade of a school the age, a date of birth by its order. Groups of few, what has nothing to do with it, and what is
// known of the records only, tell nothing.
func TestValuesBeforeACoarserCoding(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 6))
	const n = 1200
	age, grade, home, kind := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	born := make([]float64, n)
	for i := range n {
		age[i], home[i], kind[i] = int32(r.IntN(60)), int32(i/3), int32(r.IntN(4))
		if grade[i] = -1; age[i] >= 6 && age[i] < 18 {
			grade[i] = age[i] - 6
		}
		born[i] = float64(age[i]) + r.Float64()
		if i%3 > 0 {
			age[i] = age[i-1] // of one home
			grade[i], born[i] = grade[i-1], float64(age[i])+r.Float64()
		}
	}
	grades := 0
	for _, g := range grade {
		if g >= 0 {
			grades++
		}
	}
	for name, c := range map[string]struct {
		clues []Clue
		least int
		most  int
	}{
		"grade":         {[]Clue{{Name: "kind", Codes: kind}, {Name: "grade", Codes: grade}}, grades, grades},
		"grade first":   {[]Clue{{Name: "grade", Codes: grade}, {Name: "kind", Codes: kind}}, grades, grades},
		"born":          {[]Clue{{Name: "born", Numbers: born}}, n * 8 / 10, n},
		"homes are few": {[]Clue{{Name: "home", Codes: home}}, 0, 0},
		"records": {
			[]Clue{{Name: "grade", Codes: grade, Records: true}, {Name: "born", Numbers: born, Records: true}}, 0, 0},
		"kind":            {[]Clue{{Name: "kind", Codes: kind}}, 0, 0},
		"the key itself":  {[]Clue{{Name: "age", Codes: age}}, 0, 0},
		"a key beside it": {[]Clue{{Name: "age", Codes: age}, {Name: "kind", Codes: kind}}, 0, 0},
	} {
		told, _ := CluesOf(c.clues).Finer("age", age)
		found := 0
		for i, is := range told {
			if is {
				found++
			}
			if is && c.most == grades && grade[i] < 0 {
				t.Fatalf("%s: record %d has no grade and is told", name, i)
			}
		}
		if found < c.least || found > c.most {
			t.Errorf("%s: %d of %d values told, want %d to %d", name, found, n, c.least, c.most)
		}
	}
}

// A column tells nothing of itself, alone or with another one.
func TestKeysDoNotTellOfThemselves(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 4))
	x, other := make([]int32, 400), make([]int32, 400)
	for i := range x {
		x[i], other[i] = int32(r.IntN(5)), int32(r.IntN(3))
	}
	released, hidden := hideSome(r, x)
	clues := CluesOf([]Clue{{Name: "x", Codes: x}, {Name: "other", Codes: other}})
	if s := clues.Shown("x", x, released); s.Told != 0 {
		t.Errorf("%d cells told by %v", s.Told, s.Tells)
	}
	if s := clues.Shown("y", x, released); s.Told != hidden {
		t.Errorf("%d of %d cells told by %v", s.Told, hidden, s.Tells)
	}
}

// Nothing hidden, nothing shown, and what is not known, tell nothing.
func TestNoHiddenCells(t *testing.T) {
	all := []int32{0, 1, 0, 1}
	gone := []int32{-1, -1, -1, -1}
	clue := []Clue{{Name: "same", Codes: all}, {Name: "order", Numbers: []float64{1, math.NaN(), 2, 3}},
		{Name: "none", Codes: gone}}
	for name, c := range map[string][2][]int32{"nothing hidden": {all, all}, "nothing shown": {all, gone},
		"nothing known": {gone, gone}} {
		if s := CluesOf(clue).Shown("y", c[0], c[1]); s.Told != 0 || !slices.Equal(s.Codes, c[1]) ||
			(name == "nothing shown") != (s.Hidden == 4) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
