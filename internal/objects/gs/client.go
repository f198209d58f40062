package gs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

const (
	scope = "https://www.googleapis.com/auth/devstorage.read_write"
	// tries is how often a request is sent that may succeed another time.
	tries = 8
	// mostAnswer is the maximum length of an answer that is not an object's content.
	mostAnswer = 64 << 20
)

// client sends requests to one server, with a token where it wants one.
type client struct {
	base    string // the server's address
	http    *http.Client
	tokens  oauth2.TokenSource // nil: the server wants none
	project string             // that is billed, "" : the bucket's
	kms     string             // the key with which what is written is encrypted, "": the bucket's
}

var kmsKey = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`)

// connect looks for the server's address and for credentials; it asks the server nothing.
func connect(ctx context.Context) (*client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	objects.Tune(transport)
	// Of HTTP/2 all ranges would share one connection. What is compressed where it lies is
	// read as it lies.
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	transport.DisableCompression = true
	// No answer leads elsewhere, so that no other server sees the token.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &client{http: &http.Client{Transport: transport, CheckRedirect: stay}, kms: os.Getenv(objects.GSKMSVariable)}
	if c.kms != "" && !kmsKey.MatchString(c.kms) {
		return nil, fmt.Errorf("%s: must be projects/…/locations/…/keyRings/…/cryptoKeys/…", objects.GSKMSVariable)
	}
	if host := os.Getenv(emulatorVariable); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		return c, c.at(emulatorVariable, host)
	}
	own := os.Getenv(objects.GSEndpointVariable)
	if own != "" {
		if err := c.at(objects.GSEndpointVariable, own); err != nil {
			return nil, err
		}
	}
	// The token is renewed as long as the program runs.
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient,
		&http.Client{Transport: transport, Timeout: time.Minute})
	found, err := google.FindDefaultCredentials(ctx, scope)
	if err != nil {
		return nil, errNoCredentials
	}
	c.tokens, c.project = found.TokenSource, os.Getenv("GOOGLE_CLOUD_QUOTA_PROJECT")
	if c.project == "" {
		var file struct {
			QuotaProject string `json:"quota_project_id"`
		}
		_ = json.Unmarshal(found.JSON, &file) // none where they come from the machine
		c.project = file.QuotaProject
	}
	if own == "" {
		universe, err := found.GetUniverseDomain()
		if err != nil {
			return nil, errNoCredentials
		}
		return c, c.at("the credentials' universe_domain", "https://storage."+universe)
	}
	return c, nil
}

const emulatorVariable = "STORAGE_EMULATOR_HOST"

// at takes an address over. A token must not travel where everybody can read it.
func (c *client) at(whence, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" &&
		u.Scheme != "https" {
		return fmt.Errorf("%s gives no address of a server", whence)
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && whence != emulatorVariable && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s must begin with https://: credentials go to this address", whence)
	}
	c.base = strings.TrimSuffix(address, "/")
	return nil
}

// request is one request, as often as it is sent.
type request struct {
	method, path string // path has the query
	header       map[string]string
	body         [][]byte
	stream       bool // the answer's body is the caller's; otherwise it is read
}

// answer is an answer whose body has been read, or where it streams is open.
type answer struct {
	status int
	header http.Header
	text   []byte
	body   io.ReadCloser
	length int64
}

// once sends a request once. The error is one of the connection, or of the credentials.
func (c *client) once(ctx context.Context, r *request) (*answer, error) {
	size, body := int64(0), []io.Reader{}
	for _, b := range r.body {
		size += int64(len(b))
		body = append(body, bytes.NewReader(b))
	}
	end := func() {}
	if !r.stream {
		// A connection that is too slow is closed, and the request is repeated.
		ctx, end = context.WithTimeout(ctx, 2*time.Minute+time.Duration(size)*time.Second/(64<<10))
	}
	defer end()
	q, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, io.MultiReader(body...))
	if err != nil {
		return nil, errors.New("the name makes no address")
	}
	q.ContentLength = size
	if size == 0 {
		q.Body = http.NoBody
	}
	for k, v := range r.header {
		q.Header.Set(k, v)
	}
	if c.tokens != nil {
		token, err := c.tokens.Token()
		if err != nil {
			return nil, &credentials{err}
		}
		token.SetAuthHeader(q)
	}
	if c.project != "" {
		q.Header.Set("X-Goog-User-Project", c.project)
	}
	out, err := objects.Watched{Doer: c.http}.Do(q)
	if err != nil {
		return nil, err
	}
	a := &answer{status: out.StatusCode, header: out.Header, length: out.ContentLength}
	if r.stream && out.StatusCode < 300 {
		a.body = out.Body
		return a, nil
	}
	defer out.Body.Close()
	a.text, err = io.ReadAll(io.LimitReader(out.Body, mostAnswer))
	return a, err
}

// credentials is the error of a token that could not be obtained.
type credentials struct{ error }

func (e *credentials) Unwrap() error { return e.error }

// again reports whether the same request may succeed another time.
func again(a *answer, err error) bool {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		return refused.Response.StatusCode >= 500 || refused.Response.StatusCode == http.StatusTooManyRequests
	}
	if err != nil {
		return true
	}
	switch a.status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// send sends a request until it has an answer that another attempt would not better. The
// error is never the answer's.
func (c *client) send(ctx context.Context, r *request) (*answer, error) {
	for try := 1; ; try++ {
		a, err := c.once(ctx, r)
		if !again(a, err) || try == tries {
			return a, c.unsent(ctx, err)
		}
		if err := pause(ctx, a, try); err != nil {
			return nil, err
		}
	}
}

// pause waits before another attempt: as long as the server says, or longer each time.
func pause(ctx context.Context, a *answer, try int) error {
	wait := min(200*time.Millisecond<<(try-1), 10*time.Second, objects.MostPause)
	wait = wait/2 + rand.N(wait/2)
	if a != nil {
		if s, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil && s >= 0 && s <= 60 {
			wait = time.Duration(s) * time.Second
		}
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errNoCredentials = fmt.Errorf(
	"%w: no credentials were found, or they could not be renewed: see GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login and the machine's service account", objects.ErrDenied)

// unsent is the error of a request that had no answer. Nothing of the connection's own
// words is in it, which have addresses, and those have names of uploads.
func (c *client) unsent(ctx context.Context, err error) error {
	var dns *net.DNSError
	var op *net.OpError
	var token *credentials
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &token):
		return errNoCredentials
	case errors.As(err, &dns):
		return errors.New("the server's name is not known: see " + objects.GSEndpointVariable + " and " + emulatorVariable)
	case errors.As(err, &op) && op.Op == "dial":
		return errors.New("the server cannot be reached: see " + objects.GSEndpointVariable + " and " + emulatorVariable)
	}
	return errors.New("the connection was cut, and was again after several attempts")
}

// reason returns the code of the error in an answer; "" if it has none.
func (a *answer) reason() string {
	var failure struct {
		Error struct {
			Errors []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
		} `json:"error"`
	}
	if json.Unmarshal(a.text, &failure) != nil || len(failure.Error.Errors) == 0 {
		return ""
	}
	return objects.Word(failure.Error.Errors[0].Reason)
}

// refused returns an error for an unexpected answer. It contains nothing of the answer's text.
func (a *answer) refused() error {
	code := a.reason()
	busy := strings.HasSuffix(code, "ateLimitExceeded") || code == "quotaExceeded"
	switch {
	case a.status == http.StatusPreconditionFailed:
		return objects.ErrCondition
	case a.status == http.StatusUnauthorized:
		return fmt.Errorf("%w: the server does not know these credentials, or they have expired (%s)", objects.ErrDenied,
			objects.Answer(a.status, code))
	case a.status == http.StatusTooManyRequests, a.status == http.StatusServiceUnavailable,
		a.status == http.StatusForbidden && busy:
		return fmt.Errorf("the server is too busy, and was still after several attempts (%s)", objects.Answer(a.status, code))
	case a.status == http.StatusForbidden:
		return fmt.Errorf("%w: these credentials may not do this (%s)", objects.ErrDenied, objects.Answer(a.status, code))
	}
	return fmt.Errorf("the server refused (%s)", objects.Answer(a.status, code))
}
