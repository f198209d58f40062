package account

import (
	"fmt"
	"math"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// warnings returns what the data steward should know before the release is used: for example columns
// with too many unchanged values, and masks that changed nothing.
func (r *Reporter) warnings(m *assess.Measures, effect Effect) (list []string) {
	for i := range m.Columns {
		if w := m.Columns[i].UnchangedWarning(); w != "" {
			list = append(list, w)
		}
		if w := m.Columns[i].OrderWarning(); w != "" {
			list = append(list, w)
		}
		if w := m.Columns[i].RecordWarning(); w != "" {
			list = append(list, w)
		}
	}
	if w := m.UnseenWarning(); w != "" {
		list = append(list, w)
	}
	if !r.Interim || r.Total {
		for _, c := range m.Unaltered {
			list = append(list, c.Warning())
		}
	}
	if n := effect.Unidentified; n > 0 {
		list = append(list,
			fmt.Sprintf(
				"identity: %d records have no value in any identity column and are identified by their place: once they move they have new noise", n))
	}
	if (!r.Interim || r.Total) && m.Records > 0 {
		list = append(list, r.remain(m, effect)...)
	}
	if r.Interim && !r.Total || m.Records == 0 {
		return list
	}
	if left := r.Plan.Intruder.Unmeasured(); left != "" {
		list = append(list, left)
	}
	if names := r.Plan.Unguarded(); len(names) > 0 {
		list = append(list, "ledger: earlier releases masked "+strings.Join(names, ", ")+
			", and this one does not: what its columns tell of them together with those releases is not judged")
	}
	list = append(list, assess.AbsentCodes(m.MissingCodes)...)
	list = append(list, r.calibrationWarnings()...)
	list = append(list, r.placeWarnings(m)...)
	list = append(list, r.relocationWarnings()...)
	for i, mask := range r.Config.Masks {
		if transform.LeavesOut(mask.Params) {
			continue // a rate of 1, or few records
		}
		columns := mask.Params.Masks()
		// Bounds are often set where no value is expected beyond them.
		_, bounds := transform.ActionOf(mask.Params, columns[0], math.NaN()).(transform.Bounding)
		if effect.changed(i) == 0 && !bounds && hasValues(m, columns) {
			list = append(list, fmt.Sprintf("%s: changed no record", r.Plan.MaskPath(i)))
		}
	}
	return list
}

// remark adds to each column a remark if the draws of this release turned out far worse than
// a rule requires, and if a clip may reveal an extreme value. The former is not a warning: it
// is chance, and another key has other draws.
func (r *Reporter) remark(m *assess.Measures) {
	for _, rule := range r.rules() {
		c := m.Column(rule.Column)
		if remark := rule.RealisedRemark(c); remark != "" && !strings.Contains(c.Remark, remark) {
			c.Remark = strings.TrimSpace(c.Remark + " " + remark)
		}
	}
	for i := range m.Columns {
		if c := &m.Columns[i]; c.Masked && r.Chain != nil && (!r.Interim || r.Total) {
			c.Remark = strings.TrimSpace(c.Remark + " " + r.clipRemark(c))
		}
	}
}

// hasValues reports whether any of the columns has a value to be masked. It is true for
// columns that are not assessed, of which nothing is known.
func hasValues(m *assess.Measures, columns []string) bool {
	for _, name := range columns {
		if c := m.Column(name); c == nil || c.Original.N > 0 {
			return true
		}
	}
	return false
}
