package config

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/internal/form"
)

// topicName is what Kafka takes as a topic's name.
var topicName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

// placeholder in a sink's topic stands for the name of the source's.
const placeholder = "{topic}"

// validateTopics demands that nothing that is written is read again, and that
// what has a topic of its own has it alone.
func (l *loader) validateTopics(p *Pipeline) {
	type written struct{ field, topic, words string }
	var beside []written
	add := func(field, topic, words string) {
		if topic == "" || !l.Sound(field) {
			return
		}
		if p.Source.Config != nil && p.Sink.Config != nil && len(p.kafkaConnections()) == 0 {
			l.Wrong(form.Parent(field), "needs a kafka source or sink, whose brokers it is written to")
			return
		}
		if !topicName.MatchString(topic) || topic == "." || topic == ".." {
			l.Wrong(field, "must be a topic's name, of letters, digits, dots, underscores and hyphens, got %q", topic)
			return
		}
		beside = append(beside, written{field, topic, words})
	}
	if q := p.Quarantine.Kafka; q != nil {
		add("quarantine.kafka.topic", q.Topic, "the quarantine")
	}
	for i, e := range p.Assess.Emit {
		if e.Kafka != nil {
			add(fmt.Sprintf("assess.emit[%d].kafka.topic", i), e.Kafka.Topic, "the snapshots")
		}
	}
	if h := p.Gate.Hold; h != nil {
		add("gate.hold.topic", h.Topic, "the records on hold")
	}
	l.validateRelease(p)
	for i, w := range beside {
		switch source := l.readsTopic(p, w.topic); {
		case source != "":
			l.Wrong(w.field, "must differ from what is read (%s), got %q for %s", source, w.topic, w.words)
		case slices.Contains(l.releasedTopics(p), w.topic):
			l.Wrong(w.field, "must differ from the topic of the release (sink.kafka.topic), got %q for %s", w.topic, w.words)
		}
		for _, before := range beside[:i] {
			if before.topic == w.topic {
				l.Wrong(w.field, "must differ from the topic of %s (%s), got %q for %s", before.words, before.field, w.topic,
					w.words)
			}
		}
	}
}

// validateRelease demands that the release is not read again.
func (l *loader) validateRelease(p *Pipeline) {
	const field = "sink.kafka.topic"
	src, dst := p.kafkaSource(), p.kafkaSink()
	if dst == nil || dst.Names[0] == "" || !l.Sound(field) {
		return
	}
	template := strings.Contains(dst.Names[0], placeholder)
	if template && src == nil {
		l.Wrong(field, "must be a topic's name where the source is no kafka, got %q", dst.Names[0])
		return
	}
	for _, topic := range l.releasedTopics(p) {
		switch source := l.readsTopic(p, topic); {
		case source == "":
		case template:
			l.Wrong(field, "must not give a topic that is read (%s): %q gives %q, so released records would be read again",
				source, dst.Names[0], topic)
			return
		default:
			l.Wrong(field, "must differ from what is read (%s), got %q: released records would be read again", source, topic)
			return
		}
	}
}

// releasedTopics are the topics that the release goes to. Where they follow from
// a pattern it is that of one topic that the pattern matches.
func (l *loader) releasedTopics(p *Pipeline) []string {
	src, dst := p.kafkaSource(), p.kafkaSink()
	if dst == nil || dst.Names[0] == "" {
		return nil
	}
	if !strings.Contains(dst.Names[0], placeholder) {
		return []string{dst.Names[0]}
	}
	var topics []string
	if src != nil {
		topics = slices.Clone(src.Names)
		if example, ok := exampleOf(src.Pattern); ok {
			topics = append(topics, example)
		}
	}
	for i, topic := range topics {
		topics[i] = strings.ReplaceAll(dst.Names[0], placeholder, topic)
	}
	return topics
}

// readsTopic returns the field by which the source reads a topic, "" where it
// does not.
func (l *loader) readsTopic(p *Pipeline, topic string) string {
	src := p.kafkaSource()
	if src == nil || !l.Sound("source.kafka.topics", "source.kafka.pattern") {
		return ""
	}
	if slices.Contains(src.Names, topic) {
		return "source.kafka.topics"
	}
	if src.Pattern != "" {
		if re, err := regexp.Compile(src.Pattern); err == nil && re.MatchString(topic) {
			return "source.kafka.pattern"
		}
	}
	return ""
}

// exampleOf returns a short text that a pattern matches; not ok where it finds
// none. It is the text by which a loop is shown, and one example is enough for
// that; where it does not show one there may still be one, which the run finds.
func exampleOf(pattern string) (text string, ok bool) {
	if pattern == "" {
		return "", false
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", false
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	example(&b, tree)
	text = b.String()
	if text == "" {
		text = "a"
	}
	return text, utf8.ValidString(text) && re.MatchString(text)
}

// example writes the shortest of the first choices.
func example(b *strings.Builder, t *syntax.Regexp) {
	switch t.Op {
	case syntax.OpLiteral:
		for _, r := range t.Rune {
			b.WriteRune(r)
		}
	case syntax.OpCharClass:
		if len(t.Rune) > 0 {
			r := t.Rune[0]
			for i := 0; i+1 < len(t.Rune); i += 2 { // rather a letter than what else there is
				if t.Rune[i] <= 'a' && 'a' <= t.Rune[i+1] {
					r = 'a'
				}
			}
			b.WriteRune(r)
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus:
		example(b, t.Sub[0])
	case syntax.OpRepeat:
		for range min(t.Min, 249) {
			if b.Len() > 249 {
				return
			}
			example(b, t.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range t.Sub {
			example(b, sub)
		}
	case syntax.OpAlternate:
		example(b, t.Sub[0])
	}
}
