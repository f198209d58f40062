package transform

// The table of masks: a new mask is one file in its family and one line here.
func init() {
	Register([]Kind{
		{"sample", "release a keyed share of the records and leave the others out", func() Params { return new(Sample) }},
		{"bias", "multiply by θ ~ N(1, φ²), drawn for each record and column", func() Params { return new(Bias) }},
		{"noise", "add ε with mean 0 and standard deviation λ", func() Params { return new(Noise) }},
		{"truncate", "keep released values within bounds", func() Params { return new(Truncate) }},
		{"round", "round to decimals or to a base", func() Params { return new(Round) }},
		{"recode", "replace categories by coarser ones, or numbers by intervals", func() Params { return new(Recode) }},
		{"topcode", "replace values beyond a bound by the bound, their mean or a label", func() Params {
			return new(Topcode)
		}},
		{"pram", "replace categories by others, drawn with a transition matrix", func() Params { return new(PRAM) }},
		{"suppress", "set cells of the keys missing until at least k records share each combination of the keys",
			func() Params { return new(Suppress) }},
		{
			"pseudonym",
			"replace identifiers by keyed pseudonyms that are the same in every file and release, so that records still join",
			func() Params { return new(Pseudonym) }},
		{
			"date",
			"release the middle of a week, month, quarter or year, shift all dates of a respondent alike, or release ages",
			func() Params { return new(Date) }},
		{
			"donut",
			"displace points by a keyed distance and direction, between two distances or so that so many people live within it",
			func() Params { return new(Donut) }},
		{"swap", "exchange values between records with the same keys", func() Params { return new(Swap) }},
		{"recordswap", "exchange the areas of whole households, first of those that are rare in theirs", func() Params {
			return new(RecordSwap)
		}},
		{"microaggregate", "replace values by the mean or median of groups of at least k similar records", func() Params {
			return new(Microaggregate)
		}},
		{"rankswap", "exchange values between records of similar rank", func() Params { return new(RankSwap) }},
		{"shuffle", "give values to other records, ranked by draws that depend on columns which are not shuffled",
			func() Params { return new(Shuffle) }},
		{"synthesise", "replace all values by draws from models of the columns, each conditional on others", func() Params {
			return new(Synthesise)
		}},
		{"calibrate", "multiply sampling weights so that weighted totals are those of margins", func() Params {
			return new(Calibrate)
		}},
	}...)
}
