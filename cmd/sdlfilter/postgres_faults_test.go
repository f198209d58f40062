package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// wire stands between the program and a server of PostgreSQL. It counts the messages of the program, over
// all connections, and one of them fails.
type wire struct {
	t      *testing.T
	listen net.Listener
	server string

	mu    sync.Mutex
	asked int
	at    int    // the message that fails; 0: none
	how   string // what becomes of it: see wireFaults
	gone  bool   // nobody can connect any more
	kills func(backend func() int)
	pause time.Duration // before the server has the message
	log   []string
	conns sync.WaitGroup
}

// wireFaults are what can become of a message. After those with "gone" nobody can connect any more.
var wireFaults = []string{
	"cut", // the connection is cut before the server has it
	"cut, gone",
	"lost", // the server has it and does what it asks, and the connection is cut in place of the answer
	"lost, gone",
	"refused", // an error is the answer to a statement, which the server has never seen
}

func newWire(t *testing.T, server string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, listen: l, server: server}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.conns.Add(1)
			go func() { defer w.conns.Done(); w.serve(c) }()
		}
	}()
	t.Cleanup(func() { l.Close(); w.conns.Wait() })
	return w
}

// fail has one message fail, and counts anew.
func (w *wire) fail(at int, how string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.at, w.how, w.gone, w.log, w.kills = 0, at, how, false, nil, nil
}

// kill has a function called, once, when the server is about to have the message, which it gets after a pause: backend
// is the process that serves its connection.
func (w *wire) kill(at int, pause time.Duration, kills func(backend func() int)) {
	w.fail(at, "kill")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kills, w.pause = kills, pause
}

// next counts a message. It reports what becomes of it: "" if nothing.
func (w *wire) next(what string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	w.log = append(w.log, what)
	if w.asked != w.at {
		return ""
	}
	w.gone = strings.HasSuffix(w.how, "gone")
	return w.how
}

// said is the message that failed.
func (w *wire) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at < 1 || w.at > len(w.log) {
		return "none"
	}
	return w.log[w.at-1]
}

// message reads one message; of the first of a connection kind is 0.
func message(r io.Reader, first bool) (kind byte, whole []byte, err error) {
	head := make([]byte, 5)
	if first {
		head = head[:4]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	if !first {
		kind = head[0]
	}
	n := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	if n < 0 || n > 64<<20 {
		return 0, nil, errors.New("no message")
	}
	whole = append(head, make([]byte, n)...)
	_, err = io.ReadFull(r, whole[len(head):])
	return kind, whole, err
}

// sslRequest is the code of the question whether the server would encrypt.
const sslRequest = 80877103

// mayBeDown reports whether the server is one that is killed.
func (w *wire) mayBeDown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kills != nil
}

func (w *wire) serve(client net.Conn) {
	defer client.Close()
	w.mu.Lock()
	gone := w.gone
	w.mu.Unlock()
	if gone {
		return
	}
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		if w.mayBeDown() {
			return
		}
		w.t.Error(err)
		return
	}
	defer server.Close()
	// The answers, message by message: those after a lost one go nowhere.
	var losing sync.Mutex
	lost, ready := false, make(chan struct{}, 1000)
	var backend atomic.Int64
	var answers sync.WaitGroup
	startup := make(chan struct{})
	answers.Go(func() {
		<-startup
		for {
			kind, whole, err := message(server, false)
			if err != nil {
				client.Close()
				return
			}
			if kind == 'Z' || kind == 'R' || kind == 'G' || kind == 'E' {
				select {
				case ready <- struct{}{}:
				default:
				}
			}
			if kind == 'K' && len(whole) > 8 { // its process and its secret
				backend.Store(int64(binary.BigEndian.Uint32(whole[5:])))
			}
			losing.Lock()
			if !lost {
				client.Write(whole)
			}
			losing.Unlock()
		}
	})
	defer answers.Wait()
	defer server.Close()
	first := true
	for {
		kind, whole, err := message(client, first)
		if err != nil {
			if first {
				close(startup)
			}
			return
		}
		if first && binary.BigEndian.Uint32(whole[4:]) == sslRequest {
			client.Write([]byte("N"))
			continue
		}
		what := "startup"
		if !first {
			what = string(kind)
			if kind == 'Q' || kind == 'P' {
				what += " " + strings.Join(strings.Fields(strings.Trim(string(whole[5:]), "\x00")), " ")
			}
		}
		fate := w.next(what)
		if first {
			first = false
			close(startup)
		}
		switch {
		case strings.HasPrefix(fate, "cut"):
			return
		case fate == "refused" && kind == 'Q':
			refused := "SERROR\x00VERROR\x00C57014\x00Mcanceled\x00\x00"
			out := binary.BigEndian.AppendUint32([]byte("E"), uint32(4+len(refused)))
			out = append(append(out, refused...), 'Z', 0, 0, 0, 5, 'E')
			losing.Lock()
			client.Write(out)
			losing.Unlock()
			continue
		case strings.HasPrefix(fate, "lost"):
			losing.Lock()
			lost = true
			losing.Unlock()
			for len(ready) > 0 {
				<-ready
			}
		}
		if fate == "kill" {
			w.mu.Lock()
			kills, pause := w.kills, w.pause
			w.mu.Unlock()
			w.conns.Go(func() { kills(func() int { return int(backend.Load()) }) })
			time.Sleep(pause)
		}
		if _, err := server.Write(whole); err != nil {
			return
		}
		if strings.HasPrefix(fate, "lost") {
			wait := 20 * time.Millisecond // what has no answer of its own
			if strings.ContainsRune("QSpfcF", rune(kind)) {
				wait = 2 * time.Second
			}
			select {
			case <-ready:
			case <-time.After(wait):
			}
			return
		}
	}
}

// Whatever message to the server of the source and the release fails, or is done while its answer is lost,
// the status and the words agree with what a reader of the table sees.
func TestPostgresStatusIsWhatReadersSee(t *testing.T) {
	b := newBase(t)
	b.do(
		"CREATE TABLE survey AS SELECT i AS id, i * 1.25::float8 AS wage FROM generate_series(1, 40) i; ALTER TABLE survey ADD PRIMARY KEY (id); ANALYZE survey")
	address, err := url.Parse(os.Getenv("SDLFILTER_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, address.Host)
	t.Setenv("SDLFILTER_TEST_POSTGRES", strings.Replace(address.String(), address.Host, w.listen.Addr().String(), 1))
	b.write("pipeline.yaml", "version: 1\nkey: {file: k}\nsource: {"+b.connector("table: S.survey")+"}\nsink: {"+
		b.connector("table: S.released")+
		"}\ncolumns: {id: {role: other}, wage: {role: sensitive, decimals: 2}}\nmasks: [{noise: {columns: [wage], sd: 5}}]\nassess: {replicates: 0}\nreport: {json: r.json}\n")
	before := func() {
		b.do("DROP TABLE IF EXISTS released; CREATE TABLE released (earlier int); INSERT INTO released VALUES (7)")
		os.Remove(b.dir + "/r.json")
	}
	before()
	w.fail(0, "")
	if status, words := b.run("run", "--quiet", "pipeline.yaml"); status != 0 {
		t.Fatalf("status %d\n%s", status, words)
	}
	all, seen, trials := w.asked, map[string]int{}, 0
	for _, how := range wireFaults {
		for at := 1; at <= all+2; at++ {
			before()
			w.fail(at, how)
			status, words := b.run("run", "--quiet", "pipeline.yaml")
			trials++
			// A backend whose connection was cut may still end its transaction.
			there := b.settled() != "earlier\n7\n"
			_, err := os.Stat(b.dir + "/r.json")
			perhaps := strings.Contains(words, "the release may be published (table "+b.schema+".released)")
			what := fmt.Sprintf("%s, message %d of %d (%s): status %d, there %v, report %v\n%s", how, at, all, w.said(), status,
				there, err == nil, words)
			switch {
			case status == 0 && there && err == nil:
			case status == exitFailed && !there && err != nil && !perhaps:
			case status == exitUnreported && perhaps && err != nil:
				if verified, says := b.run("verify", "--repair", "r.json"); there && verified != 2 {
					t.Errorf("%sverify --repair: status %d\n%s", what, verified, says)
				}
			default:
				t.Error(what)
			}
			if tables := b.tables(); tables != "released survey" {
				t.Errorf("%sthere are the tables %s", what, tables)
			}
			seen[fmt.Sprint(status, " ", there)]++
		}
	}
	t.Logf("%d runs with %d messages: status and release %v", trials, all, seen)
	if seen["5 true"] == 0 || seen["5 false"] == 0 || seen["0 true"] == 0 || seen["1 false"] == 0 {
		t.Errorf("%v", seen)
	}
}

// settled is what is released once no transaction of the program is open any more.
func (b *base) settled() string {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if b.csv("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sdlfilter%' AND state <> 'idle'") ==
			"count\n0\n" {
			return b.csv("SELECT * FROM released")
		}
	}
	b.t.Error("a transaction of the program stays open")
	return ""
}
