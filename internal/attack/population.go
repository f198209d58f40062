package attack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/internal/intruder/population"
)

// Population holds the parameters of the log-linear model of the population.
type Population struct {
	Model   asked.Model
	Formula asked.Formula
	Linear  []string // keys that enter as numbers
	Size    float64  // persons in the population, where the data do not say whom a record stands for
}

// population fits the log-linear model to the keys as a snooper knows them: the original ones after
// the published recodings. Masks that hide some of their cells, or draw them at random, make matches
// harder still, so that the figures are then upper bounds. If the released records are counted, the
// keys are those of the release. The reason why no model is fitted is part of the result.
func (a *attack) population(ctx context.Context) error {
	if a.r.Sampled > 0 {
		a.r.Unfitted = "population uniques are told from all records only (assess.sample: all)"
		return nil
	}
	data, err := a.populationData()
	if err == nil {
		a.r.Population,
			err = population.Measure(ctx, data, population.Options{Model: a.o.Population.Model, Formula: a.o.Population.Formula})
	}
	var refused *population.Refusal
	if errors.As(err, &refused) {
		a.r.Unfitted = "the log-linear model is not fitted: " + refused.Words
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range a.d.counted() {
		if !slices.Contains(a.r.Population.Keys, c.Name) {
			a.r.Population.LeftOut = append(a.r.Population.LeftOut, c.Name)
		}
	}
	switch r := a.r.Population; {
	case r.Understates():
		a.r.Unfitted = fmt.Sprintf(
			"the log-linear model does not hold: it expects %.1f sample uniques, and there are %d, so that it understates population uniques; list other interactions in the formula", r.ModelUniques, r.SampleUniques)
	case !r.Converged:
		a.r.Unfitted = "the log-linear model does not converge; list fewer interactions, or join categories (recode)"
	}
	return nil
}

// populationData returns the keys of the formula and the weights.
func (a *attack) populationData() (data population.Data, err error) {
	p := a.o.Population
	for _, name := range p.Formula.Variables() {
		i := slices.IndexFunc(a.d.counted(), func(c CategoricalColumn) bool { return c.Name == name })
		if i < 0 {
			return data, fmt.Errorf("formula: must have keys that are counted, got %q", name)
		}
		c := &a.d.counted()[i]
		v := population.Variable{Name: name, Codes: c.released()}
		if !a.d.Released {
			if c.Known != nil && c.Known.Not != "" {
				return data, &population.Refusal{Words: fmt.Sprintf("the key %q %s", name, c.Known.Not)}
			}
			v.Codes = c.published()
		}
		if slices.Contains(p.Linear, name) {
			if v.Values = a.numbers(c, v.Codes); v.Values == nil {
				return data, fmt.Errorf("linear: must be numeric keys, got %q", name)
			}
			v.Codes = onlyNumbers(v.Codes, v.Values)
		}
		data.Variables = append(data.Variables, v)
	}
	if data.Weights = a.d.Persons; data.Weights == nil {
		data.Weights = slices.Repeat([]float64{p.Size / float64(a.n)}, a.n)
		if p.Size < float64(a.n) {
			return data,
				&population.Refusal{Words: fmt.Sprintf("the population (size: %v) is smaller than the %d records", p.Size, a.n)}
		}
	}
	return data, nil
}

// onlyNumbers returns codes in which the records without a number, such as those with a declared code for a missing
// value, have none.
func onlyNumbers(codes []int32, values []float64) []int32 {
	codes = slices.Clone(codes)
	for i, v := range values {
		if v != v {
			codes[i] = -1
		}
	}
	return codes
}

// numbers returns the number of each code of a numeric key; nil if the key is not numeric.
func (a *attack) numbers(c *CategoricalColumn, codes []int32) []float64 {
	j := slices.IndexFunc(a.d.Numeric, func(n NumericColumn) bool { return n.Name == c.Name })
	if j < 0 {
		return nil
	}
	of := map[int32]float64{}
	for i, code := range c.Original {
		of[code] = a.d.Numeric[j].Original[i]
	}
	for i, code := range c.released() {
		of[code] = a.d.Numeric[j].Released[i]
	}
	values := make([]float64, len(codes))
	for i, code := range codes {
		values[i] = of[code]
	}
	return values
}
