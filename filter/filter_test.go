package filter_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/filter"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
)

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "wage", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "region", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "kind", Type: arrow.PrimitiveTypes.Int32},
}, nil)

// batchOf returns records [from, to) in memory of mem. Every 50th wage is missing, and every bad-th
// is not a number, unless bad is 0.
func batchOf(mem memory.Allocator, from, to, bad int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for i := from; i < to; i++ {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("SECRET%d", i))
		switch wages := b.Field(1).(*array.Float64Builder); {
		case bad > 0 && i%bad == bad-1:
			wages.Append(nan())
		case i%50 == 0:
			wages.AppendNull()
		default:
			wages.Append(31415.25 + float64(i*7919%90000)/4)
		}
		b.Field(2).(*array.StringBuilder).Append([]string{"north", "south"}[i%2])
		b.Field(3).(*array.Int32Builder).Append(int32(i / 3 % 3))
	}
	return b.NewRecordBatch()
}

func nan() float64 { zero := 0.0; return zero / zero }

const body = `version: 1
key: {file: DIR/k}
columns: {id: {role: identifier}, wage: {role: sensitive, decimals: 2}, region: {role: other}, kind: {role: other}}
masks: MASKS
assess: {replicates: 20, targets: [p10, max]}
window: {records: 100}
gate: GATE
`

const swap = "[{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, scope: window, policy: random}}]"

const noise = "[{noise: {columns: [wage], sd: 800}}, {truncate: {columns: [wage], lower: 0}}]"

// conditional are masks with conditions on their column, and on others that are not masked.
const conditional = `[{noise: {columns: [wage], sd: 800, where: "kind >= 1 and region = north"}}, {bias: {columns: [wage], phi: 0.1, where: "wage > 40000"}},
  {topcode: {columns: [wage], upper: 48000, where: "kind != 1"}}, {truncate: {columns: [wage], lower: 33000, where: "region = south"}}, {round: {columns: [wage], base: 50, where: "kind = 0"}}]`

func configured(t testing.TB, masks, gate string) (dir, text string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k"), []byte("MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return dir, strings.NewReplacer("DIR", dir, "MASKS", masks, "GATE", gate).Replace(body)
}

func open(t testing.TB, masks, gate string, o ...filter.Options) *filter.Filter {
	t.Helper()
	_, text := configured(t, masks, gate)
	p, err := config.ParseEmbedded("pipeline.yaml", []byte(text), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	f, err := filter.Open(p, o...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rows returns the wages and regions of a batch, as text.
func rows(rec arrow.RecordBatch) (out []string) {
	for i := range int(rec.NumRows()) {
		out = append(out, rec.Column(0).ValueStr(i)+" "+rec.Column(1).ValueStr(i))
	}
	return out
}

// Batches of any size give the same release, measures and verdict as a run over a file of the same
// records.
func TestReleasesWhatARunReleases(t *testing.T) {
	const n, bad = 1000, 97
	for name, c := range map[string]struct {
		masks string
		sizes []int
	}{
		"noise":     {noise, []int{1, 300, 0, 699}},
		"pseudonym": {noise[:len(noise)-1] + ", {pseudonym: {columns: [region, kind], scope: code}}]", []int{1, 300, 0, 699}},
		"donut":     {"[{donut: {columns: [wage, kind], unit: metres, least: 50, most: 800}}]", []int{1, 300, 0, 699}},
		"swap":      {swap, slices.Repeat([]int{100}, 10)},
		"where":     {conditional, []int{1, 0, 298, 2, 699}},
		"left":      {"[{sample: {rate: 0.8}}, " + noise[1:], []int{1, 299, 700}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, text := configured(t, c.masks, "{max_quarantined: 5%, rules: [{column: wage, min_efficiency: 0.1}]}")
			// which records are left as they are is known, and what the others' masks can be undone to is not
			if name == "where" {
				text = strings.NewReplacer("max_quarantined: 5%,", "max_quarantined: 5%, allow_unchanged: 1,", "0.1}]}", "0.05}]}",
					"[p10, max]", "[p10, max], intruder: {inversion: false}").Replace(text)
			}
			in := filepath.Join(dir, "in.arrow")
			file, err := os.Create(in)
			if err != nil {
				t.Fatal(err)
			}
			w, err := ipc.NewFileWriter(file, ipc.WithSchema(schema))
			if err != nil {
				t.Fatal(err)
			}
			all := batchOf(memory.DefaultAllocator, 0, n, bad)
			defer all.Release()
			if err := w.Write(all); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			file.Close()
			options := config.Options{Environ: func() []string { return nil }}
			p,
				err := config.Parse("pipeline.yaml",
				[]byte(text+fmt.Sprintf("source: {arrow: {path: %s}}\nsink: {arrow: {path: %s/out.arrow}}\n", in, dir)), options)
			if err != nil {
				t.Fatal(err)
			}
			ran, err := filejob.Run(context.Background(), p, pipeline.Options{})
			if err != nil {
				t.Fatal(err)
			}
			out, err := os.Open(filepath.Join(dir, "out.arrow"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			r, err := ipc.NewFileReader(out)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range r.NumRecords() {
				rec, err := r.RecordBatchAt(i)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, rows(rec)...)
			}

			embedded, err := config.ParseEmbedded("pipeline.yaml", []byte(text), options)
			if err != nil {
				t.Fatal(err)
			}
			var lost []filter.Rejected
			f, err := filter.Open(embedded, filter.Options{Rejected: func(r filter.Rejected) { lost = append(lost, r) }})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			at := 0
			for _, size := range c.sizes {
				rec := batchOf(memory.DefaultAllocator, at, at+size, bad)
				released, err := f.Batch(rec)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, rows(released)...)
				released.Release()
				rec.Release()
				at += size
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d records are not the %d of the run", len(got), len(want))
			}
			rep, err := f.Close()
			if err != nil {
				t.Fatal(err)
			}
			// half a place is none
			if rep.Records.Read != n || rep.Records.Released != int64(len(want)) ||
				rep.Records.Counts != ran.Report.Records.Counts || !rep.Records.Valid() || name != "left" && name != "donut" &&
				rep.Records.Quarantined != n/bad || int64(len(lost)) != rep.Records.Quarantined || name != "left" &&
				name != "donut" && lost[0].Record != bad ||
				lost[0].Column != "wage" {
				t.Errorf("records %+v, rejected %+v", rep.Records, lost)
			}
			if left := rep.Records.LeftOut; (left > 150 && left < 250) != (name == "left") { // 200 ± 4 SD
				t.Errorf("%d records are left out", left)
			}
			if !rep.Gate.Passed || rep.Withheld != "" || ran.Refused() {
				t.Errorf("gate %+v", rep.Gate)
			}
			if !reflect.DeepEqual(rep.Places, ran.Report.Places) || (len(rep.Places) > 0) != (name == "donut") {
				t.Errorf("places %+v, those of the run are %+v", rep.Places, ran.Report.Places)
			}
			for i, c := range rep.Columns {
				w := ran.Report.Columns[i]
				if c.Utility.U != w.Utility.U || len(c.Risk) != len(w.Risk) || c.Risk[0].R != w.Risk[0].R {
					t.Errorf("%s: U %v, the run has %v", c.Name, c.Utility.U, w.Utility.U)
				}
			}
		})
	}
}

// A release that breaks a rule, or has lost records, is reported as withheld.
func TestCloseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		gate string
		bad  int
		why  string
	}{
		"a rule": {
			"{rules: [{column: wage, min_efficiency: 0.1}, {column: wage, target: max, knowledge: index, min_rmse: 100000}]}", 0,
			"RMSE of max"},
		"lost records": {"{rules: [{column: wage, min_efficiency: 0.1}]}", 10, "quarantine"},
		"all lost":     {"{max_quarantined: 100%}", 1, "at least one record"},
	} {
		f := open(t, noise, c.gate)
		rec := batchOf(memory.DefaultAllocator, 0, 500, c.bad)
		if _, err := f.Batch(rec); err != nil {
			t.Fatal(err)
		}
		rep, err := f.Close()
		if err != nil || rep.Gate.Passed || !strings.Contains(rep.Withheld, c.why) {
			t.Errorf("%s: %v, withheld %q", name, err, rep.Withheld)
		}
		if _, err := f.Close(); err != filter.ErrClosed {
			t.Errorf("%s: closed twice: %v", name, err)
		}
		if _, err := f.Batch(rec); err != filter.ErrClosed {
			t.Errorf("%s: a batch after Close: %v", name, err)
		}
	}
}

// After a refused batch there is no verdict, and no error or report contains a value.
func TestErrorsHoldNoValue(t *testing.T) {
	other := arrow.NewSchema([]arrow.Field{schema.Field(0), {Name: "wage", Type: arrow.BinaryTypes.String},
		schema.Field(2), {Name: "kind", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, other)
	for i := range 4 {
		b.Field(i).(*array.StringBuilder).Append("SECRET31415")
	}
	text := b.NewRecordBatch()
	for name, batches := range map[string][]arrow.RecordBatch{
		"text for numbers": {text},
		"another schema":   {batchOf(memory.DefaultAllocator, 0, 10, 0), text},
		"fewer columns": {batchOf(memory.DefaultAllocator, 0, 10, 0),
			array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 3)},
		"no column at all":  {array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 3)},
		"a window too many": {batchOf(memory.DefaultAllocator, 0, 101, 0)},
		"two short windows": {batchOf(memory.DefaultAllocator, 0, 10, 0), batchOf(memory.DefaultAllocator, 10, 20, 0)},
	} {
		masks := noise
		if strings.Contains(name, "window") {
			masks = swap
		}
		f := open(t, masks, "{}")
		var err error
		for _, rec := range batches {
			_, err = f.Batch(rec)
		}
		if err == nil || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "31415") {
			t.Errorf("%s: %v", name, err)
		}
		if rep, again := f.Close(); rep != nil || fmt.Sprint(again) != fmt.Sprint(err) {
			t.Errorf("%s: Close after an error: %v, %v", name, rep, again)
		}
	}
	if _, err := open(t, noise, "{}").Close(); err == nil {
		t.Error("a verdict about no batch")
	}
	f := open(t, noise, "{}")
	if _, err := f.Batch(batchOf(memory.DefaultAllocator, 0, 300, 7)); err != nil {
		t.Fatal(err)
	}
	rep, err := f.Close()
	if err != nil {
		t.Fatal(err)
	}
	public, err := rep.Public(nil).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if s := string(public) + rep.Withheld + strings.Join(rep.Warnings, " "); strings.Contains(s, "SECRET") ||
		strings.Contains(s, "31415") {
		t.Errorf("a value: %s", s)
	}
}

// The caller keeps its batches and owns the results: if each is released once, no memory remains,
// and the results stay valid without the batches.
func TestOwnership(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	f := open(t, noise, "{}")
	for i, bad := range []int{0, 7, 1} {
		rec := batchOf(mem, 100*i, 100*i+100, bad)
		out, err := f.Batch(rec)
		rec.Release()
		if err != nil {
			t.Fatal(err)
		}
		if out.NumRows() > 0 && out.Column(1).ValueStr(0) != []string{"north", "south"}[i*100%2] {
			t.Errorf("region %q", out.Column(1).ValueStr(0))
		}
		out.Release()
	}
	if _, err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Batches may come from several goroutines: each record is counted once.
func TestSeveralGoroutines(t *testing.T) {
	f := open(t, noise, "{}")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 5 {
				if _, err := f.Batch(batchOf(memory.DefaultAllocator, 100*(5*g+i), 100*(5*g+i)+100, 0)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if rep, err := f.Close(); err != nil || rep.Records.Released != 2000 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// A program that embeds the masks does not get a Kafka client or Parquet with them.
func TestNoConnectorsBeside(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/sdlfilter/sdlfilter/filter").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	if !strings.Contains(string(out), "sdlfilter/transform\n") {
		t.Fatalf("not a list of packages: %s", out)
	}
	for _, name := range []string{"connectors/kafka", "connectors/parquet", "connectors/csv", "connectors/jsonl",
		"internal/formats", "franz-go", "parquet-go"} {
		if strings.Contains(string(out), name) {
			t.Errorf("filter imports %s", name)
		}
	}
}

// With an ended context a batch is not processed, and the filter continues as if it had not
// received the batch: the release is the same, byte by byte.
func TestContexts(t *testing.T) {
	plain, cancelled := open(t, noise, "{}"), open(t, noise, "{}")
	gone := errors.New("the caller has gone")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for i := range 3 {
		rec := batchOf(memory.DefaultAllocator, i*100, i*100+100, 0)
		defer rec.Release()
		for range 2 {
			if out, err := cancelled.BatchContext(over, rec); out != nil || err != gone {
				t.Fatalf("batch %d under an ended context: %v, %v", i, out, err)
			}
		}
		want, err := plain.Batch(rec)
		if err != nil {
			t.Fatal(err)
		}
		defer want.Release()
		got, err := cancelled.BatchContext(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Release()
		if !array.RecordEqual(got, want) {
			t.Errorf("batch %d is released otherwise after calls whose context had ended", i)
		}
	}
	if rep, err := cancelled.CloseContext(over); rep != nil || err != gone {
		t.Errorf("closed under an ended context: %v, %v", rep, err)
	}
	if rep, err := cancelled.Close(); rep != nil || err != filter.ErrClosed {
		t.Errorf("closed again: %v, %v", rep, err)
	}
	if rep, err := plain.CloseContext(t.Context()); err != nil || rep.Records.Released != 300 {
		t.Errorf("%v, %v", rep, err)
	}
}

// ending is a context that ends after it was checked a given number of times.
type ending struct {
	context.Context
	checks, at int
	mu         sync.Mutex
}

func (e *ending) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.checks++; e.checks > e.at {
		return context.Canceled
	}
	return nil
}

// A context that ends during measurement or attack stops it: there is no report that a caller could
// use as a verdict.
func TestContextEndsAssessment(t *testing.T) {
	f := open(t, noise, "{rules: [{column: wage, target: max, knowledge: index, max_risk: 1}]}")
	rec := batchOf(memory.DefaultAllocator, 0, 2000, 0)
	defer rec.Release()
	out, err := f.Batch(rec)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	ctx := &ending{Context: t.Context(), at: 1} // has not ended at the first check in Close
	if rep, err := f.CloseContext(ctx); rep != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v after %d looks", rep, err, ctx.checks)
	}
}

// Under nulls there is nothing: what the source has there would tell its nulls from those of a mask.
// What leaves has memory of its own.
func TestNothingUnderNulls(t *testing.T) {
	f := open(t,
		"[{noise: {columns: [wage], sd: 800}}, {swap: {keys: [wage], attribute: kind, columns: [region], rate: 0.5, scope: window, policy: random}}]", "{rules: [{column: wage, min_efficiency: 0.01}]}")
	rec := batchOf(memory.DefaultAllocator, 0, 100, 0)
	d := rec.Column(2).Data()
	valid := make([]byte, 13)
	for i := range 100 {
		if i%10 != 0 {
			valid[i/8] |= 1 << (i % 8)
		}
	}
	region := array.MakeFromData(
		array.NewData(d.DataType(), d.Len(), []*memory.Buffer{memory.NewBufferBytes(valid), d.Buffers()[1], d.Buffers()[2]},
			nil, 10, 0))
	in := array.NewRecordBatch(schema, []arrow.Array{rec.Column(0), rec.Column(1), region, rec.Column(3)}, 100)
	out, err := f.Batch(in)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	wages, regions := out.Column(0).(*array.Float64), out.Column(1).(*array.String)
	nulls := 0
	for i := range 100 {
		if wages.IsNull(i) && wages.Float64Values()[i] != 0 {
			t.Errorf("record %d: %v under a null", i, wages.Float64Values()[i])
		}
		if at := regions.ValueOffsets(); regions.IsNull(i) {
			if nulls++; at[i] != at[i+1] {
				t.Errorf("record %d: %q under a null", i, regions.ValueBytes()[at[i]:at[i+1]])
			}
		}
	}
	if nulls != 10 {
		t.Errorf("%d nulls, want 10", nulls)
	}
	for _, b := range regions.Data().Buffers() {
		for _, old := range d.Buffers() {
			if b != nil && old != nil && b.Len() > 0 && old.Len() > 0 && &b.Bytes()[0] == &old.Bytes()[0] {
				t.Error("the released column shares memory with the batch")
			}
		}
	}
}
