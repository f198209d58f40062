package filejob

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// reported is a pipeline of three records with a report, public too, and the paths of a name in its folder.
func reported(t *testing.T, page bool, gate string) (p *config.Pipeline, at func(name string) string) {
	t.Helper()
	dir := t.TempDir()
	at = func(name string) string { return filepath.Join(dir, name) }
	write(t, at("in.csv"),
		[]byte("id,income,debt,age,region\nR1,1000.5,2,30,north\nR2,2500.5,3,31,south\nR3,1700.25,4,32,north\n"))
	html := ""
	if page {
		html = ", html: " + at("r.html")
	}
	return parse(t, dir,
		setup{source: "csv: {path: " + at("in.csv") + "}", sink: "csv: {path: " + at("out.csv") + "}", masks: noiseMasks,
			extra: "report: {json: " + at("r.json") + html + ", publish: [sd]}\n" + gate}), at
}

// A run that was ended between the names of the release and of its reports has left these under their temporary
// names: with repair they get their own, unless they are cut off or of another release.
func TestRepair(t *testing.T) {
	p, at := reported(t, true, "")
	if _, err := Run(t.Context(), p, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	reports := []string{"r.json", "r.public.json", "r.html", "r.public.html"}
	whole := map[string][]byte{}
	for _, name := range reports {
		text, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		whole[name] = text
	}
	if done, err := Repair(t.Context(), at("r.json")); err != nil || done != nil {
		t.Errorf("of reports that have their names: %v, %v", done, err)
	}
	release, err := os.ReadFile(at("out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	unname := func() {
		for _, name := range reports {
			if err := os.Remove(at(name)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			write(t, publish.TempName(at(name)), whole[name])
			if strings.Contains(name, "public") { // as it is when it is complete
				if err := os.Chmod(publish.TempName(at(name)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		write(t, at("out.csv"), release)
	}
	for _, name := range []string{"r.json", "r.html"} {
		unname()
		public := strings.Replace(name, "r.", "r.public.", 1)
		if done, err := Repair(t.Context(), at(name)); err != nil || !slices.Equal(done, []string{at(name), at(public)}) {
			t.Errorf("%s: %v, %v", name, done, err)
		}
		for _, name := range []string{name, public} {
			if text, err := os.ReadFile(at(name)); err != nil || string(text) != string(whole[name]) {
				t.Errorf("%s is not what the run has written (%v)", name, err)
			}
		}
		if v, err := Verify(t.Context(), at(public), ""); err != nil || !v.Agree {
			t.Errorf("%s: %+v, %v", public, v, err)
		}

		for _, asked := range []string{name, public} { // the public report alone
			unname()
			if done, err := Repair(t.Context(), at(name)); err != nil || len(done) != 2 {
				t.Fatal(done, err)
			}
			if err := os.Rename(at(public), publish.TempName(at(public))); err != nil {
				t.Fatal(err)
			}
			if done, err := Repair(t.Context(), at(asked)); err != nil || !slices.Equal(done, []string{at(public)}) {
				t.Errorf("%s for %s: %v, %v", asked, public, done, err)
			}
			for name, confidential := range map[string]bool{name: true, public: false} {
				if info, err := os.Stat(at(name)); err != nil || (info.Mode().Perm() == 0o600) != confidential {
					t.Errorf("%s has the mode %v (%v)", name, info.Mode(), err)
				}
			}
		}

		unname()
		write(t, publish.TempName(at(name)), whole[name][:len(whole[name])-20])
		if done, err := Repair(t.Context(), at(name)); err == nil || done != nil || publish.Exists(t.Context(), at(name)) {
			t.Errorf("%s, cut off: %v, %v", name, done, err)
		}
		unname()
		write(t, at("out.csv"), append(slices.Clone(release), "R9,1,1,1,west\n"...))
		if done, err := Repair(t.Context(), at(name)); err == nil || done != nil || publish.Exists(t.Context(), at(name)) ||
			publish.Exists(t.Context(), at(public)) {
			t.Errorf("%s, of another release: %v, %v", name, done, err)
		}
		unname()
		if err := os.Remove(publish.TempName(at(name))); err != nil {
			t.Fatal(err)
		}
		if done, err := Repair(t.Context(), at(name)); err == nil || done != nil || publish.Exists(t.Context(), at(public)) {
			t.Errorf("%s, of which nothing is left: %v, %v", name, done, err)
		}
	}
}

// Of a release that was withheld the confidential report gets its name, and nothing for the public does.
func TestRepairOfWhatWasWithheld(t *testing.T) {
	p, at := reported(t, false, "gate: {rules: [{column: income, min_rmse: 1000000}]}\n")
	if r, err := Run(t.Context(), p, pipeline.Options{}); err != nil || !r.Refused() {
		t.Fatal(r, err)
	}
	text, err := os.ReadFile(at("r.json"))
	if err != nil {
		t.Fatal(err)
	}
	{ // the report has its name already
		write(t, publish.TempName(at("r.public.json")), text)
		done, err := Repair(t.Context(), at("r.json"))
		if err != nil || len(done) > 0 || publish.Exists(t.Context(), at("r.public.json")) {
			t.Errorf("%v, %v", done, err)
		}
	}
	if err := os.Rename(at("r.json"), publish.TempName(at("r.json"))); err != nil {
		t.Fatal(err)
	}
	if done, err := Repair(t.Context(), at("r.json")); err != nil || !slices.Equal(done, []string{at("r.json")}) ||
		publish.Exists(t.Context(), at("r.public.json")) {
		t.Errorf("%v, %v", done, err)
	}
}

// A run was killed when its release had its name and its reports had none. The next run over the same names
// fails after it has opened its files: the release that is there has its reports then.
func TestTheNextRunRepairs(t *testing.T) {
	p, at := reported(t, true, "")
	if r, err := Run(t.Context(), p, pipeline.Options{}); err != nil || r.Refused() {
		t.Fatal(r, err)
	}
	reports := []string{"r.json", "r.public.json", "r.html", "r.public.html"}
	left := map[string]string{}
	for _, name := range reports {
		text, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		left[name] = string(text)
		if err := os.Rename(at(name), publish.TempName(at(name))); err != nil {
			t.Fatal(err)
		}
	}
	var next account.Files
	if err := errors.Join(createReports(t.Context(), &next, p.Report), next.Abort()); err != nil {
		t.Fatal(err)
	}
	for _, name := range reports {
		if text, err := os.ReadFile(at(name)); err != nil || string(text) != left[name] {
			t.Errorf("%s is not what the killed run has written (%v)", name, err)
		}
	}
	for _, name := range []string{"r.json", "r.html"} {
		if v, err := Verify(t.Context(), at(name), ""); err != nil || !v.Agree {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// Of a release to objects that was withheld no receipt is left that could make a report public, and the next run over
// the same names completes what a killed one has left.
func TestRepairOfObjects(t *testing.T) {
	for _, gate := range []string{"", "gate: {rules: [{column: income, min_rmse: 1000000}]}\n"} {
		s := newStores(t, "s3", 1)
		dir := t.TempDir()
		write(t, filepath.Join(dir, "in.csv"),
			[]byte("id,income,debt,age,region\nR1,1000.5,2,30,north\nR2,2500.5,3,31,south\nR3,1700.25,4,32,north\n"))
		p := parse(t, dir,
			setup{source: "csv: {path: " + filepath.Join(dir, "in.csv") + "}", sink: "csv: {path: 's3://data0/out.csv'}",
				masks: noiseMasks,
				extra: "report: {json: 's3://data0/r.json', publish: [sd]}\n" + gate})
		var left []string
		public := false // a receipt of the public report was left
		s.server.Failing(func(r *http.Request) *objecttest.Fault {
			public = public || r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/.r.public.json.sdlfilter-tmp")
			// The confidential report alone cannot get its name.
			if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/r.json") || !r.URL.Query().Has("uploadId") {
				return nil
			}
			if left == nil {
				left = s.server.Keys("data0")
			}
			return &objecttest.Fault{Status: http.StatusForbidden}
		})
		if _, err := Run(t.Context(), p, pipeline.Options{}); err == nil {
			t.Fatal("it is complete")
		}
		withheld := gate != ""
		s.server.Failing(nil)
		if public == withheld || !slices.Contains(left, ".r.json.sdlfilter-tmp") {
			t.Errorf("withheld %v: a receipt of the public report: %v; there are %q", withheld, public, left)
		}
		var next account.Files
		if err := errors.Join(createReports(t.Context(), &next, p.Report), next.Abort()); err != nil {
			t.Fatal(err)
		}
		// A run that withholds takes back what has no name; what a release has left is completed.
		if v, err := Verify(t.Context(), "s3://data0/r.json", ""); !withheld && (err != nil || !v.Agree) {
			t.Errorf("withheld %v: %+v, %v", withheld, v, err)
		}
		if there := s.server.Get("data0", "r.public.json") != nil; there == withheld {
			t.Errorf("withheld %v: a public report is there: %v", withheld, there)
		}
	}
}
