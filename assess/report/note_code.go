package report

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
)

// The programs, with @WORDS@ where the published numbers go.
//
//go:embed note.py
var pythonProgram string

//go:embed note.R
var rProgram string

// programs are the corrections of one column as code that runs as it is, on data
// made up around the release's mean and corrected SD.
func programs(name string, c ColumnNote, released PublicMoments) []Program {
	// The name stands in a comment: what could end the comment is escaped.
	quoted := strconv.QuoteToGraphic(cut(name, 40))
	middle := math.Sqrt(float64(c.Corrected.SD.Least * c.Corrected.SD.Greatest))
	var python, r []string
	for _, n := range c.Noise {
		var tiers, above, factors []string
		for _, t := range n.Tiers {
			tiers = append(tiers, "("+literal(float64(t.Above))+", "+literal(float64(t.Factor))+")")
			above, factors = append(above, literal(float64(t.Above))), append(factors, literal(float64(t.Factor)))
		}
		variance := literal(float64(n.Variance))
		python = append(python, "("+variance+", ["+strings.Join(tiers, ", ")+"])")
		r = append(r, "list(variance = "+variance+", above = c("+strings.Join(above, ", ")+"), factor = c("+strings.Join(factors, ", ")+"))")
	}
	fill := func(program string, noise []string) string {
		return strings.NewReplacer("@NAME@", quoted, "@PHI2@", literal(float64(c.Phi2)), "@NOISE@", strings.Join(noise, ", "),
			"@MEAN@", literal(rounded(float64(released.Mean))), "@SD@", literal(rounded(middle))).Replace(program)
	}
	return []Program{{"Python", name, fill(pythonProgram, python)}, {"R", name, fill(rProgram, r)}}
}

// literal writes a number as Python and R both read it, without the last bits that
// a square has of its own.
func literal(v float64) string { return strconv.FormatFloat(v, 'g', 12, 64) }

// rounded keeps three digits: the programs' data are made up.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v
	}
	return r
}
