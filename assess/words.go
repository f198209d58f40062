package assess

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// stated writes a limit with the digits that it has in the configuration; a float64 keeps 15 digits
// of a decimal.
func stated(v float64) string { return strconv.FormatFloat(v, 'g', 15, 64) }

// statedIn is stated with a unit.
func statedIn(v float64, unit string) string {
	s := stated(v)
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		s = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.TrimSpace(s + " " + unit)
}

// shortOf writes a value below a limit, with enough digits to distinguish it from the limit.
func shortOf(v, limit float64, unit string) string {
	s := strings.TrimSpace(strings.TrimSuffix(withUnit(v, unit), unit))
	if w, err := strconv.ParseFloat(s, 64); err == nil && v < limit && w >= limit {
		for n := 5; n <= 17 && w >= limit; n++ {
			s = strconv.FormatFloat(v, 'g', n, 64)
			w, _ = strconv.ParseFloat(s, 64)
		}
	}
	return strings.TrimSpace(s + " " + unit)
}

// withUnit writes a number in the usual notation, with its unit.
func withUnit(v float64, unit string) string {
	s := number(v)
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		s = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.TrimSpace(s + " " + unit)
}

// advise returns advice on how to reach the needed RMSE of a target.
func advise(w Risk, needed float64, unit string) string {
	if math.IsNaN(float64(w.R)) {
		return fmt.Sprintf("the risk of %s by %s could not be measured; a rule without its measure does not hold", w.Target, w.Knowledge)
	}
	what := withUnit(needed, unit)
	state := fmt.Sprintf("%s is known by %s to within %s", w.Target, w.Knowledge, shortOf(float64(w.RMSE), needed, unit))
	switch w.Knowledge {
	case KnowledgeIndex:
		return fmt.Sprintf("%s: with added noise R = 1/λ², so λ of at least %s where the target lies (a tier does it there alone)", state, what)
	case KnowledgeOrder:
		return fmt.Sprintf("%s: release the records in another order (sink.order: shuffled), or sort the source by what tells nothing of the column", state)
	case KnowledgePosition:
		return fmt.Sprintf("%s: more noise or a bias must move the released order statistic by %s; a bound near the target keeps it near whatever the noise", state, what)
	default:
		return fmt.Sprintf("%s: the released mean lies that near to it, and noise does not change that; it takes a bias of the mean, or another limit for this target", state)
	}
}
