package outcome_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	_ "github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/outcome"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/plantest"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

const (
	noise = "masks: [{noise: {columns: [wage], sd: 30}}]\n"
	swap  = "masks: [{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random}}]\nwindow: {records: 30}\n"
)

// people is a configuration of 90 records in a file of its own.
func people(t *testing.T, rest string) *config.Pipeline {
	t.Helper()
	return peopleOf(t, "wage: {role: sensitive}, region: {role: key}, kind: {role: other}", rest)
}

// peopleOf is people with other roles.
func peopleOf(t *testing.T, roles, rest string) *config.Pipeline {
	t.Helper()
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("wage,region,kind\n")
	for i := range 90 {
		fmt.Fprintf(&rows, "%d.25,r%d,%c\n", 1000+i*i%777, i%3, 'a'+rune(i%4))
	}
	for name, text := range map[string]string{"in.csv": rows.String(),
		"k": base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text :=
		"version: 1\nkey: {file: DIR/k}\nsource: {csv: {path: DIR/in.csv}}\nsink: {csv: {path: DIR/out.csv}}\ncolumns: {" +
			roles + "}\n" + rest
	p,
		err := config.Parse("p.yaml", []byte(strings.ReplaceAll(text, "DIR", dir)), config.Options{Environ: func() []string {
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// open opens the release of a configuration with a key.
func open(ctx context.Context, t *testing.T, p *config.Pipeline, key keystream.Key, log zerolog.Logger) (
	*pipeline.Release, error) {
	t.Helper()
	job := plantest.Job(t, p)
	job.Key, job.Log = key, log
	return job.Open(ctx)
}

// judged is the report of a release of 90 records.
func judged(ctx context.Context, r *pipeline.Release) (*report.Report, error) {
	records := report.Records{Counts: microdata.Counts{Read: 90, Released: 90}}
	return outcome.Judge(ctx, r, account.ReporterOf(r, "v", time.Now()), records, nil, zerolog.Nop())
}

// released masks all records of a plan and assesses them.
func released(t *testing.T, r *pipeline.Release) (values []float64) {
	t.Helper()
	pl := r.Plan
	pass := pipeline.Flow{
		Source: pl.Source, Layout: pl.Layout, Cut: pl.Cut,
		Work: func(p *pipeline.Parcel) error { return r.Mask(p.Block) },
		Stages: []func(*pipeline.Parcel) error{func(p *pipeline.Parcel) error {
			r.Add(p.Block)
			values = append(values, p.Block.Columns[0].Out().Values...)
			return nil
		}},
	}
	if err := pass.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return values
}

// A release that is settled masks its records, measures them and is judged: the report has the
// key, the masks, the counts, what was measured and what an intruder finds.
func TestReleasesAreJudged(t *testing.T) {
	for name, c := range map[string]struct {
		rest   string
		passes bool
	}{
		"noise":         {noise + "gate: {rules: [{column: wage, target: max, knowledge: index, min_rmse: 10}]}\n", true},
		"noise refused": {noise + "gate: {rules: [{column: wage, target: max, knowledge: index, min_rmse: 100}]}\n", false},
		"swap":          {swap + "gate: {rules: [{column: wage, target: max, knowledge: index, min_rmse: 1}]}\n", true},
		"swap refused":  {swap + "gate: {rules: [{column: wage, target: max, knowledge: index, min_rmse: 10000}]}\n", false},
	} {
		// Of more records than the sample, a swap needs its own account of what it moved.
		for _, sample := range []string{"all", "20"} {
			p := people(t, c.rest+"assess: {replicates: 4, targets: [max], sample: "+sample+
				", keys: [region], intruder: {uniqueness: {}, inversion: false}}\n")
			key, err := p.Key.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			r, err := open(t.Context(), t, p, key, zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			if values := released(t, r); len(values) != 90 {
				t.Fatalf("%s: %d values are released, want 90", name, len(values))
			}
			rep, err := judged(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if rep.KeyID != key.ID() || rep.Version != "v" || len(rep.Masks) != 1 || rep.Masks[0].Records == 0 ||
				rep.Records.Released != 90 || rep.Attack == nil || rep.Attack.Uniqueness == nil {
				t.Errorf("%s, sample %s: report is %+v", name, sample, rep)
			}
			if c := rep.Columns[0]; len(rep.Columns) != 1 || c.Name != "wage" || c.Original.N != 90 || c.Released.N != 90 ||
				!(float64(c.Released.SD) > 0) {
				t.Errorf("%s, sample %s: columns are %+v", name, sample, rep.Columns)
			}
			if rep.Gate.Passed != c.passes || (rep.Withheld == "") != c.passes {
				t.Errorf("%s, sample %s: gate passed is not %v: %+v", name, sample, c.passes, rep.Gate)
			}
		}
	}
}

// What a swap is expected to change is measured along with it: of a record that is known by its
// index the risk is the same whether the sample holds all records or few.
func TestSwapsAreMeasuredAsTheyAreMade(t *testing.T) {
	risk := func(sample string) assess.Risk {
		p := people(t, swap+"assess: {replicates: 2, targets: [p50], sample: "+sample+"}\n")
		key, err := p.Key.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		r, err := open(t.Context(), t, p, key, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		released(t, r)
		rep, err := judged(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		list := rep.Columns[0].Risk
		return list[slices.IndexFunc(list, func(r assess.Risk) bool {
			return r.Target == "p50" && r.Knowledge == assess.KnowledgeIndex
		})]
	}
	all, some := risk("all"), risk("20")
	if !(all.R > 0) || all.R != some.R || all.Sampled || some.Sampled {
		t.Errorf("risk by all records is %+v, by a sample %+v, want the same R and neither marked as sampled", all, some)
	}
}

// Where nothing can be measured nothing is, and the report counts the records alone.
func TestReleasesWithNothingToMeasure(t *testing.T) {
	p := peopleOf(t, "wage: {role: other}, region: {role: other}, kind: {role: other}", "")
	pl := plantest.New(t, p)
	if pl.Measures() {
		t.Fatal("the plan has something to measure: the test checks nothing")
	}
	r, err := open(t.Context(), t, p, keytest.Key(1), zerolog.Nop())
	if err != nil || r.Measured != nil || r.Chain == nil {
		t.Fatalf("Settle returns %+v and error %v, want a chain and nothing measured", r, err)
	}
	released(t, r)
	rep, err := judged(t.Context(), r)
	if err != nil || len(rep.Columns) != 0 || rep.Records.Released != 90 || !rep.Gate.Passed {
		t.Errorf("the report is %+v, error %v", rep, err)
	}
}

// What the data do not allow is said before a record is masked, and columns in which a percentage
// masks nothing are warned of.
func TestReleasesThatCannotBeSettled(t *testing.T) {
	settle := func(ctx context.Context, rest string) (string, error) {
		p := people(t, rest)
		if strings.Contains(rest, "sd: 10%") {
			rows := "wage,region,kind\n" + strings.Repeat("7,a,b\n", 3)
			if err := os.WriteFile(p.Source.Config.(*csv.SourceConfig).Path, []byte(rows), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		r, err := open(ctx, t, p, keytest.Key(1), zerolog.New(&log))
		if err != nil && r != nil {
			t.Errorf("%s: Settle returns a release and the error %v", rest, err)
		}
		return log.String(), err
	}
	if said, err := settle(t.Context(), "masks: [{noise: {columns: [wage], sd: 10%}}]\n"); err != nil ||
		!strings.Contains(said, `"column":"wage"`) {
		t.Errorf("equal values: the log is %q (error %v), want a warning about wage", said, err)
	}
	if said, err := settle(t.Context(), noise); err != nil || said != "" {
		t.Errorf("valid configuration: the log is %q (error %v), want nothing", said, err)
	}
	var wrong config.Errors
	if _, err := settle(t.Context(), "masks: [{round: {columns: [wage], base: 0.001}}]\n"); !errors.As(err, &wrong) {
		t.Errorf("a mask that the decimals do not allow: error %v, want config.Errors", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := settle(ended, noise); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context, Settle returns %v", err)
	}
}

// Wherever a judgement is told to end, it says so and there is no report.
func TestJudgementsEnd(t *testing.T) {
	p := people(t,
		swap+"assess: {replicates: 2, targets: [p50], sample: 20, keys: [region], intruder: {uniqueness: {}}}\n")
	told := 0
	for n := range eventually.Steps {
		r, err := open(t.Context(), t, p, keytest.Key(1), zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		released(t, r)
		ctx := eventually.Ends(t.Context(), n)
		rep, err := judged(ctx, r)
		if (rep == nil) != (err != nil) || err != nil && !ctx.Ended() {
			t.Fatalf("context ended at check %d: report %v, error %v", n, rep, err)
		}
		if err != nil {
			told++
		}
		if !ctx.Ended() {
			break
		}
	}
	if told == 0 {
		t.Error("Judged never failed for an end of the context: the test checks nothing")
	}
}
