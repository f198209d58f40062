package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// filed is a person in a released file.
type filed struct {
	ID     string  `parquet:"id"`
	Wage   float64 `parquet:"wage"`
	Region string  `parquet:"region"`
}

// inFiles returns the persons in the files below a folder, without hidden files.
func inFiles(t *testing.T, dir string) (all []filed) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case strings.HasPrefix(e.Name(), ".") && e.IsDir():
			return filepath.SkipDir
		case e.IsDir() || strings.HasPrefix(e.Name(), "."):
			return nil
		}
		rows, err := parquet.ReadFile[filed](path)
		all = append(all, rows...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// entries returns the lines of a file as JSON.
func entries[T any](t *testing.T, path string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var one T
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

type counted struct{ Read, Released, Quarantined, Held int64 }

type snapshot struct {
	Snapshot int64
	Records  counted
	Columns  map[string]any
	Window   struct {
		Records counted
		Columns map[string]any
	}
}

// A stream into files releases each record once, over several runs, and lists the lost records in
// order in a file that only the owner can read. Snapshots are numbered, each covers all committed
// records, and their windows add up to it.
func TestStreamIntoFiles(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	dir := t.TempDir()
	text := strings.NewReplacer(
		`sink: {kafka: {brokers: ["%[1]s"], topic: out, commit: {interval: 200ms}}}`,
		`sink: {parquet: {path: `+dir+`/out, roll: {records: 100, interval: 200ms}}}`,
		"quarantine: {kafka: {topic: bad}}", "quarantine: {jsonl: "+dir+"/q/bad.jsonl}\nreport: {json: "+dir+"/report.json}",
		"assess: {", "assess: {every: {records: 150}, emit: [{jsonl: "+dir+
			"/s/snaps.jsonl}, {kafka: {topic: snaps}}, {log: info}], ", ", until: latest", "",
	).Replace(standConfig)
	text = fmt.Sprintf(text, s.address, s.key)
	var log bytes.Buffer
	run := func(n int64) (released int64) { // until the group's offsets cover so many messages
		t.Helper()
		o := s.options()
		o.Log = zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.InfoLevel)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		type ending struct {
			released, drained int64
			err               error
		}
		done := make(chan ending, 1)
		go func() {
			r, err := stream.Run(ctx, s.parse(text), o)
			e := ending{err: err}
			if err == nil {
				if e.released = r.Report.Records.Released; r.Drained {
					e.drained = 1
				}
			}
			done <- e
		}()
		eventually.True(t, "offsets of all records", func() bool { return s.groupAt(0)+s.groupAt(1) == n })
		cancel()
		e := <-done
		if e.err != nil || e.drained != 1 {
			t.Fatal(e.err, e.drained)
		}
		return e.released
	}
	s.persons(0, 500)
	s.produce(&kgo.Record{Topic: "in", Partition: 1, Value: []byte(`{"id":1001,"wage":"canary","region":"r"}`)},
		&kgo.Record{Topic: "in", Partition: 0, Value: []byte(`canary`)})
	first := run(502)
	s.persons(500, 900)
	if second := run(902); first != 500 || second != 900 {
		t.Errorf("%d persons released, then %d, want 500 and 900", first, second)
	}
	seen := map[int]bool{}
	masked := 0
	for _, p := range inFiles(t, filepath.Join(dir, "out")) {
		i, err := strconv.Atoi(p.ID)
		if err != nil || seen[i] || p.Region != fmt.Sprint("r", i%4) {
			t.Fatalf("%+v is there twice or has wrong values (error %v)", p, err)
		}
		seen[i] = true
		if d := math.Abs(p.Wage - wage(i)); d > 600 { // 12 standard deviations
			t.Errorf("person %d is released as %v with the wage %v", i, p.Wage, wage(i))
		} else if d >= 0.01 {
			masked++
		}
	}
	if len(seen) != 900 || masked < 880 {
		t.Errorf("%d persons in the files, %d of them masked, want 900 and at least 880", len(seen), masked)
	}
	namedByPlaces(t, filepath.Join(dir, "out", "in"))
	bad, err := os.ReadFile(filepath.Join(dir, "q", "bad.jsonl"))
	if err != nil || strings.Contains(string(bad), "canary") {
		t.Errorf("quarantine: error %v, or it contains a value: %s", err, bad)
	}
	type lost struct {
		Topic     string
		Partition int
		Offset    int
		Column    string
		Reason    string
	}
	lines := entries[lost](t, filepath.Join(dir, "q", "bad.jsonl"))
	if len(lines) != 2 || lines[0].Topic != "in" || lines[0].Reason == "" || lines[0].Partition == lines[1].Partition ||
		lines[0].Offset != 250 || lines[1].Offset != 250 {
		t.Errorf("the quarantine has the entries %+v, want offset 250 of both partitions", lines)
	}
	for _, name := range []string{"q/bad.jsonl", "s/snaps.jsonl", "report.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode of %v (error %v), want 0600", name, info, err)
		}
	}
	snaps := entries[snapshot](t, filepath.Join(dir, "s", "snaps.jsonl"))
	if len(snaps) < 2 {
		t.Fatalf("the file has %d snapshots, want at least 2", len(snaps))
	}
	for i, got := range snaps {
		if got.Records.Read != got.Records.Released+got.Records.Quarantined || len(got.Columns) != 1 ||
			len(got.Window.Columns) != 1 || got.Window.Records.Read < 150 {
			t.Errorf("snapshot %d is %+v", i, got)
		}
		if i > 0 && got.Snapshot == snaps[i-1].Snapshot+1 &&
			got.Window.Records.Read != got.Records.Read-snaps[i-1].Records.Read {
			t.Errorf("snapshot %d: the window has the records %+v; all records are %+v, before %+v", i, got.Window.Records,
				got.Records, snaps[i-1].Records)
		}
	}
	var topic []int64
	for _, r := range s.values("snaps", len(snaps)) {
		var one snapshot
		if err := json.Unmarshal(r.Value, &one); err != nil || r.Partition != 0 {
			t.Fatal(err, r.Partition)
		}
		topic = append(topic, one.Records.Read)
	}
	var file []int64
	for _, one := range snaps {
		file = append(file, one.Records.Read)
	}
	if !slices.Equal(topic, file) {
		t.Errorf("the topic has the snapshots %v, the file %v", topic, file)
	}
	if n := strings.Count(log.String(), `"snapshot":`); n != len(snaps) {
		t.Errorf("the log has %d snapshots, the file %d", n, len(snaps))
	}
}

// namedByPlaces compares the names of files with the persons in them: each name contains the first
// and the last place of its file, no place is covered twice, and a place without a person is that
// of the unreadable record, 250 in either partition.
func namedByPlaces(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "date=*", "part-*.parquet"))
	if err != nil || len(paths) < 4 { // two runs, two partitions
		t.Fatal(err, paths)
	}
	next := map[int]int{}
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	for _, path := range paths {
		var partition, first, last int
		if n, err := fmt.Sscanf(filepath.Base(path), "part-%05d-%019d-%019d.parquet", &partition, &first, &last); n != 3 {
			t.Fatal(path, err)
		}
		rows, err := parquet.ReadFile[filed](path)
		if err != nil {
			t.Fatal(err)
		}
		want := last - first + 1
		if first <= 250 && last >= 250 {
			want--
		}
		if len(rows) != want || first != next[partition] && (first != 251 || next[partition] != 250) {
			t.Errorf("%s has %d persons and comes after the place %d", filepath.Base(path), len(rows), next[partition]-1)
		}
		next[partition] = last + 1
		for _, p := range rows {
			i, err := strconv.Atoi(p.ID)
			at := i / partitions
			if at >= 250 {
				at++
			}
			if err != nil || i%partitions != partition || at < first || at > last {
				t.Errorf("%s has the person %s, whose place is %d of partition %d", filepath.Base(path), p.ID, at, i%partitions)
			}
		}
	}
	if next[0] != 451 || next[1] != 451 {
		t.Errorf("the names of the last files end at %v, want 451", next)
	}
}

// A changed configuration applies from the next transaction on, if a running stream can change to
// it. Another one, or an unreadable one, is reported, and the old one stays.
func TestStreamTakesAnotherConfiguration(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	text := fmt.Sprintf(strings.Replace(standConfig, ", until: latest", "", 1), s.address, s.key)
	reload := make(chan pipeline.Changed)
	o := s.options()
	var log bytes.Buffer
	o.Log, o.Reload = zerolog.New(zerolog.SyncWriter(&log)), reload
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	var released int64
	go func() {
		r, err := stream.Run(ctx, s.parse(text), o)
		if err == nil {
			released = r.Report.Records.Released
		}
		done <- err
	}()
	moved := func(from, to int) (n int) { // number of these persons with changed wages
		t.Helper()
		wages := s.exactlyOnce("out", to)
		for i := from; i < to; i++ {
			if math.Abs(wages[i]-wage(i)) >= 0.005 {
				n++
			}
		}
		return n
	}
	give := func(c pipeline.Changed) {
		t.Helper()
		select {
		case reload <- c: // accepted between two transactions
		case err := <-done:
			t.Fatal(err)
		}
	}
	s.persons(0, 200)
	if n := moved(0, 200); n < 190 {
		t.Errorf("%d of 200 persons are masked, want at least 190", n)
	}
	quiet := strings.Replace(
		strings.Replace(text, "noise: {columns: [wage], sd: 50}", "round: {columns: [wage], base: 100000}", 1), "sample: 300",
		"sample: 10", 1)
	for _, part := range []struct{ old, with string }{
		{"name: stand", "name: other"}, {"topic: out", "topic: again"}, {"quarantine: {kafka: {topic: bad}}", ""},
		{"group: g", "group: h"},
	} {
		give(pipeline.Changed{Config: s.parse(strings.Replace(quiet, part.old, part.with, 1))})
	}
	give(pipeline.Changed{Err: errors.New("the file is broken")})
	give(
		pipeline.Changed{
			Config: s.parse(strings.Replace(quiet, "columns:\n", "columns:\n  gone: {role: key}\n", 1), "unlisted=fail")})
	s.persons(200, 300)
	if n := moved(200, 300); n < 92 {
		t.Errorf("%d of 100 persons are masked after refused changes, want at least 92", n)
	}
	give(pipeline.Changed{Config: s.parse(quiet)})
	s.persons(300, 400)
	wages := s.exactlyOnce("out", 400)
	for i := 300; i < 400; i++ {
		if wages[i] != 0 {
			t.Errorf("person %d with the wage %v is released as %v, want the nearest multiple of 100000", i, wage(i), wages[i])
		}
	}
	give(pipeline.Changed{Config: s.parse(strings.Replace(quiet, "base: 100000", "base: 200", 1))})
	s.persons(400, 500)
	wages = s.exactlyOnce("out", 500)
	for i := 400; i < 500; i++ {
		if math.Mod(wages[i], 200) != 0 || math.Abs(wages[i]-wage(i)) > 100 {
			t.Errorf("person %d with the wage %v is released as %v, want a multiple of 200 nearby", i, wage(i), wages[i])
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	lines := log.String()
	for _, want := range []string{"name has changed, which takes a restart", "sink has changed", "quarantine has changed",
		"source has changed", "the file is broken"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no log line contains: %s", want)
		}
	}
	if n := strings.Count(lines, "the changed configuration is in force"); n < 2 || n > 3 {
		t.Errorf("%d changed configurations are in force, want 2 or 3", n)
	}
	if n := strings.Count(lines, "the measurement of R and U starts again"); n < 2 {
		t.Errorf("the log says %d times that the measurement starts again, want at least 2", n)
	}
	if released > 200 {
		t.Errorf("the report has %d records, want at most 200: the measurement started again before the last 100", released)
	}
}

// A configuration is checked against the topics without joining the group, and nothing remains,
// whatever the result.
func TestStreamIsTried(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 10)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(standConfig, s.address, s.key) + "report: {json: " + dir + "/r.json, html: " + dir +
		"/r.html, board: " + dir + "/b.html}\n"
	text = strings.Replace(text, "assess: {", "assess: {every: {records: 9}, emit: [{kafka: {topic: snaps}}, {jsonl: "+dir+
		"/s.jsonl}], ", 1)
	for _, c := range []struct{ old, with, want string }{
		{"", "", ""},
		{"file: " + s.key, "file: " + s.key + "x", s.key + "x"},
		{"topics: [in]", "topics: [gone]", `the topic "gone" does not exist`},
		{"topic: out", "topic: gone", `the topic "gone" does not exist`},
		{"topic: bad", "topic: gone", `the topic "gone" does not exist`},
		{"topic: snaps", "topic: gone", `the topic "gone" does not exist`},
		{"quarantine: {kafka: {topic: bad}}", "quarantine: {jsonl: " + dir + "/file/q.jsonl}", "/file: not a directory"},
		{dir + "/s.jsonl", dir + "/file/s.jsonl", "/file: not a directory"},
		{dir + "/r.json", dir + "/file/r.json", "/file: not a directory"},
		{dir + "/r.html", dir + "/file/r.html", "/file: not a directory"},
		{dir + "/b.html", dir + "/file/b.html", "/file: not a directory"},
	} {
		err := stream.Connect(t.Context(), s.parse(strings.Replace(text, c.old, c.with, 1)))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Connect returns %v", c.with, err)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 1 {
			t.Errorf("%s: the folder has the files %v (error %v), want 1", c.with, left, err)
		}
	}
	if n := len(s.cluster.PartitionInfos("g-state")); n != 0 {
		t.Errorf("Connect created the state topic with %d partitions", n)
	}
	if s.groupAt(0) != 0 || s.groupAt(1) != 0 {
		t.Error("Connect committed offsets of the group")
	}
}

// Of fewer than a thousand records, the efficiency of a group is not judged, as the stream itself does
// not judge it.
func TestGroupOfFewRecordsIsNotJudgedByItsEfficiency(t *testing.T) {
	t.Parallel()
	for n, passes := range map[int]bool{400: true, 2000: false} {
		s := newStand(t)
		s.persons(0, n)
		p := func() *config.Pipeline {
			return s.parse(fmt.Sprintf(standConfig, s.address, s.key) +
				"gate: {on_fail: alert, rules: [{column: wage, min_efficiency: 1}]}\n")
		}
		s.run(p())
		rep, err := stream.AssessGroup(t.Context(), p(), "", s.options())
		if err != nil || rep.Records.Released != int64(n) || rep.Gate.Passed != passes {
			t.Errorf("%d records: error %v, gate %+v", n, err, rep.Gate)
		}
	}
}

// The kept state of a group covers the whole group, and only state of the same configuration.
func TestGroupIsAssessed(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.fill(survivors)
	want := s.run(s.pipeline()).Report
	rep, err := stream.AssessGroup(t.Context(), s.pipeline(), "", s.options())
	if err != nil {
		t.Fatal(err)
	}
	sameTotals(t, rep, want)
	if rep.Version != "test" || rep.KeyID != want.KeyID || rep.KeyID == "" {
		t.Errorf("the report has the version %q and the key %q", rep.Version, rep.KeyID)
	}
	var log bytes.Buffer
	o := s.options()
	o.Log = zerolog.New(zerolog.SyncWriter(&log))
	rep, err = stream.AssessGroup(t.Context(), s.pipeline("masks.0.noise.sd=51"), "", o)
	if err != nil || rep.Records.Read != 0 || len(rep.Columns) != 0 || !strings.Contains(log.String(), `"partitions":2`) {
		t.Errorf("other masks: error %v, records %+v, log %s", err, rep.Records, &log)
	}
	if rep, err = stream.AssessGroup(t.Context(), s.pipeline("name=other"), "", s.options()); err != nil ||
		rep.Records.Read != 0 {
		t.Errorf("another pipeline: error %v, report %+v", err, rep)
	}
	if _, err := stream.AssessGroup(t.Context(), s.pipeline(), "h", s.options()); err == nil ||
		!strings.Contains(err.Error(), `the consumer group "h" has kept no assessment`) {
		t.Errorf("another group: error %v", err)
	}
	file := s.parse(
		strings.Replace(fmt.Sprintf(standConfig, s.address, s.key),
			fmt.Sprintf(`kafka: {brokers: ["%s"], topics: [in], group: g, instance: a, until: latest}`, s.address),
			"csv: {path: in.csv}", 1))
	var problems config.Errors
	if _, err := stream.AssessGroup(t.Context(), file, "", s.options()); !errors.As(err, &problems) ||
		!strings.Contains(err.Error(), "source: must be kafka") {
		t.Errorf("a file as source: error %v", err)
	}
	gone := s.pipeline()
	gone.Key.File = s.key + "x"
	if _, err := stream.AssessGroup(t.Context(), gone, "", s.options()); err == nil {
		t.Error("without the key file, AssessGroup returns no error")
	}
	if _, err := stream.AssessGroup(t.Context(), s.pipeline("source.kafka.topics.0=gone"), "", s.options()); err == nil ||
		!strings.HasPrefix(err.Error(), "source: ") {
		t.Errorf("missing topic: error %v", err)
	}
}

// groupAt returns the group's offset of a partition, 0 if it has none.
func (s *stand) groupAt(partition int) int64 {
	s.t.Helper()
	all, err := kadm.NewClient(s.client).FetchOffsets(s.t.Context(), "g")
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		s.t.Fatal(err)
	}
	if o, ok := all.Lookup("in", int32(partition)); ok {
		return max(o.At, 0)
	}
	return 0
}
