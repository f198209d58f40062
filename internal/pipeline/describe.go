package pipeline

import (
	"strings"

	"github.com/sdlfilter/sdlfilter/config"
)

// DescribeSource names a source for people, without secrets.
func DescribeSource(s config.Source) string {
	can := s.Abilities()
	switch t := can.Topics; {
	case t == nil:
		return can.Description
	case t.Pattern != "":
		return "kafka " + t.Pattern
	default:
		return "kafka " + strings.Join(t.Names, ", ")
	}
}

// DescribeSink names a sink for people, without secrets.
func DescribeSink(s config.Sink) string {
	if words := s.Abilities().Description; words != "" || s.Config == nil {
		return words
	}
	return strings.Join(s.Config.Paths(), ", ")
}

// AlsoWritten returns the topics that a stream writes to in addition to its release.
func AlsoWritten(p *config.Pipeline) []string {
	var topics []string
	if p.Quarantine.Kafka != nil {
		topics = append(topics, p.Quarantine.Kafka.Topic)
	}
	for _, e := range p.Assess.Emit {
		if e.Kafka != nil {
			topics = append(topics, e.Kafka.Topic)
		}
	}
	return topics
}
