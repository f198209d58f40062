package project

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// ofVisits gives each person a number of the costs of its visits that are of a kind; 0 of none.
func ofVisits(w *world, column string, number func(costs []float64) float64, kinds ...float64) {
	for p, visits := range w.came() {
		var list []float64
		for _, i := range visits {
			if v := w.visits[i]; len(kinds) == 0 || v["kind"] == kinds[0] {
				list = append(list, v["cost"])
			}
		}
		if w.persons[p][column] = 0; len(list) > 0 {
			w.persons[p][column] = number(list)
		}
	}
}

// bills gives the project a table with a bill of each visit, of the same amount, which is masked too.
func (w *world) bills(sd float64) {
	visits := w.tables["visits"]
	w.masked("visits", []string{"amount"}, map[string]float64{"amount": sd})
	w.tables["bills"], w.tables["visits"] = w.tables["visits"], visits
	bills, visited := "pid,amount\n", "pid,cost\n"
	for _, v := range w.visits {
		bills += fmt.Sprintf("P%v,%f\n", v["pid"], v["cost"])
		visited += fmt.Sprintf("P%v,%f\n", v["pid"], v["cost"])
	}
	w.write("bills.csv", bills)
	w.write("visits.csv", visited)
	w.project = strings.Replace(w.project, "keys:\n", "  bills: {config: DIR/bills.yaml}\nkeys:\n", 1)
	w.project = strings.Replace(w.project, "person: persons", "  - {table: bills, column: pid, of: persons}\nperson: persons", 1)
}

var figures = map[string]join{
	"the first of the person's costs is released": {table: "visits", column: "cost", make: func(w *world) {
		costs(w)
		ofVisits(w, "first", func(v []float64) float64 { return v[0] })
		w.masked("households", nil, nil)
		w.masked("persons", []string{"first"}, nil)
		w.masked("visits", []string{"cost"}, map[string]float64{"cost": 40})
	}, attack: func(w *world) []float64 {
		cost, first := w.values("visits", 1), w.values("persons", 2)
		for p, visits := range w.came() {
			if len(visits) > 0 {
				cost[visits[0]] = first[p]
			}
		}
		return cost
	}},
	"the last of masked costs": {table: "persons", column: "last", make: func(w *world) {
		costs(w)
		ofVisits(w, "last", func(v []float64) float64 { return v[len(v)-1] })
		w.masked("households", nil, nil)
		w.masked("persons", []string{"last"}, map[string]float64{"last": 60})
		w.masked("visits", []string{"cost"}, map[string]float64{"cost": 25})
	}, attack: func(w *world) []float64 {
		cost, last := w.values("visits", 1), make([]float64, len(w.persons))
		for p, visits := range w.came() {
			if len(visits) > 0 {
				last[p] = cost[visits[len(visits)-1]]
			}
		}
		return last
	}},
	"the sum of one kind is released": {table: "visits", column: "cost", make: func(w *world) {
		costs(w)
		for _, v := range w.visits {
			v["kind"] = float64(1 + w.rng.IntN(2))
		}
		ofVisits(w, "acute", func(v []float64) (sum float64) {
			for _, c := range v {
				sum += c
			}
			return sum
		}, 1)
		w.masked("households", nil, nil)
		w.masked("persons", []string{"acute"}, nil)
		w.masked("visits", []string{"cost", "kind"}, map[string]float64{"cost": 40})
	}, attack: func(w *world) []float64 {
		cost, acute := w.values("visits", 1), w.values("persons", 2)
		groups := make([][]int, len(w.persons))
		for i, v := range w.visits {
			if p := int(v["pid"]); v["kind"] == 1 {
				groups[p] = append(groups[p], i)
			}
		}
		return byHead(cost, acute, groups)
	}},
	"an income by equivalent heads is released": {table: "persons", column: "wage", make: func(w *world) {
		wages(w)
		for h, persons := range w.lived() {
			for _, i := range persons {
				w.households[h]["equivalent"] += w.persons[i]["wage"] / (1 + 0.5*float64(len(persons)-1))
			}
		}
		w.masked("households", []string{"equivalent"}, nil)
		w.masked("persons", []string{"wage"}, map[string]float64{"wage": 300})
		w.masked("visits", nil, nil)
	}, attack: func(w *world) []float64 {
		income := w.values("households", 1)
		for h, persons := range w.lived() {
			income[h] *= 1 + 0.5*float64(len(persons)-1)
		}
		return byHead(w.values("persons", 2), income, w.lived())
	}},
	"a bill of each visit": {table: "visits", column: "cost", make: func(w *world) {
		costs(w)
		w.masked("households", nil, nil)
		w.masked("persons", nil, nil)
		w.masked("visits", []string{"cost"}, map[string]float64{"cost": 40})
		w.bills(40)
	}, attack: func(w *world) []float64 {
		cost, amount := w.values("visits", 1), w.values("bills", 1)
		for i, v := range amount {
			cost[i] = (cost[i] + v) / 2
		}
		return cost
	}},
	"bills in another order": {table: "visits", column: "cost", make: func(w *world) {
		costs(w)
		w.masked("households", nil, nil)
		w.masked("persons", nil, nil)
		w.masked("visits", []string{"cost"}, map[string]float64{"cost": 15})
		w.bills(5)
		w.tables["bills"] += "sink: {csv: {path: DIR/out/release/bills.csv}, order: shuffled}\n"
	}, attack: func(w *world) []float64 {
		cost, amount := w.values("visits", 1), map[string][]float64{}
		values := w.values("bills", 1)
		for i, pid := range w.column("bills", 0) {
			amount[pid] = append(amount[pid], values[i])
		}
		ids := w.column("visits", 0)
		for i, v := range cost { // the bill that is nearest
			near := math.Inf(1)
			for _, a := range amount[ids[i]] {
				if math.Abs(a-v) < math.Abs(near-v) {
					near = a
				}
			}
			cost[i] = near
		}
		return cost
	}},
}

// shiftedDays gives visits days, which are shifted by person, and the persons another number.
func (w *world) shiftedDays(other string) {
	w.masked("households", nil, nil)
	w.masked("persons", []string{other}, nil)
	w.masked("visits", []string{"day"}, nil)
	w.tables["visits"] = strings.Replace(w.tables["visits"], "day: {role: other, decimals: 6}", "day: {role: sensitive}", 1)
	w.tables["visits"] = strings.Replace(w.tables["visits"], "assess:",
		"  - date: {columns: [day], shift: 60, by: pid, scope: person, unit: days}\nsource: {csv: {path: DIR/visits.csv, types: {day: int64}}}\nassess:", 1)
	text := "pid,day\n"
	for _, v := range w.visits {
		text += fmt.Sprintf("P%v,%v\n", v["pid"], v["day"])
	}
	w.write("visits.csv", text)
}

// shifts are ways in which another date of some tells by how much all dates of a person are shifted.
var shifts = map[string]join{
	"a day after the first visit": {table: "visits", column: "day", make: func(w *world) {
		for p, visits := range w.came() {
			for k, i := range visits {
				w.visits[i]["day"] = float64(20000 + w.rng.IntN(400))
				if k == 0 {
					w.persons[p]["seen"] = w.visits[i]["day"] + float64(w.rng.IntN(5))
				}
			}
		}
		w.shiftedDays("seen")
	}, attack: func(w *world) []float64 {
		day, seen := w.values("visits", 1), w.values("persons", 2)
		for p, visits := range w.came() {
			if len(visits) > 0 {
				by := day[visits[0]] - seen[p] + 2
				for _, i := range visits {
					day[i] -= by
				}
			}
		}
		return day
	}},
	"a day within 30 of each visit": {table: "visits", column: "day", make: func(w *world) {
		for p, visits := range w.came() {
			about := float64(20000 + w.rng.IntN(4000))
			for _, i := range visits {
				w.visits[i]["day"] = about + float64(w.rng.IntN(31)-15)
			}
			w.persons[p]["about"] = about
		}
		w.shiftedDays("about")
	}, attack: func(w *world) []float64 {
		day, about := w.values("visits", 1), w.values("persons", 2)
		for p, visits := range w.came() {
			by := 0.0
			for _, i := range visits {
				by += (day[i] - about[p]) / float64(len(visits))
			}
			for _, i := range visits {
				day[i] -= by
			}
		}
		return day
	}},
}

// TestShiftsThatOtherDatesTell: whoever computes from another date of a person by how much all are shifted comes no
// nearer than the project says.
func TestShiftsThatOtherDatesTell(t *testing.T) {
	racetest.Further(t)
	for name, j := range shifts {
		t.Run(name, j.holds)
	}
}

// TestJoinedFigures is TestJoinedAmounts of numbers that are those of one record, of a part of a group, by how many
// there are, or of another table.
func TestJoinedFigures(t *testing.T) {
	racetest.Further(t)
	for name, j := range figures {
		t.Run(name, j.holds)
	}
}

// TestSetApart: equal numbers of a group become different ones, by less than anybody reads, and others stay.
func TestSetApart(t *testing.T) {
	values := []float64{5, 7, 5, 7, math.NaN(), 5, 5, 5}
	group := []int32{0, 0, 0, 1, 0, 1, -1, 0}
	was := slices.Clone(values)
	setApart(values, group)
	seen := map[[2]float64]bool{}
	for i, v := range values {
		if !(math.Abs(v-was[i]) < 1e-12) && was[i] == was[i] {
			t.Errorf("record %d: %v was %v", i, v, was[i])
		}
		if at := [2]float64{float64(group[i]), v}; group[i] >= 0 && v == v {
			if seen[at] {
				t.Errorf("record %d: %v stands in its group twice", i, v)
			}
			seen[at] = true
		}
	}
	if values[6] != 5 {
		t.Errorf("a record of no group has %v", values[6])
	}
}

// TestPlaces: the first, the last and the middle record of a group have the number above, the others their own; without
// an order only the middle one is told.
func TestPlaces(t *testing.T) {
	c := newCare(t)
	for _, order := range []string{"", "sink: {csv: {path: DIR/out/release/visits.csv}, order: shuffled}\n"} {
		c.tables["visits"] += order
		p, err := c.parse()
		if err != nil {
			t.Fatal(err)
		}
		m := &member{table: p.named("visits")}
		m.part = &filejob.Part{Joined: &attack.Joined{}}
		cost := &shown{assess.Seen{Name: "cost", Values: []float64{3, 9, 4, 8}}, asItIs, "visits"}
		above := &shown{assess.Seen{Name: "first", Values: []float64{100, 200}}, asItIs, "persons"}
		want := map[string][]float64{"first": {100, 9, 4, 200}, "last": {3, 9, 100, 200}, "middle": {3, 9, 100, 8}}
		if order != "" {
			want = map[string][]float64{"middle": {3, 9, 100, 8}}
		}
		list := byPlace(m, cost, above, "persons.first", []int32{0, 0, 0, 1})
		if len(list) != len(want) {
			t.Errorf("%q: %d places, want %d", order, len(list), len(want))
		}
		for _, pair := range list {
			for word, values := range want {
				if !strings.Contains(pair.name, " "+word+" ") {
					continue
				}
				for i, v := range values {
					if found := pair.value(i, []int32{0, 0, 0, 1}[i]); found != v {
						t.Errorf("the %s, record %d: %v, want %v", word, i, found, v)
					}
				}
			}
		}
	}
}
