// Command figures reproduces the figures of the papers as SVG files, and writes their
// numbers to figures.csv:
//
//	cd verify && go run ./figures ..
//
// Its argument is the repository, whose data it reads and to whose docs/figures it
// writes. All draws come from a fixed key: running it twice gives the same bytes. This
// is in a module of its own, as the plotting library's dependencies are not the filter's.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: figures REPOSITORY")
	}
	files, err := figures(context.Background(), args[0])
	if err != nil {
		return err
	}
	dir := filepath.Join(args[0], "docs", "figures")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// file is one of the files that the program writes.
type file struct {
	name    string
	content []byte
}

// figures returns all files, made from the data under root.
func figures(ctx context.Context, root string) ([]file, error) {
	var charts []chart
	for _, draw := range []func(context.Context, string) ([]chart, error){linkageFigure, additiveNoise, empirical,
		swapping, limitation, dataSquareFigure} {
		c, err := draw(ctx, root)
		if err != nil {
			return nil, err
		}
		charts = append(charts, c...)
	}
	var files []file
	for _, c := range charts {
		svg, err := c.svg()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		files = append(files, file{c.name + ".svg", svg})
	}
	numbers, err := numbers(charts)
	if err != nil {
		return nil, err
	}
	tabulated, err := paperTables()
	if err != nil {
		return nil, err
	}
	return append(files, graph(), tabulated, file{"figures.csv", numbers}), nil
}
