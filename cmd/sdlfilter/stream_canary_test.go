package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Further canaries: the parts of a message other than its value, the names of members, and the
// program's secrets.
const (
	canaryKey      = "Canarykey"    // + number
	canaryHeader   = "Canaryheader" // + number: name and value
	canaryMember   = "Canarymember" // the name of a member that is not listed
	canaryPassword = "Canarypassword"
)

// checkStreamCanaries searches for all canaries, also in base64 and in hexadecimal. With values it
// also searches for original values of the masked column.
func checkStreamCanaries(t *testing.T, where string, data []byte, values bool) {
	t.Helper()
	checkCanaries(t, where, data, values)
	for _, canary := range []string{canaryKey, canaryHeader, canaryMember, canaryPassword, canaryName, canaryNote,
		canaryBroken} {
		for encoding, text := range map[string]string{
			"itself": canary, "in hexadecimal": hex.EncodeToString([]byte(canary)),
			"in base64": base64.RawStdEncoding.EncodeToString([]byte(canary[:len(canary)/3*3])),
			"as bytes":  strings.Trim(fmt.Sprint([]byte(canary)), "[]"),
		} {
			if i := bytes.Index(data, []byte(text)); i >= 0 {
				t.Errorf("%s holds %q %s at byte %d: …%s…", where, canary, encoding, i, data[max(0, i-100):min(len(data), i+60)])
			}
		}
	}
}

// canaryFormat is a format of messages, with valid records and invalid messages.
type canaryFormat struct {
	name      string
	format    string // of the configuration
	registry  *registrytest.Registry
	good, bad [][]byte
	records   int // of a valid message
}

func canaryJSON(*testing.T, *stand) *canaryFormat {
	f := &canaryFormat{name: "json", format: "{json: {}}", records: 1}
	for i, r := range canaryRecords() {
		f.good = append(f.good, fmt.Appendf(nil, `{"name":%q,"note":%q,"wage":%.2f,%q:%q,"kind":%q}`, r.Name, r.Note, r.Wage,
			canaryMember+strconv.Itoa(i), canaryNote, r.Kind))
	}
	for _, value := range []string{
		"", canaryBroken, `"` + canaryBroken + `"`, `["` + canaryBroken + `"]`, `{"wage":` + canaryBroken,
		`{"wage":"` + canaryBroken + `","kind":"a"}`,
		`{"wage":73184000.25e400,"kind":"` + canaryBroken + `"}`,
		`{"wage":73184000.25,"wage":73185000.25,"kind":"a","name":"` + canaryBroken + `"}`,
		`{"` + canaryMember + `":1,"wage":73184000.25,"kind":"a","kind":"` + canaryBroken + `"}`,
		`{"wage":73184000.25,"kind":"` + canaryBroken + "\xff\"}",
		`{"wage":73184000.25,"kind":"a"}` + canaryBroken, `{"wage":73184000.25,` + canaryMember + `:1}`,
		`{"wage":{"` + canaryMember + `":73184000.25},"kind":"a"}`,
		`{"wage":73184000.25,"kind":"\ud800` + canaryBroken + `\q"}`, `{"wage":` + strings.Repeat("[", 20_000) + canaryBroken,
		`{"wage":true,"kind":"` + canaryBroken + `"}`,
		`{"` + canaryMember + "\\ud800" + `":1,"wage":7318400025e-2,"kind":"a","` + canaryMember + "\xfe" + `":1}`,
	} {
		f.bad = append(f.bad, []byte(value))
	}
	return f
}

func canaryAvro(t *testing.T, s *stand) *canaryFormat {
	f := withRegistry(t, s, "avro")
	text :=
		`{"type":"record","name":"Person","fields":[{"name":"name","type":"string"},{"name":"note","type":"string"},{"name":"wage","type":"double"},{"name":"kind","type":"string"}]}`
	schema, id := avro.MustParse(text), f.registry.Register(t, "in-value", registry.Avro, text)
	for _, r := range canaryRecords() {
		value,
			err := schema.AppendEncode(registry.AppendHeader(nil, id),
			map[string]any{"name": r.Name, "note": r.Note, "wage": r.Wage, "kind": r.Kind})
		if err != nil {
			t.Fatal(err)
		}
		f.good = append(f.good, value)
	}
	// Written with a schema in which the wage is a text and a further member has a recognisable
	// name.
	other := strings.NewReplacer(`"name":"wage","type":"double"`, `"name":"wage","type":"string"`, `"name":"note"`,
		`"name":"`+canaryMember+`"`).Replace(text)
	foreign := f.registry.Register(t, canaryMember, registry.Avro, other)
	value,
		err := avro.MustParse(other).AppendEncode(registry.AppendHeader(nil, foreign),
		map[string]any{"name": canaryBroken, canaryMember: "", "wage": "73184000.25", "kind": canaryBroken})
	if err != nil {
		t.Fatal(err)
	}
	whole := f.good[0]
	f.bad = [][]byte{
		[]byte(canaryBroken), whole[:len(whole)-8], append(bytes.Clone(whole), canaryBroken...),
		registry.AppendHeader(nil, id), value,
		append(registry.AppendHeader(nil, 999), canaryBroken...),
		append(registry.AppendHeader(nil, id), 0xff, 0xff, 0xff, 0xff, 0x0f),
	}
	return f
}

func canaryProtobuf(t *testing.T, s *stand) *canaryFormat {
	f := withRegistry(t, s, "protobuf")
	id := f.registry.Register(t, "in-value", registry.Protobuf,
		"syntax = \"proto3\";\n// "+canaryMember+
			"\nmessage Person { double wage = 1; string note = 2; string name = 3; string kind = 4; }\n")
	head := registry.AppendIndexes(registry.AppendHeader(nil, id), []int{0})
	text := func(b []byte, n protowire.Number, v string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), v)
	}
	for _, r := range canaryRecords() {
		b := protowire.AppendFixed64(protowire.AppendTag(bytes.Clone(head), 1, protowire.Fixed64Type),
			math.Float64bits(r.Wage))
		f.good = append(f.good, text(text(text(b, 2, r.Note), 3, r.Name), 4, r.Kind))
	}
	whole := f.good[0]
	f.bad = [][]byte{
		[]byte(canaryBroken), whole[:len(whole)-4], append(bytes.Clone(whole), 0xff),
		text(bytes.Clone(head), 1, canaryBroken), text(bytes.Clone(head), 4, canaryBroken+"\xff"),
		append(registry.AppendIndexes(registry.AppendHeader(nil, 999), []int{0}), canaryBroken...),
		append(registry.AppendIndexes(registry.AppendHeader(nil, id), []int{7}), canaryBroken...),
	}
	return f
}

func canaryArrow(t *testing.T, s *stand) *canaryFormat {
	f := &canaryFormat{name: "arrow", format: "{arrow: {schema: schema.arrows}}", records: 50}
	metadata := arrow.NewMetadata([]string{canaryMember}, []string{canaryNote})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "name", Type: arrow.BinaryTypes.String}, {Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "wage", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "kind", Type: arrow.BinaryTypes.String},
	}, &metadata)
	message := func(rows []canaryRecord) []byte {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, r := range rows {
			b.Field(0).(*array.StringBuilder).Append(r.Name)
			b.Field(1).(*array.StringBuilder).Append(r.Note)
			b.Field(2).(*array.Float64Builder).Append(r.Wage)
			b.Field(3).(*array.StringBuilder).Append(r.Kind)
		}
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(schema))
		if err := w.Write(b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	rows := canaryRecords()
	for from := 0; from < len(rows); from += f.records {
		f.good = append(f.good, message(rows[from:from+f.records]))
	}
	s.file("schema.arrows", string(message(nil)))
	nan := append([]canaryRecord(nil), rows[:3]...)
	nan[0].Wage, nan[1].Wage, nan[2].Wage = math.NaN(), math.Inf(1), math.Inf(-1)
	whole := f.good[0]
	f.bad = [][]byte{[]byte(canaryBroken), whole[:len(whole)/2], append(whole[:100:100], canaryBroken...), message(nan)}
	return f
}

func withRegistry(t *testing.T, s *stand, name string) *canaryFormat {
	r := registrytest.New(t)
	r.Authenticate("user", canaryPassword)
	s.file("password", canaryPassword)
	return &canaryFormat{
		name: name, registry: r, records: 1,
		format: fmt.Sprintf(`{%s: {}}, registry: {url: "%s", username: user, password: {file: password}, patience: 1s}`, name,
			r.URL),
	}
}

// canaryStand is a topic full of canaries, and a configuration that reads it.
func canaryStand(t *testing.T, format func(*testing.T, *stand) *canaryFormat) (*stand, *canaryFormat) {
	t.Helper()
	s := newStand(t)
	f := format(t, s)
	var records []*kgo.Record
	for i, value := range append(append([][]byte{}, f.good...), f.bad...) {
		number := strconv.Itoa(i)
		records = append(records, &kgo.Record{
			Topic: "in", Partition: int32(i % 2), Value: value, Key: []byte(canaryKey + number),
			Headers: []kgo.RecordHeader{{Key: canaryHeader + number, Value: []byte(canaryHeader + number)}},
		})
	}
	records = append(records,
		&kgo.Record{Topic: "in", Key: []byte(canaryKey + "gone"), Headers: []kgo.RecordHeader{{Key: canaryHeader}}})
	s.produce(records...)
	return s, f
}

// canaryText returns a configuration with every output of a stream.
func (s *stand) canaryText(f *canaryFormat, source, sink string, lines ...string) string {
	return s.text(append([]string{
		fmt.Sprintf(`source: {kafka: {brokers: ["BROKER"], topics: [in], format: %s%s}}`, f.format, source), "sink: " + sink,
		`columns: {name: {role: identifier}, wage: {role: sensitive, decimals: 2}, kind: {role: other}}`, `unlisted: drop`,
		`masks: [{noise: {columns: [wage], sd: 5000}}]`,
		`assess: {replicates: 10, every: {records: 100}, emit: [{jsonl: out/snapshots.jsonl}, {log: info}, {kafka: {topic: snaps}}]}`,
		`quarantine: {kafka: {topic: bad}}`, `report: {json: out/report.json, html: out/report.html, publish: [sd]}`,
	}, lines...)...)
}

// checkTopic searches for canaries in all parts of a topic's messages, and checks that there are at
// least n messages.
func (s *stand) checkTopic(topic string, n int, values bool) []*kgo.Record {
	s.t.Helper()
	all := s.messages(topic, n)
	if len(all) < n {
		s.t.Errorf("%s: %d messages, want %d", topic, len(all), n)
	}
	for _, r := range all {
		where := fmt.Sprintf("%s/%d at %d", topic, r.Partition, r.Offset)
		if topic == "out" || topic == "held" {
			where = "release in " + where // if the name of an unlisted member is searched for too
		}
		whole := append(append(bytes.Clone(r.Value), '\n'), r.Key...)
		for _, h := range r.Headers {
			whole = append(append(append(whole, '\n'), h.Key...), h.Value...)
		}
		checkStreamCanaries(s.t, where, whole, values)
	}
	return all
}

// checkOutput searches for canaries in all files below out and in their names.
func (s *stand) checkOutput() {
	s.t.Helper()
	dir := filepath.Join(s.dir, "out")
	checkFiles(s.t, dir)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		checkStreamCanaries(s.t, path, append([]byte(path+"\n"), data...), strings.HasSuffix(path, ".parquet"))
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
}

// TestStreamCanary runs a topic full of recognisable values through a stream with a live page, and
// searches for them in all output.
func TestStreamCanary(t *testing.T) {
	racetest.Alone(t)
	t.Parallel()
	for name, format := range map[string]func(*testing.T, *stand) *canaryFormat{
		"json": canaryJSON, "avro": canaryAvro, "protobuf": canaryProtobuf, "arrow": canaryArrow,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f := canaryStand(t, format)
			s.file("pipeline.yaml",
				s.canaryText(f, "", `{kafka: {brokers: ["BROKER"], topic: out, commit: {interval: 200ms, records: 100}}}`))
			p := s.start("run", "-v", "--progress", "json", "--listen", "127.0.0.1:0", "pipeline.yaml")
			p.until("serving metrics")
			address := regexp.MustCompile(`"address":"(http://[^"]+)"`).FindStringSubmatch(p.log())[1]
			bad := len(f.bad) + 1 // a tombstone
			for _, r := range s.checkTopic("out", len(f.good), true) {
				if r.Key != nil || r.Headers != nil {
					t.Errorf("a released message has the key %q and the headers %v", r.Key, r.Headers)
				}
			}
			s.checkTopic("bad", bad, true)
			s.checkTopic("snaps", 1, false)
			for _, path := range []string{"/metrics", "/livez", "/readyz", "/report", "/", "/column?name=wage", "/events"} {
				body := fetch(t, address+path)
				if len(body) == 0 || path == "/report" && !bytes.Contains(body, []byte(`"wage"`)) {
					t.Errorf("%s: %.200s", path, body)
				}
				checkStreamCanaries(t, path, body, true)
			}
			// A changed configuration that is accepted, and one that is refused.
			for _, text := range []string{
				s.text(), s.canaryText(f, "", `{kafka: {brokers: ["BROKER"], topic: out, commit: {interval: 200ms, records: 100}}}`,
					`masks: []`)} {
				before := strings.Count(p.log(), "configuration is")
				s.file("pipeline.yaml", text)
				p.signal(syscall.SIGHUP)
				p.once("writes of the configuration", func() bool { return strings.Count(p.log(), "configuration is") > before })
			}
			p.signal(syscall.SIGTERM)
			stdout, stderr := p.wait(exitDone)
			checkStreamCanaries(t, "stdout", []byte(stdout), true)
			checkStreamCanaries(t, "stderr", []byte(stderr), true)
			mustContain(t, stderr, `"level":"debug"`, `"phase":"stream"`, `"message":"snapshot"`)
			s.checkOutput()
			s.checkTopic("sdlfilter-stand-state", 1, false)
			if f.registry != nil {
				text, ok := f.registry.Text("out-value", 1)
				if !ok {
					t.Error("the released schema is not registered")
				}
				checkStreamCanaries(t, "release schema", []byte(text), true)
			}
		})
	}
}

// fetch reads a page; of a stream of events, the first second.
func fetch(t *testing.T, url string) []byte {
	t.Helper()
	wait := 2 * time.Minute
	if strings.HasSuffix(url, "/events") {
		wait = 1100 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil && !strings.HasSuffix(url, "/events") {
		t.Fatal(err)
	}
	for name, values := range response.Header {
		body = fmt.Appendf(body, "\n%s: %s", name, values)
	}
	return body
}

// TestStreamCanaryEnds does the same for the other ways in which a run can end,
// and for the other places that it writes to.
func TestStreamCanaryEnds(t *testing.T) {
	racetest.Alone(t)
	t.Parallel()
	const never = `gate: {on_fail: %s, rules: [{column: wage, target: max, knowledge: index, min_rmse: 1e9}]}`
	const sink = `{kafka: {brokers: ["BROKER"], topic: out, key: hash}}`
	for _, c := range []struct {
		name, sink string
		source     string // default: , until: latest
		lines      []string
		status     int
		released   map[string]int // by topic, as shares of the valid messages
	}{
		{name: "keys are hashed", sink: sink, status: exitQuarantined, released: map[string]int{"out": 1, "held": 0},
			lines: []string{`quarantine: {jsonl: out/quarantine.jsonl}`}},
		{name: "held", sink: sink, status: exitRefused, released: map[string]int{"held": 1},
			lines: []string{fmt.Sprintf(never, "hold, hold: {topic: held}")}},
		{name: "stopped", sink: sink, status: exitRefused, lines: []string{fmt.Sprintf(never, "stop")}},
		{name: "at least once", sink: strings.Replace(sink, "out", "out, delivery: at_least_once", 1),
			status: exitQuarantined, released: map[string]int{"out": 1}},
		{name: "unlisted", sink: sink, status: exitFailed, lines: []string{"unlisted: fail"}},
		{name: "file", sink: `{csv: {path: out/release.csv}}`, status: exitQuarantined,
			lines: []string{"gate: {max_quarantined: 100%}"}},
		{name: "file withheld", sink: `{jsonl: {path: out/release.jsonl}}`, status: exitRefused,
			lines: []string{fmt.Sprintf(never, "withhold")}},
		{name: "rolling files",
			sink:   `{parquet: {path: out/release.parquet, compression: none, roll: {records: 100, interval: 300ms}}}`,
			source: ", instance: a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, f := canaryStand(t, canaryJSON)
			if c.source == "" {
				c.source = ", until: latest"
			}
			s.file("pipeline.yaml", s.canaryText(f, c.source, c.sink, c.lines...))
			p := s.start("run", "-v", "--progress", "json", "pipeline.yaml")
			if c.name == "rolling files" {
				s.checkTopic("bad", len(f.bad)+1, true) // as part of the transaction that publishes the files
				p.signal(syscall.SIGTERM)
			}
			stdout, stderr := p.wait(c.status)
			if c.name == "unlisted" &&
				!regexp.MustCompile(`fields that are not listed: member \d+, member \d+;`).MatchString(stderr) {
				t.Errorf("unlisted members are not told by their places: %s", stderr)
			}
			checkStreamCanaries(t, "stdout", []byte(stdout), true)
			checkStreamCanaries(t, "stderr", []byte(stderr), true)
			s.checkOutput()
			for _, topic := range []string{"out", "held"} {
				n := c.released[topic] * len(f.good)
				for _, r := range s.checkTopic(topic, n, true) {
					if n == 0 {
						t.Fatalf("%s holds messages", topic)
					}
					if len(r.Key) < 16 {
						t.Errorf("%s: a message has the key %q", topic, r.Key)
					}
				}
			}
			s.checkTopic("bad", 0, true)
			s.checkTopic("snaps", 0, false)
			if c.name == "rolling files" {
				if files, err := filepath.Glob(filepath.Join(s.dir, "out/release.parquet/in/date=*/part-*.parquet")); err != nil ||
					len(files) == 0 {
					t.Errorf("%v: no files", err)
				}
			}
		})
	}
}

// TestStreamCanaryFailures searches for canaries when something fails.
func TestStreamCanaryFailures(t *testing.T) {
	racetest.Alone(t)
	t.Parallel()
	fails := func(t *testing.T, s *stand, status int, args ...string) string {
		t.Helper()
		stdout, stderr := s.run(status, args...)
		checkStreamCanaries(t, "stdout", []byte(stdout), true)
		checkStreamCanaries(t, "stderr", []byte(stderr), true)
		s.checkOutput()
		return stderr
	}
	const sink = `{kafka: {brokers: ["BROKER"], topic: out}}`
	t.Run("broker gone", func(t *testing.T) {
		t.Parallel()
		s, f := canaryStand(t, canaryJSON)
		s.file("pipeline.yaml", s.canaryText(f, "", sink))
		p := s.start("run", "-v", "pipeline.yaml")
		s.checkTopic("out", len(f.good), true)
		before := len(p.log())
		s.cluster.Close()
		p.once("writes that the broker is gone", func() bool { return len(p.log()) > before })
		p.signal(syscall.SIGTERM)
		p.signal(syscall.SIGINT)
		<-p.ended
		checkStreamCanaries(t, "stderr", []byte(p.log()), true)
		s.checkOutput()
	})
	t.Run("password", func(t *testing.T) {
		t.Parallel()
		s := newStand(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "user", "another"))
		s.file("password", canaryPassword)
		f := canaryJSON(t, s)
		s.file("pipeline.yaml",
			s.canaryText(f, `, sasl: {mechanism: scram-sha-256, username: user, password: {file: password}}`, sink))
		// these brokers close the connection, others return an error
		mustContain(t, fails(t, s, exitFailed, "run", "-v", "pipeline.yaml"), "the password wrong")
	})
	t.Run("registry", func(t *testing.T) {
		t.Parallel()
		s, f := canaryStand(t, canaryAvro)
		text := s.canaryText(f, ", until: latest", sink)
		s.file("pipeline.yaml", text)
		f.registry.Fail(-1, 500)
		fails(t, s, exitFailed, "run", "-v", "pipeline.yaml")
		f.registry.Fail(-1, 0)
		fails(t, s, exitFailed, "validate", "--connect", "pipeline.yaml")
		f.registry.Fail(0, 0)
		f.registry.Authenticate("user", "another")
		fails(t, s, exitFailed, "run", "-v", "pipeline.yaml")
		for _, url := range []string{"http://user:" + canaryPassword + "@127.0.0.1:1",
			"user:" + canaryPassword + "@127.0.0.1:1", "//user:" + canaryPassword + "@h",
			"http://user:" + canaryPassword + "@[::1"} {
			s.file("pipeline.yaml", strings.ReplaceAll(text, f.registry.URL, url))
			fails(t, s, exitUsage, "run", "-v", "pipeline.yaml")
		}
	})
}
