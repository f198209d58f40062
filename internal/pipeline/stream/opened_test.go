package stream_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// A stream with a configuration that does not fit its topics, or with files that cannot be opened,
// ends before it joins its group, with the place of the error. The assessment of the group ends too
// if the error concerns it.
func TestStreamsThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 20)
	s.run(s.pipeline()) // the group has kept some state
	before := s.groupAt(0) + s.groupAt(1)
	s.persons(20, 40)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(standConfig, s.address, s.key)
	schemas, none := registrytest.New(t), registrytest.New(t)
	schemas.Register(t, "in-value", "AVRO",
		`{"type":"record","name":"p","fields":[{"name":"id","type":"int"},{"name":"name","type":"string"},{"name":"wage","type":"string"},{"name":"region","type":"string"}]}`)
	schemas.Incompatible("out-value")
	const instance = "instance: a, until: latest"
	for _, c := range []struct {
		old, with, want string
		group           bool // its assessment fails as well
	}{
		{"quarantine: {kafka: {topic: bad}}", "quarantine: {jsonl: " + file + "/q.jsonl}", "quarantine: mkdir", false},
		{"assess: {", "assess: {every: {records: 9}, emit: [{jsonl: " + file + "/s.jsonl}], ", "assess.emit: mkdir", false},
		{
			"quarantine:",
			"gate: {on_fail: hold, hold: {topic: gone}, rules: [{column: wage, min_efficiency: 0.1}]}\nquarantine:",
			`quarantine, assess.emit, gate.hold: the topic "gone" does not exist`, false},
		{instance, instance + fmt.Sprintf(", registry: {url: %q}, format: {avro: {}}", none.URL), "source: ", true},
		{instance, instance + fmt.Sprintf(", registry: {url: %q}, format: {avro: {}}", schemas.URL),
			"masks[0].noise.columns: wage is string, and noise needs a number", true},
		{"topic: out,", fmt.Sprintf("topic: out, registry: {url: %q}, format: {avro: {}},", schemas.URL), "sink: ", false},
	} {
		p := func() string { return strings.Replace(text, c.old, c.with, 1) }
		_, err := stream.Run(t.Context(), s.parse(p()), s.options())
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, stream.ErrUnopened) {
			t.Errorf("%s: Run returns %v", c.with, err)
		}
		rep, err := stream.AssessGroup(t.Context(), s.parse(p()), "", s.options())
		if (err != nil) != c.group || c.group && !strings.Contains(err.Error(), c.want) || !c.group && rep == nil {
			t.Errorf("%s: AssessGroup returns %v", c.with, err)
		}
	}
	if at := s.groupAt(0) + s.groupAt(1); at != before {
		t.Errorf("the group's offsets sum to %d, want %d as before", at, before)
	}
	s.exactlyOnce("out", 20)
}
