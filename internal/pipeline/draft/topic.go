package draft

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
)

// peeked is the greatest number of JSON messages that are read to find their members.
const peeked = 2000

// OfTopic drafts a configuration from the first records of a topic. It reads from the topic's
// beginning and joins no group: nothing is processed or committed.
func OfTopic(ctx context.Context, c *kafka.SourceConfig) (*Draft, error) {
	rare := 0
	if c.Format == (kafka.Format{}) || c.Format.JSON != nil {
		columns, left, err := membersOf(ctx, c)
		if err != nil {
			return nil, err
		}
		rare = left
		c.Abilities().Declare(columns, true, false)
	} else {
		c.Abilities().Declare(nil, true, false) // the schema lists them
	}
	src, err := c.OpenAll(ctx)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	topic := c.Topics[0]
	look, err := Source(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", topic, err)
	}
	brokers := make([]string, len(c.Brokers))
	for i, b := range c.Brokers {
		brokers[i] = fmt.Sprintf("%q", b)
	}
	at := fmt.Sprintf("brokers: [%s]", strings.Join(brokers, ", "))
	return &Draft{
		Name: topic, Looked: look.Seen(" of the topic"), Listed: look.List(), Stream: true, Rare: rare,
		Source: fmt.Sprintf("{kafka: {%s, topics: [%s], %s}}", at, scalar(topic), formatOf(c)),
		Sink:   fmt.Sprintf("{kafka: {%s, topic: %s}}", at, scalar(topic+"-masked")),
	}, nil
}

// formatOf writes the format of a topic's messages.
func formatOf(c *kafka.SourceConfig) string {
	registry := ""
	if c.Registry != nil {
		registry = fmt.Sprintf(", registry: {url: %q}", c.Registry.URL)
	}
	switch f := c.Format; {
	case f.Avro != nil:
		return "format: {avro: {}}" + registry
	case f.Protobuf != nil:
		return "format: {protobuf: {}}" + registry
	}
	return "format: {json: {}}"
}

// member describes one member of the JSON objects that were read.
type member struct {
	name        string // dotted within nested objects
	numbers     int
	others      int // values that are neither numbers nor null
	nested      int // objects
	occurrences int // objects that have the member
	children    []*member
}

// membersOf finds the members of the first messages of topics of JSON objects, and how many of
// them are left out: those that fewer than one in twenty messages have, because their names may
// be data.
func membersOf(ctx context.Context, c *kafka.SourceConfig) (columns []connectors.DeclaredColumn, rare int, err error) {
	root := &member{}
	messages, objects := 0, 0
	err = c.Peek(ctx, peeked, func(value []byte) {
		messages++
		if root.addObject(value) == nil {
			objects++
		}
	})
	switch {
	case err != nil:
		return nil, 0, err
	case messages == 0:
		return nil, 0, errors.New("the topic holds no message to look at")
	case objects == 0:
		return nil, 0,
			errors.New("no message that was looked at is a JSON object; say --format avro or protobuf, with --registry")
	}
	all := len(root.children)
	root.children = slices.DeleteFunc(root.children, func(m *member) bool { return 20*m.occurrences < objects })
	if len(root.children) == 0 {
		return nil, 0, errors.New("the messages that were looked at have no member in common that could be a column")
	}
	return root.columns(nil), all - len(root.children), nil
}

// addObject adds the members of an object.
func (m *member) addObject(object []byte) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("is no object")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		m.child(name).addValue(value)
	}
	return nil
}

// child finds or makes the member of that name.
func (m *member) child(name string) *member {
	if m.name != "" {
		name = m.name + "." + name
	}
	if i := slices.IndexFunc(m.children, func(c *member) bool { return c.name == name }); i >= 0 {
		return m.children[i]
	}
	m.children = append(m.children, &member{name: name})
	return m.children[len(m.children)-1]
}

func (m *member) addValue(value json.RawMessage) {
	m.occurrences++
	switch value[0] {
	case 'n': // null
	case '{':
		m.nested++
		_ = m.addObject(value) // the value is valid JSON: it was decoded before
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		m.numbers++
	default:
		m.others++
	}
}

// columns returns the members that have values. A member that is an object in some messages and
// a value in others is a column of JSON text.
func (m *member) columns(list []connectors.DeclaredColumn) []connectors.DeclaredColumn {
	for _, c := range m.children {
		if c.nested > 0 && c.numbers+c.others == 0 && !c.keyed() {
			list = c.columns(list)
			continue
		}
		list = append(list, connectors.DeclaredColumn{Name: c.name, Number: c.numbers > 0 && c.others+c.nested == 0})
	}
	return list
}

// keyed reports whether an object looks like a mapping from keys that are data: many
// members, or ones that few of the objects have. Their names may be respondents' values.
func (m *member) keyed() bool {
	return len(m.children) > 50 || slices.ContainsFunc(m.children, func(c *member) bool {
		return 20*c.occurrences < m.nested
	})
}
