package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/pipeline"
)

func (s *state) runCommand() *cobra.Command {
	var cpuProfile, listen string
	cmd := &cobra.Command{
		Use:   "run CONFIG",
		Short: "Mask the source into the sink, assess, apply the gate, write the report",
		Args:  oneArg("the configuration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := s.load(args[0])
			if err != nil {
				return err
			}
			stopProfile, err := profileCPU(cpuProfile)
			if err != nil {
				return err
			}
			defer stopProfile()
			if listen != "" && !p.Streaming() {
				return usageError{fmt.Errorf("--listen shows a stream while it runs, and this is a file job: its report is in the file that report.json names")}
			}
			options := pipeline.Options{Version: version(), Log: s.logger(), Progress: &pipeline.Progress{}}
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
			result, err := pipeline.Run(cmd.Context(), p, options)
			stop()
			if p.Stream() && errors.Is(err, pipeline.ErrUnopened) {
				options.Log.Info().Msg(pipeline.ErrUnopened.Error())
				return nil
			}
			if err != nil {
				return err
			}
			if !s.quiet {
				// The release may be on stdout; what a person reads then goes to stderr.
				out := os.Stdout
				if pipeline.WritesStdout(p) {
					out = os.Stderr
				}
				result.Report.Summary(out, colored(out), result.Files)
			}
			s.cut = result.Cut
			switch {
			case result.Refused():
				s.status = exitRefused
			case result.Drained:
			case result.Quarantined() > 0:
				s.status = exitQuarantined
			}
			return nil
		},
	}
	s.configFlags(cmd)
	cmd.Flags().StringVar(&listen, "listen", "", "on a stream: serve metrics, health and a live page at this address, such as 127.0.0.1:9464")
	cmd.Flags().StringVar(&cpuProfile, "cpuprofile", "", "write where the time goes, for go tool pprof")
	return cmd
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
