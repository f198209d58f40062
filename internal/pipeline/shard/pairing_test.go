package shard

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

const swapAll = "masks:\n  - swap: {keys: [age], attribute: wage, columns: [region], scope: dataset, rate: 0.5, policy: random}\n"

// paired plans a release of n records with a swap, in one shard, and surveys it.
func paired(t *testing.T, n int) *Manifest {
	t.Helper()
	prepare(t, "csv", n, "")
	swapping(t, "masks:\n", swapAll)
	m := planned(t, 1)
	s, err := Survey(t.Context(), load(t), m, 0, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write("surveys/0"); err != nil {
		t.Fatal(err)
	}
	return m
}

// If a survey or a pairing is cancelled at any point, it returns the error and leaves nothing
// behind.
func TestPairingEndsAtEveryStep(t *testing.T) {
	m := paired(t, 60)
	for name, do := range map[string]func(ctx context.Context) (bool, error){
		"survey": func(ctx context.Context) (bool, error) {
			s, err := Survey(ctx, load(t), m, 0, options)
			return s != nil, err
		},
		"pair": func(ctx context.Context) (bool, error) {
			err := Pair(ctx, load(t), m, "surveys", "pairs", options)
			left, _ := filepath.Glob("pairs/*")
			return len(left) > 0, err
		},
	} {
		count := eventually.Ends(t.Context(), 1<<40)
		if done, err := do(count); !done || err != nil {
			t.Fatal(name, done, err)
		}
		total, failures := count.Questions(), 0
		if total < 3 {
			t.Errorf("%s checks the context %d times, want at least 3: the test checks little", name, total)
		}
		for n := 1; n <= total; n++ {
			if n > 20 && n < total-20 && n%5 > 0 {
				continue
			}
			if err := os.RemoveAll("pairs"); err != nil {
				t.Fatal(err)
			}
			ctx := eventually.Ends(t.Context(), n)
			// The number of checks differs by a few from run to run, so the last one may not occur.
			done, err := do(ctx)
			if done != (err == nil) || err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled)) {
				t.Errorf("%s, context ended at check %d of %d: done %v, error %v", name, n, total, done, err)
			}
			if err != nil {
				failures++
			} else if n <= total-3 {
				t.Errorf("%s continues after the context ended at check %d of %d", name, n, total)
			}
		}
		if failures == 0 {
			t.Errorf("%s never failed for an end of the context", name)
		}
	}
}

// Any error in a survey or a pairing is returned with its place.
func TestWhateverComesInTheWayOfAPairing(t *testing.T) {
	racetest.Further(t)
	pair := func(ctx context.Context, t *testing.T, m *Manifest) error {
		return Pair(ctx, load(t), m, "surveys", "pairs", options)
	}
	survey := func(ctx context.Context, t *testing.T, m *Manifest) error {
		s, err := Survey(ctx, load(t), m, 0, options)
		if (s == nil) != (err != nil) {
			t.Errorf("Survey returns both or neither of the result %v and the error %v", s, err)
		}
		return err
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		of   func(ctx context.Context, t *testing.T, m *Manifest) error
		do   func(t *testing.T, m *Manifest)
		late bool // at each of its checks; some of them return this text
		want string
	}{
		"a survey of another key": {of: survey, do: func(t *testing.T, _ *Manifest) {
			must(t, os.Remove("test.key"))
		}, want: "key"},
		"a pairing of another key": {of: pair, do: func(t *testing.T, _ *Manifest) {
			must(t, os.Remove("test.key"))
		}, want: "key"},
		"a file for the pairs": {of: pair, do: func(t *testing.T, _ *Manifest) {
			write(t, "pairs", nil)
		}, want: "--out: "},
		"a folder for pairs": {of: pair, do: func(t *testing.T, _ *Manifest) {
			inTheWay(t, "pairs/0.pairs")
		}, want: "--out: "},
		"a survey that is gone": {of: pair, do: func(t *testing.T, _ *Manifest) {
			must(t, os.RemoveAll("surveys/0"))
		}, late: true, want: "surveys/0: no such file"},
		"a source that grows": {of: survey, do: func(t *testing.T, _ *Manifest) {
			grow(t)
		}, late: true, want: "source: "},
		"a pairing of other columns": {of: pair, do: func(_ *testing.T, m *Manifest) {
			m.Columns = nil
		}, want: "source: the columns of the source are not those that were planned with"},
		"the manifest beside": {of: pair, do: func(t *testing.T, _ *Manifest) {
			must(t, os.Rename("plan.json", "surveys/a.json"))
		}},
		"a hidden file beside": {of: pair, do: func(t *testing.T, _ *Manifest) { write(t, "surveys/.x", nil) }},
		"a folder beside":      {of: pair, do: func(t *testing.T, _ *Manifest) { inTheWay(t, "surveys/x") }},
	} {
		t.Run(name, func(t *testing.T) {
			m := paired(t, 60)
			if !c.late {
				c.do(t, m)
				if err := c.of(t.Context(), t, m); (err == nil) != (c.want == "") || err != nil &&
					!strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				return
			}
			count, failures := eventually.AtQuestion(t.Context(), 0, nil), 0
			must(t, c.of(count, t, m))
			for n := 1; n <= count.Questions(); n++ {
				m = paired(t, 60)
				if err := c.of(eventually.AtQuestion(t.Context(), n, func() { c.do(t, m) }), t, m); err != nil &&
					strings.Contains(err.Error(), c.want) {
					failures++
				}
				if n > 12 && failures > 0 {
					break
				}
			}
			if failures == 0 {
				t.Errorf("no error contains %q, with the fault at any of %d checks", c.want, count.Questions())
			}
		})
	}
}

// grow adds a record to the source.
func grow(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("in.csv")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "in.csv", append(text, "x,1,1,y\r\n"...))
}

// A survey is read if its first line, its checksum and its header are correct; each of them is
// checked.
func TestSurveysAreParsed(t *testing.T) {
	sealed := func(text string) []byte {
		sum := sha256.Sum256([]byte(text))
		return append([]byte(text), sum[:]...)
	}
	damaged := "x: is damaged or cut off: run `sdlfilter shard pair` again"
	for _, c := range []struct {
		text []byte
		want string
	}{
		{nil, "x: is none of the files of `sdlfilter shard pair`"},
		{sealed(surveyMagic + "{}\n"), "x: is none of the files of `sdlfilter shard pair`"},
		{[]byte(pairsMagic), damaged},
		{append([]byte(pairsMagic), make([]byte, sha256.Size-1)...), damaged},
		{append([]byte(pairsMagic), make([]byte, sha256.Size)...), damaged},
		{sealed(pairsMagic), damaged},
		{sealed(pairsMagic + "no JSON\nfound"), damaged},
		{sealed(pairsMagic + `{"plan":"p","shard":3,"pairing":"q"}` + "\nfound\nin lines"), ""},
	} {
		s, err := parseSurveyed("x", pairsMagic, "pair", c.text)
		if c.want != "" {
			var state *StateError
			if s != nil || !errors.As(err, &state) || err.Error() != c.want {
				t.Errorf("pairs %q: result %v and error %v, want %s", c.text, s, err, c.want)
			}
			continue
		}
		if err != nil || s.Plan != "p" || s.Shard != 3 || s.Pairing != "q" || s.path != "x" ||
			string(s.content) != "found\nin lines" {
			t.Errorf("pairs %q: %+v, error %v", c.text, s, err)
			continue
		}
		t.Chdir(t.TempDir())
		if err := s.Write("again"); err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile("again"); err != nil || string(again) != string(c.text) {
			t.Errorf("written again it is %q, %v", again, err)
		}
	}
}

// Every command reports progress: plan, shard, survey and commit by their records, pairing by the
// surveys.
func TestProgressOfShards(t *testing.T) {
	m := paired(t, 60)
	p := load(t)
	for _, c := range []struct {
		of      string
		records int64
		do      func(o pipeline.Options) error
	}{
		{"survey", 60, func(o pipeline.Options) error { _, err := Survey(t.Context(), p, m, 0, o); return err }},
		{"pair", 1, func(o pipeline.Options) error { return Pair(t.Context(), p, m, "surveys", "pairs", o) }},
		{"mask", 60, func(o pipeline.Options) error {
			found, err := m.ReadPairs(t.Context(), "pairs", 0)
			if err != nil {
				return err
			}
			s, err := Run(t.Context(), p, m, 0, found, o)
			if err != nil {
				return err
			}
			return s.Write("states/0.state")
		}},
		{"assess", 0, func(o pipeline.Options) error { _, err := Commit(t.Context(), p, m, "states", o); return err }},
	} {
		o := options
		o.Progress = new(pipeline.Progress)
		if err := c.do(o); err != nil || o.Progress.Phase() != c.of || o.Progress.Records() != c.records ||
			o.Progress.Total() != c.records {
			t.Errorf("%s: error %v; the progress has the phase %q and %d of %d records", c.of, err, o.Progress.Phase(),
				o.Progress.Records(), o.Progress.Total())
		}
	}
	if _, err := m.ReadPairs(t.Context(), "pairs", 1); err != nil {
		t.Errorf("ReadPairs of a shard that is not in the plan returns %v, want no error", err)
	}
	if got := fmt.Sprint(pairsPath("a/", 3), pairsPath("a", 12)); got != fmt.Sprint("a/3.pairs", "a/12.pairs") {
		t.Errorf("the paths are %s", got)
	}
}
