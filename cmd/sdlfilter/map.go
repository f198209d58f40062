package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/explore"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// inPlace is what --apply without a file stands for.
const inPlace = "CONFIG"

// mapOptions are the flags of map.
type mapOptions struct {
	out, apply     string
	asJSON, dryRun bool
	analytic       analyticFlags
}

func (s *state) mapCommand() *cobra.Command {
	var o mapOptions
	cmd := &cobra.Command{
		Use:   "map CONFIG | --analytic --n N --sd S",
		Short: "Draw the R-U confidentiality map and recommend parameters",
		Long: `The R-U confidentiality map: disclosure risk R and data utility U as parameters
of the masks run over a range, for every target and knowledge state, by
replicates of the masking on the data that the configuration reads. Nothing is
released. The configuration's section map says what varies; without it, it is
the amount of the first noise, or else of the first bias or swap.

Among the points where the gate's rules hold, the one of greatest utility is
recommended; --apply writes it into the configuration. Where no point is
admissible, the reason is said, and with --apply the exit status is 4.

With --analytic, the closed forms of Duncan, Keller-McNulty and Stokes (2004) for
additive noise, without data.

Of a configuration of sdlfilter tables: R and U of the tables under each method of
protection and its parameters (section map), each audited and judged as a run does it.

The map is confidential: R tells what original values are like.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.analytic.on {
				if len(args) > 0 {
					return usageError{errors.New("--analytic takes no configuration")}
				}
				return o.analytic.print(o.asJSON)
			}
			if len(args) != 1 {
				hint := "see `sdlfilter map --help`"
				if o.apply == inPlace && len(args) > 1 {
					hint = "--apply takes its file behind an equals sign: --apply=FILE"
				}
				return usageError{fmt.Errorf("map takes one argument, the configuration, got %d; %s", len(args), hint)}
			}
			if o.apply == "" && cmd.Flags().Changed("apply") {
				return usageError{errors.New("--apply= must name a file; --apply alone is the configuration itself")}
			}
			return s.makeMap(cmd, args[0], &o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.out, "out", "o", "",
		"a folder for map.json, map.csv, map.svg, map.png and map.html, readable by their owner alone; without it a table goes to stdout")
	flags.BoolVar(&o.asJSON, "json", false, "the map as JSON on stdout")
	flags.StringVar(&o.apply, "apply", "",
		"write the recommended parameters into the configuration, or into another file: --apply=FILE, - for stdout")
	flags.Lookup("apply").NoOptDefVal = inPlace
	flags.BoolVar(&o.dryRun, "dry-run", false, "with --apply: print the configuration that would be written")
	o.analytic.add(flags)
	s.configFlags(cmd)
	return cmd
}

func (s *state) makeMap(cmd *cobra.Command, path string, o *mapOptions) error {
	if o.apply == "-" { // stdout
		o.dryRun = true
	}
	if err := o.check(path, len(s.set) > 0); err != nil {
		return err
	}
	name, text, err := config.ReadFile(path, config.Options{})
	if err != nil {
		return err
	}
	if tabling.Is(text) {
		return s.makeTableMap(cmd, path, name, text, o)
	}
	p, err := s.parsedToMeasure(config.Parse(name, text, config.Options{Set: s.set}))
	if err != nil {
		return err
	}
	if p, err = explore.Mappable(p); err != nil {
		return err
	}
	watch := &pipeline.Progress{}
	stop, err := s.watch(watch)
	if err != nil {
		return err
	}
	m, err := explore.Map(cmd.Context(), p, pipeline.Options{Version: version(), Log: s.logger(), Progress: watch})
	stop()
	if err != nil {
		return err
	}
	picture := rumap.PictureOptions{}
	made := madeMap{
		files: []mapFile{
			{"map.csv", func(w io.Writer) error { return rumap.WriteCSV(w, m) }},
			{"map.svg", func(w io.Writer) error { return rumap.WriteSVG(w, m, picture) }},
			{"map.png", func(w io.Writer) error { return rumap.WritePNG(w, m, picture) }},
			{"map.html", func(w io.Writer) error { return report.WriteMapHTML(w, m) }},
		},
		json: func(w io.Writer) error { return rumap.WriteJSON(w, m) },
		summary: func(to *os.File) error {
			rumap.Summary(to, m, colored(to), width(to))
			return nil
		},
		reason: m.Reason,
	}
	if m.Recommended != nil {
		made.applied = func() ([]byte, string, error) {
			point := m.Points[m.Recommended.Point]
			choice, err := p.Choice(point.Strategy, point.Parameters)
			if err != nil {
				return nil, "", err
			}
			text, err := p.Rewritten(point.Strategy, point.Parameters)
			return text, choice, err
		}
	}
	return s.handOver(&made, path, o)
}

// madeMap is a map of records or of tables, with what the command does with either.
type madeMap struct {
	files   []mapFile               // of the folder, beside map.json
	json    func(io.Writer) error   // writes it whole
	summary func(to *os.File) error // writes it for people
	// the configuration's text with what is recommended, and that in words; nil: nothing is
	applied func() ([]byte, string, error)
	reason  string // why nothing is recommended
}

// mapFile is a file of a map's folder.
type mapFile struct {
	name  string
	write func(io.Writer) error
}

// handOver writes a map to where the flags say, and what it recommends into the
// configuration.
func (s *state) handOver(m *madeMap, path string, o *mapOptions) error {
	if o.out != "" {
		if err := writeMap(o.out, append(m.files, mapFile{"map.json", m.json})); err != nil {
			return err
		}
	}
	switch {
	case o.asJSON:
		if err := m.json(os.Stdout); err != nil {
			return err
		}
	case !s.quiet:
		// What --dry-run prints may go into a file; what a person reads then goes to
		// stderr.
		to := os.Stdout
		if o.dryRun {
			to = os.Stderr
		}
		if err := m.summary(to); err != nil {
			return err
		}
	}
	if o.apply == "" {
		return nil
	}
	if m.applied == nil {
		s.status = exitRefused
		fmt.Fprintf(os.Stderr, "sdlfilter: nothing is applied: %s\n", m.reason)
		return nil
	}
	text, choice, err := m.applied()
	if err != nil {
		return err
	}
	return o.applyText(path, text, choice)
}

// check holds the flags against each other; set says that settings were given beside the
// configuration at path.
func (o *mapOptions) check(path string, set bool) error {
	switch {
	case o.dryRun && o.apply == "":
		return usageError{errors.New("--dry-run shows what --apply would write, and needs it")}
	case o.apply == inPlace && path == "-" && !o.dryRun:
		return usageError{errors.New("the configuration came from standard input: name a file, --apply=FILE")}
	case o.dryRun && o.asJSON:
		return usageError{errors.New("--dry-run and --json both write to stdout: one of them")}
	case o.out == "-":
		return usageError{errors.New("--out names a folder; the map goes to stdout without it")}
	case o.apply != "" && set:
		return usageError{
			errors.New(
				"--apply keeps the configuration's text, which --set would not be in: write the setting into the file, or map without --apply")}
	}
	if info, err := os.Stat(o.out); o.out != "" && err == nil && !info.IsDir() {
		return usageError{fmt.Errorf("--out names a folder, and %s is a file", o.out)}
	}
	return nil
}

// writeMap writes the files of a map into a folder, readable by their owner alone.
func writeMap(folder string, files []mapFile) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		var text bytes.Buffer
		if err := f.write(&text); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := publish.WriteFile(filepath.Join(folder, f.name), publish.Confidential, text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// applyText writes the text of a configuration that has what a map recommends, the choice
// in words, to where --apply says; path is that of the configuration.
func (o *mapOptions) applyText(path string, text []byte, choice string) error {
	if o.dryRun {
		_, err := os.Stdout.Write(text)
		return err
	}
	to := o.apply
	if to == inPlace {
		to = path
	}
	if err := rewrite(to, path, text); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "sdlfilter: written to %s: %s\n", to, choice)
	return nil
}

// rewrite puts a text in place of a file, behind a link where it is one, with the
// file's permissions; those of another where it is new.
func rewrite(path, like string, text []byte) error {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	info, err := os.Stat(target)
	if err != nil {
		info, err = os.Stat(like)
	}
	if err != nil { // from standard input into a new file
		return publish.WriteFile(target, publish.Public, text)
	}
	if err := publish.WriteFile(target, publish.Confidential, text); err != nil {
		return err
	}
	return os.Chmod(target, info.Mode().Perm())
}

// printAnalytic writes a map of closed forms for a person or as JSON.
func printAnalytic(m *rumap.AnalyticMap, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		return out.Encode(m)
	}
	_, err := os.Stdout.WriteString(analyticTable(m))
	return err
}
