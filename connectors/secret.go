package connectors

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Secret says where a password is kept. It is read when Read is called, and
// printing a Secret prints "[secret]", whatever it is printed with.
type Secret struct {
	Env  string `yaml:"env" choice:"true" doc:"an environment variable"`
	File string `yaml:"file" choice:"true" doc:"a file; a line end at its end is not part of the password"`

	// Lookup finds an environment variable; config sets it.
	Lookup func(name string) (string, bool) `yaml:"-" json:"-"`
}

const redacted = "[secret]"

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return redacted }

// Format implements fmt.Formatter, for every verb.
func (Secret) Format(s fmt.State, _ rune) { fmt.Fprint(s, redacted) }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Given reports whether the configuration names a place.
func (s Secret) Given() bool { return s.Env != "" || s.File != "" }

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check finds a password that was written where the name of a variable should
// be, without repeating it.
func (s Secret) Check() check.Problems {
	var ps check.Problems
	if s.Env != "" && !variable.MatchString(s.Env) {
		ps.Addf("env",
			"must be the name of an environment variable; the password itself is never written into the configuration")
	}
	if s.Env != "" && s.File != "" {
		ps.Addf("", "must have env or file, not both")
	}
	return ps
}

// maxSecret bounds a password's file, in bytes.
const maxSecret = 64 << 10

// Read returns the password. The error says where it should be and what is
// wrong there, never anything of what is.
func (s Secret) Read() (string, error) {
	if s.Env != "" {
		if s.Lookup == nil {
			return "", fmt.Errorf("the environment variable %s cannot be looked up here", s.Env)
		}
		text, set := s.Lookup(s.Env)
		if !set || text == "" {
			return "", fmt.Errorf("the environment variable %s, which must hold a password, is not set", s.Env)
		}
		return text, nil
	}
	if s.File == "" {
		return "", errors.New("no place of a password is given: {env: NAME} or {file: PATH}")
	}
	text, err := s.readFile()
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return "", fmt.Errorf("the file %s, which must hold a password, cannot be read: %w", s.File, err)
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if text == "" {
		return "", fmt.Errorf("the file %s, which must hold a password, is empty", s.File)
	}
	return text, nil
}

func (s Secret) readFile() (string, error) {
	f, err := os.Open(s.File)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err == nil && len(content) > maxSecret {
		err = fmt.Errorf("more than %d bytes", maxSecret)
	}
	return string(content), err
}
