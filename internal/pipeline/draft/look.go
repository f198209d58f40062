package draft

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// looked is the greatest number of records that are read, which is enough to describe a column.
const looked = 200_000

// counted is the greatest number of different values of a column that are counted.
const counted = 100_000

// Column describes one column by the records that were read.
type Column struct {
	Field    microdata.Field
	Values   int  // records that have a value
	Distinct int  // different values, at most 100,000
	Capped   bool // there are more different values
	Decimals int  // greatest number of decimals of a numeric column, -1 if more than nine
	Negative bool // whether a numeric column has a value below 0

	// Codes are values that look like codes for missing ones, and Coded the number of records with one. The rest describes
	// a numeric column without them.
	Codes []string
	Coded int
	left  int // of these, how many Values does not count

	Runs            int     // of equal values, one after another
	least, most     float64 // of a numeric column's values; never written anywhere
	sum, squares    float64
	zeros           int
	shortest, width int // least and greatest number of characters of a value
}

// numbering reports whether whole numbers that differ between records look like a running
// number, which fills its range, or like a code of fixed length. Amounts do neither.
func (c *Column) numbering() bool {
	return c.most-c.least < 3*float64(c.Values) || c.shortest == c.width && c.width >= 6
}

// Look describes a source by the records that were read.
type Look struct {
	Records int64 // read
	Broken  int64 // of these, how many cannot be read: a run puts them into quarantine
	All     bool  // whether these are all records of the source
	Columns []Column
}

// Source reads the first 200,000 records of an open source, and the rest of the last block. Nested columns are
// listed without being read.
func Source(ctx context.Context, src connectors.Source) (*Look, error) {
	schema := src.Schema()
	layout := &microdata.Layout{Schema: schema}
	look := &Look{}
	var views []*view
	seed := maphash.MakeSeed()
	for i, f := range schema.Fields {
		look.Columns = append(look.Columns, Column{Field: f})
		if f.Nested() {
			continue
		}
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
		views = append(views,
			&view{column: i, seed: seed, values: map[uint64]struct{}{}, numbers: map[float64]int{}, texts: map[string]int{}})
	}
	reader, err := src.Read(ctx, layout, connectors.Cut{})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	block := new(microdata.Block)
	for {
		raw, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			look.All = true
			break
		}
		if look.Records >= looked {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := raw.Decode(block); err != nil {
			return nil, err
		}
		for k, v := range views {
			v.see(&look.Columns[v.column], block.Columns[k].Array, block)
		}
		look.Records += int64(block.N)
		look.Broken += int64(block.N - block.Kept())
	}
	for _, v := range views {
		look.Columns[v.column].setCodes(v.numbers, v.texts)
	}
	if look.Records == 0 {
		return nil, fmt.Errorf("the source holds no record to look at")
	}
	return look, nil
}

// Seen says how many records of a source were read, and how many of them are malformed.
func (l *Look) Seen(of string) string {
	text := fmt.Sprintf("all %d records%s", l.Records, of)
	if !l.All {
		text = fmt.Sprintf("the first %d records%s", l.Records, of)
	}
	if l.Broken > 0 {
		text += fmt.Sprintf(", %d of which cannot be read so: `sdlfilter preview` says why", l.Broken)
	}
	return text
}

// view is the working state for one column.
type view struct {
	column int
	seed   maphash.Seed
	values map[uint64]struct{} // hashes of the values

	numbers map[float64]int // how often each number occurs
	texts   map[string]int  // and each usual code of texts
	last    uint64          // that of the value before
}

func (v *view) see(c *Column, a arrow.Array, b *microdata.Block) {
	numeric := c.Field.Numeric()
	keep := b.Keep()
	for i := range b.N {
		if keep != nil && !keep(i) || a.IsNull(i) {
			continue
		}
		text := a.ValueStr(i)
		c.Values++
		if c.Values == 1 {
			c.shortest, c.least, c.most = len(text), math.Inf(1), math.Inf(-1)
		}
		c.shortest, c.width = min(c.shortest, len(text)), max(c.width, len(text))
		if numeric {
			if x, err := strconv.ParseFloat(text, 64); err == nil {
				c.least, c.most = min(c.least, x), max(c.most, x)
				if x == 0 {
					c.zeros++
				}
				if !c.Capped {
					v.numbers[x]++
				}
				c.sum, c.squares = c.sum+x, c.squares+x*x
			}
			c.Negative = c.Negative || strings.HasPrefix(text, "-")
			c.countDecimals(text)
		} else if len(text) < 20 && slices.Contains(usualTexts, strings.ToLower(text)) {
			v.texts[text]++
		}
		if c.Capped {
			continue
		}
		hash := maphash.String(v.seed, text)
		if c.Values == 1 || hash != v.last {
			c.Runs++
		}
		v.last = hash
		v.values[hash] = struct{}{}
		c.Distinct = len(v.values)
		c.Capped = c.Distinct > counted
	}
}

// countDecimals updates the decimals by a number as it is written.
func (c *Column) countDecimals(text string) {
	if c.Decimals < 0 {
		return
	}
	if strings.ContainsAny(text, "eE") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return
		}
		text = strconv.FormatFloat(x, 'f', -1, 64)
	}
	_, fraction, _ := strings.Cut(text, ".")
	c.Decimals = max(c.Decimals, len(strings.TrimRight(fraction, "0")))
	if c.Decimals > 9 {
		c.Decimals = -1
	}
}

// stays returns about which share of values leaves as it is under noise of a fifth of the standard deviation, which is
// rounded to the column's decimals: those within half a step, and of zeros that are bounds the half that is put back on
// them.
func (c *Column) stays() float64 {
	if c.Values == 0 {
		return 0
	}
	share := 0.0
	if !c.Negative {
		share = float64(c.zeros) / float64(2*c.Values)
	}
	mean := c.sum / float64(c.Values)
	sd := math.Sqrt(max(0, c.squares/float64(c.Values)-mean*mean))
	if c.Decimals < 0 || !(sd > 0) {
		return share
	}
	return share + (1-share)*math.Erf(math.Pow10(-c.Decimals)/2/(0.2*sd)/math.Sqrt2)
}

// share returns the number of different values divided by the number of records with a value.
func (c *Column) share() float64 {
	if c.Values == 0 {
		return 0
	}
	return float64(c.Distinct) / float64(c.Values)
}
