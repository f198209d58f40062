package iceberg

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
)

// rest is a table of a catalog that speaks Iceberg's REST protocol.
type rest struct {
	base      string // with the version, and the catalog's prefix once it is known
	warehouse string
	namespace []string
	name      string
	token     string
	renew     func() (string, error) // a new token; nil: there is no other one
	client    *http.Client
	asked     bool // the catalog has told its prefix
	absent    bool // the table was not there when it was loaded
}

// restTimeout bounds one request.
const restTimeout = time.Minute

// mostAnswer bounds an answer, in bytes.
const mostAnswer = 1 << 30

func newREST(p *Place) (*rest, error) {
	names := strings.Split(p.Table, ".")
	r := &rest{
		base: strings.TrimRight(p.Catalog, "/") + "/v1", warehouse: p.Warehouse, namespace: names[:len(names)-1],
		name:   names[len(names)-1],
		client: webClient(),
	}
	var err error
	switch {
	case p.Token.Given():
		if r.token, err = p.Token.Read(); err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
	case p.Credential.Given():
		if r.renew, err = p.tokens(); err != nil {
			return nil, fmt.Errorf("credential: %w", err)
		}
	}
	return r, nil
}

func webClient() *http.Client {
	return &http.Client{Timeout: restTimeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
}

// restError is what a catalog answered. Its message is the catalog's own, and not repeated: it may hold anything.
type restError struct {
	status int
	word   string // the kind of the error, as the protocol names it
}

func (e *restError) Error() string {
	if e.word != "" {
		return fmt.Sprintf("the catalog answered %d (%s)", e.status, e.word)
	}
	return fmt.Sprintf("the catalog answered %d", e.status)
}

// unreached is the error of a request that got no answer; the catalog may have done what was asked all the same.
type unreached struct{ why string }

func (e *unreached) Error() string { return e.why }

// do asks the catalog. What it answers is decoded into to, which may be nil. A token of OAuth is renewed if it is
// refused: nothing was done then.
func (r *rest) do(ctx context.Context, method, path string, body, to any) error {
	for _, fresh := range []bool{r.token == "", true} {
		if r.renew != nil && fresh {
			var err error
			if r.token, err = r.renew(); err != nil {
				return err
			}
		}
		err := r.once(ctx, method, path, body, to)
		var said *restError
		if fresh || r.renew == nil || !errors.As(err, &said) || said.status != http.StatusUnauthorized {
			return err
		}
	}
	panic("not reached")
}

// once asks the catalog once.
func (r *rest) once(ctx context.Context, method, path string, body, to any) error {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, in)
	if err != nil {
		return errors.New("the catalog's URL is none")
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	answer, err := r.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return &unreached{"the catalog cannot be reached: " + err.Error()}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if answer.StatusCode/100 != 2 {
		var said struct {
			Error struct {
				Type string `json:"type"`
			} `json:"error"`
		}
		_ = json.Unmarshal(text, &said) // a proxy's answer is of another kind
		return &restError{answer.StatusCode, word(said.Error.Type)}
	}
	if err != nil {
		return &unreached{"the catalog's answer broke off"}
	}
	if to != nil && json.Unmarshal(text, to) != nil {
		return &unreached{"the catalog's answer is not what the protocol says"}
	}
	return nil
}

// word is the name of an exception; what is none is left out.
func word(s string) string {
	for _, c := range s {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return ""
		}
	}
	return s[:min(len(s), 60)]
}

// configure asks for the prefix of the catalog's paths.
func (r *rest) configure(ctx context.Context) error {
	if r.asked {
		return nil
	}
	path := "/config"
	if r.warehouse != "" {
		path += "?warehouse=" + url.QueryEscape(r.warehouse)
	}
	var said struct {
		Defaults  map[string]string `json:"defaults"`
		Overrides map[string]string `json:"overrides"`
	}
	if err := r.do(ctx, http.MethodGet, path, nil, &said); err != nil {
		return err
	}
	prefix := said.Overrides["prefix"]
	if prefix == "" {
		prefix = said.Defaults["prefix"]
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		var names []string
		for _, name := range strings.Split(prefix, "/") {
			names = append(names, url.PathEscape(name))
		}
		r.base += "/" + strings.Join(names, "/")
	}
	r.asked = true
	return nil
}

// tables is the path of the namespace's tables.
func (r *rest) tables() string {
	return "/namespaces/" + url.PathEscape(strings.Join(r.namespace, "\x1f")) + "/tables"
}

func (r *rest) path() string { return r.tables() + "/" + url.PathEscape(r.name) }

// loaded is the answer that has a table.
type loaded struct {
	Location string          `json:"metadata-location"`
	Metadata json.RawMessage `json:"metadata"`
}

func (l *loaded) table() (*table, error) { return parseTable(l.Metadata, l.Location) }

func (r *rest) load(ctx context.Context) (*table, error) {
	if err := r.configure(ctx); err != nil {
		return nil, err
	}
	var l loaded
	err := r.do(ctx, http.MethodGet, r.path(), nil, &l)
	var said *restError
	if errors.As(err, &said) && said.status == http.StatusNotFound {
		r.absent = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.absent = false
	return l.table()
}

// prepare asks the catalog where the table is to lie; it is made by the commit.
func (r *rest) prepare(ctx context.Context, schema *meta.Schema) (*table, error) {
	var l loaded
	err := r.do(ctx, http.MethodPost, r.tables(), map[string]any{"name": r.name, "schema": schema, "stage-create": true},
		&l)
	var said *restError
	if errors.As(err, &said) && said.status == http.StatusNotFound {
		return nil, fmt.Errorf("the catalog has no namespace %s", strings.Join(r.namespace, "."))
	}
	if err != nil {
		return nil, err
	}
	return l.table()
}

func (r *rest) commit(ctx context.Context, t *table, s *snapshot) error {
	var requirements, updates []map[string]any
	if r.absent {
		requirements = append(requirements, map[string]any{"type": "assert-create"})
		updates = r.creation(t)
	} else {
		requirements = append(requirements, map[string]any{"type": "assert-table-uuid", "uuid": t.UUID},
			map[string]any{"type": "assert-current-schema-id", "current-schema-id": t.CurrentSchema},
			map[string]any{"type": "assert-default-spec-id", "default-spec-id": t.DefaultSpec},
			map[string]any{"type": "assert-ref-snapshot-id", "ref": mainBranch, "snapshot-id": s.Parent})
	}
	updates = append(updates, map[string]any{"action": "add-snapshot", "snapshot": s},
		map[string]any{"action": "set-snapshot-ref", "ref-name": mainBranch, "type": "branch", "snapshot-id": s.ID})
	body := map[string]any{
		"identifier":   map[string]any{"namespace": r.namespace, "name": r.name},
		"requirements": requirements, "updates": updates,
	}
	err := r.do(ctx, http.MethodPost, r.path(), body, nil)
	var said *restError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &said) && said.status == http.StatusConflict:
		return settle(ctx, r, s, errConflict) // it may be the answer to a request that was sent again on the way
	case errors.As(err, &said) && said.status < 500:
		return err
	}
	return settle(ctx, r, s, &doubt{err: err})
}

// creation is what makes a table that was prepared.
func (r *rest) creation(t *table) []map[string]any {
	return []map[string]any{
		{"action": "assign-uuid", "uuid": t.UUID},
		{"action": "upgrade-format-version", "format-version": t.FormatVersion},
		{"action": "add-schema", "schema": t.schema(), "last-column-id": highest(t.schema())},
		{"action": "set-current-schema", "schema-id": -1},
		{"action": "add-spec", "spec": map[string]any{"spec-id": 0, "fields": []any{}}},
		{"action": "set-default-spec", "spec-id": -1},
		{"action": "add-sort-order", "sort-order": map[string]any{"order-id": 0, "fields": []any{}}},
		{"action": "set-default-sort-order", "sort-order-id": -1},
		{"action": "set-location", "location": t.Location},
	}
}
