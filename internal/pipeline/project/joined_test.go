package project

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// TestJoinedKIsThatOfBruteForce: persons with their household's record and all of their visits, in any order of tables
// and keys.
func TestJoinedKIsThatOfBruteForce(t *testing.T) {
	seen := map[int]bool{}
	for seed := range uint64(8) {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(seed, 1)))
		if seed%2 == 1 { // the order of tables and keys does not matter
			c.project = strings.Replace(c.project, "  visits:     {config: DIR/visits.yaml}\n", "", 1)
			c.project = strings.Replace(c.project, "keys:\n", "  visits: {config: DIR/visits.yaml}\nkeys:\n", 1)
			c.project = strings.Replace(c.project, "  - {table: visits, column: pid, of: persons}\n", "", 1)
			c.project = strings.Replace(c.project, "person: persons",
				"  - {table: visits, column: pid, of: persons}\nperson: persons", 1)
		}
		if seed >= 3 {
			c.tables["visits"] += "sink: {csv: {path: DIR/out/release/visits.csv}, order: shuffled}\n"
		}
		result, err := c.run()
		if err != nil {
			t.Fatal(err)
		}
		least, unique, found, persons := c.joinedK()
		p := result.Report.Persons
		if p == nil || p.Persons != persons || int(p.MinFrequency) != least || p.Uniques != unique || p.Found < found-1e-9 ||
			p.Found > found+1e-9 {
			t.Fatalf("seed %d: %+v (%s), want k %d, %d unique, %v found of %d", seed, p, result.Report.Unmeasured, least, unique,
				found, persons)
		}
		if result.Refused() != (least < 2) {
			t.Errorf("seed %d: k is %d, and withheld %v", seed, least, result.Refused())
		}
		seen[unique] = true
	}
	if len(seen) < 3 {
		t.Errorf("the tables are too much alike: %v unique persons", seen)
	}
}

// TestOnePersonOneRecord: several records of one person are refused in the table of the persons, whatever tells that
// they are hers; k would count her own records for those of others.
func TestOnePersonOneRecord(t *testing.T) {
	const same = "pid,hid,sex,age\nP1,H1,f,30\nP2,H2,f,31\nP1,H1,f,32\nP3,H3,f,33\n"
	two := func(c *care) { // persons and their households alone: no key refers to persons
		delete(c.tables, "visits")
		c.project = strings.Replace(strings.Replace(c.project, "  visits:     {config: DIR/visits.yaml}\n", "", 1),
			"  - {table: visits, column: pid, of: persons}\n", "", 1)
	}
	for name, x := range map[string]struct {
		change func(*care)
		want   string
	}{
		"a key refers to it": {func(*care) {
		}, `keys[0]: must refer to one record, and several of "persons" have the same value of "pid"`},
		"identity": {two, "person: must have one record for each person"},
		"pseudonym": {func(c *care) {
			two(c)
			c.tables["persons"] = strings.Replace(c.tables["persons"], "[pid]\n", "[pid, age]\n", 1)
		}, `several released ones have the same value of "pid"`},
		"nothing tells it": {func(c *care) {
			two(c)
			c.tables["persons"] =
				"columns: {pid: {role: identifier}, hid: {role: other}, sex: {role: key}, age: {role: key}}\nmasks: [{pseudonym: {columns: [hid], scope: household}}]\n"
		}, "person: must be a table that keys refer to"},
		"identity, no key": {func(c *care) {
			two(c)
			c.tables["persons"] =
				"identity: [pid]\ncolumns: {pid: {role: identifier}, hid: {role: other}, sex: {role: key}, age: {role: key}}\nmasks: [{pseudonym: {columns: [hid], scope: household}}]\n"
		}, "several released ones have one identity (pid)"},
	} {
		c := newCare(t)
		x.change(c)
		c.pair()
		c.write("persons.csv", same)
		p, err := c.parse()
		if err == nil {
			_, err = Run(t.Context(), p, pipeline.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
		if left := c.tree(); len(left) > 0 {
			t.Errorf("%s: there is %v", name, left)
		}
	}
}

// TestKeysThatAreDrawn: a key that noise or PRAM changes is not counted, and no rule holds, in whichever table it is.
func TestKeysThatAreDrawn(t *testing.T) {
	for name, mask := range map[string]string{
		"persons":    "  - pram: {columns: [sex], categories: [f, m], keep: 0.8}\n",
		"visits":     "masks: [{pseudonym: {columns: [pid], scope: person}}, {pram: {columns: [kind], categories: [a, b], keep: 0.8}}]\n",
		"households": "masks: [{pseudonym: {columns: [hid], scope: household}}, {pram: {columns: [region], categories: [n, s], keep: 0.8}}]\n",
	} {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(3, 3)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
		if at := strings.Index(c.tables[name], "masks: ["); at >= 0 {
			c.tables[name] = c.tables[name][:at]
		}
		c.tables[name] += mask
		result, err := c.run()
		if err != nil || !result.Refused() || !strings.Contains(result.Report.Unmeasured, `table "`+name+`": `) ||
			result.Report.Persons != nil {
			t.Errorf("%s: %v, %+v", name, err, result)
		}
	}
}

// TestRecordsToWhichVisitsRefer: the hospital of a visit belongs to this visit, and that it has none is known too: by
// brute force.
func TestRecordsToWhichVisitsRefer(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 8))
		c := newCare(t)
		c.project = strings.Replace(c.project, "tables:\n", "tables:\n  hospitals: {config: DIR/hospitals.yaml}\n", 1)
		c.project = strings.Replace(c.project, "keys:\n",
			"keys:\n  - {table: visits, column: hosp, of: hospitals, references: id, optional: true}\n", 1)
		c.project = strings.Replace(c.project, "  households: {config: DIR/households.yaml}\n", "", 1)
		c.project = strings.Replace(c.project, "  - {table: persons, column: hid, of: households}\n", "", 1)
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
		delete(c.tables, "households")
		c.tables["hospitals"] =
			"columns: {id: {role: other}, size: {role: key}}\nmasks: [{pseudonym: {columns: [id], scope: hospital}}]\n"
		c.tables["persons"] =
			"identity: [pid]\ncolumns: {pid: {role: other}, sex: {role: key}}\nmasks: [{pseudonym: {columns: [pid], scope: person}}]\n"
		c.tables["visits"] =
			"columns: {pid: {role: other}, hosp: {role: other}, kind: {role: key}}\nmasks: [{pseudonym: {columns: [pid], scope: person}}, {pseudonym: {columns: [hosp], scope: hospital}}]\n" +
				"sink: {csv: {path: DIR/out/release/visits.csv}, order: shuffled}\n"
		c.write("hospitals.csv", "id,size\nA,big\nB,small\nC,big\n")
		size := map[string]string{"A": "big", "B": "small", "C": "big", "": "none"}
		persons, visits := "pid,sex\n", "pid,hosp,kind\n"
		whole := map[string]int{}
		for i := range 150 {
			sex := []string{"f", "m"}[rng.IntN(2)]
			persons += fmt.Sprintf("P%d,%s\n", i, sex)
			var list []string
			for range rng.IntN(3) {
				hosp, kind := []string{"A", "B", "C", ""}[rng.IntN(4)], []string{"a", "b"}[rng.IntN(2)]
				visits += fmt.Sprintf("P%d,%s,%s\n", i, hosp, kind)
				list = append(list, size[hosp]+kind)
			}
			slices.Sort(list)
			whole[fmt.Sprint(sex, list)]++
		}
		c.write("persons.csv", persons)
		c.write("visits.csv", visits)
		unique := 0
		for _, k := range whole {
			if k == 1 {
				unique++
			}
		}
		p := c.released().Persons
		if want := float64(len(whole)) / 150; p.Uniques != unique || p.Found < want-1e-9 || p.Found > want+1e-9 {
			t.Errorf("seed %d: %+v, want %d unique and %v found", seed, p, unique, want)
		}
	}
}

// TestHiddenCells: a cell that a mask hides contradicts nothing, and the snooper knows what it was: by brute force over
// all pairs of persons.
func TestHiddenCells(t *testing.T) {
	for seed := range uint64(3) {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(seed, 4)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
		c.tables["persons"] += "  - suppress: {keys: [sex, age], k: 40}\n"
		c.tables["visits"] += "sink: {csv: {path: DIR/out/release/visits.csv}, order: shuffled}\n"
		got := c.released().Persons
		region, kinds, members := map[string]string{}, map[string][]string{}, map[string]int{}
		for _, h := range c.records("households.csv") {
			region[h[0]] = h[1]
		}
		for _, v := range c.records("visits.csv") {
			kinds[v[1]] = append(kinds[v[1]], v[2])
		}
		persons, released := c.records("persons.csv"), c.records("out/release/persons.csv") // in the same order
		for _, p := range persons {
			members[p[1]]++
		}
		group := func(p []string) string { return map[bool]string{true: "[40,200]", false: "[0,40)"}[p[3] >= "40"] }
		hidden, found, unique := 0, 0.0, 0
		rest := func(p []string) string {
			list := slices.Sorted(slices.Values(kinds[p[0]]))
			return fmt.Sprint(region[p[1]], members[p[1]], list)
		}
		for _, p := range persons {
			k := 0
			for j, other := range persons {
				sex, age := released[j][2], released[j][3]
				if rest(p) == rest(other) && (sex == "" || sex == p[2]) && (age == "" || age == group(p)) {
					k++
				}
				if sex == "" || age == "" {
					hidden++
				}
			}
			found += 1 / float64(k) / float64(len(persons))
			if k == 1 {
				unique++
			}
		}
		if hidden == 0 || got.Uniques != unique || got.Found < found-1e-9 || got.Found > found+1e-9 {
			t.Errorf("seed %d: %+v, want %d unique and %v found, with %d hidden cells", seed, got, unique, found,
				hidden/len(persons))
		}
	}
}
