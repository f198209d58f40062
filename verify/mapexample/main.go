// Command mapexample writes the example maps' files into a folder, for looking at them:
// go run ./mapexample DIR, in verify.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/mapexample"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mapexample DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "mapexample:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, m := range mapexample.All() {
		for suffix, write := range map[string]func(io.Writer) error{
			".json": func(w io.Writer) error { return rumap.WriteJSON(w, m) },
			".csv":  func(w io.Writer) error { return rumap.WriteCSV(w, m) },
			".svg":  func(w io.Writer) error { return rumap.WriteSVG(w, m, rumap.PictureOptions{}) },
			".png":  func(w io.Writer) error { return rumap.WritePNG(w, m, rumap.PictureOptions{}) },
			".html": func(w io.Writer) error { return report.WriteMapHTML(w, m) },
			".txt":  func(w io.Writer) error { rumap.Summary(w, m, false, 0); return nil },
		} {
			if err := file(filepath.Join(dir, "map-"+name+suffix), write); err != nil {
				return err
			}
		}
	}
	return nil
}

func file(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
