package report

import (
	_ "embed"
	"math"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/correct"
	"github.com/sdlfilter/sdlfilter/transform"
)

// The programs; @WORDS@ in capitals are replaced by the published numbers.
var (
	//go:embed note.py
	pythonProgram string
	//go:embed note.R
	rProgram string
	//go:embed note_clipped.py
	pythonClipped string
	//go:embed note_clipped.R
	rClipped string
	//go:embed note_copies.py
	pythonCopies string
	//go:embed note_copies.R
	rCopies string
)

// programs returns the corrections of a column as code that runs without changes, on data
// made up with the release's mean and corrected SD; none if there is nothing that a program
// could correct.
func (c *publishedColumn) programs(found *Corrected, released PublicMoments) []Program {
	if found == nil {
		return nil
	}
	if bounds := c.normal(); bounds != nil {
		return c.clippedPrograms(bounds, released)
	}
	if !c.added || c.truncated || c.grouped() || c.coarse > 0 || !(found.SD.Least > 0) {
		return nil
	}
	var python, r []string
	for k, n := range c.noise {
		var tiers, above, factors []string
		for _, t := range n.Tiers {
			tiers = append(tiers, "("+literal(float64(t.Above))+", "+literal(float64(t.Factor))+")")
			above, factors = append(above, literal(float64(t.Above))), append(factors, literal(float64(t.Factor)))
		}
		variance := literal(float64(n.Variance))
		none, na := "None", "NA"
		if s := c.spread(k); !math.IsNaN(s) {
			none, na = literal(s), literal(s)
		}
		python = append(python, "("+variance+", ["+strings.Join(tiers, ", ")+"], "+none+")")
		r = append(r, "list(variance = "+variance+", above = c("+strings.Join(above, ", ")+"), factor = c("+
			strings.Join(factors, ", ")+"), spread = "+na+")")
	}
	middle := math.Sqrt(float64(found.SD.Least * found.SD.Greatest))
	fill := func(program string, noise []string) string {
		return c.fill(program, released, middle, "@PHI2@", literal(c.least.Phi2), "@NOISE@", strings.Join(noise, ", "))
	}
	return []Program{{"Python", c.name, fill(pythonProgram, python)}, {"R", c.name, fill(rProgram, r)}}
}

// spread returns the greatest SD of the sum that noise k and the masks after it add to a
// value, for correct.MeanFactorRange. It is NaN if that sum is not symmetric with one peak:
// if another noise has tiers, or a bias follows.
func (c *publishedColumn) spread(k int) float64 {
	variance, seen := 0.0, -1
	for i, step := range c.chain {
		switch s := step.(type) {
		case correct.Added:
			seen++
			_, greatest := correct.FactorRange(s.Tiers)
			if seen >= k {
				variance += s.SD * s.SD * greatest
			}
			if seen > k && len(s.Tiers) > 0 {
				return math.NaN()
			}
		case correct.Multiplied:
			if seen >= k && s.Phi > 0 {
				return math.NaN()
			}
		case correct.Rounded:
			if c.chain.Smooth(i) {
				seen++
			}
			if seen >= k {
				return math.NaN()
			}
		}
	}
	return math.Sqrt(variance)
}

// normal returns the bounds of a column whose masks are normal noise and a clip at these
// bounds, all published, which correct.ClippedNormal can fit; nil for any other column.
func (c *publishedColumn) normal() []float64 {
	var bounds []float64
	for i, step := range c.chain {
		switch s := step.(type) {
		case correct.Added:
			if bounds != nil || !s.Normal || len(s.Tiers) > 0 || math.IsNaN(s.SD) {
				return nil
			}
		case correct.Truncated:
			a := c.actions[i].(transform.Bounding)
			if bounds != nil || s.Redraw || math.IsNaN(a.Lower) || math.IsNaN(a.Upper) {
				return nil
			}
			bounds = []float64{a.Lower, a.Upper}
		case correct.Exchanged:
		default:
			return nil
		}
	}
	return bounds
}

// copiesPrograms returns programs that combine estimates from copies, on data made up with the
// release's moments or on the copies.
func (c *publishedColumn) copiesPrograms(copies int, released PublicMoments) []Program {
	if mean, sd := float64(released.Mean), float64(released.SD); math.IsNaN(mean) || !(sd > 0) {
		return nil
	}
	fill := func(program string) string {
		return c.fill(program, released, float64(released.SD), "@COPIES@", strconv.Itoa(copies), "@FITTED@",
			literal(1-c.setAside()))
	}
	return []Program{{"Python", c.name, fill(pythonCopies)}, {"R", c.name, fill(rCopies)}}
}

func (c *publishedColumn) clippedPrograms(bounds []float64, released PublicMoments) []Program {
	sd := math.Sqrt(max(float64(released.SD*released.SD)-c.least.Noise, 0))
	infinite := strings.NewReplacer("+Inf", "math.inf", "-Inf", "-math.inf")
	python := c.fill(pythonClipped, released, sd, "@LOWER@", infinite.Replace(literal(bounds[0])), "@UPPER@",
		infinite.Replace(literal(bounds[1])), "@LAMBDA2@", literal(c.least.Noise))
	infinite = strings.NewReplacer("+Inf", "Inf")
	r := c.fill(rClipped, released, sd, "@LOWER@", infinite.Replace(literal(bounds[0])), "@UPPER@",
		infinite.Replace(literal(bounds[1])), "@LAMBDA2@", literal(c.least.Noise))
	return []Program{{"Python", c.name, python}, {"R", c.name, r}}
}

// fill puts the published numbers into a program. The column's name is in a comment, so
// characters that could end the comment are escaped.
func (c *publishedColumn) fill(program string, released PublicMoments, sd float64, words ...string) string {
	words = append(
		[]string{"@NAME@", strconv.QuoteToGraphic(cut(c.name, 40)), "@MEAN@", literal(rounded(float64(released.Mean))),
			"@SD@", literal(rounded(sd))}, words...)
	return strings.NewReplacer(words...).Replace(program)
}

// literal writes a number in a form that Python and R both read, without the digits that are
// only rounding errors of a square.
func literal(v float64) string { return strconv.FormatFloat(v, 'g', 12, 64) }

// rounded keeps three digits: the programs' data are made up.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v
	}
	return r
}
