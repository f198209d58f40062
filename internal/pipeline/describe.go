package pipeline

import (
	"strings"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/abilities"
)

// Describe names a source or sink for people, without secrets.
func Describe(connector any) string {
	if words := abilities.Description(connector); words != "" {
		return words
	}
	if c, ok := connector.(interface{ Paths() []string }); ok {
		return strings.Join(c.Paths(), ", ")
	}
	t := abilities.TopicsOf(connector)
	switch {
	case t == nil:
		return ""
	case t.Pattern != "":
		return "kafka " + t.Pattern
	}
	return "kafka " + strings.Join(t.Names, ", ")
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
