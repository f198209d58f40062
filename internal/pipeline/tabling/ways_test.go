package tabling

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// If a run or an audit is cancelled at one of its last checks, it returns the error and no result;
// without a further check it completes.
func TestTablesEndAtTheLastQuestions(t *testing.T) {
	dir := shopsIn(t)
	for name, do := range map[string]func(ctx context.Context) (bool, error){
		"a run": func(ctx context.Context) (bool, error) {
			res, err := Run(ctx, configured(t, dir, shopTables), pipeline.Options{})
			return res != nil, err
		},
		"an audit": func(ctx context.Context) (bool, error) {
			rep, err := Audit(ctx, configured(t, dir, shopTables), Foreign{Path: filepath.Join(dir, "out.csv")},
				pipeline.Options{})
			return rep != nil, err
		},
	} {
		if _, err := Run(t.Context(), configured(t, dir, shopTables), pipeline.Options{}); err != nil {
			t.Fatal(err)
		}
		count := eventually.Ends(t.Context(), 1<<40)
		if done, err := do(count); err != nil || !done {
			t.Fatal(name, done, err)
		}
		failures := 0
		for n := max(1, count.Questions()-16); n <= count.Questions(); n++ {
			ctx := eventually.Ends(t.Context(), n)
			done, err := do(ctx)
			if done != (err == nil) || err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled)) {
				t.Errorf("%s, context ended at check %d of %d: done %v, error %v", name, n, count.Questions(), done, err)
			}
			if err != nil {
				failures++
			}
		}
		if failures == 0 {
			t.Errorf("%s never failed for an end of the context", name)
		}
	}
}

// If anything happens to a file of the tables between its creation and its name, the error says to
// which file.
func TestTablesThatAreLostOnTheWay(t *testing.T) {
	racetest.Further(t)
	for _, name := range []string{"out.csv", "report.json", "report.html", "report.public.json", "report.public.html",
		"cells.csv"} {
		for how, lose := range map[string]func(path string) error{
			"a folder has its name": func(path string) error { return os.MkdirAll(filepath.Join(path, "in the way"), 0o700) },
			"its name is gone":      func(path string) error { return os.Remove(publish.TempName(path)) },
		} {
			dir := shopsIn(t)
			calls := &faulty.Calls{Name: "finish", N: 1, Cancel: func() {
				if err := lose(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}}
			want := "report: "
			if name == "out.csv" {
				want = "sink: "
			}
			if err := runFaulty(t.Context(), calls, configured(t, dir, shopTables)); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: error %v, want %s", name, how, err, want)
			}
		}
	}
}

// Columns of lists cannot be variables, and a column without any value counts as numeric if numbers
// are needed.
func TestColumnsThatAreNotWanted(t *testing.T) {
	r := opened(t, shopsIn(t), shopTables)
	fields := r.source.Schema().Fields
	at := r.source.Schema().Index("region")
	fields[at].Type = arrow.ListOf(arrow.PrimitiveTypes.Float64)
	if got := r.want("path", "region", microdata.Array, false); got != -1 {
		t.Errorf("want of a column of lists returns the index %d, want −1", got)
	}
	if err := r.check(); err == nil ||
		!strings.Contains(err.Error(), "must be a column of single values, got region, which is list") {
		t.Errorf("check returns %v", err)
	}
	at = r.source.Schema().Index("size")
	fields[at].Type, fields[at].Unseen = arrow.BinaryTypes.String, true
	if got := r.want("path", "size", microdata.Numbers, false); got < 0 ||
		fields[at].Type != arrow.PrimitiveTypes.Float64 {
		t.Errorf("want of a column without values returns the index %d and makes its type %s", got, fields[at].Type)
	}
}

// A table that is too large is reported at the family's first table, with a way to make it smaller.
func TestTablesThatAreTooLarge(t *testing.T) {
	f := &family{of: []int{3, 4}}
	var data *pipeline.DataError
	for err, want := range map[error]string{tabulate.ErrTooLarge: "fewer decimals make room",
		tabulate.ErrTooMany:   "fewer variables in the linked tables make room",
		errors.ErrUnsupported: "unsupported operation"} {
		got := f.tooLarge(err)
		if got == nil || !strings.HasPrefix(got.Error(), "tables[3]: ") || !strings.HasSuffix(got.Error(), want) ||
			errors.As(got, &data) == (err == errors.ErrUnsupported) {
			t.Errorf("tooLarge(%v) = %v", err, got)
		}
	}
}

// Every path from the root is recorded once, with few or many different texts. Rejected records,
// and records without a code, have none.
func TestWaysOfABlock(t *testing.T) {
	for _, many := range []int{3, 300} {
		rng := rand.New(rand.NewPCG(uint64(many), 1))
		b := &microdata.Block{N: 3000, Columns: make([]microdata.Column, 2)}
		want := map[string]bool{}
		up, down := array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
		for i := range b.N {
			u, d := rng.IntN(many), rng.IntN(many)
			up.Append(fmt.Sprint("u", u))
			switch {
			case i%100 == 7:
				down.AppendNull()
				continue
			case i%100 == 8:
				down.Append("")
				continue
			case i%100 == 9:
				b.Reject(i, "", "a fault")
				d = many // of this record only
			default:
				want[fmt.Sprintf("u%d/d%d", u, d)] = true
			}
			down.Append(fmt.Sprint("d", d))
		}
		b.Columns[0].Array, b.Columns[1].Array = up.NewArray(), down.NewArray()
		got := waysOf(b, []int{0, 1})
		if len(got) != len(want) {
			t.Errorf("%d texts: %d ways, want %d", many, len(got), len(want))
		}
		for key, way := range got {
			if joined := strings.Join(way, "/"); !want[joined] || key != strings.Join(way, "\x00")+"\x00" {
				t.Fatalf("%d texts: unexpected way %q", many, joined)
			}
		}
	}
}
