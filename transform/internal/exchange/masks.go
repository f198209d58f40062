// Package exchange has the masks that give values to other records: swap, recordswap, rankswap and shuffle. It knows no
// other family.
package exchange

import "github.com/sdlfilter/sdlfilter/transform/internal/core"

// Masks is the table of the family's masks: a new one is a file and a line here.
func Masks() []core.Kind {
	return []core.Kind{
		core.KindOf[Swap]("swap", "exchange values between records with the same keys"),
		core.KindOf[RecordSwap]("recordswap", "exchange the areas of whole households, first of those that are rare in theirs"),
		core.KindOf[RankSwap]("rankswap", "exchange values between records of similar rank"),
		core.KindOf[Shuffle]("shuffle", "give values to other records, ranked by draws that depend on columns which are not shuffled"),
	}
}
