package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/internal/pipeline/run"
)

func (s *state) validateCommand() *cobra.Command {
	var connect bool
	cmd := &cobra.Command{
		Use:   "validate CONFIG",
		Short: "Check the configuration without touching the network or any data",
		Args:  oneArg("the configuration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, tables, err := s.loadAny(args[0])
			if err != nil {
				return err
			}
			if tables != nil {
				return s.validateProject(cmd.Context(), args[0], tables, connect)
			}
			if err := p.CheckRelease(); err != nil {
				return err
			}
			// The key need not be where a configuration is checked; one that is there is
			// looked at.
			if key, err := p.Key.Resolve(); err == nil {
				log := s.logger()
				for _, w := range p.Key.Warnings(key) {
					log.Warn().Msg(w)
				}
			}
			if connect {
				if err := run.Connect(cmd.Context(), p); err != nil {
					return err
				}
			}
			if !s.quiet {
				fmt.Fprintf(os.Stdout, "%s: valid\n", args[0])
				if keys := p.KeysInWords(); keys != "" {
					fmt.Fprintln(os.Stdout, keys)
				}
				if p.Sink.Shuffled() {
					fmt.Fprintln(os.Stdout,
						"sink.order: shuffled costs the splice: all released columns are decoded, and records are written twice, by way of temporary files beside the release, of about its size before compression; a 256th of it is in memory at a time, and a folder becomes one file")
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&connect, "connect", false,
		"also read the key, open the source, hold the configuration against its columns, and see that the outputs can be written")
	s.releaseFlags(cmd)
	return cmd
}
