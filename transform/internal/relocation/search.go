package relocation

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// Search pairs households that exchange their places.
//
// A household is at risk at a level if fewer than k households of its area there have a member with the keys of one of
// its members. From the coarsest level to the finest, those at risk there that are in no pair, rarest first, each take
// a partner of another area of that level: by the first list of similar columns a household of the same area one level
// above, so that what is counted there does not change, then by the next list; where there is none, one from elsewhere,
// by the lists in turn. Then households are drawn until a share rate of each finest area is in pairs. Partners and
// these are drawn without replacement, a household with a probability proportional to its risk, one divided by the
// number of households that share its rarest keys in its finest area: exponential draws divided by the risk, in
// ascending order, are such an order (Efraimidis and Spirakis 2006).
type Search struct {
	K          int           // from how many households on nobody is at risk
	Rate       float64       // the least share of each finest area that is to be exchanged
	Households int           // their number
	Of         []int32       // by record: its household
	Rejected   []bool        // by record: it is rejected
	Keys       []int32       // by record: the number of its combination of keys
	Tuples     [][]int32     // by list of similar columns and record: likewise of these
	Places     [][]int32     // by level, from the coarsest, and household: a code; 0 of a household without records
	Out        []bool        // by household: it takes no part
	Drawn      []float64     // by household: exponential
	Stop       decision.Stop // once true, the results must not be used

	own      []int32
	members  [][]int32 // by household: its records
	areas    [][]int32 // by level and household: the number of its area, within those above
	rarest   []int32   // by household: the number of households that share its rarest keys, in its finest area
	level    []int     // by household: the coarsest at which it is at risk; −1: none
	order    []float64 // by household: drawn over risk
	profiles [][]int32 // by list of similar columns and household
	partner  []int32   // by household; −1: none
	// by finest area, once those at risk are in pairs: how many more households are to be exchanged
	lacks map[int32]float64
}

// Result says how a record swap ended.
type Result struct {
	Households int // with a record that is released
	AtRisk     int // in the original
	Swapped    int // that were exchanged, both of each pair
	Left       int // at risk and not exchanged
	// Found is how many households at risk are expected to be found by a snooper who knows their area, the keys of the
	// member with the rarest, and the mask; MostFound is the greatest probability of one.
	Found, MostFound float64
	// at risk, with a member whose keys fewer than k households of the whole file have, wherever they live
	Exposed int
}

// Decide returns for each household the one with which it exchanges its place, −1 for none.
func (r *Search) Decide() (partner []int32, result Result) {
	r.gather()
	r.risks(&result)
	r.compose()
	r.partner = make([]int32, r.Households)
	for h := range r.partner {
		r.partner[h] = -1
	}
	for level := range r.areas {
		var seekers []int32
		for h, at := range r.level {
			if at == level && r.free(int32(h)) {
				seekers = append(seekers, int32(h))
			}
		}
		slices.SortFunc(seekers, func(a, b int32) int {
			return cmp.Or(cmp.Compare(r.rarest[a], r.rarest[b]), cmp.Compare(r.Drawn[a], r.Drawn[b]))
		})
		pools := r.poolsOf(level)
		for i, h := range seekers {
			if r.Stop.At(i) {
				return nil, result
			}
			if r.free(h) && r.pair(h, pools) {
				result.Swapped += 2
			}
		}
	}
	r.mend(&result)
	r.fill(&result)
	for h, at := range r.level {
		if at >= 0 && r.partner[h] < 0 {
			result.Left++
		}
	}
	r.sought(&result)
	return r.partner, result
}

// sought reckons with a snooper who knows the finest area of a household at risk, the keys of its member that fewest
// households of the area have, and the mask. He knows that it has moved, and seeks it among the released households of
// other areas that have a member with these keys: those that are rare where they are must have come from elsewhere and
// count 1, all others count the share of households that have moved. One that could not move is found among those of
// its area.
func (r *Search) sought(result *Result) {
	home := r.areas[len(r.areas)-1]
	now := slices.Clone(home)
	for h, other := range r.partner {
		if other >= 0 {
			now[h] = home[other]
		}
	}
	// released households by area and keys; what those with keys count
	there, all := map[[2]int32]float64{}, map[int32]float64{}
	for h := range r.Households {
		for _, key := range r.keysOf(h) {
			there[[2]int32{now[h], key}]++
		}
	}
	moved := float64(result.Swapped) / float64(max(1, result.Households))
	weight := func(area, key int32) float64 {
		if there[[2]int32{area, key}] < float64(r.K) {
			return 1
		}
		return moved
	}
	for of, n := range there {
		all[of[1]] += n // exact: sums of whole numbers, whatever the order
	}
	common := map[int32]float64{} // households with the keys that are not rare where they are
	for of, n := range there {
		if weight(of[0], of[1]) < 1 {
			common[of[1]] += n
		}
	}
	before := r.tally(home)
	for h, level := range r.level {
		if level < 0 {
			continue
		}
		fewest, chance := int32(math.MaxInt32), 0.0
		for _, key := range r.keysOf(h) {
			n := before[[2]int32{home[h], key}]
			if n > fewest {
				continue
			}
			own := 1 / float64(n)
			if r.partner[h] >= 0 {
				candidates := all[key] - common[key]*(1-moved) - there[[2]int32{home[h], key}]*weight(home[h], key)
				own = weight(now[h], key) / candidates
			}
			if n < fewest {
				fewest, chance = n, own
			}
			chance = max(chance, own)
		}
		result.Found += chance
		result.MostFound = max(result.MostFound, chance)
	}
}

// mended bounds the pairs that mend looks at.
const mended = 1 << 25

// mend finds partners for households at risk that have none because all others like them outside of their area are in
// pairs: of a pair p, q it takes p, and q takes another such household, or one that is in no pair; or stays where it is
// if it is not at risk.
func (r *Search) mend(result *Result) {
	var left, all []int32
	for h := range int32(r.Households) {
		if len(r.members[h]) == 0 || r.Out[h] {
			continue
		}
		if all = append(all, h); r.level[h] >= 0 && r.partner[h] < 0 {
			left = append(left, h)
		}
	}
	if len(left) == 0 {
		return
	}
	slices.SortFunc(left, r.before)
	slices.SortFunc(all, r.before)
	steps := 0
	for _, profile := range r.profiles {
		like := map[int32][]int32{}
		for _, h := range all {
			like[profile[h]] = append(like[profile[h]], h)
		}
		for _, h := range left {
			if r.partner[h] >= 0 {
				continue
			}
			of := like[profile[h]]
			for _, p := range of {
				if steps++; steps > mended || r.Stop.At(steps) {
					return
				}
				q := r.partner[p]
				if q < 0 || profile[q] != profile[p] || !r.apart(h, p) {
					continue
				}
				if other := r.single(of, h, q, &steps); other >= 0 {
					r.partner[q], r.partner[other] = other, q
					result.Swapped += 2
				} else if r.level[q] < 0 {
					r.partner[q] = -1
				} else {
					continue
				}
				r.partner[h], r.partner[p] = p, h
				break
			}
		}
	}
}

// single returns a household in no pair, but h, that may be a partner of q; −1 if there is none.
func (r *Search) single(of []int32, h, q int32, steps *int) int32 {
	for _, other := range of {
		if *steps++; other != h && r.partner[other] < 0 && r.apart(other, q) {
			return other
		}
	}
	return -1
}

// apart reports whether two households live in different areas at the levels at which either is at risk; if neither is,
// at the finest.
func (r *Search) apart(a, b int32) bool {
	level := len(r.areas) - 1
	for _, h := range []int32{a, b} {
		if r.level[h] >= 0 {
			level = min(level, r.level[h])
		}
	}
	return r.areas[level][a] != r.areas[level][b]
}

// fill exchanges households until their share in each of the finest areas is the rate, as far as there are partners;
// these are of areas that lack some, where there are such.
func (r *Search) fill(result *Result) {
	var seekers []int32
	area, lacks := r.areas[len(r.areas)-1], map[int32]float64{}
	for h, a := range area {
		if len(r.members[h]) == 0 {
			continue
		}
		if lacks[a] += r.Rate; r.partner[h] >= 0 {
			lacks[a]--
		} else if r.free(int32(h)) {
			seekers = append(seekers, int32(h))
		}
	}
	slices.SortFunc(seekers, r.before)
	pools := r.poolsOf(len(r.areas) - 1)
	r.lacks = lacks
	for i, h := range seekers {
		if r.Stop.At(i) {
			return
		}
		if lacks[area[h]] > 1e-9 && r.free(h) && r.pair(h, pools) {
			result.Swapped += 2
			lacks[area[h]]--
			lacks[area[r.partner[h]]]--
		}
	}
}

// free reports whether a household may be exchanged.
func (r *Search) free(h int32) bool {
	return len(r.members[h]) > 0 && !r.Out[h] && r.partner[h] < 0
}

// before orders households by their draws.
func (r *Search) before(a, b int32) int {
	return cmp.Or(cmp.Compare(r.order[a], r.order[b]), cmp.Compare(r.Drawn[a], r.Drawn[b]))
}

// gather finds the members of the households, and numbers the areas.
func (r *Search) gather() {
	r.members = make([][]int32, r.Households)
	for i, h := range r.Of {
		if !r.Rejected[i] {
			r.members[h] = append(r.members[h], int32(i))
		}
	}
	above := make([]int32, r.Households)
	for _, codes := range r.Places {
		above = Numbered(above, codes)
		r.areas = append(r.areas, above)
	}
}

// risks counts households by area and keys.
func (r *Search) risks(result *Result) {
	r.rarest, r.level = make([]int32, r.Households), make([]int, r.Households)
	for h, members := range r.members {
		if r.level[h] = -1; len(members) > 0 {
			result.Households++
		}
	}
	everywhere := r.counted(make([]int32, r.Households))
	for level := len(r.areas) - 1; level >= 0; level-- {
		for h, count := range r.counted(r.areas[level]) {
			if level == len(r.areas)-1 {
				r.rarest[h] = count
			}
			if len(r.members[h]) > 0 && int(count) < r.K {
				r.level[h] = level
			}
		}
	}
	r.order = make([]float64, r.Households)
	for h, count := range r.rarest {
		r.order[h] = r.Drawn[h] * float64(count)
		if r.level[h] >= 0 {
			result.AtRisk++
			if int(everywhere[h]) < r.K {
				result.Exposed++
			}
		}
	}
}

// counted returns for each household the least number of households of its area that have a member with the keys of one
// of its.
func (r *Search) counted(area []int32) []int32 {
	counts, least := r.tally(area), make([]int32, r.Households)
	for h := range r.Households {
		least[h] = math.MaxInt32
		for _, key := range r.keysOf(h) {
			least[h] = min(least[h], counts[[2]int32{area[h], key}])
		}
	}
	return least
}

// tally counts households by area and keys.
func (r *Search) tally(area []int32) map[[2]int32]int32 {
	counts := map[[2]int32]int32{}
	for h := range r.Households {
		for _, key := range r.keysOf(h) {
			counts[[2]int32{area[h], key}]++
		}
	}
	return counts
}

// keysOf returns the numbers of the combinations of keys that a household's members have, each once. It is overwritten
// by the next call.
func (r *Search) keysOf(h int) []int32 {
	r.own = r.own[:0]
	for _, i := range r.members[h] {
		if key := r.Keys[i]; !slices.Contains(r.own, key) {
			r.own = append(r.own, key)
		}
	}
	return r.own
}

// compose numbers what the members of the households are, in any order.
func (r *Search) compose() {
	for _, tuples := range r.Tuples {
		numbers, of := map[string]int32{}, make([]int32, r.Households)
		var sorted []int32
		var text []byte
		for h, members := range r.members {
			sorted, text = sorted[:0], text[:0]
			for _, i := range members {
				sorted = append(sorted, tuples[i])
			}
			slices.Sort(sorted)
			for _, t := range sorted {
				text = binary.LittleEndian.AppendUint32(text, uint32(t))
			}
			n, known := numbers[string(text)]
			if !known {
				n = int32(len(numbers))
				numbers[string(text)] = n
			}
			of[h] = n
		}
		r.profiles = append(r.profiles, of)
	}
}

// queue is the households of an area, in the order in which they become partners.
type queue struct {
	area int32
	list []int32
}

// poolKey is what partners have in common.
type poolKey struct{ profile, within int32 }

// pools are the possible partners at a level, by profile: within the areas one level above, and everywhere.
type pools struct {
	level     int
	within    []int32               // by household: its area one level above
	nowhere   []int32               // the same, where all are in one
	near, far []map[poolKey][]queue // by list of similar columns
}

func (r *Search) poolsOf(level int) *pools {
	p := &pools{level: level, within: make([]int32, r.Households), nowhere: make([]int32, r.Households),
		near: make([]map[poolKey][]queue, len(r.profiles)), far: make([]map[poolKey][]queue, len(r.profiles))}
	if level > 0 {
		p.within = r.areas[level-1]
	}
	return p
}

// queues lists the households that are free, by profile and the area within which they are partners, in areas of the
// level.
func (r *Search) queues(profile, within, area []int32) map[poolKey][]queue {
	var list []int32
	for h := range r.Households {
		if r.free(int32(h)) {
			list = append(list, int32(h))
		}
	}
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(profile[a], profile[b]), cmp.Compare(within[a], within[b]), cmp.Compare(area[a], area[b]),
			r.before(a, b))
	})
	of := map[poolKey][]queue{}
	for from := 0; from < len(list); {
		h, to := list[from], from+1
		for to < len(list) && profile[list[to]] == profile[h] && within[list[to]] == within[h] && area[list[to]] == area[h] {
			to++
		}
		key := poolKey{profile[h], within[h]}
		of[key] = append(of[key], queue{area[h], list[from:to]})
		from = to
	}
	return of
}

// pair finds a partner for a household.
func (r *Search) pair(h int32, p *pools) bool {
	area := r.areas[p.level]
	for step, lists := range [][]map[poolKey][]queue{p.near, p.far} {
		within := p.within
		if step == 1 {
			within = p.nowhere
		}
		for k, profile := range r.profiles {
			if lists[k] == nil {
				lists[k] = r.queues(profile, within, area)
			}
			if other := r.next(lists[k], poolKey{profile[h], within[h]}, area[h]); other >= 0 {
				r.partner[h], r.partner[other] = other, h
				return true
			}
		}
	}
	return false
}

// next returns the first free household of the queues of another area, of one that lacks exchanges if there is one; −1
// if there is none.
func (r *Search) next(of map[poolKey][]queue, key poolKey, area int32) int32 {
	queues, found, preferred := of[key], int32(-1), false
	for i := 0; i < len(queues); {
		q := &queues[i]
		for len(q.list) > 0 && !r.free(q.list[0]) {
			q.list = q.list[1:]
		}
		if len(q.list) == 0 {
			queues[i] = queues[len(queues)-1]
			queues = queues[:len(queues)-1]
			continue
		}
		short := r.lacks[q.area] > 1e-9
		if q.area != area && (found < 0 || short && !preferred || short == preferred && r.before(q.list[0], found) < 0) {
			found, preferred = q.list[0], short
		}
		i++
	}
	of[key] = queues
	return found
}

// Numbered numbers the pairs of two lists of numbers.
func Numbered(a, b []int32) []int32 {
	numbers, out := map[[2]int32]int32{}, make([]int32, len(a))
	for i := range a {
		of := [2]int32{a[i], b[i]}
		n, known := numbers[of]
		if !known {
			n = int32(len(numbers))
			numbers[of] = n
		}
		out[i] = n
	}
	return out
}
