package monitor

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/synthetic"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestHosts(t *testing.T) {
	loopback, all, one, six := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::"),
		netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("fe80::1%eth0")
	m := New(Info{Hosts: []string{"filter.example", ""}})
	for _, c := range []struct {
		host  string
		bound netip.Addr
		want  bool
	}{
		{"127.0.0.1:9464", loopback, true},
		{"127.0.0.1:9464", netip.Addr{}, true},
		{"127.9.9.9", loopback, true},
		{"[::1]:9464", loopback, true},
		{"[::1]", loopback, true},
		{"[::ffff:127.0.0.1]:80", loopback, true},
		{"localhost", loopback, true},
		{"LocalHost.:9464", loopback, true},
		{"filter.example:9464", loopback, true},
		{"Filter.Example", all, true},
		{"evil.example:9464", loopback, false},
		{"evil.example", all, false},
		{"localhost.evil.example", all, false},
		{"127.0.0.1.evil.example", all, false},
		{"", all, false},
		{":9464", all, false},
		{"2130706433", all, false},
		{"127.1", all, false},
		{"192.0.2.7:9464", loopback, false},
		{"192.0.2.7:9464", netip.Addr{}, false},
		{"192.0.2.7:9464", one, true},
		{"192.0.2.8:9464", one, false},
		{"192.0.2.8:9464", all, true},
		{"192.0.2.8:9464", netip.MustParseAddr("0.0.0.0"), true},
		{"[fe80::1]:9464", six, true},
		{"127.0.0.1:9464", one, true},
	} {
		r := httptest.NewRequest(http.MethodGet, "/livez", nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		m.handler(c.bound).ServeHTTP(w, r)
		want := http.StatusMisdirectedRequest
		if c.want {
			want = http.StatusOK
		}
		if w.Code != want {
			t.Errorf("host %q, bound to %v: %d, want %d", c.host, c.bound, w.Code, want)
		}
	}
}

// acceptedHost matches the accepted Host headers: this machine's name or an address, and a port.
var acceptedHost = regexp.MustCompile(`(?is)^(localhost\.?|\[?[0-9a-f.:]+(%[^\[\]]*)?\]?\.?)(:[^:\[\]]*)?$`)

// FuzzHost: for any Host header, only this machine's name is accepted.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"localhost:1", "[::1%25lo]:9464", "127.0.0.1", "[[", "[::1%2o]:]:946\x90", "[::1",
		"evil.example:x", "a:b:c", "]:1", "0x7f.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if answersTo(host, nil, netip.IPv4Unspecified()) && !acceptedHost.MatchString(host) {
			t.Errorf("%q is answered", host)
		}
	})
}

func TestRefusals(t *testing.T) {
	m := New(Info{})
	m.Snapshot(synthetic.Snapshot(1, 200))
	for _, c := range []struct {
		name, method, path string
		header             map[string]string
		want               int
	}{
		{"plain", "GET", "/report", nil, 200},
		{"head", "HEAD", "/", nil, 200},
		{"head of the events", "HEAD", "/events", nil, 200},
		{"head of the metrics", "HEAD", "/metrics", nil, 200},
		{"the page's own", "GET", "/report",
			map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 200},
		{"typed in", "GET", "/",
			map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"a link of another page", "GET", "/",
			map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"framed", "GET", "/",
			map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		{"another site's request", "GET", "/report",
			map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, 403},
		{"another port's request", "GET", "/events",
			map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403},
		{"own origin", "GET", "/report", map[string]string{"Origin": "http://127.0.0.1:9464"}, 200},
		{"another origin", "GET", "/report", map[string]string{"Origin": "http://127.0.0.1:8080"}, 403},
		{"origin null", "GET", "/report", map[string]string{"Origin": "null"}, 403},
		{"post", "POST", "/report", nil, 405},
		{"delete", "DELETE", "/", nil, 405},
		{"options", "OPTIONS", "/report", map[string]string{"Access-Control-Request-Method": "GET"}, 405},
		{"no such page", "GET", "/etc/passwd", nil, 404},
	} {
		r := httptest.NewRequest(c.method, "http://127.0.0.1:9464"+c.path, nil)
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, r)
		h := w.Result().Header
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.want)
		}
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: headers %v", c.name, h)
		}
		for name := range h {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: header %s", c.name, name)
			}
		}
	}
}

func TestPageEscapes(t *testing.T) {
	const hostile = `</title><script>alert("x")</script>`
	m := New(Info{Name: hostile, Version: hostile, Source: hostile, Sink: hostile})
	_, text := get(t, m.Handler(), "/")
	if strings.Contains(text, "<script>alert") || !strings.Contains(text, "&lt;script&gt;alert") {
		t.Error("a name is taken for markup")
	}
	if strings.Contains(text, "http://") && !strings.Contains(text, "http://www.w3.org/2000/svg") ||
		strings.Contains(text, "https://") {
		t.Error("the page speaks of another origin")
	}
	for _, inline := range []string{" style=", "<style", " onclick=", "<script>"} {
		if strings.Contains(text, inline) {
			t.Errorf("the page holds %s, which its own policy forbids", inline)
		}
	}
}

func TestExposed(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:9464": false, "127.3.2.1:0": false, "[::1]:9464": false, "localhost:9464": false,
		"[::ffff:127.0.0.1]:1": false,
		":9464":                true, "0.0.0.0:9464": true, "[::]:9464": true, "192.0.2.7:9464": true,
		"filter.example:9464": true,
		"9464":                true, "": true,
	} {
		if got := Exposed(addr); got != want {
			t.Errorf("Exposed(%q) is %v", addr, got)
		}
	}
}

// follower reads the events of a server.
type follower struct {
	t      *testing.T
	answer *http.Response
	lines  *bufio.Scanner
}

func follow(t *testing.T, address string) *follower {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address + "/events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() }) // ended by the server, or by the test
	f := &follower{t, answer, bufio.NewScanner(answer.Body)}
	f.lines.Buffer(nil, 1<<20)
	return f
}

// next decodes the next event of a kind; ok is false if the stream has ended.
func (f *follower) next(kind string, v any) (ok bool) {
	f.t.Helper()
	now := ""
	for f.lines.Scan() {
		if name, found := strings.CutPrefix(f.lines.Text(), "event: "); found {
			now = name
		}
		if data, found := strings.CutPrefix(f.lines.Text(), "data: "); found && now == kind {
			if err := json.Unmarshal([]byte(data), v); err != nil {
				f.t.Fatal(err)
			}
			return true
		}
	}
	return false
}

func TestEvents(t *testing.T) {
	m := New(Info{Name: "survey"})
	m.tick = time.Hour // so that only changes are sent
	address, err := m.Serve(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	followers := make([]*follower, 5)
	for i := range followers {
		followers[i] = follow(t, address)
		var s liveState
		if !followers[i].next("state", &s) || s.HasSnapshot || s.Mode != Releasing {
			t.Fatalf("first state %+v", s)
		}
	}
	if got := followers[0].answer.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	m.Snapshot(synthetic.Snapshot(7, 200))
	m.Records(microdata.Counts{Held: 12})
	m.Mode(Holding)
	for _, f := range followers {
		var snapshot liveSnapshot
		if !f.next("snapshot", &snapshot) || snapshot.Snapshot != 7 || len(snapshot.Columns) != 2 ||
			snapshot.Columns[0].Name != "wage" {
			t.Errorf("snapshot %+v", snapshot)
		}
		var s liveState
		for s.Mode != Holding {
			if !f.next("state", &s) {
				t.Fatal("the stream ended")
			}
		}
		if s.Records[microdata.Held] != 12 || s.LastSnapshot != 7 {
			t.Errorf("state %+v", s)
		}
	}
	// A later client receives the snapshot too.
	var snapshot liveSnapshot
	if late := follow(t, address); !late.next("snapshot", &snapshot) || snapshot.Snapshot != 7 {
		t.Errorf("a late client is told of %+v", snapshot)
	}
	m.Close()
	for _, f := range followers {
		if f.next("snapshot", &snapshot) {
			t.Error("an event after the end")
		}
	}
	if _, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		t.Error("the server still listens")
	}
	m.Close() // a second call is harmless
}

func TestStateEverySecond(t *testing.T) {
	m := New(Info{})
	m.tick = 5 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	address, err := m.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := follow(t, address)
	for range 5 {
		var s liveState
		if !f.next("state", &s) {
			t.Fatal("the stream ended")
		}
	}
	cancel() // ends it like Close
	for f.lines.Scan() {
	}
	m.servers.Wait()
	if _, err := m.Serve(t.Context(), "127.0.0.1:nowhere"); err == nil || !strings.HasPrefix(err.Error(), "listen: ") {
		t.Errorf("a port that is none: %v", err)
	}
	m.Close()
}

// A client that opens many streams loses its own ones: others keep theirs, and new clients are
// accepted.
func TestTooManyFollowers(t *testing.T) {
	m := New(Info{})
	address, err := m.Serve(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var streams []*follower
	for range mostOfOne + 3 {
		f := follow(t, address)
		var s liveState
		if !f.next("state", &s) {
			t.Fatal("the stream ended")
		}
		streams = append(streams, f)
	}
	for i, f := range streams {
		var s liveState
		for range 10 { // events sent before the stream was closed may still arrive
			if !f.next("state", &s) {
				if i >= 3 {
					t.Errorf("stream %d gave way, and the oldest 3 should", i)
				}
				break
			}
			if i >= 3 {
				break
			}
		}
	}
	m.mu.Lock()
	if n := len(m.watchers); n != mostOfOne {
		t.Errorf("%d streams from one address, want %d", n, mostOfOne)
	}
	m.mu.Unlock()
}

func TestFollowersGiveWay(t *testing.T) {
	m := New(Info{})
	from := func(text string) netip.Prefix {
		return addressOf(&http.Request{RemoteAddr: text})
	}
	_, other := m.watch(from("192.0.2.9:1"))
	var greedy []chan struct{}
	for i := range 4 * mostWatchers {
		_, gone := m.watch(from(fmt.Sprintf("[2001:db8::%x]:%d", i+1, 1000+i))) // one network
		greedy = append(greedy, gone)
	}
	var crowd []chan struct{}
	for i := range mostWatchers {
		_, gone := m.watch(from(fmt.Sprintf("192.0.2.%d:5", 20+i)))
		crowd = append(crowd, gone)
	}
	left := func(streams ...chan struct{}) (n int) {
		for _, gone := range streams {
			select {
			case <-gone:
			default:
				n++
			}
		}
		return n
	}
	// Streams of the greedy client are closed until it has one like everybody else. Only then are
	// streams of other clients closed, the lowest address first.
	if len(m.watchers) > mostWatchers || left(greedy...) > 1 || left(crowd...) < mostWatchers-2 {
		t.Errorf("%d streams; of the greedy %d are left, of the crowd %d, of the first %d", len(m.watchers), left(greedy...),
			left(crowd...), left(other))
	}
	if from("192.0.2.1:1") != from("[::ffff:192.0.2.1]:9") || from("192.0.2.1:1") == from("192.0.2.2:1") {
		t.Error("addresses are not told apart")
	}
}

// pipes is a listener with unbuffered connections: a write waits until it is read.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// TestSlowClient: a client that reads nothing delays nobody and is disconnected.
func TestSlowClient(t *testing.T) {
	m := New(Info{})
	m.grace = 50 * time.Millisecond
	p := &pipes{make(chan net.Conn), make(chan struct{})}
	m.serve(t.Context(), p, m.handler)
	theirs, ours := net.Pipe()
	p.connections <- ours
	if _, err := fmt.Fprint(theirs, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Read(make([]byte, 1)); err != nil { // it has begun
		t.Fatal(err)
	}
	watchers := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.watchers)
	}
	if watchers() != 1 {
		t.Fatalf("%d clients", watchers())
	}
	for k := 1; k <= 50; k++ {
		m.Snapshot(synthetic.Snapshot(k, 200)) // would wait forever if it waited for the client
	}
	eventually.True(t, "a client that reads nothing is dropped", func() bool { return watchers() == 0 })
	m.Close()
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
}
