package uniqueness

import (
	"context"
	"slices"
)

// A minimal unique of a respondent, from the snooper's side, is a set of keys by whose original
// values exactly one released record can be the respondent's, and which has no proper subset
// with this property. Keys that are drawn at random tell nobody apart for certain, and are not
// part of the sets.
//
// Since a set with a unique subset is unique, a unique set is minimal if no set of one key less
// is unique. So the sets are counted size by size, each as a whole (snooper.counts), and only
// for the respondents who are unique by all keys. The cost is (sets) × (patterns of missing
// keys) × (distinct combinations); a search along the records, as in SUDA2, would follow a
// record with missing keys into every branch.

// maxSets is the greatest number of sets of keys that are searched. The largest size is lowered
// until there are no more.
const maxSets = 20_000

// suda2 returns the scores of special uniques; nil if no key is known exactly.
func (s *snooper) suda2(ctx context.Context, g *grouper, data *Data, names []string, o SUDA2Options) (*SUDA2, error) {
	var exact []int
	for j, law := range s.laws {
		if law == nil {
			exact = append(exact, j)
		}
	}
	n := len(exact)
	if n == 0 {
		return nil, nil
	}
	maxSize := min(o.maxSize(n), n)
	for maxSize > 1 && setsUpTo(n, maxSize) > maxSets {
		maxSize--
	}
	f, _, err := s.counts(ctx, g, exact)
	if err != nil {
		return nil, err
	}
	targets, alone := s.only(func(k int) bool { return f[k] < 2 })
	found, err := targets.minimal(ctx, exact, maxSize)
	if err != nil {
		return nil, err
	}
	weights := sizeWeights(o.Scores, n, maxSize)
	r := &SUDA2{MaxSize: maxSize, Sizes: make([]int64, maxSize), Contribution: make(map[string]float64, n)}
	perClass := make([]float64, len(s.t.count))
	byKey := make([]int64, maxSize*n)
	for _, m := range found {
		k := alone[m.target]
		size := len(m.set)
		r.Sizes[size-1] += s.t.count[k]
		perClass[k] += weights[size-1]
		for _, j := range m.set {
			byKey[(size-1)*n+slices.Index(exact, j)] += s.t.count[k]
		}
	}
	total := 0.0
	for size, count := range r.Sizes {
		total += weights[size] * float64(count)
	}
	for at, j := range exact {
		share := 0.0
		for size := range maxSize {
			share += weights[size] * float64(byKey[size*n+at])
		}
		if total > 0 {
			share /= total
		}
		r.Contribution[names[j]] = share
	}
	inPairs := int64(0)
	for k, count := range s.t.count {
		if f[k] == 2 {
			inPairs += count
		}
	}
	fraction := o.SampleFraction
	if fraction == 0 {
		fraction = sampleFraction(data.Weights)
	}
	dis := disScores(perClass, n, float64(inPairs)*(1-fraction)/fraction)
	records := float64(len(s.t.of))
	for k, score := range perClass {
		share := float64(s.t.count[k]) / records
		r.Max, r.DISMax = max(r.Max, score), max(r.DISMax, dis[k])
		r.Mean += score * share
		r.DISMean += dis[k] * share
	}
	r.Score, r.DIS = byRecord(s.t.of, perClass), byRecord(s.t.of, dis)
	return r, nil
}

// only returns the snooper with some of the classes of respondents, and these classes.
func (s *snooper) only(wanted func(k int) bool) (*snooper, []int32) {
	some := *s
	t := &classes{keys: make([]field, len(s.t.keys))}
	var list []int32
	for k := range s.t.count {
		if wanted(k) {
			list = append(list, int32(k))
		}
	}
	t.count = make([]int64, len(list))
	for at, k := range list {
		t.count[at] = s.t.count[k]
	}
	for j, key := range s.t.keys {
		t.keys[j] = field{byRecord(list, key.codes), key.span}
	}
	some.t = t
	if s.own != nil {
		some.own = byRecord(list, s.own)
		if s.ownWeight != nil {
			some.ownWeight = byRecord(list, s.ownWeight)
		}
	}
	if s.words != nil {
		w := *s.words
		w.t = byRecord(list, s.words.t)
		some.words = &w
	}
	return &some, list
}

// minimalUnique is a minimal unique of a class of respondents, by the indices of its keys.
type minimalUnique struct {
	target int32
	set    []int
}

// minimal returns the minimal uniques of up to maxSize of the keys, by size and then in the
// order of the sets.
func (s *snooper) minimal(ctx context.Context, keys []int, maxSize int) (list []minimalUnique, err error) {
	n := len(s.t.count)
	if n == 0 {
		return nil, nil
	}
	smaller := map[uint64][]uint64{} // by set, the respondents who are unique by it, as bits
	for size := 1; size <= maxSize; size++ {
		sets := setsOf(len(keys), size)
		unique, err := s.uniqueBy(ctx, keys, sets)
		if err != nil {
			return nil, err
		}
		larger := make(map[uint64][]uint64, len(sets))
		for i, set := range sets {
			bitsOf := uint64(0)
			for _, place := range set {
				bitsOf |= 1 << place
			}
			larger[bitsOf] = unique[i]
			for k := range n {
				if !hasBit(unique[i], k) || slices.ContainsFunc(set, func(place int) bool {
					return hasBit(smaller[bitsOf&^(1<<place)], k)
				}) {
					continue
				}
				list = append(list, minimalUnique{int32(k), at(keys, set)})
			}
		}
		smaller = larger
	}
	return list, nil
}

// uniqueBy returns for each set of keys the respondents who are unique by it, as bits.
func (s *snooper) uniqueBy(ctx context.Context, keys []int, sets [][]int) ([][]uint64, error) {
	unique := make([][]uint64, len(sets))
	err := eachOf(len(sets), func(g *grouper, _ int) func(i int) error {
		return func(i int) error {
			f, _, err := s.counts(ctx, g, at(keys, sets[i]))
			if err != nil {
				return err
			}
			unique[i] = make([]uint64, (len(f)+63)/64)
			for k := range f {
				if f[k] < 2 {
					unique[i][k>>6] |= 1 << (k & 63)
				}
			}
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	return unique, nil
}

// hasBit reports whether bit k is set; of no bits at all none is.
func hasBit(bits []uint64, k int) bool { return bits != nil && bits[k>>6]>>(k&63)&1 == 1 }

// at returns the keys at the places of a set.
func at(keys, set []int) []int {
	out := make([]int, len(set))
	for i, place := range set {
		out[i] = keys[place]
	}
	return out
}

// setsUpTo returns the number of sets of 1 to size of n keys, at most about maxSets.
func setsUpTo(n, size int) int {
	total, of := 0, 1
	for k := 1; k <= size && total <= maxSets; k++ {
		of = of * (n - k + 1) / k
		total += of
	}
	return total
}
