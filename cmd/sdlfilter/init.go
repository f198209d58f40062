package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/message/avro"
	"github.com/sdlfilter/sdlfilter/internal/message/json"
	"github.com/sdlfilter/sdlfilter/internal/message/protobuf"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/draft"
)

func (s *state) initCommand() *cobra.Command {
	var interactive bool
	var format sourceFlags
	var topic topicFlags
	cmd := &cobra.Command{
		Use:   "init FILE|FOLDER|TOPIC",
		Short: "Look at the data and write a first configuration to stdout",
		Long: `Looks at a data file, a folder or a glob and writes a commented, valid configuration
to stdout: the columns with guessed roles and the reason of each guess, masks to
choose from, and a gate to think about. What it writes holds no value of a record.
With --brokers it looks at a topic: at its first records, in no consumer group.
With --interactive it asks, on the terminal, about the columns that it is unsure of.`,
		Example: `  sdlfilter init survey.csv >survey.yaml
  sdlfilter init --brokers 127.0.0.1:9092 --format avro --registry http://127.0.0.1:8081 survey >survey.yaml`,
		Args: oneArg("a data file, a folder, a glob or a topic"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if interactive && !terminal(os.Stdin) {
				return usageError{fmt.Errorf("--interactive needs a terminal to ask on; standard input is none")}
			}
			d, err := topic.look(cmd, args[0], &format)
			if err != nil {
				return err
			}
			if interactive {
				if err := d.Ask(os.Stdin, os.Stderr); err != nil {
					return err
				}
			}
			_, err = os.Stdout.WriteString(d.Write())
			return err
		},
	}
	cmd.Flags().BoolVarP(&interactive, "interactive", "i", false, "ask about the columns that it is unsure of")
	format.add(cmd.Flags())
	topic.add(cmd.Flags())
	completeWords(cmd)
	return cmd
}

// topicFlags say where a topic is, and what its messages are.
type topicFlags struct {
	brokers          []string
	format, registry string
}

func (t *topicFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&t.brokers, "brokers", nil, "look at the topic of that name on these brokers, host:port")
	flags.StringVar(&t.format, "format", "", "of a topic's messages: json (default), avro or protobuf")
	flags.StringVar(&t.registry, "registry", "", "the schema registry's URL, for avro and protobuf")
}

// look looks at the source of that name: a topic where brokers are given, else files.
func (t *topicFlags) look(cmd *cobra.Command, name string, files *sourceFlags) (*draft.Draft, error) {
	if len(t.brokers) == 0 {
		if t.format != "" || t.registry != "" {
			return nil, usageError{errors.New("--format and --registry are about a topic, which needs --brokers")}
		}
		source, err := files.source(name)
		if err != nil {
			return nil, err
		}
		return draft.Of(cmd.Context(), name, source)
	}
	c := &kafka.SourceConfig{Topics: []string{name}, Start: "earliest", Until: "latest"}
	c.Brokers = t.brokers
	switch t.format {
	case "", "json":
		c.Format.JSON = new(json.Config)
	case "avro":
		c.Format.Avro = new(avro.Config)
	case "protobuf":
		c.Format.Protobuf = new(protobuf.Config)
	default:
		return nil, usageError{fmt.Errorf("--format must be json, avro or protobuf, got %q", t.format)}
	}
	if registered := c.Format.Avro != nil || c.Format.Protobuf != nil; registered != (t.registry != "") {
		return nil, usageError{errors.New("--registry goes with --format avro or protobuf, and they with it")}
	}
	if t.registry != "" {
		c.Registry = &registry.Config{URL: t.registry, Patience: connectors.Duration(topicPatience)}
	}
	for _, p := range c.Check() {
		return nil, usageError{errors.New(p.Error())}
	}
	return draft.OfTopic(kafka.WithPatience(cmd.Context(), topicPatience), c)
}

// topicPatience is how long somebody who looks at a topic waits for its brokers.
const topicPatience = 10 * time.Second
