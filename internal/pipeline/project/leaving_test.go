package project

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// TestRecordsLeaveWithTheirs: a record without a parent in the source, or whose parent is in quarantine or not drawn,
// leaves; so does the household of which no person is released. No record of the release refers to one that is not
// there.
func TestRecordsLeaveWithTheirs(t *testing.T) {
	for seed := range uint64(4) {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(seed, 2)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
		append := func(name, text string) {
			old, err := os.ReadFile(filepath.Join(c.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			c.write(name, string(old)+text)
		}
		// of nobody, without a person, of one without a household
		append("visits.csv", "9001,P9001,a\n9002,,b\n9003,P9002,a\n")
		append("persons.csv", "P9002,H9001,f,50\n")
		append("households.csv", "H9002,n\n") // of nobody
		c.tables["persons"] = strings.Replace(c.tables["persons"], "masks:\n", "masks:\n  - sample: {rate: 0.5}\n", 1)
		rep := c.released()
		persons, households := c.column("persons", 0), c.column("households", 0)
		for _, pid := range c.column("visits", 0) {
			if !slices.Contains(persons, pid) {
				t.Fatal("a visit of nobody")
			}
		}
		lived := map[string]bool{}
		for _, hid := range c.column("persons", 1) {
			lived[hid] = true
			if !slices.Contains(households, hid) {
				t.Fatal("a person without a household")
			}
		}
		for _, hid := range households {
			if !lived[hid] {
				t.Fatal("a household of nobody")
			}
		}
		left := map[string]Left{}
		for _, table := range rep.Tables {
			if !table.Records.Valid() || table.Records.Released == 0 {
				t.Errorf("%+v", table)
			}
			for _, l := range table.Left {
				left[table.Name+" "+l.Key] = l.Left
			}
		}
		visits, people, homes := left["visits visits.pid = persons.pid"], left["persons persons.hid = households.hid"],
			left["households persons.hid = households.hid"]
		if visits.Orphans != 1 || visits.Without != 1 || visits.With < 5 || people != (Left{Orphans: 1}) ||
			homes.Orphans != 1 || homes.With < 5 {
			t.Errorf("seed %d: %+v", seed, left)
		}
		if all := len(c.records("visits.csv")); rep.Tables[0].Name != "visits" ||
			int(rep.Tables[0].Records.LeftOut) != int(visits.Orphans+visits.With+visits.Without) ||
			int(rep.Tables[0].Records.Read) != all {
			t.Errorf("seed %d: %+v of %d", seed, rep.Tables[0], all)
		}
	}
}

// TestLeavingIsAsIfNeverThere: the release of tables with orphans is that of tables without them, to the byte, whatever
// masks decide by all records.
func TestLeavingIsAsIfNeverThere(t *testing.T) {
	racetest.Further(t)
	masks := `  - noise: {columns: [cost], sd: 20%}
  - topcode: {columns: [fee], upper_percentile: 90}
  - microaggregate: {columns: [weight], k: 3}
  - rankswap: {columns: [size], p: 5%}
  - suppress: {keys: [kind, ward], k: 3}
`
	var releases []string
	for _, with := range []bool{false, true} {
		c := newCare(t)
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
		c.tables["visits"] =
			"identity: [vid]\ncolumns: {vid: {role: identifier}, pid: {role: other}, kind: {role: key}, ward: {role: key}, cost: {role: sensitive, decimals: 2}, fee: {role: sensitive, decimals: 2}, weight: {role: sensitive, decimals: 2}, size: {role: sensitive, decimals: 2}}\n" +
				"masks:\n  - pseudonym: {columns: [pid], scope: person}\n" + masks
		rng := rand.New(rand.NewPCG(5, 6))
		c.some(rng)
		visits := "vid,pid,kind,ward,cost,fee,weight,size\n"
		for i := range 400 {
			row := fmt.Sprintf("%d,P%d,%c,%d,%.2f,%.2f,%.2f,%.2f\n", i, 1+i%50, 'a'+rune(rng.IntN(3)), rng.IntN(9),
				100*rng.ExpFloat64(), 50*rng.ExpFloat64(), 9*rng.ExpFloat64(), 70*rng.ExpFloat64())
			if i%3 == 0 { // of nobody, and far from the others
				row = fmt.Sprintf("%d,P%d,%c,%d,%d,%d,%d,%d\n", i, 5000+i, 'a'+rune(rng.IntN(3)), rng.IntN(9), 9000, 9000, 9000,
					9000)
				if !with {
					continue
				}
			}
			visits += row
		}
		c.write("visits.csv", visits)
		c.released()
		var lines []string
		for _, row := range c.records("out/release/visits.csv") {
			lines = append(lines, strings.Join(row, ","))
		}
		releases = append(releases, strings.Join(lines, "\n"))
	}
	if releases[0] != releases[1] || len(releases[0]) < 1000 {
		t.Errorf("the releases differ:\n%.400s\n\n%.400s", releases[0], releases[1])
	}
}

// TestHouseholdsInQuarantine: their persons leave, and the visits of these.
func TestHouseholdsInQuarantine(t *testing.T) {
	c := newCare(t)
	c.pair()
	c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
	c.write("households.csv", "hid,region,rooms\nH1,n,1\nH2,n,none\nH3,s,3\nH4,s,4\n")
	c.tables["households"] = `source: {csv: {path: DIR/households.csv, types: {rooms: int64}}}
columns: {hid: {role: other}, region: {role: key}, rooms: {role: sensitive, decimals: 0}}
masks: [{pseudonym: {columns: [hid], scope: household}}, {noise: {columns: [rooms], sd: 20}}]
gate: {max_quarantined: 50%}
`
	for _, name := range []string{"visits", "persons"} {
		c.tables[name] = strings.Replace(c.tables[name], "gate: {rules: [{min_k: 2}]}\n", "", 1)
	}
	rep := c.released()
	for i, want := range []string{"visits 3 0 1", "persons 3 0 1", "households 3 1 0"} {
		if r := rep.Tables[i].Records; fmt.Sprint(rep.Tables[i].Name, " ", r.Released, " ", r.Quarantined, " ", r.LeftOut) !=
			want {
			t.Errorf("%s: %+v, want %s", rep.Tables[i].Name, r, want)
		}
	}
	if rep.Tables[1].Left[0].With != 1 || rep.Tables[0].Left[0].With != 1 {
		t.Errorf("%+v", rep.Tables)
	}
}

// TestRecordsOfNobody: with optional a record without a value stays. It is nobody's: it makes no share of persons
// smaller.
func TestRecordsOfNobody(t *testing.T) {
	c := newCare(t)
	c.pair()
	c.tables["visits"] = strings.Replace(c.tables["visits"], "gate: {rules: [{min_k: 2}]}\n", "", 1)
	c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
	want := c.released()
	visits := c.text("visits.csv")
	for i := range 50 {
		visits += fmt.Sprintf("%d,,a\n", 100+i)
	}
	c.write("visits.csv", visits)
	if rep := c.released(); rep.Tables[0].Records.Released != 4 || rep.Tables[0].Left[0].Left != (Left{Without: 50}) {
		t.Errorf("%+v", rep.Tables[0])
	}
	c.project = strings.Replace(c.project, "column: pid, of: persons", "column: pid, of: persons, optional: true", 1)
	rep := c.released()
	if rep.Tables[0].Records.Released != 54 || len(rep.Tables[0].Left) != 0 {
		t.Errorf("%+v", rep.Tables[0])
	}
	if rep.Persons.Persons != 4 || rep.Persons.UniqueShare != want.Persons.UniqueShare ||
		rep.Persons.Found != want.Persons.Found {
		t.Errorf("%+v, want %+v", rep.Persons, want.Persons)
	}
	// A person may be of no household, which is known of her like any other.
	c.project = strings.Replace(c.project, "column: hid, of: households", "column: hid, of: households, optional: true", 1)
	c.write("persons.csv", "pid,hid,sex,age\nP1,H1,f,30\nP2,H2,f,31\nP3,,f,32\nP4,,f,33\n")
	if rep := c.released(); rep.Persons.Persons != 4 || rep.Tables[2].Records.Released != 2 ||
		rep.Persons.MinFrequency != 1 {
		t.Errorf("%+v", rep)
	}
}

// TestFates: a value is that of two records only if both are released, in either order.
func TestFates(t *testing.T) {
	d := []microdata.Digest{{1}, {1}, {2}, {}, {}}
	for _, x := range []struct {
		rejected []int
		twice    bool
		want     fates
	}{
		{nil, true, fates{{1}: true, {2}: true, {}: true}}, {[]int{0}, false, fates{{1}: true, {2}: true, {}: true}},
		{[]int{1}, false, fates{{1}: true, {2}: true, {}: true}},
		{[]int{0, 1}, false, fates{{1}: false, {2}: true, {}: true}},
		{[]int{2, 3, 4}, true, fates{{1}: true, {2}: false, {}: false}},
	} {
		b := new(microdata.Block)
		b.Reset(0, 0, len(d), 0)
		for _, i := range x.rejected {
			b.Reject(i, "", "cannot be")
		}
		f := fates{}
		if twice := f.add(d, b); twice != x.twice || !maps.Equal(f, x.want) {
			t.Errorf("%v: twice %v, %v; want %v, %v", x.rejected, twice, f, x.twice, x.want)
		}
	}
}

// TestBothInQuarantineAndWithout: a record that is malformed and refers to none is in quarantine and not counted as
// left; a household without a name stays with nobody.
func TestBothInQuarantineAndWithout(t *testing.T) {
	c := newCare(t)
	c.pair()
	for _, name := range []string{"visits", "persons", "households"} {
		c.tables[name] = strings.Replace(c.tables[name], "gate: {rules: [{min_k: 2}]}\n", "", 1)
	}
	c.project = strings.Replace(strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1), "of: households",
		"of: households, optional: true", 1)
	c.write("visits.csv", "vid,pid,kind,days\n1,P1,a,1\n2,P2,b,2\n3,P3,a,3\n4,P4,b,4\n5,P77,a,none\n6,P78,a,6\n")
	c.write("households.csv", c.text("households.csv")+",n\n")
	c.tables["visits"] = `identity: [vid]
source: {csv: {path: DIR/visits.csv, types: {days: int64}}}
columns: {vid: {role: identifier}, pid: {role: other}, kind: {role: key}, days: {role: sensitive, decimals: 0}}
masks: [{pseudonym: {columns: [pid], scope: person}}, {noise: {columns: [days], sd: 20}}]
gate: {max_quarantined: 50%}
`
	rep := c.released()
	if r := rep.Tables[0]; r.Records.Quarantined != 1 || r.Records.LeftOut != 1 || r.Left[0].Left != (Left{Orphans: 1}) {
		t.Errorf("%+v", r)
	}
	if r := rep.Tables[2]; r.Records.Released != 4 || r.Left[0].Left != (Left{Without: 1}) {
		t.Errorf("%+v", r)
	}
}

// TestTablesWrittenTwice: a table that is written again, since the last persons of some of its records have left, is
// that of a source without these records, to the byte, with declared codes, masks of all records and a report of its
// own.
func TestTablesWrittenTwice(t *testing.T) {
	var releases [2]string
	for i := range releases {
		rng := rand.New(rand.NewPCG(7, 7))
		c := newCare(t)
		c.some(rng)
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
		c.tables["households"] =
			"identity: [hid]\ncolumns: {hid: {role: other}, region: {role: key}, rent: {role: sensitive, decimals: 0, missing: [-9]}, code: {role: other}}\n" +
				"masks: [{pseudonym: {columns: [hid], scope: household}}, {microaggregate: {columns: [rent], k: 3}}]\n"
		households, lines := "hid,region,rent,code\n", strings.Split(strings.TrimSpace(c.text("households.csv")), "\n")[1:]
		for h, line := range lines {
			rent := []int{-9, 500 + 7*h, 800 + 3*h}[h%3]
			households += fmt.Sprintf("%s,%d,00%d\n", line, rent, h)
		}
		for h := range 20 { // whose only persons refer to them in vain, or who have none at all
			if i == 1 {
				households += fmt.Sprintf("E%d,n,%d,0\n", h, 100000+h)
			}
		}
		c.write("households.csv", households)
		rep := c.released()
		releases[i] = c.text("out/release/households.csv")
		if rep.Rounds < 1+i || rep.Tables[2].Records.LeftOut != int64(20*i) {
			t.Errorf("%d rounds, %+v", rep.Rounds, rep.Tables[2])
		}
	}
	// Spelling aside: what is not read anew keeps the spelling of the source.
	if a, b := strings.ReplaceAll(releases[0], "\"", ""), strings.ReplaceAll(releases[1], "\"", ""); a != b {
		t.Errorf("the releases differ:\n%.300s\n%.300s", a, b)
	}
}
