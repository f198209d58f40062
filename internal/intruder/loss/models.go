package loss

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// ModelColumn is a column of the original and of the release, which may have different numbers of records: numbers, NaN
// if missing, or codes of categories, −1 if missing.
type ModelColumn struct {
	Name    string
	Numbers [2][]float64
	Codes   [2][]int32 // nil: the column holds numbers
}

// leastCases is the least number of original records of a category, or of a product of indicators, that has a
// coefficient of its own: that of one record would state its response.
const leastCases = 10

// mostLevels is the greatest number of categories of a column with coefficients of their own.
const mostLevels = 50

// variable is a column of the design matrix.
type variable struct {
	name   string
	values [2][]float64
	coded  bool // made of indicators: few cases have another value than 0
}

// FitModel computes a regression on both sides and compares the confidence intervals (Karr et al. 2006). A category is
// an indicator, the most frequent one in the original being the reference. Indicators have numbers by frequency, not
// the names of their categories. Categories of fewer than 10 original records count as one, and so does everything
// beyond the 50 most frequent; an indicator or product of indicators with fewer than 10 records other than 0 is left
// out, and so is a predictor whose coefficient goes by few records where the others are given. Records with a missing
// value, or outside of a function's domain, are left out. FitModel returns an error if a column is not there, if a
// function is of categories, or if there are too few records.
//
// without are original records that are left out too (Together); nil: none.
func FitModel(ctx context.Context, m *asked.LinearModel, columns []ModelColumn, level float64,
	without []bool) (*Overlap, error) {
	o, sides, coded, err := designOf(m, columns, level)
	if err != nil {
		return nil, err
	}
	o.leaveOut(&sides, without)
	for side := range sides {
		if n := len(completeOf(sides[side])); n < len(o.Predictors)+1+leastCases {
			return nil, fmt.Errorf("%s: the %s data must have at least %d records with all values, got %d",
				strconv.Quote(m.Text), [2]string{"original", "released"}[side], len(o.Predictors)+1+leastCases, n)
		}
	}
	if err := o.fit(ctx, sides, coded); err != nil {
		return nil, fmt.Errorf("%s: %w", strconv.Quote(m.Text), err)
	}
	return o, nil
}

// designOf returns the columns of a model on both sides, the response behind the predictors, and which are made of
// indicators.
func designOf(m *asked.LinearModel, columns []ModelColumn, level float64) (o *Overlap, sides [2][][]float64,
	coded []bool, err error) {
	response, err := variablesOf(asked.Product{m.Response}, columns)
	if err != nil {
		return nil, sides, nil, err
	}
	if len(response) != 1 || response[0].coded {
		return nil, sides, nil,
			fmt.Errorf("%s: the response %s must be numeric", strconv.Quote(m.Text), strconv.Quote(m.Response.Column))
	}
	o = &Overlap{Response: m.Response.String(), Predictors: []string{}, Level: level, Formula: m.Text}
	for _, t := range m.Terms {
		list, err := variablesOf(t, columns)
		if err != nil {
			return nil, sides, nil, err
		}
		for _, v := range list {
			if v.coded && v.cases() < leastCases {
				o.LeftOut = append(o.LeftOut, v.name)
				continue
			}
			o.Predictors, coded = append(o.Predictors, v.name), append(coded, v.coded)
			for side := range sides {
				sides[side] = append(sides[side], v.values[side])
			}
		}
	}
	for side := range sides {
		sides[side] = append(sides[side], response[0].values[side])
	}
	return o, sides, coded, nil
}

// completeOf returns the records with all values.
func completeOf(columns [][]float64) (list []int) {
	for i := range columns[0] {
		if !slices.ContainsFunc(columns, func(c []float64) bool { return c[i] != c[i] }) {
			list = append(list, i)
		}
	}
	return list
}

// cases returns the number of original records that have another value than 0.
func (v *variable) cases() (n int) {
	for _, x := range v.values[0] {
		if x == x && x != 0 {
			n++
		}
	}
	return n
}

// variablesOf returns the products of the variables of all factors.
func variablesOf(t asked.Product, columns []ModelColumn) (list []variable, err error) {
	for i, f := range t {
		of, err := factorVariables(f, columns)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			list = of
			continue
		}
		var products []variable
		for _, a := range list {
			for _, b := range of {
				products = append(products, a.times(b))
			}
		}
		list = products
	}
	return list, nil
}

func (v *variable) times(w variable) variable {
	p := variable{name: v.name + ":" + w.name, coded: v.coded || w.coded}
	for side := range p.values {
		p.values[side] = make([]float64, len(v.values[side]))
		for i, x := range v.values[side] {
			p.values[side][i] = x * w.values[side][i]
		}
	}
	return p
}

// factorVariables returns the indicators of a column of categories, or the one variable of numbers.
func factorVariables(f asked.Factor, columns []ModelColumn) ([]variable, error) {
	at := slices.IndexFunc(columns, func(c ModelColumn) bool { return c.Name == f.Column })
	if at < 0 {
		return nil, fmt.Errorf("there is no column %s", strconv.Quote(f.Column))
	}
	c := &columns[at]
	if c.Codes[0] != nil || c.Codes[1] != nil {
		if f.Function != "" || f.Power > 1 {
			return nil, fmt.Errorf("%s: column %s must be numeric", f, strconv.Quote(f.Column))
		}
		return c.indicators(f), nil
	}
	v := variable{name: f.String()}
	for side, numbers := range c.Numbers {
		v.values[side] = make([]float64, len(numbers))
		for i, x := range numbers {
			if v.values[side][i] = valueOf(f, x); !(math.Abs(v.values[side][i]) <= maxMagnitude) {
				v.values[side][i] = math.NaN()
			}
		}
	}
	return []variable{v}, nil
}

// valueOf returns the factor's function of a number.
func valueOf(f asked.Factor, x float64) float64 {
	switch f.Function {
	case "log":
		return math.Log(x)
	case "sqrt":
		return math.Sqrt(x)
	case "exp":
		return math.Exp(x)
	}
	y := x
	for range f.Power - 1 {
		y *= x
	}
	return y
}

// indicators returns one variable for each category but the most frequent one.
func (c *ModelColumn) indicators(f asked.Factor) (list []variable) {
	counts := map[int32]int{}
	for _, code := range c.Codes[0] {
		if code >= 0 {
			counts[code]++
		}
	}
	var codes []int32
	for code, n := range counts {
		if n >= leastCases {
			codes = append(codes, code)
		}
	}
	slices.SortFunc(codes, func(a, b int32) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return int(a - b)
	})
	codes = codes[:min(len(codes), mostLevels)]
	level := map[int32]int{}
	for i, code := range codes {
		level[code] = i
	}
	for i := 1; i <= len(codes); i++ { // the last one is of the other categories
		v := variable{name: f.String() + " #" + strconv.Itoa(i+1), coded: true}
		if i == len(codes) {
			v.name = f.String() + " others"
		}
		some := false
		for side, codes := range c.Codes {
			v.values[side] = make([]float64, len(codes))
			for k, code := range codes {
				at, of := level[code]
				switch {
				case code < 0:
					v.values[side][k] = math.NaN()
				case of && at == i, !of && i == len(level):
					v.values[side][k], some = 1, true
				}
			}
		}
		if some {
			list = append(list, v)
		}
	}
	return list
}
