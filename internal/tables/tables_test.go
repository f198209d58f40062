package tables

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func edges(pairs ...string) Hierarchy {
	h := Hierarchy{}
	for i, p := range pairs {
		child, parent, _ := strings.Cut(p, "<")
		h.Edges = append(h.Edges, Edge{child, parent, i + 2})
	}
	return h
}

func withName(name string, h Hierarchy) Hierarchy {
	h.Name = name
	return h
}

func TestWhatIsWrongWithAHierarchyIsSaidAtOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		h    []Hierarchy
		want []string
	}{
		{"two parents", []Hierarchy{edges("a<A", "b<A", "a<B")}, []string{`[0]:4: code "a" has two parents, "A" and "B"`}},
		{"cycle", []Hierarchy{edges("a<b", "b<c", "c<a", "x<")}, []string{
			`code "a" is its own ancestor`, `code "b" is its own ancestor`, `code "c" is its own ancestor`}},
		{"below a cycle", []Hierarchy{edges("x<a", "a<a")}, []string{`code "x" is its own`, `code "a" is its own`}},
		{"empty", []Hierarchy{edges("<A", "a<A")}, []string{"[0]:2: a code is empty"}},
		{"total below", []Hierarchy{edges("total<A", "a<A")}, []string{`code "total" is the total of all`}},
		{"none", nil, []string{"at least one hierarchy"}},
		{"no code", []Hierarchy{{}}, []string{"at least one code"}},
		{"leaf and total", []Hierarchy{withName("nuts", edges("a<A", "b<A", "c<")), withName("zones", edges("A<Z", "c<Z"))},
			[]string{
				`zones: code "A" is a leaf in one hierarchy and a total in another`, `zones: leaf "a" of nuts is missing`,
				`zones: leaf "b" of nuts is missing`}},
		{"leaf missing", []Hierarchy{edges("a<A", "b<A"), edges("a<Z")}, []string{`[1]: leaf "b" of [0] is missing`}},
		{"leaf too many", []Hierarchy{edges("a<A"), edges("a<Z", "c<Z")}, []string{`[1]: leaf "c" is not in [0]`}},
		{"other leaves", []Hierarchy{edges("a<A", "b<A", "c<B", "d<B"), edges("a<A", "c<A", "b<B", "d<B")}, []string{
			`[1]: code "A" has other leaves`, `[1]: code "B" has other leaves`}},
	} {
		d, problems := NewDimension("v", "", c.h...)
		if d != nil {
			t.Errorf("%s: a dimension was made", c.name)
		}
		var all strings.Builder
		for _, p := range problems {
			all.WriteString(p.Error() + "\n")
		}
		for _, w := range c.want {
			if !strings.Contains(all.String(), w) {
				t.Errorf("%s: %q is missing in\n%s", c.name, w, &all)
			}
		}
	}
}

func TestHierarchiesAreReadFromEveryForm(t *testing.T) {
	want := Hierarchy{
		Name: "h", Edges: []Edge{{"A", "", 0}, {"A1", "A", 0}, {"A11", "A1", 0}, {"A2", "A", 0}, {"B", "", 0}}}
	bare := func(h Hierarchy) Hierarchy {
		for i := range h.Edges {
			h.Edges[i].Line = 0
		}
		return h
	}
	csv, err := ReadParents("h", strings.NewReader("child,parent\nA,\nA1 ,A\n\"A11\",A1\nA2,A\nB,\n"))
	if err != nil || !reflect.DeepEqual(bare(csv), want) {
		t.Errorf("CSV: %v (%v)", csv, err)
	}
	hrc, err := ReadHRC("h", strings.NewReader("A\r\n@A1\n@@A11 \n\n@A2\nB\n"), '@')
	if err != nil || !reflect.DeepEqual(bare(hrc), want) {
		t.Errorf("hrc: %v (%v)", hrc, err)
	}
	if levels := FromLevels("h", [][]string{{"A", "A1", "A11"}, {"A", "A2", "A2"}, {"A", "A2"}, {"B"}}); !reflect.
		DeepEqual(levels, want) {
		t.Errorf("levels: %v", levels)
	}
	prefixes, problems := FromPrefixes("h", []string{"0113", "0120", "ä1äh"}, []int{1, 2, 4})
	if len(problems) > 0 ||
		!reflect.DeepEqual(prefixes,
			FromLevels("h", [][]string{{"0", "01", "0113"}, {"0", "01", "0120"}, {"ä", "ä1", "ä1äh"}})) {
		t.Errorf("prefixes: %v (%v)", prefixes, problems)
	}
	for _, p := range []struct {
		codes   []string
		lengths []int
	}{{[]string{"011"}, []int{1, 2, 4}}, {[]string{"01"}, []int{2, 2}}, {[]string{"01"}, nil}} {
		if _, problems := FromPrefixes("h", p.codes, p.lengths); len(problems) == 0 {
			t.Errorf("%v with lengths %v: no problem", p.codes, p.lengths)
		}
	}
	// The codes of a column of identifiers are counted, not listed in the error.
	many := []string{"0113", "Miller", "Smithe", "Jo"}
	if _, problems := FromPrefixes("h", many, []int{2, 4}); len(problems) != 2 ||
		problems[0].Error() != "h: 1 codes of 2 characters: the last level has 4" ||
		problems[1].Error() != "h: 2 codes of 6 characters: the last level has 4" {
		t.Errorf("codes of other lengths: %v", problems)
	}
	for text, want := range map[string]string{"A\n@@B\n": `h:2: code "B" is 2 levels below a code of level 0`,
		"@A\n": "h:1", "A\n@\xff\n": "h:2: not valid UTF-8"} {
		if _, err := ReadHRC("h", strings.NewReader(text), '@'); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"child,parent\na,b,c\n", "child,parent\n\xff,\n", "child,parent\n\"a,\n"} {
		if _, err := ReadParents("h", strings.NewReader(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestDimensionOfTwoHierarchies(t *testing.T) {
	d,
		problems := NewDimension("region", "all", edges("a<N", "b<N", "c<S", "d<S"),
		edges("a<coast", "d<coast", "b<inland", "c<inland"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	sums := map[string]string{}
	for _, s := range d.Sums {
		var parts []string
		for _, p := range s.Parts {
			parts = append(parts, d.Codes[p])
		}
		slices.Sort(parts)
		key := d.Codes[s.Total]
		sums[key] += strings.Join(parts, "+") + ";"
	}
	want := map[string]string{"all": "N+S;coast+inland;", "N": "a+b;", "S": "c+d;", "coast": "a+d;", "inland": "b+c;"}
	if !reflect.DeepEqual(sums, want) {
		t.Errorf("sums %v, want %v", sums, want)
	}
	for code, depth := range map[string]int{"all": 0, "S": 1, "coast": 1, "d": 2} {
		if n, ok := d.Node(code); !ok || d.Depth(n) != depth || d.IsLeaf(n) != (depth == 2) {
			t.Errorf("%s: node %d (%v) of depth %d, leaf %v", code, n, ok, d.Depth(n), d.IsLeaf(n))
		}
	}
}

func flat(t *testing.T, name string, codes ...string) *Dimension {
	t.Helper()
	d, problems := NewDimension(name, "", Flat(name, codes))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

func TestLinkedTablesShareCells(t *testing.T) {
	a, b, c := flat(t, "a", "1", "2"), flat(t, "b", "1", "2", "3"), flat(t, "c", "x", "y")
	set, problems := NewSet(
		Table{Name: "ab", Dimensions: []*Dimension{a, b}}, Table{Name: "bc", Dimensions: []*Dimension{b, c}},
		Table{Name: "ba", Dimensions: []*Dimension{b, a}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	// ab has 3·4 cells; bc has 4·3, but the 4 without c are cells of ab; ba adds none.
	if set.Cells() != 12+8 {
		t.Errorf("%d cells, want 20", set.Cells())
	}
	// ab has 4+3 sums; bc has 3+4, but the total of b is a sum of ab; ba adds none.
	if set.Sums() != 7+6 {
		t.Errorf("%d sums, want 13", set.Sums())
	}
	x, _ := set.At(0, "total", "2")
	y, _ := set.At(1, "2", "total")
	z, _ := set.At(2, "2", "total")
	if x != y || y != z {
		t.Errorf("b=2 is cell %d, %d and %d", x, y, z)
	}
	if _, err := set.At(0, "1", "4"); err == nil || !strings.Contains(err.Error(), `no code "4"`) {
		t.Errorf("code 4: %v", err)
	}
	if _, err := set.At(0, "1"); err == nil {
		t.Error("one code of two was accepted")
	}
	last, _ := set.At(1, "3", "y")
	if got := set.Name(last); got != "b=3, c=y" {
		t.Errorf("name %q", got)
	}
	homes := 0
	for i, table := range set.Tables {
		for at := range table.size() {
			if set.IsHome(i, at) {
				homes++
			}
		}
	}
	if homes != set.Cells() {
		t.Errorf("%d homes of %d cells", homes, set.Cells())
	}
}

// Codes whose concatenations are equal are different cells.
func TestCellsOfUnluckyNamesStayApart(t *testing.T) {
	a := flat(t, "a", "1|1:b=1:1", "2")
	b := flat(t, "b", "1", "2")
	set,
		problems := NewSet(Table{Name: "a", Dimensions: []*Dimension{a}},
		Table{Name: "ab", Dimensions: []*Dimension{flat(t, "a", "1|1:b=1:1", "2"), b}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if set.Cells() != 9 {
		t.Errorf("%d cells, want 9", set.Cells())
	}
}

func TestTablesThatDoNotGoTogether(t *testing.T) {
	d := flat(t, "a", "1", "2")
	group, _ := NewDimension("a", "", edges("1<g", "2<g"))
	other, _ := NewDimension("a", "", edges("1<g", "2<"))
	for name, tables := range map[string][]Table{
		"other leaves": {{Name: "x", Dimensions: []*Dimension{d}},
			{Name: "y", Dimensions: []*Dimension{flat(t, "a", "1", "3")}}},
		"other group": {{Name: "x", Dimensions: []*Dimension{group}}, {Name: "y", Dimensions: []*Dimension{other}}},
		"twice":       {{Name: "x", Dimensions: []*Dimension{d, d}}},
		"none":        nil,
	} {
		if set, problems := NewSet(tables...); set != nil || len(problems) == 0 {
			t.Errorf("%s: no problem", name)
		}
	}
	var wide []*Dimension
	for _, n := range "abcdefghijk" {
		wide = append(wide, flat(t, string(n), strings.Split("0123456789", "")...))
	}
	if _, problems := NewSet(Table{Name: "w", Dimensions: wide}); len(problems) != 1 ||
		!strings.Contains(problems[0].Text, "more than") {
		t.Errorf("11^11 cells: %v", problems)
	}
}

// Every sum of a set of any hierarchies holds for cells that are sums of random leaves,
// and a single value that is wrong by one is reported by each of its sums.
func TestSumsHoldForWhatIsAddedUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	x,
		_ := NewDimension("x", "", edges("a<N", "b<N", "c<S", "d<S", "e<S1", "S1<S"),
		edges("a<u", "c<u", "e<u", "b<v", "d<v"))
	y, _ := NewDimension("y", "", edges("p<P", "q<P", "r<"))
	set,
		problems := NewSet(Table{Name: "xy", Dimensions: []*Dimension{x, y}},
		Table{Name: "yz", Dimensions: []*Dimension{y, flat(t, "z", "1", "2")}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var leaves [5][3][2]float64
	for i := range leaves {
		for j := range leaves[i] {
			leaves[i][j] = [2]float64{float64(rng.IntN(9)), float64(rng.IntN(9))}
		}
	}
	values := make([]float64, set.Cells())
	for cell := range values {
		table, nodes := set.Home(cell)
		pick := map[string][]string{"x": {"a", "b", "c", "d", "e"}, "y": {"p", "q", "r"}, "z": {"1", "2"}}
		for k, n := range nodes {
			pick[set.Tables[table].Dimensions[k].Name] = set.Tables[table].Dimensions[k].leafCodes(n)
		}
		for i, a := range []string{"a", "b", "c", "d", "e"} {
			for j, b := range []string{"p", "q", "r"} {
				for k, c := range []string{"1", "2"} {
					if slices.Contains(pick["x"], a) && slices.Contains(pick["y"], b) && slices.Contains(pick["z"], c) {
						values[cell] += leaves[i][j][k]
					}
				}
			}
		}
	}
	if p := set.CheckSums(values, 0); len(p) > 0 {
		t.Fatal(p)
	}
	for cell := range values {
		in := 0
		for i := range set.Sums() {
			s := set.Sum(i)
			if s.Total == int32(cell) || slices.Contains(s.Parts, int32(cell)) {
				in++
			}
		}
		values[cell]++
		if p := set.CheckSums(values, 0.5); len(p) != in || in == 0 {
			t.Errorf("%s off by one: %d problems, it is in %d sums", set.Name(cell), len(p), in)
		}
		if p := set.CheckSums(values, 1); len(p) > 0 {
			t.Errorf("%s off by one with tolerance 1: %v", set.Name(cell), p)
		}
		values[cell]--
	}
	values[3] = math.NaN()
	if p := set.CheckSums(values, 1e9); len(p) == 0 {
		t.Error("a value that is no number adds up")
	}
	if p := set.CheckSums(values[1:], 0); len(p) != 1 {
		t.Errorf("one value short: %v", p)
	}
}

func TestSlotsOfWeightedContributions(t *testing.T) {
	set, _ := NewSet(Table{Name: "t", Dimensions: []*Dimension{flat(t, "a", "1")}})
	c := NewCells(set, 0, 3)
	for _, x := range []Contribution{{Value: 10, Weight: 1}, {Value: 50, Weight: 2.5}, {Value: 20, Weight: 1.5},
		{Value: 20, Weight: 1}, {Value: 1, Weight: 9}} {
		c.Keep(1, x)
	}
	// 50 fills two slots and half of the third, 20 (1.5) the other half and the fourth.
	if got, want := c.Slots(1, 5), []float64{50, 50, 35, 20, 20}; !reflect.DeepEqual(got, want) {
		t.Errorf("slots %v, want %v", got, want)
	}
	if got := c.Slots(0, 2); got[0] != 0 || got[1] != 0 || len(c.Largest(0)) != 0 {
		t.Errorf("slots of an empty cell: %v", got)
	}
}

func FuzzHierarchies(f *testing.F) {
	f.Add("A\n@A1\n@A2\nB\n", "child,parent\na,A\nb,A\n")
	f.Add("@x", "child,parent\na,a\n")
	f.Fuzz(func(t *testing.T, hrc, csv string) {
		a, errA := ReadHRC("a", strings.NewReader(hrc), '@')
		b, errB := ReadParents("b", strings.NewReader(csv))
		for _, hs := range [][]Hierarchy{{a}, {b}, {a, b}} {
			if errA != nil || errB != nil {
				return
			}
			d, problems := NewDimension("v", "", hs...)
			if (d == nil) != (len(problems) > 0) {
				t.Fatalf("dimension %v with problems %v", d, problems)
			}
			if d == nil {
				continue
			}
			for _, s := range d.Sums { // each sum is a partition of the leaves of its total
				var parts []int32
				for _, p := range s.Parts {
					parts = append(parts, d.Leaves(int(p))...)
				}
				slices.Sort(parts)
				if !slices.Equal(parts, d.Leaves(int(s.Total))) {
					t.Fatalf("%q is not the sum of its parts", d.Codes[s.Total])
				}
			}
		}
	})
}

// Contributors are known by identity: who is alone in a leaf, in its level and in a cell of another set
// is one knower, in whatever order the contributors came; those of a cell with two know it together.
func TestKnowersByIdentity(t *testing.T) {
	h, _ := NewDimension("h", "", edges("a<A", "b<A", "c<B", "d<B"))
	set, _ := NewSet(Table{Name: "t", Dimensions: []*Dimension{h}})
	other, _ := NewSet(Table{Name: "u", Dimensions: []*Dimension{h}})
	var first *Knowers
	for _, order := range [][]uint64{{70, 80, 90}, {90, 70, 80}, {80, 90, 70}} {
		c, o := NewCells(set, 0, 0), NewCells(other, 0, 0)
		c.Identify(2)
		o.Identify(2)
		for _, who := range order {
			for _, code := range map[uint64][]string{70: {"total", "A", "a"}, 80: {"total", "B", "c"},
				90: {"total", "B", "d"}}[who] {
				at, _ := h.Node(code)
				c.Contribute(at, 1, []uint64{who})
			}
			if at, _ := h.Node("b"); who == 70 {
				o.Contribute(at, 1, []uint64{who})
			}
		}
		k := NewKnowers(2, c, o)
		node := func(code string) int32 { n, _ := h.Node(code); return int32(n) }
		there := int32(set.Cells()) + node("b")
		one, two := k.Of(node("a")), k.Of(node("B"))
		if len(one) != 1 || !slices.Equal(one, k.Of(node("A"))) || !slices.Equal(one, k.Of(there)) ||
			len(k.Of(node("b"))) > 0 || len(k.Of(node("total"))) > 0 {
			t.Fatalf("knowers %+v of %v", k, h.Codes)
		}
		if !slices.Equal(two, slices.Sorted(slices.Values(slices.Concat(k.Of(node("c")), k.Of(node("d")))))) ||
			len(two) != 2 {
			t.Fatalf("knowers %v of a cell with two contributors", two)
		}
		known := []int32{node("B"), node("c"), node("d")}
		slices.Sort(known)
		if !slices.Equal(k.KnownTo(two), known) || !k.Knows(two, node("B")) || k.Knows(two[:1], node("B")) ||
			k.Knows(nil, node("c")) || k.Knows(two, node("b")) {
			t.Fatalf("%v know %v", two, k.KnownTo(two))
		}
		if got := k.Joined(k.Of(node("c")), node("B")); !slices.Equal(got, two) || k.Joined(two, node("c")) != nil ||
			k.Joined(two, node("a")) != nil || !slices.Equal(k.Joined(nil, node("B")), two) {
			t.Fatalf("joined %v", got)
		}
		if got := k.AllJoined(nil, node("B")); len(got) != 1 || !slices.Equal(got[0], two) ||
			k.AllJoined(two, node("c")) != nil || k.AllJoined(nil, node("b")) != nil {
			t.Fatalf("all joined %v", got)
		}
		if len(k.Sets()) != 4 {
			t.Fatalf("sets %v", k.Sets())
		}
		if alone := SoleContributors(c); alone[node("A")] != alone[node("a")] || alone[node("A")] < 0 ||
			alone[node("c")] == alone[node("d")] || alone[node("B")] != -1 || alone[node("b")] != -1 ||
			alone[node("total")] != -1 {
			t.Fatalf("sole contributors %v", alone)
		}
		if first == nil {
			first = k
		}
		if !reflect.DeepEqual(k, first) {
			t.Errorf("in another order the knowers are %+v, not %+v", k, first)
		}
	}
	var nobody *Knowers
	if nobody.Of(0) != nil || nobody.Knows([]int32{1}, 0) || nobody.Sets() != nil {
		t.Error("nobody knows something")
	}
}

// Of a cell of five contributors the three largest are known by name, and each of the others can have as much as the
// third. Coalitions are misled if more than the value that a table shows is their own.
func TestOwnPartsOfCells(t *testing.T) {
	set, _ := NewSet(Table{Name: "t", Dimensions: []*Dimension{flat(t, "a", "1", "2")}})
	c := NewCells(set, 0, 3)
	c.Identify(3)
	for cell, parts := range []map[uint64]float64{{1: 40, 2: 39, 3: 21, 4: 15, 5: 5}, {1: 40, 2: 30, 3: 20, 4: 15, 5: 5},
		{2: 9, 3: 1}} {
		for id, x := range parts {
			c.Contribute(cell, 1, []uint64{id})
			c.Value[cell] += x
			c.Keep(cell, Contribution{Value: x, Weight: 1, Who: id})
		}
	}
	of := func(k *Knowers, value float64) (list [][]float64) { // the parts of the cell, of each coalition
		for _, who := range k.Misled(nil, 1, value) {
			var parts []float64
			for _, w := range who {
				parts = append(parts, k.Part([]int32{w}, 1))
			}
			slices.Sort(parts)
			list = append(list, parts)
		}
		slices.SortFunc(list, slices.Compare[[]float64])
		return list
	}
	one, two := NewKnowers(1, c), NewKnowers(2, c)
	if got := one.Rest(); got[1] != 20 || got[2] != 0 {
		t.Errorf("the others have at most %v, want 20 of the first cell and 0 of the second", got)
	}
	if got := two.Rest(); got[1] != 40 {
		t.Errorf("two others have at most %v of the first cell, want 40", got[1])
	}
	for _, x := range []struct {
		k     *Knowers
		value float64
		want  string
	}{
		{one, 40, "[]"}, {one, 39, "[[40]]"}, {one, 25, "[[30] [40]]"}, {two, 45, "[[20 30] [20 40] [30 40]]"},
		{two, 65, "[[30 40]]"}, {two, 35, "[[20 30] [40]]"},
	} {
		if got := fmt.Sprint(of(x.k, x.value)); got != x.want {
			t.Errorf("coalitions of %d: misled by a value of %v are those with %v, want %v", x.k.Coalition, x.value, got, x.want)
		}
	}
	for _, parts := range one.parts {
		if !slices.IsSortedFunc(parts, func(a, b Own) int { return int(a.Of - b.Of) }) {
			t.Error("the parts of a contributor are not in the order of cells")
		}
	}
	before := one.Part([]int32{0}, 1)
	if one.Scale(0, 3, 10); one.Part([]int32{0}, 1) != 10*before || one.Rest()[1] != 200 {
		t.Errorf("ten times as many units: %v and %v", one.Part([]int32{0}, 1), one.Rest()[1])
	}
	c.Negative = make([]int64, 3)
	if k := NewKnowers(1, c); len(k.Misled(nil, 1, 0)) > 0 || k.Rest()[1] != 0 {
		t.Error("of a value with negative contributions own parts tell something")
	}
}

// Who knows a cell from elsewhere knows it as its contributors do; who knows it closely must only not compute it.
func TestKnowersFromElsewhere(t *testing.T) {
	k := Alone([]int32{0, 1, 2, -1, -1})
	k.Coalition = 2
	k.Tell([]int32{0, 1}, 3)
	k.Tell([]int32{2}, 3)
	k.Tell([]int32{1}, 1) // her own
	if k.Knows([]int32{0}, 3) || k.Knows([]int32{1}, 3) || !k.Knows([]int32{0, 1}, 3) || !k.Knows([]int32{2}, 3) ||
		!k.Knows([]int32{1, 2}, 3) || k.Knows([]int32{2}, 4) || k.Knows(nil, 3) {
		t.Errorf("the wrong coalitions know the cell: %+v", k)
	}
	for _, c := range []struct{ who, cells []int32 }{{[]int32{0}, []int32{0}}, {[]int32{1}, []int32{1}},
		{[]int32{2}, []int32{2, 3}}, {[]int32{0, 1}, []int32{0, 1, 3}}, {[]int32{1, 2}, []int32{1, 2, 3}}} {
		if got := k.KnownTo(c.who); !slices.Equal(got, c.cells) {
			t.Errorf("%v know %v, want %v", c.who, got, c.cells)
		}
	}
	if got := k.KnownBy(3); !reflect.DeepEqual(got, [][]int32{{0, 1}, {2}}) {
		t.Errorf("known by %v", got)
	}
	if got := k.KnownBy(1); !reflect.DeepEqual(got, [][]int32{{1}}) {
		t.Errorf("her own cell is known by %v", got)
	}
	if got := k.AllJoined([]int32{1}, 3); !reflect.DeepEqual(got, [][]int32{{0, 1}, {1, 2}}) {
		t.Errorf("joined %v", got)
	}
	if got := k.AllJoined([]int32{1, 2}, 3); got != nil {
		t.Errorf("who know it are joined with %v", got)
	}
	if got := k.Sets(); !reflect.DeepEqual(got, [][]int32{{0}, {0, 1}, {1}, {2}}) {
		t.Errorf("sets %v", got)
	}
	k.Spare([]int32{1}, 4)
	for _, c := range []struct {
		who          []int32
		amount, want float64
	}{{[]int32{1}, 7, 1}, {[]int32{0, 1}, -7, -1}, {[]int32{1}, 0.5, 0.5}, {[]int32{0}, 7, 7}, {nil, -7, -7}} {
		if got := k.Spared(c.who, 4, c.amount); got != c.want {
			t.Errorf("%v must not know the cell within %v, want %v of %v", c.who, got, c.want, c.amount)
		}
	}
	if got := k.Spared([]int32{1}, 3, 7); got != 7 {
		t.Errorf("spared of another cell: %v", got)
	}
}
