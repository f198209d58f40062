package relocation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// someHouseholds returns households of one to four members with skewed keys, in regions and districts; a few records
// are rejected, and a few households take no part.
func someHouseholds(n int, seed uint64, k int, rate float64) *Search {
	r := rand.New(rand.NewPCG(seed, 51))
	s := &Search{K: k, Rate: rate, Households: n, Places: [][]int32{make([]int32, n), make([]int32, n)},
		Tuples: make([][]int32, 2), Out: make([]bool, n)}
	for h := range n {
		s.Places[0][h], s.Places[1][h] = 1+int32(r.IntN(3)), 1+int32(r.IntN(4))
		s.Drawn, s.Out[h] = append(s.Drawn, r.ExpFloat64()), r.IntN(40) == 0
		for range 1 + r.IntN(4) {
			s.Of, s.Rejected = append(s.Of, int32(h)), append(s.Rejected, r.IntN(30) == 0)
			s.Keys = append(s.Keys, int32(min(r.IntN(30), r.IntN(30))))
			tuple := int32(r.IntN(3))
			s.Tuples[0], s.Tuples[1] = append(s.Tuples[0], tuple), append(s.Tuples[1], tuple/2)
		}
	}
	return s
}

// family is a household, by definitions.
type family struct {
	district [2]int32
	keys     map[int32]bool
	like     []string // by list: its members, in any order
	fewest   int      // households that share its rarest keys in its district
	rare     int      // the coarsest level at which it is at risk; 2: none
	alone    bool     // its keys are rare everywhere
}

func familiesOf(s *Search) []family {
	of := make([]family, s.Households)
	for h := range of {
		f := family{district: [2]int32{s.Places[0][h], s.Places[1][h]}, keys: map[int32]bool{}, rare: 2}
		members := [2][]int32{}
		for i, own := range s.Of {
			if int(own) == h && !s.Rejected[i] {
				f.keys[s.Keys[i]] = true
				members[0], members[1] = append(members[0], s.Tuples[0][i]), append(members[1], s.Tuples[1][i])
			}
		}
		for _, list := range members {
			slices.Sort(list)
			f.like = append(f.like, fmt.Sprint(list))
		}
		of[h] = f
	}
	least := func(f *family, same func(g *family) bool) int {
		fewest := math.MaxInt
		for key := range f.keys {
			n := 0
			for i := range of {
				if of[i].keys[key] && same(&of[i]) {
					n++
				}
			}
			fewest = min(fewest, n)
		}
		return fewest
	}
	for h := range of {
		f := &of[h]
		f.fewest = least(f, func(g *family) bool { return g.district == f.district })
		if f.fewest < s.K {
			f.rare = 1
		}
		if least(f, func(g *family) bool { return g.district[0] == f.district[0] }) < s.K {
			f.rare = 0
		}
		f.alone = least(f, func(*family) bool { return true }) < s.K
	}
	return of
}

// By brute force: partners have each other, live in other districts, and with rare exceptions (one that found no
// partner elsewhere is that of another) apart at the levels at which either is at risk, and are alike by a list; nobody
// takes part who must not; the counts are those of the definitions; one at risk that stays has no partner that is free;
// and each district has its share where it can.
func TestPartnersByDefinition(t *testing.T) {
	moves, near := 0, 0
	for trial := range 24 {
		s := someHouseholds([]int{40, 150, 400}[trial%3], uint64(trial), 2+trial%6, []float64{0, 0.1, 0.4, 1}[trial%4])
		of := familiesOf(s)
		partner, got := s.Decide()
		want := Result{Found: got.Found, MostFound: got.MostFound}
		for h := range of {
			f, p := &of[h], partner[h]
			if len(f.keys) > 0 {
				want.Households++
			}
			risk := f.rare < 2 && len(f.keys) > 0
			if risk {
				want.AtRisk++
				if f.alone {
					want.Exposed++
				}
			}
			if p < 0 {
				if !risk {
					continue
				}
				want.Left++
				for g := range of {
					// Nor is one that has a partner which need not move.
					if q := partner[g]; !s.Out[h] && q >= 0 && of[q].rare == 2 && of[g].like[0] == f.like[0] &&
						of[q].like[0] == f.like[0] && apart(f, &of[g]) {
						t.Fatalf("trial %d: household %d stays, and %d, whose partner is not at risk, could be its own", trial, h, g)
					}
					if !s.Out[h] && !s.Out[g] && partner[g] < 0 && of[g].like[0] == f.like[0] && apart(f, &of[g]) {
						t.Fatalf("trial %d: household %d stays, and %d could be its partner", trial, h, g)
					}
				}
				continue
			}
			want.Swapped++
			g := &of[p]
			if int(partner[p]) != h || s.Out[h] || len(f.keys) == 0 || f.district == g.district || f.like[0] != g.like[0] &&
				f.like[1] != g.like[1] {
				t.Fatalf("trial %d: %+v and %+v exchange their places", trial, f, g)
			}
			if !apart(f, g) {
				near++
			}
		}
		if got != want {
			t.Errorf("trial %d: %+v, want %+v", trial, got, want)
		}
		moves += want.Swapped
		found, most := soughtBy(of, partner, s.K)
		if math.Abs(got.Found-found) > 1e-9*(1+found) || math.Abs(got.MostFound-most) > 1e-9 {
			t.Errorf("trial %d: %v are found, one with %v, want %v and %v", trial, got.Found, got.MostFound, found, most)
		}
	}
	if moves < 500 || near > moves/50 {
		t.Errorf("%d households have moved, %d of them within an area in which they or their partners are rare", moves, near)
	}
}

// apart reports whether two households live in different areas at the coarsest level at which either is at risk.
func apart(f, g *family) bool {
	if min(f.rare, g.rare) == 0 {
		return f.district[0] != g.district[0]
	}
	return f.district != g.district
}

// soughtBy is how many households at risk a snooper finds who knows their district, their rarest keys and the mask.
func soughtBy(of []family, partner []int32, k int) (found, most float64) {
	now, swapped, all := make([][2]int32, len(of)), 0.0, 0.0
	for h := range of {
		if now[h] = of[h].district; partner[h] >= 0 {
			now[h] = of[partner[h]].district
			swapped++
		}
		if len(of[h].keys) > 0 {
			all++
		}
	}
	count := func(area [2]int32, key int32, at func(h int) [2]int32) (n int) {
		for h := range of {
			if at(h) == area && of[h].keys[key] {
				n++
			}
		}
		return n
	}
	for h := range of {
		f := &of[h]
		if f.rare == 2 || len(f.keys) == 0 {
			continue
		}
		chance := 0.0
		for key := range f.keys {
			if count(f.district, key, func(h int) [2]int32 { return of[h].district }) != f.fewest {
				continue
			}
			if partner[h] < 0 {
				chance = max(chance, 1/float64(f.fewest))
				continue
			}
			weight := func(area [2]int32) float64 {
				if count(area, key, func(h int) [2]int32 { return now[h] }) < k {
					return 1
				}
				return swapped / all
			}
			sum := 0.0
			for g := range of {
				if now[g] != f.district && of[g].keys[key] {
					sum += weight(now[g])
				}
			}
			chance = max(chance, weight(now[h])/sum)
		}
		found, most = found+chance, max(most, chance)
	}
	return found, most
}

// With a similar list that is the same for all, each district has its share: as many as the rate asks for, and not many
// more.
func TestSharesOfDistricts(t *testing.T) {
	for _, rate := range []float64{0.2, 0.5} {
		s := someHouseholds(600, 9, 1, rate)
		s.Tuples = [][]int32{make([]int32, len(s.Of)), make([]int32, len(s.Of))}
		clear(s.Out)
		of := familiesOf(s)
		partner, result := s.Decide()
		in, moved := map[[2]int32]float64{}, map[[2]int32]float64{}
		for h := range of {
			if len(of[h].keys) == 0 {
				continue
			}
			if in[of[h].district]++; partner[h] >= 0 {
				moved[of[h].district]++
			}
		}
		for district, n := range in {
			if got := moved[district]; got < math.Floor(rate*n) {
				t.Errorf("rate %v: %v of %v households of a district have moved", rate, got, n)
			}
		}
		// In each of 12 districts a partner may be one more than are asked for, and its own partner too.
		if most := rate*float64(result.Households) + 24; result.AtRisk != 0 || float64(result.Swapped) > most {
			t.Errorf("rate %v: %d are at risk, %d of %d are exchanged", rate, result.AtRisk, result.Swapped, result.Households)
		}
	}
}

// A search that is cancelled gives no partners, and one that is cancelled later may give them.
func TestSearchStops(t *testing.T) {
	s := someHouseholds(300, 4, 3, 0.5)
	s.Stop = func() bool { return true }
	if partner, _ := s.Decide(); partner != nil {
		t.Error("a cancelled search gives partners")
	}
	s = someHouseholds(300, 4, 3, 0.5)
	asked := 0
	s.Stop = func() bool { asked++; return false }
	s.Decide()
	if asked < 3 {
		t.Errorf("it asks %d times", asked)
	}
}

// Pairs of equal numbers have equal numbers, in the order in which they come.
func TestNumbered(t *testing.T) {
	if got := Numbered([]int32{5, 5, 2, 5, 2}, []int32{1, 3, 1, 1, 1}); !slices.Equal(got, []int32{0, 1, 2, 0, 2}) {
		t.Error(got)
	}
}
