package stream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Assessments of partitions with different columns cannot be added up: everything that needs the
// total gets an error, and nothing is judged, shown, snapshotted or reported for a part of them.
func TestPartitionsOfOtherColumnsDoNotAddUp(t *testing.T) {
	dir := t.TempDir()
	b := benchOf(t,
		fmt.Sprintf(judgedTo, "stop", 1)+fmt.Sprintf(withFiles, filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")))
	defer b.snapshots.close()
	b.feed(0, 150)
	b.standings[part(0)].commit()
	b.feed(0, 150)
	other := b.inForce
	of := *other.masked
	other.masked = &of
	other.masked.Options.Columns = append(slices.Clone(other.masked.Options.Columns),
		assess.Column{Name: "more", Index: 1})
	other.masked.Options.Beside = nil
	var err error
	if b.standings[part(1)], err = other.loadStanding(nil, 0); err != nil {
		t.Fatal(err)
	}
	if refused, err := b.judge(t.Context()); err == nil || refused || b.verdict.last != nil {
		t.Errorf("judge returns refused %v and error %v, want an error", refused, err)
	}
	if err := b.snapshots.emit(t.Context()); err == nil || b.snapshots.pending != nil || b.snapshots.pageUpdate != nil {
		t.Errorf("emit returns %v, or leaves a snapshot", err)
	}
	if rep, err := b.wholeReport(t.Context()); err == nil || rep != nil {
		t.Errorf("wholeReport returns %v, want an error and no report", err)
	}
	if result, err := b.finish(t.Context(), false); err == nil || result != nil {
		t.Errorf("finish returns %v, want an error and no result", err)
	}
	m := monitor.New(monitor.Info{Name: "s", Interval: time.Minute})
	b.options.Monitor, b.entered = m, true
	b.logText()
	b.present(t.Context())
	if said := b.logText(); m.HasSnapshot() || b.entered ||
		!strings.Contains(said, "shows no measures until records come") || !strings.Contains(said, `"level":"warn"`) {
		t.Errorf("page has a snapshot: %v, log: %s; want none and a warning", m.HasSnapshot(), said)
	}
	parts := []*assess.Accumulator{b.standings[part(0)].Whole(), b.standings[part(1)].Whole()}
	if measures, err := b.measure(t.Context(), parts); err == nil || measures != nil {
		t.Errorf("measure of different columns returns %v, want an error", err)
	}
	for _, n := range []int{0, 1} {
		measures, err := b.measure(t.Context(), parts[:n])
		if err != nil || len(measures.Columns) != n || n == 1 && measures.Columns[0].Released.N != 150 {
			t.Errorf("measure of %d parts: error %v, measures %+v", n, err, measures)
		}
	}
	b.measures = false
	if measures, err := b.measure(t.Context(), parts); err != nil || len(measures.Columns) != 0 {
		t.Errorf("without measures: error %v, or columns", err)
	}
}

// A stream without measurements counts its records: held records are not released, aborted records
// are in no count, and the report has no columns.
func TestStreamsWithoutMeasuresCount(t *testing.T) {
	b := benchOf(t, "")
	b.measures = false
	for i := range int32(2) {
		var err error
		if b.standings[part(i)], err = b.loadStanding(nil, 0); err != nil || b.standings[part(i)].Standing != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, want report.Records) {
		t.Helper()
		got := b.counts()
		if got.Read != want.Read || got.Released != want.Released || got.Quarantined != want.Quarantined ||
			got.Held != want.Held || got.LeftOut != want.LeftOut {
			t.Errorf("%s: counts are %+v, want %+v", what, got, want)
		}
	}
	b.feed(0, 40, 3)
	b.feed(1, 10)
	want("open", report.Records{Counts: microdata.Counts{Read: 50, Released: 49, Quarantined: 1}})
	if got := b.openCounts(); got.Read != 50 || got.Released != 49 {
		t.Errorf("the counts of the open transaction are %+v, want 50 read and 49 released", got)
	}
	b.standings[part(0)].commit()
	b.standings[part(1)].rollback()
	want("committed", report.Records{Counts: microdata.Counts{Read: 40, Released: 39, Quarantined: 1}})
	b.holding = true
	b.feed(1, 20, 0, 1)
	b.standings[part(1)].commit()
	b.holding = false
	want("held back", report.Records{Counts: microdata.Counts{Read: 60, Released: 39, Quarantined: 3, Held: 18}})
	if refused := b.verdictOf(); refused || b.verdict.last != nil {
		t.Error("the gate is judged although nothing is measured")
	}
	if err := b.snapshots.emit(t.Context()); err != nil || b.snapshots.pending != nil {
		t.Errorf("emit returns %v, or leaves a snapshot", err)
	}
	m := monitor.New(monitor.Info{Name: "s", Interval: time.Minute})
	b.options.Monitor, b.entered = m, true
	if b.present(t.Context()); m.HasSnapshot() || b.entered || b.logText() != "" {
		t.Error("the page is updated although nothing is measured")
	}
	rep, err := b.wholeReport(t.Context())
	if err != nil || rep.Records.Released != 39 || rep.Records.Held != 18 || len(rep.Columns) != 0 {
		t.Errorf("wholeReport returns error %v and the report %+v", err, rep)
	}
}

// An unreadable state of a page is omitted. The log names the partition and does not contain the
// content.
func TestPagesThatCannotBeResumed(t *testing.T) {
	b := benchOf(t, "")
	b.options.Monitor = monitor.New(monitor.Info{Name: "s", Interval: time.Minute})
	b.resumeLive(part(1), []byte("canary"))
	text := b.logText()
	for _, want := range []string{`"level":"warn"`, `"topic":"in"`, `"partition":1`, "the live page begins anew"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in the log: %s", want, text)
		}
	}
	if strings.Contains(text, "canary") {
		t.Error("the log contains kept data")
	}
	if b.resumeLive(part(1), nil); b.logText() != "" {
		t.Error("without kept data, the log is not empty")
	}
}

// Damaged counts are refused when a partition is entered, and in its group.
func TestCountsThatAreDamaged(t *testing.T) {
	b := benchOf(t, "")
	b.feed(0, 40, 3)
	kept := keptOf(b, 0)
	if len(kept[totalsEntry]) == 0 {
		t.Fatal("the kept state has no counts")
	}
	kept[totalsEntry] = []byte("damaged")
	clear(b.standings)
	b.failing()
	b.source = nil
	// The kept state ends before the group's offset, and the source knows its place; an empty
	// standing asks for none.
	for key := range kept {
		if key != totalsEntry {
			delete(kept, key)
		}
	}
	if err := b.enter(part(0), kafka.Arrival{}, kept); err == nil || !strings.Contains(err.Error(), "counts") ||
		strings.Contains(err.Error(), "damaged\"") {
		t.Errorf("damaged counts: enter returns %v", err)
	}
	if len(b.standings) != 0 || b.entered {
		t.Error("the partition has a standing in spite of the error")
	}
}

// If the mode of a file cannot be set, the file is closed and nothing is written: the files of a
// process in /proc have a fixed mode.
func TestFilesWhoseModeCannotBeSet(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	const path = "/proc/self/comm"
	open := func() int {
		t.Helper()
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, e := range all {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasSuffix(to, "/comm") {
				n++
			}
		}
		return n
	}
	var q streamQuarantine
	if err := q.open(config.Quarantine{JSONL: path}, nil, false); !errors.Is(err, os.ErrPermission) || q.file != nil {
		t.Errorf("a quarantine that cannot be opened: error %v, want os.ErrPermission", err)
	}
	b := benchOf(t, "")
	p := *b.config
	p.Assess.Emit = []config.Emit{{JSONL: path}}
	f := b.inForce
	f.config = &p
	if n, err := newStreamSnapshots(b.stream, &f); !errors.Is(err, os.ErrPermission) || n != nil {
		t.Errorf("snapshots that cannot be opened: error %v, want os.ErrPermission", err)
	}
	if n := open(); n > 0 {
		t.Errorf("%d files are still open", n)
	}
}

// If a file of a report cannot be created, that is an error, and no other files remain. A refused
// release has no public report.
func TestReportsThatCannotBeMade(t *testing.T) {
	b := benchOf(t, "")
	b.feed(0, 40)
	b.standings[part(0)].commit()
	for _, refused := range []bool{false, true} {
		for _, taken := range []string{"", "r.json", "r.public.json", "r.html", "b.html"} {
			dir := t.TempDir()
			r := &b.config.Report
			r.JSON, r.HTML, r.Board, r.Publish = filepath.Join(dir, "r.json"), filepath.Join(dir, "r.html"),
				filepath.Join(dir, "b.html"), []string{"sd"}
			if taken != "" {
				if err := os.Mkdir(filepath.Join(dir, taken), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			rep, err := b.wholeReport(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rep.Gate.Passed = !refused
			paths, err := b.publish(rep, refused)
			var left []string
			all, unread := os.ReadDir(dir)
			if unread != nil {
				t.Fatal(unread)
			}
			for _, e := range all {
				left = append(left, e.Name())
			}
			want := []string{taken}
			switch {
			case taken != "":
				saysAll(t, taken, err, "report: ", taken)
			case refused:
				want = []string{"b.html", "r.html", "r.json"}
			default:
				want = []string{"b.html", "r.html", "r.json", "r.public.html", "r.public.json"}
			}
			if taken == "" && (err != nil || len(paths) != len(want)) || taken != "" && paths != nil ||
				!slices.Equal(left, want) {
				t.Errorf("the name %q is taken, refused %v: named files %v, files in the folder %v, want %v, error %v", taken,
					refused, paths, left, want, err)
			}
		}
	}
}

// Blocks without records are not written to a file, and no file is created for them.
func TestBlocksWithoutRecordsGoToNoFile(t *testing.T) {
	b := benchOf(t, "")
	if err := (&fileOutlet{stream: b.stream}).write(t.Context(), &pipeline.Parcel{Block: new(microdata.Block)}); err !=
		nil {
		t.Error(err)
	}
}
