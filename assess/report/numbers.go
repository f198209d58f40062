package report

import "github.com/sdlfilter/sdlfilter/internal/figure"

// Numbers and words are written as in every other view of the same results.
const (
	digits     = figure.Digits
	riskDigits = figure.RiskDigits
)

var (
	count     = figure.Count
	plain     = figure.Plain
	pretty    = figure.Pretty
	trimmed   = figure.Trimmed
	percent   = figure.Percent
	riskUnit  = figure.RiskUnit
	printable = figure.Printable
	cells     = figure.Cells
	cut       = figure.Cut
	pad       = figure.Pad
	left      = figure.Left
	wrap      = figure.Wrap
)
