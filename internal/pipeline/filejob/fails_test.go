package filejob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/plantest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// If a job lacks anything that it needs before reading a record, each user gets the error: a run, a
// preview and a connection test.
func TestWhatAJobNeeds(t *testing.T) {
	const rows = "id,income,debt,age,region\nR1,1.5,2,30,north\nR2,2.5,3,31,south\nR3,4.5,9,32,south\n"
	for _, c := range []struct {
		name, rows, extra, want string
		change                  func(dir string) error
	}{
		{name: "nothing", rows: rows},
		{name: "a key", rows: rows, change: func(dir string) error {
			return os.Remove(filepath.Join(dir, "k"))
		}, want: "key"},
		{name: "a source", rows: rows, change: func(dir string) error {
			return os.Remove(filepath.Join(dir, "in.csv"))
		}, want: "source: "},
		{name: "its columns", rows: strings.Replace(rows, "income", "wealth", 1), want: "columns"},
		{name: "numbers", rows: strings.Replace(rows, "2.5", "many", 1), want: "masks[0].bias.columns: income is string"},
		{name: "a profile", rows: rows, extra: "profile: DIR/gone.yaml\n", want: "profile: "},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "in.csv"), []byte(c.rows))
		p := parse(t, dir,
			setup{source: "csv: {path: " + filepath.Join(dir, "in.csv") + "}",
				sink: "csv: {path: " + filepath.Join(dir, "out.csv") + "}", masks: noiseMasks,
				extra: strings.ReplaceAll(c.extra, "DIR", dir)})
		if c.change != nil {
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
		}
		judge := func(what string, err error) {
			t.Helper()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: error %v, want %q", c.name, what, err, c.want)
			}
		}
		judge("connecting", Connect(t.Context(), p))
		view, err := NewPreview(t.Context(), p, 2, new(pipeline.Progress))
		if judge("a preview", err); err != nil && view != nil {
			t.Errorf("%s: NewPreview returns both a preview and an error", c.name)
		}
		result, err := Run(t.Context(), p, pipeline.Options{})
		if judge("a run", err); err != nil && result != nil {
			t.Errorf("%s: Run returns both a result and an error", c.name)
		}
	}
}

// A source of folders named by a column can be written into such folders only if that column is
// released unchanged.
func TestFoldersNeedTheirColumn(t *testing.T) {
	dir := t.TempDir()
	for _, region := range []string{"north", "south"} {
		folder := filepath.Join(dir, "in", "region="+region)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "x.csv"),
			[]byte("id,income,debt,age,region\nR1,1.5,2,30,"+region+"\nR2,2.5,3,31,"+region+"\n"))
	}
	plan := func(role, masks string) error {
		t.Helper()
		p := parse(t, dir,
			setup{source: "csv: {path: " + filepath.Join(dir, "in") + "}",
				sink: "csv: {path: " + filepath.Join(dir, "out") + "}", masks: masks})
		p.Columns.Named("region").Role = microdata.Role(role)
		return checkPartitions(plantest.New(t, p))
	}
	if err := plan("key", noiseMasks); err != nil {
		t.Errorf("a released column without a mask: error %v, want none", err)
	}
	for name, err := range map[string]error{"an identifier": plan("identifier", noiseMasks),
		"masked": plan("key", noiseMasks+"  - recode: {columns: [region], map: {north: n, south: s}}\n")} {
		if err == nil ||
			!strings.HasPrefix(err.Error(), "sink: the source's folders are named by region, which is not released u") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
