package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// NeedsFrequencies returns the first field of a mask that needs the frequencies of the
// original's categories (Setup.Frequencies); "" where none does.
func NeedsFrequencies(p Params) string { return Declared(p).NeedsFrequencies }

// Frequencies counts the categories of a column, in strata of other columns.
type Frequencies struct {
	Categories map[float64]int32 // by code
	Other      int32             // the category that all others are counted as; unlisted: they are not counted
	StratumOf  map[string]int32  // by the codes of the columns, 8 bytes each
	Counts     [][]float64       // by stratum and category
	Column     int               // index in Block.Columns, while counting
	By         []int             // likewise
	ColumnName string
	seen       coding.Combinations // of the block that is being counted
}

// Count counts the records of a block that are not rejected. Blocks come one at a time.
func (f *Frequencies) Count(b *microdata.Block) error {
	if err := f.seen.Find(b, append([]int{f.Column}, f.By...)); err != nil {
		return fmt.Errorf("column %s or one of by: %w", strconv.Quote(f.ColumnName), err)
	}
	records := make([]float64, len(f.seen.First))
	for i, k := range f.seen.Of {
		if !b.Rejected(i) {
			records[k]++
		}
	}
	for k, i := range f.seen.First {
		if i < 0 || records[k] == 0 {
			continue
		}
		if err := f.add(b, int(i), records[k]); err != nil {
			return err
		}
	}
	return nil
}

// add counts n records that have the category and the stratum of record i.
func (f *Frequencies) add(b *microdata.Block, i int, n float64) error {
	x := codeAt(&b.Columns[f.Column], i)
	if x != x {
		return nil
	}
	k, listed := f.Categories[x]
	if !listed {
		k = f.Other
	}
	if k == Unlisted {
		return nil
	}
	key := keyAt(b, f.By, i)
	s, known := f.StratumOf[key]
	if !known {
		if (len(f.Counts)+1)*len(f.Categories)*len(f.Categories) > mostStrata {
			return fmt.Errorf(
				"must not have so many strata: each has a matrix of its own, and with %d categories at most %d fit; leave a column of by out, or recode it more coarsely",
				len(f.Categories), mostStrata/len(f.Categories)/len(f.Categories))
		}
		s = int32(len(f.Counts))
		f.StratumOf[key] = s
		f.Counts = append(f.Counts, make([]float64, len(f.Categories)))
	}
	f.Counts[s][k] += n
	return nil
}

// Check returns an error, when all records have been counted, if the mask would leave every
// value as it is: if no stratum has two categories, none can become another one.
func (f *Frequencies) Check() error {
	if len(f.Counts) == 0 {
		return nil // no value is there
	}
	for _, counts := range f.Counts {
		there := 0
		for _, n := range counts {
			if n > 0 {
				there++
			}
		}
		if there > 1 {
			return nil
		}
	}
	return fmt.Errorf(
		"must have strata with at least two categories: in each stratum all values of %s are the same, and would leave as they are; leave a column of by out, or withhold the column (role identifier)", strconv.Quote(f.ColumnName))
}

// codeAt returns the number that stands for a value of a column, NaN for one that is missing. It is
// the same for an array as for what replicates have of it.
func codeAt(col *microdata.Column, i int) float64 {
	if a := col.OutArray(); a != nil {
		return microdata.CodeOf(a, i)
	}
	v := col.Out()
	if v.Values == nil || !v.Valid.Has(i) {
		return math.NaN()
	}
	return v.Values[i] + 0
}

// keyAt is the key of the stratum of record i: 8 bytes for each column.
func keyAt(b *microdata.Block, columns []int, i int) string {
	key := make([]byte, 0, 8*len(columns))
	for _, index := range columns {
		x := codeAt(&b.Columns[index], i)
		if x != x {
			x = math.NaN() // all NaNs get the same bits
		}
		key = binary.BigEndian.AppendUint64(key, math.Float64bits(x))
	}
	return string(key)
}

// ErrNoStratum is returned if a block lacks a column that strata are made of.
var ErrNoStratum = errors.New("the block does not hold a column of by")

// Find returns the stratum of each record; −1 if it was not counted. It is called after all
// records have been counted, and may be called from many goroutines.
func (f *Frequencies) Find(w *Work, b *microdata.Block, by []int) ([]int32, error) {
	if cap(w.strata) < b.N {
		w.strata = make([]int32, b.N)
	}
	strata := w.strata[:b.N]
	for _, index := range by {
		if col := &b.Columns[index]; col.OutArray() == nil && col.Out().Values == nil {
			return nil, ErrNoStratum
		}
	}
	if err := w.combinations.Find(b, by); err != nil {
		return nil, fmt.Errorf("by: %w", err)
	}
	stratum := make([]int32, len(w.combinations.First))
	for k, i := range w.combinations.First {
		stratum[k] = -1
		if i < 0 {
			continue
		}
		if s, known := f.StratumOf[keyAt(b, by, int(i))]; known {
			stratum[k] = s
		}
	}
	for i, k := range w.combinations.Of {
		strata[i] = stratum[k]
	}
	return strata, nil
}

// Description lists the strata, sorted, with the frequency of each category. They determine the
// matrices, and which record has which.
func (f *Frequencies) Description() string {
	text := Part("strata", float64(len(f.StratumOf)))
	for _, key := range slices.Sorted(maps.Keys(f.StratumOf)) {
		text += fmt.Sprintf("%x", key) + Part("", f.Counts[f.StratumOf[key]]...)
	}
	return DigestOfTexts("frequencies", text)
}

// Strata is how many strata have been seen.
func (f *Frequencies) Strata() int { return len(f.Counts) }

// mostStrata bounds the total number of cells of the strata's matrices: 8 bytes each, and some
// more for their laws.
const mostStrata = 1 << 23
