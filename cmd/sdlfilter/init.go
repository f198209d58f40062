package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/internal/pipeline/draft"
)

func (s *state) initCommand() *cobra.Command {
	var interactive bool
	var format sourceFlags
	cmd := &cobra.Command{
		Use:   "init FILE|FOLDER",
		Short: "Look at the data and write a first configuration to stdout",
		Long: `Looks at a data file, a folder or a glob and writes a commented, valid configuration
to stdout: the columns with guessed roles and the reason of each guess, masks to
choose from, and a gate to think about. What it writes holds no value of a record.
With --interactive it asks, on the terminal, about the columns that it is unsure of.`,
		Example: "  sdlfilter init survey.csv >survey.yaml",
		Args:    oneArg("a data file, a folder or a glob"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if interactive && !terminal(os.Stdin) {
				return usageError{fmt.Errorf("--interactive needs a terminal to ask on; standard input is none")}
			}
			source, err := format.source(args[0])
			if err != nil {
				return err
			}
			d, err := draft.Of(cmd.Context(), args[0], source)
			if err != nil {
				return err
			}
			if interactive {
				if err := d.Ask(os.Stdin, os.Stderr); err != nil {
					return err
				}
			}
			_, err = os.Stdout.WriteString(d.Write())
			return err
		},
	}
	cmd.Flags().BoolVarP(&interactive, "interactive", "i", false, "ask about the columns that it is unsure of")
	format.add(cmd.Flags())
	return cmd
}
