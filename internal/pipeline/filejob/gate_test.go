package filejob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
)

// runWithGate returns a run with a gate, a report and a quarantine.
func runWithGate(t *testing.T, dir, gate string) *account.Result {
	t.Helper()
	p := parse(t, dir, setup{
		source: "csv: {path: " + filepath.Join(dir, "in.csv") + ", types: {debt: float64}}",
		sink:   "csv: {path: " + filepath.Join(dir, "out.csv") + "}", masks: noiseMasks,
		extra: fmt.Sprintf("gate: {%s}\nreport: {json: %s, publish: [sd]}\nquarantine: {jsonl: %s}\n", gate,
			filepath.Join(dir, "report.json"), filepath.Join(dir, "bad.jsonl")),
	})
	result, err := Run(context.Background(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// filesIn returns the names in a folder, except the files that the tests created.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "in.csv" && e.Name() != "k" {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	return names
}

// If any of several rules fails, the release is not published; the quarantine and the confidential
// report are. An existing release stays.
func TestRefusedReleaseIsNotPublished(t *testing.T) {
	const satisfied, breaks = "{column: income, target: max, knowledge: index, min_rmse: 1}",
		"{column: income, target: max, knowledge: index, min_rmse: 1e9}"
	input := func(dir string) {
		var rows strings.Builder
		rows.WriteString("id,income,debt,age,region\n")
		for i := range 400 {
			fmt.Fprintf(&rows, "R%03d,%d.50,%d,%d,north\n", i, 1000+37*i, i, 20+i%50)
		}
		rows.WriteString("R400,1.5,canary,20,north\n")
		write(t, filepath.Join(dir, "in.csv"), []byte(rows.String()))
	}
	for _, c := range []struct {
		name, gate string
		passed     bool
	}{
		{"no rule", "", true},
		{"two that hold", "rules: [" + satisfied + ", " + satisfied + "]", true},
		{"the first is broken", "rules: [" + breaks + ", " + satisfied + "]", false},
		{"the last is broken", "rules: [" + satisfied + ", " + breaks + "]", false},
		{"the one in the middle is broken", "rules: [" + satisfied + ", " + breaks + ", " + satisfied + "]", false},
		{"too much is lost", "max_quarantined: 0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			input(dir)
			result := runWithGate(t, dir, c.gate)
			if result.Refused() == c.passed || result.Report.Gate.Passed != c.passed ||
				(result.Report.Withheld == "") != c.passed {
				t.Errorf("refused %v, withheld because %q, gate %+v", result.Refused(), result.Report.Withheld, result.Report.Gate)
			}
			want := []string{"bad.jsonl", "out.csv", "report.json", "report.public.json"}
			if !c.passed {
				want = []string{"bad.jsonl", "report.json"}
			}
			if got := filesIn(t, dir); !slices.Equal(got, want) {
				t.Errorf("the folder has the files %q, want %q", got, want)
			}
			var listed []string
			for _, path := range result.Files {
				listed = append(listed, filepath.Base(path))
			}
			if sort.Strings(listed); !slices.Equal(listed, want) {
				t.Errorf("the result lists the files %q, want %q", listed, want)
			}
			if c.passed {
				if rows := rowsOf(t, filepath.Join(dir, "out.csv")); len(rows) != 400 || strings.Contains(rows[0], "id=") {
					t.Errorf("%d records, want 400 without id; the first is %s", len(rows), rows[0])
				}
			}
		})
	}
	t.Run("an earlier release", func(t *testing.T) {
		dir := t.TempDir()
		input(dir)
		runWithGate(t, dir, "")
		before, err := os.ReadFile(filepath.Join(dir, "out.csv"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "in.csv"),
			[]byte("id,income,debt,age,region\nR1,1,2,30,north\nR2,2,3,30,north\nR3,4,4,31,north\n"))
		if !runWithGate(t, dir, "rules: ["+breaks+"]").Refused() {
			t.Error("the run is not refused")
		}
		after, err := os.ReadFile(filepath.Join(dir, "out.csv"))
		if err != nil || string(after) != string(before) {
			t.Errorf("the earlier release has changed (error %v)", err)
		}
	})
}

// A column is released if it is listed and is not an identifier. A column that is not listed is an
// error, or is dropped with `unlisted: drop`, at any place.
func TestUnlistedColumnsDoNotPass(t *testing.T) {
	for _, unlisted := range []string{"first,", ",last", ",middle"} {
		for _, format := range []string{"csv", "jsonl"} {
			t.Run(strings.Trim(unlisted, ",")+" "+format, func(t *testing.T) {
				dir := t.TempDir()
				header, row := "id,income,debt,age,region", "R%d,%d,2,30,north"
				switch {
				case strings.HasSuffix(unlisted, ","):
					header, row = unlisted+header, "canary,"+row
				case unlisted == ",middle":
					header, row = "id,income,debt,middle,age,region", "R%d,%d,2,canary,30,north"
				default:
					header, row = header+unlisted, row+",canary"
				}
				text := header + "\n"
				for i := range 50 {
					text += fmt.Sprintf(row, i, 1000+i) + "\n"
				}
				write(t, filepath.Join(dir, "in.csv"), []byte(text))
				out := filepath.Join(dir, "out."+format)
				s := setup{source: "csv: {path: " + filepath.Join(dir, "in.csv") + "}", sink: format + ": {path: " + out + "}",
					masks: noiseMasks}
				_, err := Run(context.Background(), parse(t, dir, s), pipeline.Options{})
				var errs config.Errors
				place := fmt.Sprintf("column %d", slices.Index(strings.Split(header, ","), strings.Trim(unlisted, ","))+1)
				if err == nil || !errors.As(err, &errs) || !strings.Contains(err.Error(), "not listed: "+place+" (") &&
					!strings.Contains(err.Error(), "not listed: "+place+";") ||
					strings.Contains(err.Error(), strings.Trim(unlisted, ",")) {
					t.Errorf("an unlisted column: error %v, want config.Errors that tells its place, %s, and not its name", err, place)
				}
				if _, err := os.Stat(out); err == nil {
					t.Error("the run left a release in spite of the error")
				}
				s.extra = "unlisted: drop"
				if _, err := Run(context.Background(), parse(t, dir, s), pipeline.Options{}); err != nil {
					t.Fatal(err)
				}
				released, err := os.ReadFile(out)
				if err != nil || strings.Contains(string(released), "canary") ||
					strings.Contains(string(released), strings.Trim(unlisted, ",")) || strings.Contains(string(released), "R1") ||
					strings.Contains(string(released), `id`) {
					t.Errorf("error %v, or the release has an unlisted column or an identifier: %.200s", err, released)
				}
				if rows := rowsOf(t, out); len(rows) != 50 || !strings.HasPrefix(rows[0], "age=30 debt=") ||
					!strings.HasSuffix(strings.TrimSpace(rows[49]), "region=north") {
					t.Errorf("%d rows, want 50; the first is %s", len(rows), rows[0])
				}
			})
		}
	}
}
