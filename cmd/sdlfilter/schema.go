package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/project"
)

func schemaCommand() *cobra.Command {
	var several bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration, for editors",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			schema := config.Schema
			if several {
				schema = project.Schema
			}
			text, err := schema()
			if err != nil {
				return err
			}
			_, err = os.Stdout.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&several, "project", false, "that of a project of several tables")
	return cmd
}
