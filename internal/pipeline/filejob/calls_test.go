package filejob

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// calls counts the calls of a run to its source and its sink by name. The nth call of one
// name fails, or is where the run's context ends.
type calls struct {
	mu     sync.Mutex
	counts map[string]int
	name   string // "": none fails
	n      int
	cancel context.CancelFunc // in place of a failure
	panics bool               // so does every call to decode
}

var errCall = errors.New("the call has failed")

func (c *calls) call(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[name]++
	if name != c.name || c.counts[name] != c.n {
		return nil
	}
	if c.cancel != nil {
		c.cancel()
		return nil
	}
	return errCall
}

// run is Run with a source and a sink whose calls are counted: the configuration's own
// stay what they are, as the report tells of them.
func (c *calls) run(ctx context.Context, p *config.Pipeline) (*account.Result, error) {
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
	r := &run{config: p, options: o, key: key, source: &openSource{src, c}, streams: src.Streams(), started: time.Now()}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	counted := *p
	counted.Sink.Config = callSink{p.Sink.Config, c}
	r.plan.Config = &counted
	result, err := r.release(ctx)
	if err != nil {
		return nil, errors.Join(err, r.abort())
	}
	return result, nil
}

type openSource struct {
	connectors.Source
	calls *calls
}

func (s *openSource) Unchanged() error {
	if err := s.calls.call("unchanged"); err != nil {
		return err
	}
	return connectors.Unchanged(s.Source)
}

func (s *openSource) Changed() time.Time { return connectors.Changed(s.Source) }

func (s *openSource) Acknowledge(context.Context) error { return s.calls.call("acknowledge") }

func (s *openSource) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if err := s.calls.call("read"); err != nil {
		return nil, err
	}
	r, err := s.Source.Read(ctx, layout, cut)
	if err != nil {
		return nil, err
	}
	return &callReader{r, s.calls}, nil
}

type callReader struct {
	connectors.Reader
	calls *calls
}

func (r *callReader) Next(ctx context.Context) (connectors.Raw, error) {
	if err := r.calls.call("next"); err != nil {
		return nil, err
	}
	raw, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	return &callRaw{raw, r.calls}, nil
}

func (r *callReader) Close() error {
	return errors.Join(r.calls.call("close the reader"), r.Reader.Close())
}

type callRaw struct {
	connectors.Raw
	calls *calls
}

func (r *callRaw) Decode(b *microdata.Block) error {
	if err := r.calls.call("decode"); err != nil {
		return err
	}
	if r.calls.panics {
		panic("canary 4711")
	}
	return r.Raw.Decode(b)
}

type callSink struct {
	connectors.SinkConfig
	calls *calls
}

func (c callSink) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	if err := c.calls.call("create"); err != nil {
		return nil, err
	}
	sink, err := c.SinkConfig.Create(ctx, plan)
	if err != nil {
		return nil, err
	}
	return &openSink{sink, c.calls}, nil
}

type openSink struct {
	connectors.Sink
	calls *calls
}

func (s *openSink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	if err := s.calls.call("encode"); err != nil {
		return nil, err
	}
	return s.Sink.Encode(b)
}

func (s *openSink) Write(ctx context.Context, e connectors.Encoded) error {
	if err := s.calls.call("write"); err != nil {
		return err
	}
	return s.Sink.Write(ctx, e)
}

func (s *openSink) Finish(ctx context.Context) error {
	if err := s.calls.call("finish"); err != nil {
		return err
	}
	return s.Sink.Finish(ctx)
}

func (s *openSink) Commit() error {
	if err := s.calls.call("commit"); err != nil {
		return err
	}
	return s.Sink.Commit()
}

func (s *openSink) Abort() error {
	return errors.Join(s.calls.call("abort"), s.Sink.Abort())
}

// Whatever call to the source or the sink fails, and wherever the run is told to end: it
// says so, and nothing is left under any name. A call that fails after the release has its
// name is told as well.
func TestEveryCallFailsOnce(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("id,income,debt,age,region\n")
	for i := range 60 {
		debt := fmt.Sprint(i % 7)
		if i == 41 {
			debt = "canary"
		}
		fmt.Fprintf(&rows, "R%d,%d.50,%s,%d,r%d\n", i, 1000+37*i, debt, 20+i%5, i%3)
	}
	everything := "report: {json: DIR/r.json, html: DIR/r.html, publish: [sd]}\nquarantine: {jsonl: DIR/q.jsonl}\nassess: {every: {records: 25}, emit: [{jsonl: DIR/s.jsonl}]}\n"
	for _, c := range []struct{ name, masks, sink, extra string }{
		{"passes over all records first", "\n  - swap: {keys: [age], attribute: region, columns: [income], rate: 0.7, policy: random}\n  - noise: {columns: [income], sd: 10%}\n  - topcode: {columns: [debt], upper_percentile: 90, replace: mean}\n", "", everything + "gate: {max_quarantined: 0.5, allow_unchanged: 1}\n"},
		{"refused", noiseMasks, "", everything + "gate: {max_quarantined: 0}\n"},
		{"shuffled", noiseMasks, "order: shuffled, ", "quarantine: {jsonl: DIR/q.jsonl}\ngate: {max_quarantined: 0.5}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			attempt := func(name string, n int, cancels bool) (counts map[string]int, left []string, refused bool, err error) {
				dir := t.TempDir()
				in := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
				write(t, filepath.Join(dir, "in.csv"), []byte(rows.String()))
				p := parse(t, dir, setup{source: "csv: {path: " + in("DIR/in.csv") + ", types: {debt: float64}}", sink: c.sink + "csv: {path: " + in("DIR/out.csv") + "}", masks: c.masks, extra: in(c.extra)})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				calls := &calls{counts: map[string]int{}, name: name, n: n}
				if cancels {
					calls.cancel = cancel
				}
				result, err := calls.run(ctx, p)
				return calls.counts, filesIn(t, dir), result != nil && result.Refused(), err
			}
			counts, want, refused, err := attempt("", 0, false)
			if err != nil || refused != (c.name == "refused") {
				t.Fatal(refused, err)
			}
			if expected := []string{"acknowledge", "close the reader", "commit", "create", "decode", "encode", "finish", "next", "read", "unchanged", "write"}; !refused {
				for _, name := range expected {
					if counts[name] == 0 {
						t.Errorf("%s is never called", name)
					}
				}
			}
			for _, name := range slices.Sorted(maps.Keys(counts)) {
				for n := 1; n <= counts[name]; n++ {
					if n > 6 && n < counts[name]-1 {
						continue // as those beside it
					}
					for _, cancels := range []bool{false, true} {
						_, left, _, err := attempt(name, n, cancels)
						left = slices.DeleteFunc(left, func(name string) bool { return name == "s.jsonl" }) // snapshots have their name from the start
						late := name == "acknowledge" || refused && name == "abort"                         // after all has been decided
						var published *PublishedError
						switch {
						case cancels && (late || name == "commit" || name == "unchanged" && n == counts[name]): // the last question before the release has its name
							if err != nil && !errors.Is(err, context.Canceled) {
								t.Errorf("%s, call %d: cancelled there it says %v", name, n, err)
							}
						case cancels && (err == nil || !errors.Is(err, context.Canceled)):
							t.Errorf("%s, call %d: cancelled there it says %v", name, n, err)
						case !cancels && !errors.Is(err, errCall):
							t.Errorf("%s, call %d fails, and it says %v", name, n, err)
						case !cancels && name == "acknowledge":
							if !errors.As(err, &published) || !slices.Equal(left, want[:len(want)-min(1, strings.Count(strings.Join(want, " "), "s.jsonl"))]) {
								t.Errorf("the release is published: %v, and there is %v of %v", err, left, want)
							}
						case len(left) > 0 && !late:
							t.Errorf("%s, call %d (cancelled %v): left is %v", name, n, cancels, left)
						}
					}
				}
			}
		})
	}
}

// A panic of a decoder is an error that tells where, and no value.
func TestPanicsAreErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in.csv"), []byte("id,income,debt,age,region\nR1,1.5,2,30,north\nR2,2.5,3,31,south\n"))
	p := parse(t, dir, setup{source: "csv: {path: " + filepath.Join(dir, "in.csv") + "}", sink: "csv: {path: " + filepath.Join(dir, "out.csv") + "}", masks: noiseMasks})
	_, err := (&calls{counts: map[string]int{}, panics: true}).run(context.Background(), p)
	if err == nil || !strings.Contains(err.Error(), "internal error while working on ") || !strings.Contains(err.Error(), "in.csv, records from 1: string at ") ||
		!strings.Contains(err.Error(), "callRaw).Decode:") || strings.Contains(err.Error(), "canary") {
		t.Errorf("the error is %v", err)
	}
	if left := filesIn(t, dir); len(left) > 0 {
		t.Errorf("left is %v", left)
	}
}

// The release in another order holds the same records, in the order of the key alone; with
// another key the order is another.
func TestShuffledReleases(t *testing.T) {
	rows := people(200)
	read := func(order string, change func(*config.Pipeline)) []string {
		dir := t.TempDir()
		writeCSV(t, filepath.Join(dir, "in.csv"), rows)
		p := parse(t, dir, setup{source: "csv: {path: " + filepath.Join(dir, "in.csv") + "}", sink: order + "csv: {path: " + filepath.Join(dir, "out.csv") + "}", masks: noiseMasks})
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
		t.Error("the order is that of the source, or by chance")
	}
	same := 0
	for i := range plain {
		if plain[i] == shuffled[i] {
			same++
		}
	}
	if same > 10 { // of 200, one is expected
		t.Errorf("%d records are where they were", same)
	}
	slices.Sort(plain)
	slices.Sort(shuffled)
	if !slices.Equal(plain, shuffled) {
		t.Error("the records are others")
	}
	// By the place alone, two sets of records would have one order.
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
	if moved < 2 { // its own line holds something else in any case
		t.Error("a record that holds something else has the same place in the release")
	}
}
