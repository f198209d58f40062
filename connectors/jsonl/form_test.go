package jsonl

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// A file without records has the columns that the configuration lists, in its order, as one of another
// format that names its columns would. A file with records has its own.
func TestEmptyFilesHaveTheListedColumns(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "wage a.b id"},
		"blank lines":     {"\n \r\n\n", "wage a.b id"},
		"byte order mark": {"\ufeff", "wage a.b id"},
		"one record":      {`{"x":1}`, "x"},
		"no object":       {"canary\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, config := range []*SourceConfig{{Path: path}, {Path: "-", Stdin: bytes.NewReader([]byte(c.text))}} {
			config.declare([]connectors.DeclaredColumn{{Name: "wage"}, {Name: "a.b"}, {Name: "id"}}, false, false)
			src, err := config.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(src.Schema().Names(), " "); got != c.want {
				t.Errorf("%s: columns %q, want %q", name, got, c.want)
			}
			for _, f := range src.Schema().Fields {
				if f.Unseen != (c.want != "x") {
					t.Errorf("%s: %s is unseen: %v", name, f.Name, f.Unseen)
				}
			}
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Other forms of JSON are named, with the line and without any text of the file. Single lines that are no
// objects, and what is no JSON at all, are not taken for them.
func TestOtherFormsOfJSON(t *testing.T) {
	const array, spread, several = "is a JSON array", "goes on in the next line", "one object follows the other"
	for text, want := range map[string]string{
		`[{"canary":1}]`: "line 1: the file " + array,
		"[\n{\"canary\":1},\n{\"canary\":2}\n]\n":          "line 1: the file " + array,
		"\n\n [{\"canary\":1},":                            "line 3: the file " + array,
		"[1,\"canary\"]\n[2,\"x\"]\n":                      "line 1: the file " + array,
		"{\n\"canary\": 1\n}\n":                            "line 1: the object " + spread,
		"\r\n{\"canary\":\r\n1}\r\n{\"canary\":\r\n1}\r\n": "line 2: the object " + spread,
		`{"canary":1}{"canary":2}`:                         "line 1: " + several,
		"{\"canary\":1} , {\"canary\":2}\n{\"a\":1},{}\n":  "line 1: " + several,
		// JSON Lines with records that cannot be read
		"{\"a\":1}\n":                     "",
		"{\"a\":\n{\"a\":1}\n":            "",
		"[1]\n{\"a\":1}\n":                "",
		"{\"a\":1}}\n{\"a\":1}\n":         "",
		"{\"a\":1}{\"a\":2}\n{\"a\":1}\n": "",
		"{\"a\":1} x\n":                   "",
		"a,b\n1,2\n":                      "",
		"":                                "",
	} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for at, config := range map[string]*SourceConfig{
			path: {Path: path}, "stdin": {Path: "-", Stdin: strings.NewReader(text)}} {
			src, err := config.Open(t.Context())
			if err == nil {
				err = src.Close()
			}
			if want == "" {
				if err != nil {
					t.Errorf("%q: %v", text, err)
				}
				continue
			}
			if err == nil || !strings.HasPrefix(err.Error(), at+": "+want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%q: %v, want %q", text, err, want)
			}
		}
	}
}
