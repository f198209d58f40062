package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func (s *state) profileCommand() *cobra.Command {
	var out string
	var format sourceFlags
	var missing missingFlags
	cmd := &cobra.Command{
		Use:   "profile CONFIG|FILE",
		Short: "Describe the numeric columns, as YAML that a configuration can name as its profile",
		Long: `Means, standard deviations, covariances, quantiles and decimals of the numeric
columns, as YAML that a configuration can name as its profile. The argument is a
configuration (.yaml, .yml) or a data file. The profile is confidential.
Values that look like codes for missing ones (-9, 99, 9999999) are named on standard error;
those that are declared (--missing, or columns.X.missing of a configuration) are not counted.`,
		Args: oneArg("a configuration or a data file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			watch := &pipeline.Progress{}
			stop, err := s.watch(watch)
			if err != nil {
				return err
			}
			profile, err := s.profile(cmd, args[0], &format, missing, watch)
			stop()
			if err != nil {
				return err
			}
			text, err := assess.SaveProfile(profile)
			if err != nil {
				return err
			}
			if out == "" || out == "-" {
				_, err = os.Stdout.Write(text)
				return err
			}
			return publish.WriteFile(out, publish.Confidential, text)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the file to write, with mode 0600; stdout where none is given")
	format.add(cmd.Flags())
	missing.add(cmd.Flags())
	s.configFlags(cmd)
	return cmd
}

func (s *state) profile(cmd *cobra.Command, path string, format *sourceFlags, missing missingFlags,
	watch *pipeline.Progress) (*assess.Profile, error) {
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		p, err := s.loadToMeasure(path)
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			return nil, usageError{errNoCodes}
		}
		profile, err := pipeline.ProfilePipeline(cmd.Context(), p, watch)
		if err == nil {
			err = propose(cmd.Context(), p.Source.Config, func(column string) bool {
				c := p.Columns.Named(column)
				return c == nil || c.Role == microdata.Identifier || len(c.Missing.Codes) > 0
			})
		}
		return profile, err
	}
	source, err := format.source(path)
	if err != nil {
		return nil, err
	}
	declared, err := missing.declared()
	if err != nil {
		return nil, err
	}
	profile, err := pipeline.ProfileSource(cmd.Context(), source, declared, watch)
	if err == nil {
		err = propose(cmd.Context(), source, func(column string) bool { return declared[column] != nil })
	}
	return profile, err
}
