package config

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
)

const swapping = `version: 1
key: {env: SDLFILTER_KEY}
source: {SOURCE}
columns:
  wage: {role: sensitive, decimals: 2}
  age: {role: key}
  region: {role: key}
masks:
  - swap: {keys: [age], attribute: region, columns: [wage], rate: 0.1}
sink: {SINK}
`

// An omitted field has the default of the kind of run, which follows from source and sink.
func TestKindOfRun(t *testing.T) {
	const (
		endless = `kafka: {brokers: ["b:1"], topics: [a]}`
		bounded = `kafka: {brokers: ["b:1"], topics: [a], until: latest}`
		topic   = `kafka: {brokers: ["b:1"], topic: c}`
		folder  = `parquet: {path: out}`
		file    = `csv: {path: in.csv}`
	)
	for _, c := range []struct {
		name, source, sink string
		stream, streaming  bool
		onFail             string
		linger             time.Duration
		rolls              bool
	}{
		{"topics to a topic", endless, topic, true, true, Stop, 5 * time.Second, false},
		{"bounded topics to a topic", bounded, topic, false, true, Stop, 5 * time.Second, false},
		{"topics to files", endless, folder, true, true, Stop, 5 * time.Second, true},
		{"bounded topics to a file", bounded, folder, false, false, Withhold, 0, false},
		{"a file to a topic", file, topic, false, false, Withhold, 0, false},
		{"a file to a file", file, folder, false, false, Withhold, 0, false},
	} {
		text := strings.NewReplacer("SOURCE", c.source, "SINK", c.sink).Replace(swapping)
		p, err := Parse("test.yaml", []byte(text), Options{LookupEnv: lookup})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if p.Stream() != c.stream || p.Streaming() != c.streaming {
			t.Errorf("%s: stream %v, streaming %v", c.name, p.Stream(), p.Streaming())
		}
		if p.Gate.OnFail != c.onFail || time.Duration(p.Window.Linger) != c.linger {
			t.Errorf("%s: on_fail %s, linger %v", c.name, p.Gate.OnFail, time.Duration(p.Window.Linger))
		}
		if sink, ok := p.Sink.Config.(*parquet.SinkConfig); ok && (sink.Roll != nil) != c.rolls {
			t.Errorf("%s: roll %+v", c.name, sink.Roll)
		}
	}
}

// An omitted field of roll has the same default as if roll were omitted.
func TestRollDefaults(t *testing.T) {
	text := strings.NewReplacer("SOURCE", `kafka: {brokers: ["b:1"], topics: [a]}`, "SINK",
		"parquet: {path: out, roll: {size: 1GiB}}").Replace(swapping)
	p, err := Parse("test.yaml", []byte(text), Options{LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	want := *parquet.DefaultRoll()
	want.Size = 1 << 30
	if got := p.Sink.Config.(*parquet.SinkConfig).Roll; *got != want {
		t.Errorf("roll is %+v, want %+v", *got, want)
	}
}

// A password is looked up where the configuration was.
func TestPasswordsAreLookedUp(t *testing.T) {
	text := strings.NewReplacer("SOURCE",
		`kafka: {brokers: ["b:1"], topics: [a], sasl: {mechanism: plain, username: u, password: {env: TOKEN}},
  format: {avro: {}}, registry: {url: "http://r:1", username: u, password: {env: TOKEN}}}`,
		"SINK", `kafka: {brokers: ["b:1"], topic: c}`).Replace(swapping)
	p, err := Parse("test.yaml", []byte(text), Options{LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	src := p.Source.Config.(*kafka.SourceConfig)
	for name, s := range map[string]connectors.Secret{"registry": src.Registry.Password, "sasl": src.SASL.Password} {
		if got, err := s.Read(); err != nil || got != "hunter2hunter2" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "source.kafka.sasl: the mechanism plain") {
		t.Errorf("a password in the clear must be warned of, got %q", p.Warnings)
	}
	if out := string(p.canonical()); strings.Contains(out, "hunter2") {
		t.Error("the password is in the effective configuration")
	}
}

func TestExampleOfAPattern(t *testing.T) {
	for _, pattern := range []string{
		"^survey-", "^survey-[a-z]+$", "^(a|b)-v[0-9]{2,4}$", ".*", "(?i)SURVEY", `^[^a]\d\.log$`, `\bsurvey\b`,
	} {
		text, ok := exampleOf(pattern)
		if !ok || !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("%s: got %q, %v", pattern, text, ok)
		}
	}
	for _, pattern := range []string{"", "[", "a$b", `(a{1000}){1000}`} {
		if text, ok := exampleOf(pattern); ok {
			t.Errorf("%s: got %q", pattern, text)
		}
	}
}

// A topic that was made again begins anew only with an identity: by place its records would get the draws
// of those that were there before.
func TestBeginningAnewNeedsIdentity(t *testing.T) {
	for _, c := range []struct {
		source, identity string
		refused          bool
	}{
		{"on_recreated: begin", "", true},
		{"on_recreated: begin", "identity: [region]\n", false},
		{"on_recreated: stop", "", false},
		{"until: latest, on_recreated: begin", "", true},
		{"until: latest", "", false},
	} {
		text := strings.NewReplacer("SOURCE", `kafka: {brokers: ["b:1"], topics: [a], `+c.source+"}", "SINK",
			`kafka: {brokers: ["b:1"], topic: c}`).Replace(swapping)
		text = strings.Replace(text, "columns:\n", c.identity+"columns:\n", 1)
		_, err := Parse("test.yaml", []byte(text), Options{LookupEnv: lookup})
		if refused := err != nil &&
			strings.Contains(err.Error(), "source.kafka.on_recreated: needs identity"); refused != c.refused || err != nil &&
			!refused {
			t.Errorf("%s, %q: %v", c.source, c.identity, err)
		}
	}
}
