package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// worthAWord is the ratio of CPU seconds from which on the guard warns. Medians of the
// pairs of seven runs in turn scatter by some 5 % on a busy machine.
const worthAWord = 1.15

// guardConfig masks and measures four columns of eight; the others are copied.
const guardConfig = `version: 1
name: guard
key: {file: bench.key}
source: {%s: {path: %s}}
sink: {%s: {path: %s}}
columns:
  a: {role: sensitive, decimals: 2}
  b: {role: sensitive, decimals: 2}
  c: {role: sensitive, decimals: 2}
  d: {role: sensitive, decimals: 2}
  sex: {role: other}
  age: {role: other}
  occupation: {role: other}
  area: {role: other}
masks:
  - noise: {columns: [a, b, c, d], sd: 0.2}
`

// benchGuard holds a program's CPU time against that of the program before, and warns.
// It fails only where one of them does not run.
func benchGuard(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("guard", flag.ContinueOnError)
	dir := flags.String("dir", "", "where the data are, of data-attack, and what is made goes")
	before := flags.String("before", "", "sdlfilter of the parent commit, built")
	after := flags.String("after", "", "sdlfilter of this commit, built")
	records := flags.Int("records", 300_000, "records of the data")
	runs := flags.Int("runs", 7, "runs of each, in turn, after a warm-up")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, path := range []*string{dir, before, after} {
		if *path == "" {
			return errors.New("needs -dir, -before and -after")
		}
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := makeKey(*dir); err != nil {
		return err
	}
	source := filepath.Base(attackFile(*dir, "original", *records))
	rows := [][]string{{"job", "parent, CPU s", "this commit, CPU s", "ratio", "parent, MB", "this commit, MB"}}
	slower := false
	for _, job := range []struct{ name, format, source, sink string }{
		{"Parquet to Parquet", "parquet", source, "guard.parquet"},
		{"CSV to CSV", "csv", "guard.source.csv", "guard.csv"},
	} {
		if job.format == "csv" {
			if err := asCSV(ctx, *dir, *after, source, job.source); err != nil {
				return err
			}
		}
		config := "guard." + job.format + ".yaml"
		text := fmt.Sprintf(guardConfig, job.format, job.source, job.format, job.sink)
		if err := os.WriteFile(filepath.Join(*dir, config), []byte(text), 0o600); err != nil {
			return err
		}
		run := func(program string) func(context.Context) (usage, error) {
			return func(ctx context.Context) (usage, error) { return measure(ctx, *dir, program, "run", "--quiet", config) }
		}
		taken, err := inTurn(ctx, *runs, []func(context.Context) (usage, error){run(*before), run(*after)})
		if err != nil {
			return err
		}
		ratio := medianRatio(taken[1], taken[0], cpu)
		slower = slower || ratio > worthAWord
		rows = append(rows,
			[]string{job.name, seconds(medianOf(taken[0], cpu)), seconds(medianOf(taken[1], cpu)), fmt.Sprintf("%.2f", ratio),
				fmt.Sprintf("%.0f", medianOf(taken[0], peak)), fmt.Sprintf("%.0f", medianOf(taken[1], peak))})
	}
	table(out, rows)
	if slower {
		fmt.Fprintf(out, "WARNING: this commit takes more than %.2f times the CPU seconds of its parent.\n", worthAWord)
	}
	return nil
}

// asCSV writes the Parquet data as CSV, once.
func asCSV(ctx context.Context, dir, program, source, target string) error {
	if _, err := os.Stat(filepath.Join(dir, target)); err == nil {
		return nil
	}
	text := fmt.Sprintf(guardConfig, "parquet", source, "csv", target)
	config := filepath.Join(dir, "guard.data.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := measure(ctx, dir, program, "run", "--quiet", "guard.data.yaml")
	return err
}
