package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/shard"
)

func (s *state) shardCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shard",
		Short: "Split a file job into shards that any scheduler runs, and commit them as one release",
		Long: `A file job in parts, for Spark, Kubernetes, Airflow or make:

  sdlfilter shard plan pipeline.yaml --shards 8 --out plan.json
  sdlfilter shard run plan.json --shard 0 --state states/0.state    # … and 1 to 7, anywhere
  sdlfilter shard commit plan.json --states states

Where a swap of scope dataset takes partners from all records, they are found first; and where
any swap exchanges numbers, what is expected of them:

  sdlfilter shard survey plan.json --shard 0 --state surveys/0      # … and 1 to 7, anywhere
  sdlfilter shard pair plan.json --states surveys --out pairs
  sdlfilter shard run plan.json --shard 0 --pairs pairs --state states/0.state

The release is that of ` + "`sdlfilter run`" + `, in a folder of parts, and so are its risk,
utility and the gate's verdict. A shard can run twice, at once, or die and run again.
Nothing has its name before the commit; the manifest, surveys, pairs and states are as
confidential as the data.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return usageError{fmt.Errorf("shard takes one of plan, survey, pair, run and commit; see `sdlfilter shard --help`")}
		},
	}
	cmd.AddCommand(s.shardPlanCommand(), s.shardSurveyCommand(), s.shardPairCommand(), s.shardRunCommand(),
		s.shardCommitCommand())
	return cmd
}

func (s *state) shardPlanCommand() *cobra.Command {
	var shards int
	var out string
	cmd := &cobra.Command{
		Use:   "plan CONFIG --shards N --out MANIFEST",
		Short: "Decide what each shard does, and find once what the masks must know of the data",
		Args:  oneArg("the configuration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if shards < 1 || out == "" {
				return usageError{fmt.Errorf("shard plan needs --shards, at least 1, and --out")}
			}
			p, err := s.load(args[0])
			if err != nil {
				return err
			}
			o := s.shardOptions(s.loosen)
			var m *shard.Manifest
			err = s.watched(o.Progress, func() error {
				m, err = shard.Plan(cmd.Context(), p, args[0], s.set, shards, o)
				return err
			})
			if err != nil {
				return err
			}
			if err := m.Write(out); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			if !s.quiet {
				fmt.Printf("%d shards of %d files in %s\n", len(m.Shards), len(m.Files), out)
			}
			return nil
		},
	}
	s.releaseFlags(cmd)
	cmd.Flags().IntVar(&shards, "shards", 0, "how many; fewer where the source cannot be cut so often")
	cmd.Flags().StringVar(&out, "out", "", "the manifest's file; readable by its owner alone")
	return cmd
}

func (s *state) shardRunCommand() *cobra.Command {
	var pairs string
	cmd := s.oneShardCommand("run", "Mask one shard into hidden parts, and leave its state",
		"its state, in a folder for the states of all shards",
		func(ctx context.Context, p *config.Pipeline, m *shard.Manifest, number int, o pipeline.Options) (shardOutput,
			error) {
			found, err := m.ReadPairs(ctx, pairs, number)
			if err != nil {
				return nil, err
			}
			return shard.Run(ctx, p, m, number, found, o)
		})
	cmd.Flags().StringVar(&pairs, "pairs", "",
		"the folder that `shard pair` has written, where a swap is of scope dataset or exchanges numbers")
	return cmd
}

func (s *state) shardSurveyCommand() *cobra.Command {
	return s.oneShardCommand("survey", "Let swaps of scope dataset, or of numbers, see one shard",
		"what is found, in a folder for the surveys of all shards",
		func(ctx context.Context, p *config.Pipeline, m *shard.Manifest, number int, o pipeline.Options) (shardOutput,
			error) {
			return shard.Survey(ctx, p, m, number, o)
		})
}

// shardOutput is what the work on one shard leaves for the commands that follow.
type shardOutput interface{ Write(path string) error }

// oneShardCommand is a command that works on one shard, and writes what is left of it once
// that is complete. what says what the file of --state holds.
func (s *state) oneShardCommand(name, short, what string,
	work func(ctx context.Context, p *config.Pipeline, m *shard.Manifest, number int, o pipeline.Options) (shardOutput,
		error),
) *cobra.Command {
	number := -1
	var to string
	cmd := &cobra.Command{
		Use:   name + " MANIFEST --shard I --state FILE",
		Short: short,
		Args:  oneArg("the manifest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if number < 0 || to == "" {
				return usageError{fmt.Errorf("shard %s needs --shard, from 0, and --state", name)}
			}
			m, p, o, err := s.planned(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var done shardOutput
			err = s.watched(o.Progress, func() error {
				done, err = work(cmd.Context(), p, m, number, o)
				return err
			})
			if err != nil {
				return err
			}
			if err := done.Write(to); err != nil {
				return fmt.Errorf("--state: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&number, "shard", -1, "which, from 0")
	cmd.Flags().StringVar(&to, "state", "", "the file of "+what+"; readable by its owner alone")
	return cmd
}

func (s *state) shardPairCommand() *cobra.Command {
	var surveys, to string
	cmd := &cobra.Command{
		Use:   "pair MANIFEST --states DIR --out DIR",
		Short: "Decide from the surveys of all shards which records exchange their values",
		Args:  oneArg("the manifest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if surveys == "" || to == "" {
				return usageError{fmt.Errorf("shard pair needs --states, the folder of the shards' surveys, and --out")}
			}
			m, p, o, err := s.planned(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return s.watched(o.Progress, func() error { return shard.Pair(cmd.Context(), p, m, surveys, to, o) })
		},
	}
	cmd.Flags().StringVar(&surveys, "states", "", "the folder of the shards' surveys, and of nothing else")
	cmd.Flags().StringVar(&to, "out", "", "a folder for what each shard is to exchange; readable by its owner alone")
	return cmd
}

func (s *state) shardCommitCommand() *cobra.Command {
	var states, summary string
	cmd := &cobra.Command{
		Use:   "commit MANIFEST --states DIR",
		Short: "Judge all shards as one release, and publish it or nothing",
		Args:  oneArg("the manifest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if states == "" {
				return usageError{fmt.Errorf("shard commit needs --states, the folder of the shards' states")}
			}
			if summary != "text" && summary != "json" {
				return usageError{fmt.Errorf("--summary must be text or json, got %q", summary)}
			}
			m, p, o, err := s.planned(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			result, err := s.recorded(cmd.Context(), p, func() (*account.Result, error) {
				return shard.Commit(cmd.Context(), p, m, states, o)
			})
			if err != nil {
				return err
			}
			switch {
			case result.Refused():
				s.status = exitRefused
			case result.Quarantined() > 0:
				s.status = exitQuarantined
			}
			return s.summarise(result, summary, false)
		},
	}
	cmd.Flags().StringVar(&states, "states", "", "the folder of the shards' states, and of nothing else")
	cmd.Flags().StringVar(&summary, "summary", "text", "what is printed at the end: text, or json, one line for scripts")
	return cmd
}

func (s *state) shardOptions(loosen bool) pipeline.Options {
	return pipeline.Options{Version: version(), Log: s.logger(), Progress: &pipeline.Progress{}, AllowLoosening: loosen}
}

// planned reads a manifest and the configuration that it was made of.
func (s *state) planned(ctx context.Context, path string) (*shard.Manifest, *config.Pipeline, pipeline.Options, error) {
	m, err := shard.Read(ctx, path)
	if err != nil {
		return nil, nil, pipeline.Options{}, err
	}
	s.set, s.loosen = m.Set, m.Loosened
	p, err := s.load(m.Config)
	return m, p, s.shardOptions(m.Loosened), err
}
