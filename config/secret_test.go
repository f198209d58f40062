package config

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
)

func secretText() string {
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(7 * i)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func TestSecretResolves(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := secretText()
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"KEY": good, "EMPTY": "", "BAD": "not a key"}[name]
		return v, ok
	}
	tests := []struct {
		name   string
		secret Secret
		err    string
	}{
		{"file", Secret{File: file("good", good+"\n")}, ""},
		{"environment", Secret{Env: "KEY", lookup: env}, ""},
		{"missing file", Secret{File: filepath.Join(dir, "nowhere")}, "does not exist; sdlfilter keygen makes one"},
		{"folder", Secret{File: dir}, "is a directory"},
		{"unset", Secret{Env: "UNSET", lookup: env}, "the environment variable UNSET is not set"},
		{"empty variable", Secret{Env: "EMPTY", lookup: env}, "the environment variable EMPTY is not set"},
		{"empty file", Secret{File: file("empty", "\n")}, "and is empty"},
		{"not base64", Secret{Env: "BAD", lookup: env}, "and what is there is not base64"},
		{"short", Secret{File: file("short", "AAECAwQ=")}, "and has 5 bytes"},
		{"all equal", Secret{File: file("equal", base64.StdEncoding.EncodeToString(make([]byte, 32)))}, "all one byte"},
	}
	var ids []string
	for _, test := range tests {
		key, err := test.secret.Resolve()
		switch {
		case test.err == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.err == "":
			ids = append(ids, key.ID())
		case err == nil || !strings.Contains(err.Error(), test.err):
			t.Errorf("%s: must fail with %q, got %v", test.name, test.err, err)
		}
	}
	if len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("file and environment must give the same key, got %q", ids)
	}
}

func TestSecretWarnsOfReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for mode, exposed := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true} {
		if err := os.WriteFile(path, []byte(secretText()), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if got := (Secret{File: path}).Exposed(); (got != "") != exposed || exposed && !strings.Contains(got, "chmod 600") {
			t.Errorf("mode %04o: got %q", mode, got)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := (Secret{Env: "KEY"}).Exposed(); got != "" {
		t.Errorf("a variable has no mode, got %q", got)
	}
}

func TestSecretNeverPrints(t *testing.T) {
	const canary = "canary-5f2a"
	s := Secret{File: canary, Env: canary, lookup: lookup}
	p := &Pipeline{Key: s}
	var texts []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10v"} {
		texts = append(texts, fmt.Sprintf(verb, s), fmt.Sprintf(verb, &s), fmt.Sprintf(verb, p), fmt.Sprintf(verb, *p))
	}
	for _, v := range []any{s, &s, map[string]any{"key": s}} {
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		y, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(j), string(y))
	}
	for _, text := range texts {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) ||
			strings.Contains(text, fmt.Sprintf("%X", canary)) {
			t.Errorf("prints %q", text)
		}
	}
}

// A key that someone wrote into the configuration is refused, and not repeated
// in the error.
func TestInlineKeyIsNotRepeated(t *testing.T) {
	key := secretText()
	for _, line := range []string{
		"key: " + key, "key: '" + key + "'", "key: [" + key + "]", "key: {file: " + key + "}", "key: {env: " + key + "}",
		"key: {file: [" + key + "]}", "key: {value: " + key + "}", "key: ${INLINE}", "key: {file: '${INLINE}'}",
	} {
		text := strings.Replace(base, "key: {file: release.key}", line, 1)
		_, err := Parse("pipeline.yaml", []byte(text), Options{LookupEnv: func(string) (string, bool) { return key, true }})
		if err == nil {
			t.Errorf("%s must be refused", strings.ReplaceAll(line, key, "…"))
		} else if strings.Contains(err.Error(), key) {
			t.Errorf("the error repeats the key: %v", err)
		}
	}
}

// The path of a key's file may look like a key: 43 or 44 characters without a dot. If the file
// exists, it is a path; otherwise the text may be a key.
func TestPathInTheFormOfAKey(t *testing.T) {
	for _, length := range []int{43, 44} {
		t.Chdir(t.TempDir())
		path := "keys/" + strings.Repeat("k", length-5)
		if length == 44 {
			path = path[:43] + "="
		}
		text := strings.Replace(base, "release.key", path, 1)
		if _, err := Parse("pipeline.yaml", []byte(text), Options{}); err == nil ||
			!strings.Contains(err.Error(), "looks like a key") {
			t.Errorf("%d characters without a file: %v", length, err)
		} else if strings.Contains(err.Error(), path) {
			t.Errorf("the error repeats a text that may be a key: %v", err)
		}
		if err := os.Mkdir("keys", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(secretText()), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("pipeline.yaml", []byte(text), Options{}); err != nil {
			t.Errorf("%d characters with a file: %v", length, err)
		}
	}
}
