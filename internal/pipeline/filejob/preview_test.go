package filejob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// table returns a run over a CSV file of some records with a report. The record in the middle
// cannot be read; extra is added to the configuration.
func table(t *testing.T, dir string, records int, extra string) *config.Pipeline {
	t.Helper()
	var rows strings.Builder
	rows.WriteString("id,income,debt,age,region\n")
	for i := range records {
		switch {
		case i == records/2:
			rows.WriteString("R,1,canary,20,south\n")
		case i%10 == 4:
			fmt.Fprintf(&rows, "R%03d,,%d,%d,north\n", i, i, 20+i%50)
		default:
			fmt.Fprintf(&rows, "R%03d,%d.5,%d,%d,north\n", i, 1000+37*i, i, 20+i%50)
		}
	}
	write(t, filepath.Join(dir, "in.csv"), []byte(rows.String()))
	return parse(t, dir, setup{
		source: "csv: {path: " + filepath.Join(dir, "in.csv") + ", types: {debt: float64}}",
		sink:   "csv: {path: " + filepath.Join(dir, "out.csv") + "}", masks: noiseMasks, extra: extra,
	})
}

func reporting(dir, gate string) string {
	return fmt.Sprintf("report: {json: %s}\ngate: {max_quarantined: 0.5%s}\n", filepath.Join(dir, "report.json"), gate)
}

// fieldsOf returns the records of a CSV file.
func fieldsOf(t *testing.T, path string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		rows = append(rows, strings.Split(strings.TrimSpace(line), ","))
	}
	return rows
}

// sameValue reports whether a preview shows the content of a file; numbers are compared as numbers.
func sameValue(shown, held string) bool {
	if held == "" {
		return shown == "(null)"
	}
	x, err1 := strconv.ParseFloat(shown, 64)
	y, err2 := strconv.ParseFloat(held, 64)
	return shown == held || err1 == nil && err2 == nil && x == y
}

// A preview shows the first rows of the release that the run makes, next to their original rows:
// one, some, all but one, all, and more than exist. Records that are not released are counted.
func TestPreviewIsTheBeginningOfTheRelease(t *testing.T) {
	dir := t.TempDir()
	p := table(t, dir, 61, reporting(dir, ""))
	if _, err := Run(context.Background(), p, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	released := fieldsOf(t, filepath.Join(dir, "out.csv"))
	original := fieldsOf(t, filepath.Join(dir, "in.csv"))
	original = append(original[:31:31], original[32:]...) // without the unreadable record
	for _, rows := range []int{1, 30, 31, 59, 60, 61, 100} {
		v, err := NewPreview(context.Background(), p, rows, new(pipeline.Progress))
		if err != nil {
			t.Fatal(err)
		}
		want := min(rows, 60)
		if len(v.Released) != want || len(v.Original) != want || v.Cut != "" || !reflect.DeepEqual(v.Columns, released[0]) {
			t.Fatalf("%d rows: the preview has %d released and %d original rows, the columns %q, cut because %q", rows,
				len(v.Released), len(v.Original), v.Columns, v.Cut)
		}
		if !reflect.DeepEqual(v.Columns, []string{"income", "debt", "age", "region"}) ||
			!reflect.DeepEqual(v.Masked, []bool{true, true, false, false}) {
			t.Errorf("the columns are %q, masked %v", v.Columns, v.Masked)
		}
		if rejected := 1; rows >= 31 && v.Rejected != rejected || rows < 30 && v.Rejected != 0 {
			t.Errorf("%d rows: %d are rejected, want 1 if row 30 is among them", rows, v.Rejected)
		}
		for i := range want {
			for j := range v.Columns {
				if !sameValue(v.Released[i][j], released[i+1][j]) || !sameValue(v.Original[i][j], original[i+1][j+1]) {
					t.Fatalf("row %d, column %s: released %s, original %s; the release has %s, original %s", i, v.Columns[j],
						v.Released[i][j], v.Original[i][j], released[i+1][j], original[i+1][j+1])
				}
			}
		}
	}
}

// More than 100 rows are shown only from the last run's release. This needs a readable report of a
// run that passed the gate, with the same configuration, key and source, and its release next to
// it.
func TestPreviewOfManyRowsNeedsARelease(t *testing.T) {
	racetest.Further(t)
	for _, c := range []struct {
		name, cut string
		gate      string
		change    func(t *testing.T, dir string, p *config.Pipeline) *config.Pipeline
	}{
		{name: "released"},
		{name: "no report asked for", cut: "no report of a run tells",
			change: func(t *testing.T, dir string, _ *config.Pipeline) *config.Pipeline {
				return parse(t, dir, setup{source: "csv: {path: " + filepath.Join(dir, "in.csv") + ", types: {debt: float64}}",
					sink: "csv: {path: " + filepath.Join(dir, "out.csv") + "}", masks: noiseMasks})
			}},
		{name: "no report there", cut: "there is no report",
			change: func(t *testing.T, dir string, p *config.Pipeline) *config.Pipeline {
				if err := os.Remove(filepath.Join(dir, "report.json")); err != nil {
					t.Fatal(err)
				}
				return p
			}},
		{name: "a damaged report", cut: "cannot be read",
			change: func(t *testing.T, dir string, p *config.Pipeline) *config.Pipeline {
				write(t, filepath.Join(dir, "report.json"), []byte("{"))
				return p
			}},
		{name: "refused", cut: "the gate refused the last run",
			gate: ", rules: [{column: income, target: max, knowledge: index, min_rmse: 1e9}]"},
		{name: "another configuration", cut: "another configuration or key",
			change: func(t *testing.T, dir string, _ *config.Pipeline) *config.Pipeline {
				return table(t, dir, 301, reporting(dir, "")+"assess: {replicates: 10}\n")
			}},
		{name: "another source", cut: "the source is not known to be",
			change: func(t *testing.T, dir string, p *config.Pipeline) *config.Pipeline {
				text, err := os.ReadFile(filepath.Join(dir, "in.csv"))
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, "in.csv"), append(text, "R,1,1,1,x\n"...))
				return p
			}},
		{name: "another release", cut: "is not that of the release beside it",
			change: func(t *testing.T, dir string, p *config.Pipeline) *config.Pipeline {
				write(t, filepath.Join(dir, "out.csv"), []byte("x"))
				return p
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			p := table(t, dir, 301, reporting(dir, c.gate))
			if result, err := Run(context.Background(), p, pipeline.Options{}); err != nil ||
				result.Refused() != (c.gate != "") {
				t.Fatal(result, err)
			}
			if c.change != nil {
				p = c.change(t, dir, p)
			}
			for rows, want := range map[int]int{100: 100, 101: 101} {
				cut := ""
				if want > 100 && c.cut != "" {
					want, cut = 100, c.cut
				}
				v, err := NewPreview(context.Background(), p, rows, new(pipeline.Progress))
				if err != nil || len(v.Released) != want || !strings.Contains(v.Cut, cut) || (v.Cut == "") != (cut == "") {
					t.Fatalf("%d rows: error %v, want %d rows, cut because %q", rows, err, want, cut)
				}
			}
		})
	}
}

// Verify compares a report and a release, for every form of report and every kind of difference.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	p := table(t, dir, 41,
		fmt.Sprintf("report: {json: %s, html: %s}\ngate: {max_quarantined: 0.5}\nassess: {intruder: {inversion: false}}\n",
			filepath.Join(dir, "report.json"), filepath.Join(dir, "sub", "report.html")))
	if _, err := Run(context.Background(), p, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.csv")
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	// the public report does not contain folders
	for path, at := range map[string]string{"report.json": "", "report.public.json": "", "sub/report.html": "",
		"sub/report.public.html": out} {
		v, err := Verify(context.Background(), filepath.Join(dir, path), at)
		if err != nil || !v.Agree || v.Report != filepath.Join(dir, path) || v.Release != out ||
			!strings.HasPrefix(v.Words, fmt.Sprintf("they belong together: %d bytes, sha256 ", len(text))) {
			t.Errorf("%s: Verify returns %+v and error %v, want agreement", path, v, err)
		}
	}
	other := filepath.Join(dir, "other.csv")
	write(t, other, append(bytes.Clone(text), '\n'))
	folder := filepath.Join(dir, "folder")
	write(t, filepath.Join(folder, "a.csv"), text)
	write(t, filepath.Join(folder, "b.csv"), text)
	// Reports made from this one.
	made := func(name string, change func(map[string]any)) string {
		whole, err := os.ReadFile(filepath.Join(dir, "report.json"))
		if err != nil {
			t.Fatal(err)
		}
		var rep map[string]any
		if err := json.Unmarshal(whole, &rep); err != nil {
			t.Fatal(err)
		}
		change(rep)
		if whole, err = json.Marshal(rep); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+".json")
		write(t, path, whole)
		return path
	}
	release := func(rep map[string]any) map[string]any { return rep["release"].(map[string]any) }
	digest := release2(t, filepath.Join(dir, "report.json"))
	files := func(names ...string) func(map[string]any) {
		return func(rep map[string]any) {
			var list []any
			for _, name := range names {
				name, sum, _ := strings.Cut(name, "=")
				list = append(list,
					map[string]any{"name": name, "bytes": len(text),
						"sha256": map[string]string{"": digest, "other": strings.Repeat("0", 64)}[sum]})
			}
			release(rep)["folder"], release(rep)["files"], release(rep)["sha256"] = true, list, "0"
		}
	}
	withheld := made("withheld", func(rep map[string]any) { rep["withheld"] = "a rule" })
	whole := filepath.Join(dir, "report.json")
	for _, c := range []struct {
		name, report, at string
		agree            bool
		want             string // "error: …" is an error of the data
	}{
		{"named", whole, out, true, "they belong together"},
		{"another", whole, other, false,
			fmt.Sprintf("they do not belong together: the report is about %d bytes, sha256 %s, and there are %d, sha256 ",
				len(text), digest, len(text)+1)},
		{"gone", whole, filepath.Join(dir, "gone.csv"), false, "the release is not there"},
		{"a folder for a file", whole, folder, false,
			"they do not belong together: the report is about a file, and there is a folder"},
		{"a file for a folder", made("of-folder", files("a.csv")), out, false,
			"they do not belong together: the report is about a folder, and there is a file"},
		{"of a folder", made("of-three", files("a.csv", "b.csv=other", "c.csv")), folder, false,
			"they do not belong together: of the 3 files that the report is about 1 are missing and 1 are others; 0 are there that it does not know"},
		{"a folder of others", made("of-one", files("c.csv")), folder, false,
			"they do not belong together: of the 1 files that the report is about 1 are missing and 0 are others; 2 are there that it does not know"},
		{"a folder without a list of files", made("of-none", files()), folder, false,
			"they do not belong together: the report is about"},
		{"withheld and gone", withheld, filepath.Join(dir, "gone.csv"), true,
			"the release was withheld, and nothing is there"},
		{"withheld and there", withheld, out, false, "the release was withheld, and it is there all the same"},
		{"withheld, another there", withheld, other, false, "the release was withheld: what is there is another one"},
		{"withheld, unnamed", made("unnamed", func(rep map[string]any) {
			rep["withheld"] = "a rule"
			delete(rep, "release")
		}), "", false, "error: does not say which"},
		{"unnamed", made("older", func(rep map[string]any) { delete(rep, "release") }), "", false,
			"error: does not say which release it is about"},
		{"of a device", made("device", func(rep map[string]any) { delete(release(rep), "path") }), "", false,
			"error: name the file with --release"},
		{"of a device, named", filepath.Join(dir, "device.json"), out, true, "they belong together"},
		{"absolute", made("absolute", func(rep map[string]any) { release(rep)["path"] = out }), "", true,
			"they belong together"},
		{"no report", filepath.Join(dir, "gone.json"), "", false, "error: the report cannot be read"},
		{"no report at all", filepath.Join(dir, "in.csv"), "", false, "error: is no report"},
		{"a release that cannot be read", whole, "/dev/null", false, "error: the release cannot be read"},
	} {
		v, err := Verify(context.Background(), c.report, c.at)
		var data *pipeline.DataError
		if want, is := strings.CutPrefix(c.want, "error: "); is {
			if v != nil || !errors.As(err, &data) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: Verify returns %+v and error %v, want %s", c.name, v, err, c.want)
			}
		} else if err != nil || v.Agree != c.agree || !strings.HasPrefix(v.Words, c.want) {
			t.Errorf("%s: Verify returns %+v and error %v, want %s", c.name, v, err, c.want)
		}
	}
	ctx, stop := context.WithCancelCause(context.Background())
	because := errors.New("because")
	stop(because)
	if _, err := Verify(ctx, whole, ""); !errors.Is(err, because) {
		t.Errorf("ended context: Verify returns %v, want the cause of the end", err)
	}
}

// release2 returns the digest of the release in a report.
func release2(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	id, err := report.ReadRelease(text)
	if err != nil {
		t.Fatal(err)
	}
	return id.Release.SHA256
}

// near reports whether two results agree up to the last digits of numbers, which depend on the
// order of sums.
func near(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key := range a {
			if other, there := b[key]; !there || !near(a[key], other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, near)
	case float64:
		b, ok := b.(float64)
		return ok && math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))
	default:
		return reflect.DeepEqual(a, b)
	}
}

// Snapshots follow every given number of masked records, however the source divides its blocks.
// Each covers everything read so far, its window covers the records since the previous snapshot,
// and the last one covers the rest. They do not change the report of the run.
func TestSnapshots(t *testing.T) {
	const records = 250 // number 125 is quarantined
	run := func(t *testing.T, emit string) (dir string, rep map[string]any, log string) {
		dir = t.TempDir()
		p := table(t, dir, records,
			fmt.Sprintf("report: {json: %s}\ngate: {max_quarantined: 0.5}\n%s", filepath.Join(dir, "report.json"),
				strings.ReplaceAll(emit, "DIR", dir)))
		var out bytes.Buffer
		if _, err := Run(context.Background(), p, pipeline.Options{Log: zerolog.New(&out)}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "report.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &rep); err != nil {
			t.Fatal(err)
		}
		return dir, rep, out.String()
	}
	_, want, _ := run(t, "")
	type counts struct{ Read, Released, Quarantined int64 }
	type snapshot struct {
		Snapshot int64
		Withheld string
		Records  counts
		Columns  map[string]any
		Window   struct {
			Records counts
			Columns map[string]any
		}
	}
	for every, lengths := range map[int][]int64{100: {100, 201, 250}, 125: {125, 250}, 126: {127, 250}, 249: {250},
		250: nil, 60: {60, 120, 181, 241, 250}} {
		dir, got,
			log := run(t,
			fmt.Sprintf(
				"assess: {every: {records: %d}, emit: [{jsonl: DIR/a/snapshots.jsonl}, {log: info}, {jsonl: DIR/b.jsonl}]}\n",
				every))
		if !near(got["columns"], want["columns"]) || !reflect.DeepEqual(got["records"], want["records"]) {
			t.Errorf("every %d: snapshots change the report of the run", every)
		}
		text, err := os.ReadFile(filepath.Join(dir, "a", "snapshots.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if second, err := os.ReadFile(filepath.Join(dir, "b.jsonl")); err != nil || !bytes.Equal(text, second) {
			t.Errorf("every %d: the second file has other lines (error %v)", every, err)
		}
		if info, err := os.Stat(filepath.Join(dir, "b.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the snapshot file has the mode %v (error %v), want 0600", info.Mode(), err)
		}
		if n := strings.Count(log, `"level":"info"`); n != 2*len(lengths) { // one line for each of two columns
			t.Errorf("every %d: %d lines in the log, want %d", every, n, len(lengths))
		}
		var before counts
		var seen []int64
		for line := range strings.Lines(string(text)) {
			var s snapshot
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				t.Fatal(err)
			}
			seen = append(seen, s.Records.Read)
			lost := int64(0)
			if s.Records.Read > 125 {
				lost = 1
			}
			if s.Snapshot != int64(len(seen)) || s.Withheld != "" || s.Records.Quarantined != lost ||
				s.Records.Released != s.Records.Read-lost {
				t.Errorf("every %d: a snapshot has the wrong number or records: %+v", every, s.Records)
			}
			if since := (counts{s.Records.Read - before.Read, s.Records.Released - before.Released,
				s.Records.Quarantined - before.Quarantined}); s.Window.Records != since {
				t.Errorf("every %d: the window has the records %+v, want %+v", every, s.Window.Records, since)
			}
			if len(s.Columns) != len(s.Window.Columns) || len(s.Columns) == 0 {
				t.Errorf("every %d: %d columns, but %d in the window", every, len(s.Columns), len(s.Window.Columns))
			}
			before = s.Records
		}
		if !reflect.DeepEqual(seen, lengths) {
			t.Errorf("every %d: snapshots after %v, want %v", every, seen, lengths)
		}
	}
	if _, _, log := run(t, "assess: {every: {interval: 1h}, emit: [{log: debug}]}\n"); strings.Contains(log, "snapshot") {
		t.Errorf("a snapshot was logged before its interval: %s", log)
	}
	for _, bad := range []string{"DIR/file/x.jsonl", "DIR"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "file"), nil)
		p := table(t, dir, 10,
			strings.ReplaceAll("assess: {every: {records: 5}, emit: [{jsonl: "+bad+"}]}\ngate: {max_quarantined: 0.5}\n", "DIR",
				dir))
		if _, err := Run(context.Background(), p, pipeline.Options{}); err == nil ||
			!strings.HasPrefix(err.Error(), "assess.emit: ") {
			t.Errorf("%s: error %v, want one at assess.emit", bad, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "out.csv")); err == nil {
			t.Errorf("%s: the run left a release in spite of the error", bad)
		}
	}
}

// Every place that a run writes to is tried before a record is read, and nothing remains of that. A
// run that cannot write there fails in the same way and publishes nothing.
func TestWhatCannotBeOpened(t *testing.T) {
	const good = "report: {json: DIR/r.json, html: DIR/r.html}\nquarantine: {jsonl: DIR/q.jsonl}\n"
	for _, c := range []struct{ name, sink, extra, want string }{
		{"no error", "DIR/out.csv", good, ""},
		{"the sink", "DIR/file/out.csv", good, "sink: "},
		{"the quarantine", "DIR/out.csv", "quarantine: {jsonl: DIR/file/q.jsonl}\n", "quarantine: "},
		{"the report", "DIR/out.csv", "report: {json: DIR/file/r.json}\nquarantine: {jsonl: DIR/q.jsonl}\n", "report: "},
		{"the page", "DIR/out.csv", "report: {json: DIR/r.json, html: DIR/file/r.html}\n", "report: "},
		{"the board", "DIR/out.csv", "report: {json: DIR/r.json, board: DIR/file/b.html}\n", "report: "},
		{"the map", "DIR/out.csv", "report: {json: DIR/r.json, map: DIR/gone.json}\n", "report: map: "},
		{"no map", "DIR/out.csv", "report: {json: DIR/r.json, map: DIR/in.csv}\n", "report: map: "},
		{"the source", "DIR/out.csv", "profile: DIR/gone.profile\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "file"), nil)
			write(t, filepath.Join(dir, "in.csv"),
				[]byte("id,income,debt,age,region\nR1,1.5,2,30,north\nR2,2.5,3,31,south\nR3,4.5,9,32,south\n"))
			in := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
			if c.name == "the source" {
				c.extra, c.want = "", "source: "
				write(t, filepath.Join(dir, "in.csv"), nil)
			}
			p := parse(t, dir,
				setup{source: "csv: {path: " + filepath.Join(dir, "in.csv") + "}", sink: "csv: {path: " + in(c.sink) + "}",
					masks: noiseMasks, extra: in(c.extra)})
			judge := func(what string, err error) {
				t.Helper()
				if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("%s: error %v, want %s", what, err, c.want)
				}
			}
			judge("Connect", Connect(context.Background(), p))
			if got := filesIn(t, dir); len(got) > 1 { // the file that blocks the name
				t.Errorf("Connect leaves the files %q", got)
			}
			_, err := Run(context.Background(), p, pipeline.Options{})
			judge("Run", err)
			if got := filesIn(t, dir); err != nil && len(got) > 1 {
				t.Errorf("a failed run leaves the files %q", got)
			}
		})
	}
}

// What a run says of percentages that mask nothing, a preview says too.
func TestPreviewWarnsAsARun(t *testing.T) {
	dir, p := job(t, "csv: {path: DIR/out.csv}", "\n  - noise: {columns: [income], sd: 10%}\n", "")
	write(t, filepath.Join(dir, "in.csv"), []byte("id,income,debt,age,region\nR1,7.25,1,20,n\nR2,7.25,2,21,s\n"))
	var log bytes.Buffer
	if _, err := NewPreview(zerolog.New(&log).WithContext(t.Context()), p, 2, new(pipeline.Progress)); err != nil ||
		!strings.Contains(log.String(), `"column":"income"`) {
		t.Errorf("error %v, the log is %q, want a warning about income", err, &log)
	}
}
