package uniqueness

import (
	"context"
	"fmt"
	"math"
)

// Scores is the weighting of minimal sample uniques by their number of keys.
type Scores int

const (
	// ScoresElliot: a set of k of N keys has weight Π_{i=k}^{M} (N − i), where M is the
	// largest size searched, at most N − 1 (Elliot et al. 2005).
	ScoresElliot Scores = iota
	// ScoresIHSN: the weight is (2^(N−k) − 1)·k!·(N−k)!/N!, as in the first IHSN
	// implementation. A set of all keys has weight 0, which hides sample uniques.
	ScoresIHSN
)

// SUDA2Options are the parameters of SUDA2 scores; the zero value is usable.
type SUDA2Options struct {
	// MaxSize is the largest number of keys of a minimal sample unique. 0: all keys if
	// there are up to 8, 6 if there are up to 12, 4 if there are more. The search's
	// time grows with the number of such combinations times the number of classes.
	MaxSize int
	// Scores is the weighting by size.
	Scores Scores
	// SampleFraction is the share of the population that is in the sample, above 0 and
	// at most 1, for the DIS scores. 0: the number of records divided by the sum of
	// weights (at most 1), or 1 without weights.
	SampleFraction float64
}

func (s *SUDA2Options) check(keys int) error {
	switch {
	case s.MaxSize < 0 || s.MaxSize > keys:
		return fmt.Errorf("suda2.max_size: must be from 0 to the number of keys, %d, got %d", keys, s.MaxSize)
	case s.Scores != ScoresElliot && s.Scores != ScoresIHSN:
		return fmt.Errorf("suda2.scores: must be ScoresElliot or ScoresIHSN, got %d", int(s.Scores))
	case !(s.SampleFraction >= 0 && s.SampleFraction <= 1):
		return fmt.Errorf("suda2.sample_fraction: must be above 0 and at most 1, or 0 to take it from the weights, got %v",
			s.SampleFraction)
	}
	return nil
}

func (s *SUDA2Options) maxSize(keys int) int {
	switch {
	case s.MaxSize > 0:
		return s.MaxSize
	case keys <= 8:
		return keys
	case keys <= 12:
		return 6
	}
	return 4
}

// SUDA2 holds the scores of special uniques: the weighted number of minimal sets of
// keys that make a record unique, with greater weights for smaller sets.
//
// A missing value makes no record unique and matches no record: a record that lacks a
// key of a set is neither unique on the set nor a match of another record. This is
// sdcMicro's rule and corresponds to α = 0 in Options.Alpha.
type SUDA2 struct {
	// Max and Mean are over all records; records that are not unique score 0.
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
	// MaxSize is the largest number of keys that were combined.
	MaxSize int `json:"max_size" doc:"greatest number of keys that were combined"`
	// Sizes counts the minimal sample uniques by their number of keys, from 1.
	Sizes []int64 `json:"msus_by_size" doc:"number of minimal sample uniques by their number of keys, from 1"`
	// Contribution is, for each key, the share of the scores' total that comes from
	// sets with this key. A set counts for each of its keys, so the sum exceeds 1.
	Contribution map[string]float64 `json:"contribution" doc:"share of the scores that comes from sets with this key"`
	// DISMax and DISMean are the maximum and the mean of the DIS scores: probabilities
	// that a unique match is correct. They follow from the scores and from the estimate
	// of Skinner and Elliot (2002) for the whole file.
	DISMax  float64 `json:"dis_max" doc:"greatest probability that a unique match is a correct one, by data intrusion simulation"`
	DISMean float64 `json:"dis_mean"`

	// Score and DIS have one entry per record.
	Score []float64 `json:"-"`
	DIS   []float64 `json:"-"`
}

// sizeWeights returns the weights of sets of 1 to maxSize of n keys.
func sizeWeights(s Scores, n, maxSize int) []float64 {
	weights := make([]float64, maxSize)
	binomial := 1.0
	for k := 1; k <= maxSize; k++ {
		binomial *= float64(n-k+1) / float64(k)
		if s == ScoresIHSN {
			weights[k-1] = (math.Exp2(float64(n-k)) - 1) / math.Round(binomial)
			continue
		}
		weights[k-1] = 1
		for i := k; i <= min(maxSize, n-1); i++ {
			weights[k-1] *= float64(n - i)
		}
	}
	return weights
}

// measureSUDA2 searches the minimal sample uniques and computes the scores. names are
// the keys' names, fraction is the sampling fraction. It returns ctx's error if ctx
// ends.
func measureSUDA2(ctx context.Context, g *grouper, c *classes, names []string, o SUDA2Options, fraction float64,
	workers int) (*SUDA2, error) {
	n := len(c.keys)
	maxSize := o.maxSize(n)
	weights := sizeWeights(o.Scores, n, maxSize)
	table := newSUDATable(g, c)
	sizes := make([]int64, maxSize)
	// Number of MSUs by size and key: integers, so that the order of summation does not
	// matter.
	byKey := make([]int64, maxSize*n)
	perClass := make([]float64, len(c.count))
	err := table.search(ctx, maxSize, workers, func(row int32, set uint64) {
		size := 0
		table.keysOf(set, func(int) { size++ })
		table.keysOf(set, func(key int) { byKey[(size-1)*n+key]++ })
		sizes[size-1]++
		perClass[row] += weights[size-1]
	})
	if err != nil {
		return nil, err
	}
	s := &SUDA2{MaxSize: maxSize, Sizes: sizes, Contribution: make(map[string]float64, n)}
	total := 0.0
	for k, count := range sizes {
		total += weights[k] * float64(count)
	}
	for j, name := range names {
		share := 0.0
		for k := range maxSize {
			share += weights[k] * float64(byKey[k*n+j])
		}
		if total > 0 {
			share /= total
		}
		s.Contribution[name] = share
	}
	// Only classes of one record have scores: sums over classes are sums over records.
	dis := disScores(perClass, n, disOdds(c.count, fraction))
	records := float64(len(c.of))
	for k, score := range perClass {
		s.Max, s.DISMax = max(s.Max, score), max(s.DISMax, dis[k])
		s.Mean += score / records
		s.DISMean += dis[k] / records
	}
	s.Score, s.DIS = byRecord(c.of, perClass), byRecord(c.of, dis)
	return s, nil
}

// disOdds returns the odds against a correct match times the number of sample uniques.
// With n₁ uniques, n₂ pairs and sampling fraction π, DIS = n₁π/(n₁π + 2n₂(1 − π))
// (Skinner and Elliot 2002), and n₁(1 − DIS)/DIS = 2n₂(1 − π)/π. n₁ cancels out, and so
// does sdcMicro's wrong count of uniques whose hashes collide.
func disOdds(count []int64, fraction float64) float64 {
	pairs := 0
	for _, n := range count {
		if n == 2 {
			pairs++
		}
	}
	return 2 * float64(pairs) * (1 - fraction) / fraction
}

// disScores distributes the odds over records by their scores s: 1/(1 + odds/(s^Q·Σ
// s^−Q)), Q = 1 + (8 − N)/20. Q is 0 for more than 28 keys, where a negative Q (as in
// sdcMicro) would reverse the order of the scores. A score of 0 remains 0.
func disScores(scores []float64, keys int, odds float64) []float64 {
	q := max(0, 1+(8-float64(keys))/20)
	sum := 0.0
	for _, s := range scores {
		if s > 0 {
			sum += math.Pow(s, -q)
		}
	}
	dis := make([]float64, len(scores))
	for i, s := range scores {
		if s > 0 {
			dis[i] = 1 / (1 + odds/(math.Pow(s, q)*sum))
		}
	}
	return dis
}
