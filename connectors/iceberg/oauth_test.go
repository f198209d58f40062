package iceberg

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

const oauthSecret = "a:s3cr3t/c1ient" // may hold a colon itself

// oauthServer gives tokens of a few uses each, and hands requests with a valid one on to a catalog.
type oauthServer struct {
	catalog *restServer
	uses    int // of a token
	left    int
	given   int
	answer  func(w http.ResponseWriter, r *http.Request) bool // of the tokens; nil: as the protocol says
}

func newOAuthServer(t *testing.T, uses int) (*oauthServer, Place) {
	s := &oauthServer{uses: uses}
	var place Place
	s.catalog, place = newRESTServer(t)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	place.Catalog, place.Token, place.Scope = web.URL, connectors.Secret{}, "tables"
	place.Credential = connectors.Secret{Env: "C", Lookup: func(string) (string, bool) { return "us:" + oauthSecret, true }}
	return s, place
}

func (s *oauthServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/oauth/tokens" {
		if s.answer != nil && s.answer(w, r) {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if r.FormValue("grant_type") != "client_credentials" || r.FormValue("client_id") != "us" ||
			r.FormValue("client_secret") != oauthSecret || r.FormValue("scope") != "tables" || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": "invalid_client", "error_description": "canary `+oauthSecret+`"}`)
			return
		}
		s.given++
		s.left = s.uses
		fmt.Fprintf(w, `{"access_token": "token-%d", "token_type": "bearer", "expires_in": 3600}`, s.given)
		return
	}
	if r.Header.Get("Authorization") != fmt.Sprintf("Bearer token-%d", s.given) || s.left == 0 {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error": {"message": "canary", "type": "NotAuthorizedException", "code": 401}}`)
		return
	}
	s.left--
	r.Header.Set("Authorization", "Bearer "+restToken)
	s.catalog.ServeHTTP(w, r)
}

// Tokens are asked for once, and again when one is refused, in a commit too.
func TestOAuth(t *testing.T) {
	for _, uses := range []int{1, 2, 100} {
		s, place := newOAuthServer(t, uses)
		release(t, records(t, 4), &SinkConfig{Place: place})
		release(t, records(t, 3), &SinkConfig{Place: place, Mode: "append"})
		expectRows(t, &SourceConfig{Place: place}, masked(upTo(4)...), masked(upTo(3)...))
		requests := len(s.catalog.seen)
		if uses == 1 && s.given != requests || uses == 100 && s.given >= requests {
			t.Errorf("%d uses: %d tokens for %d requests", uses, s.given, requests)
		}
	}
}

// The secret goes to the server of the tokens alone, and into no error; nor does what that server says.
func TestOAuthTellsNothing(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	wrong := connectors.Secret{Env: "C", Lookup: func(string) (string, bool) { return "us:other-canary", true }}
	bare := connectors.Secret{Env: "C", Lookup: func(string) (string, bool) { return "canary-alone", true }}
	for name, c := range map[string]struct {
		credential *connectors.Secret
		answer     func(w http.ResponseWriter, r *http.Request) bool
		want       string
	}{
		"another secret": {&wrong, nil, "answered 401 (invalidclient)"},
		"no pair":        {&bare, nil, "must be CLIENT_ID:CLIENT_SECRET"},
		"a redirection": {nil, func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return true
		}, "answered 307"},
		"no token": {nil, func(w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, `{"canary": "`+oauthSecret+`"}`)
			return true
		}, "otherwise than OAuth 2 says"},
		"cut": {nil, func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, "cannot be reached"},
	} {
		s, place := newOAuthServer(t, 9)
		s.answer = c.answer
		if c.credential != nil {
			place.Credential = *c.credential
		}
		_, err := (&SourceConfig{Place: place}).Open(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
			continue
		}
		for _, secret := range []string{"canary", oauthSecret, url.QueryEscape(oauthSecret), "http://"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error holds %s: %v", name, secret, err)
			}
		}
	}
	if elsewhere > 0 {
		t.Error("the secret was sent elsewhere")
	}
}

// Fields of one kind of catalog do not stand with another's, and a secret does not leave the machine unencrypted.
func TestPlaces(t *testing.T) {
	racetest.Further(t)
	given := connectors.Secret{Env: "X"}
	for name, c := range map[string]struct {
		place Place
		want  string // "": it is right
	}{
		"REST":             {Place{Catalog: "https://c/x", Table: "a.b", Token: given}, ""},
		"OAuth":            {Place{Catalog: "https://c/x", Table: "a.b", Credential: given, Scope: "s"}, ""},
		"OAuth, this":      {Place{Catalog: "http://127.0.0.1:1/x", Table: "a.b", Credential: given}, ""},
		"OAuth, other":     {Place{Catalog: "http://c/x", Table: "a.b", Credential: given, OAuth: "https://o/t"}, ""},
		"OAuth, plain":     {Place{Catalog: "http://c/x", Table: "a.b", Credential: given}, "without encryption"},
		"OAuth, plain too": {Place{Catalog: "https://c/x", Table: "a.b", Credential: given, OAuth: "http://o/t"}, "without encryption"},
		"OAuth, user":      {Place{Catalog: "https://c/x", Table: "a.b", Credential: given, OAuth: "https://u:canary@o/t"}, "oauth_server"},
		"both":             {Place{Catalog: "https://c/x", Table: "a.b", Credential: given, Token: given}, "without token"},
		"scope alone":      {Place{Catalog: "https://c/x", Table: "a.b", Scope: "s"}, "must be given"},
		"a password":       {Place{Catalog: "https://c/x", Table: "a.b", Password: given}, "is that of a database"},
		"in the URL":       {Place{Catalog: "https://u:canary@c/x", Table: "a.b"}, "must not hold a password"},
		"a variable":       {Place{Catalog: "https://c/x", Table: "a.b", Credential: connectors.Secret{Env: "a canary"}}, "credential.env"},
		"SQL":              {Place{Catalog: "postgres://u@h/d", Table: "a.b", Warehouse: "w", Password: given}, ""},
		"SQL, its name":    {Place{Catalog: "postgres://u@h/d", Table: "a.b"}, "warehouse"},
		"SQL, in the URL":  {Place{Catalog: "postgres://u:canary@h/d", Table: "a.b", Warehouse: "w"}, "must not hold a password"},
		"SQL, a token":     {Place{Catalog: "postgres://u@h/d", Table: "a.b", Warehouse: "w", Token: given}, "neither a token"},
		"SQL, no table":    {Place{Catalog: "postgres://u@h/d", Table: "b", Warehouse: "w"}, "NAMESPACE.NAME"},
		"a folder":         {Place{Path: "/t", Password: given}, "must stand alone"},
		"objects":          {Place{Path: "s3://b/t"}, "name the catalog"},
		"none":             {Place{Catalog: "ftp://c", Table: "a.b"}, "catalog"},
	} {
		ps := (&SourceConfig{Place: c.place}).Check()
		text := fmt.Sprint(ps)
		if c.want == "" && len(ps) > 0 || !strings.Contains(text, c.want) || strings.Contains(text, "canary") {
			t.Errorf("%s: %v, want %q", name, ps, c.want)
		}
	}
	for location, want := range map[string]bool{"": true, "s3://bkt/x": true, "/x": true, "x": false, "file:///x": false,
		"s3://k:canary@bkt/x": false} {
		c := &SinkConfig{Place: Place{Catalog: "postgres://u@h/d", Table: "a.b", Warehouse: "w"}, Location: location}
		if ps := c.Check(); (len(ps) == 0) != want || strings.Contains(fmt.Sprint(ps), "canary") {
			t.Errorf("location %q: %v", location, ps)
		}
	}
	if ps := (&SinkConfig{Place: Place{Path: "/t"}, Location: "/x"}).Check(); len(ps) == 0 {
		t.Error("a folder with a location")
	}
	of := (&SourceConfig{Place: Place{Catalog: "postgres://u@h/d", Table: "a.b", Warehouse: "w"}}).Abilities().Dataset
	if of.Namespace != "postgres://h:5432" || of.Name != "d.w.a.b" {
		t.Errorf("lineage names %v", of)
	}
}
