package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/assess/report"
)

func (s *state) diffCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Show what has changed between two reports of releases",
		Long: `diff compares two confidential reports (report.json), such as last month's and this
month's, and shows what has changed for those who decide: the verdict, rules of the gate and
whether they hold, the figures that decide, columns, masks and their parameters, numbers of
records, the key, warnings. What got worse comes first. What it prints is as confidential as
the reports.

Exit status: 0 also if something has changed; 2 a report cannot be used.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("diff takes two arguments, the reports, got %d", len(args))}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var reports [2]*report.Report
			for i, path := range args {
				text, err := os.ReadFile(path)
				if err == nil {
					reports[i], err = report.Parse(text)
				}
				var p *os.PathError
				if errors.As(err, &p) {
					err = p.Err
				}
				if err != nil {
					return usageError{fmt.Errorf("%s: %w (diff takes the confidential reports of two releases, report.json)", path, err)}
				}
			}
			d := report.Compare(reports[0], reports[1])
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
	return cmd
}
