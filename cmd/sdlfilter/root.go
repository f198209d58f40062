package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/memory"
	"github.com/sdlfilter/sdlfilter/internal/spans"
)

// state is what the commands share.
type state struct {
	status    int  // exit status of a command that ended without an error
	streaming bool // what runs is a stream
	cut       bool // a stream with an end was told to stop before it
	set       []string
	loosen    bool // settings may let out more than the file does
	progress  string
	logFormat string
	verbose   bool
	quiet     bool
	memory    connectors.Size
	trace     tracing
	spans     *spans.Command // for OpenTelemetry; nil: none
}

// sizeFlag is a flag for a number of bytes.
type sizeFlag struct{ *connectors.Size }

func (f sizeFlag) Set(text string) error { return f.UnmarshalText([]byte(text)) }

func (f sizeFlag) String() string {
	if f.Size == nil || *f.Size == 0 {
		return ""
	}
	return f.Size.String()
}

func (f sizeFlag) Type() string { return "size" }

// newRoot builds the command tree.
func newRoot() (*cobra.Command, *state) {
	s := &state{}
	root := &cobra.Command{
		Use:   "sdlfilter",
		Short: "Mask microdata on their way out, measure risk and utility, withhold what is too risky",
		Long: `sdlfilter is a statistical disclosure limitation filter. It masks
microdata with noise, multiplicative bias, swapping, truncation and other masks.
While it masks, it measures the disclosure risk R and the data utility U of the
values that are released, and it withholds a release that is too risky.

Exit status: 0 done; 1 failed, nothing published; 2 the command line or the
configuration is wrong; 3 done, but some records are in quarantine; 4 the gate
refused the release, the output is withheld; 5 published, or perhaps (the error
says which), but its report is not (verify --repair completes it); 128+n ended
by signal n. A stream that SIGTERM, SIGINT, SIGQUIT or SIGABRT has ended drains,
commits and exits 0. What a stream had committed before it failed (1), or before
its gate stopped it (4), has left; the gate says how many records that are.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			return usageError{
				fmt.Errorf("there is no command %q%s; see `sdlfilter --help`", args[0], check.Suggest(args[0], names))}
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		switch s.logFormat {
		case "auto", "console", "json":
		default:
			return usageError{fmt.Errorf("--log-format must be auto, console or json, got %q", s.logFormat)}
		}
		memory.Keep(int64(s.memory))
		cmd.SetContext(s.logger().WithContext(cmd.Context()))
		s.spans = spans.Start(cmd.CommandPath(), version(), s.logger())
		return s.trace.start()
	}
	flags := root.PersistentFlags()
	flags.StringVar(&s.progress, "progress", "auto", "progress on stderr: auto (when it is a terminal), json, none")
	flags.StringVar(&s.logFormat, "log-format", "auto",
		"the log on stderr: console, json, or auto (console when it is a terminal)")
	flags.BoolVarP(&s.verbose, "verbose", "v", false, "log what is being done")
	flags.BoolVarP(&s.quiet, "quiet", "q", false, "print nothing but errors")
	flags.Var(&sizeFlag{&s.memory}, "memory",
		"how much memory the process may use, such as 500MB; default: what the machine or its container allows")
	flags.StringVar(&s.trace.path, "trace", "", "write an execution trace, for go tool trace")
	flags.Lookup("trace").Hidden = true // of `make bench-span`
	root.Version = version()
	root.SetVersionTemplate("sdlfilter {{.Version}}\n")
	root.AddCommand(s.runCommand(), s.shardCommand(), s.validateCommand(), s.previewCommand(), s.profileCommand(),
		s.initCommand(),
		s.tablesCommand(), s.auditTablesCommand(), s.assessCommand(), s.mapCommand(), s.attackCommand(), s.verifyCommand(),
		s.diffCommand(), s.ledgerCommand(), keygenCommand(), schemaCommand(), versionCommand())
	root.AddCommand(manCommand(root))
	checkCompletion(root)
	return root, s
}

// checkCompletion makes a mistake of a shell that completion does not know: as
// it comes, its help is printed and the status is 0, and a script that wrote it
// to a file would not notice.
func checkCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		var shells []string
		for _, c := range cmd.Commands() {
			shells = append(shells, c.Name())
		}
		cmd.Use = "completion SHELL"
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("completion takes one argument, the shell: %s", strings.Join(shells, ", "))}
			}
			return usageError{
				fmt.Errorf("there is no completion for %q%s; there is for %s", args[0], check.Suggest(args[0], shells),
					strings.Join(shells, ", "))}
		}
	}
}

// configFlags adds what every command has that reads a configuration.
func (s *state) configFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.set, "set", nil,
		"set a scalar of the configuration: path.to.field=value (may be repeated)")
}

// releaseFlags adds what every command has that shows or releases records.
func (s *state) releaseFlags(cmd *cobra.Command) {
	s.configFlags(cmd)
	cmd.Flags().BoolVar(&s.loosen, "allow-loosening", false,
		"let --set and SDLFILTER_… let out more than the configuration file does: a role, a mask or the gate weakened")
}

// load reads a configuration that records are released by: settings that loosen it
// must be allowed.
func (s *state) load(path string) (*config.Pipeline, error) {
	p, err := s.loadToMeasure(path)
	if err != nil {
		return nil, err
	}
	return p, p.LooseningAllowed(s.loosen)
}

// loadToMeasure reads a configuration of which no record leaves, and prints its
// warnings.
func (s *state) loadToMeasure(path string) (*config.Pipeline, error) {
	return s.parsedToMeasure(config.Load(path, config.Options{Set: s.set}))
}

// parsedToMeasure is loadToMeasure of what was read already.
func (s *state) parsedToMeasure(p *config.Pipeline, err error) (*config.Pipeline, error) {
	if err != nil {
		return nil, err
	}
	if n := memory.Limit(); n < memory.Least {
		return nil,
			usageError{
				fmt.Errorf(
					"this process may use %d MB of memory, and records take at least %d MB: give it more (--memory, or the limit of its container)", n/1e6, memory.Least/1_000_000)}
	}
	log := s.logger()
	for _, w := range p.Warnings {
		log.Warn().Msg(w)
	}
	logLoosened(log, p.Loosened)
	return p, nil
}

func logLoosened(log zerolog.Logger, list []config.Loosening) {
	for _, o := range list {
		log.Warn().Str("field", o.Path).Str("by", o.Origin).Msg("loosened: " + o.Path + ": " + o.Words())
	}
}

// logger writes to stderr: for people on a terminal, JSON otherwise.
func (s *state) logger() zerolog.Logger {
	var out io.Writer = os.Stderr
	if s.logFormat == "console" || s.logFormat != "json" && terminal(os.Stderr) {
		out = zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: time.TimeOnly, NoColor: !colored(os.Stderr)}
	}
	level := zerolog.InfoLevel
	switch {
	case s.verbose:
		level = zerolog.DebugLevel
	case s.quiet:
		level = zerolog.ErrorLevel
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger()
}

func terminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

// colored reports whether a stream is to be written in colour: a terminal, and
// NO_COLOR (no-color.org) is unset or empty.
func colored(f *os.File) bool {
	return terminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// oneArg demands exactly one argument and says which.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{
				fmt.Errorf("%s takes one argument, %s, got %d; see `%s --help`", cmd.Name(), what, len(args), cmd.CommandPath())}
		}
		return nil
	}
}

// atMostOneArg demands one argument or none, and says which.
func atMostOneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError{
				fmt.Errorf("%s takes at most one argument, %s, got %d; see `%s --help`", cmd.Name(), what, len(args),
					cmd.CommandPath())}
		}
		return nil
	}
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{
			fmt.Errorf("%s takes no arguments, got %d; see `%s --help`", cmd.Name(), len(args), cmd.CommandPath())}
	}
	return nil
}
