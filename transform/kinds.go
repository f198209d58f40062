package transform

import "github.com/sdlfilter/sdlfilter/transform/internal/core"

// The table of masks: a new mask is one file in its family and one line here.
func init() {
	core.Register([]core.Kind{
		{Name: "sample", Doc: "release a keyed share of the records and leave the others out", New: func() core.Params { return new(Sample) }},
		{Name: "bias", Doc: "multiply by θ ~ N(1, φ²), drawn for each record and column", New: func() core.Params { return new(Bias) }},
		{Name: "noise", Doc: "add ε with mean 0 and standard deviation λ", New: func() core.Params { return new(Noise) }},
		{Name: "truncate", Doc: "keep released values within bounds", New: func() core.Params { return new(Truncate) }},
		{Name: "round", Doc: "round to decimals or to a base", New: func() core.Params { return new(Round) }},
		{Name: "recode", Doc: "replace categories by coarser ones, or numbers by intervals", New: func() core.Params { return new(Recode) }},
		{Name: "topcode", Doc: "replace values beyond a bound by the bound, their mean or a label", New: func() core.Params {
			return new(Topcode)
		}},
		{Name: "pram", Doc: "replace categories by others, drawn with a transition matrix", New: func() core.Params { return new(PRAM) }},
		{Name: "suppress", Doc: "set cells of the keys missing until at least k records share each combination of the keys",
			New: func() core.Params { return new(Suppress) }},
		{
			Name: "pseudonym",
			Doc:  "replace identifiers by keyed pseudonyms that are the same in every file and release, so that records still join",
			New:  func() core.Params { return new(Pseudonym) }},
		{
			Name: "date",
			Doc:  "release the middle of a week, month, quarter or year, shift all dates of a respondent alike, or release ages",
			New:  func() core.Params { return new(Date) }},
		{
			Name: "donut",
			Doc:  "displace points by a keyed distance and direction, between two distances or so that so many people live within it",
			New:  func() core.Params { return new(Donut) }},
		{Name: "swap", Doc: "exchange values between records with the same keys", New: func() core.Params { return new(Swap) }},
		{Name: "recordswap", Doc: "exchange the areas of whole households, first of those that are rare in theirs", New: func() core.Params {
			return new(RecordSwap)
		}},
		{Name: "microaggregate", Doc: "replace values by the mean or median of groups of at least k similar records", New: func() core.Params {
			return new(Microaggregate)
		}},
		{Name: "rankswap", Doc: "exchange values between records of similar rank", New: func() core.Params { return new(RankSwap) }},
		{Name: "shuffle", Doc: "give values to other records, ranked by draws that depend on columns which are not shuffled",
			New: func() core.Params { return new(Shuffle) }},
		{Name: "synthesise", Doc: "replace all values by draws from models of the columns, each conditional on others", New: func() core.Params {
			return new(Synthesise)
		}},
		{Name: "calibrate", Doc: "multiply sampling weights so that weighted totals are those of margins", New: func() core.Params {
			return new(Calibrate)
		}},
	}...)
}
