package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

// Types of schemas.
const (
	Avro     = "AVRO"
	Protobuf = "PROTOBUF"
)

// Schema is a schema as the registry keeps it.
type Schema struct {
	ID         uint32 // the number in the header of messages
	Version    int    // within its subject; 0 if it was requested by ID
	Type       string // Avro, Protobuf or another of the registry's
	Text       string
	References []Reference
}

// Reference is a schema that another one refers to by Name: an Avro type's full
// name, or the path in a Protobuf import.
type Reference struct {
	Name    string
	Subject string
	Version int
}

// Client queries a schema registry and caches its answers. It is safe for concurrent
// use. Requests without an answer are repeated, with growing pauses, until
// Config.Patience has passed or ctx is done; the error is then an *Error, or wraps that
// of the context.
type Client struct {
	config             Config
	username, password string
	sr                 *sr.Client
	http               *http.Client
	patience           time.Duration

	byID       flights[uint32, Schema]
	registered flights[registration, uint32]
	versions   flights[Reference, Schema]
}

type registration struct{ subject, typ, text, references string }

// requestTimeout is the timeout of one request; a registry usually answers in
// milliseconds.
const requestTimeout = 10 * time.Second

// maxAnswer is the greatest length of an answer, in bytes. Registries reject schemas
// above 1 MB.
const maxAnswer = 16 << 20

var (
	errTooLarge = errors.New("the answer is too large")
	errNoAnswer = errors.New("the answer holds nothing that was asked for")
)

// New returns a client. It reads the password and the certificates but does not use the
// network. It returns an error if the configuration is not valid or a file cannot be
// read.
func New(c *Config) (*Client, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, fmt.Errorf("schema registry: %w", ps[0])
	}
	cl := &Client{config: *c, patience: time.Duration(c.Patience)}
	if cl.patience == 0 {
		cl.patience = defaultPatience
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 4
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("schema registry: ca: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("schema registry: ca: %s holds no certificate in PEM", c.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	cl.http = &http.Client{Transport: bounded{transport}, Timeout: requestTimeout}
	opts := []sr.ClientOpt{sr.URLs(strings.TrimSuffix(c.URL, "/")), sr.HTTPClient(cl.http), sr.UserAgent("sdlfilter"),
		sr.LogLevel(sr.LogLevelNone)}
	if c.Username != "" {
		password, err := c.Password.Read()
		if err != nil {
			return nil, fmt.Errorf("schema registry: password: %w", err)
		}
		cl.username, cl.password = c.Username, password
		opts = append(opts, sr.BasicAuth(cl.username, cl.password))
	}
	var err error
	if cl.sr, err = sr.NewClient(opts...); err != nil {
		return nil, fmt.Errorf("schema registry: %s", cl.clean(err.Error()))
	}
	return cl, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Subject returns the subject of a topic's values.
func (c *Client) Subject(topic string) string { return c.config.SubjectOf(topic) }

// Latest returns a subject's newest schema. It queries the registry at each call.
func (c *Client) Latest(ctx context.Context, subject string) (Schema, error) {
	var answer sr.SubjectSchema
	err := c.ask(ctx, "read the latest schema of subject "+subject, func(ctx context.Context) (err error) {
		answer, err = c.sr.SchemaByVersion(ctx, subject, -1)
		return requireSchema(answer.Schema, err)
	})
	return schemaOf(answer), err
}

// ByID returns the schema with a number. Since it never changes, the client requests it
// once for all callers. The answer that there is none is cached for some seconds only,
// because registries replicate their content with a delay.
func (c *Client) ByID(ctx context.Context, id uint32) (Schema, error) {
	return c.byID.get(ctx, id, func(ctx context.Context) (Schema, error) {
		var answer sr.Schema
		err := c.ask(ctx, fmt.Sprintf("read schema %d", id), func(ctx context.Context) (err error) {
			answer, err = c.sr.SchemaByID(ctx, int(id))
			return requireSchema(answer, err)
		})
		return schemaOf(sr.SubjectSchema{ID: int(id), Schema: answer}), err
	})
}

// Resolve returns the schemas that s refers to, directly or indirectly, each once and
// before the schemas that refer to it. The Name of a result is the one that the
// referring schema uses.
func (c *Client) Resolve(ctx context.Context, s Schema) ([]Resolved, error) {
	var out []Resolved
	done := make(map[Reference]bool)
	var visit func(refs []Reference, depth int) error
	visit = func(refs []Reference, depth int) error {
		if depth > maxReferenceDepth {
			return &Error{Kind: Unreadable, Doing: "follow references",
				Reason: fmt.Sprintf("they must not be nested deeper than %d", maxReferenceDepth)}
		}
		for _, r := range refs {
			if done[r] {
				continue
			}
			if len(done) == maxReferences {
				return &Error{Kind: Unreadable, Doing: "follow references",
					Reason: fmt.Sprintf("there must not be more than %d", maxReferences)}
			}
			done[r] = true
			t, err := c.version(ctx, r)
			if err != nil {
				return err
			}
			if err := visit(t.References, depth+1); err != nil {
				return err
			}
			out = append(out, Resolved{Name: r.Name, Schema: t})
		}
		return nil
	}
	return out, visit(s.References, 1)
}

// Resolved is a schema that another one refers to by Name.
type Resolved struct {
	Name string
	Schema
}

const (
	maxReferenceDepth = 32
	maxReferences     = 1000
)

func (c *Client) version(ctx context.Context, r Reference) (Schema, error) {
	return c.versions.get(ctx, r, func(ctx context.Context) (Schema, error) {
		var answer sr.SubjectSchema
		err := c.ask(ctx, fmt.Sprintf("read version %d of subject %s", r.Version, r.Subject),
			func(ctx context.Context) (err error) {
				answer, err = c.sr.SchemaByVersion(ctx, r.Subject, r.Version)
				return requireSchema(answer.Schema, err)
			})
		return schemaOf(answer), err
	})
}

// Register registers s (Type, Text, References) as a version of the subject, unless it
// is one already, and returns its number. It sends one request for each schema and
// subject. An *Error of kind Incompatible is final.
func (c *Client) Register(ctx context.Context, subject string, s Schema) (uint32, error) {
	key := registration{subject, s.Type, s.Text, fmt.Sprint(s.References)}
	return c.registered.get(ctx, key, func(ctx context.Context) (uint32, error) {
		doing := "register a schema under subject " + subject
		out := sr.Schema{Schema: s.Text}
		if err := out.Type.UnmarshalText([]byte(s.Type)); err != nil {
			return 0,
				&Error{Kind: Invalid, Doing: doing, Reason: fmt.Sprintf("its type must be AVRO, PROTOBUF or JSON, got %q", s.Type)}
		}
		for _, r := range s.References {
			out.References = append(out.References, sr.SchemaReference{Name: r.Name, Subject: r.Subject, Version: r.Version})
		}
		var id int
		err := c.ask(ctx, doing, func(ctx context.Context) (err error) {
			if id, err = c.sr.RegisterSchema(ctx, subject, out, -1, -1); err == nil && (id <= 0 || id > math.MaxInt32) {
				err = errNoAnswer
			}
			return err
		})
		return uint32(id), err
	})
}

// requireSchema returns an error for JSON that is not a schema, which sr reads as an empty
// schema.
func requireSchema(s sr.Schema, err error) error {
	if err == nil && s.Schema == "" {
		return errNoAnswer
	}
	return err
}

func schemaOf(a sr.SubjectSchema) Schema {
	s := Schema{ID: uint32(a.ID), Version: a.Version, Type: a.Type.String(), Text: a.Schema.Schema}
	for _, r := range a.References {
		s.References = append(s.References, Reference{Name: r.Name, Subject: r.Subject, Version: r.Version})
	}
	return s
}

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// ask repeats a request until it is answered or the patience has passed.
func (c *Client) ask(ctx context.Context, doing string, request func(context.Context) error) error {
	until := time.Now().Add(c.patience)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := request(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("schema registry: %s: %w", doing, context.Cause(ctx))
		}
		e := c.classify(doing, err)
		// The random pause prevents instances that lost the registry at the same time
		// from returning at the same time.
		wait := pause/2 + rand.N(pause)
		if !e.Retriable() || time.Now().Add(wait).After(until) {
			return e
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("schema registry: %s: %w; before that: %s", doing, context.Cause(ctx), e.Reason)
		}
	}
}

// bounded limits the length of the answers that are read into memory.
type bounded struct{ *http.Transport }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.Transport.RoundTrip(r)
	if err == nil {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxAnswer}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
