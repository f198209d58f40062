// Package registrytest is a schema registry for tests, in the test's process and
// without storage. It has subjects, versions, numbers, references, passwords,
// incompatible schemas and failures on request. It is for tests only.
package registrytest

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// Registry is a running registry. Its methods are safe for concurrent use.
type Registry struct {
	// URL is the address.
	URL string

	fake   *srfake.Registry
	server *httptest.Server

	mu                 sync.Mutex
	username, password string
	incompatible       map[string]bool
	failing            int // number of further requests that fail; negative: all
	status             int // of failing requests; 0: the connection is cut
	requests           []string
	disturb            func(*http.Request) *Fault
}

// Fault is what becomes of a request. After Delay it is answered with Status and Body, or if Status is 0 as it should
// be: but without more than the first Cut bytes if that is more than 0, and not at all if it is less.
type Fault struct {
	Delay  time.Duration
	Status int
	Body   string
	Cut    int
}

// Disturb has fault decide what becomes of each request, beside Fail; nil: nothing happens to it.
func (r *Registry) Disturb(fault func(*http.Request) *Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disturb = fault
}

// disturbed applies a fault. It reports whether the request is answered.
func (r *Registry) disturbed(f *Fault, w http.ResponseWriter, req *http.Request) bool {
	if f == nil {
		return false
	}
	select {
	case <-time.After(f.Delay):
	case <-req.Context().Done():
	}
	switch {
	case f.Status != 0:
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
	case f.Cut < 0:
		panic(http.ErrAbortHandler)
	case f.Cut > 0:
		whole := httptest.NewRecorder()
		r.fake.Handler().ServeHTTP(whole, req)
		w.Header().Set("Content-Length", fmt.Sprint(whole.Body.Len()))
		_, _ = w.Write(whole.Body.Bytes()[:min(f.Cut, whole.Body.Len())])
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}

// New starts a registry, which is closed at the end of the test.
func New(tb testing.TB) *Registry {
	tb.Helper()
	return prepare().start(tb, (*httptest.Server).Start)
}

// NewTLS starts a registry that uses TLS with its own certificate.
func NewTLS(tb testing.TB) *Registry {
	tb.Helper()
	return prepare().start(tb, (*httptest.Server).StartTLS)
}

func prepare() *Registry {
	return &Registry{fake: srfake.NewRegistry(), incompatible: make(map[string]bool)}
}

// start serves r with a separate log, so that disconnecting clients are not reported.
func (r *Registry) start(tb testing.TB, begin func(*httptest.Server)) *Registry {
	r.server = httptest.NewUnstartedServer(r)
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	begin(r.server)
	r.URL = r.server.URL
	tb.Cleanup(r.Close)
	return r
}

// Close closes the registry before the end of the test: it no longer answers.
func (r *Registry) Close() { r.server.Close() }

// Server is the HTTP server behind it, for its certificate.
func (r *Registry) Server() *httptest.Server { return r.server }

// Config returns a configuration for the registry with a short patience.
func (r *Registry) Config() *registry.Config {
	return &registry.Config{URL: r.URL, Patience: connectors.Duration(2 * time.Second)}
}

// Client returns a client of the registry, which is closed at the end of the test.
func (r *Registry) Client(tb testing.TB) *registry.Client {
	tb.Helper()
	c, err := registry.New(r.Config())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// Register registers a schema as the subject's newest version and returns its number.
func (r *Registry) Register(tb testing.TB, subject, typ, text string, references ...registry.Reference) uint32 {
	tb.Helper()
	s := sr.Schema{Schema: text}
	if err := s.Type.UnmarshalText([]byte(typ)); err != nil {
		tb.Fatal(err)
	}
	for _, ref := range references {
		s.References = append(s.References, sr.SchemaReference{Name: ref.Name, Subject: ref.Subject, Version: ref.Version})
	}
	id, _, err := r.fake.RegisterSchema(subject, s)
	if err != nil {
		tb.Fatal(err)
	}
	return uint32(id)
}

// Remake empties the registry: the next schemas get the numbers of the first ones again.
func (r *Registry) Remake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fake = srfake.NewRegistry()
}

// Text returns the text of version n (from 1) of a subject; ok is false if there is
// none.
func (r *Registry) Text(subject string, version int) (text string, ok bool) {
	s, ok := r.fake.GetSchema(subject, version)
	return s.Schema.Schema, ok
}

// Authenticate makes the registry require a user and a password.
func (r *Registry) Authenticate(username, password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.username, r.password = username, password
}

// Incompatible makes the registry answer every new schema of the subject with status
// 409.
func (r *Registry) Incompatible(subject string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.incompatible[subject] = true
}

// Fail makes the registry answer the next n requests (all if n is negative) with an
// HTTP status, or close the connection without an answer if status is 0. Fail(0, 0)
// ends this.
func (r *Registry) Fail(n, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing, r.status = n, status
}

// Requests returns the requests so far: "GET /schemas/ids/1".
func (r *Registry) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.requests...)
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.requests = append(r.requests, req.Method+" "+req.URL.Path)
	status, fail := r.status, r.failing != 0
	if r.failing > 0 {
		r.failing--
	}
	username, password, authenticated := req.BasicAuth()
	authenticated = r.username == "" || authenticated && username == r.username && password == r.password
	subject, isRegister := strings.CutSuffix(strings.TrimPrefix(req.URL.Path, "/subjects/"), "/versions")
	refuse := isRegister && req.Method == http.MethodPost && r.incompatible[subject]
	disturb := r.disturb
	r.mu.Unlock()
	fake := func() *srfake.Registry { // as it is after what disturbs has happened
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.fake
	}

	if disturb != nil && r.disturbed(disturb(req), w, req) {
		return
	}
	switch {
	case fail && status == 0:
		panic(http.ErrAbortHandler)
	case fail:
		answer(w, status, status*100+1, "to order")
	case !authenticated:
		answer(w, http.StatusUnauthorized, 40101, "Unauthorized")
	case refuse:
		answer(w, http.StatusConflict, 409,
			fmt.Sprintf("Schema being registered is incompatible with an earlier schema for subject %q", subject))
	default:
		fake().Handler().ServeHTTP(w, req)
	}
}

func answer(w http.ResponseWriter, status, code int, message string) {
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error_code":%d,"message":%q}`, code, message)
}
