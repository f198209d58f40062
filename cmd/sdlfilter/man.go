package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the manual pages of all commands, from their own help.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write manual pages (man 1) of all commands into a folder",
		Long: `man writes a page for the program and one for each command, from what --help says:

  sdlfilter man ~/.local/share/man/man1 && man sdlfilter-run`,
		Args: oneArg("the folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			// The pages of a version are the same whenever they are written.
			date := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			root.DisableAutoGenTag = true
			return doc.GenManTree(root,
				&doc.GenManHeader{Title: "SDLFILTER", Section: "1", Source: "sdlfilter " + version(), Manual: "sdlfilter",
					Date: &date}, args[0])
		},
	}
}
