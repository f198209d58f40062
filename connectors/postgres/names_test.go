package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

func TestTableNames(t *testing.T) {
	for text, want := range map[string]string{
		"survey": `"survey"`, "public.survey": `"public"."survey"`, `"My.Table"`: `"My.Table"`, `a."b.c"`: `"a"."b.c"`,
		`"a.b".c`: `"a.b"."c"`,
		`"x""y"`:  `"x""y"`, `S`: `"S"`, `a b`: `"a b"`, `x"; DROP TABLE y`: "", "": "", ".": "", "a.": "", ".a": "",
		"a.b.c": "", `"a`: "", `"a"b`: "", `""`: "",
		strings.Repeat("n", 63): `"` + strings.Repeat("n", 63) + `"`, strings.Repeat("n", 64): "", "a\x00": "",
	} {
		got, err := parseTable(text)
		if (err == nil) != (want != "") || err == nil && got.quoted() != want {
			t.Errorf("%q: %s, %v; want %s", text, got.quoted(), err, want)
		}
	}
	if got := literal(`it's a \ slash`); got != `E'it\'s a \\ slash'` {
		t.Error(got)
	}
	for query, want := range map[string]string{"SELECT 1 ; \n;": "SELECT 1", " SELECT ';' ": "SELECT ';'"} {
		if got := statement(query); got != want {
			t.Errorf("%q becomes %q", query, got)
		}
	}
}

func TestCheck(t *testing.T) {
	const url, secret = "postgres://u@h/d", "sEcReT"
	for _, c := range []struct {
		config interface{ Check() []string }
		want   string
	}{
		{of(&SourceConfig{Connection: Connection{URL: url}, Table: "t"}), ""},
		{of(&SourceConfig{Connection: Connection{URL: url}, Query: "SELECT 1 AS a", Order: []string{"a"}}), ""},
		{of(&SourceConfig{Connection: Connection{URL: url}, Query: "SELECT 1 AS a"}),
			"order must name columns whose values are different"},
		{of(&SourceConfig{Connection: Connection{URL: url}}), "must have a table or a query"},
		{of(&SourceConfig{Connection: Connection{URL: url}, Table: "t", Query: "SELECT 1"}), "must have a table or a query"},
		{of(&SourceConfig{Connection: Connection{URL: url}, Table: "t", Order: []string{"a", "a"}}),
			"order must name columns, each once"},
		{of(&SourceConfig{Connection: Connection{URL: url}, Table: "a.b.c"}), "table must be a table or SCHEMA.TABLE"},
		{of(&SourceConfig{Table: "t"}), "url must be given"},
		{of(&SourceConfig{Connection: Connection{URL: "mysql://h/d"}, Table: "t"}), "url must be of the form"},
		{of(&SourceConfig{Connection: Connection{URL: "postgres://u:" + secret + "@h/d"}, Table: "t"}),
			"url must not hold a password"},
		{of(&SourceConfig{Connection: Connection{URL: url + "?password=" + secret}, Table: "t"}),
			"url must not hold a password"},
		{of(&SourceConfig{Connection: Connection{URL: url + "?sslpassword=" + secret}, Table: "t"}),
			"url must not hold a password"},
		{of(&SourceConfig{Connection: Connection{URL: "postgres://u:" + secret + "@h:x/d"}, Table: "t"}),
			"url must be of the form"},
		{
			of(&SourceConfig{Connection: Connection{URL: url, Password: connectors.Secret{Env: "not a name " + secret}},
				Table: "t"}), "password.env must be the name"},
		{of(&SinkConfig{Connection: Connection{URL: url}, Table: "t"}), ""},
		{of(&SinkConfig{Connection: Connection{URL: url}}), "table must name a table"},
		{of(&SinkConfig{Connection: Connection{URL: url + "&"}, Table: `"`}), "table must end the quotes"},
	} {
		got := strings.Join(c.config.Check(), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Contains(got, secret) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

type checked struct{ problems []string }

func (c checked) Check() []string { return c.problems }

func of(config any) checked {
	var out []string
	switch c := config.(type) {
	case *SourceConfig:
		for _, p := range c.Check() {
			out = append(out, p.Path+" "+p.Text)
		}
	case *SinkConfig:
		for _, p := range c.Check() {
			out = append(out, p.Path+" "+p.Text)
		}
	}
	return checked{out}
}

// Connections over a network are encrypted, unless the configuration says otherwise.
func TestEncryptionByDefault(t *testing.T) {
	t.Setenv("PGHOST", "")
	t.Setenv("PGSSLMODE", "")
	for url, want := range map[string]string{
		"postgres://u@db.example/d": "require", "postgres://u@127.0.0.1:1/d": "", "postgres://u@localhost/d": "",
		"postgres://u@[::1]/d":                      "",
		"postgres://u@db.example/d?sslmode=disable": "disable", "postgres:///d?host=/run/postgresql": "",
		"postgres:///d?host=db.example": "require", "postgres://u@10.0.0.1/d?x=1": "require",
	} {
		got := (&Connection{URL: url}).address()
		if has := strings.Contains(got, "sslmode="+want); want != "" && !has || want == "" &&
			strings.Contains(got, "sslmode") {
			t.Errorf("%s becomes %s", url, got)
		}
	}
	t.Setenv("PGHOST", "db.example")
	if got := (&Connection{URL: "postgres:///d"}).address(); !strings.Contains(got, "sslmode=require") {
		t.Errorf("a host of the environment: %s", got)
	}
	c := Connection{URL: "postgres://u@db.example/d"}
	config, err := c.parse()
	if err != nil || config.TLSConfig == nil || len(config.Fallbacks) > 0 {
		t.Errorf("falls back: %+v, %v", config, err)
	}
}

// Errors repeat no text of the server, whichever field of its message it is in.
func TestErrorsHoldNoWords(t *testing.T) {
	const canary = "Canary73184"
	server := &pgconn.PgError{Severity: canary, SeverityUnlocalized: canary, Message: canary, Detail: canary, Hint: canary,
		Where: canary, InternalQuery: canary,
		SchemaName: canary, TableName: canary, ColumnName: canary, DataTypeName: canary, ConstraintName: canary, File: canary,
		Routine: canary}
	for code, want := range map[string]string{
		"22P02": "a value is not one", "28P01": "the password is wrong", "42P01": "there is no such table",
		"99999": "the server refused", canary: "the server refused", "": "the server refused",
		"53100": "disk is full", "XX001": "internal error", "2BP01": "depend on it",
	} {
		server.Code = code
		err := explain(t.Context(), fmt.Errorf("%s: %w", canary, server), "table t")
		if text := err.Error(); !strings.HasPrefix(text, "table t: ") || !strings.Contains(text, want) ||
			strings.Contains(text, canary) || len(code) == 5 != strings.Contains(text, "SQLSTATE "+code) {
			t.Errorf("%s: %s", code, text)
		}
	}
	if err := explain(t.Context(), errors.New(canary), "table t"); strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("told to end")
	cancel(cause)
	if err := explain(ctx, server, "table t"); err != cause {
		t.Error(err)
	}
}

// A table gets its name from the connection that wrote it, and nobody reads it before.
func TestSinkDeclaresNoAbilities(t *testing.T) {
	connectortest.Lacks(t, new(sink).Abilities(), "Content Hold Labels Note")
}
