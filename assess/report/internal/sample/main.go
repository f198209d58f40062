// Command sample writes example reports, confidential and public, as JSON and
// HTML, and a map as SVG, into a folder: go run ./assess/report/internal/sample DIR.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
	"github.com/sdlfilter/sdlfilter/internal/figure"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sample DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sample:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, r := range map[string]*report.Report{
		"released": example.Released(), "withheld": example.Withheld(), "hostile": example.Hostile(),
		"crowded": example.Crowded(), "measured": example.Measured(),
	} {
		p := r.Public([]string{"sd", "phi", "tiers", "lower", "mode", "keys"})
		for suffix, make := range map[string]func() ([]byte, error){
			".json": r.JSON, ".html": r.HTML, ".board.html": r.Board, ".public.json": p.JSON, ".public.html": p.HTML,
		} {
			text, err := make()
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, name+suffix), text, 0o600); err != nil {
				return err
			}
		}
	}
	alone := &report.Attack{Result: example.Attack(), Name: "attack", Version: "0.3.0", Finished: time.Now(),
		Pictures: example.Pictures()}
	for suffix, make := range map[string]func() ([]byte, error){"json": alone.JSON, "html": alone.HTML} {
		text, err := make()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "attack."+suffix), text, 0o600); err != nil {
			return err
		}
	}
	r := example.Released()
	svg := figure.RUMapSVG(report.MapOf(&r.Columns[0], r.Gate), figure.SVGOptions{Standalone: true})
	if err := os.WriteFile(filepath.Join(dir, "ru-map.svg"), svg, 0o600); err != nil {
		return err
	}
	r.Summary(os.Stdout, false, 0,
		[]string{"release      " + filepath.Join("out", "cps1988.parquet"), "report       out/report.json",
			"for people   out/report.html"})
	return nil
}
