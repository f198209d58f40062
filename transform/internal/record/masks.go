// Package record has the masks that change each record by itself, in numbers: noise, bias, round, truncate, topcode and
// donut; and sample, which leaves records out. It knows the core and no other mask.
package record

import "github.com/sdlfilter/sdlfilter/transform/internal/core"

// Masks is the table of the family's masks: a new one is a file and a line here.
func Masks() []core.Kind {
	return []core.Kind{
		core.KindOf[Sample]("sample", "release a keyed share of the records and leave the others out"),
		core.KindOf[Bias]("bias", "multiply by θ ~ N(1, φ²), drawn for each record and column"),
		core.KindOf[Noise]("noise", "add ε with mean 0 and standard deviation λ"),
		core.KindOf[Truncate]("truncate", "keep released values within bounds"),
		core.KindOf[Round]("round", "round to decimals or to a base"),
		core.KindOf[Topcode]("topcode", "replace values beyond a bound by the bound, their mean or a label"),
		core.KindOf[Donut]("donut",
			"displace points by a keyed distance and direction, between two distances or so that so many people live within it"),
	}
}
