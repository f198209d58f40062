package monitor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// mostWatchers is how many clients may follow the events at once.
const mostWatchers = 32

// watch enters a client that is to be woken; ok is false where there are too many.
func (m *Monitor) watch() (wake chan struct{}, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.watchers) >= mostWatchers {
		return nil, false
	}
	wake = make(chan struct{}, 1)
	m.watchers[wake] = struct{}{}
	return wake, true
}

func (m *Monitor) unwatch(wake chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watchers, wake)
}

// events sends the state every second and whenever something changes, and each
// snapshot. A client is sent states, not a queue: one that is slow misses some,
// and one that takes nothing within the grace is dropped.
func (m *Monitor) events(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("X-Accel-Buffering", "no") // a proxy should pass each event on at once
	if r.Method == http.MethodHead {
		return
	}
	wake, ok := m.watch()
	if !ok {
		header.Set("Retry-After", "5")
		plain(w, http.StatusServiceUnavailable, "too many clients follow the events")
		return
	}
	defer m.unwatch(wake)
	control := http.NewResponseController(w)
	// The server's deadline for reading a request would end the connection, and
	// that for a whole answer the stream. Where a writer has no deadlines, such as
	// a recorder, there is none to lift.
	_ = control.SetReadDeadline(time.Time{})
	extend := func() { _ = control.SetWriteDeadline(time.Now().Add(m.grace)) }
	extend()
	if _, err := fmt.Fprint(w, "retry: 2000\n\n"); err != nil {
		return
	}
	ticker := time.NewTicker(m.tick)
	defer ticker.Stop()
	var seen *view
	for {
		extend()
		if s, v := m.latest(); v != seen {
			seen = v
			if send(w, "snapshot", s) != nil {
				return
			}
		}
		if send(w, "state", m.state()) != nil || control.Flush() != nil {
			return
		}
		select {
		case <-wake:
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-m.closing:
			return
		}
	}
}

// send writes one event. JSON has no line ends of its own here, so that one data
// line holds it.
func send(w http.ResponseWriter, event string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
	return err
}
