package account

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// For each masked column, the line of a snapshot gives the value that an intruder knows best, whichever risk that is
// but one that tells it, and no more digits than a summary.
func TestSnapshotsInTheLog(t *testing.T) {
	masked := func(name string, rmse ...float64) assess.ColumnMeasures {
		c := assess.ColumnMeasures{Name: name, Masked: true, Original: assess.Moments{N: 90_000},
			Utility: assess.Utility{Efficiency: 0.7512}, Risk: []assess.Risk{
				{Target: "typical", Knowledge: assess.KnowledgeIndex, RMSE: 2.5},
				{Target: "p50", Knowledge: assess.KnowledgeMean, RMSE: 0.123456789, Replicates: 9}}}
		for i, v := range rmse {
			c.Risk = append(c.Risk,
				assess.Risk{Target: []string{"min", "p50", "max"}[i], Knowledge: assess.KnowledgeIndex,
					RMSE: assess.Float(v) + 0.0012, Replicates: 9})
		}
		return c
	}
	rep := &report.Report{Snapshot: 4, Records: report.Records{Counts: microdata.Counts{Read: 900}}}
	rep.SetMeasures(
		&assess.Measures{
			Columns: []assess.ColumnMeasures{masked("first", 1, 2, 3), {Name: "unmasked", Risk: []assess.Risk{{RMSE: 1}}},
				masked("last", 3, 2, 1), masked("middle", 3, 1, 2), masked("same", 2, 2, 2)}})
	var out bytes.Buffer
	LogSnapshot(zerolog.New(&out), zerolog.WarnLevel, rep)
	type line struct {
		Level, Column, Target, Knowledge, Message string
		Snapshot, Records                         int64
		Efficiency, RMSE                          float64
	}
	var got []line
	for d := json.NewDecoder(&out); d.More(); {
		var l line
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	want := func(column, target string, rmse float64) line {
		return line{"warn", column, target, assess.KnowledgeIndex, "snapshot", 4, 900, 0.75, rmse}
	}
	if all := []line{want("first", "min", 1), want("last", "max", 1), want("middle", "p50", 1),
		want("same", "min", 2)}; !slices.Equal(got, all) {
		t.Errorf("the lines are %+v, want %+v", got, all)
	}
}

// All files are closed, and errors are reported.
func TestFilesAreClosed(t *testing.T) {
	var files []*os.File
	for _, name := range []string{"a", "b", "c"} {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if err := CloseAll(files); err != nil {
		t.Error(err)
	}
	if err := CloseAll(files); err == nil || strings.Count(err.Error(), "already closed") != 3 {
		t.Errorf("closing all three files a second time: error is %v, want \"already closed\" three times", err)
	}
	if err := CloseAll(nil); err != nil {
		t.Error(err)
	}
}

// Any file of a report may fail when it is created or renamed. The error names it, and no temporary
// file remains. The public files come first; without a release they are removed.
func TestFilesOfAReport(t *testing.T) {
	names := []string{"page/r.html", "json/r.json", "board/b.html"}
	reports := func(dir, other string, at int) config.Report {
		at0 := slices.Clone(names)
		if at >= 0 {
			at0[at] = other
		}
		return config.Report{HTML: filepath.Join(dir, at0[0]), JSON: filepath.Join(dir, at0[1]),
			Board: filepath.Join(dir, at0[2])}
	}
	left := func(dir string) (files []string) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() && e.Name() != "file" {
				files = append(files, e.Name())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	for at := range names {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var f Files
		if err := f.Create(reports(dir, "file/below", at)); err == nil ||
			!strings.Contains(err.Error(), filepath.Join(dir, "file")) {
			t.Errorf("%s below a file: Create returns %v, want an error that names the file", names[at], err)
		}
		if err := f.Abort(); err != nil || len(left(dir)) > 0 {
			t.Errorf("%s below a file: Abort returns %v and leaves the files %v, want none", names[at], err, left(dir))
		}
	}
	rep := &report.Report{Name: "n", Gate: assess.Verdict{Passed: true}}
	rep.SetMeasures(&assess.Measures{})
	for _, taken := range append([]string{"", "page/r.public.html", "json/r.public.json"}, names...) {
		for _, released := range []bool{true, false} {
			dir := t.TempDir()
			var f Files
			if err := f.Create(reports(dir, "", -1)); err != nil {
				t.Fatal(err)
			}
			if err := f.Write(rep, nil, nil); err != nil {
				t.Fatal(err)
			}
			if taken != "" {
				if err := os.MkdirAll(filepath.Join(dir, taken, "a folder"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			paths, err := f.Commit(released)
			var got []string
			for _, path := range paths {
				got = append(got, filepath.Base(path))
			}
			all := []string{"r.public.html", "r.public.json", "b.html", "r.html", "r.json"}
			if !released {
				all = all[2:]
			}
			at := slices.Index(all, filepath.Base(taken))
			if at < 0 {
				at = len(all)
			}
			want := slices.Clone(all[:at])
			if released && at < len(all) { // the others belong to what readers see
				want = append(want, all[at+1:]...)
			}
			if (err != nil) != (at < len(all)) || !slices.Equal(got, want) && len(want) > 0 || len(want) == 0 && len(got) > 0 {
				t.Errorf("the name %q is taken, released %v: Commit names the files %v, error %v", taken, released, got, err)
			}
			if err := f.Abort(); err != nil {
				t.Error(err)
			}
			kept := publish.TempName(filepath.Join(dir, taken)) // a report whose release readers see, for a repair
			if isKept := taken != "" && publish.Exists(t.Context(), kept); isKept != (released && at < len(all)) {
				t.Errorf("the name %q is taken, released %v: left under its temporary name: %v", taken, released, isKept)
			} else if isKept {
				if err := os.Remove(kept); err != nil {
					t.Fatal(err)
				}
			}
			if files := left(dir); len(files) != len(want) {
				t.Errorf("the name %q is taken, released %v: the folder has the files %v", taken, released, files)
			}
		}
	}
}

// A refusal names all rules that fail, and no other rule.
func TestWithheldBecause(t *testing.T) {
	v := assess.Verdict{Rules: []assess.RuleVerdict{{Rule: "a"}, {Rule: "b", Passed: true}, {Rule: "c"}}}
	if got := WithheldBecause(v); got != "does not hold: a; c" {
		t.Errorf("WithheldBecause returns %q", got)
	}
}
