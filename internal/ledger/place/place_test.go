package place

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Of a table's address, what decides where it lies stands in it; a password never does, and no error repeats one.
func TestTables(t *testing.T) {
	const secret = "a-secret"
	for text, want := range map[string]string{
		"postgres://u@h/d?table=s.t":                                      "postgres://h:5432/d?table=s.t | postgres://u@h/d?port=5432 | s | t",
		"postgresql://h:6/d?table=s.t":                                    "postgres://h:6/d?table=s.t | postgresql://h:6/d?port=6 | s | t",
		"postgres://h/d?port=7&table=Audit_1.T2":                          "postgres://h:7/d?table=Audit_1.T2 | postgres://h/d?port=7 | Audit_1 | T2",
		"postgres://[::1]/d?table=s.t":                                    "postgres://[::1]:5432/d?table=s.t | postgres://[::1]/d?port=5432 | s | t",
		"postgres://u@/d?host=/run/pg&table=s.t":                          "postgres:///run/pg:5432/d?table=s.t | postgres://u@/d?host=%2Frun%2Fpg&port=5432 | s | t",
		"postgres://h/d?table=s.t&sslmode=verify-full&sslrootcert=ca.pem": "postgres://h:5432/d?table=s.t | postgres://h/d?port=5432&sslmode=verify-full&sslrootcert=ca.pem | s | t",

		"postgres://u:" + secret + "@h/d?table=s.t":       "must not hold a password",
		"postgres://h/d?table=s.t&password=" + secret:     "must not hold a password",
		"postgres://h/d?table=s.t&sslpassword=" + secret:  "must not hold a password",
		"postgres://u:" + secret + "@h:x/d?table=s.t":     "must be of the form",
		"postgres://u:" + secret + "@h/d?table=s.t&a=%zz": "must be of the form",
		"postgres://h/d":                     "must be of the form",
		"postgres:///d?table=s.t":            "must be of the form",
		"postgres://h/?table=s.t":            "must be of the form",
		"postgres://h/d/e?table=s.t":         "must be of the form",
		"postgres://h/d?table=s.t#f":         "must be of the form",
		"postgres://h/d?table=t":             "with the schema",
		"postgres://h/d?table=s.t&table=s.u": "with the schema",
		"postgres://h/d?table=a.s.t":         "with the schema",
		`postgres://h/d?table=s."t"`:         "with the schema",
		"postgres://h/d?table=s.1":           "with the schema",
		"postgres://h/d?table=s." + strings.Repeat("t", 63): "postgres://h:5432/d?table=s." + strings.Repeat("t", 63) +
			" | postgres://h/d?port=5432 | s | " + strings.Repeat("t", 63),
		"postgres://h/d?table=s." + strings.Repeat("t", 64): "with the schema",
		"postgres://h,i/d?table=s.t":                        "one server",
		"postgres://h/d?table=s.t&host=i":                   "one server",
		"postgres:///d?table=s.t&host=/a,/b":                "one server",
		"postgres:///d?table=s.t&host=/a&host=/b":           "one server",
		"postgres://h/d?table=s.t&port=1,2":                 "one server",
		"postgres://h/d?table=s.t&service=x":                "parameter service",
		"postgres://h/d?table=s.t&servicefile=x":            "parameter servicefile",
		"postgres://h/d?table=s.t&dbname=x":                 "parameter dbname",
		"postgres://h/d?table=s.t&database=x":               "parameter database",
		"postgres://h/d?table=s.t&hostaddr=x":               "parameter hostaddr",
		"postgres://h/d?table=s.t&options=x":                "parameter options",
	} {
		got := ""
		table, err := ParseTable(text)
		if err == nil {
			got = strings.Join([]string{table.String(), table.URL, table.Schema, table.Name}, " | ")
			if Problem(text) != "" || !IsTable(text) || Clean(text) != table.String() {
				t.Errorf("%s: %q", text, Problem(text))
			}
		} else if got = err.Error(); Problem(text) != got || strings.Contains(got, secret) {
			t.Errorf("%s: error %q, problem %q", text, got, Problem(text))
		}
		if err == nil && got != want || err != nil && !strings.Contains(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	objectpath.Know("s3")
	for text, want := range map[string]string{
		"": "", "releases.sdl": "", "a/b": "", "s3://bucket/key": "", "s3://bucket/a/b": "",
		"s3://bucket": "must name an object", "s3://bucket/a/": "and no folder", "s3://key:secret@bucket/a": "must hold no credentials",
		"mysql://h/d": "is not known", "s3://bucket/a//b": "no empty name",
	} {
		if got := Problem(text); (got == "") != (want == "") || !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if want == "" && (Clean(text) != text || IsTable(text)) {
			t.Errorf("%q: is named %q", text, Clean(text))
		}
	}
}
