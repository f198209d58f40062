package assess

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess/internal/joint"
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

// recordAdvice says what to change if all released columns of a record together give a value.
func recordAdvice(w Risk, needed string) string {
	if len(w.Tells) == 0 {
		return fmt.Sprintf(
			": it is estimated from its released value and from how the column is distributed, which gives less error than the noise alone: more noise, so that λ/√(1 + λ²/S²) is at least %s (or record: alone, for R = 1/λ²)", needed)
	}
	if w.Approximate && w.Errs == ErrsSafe && math.IsInf(float64(w.R), 1) {
		return fmt.Sprintf(
			": records with the same %s share one value, and the sample does not hold all of them, so that how much the mean of their released values tells is not known: keep all records in the sample (assess.sample: all)", strings.Join(w.Tells, " and "))
	}
	if math.IsInf(float64(w.R), 1) {
		return fmt.Sprintf(
			": most values follow exactly from %s: mask these columns too, with noise that is correlated (noise: {correlated: true}), or do not release them", strings.Join(listed(w.Tells), ", "))
	}
	if slices.Contains(w.Tells, joint.ExchangedRecords) {
		return fmt.Sprintf(
			": what stayed in the record tells whose values it has, by %s: exchange what tells of these columns together with them, exchange within groups in which it is alike (keys), add noise, or do not release it (record: alone judges the column by itself)",
			strings.Join(listed(w.Tells), ", "))
	}
	if slices.Contains(w.Tells, OrderOfRecords) {
		return fmt.Sprintf(
			": it is told by %s together with its own released value: release the records in another order (sink.order: shuffled), mask what tells which records are one unit's, or use more noise (record: alone judges the column by itself)",
			strings.Join(listed(w.Tells), ", "))
	}
	return fmt.Sprintf(
		": it is told by %s together with its own released value: mask these columns too, with noise that is correlated (noise: {correlated: true}), or do not release them (record: alone judges the column by itself)",
		strings.Join(listed(w.Tells), ", "))
}

// releasesAdvice says what to change if earlier releases and this one together give a value.
func releasesAdvice(w Risk) string {
	told := "all releases in the ledger"
	if len(w.Tells) > 0 {
		told = strings.Join(listed(w.Tells), ", ")
	}
	return fmt.Sprintf(
		": it is told by %s together with its own released value: release with the masks, the key and the identity of an earlier release, "+
			"whose draws tell nothing more, mask with more noise, or leave the column out (releases: alone judges this release by itself)", told)
}

// listed returns at most five names, and how many more there are.
func listed(names []string) []string {
	if len(names) <= 5 {
		return names
	}
	return append(names[:5:5], fmt.Sprintf("%d more", len(names)-5))
}

// advise returns advice on how to reach the needed RMSE of a target.
func advise(w Risk, needed float64, unit string) string {
	if math.IsNaN(float64(w.R)) {
		if w.Not != "" {
			return fmt.Sprintf("the risk of %s by %s could not be computed: %s; a rule without its measure does not hold",
				w.Target, w.Knowledge, w.Not)
		}
		return fmt.Sprintf("the risk of %s by %s could not be measured; a rule without its measure does not hold", w.Target,
			w.Knowledge)
	}
	if w.Bound && math.IsInf(float64(w.R), 1) {
		return fmt.Sprintf(
			"how nearly %s is known by %s cannot be told from a sample, so that it counts as known exactly: keep all records in the sample (assess.sample: all)", w.Target, w.Knowledge)
	}
	what := withUnit(needed, unit)
	state := fmt.Sprintf("%s is known by %s to within %s", w.Target, w.Knowledge, shortOf(float64(w.RMSE), needed, unit))
	switch w.Knowledge {
	case KnowledgeIndex:
		return fmt.Sprintf(
			"%s: with added noise R = 1/λ², so λ of at least %s where the target lies (a tier does it there alone)", state, what)
	case KnowledgeRecord:
		return state + recordAdvice(w, what)
	case KnowledgeAllReleases:
		return state + releasesAdvice(w)
	case KnowledgeOrder:
		return fmt.Sprintf(
			"%s: release the records in another order (sink.order: shuffled), or sort the source by what tells nothing of the column", state)
	case KnowledgePosition:
		return fmt.Sprintf(
			"%s: more noise or a bias must move the released order statistic by %s; a bound near the target keeps it near whatever the noise", state, what)
	default:
		return fmt.Sprintf(
			"%s: the released mean lies that near to it, and noise does not change that; it takes a bias of the mean, or another limit for this target", state)
	}
}
