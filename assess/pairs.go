package assess

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Pairs are the records of an accumulator's sample, in the order of place, for measures outside
// this package. Values are shared and must not be changed; they are valid until the next Add to
// the accumulator.
type Pairs struct {
	Records  int64 // number of assessed records
	Complete bool  // whether the sample has all of them

	// Original and Released hold a slice for each of Options.Columns, NaN where
	// there is no value.
	Original, Released [][]float64
	// Carried holds a slice for each column of Options.Carry that is not assessed itself:
	// the originals' codes, as Code returns them. CarriedColumns are their indexes in
	// blocks.
	Carried        [][]float64
	CarriedColumns []int
	// CarriedReleased are the released values' codes in the order of CarriedColumns; where
	// Options.Released does not list a column its entry is nil.
	CarriedReleased [][]float64
	// Beside holds a slice for each released column of Options.Beside, as Piece returns its whole values, and
	// BesideColumns their names.
	Beside        [][]float64
	BesideColumns []string
	// Pieces holds the pieces of texts, and PieceColumns the names of their columns.
	Pieces       [][]float64
	PieceColumns []string

	// Earlier holds the columns of earlier releases, as Beside holds those of this one.
	Earlier []EarlierPairs

	// Members holds the columns of Options.Beside that tell which cells of tables a record is in, by name.
	Members map[string][]float64

	// Place returns the scope and stream of record i, and its place there.
	Place func(i int) (scope string, stream int, place int64)
}

// EarlierPairs is a column of an earlier release.
type EarlierPairs struct {
	BesideColumn
	Values []float64
}

// Len returns the number of pairs.
func (p *Pairs) Len() int {
	for _, columns := range [][][]float64{p.Original, p.Carried} {
		if len(columns) > 0 {
			return len(columns[0])
		}
	}
	return 0
}

// Pairs returns the pairs of the sample.
func (a *Accumulator) Pairs() Pairs {
	a.sample.Settle()
	p := Pairs{Records: a.records, Complete: int64(a.sample.Len()) == a.records, CarriedColumns: a.opts.Carry}
	p.Place = func(i int) (string, int, int64) {
		from := a.sample.From[i]
		return from.Scope, int(from.Stream), a.sample.Row[i]
	}
	n := len(a.opts.Columns)
	for c := range n {
		p.Original = append(p.Original, a.sample.Values[2*c])
		p.Released = append(p.Released, a.sample.Values[2*c+1])
	}
	carry := len(a.opts.Carry)
	p.Carried = a.sample.Values[2*n : 2*n+carry]
	p.CarriedReleased = make([][]float64, carry)
	for i, index := range a.opts.Released {
		p.CarriedReleased[slices.Index(a.opts.Carry, index)] = a.sample.Values[2*n+carry+i]
	}
	for i, c := range a.opts.Beside {
		switch {
		case c.Member:
			if p.Members == nil {
				p.Members = map[string][]float64{}
			}
			p.Members[c.Name] = a.sample.Values[a.layout.BesideAt(i)]
		case c.Release > 0:
			p.Earlier = append(p.Earlier, EarlierPairs{BesideColumn: c, Values: a.sample.Values[a.layout.BesideAt(i)]})
		case c.Piece > 0:
			p.Pieces = append(p.Pieces, a.sample.Values[a.layout.BesideAt(i)])
			p.PieceColumns = append(p.PieceColumns, c.Name)
		case !c.GroupOnly:
			p.Beside = append(p.Beside, a.sample.Values[a.layout.BesideAt(i)])
			p.BesideColumns = append(p.BesideColumns, c.Name)
		}
	}
	return p
}

// Known replaces the declared codes for missing values, which a reader of the release sees, by values that stand for
// categories; other values stay. Measures of numbers take the codes for missing.
func Known(values []float64) []float64 { return cell.KnownValues(values) }

// Categories are the values from which on a number of Piece or Known stands for a category.
const Categories = cell.Categories

// Piece returns what the sample holds of record i of a column of Options.Beside. Of piece 0 it is the released number,
// also of a date and of text that is a number; otherwise a value, at least Categories, that stands for the category. Of
// another piece it is a number by which texts are ordered, and NaN where there is no text.
func Piece(c *microdata.Column, i, piece int) float64 { return cell.Piece(c, i, piece) }

// PieceOf is Piece, of piece 0, of a text.
func PieceOf(text string) float64 { return cell.ShownText(text) }

// Code returns the number that represents the value of record i of a carried column in the
// groups of Explore. For a column in Numbers form it is the value. For other columns equal
// values have equal codes, and different values have different codes except with probability
// 2⁻⁵³ per pair. The code of null is NaN.
func Code(c *microdata.Column, i int) float64 { return cell.Code(c, i) }
