package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// filed is a released record in a file.
type filed struct {
	ID     string  `parquet:"id"`
	Wage   float64 `parquet:"wage"`
	Region string  `parquet:"region"`
}

// filedIn reads the released records of a file of any format by their numbers.
func (s *stand) filedIn(name string) map[int]filed {
	s.t.Helper()
	var all []filed
	switch path := filepath.Join(s.dir, name); filepath.Ext(name) {
	case ".parquet":
		var err error
		if all, err = parquet.ReadFile[filed](path); err != nil {
			s.t.Fatal(err)
		}
	case ".csv":
		rows, err := csv.NewReader(strings.NewReader(s.read(name))).ReadAll()
		if err != nil || strings.Join(rows[0], ",") != "id,wage,region" {
			s.t.Fatalf("%s: %v, columns %v", name, err, rows[0])
		}
		for _, row := range rows[1:] {
			wage, err := strconv.ParseFloat(row[1], 64)
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, filed{row[0], wage, row[2]})
		}
	default:
		for line := range strings.Lines(s.read(name)) {
			var one struct {
				ID     json.Number
				Wage   float64
				Region string
			}
			if err := json.Unmarshal([]byte(line), &one); err != nil || strings.Contains(line, "name") {
				s.t.Fatalf("%s: %v in %s", name, err, line)
			}
			all = append(all, filed{one.ID.String(), one.Wage, one.Region})
		}
	}
	byID := map[int]filed{}
	for _, one := range all {
		i, err := strconv.Atoi(one.ID)
		if _, twice := byID[i]; err != nil || twice {
			s.t.Fatalf("%s: %v, or person %d twice", name, err, i)
		}
		if one.Region != fmt.Sprintf("r%d", i%4) {
			s.t.Fatalf("%s: person %d has the region %q", name, i, one.Region)
		}
		byID[i] = one
	}
	return byID
}

// From a topic to a file: the available records are released together, and released records are not
// read again.
func TestTopicIntoFile(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 300)
	s.produce(&kgo.Record{Topic: "in", Partition: 1, Value: []byte(`{"id":0,"wage":"none","region":"r0"}`)})
	var first map[int]filed
	for _, format := range []string{"csv", "jsonl", "parquet", "arrow"} {
		s.config(fmt.Sprintf(`sink: {%[1]s: {path: out/%[1]s.%[1]s}}`, format), `quarantine: {jsonl: out/quarantine.jsonl}`)
		s.run(exitQuarantined, "run", "--allow-loosening", "-q", "pipeline.yaml", "--set", "source.kafka.group="+format)
		mustContain(t, s.read("out/quarantine.jsonl"), `"topic":"in","partition":1,"offset":150,"column":"wage"`)
		if format == "arrow" {
			continue // other tests check the types of its columns
		}
		got := s.filedIn("out/" + format + "." + format)
		if first == nil {
			first = got
		}
		if len(got) != 300 {
			t.Fatalf("%s: %d records, want 300", format, len(got))
		}
		for i, one := range got {
			if one != first[i] || one.Wage == personWage(i) {
				t.Fatalf("%s: person %d is %+v, want %+v", format, i, one, first[i])
			}
		}
	}
	// A folder has a file for each partition.
	s.config(`sink: {csv: {path: out/parts/}}`)
	s.run(exitQuarantined, "run", "--allow-loosening", "-q", "pipeline.yaml", "--set", "source.kafka.group=parts")
	parts, err := os.ReadDir(filepath.Join(s.dir, "out/parts"))
	if err != nil || len(parts) != 2 || len(s.filedIn("out/parts/"+parts[0].Name())) != 150 ||
		len(s.filedIn("out/parts/"+parts[1].Name())) != 150 {
		t.Errorf("%v: %d files in the folder, want 2 of 150 records", err, len(parts))
	}
	// The next run contains only new records; a release that the gate withholds is read again.
	s.persons(300, 340)
	s.config(`sink: {csv: {path: out/csv.csv}}`,
		strings.NewReplacer("on_fail: stop, ", "", "300", "100000").Replace(farFromMean))
	s.run(exitRefused, "run", "--allow-loosening", "-q", "pipeline.yaml", "--set", "source.kafka.group=csv")
	if got := s.filedIn("out/csv.csv"); len(got) != 300 {
		t.Errorf("a release that was refused is there: %d records", len(got))
	}
	s.config(`sink: {csv: {path: out/csv.csv}}`)
	for _, want := range []int{40, 0} {
		s.run(exitDone, "run", "--allow-loosening", "-q", "pipeline.yaml", "--set", "source.kafka.group=csv")
		if got := s.filedIn("out/csv.csv"); len(got) != want || want > 0 && got[339].ID != "339" {
			t.Errorf("%d records, want the %d new ones", len(got), want)
		}
	}
	// Without a configured name the group has the name of the pipeline.
	for _, want := range []int{340, 0} {
		s.run(exitQuarantined*min(want, 1), "run", "-q", "pipeline.yaml")
		if got := s.filedIn("out/csv.csv"); len(got) != want {
			t.Errorf("%d records under the pipeline's own group, want %d", len(got), want)
		}
	}
}

// JSON values that are neither texts nor numbers stay JSON.
func TestTopicIntoJSONLines(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.produce(
		&kgo.Record{Topic: "in",
			Value: []byte(`{"id":9007199254740993,"name":"N","wage":10.50,"region":{"a":[1, "ü\u00e9"],"b":null}}`)})
	s.config(`sink: {jsonl: {path: out/release.jsonl}}`, `masks: []`,
		`columns: {id: {role: other}, name: {role: identifier}, wage: {role: sensitive, decimals: 2, unmasked: true}, region: {role: other}}`)
	s.run(exitDone, "run", "-q", "pipeline.yaml")
	mustContain(t, s.read("out/release.jsonl"), `"id":9007199254740993`, `"region":{"a":[1, "ü\u00e9"],"b":null}`)
}

// Quarantine and snapshots of a file job in topics.
func TestFileJobNotesInTopics(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 300)
	s.produce(&kgo.Record{Topic: "in", Partition: 1, Value: []byte(`{"id":`)})
	const beside = `quarantine: {kafka: {topic: bad}}`
	emit := `assess: {replicates: 20, targets: [max], every: {records: 100}, emit: [{kafka: {topic: snaps}}]}`
	s.config(`sink: {csv: {path: out/release.csv}}`, beside, emit)
	s.run(exitQuarantined, "run", "-q", "pipeline.yaml")
	bad, snaps := s.messages("bad", 1), s.messages("snaps", 3)
	if len(bad) != 1 || !strings.Contains(string(bad[0].Value), `"topic":"in","partition":1,"offset":150`) {
		t.Errorf("%d entries in the quarantine", len(bad))
	}
	if len(snaps) < 3 || !json.Valid(snaps[0].Value) || !strings.Contains(string(snaps[0].Value), `"snapshot":1`) {
		t.Errorf("%d snapshots", len(snaps))
	}
	// From a file: with the release, and also if the release is withheld.
	var lines strings.Builder
	for i := range 301 {
		fmt.Fprintf(&lines, "{\"id\":%d,\"name\":\"N\",\"wage\":%.2f,\"region\":\"r%d\"}\n", i, personWage(i), i%4)
	}
	s.file("in.jsonl", lines.String()+"{]\n")
	refuse := strings.NewReplacer("on_fail: stop, ", "", "300", "100000").Replace(farFromMean)
	for i, c := range []struct {
		gate            string
		status, release int
	}{{"gate: {}", exitQuarantined, 301}, {refuse, exitRefused, 301}} {
		s.config(`source: {jsonl: {path: in.jsonl, types: {id: int64, wage: float64, region: string, name: string}}}`,
			`sink: {kafka: {brokers: ["BROKER"], topic: out}}`, beside, emit, c.gate)
		s.run(c.status, "run", "-q", "pipeline.yaml")
		if n := len(s.messages("out", c.release)); n != c.release {
			t.Errorf("%s: %d messages in the topic, want %d", c.gate, n, c.release)
		}
		if bad := s.messages("bad", 2+i); len(bad) != 2+i ||
			!strings.Contains(string(bad[1+i].Value), `"stream":"in.jsonl","record":302`) {
			t.Errorf("%s: %d entries in the quarantine, want %d", c.gate, len(bad), 2+i)
		}
		if n := len(s.messages("snaps", 6+3*i)); n < 6+3*i {
			t.Errorf("%s: %d snapshots, want at least %d", c.gate, n, 6+3*i)
		}
	}
	// A missing topic is an error before anything is read.
	s.config(`sink: {csv: {path: out/release.csv}}`, `quarantine: {kafka: {topic: missing}}`)
	_, log := s.run(exitFailed, "run", "-q", "pipeline.yaml", "--set", "source.kafka.startup_patience=1ms")
	mustContain(t, log, `quarantine`, `the topic "missing" does not exist`)
	_, log = s.run(exitFailed, "validate", "--connect", "pipeline.yaml")
	mustContain(t, log, `the topic "missing" does not exist`)
}

// From a Parquet file into a topic: all records or none.
func TestFileIntoTopic(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	var rows []filed
	for i := range 2000 {
		rows = append(rows, filed{strconv.Itoa(i), personWage(i), fmt.Sprintf("r%d", i%4)})
	}
	if err := parquet.WriteFile(filepath.Join(s.dir, "in.parquet"), rows); err != nil {
		t.Fatal(err)
	}
	config := func(gate string) {
		s.config(`source: {parquet: {path: in.parquet}}`,
			`columns: {id: {role: other}, wage: {role: sensitive, decimals: 2}, region: {role: other}}`,
			`sink: {kafka: {brokers: ["BROKER"], topic: out, key: id}}`, gate)
	}
	config(strings.NewReplacer("on_fail: stop, ", "", "300", "100000").Replace(farFromMean))
	_, _ = s.run(exitRefused, "run", "-q", "pipeline.yaml")
	if n := len(s.messages("out", 0)); n != 0 {
		t.Fatalf("%d messages of a release that was refused", n)
	}
	config("gate: {}")
	s.run(exitDone, "run", "-q", "pipeline.yaml")
	seen := map[string]bool{}
	for _, r := range s.messages("out", 2000) {
		var one struct {
			ID   string
			Wage float64
		}
		if err := json.Unmarshal(r.Value, &one); err != nil || string(r.Key) != one.ID || seen[one.ID] {
			t.Fatalf("%v: key %q of %s", err, r.Key, r.Value)
		}
		seen[one.ID] = true
	}
	if len(seen) != 2000 {
		t.Errorf("%d records, want 2000", len(seen))
	}
}

// A stream into Parquet files is killed in the middle: each record occurs once.
func TestStreamIntoFilesIsKilled(t *testing.T) {
	racetest.Alone(t)
	t.Parallel()
	s := newStand(t)
	s.config(endless, `sink: {parquet: {path: out, roll: {records: 300, interval: 500ms}}}`)
	const n = 6000
	complete := func() (all []filed) {
		err := filepath.WalkDir(filepath.Join(s.dir, "out"), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() && strings.HasPrefix(e.Name(), ".") {
				if err == nil {
					err = filepath.SkipDir
				}
				return err
			}
			if strings.HasSuffix(path, ".parquet") {
				rows, err := parquet.ReadFile[filed](path)
				if err != nil {
					return err
				}
				all = append(all, rows...)
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return all
	}
	p, killed := s.start("run", "-q", "pipeline.yaml"), 0
	for k := range 15 {
		s.persons(k*n/15, (k+1)*n/15)
		eventually.Elapse(t, 120*time.Millisecond) // the kill comes at some point of a transaction
		if k%4 == 3 || k == 13 {                   // the last records always come after a kill
			p.cmd.Process.Kill()
			<-p.ended
			if len(complete()) < (k+1)*n/15 {
				killed++
			}
			p = s.start("run", "-q", "pipeline.yaml")
		}
	}
	if killed == 0 {
		t.Error("no run was killed in the middle: the test shows nothing")
	}
	p.once("releases every record", func() bool { return len(complete()) >= n })
	p.signal(15)
	p.wait(exitDone)
	seen := map[string]bool{}
	for _, one := range complete() {
		if seen[one.ID] {
			t.Fatalf("person %s is there twice", one.ID)
		}
		seen[one.ID] = true
	}
	if len(seen) != n {
		t.Errorf("%d records, want %d", len(seen), n)
	}
}
