package filejob

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// The temporary quarantine for a topic is deleted once, however often this is requested.
func TestQuarantineIsLeftOnce(t *testing.T) {
	spool, err := os.Create(filepath.Join(t.TempDir(), "spool"))
	if err != nil {
		t.Fatal(err)
	}
	q := &quarantine{spool: spool}
	if err := errors.Join(q.abort(), q.abort()); err != nil {
		t.Error(err)
	}
	if _, err := spool.WriteString("x"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the spool file is not closed: Write returns %v", err)
	}
}

// If any snapshot cannot be written, also the last one after all records, the run ends and there is
// no release.
func TestSnapshotsThatCannotBeWritten(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("id,income,debt,age,region\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "R%d,%d.50,%d,%d,r%d\n", i, 1000+37*i, i, 20+i%5, i%3)
	}
	attempt := func(name string, n int) (lines int, counts map[string]int, err error) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "in.csv"), []byte(rows.String()))
		p := parse(t, dir,
			setup{source: "csv: {path: " + dir + "/in.csv}", sink: "csv: {path: " + dir + "/out.csv}", masks: noiseMasks,
				extra: fmt.Sprintf("assess: {every: {records: 25}, emit: [{jsonl: %s/s.jsonl}]}\n", dir)})
		var r *run
		calls := &faulty.Calls{Name: name, N: n, Cancel: func() {
			for _, f := range r.snapshots.files {
				f.Close() // as from the operating system
			}
		}}
		_, err = runCounted(t.Context(), calls, p, func(of *run) { r = of })
		text, _ := os.ReadFile(filepath.Join(dir, "s.jsonl"))
		if left := filesIn(t, dir); err != nil && slices.Contains(left, "out.csv") {
			t.Errorf("the run leaves the files %v, want no release", left)
		}
		return strings.Count(string(text), "\n"), calls.Counts(), err
	}
	lines, counts, err := attempt("", 0)
	if err != nil || lines != 3 {
		t.Fatalf("%d snapshots (error %v), want 3", lines, err)
	}
	for _, c := range []struct {
		name string
		n    int
		want int
	}{{"encode", 1, 0}, {"close the reader", counts["close the reader"], 2}} {
		if lines, _, err := attempt(c.name, c.n); !errors.Is(err, os.ErrClosed) ||
			!strings.Contains(err.Error(), "assess.emit: ") || lines != c.want {
			t.Errorf("fault from call %d of %s on: %d snapshots written, error %v", c.n, c.name, lines, err)
		}
	}
}

// With a snapshot for every record, there is one for each, however many records a block has.
func TestSnapshotsOfEveryRecord(t *testing.T) {
	dir,
		p := job(t, "csv: {path: DIR/out.csv}", noiseMasks, "assess: {every: {records: 1}, emit: [{jsonl: DIR/s.jsonl}]}\n")
	write(t, filepath.Join(dir, "in.csv"), tableOf(4, 30))
	if _, err := Run(t.Context(), p, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "s.jsonl")); err != nil || strings.Count(string(text), "\n") != 4 {
		t.Errorf("error %v, or not 4 snapshots:\n%s", err, text)
	}
}

// A rehearsal judges like the run: by the drawn, lost and omitted records, none of them counted
// twice.
func TestRehearsalsJudgeAsRuns(t *testing.T) {
	for name, c := range map[string]struct {
		rate   string
		passed bool
	}{"some are drawn": {"0.5", true}, "none is drawn": {"1e-9", false}} {
		_,
			p := job(t, "csv: {path: DIR/out.csv}",
			"\n  - sample: {rate: "+c.rate+"}\n  - noise: {columns: [income, debt], sd: 300}\n",
			"gate: {max_quarantined: 0.5}\n")
		result, err := Run(t.Context(), p, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		key, err := p.Key.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		src, err := p.Source.Config.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		progress := new(pipeline.Progress)
		verdict, err := (&Rehearsals{Source: src}).Rehearse(t.Context(), p, nil, key, progress)
		if err := errors.Join(err, src.Close()); err != nil {
			t.Fatal(err)
		}
		if verdict.Passed != c.passed || !reflect.DeepEqual(*verdict, result.Report.Gate) {
			t.Errorf("%s: the rehearsal's verdict is %+v, the run's %+v", name, *verdict, result.Report.Gate)
		}
		if progress.Records() != 60 || progress.Total() != 60 {
			t.Errorf("%s: the progress has %d of %d records, want 60 of 60", name, progress.Records(), progress.Total())
		}
	}
}
