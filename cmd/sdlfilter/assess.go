package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/foreign"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func (s *state) assessCommand() *cobra.Command {
	var (
		original, released string
		pair               foreign.Release
		out                measuredFlags
		group, file        string
		format             sourceFlags
		missing            missingFlags
	)
	cmd := &cobra.Command{
		Use:   "assess --original A --released B | --group NAME --config FILE",
		Short: "Measure R and U of a release that any tool made, or of a stream so far",
		Long: `Measures disclosure risk and data utility of a release that any tool made, from
the original and the released file, in any format. Rows are matched by position
or, with --id, by a column that identifies them in both files. How the release
was made is not known, so R and U are those of the release itself, without
replicates.

With --group, the risk and utility of a stream so far: the merge of what all
instances of that consumer group have kept of their partitions, by the pipeline
that --config names. Nothing of the stream itself is read.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if group != "" || file != "" {
				return s.assessGroup(cmd.Context(), group, file, &out)
			}
			if original == "" || released == "" {
				return usageError{fmt.Errorf("--original and --released are both needed")}
			}
			var err error
			if pair.Missing, err = missing.declared(); err != nil {
				return err
			}
			if pair.Original, err = format.source(original); err != nil {
				return err
			}
			if pair.Released, err = format.source(released); err != nil {
				return err
			}
			if err := out.spare(original, released); err != nil {
				return usageError{err}
			}
			pair.Pictures = out.html != ""
			return s.assessForeign(cmd.Context(), pair, &out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&original, "original", "", "the original records: a file, a folder or a glob")
	flags.StringVar(&released, "released", "", "the released records")
	flags.StringVar(&pair.ID, "id", "",
		"the column that identifies a record in both files; by position where none is given")
	flags.StringSliceVar(&pair.Columns, "columns", nil,
		"the numeric columns to measure; all that both files have where none is given")
	flags.StringSliceVar(&pair.Targets, "targets", []string{"min", "p01", "p10", "p90", "p99", "max"},
		"percentile targets")
	format.add(flags)
	missing.add(flags)
	out.add(flags)
	flags.StringVar(&group, "group", "", "a consumer group: the assessment of its stream so far")
	flags.StringVar(&file, "config", "", "with --group: the pipeline's configuration")
	cmd.MarkFlagsMutuallyExclusive("group", "original")
	cmd.MarkFlagsMutuallyExclusive("group", "released")
	s.configFlags(cmd)
	return cmd
}

// assessForeign measures a release that any tool made, and shows it.
func (s *state) assessForeign(ctx context.Context, pair foreign.Release, out *measuredFlags) error {
	started := time.Now()
	watch := &pipeline.Progress{}
	stop, err := s.watch(watch)
	if err != nil {
		return err
	}
	res, err := foreign.Assess(ctx, pair, watch)
	stop()
	if err != nil {
		return err
	}
	rep := &report.Report{
		Name: "assess", Version: version(), Started: started, Finished: time.Now(),
		Records: report.Records{Counts: microdata.Counts{Read: res.OriginalN, Released: res.Released}},
		Foreign: &report.Foreign{Unmatched: res.Unmatched}, Gate: assess.Judge(nil, res.Measures),
	}
	rep.SetMeasures(res.Measures)
	rep.Pictures = res.Pictures
	if res.Unmatched > 0 {
		fmt.Fprintf(os.Stderr, "sdlfilter: %d original records have no released record\n", res.Unmatched)
	}
	return out.print(rep)
}

// assessGroup prints the assessment that the members of a group have kept.
func (s *state) assessGroup(ctx context.Context, group, file string, out *measuredFlags) error {
	if group == "" || file == "" {
		return usageError{
			fmt.Errorf(
				"--group and --config are both needed: the configuration says where the brokers are and what was masked how")}
	}
	if err := out.spare(file); err != nil {
		return usageError{err}
	}
	p, err := s.loadToMeasure(file)
	if err != nil {
		return err
	}
	rep, err := stream.AssessGroup(ctx, p, group, pipeline.Options{Version: version(), Log: s.logger()})
	if err != nil {
		return err
	}
	if p.Ledger != "" {
		rep.Warnings = append(rep.Warnings, "ledger: "+pipeline.NotTogether)
	}
	return out.print(rep)
}
