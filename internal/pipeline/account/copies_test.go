package account

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Each form of a report on several releases lists all of them, in order, relative to its own folder
// (the public report does not reveal parent folders). If a release is not a file, the list is
// omitted.
func TestReportsOfCopies(t *testing.T) {
	passed := func() *report.Report {
		rep := &report.Report{Name: "n", Gate: assess.Verdict{Passed: true}}
		rep.SetMeasures(&assess.Measures{})
		return rep
	}
	dir := t.TempDir()
	out := func(name string) string { return filepath.Join(dir, "out", name) }
	one := func(number, digest string, bytes int64) *publish.Content {
		return &publish.Content{Path: out("r-" + number + ".csv"),
			Files: []publish.FileContent{{Name: "r-" + number + ".csv", Bytes: bytes, SHA256: digest}}}
	}
	var f Files
	if err := f.Create(
		config.Report{HTML: filepath.Join(dir, "r.html"), JSON: filepath.Join(dir, "json", "r.json")}); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteCopies(passed(), out("r-{copy}.csv"), []*publish.Content{one("1", "aa", 7), one("2", "bb", 5)},
		nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(true); err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{"r.html": "out/", "r.public.html": "out/", "json/r.json": "../out/",
		"json/r.public.json": ""} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		id, err := report.ReadRelease(text)
		if err != nil || id.Release == nil || id.Withheld || len(id.Release.Copies) != 2 {
			t.Errorf("%s: ReadRelease returns %+v and error %v, want a release of 2 copies", name, id, err)
			continue
		}
		r := id.Release
		if first, last := r.Copies[0], r.Copies[1]; r.Path != folder+"r-{copy}.csv" || r.Bytes != 12 ||
			first.Path != folder+"r-1.csv" || first.Bytes != 7 || last.Path != folder+"r-2.csv" || last.Bytes != 5 ||
			first.SHA256 == last.SHA256 {
			t.Errorf("%s: the report describes the release %+v, want the two copies that were written", name, r)
		}
	}
	var g Files
	if err := g.Create(config.Report{JSON: filepath.Join(dir, "topics.json")}); err != nil {
		t.Fatal(err)
	}
	rep := passed()
	if err := g.WriteCopies(rep, "", []*publish.Content{one("1", "aa", 7), nil}, nil); err != nil || rep.Release != nil {
		t.Errorf("with a copy that is not a file, the report describes the release %+v (error %v), want none", rep.Release,
			err)
	}
	if err := g.Abort(); err != nil {
		t.Error(err)
	}
}

// If any of the files cannot be written or renamed, that is an error.
func TestReportsThatCannotBeWritten(t *testing.T) {
	for which := range 5 {
		for _, closed := range []bool{true, false} {
			dir := t.TempDir()
			var f Files
			if err := f.Create(config.Report{HTML: filepath.Join(dir, "r.html"), JSON: filepath.Join(dir, "r.json"),
				Board: filepath.Join(dir, "b.html")}); err != nil {
				t.Fatal(err)
			}
			lost := []*publish.File{f.html, f.board, f.publicHTML, f.publicJSON, f.json}[which]
			var err error
			if closed {
				err = lost.Close()
			} else {
				err = os.Remove(lost.Name())
			}
			if err != nil {
				t.Fatal(err)
			}
			rep := &report.Report{Gate: assess.Verdict{Passed: true}}
			rep.SetMeasures(&assess.Measures{})
			if err := f.Write(rep, nil, nil); err == nil || closed && !errors.Is(err, os.ErrClosed) {
				t.Errorf("file %d, closed %v: Write returns %v, want an error", which, closed, err)
			}
			if err := f.Abort(); closed != (err != nil) {
				t.Errorf("file %d, closed %v: Abort returns %v, want an error only if the file is closed", which, closed, err)
			}
			if left := filesIn(t, dir); !closed && len(left) > 0 {
				t.Errorf("file %d: after Abort the folder has the files %v, want none", which, left)
			}
		}
	}
	dir := t.TempDir()
	var f Files
	if err := f.Create(config.Report{JSON: filepath.Join(dir, "nan.json")}); err != nil {
		t.Fatal(err)
	}
	// which JSON has no word for
	rep := &report.Report{Gate: assess.Verdict{Passed: true},
		Masks: []report.Mask{{Mask: "noise", Parameters: report.Ordered[any]{{Name: "sd", Value: math.NaN()}}}}}
	rep.SetMeasures(&assess.Measures{})
	if err := f.Write(rep, nil, nil); err == nil || errors.Is(err, os.ErrClosed) {
		t.Errorf("a report that cannot be written as JSON: Write returns %v, want the error of the encoding", err)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	path := filepath.Join(dir, "map.json")
	for _, text := range []string{"", "no map"} {
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var f Files
		var data *pipeline.DataError
		if err := f.Create(config.Report{Map: path, JSON: filepath.Join(dir, "r.json")}); !errors.As(err, &data) ||
			!strings.HasPrefix(err.Error(), "map: ") || f.json != nil {
			t.Errorf("map file with content %q: Create returns %v, want a DataError that begins with \"map: \"", text, err)
		}
	}
}

// The warnings of each column, of its values and of the order of the records stand before all
// others, also in a snapshot.
func TestWarningsOfColumns(t *testing.T) {
	r := reporterOf(t, noiseOn("wage"))
	r.Interim = true
	m := &assess.Measures{Records: 9, Columns: []assess.ColumnMeasures{{Name: "wage"}, {Name: "debt"}}}
	for i := range m.Columns {
		m.Columns[i].Risk = []assess.Risk{{Target: assess.TargetTypical, Knowledge: assess.KnowledgeOrder, RMSE: 3}}
	}
	got := r.warnings(m, Effect{})
	if len(got) != 2 || !strings.HasPrefix(got[0], "wage: the order of the records gives values to within 3") ||
		!strings.HasPrefix(got[1], "debt: the order") {
		t.Errorf("warnings are %q, want one about the order for wage and one for debt", got)
	}
}

// filesIn returns the names in a folder, including hidden ones.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
