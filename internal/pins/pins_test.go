package pins

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/filter"
	_ "github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/run"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/shard"
)

var (
	update  = flag.Bool("update", false, "write the pinned digests anew")
	written = flag.String("written", "",
		"write the configurations, records and releases into this folder, for carriers outside this module")
)

const (
	configurations = 60
	records        = 240
	pinned         = "testdata/pins.txt"
)

// TestPins compares the digests of releases and reports. An error is pinned by its words.
func TestPins(t *testing.T) {
	every := 1
	if testing.Short() {
		every = 6
	}
	if *update {
		every = 1
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	if !*update {
		text, err := os.ReadFile(pinned)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name, digests, _ := strings.Cut(strings.TrimSpace(line), ": ")
			want[name] = digests
		}
		if len(want) != configurations*(2*len(formats)+2) {
			t.Fatalf("%s has %d lines", pinned, len(want))
		}
	}
	got := map[string]string{}
	for i := 0; i < configurations; i += every {
		maps.Copy(got, carry(t, i))
	}
	if *update {
		var text bytes.Buffer
		for _, name := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&text, "%s: %s\n", name, got[name])
		}
		if err := os.WriteFile(filepath.Join(home, pinned), text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] != want[name] {
			t.Errorf("%s:\n is  %s\n was %s", name, got[name], want[name])
		}
	}
}

// TestWritten writes for each configuration its file, the records as Arrow, and what a run makes of them: the release
// and report whose digests are pinned, or the words of its error. python/tests/test_pins.py holds the Python package
// against them.
func TestWritten(t *testing.T) {
	if *written == "" {
		t.Skip("is for other carriers: -written FOLDER")
	}
	for i := range configurations {
		at := filepath.Join(*written, fmt.Sprintf("%02d", i))
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Chdir(at)
		write(t, "test.key", []byte(keytest.Key(1).Text()+"\n"))
		write(t, "in.arrow", formats["arrow"](t, draw(i)))
		ends := []string{"source: {arrow: {path: in.arrow}}", "sink: {arrow: {path: out.arrow}}",
			"report: {json: report.json}", "quarantine: {jsonl: bad.jsonl}"}
		body := valid(i)
		if _, err := run.Pipeline(t.Context(), parse(t, body, ends...), quiet); err != nil {
			write(t, "error", []byte(words(err)))
		}
		write(t, "pipeline.yaml", []byte(body+strings.Join(ends, "\n")+"\n"))
	}
}

// carry runs configuration i by all carriers, and returns the digests by their names.
func carry(t *testing.T, i int) map[string]string {
	t.Chdir(t.TempDir())
	write(t, "test.key", []byte(keytest.Key(1).Text()+"\n"))
	people := draw(i)
	body := valid(i)
	got := map[string]string{}
	for format, encode := range formats {
		write(t, "in."+format, encode(t, people))
		p := func(sink string) *config.Pipeline {
			return parse(t, body, "source: {"+format+": {path: in."+format+options[format]+"}}",
				"sink: {"+format+": {path: "+sink+"}}", "report: {json: report.json}", "quarantine: {jsonl: bad.jsonl}")
		}
		name := fmt.Sprintf("%02d %s", i, format)
		_, err := run.Pipeline(t.Context(), p("out."+format), quiet)
		got[name+" run"] = digests(t, err, "out."+format)
		got[name+" shards"] = digests(t, sharded(t, p("parts")), "parts")
	}
	got[fmt.Sprintf("%02d filter", i)] = filtered(t, body, people)
	got[fmt.Sprintf("%02d stream", i)] = streamed(t, body, people)
	return got
}

var quiet = pipeline.Options{Version: "pinned", Log: zerolog.New(io.Discard)}

// options are what a source of a format must say.
var options = map[string]string{"csv": ", types: {id: string, k: string, s: string, x: float64, v: float64, w: int64}"}

func parse(t *testing.T, body string, more ...string) *config.Pipeline {
	t.Helper()
	p,
		err := config.Parse("pipeline.yaml", []byte(body+strings.Join(more, "\n")+"\n"),
		config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return p
}

// sharded runs the job in three shards.
func sharded(t *testing.T, p *config.Pipeline) error {
	for _, old := range []string{"states", "surveys", "pairs"} {
		os.RemoveAll(old)
	}
	write(t, "pipeline.yaml", []byte("of the plan\n"))
	m, err := shard.Plan(t.Context(), p, "pipeline.yaml", nil, 3, quiet)
	if err != nil {
		return err
	}
	if err := m.Write("plan.json"); err != nil {
		return err
	}
	if m, err = shard.Read(t.Context(), "plan.json"); err != nil {
		return err
	}
	if m.Pairs {
		for i := range m.Shards {
			s, err := shard.Survey(t.Context(), p, m, i, quiet)
			if err != nil {
				return err
			}
			if err := s.Write(fmt.Sprintf("surveys/%d", i)); err != nil {
				return err
			}
		}
		if err := shard.Pair(t.Context(), p, m, "surveys", "pairs", quiet); err != nil {
			return err
		}
	}
	for i := range m.Shards {
		var pairs *shard.Surveyed
		if m.Pairs {
			if pairs, err = m.ReadPairs(t.Context(), "pairs", i); err != nil {
				return err
			}
		}
		s, err := shard.Run(t.Context(), p, m, i, pairs, quiet)
		if err != nil {
			return err
		}
		if err := s.Write(fmt.Sprintf("states/%d.state", i)); err != nil {
			return err
		}
	}
	_, err = shard.Commit(t.Context(), p, m, "states", quiet)
	return err
}

// filtered passes the records through an embedded filter in three batches.
func filtered(t *testing.T, body string, people []person) string {
	p, err := config.ParseEmbedded("pipeline.yaml", []byte(body), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		return words(err)
	}
	f, err := filter.Open(p, filter.Options{Version: "pinned"})
	if err != nil {
		return words(err)
	}
	var release bytes.Buffer
	for _, part := range [][]person{people[:80], people[80:160], people[160:]} {
		in := batch(part)
		out, err := f.Batch(in)
		in.Release()
		if err != nil {
			return words(err)
		}
		text, err := out.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		release.Write(text)
		out.Release()
	}
	rep, err := f.Close()
	if err != nil {
		return words(err)
	}
	text, err := rep.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return "release " + digest(release.Bytes()) + report(t, text)
}

// streamed passes the records through a stream of JSON, from a topic with two partitions.
func streamed(t *testing.T, body string, people []person) string {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "in", "out", "bad"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i, who := range people {
		text, _ := json.Marshal(who)
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Partition: int32(i % 2), Value: text}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	brokers := cluster.ListenAddrs()[0]
	os.RemoveAll("report.json")
	p,
		err := config.Parse("pipeline.yaml",
		[]byte(
			body+
				fmt.Sprintf(
					`source: {kafka: {brokers: [%q], topics: [in], group: g, until: latest, start: earliest, format: {json: {}}}}
sink: {kafka: {brokers: [%q], topic: out, commit: {interval: %s}}}
quarantine: {kafka: {topic: bad}}
report: {json: report.json}
`, brokers, brokers, interval)), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		return words(err)
	}
	result, err := run.Pipeline(t.Context(), p, quiet)
	if err != nil {
		return words(err)
	}
	text, err := os.ReadFile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	all := messages(t, brokers, result.Report.Records.Released)
	if seen != nil {
		seen(all)
	}
	return "release " + digest([]byte(strings.Join(all, "\n"))) + report(t, text)
}

// interval is that of the commits of a stream. The broker's transactions are shorter than an hour.
var interval = "1h"

// seen is called with the messages that a stream releases; nil: nobody looks at them.
var seen func(all []string)

// messages returns the n committed messages of the topic, in order of their texts.
func messages(t *testing.T, brokers string, n int64) (all []string) {
	client,
		err := kgo.NewClient(kgo.SeedBrokers(brokers), kgo.ConsumeTopics("out"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for int64(len(all)) < n && ctx.Err() == nil {
		for _, r := range client.PollFetches(ctx).Records() {
			all = append(all, string(r.Value))
		}
	}
	return slices.Sorted(slices.Values(all))
}

// digests returns those of the release at path and of the report, or the words of the error.
func digests(t *testing.T, err error, path string) string {
	defer func() {
		for _, made := range []string{path, "report.json", "bad.jsonl"} {
			os.RemoveAll(made)
		}
	}()
	if err != nil {
		return words(err)
	}
	text, err := os.ReadFile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	bad, err := os.ReadFile("bad.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	out := "release none"
	var files []string
	err = filepath.WalkDir(path, func(at string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, at)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if len(files) > 0 {
		h := sha256.New()
		for _, at := range files { // in the order of their names
			data, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(h, "%d ", len(data))
			h.Write(data)
		}
		out = fmt.Sprintf("release %x", h.Sum(nil)[:6])
	}
	return out + " quarantine " + digest(bad) + report(t, text)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return fmt.Sprintf("%x", sum[:6])
}

var paths = regexp.MustCompile(`/tmp/[^ :]*|127\.0\.0\.1:[0-9]+`)

// words returns those of an error, in one line and without what is another each time.
func words(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		panic(err)
	}
	return "error " + strings.Join(strings.Fields(paths.ReplaceAllString(err.Error(), "PATH")), " ")
}

// report returns the digests of a report's parts: figures to eleven digits, without times.
func report(t *testing.T, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	tree := map[string]any{}
	if err := d.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	for _, timed := range []string{"started", "finished", "duration_s", "seconds"} {
		delete(tree, timed)
	}
	out := ""
	for _, part := range []string{"records", "columns", "gate"} {
		out += " " + part + " " + digest([]byte(canonical(tree[part])))
		delete(tree, part)
	}
	return out + " rest " + digest([]byte(canonical(tree)))
}

// canonical returns a text of a JSON value, in which a number has eleven digits.
func canonical(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+":"+canonical(v[name]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, canonical(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case json.Number:
		x, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return strconv.FormatFloat(x, 'g', 11, 64)
	case string:
		return paths.ReplaceAllString(v, "PATH")
	}
	return fmt.Sprint(v)
}
