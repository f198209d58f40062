package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	_ "github.com/sdlfilter/sdlfilter/connectors/postgres"
	"github.com/sdlfilter/sdlfilter/internal/objects"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/az"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/gs"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/s3"
)

// home is a kind of place, with a fresh one for each test.
type home struct {
	at      string
	waits   bool                                    // a second run waits
	text    func() []byte                           // the lines that are there; nil without a ledger
	replace func(text []byte)                       // has these lines there, whatever was
	fail    func(n int, how int) (used func() bool) // has the n-th request fail in one of the ways, from 0; nil: not here
	ways    int
}

// everywhere runs a test for each kind of place: tables with the server of make test-postgres, objects also with those
// of make test-objects.
func everywhere(t *testing.T, test func(t *testing.T, h *home)) {
	t.Run("file", func(t *testing.T) { test(t, inFile(t)) })
	for _, scheme := range []string{"s3", "gs", "az"} {
		t.Run(scheme, func(t *testing.T) { test(t, inObject(t, scheme)) })
	}
	for scheme, server := range map[string]string{"s3": "SDLFILTER_TEST_S3", "gs": "SDLFILTER_TEST_GS", "az": "SDLFILTER_TEST_AZ"} {
		if at := os.Getenv(server); at != "" {
			t.Run("real "+scheme, func(t *testing.T) { test(t, onReal(t, scheme, at)) })
		}
	}
	t.Run("postgres", func(t *testing.T) {
		if os.Getenv("SDLFILTER_TEST_POSTGRES") == "" {
			t.Skip("needs a server: make test-postgres")
		}
		test(t, inTable(t))
	})
}

func inFile(t *testing.T) *home {
	path := filepath.Join(t.TempDir(), "in", "ledger")
	return &home{
		at: path, waits: true,
		text: func() []byte {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil
			}
			return text
		},
		replace: func(text []byte) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// inObject is an object whose server can lose a request, or its answer, or answer that it is not well.
func inObject(t *testing.T, scheme string) *home {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	server := objecttest.Serve(t, scheme, "data")
	const key = "a folder/ledger.sdl"
	return &home{
		at: scheme + "://data/" + key,
		text: func() []byte {
			if o := server.Get("data", key); o != nil {
				return slices.Clone(o.Data)
			}
			return nil
		},
		replace: func(text []byte) { server.Set("data", key, text) },
		ways:    3,
		fail: func(n, how int) func() bool {
			var mu sync.Mutex
			count := 0
			server.Failing(func(*http.Request) *objecttest.Fault {
				mu.Lock()
				defer mu.Unlock()
				if count++; count != n {
					return nil
				}
				return []*objecttest.Fault{{Lose: true}, {Cut: -1}, {Status: http.StatusForbidden, Code: "AccessDenied"}}[how]
			})
			return func() bool {
				server.Failing(nil)
				return count >= n
			}
		},
	}
}

// onReal is an object in the bucket release of a server of other people.
func onReal(t *testing.T, scheme, server string) *home {
	switch scheme {
	case "s3":
		objecttest.Use(t, server, os.Getenv("SDLFILTER_TEST_S3_ACCESS_KEY"), os.Getenv("SDLFILTER_TEST_S3_SECRET_KEY"))
	case "gs":
		t.Setenv("STORAGE_EMULATOR_HOST", objecttest.Mended(t, server))
	case "az":
		t.Setenv("AZURE_STORAGE_CONNECTION_STRING", server)
	}
	objects.Forget()
	b, key := objecttest.Open(t, scheme, "release"), fmt.Sprintf("ledgers/%x", time.Now().UnixNano())
	return &home{
		at: scheme + "://release/" + key,
		text: func() []byte {
			if _, err := b.Head(t.Context(), key); err != nil {
				return nil
			}
			return append(objecttest.ReadAll(t, b, key), []byte{}...)
		},
		replace: func(text []byte) { objecttest.Put(t, b, key, string(text)) },
	}
}

// inTable is a table in a schema of its own, whose server is reached by a wire that can be cut.
func inTable(t *testing.T) *home {
	address, err := url.Parse(os.Getenv("SDLFILTER_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSWORD", os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD"))
	config, err := pgconn.ParseConfig(address.String())
	if err != nil {
		t.Fatal(err)
	}
	db, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	schema := fmt.Sprintf("l_%x", time.Now().UnixNano())
	do := func(sql string, parameters ...[]byte) []byte {
		t.Helper()
		r := db.ExecParams(context.Background(), sql, parameters, nil, nil, []int16{1}).Read()
		if r.Err != nil {
			t.Fatalf("%s: %v", sql, r.Err)
		}
		if len(r.Rows) == 0 {
			return nil
		}
		return r.Rows[0][0]
	}
	do("CREATE SCHEMA " + schema)
	t.Cleanup(func() {
		do("DROP SCHEMA " + schema + " CASCADE")
		db.Close(context.Background())
	})
	w := newWire(t, address.Host)
	return &home{
		at: strings.Replace(address.String(), address.Host, w.at, 1) + "?table=" + schema + ".releases", waits: true,
		text: func() []byte {
			if do("SELECT to_regclass('"+schema+".releases')::text") == nil {
				return nil
			}
			return append(do(`SELECT coalesce(string_agg(ledger_line || '\x0a', '' ORDER BY number), '') FROM `+schema+".releases"),
				[]byte{}...)
		},
		replace: func(text []byte) {
			do("CREATE TABLE IF NOT EXISTS " + schema + ".releases (number bigint PRIMARY KEY, ledger_line bytea NOT NULL)")
			do("DELETE FROM " + schema + ".releases")
			for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
				if len(text) > 0 {
					do(fmt.Sprintf(`INSERT INTO %s.releases VALUES (%d, decode($1::text, 'hex'))`, schema, i+1),
						fmt.Appendf(nil, "%x", line))
				}
			}
		},
		ways: 2,
		fail: w.fail,
	}
}

// wire is between a program and a server, and cuts a connection before or behind one of the requests.
type wire struct {
	at string

	mu            sync.Mutex
	count, n, how int
}

func newWire(t *testing.T, server string) *wire {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{at: l.Addr().String()}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer client.Close()
				to, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer to.Close()
				w.serve(client, to)
			})
		}
	})
	return w
}

// serve carries requests, each of which is taken to come in one piece, and the answers.
func (w *wire) serve(client, server net.Conn) {
	answers := make(chan int, 1000)
	var mute sync.Mutex
	lost := false
	done := make(chan bool)
	go func() {
		defer close(done)
		defer client.Close()
		buffer := make([]byte, 1<<20)
		for {
			n, err := server.Read(buffer)
			if err != nil {
				return
			}
			mute.Lock()
			if !lost {
				client.Write(buffer[:n])
			}
			mute.Unlock()
			answers <- n
		}
	}()
	defer func() { server.Close(); <-done }()
	buffer := make([]byte, 1<<20)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.count++
		cut := w.count == w.n
		w.mu.Unlock()
		if cut && w.how == 0 {
			return
		}
		if cut {
			mute.Lock()
			lost = true
			for len(answers) > 0 {
				<-answers
			}
			mute.Unlock()
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
		if cut { // done, and not heard of
			select {
			case <-answers:
			case <-time.After(2 * time.Second):
			}
			return
		}
	}
}

func (w *wire) fail(n, how int) func() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count, w.n, w.how = 0, n, how
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		used := w.count >= w.n
		w.n = 0
		return used
	}
}
