package iceberg

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

var kills = flag.Int("kills", 0, "how many runs TestKilled kills; 0: 12, and 60 in the long form")

// killVariable names the table of a process that is to be killed.
const killVariable = "ICEBERG_KILLED"

// killedRecords is how many records a killed run releases.
const killedRecords = 200

// TestKilled kills runs at random moments from their beginning to their end. Whenever it comes, the table has all
// records of the run or none of them, its metadata can be read, and the next run leaves nothing in the folder that is
// not the table's.
func TestKilled(t *testing.T) {
	racetest.Alone(t)
	if path := os.Getenv(killVariable); path != "" {
		fmt.Println("begun") // what is before this costs the same each time
		release(t, records(t, killedRecords), &SinkConfig{Place: at(path), Mode: os.Getenv(killVariable + "_MODE")})
		fmt.Println("released")
		return
	}
	n := *kills
	if n == 0 {
		if n = 60; testing.Short() {
			n = 12
		}
	}
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, killedRecords), &SinkConfig{Place: at(path)})
	whole := runAlone(t, path, "append", 0) // how long a run takes
	have, released := 2*killedRecords, 0
	seed := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		mode := []string{"append", "overwrite"}[i%2]
		runAlone(t, path, mode, time.Duration(seed.Int64N(int64(whole)*5/4))+1)
		got := len(values(t, &SourceConfig{Place: at(path)}, "masked"))
		after := map[string]int{"append": have + killedRecords, "overwrite": killedRecords}[mode]
		if got != have && got != after {
			t.Fatalf("kill %d (%s): %d records, before it were %d", i, mode, got, have)
		}
		if got == after {
			released++
		}
		have = got
	}
	t.Logf("%d of %d runs had released when they were killed", released, n)
	release(t, records(t, 1), &SinkConfig{Place: at(path), Mode: "append"})
	tab := present(t, path)
	parts, err := marks(t.Context(), tab)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tab.Snapshots { // all of them can be read
		if _, err := entriesOf(t.Context(), &tab.Snapshots[i]); err != nil {
			t.Error(err)
		}
	}
	for _, name := range everything(t, path) {
		mark := markOf(strings.TrimPrefix(filepath.Base(name), "."))
		if strings.HasPrefix(name, dataFolder) {
			mark = markOf(strings.TrimPrefix(strings.Split(name, "/")[1], "."))
		}
		if mark != "" && !parts[mark] || publish.IsTemp(filepath.Base(name)) &&
			filepath.Base(name) != "."+hint+".sdlfilter-tmp" {
			t.Errorf("%s is left of a run that was killed", name)
		}
	}
}

// runAlone runs a release in a process of its own, kills it some time after it has begun (0: not), and returns how long
// it took from there.
func runAlone(t *testing.T, path, mode string, kill time.Duration) time.Duration {
	t.Helper()
	run := exec.Command(os.Args[0], "-test.run=^TestKilled$", "-test.v=true")
	run.Env = append(os.Environ(), killVariable+"="+path, killVariable+"_MODE="+mode)
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for !strings.Contains(said.String(), "begun\n") {
		var b [256]byte
		n, err := out.Read(b[:])
		said.Write(b[:n])
		if err != nil {
			t.Fatalf("the run did not begin: %v, %s", err, &said)
		}
	}
	begun := time.Now()
	if kill > 0 {
		time.Sleep(kill)
		_ = run.Process.Signal(syscall.SIGKILL) // it may have ended
	}
	for {
		var b [256]byte
		n, err := out.Read(b[:])
		said.Write(b[:n])
		if err != nil {
			break
		}
	}
	took := time.Since(begun)
	if err := run.Wait(); kill == 0 && (err != nil || !strings.Contains(said.String(), "released")) {
		t.Fatalf("a run that was not killed failed: %v, %s", err, &said)
	}
	return took
}

// TestDeadRuns: whatever a run has done when it dies, the next one removes what is not the table's, and nothing else.
// What a live run has written stays.
func TestDeadRuns(t *testing.T) {
	for steps := range 5 {
		for _, fresh := range []bool{true, false} {
			path := filepath.Join(t.TempDir(), "table")
			want := masked(upTo(3)...)
			if fresh {
				want = nil
			} else {
				release(t, records(t, 3), &SinkConfig{Place: at(path)})
			}
			sink := finished(t, records(t, 9), &SinkConfig{Place: at(path), Mode: "append"}).(*sink)
			if steps == 0 {
				if err := os.Remove(filepath.Join(publish.TempName(sink.run.folder()), "part-00000.parquet")); err != nil {
					t.Fatal(err)
				}
			}
			if steps >= 2 {
				if err := sink.run.name(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			var next *snapshot
			if steps >= 3 {
				var err error
				if next, err = sink.snapshot(t.Context(), sink.table, 1); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(pendingMetadata(path, sink.run.mark), []byte("{"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if steps >= 4 {
				if err := os.Remove(pendingMetadata(path, sink.run.mark)); err != nil {
					t.Fatal(err)
				}
				if err := sink.catalog.commit(t.Context(), sink.table, next); err != nil {
					t.Fatal(err)
				}
				want = append(want, masked(upTo(9)...)...)
			}
			left := everything(t, path)
			release(t, records(t, 1), &SinkConfig{Place: at(path), Mode: "append"}) // the run lives
			for _, name := range left {
				if name != "metadata/"+hint && !exists(filepath.Join(path, name)) {
					t.Errorf("step %d, new table %v: %s of a live run is gone", steps, fresh, name)
				}
			}
			if err := sink.run.claim.File.Close(); err != nil { // it is dead
				t.Fatal(err)
			}
			release(t, records(t, 2), &SinkConfig{Place: at(path), Mode: "append"})
			expectRows(t, &SourceConfig{Place: at(path)}, want, masked(0), masked(0, 1))
			for _, name := range everything(t, path) {
				if strings.Contains(name, sink.run.mark) != (steps == 4 && strings.Contains(name, sink.run.mark)) ||
					strings.Contains(name, "/.") {
					t.Errorf("step %d, new table %v: %s is left", steps, fresh, name)
				}
			}
		}
	}
}

// What a dead run of this table has left is found by its claim, though nothing stands in the claim; what one of another
// table in the folder has left stays.
func TestClaimsOfTheDead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 3), &SinkConfig{Place: at(path)})
	uuids := map[string]string{"ours": present(t, path).UUID, "another's": "a1b2"}
	left := map[string][]string{}
	for whose, table := range uuids {
		a := &attempt{table: table, mark: markPrefix + uuid.NewString()}
		left[whose] = []string{publish.TempName(claimOf(path, a.words())), filepath.Join(path, dataFolder, a.mark, "1.parquet"),
			filepath.Join(path, metadataFolder, a.tried(1)+"m0.avro")}
		for _, name := range left[whose] {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	release(t, records(t, 1), &SinkConfig{Place: at(path), Mode: "append"})
	for whose, names := range left {
		for _, name := range names {
			if _, err := os.Lstat(name); os.IsNotExist(err) != (whose == "ours") {
				t.Errorf("%s: %s: %v", whose, filepath.Base(name), err)
			}
		}
	}
}
