package registry_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	person = `{"type":"record","name":"Person","fields":[{"name":"age","type":"int"}]}`
	street = `{"type":"record","name":"Street","fields":[{"name":"name","type":"string"}]}`
	home   = `{"type":"record","name":"Home","fields":[{"name":"street","type":"Street"}]}`
	family = `{"type":"record","name":"Family","fields":[{"name":"home","type":"Home"},{"name":"second","type":"Street"}]}`
)

func TestSchemas(t *testing.T) {
	r := registrytest.New(t)
	c := r.Client(t)
	ctx := context.Background()

	id, err := c.Register(ctx, c.Subject("survey"), registry.Schema{Type: registry.Avro, Text: person})
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Register(ctx, "survey-value", registry.Schema{Type: registry.Avro, Text: person})
	if err != nil || again != id {
		t.Errorf("registered again: %d, %v, want %d", again, err, id)
	}
	if other := r.Client(t); true { // a client without the cache of c
		if again, err = other.Register(ctx, "survey-value", registry.Schema{Type: registry.Avro, Text: person}); err != nil ||
			again != id {
			t.Errorf("registered by another: %d, %v, want %d", again, err, id)
		}
	}
	s, err := c.Latest(ctx, "survey-value")
	if err != nil || s.ID != id || s.Version != 1 || s.Type != registry.Avro || s.Text != person {
		t.Errorf("latest: %+v, %v", s, err)
	}
	proto := `syntax = "proto3"; message Person { int32 age = 1; }`
	pid, err := c.Register(ctx, "p", registry.Schema{Type: registry.Protobuf, Text: proto})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = c.ByID(ctx, pid); err != nil || s.Type != registry.Protobuf || s.Text != proto || s.ID != pid {
		t.Errorf("by ID: %+v, %v", s, err)
	}
	if _, err := c.Register(ctx, "p", registry.Schema{Type: "XML", Text: "<a/>"}); err == nil {
		t.Error("a type that is none was registered")
	}
}

func TestResolve(t *testing.T) {
	r := registrytest.New(t)
	c := r.Client(t)
	r.Register(t, "street", registry.Avro, street)
	r.Register(t, "home", registry.Avro, home, registry.Reference{Name: "Street", Subject: "street", Version: 1})
	id := r.Register(t, "family", registry.Avro, family,
		registry.Reference{Name: "Home", Subject: "home", Version: 1},
		registry.Reference{Name: "Street", Subject: "street", Version: 1})
	s, err := c.ByID(context.Background(), id)
	if err != nil || len(s.References) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	for range 2 {
		all, err := c.Resolve(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range all {
			names = append(names, a.Name)
		}
		if !slices.Equal(names, []string{"Street", "Home"}) || all[0].Text != street {
			t.Errorf("resolved %v", all)
		}
	}
	if n := count(r, "GET /subjects/street/versions/1"); n != 1 {
		t.Errorf("a version was asked for %d times", n)
	}
	s.References = append(s.References, registry.Reference{Name: "Gone", Subject: "gone", Version: 7})
	if _, err := c.Resolve(context.Background(), s); !registry.IsNotFound(err) ||
		!strings.Contains(err.Error(), "version 7 of subject gone") {
		t.Errorf("a missing reference: %v", err)
	}
}

func count(r *registrytest.Registry, request string) (n int) {
	for _, q := range r.Requests() {
		if q == request {
			n++
		}
	}
	return n
}

func TestByIDAsksOnce(t *testing.T) {
	r := registrytest.New(t)
	c := r.Client(t)
	id := r.Register(t, "s", registry.Avro, person)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if s, err := c.ByID(context.Background(), id); err != nil || s.Text != person {
				t.Errorf("%+v, %v", s, err)
			}
			if _, err := c.ByID(context.Background(), 999); !registry.IsNotFound(err) || registry.IsRetriable(err) {
				t.Errorf("an unknown number: %v", err)
			}
		})
	}
	wg.Wait()
	if n := count(r, fmt.Sprintf("GET /schemas/ids/%d", id)); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if n := count(r, "GET /schemas/ids/999"); n != 1 {
		t.Errorf("asked %d times for what there is not", n)
	}
}

// A caller waits for the request of another caller: if the other one is cancelled, the waiting caller
// sends its own request.
func TestWaitingCallerAsksAnew(t *testing.T) {
	r := registrytest.New(t)
	c := r.Client(t)
	id := r.Register(t, "s", registry.Avro, person)
	r.Fail(-1, 0)
	first, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() {
		_, err := c.ByID(first, id)
		done <- err
	}()
	eventually.True(t, "the first has asked", func() bool { return count(r, fmt.Sprintf("GET /schemas/ids/%d", id)) > 0 })
	go func() {
		_, err := c.ByID(context.Background(), id)
		done <- err
	}()
	eventually.True(t, "both wait", func() bool {
		stacks := make([]byte, 1<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "(*Client).ByID(") == 2
	})
	r.Fail(0, 0)
	cancel()
	one, two := <-done, <-done
	if one == nil {
		one, two = two, one
	}
	if !errors.Is(one, context.Canceled) || two != nil {
		t.Errorf("%v, %v", one, two)
	}
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	for _, test := range []struct {
		name   string
		do     func(r *registrytest.Registry, c *registry.Client) error
		kind   registry.Kind
		phrase string
	}{
		{"no subject", func(r *registrytest.Registry, c *registry.Client) error {
			_, err := c.Latest(ctx, "nowhere-value")
			return err
		}, registry.NotFound, "nowhere-value"},
		{"incompatible", func(r *registrytest.Registry, c *registry.Client) error {
			r.Incompatible("out-value")
			_, err := c.Register(ctx, "out-value", registry.Schema{Type: registry.Avro, Text: person})
			return err
		}, registry.Incompatible, "out-value"},
		{"no user", func(r *registrytest.Registry, c *registry.Client) error {
			r.Authenticate("ann", "letmein")
			_, err := c.Latest(ctx, "s")
			return err
		}, registry.Unauthorized, "none are configured"},
		{"no right", func(r *registrytest.Registry, c *registry.Client) error {
			r.Fail(-1, http.StatusForbidden)
			_, err := c.Register(ctx, "s", registry.Schema{Type: registry.Avro, Text: person})
			return err
		}, registry.Forbidden, "right"},
		{"refused", func(r *registrytest.Registry, c *registry.Client) error {
			r.Fail(-1, http.StatusUnprocessableEntity)
			_, err := c.Register(ctx, "s", registry.Schema{Type: registry.Avro, Text: person})
			return err
		}, registry.Invalid, "422"},
		{"not a schema", func(r *registrytest.Registry, c *registry.Client) error {
			r.Fail(-1, http.StatusOK)
			_, err := c.Latest(ctx, "s")
			if err == nil {
				err = errors.New("taken for a schema")
			}
			return err
		}, registry.Unreadable, "no schema registry"},
		{"down", func(r *registrytest.Registry, c *registry.Client) error {
			r.Close()
			_, err := c.Latest(ctx, "s")
			return err
		}, registry.Unavailable, "no answer"},
		{"ill", func(r *registrytest.Registry, c *registry.Client) error {
			r.Fail(-1, http.StatusServiceUnavailable)
			_, err := c.Latest(ctx, "s")
			return err
		}, registry.Unavailable, "cannot answer now"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := registrytest.New(t)
			config := r.Config()
			config.Patience = connectors.Duration(200 * time.Millisecond)
			c, err := registry.New(config)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			err = test.do(r, c)
			var e *registry.Error
			if !errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(err.Error(), test.phrase) {
				t.Fatalf("%v (%#v)", err, e)
			}
			if registry.IsRetriable(err) != (test.kind == registry.Unavailable) {
				t.Errorf("retriable: %v", registry.IsRetriable(err))
			}
			t.Log(err)
		})
	}
}

// What a failing registry says is in no error: nobody knows what it is of.
func TestWordsOfAFailingRegistry(t *testing.T) {
	for _, status := range []int{http.StatusRequestTimeout, http.StatusTooManyRequests, 500, 503} {
		r := registrytest.New(t)
		config := r.Config()
		config.Patience = connectors.Duration(50 * time.Millisecond)
		c, err := registry.New(config)
		if err != nil {
			t.Fatal(err)
		}
		r.Disturb(func(*http.Request) *registrytest.Fault {
			return &registrytest.Fault{Status: status, Body: `{"error_code":50001,"message":"Canary"}`}
		})
		_, err = c.Latest(t.Context(), "s")
		if err == nil || strings.Contains(err.Error(), "Canary") ||
			!strings.Contains(err.Error(), fmt.Sprintf("(status %d)", status)) || !registry.IsRetriable(err) {
			t.Errorf("status %d: %v", status, err)
		}
		c.Close()
	}
}

func TestRetries(t *testing.T) {
	r := registrytest.New(t)
	c := r.Client(t)
	r.Register(t, "s", registry.Avro, person)
	for _, status := range []int{0, 500, 503, 429} {
		r.Fail(2, status)
		if _, err := c.Latest(context.Background(), "s"); err != nil {
			t.Errorf("status %d twice: %v", status, err)
		}
	}
	r.Fail(-1, 500)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := c.Latest(ctx, "s"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

func TestPassword(t *testing.T) {
	r := registrytest.New(t)
	r.Authenticate("ann", "let me in")
	r.Register(t, "s", registry.Avro, person)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("let me in\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) {
		return map[string]string{"RIGHT": "let me in", "WRONG": "open sesame"}[name], name != "UNSET"
	}
	for _, test := range []struct {
		password connectors.Secret
		fault    string
	}{
		{connectors.Secret{File: file}, ""},
		{connectors.Secret{Env: "RIGHT", Lookup: lookup}, ""},
		{connectors.Secret{Env: "WRONG", Lookup: lookup}, "username and password must be"},
		{connectors.Secret{Env: "UNSET", Lookup: lookup}, "UNSET"},
		{connectors.Secret{File: file + "-not"}, "no such file"},
	} {
		config := r.Config()
		config.Username, config.Password = "ann", test.password
		var err error
		c, err := registry.New(config)
		if err == nil {
			_, err = c.Latest(context.Background(), "s")
			c.Close()
			if printed := fmt.Sprintf("%v %+v %#v %s", config, config, config, config.Password); strings.Contains(printed,
				"let me in") || strings.Contains(printed, file) {
				t.Error("the configuration prints its secret or where it is")
			}
		}
		if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%v, want %q", err, test.fault)
		}
		if err != nil && (strings.Contains(err.Error(), "let me in") || strings.Contains(err.Error(), "sesame")) {
			t.Errorf("the error holds a password: %v", err)
		}
	}
}

// If a server repeats in its answer what it received, the error contains neither the password nor text
// of unlimited length.
func TestServerRepeatsPassword(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(400)
		_, password, _ := req.BasicAuth()
		fmt.Fprintf(w, "bad %s %s\n\x1b[31m%s", password, req.Header.Get("Authorization"), strings.Repeat("x", 1<<20))
	}))
	defer s.Close()
	c,
		err := registry.New(
		&registry.Config{URL: s.URL, Username: "ann",
			Password: connectors.Secret{Env: "P", Lookup: func(string) (string, bool) { return "sesame", true }}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Latest(context.Background(), "s")
	if err == nil || strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "YW5u") ||
		len(err.Error()) > 600 || strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("%v", err)
	}
}

// An endless answer does not fill the memory.
func TestEndlessAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for chunk := bytes.Repeat([]byte(" "), 1<<16); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	c, err := registry.New(&registry.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var e *registry.Error
	if _, err = c.Latest(context.Background(), "s"); !errors.As(err, &e) || e.Kind != registry.Unreadable {
		t.Errorf("%v", err)
	}
}

func TestTLS(t *testing.T) {
	r := registrytest.NewTLS(t)
	r.Register(t, "s", registry.Avro, person)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Server().Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	config := r.Config()
	var e *registry.Error
	if _, err := r.Client(t).Latest(context.Background(), "s"); !errors.As(err, &e) || e.Kind != registry.Untrusted {
		t.Errorf("without the authority: %v", err)
	}
	config.CA = ca
	c, err := registry.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Latest(context.Background(), "s"); err != nil {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	given := connectors.Secret{Env: "P"}
	for _, test := range []struct {
		config registry.Config
		at     string // path of the problem; "" if there is none
	}{
		{registry.Config{URL: "http://127.0.0.1:8081"}, ""},
		{registry.Config{URL: "https://r.example.org/registry", Username: "ann", Password: given}, ""},
		{registry.Config{}, "url"},
		{registry.Config{URL: "127.0.0.1:8081"}, "url"},
		{registry.Config{URL: "ftp://r"}, "url"},
		{registry.Config{URL: "http://ann:sesame@r"}, "url"},
		{registry.Config{URL: "http://r?x=sesame"}, "url"},
		{registry.Config{URL: "http://r:sesame:"}, "url"},
		{registry.Config{URL: "http://r", Username: "ann"}, "password"},
		{registry.Config{URL: "http://r", Password: given}, "username"},
		{registry.Config{URL: "http://r", Username: "ann", Password: connectors.Secret{Env: "sesame!"}}, "password.env"},
		{registry.Config{URL: "http://r", CA: "ca.pem"}, "ca"},
	} {
		ps := test.config.Check()
		if (len(ps) > 0) != (test.at != "") || len(ps) > 0 && ps[0].Path != test.at {
			t.Errorf("%q: %v, want a problem at %q", test.config.URL, ps, test.at)
		}
		if strings.Contains(fmt.Sprint(ps), "sesame") {
			t.Errorf("a problem repeats a secret: %v", ps)
		}
	}
	c := registry.Config{Subject: "{topic}-com.example.Row"}
	if got := c.SubjectOf("survey"); got != "survey-com.example.Row" {
		t.Error(got)
	}
}
