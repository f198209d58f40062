package pipeline

import (
	"strings"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
)

// Describe names a source or sink for people, without what is secret.
func Describe(connector any) string {
	switch c := connector.(type) {
	case *kafka.SourceConfig:
		if c.Pattern != "" {
			return "kafka " + c.Pattern
		}
		return "kafka " + strings.Join(c.Topics, ", ")
	case interface{ Paths() []string }:
		return strings.Join(c.Paths(), ", ")
	}
	return ""
}

// AlsoWritten are the topics that a stream writes to beside its release.
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
