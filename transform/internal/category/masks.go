// Package category has the masks that replace a value by another of a list, an interval or a pseudonym: recode, pram,
// pseudonym and date. It knows the core and no other mask.
package category

import "github.com/sdlfilter/sdlfilter/transform/internal/core"

// Masks is the table of the family's masks: a new one is a file and a line here.
func Masks() []core.Kind {
	return []core.Kind{
		core.KindOf[Recode]("recode", "replace categories by coarser ones, or numbers by intervals"),
		core.KindOf[PRAM]("pram", "replace categories by others, drawn with a transition matrix"),
		core.KindOf[Pseudonym]("pseudonym",
			"replace identifiers by keyed pseudonyms that are the same in every file and release, so that records still join"),
		core.KindOf[Date]("date",
			"release the middle of a week, month, quarter or year, shift all dates of a respondent alike, or release ages"),
	}
}
