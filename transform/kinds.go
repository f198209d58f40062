package transform

import (
	"github.com/sdlfilter/sdlfilter/transform/internal/category"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/group"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
	"github.com/sdlfilter/sdlfilter/transform/internal/synthesis"
)

// The families of masks, in the order in which their masks are listed.
func init() {
	core.Register(record.Masks()...)
	core.Register(category.Masks()...)
	core.Register(group.Masks()...)
	core.Register(synthesis.Masks()...)
	core.Register(
		core.KindOf[Swap]("swap", "exchange values between records with the same keys"),
		core.KindOf[RecordSwap]("recordswap", "exchange the areas of whole households, first of those that are rare in theirs"),
		core.KindOf[RankSwap]("rankswap", "exchange values between records of similar rank"),
		core.KindOf[Shuffle]("shuffle", "give values to other records, ranked by draws that depend on columns which are not shuffled"),
		core.KindOf[Calibrate]("calibrate", "multiply sampling weights so that weighted totals are those of margins"),
	)
}
