package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/project"
)

func (s *state) ledgerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Show and check a ledger of releases, and judge the next release by it",
		Long: `A configuration with ledger: LEDGER enters each published release there, and its gate
judges a release together with those before it. It is a confidential file, an object
(s3://BUCKET/KEY) or a table of PostgreSQL
(postgres://USER@HOST:PORT/DATABASE?table=SCHEMA.TABLE).`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(s.ledgerShow(), s.ledgerCheck(), s.ledgerSimulate())
	return cmd
}

func (s *state) ledgerShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show LEDGER",
		Short: "List the releases of a ledger",
		Args:  oneArg("the ledger"),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lookAt(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = os.Stdout.WriteString(entered.List(l, colored(os.Stdout), min(width(os.Stdout), 80)))
			return err
		},
	}
}

// lookAt reads a ledger for a command.
func lookAt(ctx context.Context, at string) (*ledger.Ledger, error) {
	l, err := ledger.Look(ctx, at)
	var broken *ledger.BrokenError
	if err != nil && !errors.As(err, &broken) {
		return nil, usageError{fmt.Errorf("ledger: %w", err)}
	}
	return l, err
}

func (s *state) ledgerCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check LEDGER",
		Short: "Check that a ledger is whole, and that the releases are those that it names",
		Long: `check follows the chain of digests from the first line to the last, and compares the
last release under each path with what is there. That lines at the end are missing
shows only against a report, whose ledger.previous is the digest of the line before
its release.

Exit status: 0 the ledger is whole, and what is there is what it names; 1 it is not;
2 it cannot be read.`,
		Args: oneArg("the ledger"),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lookAt(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			wrong, err := entered.Compare(cmd.Context(), l)
			if err != nil {
				return err
			}
			if !s.quiet {
				next, head := l.Next()
				fmt.Printf("%s: %d lines, the chain is whole; the last line has SHA-256 %s\n", l.Path(), next-1, head)
			}
			if len(wrong) > 0 {
				return errors.New(strings.Join(wrong, "\n"))
			}
			return nil
		},
	}
}

func (s *state) ledgerSimulate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate CONFIG",
		Short: "Judge a release together with those of its ledger, without publishing it",
		Long: `simulate masks, measures and judges the records as run would, with all releases of
the ledger (of a project: of the ledgers of all tables), and prints the summary of the
report. It writes nothing.

Exit status: 0 the gate would let the release pass; 4 it would withhold it; 2 the
configuration is wrong, or there is no ledger.`,
		Args: oneArg("the configuration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, c, err := s.loadAny(args[0])
			if err != nil {
				return err
			}
			o := pipeline.Options{Version: version(), Log: s.logger(), Progress: &pipeline.Progress{}, AllowLoosening: s.loosen}
			stop, err := s.watch(o.Progress)
			if err != nil {
				return err
			}
			passed, summary, err := simulated(cmd.Context(), p, c, o)
			stop()
			if err != nil {
				return err
			}
			if !passed {
				s.status = exitRefused
			}
			if !s.quiet {
				summary()
			}
			return nil
		},
	}
	s.releaseFlags(cmd)
	return cmd
}

// simulated judges the next release of a pipeline or, if c is not nil, of a project, and returns what prints its
// summary.
func simulated(ctx context.Context, p *config.Pipeline, c *project.Config, o pipeline.Options) (passed bool,
	summary func(), err error) {
	if c != nil {
		result, err := project.Simulate(ctx, c, o)
		if err != nil {
			return false, nil, err
		}
		return !result.Refused(), func() { result.Summary(os.Stdout) }, nil
	}
	rep, err := filejob.Simulate(ctx, p, o)
	if err != nil {
		return false, nil, err
	}
	return rep.Gate.Passed, func() { rep.Summary(os.Stdout, colored(os.Stdout), width(os.Stdout), nil) }, nil
}
