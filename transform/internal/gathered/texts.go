package gathered

import (
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/models"
)

// columnOf returns the column that mask i models, and whether its values are texts that are
// categories; otherwise they are numbers.
func columnOf(c *core.Chain, i int, name string) (*core.Column, bool, error) {
	if info := c.Info(name); info == nil || info.Field.Numeric() || !core.TakesTexts(c.Masks[i].Params, name) {
		col, err := c.Arithmetic(i, name)
		return col, false, err
	}
	col := c.Touch(name)
	if col.Field.Type.ID() != arrow.STRING && !core.TextField(col.Field.Type) {
		return nil, false,
			fmt.Errorf("%s.columns: column %s must hold numbers or text, got type %s", c.At(i), strconv.Quote(name),
				microdata.TypeName(col.Field.Type))
	}
	col.Digits = -1
	return col, true, nil
}

// texts has the categories of a column of texts, by the numbers that represent them.
type texts map[float64]string

// mostTexts is the greatest number of distinct texts of a column: far more than a model accepts in
// any reasonable number of strata.
const mostTexts = 1 << 20

// take appends the numbers of an array's texts, NaN where there is none, and notes the texts.
func (t texts) take(to []float64, a arrow.Array, n int) ([]float64, bool) {
	bytes, _ := coding.BytesOf(a)
	for i := range n {
		if a.IsNull(i) {
			to = append(to, math.NaN())
			continue
		}
		text := bytes(i)
		code := microdata.CategoryCode(text)
		if _, known := t[code]; !known {
			t[code] = string(text)
		}
		to = append(to, code)
	}
	return to, len(t) <= mostTexts
}

// put returns an array of the texts of n records of a block; null where there returns false.
func (t texts) put(n int, there func(i int) bool, code func(i int) float64) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(n)
	for i := range n {
		if there(i) {
			b.Append(t[code(i)])
		} else {
			b.AppendNull()
		}
	}
	return b.NewArray()
}

// TooMany is the refusal of too many categories.
func TooMany(path string) *decision.Refusal {
	return &decision.Refusal{Path: path, Text: "must have at most " + strconv.Itoa(models.GreatestCategories) +
		" categories in a stratum: recode it more coarsely, or do not name it in categories"}
}
