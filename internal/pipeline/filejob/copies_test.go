package filejob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/microdata"
)

const copiesMasks = "\n  - synthesise: {columns: [income], on: [age], copies: 3}\n  - noise: {columns: [debt], sd: 30}\n"

// copiesOf parses a configuration with three copies of some people.
func copiesOf(t *testing.T, dir, sink, extra string) *config.Pipeline {
	t.Helper()
	writeCSV(t, filepath.Join(dir, "in.csv"), people(300))
	return parse(t, dir,
		setup{source: "csv: {path: " + dir + "/in.csv}", sink: sink + `csv: {path: "` + dir + `/release-{copy}.csv"}`,
			masks: copiesMasks,
			extra: "report: {json: " + dir + "/r.json, html: " + dir +
				"/r.html, publish: [on, copies]}\nassess: {replicates: 20}\n" + extra})
}

// Each copy equals the release of a run with its number. Other masks are equal in all copies, and
// one report describes all of them.
func TestCopiesOfOneRun(t *testing.T) {
	dir := t.TempDir()
	p := copiesOf(t, dir, "", "quarantine: {jsonl: \""+dir+"/q-{copy}.jsonl\"}\n")
	res, err := Run(context.Background(), p, pipeline.Options{})
	if err != nil || res.Refused() {
		t.Fatal(res, err)
	}
	if want := []string{"q-1.jsonl", "q-2.jsonl", "q-3.jsonl", "r.html", "r.json", "r.public.html", "r.public.json",
		"release-1.csv", "release-2.csv", "release-3.csv"}; !slices.Equal(filesIn(t, dir), want) {
		t.Errorf("the folder has the files %v, want %v", filesIn(t, dir), want)
	}
	if want := filepath.Join(dir, "release-1.csv"); len(res.Files) != 10 || res.Files[0] != want {
		t.Errorf("the result lists the files %v", res.Files)
	}
	for number := 1; number <= 3; number++ {
		alone := t.TempDir()
		writeCSV(t, filepath.Join(alone, "in.csv"), people(300))
		one := parse(t, alone, setup{source: "csv: {path: " + alone + "/in.csv}", sink: "csv: {path: " + alone + "/out.csv}",
			masks: strings.Replace(copiesMasks, "copies: 3", fmt.Sprintf("copy: %d", number), 1)})
		if _, err := Run(context.Background(), one, pipeline.Options{}); err != nil {
			t.Fatal(err)
		}
		want, err1 := os.ReadFile(filepath.Join(alone, "out.csv"))
		got, err2 := os.ReadFile(filepath.Join(dir, fmt.Sprintf("release-%d.csv", number)))
		if err1 != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("copy %d differs from a release made for this number alone (errors %v, %v)", number, err1, err2)
		}
	}
	first, second := filepath.Join(dir, "release-1.csv"), filepath.Join(dir, "release-2.csv")
	if slices.Equal(columnOf(t, first, "income"), columnOf(t, second, "income")) ||
		!slices.Equal(columnOf(t, first, "debt"), columnOf(t, second, "debt")) {
		t.Error("copies must differ in income and agree in debt")
	}
	if n := len(res.Report.Copies); n != 3 || res.Report.Copies[2].Number != 3 || res.Report.Copies[2].Records != 300 ||
		len(res.Report.Copies[2].Columns) < 2 {
		t.Errorf("the report has %d copies: %+v", n, res.Report.Copies)
	}
	for _, path := range []string{"r.json", "r.html", "r.public.json", "r.public.html"} {
		v, err := Verify(context.Background(), filepath.Join(dir, path), "")
		if err != nil || !v.Agree || !strings.Contains(v.Words, "copy 3: they belong together") {
			t.Errorf("%s: Verify returns %+v and error %v, want agreement", path, v, err)
		}
	}
	at := filepath.Join(t.TempDir(), "release-2.csv")
	text, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	write(t, at, text)
	if v, err := Verify(context.Background(), filepath.Join(dir, "r.json"), at); err != nil || !v.Agree {
		t.Errorf("a copy at another path: Verify returns %+v and error %v, want agreement", v, err)
	}
	write(t, second, append(text, '\n'))
	if v, err := Verify(context.Background(), filepath.Join(dir, "r.json"), ""); err != nil || v.Agree ||
		!strings.Contains(v.Words, "copy 2: they do not") {
		t.Errorf("a changed copy: Verify returns %+v and error %v, want no agreement for copy 2", v, err)
	}
}

// Shuffled copies have different orders: no two records are adjacent in the same way.
func TestCopiesAreShuffledApart(t *testing.T) {
	dir := t.TempDir()
	if _, err := Run(context.Background(), copiesOf(t, dir, "order: shuffled, ", ""), pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	var orders [][]string
	for number := 1; number <= 3; number++ {
		orders = append(orders, columnOf(t, filepath.Join(dir, fmt.Sprintf("release-%d.csv", number)), "debt"))
	}
	for i := range orders {
		if j := (i + 1) % 3; slices.Equal(orders[i], orders[j]) {
			t.Errorf("copies %d and %d have the same order", i+1, j+1)
		}
		slices.Sort(orders[i])
	}
	if !slices.Equal(orders[0], orders[1]) || !slices.Equal(orders[0], orders[2]) {
		t.Error("the copies have different records")
	}
}

// If one copy is refused, also the last one, all are withheld: a rule that fails for one copy fails
// for all.
func TestCopiesAreWithheldTogether(t *testing.T) {
	for bad := -1; bad < 3; bad++ {
		var found []*report.Report
		for i := range 3 {
			v := assess.Verdict{
				Passed: i != bad,
				Rules:  []assess.RuleVerdict{{Rule: "one", Passed: true}, {Rule: "two", Found: assess.Float(i), Passed: i != bad}}}
			r := &report.Report{Gate: v, Records: report.Records{Counts: microdata.Counts{Read: int64(i)}}}
			if i == bad {
				r.Withheld = account.WithheldBecause(v)
			}
			found = append(found, r)
		}
		rep := together(found)
		if rep.Gate.Passed != (bad < 0) || (rep.Withheld == "") != (bad < 0) || len(rep.Gate.Rules) != 2 ||
			!rep.Gate.Rules[0].Passed || rep.Gate.Rules[1].Passed != (bad < 0) {
			t.Errorf("copy %d refused: gate %+v, withheld because %q", bad+1, rep.Gate, rep.Withheld)
		}
		if bad >= 0 && (int(rep.Records.Read) != bad || int(rep.Gate.Rules[1].Found) != bad || rep.Copies[bad].Passed ||
			!rep.Copies[(bad+1)%3].Passed) {
			t.Errorf("copy %d refused: the report is that of another copy: %+v", bad+1, rep)
		}
	}
	dir := t.TempDir()
	res, err := Run(context.Background(), copiesOf(t, dir, "", "gate: {rules: [{column: income, max_risk: 1e-30}]}\n"),
		pipeline.Options{})
	if err != nil || !res.Refused() {
		t.Fatal(res, err)
	}
	if want := []string{"r.html", "r.json"}; !slices.Equal(filesIn(t, dir), want) {
		t.Errorf("the folder has the files %v, want %v", filesIn(t, dir), want)
	}
}

// countedCopies returns the copies of a configuration before their release, and their context, with
// a source and sinks that count their calls.
func countedCopies(t *testing.T, p *config.Pipeline, calls *faulty.Calls) (context.Context, *copies) {
	t.Helper()
	ctx, o := pipeline.Options{}.Ready(t.Context())
	key, err := pipeline.Admit(p, o)
	if err != nil {
		t.Fatal(err)
	}
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	c := newCopies(p, o, key, calls.Source(src), time.Now())
	c.prepared = func(r *run) { countSink(r, calls) }
	return ctx, c
}

// countSink counts the calls of a run's sink; only its plan is changed.
func countSink(r *run, calls *faulty.Calls) {
	counted := *r.masked.Plan.Config
	counted.Sink.Config = calls.Sink(counted.Sink.Config)
	r.masked.Plan.Config = &counted
}

// If any call to the source or a sink of any copy fails, or the run is cancelled at any point, no
// copy gets its name.
func TestCopiesArePublishedAllOrNone(t *testing.T) {
	attempt := func(name string, n int) (map[string]int, []string, error) {
		dir := t.TempDir()
		p := copiesOf(t, dir, "", "")
		calls := &faulty.Calls{Name: name, N: n}
		ctx, c := countedCopies(t, p, calls)
		_, err := c.release(ctx)
		if err != nil {
			err = errors.Join(err, c.abort())
		}
		return calls.Counts(), filesIn(t, dir), err
	}
	counts, left, err := attempt("", 0)
	if err != nil || counts["commit"] != 3 || len(left) != 7 {
		t.Fatalf("calls %v, files %v, error %v; want 3 commits and 7 files", counts, left, err)
	}
	tried := 0
	for name, n := range faulty.Each(counts) {
		if tried++; testing.Short() && counts[name] > 3 && n > 1 && n < counts[name] && tried%3 > 0 {
			continue // the first, the last, and of those between one of three
		}
		_, left, err := attempt(name, n)
		if name == "close the reader" && err == nil {
			continue
		}
		if err == nil || len(left) > 0 {
			t.Errorf("%s, call %d fails: files %v and error %v, want no files and an error", name, n, left, err)
		}
	}
}
