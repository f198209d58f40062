package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// topic is a topic as the brokers describe it.
type topic struct {
	name       string
	partitions int32 // numbers 0 to partitions-1
}

// opened is what is known of a source's topics before any message is read.
type opened struct {
	client   *kgo.Client // for questions; it consumes nothing
	admin    *kadm.Client
	topics   []topic // by name
	reader   message.Reader
	registry *registry.Client // nil where none is configured
}

// openReader connects to the brokers, finds the topics and learns their columns. Where brokers
// do not answer it tries again until the patience of ctx ends. Close ends what it opened.
func openReader(ctx context.Context, c *SourceConfig, log zerolog.Logger) (_ *opened, err error) {
	o := new(opened)
	if o.client, err = c.connect(log); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	o.admin = kadm.NewClient(o.client)
	if o.topics, err = c.resolve(ctx, o.admin, log); err != nil {
		return nil, err
	}
	if c.Registry != nil {
		if o.registry, err = registry.New(c.Registry); err != nil {
			return nil, err
		}
	}
	o.reader, err = c.format().Reader(ctx, message.Request{
		Topics: o.names(), Columns: c.declared.columns, DropUnlisted: c.declared.dropUnlisted, Plain: c.declared.plain,
		Registry: o.registry,
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (o *opened) close() {
	if o.registry != nil {
		o.registry.Close()
	}
	o.client.Close()
}

func (o *opened) names() []string {
	names := make([]string, len(o.topics))
	for i, t := range o.topics {
		names[i] = t.name
	}
	return names
}

// maxPartitions is the greatest number of partitions of a topic that the number of a stream
// can hold.
const maxPartitions = 1 << 16

// resolve returns the topics that the configuration means, by name. Topics that
// do not exist are a final error that names them all.
func (c *SourceConfig) resolve(ctx context.Context, admin *kadm.Client, log zerolog.Logger) ([]topic, error) {
	if c.Pattern == "" {
		return describe(ctx, admin, log, c.Topics)
	}
	pattern, err := regexp.Compile(c.Pattern)
	if err != nil {
		return nil, &FinalError{Text: "pattern: " + err.Error(), Err: err}
	}
	var names []string
	err = greet(ctx, log, "asking for the list of topics", func(ctx context.Context) error {
		all, err := admin.ListTopics(ctx)
		names = slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
			return all[name].IsInternal || !pattern.MatchString(name)
		})
		if err == nil && len(names) == 0 {
			err = &FinalError{Text: fmt.Sprintf("no topic that the user may Describe matches the pattern %q", c.Pattern),
				Err: kerr.UnknownTopicOrPartition}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return describe(ctx, admin, log, names)
}

// describe returns the named topics, by name.
func describe(ctx context.Context, admin *kadm.Client, log zerolog.Logger, names []string) ([]topic, error) {
	topics := make([]topic, len(names))
	names = slices.Sorted(slices.Values(names))
	err := greet(ctx, log, "asking for topics", func(ctx context.Context) error {
		details, err := admin.ListTopics(ctx, names...)
		if errors.Is(err, kerr.TopicAuthorizationFailed) {
			return hidden(ctx, admin, names, err)
		}
		if err != nil {
			return err
		}
		var missing []string
		for i, name := range names {
			t, ok := details[name]
			switch {
			case !ok, errors.Is(t.Err, kerr.UnknownTopicOrPartition):
				missing = append(missing, fmt.Sprintf("%q", name))
			case t.Err != nil:
				return t.Err
			case len(t.Partitions) > maxPartitions:
				return &FinalError{
					Text: fmt.Sprintf("the topic %q has %d partitions, and at most %d are supported", name, len(t.Partitions),
						maxPartitions)}
			}
			topics[i] = topic{name, int32(len(t.Partitions))}
		}
		switch len(missing) {
		case 0:
			return nil
		case 1:
			return &FinalError{Text: "the topic " + missing[0] + " does not exist", Err: kerr.UnknownTopicOrPartition}
		}
		return &FinalError{Text: "the topics " + strings.Join(missing, ", ") + " do not exist",
			Err: kerr.UnknownTopicOrPartition}
	})
	return topics, err
}

// hidden returns the topic that the user may not see. The brokers' answer about several topics
// does not say which one it is.
func hidden(ctx context.Context, admin *kadm.Client, names []string, err error) error {
	for _, name := range names {
		if _, err := admin.ListTopics(ctx, name); errors.Is(err, kerr.TopicAuthorizationFailed) {
			return explain(err, "asking for topics", subject{right: "Describe", topic: name})
		}
	}
	return explain(err, "asking for topics", subject{right: "Describe"})
}

// checkTopics returns the topics that the sources' releases go to, by the source's name. It is
// an error if one has fewer partitions than one of its sources: a record keeps its partition.
func (c *SinkConfig) checkTopics(ctx context.Context, admin *kadm.Client, log zerolog.Logger,
	sources []topic) (map[string]topic, error) {
	var names []string
	for _, s := range sources {
		names = append(names, c.topicFor(s.name))
	}
	slices.Sort(names)
	sinks, err := describe(ctx, admin, log, slices.Compact(names))
	if err != nil {
		return nil, err
	}
	to := map[string]topic{}
	for _, s := range sources {
		name := c.topicFor(s.name)
		sink := sinks[slices.IndexFunc(sinks, func(t topic) bool { return t.name == name })]
		if sink.partitions < s.partitions {
			return nil,
				&FinalError{
					Text: fmt.Sprintf(
						"the topic %q has %d partitions and must have at least the %d of %q: a record keeps its partition", name,
						sink.partitions, s.partitions, s.name)}
		}
		if name == s.name {
			return nil,
				&FinalError{Text: fmt.Sprintf("the topic %q is that of the source: its own release would be read again", name)}
		}
		to[s.name] = sink
	}
	return to, nil
}

// stateSettings make compaction keep a state topic small: old entries go within minutes, not
// when a gigabyte has been collected.
func stateSettings() map[string]*string {
	return map[string]*string{
		"cleanup.policy":            kadm.StringPtr("compact"),
		"segment.bytes":             kadm.StringPtr("67108864"),
		"segment.ms":                kadm.StringPtr("600000"),
		"min.cleanable.dirty.ratio": kadm.StringPtr("0.1"),
	}
}

// ensureStateTopic creates the compacted topic for states. A topic of this name that exists
// must be compacted and nothing else: if it also deletes records by age, old assessments would
// be lost.
func ensureStateTopic(ctx context.Context, admin *kadm.Client, name string, partitions int32) error {
	log := zerolog.Ctx(ctx)
	what := fmt.Sprintf("preparing the state topic %q", name)
	created := false
	return persist(ctx, *log, what, func(ctx context.Context) error {
		details, err := admin.ListTopics(ctx, name)
		if err == nil {
			err = details[name].Err
		}
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition) && created:
			return errNotYet
		case errors.Is(err, kerr.TopicAuthorizationFailed) && created:
			return explain(err, what, subject{right: "Describe", topic: name})
		case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.TopicAuthorizationFailed):
			// A user without the right to describe a topic is not told that it is missing, either.
			created = true
			if err := createStateTopic(ctx, admin, name, partitions); err != nil {
				return err
			}
			return errNotYet
		case err != nil:
			return err
		case created:
			return nil
		}
		return checkStateTopic(ctx, admin, *log, name)
	})
}

func createStateTopic(ctx context.Context, admin *kadm.Client, name string, partitions int32) error {
	_, err := admin.CreateTopic(ctx, partitions, -1, stateSettings(), name)
	return uncreated(err, name, partitions)
}

// uncreated is the error of a state topic that could not be created: it says who can create
// it, and how. It is nil if another process has created the topic meanwhile.
func uncreated(err error, name string, partitions int32) error {
	var why string
	switch {
	case errors.Is(err, kerr.TopicAlreadyExists):
		return nil
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		why = "the user may not Create (or, where it exists, Describe) it"
	case errors.Is(err, kerr.PolicyViolation), errors.Is(err, kerr.InvalidReplicationFactor):
		why = "the brokers refuse to create it"
	default:
		return err
	}
	var settings strings.Builder
	all := stateSettings()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&settings, " --config %s=%s", key, *all[key])
	}
	return &FinalError{
		Text: fmt.Sprintf(
			"the state topic %q is needed, and %s; who may can make it: kafka-topics.sh --create --topic %s --partitions %d%s; the user needs Read, Write and Describe on it", name, why, name, partitions, settings.String()),
		Err: err,
	}
}

func checkStateTopic(ctx context.Context, admin *kadm.Client, log zerolog.Logger, name string) error {
	configs, err := admin.DescribeTopicConfigs(ctx, name)
	if err == nil {
		var c kadm.ResourceConfig
		if c, err = configs.On(name, nil); err == nil {
			err = c.Err
		}
		if err == nil {
			for _, setting := range c.Configs {
				if policy := setting.MaybeValue(); setting.Key == "cleanup.policy" && policy != "compact" {
					return &FinalError{
						Text: fmt.Sprintf(
							"the topic %q is for states and must have cleanup.policy=compact, got %s: kafka-configs.sh --alter --topic %s --add-config cleanup.policy=compact", name, policy, name)}
				}
			}
			return nil
		}
	}
	if errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed) {
		log.Warn().Str("topic",
			name).Msg("the user may not DescribeConfigs of the state topic, so that it is not known to be compacted")
		return nil
	}
	return err
}

// listing is one of kadm's questions for offsets.
type listing func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)

// offsets asks for an offset of every partition of the topics.
func offsets(ctx context.Context, log zerolog.Logger, what string, topics []string, ask listing) (map[Partition]int64,
	error) {
	at := map[Partition]int64{}
	err := persist(ctx, log, what, func(ctx context.Context) error {
		listed, err := ask(ctx, topics...)
		if err != nil {
			return explain(err, what, subject{right: "Describe"})
		}
		for name, partitions := range listed {
			for _, o := range partitions {
				if o.Err != nil {
					return explain(o.Err, what, subject{right: "Describe", topic: name})
				}
				at[Partition{Topic: name, Number: o.Partition}] = o.Offset
			}
		}
		return nil
	})
	return at, err
}

// startOffsets returns where reading begins, by `start`.
func (c *SourceConfig) startOffsets(ctx context.Context, admin *kadm.Client, log zerolog.Logger,
	topics []string) (map[Partition]int64, error) {
	milli, err := c.start()
	if err != nil {
		return nil, &FinalError{Text: "start: " + err.Error(), Err: err}
	}
	const what = "asking for the offsets to start at"
	switch milli {
	case atStart:
		return offsets(ctx, log, what, topics, admin.ListStartOffsets)
	case atEnd:
		return offsets(ctx, log, what, topics, admin.ListCommittedOffsets)
	}
	return offsets(ctx, log, what, topics, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return admin.ListOffsetsAfterMilli(ctx, milli, topics...)
	})
}

// laterStarts returns where reading begins in partitions that have appeared since the group's first
// start: no later than `start` says, and where that is `latest`, with their first record.
func (c *SourceConfig) laterStarts(ctx context.Context, admin *kadm.Client, log zerolog.Logger,
	topics []string) (map[Partition]int64, error) {
	if milli, err := c.start(); err == nil && milli == atEnd {
		return offsets(ctx, log, "asking for the offsets to start at", topics, admin.ListStartOffsets)
	}
	return c.startOffsets(ctx, admin, log, topics)
}

// committed returns what a group has committed; partitions without an offset are
// left out. Transactions that are about to commit offsets are waited for.
func committed(ctx context.Context, admin *kadm.Client, log zerolog.Logger, group string) (map[Partition]int64, error) {
	at := map[Partition]int64{}
	what := fmt.Sprintf("asking for the offsets of the consumer group %q", group)
	err := persist(ctx, log, what, func(ctx context.Context) error {
		offsets, err := admin.FetchOffsets(kadm.RequireStable(ctx), group)
		if errors.Is(err, kerr.GroupIDNotFound) {
			return nil
		}
		if err == nil {
			err = offsets.Error()
		}
		if err != nil {
			return explain(err, what, subject{group: group, groupRight: "Describe", right: "Describe"})
		}
		offsets.Each(func(o kadm.OffsetResponse) {
			if o.At >= 0 {
				at[Partition{Topic: o.Topic, Number: o.Partition}] = o.At
			}
		})
		return nil
	})
	return at, err
}
