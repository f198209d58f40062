package pipeline

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// streamOrderBins bounds what a stream keeps of the order of its records: it is part
// of the state that each partition writes.
const streamOrderBins = 2048

// keepingOf tells the assessment how many values the masks leave as they are. whole
// says that all records have been masked by the time that it asks: a stream goes
// on, and may have begun in another process.
func keepingOf(chain *transform.Chain, whole bool) func(string, float64) assess.Keeping {
	return func(column string, typical float64) assess.Keeping {
		law := chain.Keeping(column, typical, whole)
		return assess.Keeping{Share: law.Share, Most: law.Most}
	}
}

// warnings are what the steward should know before the release is used: columns
// of which too many values are the original, and masks that have changed nothing.
func (r *reporter) warnings(m *assess.Measures, touched []transform.Touch) (list []string) {
	for i := range m.Columns {
		if w := m.Columns[i].UnchangedWarning(); w != "" {
			list = append(list, w)
		}
		if w := m.Columns[i].OrderWarning(); w != "" {
			list = append(list, w)
		}
	}
	if n := r.chain.Unidentified(); n > 0 {
		list = append(list, fmt.Sprintf("identity: %d records have no value in any identity column and are identified by their place: once they move they have new noise", n))
	}
	if r.interim || m.Records == 0 {
		return list
	}
	for i, t := range touched {
		// Bounds are often set where no value is expected beyond them.
		_, bounds := transform.ActionOf(r.config.Masks[i].Params, t.Columns[0], math.NaN()).(transform.Bounding)
		if t.Records == 0 && !bounds && hasValues(m, t.Columns) {
			list = append(list, fmt.Sprintf("%s: changed no record", r.plan.maskPath(i)))
		}
	}
	return list
}

// hasValues reports whether any of the columns has a value to be masked. Of those
// that are not assessed nothing is known.
func hasValues(m *assess.Measures, columns []string) bool {
	for _, name := range columns {
		if c := m.Column(name); c == nil || c.Original.N > 0 {
			return true
		}
	}
	return false
}
