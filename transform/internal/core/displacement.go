package core

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/displacement"
)

// Displacer computes how far the masks of a chain are expected to move the values of
// single records that a swap may exchange.
type Displacer = displacement.Displacer

// Displacer returns nil if no swap moves a numeric column of the chain.
//
// It also returns nil if a mask computes with all values at once: a released value then
// depends on which respondent's value is in the record.
func (c *Chain) Displacer() *Displacer {
	if AnyComputesWithAll(c.Masks) {
		return nil
	}
	var (
		columns []displacement.Column
		swaps   []*displacement.Swap
	)
	at := map[int]int{} // by mask: in swaps
	for _, col := range c.columns {
		if !col.Field.Numeric() {
			continue
		}
		if of := c.swapsOf(col, &swaps, at); len(of.Swaps) > 0 {
			columns = append(columns, of)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	return displacement.New(columns, swaps, c.Setup.Window, c.drawsOfOthers)
}

// drawsFrom is the number of the first replicate that a Displacer draws if there is no closed
// form. The replicates of an assessment have lower numbers.
const drawsFrom = 1 << 30

// drawsOfOthers returns chains of the masks other than swaps, each with its own draws.
func (c *Chain) drawsOfOthers(n int) (draws []displacement.Masked) {
	setup := c.Setup
	setup.Identity = nil
	for b := range n {
		rest, err := CompileChain(Unmixed(c.Masks), setup, drawsFrom+b, nil)
		if err != nil {
			panic(fmt.Sprintf("transform: masks of a valid chain: %v", err))
		}
		draws = append(draws, rest)
	}
	return draws
}

// swapsOf finds the swaps that move a column, and adds those to swaps that are not there yet; at
// gives the index in swaps of a mask's swap.
func (c *Chain) swapsOf(col *Column, swaps *[]*displacement.Swap, at map[int]int) displacement.Column {
	of := displacement.Column{Index: col.Index}
	for i, m := range c.Masks {
		if !slices.Contains(m.Params.Masks(), col.Name) {
			continue
		}
		exchanges := Declared(m.Params).Exchanges
		if exchanges == nil {
			// A mask that does not declare how it moves values is ignored.
			of.Unknown = of.Unknown || MixesRecords(m.Params) && !Computes(m.Params)
			continue
		}
		s := exchanges()
		if _, known := at[i]; !known {
			at[i] = len(*swaps)
			*swaps = append(*swaps, c.displacing(s))
		}
		of.Swaps = append(of.Swaps, at[i])
		for _, before := range c.Masks[:i] {
			if slices.ContainsFunc(before.Params.Masks(), func(name string) bool { return slices.Contains(s.Reads, name) }) {
				of.Unknown = true
			}
		}
	}
	if law, ok := c.Law(col.Name); ok {
		of.Moments = law.Moments
	}
	return of
}

func (c *Chain) displacing(e ExchangeRule) *displacement.Swap {
	var keys, exchanged []int
	for _, name := range e.Reads {
		keys = append(keys, c.Info(name).Index)
	}
	for _, name := range e.Columns {
		if info := c.Info(name); info != nil {
			exchanged = append(exchanged, info.Index)
		}
	}
	return displacement.NewSwap(keys, exchanged, &displacement.Pairer{Rate: e.Rate, Unique: e.Unique, Dataset: e.Dataset})
}
