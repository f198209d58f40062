package monitor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"time"
)

// mostWatchers is how many clients may follow the events at once, and mostOfOne how
// many of them from one address.
const (
	mostWatchers = 32
	mostOfOne    = 8
)

// watcher is a client that follows the events.
type watcher struct {
	from    netip.Prefix
	since   int64         // number in order of arrival
	evicted chan struct{} // closed when the watcher must end
}

// watch adds a client that is to be woken. No client is refused: if an address has as many clients
// as allowed, its oldest one is closed, and if all places are taken, the oldest of the address with
// the most clients. So a client that opens many streams only closes its own.
func (m *Monitor) watch(from netip.Prefix) (wake, gone chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := map[netip.Prefix]int{}
	for _, w := range m.watchers {
		of[w.from]++
	}
	switch {
	case of[from] >= mostOfOne:
		m.dismiss(from)
	case len(m.watchers) >= mostWatchers:
		most := from
		for _, w := range m.watchers {
			if n := of[w.from]; n > of[most] || n == of[most] && w.from.Addr().Less(most.Addr()) {
				most = w.from
			}
		}
		m.dismiss(most)
	}
	wake, gone = make(chan struct{}, 1), make(chan struct{})
	m.joined++
	m.watchers[wake] = &watcher{from, m.joined, gone}
	return wake, gone
}

// dismiss ends the oldest stream of an address.
func (m *Monitor) dismiss(from netip.Prefix) {
	var oldest chan struct{}
	for wake, w := range m.watchers {
		if w.from == from && (oldest == nil || w.since < m.watchers[oldest].since) {
			oldest = wake
		}
	}
	if oldest != nil {
		close(m.watchers[oldest].evicted)
		delete(m.watchers, oldest)
	}
}

// addressOf is where a client comes from. Of an IPv6 address it is the network: one
// host has 2⁶⁴ of them.
func addressOf(r *http.Request) netip.Prefix {
	ip, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{} // not TCP: all alike
	}
	addr, bits := ip.Addr().Unmap().WithZone(""), 32
	if addr.Is6() {
		bits = 64
	}
	p, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
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
	wake, gone := m.watch(addressOf(r))
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
		case <-gone:
			return
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
