package inversion

import (
	"context"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform"
)

// Local suppression hides cells for the sake of rare combinations, and an intruder can use this (the
// minimality attack of Wong, Fu, Wang & Pei 2007, VLDB, 543). A value is excluded for a
// hidden cell if, with this value, the record's combination occurs in at least k − 1
// complete records of the release: the combination would not have been rare. If only one value
// remains, it is claimed to be the value of the cell. A claim can be wrong, since records that are not
// rare lose cells too, as candidates for the others: claims are held against the truth, and cells count as
// told if so many claims are correct that who makes them is more likely right than not (DefaultConfidence),
// or more than guesses would be.

// mostValues is the greatest number of combinations of values that are tried for the
// hidden cells of one record.
const mostValues = 1 << 16

// hiddenKey is a released combination: the codes of its keys, −1 for a missing cell.
type hiddenKey [12]int32

// minimality attacks every hidden cell of the keys of a suppression and adds the findings
// to the results of its columns. It adds nothing if a key is not among the columns, if
// there are more than 12 keys, or if a key was changed at random before. It returns ctx's
// error if ctx ends.
func minimality(ctx context.Context, s transform.Suppression, columns []CategoryColumn,
	results []CategoryResult) error {
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
		if share > r.Guess && (share >= DefaultConfidence || improbable(hits[j], r.Claims, r.Guess)) {
			r.Passed, r.By = false, Minimality
			r.Recovered += hits[j]
		}
	}
	return nil
}

// claim counts the hidden cells of records and the claims that they have the given value; a
// negative value makes no claims. It returns the number of correct claims.
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

// byReleasedKey returns the number of records of each complete combination of released keys, and the
// records of each combination with a missing key.
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

// beforeSuppression returns the categories of a column before cells were hidden. truth
// holds them by record, −1 if the original is missing: the original categories or, if the
// column was recoded, the recoded ones, as far as records with a released cell show them.
// values are the distinct categories, sorted; one code, unseen, stands for all recoded
// categories that no released cell shows. ok is false if an original category has several
// released ones or if there are no values.
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
			y = x // for a column without recoding, an intruder who knows the code list knows the category
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

// minimal holds the data of the minimality attack.
type minimal struct {
	k        int
	domain   [][]int32
	complete map[hiddenKey]int
}

// follows returns for each key of a combination the value that its missing cell must have
// had, −1 if the cell is not missing, if several values are possible, or if there are
// more than mostValues combinations to try.
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
