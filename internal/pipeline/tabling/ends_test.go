package tabling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// If a run is cancelled at any point, it returns the error and no file remains, or it has published
// everything.
func TestRunEndsAtEveryStep(t *testing.T) {
	dir := shopsIn(t)
	c,
		err := tabulation.Parse("t.yaml", []byte(strings.ReplaceAll(shopTables, "%s", dir)),
		config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	for n := range eventually.Steps {
		ctx := eventually.Ends(t.Context(), n)
		res, err := Run(ctx, c, pipeline.Options{})
		ended := ctx.Ended()
		entries, _ := os.ReadDir(dir)
		switch {
		case err != nil && (!ended || !errors.Is(err, context.Canceled)):
			t.Fatalf("context ended at check %d: error %v", n, err)
		case err != nil && len(entries) != 2:
			t.Fatalf("context ended at check %d: the folder has the files %v, want 2", n, entries)
		case err == nil && (len(res.Files) != 6 || len(entries) != 2+6):
			t.Fatalf("the result lists the files %v, the folder has %v", res.Files, entries)
		}
		if err != nil {
			failures++
			continue
		}
		for _, path := range res.Files {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if !ended {
			break
		}
	}
	if failures < 5 {
		t.Errorf("the command failed for %d ends of the context, want at least 5", failures)
	}
}

// If the audit of a table is cancelled at any point, it returns the error.
func TestAuditEndsAtEveryStep(t *testing.T) {
	dir := shopsIn(t)
	if _, err := run(t, dir, shopTables); err != nil {
		t.Fatal(err)
	}
	c := configured(t, dir, shopTables)
	failures := 0
	for n := range eventually.Steps {
		ctx := eventually.Ends(t.Context(), n)
		rep, err := Audit(ctx, c, Foreign{Path: filepath.Join(dir, "out.csv")}, pipeline.Options{})
		if err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled) || rep != nil) || err == nil && !rep.Gate.Passed {
			t.Fatalf("context ended at check %d: report %v, error %v", n, rep, err)
		}
		if err != nil {
			failures++
		} else if !ctx.Ended() {
			break
		}
	}
	if failures < 5 {
		t.Errorf("the command failed for %d ends of the context, want at least 5", failures)
	}
}

// Tables of the release of a swap within windows equal those of the released file, also if the
// source groups its records in other ways than windows.
func TestTablesOfWindows(t *testing.T) {
	type firm struct {
		ID     string  `parquet:"id"`
		Region string  `parquet:"region"`
		Size   string  `parquet:"size"`
		Wages  float64 `parquet:"wages"`
	}
	dir := t.TempDir()
	var data bytes.Buffer
	w := parquet.NewGenericWriter[firm](&data, parquet.MaxRowsPerRowGroup(50))
	for i := range 400 {
		if _, err := w.Write([]firm{{strconv.Itoa(i), fmt.Sprint("r", i*i%7), fmt.Sprint("s", i%3), float64(i)}}); err !=
			nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "in.parquet", data.String())
	write(t, dir, "key", testKey)
	write(t, dir, "p.yaml", strings.ReplaceAll(`version: 1
key: {file: DIR/key}
source: {parquet: {path: DIR/in.parquet}}
identity: [id]
columns: {id: {role: identifier}, region: {role: key}, size: {role: key}, wages: {role: sensitive, decimals: 0}}
masks: [{swap: {keys: [size], attribute: region, columns: [wages], rate: 0.6, policy: random}}]
window: {records: 32}
assess: {replicates: 0}
sink: {parquet: {path: DIR/released.parquet}}
`, "DIR", dir))
	p, err := config.Load(filepath.Join(dir, "p.yaml"), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filejob.Run(t.Context(), p, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	const tables = "tables: [{name: t, rows: [region, size], value: wages, decimals: 0, unsafe: [{threshold: 2}], protect: {none: {}}}]\nsink: {csv: {path: %s/out.csv}}\nreport: {cells: %s/cells.csv}\n"
	var cells []string
	for _, source := range []string{"pipeline: %s/p.yaml\n", "source: {parquet: {path: %s/released.parquet}}\n",
		"source: {parquet: {path: %s/in.parquet}}\n"} {
		if _, err := run(t, dir, "version: 1\n"+source+tables); err != nil {
			t.Fatal(err)
		}
		cells = append(cells, strings.Join(lines(read(t, dir, "cells.csv")), "\n"))
	}
	if cells[0] != cells[1] || cells[0] == cells[2] {
		t.Errorf("tables of the pipeline:\n%s\nof its release:\n%s\nof its source:\n%s", cells[0], cells[1], cells[2])
	}
}

// For every method, a cancelled run returns the error and no file remains.
func TestEveryMethodEndsAtEveryStep(t *testing.T) {
	for _, protect := range []string{"none: {}", "cell_key: {}", "round: {base: 3, mode: nearest}",
		"round: {base: 3, mode: random}", "round: {base: 3, mode: small}", "round: {base: 3}", "adjust: {}", "simulate: {}",
		"markov: {theta: 0.5}", "swap: {rate: 0.5}", "sample: {one_in: 2}"} {
		dir := t.TempDir()
		write(t, dir, "in.csv", firmRecords(120))
		write(t, dir, "key", testKey)
		text :=
			"version: 1\nunknown: drop\nsource: {csv: {path: %s/in.csv, types: {wages: float64}}}\nsink: {csv: {path: %s/out.csv}}\ntables: [{name: t, rows: [region, size], unsafe: [{threshold: 3}], protect: {" + protect + "}}]\n"
		if strings.Contains(protect, "key") || strings.Contains(protect, "random") || strings.Contains(protect, "markov") ||
			strings.Contains(protect, "swap") || strings.Contains(protect, "sample") {
			text += "key: {file: %s/key}\nidentity: [id]\n"
		}
		c, failures := configured(t, dir, text), 0
		for n := range eventually.Steps {
			ctx := eventually.Ends(t.Context(), n)
			_, err := Run(ctx, c, pipeline.Options{})
			_, missing := os.Stat(filepath.Join(dir, "out.csv"))
			if err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled) || missing == nil) {
				t.Fatalf("%s, context ended at check %d: error %v", protect, n, err)
			}
			if err != nil {
				failures++
				continue
			}
			if missing == nil {
				if err := os.Remove(filepath.Join(dir, "out.csv")); err != nil {
					t.Fatal(err)
				}
			}
			if !ctx.Ended() {
				break
			}
		}
		if failures < 5 {
			t.Errorf("%s failed for %d ends of the context, want at least 5", protect, failures)
		}
	}
}
