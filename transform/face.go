package transform

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/category"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/exchange"
	"github.com/sdlfilter/sdlfilter/transform/internal/group"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
	"github.com/sdlfilter/sdlfilter/transform/internal/synthesis"
	"github.com/sdlfilter/sdlfilter/transform/internal/weights"
)

// What masks share.
type (
	Action         = core.Action
	ActionTier     = core.ActionTier
	Addition       = core.Addition
	Aggregation    = core.Aggregation
	Amount         = core.Amount
	Axis           = core.Axis
	Bounding       = core.Bounding
	Calibration    = core.Calibration
	Chain          = core.Chain
	ColumnInfo     = core.ColumnInfo
	Correlations   = core.Correlations
	Description    = core.Description
	Displacer      = core.Displacer
	Exchange       = core.Exchange
	Frequencies    = core.Frequencies
	HeldOut        = core.HeldOut
	Households     = core.Households
	Keeping        = core.Keeping
	Kind           = core.Kind
	Law            = core.Law
	Mechanism      = core.Mechanism
	MechanismKind  = core.MechanismKind
	Multiplication = core.Multiplication
	Parameter      = core.Parameter
	Params         = core.Params
	PeopleOf       = core.PeopleOf
	Place          = core.Place
	Prepared       = core.Prepared
	Published      = core.Published
	Publishing     = core.Publishing
	PutValue       = core.PutValue
	Randomising    = core.Randomising
	ReadColumn     = core.ReadColumn
	Recoding       = core.Recoding
	Rounding       = core.Rounding
	Sampling       = core.Sampling
	Scope          = core.Scope
	Setup          = core.Setup
	Shuffling      = core.Shuffling
	Spec           = core.Spec
	Squares        = core.Squares
	Stretch        = core.Stretch
	Suppression    = core.Suppression
	SurveyError    = core.SurveyError
	Synthesis      = core.Synthesis
	TableFile      = core.TableFile
	Touch          = core.Touch
	Unmatched      = core.Unmatched
	Verified       = core.Verified
)

// The masks, by family.
type (
	Date      = category.Date
	PRAM      = category.PRAM
	Pseudonym = category.Pseudonym
	Recode    = category.Recode
	Renaming  = category.Renaming
)

type (
	Microaggregate = group.Microaggregate
	Suppress       = group.Suppress
)

type (
	Synthesise = synthesis.Synthesise
)

type (
	RankExchange = exchange.RankExchange
	RankOrigins  = exchange.RankOrigins
	Relocation   = exchange.Relocation
	Relocated    = exchange.Relocated
	Swap         = exchange.Swap
	RecordSwap   = exchange.RecordSwap
	RankSwap     = exchange.RankSwap
	Shuffle      = exchange.Shuffle
)

type (
	Calibrate  = weights.Calibrate
	Calibrated = weights.Calibrated
)

type (
	Bias       = record.Bias
	Displacing = record.Displacing
	Donut      = record.Donut
	Noise      = record.Noise
	Round      = record.Round
	Sample     = record.Sample
	Tier       = record.Tier
	Topcode    = record.Topcode
	Truncate   = record.Truncate
)

// The scopes and the kinds of mechanisms, see Scope and MechanismKind.
const (
	ScopeUndeclared = core.ScopeUndeclared
	ScopeRecord     = core.ScopeRecord
	ScopeWindow     = core.ScopeWindow
	ScopeDataset    = core.ScopeDataset

	OwnValue   = core.OwnValue
	Clipping   = core.Clipping
	Stepping   = core.Stepping
	Adding     = core.Adding
	Responding = core.Responding
	Drawing    = core.Drawing
)

// ErrCancelled is the error of a survey after Chain.Cancel.
var ErrCancelled = core.ErrCancelled

// NewChain prepares the masks for a run. The error names mask and parameter. Errors are:
// parameters that Check or CheckSpecs refuse; a column that is not in the setup or whose type
// the mask does not support; a percentage of an SD that is not known; bounds between which
// there is no value with the column's type and decimals; a missing window. Protected columns
// of a swap that are not in the setup are skipped.
func NewChain(masks []Spec, setup Setup) (*Chain, error) { return core.NewChain(masks, setup) }

// Register adds kinds of masks to those that a configuration can name. It is called before any configuration is read.
func Register(list ...Kind) { core.Register(list...) }

// Kinds returns the masks that a configuration can name, in the order in which they were registered.
func Kinds() []Kind { return core.Kinds() }

// CheckSpecs reports errors that involve several masks, with paths such as "[1].truncate.mode".
// Labels, which name a mask in messages and in the keystream, must be distinct, and the
// conditions of each mask on those before it must hold. The Check of a mask reports errors
// within that mask.
func CheckSpecs(masks []Spec) check.Problems { return core.CheckSpecs(masks) }

// Label is the name of mask i in messages and in the keystream: its own, or its
// kind with its ordinal among the unnamed masks of that kind, from 1: "noise#2".
// Draws depend on it, so giving a mask a name changes its draws.
func Label(masks []Spec, i int) string { return core.Label(masks, i) }

// NeedsWindow reports whether some mask moves values within windows.
func NeedsWindow(masks []Spec) bool { return core.NeedsWindow(masks) }

// NeedsCorrelations returns the columns whose correlations with one another a mask must know;
// nil if it needs none.
func NeedsCorrelations(p Params) []string { return core.NeedsCorrelations(p) }

// NeedsFrequencies returns the first field of a mask that needs the frequencies of the
// original's categories (Setup.Frequencies); "" where none does.
func NeedsFrequencies(p Params) string { return core.NeedsFrequencies(p) }

// ScopeOf returns the scope of a mask; ScopeUndeclared if it does not declare one.
func ScopeOf(p Params) Scope { return core.ScopeOf(p) }

// Computes reports whether a mask computes with the values of its columns, which must then be
// numbers. It is true for a mask that declares neither MovesOnly nor OnCategories.
func Computes(p Params) bool { return core.Computes(p) }

// MixesRecords reports whether a mask moves values between records, so that a released value
// may be another respondent's: its matrix A in Z = AXB + C (Duncan and Keller-McNulty 2000,
// section 2) is not diagonal. It is true for a mask that does not declare its scope.
func MixesRecords(p Params) bool { return core.MixesRecords(p) }

// Unmixed returns the masks without those that only move values between records, under the labels
// that they have in the list, so that their replicates have the same draws. As a set of
// values without their records, a column released by the whole list is one released by these
// masks: the others only permute values, and the masks before and after them change a value in
// the same way at every record.
//
// If a mask computes with all values at once, no mask is left out: its result for a record
// depends on where the other values are.
func Unmixed(masks []Spec) []Spec { return core.Unmixed(masks) }

// Alone returns the masks of one column, restricted to this column. They keep their labels from
// the list, so the draws are the same. It returns false if one of these masks reads other
// columns or cannot be restricted to one column.
func Alone(masks []Spec, column string) ([]Spec, bool) { return core.Alone(masks, column) }

// Replicates returns replicate m ≥ 1 of each of several chains of one key. The draws of a
// replicate depend on a mask's label and its column, not on its parameters, so the points of a
// grid of parameters have the same draws; each is made once and kept for the other chains. The
// chains must be used by one goroutine at a time, on records identified by their place; draws
// are shared only if they are used one after another on the same blocks.
func Replicates(chains []*Chain, m int) []*Chain { return core.Replicates(chains, m) }

// LeavesOut reports whether a mask leaves records out of the release.
func LeavesOut(p Params) bool { return core.LeavesOut(p) }

// ColumnsField returns the name of the field that lists the columns which a mask changes.
func ColumnsField(p Params) string { return core.ColumnsField(p) }

// RelativeTo returns the field of an amount that is given as a share of the standard deviation,
// and the columns concerned; "" and nil if the mask has no such amount.
func RelativeTo(p Params) (field string, columns []string) { return core.RelativeTo(p) }

// ParametersOf returns a mask's parameters; nil if it does not declare them.
func ParametersOf(p Params) []Parameter { return core.ParametersOf(p) }

// ActionOf returns what a mask does to a column; nil if the mask does not declare it.
func ActionOf(p Params, column string, sd float64) Action { return core.ActionOf(p, column, sd) }

// InsteadOf returns the text after "use" that names an alternative to a mask that must see all
// records first. If the mask names none, it is a general text.
func InsteadOf(p Params) string { return core.InsteadOf(p) }

// PlacesOf returns the points that a mask displaces.
func PlacesOf(p Params) []Place { return core.PlacesOf(p) }

// ByHousehold reports whether a mask decides about whole households where they are known.
func ByHousehold(p Params) bool { return core.ByHousehold(p) }

// DependsOn returns the columns on which it depends what becomes of a value, beside the value itself.
func DependsOn(p Params) []string { return core.DependsOn(p) }

// TakesTexts reports whether a mask that computes with columns treats this one as categories, which may be texts.
func TakesTexts(p Params, column string) bool { return core.TakesTexts(p, column) }

// SameValues returns a function that reports whether two arrays have the same value at i; if their
// types cannot be compared, it always returns false.
func SameValues(x, y arrow.Array) func(i int) bool { return core.SameValues(x, y) }

// InDays reports whether masks compute with a column of dates or moments in days: all masks on it do.
func InDays(masks []Spec, f microdata.Field) bool { return core.InDays(masks, f) }

// DecimalsOfDays returns the decimals of days of a type: dates are whole days, moments have no grid.
func DecimalsOfDays(t arrow.DataType) int { return core.DecimalsOfDays(t) }

// Quantile returns the least number that the share of the records, from 0 to 1, is at or below.
func Quantile(counts map[int64]int64, share float64) int64 { return core.Quantile(counts, share) }

// Below is the share of the records below a number.
func Below(counts map[int64]int64, limit int64) float64 { return core.Below(counts, limit) }

// InvariantMatrix returns R = P·Q with Q_lk = π_k P_kl / Σ_m π_m P_ml, the chance that what
// is released as l was k: π R = π (Gouweleeuw et al. 1998, section 5, the two-stage
// procedure), π being the frequencies, as counts or shares. A category whose frequency is 0
// is never released.
func InvariantMatrix(p [][]float64, frequencies []float64) [][]float64 {
	return category.InvariantMatrix(p, frequencies)
}

// RoundsDates reports whether some mask replaces dates by the middle of their interval: R then is that of a snooper who
// does not know how the dates lie in it.
func RoundsDates(masks []Spec, column string) bool { return category.RoundsDates(masks, column) }

// NoiseLeft returns √(1 − R²): the share of the standard deviation of a column's correlated
// noise that remains for an intruder who knows the original values of the mask's other columns,
// and so their noise. It is 1 if the correlations are not known.
func NoiseLeft(known Correlations, columns []string, column string) float64 {
	return record.NoiseLeft(known, columns, column)
}

// Reading returns the parameters whose table is a file with the places of a population, for points that another mask
// changes.
func Reading(columns []string, unit, file string) Params { return record.Reading(columns, unit, file) }

// NewRankOrigins returns the origins for a reach of at most 8 (exactReach) ranks; nil for a greater one. Values within
// tolerance of one another count as equal.
func NewRankOrigins(ascending []float64, reach int, tolerance float64) *RankOrigins {
	return exchange.NewRankOrigins(ascending, reach, tolerance)
}

// CorrelatedReach returns the greatest reach, at most most, at which the expected correlation of a column with its
// values before the exchange is at least r; 0 if there is none. The values ascend; the first bottom and the last top
// of them get their means.
func CorrelatedReach(values []float64, bottom, top, most int, r float64) int {
	return exchange.CorrelatedReach(values, bottom, top, most, r)
}

// RelocatedBy returns how the record swap of mask i ended; nil for other masks.
func RelocatedBy(c *Chain, i int) *Relocated { return exchange.RelocatedBy(c, i) }

// CalibratedBy returns how the calibration of mask i ended; nil for other masks.
func CalibratedBy(c *Chain, i int) *Calibrated { return weights.CalibratedBy(c, i) }
