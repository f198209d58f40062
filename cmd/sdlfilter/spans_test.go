package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	collected "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanCollector is a collector on loopback that answers with a status.
type spanCollector struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

func collectSpans(t *testing.T, status int) *spanCollector {
	t.Helper()
	c := &spanCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		c.mu.Lock()
		c.bodies = append(c.bodies, body)
		c.mu.Unlock()
		w.WriteHeader(status)
		io.WriteString(w, "what-the-collector-says") //nolint:errcheck // the client is not interested
	}))
	t.Cleanup(c.Close)
	return c
}

// taken returns what has arrived.
func (c *spanCollector) taken() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Join(c.bodies, nil)
}

// spans decodes what has arrived: the spans, and the attributes of the one resource.
func (c *spanCollector) spans(t *testing.T) (all []*trace.Span, about map[string]string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, body := range c.bodies {
		var r collected.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		for _, of := range r.ResourceSpans {
			about = attributes(of.Resource.Attributes)
			for _, s := range of.ScopeSpans {
				all = append(all, s.Spans...)
			}
		}
	}
	return all, about
}

func attributes(list []*common.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range list {
		m[a.Key] = strings.TrimSpace(a.Value.String())
	}
	return m
}

// A collector gets one span of the command with the exit status, in the trace that the environment names, and below it
// one of each phase with its records; nothing of the command line or the machine. One that is not there, or refuses, is
// a warning, and the run ends as without it.
func TestSpans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	canaryInputs(t, dir)
	const parent, of = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	run := func(rule, endpoint string, more ...string) (printed []byte, status int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(canaryConfig("csv", "in.csv", rule)),
			0o600); err != nil {
			t.Fatal(err)
		}
		cmd := program(t, dir, "run", "pipeline.yaml")
		cmd.Env = slices.Concat(cmd.Env,
			[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "TRACEPARENT=00-" + parent + "-" + of + "-01"}, more)
		printed, _ = cmd.CombinedOutput() // the status says it
		return printed, cmd.ProcessState.ExitCode()
	}
	const passes, fails = "{column: wage, min_efficiency: 0.001}", "{column: wage, max_risk: 1e-30}"

	for rule, want := range map[string]int{passes: 0, fails: exitRefused} {
		c := collectSpans(t, http.StatusOK)
		printed, status := run(rule, c.URL, "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=nightly")
		if status != want || bytes.Contains(printed, []byte("OpenTelemetry")) {
			t.Errorf("status %d, want %d\n%s", status, want, printed)
		}
		all, about := c.spans(t)
		if about["service.name"] != `string_value:"sdlfilter"` ||
			about["deployment.environment"] != `string_value:"nightly"` {
			t.Errorf("the resource is %v", about)
		}
		for key := range about {
			if strings.HasPrefix(key, "process.") || strings.HasPrefix(key, "host.") {
				t.Errorf("the resource has %s", key)
			}
		}
		root := slices.IndexFunc(all, func(s *trace.Span) bool { return s.Name == "sdlfilter run" })
		if root < 0 {
			t.Fatalf("no span of the command among %v", all)
		}
		failed := all[root].Status.GetCode() == trace.Status_STATUS_CODE_ERROR
		if got := attributes(all[root].Attributes)["process.exit.code"]; hex.EncodeToString(all[root].ParentSpanId) != of ||
			failed != (want != 0) ||
			!strings.HasSuffix(got, ":"+string(rune('0'+want))) {
			t.Errorf("the command's span: %v", all[root])
		}
		phases := map[string]string{}
		for i, s := range all {
			if hex.EncodeToString(s.TraceId) != parent || s.EndTimeUnixNano < s.StartTimeUnixNano || i != root &&
				!bytes.Equal(s.ParentSpanId, all[root].SpanId) {
				t.Errorf("%v is not below the command's span", s)
			}
			phases[s.Name] = attributes(s.Attributes)["sdlfilter.records"]
		}
		if phases["mask"] != "int_value:400" || phases["assess"] != "int_value:400" {
			t.Errorf("phases %v", phases)
		}
	}

	refusing := collectSpans(t, http.StatusForbidden)
	gone := collectSpans(t, http.StatusOK)
	gone.Close()
	for _, endpoint := range []string{refusing.URL, gone.URL} {
		printed, status := run(passes, endpoint)
		if status != 0 || bytes.Count(printed, []byte("OpenTelemetry: not all spans")) != 1 ||
			bytes.Contains(printed, []byte("what-the-collector-says")) {
			t.Errorf("%s: status %d\n%s", endpoint, status, printed)
		}
	}
	off := collectSpans(t, http.StatusOK)
	for _, setting := range []string{"OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none"} {
		if printed, status := run(passes, off.URL, setting); status != 0 || len(off.taken()) > 0 {
			t.Errorf("%s: status %d, %d bytes of spans\n%s", setting, status, len(off.taken()), printed)
		}
	}
}
