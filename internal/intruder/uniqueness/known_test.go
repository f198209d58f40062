package uniqueness

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// snooping is a small data set with everything that a snooper's count depends on.
type snooping struct {
	data Data
	// original and released hold the codes by record and key; matrix holds the law of a drawn key, nil if it is not drawn.
	original, released [][]int32
	matrix             [][][]float64
	sensitive          [][]int32
}

// randomSnooping makes records with cells that are missing in the source, hidden cells,
// records that contradict their respondents, codes of any width, and, if drawn is true, a key that is drawn at random.
func randomSnooping(random *rand.Rand, n, keys int, drawn bool) snooping {
	s := snooping{original: make([][]int32, n), released: make([][]int32, n), sensitive: make([][]int32, n),
		matrix: make([][][]float64, keys)}
	hide, lack, wrong := random.Float64()*0.5, random.Float64()*0.2, 0.0
	if !drawn && random.IntN(3) == 0 {
		wrong = 0.2 // records that contradict their own respondents
	}
	wide := int32(1)
	if !drawn && random.IntN(3) == 0 {
		wide = 400_000_000 // codes of 31 bits, of which three do not fit into a word
	}
	cards := make([]int, keys)
	for j := range cards {
		cards[j] = 2 + random.IntN(4)
		if drawn && (j == 0 || random.IntN(3) == 0) {
			for range cards[j] {
				row := make([]float64, cards[j])
				total := 0.0
				for l := range row {
					row[l] = random.Float64() + 0.05
					total += row[l]
				}
				for l := range row {
					row[l] /= total
				}
				s.matrix[j] = append(s.matrix[j], row)
			}
		}
	}
	for i := range n {
		s.original[i], s.released[i] = make([]int32, keys), make([]int32, keys)
		for j, card := range cards {
			x := int32(random.IntN(card))
			y := x
			if s.matrix[j] != nil {
				y = int32(card - 1)
				u := random.Float64()
				for l, p := range s.matrix[j][x] {
					if u -= p; u < 0 {
						y = int32(l)
						break
					}
				}
			}
			if s.matrix[j] == nil && random.Float64() < wrong {
				y = int32(random.IntN(card))
			}
			if random.Float64() < hide {
				y = -1
			}
			if random.Float64() < lack {
				x, y = -1, -1
			}
			if x > 0 {
				x *= wide
			}
			if y > 0 {
				y *= wide
			}
			s.original[i][j], s.released[i][j] = x, y
		}
		s.sensitive[i] = []int32{int32(random.IntN(4)) - 1, int32(random.IntN(3))}
	}
	for j := range keys {
		key, known := Column{Name: fmt.Sprint("key", j)}, []int32(nil)
		for i := range n {
			key.Codes, known = append(key.Codes, s.released[i][j]), append(known, s.original[i][j])
		}
		s.data.Keys, s.data.Known = append(s.data.Keys, key), append(s.data.Known, known)
		var law *Law
		if s.matrix[j] != nil {
			law = &Law{Row: known, P: s.matrix[j]}
		}
		s.data.Laws = append(s.data.Laws, law)
	}
	if random.IntN(2) == 0 {
		for range n {
			s.data.Weights = append(s.data.Weights, float64(1+random.IntN(9)))
		}
	}
	if random.IntN(2) == 0 {
		for range n {
			s.data.Household = append(s.data.Household, int32(random.IntN(1+n/3))-1)
		}
	}
	for c := range 2 {
		column := Column{Name: fmt.Sprint("s", c)}
		for i := range n {
			column.Codes = append(column.Codes, s.sensitive[i][c])
		}
		s.data.Sensitive = append(s.data.Sensitive, column)
	}
	return s
}

// odds are the odds that record j is that of respondent i, by a set of keys.
func (s *snooping) odds(i, j int, set []int, alpha float64) float64 {
	agrees := func(i int) bool {
		for _, k := range set {
			if x, y := s.original[i][k], s.released[j][k]; s.matrix[k] == nil && x >= 0 && y >= 0 && x != y {
				return false
			}
		}
		return true
	}
	likelihood := func(i int) float64 {
		p := 1.0
		for _, k := range set {
			if x, y := s.original[i][k], s.released[j][k]; s.matrix[k] != nil && x >= 0 && y >= 0 {
				p *= s.matrix[k][x][y]
			}
		}
		return p
	}
	if !agrees(i) {
		if i == j {
			return 1
		}
		return 0
	}
	total, n := 0.0, 0.0
	for other := range s.original {
		if other != i && agrees(other) {
			total += likelihood(other)
			n++
		}
	}
	own := likelihood(i)
	if own == 0 {
		return 0
	}
	w := 1.0
	if slices.ContainsFunc(set, func(k int) bool { return s.matrix[k] != nil }) {
		if w = 1e9; total > 0 { // else it is nobody else's
			w = min(w, own/(total/n))
		}
	}
	if i == j {
		return w
	}
	for _, k := range set {
		if s.matrix[k] == nil && s.original[i][k] >= 0 && s.released[j][k] < 0 {
			return alpha * w
		}
	}
	return w
}

func (s *snooping) drawn() bool {
	return slices.ContainsFunc(s.matrix, func(m [][]float64) bool { return m != nil })
}

// k returns k and its weighted form for respondent i.
func (s *snooping) k(i int, set []int, alpha float64) (k, weighted float64) {
	sum, weight, most := 0.0, 0.0, 0.0
	for j := range s.released {
		w := s.odds(i, j, set, alpha)
		sum += w
		if s.data.Weights != nil {
			weight += w * s.data.Weights[j]
		}
		most = max(most, w)
	}
	if !s.drawn() {
		most = 1
	}
	if s.data.Weights == nil {
		weight = sum
	}
	return sum / most, weight / most
}

func allOf(n int) (set []int) {
	for j := range n {
		set = append(set, j)
	}
	return set
}

func close1(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// TestSnooperAgainstAllPairs compares every measure with one that goes through all pairs of
// records, on random data: with keys that are missing in the source, hidden cells, weights,
// households, keys drawn at random, and few or many values.
func TestSnooperAgainstAllPairs(t *testing.T) {
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 36))
		keys := 1 + random.IntN(4)
		s := randomSnooping(random, 2+random.IntN(40), keys, seed%3 == 0)
		alpha := 1.0
		if seed%4 == 1 {
			alpha = []float64{0, 0.25}[seed/4%2]
		}
		if s.drawn() {
			alpha = 1
		}
		o := Options{Alpha: alpha, K: []int{2, 3}, Estimator: Exact, RecursiveC: 1.5, SUDA2: &SUDA2Options{},
			Combinations: keys, Subsets: []int{1, 2, 3, 9}}
		r, err := Measure(context.Background(), s.data, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		least, most, below := math.Inf(1), 0.0, 0
		for i := range s.original {
			k, weighted := s.k(i, allOf(keys), alpha)
			if !close1(r.SampleFrequency[i], k) || !close1(r.PopulationFrequency[i], weighted) {
				t.Fatalf("seed %d: record %d: k %v and %v, by all pairs %v and %v", seed, i, r.SampleFrequency[i],
					r.PopulationFrequency[i], k, weighted)
			}
			least, most = min(least, k), max(most, Exact.Risk(k, weighted))
			if k < 3-1e-12 {
				below++
			}
		}
		if !close1(r.MinFrequency, least) || !close1(r.MaxIndividualRisk, most) || !s.drawn() && r.Violations[3] != below {
			t.Fatalf("seed %d: least %v, risk %v, %d below 3; by all pairs %v, %v, %d", seed, r.MinFrequency,
				r.MaxIndividualRisk, r.Violations[3], least, most, below)
		}
		s.checkSets(t, seed, r, alpha)
		s.checkDiversity(t, seed, r, o.RecursiveC, alpha)
		if alpha == 1 {
			s.checkSUDA2(t, seed, r)
		}
	}
}

func (s *snooping) checkSets(t *testing.T, seed uint64, r *Result, alpha float64) {
	t.Helper()
	n := len(s.data.Keys)
	type figure struct{ least, most float64 }
	bySize := map[int]figure{}
	at := 0
	for size := 1; size <= n; size++ {
		f := figure{math.Inf(1), 0}
		for set := range 1 << n {
			var keys []int
			for j := range n {
				if set>>j&1 == 1 {
					keys = append(keys, j)
				}
			}
			if len(keys) != size {
				continue
			}
			uniques := 0
			for i := range s.original {
				k, weighted := s.k(i, keys, alpha)
				if k < 2-1e-12 {
					uniques++
				}
				f.least, f.most = min(f.least, k), max(f.most, Exact.Risk(k, weighted))
			}
			names := namesOf(r.Keys, keys)
			at++
			if slices.ContainsFunc(keys, func(j int) bool { return s.matrix[j] != nil }) {
				at-- // not tabulated
				continue
			}
			found := slices.IndexFunc(r.Combinations, func(c Combination) bool { return slices.Equal(c.Keys, names) })
			if found < 0 || !s.drawn() && r.Combinations[found].Uniques != uniques {
				t.Fatalf("seed %d: %v: %d uniques wanted", seed, names, uniques)
			}
		}
		bySize[size] = f
	}
	if at != len(r.Combinations) || len(r.Subsets) != 4 {
		t.Fatalf("seed %d: %d combinations and %d subsets", seed, len(r.Combinations), len(r.Subsets))
	}
	for _, sub := range r.Subsets {
		want := bySize[min(sub.Size, n)]
		if !close1(sub.MinFrequency, want.least) || !close1(sub.MaxIndividualRisk, want.most) ||
			len(sub.Keys) != min(sub.Size, n) {
			t.Fatalf("seed %d: subsets of %d: %+v, want %+v", seed, sub.Size, sub, want)
		}
	}
}

// checkDiversity compares the l-diversity of both sensitive columns, and of both together.
func (s *snooping) checkDiversity(t *testing.T, seed uint64, r *Result, c, alpha float64) {
	t.Helper()
	measure := func(weights map[int32]float64) (int, float64, int) {
		var list []float64
		total := 0.0
		for _, w := range weights {
			list, total = append(list, w), total+w
		}
		sort.Sort(sort.Reverse(sort.Float64Slice(list)))
		entropy := 0.0
		for _, w := range list {
			entropy -= w / total * math.Log(w/total)
		}
		l := 1
		for l < len(list) {
			rest := 0.0
			for _, w := range list[l:] {
				rest += w
			}
			if list[0] >= c*rest {
				break
			}
			l++
		}
		return len(list), math.Exp(entropy), l
	}
	for i := range s.original {
		var multi [3]float64
		for column := range 2 {
			all, byOther := map[int32]float64{}, map[int32]map[int32]float64{}
			for j := range s.released {
				w := s.odds(i, j, allOf(len(s.data.Keys)), 1)
				if alpha < 1 {
					w = s.odds(i, j, allOf(len(s.data.Keys)), alpha)
					if i == j {
						w = min(w, s.hiddenOdds(i, alpha))
					}
				}
				value, other := s.sensitive[j][column], s.sensitive[j][1-column]
				if w <= 0 || value < 0 {
					continue
				}
				all[value] += w
				if byOther[other] == nil {
					byOther[other] = map[int32]float64{}
				}
				byOther[other][value] += w
			}
			d := r.LDiversity[fmt.Sprint("s", column)]
			if len(all) > 0 {
				distinct, entropy, l := measure(all)
				if int(d.Distinct[i]) != distinct || !close1(d.Entropy[i], entropy) || !s.drawn() && int(d.Recursive[i]) != l {
					t.Fatalf("seed %d: record %d, column %d: %d, %v, %d; by all pairs %d, %v, %d", seed, i, column, d.Distinct[i],
						d.Entropy[i], d.Recursive[i], distinct, entropy, l)
				}
			} else if d.Distinct[i] != 0 {
				t.Fatalf("seed %d: record %d: %d distinct of none", seed, i, d.Distinct[i])
			}
			for _, values := range byOther {
				distinct, entropy, l := measure(values)
				if multi[0] == 0 {
					multi = [3]float64{float64(distinct), entropy, float64(l)}
				}
				multi = [3]float64{min(multi[0], float64(distinct)), min(multi[1], entropy), min(multi[2], float64(l))}
			}
		}
		d := r.LDiversityMulti
		if float64(d.Distinct[i]) != multi[0] || !close1(d.Entropy[i], multi[1]) || !s.drawn() &&
			float64(d.Recursive[i]) != multi[2] {
			t.Fatalf("seed %d: record %d, both: %d, %v, %d; by all pairs %v", seed, i, d.Distinct[i], d.Entropy[i],
				d.Recursive[i], multi)
		}
	}
}

// hiddenOdds is the weight of the respondent's own record as any other's: alpha if a known key is
// hidden; 1 if it contradicts him.
func (s *snooping) hiddenOdds(i int, alpha float64) float64 {
	for k := range s.data.Keys {
		if x, y := s.original[i][k], s.released[i][k]; x >= 0 && y >= 0 && x != y {
			return 1
		}
	}
	for k := range s.data.Keys {
		if s.original[i][k] >= 0 && s.released[i][k] < 0 {
			return alpha
		}
	}
	return 1
}

// checkSUDA2 compares the minimal uniques with those found by trying all sets of keys.
func (s *snooping) checkSUDA2(t *testing.T, seed uint64, r *Result) {
	t.Helper()
	var exact []int
	for j := range s.matrix {
		if s.matrix[j] == nil {
			exact = append(exact, j)
		}
	}
	if len(exact) == 0 {
		if r.SUDA2 != nil {
			t.Fatalf("seed %d: scores without an exact key", seed)
		}
		return
	}
	sizes := make([]int64, len(exact))
	weights := sizeWeights(ScoresElliot, len(exact), len(exact))
	for i := range s.original {
		var minimal []int
		score := 0.0
		for size := 1; size <= len(exact); size++ {
			for set := 1; set < 1<<len(exact); set++ {
				var keys []int
				for at, j := range exact {
					if set>>at&1 == 1 {
						keys = append(keys, j)
					}
				}
				if len(keys) != size || slices.ContainsFunc(minimal, func(m int) bool { return m&set == m }) {
					continue
				}
				agree := 0
				for j := range s.released {
					if s.odds(i, j, keys, 1) > 0 {
						agree++
					}
				}
				if agree == 1 {
					minimal = append(minimal, set)
					sizes[size-1]++
					score += weights[size-1]
				}
			}
		}
		if !close1(r.SUDA2.Score[i], score) {
			t.Fatalf("seed %d: record %d: score %v, by all sets %v", seed, i, r.SUDA2.Score[i], score)
		}
	}
	if !slices.Equal(r.SUDA2.Sizes, sizes) {
		t.Fatalf("seed %d: sizes %v, by all sets %v", seed, r.SUDA2.Sizes, sizes)
	}
}
