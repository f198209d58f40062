package check

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

// local replaces the paths of the containers with those of the test.
func local(dir, text string) string {
	return strings.NewReplacer("/etc/sdlfilter", dir, "/run/secrets/sdlfilter", dir, "/data/", dir+"/").Replace(text)
}

// runJob runs the containers of a job, one for each shard of the plan, with the program of
// $SDLFILTER. The plan determines the number of shards, which is at most the job's completions.
func runJob(t *testing.T, dir, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var job batchv1.Job
	if err := yaml.UnmarshalStrict(text, &job); err != nil {
		t.Fatal(err)
	}
	n := 1
	if job.Spec.Completions != nil {
		var plan struct {
			Shards []any `json:"shards"`
		}
		text, err := os.ReadFile(filepath.Join(dir, "reports/plan.json"))
		if err == nil {
			err = yaml.Unmarshal(text, &plan)
		}
		if n = len(plan.Shards); err != nil || n < 2 || n > int(*job.Spec.Completions) {
			t.Fatalf("%d shards, %v", n, err)
		}
	}
	for i := range n {
		var args []string
		for _, arg := range job.Spec.Template.Spec.Containers[0].Args {
			args = append(args, local(dir, strings.ReplaceAll(arg, "$(JOB_COMPLETION_INDEX)", fmt.Sprint(i))))
		}
		if out, err := exec.Command(os.Getenv("SDLFILTER"), args...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s, %d of %d: %v\n%s", path, i, n, err, out)
		}
	}
}

// lines returns the lines of a file, or of the files of a folder in order, without headers.
func lines(t *testing.T, path string) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		files = []string{path}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		of := strings.Split(strings.TrimSpace(string(text)), "\n")
		all = append(all, of[1:]...)
	}
	return all
}

// The jobs of a release in shards, one after another, give the release of one run.
func TestJobsRelease(t *testing.T) {
	var in bytes.Buffer
	in.WriteString("person_id,wage,education,region\n")
	rng := rand.New(rand.NewPCG(1, 2)) // an order that tells nothing
	for i := range 100_000 {
		fmt.Fprintf(&in, "%d,%d.%02d,%d,%c\n", i, 100+rng.IntN(2000), i%100, i*31%5, 'a'+i*17%4)
	}
	for folder, jobs := range map[string][]string{
		"shards":      {"shards/plan", "shards/shards", "shards/commit"},
		"shards-swap": {"shards/plan", "shards-swap/survey", "shards-swap/pair", "shards-swap/shards", "shards/commit"},
	} {
		dir := t.TempDir()
		text, err := os.ReadFile(filepath.Join("..", folder, "pipeline.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		pipeline := strings.NewReplacer("parquet: {path: /data/in/survey.parquet}", "csv: {path: /data/in/survey.csv}",
			"parquet: {path: /data/out/", "csv: {path: /data/out/").Replace(string(text))
		for name, content := range map[string][]byte{
			"in/survey.csv": in.Bytes(), "pipeline.yaml": []byte(local(dir, pipeline)),
			"release.key": []byte("c2RsZmlsdGVyOiBhIGtleSBmb3IgdGVzdHMgb25seSE=\n"), "reports/.keep": nil, "out/.keep": nil,
		} {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, job := range jobs {
			runJob(t, dir, filepath.Join("..", job+".yaml"))
		}
		got := lines(t, filepath.Join(dir, "out/survey"))
		one := filepath.Join(dir, "one.csv")
		if out, err := exec.Command(os.Getenv("SDLFILTER"), "run", "--quiet", filepath.Join(dir, "pipeline.yaml"), "--set",
			"sink.csv.path="+one).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if want := lines(t, one); len(got) != 100_000 || !slices.Equal(got, want) {
			t.Errorf("%s: %d records, which are not the %d of one run", folder, len(got), len(want))
		}
	}
}
