package monitor

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// mostReasons is how many reasons the page lists.
const mostReasons = 20

// dropped is how many records were not released for a reason.
type dropped struct {
	Reason  string `json:"reason"` // "column: reason"
	Records int64  `json:"records"`
}

// Quarantine says for which reasons records could not be masked, as report.Records has
// them: whole is how many of the partitions that this instance reads, as far back as is
// kept, and added how many of them have come now.
func (m *Monitor) Quarantine(whole, added map[string]int64) {
	if m == nil {
		return
	}
	for reason, n := range added {
		m.metrics.reasons.WithLabelValues(strings.ToValidUTF8(reason, "\uFFFD")).Add(float64(n))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !maps.Equal(m.reasons, whole) {
		m.reasons = maps.Clone(whole)
		m.tell()
	}
}

// dropped lists the reasons, those of the most records first, and how many records have
// another. It is called with the lock held.
func (m *Monitor) dropped() (list []dropped, others int64) {
	list = []dropped{}
	for reason, n := range m.reasons {
		list = append(list, dropped{strings.ToValidUTF8(reason, "\uFFFD"), n})
	}
	slices.SortFunc(list, func(a, b dropped) int {
		return cmp.Or(cmp.Compare(b.Records, a.Records), strings.Compare(a.Reason, b.Reason))
	})
	for i := mostReasons; i < len(list); i++ {
		others += list[i].Records
	}
	return list[:min(len(list), mostReasons)], others
}
