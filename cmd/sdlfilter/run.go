package main

import (
	"os"
	"runtime/pprof"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/pipeline"
)

func (s *state) runCommand() *cobra.Command {
	var cpuProfile string
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
			log := s.logger()
			watch := &pipeline.Progress{}
			stop, err := s.watch(watch)
			if err != nil {
				return err
			}
			result, err := pipeline.Run(cmd.Context(), p, pipeline.Options{Version: version(), Log: log, Progress: watch})
			stop()
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
			switch {
			case result.Refused():
				s.status = exitRefused
			case result.Quarantined() > 0:
				s.status = exitQuarantined
			}
			return nil
		},
	}
	s.configFlags(cmd)
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
