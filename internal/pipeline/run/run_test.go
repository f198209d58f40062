package run

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	_ "github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// parsed returns a configuration with a source and a sink, in a folder.
func parsed(t *testing.T, dir, source, sink string) *config.Pipeline {
	t.Helper()
	for name, text := range map[string]string{
		"k":      base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF")),
		"in.csv": "id,wage\n1,2.5\n2,3.5\n3,9.5\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.ReplaceAll("version: 1\nname: p\nkey: {file: DIR/k}\nsource: {"+source+"}\nsink: {"+sink+
		"}\ncolumns: {id: {role: identifier}, wage: {role: sensitive, decimals: 1}}\nmasks: [{noise: {columns: [wage], sd: 3}}]\n", "DIR", dir)
	p, err := config.Parse("p.yaml", []byte(text), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A file job runs to its end. A trial run leaves no files behind.
func TestFileJob(t *testing.T) {
	dir := t.TempDir()
	p := parsed(t, dir, "csv: {path: DIR/in.csv}", "csv: {path: DIR/out.csv}")
	out := filepath.Join(dir, "out.csv")
	if err := Connect(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Connect, the output is there (os.Stat returns %v)", err)
	}
	result, err := Pipeline(t.Context(), p, pipeline.Options{})
	if err != nil || result.Refused() || result.Report.Records.Released != 3 {
		t.Fatal(err, result)
	}
	if text, err := os.ReadFile(out); err != nil || strings.Count(string(text), "\n") != 4 {
		t.Errorf("the release is %q (error %v)", text, err)
	}
	gone := parsed(t, dir, "csv: {path: DIR/gone.csv}", "csv: {path: DIR/out.csv}")
	if err := Connect(t.Context(), gone); err == nil {
		t.Error("the source file is missing, want an error")
	}
	if _, err := Pipeline(t.Context(), gone, pipeline.Options{}); err == nil {
		t.Error("the source file is missing, want an error")
	}
}

const (
	topics = `kafka: {brokers: ["127.0.0.1:1"], topics: [in]`
	topic  = `kafka: {brokers: ["127.0.0.1:1"], topic: out`
)

// The patience for brokers is that of the source, or else of the sink, or else the default of the
// kind of run.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		source, sink string
		usual, want  time.Duration
	}{
		{"csv: {path: DIR/in.csv}", "csv: {path: DIR/out.csv}", 7 * time.Minute, 7 * time.Minute},
		{topics + "}", topic + "}", 7 * time.Minute, 7 * time.Minute}, {topics + "}", topic + "}", 0, 0},
		{topics + ", patience: 3s}", topic + "}", time.Minute, 3 * time.Second},
		{topics + "}", topic + ", patience: 4s}", time.Minute, 4 * time.Second},
		{topics + ", patience: 3s}", topic + ", patience: 4s}", time.Minute, 3 * time.Second},
		{"csv: {path: DIR/in.csv}", topic + ", patience: 4s}", time.Minute, 4 * time.Second},
	} {
		p := parsed(t, t.TempDir(), c.source, c.sink)
		if got, want := patient(t.Context(), p, c.usual), kafka.WithPatience(t.Context(), c.want); !reflect.DeepEqual(got,
			want) {
			t.Errorf("%+v: context %v, want %v", c, got, want)
		}
	}
	if jobPatience != 5*time.Minute || connectPatience != 10*time.Second {
		t.Errorf("a job waits %v and validate --connect %v, but the doc of `patience` says 5m and 10s", jobPatience,
			connectPatience)
	}
}

// A stream, or a job with topics, that cannot reach its brokers ends when its patience ends.
func TestPatienceEnds(t *testing.T) {
	racetest.Further(t)
	for _, until := range []string{"", ", until: latest"} {
		sink := topic + "}"
		if until != "" {
			sink = "csv: {path: DIR/out.csv}" // a job
		}
		p := parsed(t, t.TempDir(), topics+until+", patience: 200ms}", sink)
		if p.Streaming() != (until == "") {
			t.Fatal("a pipeline from topics to a topic must be a stream if it has no end")
		}
		for what, do := range map[string]func() error{
			"run":     func() error { _, err := Pipeline(t.Context(), p, pipeline.Options{}); return err },
			"connect": func() error { return Connect(t.Context(), p) },
		} {
			var final *kafka.FinalError
			if err := do(); !errors.As(err, &final) || !strings.Contains(err.Error(), "no broker has answered for 200ms") {
				t.Errorf("%s%s: error %v, want a FinalError that no broker has answered", what, until, err)
			}
		}
	}
}

// A run waits at its start for topics that are created meanwhile, whichever of them it is, and not longer
// than startup_patience, after which the error is that of a missing topic.
func TestTopicsThatAppear(t *testing.T) {
	for name, c := range map[string]struct{ source, sink, topic string }{
		"source": {"kafka: {brokers: [BROKER], topics: [late], until: latest STARTUP}",
			"kafka: {brokers: [BROKER], topic: out STARTUP}", "late"},
		"pattern": {"kafka: {brokers: [BROKER], pattern: '^la', until: latest STARTUP}",
			"kafka: {brokers: [BROKER], topic: out STARTUP}", "late"},
		"sink": {"kafka: {brokers: [BROKER], topics: [in], until: latest STARTUP}",
			"kafka: {brokers: [BROKER], topic: late STARTUP}", "late"},
		"source of a job": {"kafka: {brokers: [BROKER], topics: [late], until: latest STARTUP}",
			"csv: {path: DIR/out.csv}", "late"},
		"sink of a job": {"csv: {path: DIR/in.csv}", "kafka: {brokers: [BROKER], topic: late STARTUP}", "late"},
		"nothing is missing": {"kafka: {brokers: [BROKER], topics: [in], until: latest STARTUP}",
			"kafka: {brokers: [BROKER], topic: out STARTUP}", ""},
	} {
		for _, patience := range []string{"1m", "20ms"} {
			t.Run(name+" "+patience, func(t *testing.T) {
				t.Parallel()
				cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "in", "out"))
				if err != nil {
					t.Fatal(err)
				}
				defer cluster.Close()
				text := strings.NewReplacer("BROKER", cluster.ListenAddrs()[0], "STARTUP", ", startup_patience: "+patience)
				p := parsed(t, t.TempDir(), text.Replace(c.source), text.Replace(c.sink))
				asked := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Observe: true, Count: -1})
				ended := make(chan error, 1)
				go func() {
					_, err := Pipeline(t.Context(), p, pipeline.Options{})
					ended <- err
				}()
				if patience == "1m" && c.topic != "" {
					eventually.True(t, "the run asks for topics again and again", func() bool { return asked.Hits() > 3 })
					if err := cluster.CreateTopic(c.topic, 1, nil); err != nil {
						t.Fatal(err)
					}
				}
				err = <-ended
				if missing := c.topic != "" && patience != "1m"; (err != nil) != missing {
					t.Fatalf("error %v, want one: %v", err, missing)
				}
				if err != nil && !strings.Contains(err.Error(), `the topic "late" does not exist`) &&
					!strings.Contains(err.Error(), "matches the pattern") {
					t.Error(err)
				}
			})
		}
	}
}
