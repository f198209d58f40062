package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/config"
)

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration, for editors",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = os.Stdout.Write(text)
			return err
		},
	}
}
