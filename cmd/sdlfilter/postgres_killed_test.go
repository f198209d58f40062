package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// kills is how often TestPostgresServerKilled kills a server: make test-postgres KILLS=150.
var kills = flag.Int("kills", 15, "how often a server of PostgreSQL is killed")

// mortal is a server of PostgreSQL that is killed and started again.
type mortal struct {
	t         *testing.T
	dir, bin  string
	port      string
	as        *syscall.SysProcAttr
	process   *exec.Cmd
	gone      chan struct{}
	log       *os.File
	restarted int
}

func newMortal(t *testing.T) *mortal {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 || os.Getenv("SDLFILTER_TEST_POSTGRES") == "" {
		t.Skip("needs Debian's PostgreSQL: make test-postgres")
	}
	dir, err := os.MkdirTemp("", "sdlfilter-pg")
	if err != nil {
		t.Fatal(err)
	}
	m := &mortal{t: t, dir: dir, bin: filepath.Dir(found[len(found)-1]), as: &syscall.SysProcAttr{}}
	t.Cleanup(func() { m.stop(); os.RemoveAll(dir) })
	if os.Getuid() == 0 { // as which the server refuses to run
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		m.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/password", []byte(os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD")), 0o644); err != nil {
		t.Fatal(err)
	}
	if m.log, err = os.Create(dir + "/log"); err != nil {
		t.Fatal(err)
	}
	initdb := exec.Command(m.bin+"/initdb", "-D", dir+"/data", "-U", "admin", "-A", "scram-sha-256",
		"--pwfile="+dir+"/password", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, m.as
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, m.port, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
	m.start()
	return m
}

// start starts the server, and waits until it lets somebody in. What is left of a killed one may need to end first.
func (m *mortal) start() {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		m.process = exec.Command(m.bin+"/postgres", "-D", m.dir+"/data", "-h", "127.0.0.1", "-p", m.port, "-c",
			"unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=50")
		m.process.Dir, m.process.SysProcAttr, m.process.Stdout, m.process.Stderr = m.dir, m.as, m.log, m.log
		if err := m.process.Start(); err != nil {
			m.t.Fatal(err)
		}
		gone, p := make(chan struct{}), m.process
		go func() { _ = p.Wait(); close(gone) }()
		m.gone = gone
		for {
			if db, err := m.connect(); err == nil {
				db.Close(context.Background())
				return
			}
			if time.Now().After(end) {
				m.t.Fatal("the server does not start")
			}
			select {
			case <-gone:
			case <-time.After(20 * time.Millisecond):
				continue
			}
			break
		}
	}
}

// kill ends the server as a machine does that loses its power, and starts it again after some time.
func (m *mortal) kill(away time.Duration) {
	_ = m.process.Process.Kill()
	<-m.gone
	time.Sleep(away)
	m.restarted++
	m.start()
}

func (m *mortal) stop() {
	if m.process != nil {
		_ = m.process.Process.Signal(syscall.SIGQUIT)
		<-m.gone
	}
}

func (m *mortal) address() string { return "postgres://admin@127.0.0.1:" + m.port + "/postgres" }

func (m *mortal) connect() (*pgconn.PgConn, error) {
	config, err := pgconn.ParseConfig(m.address())
	if err != nil {
		return nil, err
	}
	config.Password = os.Getenv("SDLFILTER_TEST_POSTGRES_PASSWORD")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return pgconn.ConnectConfig(ctx, config)
}

// csv is the result of a query, by a connection of its own, as soon as the server is there.
func (m *mortal) csv(query string) string {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		db, err := m.connect()
		if err == nil {
			var out bytes.Buffer
			_, err = db.CopyTo(context.Background(), &out, "COPY ("+query+") TO STDOUT (FORMAT csv)")
			db.Close(context.Background())
			if err == nil {
				return out.String()
			}
		}
		if time.Now().After(end) {
			m.t.Fatal(err)
		}
	}
}

// do executes statements in one transaction, as soon as the server is there: after one of its processes was killed it
// answers a while before it ends all connections.
func (m *mortal) do(sql string) {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		db, err := m.connect()
		if err == nil {
			err = db.Exec(context.Background(), sql).Close()
			db.Close(context.Background())
		}
		if err == nil {
			return
		}
		if time.Now().After(end) {
			m.t.Fatalf("%s: %v", sql, err)
		}
	}
}

// A server is killed with SIGKILL while a release is copied into it, while it is committed, and at other moments: one
// of its processes, which ends all connections, or the whole server, which is away for a while. Status, words and table
// agree each time, and the next run releases.
func TestPostgresServerKilled(t *testing.T) {
	if os.Getenv("SDLFILTER_TEST_POSTGRES") == "" {
		t.Skip("needs Debian's PostgreSQL: make test-postgres")
	}
	m := newMortal(t)
	m.do(
		"CREATE TABLE survey AS SELECT i AS id, i * 1.25::float8 AS wage, repeat('x', 100) AS name FROM generate_series(1, 20000) i; ALTER TABLE survey ADD PRIMARY KEY (id); ANALYZE survey")
	w := newWire(t, "127.0.0.1:"+m.port)
	b := &base{t: t, dir: t.TempDir(), schema: "public"}
	u, err := url.Parse(m.address())
	if err != nil {
		t.Fatal(err)
	}
	u.Host = w.listen.Addr().String()
	t.Setenv("SDLFILTER_TEST_POSTGRES", u.String())
	b.write("k", "c2RsZmlsdGVyOiBhIGtleSBmb3IgdGVzdHMgb25seSE=\n")
	b.write("pipeline.yaml", "version: 1\nkey: {file: k}\nsource: {"+b.connector("table: S.survey")+"}\nsink: {"+
		b.connector("table: S.released")+
		"}\ncolumns: {id: {role: other}, name: {role: other}, wage: {role: sensitive, decimals: 2}}\nmasks: [{noise: {columns: [wage], sd: 5}}]\nassess: {replicates: 0}\nreport: {json: r.json}\n")
	before := func() {
		m.do("DROP TABLE IF EXISTS released; CREATE TABLE released (earlier int); INSERT INTO released VALUES (7)")
		os.Remove(b.dir + "/r.json")
	}
	before()
	w.fail(0, "")
	if status, words := b.run("run", "--quiet", "pipeline.yaml"); status != 0 {
		t.Fatalf("status %d\n%s", status, words)
	}
	want := m.csv("SELECT count(*), sum(wage) FROM released")
	all, commit, first, last := w.asked, 0, 0, 0
	for i, said := range w.log {
		switch {
		case said == "Q COMMIT":
			commit = i + 1
		case said == "d" && first == 0:
			first = i + 1
		}
		if said == "d" {
			last = i + 1
		}
	}
	if commit == 0 || first == 0 {
		t.Fatalf("the run says %q", w.log)
	}
	draw := rand.New(rand.NewPCG(39, 8))
	seen := map[string]int{}
	for n := range *kills {
		before()
		at, where := commit, "COMMIT"
		switch n % 3 {
		case 1:
			at, where = first+draw.IntN(last-first+1), "COPY"
		case 2:
			at, where = 1+draw.IntN(all), "anywhere"
		}
		what, away := "process", time.Duration(0)
		if n/3%2 == 1 {
			what, away = "server", time.Duration(draw.IntN(8000))*time.Millisecond
		}
		// The COMMIT itself takes a fraction of a millisecond: some kills come before it, some after, some in it.
		pause, delay := time.Duration(0), time.Duration(draw.IntN(3000))*time.Microsecond
		if where == "COMMIT" {
			pause, delay = time.Duration(draw.IntN(2000))*time.Microsecond, time.Duration(500+draw.IntN(2000))*time.Microsecond
		}
		killed := make(chan struct{})
		w.kill(at, pause, func(backend func() int) {
			defer close(killed)
			time.Sleep(delay)
			if what == "server" {
				m.kill(away)
			} else if pid := backend(); pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		status, words := b.run("run", "--quiet", "pipeline.yaml")
		select {
		case <-killed:
		case <-time.After(time.Minute):
			t.Fatalf("the server was not killed at message %d of %d", at, all)
		}
		// What a killed server leaves of a transaction it rolls back when it starts.
		there := m.csv("SELECT count(*) FROM pg_attribute WHERE attrelid = 'released'::regclass AND attname = 'wage'") ==
			"1\n"
		_, err := os.Stat(b.dir + "/r.json")
		perhaps := strings.Contains(words, "the release may be published (table public.released)")
		told := fmt.Sprintf(
			"kill %d of the %s in %s (message %d of %d after %v, %v later, away for %v): status %d, there %v, report %v\n%s", n,
			what, where, at, all, pause, delay, away, status, there, err == nil, words)
		switch {
		case there && m.csv("SELECT count(*), sum(wage) FROM released") != want:
			t.Errorf("%sthe release is another one", told)
		case status == 0 && there && err == nil:
		case status == exitFailed && !there && errors.Is(err, os.ErrNotExist) && !perhaps:
		case status == exitUnreported && perhaps && err != nil:
		default:
			t.Error(told)
		}
		if left := m.csv(
			"SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"); left != "released survey\n" {
			t.Errorf("%sthere are the tables %s", told, left)
		}
		seen[fmt.Sprintf("%s in %s: status %d, there %v", what, where, status, there)]++
	}
	w.fail(0, "")
	if status, words := b.run("run", "--quiet", "pipeline.yaml"); status != 0 ||
		m.csv("SELECT count(*), sum(wage) FROM released") != want {
		t.Errorf("the next run: status %d\n%s", status, words)
	}
	for outcome, n := range seen {
		t.Logf("%d: %s", n, outcome)
	}
	t.Logf("%d kills, of them the whole server %d times", *kills, m.restarted)
}
