package pipeline_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// A phase counts from zero. The phase after the last record keeps the count, which is then the
// total.
func TestProgress(t *testing.T) {
	p := new(pipeline.Progress)
	if p.Phase() != "" || p.Records() != 0 || p.Total() != 0 || p.Rate() != 0 {
		t.Errorf("a new Progress has the phase %q, %d of %d records and the rate %v", p.Phase(), p.Records(), p.Total(),
			p.Rate())
	}
	p.Start("profile", 7)
	p.Add(3)
	p.Add(4)
	if p.Phase() != "profile" || p.Records() != 7 || p.Total() != 7 {
		t.Errorf("the progress has the phase %q and %d of %d records", p.Phase(), p.Records(), p.Total())
	}
	p.Start("mask", -1)
	if p.Phase() != "mask" || p.Records() != 0 || p.Total() != -1 {
		t.Errorf("the progress has the phase %q and %d of %d records", p.Phase(), p.Records(), p.Total())
	}
	begun := time.Now()
	p.Start("mask", -1)
	p.Add(1000)
	eventually.True(t, "a millisecond", func() bool { return time.Since(begun) > time.Millisecond })
	before := p.Rate()
	if least := 1000 / time.Since(begun).Seconds(); before < least || p.Rate() > before {
		t.Errorf("%v records per second, want at least %v, and later less than that, got %v", before, least, p.Rate())
	}
	p.Measuring()
	if p.Phase() != "assess" || p.Records() != 1000 || p.Total() != 1000 || p.Rate() > before || p.Rate() <= 0 {
		t.Errorf("after the last record: phase %q, %d of %d records, rate %v", p.Phase(), p.Records(), p.Total(), p.Rate())
	}
}

// A connector is described by its path or its topics, and the description of outputs besides the
// release lists every configured topic.
func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		source connectors.SourceConfig
		want   string
	}{
		{&kafka.SourceConfig{Topics: []string{"a", "b"}}, "kafka a, b"}, {&kafka.SourceConfig{Pattern: "^a"}, "kafka ^a"},
		{new(csv.SourceConfig), ""}, {},
	} {
		if got := pipeline.DescribeSource(config.Source{Config: c.source}); got != c.want {
			t.Errorf("description of %T is %q, want %q", c.source, got, c.want)
		}
	}
	for _, c := range []struct {
		sink connectors.SinkConfig
		want string
	}{{&csv.SinkConfig{Path: "a.csv"}, "a.csv"}, {&kafka.SinkConfig{Topic: "out"}, "topic out"}, {}} {
		if got := pipeline.DescribeSink(config.Sink{Config: c.sink}); got != c.want {
			t.Errorf("description of %T is %q, want %q", c.sink, got, c.want)
		}
	}
	var p config.Pipeline
	if got := pipeline.AlsoWritten(&p); got != nil {
		t.Errorf("topics of an empty configuration are %q, want none", got)
	}
}

// Who watches is told each phase while the records of the one before are still counted, and nothing once nobody
// watches.
func TestProgressTellsOfPhases(t *testing.T) {
	var p pipeline.Progress
	var told []string
	p.Watch(func(phase string) { told = append(told, fmt.Sprint(p.Phase(), p.Records(), phase)) })
	p.Start("survey", 9)
	p.Add(9)
	p.Start("mask", -1)
	p.Add(7)
	p.Measuring()
	p.Watch(nil)
	p.Start("mask", 1)
	if want := []string{"0survey", "survey9mask", "mask7assess"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
