package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
)

func (s *state) verifyCommand() *cobra.Command {
	var release string
	var asJSON, repair bool
	cmd := &cobra.Command{
		Use:   "verify REPORT",
		Short: "Check that a report and the release beside it belong together",
		Long: `verify holds the digest that a report names (JSON or HTML, confidential or public)
against the release: the file or folder that the report names, from the report's
own folder, or the one that --release names.

A run gives the release its name first and the JSON report its name last, so a
run that was killed between the two leaves a new release beside an old report,
and verify says so. With --repair the new report gets its name, if it is complete
and of the release that is there.

Exit status: 0 they belong together, or the release was withheld and nothing is
there; 1 they do not; 2 the report or the release cannot be used.`,
		Args: oneArg("the report"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if repair && release != "" {
				return usageError{
					errors.New("--repair takes the release under the path that the report names: leave --release out")}
			}
			if repair {
				completed, err := filejob.Repair(cmd.Context(), args[0])
				for _, path := range completed {
					if !s.quiet && !asJSON {
						fmt.Fprintf(os.Stdout, "%s: has its name now\n", path)
					}
				}
				if err != nil {
					return err
				}
			}
			v, err := filejob.Verify(cmd.Context(), args[0], release)
			if err != nil {
				return err
			}
			if asJSON {
				if err := json.NewEncoder(os.Stdout).Encode(map[string]any{
					"report": v.Report, "release": v.Release, "agree": v.Agree, "words": v.Words,
				}); err != nil {
					return err
				}
			}
			switch {
			case !v.Agree && asJSON:
				s.status = exitFailed
			case !v.Agree:
				return fmt.Errorf("%s, %s: %s", v.Report, v.Release, v.Words)
			case !s.quiet && !asJSON:
				fmt.Fprintf(os.Stdout, "%s, %s: %s\n", v.Report, v.Release, v.Words)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&release, "release", "", "the release, where it is not under the path that the report names")
	cmd.Flags().BoolVar(&repair, "repair", false,
		"first give the report, and its public twin, the name that a run could not give it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object instead of a sentence")
	return cmd
}
