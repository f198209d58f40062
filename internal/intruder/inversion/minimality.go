package inversion

import (
	"context"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform"
)

// Local suppression hides cells of combinations that are rare, which is something to go by
// (the minimality attack of Wong, Fu, Wang & Pei 2007, VLDB, 543). Had a hidden cell a value
// with which k − 1 complete records of the release have the record's combination, that
// record were not rare and would have kept it. Where one value alone is left, it is the
// cell's.

// mostValues bounds the values that are tried for the hidden cells of one combination.
const mostValues = 1 << 16

// hiddenKey is a combination as it is released: −1 where a cell is missing.
type hiddenKey [12]int32

// minimality tries every hidden cell of the keys of a suppression, and adds what is found
// to the results of its columns. Where a key is not among the columns, or was changed at
// random before, nothing follows.
func minimality(ctx context.Context, s transform.Suppression, columns []CategoryColumn, results []CategoryResult) error {
	var keys []int
	var truth, domain [][]int32
	for _, name := range s.Keys {
		at := slices.IndexFunc(columns, func(c CategoryColumn) bool { return c.Name == name })
		if at < 0 || len(keys) == len(hiddenKey{}) {
			return nil
		}
		before, values, ok := beforeSuppression(&columns[at])
		if !ok {
			return nil
		}
		keys, truth, domain = append(keys, at), append(truth, before), append(domain, values)
	}
	complete, groups := byReleasedKey(columns, keys)
	m := &minimal{k: int(s.K), domain: domain, complete: complete}
	hits := make([]int, len(keys))
	for _, at := range keys {
		results[at].Claims = 0
	}
	for key, records := range groups {
		if err := ctx.Err(); err != nil {
			return err
		}
		implied := m.follows(key)
		for j, at := range keys {
			if key[j] < 0 {
				hits[j] += results[at].claim(implied[j], records, columns[at].Original, truth[j])
			}
		}
	}
	for j, at := range keys {
		r := &results[at]
		share := float64(hits[j]) / float64(max(r.Claims, 1))
		if hits[j] > 0 && share > r.Guess {
			r.Passed, r.By = false, Minimality
			r.Recovered += hits[j]
		}
	}
	return nil
}

// claim counts the hidden cells of records, and what is claimed of them: a value, or nothing if it
// is negative. It returns how many claims are true.
func (r *CategoryResult) claim(value int32, records []int32, original, truth []int32) (hits int) {
	for _, i := range records {
		if original[i] < 0 {
			continue
		}
		r.Hidden++
		if value < 0 {
			continue
		}
		r.Claims++
		if value == truth[i] {
			hits++
		}
	}
	return hits
}

// byReleasedKey counts the records of each combination of released keys that is complete, and groups
// the records of each one with a missing key.
func byReleasedKey(columns []CategoryColumn, keys []int) (complete map[hiddenKey]int, groups map[hiddenKey][]int32) {
	complete, groups = map[hiddenKey]int{}, map[hiddenKey][]int32{}
	for i := range columns[keys[0]].Released {
		var key hiddenKey
		missing := false
		for j, at := range keys {
			key[j] = columns[at].Released[i]
			missing = missing || key[j] < 0
		}
		if missing {
			groups[key] = append(groups[key], int32(i))
		} else {
			complete[key]++
		}
	}
	return complete, groups
}

// beforeSuppression are the categories that a column had when cells were hidden: the
// original's, or what a recoding made of them, as records whose cell is there show it, −1
// where none does. values are all that there are, and one that stands for those that
// nobody sees. It returns false where a category became several.
func beforeSuppression(c *CategoryColumn) (truth, values []int32, ok bool) {
	const unseen = -2
	image := map[int32]int32{}
	for i, y := range c.Released {
		if x := c.Original[i]; y >= 0 && x >= 0 {
			if was, known := image[x]; known && was != y {
				return nil, nil, false
			}
			image[x] = y
		}
	}
	same := true
	for x, y := range image {
		same = same && x == y
	}
	truth = make([]int32, len(c.Original))
	seen := map[int32]bool{}
	for i, x := range c.Original {
		y, known := image[x]
		switch {
		case x < 0:
			truth[i] = -1
			continue
		case known:
		case same:
			y = x // of a column that is only suppressed, who knows the code list knows it
		default:
			y = unseen
		}
		if truth[i] = y; !seen[y] {
			seen[y] = true
			values = append(values, y)
		}
	}
	slices.Sort(values)
	return truth, values, len(values) > 0
}

// minimal is what the attack goes by.
type minimal struct {
	k        int
	domain   [][]int32
	complete map[hiddenKey]int
}

// follows returns for each key of a combination the value that its missing cell must have
// had, −1 where it may have been several, or nothing follows.
func (m *minimal) follows(key hiddenKey) []int32 {
	implied := make([]int32, len(m.domain))
	size := 1
	for j := range implied {
		implied[j] = -1
		if key[j] < 0 {
			if size *= len(m.domain[j]); size > mostValues {
				return implied
			}
		}
	}
	several := make([]bool, len(implied))
	try := key
	var visit func(j int)
	visit = func(j int) {
		if j == len(implied) {
			if m.complete[try]+1 >= m.k {
				return
			}
			for i := range implied {
				switch {
				case key[i] >= 0:
				case implied[i] == -1:
					implied[i] = try[i]
				case implied[i] != try[i]:
					several[i] = true
				}
			}
			return
		}
		if key[j] >= 0 {
			visit(j + 1)
			return
		}
		for _, v := range m.domain[j] {
			try[j] = v
			visit(j + 1)
		}
	}
	visit(0)
	for j := range implied {
		if several[j] || implied[j] < 0 {
			implied[j] = -1
		}
	}
	return implied
}
