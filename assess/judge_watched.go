package assess

import (
	"fmt"
	"math"
)

// judgeUnaltered fails a release in which all values of a sensitive column of texts are equal to the original, be it by
// chance or because the masks had nothing to change. For numeric columns the law of the masks decides this.
func judgeUnaltered(m *Measures) (broken []RuleVerdict) {
	limit := 0.0
	if m.AllowUnchanged != nil {
		limit = *m.AllowUnchanged
	}
	for _, c := range m.Unaltered {
		if !c.Judged || limit >= 1 {
			continue
		}
		broken = append(broken, RuleVerdict{
			Column: c.Column, Measure: "max_unchanged", Limit: Float(limit), Found: 1,
			Rule:   c.Column + ": not all released values equal to the original",
			Advice: "the masks must change some: a smaller probability to keep a category (pram), a greater rate (swap), or coarser categories (recode); or allow it (gate.allow_unchanged: 1)",
		})
	}
	return broken
}

// Warning says that a column of texts is not protected.
func (c Unaltered) Warning() string {
	return fmt.Sprintf("%s: all of its released values are the original: its masks have left each as it is", c.Column)
}

// mostDetermined is the greatest share of a column's rounded dates that may be known exactly by the release alone, as
// for values on a lattice that masks leave nearest to their own.
const mostDetermined = 0.005

// Excess reports whether too many of a column's rounded dates are known exactly, because each of their intervals has
// one date: R takes the dates to be spread over it.
func (d Determined) Excess() bool { return float64(d.Records) > mostDetermined*float64(d.Of) }

// Warning says how many dates are known exactly; "" if they are few.
func (d Determined) Warning() string {
	if !d.Excess() {
		return ""
	}
	return d.Column + ": " + d.words()
}

func (d Determined) words() string {
	return fmt.Sprintf(
		"%d of %d released dates stand for one and the same original date each, in several records: whoever knows how dates lie in their interval knows them exactly (R is infinite)", d.Records, d.Of)
}

// judgeDetermined fails a release in which rounded dates are known exactly.
func judgeDetermined(m *Measures) (broken []RuleVerdict) {
	for _, d := range m.Determined {
		if d.Excess() {
			broken = append(broken, RuleVerdict{
				Column: d.Column, Measure: "max_risk", Limit: Float(math.Inf(1)), Found: Float(math.Inf(1)),
				Rule:   d.Column + ": rounded dates not known exactly by the release",
				Advice: d.words() + "; round to a longer interval, or add noise in days",
			})
		}
	}
	return broken
}

// Warning says what pseudonyms leave; of no counted identifiers only that they are pseudonyms.
func (c Renamed) Warning() string {
	text := c.Column +
		": pseudonymised, not anonymised: equal identifiers stay equal, in every file and release of one key and scope"
	switch {
	case c.Identifiers == 0:
		return text
	case c.Repeated == 0:
		return text + "; each names one record here"
	case c.Estimated:
		return fmt.Sprintf(
			"%s; about %d of %d identifiers name several records each, so that respondents can be found by the number of their records", text, c.Repeated, c.Identifiers)
	}
	text = fmt.Sprintf("%s; %d of %d identifiers name several records each", text, c.Repeated, c.Identifiers)
	if c.Singular == 0 {
		return text
	}
	return fmt.Sprintf("%s, and %d have a number of records that no other has: whoever knows that number has found them",
		text, c.Singular)
}
