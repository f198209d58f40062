package tabling

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

func configured(t *testing.T, dir, text string) *tabulation.Config {
	t.Helper()
	c,
		err := tabulation.Parse("t.yaml", []byte(strings.ReplaceAll(text, "%s", dir)),
		config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runFaulty is Run with a source and a sink that count their calls. The configuration's own source
// and sink do not change, because the report contains its digest.
func runFaulty(ctx context.Context, calls *faulty.Calls, c *tabulation.Config) error {
	ctx, o := pipeline.Options{}.Ready(ctx)
	r, err := open(ctx, c, o)
	if err != nil {
		return err
	}
	defer r.close()
	r.source = calls.Source(r.source)
	list, tally, err := r.tabulate(ctx, o)
	if err != nil {
		return err
	}
	out := &outputs{records: r, options: o, list: list, report: r.account(list, tally)}
	counted := *c
	counted.Sink.Config = calls.Sink(c.Sink.Config)
	r.config = &counted
	if _, err = out.release(ctx); err != nil {
		return errors.Join(err, out.abort())
	}
	return nil
}

// If any call to the source or the sink fails, or the run is cancelled at any point, the error is
// returned, and the files are the same as before. After the tables have their names, the rest is
// completed.
func TestEveryCallOfTablesFailsOnce(t *testing.T) {
	dir := shopsIn(t)
	attempt := func(calls *faulty.Calls, ctx context.Context) error {
		return runFaulty(ctx, calls, configured(t, dir, shopTables))
	}
	clean := func() (left []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "in.csv" && e.Name() != "regions.csv" {
				left = append(left, e.Name())
				if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
					t.Fatal(err)
				}
			}
		}
		return left
	}
	all := new(faulty.Calls)
	if err := attempt(all, t.Context()); err != nil || len(clean()) != 6 {
		t.Fatal(err)
	}
	counts := all.Counts()
	for _, name := range []string{"read", "next", "decode", "close the reader", "unchanged", "create", "encode", "write",
		"finish", "commit"} {
		if counts[name] == 0 {
			t.Errorf("the run never calls %s", name)
		}
	}
	for name, n := range faulty.Each(counts) {
		err := attempt(&faulty.Calls{Name: name, N: n}, t.Context())
		if left := clean(); !errors.Is(err, faulty.ErrCall) || len(left) > 0 {
			t.Errorf("%s, call %d fails: error %v, remaining files %v", name, n, err, left)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = attempt(&faulty.Calls{Name: name, N: n, Cancel: cancel}, ctx)
		cancel()
		// the last check of the context before the names are given
		late := name == "commit" || name == "unchanged" && n == counts[name]
		if left := clean(); late && (err != nil || len(left) != 6) || !late &&
			(!errors.Is(err, context.Canceled) || len(left) > 0) {
			t.Errorf("%s, call %d: cancelled in this call, the run returns %v and leaves the files %v", name, n, err, left)
		}
	}
}

// If a file of a run cannot be created or renamed, the error names it. Before the tables have their
// names, no file remains.
func TestEveryFileOfTablesCannotBeWritten(t *testing.T) {
	const text = "name: shops\nversion: 1\nsource: {csv: {path: %s/in.csv}}\ntables: [{name: t, rows: [size], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\nsink: {csv: {path: %s/SINK}}\nreport: {html: %s/HTML, json: %s/JSON, cells: %s/CELLS}\n"
	usual := map[string]string{"SINK": "out/out.csv", "HTML": "page/r.html", "JSON": "json/r.json", "CELLS": "cells/c.csv"}
	for which, file := range usual {
		dir := shopsIn(t)
		write(t, dir, "file", "no folder")
		names := map[string]string{}
		for k, v := range usual {
			names[k] = v
		}
		names[which] = "file/" + filepath.Base(file)
		in := text
		for k, v := range names {
			in = strings.Replace(in, k, v, 1)
		}
		if _, err := run(t, dir, in); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "file")) {
			t.Errorf("%s below a file: error %v", which, err)
		}
		if left := filesBelow(t, dir); !slices.Equal(left, []string{"file", "in.csv", "regions.csv"}) {
			t.Errorf("%s below a file: the folder has the files %v", which, left)
		}
	}
	for _, name := range []string{"page/r.html", "page/r.public.html", "json/r.json", "json/r.public.json",
		"cells/c.csv"} {
		dir := shopsIn(t)
		in := text
		for k, v := range usual {
			in = strings.Replace(in, k, v, 1)
		}
		if err := os.MkdirAll(filepath.Join(dir, name, "sub"), 0o700); err != nil { // a folder with content has the name
			t.Fatal(err)
		}
		if _, err := run(t, dir, in); err == nil || !strings.Contains(err.Error(), filepath.Base(name)) {
			t.Errorf("%s is a folder: error %v", name, err)
		}
		for _, left := range filesBelow(t, dir) {
			if strings.HasPrefix(filepath.Base(left), ".") {
				t.Errorf("%s is a folder: the temporary file %s remains", name, left)
			}
		}
	}
}

// Once the tables are published, a file that cannot get its name keeps no other from its own, and the error says that
// there are tables.
func TestTablesWhoseReportsHaveNoName(t *testing.T) {
	all := []string{"out.csv", "r.public.html", "r.public.json", "c.csv", "r.html", "r.json"}
	for _, name := range all[1:] {
		dir := shopsIn(t)
		c := configured(t, dir,
			"name: shops\nversion: 1\nsource: {csv: {path: %s/in.csv}}\ntables: [{name: t, rows: [size], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\n"+
				"sink: {csv: {path: %s/out.csv}}\nreport: {html: %s/r.html, json: %s/r.json, cells: %s/c.csv}\n")
		taken := func() { // as the tables get their name, another takes this one: a folder with content
			if err := os.MkdirAll(filepath.Join(dir, name, "sub"), 0o700); err != nil {
				t.Error(err)
			}
		}
		err := runFaulty(t.Context(), &faulty.Calls{Name: "commit", N: 1, Cancel: taken}, c)
		var published *account.PublishedError
		if !errors.As(err, &published) ||
			!strings.Contains(err.Error(), "the release is published ("+filepath.Join(dir, "out.csv")+")") ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s cannot be named: error %v", name, err)
		}
		want := append(slices.DeleteFunc(slices.Clone(all), func(other string) bool { return other == name }), "in.csv",
			"regions.csv")
		slices.Sort(want)
		if left := filesBelow(t, dir); !slices.Equal(left, want) {
			t.Errorf("%s cannot be named: the folder has the files %q, want %q", name, left, want)
		}
	}
}

// filesBelow returns the files of a folder and its subfolders.
func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// A source that can be read only once is tabulated if nothing must be learnt from it first; it is
// refused if codes or decimals must be.
func TestTablesOfAPipe(t *testing.T) {
	piped := func(rows string) error {
		dir := t.TempDir()
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		defer func(before *os.File) { os.Stdin = before }(os.Stdin)
		os.Stdin = in
		_, err = out.WriteString("size,turnover\nbig,1\nbig,2\nsmall,3\nsmall,4\n")
		if err := errors.Join(err, out.Close()); err != nil {
			t.Fatal(err)
		}
		_,
			err = run(t, dir,
			fmt.Sprintf(
				"version: 1\nsource: {csv: {path: \"-\", types: {turnover: float64}}}\ntables: [{name: t, rows: [size], unsafe: [{threshold: 2}], protect: {suppress: {}}%s\nsink: {csv: {path: %%s/out.csv}}\n", rows))
		if err == nil && len(read(t, dir, "out.csv")) != 4 {
			t.Errorf("the tables are %v, want 4 lines", read(t, dir, "out.csv"))
		}
		return err
	}
	const codes = "}]\nhierarchies: {size: {codes: [big, small]}}"
	const once = "source: can be read only once, so codes (hierarchies with file or codes) and decimals must be given"
	for rows, want := range map[string]string{
		codes: "", "}]": once, ", value: turnover" + codes: once, ", value: turnover, decimals: 0" + codes: "",
	} {
		if err := piped(rows); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("rows %q: error %v", rows, err)
		}
	}
}
