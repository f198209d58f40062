package filejob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// runFaulty is Run with a source and a sink that count their calls. The configuration's own source
// and sink do not change, because the report describes them.
func runFaulty(ctx context.Context, c *faulty.Calls, p *config.Pipeline) (*account.Result, error) {
	return runCounted(ctx, c, p, nil)
}

// runCounted is runFaulty and calls show, if it is not nil, with the run before it begins.
func runCounted(ctx context.Context, c *faulty.Calls, p *config.Pipeline, show func(*run)) (*account.Result, error) {
	ctx, o := pipeline.Options{}.Ready(ctx)
	key, err := pipeline.Admit(p, o)
	if err != nil {
		return nil, err
	}
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	r := &run{config: p, options: o, key: key, source: c.Source(src), streams: src.Streams(), started: time.Now()}
	if show != nil {
		show(r)
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	countSink(r, c)
	result, err := r.release(ctx)
	if err != nil {
		return nil, errors.Join(err, r.abort())
	}
	return result, nil
}

// If any call to the source or the sink fails, or the run is cancelled at any point, the error is
// returned and no file with any name remains. A call that fails after the release has its name is
// reported as well.
func TestEveryCallFailsOnce(t *testing.T) {
	racetest.Further(t)
	var rows strings.Builder
	rows.WriteString("id,income,debt,age,region\n")
	for i := range 60 {
		debt := fmt.Sprint(i % 7)
		if i == 41 {
			debt = "canary"
		}
		fmt.Fprintf(&rows, "R%d,%d.50,%s,%d,r%d\n", i, 1000+37*i, debt, 20+i%5, i%3)
	}
	everything :=
		"report: {json: DIR/r.json, html: DIR/r.html, publish: [sd]}\nquarantine: {jsonl: DIR/q.jsonl}\nassess: {every: {records: 25}, emit: [{jsonl: DIR/s.jsonl}]}\n"
	for _, c := range []struct{ name, masks, sink, extra string }{
		{"passes over all records first",
			"\n  - swap: {keys: [age], attribute: region, columns: [income], rate: 0.7, policy: random}\n  - noise: {columns: [income], sd: 10%}\n  - topcode: {columns: [debt], upper_percentile: 90, replace: mean}\n", "", everything + "gate: {max_quarantined: 0.5, allow_unchanged: 1}\n"},
		{"refused", noiseMasks, "", everything + "gate: {max_quarantined: 0}\n"},
		{"shuffled", noiseMasks, "order: shuffled, ", "quarantine: {jsonl: DIR/q.jsonl}\ngate: {max_quarantined: 0.5}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			attempt := func(name string, n int, cancels bool) (counts map[string]int, left []string, refused bool, err error) {
				dir := t.TempDir()
				in := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
				write(t, filepath.Join(dir, "in.csv"), []byte(rows.String()))
				p := parse(t, dir,
					setup{source: "csv: {path: " + in("DIR/in.csv") + ", types: {debt: float64}}",
						sink: c.sink + "csv: {path: " + in("DIR/out.csv") + "}", masks: c.masks, extra: in(c.extra)})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				calls := &faulty.Calls{Name: name, N: n}
				if cancels {
					calls.Cancel = cancel
				}
				result, err := runFaulty(ctx, calls, p)
				return calls.Counts(), filesIn(t, dir), result != nil && result.Refused(), err
			}
			counts, want, refused, err := attempt("", 0, false)
			if err != nil || refused != (c.name == "refused") {
				t.Fatal(refused, err)
			}
			if expected := []string{"acknowledge", "close the reader", "commit", "create", "decode", "encode", "finish", "next",
				"read", "unchanged", "write"}; !refused {
				for _, name := range expected {
					if counts[name] == 0 {
						t.Errorf("the run never calls %s", name)
					}
				}
			}
			tried := 0
			for name, n := range faulty.Each(counts) {
				for _, cancels := range []bool{false, true} {
					if tried++; testing.Short() && counts[name] > 2 && tried%4 > 1 {
						continue // one call fails, the next one is cancelled
					}
					_, left, _, err := attempt(name, n, cancels)
					// snapshots have their names from the start
					left = slices.DeleteFunc(left, func(name string) bool { return name == "s.jsonl" })
					late := name == "acknowledge" || refused && name == "abort" // after the decision
					var published *PublishedError
					switch {
					// the last check of the context before the release gets its name
					case cancels && (late || name == "commit" || name == "unchanged" && n == counts[name]):
						if err != nil && !errors.Is(err, context.Canceled) {
							t.Errorf("%s, call %d: cancelled in this call, the run returns %v, want no error or context.Canceled", name, n,
								err)
						}
					case cancels && (err == nil || !errors.Is(err, context.Canceled)):
						t.Errorf("%s, call %d: cancelled in this call, the run returns %v, want context.Canceled", name, n, err)
					case !cancels && !errors.Is(err, faulty.ErrCall):
						t.Errorf("%s, call %d fails, and the run returns %v, want the error of the call", name, n, err)
					case !cancels && name == "acknowledge":
						if !errors.As(err, &published) ||
							!slices.Equal(left, want[:len(want)-min(1, strings.Count(strings.Join(want, " "), "s.jsonl"))]) {
							t.Errorf("after acknowledge failed: error %v and files %v, want PublishedError and %v", err, left, want)
						}
					case len(left) > 0 && !late:
						t.Errorf("%s, call %d (cancelled %v): the run leaves the files %v, want none", name, n, cancels, left)
					}
				}
			}
		})
	}
}

// A panic in a decoder becomes an error with the place and without a value.
func TestPanicsAreErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in.csv"), []byte("id,income,debt,age,region\nR1,1.5,2,30,north\nR2,2.5,3,31,south\n"))
	p := parse(t, dir,
		setup{source: "csv: {path: " + filepath.Join(dir, "in.csv") + "}",
			sink: "csv: {path: " + filepath.Join(dir, "out.csv") + "}", masks: noiseMasks})
	_, err := runFaulty(context.Background(), &faulty.Calls{Panic: "canary 4711"}, p)
	if err == nil || !strings.Contains(err.Error(), "internal error while working on ") ||
		!strings.Contains(err.Error(), "in.csv, records from 1: string at ") ||
		!strings.Contains(err.Error(), "raw).Decode:") || strings.Contains(err.Error(), "canary") {
		t.Errorf("the error is %v", err)
	}
	if left := filesIn(t, dir); len(left) > 0 {
		t.Errorf("the run leaves the files %v, want none", left)
	}
}

// A shuffled release contains the same records, in an order that depends on the key. Another key
// gives another order.
func TestShuffledReleases(t *testing.T) {
	rows := people(200)
	read := func(order string, change func(*config.Pipeline)) []string {
		dir := t.TempDir()
		writeCSV(t, filepath.Join(dir, "in.csv"), rows)
		p := parse(t, dir,
			setup{source: "csv: {path: " + filepath.Join(dir, "in.csv") + "}",
				sink: order + "csv: {path: " + filepath.Join(dir, "out.csv") + "}", masks: noiseMasks})
		if change != nil {
			change(p)
		}
		if _, err := Run(context.Background(), p, pipeline.Options{}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "out.csv"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	}
	plain, shuffled := read("", nil), read("order: shuffled, ", nil)
	if slices.Equal(plain, shuffled) || !slices.Equal(shuffled, read("order: shuffled, ", nil)) {
		t.Error("the shuffled order is that of the source, or differs between two runs")
	}
	same := 0
	for i := range plain {
		if plain[i] == shuffled[i] {
			same++
		}
	}
	if same > 10 { // of 200, one is expected
		t.Errorf("%d of 200 records are in their place of the source, want at most 10", same)
	}
	slices.Sort(plain)
	slices.Sort(shuffled)
	if !slices.Equal(plain, shuffled) {
		t.Error("the shuffled release has other records")
	}
	// If the order depended on the place alone, two sets of records would have one order.
	order := func(lines []string) (ids []string) {
		for _, l := range lines {
			_, rest, _ := strings.Cut(l, ",")
			ids = append(ids, rest)
		}
		return ids
	}
	before := order(read("order: shuffled, ", nil))
	rows[7].Income += 1000
	moved := 0
	for i, l := range order(read("order: shuffled, ", nil)) {
		if l != before[i] {
			moved++
		}
	}
	if moved < 2 { // its own line differs in any case
		t.Error("a changed record does not change the order of the release")
	}
}
