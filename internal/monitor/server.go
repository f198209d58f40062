package monitor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// policy lets the page load its own style and script and ask this server, and
// nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves /metrics, /livez, /readyz, /report, /events and the page at /. It
// answers only requests for loopback and for the names of Info.Hosts. A nil
// Monitor serves nothing.
func (m *Monitor) Handler() http.Handler { return m.handler(netip.Addr{}) }

// handler also answers requests for the address that is listened on: that very
// one, or any where it is unspecified (0.0.0.0 or ::).
func (m *Monitor) handler(bound netip.Addr) http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics",
		promhttp.HandlerFor(m.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { m.health(w, m.alive) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { m.health(w, m.ready) })
	mux.HandleFunc("GET /report", m.report)
	mux.HandleFunc("GET /events", m.events)
	mux.HandleFunc("GET /column", m.columnJSON)
	mux.HandleFunc("GET /live.css", asset("text/css; charset=utf-8", liveCSS()))
	mux.HandleFunc("GET /live.js", asset("text/javascript; charset=utf-8", liveJS))
	mux.HandleFunc("GET /{$}", asset("text/html; charset=utf-8", m.page()))
	return guarded(mux, m.info.Hosts, bound)
}

// guarded hands requests on to mux if they are for loopback, for one of the names or for the bound
// address, and were not made by the page of another origin.
func guarded(mux http.Handler, names []string, bound netip.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		switch {
		case !answersTo(r.Host, names, bound):
			plain(w, http.StatusMisdirectedRequest, "this server does not answer to that name: see --listen")
		case crossOrigin(r):
			plain(w, http.StatusForbidden, "requests from the pages of other origins are refused")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			plain(w, http.StatusMethodNotAllowed, "only GET and HEAD")
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// answersTo says whether requests for a host are answered. A name that an attacker
// has point here (DNS rebinding) makes a browser treat this server as the
// attacker's own origin; an address cannot be pointed elsewhere.
func answersTo(host string, names []string, bound netip.Addr) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "localhost" || slices.ContainsFunc(names, func(s string) bool {
		return s != "" && strings.EqualFold(s, name)
	}) {
		return true
	}
	if bracketed, ok := strings.CutPrefix(name, "["); ok {
		name, _ = strings.CutSuffix(bracketed, "]")
	}
	ip, err := netip.ParseAddr(name)
	if err != nil || strings.ContainsAny(name, "[]") { // a zone may hold anything
		return false
	}
	ip = ip.Unmap().WithZone("")
	return ip.IsLoopback() || bound.IsValid() && (bound.IsUnspecified() || ip == bound.Unmap().WithZone(""))
}

// crossOrigin reports whether a browser made the request for a page of another origin. Following a
// link to this page does not count.
func crossOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" {
			return true
		}
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}

// health answers 200 where nothing is wrong, and 503 with what is.
func (m *Monitor) health(w http.ResponseWriter, wrong func() string) {
	m.mu.Lock()
	reason := wrong()
	m.mu.Unlock()
	sayHealth(w, reason)
}

// sayHealth answers 200 where the reason not to is empty, and 503 with the reason where it is not.
func sayHealth(w http.ResponseWriter, reason string) {
	if reason == "" {
		plain(w, http.StatusOK, "ok")
	} else {
		plain(w, http.StatusServiceUnavailable, reason)
	}
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that has gone needs no answer
}

func (m *Monitor) report(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	text := m.text
	m.mu.Unlock()
	if text == nil {
		plain(w, http.StatusNotFound, "no snapshot yet")
		return
	}
	asset("application/json; charset=utf-8", string(text))(w, nil)
}

func (m *Monitor) columnJSON(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d, ok := m.column(q.Get("name"), q.Get("size") == "slim")
	if !ok {
		plain(w, http.StatusNotFound, "no snapshot holds that column")
		return
	}
	text, err := json.Marshal(d)
	if err != nil {
		plain(w, http.StatusInternalServerError, "the column cannot be shown")
		return
	}
	asset("application/json; charset=utf-8", string(text))(w, r)
}

// asset serves a text that stays as it is.
func asset(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text) // a client that has gone needs no answer
	}
}

// Exposed reports whether an address to listen on, host:port, may be reachable from other machines:
// every address except a loopback address.
func Exposed(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return true
	}
	if strings.EqualFold(host, "localhost") {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err != nil || !ip.Unmap().IsLoopback()
}

// Serve listens on addr, host:port, and serves Handler in the background until the
// context ends or Close is called. It returns the address that it listens on, with
// the port that was chosen where addr says 0. A nil Monitor listens nowhere and
// returns "".
func (m *Monitor) Serve(ctx context.Context, addr string) (string, error) {
	if m == nil {
		return "", nil
	}
	return m.listen(ctx, addr, m.handler)
}

// serving is a server in the background.
type serving struct {
	closing chan struct{} // closed by Close
	once    sync.Once
	servers sync.WaitGroup
}

// listen begins to serve on addr what handler makes for the address that is bound, and returns that address.
func (s *serving) listen(ctx context.Context, addr string, handler func(bound netip.Addr) http.Handler) (string,
	error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	s.serve(ctx, listener, handler)
	return listener.Addr().String(), nil
}

func (s *serving) serve(ctx context.Context, listener net.Listener, handler func(bound netip.Addr) http.Handler) {
	var bound netip.Addr
	if a, ok := listener.Addr().(*net.TCPAddr); ok {
		bound = a.AddrPort().Addr()
	}
	// Cancelled to end the event streams, which a shutdown would wait for.
	streams, end := context.WithCancel(context.WithoutCancel(ctx))
	server := &http.Server{
		Handler:           handler(bound),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return streams },
		ErrorLog:          log.New(io.Discard, "", 0), // errors of a client do not concern the stream
	}
	s.servers.Add(2)
	failed := make(chan struct{})
	go func() {
		defer s.servers.Done()
		defer close(failed)
		defer bug.Guard()
		_ = server.Serve(listener) // it ends with ErrServerClosed, or the listener is gone
	}()
	go func() {
		defer s.servers.Done()
		defer end()
		defer bug.Guard()
		select {
		case <-ctx.Done():
		case <-s.closing:
		case <-failed:
		}
		end()
		patience, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if server.Shutdown(patience) != nil {
			_ = server.Close() // what did not end in time is cut off
		}
		cancel()
	}()
}

// Close ends what Serve began and waits for it.
func (m *Monitor) Close() {
	if m != nil {
		m.end()
	}
}

// end ends the server, if there is one, and waits for it.
func (s *serving) end() {
	s.once.Do(func() { close(s.closing) })
	s.servers.Wait()
}
