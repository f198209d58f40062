package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/run"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

func (s *state) runCommand() *cobra.Command {
	var cpuProfile, listen, summary, metrics string
	cmd := &cobra.Command{
		Use:   "run CONFIG",
		Short: "Mask the source into the sink, assess, apply the gate, write the report",
		Args:  oneArg("the configuration"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if summary != "text" && summary != "json" {
				return usageError{fmt.Errorf("--summary must be text or json, got %q", summary)}
			}
			job := monitor.Job{Started: time.Now(), Info: monitor.Info{Name: args[0], Version: version()}}
			if metrics != "" {
				defer func() { err = errors.Join(err, s.writeMetrics(metrics, &job, err)) }()
			}
			p, err := s.load(args[0])
			if err != nil {
				return err
			}
			job.Info = monitor.Info{Name: p.Name, Version: version(), Source: pipeline.Describe(p.Source.Config), Sink: pipeline.Describe(p.Sink.Config)}
			if metrics != "" && p.Streaming() {
				return usageError{fmt.Errorf("--metrics-file is of a file job; a stream serves its metrics (--listen)")}
			}
			if summary == "json" && pipeline.WritesStdout(p) {
				return usageError{fmt.Errorf("--summary json writes to standard output, and so does the sink: give the sink a path")}
			}
			stopProfile, err := profileCPU(cpuProfile)
			if err != nil {
				return err
			}
			defer stopProfile()
			if listen != "" && !p.Streaming() {
				return usageError{fmt.Errorf("--listen shows a stream while it runs, and this is a file job: its report is in the file that report.json names")}
			}
			options := pipeline.Options{Version: version(), Log: s.logger(), Progress: &pipeline.Progress{}, AllowLoosening: s.loosen}
			if p.Streaming() {
				end, err := s.attend(cmd.Context(), args[0], p, listen, &options)
				if err != nil {
					return err
				}
				defer end()
			}
			stop, err := s.watch(options.Progress)
			if err != nil {
				return err
			}
			result, err := run.Pipeline(cmd.Context(), p, options)
			stop()
			if p.Stream() && errors.Is(err, stream.ErrUnopened) {
				options.Log.Info().Msg(stream.ErrUnopened.Error())
				return nil
			}
			if err != nil {
				return err
			}
			if stopped := result.Report.Stopped; stopped != nil {
				fmt.Fprintf(os.Stderr, "sdlfilter: the gate has stopped the stream: %s\n", stopped.Words())
			}
			s.cut = result.Cut
			switch {
			case result.Refused():
				s.status = exitRefused
			case result.Drained:
			case result.Quarantined() > 0:
				s.status = exitQuarantined
			}
			job.Report = result.Report
			return s.summarise(result, summary, pipeline.WritesStdout(p))
		},
	}
	s.releaseFlags(cmd)
	cmd.Flags().StringVar(&listen, "listen", "", "on a stream: serve metrics, health and a live page at this address, such as 127.0.0.1:9464")
	cmd.Flags().StringVar(&summary, "summary", "text", "what is printed at the end: text, or json, one line for scripts")
	cmd.Flags().StringVar(&metrics, "metrics-file", "", "of a file job: metrics for the textfile collector of Prometheus' node exporter, such as /var/lib/node_exporter/sdlfilter.prom")
	cmd.Flags().StringVar(&cpuProfile, "cpuprofile", "", "write where the time goes, for go tool pprof")
	return cmd
}

// summarise prints how a run ended. The release may be on stdout; what a person
// reads then goes to stderr.
func (s *state) summarise(result *account.Result, form string, taken bool) error {
	switch {
	case form == "json":
		return result.Report.Brief(s.status, result.Files).Write(os.Stdout)
	case s.quiet:
		return nil
	}
	out := os.Stdout
	if taken {
		out = os.Stderr
	}
	result.Report.Summary(out, colored(out), result.Files)
	return nil
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
