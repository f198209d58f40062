// Command figure writes the R-U map of one column of a report as an SVG file:
//
//	go run ./assess/report/internal/figure out/report.json wage >docs/ru-map.svg
package main

import (
	"fmt"
	"os"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/figure"
)

func main() {
	if err := draw(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "figure:", err)
		os.Exit(1)
	}
}

func draw(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: figure REPORT.json COLUMN")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	r, err := report.Parse(text)
	if err != nil {
		return err
	}
	for i := range r.Columns {
		if r.Columns[i].Name == args[1] {
			_, err := os.Stdout.Write(figure.RUMapSVG(report.MapOf(&r.Columns[i], r.Gate), figure.SVGOptions{Standalone: true}))
			return err
		}
	}
	return fmt.Errorf("%s: has no column %q", args[0], args[1])
}
