package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
)

func (s *state) tablesCommand() *cobra.Command {
	var schema, check bool
	var batch string
	var watched watchedTables
	cmd := &cobra.Command{
		Use:   "tables CONFIG",
		Short: "Make tables of the records, hold back what would disclose, audit, publish all of them or none",
		Long: `Tables of counts and of values, over hierarchies, made of the records of a source or
of what a pipeline's masks release. Cells that break a rule are held back, and
others with them; what can be inferred of them from everything that is published
is computed over all tables of one value at once, and tables in which that is too
much are withheld (exit status 4). With window, tables are made of one stretch of a
topic's records after another, each once. The configuration is that of docs/tables.md.
With --from-batch, nothing is made: a batch file of τ-ARGUS becomes a configuration,
tables.yaml, in a new folder, with the data that it names in a form to be read.`,
		Example: `  sdlfilter tables tables.yaml
  sdlfilter tables --from-batch job.arb job`,
		Args: func(cmd *cobra.Command, args []string) error {
			if schema {
				return noArgs(cmd, args)
			}
			if batch != "" {
				return oneArg("the new folder of the configuration")(cmd, args)
			}
			return oneArg("the configuration")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if schema {
				text, err := tabling.ConfigSchema()
				if err == nil {
					_, err = os.Stdout.Write(text)
				}
				return err
			}
			if batch != "" {
				if check || watched.metrics != "" || watched.listen != "" {
					return usageError{errors.New("--from-batch makes no tables, and goes with no other flag of them")}
				}
				return s.fromBatch(batch, args[0])
			}
			if !check {
				watched.prepare(args[0])
				defer func() { err = watched.end(s, err) }()
			}
			t, err := s.loadTables(args[0])
			if err != nil {
				return err
			}
			if err := t.LooseningAllowed(s.loosen); err != nil {
				return err
			}
			if check {
				if !s.quiet {
					fmt.Printf("%s: valid\n", args[0])
				}
				return nil
			}
			if err := watched.begin(cmd.Context(), s, t); err != nil {
				return err
			}
			if t.Window != nil {
				return s.makeWindows(cmd.Context(), t, &watched)
			}
			return s.makeTables(cmd.Context(), t, &watched)
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of the configuration, for editors")
	cmd.Flags().StringVar(&batch, "from-batch", "",
		"a batch file of τ-ARGUS (.arb): write its configuration into the folder that is named, and end")
	cmd.Flags().BoolVar(&check, "check", false, "check the configuration without touching any data")
	cmd.Flags().StringVar(&watched.metrics, "metrics-file", "",
		"metrics for the textfile collector of Prometheus' node exporter, written after each window and at the end")
	cmd.Flags().StringVar(&watched.listen, "listen", "",
		"with windows: serve metrics and health at this address, such as 127.0.0.1:9464")
	s.releaseFlags(cmd)
	return cmd
}

// makeTables makes the tables of a configuration, sets the exit status and says how it
// ended.
func (s *state) makeTables(ctx context.Context, t *tabling.Config, watched *watchedTables) error {
	o := pipeline.Options{Version: version(), Log: s.logger(), Progress: &pipeline.Progress{}, AllowLoosening: s.loosen}
	stop, err := s.watch(o.Progress)
	if err != nil {
		return err
	}
	result, err := tabling.Run(ctx, t, o)
	stop()
	if err != nil {
		return err
	}
	watched.judged(result.Report)
	switch {
	case result.Report.Withheld != "":
		s.status = exitRefused
	case result.Report.Records.Lost() > 0:
		s.status = exitQuarantined
	}
	switch why := result.Report.Withheld; {
	case s.quiet && why != "":
		sayWithheld(why)
	case !s.quiet:
		out := os.Stdout
		if pipeline.WritesStdout(&config.Pipeline{Sink: config.Sink(t.Sink)}) {
			out = os.Stderr
		}
		summariseTables(out, result)
	}
	return nil
}

// loadTables reads a configuration of tables and prints its warnings.
func (s *state) loadTables(path string) (*tabling.Config, error) {
	t, err := tabling.Load(path, config.Options{Set: s.set})
	if err != nil {
		return nil, err
	}
	log := s.logger()
	for _, w := range t.Warnings {
		log.Warn().Msg(w)
	}
	logLoosened(log, t.Loosened)
	return t, nil
}

// summariseTables prints how it ended.
func summariseTables(out io.Writer, result *tabling.Result) {
	rep, held := result.Report, map[string]bool{}
	for _, t := range rep.Tables {
		held[t.Name] = t.Primary+t.Secondary > 0
		if t.Parameters != nil || t.Exchanged != "" { // nothing is held back
			fmt.Fprintf(out, "%s: %d cells published by %s, %d of them unsafe\n", t.Name, t.Published, t.Method, t.Primary)
			continue
		}
		fmt.Fprintf(out, "%s: %d cells, %d published, %d held back (%d of them unsafe), %d empty\n", t.Name, t.Cells,
			t.Published, t.Primary+t.Secondary, t.Primary, t.Empty)
	}
	for _, o := range rep.Loosened {
		fmt.Fprintf(out, "loosened: %s by %s\n", o.Path, o.Origin)
	}
	if n := rep.Records.Lost(); n > 0 {
		fmt.Fprintf(out, "%d of %d records are in no table; the report says why\n", n, rep.Records.Read)
	}
	for _, f := range rep.Families {
		for _, words := range f.Refused {
			fmt.Fprintln(out, words)
		}
		if o := f.Optimum; o != nil && !slices.ContainsFunc(f.Tables, func(name string) bool { return held[name] }) {
			fmt.Fprintf(out, "%s: no cell needs to be held back\n", strings.Join(f.Tables, ", "))
		} else if o != nil && o.Proven { // no cost: those of values are values
			fmt.Fprintf(out, "%s: no cheaper cells to hold back protect as well\n", strings.Join(f.Tables, ", "))
		} else if o != nil {
			fmt.Fprintf(out, "%s: other cells to hold back might cost less, by %.0f %% at most\n", strings.Join(f.Tables, ", "),
				math.Ceil(100*float64(o.Gap)))
		}
		if f.CutShort && f.Rounding != nil {
			fmt.Fprintf(out, "%s: the search was cut short (patience); there may be a rounding with smaller changes\n",
				strings.Join(f.Tables, ", "))
		} else if f.CutShort {
			fmt.Fprintf(out, "%s: the search was cut short (patience); some of the cells held back may need not be\n",
				strings.Join(f.Tables, ", "))
		}
	}
	if rep.Withheld != "" {
		fmt.Fprintf(out, "Withheld: %s\n", rep.Withheld)
		for _, r := range rep.Gate.Rules {
			if !r.Passed && r.Advice != "" {
				fmt.Fprintf(out, "  %s\n", r.Advice)
			}
		}
	}
	if len(result.Files) > 0 {
		fmt.Fprintf(out, "Written: %s\n", strings.Join(result.Files, ", "))
	}
}
