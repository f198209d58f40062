package filejob

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// If the release has its name and a file that belongs to it cannot get its own, the error says in one
// line that the release is published, and where; all other files are there.
func TestPublishedWithoutItsReport(t *testing.T) {
	all := []string{"b.html", "in.csv", "k", "out.csv", "q.jsonl", "r.html", "r.json", "r.public.html", "r.public.json"}
	for _, taken := range []string{"q.jsonl", "b.html", "r.html", "r.public.html", "r.public.json", "r.json", "out.csv"} {
		t.Run(taken, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "in.csv"),
				[]byte("id,income,debt,age,region\nR1,1.5,2,30,north\nR2,2.5,3,31,south\nR3,4.5,9,32,south\n"))
			in := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
			p := parse(t, dir,
				setup{source: in("csv: {path: DIR/in.csv}"), sink: in("csv: {path: DIR/out.csv}"), masks: noiseMasks,
					extra: in(
						"report: {json: DIR/r.json, html: DIR/r.html, board: DIR/b.html, publish: [sd]}\nquarantine: {jsonl: DIR/q.jsonl}\ngate: {allow_unchanged: 1}\n")})
			// In the last moment before the release gets its name, something else takes the name.
			calls := &faulty.Calls{Name: "commit", N: 1, Cancel: func() {
				if err := os.MkdirAll(filepath.Join(dir, taken, "a folder"), 0o700); err != nil {
					t.Error(err)
				}
			}}
			result, err := runFaulty(t.Context(), calls, p)
			var published *PublishedError
			var left []string
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if e.Name() != taken {
					left = append(left, e.Name())
				}
			}
			want := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == taken })
			switch {
			case taken == "out.csv": // there is no release
				want = []string{"in.csv", "k"}
			case taken != "q.jsonl": // a report is complete, and waits for its name
				want = append([]string{filepath.Base(publish.TempName(taken))}, want...)
			}
			if errors.As(err, &published) != (taken != "out.csv") || result != nil || err == nil {
				t.Fatalf("result %v, error %v", result, err)
			}
			if !slices.Equal(left, want) {
				t.Errorf("left are %v, want %v", left, want)
			}
			if taken != "out.csv" &&
				(!strings.Contains(err.Error(), "the release is published ("+filepath.Join(dir, "out.csv")+")") ||
					!strings.Contains(err.Error(), taken) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("error %v", err)
			}
		})
	}
}
