package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/foreign"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func (s *state) diffCommand() *cobra.Command {
	var asJSON bool
	var format sourceFlags
	var missing missingFlags
	cmd := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Show what has changed between two reports of releases, or two releases",
		Long: `diff compares two confidential reports (report.json), such as last month's and this
month's, and shows what has changed for those who decide: the verdict, rules of the gate and
whether they hold, the figures that decide, columns, masks and their parameters, numbers of
records, the key, warnings. What got worse comes first. What it prints is as confidential as
the reports.

Of two data files it shows what their users see: columns and their types, numbers of records,
shares of missing values, means, SDs and quartiles of numbers, shares of categories. Nothing is
said of categories and columns with fewer than ten records.

Exit status: 0 also if something has changed; 2 a report or a file cannot be used.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("diff takes two arguments, reports or data files, got %d", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := s.difference(cmd.Context(), args, &format, missing)
			if err != nil {
				return err
			}
			if !asJSON {
				d.Summary(os.Stdout, colored(os.Stdout), width(os.Stdout))
				return nil
			}
			text, err := d.JSON()
			if err != nil {
				return err
			}
			_, err = os.Stdout.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object, with all changes")
	format.add(cmd.Flags())
	missing.add(cmd.Flags())
	return cmd
}

// difference compares two reports, which end in .json, or two data files.
func (s *state) difference(ctx context.Context, paths []string, format *sourceFlags, missing missingFlags) (
	*report.Difference, error) {
	declared, err := missing.declared()
	if err != nil {
		return nil, err
	}
	if filepath.Ext(paths[0]) != ".json" && filepath.Ext(paths[1]) != ".json" {
		return s.dataDifference(ctx, paths, format, declared)
	}
	var reports [2]*report.Report
	for i, path := range paths {
		if reports[i], err = readReport(path); err != nil {
			return nil,
				usageError{
					fmt.Errorf("%s: %w (diff takes the confidential reports of two releases, report.json, or two data files)", path,
						err)}
		}
	}
	return report.Compare(reports[0], reports[1]), nil
}

func readReport(path string) (*report.Report, error) {
	text, err := os.ReadFile(path)
	var p *os.PathError
	if errors.As(err, &p) {
		return nil, p.Err
	}
	if err != nil {
		return nil, err
	}
	return report.Parse(text)
}

// dataDifference compares two data files.
func (s *state) dataDifference(ctx context.Context, paths []string, format *sourceFlags,
	missing map[string]*microdata.Missing) (*report.Difference, error) {
	watch := &pipeline.Progress{}
	stop, err := s.watch(watch)
	if err != nil {
		return nil, err
	}
	defer stop()
	var contents [2]*report.Contents
	for i, path := range paths {
		source, err := format.source(path)
		if err != nil {
			return nil, err
		}
		if contents[i], err = foreign.ContentsOf(ctx, source, missing, watch); err != nil {
			return nil, err
		}
		contents[i].Name = path
	}
	return report.CompareContents(contents[0], contents[1]), nil
}
