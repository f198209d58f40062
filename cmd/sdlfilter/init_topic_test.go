package main

import (
	"strings"
	"testing"
)

// init reads a topic. Its output contains none of the values, and it leaves nothing behind on the
// brokers.
func TestInitLooksAtATopic(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 100)
	stdout, _ := s.run(exitDone, "init", "--brokers", s.broker, "in")
	mustContain(t, stdout, "format: {json: {}}", "topics: [in]", "topic: in-masked", "all 100 records of the topic",
		"decimals: 2")
	s.file("drafted.yaml", stdout)
	stdout, _ = s.run(exitDone, "validate", "drafted.yaml")
	mustContain(t, stdout, "drafted.yaml: valid")
	for _, c := range []struct{ want, args string }{
		{"--format and --registry are about a topic, which needs --brokers", "--format json in"},
		{`--format must be json, avro or protobuf, got "xml"`, "--format xml --brokers b:1 in"},
		{"--registry goes with --format avro or protobuf", "--format avro --brokers b:1 in"},
		{"--registry goes with --format avro or protobuf", "--registry http://r --brokers b:1 in"},
		{"topics[0]: must", "--brokers b:1 a/b"},
	} {
		_, stderr := s.run(exitUsage, append([]string{"init"}, strings.Fields(c.args)...)...)
		mustContain(t, stderr, c.want)
	}
	s, _ = canaryStand(t, canaryJSON)
	stdout, stderr := s.run(exitDone, "init", "--brokers", s.broker, "in")
	mustContain(t, stdout, "wage", "sink: {kafka:")
	checkStreamCanaries(t, "stdout", []byte(stdout), true)
	checkStreamCanaries(t, "stderr", []byte(stderr), true)
}
