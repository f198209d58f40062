package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/run"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// runOptions are the flags of run.
type runOptions struct{ cpuProfile, listen, summary, metrics string }

func (s *state) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run CONFIG",
		Short: "Mask the source into the sink, assess, apply the gate, write the report",
		Long: `Mask the source into the sink, assess, apply the gate, write the report. CONFIG may also
be a project of several tables, which are judged together and published all or none.`,
		Args: oneArg("the configuration"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.summary != "text" && o.summary != "json" {
				return usageError{fmt.Errorf("--summary must be text or json, got %q", o.summary)}
			}
			job := monitor.Job{Started: time.Now(), Info: monitor.Info{Name: args[0], Version: version()}}
			if o.metrics != "" {
				defer func() { err = errors.Join(err, s.writeMetrics(o.metrics, &job, err)) }()
			}
			p, tables, err := s.loadAny(args[0])
			if err != nil {
				return err
			}
			if tables != nil {
				return s.runProject(cmd.Context(), tables, &o)
			}
			job.Info = monitor.Info{Name: p.Name, Version: version(), Source: pipeline.DescribeSource(p.Source),
				Sink: pipeline.DescribeSink(p.Sink)}
			if err := o.check(p); err != nil {
				return err
			}
			result, err := s.recorded(cmd.Context(), p, func() (*account.Result, error) {
				return s.release(cmd.Context(), args[0], p, &o)
			})
			if err != nil || result == nil {
				return err
			}
			s.settle(result)
			job.Report = result.Report
			return s.summarise(result, o.summary, pipeline.WritesStdout(p))
		},
	}
	s.releaseFlags(cmd)
	cmd.Flags().StringVar(&o.listen, "listen", "",
		"on a stream: serve metrics, health and a live page at this address, such as 127.0.0.1:9464")
	cmd.Flags().StringVar(&o.summary, "summary", "text", "what is printed at the end: text, or json, one line for scripts")
	cmd.Flags().StringVar(&o.metrics, "metrics-file", "",
		"of a file job: metrics for the textfile collector of Prometheus' node exporter, such as /var/lib/node_exporter/sdlfilter.prom")
	cmd.Flags().StringVar(&o.cpuProfile, "cpuprofile", "", "write where the time goes, for go tool pprof")
	return cmd
}

// check holds the flags against the kind of run that a configuration is.
func (o *runOptions) check(p *config.Pipeline) error {
	switch {
	case o.metrics != "" && p.Streaming():
		return usageError{fmt.Errorf("--metrics-file is of a file job; a stream serves its metrics (--listen)")}
	case o.summary == "json" && pipeline.WritesStdout(p):
		return usageError{fmt.Errorf("--summary json writes to standard output, and so does the sink: give the sink a path")}
	case o.listen != "" && !p.Streaming():
		return usageError{
			fmt.Errorf(
				"--listen shows a stream while it runs, and this is a file job: its report is in the file that report.json names")}
	}
	return nil
}

// release runs a configuration, of which path is the file. The result is nil where the
// run was told to end before there was anything to do.
func (s *state) release(ctx context.Context, path string, p *config.Pipeline, o *runOptions) (*account.Result, error) {
	stopProfile, err := profileCPU(o.cpuProfile)
	if err != nil {
		return nil, err
	}
	defer stopProfile()
	options := pipeline.Options{Version: version(), Log: s.logger(), Progress: &pipeline.Progress{},
		AllowLoosening: s.loosen}
	if p.Streaming() {
		end, err := s.attend(ctx, path, p, o.listen, &options)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	stop, err := s.watch(options.Progress)
	if err != nil {
		return nil, err
	}
	result, err := run.Pipeline(ctx, p, options)
	stop()
	if p.Stream() && errors.Is(err, stream.ErrUnopened) {
		options.Log.Info().Msg(stream.ErrUnopened.Error())
		return nil, nil
	}
	return result, err
}

// settle takes the exit status from how a run has ended.
func (s *state) settle(result *account.Result) {
	if stopped := result.Report.Stopped; stopped != nil {
		fmt.Fprintf(os.Stderr, "sdlfilter: the gate has stopped the stream: %s\n", stopped.Words())
	}
	s.cut = result.Cut
	if result.Lost != "" {
		fmt.Fprintf(os.Stderr, "sdlfilter: records are lost: %s; what was released stays, and the report is written\n",
			result.Lost)
	}
	switch {
	case result.Refused():
		s.status = exitRefused
	case result.Lost != "":
		s.status = exitFailed
	case result.Drained:
	case result.Quarantined() > 0:
		s.status = exitQuarantined
	}
}

// summarise prints how a run ended. The release may be on stdout; what a person
// reads then goes to stderr.
func (s *state) summarise(result *account.Result, form string, taken bool) error {
	switch {
	case form == "json":
		return result.Report.Brief(s.status, result.Files).Write(os.Stdout)
	case s.quiet:
		switch why := result.Report.Withheld; {
		case result.Report.Stopped != nil: // settle has said it
		case why != "":
			sayWithheld(why)
		case result.Refused():
			sayWithheld("records are held back until the rules of the gate hold")
		}
		return nil
	}
	out := os.Stdout
	if taken {
		out = os.Stderr
	}
	result.Report.Summary(out, colored(out), width(out), result.Files)
	return nil
}

// sayWithheld says on stderr, where a quiet command would say nothing, why its status is that
// of a refusal.
func sayWithheld(why string) {
	fmt.Fprintf(os.Stderr, "sdlfilter: withheld: %s\n", why)
}

// writeMetrics writes the metrics of a job that has ended with err.
func (s *state) writeMetrics(path string, job *monitor.Job, err error) error {
	job.Ended, job.Status = time.Now(), s.status
	if err != nil {
		job.Status = statusOf(err)
	}
	if err := monitor.WriteJob(path, *job); err != nil {
		return fmt.Errorf("--metrics-file: %w", err)
	}
	return nil
}

// profileCPU starts a CPU profile; path "" starts none.
func profileCPU(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
