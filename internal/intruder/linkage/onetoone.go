package linkage

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// oneToOne returns the expected number of targets that the best assignment links to
// their own records: Herranz, Nin, Rodríguez and Tassa (2015), "Revisiting
// distance-based record linkage for privacy-preserving release of statistical
// datasets", Data & Knowledge Engineering 100. If there are more targets than records,
// each record is assigned a target of its own.
//
// No assignment can distinguish records with equal keys. Therefore oneToOne counts how
// many targets of each class of equal keys are assigned to records of each class. A
// target's share is the probability that it is one of these targets and that it gets
// its own record within the class. Between assignments that are equally good otherwise,
// the order of the keys' values decides. So the result does not depend on the order of
// the file.
func oneToOne(ctx context.Context, s *space, n, m int, o *Options) (correct float64, err error) {
	if m == 0 {
		return 0, nil
	}
	targets, records := classesOf(m, s.target), classesOf(n, s.record)
	rows, columns := targets, records
	if m > n {
		rows, columns = records, targets
	}
	cost := make([]float64, m*n)
	width := len(columns.order)
	err = each(ctx, len(rows.order), func(from, to int, _ []query) {
		for i := from; i < to; i++ {
			row := cost[i*width:][:width]
			a := rows.point(int(rows.order[i]))
			for j, k := range columns.order {
				row[j] = s.measured(s.between(a, columns.point(int(k))))
			}
		}
	})
	if err != nil {
		return 0, err
	}
	finite(cost, len(rows.order))
	columnOf, _, err := assign(ctx, cost, len(rows.order), width)
	if err != nil {
		return 0, err
	}
	flows := map[flow]int{}
	for i, j := range columnOf {
		a, b := rows.class[rows.order[i]], columns.class[columns.order[j]]
		if m > n {
			a, b = b, a
		}
		flows[flow{a, b}]++
	}
	return credit(flows, targets, records, o.truth), nil
}

// flow is a class of targets and the class of records to which some of them are assigned.
type flow struct{ target, record int32 }

// credit returns the expected number of targets that are assigned to their own records, from the number
// of targets of each class that are assigned to each class of records. truth returns the record of a
// target, negative if it has none.
func credit(flows map[flow]int, targets, records *classes, truth func(i int) int) float64 {
	var sum exactSum
	for i := range targets.class {
		t := truth(i)
		if t < 0 {
			continue
		}
		a, b := targets.class[i], records.class[t]
		if f := flows[flow{a, b}]; f > 0 {
			sum.add(float64(f) / (float64(targets.size[a]) * float64(records.size[b])))
		}
	}
	return sum.total()
}

// Assign gives each of m targets a record of its own among n, at least m, so that the sum of costs is
// least, and returns the expected number of targets that get the record that truth says, negative if
// none. cost has a row of n finite numbers or +Inf for each target; its infinities are replaced. target
// and record return the values by which targets, and records, are equal to each other.
func Assign(ctx context.Context, cost []float64, m, n int, target, record func(i int) []float64,
	truth func(i int) int) (correct float64, err error) {
	finite(cost, m)
	columnOf, _, err := assign(ctx, cost, m, n)
	if err != nil {
		return 0, err
	}
	targets, records := classesOf(m, target), classesOf(n, record)
	flows := map[flow]int{}
	for i, j := range columnOf {
		flows[flow{targets.class[i], records.class[j]}]++
	}
	return credit(flows, targets, records, truth), nil
}

// classes groups the records with equal coordinates.
type classes struct {
	point func(i int) []float64
	order []int32 // the records in the order of their coordinates
	class []int32 // of a record
	size  []int   // of a class
}

func classesOf(n int, point func(int) []float64) *classes {
	c := &classes{point: point, order: make([]int32, n), class: make([]int32, n)}
	for i := range c.order {
		c.order[i] = int32(i)
	}
	compare := func(i, j int32) int {
		a, b := point(int(i)), point(int(j))
		for k, v := range a {
			// cmp.Compare treats missing values (NaN) as equal.
			if by := cmp.Compare(v, b[k]); by != 0 {
				return by
			}
		}
		return 0
	}
	slices.SortFunc(c.order, compare)
	for k, i := range c.order {
		if k == 0 || compare(c.order[k-1], i) != 0 {
			c.size = append(c.size, 0)
		}
		last := len(c.size) - 1
		c.class[i] = int32(last)
		c.size[last]++
	}
	return c
}

// finite replaces infinite costs by a cost so great that the best assignment of the
// given number of rows uses it only if it cannot avoid it.
func finite(cost []float64, rows int) {
	greatest, infinite := 0.0, false
	for _, c := range cost {
		if math.IsInf(c, 1) {
			infinite = true
		} else {
			greatest = max(greatest, c)
		}
	}
	if !infinite {
		return
	}
	bar := 1.0
	if greatest > 0 {
		bar = min(2*float64(rows)*greatest, math.MaxFloat64/(8*float64(rows)))
	}
	for i, c := range cost {
		if math.IsInf(c, 1) {
			cost[i] = bar
		}
	}
}
