package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// measuredFlags say how assess and attack show what was measured.
type measuredFlags struct {
	asJSON bool
	html   string
}

func (f *measuredFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.asJSON, "json", false, "as JSON")
	flags.StringVar(&f.html, "html", "", "a file for the page with pictures; readable by its owner alone")
}

// spare refuses a page in the place of one of the files that are read.
func (f *measuredFlags) spare(inputs ...string) error { return spare("--html", f.html, inputs) }

// spare returns an error where an output would replace an input, or lie among those of
// a folder.
func spare(flag, output string, inputs []string) error {
	switch output {
	case "":
		return nil
	case "-":
		return fmt.Errorf("%s: must be a file", flag)
	}
	there, missing := os.Stat(output)
	for _, input := range inputs {
		paths, err := filepath.Glob(input)
		if err != nil || len(paths) == 0 {
			paths = []string{input}
		}
		for _, path := range paths {
			read, err := os.Stat(path)
			if err != nil {
				continue
			}
			if missing == nil && os.SameFile(there, read) {
				return fmt.Errorf("%s: must not be a file that is read, got %q", flag, output)
			}
			if within, err := filepath.Rel(path, output); read.IsDir() && err == nil && filepath.IsLocal(within) {
				return fmt.Errorf("%s: must not lie in a folder that is read, got %q", flag, output)
			}
		}
	}
	return nil
}

// views is what assess and attack show.
type views interface {
	HTML() ([]byte, error)
	JSON() ([]byte, error)
}

// write writes the page, and the JSON or what summary writes to standard output.
func (f *measuredFlags) write(of views, summary func()) error {
	if f.html != "" {
		page, err := of.HTML()
		if err != nil {
			return err
		}
		if err := publish.WriteFile(f.html, publish.Confidential, page); err != nil {
			return err
		}
	}
	if !f.asJSON {
		summary()
		return nil
	}
	text, err := of.JSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

func (f *measuredFlags) print(rep *report.Report) error {
	return f.write(rep, func() { rep.Summary(os.Stdout, colored(os.Stdout), width(os.Stdout), nil) })
}
