package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// givenSet is one table of two regions, n and s, by two sizes, a and b.
func givenSet(t *testing.T) *Set {
	t.Helper()
	region, ps := NewDimension("r", "total", Flat("", []string{"n", "s"}))
	size, qs := NewDimension("s", "total", Flat("", []string{"a", "b"}))
	set, us := NewSet(Table{Name: "t", Dimensions: []*Dimension{region, size}})
	if len(ps)+len(qs)+len(us) > 0 {
		t.Fatal(ps, qs, us)
	}
	return set
}

// givenCells are cells of four contributors in n,a, one in s,a, and one in s,b; n,b is empty and not there.
func givenCells() map[string]Given {
	none := math.NaN()
	return map[string]Given{
		"total,total": {Value: 36.5, Count: 6, Largest: []float64{10, 9}, Who: []string{"A", "B"}},
		"total,a":     {Value: 29.5, Count: 5, Largest: []float64{10, 9}, Who: []string{"A", "B"}},
		"total,b":     {Value: 7, Count: 1, Largest: []float64{7, none}, Who: []string{"F", ""}},
		"n,total":     {Value: 27.5, Count: 4, Largest: []float64{10, 9}, Who: []string{"A", "B"}},
		"n,a":         {Value: 27.5, Count: 4, Largest: []float64{10, 9}, Who: []string{"A", "B"}},
		"s,total":     {Value: 9, Count: 2, Largest: []float64{7, 2}, Who: []string{"F", "E"}},
		"s,a":         {Value: 2, Count: 1, Largest: []float64{2, none}, Who: []string{"E", ""}},
		"s,b":         {Value: 7, Count: 1, Largest: []float64{7, 0}, Who: []string{"F", ""}},
	}
}

func given2(t *testing.T, set *Set, named bool, cells map[string]Given) (*Cells, string) {
	t.Helper()
	var list []Given
	for name, c := range cells {
		cell, err := set.At(0, strings.Split(name, ",")...)
		if err != nil {
			t.Fatal(err)
		}
		c.Cell = cell
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Given) int { return a.Cell - b.Cell })
	c, ps := FromGiven(set, GivenOptions{Decimals: 1, Largest: 2, Named: named, Identities: 2}, list)
	var texts []string
	for _, p := range ps {
		texts = append(texts, p.Error())
	}
	return c, strings.Join(texts, "\n")
}

// What is given is kept in units, and contributors are the same in all cells: by their names, or by their
// contributions.
func TestGivenCells(t *testing.T) {
	set := givenSet(t)
	for _, named := range []bool{true, false} {
		c, wrong := given2(t, set, named, givenCells())
		if wrong != "" {
			t.Fatal(wrong)
		}
		at := func(names ...string) int {
			cell, err := set.At(0, names...)
			if err != nil {
				t.Fatal(err)
			}
			return cell
		}
		if got := fmt.Sprint(c.Value, c.Contributors, c.Gross); got !=
			"[365 295 70 275 275 0 90 20 70] [6 5 1 4 4 0 2 1 1] [365 295 70 275 275 0 90 20 70]" {
			t.Errorf("cells %s", got)
		}
		if got := fmt.Sprint(c.Slots(at("s", "total"), 3)); got != "[70 20 0]" {
			t.Errorf("the largest contributions are %s", got)
		}
		who := func(cell int) (ids []uint64) {
			for _, x := range c.Largest(cell) {
				ids = append(ids, x.Who)
			}
			return ids
		}
		f := who(at("s", "b"))[0]
		if len(who(at("s", "b"))) != 1 || who(at("s", "total"))[0] != f || who(at("total", "b"))[0] != f ||
			who(at("s", "total"))[1] != who(at("s", "a"))[0] {
			t.Errorf("named %v: the contributors of s are not recognised", named)
		}
		shown := 1 // without names, the second largest of n,a may be one of the others, who can contribute as much
		if named {
			shown = 2
		}
		if !slices.Equal(who(at("n", "a"))[:shown], who(at("n", "total"))[:shown]) ||
			!slices.Equal(who(at("n", "a"))[:shown], who(at("total", "total"))[:shown]) ||
			who(at("n", "a"))[0] == who(at("n", "a"))[1] || slices.Contains(who(at("n", "a")), f) {
			t.Errorf("named %v: the contributors of n are not recognised", named)
		}
		if few := c.Few(at("s", "total")); len(few) != 2 || few[0] != f || c.Few(at("n", "a")) != nil ||
			c.Few(at("n", "b")) != nil || len(c.Few(at("s", "b"))) != 1 {
			t.Errorf("the few contributors of s are %v, of n,a %v", few, c.Few(at("n", "a")))
		}
	}
}

// Contributions that others can have too recognise nobody: two firms of 7, or one that may be hidden behind the largest
// ones.
func TestGivenContributorsAreNotMistaken(t *testing.T) {
	set := givenSet(t)
	cells := givenCells()
	for name, c := range map[string]Given{ // s,a becomes a firm of 7 as well
		"total,total": {Value: 41.5, Count: 6, Largest: []float64{10, 9}},
		"total,a":     {Value: 34.5, Count: 5, Largest: []float64{10, 9}},
		"s,total":     {Value: 14, Count: 2, Largest: []float64{7, 7}}, "s,a": {Value: 7, Count: 1, Largest: []float64{7, 0}},
	} {
		cells[name] = c
	}
	c, wrong := given2(t, set, false, cells)
	if wrong != "" {
		t.Fatal(wrong)
	}
	who := func(r, s string, i int) uint64 {
		cell, err := set.At(0, r, s)
		if err != nil {
			t.Fatal(err)
		}
		return c.Largest(cell)[i].Who
	}
	if a, b := who("s", "a", 0), who("s", "b", 0); a == b {
		t.Error("two firms became one")
	}
	if who("total", "b", 0) != who("s", "b", 0) {
		t.Error("the only firm of b is not that of its only part")
	}

	// In n,a are 10, 9 and others of up to 9; that of 9 in the total may be another one.
	cells = givenCells()
	cells["total,total"] = Given{Value: 38.5, Count: 6, Largest: []float64{10, 9}}
	cells["total,a"] = Given{Value: 29.5, Count: 5, Largest: []float64{10, 9}}
	cells["total,b"] = Given{Value: 9, Count: 1, Largest: []float64{9, 0}}
	cells["s,b"] = Given{Value: 9, Count: 1, Largest: []float64{9, 0}}
	cells["s,total"] = Given{Value: 11, Count: 2, Largest: []float64{9, 2}}
	if c, wrong = given2(t, set, false, cells); wrong != "" {
		t.Fatal(wrong)
	}
	if who("total", "total", 1) == who("n", "a", 1) || who("total", "total", 1) == who("s", "b", 0) {
		t.Error("one of two firms of the same contribution was recognised in the total")
	}
	if who("total", "total", 0) != who("n", "a", 0) {
		t.Error("the largest firm is not recognised in the total")
	}
}

// Where one contribution is given of several, another contributor may have as much.
func TestGivenContributorsBehindTheLargest(t *testing.T) {
	set := givenSet(t)
	var list []Given
	for name, c := range givenCells() {
		c.Cell, _ = set.At(0, strings.Split(name, ",")...)
		c.Largest = c.Largest[:1]
		if name == "n,a" || name == "n,total" || strings.HasPrefix(name, "total,") && name != "total,b" {
			c.Largest = []float64{10}
		}
		list = append(list, c)
	}
	c, ps := FromGiven(set, GivenOptions{Decimals: 1, Largest: 1, Identities: 1}, list)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if a, b := c.Largest(0)[0].Who, c.Largest(3)[0].Who; a == b {
		t.Error("one of several contributors of at most 10 was recognised")
	}
}

// What contradicts itself is named by its cell, without values.
func TestContradictoryGivenCells(t *testing.T) {
	set := givenSet(t)
	none := math.NaN()
	cell := func(v, n float64, largest ...float64) Given {
		return Given{Value: v, Count: n, Largest: largest, Who: []string{"A", "B"}}
	}
	for _, c := range []struct {
		at   string
		cell Given
		want string
	}{
		{"s,a", cell(2, 1.5, 2, none), "r=s, s=a: must have a whole number of contributors"},
		{"s,a", cell(2, -1, 2, none), "r=s, s=a: must have a whole number of contributors"},
		{"s,a", cell(2, none, 2, none), "r=s, s=a: must have a whole number of contributors"},
		{"s,a", cell(none, 1, 2, none), "r=s, s=a: must have a value"},
		{"s,a", cell(-2, 1, 2, none), "r=s, s=a: must not have a negative value"},
		{"s,a", cell(2e15, 1, 2, none), "r=s, s=a: has a value that is too large"},
		{"s,a", cell(2, 0, none, none), "r=s, s=a: has a value, and no contributor"},
		{"s,a", cell(2, 1, 2, 1), "r=s, s=a: has more contributions than contributors"},
		{"s,a", cell(2, 1, none, none), "r=s, s=a: must have its 1 largest contributions"},
		{"n,a", cell(27.5, 4, 10, none), "r=n, s=a: must have its 2 largest contributions"},
		{"n,a", cell(27.5, 4, 10, -1), "r=n, s=a: must not have a negative contribution"},
		{"n,a", cell(27.5, 4, 9, 10), "r=n, s=a: must have its largest contributions in descending order"},
		{"n,a", cell(27.5, 4, 20, 9), "r=n, s=a: has largest contributions that are more than its value"},
		{"s,a", cell(2, 1, 1, none), "r=s, s=a: has contributions that are not its value, and no other contributor"},
		{"n,a", cell(27.5, 4, 10, 5), "r=n, s=a: has other contributors who would have to contribute more"},
		{"s,a", cell(3, 1, 3, none), "r=total, s=a: is not the sum of its parts from r=n, s=a on"},
		{"s,total", cell(9, 3, 7, 1.5), "r=s, s=total: has more contributors than its parts from r=s, s=a on have"},
		{"s,total", cell(9, 0, none, none), "r=s, s=total: has a value, and no contributor"},
		{"total,total", cell(36.5, 4, 10, 9),
			"r=total, s=total: has more contributors than its parts from r=total, s=a on have, or fewer than one of them"},
		{"n,total", cell(27.5, 4, 9.5, 9.5),
			"r=n, s=total: has a largest contribution that those of its parts from r=n, s=a on contradict"},
		{"n,total", cell(27.5, 4, 10, 8.5), "r=n, s=total: has other largest contributions than its parts from r=n, s=a on"},
		{"n,total", cell(27.5, 4, 11, 8.5), "r=n, s=total: has a largest contribution that those"},
		{"n,a", Given{Value: 27.5, Count: 4, Largest: []float64{10, 9}, Who: []string{"A", ""}},
			"r=n, s=a: must have the names of its 2 largest contributors"},
		{"n,a", Given{Value: 27.5, Count: 4, Largest: []float64{10, 9}, Who: []string{"A", "A"}},
			"r=n, s=a: must not name a contributor twice"},
		{"s,b", cell(7, 1, 7, none), "r=total, s=b: has another contributor than its part r=s, s=b"},
	} {
		cells := givenCells()
		cells[c.at] = c.cell
		if c.at == "n,total" && c.cell.Largest[0] == 9.5 {
			cells["total,total"] = cell(36.5, 6, 9.5, 9.5)
		}
		_, wrong := given2(t, set, true, cells)
		if !strings.Contains(wrong, c.want) {
			t.Errorf("%s: %+v: problems %q, want %q", c.at, c.cell, wrong, c.want)
		}
		for _, digits := range []string{"36", "29", "27", "10", "9.", "7", "2e", "1.5"} {
			if strings.Contains(wrong, digits) {
				t.Errorf("%s: the problems have a value: %s", c.at, wrong)
			}
		}
	}
	cells := givenCells()
	delete(cells, "total,b")
	if _, wrong := given2(t, set, true, cells); !strings.Contains(wrong, "r=total, s=b: is not the sum") {
		t.Errorf("a total that is not there: %s", wrong)
	}
	a, err := set.At(0, "s", "a")
	if err != nil {
		t.Fatal(err)
	}
	for again, want := range map[float64]string{2: "", 1: "r=s, s=a: is there twice, and not the same"} {
		var list []Given
		for name, c := range givenCells() {
			c.Cell, _ = set.At(0, strings.Split(name, ",")...)
			list = append(list, c)
		}
		list = append(list, Given{Cell: a, Value: 2, Count: 1, Largest: []float64{again, none}, Who: []string{"E", ""}})
		_, ps := FromGiven(set, GivenOptions{Decimals: 1, Largest: 2, Named: true, Identities: 2}, list)
		if want == "" && len(ps) > 0 || want != "" && (len(ps) != 1 || !strings.Contains(ps[0].Error(), want)) {
			t.Errorf("twice with %v: %v", again, ps)
		}
	}
}

// Contributions with more decimals than the table are rounded; sums of them may then differ by half a unit for each,
// and no more. Those that need no rounding must fit exactly.
func TestRoundedGivenCells(t *testing.T) {
	set := givenSet(t)
	for _, c := range []struct {
		value, first float64
		fine         bool
	}{
		{6.6, 3.3, true}, {6.7, 3.3, false}, {6.5, 3.3, false},
		{6.7, 3.34, true}, {6.5, 3.26, true}, {6.8, 3.34, false}, {6.4, 3.26, false}, // 3.34 and 3.26 become 33 units
	} {
		cells := map[string]Given{}
		for _, name := range []string{"total,total", "total,a", "n,total", "n,a"} {
			cells[name] = Given{Value: c.value, Count: 2, Largest: []float64{c.first, c.first}}
		}
		if _, wrong := given2(t, set, false, cells); (wrong == "") != c.fine {
			t.Errorf("%+v: %s", c, wrong)
		}
	}
}

// A holding in both parts of a total contributes to it what it contributes to both, and no more.
func TestGivenHoldings(t *testing.T) {
	set := givenSet(t)
	none := math.NaN()
	for total, want := range map[float64]string{12: "", 12.1: "r=s, s=total: has a largest contribution that those"} {
		cells := map[string]Given{
			"total,total": {Value: 12 + 5, Count: 3, Largest: []float64{12, 4}},
			"total,a":     {Value: 11, Count: 2, Largest: []float64{8, 3}},
			"total,b":     {Value: 6, Count: 2, Largest: []float64{4, 2}},
			"n,total":     {Value: 3, Count: 1, Largest: []float64{3, none}},
			"n,a":         {Value: 3, Count: 1, Largest: []float64{3, none}},
			"s,total":     {Value: 14, Count: 2, Largest: []float64{total, 14 - total}},
			"s,a":         {Value: 8, Count: 1, Largest: []float64{8, none}},
			"s,b":         {Value: 6, Count: 2, Largest: []float64{4, 2}},
		}
		cells["total,total"] = Given{Value: 17, Count: 3, Largest: []float64{total, 3}}
		c, wrong := given2(t, set, false, cells)
		if (wrong == "") != (want == "") || !strings.Contains(wrong, want) {
			t.Errorf("%v: %s, want %q", total, wrong, want)
		}
		if c == nil {
			continue
		}
		sTotal, _ := set.At(0, "s", "total")
		sA, _ := set.At(0, "s", "a")
		if c.Largest(sTotal)[0].Who == c.Largest(sA)[0].Who {
			t.Error("somebody is recognised where contributors are in several parts")
		}
	}
}

// Counts have names of the contributors of cells that have no more than are named.
func TestGivenCounts(t *testing.T) {
	set := givenSet(t)
	at := func(names ...string) int {
		cell, err := set.At(0, names...)
		if err != nil {
			t.Fatal(err)
		}
		return cell
	}
	count := func(r, s string, n float64, who ...string) Given {
		return Given{Cell: at(r, s), Count: n, Who: append(who, make([]string, 2-len(who))...)}
	}
	list := []Given{
		count("total", "total", 4), count("total", "a", 3), count("total", "b", 1, "D"), count("n", "total", 2, "B", "A"),
		count("n", "a", 2, "A", "B"),
		count("s", "total", 2, "C", "D"), count("s", "a", 1, "C"), count("s", "b", 1, "D"),
	}
	c, ps := FromGiven(set, GivenOptions{Counts: true, Named: true, Most: 3, Identities: 2}, list)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if !c.Counts || fmt.Sprint(c.Value) != "[4 3 1 2 2 0 2 1 1]" || len(c.Largest(at("total", "total"))) != 3 ||
		c.Largest(at("s", "b"))[0].Value != 1 {
		t.Errorf("values %v, largest %v", c.Value, c.Largest(at("total", "total")))
	}
	if !slices.Equal(c.Few(at("s", "b")), c.Few(at("total", "b"))) || c.Few(at("total", "total")) != nil ||
		len(c.Few(at("n", "a"))) != 2 || c.Few(at("s", "a"))[0] != IdentityOf("C") {
		t.Errorf("identities %v", c.Few(at("s", "b")))
	}
	list[0].Count = 5
	if _, ps := FromGiven(set, GivenOptions{Counts: true, Most: 3, Identities: 1}, list); len(ps) == 0 ||
		!strings.Contains(ps[0].Error(), "is not the sum") {
		t.Errorf("counts that do not add up: %v", ps)
	}
}
