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
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
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

// person is a record.
type person struct {
	ID string   `parquet:"id" json:"id"`
	X  *float64 `parquet:"x,optional" json:"x"`
	V  float64  `parquet:"v" json:"v"`
	W  int64    `parquet:"w" json:"w"`
	K  string   `parquet:"k" json:"k"`
	S  string   `parquet:"s" json:"s"`
}

// draw makes the records of configuration i: x is skewed, missing at times, and correlated with v.
func draw(i int) []person {
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	people := make([]person, records)
	for j := range people {
		z := rng.NormFloat64()
		x := math.Round(1000*math.Exp(4+0.6*z)) / 1000
		people[j] = person{
			ID: fmt.Sprintf("p%04d", j), X: &x, V: math.Round(100*(50+8*(0.7*z+0.7*rng.NormFloat64()))) / 100,
			W: 16 + rng.Int64N(60),
			K: strconv.Itoa(int(5 * rng.Float64() * rng.Float64())), S: []string{"n", "s, \"q\"", "ö"}[rng.IntN(3)],
		}
		if rng.IntN(12) == 0 {
			people[j].X = nil
		}
	}
	return people
}

// masks that are drawn from; x is masked by each first one.
var masks = []string{
	"{noise: {columns: [x], sd: 8}}", "{noise: {columns: [x], sd: 12, distribution: laplace}}",
	"{noise: {columns: [x], sd: 5, distribution: uniform}}",
	"{noise: {columns: [x], sd: 8, tiers: [{above: 50, variance_factor: 4}]}}",
	"{noise: {columns: [x, v], sd: 60%, correlated: true}}",
	`{noise: {columns: [x], sd: 10, where: "w > 30"}}`, "{bias: {columns: [x], phi: 0.15}}",
	"{bias: {columns: [x], range: 0.5}}",
	"{round: {columns: [x], base: 5}}", "{truncate: {columns: [x], lower: 25, upper: 120}}",
	"{topcode: {columns: [x], upper: 90}}",
	"{topcode: {columns: [x], upper_percentile: 90, replace: mean}}", "{microaggregate: {columns: [x], k: 5, share: 1}}",
	"{microaggregate: {columns: [x, v], k: 4, share: 1}}", "{rankswap: {columns: [x], p: 0.1}}",
	"{shuffle: {columns: [x], on: [w]}}", "{synthesise: {columns: [x], on: [w]}}",
	"{synthesise: {columns: [x], on: [v], method: normal}}", "{synthesise: {columns: [x], on: [w, v], method: cart}}",
	"{swap: {keys: [k], attribute: v, columns: [x], rate: 0.6, policy: random, scope: dataset}}",
	"{swap: {keys: [s], attribute: w, columns: [x], rate: 0.4, policy: random, scope: window}}",
}

// beside are masks of other columns.
var beside = []string{
	`{pram: {columns: [k], categories: ["0", "1", "2", "3", "4"], keep: 0.8}}`, "{suppress: {keys: [k, s], k: 3}}",
	"{recode: {columns: [s], map: {n: a, \"s, \\\"q\\\"\": a}, other: b}}",
	"{round: {columns: [w], base: 5}}", "{noise: {columns: [v], sd: 4}}", "{sample: {rate: 0.7}}",
	"{topcode: {columns: [w], upper: 65}}",
}

// valid returns configuration i, without source and sink: the first try of it that is one.
func valid(i int) string {
	for try := uint64(0); ; try++ {
		body := configure(i, rand.New(rand.NewPCG(try, uint64(i))))
		if _, err := config.ParseEmbedded("pipeline.yaml", []byte(body), config.Options{}); err == nil {
			return body
		} else if try > 100 {
			panic(err)
		}
	}
}

func configure(i int, rng *rand.Rand) string {
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	chain := []string{masks[i%len(masks)]} // each mask at least twice
	if rng.IntN(2) == 0 {
		chain = append(chain, one(masks[:11]...))
	}
	if rng.IntN(2) == 0 {
		chain = append(chain, one(beside...))
	}
	if rng.IntN(4) == 0 {
		chain = slices.Insert(chain, 0, one(beside[3:]...))
	}
	text := "version: 1\nname: pinned\nkey: {file: test.key}\n" + one("", "identity: [id]\n") +
		"columns: {id: {role: identifier}, x: {role: sensitive, decimals: 2}, v: {role: other, decimals: 2}, w: {decimals: 0, role: " + one("key", "other") + "}, k: {role: key}, s: {role: key}}\n" +
		"window: {records: 40}\nmasks: [" + strings.Join(chain, ", ") + "]\n" +
		fmt.Sprintf("assess: {keys: [%s], sample: %s, replicates: 20, targets: [p25, max], intruder: {inversion: %s}}\n",
			one("k, s", "k, s, w"), one("100", "1000", "all"), one("true", "false"))
	return text + "gate: {rules: [{column: x, " + one("min_efficiency: 0.3", "min_efficiency: 0.999",
		"min_rmse: 2, target: max", "min_rmse: 0.1, target: p25") + "}]}\n"
}

// formats encode the records.
var formats = map[string]func(*testing.T, []person) []byte{
	"parquet": func(t *testing.T, people []person) []byte {
		var out bytes.Buffer
		w := parquet.NewGenericWriter[person](&out, parquet.MaxRowsPerRowGroup(50))
		if _, err := w.Write(people); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	},
	"csv": func(_ *testing.T, people []person) []byte {
		var out bytes.Buffer
		out.WriteString("id,x,v,w,k,s\n")
		for _, p := range people {
			x := ""
			if p.X != nil {
				x = strconv.FormatFloat(*p.X, 'f', 3, 64)
			}
			fmt.Fprintf(&out, "%s,%s,%.2f,%d,%s,\"%s\"\n", p.ID, x, p.V, p.W, p.K, strings.ReplaceAll(p.S, `"`, `""`))
		}
		return out.Bytes()
	},
	"jsonl": func(_ *testing.T, people []person) []byte {
		var out bytes.Buffer
		for _, p := range people {
			line, _ := json.Marshal(p)
			out.Write(append(line, '\n'))
		}
		return out.Bytes()
	},
	"arrow": func(t *testing.T, people []person) []byte {
		var out bytes.Buffer
		w, err := ipc.NewFileWriter(&out, ipc.WithSchema(schema))
		if err != nil {
			t.Fatal(err)
		}
		for from := 0; from < len(people); from += 50 {
			b := batch(people[from:min(from+50, len(people))])
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	},
}

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "v", Type: arrow.PrimitiveTypes.Float64},
	{Name: "w", Type: arrow.PrimitiveTypes.Int64}, {Name: "k", Type: arrow.BinaryTypes.String},
	{Name: "s", Type: arrow.BinaryTypes.String},
}, nil)

func batch(people []person) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, p := range people {
		b.Field(0).(*array.StringBuilder).Append(p.ID)
		if x := b.Field(1).(*array.Float64Builder); p.X == nil {
			x.AppendNull()
		} else {
			x.Append(*p.X)
		}
		b.Field(2).(*array.Float64Builder).Append(p.V)
		b.Field(3).(*array.Int64Builder).Append(p.W)
		b.Field(4).(*array.StringBuilder).Append(p.K)
		b.Field(5).(*array.StringBuilder).Append(p.S)
	}
	return b.NewRecordBatch()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
