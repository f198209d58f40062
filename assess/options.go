package assess

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/fileorder"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Masker makes one replicate: the masks of the release with other draws. transform.Chain
// implements it.
type Masker interface {
	NeedsSurvey() bool
	Survey(b *microdata.Block) error
	EndSurvey() error
	Apply(b *microdata.Block) error
}

// Unfit is an error of masks that cannot work with the given records: too few in a group, a
// column with one value only. If it concerns a part of the records, or those up to a snapshot,
// the masks may still work with all records; R and U are then those of the release alone.
type Unfit interface {
	error
	UnfitData()
}

// Column names a numeric column to assess.
type Column struct {
	Name, Unit string
	Index      int  // in Block.Columns, Numbers form
	Single     bool // of type float32, which a profile's decimals go by
	Key        bool // whether it is a key of the respondents, whose risk is that of combinations of categories
	Masked     bool // whether it has risks; an unmasked column has moments, correlations and utility only
	// whether a mask moves its values between records, so that a record's released value does not depend on its own
	// original alone
	Exchanged bool
	Withheld  bool // whether it is not released, and only measured
	// number of releases of the same data in which it has draws of its own; a snooper has all and takes their mean; 0: 1
	Copies  int
	Undoing Undoing
	// Fitted says that its released values come from all original ones together: from a model, groups, a percentile.
	// HeldOut is the share of the records that are set aside, at random, before a model is fitted.
	Fitted  bool
	HeldOut float64
	// Elsewhere says that a mask goes by other columns of the record too, such as a condition: of two records with the
	// same original value one may be changed and the other not.
	Elsewhere bool
	// Alike says that all records with one original value, such as those of one place, have one draw: they are one for an
	// intruder who goes by the whole record, since none of them tells of the others.
	Alike bool
	// Shared says that records with the same original value may share a draw (the members of a household), so that their
	// released values are the same.
	Shared bool
}

// BesideColumn is a released column that is not measured itself.
type BesideColumn struct {
	Name  string
	Index int // in Block.Columns, in either form
	// GroupOnly says that it is not released: the intruder knows which records have the same value
	// (the members of a household).
	GroupOnly bool
	// Piece is 0 for the whole value; 1 to Pieces for a number by which the texts are ordered by some of their characters:
	// a text of a few letters and a number may be another one for each record, and tell by its letters. It follows the
	// whole value of the same column.
	Piece int
	// Release is 0 for a column of this release, and for what an earlier release has of a column its number in the ledger.
	Release int
	Of      string // of an earlier release: the column's name in the source
	Before  bool   // of a key of an earlier release: the original values, by which k is counted
	// Member says that it only tells which cells of published tables a record is in (Earlier.Totals): it is looked at
	// for nothing else.
	Member bool
}

// Pieces is the number of pieces of a text: its first eight characters, the next eight, and the last eight from behind.
const Pieces = cell.Pieces

// MovedTogether says which columns a mask moves together from record to record, by name, or one that it moves by
// itself.
type MovedTogether struct {
	Moved         []string
	Within, Apart []string // in which the records that exchange values agree, and in which they differ
	Couples       bool     // whether two records have exchanged, so that each has the other's values
	Ranks         bool     // whether it is one column, whose values are exchanged between records of similar rank
}

// Options say what an Accumulator measures. Accumulators that are merged must have
// the same options except for Replicates and Replicate.
type Options struct {
	Columns    []Column
	Sample     int      // records in the keyed sample; 0: 100,000; < 0: all
	Extremes   int      // r, the number of most extreme records kept at either end of a column; 0: 100
	Replicates int      // M
	Targets    []string // min, p01, p10, p50, …, max

	// Key makes the sample unpredictable for outsiders. With the zero Key, for a
	// release that another tool made and that has no key here, the sample is a fixed
	// function of the records' places.
	Key keystream.Key

	// Together is what masks move between records.
	Together []MovedTogether

	// Replicate returns the masks of replicate m, 1 ≤ m ≤ Replicates. It is
	// called from several goroutines. If it is nil there are no replicates, and R
	// and U are those of the release alone.
	Replicate func(m int) Masker

	// Persons are the columns that identify a respondent, in Carry or Columns, and Repeated is Replicate where records of
	// one respondent share the draws of equal values; it is used if there are such records.
	Persons  []int
	Repeated func(m int) Masker

	// Keeping returns how many values the masks on a column leave unchanged, given its typical
	// value √(x̄² + S_x²); nil if that is not known. It is called from several goroutines.
	Keeping func(column string, typical float64) Keeping
	// Gated and AllowUnchanged are copied to Measures, for Judge.
	Gated          bool
	AllowUnchanged *float64

	// Law returns the distribution of the released values of a column without moves between
	// records; nil if it is not known. With it, R and U of more records than the sample holds are
	// expectations over all of them, without replicates. It may be nil.
	Law func(column string) Law

	// Draws reports whether what a column is released with depends on random draws. Without replicates, the figures of
	// this release then are those of one draw; nil: they are those of every release.
	Draws func(column string) bool

	// Exchange computes the effect of swaps on records that are known by their index; Replicate
	// then returns only the masks that move no values. It may be nil.
	Exchange Exchange
	// OrderBins is the greatest number, on each level, of bins of consecutive records that measure
	// what the order of the source discloses; 0: 8,192, fewer with many columns.
	OrderBins int
	// Shuffled says that the release has its records in an order of its own.
	Shuffled bool

	// Mixes says that a mask moves values between records (swapping), so that a
	// replicate needs the whole sample at once and not a part of it.
	Mixes bool

	// Entire says that a mask acts differently on a part of the records than on all of them
	// (groups of k). There are then replicates only if the sample holds all records; otherwise R
	// and U are those of the release alone.
	Entire bool

	// Carry lists further Block.Columns that the masks read (swapping keys and
	// attribute), in either form. The sample keeps a code of each value, equal
	// for equal values, and a replicate's block presents the codes as Numbers at
	// the same index.
	Carry []int
	// Record asks for the risk under knowledge of the whole record. A gate needs it (Options.Gated).
	Record bool
	// Beside lists the released columns that are not among Columns, for the risk under knowledge of
	// the whole record. The sample holds what the release shows of them.
	Beside []BesideColumn
	// Unseen names released columns of which nothing is held: nested ones, and those beyond the
	// number that is looked at.
	Unseen []string
	// Earlier asks for the risk under knowledge of all releases; nil: there is no ledger.
	Earlier *Earlier
	// Coded lists the columns with declared codes for missing values, which are counted.
	Coded []CodedColumn
	// Watched lists the masked columns of which is noted what the masks have left of all records together. Same returns a
	// function that reports whether two arrays have the same value at a place; it is needed for texts.
	Watched []WatchedColumn
	Same    func(x, y arrow.Array) func(i int) bool
	// Released lists those of Carry of which the sample also keeps a code of the released
	// value, because a mask changes it: released values are then counted.
	Released []int
}

const (
	defaultSample   = 100_000
	defaultExtremes = 100
	extremesBytes   = 32 << 20 // at most, by default
	orderBytes      = 64 << 20
	orderCost       = 6 * 32 // bytes for a bin: about six levels of 32 bytes
)

// resolve fills in defaults and checks the conditions of the arithmetic.
func (o Options) resolve() (Options, []orderstat.Target, error) {
	if o.Sample == 0 {
		o.Sample = defaultSample
	}
	if o.Extremes < 0 {
		return o, nil, fmt.Errorf("assess: extremes: must be at least 1, got %d", o.Extremes)
	}
	if o.Replicates < 0 {
		return o, nil, fmt.Errorf("assess: replicates: must be at least 0, got %d", o.Replicates)
	}
	if len(o.Columns) == 0 && len(o.Carry) == 0 && len(o.Coded) == 0 && len(o.Watched) == 0 {
		return o, nil, fmt.Errorf("assess: columns: must name at least one column, or carry one")
	}
	o.Columns, o.Carry, o.Released = append([]Column{}, o.Columns...), slices.Clone(o.Carry), slices.Clone(o.Released)
	seen := map[int]bool{}
	for _, c := range o.Columns {
		if c.Index < 0 || seen[c.Index] {
			return o, nil, fmt.Errorf("assess: column %s: index must be at least 0 and given once, got %d", c.Name, c.Index)
		}
		seen[c.Index] = true
	}
	// A column that is assessed and read by a mask is in the sample already.
	o.Carry = slices.DeleteFunc(o.Carry, func(i int) bool { return seen[i] })
	slices.Sort(o.Carry)
	o.Carry = slices.Compact(o.Carry)
	o.Released = slices.DeleteFunc(o.Released, func(i int) bool { return seen[i] })
	slices.Sort(o.Released)
	o.Released = slices.Compact(o.Released)
	for _, i := range o.Released {
		if !slices.Contains(o.Carry, i) {
			return o, nil, fmt.Errorf("assess: released: must be among the carried columns, got %d", i)
		}
	}
	o.Beside, o.Unseen = slices.Clone(o.Beside), slices.Clone(o.Unseen)
	for _, c := range o.Beside {
		if c.Index < 0 || seen[c.Index] {
			return o, nil, fmt.Errorf("assess: beside: %s: index must be at least 0 and not that of a measured column, got %d",
				c.Name, c.Index)
		}
	}
	if len(o.Carry) > 0 && o.Carry[0] < 0 {
		return o, nil, fmt.Errorf("assess: carry: must be at least 0, got %d", o.Carry[0])
	}
	if o.Extremes == 0 {
		// An extreme record is kept as a whole, once for each end of each column: with
		// hundreds of columns fewer are kept.
		record := 8 * max(o.layout().Width(), 1)
		o.Extremes = min(defaultExtremes, max(1, extremesBytes/(2*max(len(o.Columns), 1)*record)))
	}
	if o.OrderBins == 0 {
		o.OrderBins = max(4096, min(fileorder.DefaultBins, orderBytes/(orderCost*max(len(o.Columns), 1))))
	}
	targets := make([]orderstat.Target, len(o.Targets))
	for i, name := range o.Targets {
		t, err := orderstat.ParseTarget(name)
		if err != nil {
			return o, nil, fmt.Errorf("assess: targets[%d]: %w", i, err)
		}
		targets[i] = t
	}
	return o, targets, nil
}

// layout returns what the sample and the extremes keep of a record.
func (o *Options) layout() sample.Layout {
	l := sample.Layout{Carry: o.Carry, Released: o.Released}
	for _, c := range o.Beside {
		l.Beside, l.Pieces = append(l.Beside, c.Index), append(l.Pieces, c.Piece)
	}
	for _, c := range o.Columns {
		l.Columns = append(l.Columns, c.Index)
	}
	return l
}

// Keeping gives the share of a column's values that are released unchanged by the law of its
// masks: Share is the probability for an original value, Most the greatest share of a column
// that the law explains. If Changes is true, the law explains nothing in a column whose values
// are all unchanged.
type Keeping struct {
	Share   func(x float64) float64
	Most    float64
	Changes bool
}

// Exchange describes the effect of swaps on records that are known by their index: the expected
// square of x − y, over the pairing of partners and every other mask, and its standard error.
type Exchange interface {
	// Typical returns the mean over all records and its standard error; ok is false if it is
	// not known.
	Typical(column string) (square, se float64, ok bool)
	// At returns the figure of the record that holds a target, the original value tau. The
	// record is given by its place; row is −1 if only the target is known.
	At(column, target string, tau float64, scope string, stream int, row int64) (square, se float64, ok bool)
	// Group returns the mean over n records, each given by its place.
	Group(column string, n int, record func(i int) (scope string, stream int, row int64)) (square, se float64, ok bool)
}

// CheckTarget reports whether name is a target: min, max, or p and a percentage
// above 0 and below 100 with at least two digits and at most three decimals
// (p01, p50, p99.9).
func CheckTarget(name string) error {
	_, err := orderstat.ParseTarget(name)
	return err
}
