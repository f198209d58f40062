package linkage

import (
	"errors"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// Keys are the columns in which targets and released records are compared, with one
// value per record. Targets and released records have the same keys in the same order.
type Keys struct {
	Numeric     [][]float64 // NaN: missing
	Categorical [][]int32   // codes from 0, the same in targets and release; −1: missing
}

// Len is the number of records.
func (k Keys) Len() int {
	if len(k.Numeric) > 0 {
		return len(k.Numeric[0])
	}
	if len(k.Categorical) > 0 {
		return len(k.Categorical[0])
	}
	return 0
}

// Distance is the distance measure between two records.
type Distance int

const (
	// Standardised is the Euclidean distance of numeric keys in SDs of the
	// released key (divisor n−1). An intruder can compute it from the release alone.
	Standardised Distance = iota
	// Mahalanobis is the distance √(dᵀ C⁻¹ d) of numeric keys, where d is the
	// difference of the two records and C the matrix that Options.Covariance names.
	Mahalanobis
	// Gower is the mean over the keys of |difference|/range of a numeric key, where the
	// range is over targets and released records together, and of 0 (match) or 1
	// (mismatch) of a categorical key: Gower (1971), "A general coefficient of
	// similarity and some of its properties", Biometrics 27.
	Gower
	// Ranks is the mean over the numeric keys of the difference of ranks within
	// the original and within the released key, as shares of the number of records. It
	// suits swapped data and other masks that keep the order of the values rather than
	// the values; after Muralidhar and Domingo-Ferrer (2016), "Rank-based record
	// linkage for re-identification risk assessment", PSD 2016, LNCS 9867. Equal values
	// have the mean of their ranks.
	Ranks
)

var distances = []string{"standardised", "mahalanobis", "gower", "ranks"}

func (d Distance) String() string {
	if d < 0 || int(d) >= len(distances) {
		return fmt.Sprintf("Distance(%d)", int(d))
	}
	return distances[d]
}

// MarshalText is the distance's name.
func (d Distance) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a distance's name.
func (d *Distance) UnmarshalText(text []byte) error {
	for i, name := range distances {
		if name == string(text) {
			*d = Distance(i)
			return nil
		}
	}
	return fmt.Errorf("distance: must be one of standardised, mahalanobis, gower, ranks, got %q", text)
}

// Covariance names the covariance matrix of the Mahalanobis distance.
type Covariance int

const (
	// OfDifferences is the covariance of released less original over the true
	// pairs, Var(A)+Var(B)−2Cov(A,B): Torra, Abowd and Domingo-Ferrer (2006),
	// "Using Mahalanobis distance-based record linkage for disclosure risk
	// assessment", PSD 2006, LNCS 4302. It assumes an intruder who knows what the masks
	// do. If the differences have an SD below 10⁻⁶ of the keys' SD in some direction,
	// this SD is set to 10⁻⁶: the direction still outweighs all others, and the matrix
	// is not singular.
	OfDifferences Covariance = iota
	// OfReleased is the covariance of the released keys. If it is singular, the
	// pseudo-inverse is used, because a direction in which released records do not
	// differ cannot distinguish them.
	OfReleased
)

// Options describe the intruder's method and knowledge.
type Options struct {
	Distance   Distance
	Covariance Covariance // of the Mahalanobis distance

	// Truth holds for each target the index of its own released record, −1 if the
	// release has none. Nil: target i is record i.
	Truth []int32

	// Reference, for Ranks, holds the values among which the targets are ranked: the
	// whole original file if the targets are a part of it. Nil: the targets.
	Reference *Keys

	// Ranked requests the rank of each target's own record among all records by
	// distance. This takes longer than the nearest record alone.
	Ranked bool
	// OneToOne also requests the best one-to-one assignment, for at most asked.OneToOne
	// records.
	OneToOne bool

	method method    // of the search, in tests
	ranges []float64 // of the numeric keys, for Gower; nil: those of targets and released records together
}

// ErrTooManyRecords is returned for a one-to-one assignment of more than
// asked.OneToOne targets or released records.
var ErrTooManyRecords = errors.New("one-to-one linkage: too many records")

// check returns an error if the keys do not fit each other or the options.
func check(targets, released Keys, o *Options) error {
	if err := targets.check("targets"); err != nil {
		return err
	}
	if err := released.check("released"); err != nil {
		return err
	}
	if err := targets.alike("targets", released); err != nil {
		return err
	}
	if len(released.Numeric)+len(released.Categorical) == 0 {
		return errors.New("keys: must be at least one, got none")
	}
	if o.Distance < Standardised || o.Distance > Ranks {
		return fmt.Errorf("distance: unknown, %v", o.Distance)
	}
	if o.Distance != Gower && len(released.Categorical) > 0 {
		return fmt.Errorf("keys: the %v distance compares numeric keys only, got %d categorical: use gower", o.Distance,
			len(released.Categorical))
	}
	n, m := released.Len(), targets.Len()
	if n == 0 {
		return errors.New("released: must have at least one record, got none")
	}
	if n > math.MaxInt32 || m > math.MaxInt32 {
		return fmt.Errorf("records: must be fewer than 2³¹, got %d targets and %d released", m, n)
	}
	if o.OneToOne && max(n, m) > asked.OneToOne {
		return fmt.Errorf("%w: at most %d targets and released records, got %d and %d", ErrTooManyRecords, asked.OneToOne, m,
			n)
	}
	if o.Truth == nil {
		if m > n {
			return fmt.Errorf(
				"truth: must say which released record is each target's where there are more targets than records, got %d and %d",
				m, n)
		}
	} else if len(o.Truth) != m {
		return fmt.Errorf("truth: must have one entry for each of %d targets, got %d", m, len(o.Truth))
	}
	for i, t := range o.Truth {
		if t < -1 || int(t) >= n {
			return fmt.Errorf("truth[%d]: must be −1 or the index of one of %d released records, got %d", i, n, t)
		}
	}
	if o.Reference != nil {
		if err := o.Reference.check("reference"); err != nil {
			return err
		}
		return o.Reference.alike("reference", released)
	}
	return nil
}

func (k Keys) alike(name string, released Keys) error {
	if len(k.Numeric) != len(released.Numeric) || len(k.Categorical) != len(released.Categorical) {
		return fmt.Errorf("%s: must have the keys of the release, %d numeric and %d categorical, got %d and %d",
			name, len(released.Numeric), len(released.Categorical), len(k.Numeric), len(k.Categorical))
	}
	return nil
}

func (k Keys) check(name string) error {
	n := k.Len()
	for j, column := range k.Numeric {
		if len(column) != n {
			return fmt.Errorf("%s.numeric[%d]: must have %d records like the other keys, got %d", name, j, n, len(column))
		}
		for i, v := range column {
			if math.IsInf(v, 0) {
				return fmt.Errorf("%s.numeric[%d]: must be finite or missing, record %d is infinite", name, j, i+1)
			}
		}
	}
	for j, column := range k.Categorical {
		if len(column) != n {
			return fmt.Errorf("%s.categorical[%d]: must have %d records like the other keys, got %d", name, j, n, len(column))
		}
		for i, v := range column {
			if v < -1 {
				return fmt.Errorf("%s.categorical[%d]: must be −1 or a code from 0, record %d is neither", name, j, i+1)
			}
		}
	}
	return nil
}
