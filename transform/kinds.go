package transform

import (
	"github.com/sdlfilter/sdlfilter/transform/internal/category"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

// The table of masks: a new mask is one file in its family and one line here.
func init() {
	core.Register(
		core.KindOf[record.Sample]("sample", "release a keyed share of the records and leave the others out"),
		core.KindOf[record.Bias]("bias", "multiply by θ ~ N(1, φ²), drawn for each record and column"),
		core.KindOf[record.Noise]("noise", "add ε with mean 0 and standard deviation λ"),
		core.KindOf[record.Truncate]("truncate", "keep released values within bounds"),
		core.KindOf[record.Round]("round", "round to decimals or to a base"),
		core.KindOf[category.Recode]("recode", "replace categories by coarser ones, or numbers by intervals"),
		core.KindOf[record.Topcode]("topcode", "replace values beyond a bound by the bound, their mean or a label"),
		core.KindOf[category.PRAM]("pram", "replace categories by others, drawn with a transition matrix"),
		core.KindOf[Suppress]("suppress", "set cells of the keys missing until at least k records share each combination of the keys"),
		core.KindOf[category.Pseudonym]("pseudonym",
			"replace identifiers by keyed pseudonyms that are the same in every file and release, so that records still join"),
		core.KindOf[category.Date]("date",
			"release the middle of a week, month, quarter or year, shift all dates of a respondent alike, or release ages"),
		core.KindOf[record.Donut]("donut",
			"displace points by a keyed distance and direction, between two distances or so that so many people live within it"),
		core.KindOf[Swap]("swap", "exchange values between records with the same keys"),
		core.KindOf[RecordSwap]("recordswap", "exchange the areas of whole households, first of those that are rare in theirs"),
		core.KindOf[Microaggregate]("microaggregate", "replace values by the mean or median of groups of at least k similar records"),
		core.KindOf[RankSwap]("rankswap", "exchange values between records of similar rank"),
		core.KindOf[Shuffle]("shuffle", "give values to other records, ranked by draws that depend on columns which are not shuffled"),
		core.KindOf[Synthesise]("synthesise", "replace all values by draws from models of the columns, each conditional on others"),
		core.KindOf[Calibrate]("calibrate", "multiply sampling weights so that weighted totals are those of margins"),
	)
}
