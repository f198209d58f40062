package filejob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// tableOf returns a CSV file with the given number of records; every nth cannot be masked.
func tableOf(records, nth int) []byte {
	var rows bytes.Buffer
	rows.WriteString("id,income,debt,age,region\n")
	for i := range records {
		debt := fmt.Sprint(i % 7)
		if i%nth == nth-1 {
			debt = "canary"
		}
		fmt.Fprintf(&rows, "R%d,%d.50,%s,%d,r%d\n", i, 1000+37*i, debt, 20+i%5, i%3)
	}
	return rows.Bytes()
}

const (
	everyOutput = "report: {json: DIR/r.json, html: DIR/r.html, publish: [sd]}\nquarantine: {jsonl: DIR/q.jsonl}\n"
	swapsAll    = "\n  - swap: {keys: [age], attribute: region, columns: [income], rate: 0.7, policy: random, scope: dataset}\n  - noise: {columns: [income], sd: 10%}\n  - topcode: {columns: [debt], upper_percentile: 90, replace: mean}\n"
)

// job returns a configuration for a file of 60 records, in a separate folder.
func job(t *testing.T, sink, masks, extra string) (string, *config.Pipeline) {
	t.Helper()
	dir := t.TempDir()
	in := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
	write(t, filepath.Join(dir, "in.csv"), tableOf(60, 30))
	return dir,
		parse(t, dir, setup{source: in("csv: {path: DIR/in.csv, types: {debt: float64}}"), sink: in(sink), masks: masks,
			extra: in(extra)})
}

// rehearsed is Rehearse for a configuration, with a source that counts its calls.
func rehearsed(ctx context.Context, p *config.Pipeline, calls *faulty.Calls) (bool, error) {
	ctx, o := pipeline.Options{}.Ready(ctx)
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return false, err
	}
	defer src.Close()
	var key keystream.Key
	if key, err = pipeline.Admit(p, o); err != nil {
		return false, err
	}
	verdict, err := (&Rehearsals{Source: calls.Source(src)}).Rehearse(ctx, p, nil, key, o.Progress)
	return verdict != nil, err
}

// If a job of any kind is cancelled at any check of the context, it returns the error and no
// result, and leaves no file. Otherwise it completes.
func TestJobsEndAtEveryQuestion(t *testing.T) {
	const copied = "\n  - synthesise: {columns: [income], on: [age], copies: 2}\n"
	for _, c := range []struct {
		name, sink, masks, extra string
		do                       func(ctx context.Context, dir string, p *config.Pipeline) (done bool, err error)
	}{
		{"a run", "csv: {path: DIR/out.csv}", noiseMasks,
			everyOutput + "gate: {max_quarantined: 0.5}\nassess: {every: {records: 25}, emit: [{jsonl: DIR/s.jsonl}]}\n", nil},
		{"a run with all records at once", "csv: {path: DIR/out.csv}", swapsAll,
			everyOutput +
				"gate: {max_quarantined: 0.5, allow_unchanged: 1}\nassess: {keys: [age, region], intruder: {uniqueness: {}}, sample: 10}\n", nil},
		{"copies", "csv: {path: 'DIR/out-{copy}.csv'}", copied,
			strings.Replace(everyOutput, "DIR/q.jsonl", "'DIR/q-{copy}.jsonl'", 1) + "gate: {max_quarantined: 0.5}\n", nil},
		{"a preview", "csv: {path: DIR/out.csv}", noiseMasks, "",
			func(ctx context.Context, _ string, p *config.Pipeline) (bool, error) {
				view, err := NewPreview(ctx, p, 5, new(pipeline.Progress))
				return view != nil, err
			}},
		{"a rehearsal", "csv: {path: DIR/out.csv}", swapMasks, "",
			func(ctx context.Context, _ string, p *config.Pipeline) (bool, error) {
				return rehearsed(ctx, p, new(faulty.Calls))
			}},
		{"a verification", "csv: {path: DIR/out.csv}", noiseMasks, everyOutput + "gate: {max_quarantined: 0.5}\n",
			func(ctx context.Context, dir string, _ *config.Pipeline) (bool, error) {
				v, err := Verify(ctx, filepath.Join(dir, "r.json"), "")
				return v != nil, err
			}},
		{"a verification of copies", "csv: {path: 'DIR/out-{copy}.csv'}", copied,
			strings.Replace(everyOutput, "DIR/q.jsonl", "'DIR/q-{copy}.jsonl'", 1) + "gate: {max_quarantined: 0.5}\n",
			func(ctx context.Context, dir string, _ *config.Pipeline) (bool, error) {
				v, err := Verify(ctx, filepath.Join(dir, "r.json"), "")
				return v != nil, err
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && strings.Contains(c.sink, "copy") {
				t.Skip("the same with copies")
			}
			verifies := strings.HasPrefix(c.name, "a verification")
			attempt := func(of func(ctx context.Context) context.Context) (bool, []string, error) {
				dir, p := job(t, c.sink, c.masks, c.extra)
				if verifies {
					if _, err := Run(t.Context(), p, pipeline.Options{}); err != nil {
						t.Fatal(err)
					}
				}
				if c.do == nil {
					result, err := Run(of(t.Context()), p, pipeline.Options{})
					return result != nil, slices.DeleteFunc(filesIn(t, dir), func(name string) bool { return name == "s.jsonl" }), err
				}
				done, err := c.do(of(t.Context()), dir, p)
				return done, nil, err
			}
			var count *eventually.Ending
			done, want, err := attempt(func(ctx context.Context) context.Context {
				count = eventually.Ends(ctx, 1<<40)
				return count
			})
			if err != nil || !done {
				t.Fatal(done, err)
			}
			total, failures := count.Questions(), 0
			var steps []int
			for n := range eventually.Steps {
				if n > total {
					break
				}
				steps = append(steps, n)
			}
			last := 16
			if testing.Short() {
				last = 5
			}
			for n := max(1, total-last); n <= total; n++ {
				steps = append(steps, n)
			}
			for _, n := range steps {
				var ending *eventually.Ending
				done, left, err := attempt(func(ctx context.Context) context.Context {
					ending = eventually.Ends(ctx, n)
					return ending
				})
				switch {
				case done != (err == nil):
					t.Errorf("context ended at check %d of %d: done %v, error %v", n, total, done, err)
				case err != nil && (!ending.Ended() || !errors.Is(err, context.Canceled)):
					t.Errorf("context ended at check %d of %d: error %v, want context.Canceled", n, total, err)
				case err != nil && len(left) > 0 || err == nil && !slices.Equal(left, want):
					t.Errorf("context ended at check %d of %d: the files are %v, error %v", n, total, left, err)
				}
				if err != nil {
					failures++
				}
			}
			if failures < min(3, total) {
				t.Errorf("the job failed for %d ends of the context in %d checks, want at least 3 (or all)", failures, total)
			}
		})
	}
}

// If any call to the source fails, a rehearsal and a preview return the error and no result.
func TestEveryCallOfARehearsalFailsOnce(t *testing.T) {
	for name, attempt := range map[string]func(p *config.Pipeline, calls *faulty.Calls) (bool, error){
		"a rehearsal": func(p *config.Pipeline, calls *faulty.Calls) (bool, error) {
			return rehearsed(t.Context(), p, calls)
		},
		"a preview": func(p *config.Pipeline, calls *faulty.Calls) (bool, error) {
			p.Source.Config = calls.Config(p.Source.Config)
			view, err := NewPreview(t.Context(), p, 100, new(pipeline.Progress))
			return view != nil, err
		},
	} {
		for _, masks := range []string{noiseMasks, swapsAll} {
			try := func(call string, n int) (map[string]int, error) {
				_, p := job(t, "csv: {path: DIR/out.csv}", masks, "gate: {allow_unchanged: 1}\n")
				calls := &faulty.Calls{Name: call, N: n}
				done, err := attempt(p, calls)
				if done != (err == nil) {
					t.Errorf("%s, %s, call %d fails: done %v, error %v", name, call, n, done, err)
				}
				return calls.Counts(), err
			}
			_, p := job(t, "csv: {path: DIR/out.csv}", masks, "gate: {allow_unchanged: 1}\n")
			if done, err := attempt(p, &faulty.Calls{Wraps: true}); err != nil || !done {
				t.Errorf("%s: a wrapped io.EOF: error %v, want none", name, err)
			}
			counts, err := try("", 0)
			if err != nil || counts["next"] == 0 || counts["unchanged"] == 0 {
				t.Fatal(name, counts, err)
			}
			for call, n := range faulty.Each(counts) {
				if call == "close the reader" && n == counts[call] && name == "a preview" {
					continue // it has all that it needs
				}
				if _, err := try(call, n); !errors.Is(err, faulty.ErrCall) {
					t.Errorf("%s, %s, call %d fails: the error is %v", name, call, n, err)
				}
			}
		}
	}
}

// meddledWith runs a configuration, with or without copies, and performs an action at one call;
// nil: the call fails.
func meddledWith(t *testing.T, p *config.Pipeline, calls *faulty.Calls, do func(runs []*run, reports *account.Files)) (
	*account.Result, error) {
	t.Helper()
	if p.Copies() == 1 {
		var r *run
		if do != nil {
			calls.Cancel = func() { do([]*run{r}, &r.reports) }
		}
		return runCounted(t.Context(), calls, p, func(of *run) { r = of })
	}
	ctx, c := countedCopies(t, p, calls)
	if do != nil {
		calls.Cancel = func() { do(c.runs, &c.reports) }
	}
	result, err := c.release(ctx)
	if err != nil {
		return nil, errors.Join(err, c.abort())
	}
	return result, nil
}

// If anything happens to a file of a run or of its copies between its creation and its name, the
// error says to which file. If nothing happens, all files exist.
func TestFilesThatAreLostOnTheWay(t *testing.T) {
	racetest.Further(t)
	type lost func(dir, name string) error
	folder := lost(func(dir, name string) error { return os.MkdirAll(filepath.Join(dir, name, "in the way"), 0o700) })
	unnamed := lost(func(dir, name string) error { return os.Remove(publish.TempName(filepath.Join(dir, name))) })
	for _, kind := range []struct {
		sink, masks, quarantine string
		calls                   int // of one name, until the last file exists
		files                   []string
	}{
		{"DIR/out.csv", noiseMasks, "DIR/q.jsonl", 1,
			[]string{"out.csv", "q.jsonl", "r.html", "r.json", "r.public.html", "r.public.json"}},
		{"'DIR/out-{copy}.csv'", "\n  - synthesise: {columns: [income], on: [age], copies: 2}\n", "'DIR/q-{copy}.jsonl'", 2,
			[]string{"out-1.csv", "out-2.csv", "q-1.jsonl", "q-2.jsonl", "r.html", "r.json", "r.public.html", "r.public.json"}},
	} {
		if testing.Short() && kind.calls > 1 {
			continue // the same with copies
		}
		attempt := func(records, nth int, gate, call string, do func(dir string, runs []*run, reports *account.Files) error) (
			string, *account.Result, error) {
			dir := t.TempDir()
			in := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
			write(t, filepath.Join(dir, "in.csv"), tableOf(records, nth))
			p := parse(t, dir,
				setup{source: in("csv: {path: DIR/in.csv, types: {debt: float64}}"), sink: in("csv: {path: " + kind.sink + "}"),
					masks: kind.masks,
					extra: in("report: {json: DIR/r.json, html: DIR/r.html, publish: [sd]}\nquarantine: {jsonl: " + kind.quarantine +
						"}\ngate: {" + gate + "}\n")})
			result,
				err := meddledWith(t, p, &faulty.Calls{Name: call, N: kind.calls}, func(runs []*run, reports *account.Files) {
				if err := do(dir, runs, reports); err != nil {
					t.Error(err)
				}
			})
			if (result == nil) != (err != nil) {
				t.Errorf("%s: Run returns both or neither of the result %v and the error %v", call, result, err)
			}
			return dir, result, err
		}
		dir, result, err := attempt(60, 30, "max_quarantined: 0.6", "finish", func(string, []*run, *account.Files) error {
			return nil
		})
		if err != nil || !slices.Equal(filesIn(t, dir), kind.files) {
			t.Errorf("error %v, the files are %v, want %v", err, filesIn(t, dir), kind.files)
		}
		for _, name := range kind.files {
			if err == nil && !slices.Contains(result.Files, filepath.Join(dir, name)) {
				t.Errorf("%s is missing in the files of the result: %v", name, result.Files)
			}
		}
		refused := func(what, want string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %s", what, err, want)
			}
		}
		for _, name := range kind.files {
			kindOf := map[byte]string{'o': "sink: ", 'q': "quarantine: ", 'r': "report: "}[name[0]]
			for how, lose := range map[string]lost{"a folder has its name": folder, "its name is gone": unnamed} {
				_, _, err := attempt(60, 30, "max_quarantined: 0.6", "finish", func(dir string, _ []*run, _ *account.Files) error {
					return lose(dir, name)
				})
				refused(name+": "+how, kindOf, err)
			}
			if name[0] == 'q' && strings.Count(name, "-") == 0 || name == "q-2.jsonl" {
				dir, _,
					err := attempt(60, 30, "max_quarantined: 0.6", "encode", func(dir string, _ []*run, _ *account.Files) error {
					return unnamed(dir, name)
				})
				refused(name+" before it is complete", kindOf, err)
				if left := filesIn(t, dir); len(left) > 1 || len(left) == 1 && left[0] != "in.csv" {
					t.Errorf("%s before it is complete: the files are %v, want none", name, left)
				}
			}
		}
		last := func(runs []*run) *quarantine { return runs[len(runs)-1].quarantine }
		_, _, err = attempt(60, 30, "max_quarantined: 0.6", "encode", func(_ string, runs []*run, _ *account.Files) error {
			return last(runs).file.Abort()
		})
		refused("few entries", "quarantine: ", err)
		_, _, err = attempt(3000, 2, "max_quarantined: 0.6", "encode", func(_ string, runs []*run, _ *account.Files) error {
			return runs[0].quarantine.file.Close()
		})
		refused("many entries", "quarantine: ", err)
		_, _, err = attempt(60, 30, "max_quarantined: 0.6", "finish", func(_ string, _ []*run, reports *account.Files) error {
			return reports.Abort()
		})
		refused("the report", "report: ", err)
		// If the release is withheld, its files can be lost as well.
		_, _, err = attempt(60, 30, "max_quarantined: 0", "finish", func(dir string, _ []*run, _ *account.Files) error {
			return folder(dir, "r.json")
		})
		refused("the report of a refusal", "report: ", err)
		calls := &faulty.Calls{Name: "abort", N: 1}
		_, p := job(t, "csv: {path: "+kind.sink+"}", kind.masks, "gate: {max_quarantined: 0}\n")
		if result, err := meddledWith(t, p, calls, nil); result != nil || !errors.Is(err, faulty.ErrCall) {
			t.Errorf("a release that cannot be withheld: result %v, error %v", result, err)
		}
	}
}

// With more records than the sample, the records with the targets of a swap are searched for in a
// separate pass, which is reported as one. With fewer there is no such pass.
func TestHoldersAreSought(t *testing.T) {
	for sample, want := range map[int]string{10: "locate", 100: "assess"} {
		_,
			p := job(t, "csv: {path: DIR/out.csv}", swapsAll,
			fmt.Sprintf("gate: {allow_unchanged: 1, max_quarantined: 0.5}\nassess: {sample: %d}\n", sample))
		o := pipeline.Options{Progress: new(pipeline.Progress)}
		if _, err := Run(t.Context(), p, o); err != nil || o.Progress.Phase() != want || o.Progress.Records() != 60 ||
			o.Progress.Total() != 60 && want == "assess" {
			t.Errorf("a sample of %d: error %v, phase %q, %d of %d records", sample, err, o.Progress.Phase(),
				o.Progress.Records(), o.Progress.Total())
		}
	}
}
