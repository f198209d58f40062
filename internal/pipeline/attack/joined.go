package attack

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// joinedBy replaces the pseudonyms among the categories of keys by what a snooper knows of them: how many records the
// respondent has. It returns, by column, why that cannot be counted; "" if it can.
//
// The records of a pseudonym are numbered, and the category of a record is their number together with its own. Those of
// one category then belong to different respondents with as many records, so that k counts respondents: of two who have
// three records each, a claim is right with probability 1/2 and not 1/6. Where the other keys differ between the
// records of a pseudonym, whoever knows several of them compares all of them together, and k of single records would be
// too great.
func joinedBy(pl *pipeline.Plan, categories map[string]attack.CategoricalColumn) map[string]string {
	not := map[string]string{}
	for name, c := range categories {
		if !transform.Renames(pl.Config.Masks, name) {
			continue
		}
		not[name] = ""
		for other, k := range categories {
			if other != name && !transform.Renames(pl.Config.Masks, other) &&
				!(sameWithin(c.Original, k.Original) && sameWithin(c.Original, k.Released)) {
				not[name] =
					"is a pseudonym that joins records whose other keys differ: whoever knows several records of a respondent compares them together, which is not counted; name it under assess.intruder.uniqueness.person, or as household, or withhold it (role identifier)"
			}
		}
	}
	for name := range not {
		c := categories[name]
		if not[name] == "" && twoOf(categories, not) && !isConstant(numbered(c.Original)) {
			not[name] = "is one of several pseudonyms that join records, whose groups are not counted together"
		}
	}
	for name := range not {
		categories[name] = attack.CategoricalColumn{Name: name, Original: numbered(categories[name].Original)}
	}
	return not
}

// twoOf reports whether several of the columns have a value more than once.
func twoOf(categories map[string]attack.CategoricalColumn, columns map[string]string) bool {
	n := 0
	for name := range columns {
		if !isConstant(numbered(categories[name].Original)) {
			n++
		}
	}
	return n > 1
}

// numbered returns for each record a code of how often its value occurs and of how often it has occurred before; −1
// where there is none.
func numbered(values []int32) []int32 {
	times, before := map[int32]int32{}, map[int32]int32{}
	for _, v := range values {
		times[v]++
	}
	codes, known := make([]int32, len(values)), map[[2]int32]int32{}
	for i, v := range values {
		if v < 0 {
			codes[i] = -1
			continue
		}
		at := [2]int32{times[v], before[v]}
		before[v]++
		code, again := known[at]
		if !again {
			code = int32(len(known))
			known[at] = code
		}
		codes[i] = code
	}
	return codes
}

// sameWithin reports whether all records of a unit have the same code, where there are codes.
func sameWithin(units, codes []int32) bool {
	first := map[int32]int32{}
	for i, u := range units {
		if u < 0 || codes == nil {
			continue
		}
		if code, again := first[u]; again && code != codes[i] {
			return false
		}
		first[u] = codes[i]
	}
	return true
}

func isConstant(codes []int32) bool {
	return len(codes) == 0 || !slices.ContainsFunc(codes, func(c int32) bool { return c != codes[0] })
}
