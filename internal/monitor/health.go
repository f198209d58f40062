package monitor

import (
	"fmt"
	"time"
)

// watchdog is how long the loop may be silent before it counts as stuck. A turn
// that waits for a broker's answer beyond the client's own timeouts is.
func (m *Monitor) watchdog() time.Duration {
	return max(time.Minute, 10*m.info.Interval)
}

// alive says why the loop counts as stuck; "" where it makes progress.
func (m *Monitor) alive() string {
	if silent := m.now().Sub(m.heartbeat); silent > m.watchdog() {
		return fmt.Sprintf("no progress since %s (%s ago)", stamp(m.heartbeat), silent.Round(time.Second))
	}
	return ""
}

// ready says what is missing before records can flow; "" where nothing is.
func (m *Monitor) ready() string {
	switch reason := m.alive(); {
	case m.mode == Stopped:
		return "stopped"
	case !m.brokers.attempted:
		return "brokers not contacted yet"
	case m.brokers.err != "":
		return fmt.Sprintf("brokers not reachable since %s: %s", stamp(m.brokers.since), m.brokers.err)
	case len(m.assigned) == 0:
		return "no partitions assigned"
	default:
		return reason
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
