package referee

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
)

// Side is one of the three files.
type Side int

const (
	Original Side = iota // the records that the release was made of
	Released
	Control // records of the same population that the release was not made of
	sides
)

// Values are those of a column in one file: numbers, NaN if missing, or codes of categories from 0, −1 if missing.
type Values struct {
	Numbers []float64
	Codes   []int32
}

// at returns value i, NaN if it is missing.
func (v Values) at(i int32) float64 {
	if v.Codes == nil {
		return v.Numbers[i]
	}
	if v.Codes[i] < 0 {
		return math.NaN()
	}
	return float64(v.Codes[i])
}

func (v Values) len() int { return len(v.Numbers) + len(v.Codes) }

// missing reports whether any value is missing.
func (v Values) missing() bool {
	return slices.ContainsFunc(v.Numbers, math.IsNaN) || slices.ContainsFunc(v.Codes, func(c int32) bool { return c < 0 })
}

// Column is a column of the three files. Its codes are the same in all of them.
type Column struct {
	Name    string
	Numeric bool
	Sides   [3]Values
}

// Data are the columns of the three files; without control records those have none.
type Data struct{ Columns []Column }

// Len returns the number of records of a file.
func (d *Data) Len(s Side) int { return d.Columns[0].Sides[s].len() }

// check returns an error unless all columns of a file have the same number of records, the original and the released
// file at least one, and names are not repeated.
func (d *Data) check() error {
	if len(d.Columns) == 0 {
		return fmt.Errorf("columns: must be at least 1, got 0")
	}
	for i := range d.Columns {
		c := &d.Columns[i]
		if slices.ContainsFunc(d.Columns[:i], func(o Column) bool { return o.Name == c.Name }) {
			return fmt.Errorf("columns: must have distinct names, got %s twice", strconv.Quote(c.Name))
		}
		for s := range sides {
			v := c.Sides[s]
			if v.len() != d.Len(s) || v.len() > math.MaxInt32 {
				return fmt.Errorf("column %s: must have the records of the others, %d, got %d", strconv.Quote(c.Name), d.Len(s),
					v.len())
			}
			if v.len() > 0 && c.Numeric != (v.Codes == nil) {
				return fmt.Errorf("column %s: must hold numbers in all files, or categories in all", strconv.Quote(c.Name))
			}
		}
	}
	for _, s := range []Side{Original, Released} {
		if d.Len(s) == 0 {
			return fmt.Errorf("records: must be at least 1 in the original and in the release, got 0")
		}
	}
	return nil
}

// index returns the places of columns, or an error that says which does not exist.
func (d *Data) index(names []string) ([]int, error) {
	list := make([]int, len(names))
	for i, name := range names {
		list[i] = slices.IndexFunc(d.Columns, func(c Column) bool { return c.Name == name })
		if list[i] < 0 {
			return nil, fmt.Errorf("there is no column %s to compare", strconv.Quote(name))
		}
		if slices.Contains(list[:i], list[i]) {
			return nil, fmt.Errorf("column %s is named twice", strconv.Quote(name))
		}
	}
	return list, nil
}

// span returns the difference of the greatest and the least number of a column in all files.
func (c *Column) span() float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range c.Sides {
		for _, x := range v.Numbers {
			if x == x {
				least, most = min(least, x), max(most, x)
			}
		}
	}
	return most - least
}

// keys returns columns of records (nil: all) as keys of distances, with the ranges of the numeric ones. A missing
// category is a category. A number that is missing in any file has a key beside it that says whether it is missing:
// two missing numbers do not differ, and a missing and a present one differ by at least 1.
func (r *run) keys(columns []int, s Side, records []int32) (k linkage.Keys, ranges []float64) {
	for _, j := range columns {
		c := &r.d.Columns[j]
		if !c.Numeric {
			k.Categorical = append(k.Categorical, present(gathered(c.Sides[s].Codes, records)))
			continue
		}
		numbers := gathered(c.Sides[s].Numbers, records)
		k.Numeric, ranges = append(k.Numeric, numbers), append(ranges, r.spans[j])
		if r.lacking[j] {
			is := make([]int32, len(numbers))
			for i, x := range numbers {
				if x != x {
					is[i] = 1
				}
			}
			k.Categorical = append(k.Categorical, is)
		}
	}
	return k, ranges
}

// present returns codes with one of its own for missing ones.
func present(codes []int32) []int32 {
	if !slices.Contains(codes, -1) {
		return codes
	}
	codes = slices.Clone(codes)
	for i, c := range codes {
		if c < 0 {
			codes[i] = math.MaxInt32
		}
	}
	return codes
}

// gathered returns the given records of a column; nil: all of them.
func gathered[T any](column []T, records []int32) []T {
	if records == nil {
		return column
	}
	list := make([]T, len(records))
	for i, r := range records {
		list[i] = column[r]
	}
	return list
}

// joined returns the keys of two groups of targets, one behind the other.
func joined(a, b linkage.Keys) (k linkage.Keys) {
	for j := range a.Numeric {
		k.Numeric = append(k.Numeric, slices.Concat(a.Numeric[j], b.Numeric[j]))
	}
	for j := range a.Categorical {
		k.Categorical = append(k.Categorical, slices.Concat(a.Categorical[j], b.Categorical[j]))
	}
	return k
}

// sample returns k of n records in ascending order, each set of k equally likely; all if k is at least n.
func sample(n, k int, rng *rand.Rand) []int32 {
	list := make([]int32, 0, min(n, k))
	for i := 0; i < n && len(list) < k; i++ {
		if rng.IntN(n-i) < k-len(list) {
			list = append(list, int32(i))
		}
	}
	return list
}

// hash mixes the values of some columns of a record; equal records have equal hashes.
func (d *Data) hash(columns []int, s Side, record int32) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, j := range columns {
		v := d.Columns[j].Sides[s].at(record)
		bits := math.Float64bits(v + 0) // −0 + 0 is 0
		if v != v {
			bits = 1
		}
		h = (h ^ bits) * 0xbf58476d1ce4e5b9
		h ^= h >> 29
		h *= 0x94d049bb133111eb
		h ^= h >> 32
	}
	return h
}

// alike reports whether two records of a file have equal values, missing ones being equal.
func (d *Data) alike(columns []int, s Side, a, b int32) bool {
	for _, j := range columns {
		v := d.Columns[j].Sides[s]
		if x, y := v.at(a), v.at(b); x != y && (x == x || y == y) {
			return false
		}
	}
	return true
}
