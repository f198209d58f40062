package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
)

// ledgerConfig is a release of the canaries' records that is entered in a ledger.
func ledgerConfig(name, at, rule string) string {
	return fmt.Sprintf(`version: 1
name: %[1]s
key: {file: k}
source: {csv: {path: in.csv, types: {wage: float64}}}
columns: {name: {role: identifier}, wage: {role: sensitive, decimals: 2}, kind: {role: other}}
unlisted: drop
identity: [name]
masks: [{noise: {columns: [wage], sd: 5000}}]
sink: {csv: {path: out/%[1]s.csv}}
assess: {replicates: 2}
gate: {rules: [%[3]s]}
ledger: %[2]q
report: {json: out/%[1]s.json}
`, name, at, rule)
}

// ledgerCommands has each command use a ledger elsewhere. run runs the program, write writes a file beside it, and text
// is what the ledger holds; nil: none.
func ledgerCommands(t *testing.T, at string, run func(...string) (int, string), write func(name, text string),
	text func() []byte, replace func([]byte)) {
	must := func(status int, words string, args ...string) {
		t.Helper()
		if got, said := run(args...); got != status || !strings.Contains(said, words) {
			t.Errorf("%q: status %d, want %d and %q:\n%s", args, got, status, words, said)
		}
	}
	write("a.yaml", ledgerConfig("a", at, passes))
	write("b.yaml", ledgerConfig("b", at, "{column: wage, min_rmse: 1e9}"))
	must(exitUsage, "is not there", "ledger", "simulate", "a.yaml")
	must(exitUsage, "ledger", "ledger", "show", at)
	must(exitDone, "valid", "validate", "--connect", "a.yaml")
	if left := text(); left != nil {
		t.Errorf("validate --connect leaves %q", left)
	}
	must(exitDone, "", "run", "a.yaml")
	first := text()
	must(exitRefused, "", "run", "b.yaml")
	if !bytes.Equal(text(), first) || bytes.Count(first, []byte("\n")) != 2 {
		t.Errorf("the ledger has\n%s, and before what was withheld\n%s", text(), first)
	}
	must(exitDone, "valid", "validate", "--connect", "a.yaml")
	must(exitDone, "1 earlier release in the ledger", "ledger", "simulate", "a.yaml")
	must(exitRefused, "", "ledger", "simulate", "b.yaml")
	must(exitDone, "a: published", "ledger", "show", at)
	must(exitDone, "2 lines, the chain is whole", "ledger", "check", at)
	checkCanaries(t, "the ledger", text(), true)
	replace(bytes.Replace(first, []byte(`"wage"`), []byte(`"wagf"`), 1))
	must(exitFailed, "line 1 is not what its digest is of", "ledger", "check", at)
	must(exitFailed, "line 1", "run", "a.yaml")
	must(exitFailed, "line 1", "validate", "--connect", "a.yaml")
	replace(nil)
	must(exitFailed, "lacks releases that it had", "run", "a.yaml")
}

// The commands use a ledger in an object, say nothing of respondents and credentials, and put none of these there.
func TestLedgerInObjects(t *testing.T) {
	for _, scheme := range []string{"s3", "gs", "az"} {
		s := newStoreOf(t, scheme)
		at := scheme + "://data/a folder/ledger"
		ledgerCommands(t, at, s.run, func(name, text string) {
			if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}, func() []byte {
			if o := s.server.Get("data", "a folder/ledger"); o != nil {
				return slices.Clone(o.Data)
			}
			return nil
		}, func(text []byte) { s.server.Set("data", "a folder/ledger", text) })
		s.must(exitUsage, "must hold no credentials", "ledger", "show", scheme+"://"+objecttest.SecretKey+"@data/x")
		s.lead(objecttest.AccessKey+"X", "another-secret")
		if scheme == "s3" {
			s.must(exitFailed, "ledger: "+at+": access denied", "validate", "--connect", "a.yaml")
			s.must(exitFailed, "ledger: "+at+": access denied", "run", "a.yaml")
		}
		if keys := s.server.Keys("data"); !slices.Equal(keys, []string{"a folder/ledger"}) {
			t.Errorf("there are %q", keys)
		}
	}
}

// A run that is killed at any request about its ledger, before the server has it or once it has done it: a release
// that has its name is in the ledger and counts, and the next run succeeds.
func TestKilledAtTheLedger(t *testing.T) {
	s := newStore(t)
	if err := os.WriteFile(filepath.Join(s.dir, "c.yaml"), []byte(ledgerConfig("a", "s3://data/l", passes)), 0o600); err != nil {
		t.Fatal(err)
	}
	objecttest.Use(t, s.server.URL, objecttest.AccessKey, objecttest.SecretKey)
	seen := map[string]int{}
	for _, done := range []bool{false, true} {
		for n, killed := 1, true; killed; n++ {
			os.RemoveAll(filepath.Join(s.dir, "out"))
			s.server.Remove("data", "l")
			cmd := program(t, s.dir, "run", "--quiet", "c.yaml")
			cmd.Env = append(cmd.Env, s.env...)
			var mu sync.Mutex
			count := 0
			s.server.Failing(func(r *http.Request) *objecttest.Fault {
				mu.Lock()
				defer mu.Unlock()
				if testing.Short() && count < n && r.Method != http.MethodPut {
					return nil // those that change something
				}
				switch count++; {
				case count < n:
					return nil
				case count == n && done: // and it has not heard of it when it asks again
					return &objecttest.Fault{Lose: true}
				}
				_ = cmd.Process.Kill()
				return &objecttest.Fault{Cut: -1}
			})
			out, err := cmd.CombinedOutput()
			s.server.Failing(nil)
			killed = count >= n
			if !killed && err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			_, missing := os.Stat(filepath.Join(s.dir, "out", "a.csv"))
			l, err := ledger.Look(t.Context(), "s3://data/l")
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("request %d, done %v: %v", n, done, err)
			}
			counts := err == nil && len(l.Releases()) == 1
			if missing == nil && !counts {
				t.Errorf("request %d, done %v: what is published does not count", n, done)
			}
			seen[fmt.Sprint(missing == nil, counts)]++
			if status, words := s.run("run", "--quiet", "c.yaml"); status != exitDone {
				t.Errorf("request %d, done %v: the next run: status %d\n%s", n, done, status, words)
			}
		}
	}
	if seen["false false"] == 0 || seen["false true"] == 0 || seen["true true"] < 3 {
		t.Errorf("published, counts: %v", seen)
	}
}

// base has a ledger in its schema, by a wire where it is given.
func (b *base) ledger(w *wire) string {
	b.t.Helper()
	address, err := url.Parse(os.Getenv("SDLFILTER_TEST_POSTGRES"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Setenv("PGPASSWORD", os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD"))
	if w != nil {
		address.Host = w.listen.Addr().String()
	}
	return address.String() + "?table=" + b.schema + ".releases"
}

// lines is what the ledger holds; nil: there is none.
func (b *base) lines() []byte {
	b.t.Helper()
	if b.tables() == "" {
		return nil
	}
	r := b.db.ExecParams(context.Background(),
		`SELECT coalesce(string_agg(ledger_line || '\x0a', '' ORDER BY number), '') FROM releases`, nil, nil, nil, []int16{1}).Read()
	if r.Err != nil {
		b.t.Fatal(r.Err)
	}
	return append([]byte{}, r.Rows[0][0]...)
}

// The commands use a ledger in a table.
func TestPostgresLedger(t *testing.T) {
	b := newBase(t)
	canaryInputs(t, b.dir)
	at := b.ledger(nil)
	ledgerCommands(t, at, b.run, b.write, func() []byte { return b.lines() }, func(text []byte) {
		b.do("DELETE FROM releases")
		for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
			if len(text) > 0 {
				b.do(fmt.Sprintf(`INSERT INTO releases VALUES (%d, '\x%x')`, i+1, line))
			}
		}
	})
	for _, c := range []struct{ at, words string }{
		{strings.Replace(at, "@", ":"+canaryName+"@", 1), "must not hold a password"},
		{at + "&password=" + canaryName, "must not hold a password"},
		{strings.Replace(at, b.schema+".", "", 1), "must be of the form"},
	} {
		if status, words := b.run("ledger", "show", c.at); status != exitUsage || !strings.Contains(words, c.words) {
			t.Errorf("status %d\n%s", status, words)
		}
	}
	t.Setenv("PGPASSWORD", "none-of-these")
	if status, words := b.run("run", "a.yaml"); status != exitFailed || !strings.Contains(words, "the password is wrong") ||
		strings.Contains(words, "none-of-these") || strings.Contains(words, "admin") {
		t.Errorf("status %d\n%s", status, words)
	}
}

// Whichever message to the server of the ledger fails, or is done while its answer is lost: a release that has its name
// is in the ledger and counts, what is entered and has none counts or is known not to be, and the status is so.
func TestPostgresLedgerFails(t *testing.T) {
	b := newBase(t)
	canaryInputs(t, b.dir)
	address, err := url.Parse(os.Getenv("SDLFILTER_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, address.Host)
	b.write("c.yaml", ledgerConfig("a", b.ledger(w), passes))
	run := func() (int, string) {
		os.RemoveAll(filepath.Join(b.dir, "out"))
		b.do("DROP TABLE IF EXISTS releases")
		return b.run("run", "--quiet", "c.yaml")
	}
	w.fail(0, "")
	if status, words := run(); status != exitDone {
		t.Fatalf("status %d\n%s", status, words)
	}
	all, seen := w.asked, map[string]int{}
	for _, how := range []string{"cut", "lost, gone", "refused"} {
		for at := 1; at <= all; at++ {
			if testing.Short() && at%3 != 0 && how != "lost, gone" {
				continue
			}
			w.fail(at, how)
			status, words := run()
			said := w.said()
			w.fail(0, "")
			for b.csv("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sdlfilter%'") != "count\n0\n" {
				time.Sleep(5 * time.Millisecond) // a backend whose connection was cut ends its statement
			}
			_, missing := os.Stat(filepath.Join(b.dir, "out", "a.csv"))
			l, err := ledger.Look(t.Context(), b.ledger(nil))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			counts := err == nil && len(l.Releases()) == 1
			if (status == exitDone) != (missing == nil) || status != exitDone && status != exitFailed || missing == nil && !counts {
				t.Errorf("%s, message %d of %d (%s): status %d, published %v, counts %v\n%s", how, at, all, said, status,
					missing == nil, counts, words)
			}
			seen[fmt.Sprint(missing == nil, counts)]++
		}
	}
	t.Logf("%d messages: published, counts: %v", all, seen)
	if seen["false false"] == 0 || seen["false true"] == 0 || seen["true true"] == 0 {
		t.Errorf("published, counts: %v", seen)
	}
}
