package lineage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	_ "github.com/sdlfilter/sdlfilter/internal/formats"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/az"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/s3"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// pipelineOf is a configuration whose lineage is as given, with a name, columns and files that must be escaped; pairs
// are texts in it and what replaces them.
func pipelineOf(t *testing.T, lineage string, pairs ...string) *config.Pipeline {
	t.Helper()
	text := `{version: 1, name: "a \"b\"\nc", key: {env: K}, source: {csv: {path: "in \"x\".csv"}}, unlisted: drop,
columns: {ssn: {role: identifier}, "wa\"ge\n": {role: sensitive}, age: {role: key}},
masks: [{noise: {columns: ["wa\"ge\n"], sd: 1234567}}, {bias: {columns: ["wa\"ge\n"], range: 0.0625}}],
sink: {csv: {path: /data/out.csv}}, gate: {rules: [{column: "wa\"ge\n", max_risk: 0.4321}]}, lineage: ` + lineage + `}`
	p,
		err := config.Parse("p.yaml", []byte(strings.NewReplacer(pairs...).Replace(text)), config.Options{LookupEnv: func(name string) (string, bool) {
		return "s3cr3t", name == "TOKEN"
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// resultOf is a run whose report is full of what no event may have.
func resultOf(passed bool) *account.Result {
	wage := assess.ColumnMeasures{Name: "wa\"ge\n", Masked: true}
	wage.Released = assess.Moments{N: 97, Nulls: 3, Mean: 777777, SD: 888888, Min: 666666, Max: 999999}
	wage.Original = assess.Moments{N: 97, Mean: 555555, SD: 444444}
	rep := &report.Report{
		Gate:     assess.Verdict{Passed: passed, Rules: []assess.RuleVerdict{{Rule: "0.4321 of wages", Passed: passed}}},
		Withheld: "",
		Columns:  report.Columns{wage}, Warnings: []string{"canary-warning"}, ConfigSHA256: "canary-config",
		KeyID: "canary-key",
		Masks: []report.Mask{{Mask: "noise", Columns: []string{"wa\"ge\n"}}, {Mask: "bias", Columns: []string{"wa\"ge\n"}}},
		Release: &report.Release{Path: "../out.csv", Bytes: 4096, SHA256: "ab12",
			Files: []report.ReleaseFile{{Name: "canary-partition"}}},
		Records: report.Records{Counts: microdata.Counts{Read: 101, Released: 100, Quarantined: 1},
			Reasons: map[string]int64{"canary-reason": 1}},
	}
	if !passed {
		rep.Withheld = "canary-withheld"
	}
	return &account.Result{Report: rep, Schema: &microdata.Schema{Fields: []microdata.Field{
		{Name: "wa\"ge\n", Type: arrow.PrimitiveTypes.Float64}, {Name: "age", Type: arrow.PrimitiveTypes.Int64},
	}}}
}

// jobOf is the job of one table.
func jobOf(p *config.Pipeline) Job {
	return Job{Name: p.Name, Lineage: p.Lineage, Tables: []*config.Pipeline{p}}
}

func list(r ...*account.Result) []*account.Result { return r }

// said are the events that a run with this ending leaves in a file, as text and as JSON.
func said(t *testing.T, e Ending) (lines []string, events []map[string]any) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new", "events.ndjson")
	var log bytes.Buffer
	r := Start(jobOf(pipelineOf(t, "{file: "+path+"}")), "v1", zerolog.New(zerolog.SyncWriter(&log)))
	r.End(e)
	if log.Len() > 0 {
		t.Errorf("the log is %s", &log)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range lines {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	return lines, events
}

// schemas compiles OpenLineage's own schemas and ours, as they lie in testdata and docs.
func schemas(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != 9 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../../../docs/lineage/1-0-0/GateRunFacet.json") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(doc.(map[string]any)["$id"].(string), doc); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// checkSchemas holds an event, and each facet in it, against the schema that it names.
func checkSchemas(t *testing.T, c *jsonschema.Compiler, value any) (facets int) {
	t.Helper()
	object, _ := value.(map[string]any)
	for _, name := range []string{"schemaURL", "_schemaURL"} {
		if url, ok := object[name].(string); ok {
			s, err := c.Compile(url)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(value); err != nil {
				t.Errorf("%v", err)
			}
			facets++
		}
	}
	for _, member := range object {
		facets += checkSchemas(t, c, member)
		if list, ok := member.([]any); ok {
			for _, item := range list {
				facets += checkSchemas(t, c, item)
			}
		}
	}
	return facets
}

// TestEndings: each way in which a run can end has its event, whose facets are as their schemas want them, and only a
// release that was published, or may have been, has an output. Nothing of an event is a value, a parameter, a figure of
// the report, a column that is not released, or a text of an error.
func TestEndings(t *testing.T) {
	c := schemas(t)
	held, withheld := resultOf(true), resultOf(true)
	held.Held = true
	withheld.Report.Withheld = "canary-withheld"
	for name, of := range map[string]struct {
		ending        Ending
		kind          string
		out           int
		facets        int // of both events, with the events themselves
		message, gate string
	}{
		"released":  {Ending{Results: list(resultOf(true))}, completed, 1, 2 + 2*2 + 1 + 5, "", "released"},
		"refused":   {Ending{Results: list(resultOf(false))}, failed, 0, 2 + 2*2 + 2, "withheld", "withheld"},
		"withheld":  {Ending{Results: list(withheld)}, failed, 0, 2 + 2*2 + 2, "withheld", "withheld"},
		"held back": {Ending{Results: list(held)}, failed, 0, 2 + 2*2 + 2, "withheld", "withheld"},
		"failed":    {Ending{}, failed, 0, 2 + 2*2 + 1, "the run failed", ""},
		"signalled": {Ending{Signalled: true}, aborted, 0, 2 + 2*2 + 1, "signal", ""},
		"too late":  {Ending{Results: list(resultOf(true)), Signalled: true}, completed, 1, 2 + 2*2 + 1 + 5, "", "released"},
		"perhaps":   {Ending{Published: true, Signalled: true}, failed, 1, 2 + 2*2 + 1, "perhaps published", ""},
	} {
		t.Run(name, func(t *testing.T) {
			lines, events := said(t, of.ending)
			if len(events) != 2 || events[0]["eventType"] != begun || events[1]["eventType"] != of.kind {
				t.Fatalf("%s", lines)
			}
			for _, banned := range []string{
				"canary", "ssn", "777777", "888888", "666666", "999999", "555555", "444444", "1234567", "0.0625", "0.4321",
				"s3cr3t",
			} {
				if text := strings.Join(lines, ""); strings.Contains(text, banned) {
					t.Errorf("%q is in %s", banned, text)
				}
			}
			facets := checkSchemas(t, c, events[0]) + checkSchemas(t, c, events[1])
			if facets != of.facets {
				t.Errorf("%d facets, want %d: %s", facets, of.facets, lines)
			}
			if events[0]["run"].(map[string]any)["runId"] != events[1]["run"].(map[string]any)["runId"] {
				t.Error("the events are of two runs")
			}
			if outs := events[1]["outputs"].([]any); len(outs) != of.out || len(events[0]["outputs"].([]any)) != 0 {
				t.Errorf("outputs %v", outs)
			}
			run := events[1]["run"].(map[string]any)["facets"].(map[string]any)
			message, _ := run["errorMessage"].(map[string]any)
			if text, _ := message["message"].(string); (text != "") != (of.message != "") ||
				!strings.Contains(text, of.message) {
				t.Errorf("message %q", text)
			}
			if gate, _ := run["sdlfilter_gate"].(map[string]any); of.gate != "" &&
				(gate["verdict"] != of.gate || gate["demanded"] != true || len(gate) != 4) {
				t.Errorf("gate %v", gate)
			}
			in := events[1]["inputs"].([]any)[0].(map[string]any)
			if abs, _ := filepath.Abs(`in "x".csv`); in["namespace"] != "file" || in["name"] != abs {
				t.Errorf("input %v", in)
			}
		})
	}
}

// TestReleased: what the event says of a release.
func TestReleased(t *testing.T) {
	_, events := said(t, Ending{Results: list(resultOf(true))})
	out := events[1]["outputs"].([]any)[0].(map[string]any)
	facets := out["facets"].(map[string]any)
	abs, _ := filepath.Abs(`in "x".csv`)
	masked := func(kinds ...string) (list []any) {
		for _, kind := range kinds {
			list = append(list,
				map[string]any{"type": "DIRECT", "subtype": "TRANSFORMATION", "description": kind, "masking": true})
		}
		return list
	}
	from := func(column string, steps []any) map[string]any {
		return map[string]any{
			"inputFields": []any{map[string]any{"namespace": "file", "name": abs, "field": column, "transformations": steps}}}
	}
	for what, pair := range map[string][2]any{
		"name": {out["name"], "/data/out.csv"},
		"schema": {facets["schema"].(map[string]any)["fields"],
			[]any{map[string]any{"name": "wa\"ge\n", "type": "float64"}, map[string]any{"name": "age", "type": "int64"}}},
		"quality": {facets["dataQualityMetrics"].(map[string]any)["columnMetrics"],
			map[string]any{"wa\"ge\n": map[string]any{"nullCount": 3, "count": 97}}},
		"version": {facets["version"].(map[string]any)["datasetVersion"], "ab12"},
		"columns": {facets["columnLineage"].(map[string]any)["fields"], map[string]any{
			"wa\"ge\n": from("wa\"ge\n", masked("noise", "bias")),
			"age": from("age",
				[]any{map[string]any{"type": "DIRECT", "subtype": "IDENTITY", "description": "unmasked", "masking": false}}),
		}},
		"rows": {out["outputFacets"].(map[string]any)["outputStatistics"].(map[string]any)["rowCount"], 100},
		"size": {out["outputFacets"].(map[string]any)["outputStatistics"].(map[string]any)["size"], 4096},
	} {
		got, _ := json.Marshal(pair[0])
		want, _ := json.Marshal(pair[1])
		if string(got) != string(want) {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
}

// TestSeveralTables: the job of several tables has the inputs and the outputs of all, each output with what was said of
// its own table and the columns of its own source. One that is withheld keeps all.
func TestSeveralTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.ndjson")
	persons := pipelineOf(t, "{file: "+path+"}")
	visits := pipelineOf(t, "{file: "+path+"}", `in \"x\"`, "visits", "/data/out", "/data/visits")
	end := func(e Ending, demanded bool) map[string]any {
		r := Start(Job{Name: "care", Lineage: persons.Lineage, Tables: []*config.Pipeline{persons, visits},
			Demanded: demanded}, "v1", zerolog.Nop())
		r.End(e)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		var event map[string]any
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &event); err != nil {
			t.Fatal(err)
		}
		if event["job"].(map[string]any)["name"] != "care" || len(event["inputs"].([]any)) != 2 {
			t.Errorf("%v", event)
		}
		checkSchemas(t, schemas(t), event)
		return event
	}
	other := resultOf(true)
	other.Report.Records.Released, other.Report.Release.SHA256 = 7, "cd34"
	other.Schema = &microdata.Schema{Fields: []microdata.Field{{Name: "cost", Type: arrow.PrimitiveTypes.Int64}}}
	event := end(Ending{Results: list(resultOf(true), other)}, false)
	outs := event["outputs"].([]any)
	if event["eventType"] != completed || len(outs) != 2 {
		t.Fatalf("%v", event)
	}
	for i, want := range []struct {
		name, column, version, from string
		rows                        float64
	}{{"/data/out.csv", "age", "ab12", `in "x".csv`, 100}, {"/data/visits.csv", "cost", "cd34", "visits.csv", 7}} {
		out := outs[i].(map[string]any)
		facets := out["facets"].(map[string]any)
		fields := facets["columnLineage"].(map[string]any)["fields"].(map[string]any)
		one, _ := fields[want.column].(map[string]any)
		from, _ := one["inputFields"].([]any)
		abs, _ := filepath.Abs(want.from)
		if out["name"] != want.name || len(from) != 1 || from[0].(map[string]any)["name"] != abs ||
			facets["version"].(map[string]any)["datasetVersion"] != want.version ||
			out["outputFacets"].(map[string]any)["outputStatistics"].(map[string]any)["rowCount"] != want.rows {
			t.Errorf("output %d: %v", i, out)
		}
	}
	gateOf := func(event map[string]any) map[string]any {
		return event["run"].(map[string]any)["facets"].(map[string]any)["sdlfilter_gate"].(map[string]any)
	}
	for _, results := range [][]*account.Result{list(resultOf(true), resultOf(false)), list(resultOf(false), resultOf(true))} {
		if event := end(Ending{Results: results}, false); event["eventType"] != failed ||
			len(event["outputs"].([]any)) != 0 || gateOf(event)["verdict"] != "withheld" {
			t.Errorf("withheld: %v", event)
		}
	}
	if outs := end(Ending{Published: true}, false)["outputs"].([]any); len(outs) != 2 {
		t.Errorf("perhaps published: %v", outs)
	}
	// Rules of the whole are demanded as those of the tables are.
	none := resultOf(true)
	none.Report.Gate.Rules = nil
	for _, c := range []struct {
		results        []*account.Result
		demanded, want bool
	}{{list(none, none), false, false}, {list(none, none), true, true}, {list(none, other), false, true}} {
		if got := gateOf(end(Ending{Results: c.results}, c.demanded))["demanded"]; got != c.want {
			t.Errorf("demanded %v, want %v", got, c.want)
		}
	}
}

// TestServer: events arrive in order, with the token; what a server answers is not followed, not logged, and changes
// nothing.
func TestServer(t *testing.T) {
	var asked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	stay := make(chan struct{})
	for name, of := range map[string]struct {
		answer http.HandlerFunc
		warns  string // of each event
	}{
		"well":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, ""},
		"endless": {func(w http.ResponseWriter, r *http.Request) { endless(w) }, ""},
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "canary", http.StatusUnauthorized)
		}, "the answer has status 401"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "a redirect (307), which is not followed"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-stay }, "no answer within 500ms"},
		"breaks": {func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		}, "the server cannot be reached, or is not to be trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			got := make(chan string, 2)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				var event struct{ EventType string }
				_ = json.Unmarshal(text, &event)
				got <- fmt.Sprintf("%s %s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Authorization"),
					r.Header.Get("Content-Type"), event.EventType)
				of.answer(w, r)
			}))
			defer s.Close()
			if name == "silent" {
				defer close(stay)
			}
			patience := "20s"
			if name == "silent" {
				patience = "500ms"
			}
			var log bytes.Buffer
			r := Start(jobOf(pipelineOf(t, "{url: '"+s.URL+"/api/v1/lineage', token: {env: TOKEN}, patience: "+patience+"}")), "v1",
				zerolog.New(zerolog.SyncWriter(&log)))
			began := time.Now()
			r.End(Ending{Results: list(resultOf(true))})
			if took := time.Since(began); took > 10*time.Second { // 1 s, on a machine with much to do
				t.Errorf("the end took %s", took)
			}
			for _, kind := range []string{begun, completed} {
				var text string
				select {
				case text = <-got:
				case <-time.After(10 * time.Second):
				}
				if text != "POST /api/v1/lineage Bearer s3cr3t application/json "+kind {
					t.Errorf("asked %q", text)
				}
			}
			if n := strings.Count(log.String(), of.warns+"; the release is not affected"); of.warns != "" && n != 2 ||
				of.warns == "" && log.Len() > 0 {
				t.Errorf("the log is %s", &log)
			}
			for _, banned := range []string{"canary", "s3cr3t", "/api", elsewhere.URL} {
				if strings.Contains(log.String(), banned) {
					t.Errorf("the log is %s", &log)
				}
			}
		})
	}
	if asked.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func endless(w http.ResponseWriter) {
	for {
		if _, err := w.Write(make([]byte, 1<<16)); err != nil {
			return
		}
	}
}

// stuck is a sink that never returns.
type stuck struct{ called chan struct{} }

func (stuck) String() string { return "stuck" }
func (s stuck) send([]byte, time.Duration) error {
	close(s.called)
	select {}
}

// TestStuck: the end waits for a bounded time even for what cannot be ended, such as a file on a dead server.
func TestStuck(t *testing.T) {
	var log bytes.Buffer
	p := pipelineOf(t, "{file: /none, patience: 50ms}")
	s := stuck{make(chan struct{})}
	r := &Run{job: jobOf(p), log: zerolog.New(zerolog.SyncWriter(&log)), patience: 50 * time.Millisecond, sinks: []sink{s},
		queue: make(chan []byte, 2), done: make(chan struct{})}
	go r.work()
	r.queue <- nil
	<-s.called
	r.End(Ending{})
	if !strings.Contains(log.String(), "not all events have arrived after 1.1s") {
		t.Errorf("the log is %s", &log)
	}
}

// broken is a sink with a mistake.
type broken struct{}

func (broken) String() string                   { return "broken" }
func (broken) send([]byte, time.Duration) error { panic("canary") }

// TestMistakes: a mistake in an event or in sending one costs the event, and neither the run nor the other sinks.
func TestMistakes(t *testing.T) {
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "events")
	p := pipelineOf(t, "{file: "+path+"}")
	r := &Run{job: jobOf(p), log: zerolog.New(zerolog.SyncWriter(&log)), patience: time.Minute,
		sinks: []sink{broken{}, file(path)}, queue: make(chan []byte, 2), done: make(chan struct{})}
	go r.work()
	r.say(func(now time.Time) *Event { return r.event(begun, now) })
	r.End(Ending{Results: list(new(account.Result))}) // without a report
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != 1 ||
		strings.Count(log.String(), "the release is not affected") != 2 || strings.Contains(log.String(), "canary") {
		t.Errorf("%v, %s, %s", err, text, &log)
	}
}

// TestUnreachable: what is said of a server that is not there is the system's word, and not the address.
func TestUnreachable(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	for url, want := range map[string]string{s.URL + "/secret-path": "connection refused",
		"http://nowhere.invalid/secret-path": "no host of this name"} {
		server, err := newServer(config.Lineage{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		err = server.send(nil, 10*time.Second)
		if err == nil || !strings.Contains(err.Error(), want) && url == s.URL ||
			strings.Contains(err.Error()+server.String(), "secret") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
	var log bytes.Buffer
	r := Start(jobOf(pipelineOf(t, "{url: 'https://127.0.0.1:1/x', token: {env: MISSING}}")), "v1",
		zerolog.New(zerolog.SyncWriter(&log)))
	r.End(Ending{})
	if !strings.Contains(log.String(), "MISSING, which must hold a password, is not set") {
		t.Errorf("the log is %s", &log)
	}
}

// TestFile: lines are added to what is there, one that was cut off stays alone, and what is no file is refused at once.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "events")
	if err := os.WriteFile(path, []byte("cut o"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"1", "2"} {
		if err := file(path).send([]byte(line), 0); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(path); string(text) != "cut o\n1\n2\n" {
		t.Errorf("%q", text)
	}
	if err := os.Symlink(path, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"link": syscall.ELOOP.Error(), "pipe": "it is not a regular file",
		".": syscall.EISDIR.Error(), "events/thing": syscall.ENOTDIR.Error()} {
		if err := file(filepath.Join(dir, name)).send([]byte("x"), 0); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := reason(errors.New("x")); err.Error() != "x" {
		t.Error(err)
	}
}

// TestNames: sources and sinks are named as the specification wants them, and without what a URL says of its user.
func TestNames(t *testing.T) {
	const head = "{version: 1, name: n, key: {env: K}, columns: {a: {role: other}}, "
	for text, want := range map[string]string{
		"source: {csv: {path: s3://bucket/a/b.csv}}, sink: {parquet: {path: 'az://box/x.parquet'}}": "[{s3://bucket a/b.csv}] [{az://box x.parquet}]",
		"source: {csv: {path: '-'}}, sink: {csv: {path: '-'}}":                                      "[{file -}] [{file -}]",
		"source: {postgres: {url: 'postgres://bob@db:99/d', table: s.t}}, sink: {postgres: {url: 'postgres://bob@/d', table: open.t}}": "[{postgres://db:99 d.s.t}] " +
			"[{postgres://localhost:5432 d.open.t}]",
		"source: {postgres: {url: 'postgres://h', query: 'select 4711', order: [a]}}, sink: {csv: {path: /o}}": "[{postgres://h:5432 query}] [{file /o}]",
		"source: {kafka: {brokers: ['b:1', 'a:2'], topics: [x, y], until: latest, group: g, format: {json: {}}}}, sink: {parquet: {path: /o}}": "[{kafka://a:2 x} " +
			"{kafka://a:2 y}] [{file /o}]",
	} {
		p,
			err := config.Parse("p.yaml", []byte(head+text+", lineage: {file: /l}}"), config.Options{Environ: func() []string {
			return nil
		}})
		if err != nil {
			t.Error(err)
			continue
		}
		r := &Run{job: jobOf(p)}
		names := func(list []dataset) string {
			var s []string
			for _, d := range list {
				s = append(s, fmt.Sprintf("{%s %s}", d.Namespace, d.Name))
			}
			return "[" + strings.Join(s, " ") + "]"
		}
		if got := names(r.event(begun, time.Now()).Inputs) + " " + names(outputsOf(p)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}
