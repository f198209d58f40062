package uniqueness

import (
	"context"
	"math"
	"slices"
)

// Diversity is the l-diversity of sensitive columns within the classes of equal keys
// (Machanavajjhala et al. 2007). Missing sensitive values do not count as values. A
// class without values has diversity 0 and is omitted from the minima, which are 0 only
// if no class has a value.
type Diversity struct {
	// DistinctMin is the least number of different values in a class.
	DistinctMin int `json:"distinct_min" doc:"least number of distinct values among records with equal keys"`
	// EntropyMin is the least effective number of values, exp(entropy).
	EntropyMin float64 `json:"entropy_min" doc:"least effective number of values among records with equal keys: e to the power of the entropy"`
	// RecursiveMin is the minimum over the classes of the greatest l for which the
	// class is (c,l)-diverse: its most frequent value occurs less than c times as often
	// as its values from the l-th most frequent on together.
	RecursiveMin int `json:"recursive_min" doc:"greatest l for which all classes of records with equal keys are (c,l)-diverse"`

	// The measures of each record's class, by record.
	Distinct  []int32   `json:"-"`
	Entropy   []float64 `json:"-"`
	Recursive []int32   `json:"-"`
}

// classDiversity holds the measures by class.
type classDiversity struct {
	distinct, recursive []int32
	entropy             []float64
}

// diversityOf returns the diversity of values within each class. class and values have
// one entry for each record.
func diversityOf(g *grouper, class []int32, classes int, values []int32, c float64) classDiversity {
	n := len(class)
	pair := make([]int32, n)
	pairs := g.group([]field{{class, uint64(classes)}, newField(values)}, nil, pair)
	count := make([]int64, pairs)
	classOf := make([]int32, pairs)
	known := make([]bool, pairs)
	for i, p := range pair {
		count[p]++
		classOf[p], known[p] = class[i], values[i] >= 0
	}
	// counts[start[k]:start[k+1]] holds the counts of class k's values.
	start := make([]int, classes+1)
	for p, k := range classOf {
		if known[p] {
			start[k+1]++
		}
	}
	for k := range classes {
		start[k+1] += start[k]
	}
	counts := make([]int64, start[classes])
	fill := slices.Clone(start[:classes])
	for p, k := range classOf {
		if known[p] {
			counts[fill[k]] = count[p]
			fill[k]++
		}
	}
	d := classDiversity{make([]int32, classes), make([]int32, classes), make([]float64, classes)}
	for k := range classes {
		values := counts[start[k]:start[k+1]]
		if len(values) == 0 {
			continue
		}
		slices.SortFunc(values, func(a, b int64) int { return int(b - a) })
		d.distinct[k] = int32(len(values))
		d.entropy[k] = effectiveNumber(values)
		d.recursive[k] = recursiveLevel(values, c)
	}
	return d
}

func effectiveNumber(counts []int64) float64 {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	entropy := 0.0
	for _, n := range counts {
		share := float64(n) / float64(total)
		entropy -= share * math.Log(share)
	}
	return math.Exp(entropy)
}

// recursiveLevel returns the largest l for which counts, in descending order, satisfy
// counts[0] < c·(counts[l−1] + … ); at least 1.
func recursiveLevel(counts []int64, c float64) int32 {
	rest := int64(0)
	for _, n := range counts[1:] {
		rest += n
	}
	l := int32(1)
	for _, n := range counts[1:] {
		if !(float64(counts[0]) < c*float64(rest)) {
			break
		}
		l++
		rest -= n
	}
	return l
}

// spread assigns the measures of classes to their records and computes the minima.
func (d classDiversity) spread(class []int32) Diversity {
	n := len(class)
	whole := Diversity{Distinct: make([]int32, n), Entropy: make([]float64, n), Recursive: make([]int32, n)}
	for i, k := range class {
		whole.Distinct[i], whole.Entropy[i], whole.Recursive[i] = d.distinct[k], d.entropy[k], d.recursive[k]
	}
	for k, distinct := range d.distinct {
		switch {
		case distinct == 0:
		case whole.DistinctMin == 0:
			whole.DistinctMin, whole.EntropyMin, whole.RecursiveMin = int(distinct), d.entropy[k], int(d.recursive[k])
		default:
			whole.DistinctMin = min(whole.DistinctMin, int(distinct))
			whole.EntropyMin = min(whole.EntropyMin, d.entropy[k])
			whole.RecursiveMin = min(whole.RecursiveMin, int(d.recursive[k]))
		}
	}
	return whole
}

// measureDiversity measures each sensitive column and, if there are several, all of
// them together. It returns ctx's error if ctx ends.
func measureDiversity(ctx context.Context, g *grouper, class []int32, classes int, sensitive []Column,
	c float64) (map[string]Diversity, *Diversity, error) {
	columns := make(map[string]Diversity, len(sensitive))
	for _, s := range sensitive {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		columns[s.Name] = diversityOf(g, class, classes, s.Codes, c).spread(class)
	}
	if len(sensitive) < 2 {
		return columns, nil, nil
	}
	multi, err := multiDiversity(ctx, g, class, classes, sensitive, c)
	return columns, multi, err
}

// multiDiversity measures each sensitive column within the classes of equal keys and
// equal other sensitive values, against an intruder who knows all sensitive values of a
// respondent except one. The measure of a class is the minimum over these finer classes
// (Machanavajjhala et al. 2007, section 4.3).
func multiDiversity(ctx context.Context, g *grouper, class []int32, classes int, sensitive []Column,
	c float64) (*Diversity, error) {
	least := classDiversity{make([]int32, classes), make([]int32, classes), make([]float64, classes)}
	fine := make([]int32, len(class))
	for s, column := range sensitive {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		keys := []field{{class, uint64(classes)}}
		for o, other := range sensitive {
			if o != s {
				keys = append(keys, newField(other.Codes))
			}
		}
		finer := g.group(keys, nil, fine)
		d := diversityOf(g, fine, finer, column.Codes, c)
		seen := make([]bool, finer)
		for i, f := range fine {
			if seen[f] || d.distinct[f] == 0 {
				continue
			}
			seen[f] = true
			k := class[i]
			if least.distinct[k] == 0 {
				least.distinct[k], least.entropy[k], least.recursive[k] = d.distinct[f], d.entropy[f], d.recursive[f]
				continue
			}
			least.distinct[k] = min(least.distinct[k], d.distinct[f])
			least.entropy[k] = min(least.entropy[k], d.entropy[f])
			least.recursive[k] = min(least.recursive[k], d.recursive[f])
		}
	}
	whole := least.spread(class)
	return &whole, nil
}
