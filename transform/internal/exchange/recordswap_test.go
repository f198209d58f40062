package exchange

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// The columns of a population: areas, what is carried with them, the household and what its members are.
const (
	ofRegion = iota
	ofDistrict
	ofPostcode
	ofAge
	ofSex
	ofTenure
	ofHousehold
	populationColumns
)

var populationNames = []string{"a", "b", "c", "d", "e", "f", "g"}

// population draws n households of one to five members in regions and districts of different sizes, in random order.
func population(r *rand.Rand, n int) []testColumn {
	columns := make([]testColumn, populationColumns)
	for k := range columns {
		columns[k] = floats(0)
	}
	var all [][populationColumns]float64
	for h := range n {
		region := math.Floor(4 * r.Float64() * r.Float64())
		district := 10*region + math.Floor(3*r.Float64())
		tenure := math.Floor(2 * r.Float64())
		for range 1 + r.IntN(5)*r.IntN(2) {
			all = append(all,
				[populationColumns]float64{region, district, 100 + district*7, math.Floor(6 * r.Float64() * r.Float64()),
					float64(r.IntN(2)), tenure, float64(h)})
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, row := range all {
		for k := range columns {
			columns[k].Values = append(columns[k].Values, row[k])
		}
	}
	return columns
}

func recordSwap(t *testing.T, key int, m *RecordSwap, size int, columns []testColumn) ([][]float64, *Relocated) {
	t.Helper()
	setup := testSetup(t, columns...)
	setup.Key = keytest.Key(key)
	setup.Households = core.Households{Index: []int{ofHousehold}}
	c := chain(t, setup, mask(m))
	return whole(t, c, size, columns...), RelocatedBy(c, 0)
}

// family is a household as the test sees it.
type family struct {
	rows  []int
	from  string     // region, district, postcode
	to    string     // the same as released
	areas [2]float64 // original region and district
	now   [2]float64 // released
	rare  int        // the coarsest level at which it is at risk; 2: none
	alone bool       // rare in the whole file
}

// families collects the households, and finds those at risk by comparing each with all others.
func familiesOf(t *testing.T, columns []testColumn, out [][]float64, k int) map[float64]*family {
	t.Helper()
	of := map[float64]*family{}
	for i, h := range columns[ofHousehold].Values {
		f := of[h]
		from := fmt.Sprint(columns[0].Values[i], columns[1].Values[i], columns[2].Values[i])
		to := fmt.Sprint(out[0][i], out[1][i], out[2][i])
		if f == nil {
			f = &family{from: from, to: to, areas: [2]float64{columns[0].Values[i], columns[1].Values[i]},
				now: [2]float64{out[0][i], out[1][i]}}
			of[h] = f
		}
		if f.to != to {
			t.Fatalf("members of household %v leave with %s and %s", h, f.to, to)
		}
		f.rows = append(f.rows, i)
	}
	has := func(f *family, i int) bool {
		return slices.ContainsFunc(f.rows, func(j int) bool {
			return columns[ofAge].Values[i] == columns[ofAge].Values[j] && columns[ofSex].Values[i] == columns[ofSex].Values[j]
		})
	}
	for _, f := range of {
		f.rare = 2
		for _, i := range f.rows {
			var in [3]int // households that have the keys of member i: in the region, the district, the file
			for _, g := range of {
				if !has(g, i) {
					continue
				}
				in[2]++
				if g.areas[0] == f.areas[0] {
					in[0]++
					if g.areas[1] == f.areas[1] {
						in[1]++
					}
				}
			}
			for level := range 2 {
				if in[level] < k {
					f.rare = min(f.rare, level)
				}
			}
			f.alone = f.alone || in[2] < k
		}
	}
	return of
}

// soughtBy compares each household at risk with all released ones that may be it.
func soughtBy(of map[float64]*family, columns []testColumn, k int, moved float64) (found, most float64) {
	key := func(i int) [2]float64 { return [2]float64{columns[ofAge].Values[i], columns[ofSex].Values[i]} }
	has := func(f *family, of [2]float64) bool {
		return slices.ContainsFunc(f.rows, func(j int) bool { return key(j) == of })
	}
	count := func(which [2]float64, in func(f *family) bool) (n int) {
		for _, f := range of {
			if in(f) && has(f, which) {
				n++
			}
		}
		return n
	}
	for _, f := range of {
		if f.rare == 2 {
			continue
		}
		chances := map[int]float64{} // by the number of households of the area with a member's keys: the greatest
		for _, i := range f.rows {
			which := key(i)
			n := count(which, func(g *family) bool { return g.areas == f.areas })
			chance := 1 / float64(n)
			if f.to != f.from {
				weight := func(area [2]float64) float64 {
					if count(which, func(g *family) bool { return g.now == area }) < k {
						return 1
					}
					return moved
				}
				sum := 0.0
				for _, g := range of {
					if g.now != f.areas && has(g, which) {
						sum += weight(g.now)
					}
				}
				chance = weight(f.now) / sum
			}
			chances[n] = max(chances[n], chance)
		}
		chance := chances[slices.Min(slices.Collect(maps.Keys(chances)))]
		found, most = found+chance, max(most, chance)
	}
	return found, most
}

// profile is what members of a household are in some columns, in any order.
func profileOf(columns []testColumn, rows, which []int) string {
	var list []string
	for _, i := range rows {
		text := ""
		for _, k := range which {
			text += fmt.Sprint(columns[k].Values[i], " ")
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(list, "|")
}

// What the method promises, by brute force: households stay whole; each that moves gets the area of one that gets its
// own, with as many members, alike in a list of similar columns; so each area keeps its households, its persons and
// what all lists have; each at risk at a level has left its area there, or is counted; and the share that moved of each
// district is at least the rate, and not much more than that and those at risk with their partners.
func TestRecordSwapKeepsItsPromises(t *testing.T) {
	for trial := range 12 {
		r := rand.New(rand.NewPCG(uint64(trial), 51))
		columns := population(r, []int{60, 250, 600}[trial%3])
		k, rate := 2+trial%3, []float64{0, 0.1, 0.4, 1}[trial%4]
		similar := [][][]int{{{ofAge, ofSex, ofTenure}, {ofAge, ofTenure}, {ofTenure}}, {{ofTenure}, {}}, nil,
			{{ofTenure, ofAge}}}[trial%4]
		m := &RecordSwap{Hierarchy: []string{"a", "b"}, Carry: []string{"c"}, Risk: []string{"d", "e"}, K: &k, Rate: &rate,
			MaxLeft: ptr(1.0)}
		for _, list := range similar {
			names := []string{}
			for _, c := range list {
				names = append(names, populationNames[c])
			}
			m.Similar = append(m.Similar, names)
		}
		if similar == nil {
			similar = [][]int{{}}
		}
		out, result := recordSwap(t, trial, m, 97, columns)
		of := familiesOf(t, columns, out, k)
		want := Relocated{Households: len(of)}
		var swapped, partners float64
		places := map[string]int{}
		for _, f := range of {
			common := []int{}
			for _, c := range similar[0] {
				if !slices.ContainsFunc(similar, func(list []int) bool { return !slices.Contains(list, c) }) {
					common = append(common, c)
				}
			}
			what := profileOf(columns, f.rows, common)
			places[f.from+": "+what]++
			places[f.to+": "+what]--
			moved := f.to != f.from
			if moved {
				swapped++
			}
			if f.rare < 2 {
				want.AtRisk++
				partners += 2
				if f.alone {
					want.Exposed++
				}
				if !moved {
					want.Left++
				} else if f.now == f.areas {
					t.Errorf("trial %d: a household moves within its area", trial)
				}
				// Also as a partner it has left the area in which it is rare, or the areas of that level have no other.
				if moved && f.rare == 0 && f.now[0] == f.areas[0] {
					t.Errorf("trial %d: a household that is rare in its region stays there", trial)
				}
			}
			if moved && !slices.ContainsFunc(similar, func(list []int) bool {
				for _, g := range of {
					if g.from == f.to && g.to == f.from && profileOf(columns, g.rows, list) == profileOf(columns, f.rows, list) {
						return true
					}
				}
				return false
			}) {
				t.Errorf("trial %d: a household gets the area of none that is like it", trial)
			}
		}
		for what, n := range places {
			if n != 0 {
				t.Errorf("trial %d: %d households fewer than before: %s", trial, n, what)
			}
		}
		want.Swapped = int(swapped)
		found, most := soughtBy(of, columns, k, swapped/float64(len(of)))
		if math.Abs(result.Found-found) > 1e-9*found || math.Abs(result.MostFound-most) > 1e-9 {
			t.Errorf("trial %d: %v are found, one with %v, want %v and %v", trial, result.Found, result.MostFound, found, most)
		}
		want.Found, want.MostFound = result.Found, result.MostFound
		if *result != want {
			t.Errorf("trial %d: %+v, want %+v", trial, *result, want)
		}
		if len(similar[len(similar)-1]) == 0 { // where anybody of the same number is similar, each district has its share
			in, moved := map[[2]float64]float64{}, map[[2]float64]float64{}
			for _, f := range of {
				if in[f.areas]++; f.from != f.to {
					moved[f.areas]++
				}
			}
			for area, n := range in {
				if n >= 20 && moved[area] < math.Floor(min(rate, 0.4)*n) {
					t.Errorf("trial %d: %v of %v households of district %v moved at a rate of %v", trial, moved[area], n, area, rate)
				}
			}
		}
		if n := float64(len(of)); swapped > 1.25*rate*n+12+partners {
			t.Errorf("trial %d: %v of %v households moved at a rate of %v, %d at risk", trial, swapped, n, rate, want.AtRisk)
		} else if len(similar[len(similar)-1]) == 0 && swapped < min(rate, 0.4)*n {
			t.Errorf("trial %d: only %v of %v households moved at a rate of %v", trial, swapped, n, rate)
		}
	}
}

// Order and blocks of the records change nothing; another key moves others.
func TestRecordSwapInAnyOrder(t *testing.T) {
	columns := population(rand.New(rand.NewPCG(3, 52)), 400)
	m := &RecordSwap{Hierarchy: []string{"a", "b"}, Carry: []string{"c"}, Risk: []string{"d", "e"}, Rate: ptr(0.3),
		Similar: [][]string{{"f"}, nil}}
	n := len(columns[0].Values)
	order := make([]int, n)
	for i := range order {
		order[i] = n - 1 - i
	}
	first, _ := recordSwap(t, 1, m, 1000, columns)
	back, _ := recordSwap(t, 1, m, 83, reordered(columns, order))
	other, _ := recordSwap(t, 2, m, 1000, columns)
	differ := 0
	for i, from := range order {
		for k := range 3 {
			if back[k][i] != first[k][from] {
				t.Fatalf("record %d leaves with another place in the opposite order", from)
			}
		}
		if other[1][from] != first[1][from] {
			differ++
		}
	}
	if differ < n/20 {
		t.Errorf("under another key %d of %d records leave elsewhere", differ, n)
	}
}

// Households are drawn with a probability proportional to their risk. Half of them have keys of their own, half share
// them with three others of their area, so four in five that are drawn first are of the first half.
func TestRecordSwapDrawsByRisk(t *testing.T) {
	const n, keys = 2000, 40
	columns := make([]testColumn, populationColumns)
	for k := range columns {
		columns[k] = floats(0, make([]float64, n)...)
	}
	for i := range n {
		columns[ofRegion].Values[i], columns[ofHousehold].Values[i] = float64(i%2), float64(i)
		columns[ofAge].Values[i] = float64(i)
		if i < n/2 {
			columns[ofAge].Values[i] = float64(-1 - i/8)
		}
	}
	one, all := 0.0, 0.0
	for key := range keys {
		out,
			result := recordSwap(t, key+1,
			&RecordSwap{Hierarchy: []string{"a"}, Risk: []string{"d"}, K: ptr(1), Rate: ptr(0.02)}, n, columns)
		if result.Swapped != 40 || result.AtRisk != 0 {
			t.Fatalf("%+v", *result)
		}
		for i, y := range out[ofRegion] {
			if y != columns[ofRegion].Values[i] {
				all++
				if i >= n/2 {
					one++
				}
			}
		}
	}
	// 1,600 draws: SD √(0.8·0.2/1600) = 0.01; the rarer ones run out by 3 % meanwhile, which takes 0.003. The limit is 5
	// SD.
	if share := one / all; math.Abs(share-0.8) > 0.053 {
		t.Errorf("a share of %v of %v that moved are rarer, want 0.8", share, all)
	}
}

// Where a household is rare in its district only, it stays in its region if it can, and finds partners by the first
// list that has one; those that are rare in the region leave it.
func TestRecordSwapMovesNoFurtherThanNeeded(t *testing.T) {
	row := func(region, district, age, tenure, household float64) [populationColumns]float64 {
		return [populationColumns]float64{region, district, 0, age, 0, tenure, household}
	}
	columns := make([]testColumn, populationColumns)
	for k := range columns {
		columns[k] = floats(0)
	}
	for _, r := range [][populationColumns]float64{
		row(1, 11, 7, 1, 1), // rare in district 11, not in region 1
		row(1, 12, 7, 2, 2), row(1, 12, 7, 2, 3),
		row(1, 12, 5, 1, 4), row(1, 12, 5, 1, 5), // like household 1 in tenure
		row(2, 21, 5, 1, 6), row(2, 21, 5, 1, 7),
		row(2, 22, 9, 3, 8), // rare in region 2
		row(1, 11, 5, 3, 9), row(1, 11, 5, 3, 10),
	} {
		for k := range columns {
			columns[k].Values = append(columns[k].Values, r[k])
		}
	}
	for key := range 20 {
		out,
			result := recordSwap(t, key+1,
			&RecordSwap{Hierarchy: []string{"a", "b"}, Risk: []string{"d"}, K: ptr(2), Rate: ptr(0.0),
				Similar: [][]string{{"f"}, nil}}, 4, columns)
		if result.AtRisk != 2 || result.Swapped != 4 || result.Left != 0 || result.Exposed != 1 {
			t.Fatalf("%+v", *result)
		}
		if out[ofDistrict][0] != 12 || out[ofDistrict][3] != 11 && out[ofDistrict][4] != 11 {
			t.Errorf("household 1 goes to %v, not in exchange with one of tenure 1 in district 12: %v", out[ofDistrict][0],
				out[ofDistrict])
		}
		if out[ofDistrict][7] != 11 || out[ofRegion][8] != 2 && out[ofRegion][9] != 2 {
			t.Errorf("household 8 goes to %v, not to district 11", out[ofDistrict][7])
		}
	}
}

// Households that must move and cannot end the run, unless a share of them may stay; so do members who live apart.
func TestRecordSwapRefuses(t *testing.T) {
	columns := make([]testColumn, populationColumns)
	for k := range columns {
		columns[k] = floats(0, 1, 1, 2, 2)
	}
	columns[ofHousehold] = floats(0, 1, 2, 3, 4)
	columns[ofTenure] = floats(0, 5, 6, 7, 8)
	for left, want := range map[float64]string{0: "similar: leaves 4 of the 4 households at risk",
		0.99: "similar: leaves 4 of the 4", 1: ""} {
		setup := testSetup(t, columns...)
		setup.Households = core.Households{Index: []int{ofHousehold}}
		c := chain(t, setup,
			mask(&RecordSwap{Hierarchy: []string{"a"}, Risk: []string{"d"}, Rate: ptr(0.5), Similar: [][]string{{"f"}},
				MaxLeft: ptr(left)}))
		if err := c.Survey(block(0, 4, columns...)); err != nil {
			t.Fatal(err)
		}
		if err := c.EndSurvey(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("max_left %v: %v, want %q", left, err, want)
		}
	}
	columns[ofHousehold] = floats(0, 1, 2, 2, 3)
	for _, carried := range []bool{false, true} {
		m := &RecordSwap{Hierarchy: []string{"a"}, Risk: []string{"d"}, Rate: ptr(0.5)}
		of := slices.Clone(columns)
		if carried {
			of[ofRegion], m.Carry = floats(0, 1, 2, 2, 2), []string{"b"}
		}
		setup := testSetup(t, of...)
		setup.Households = core.Households{Index: []int{ofHousehold}}
		c := chain(t, setup, mask(m))
		if err := c.Survey(block(0, 4, of...)); err != nil {
			t.Fatal(err)
		}
		if err := c.EndSurvey(); err == nil || !strings.Contains(err.Error(), "they differ within 1 households") {
			t.Errorf("carried %v: members live apart: %v", carried, err)
		}
	}
}

// Rejected records are in no household; records without a household are their own.
func TestRecordSwapOfRejectedRecords(t *testing.T) {
	columns := make([]testColumn, populationColumns)
	for k := range columns {
		columns[k] = floats(0, 1, 1, 2, 2, 2)
	}
	columns[ofHousehold] = floats(0, 1, 1, 0, 0, 3)
	columns[ofHousehold].Null = []int{2, 3}
	columns[ofAge] = floats(0, 1, 2, 1, 1, 1)
	setup := testSetup(t, columns...)
	setup.Households = core.Households{Index: []int{ofHousehold}}
	c := chain(t, setup, mask(&RecordSwap{Hierarchy: []string{"a"}, Risk: []string{"d"}, K: ptr(2), Rate: ptr(0.0)}))
	b := block(0, 5, columns...)
	b.Reject(1, "a", "a fault")
	if err := c.Survey(b); err != nil {
		t.Fatal(err)
	}
	if err := c.EndSurvey(); err != nil {
		t.Fatal(err)
	}
	// Without the second record household 1 has one member, who alone has these keys in area 1.
	if got := *RelocatedBy(c, 0); got !=
		(Relocated{Households: 4, AtRisk: 1, Swapped: 2, Found: 1 / 3.0, MostFound: 1 / 3.0}) {
		t.Errorf("%+v", got)
	}
}

// Households of one area that are left when all others are in pairs take these apart: none at risk stays if all can
// move.
func TestRecordSwapMendsPairs(t *testing.T) {
	for _, c := range []struct {
		areas, tenures []float64 // of households that are all at risk, unless their age is shared
		shared         int       // so many of the last ones have the same age
		left, swapped  int
	}{
		{[]float64{1, 1, 2, 3}, nil, 0, 0, 4},
		{[]float64{1, 1, 1, 2, 2, 3}, nil, 0, 0, 6},
		{[]float64{1, 1, 1, 2, 3, 3, 3, 4, 4, 4}, nil, 0, 0, 10},
		{[]float64{1, 1, 1, 2, 2}, nil, 0, 1, 4},    // an odd number
		{[]float64{1, 1, 1, 1, 2, 3}, nil, 0, 2, 4}, // too many in one area
		// those of tenure 6 are like no other
		{[]float64{1, 1, 2, 3}, []float64{5, 5, 5, 6}, 0, 2, 2},
		{[]float64{1, 2, 2, 2, 3, 3, 3}, []float64{5, 5, 5, 5, 5, 5, 5}, 6, 0, 2},             // one at risk
		{[]float64{1, 1, 2, 2, 2, 2, 3, 3, 3}, []float64{5, 5, 5, 5, 5, 5, 5, 5, 5}, 7, 0, 4}, // two
	} {
		n := len(c.areas)
		columns := make([]testColumn, populationColumns)
		for k := range columns {
			columns[k] = floats(0, make([]float64, n)...)
		}
		for i := range n {
			columns[ofRegion].Values[i], columns[ofHousehold].Values[i], columns[ofAge].Values[i] = c.areas[i], float64(i),
				float64(i)
			if i >= n-c.shared {
				columns[ofAge].Values[i] = 99
			}
			if c.tenures != nil {
				columns[ofTenure].Values[i] = c.tenures[i]
			}
		}
		for key := range 30 {
			out,
				got := recordSwap(t, key+1,
				&RecordSwap{Hierarchy: []string{"a"}, Risk: []string{"d"}, K: ptr(2), Rate: ptr(0.0), Similar: [][]string{{"f"}},
					MaxLeft: ptr(1.0)}, n, columns)
			moved := 0
			for i, y := range out[ofRegion] {
				if y != c.areas[i] {
					moved++
				}
			}
			if got.Left != c.left || got.Swapped != c.swapped || moved != c.swapped {
				t.Errorf("%v, %v, key %d: %+v, %d moved: %v", c.areas, c.tenures, key+1, *got, moved, out[ofRegion])
			}
		}
	}
}

// The rarest take partners first; what members are counts in any order.
func TestRecordSwapOfTheRarest(t *testing.T) {
	of := func(rows ...[populationColumns]float64) []testColumn {
		columns := make([]testColumn, populationColumns)
		for k := range columns {
			columns[k] = floats(0)
		}
		for _, r := range rows {
			for k := range columns {
				columns[k].Values = append(columns[k].Values, r[k])
			}
		}
		return columns
	}
	row := func(region, age, tenure, household float64) [populationColumns]float64 {
		return [populationColumns]float64{region, 0, 0, age, 0, tenure, household}
	}
	rarest := of(row(1, 2, 5, 1), row(1, 2, 5, 2), row(1, 1, 5, 3), row(2, 7, 5, 4), row(2, 7, 9, 5), row(2, 7, 9, 6))
	members := of(row(1, 1, 5, 1), row(1, 2, 5, 1), row(2, 2, 5, 2), row(2, 1, 5, 2))
	for key := range 20 {
		m := &RecordSwap{Hierarchy: []string{"a"}, Risk: []string{"d"}, K: ptr(3), Rate: ptr(0.0), Similar: [][]string{{"f"}},
			MaxLeft: ptr(1.0)}
		out, got := recordSwap(t, key+1, m, 6, rarest)
		if got.AtRisk != 3 || got.Left != 2 || out[ofRegion][2] != 2 || out[ofRegion][3] != 1 {
			t.Errorf("key %d: the household that is alone with its age stays: %v, %+v", key+1, out[ofRegion], *got)
		}
		m.Similar, m.MaxLeft = [][]string{{"d"}}, nil
		if out, _ := recordSwap(t, key+1, m, 4, members); out[ofRegion][0] != 2 || out[ofRegion][2] != 1 {
			t.Errorf("key %d: members in another order are not similar: %v", key+1, out[ofRegion])
		}
	}
}
