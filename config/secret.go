package config

import (
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Secret says where a key is kept. It is read when Resolve is called, not when
// the configuration is, and it prints as "[secret]" whatever it is printed with.
type Secret struct {
	File string `yaml:"file" choice:"true" doc:"a file that holds the key, relative to the working directory; only its owner should be able to read it"`
	Env  string `yaml:"env" choice:"true" doc:"the environment variable that holds the key"`

	lookup func(string) (string, bool) // nil: the process's environment
}

const redacted = "[secret]"

// String, GoString, Format and the Marshal methods give "[secret]".
func (Secret) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return redacted }

// Format implements fmt.Formatter, for every verb.
func (Secret) Format(s fmt.State, _ rune) { fmt.Fprint(s, redacted) }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON implements json.Marshaler.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalYAML implements yaml.Marshaler.
func (Secret) MarshalYAML() (any, error) { return redacted, nil }

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check finds a key that was written where its place should be, without
// repeating it.
func (s Secret) Check() check.Problems {
	var ps check.Problems
	if s.File != "" && looksLikeKey(s.File) && !isThere(s.File) {
		ps.Addf("file",
			"must be the path of a file; there is none of that name, and it looks like a key itself: a key is never written into the configuration; if it is one, make a new one with sdlfilter keygen")
	}
	if s.Env != "" && !variable.MatchString(s.Env) {
		ps.Addf("env",
			"must be the name of an environment variable, such as %s; the key itself is never written into the configuration",
			KeyVariable)
	}
	return ps
}

// looksLikeKey reports whether text is 32 bytes in base64, as some paths without a dot are.
func looksLikeKey(text string) bool {
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding,
		base64.RawURLEncoding} {
		if b, err := e.DecodeString(strings.TrimSpace(text)); err == nil && len(b) == 32 {
			return true
		}
	}
	return false
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Resolve reads the key. The error says where the key should be and what is
// wrong there, never anything of what is.
func (s Secret) Resolve() (keystream.Key, error) {
	text, from, err := s.read()
	if err != nil {
		return keystream.Key{}, err
	}
	key, err := keystream.ParseKey(text)
	if err != nil {
		// The cause is reworded: whatever it says, it must not quote the key.
		return keystream.Key{}, fmt.Errorf("key: %s must hold %s", from, keyError(text))
	}
	return key, nil
}

func (s Secret) read() (text, from string, err error) {
	if s.Env != "" {
		lookup := s.lookup
		if lookup == nil {
			lookup = os.LookupEnv
		}
		text, set := lookup(s.Env)
		if !set || text == "" {
			return "", "",
				fmt.Errorf("key: the environment variable %s is not set; put the key into it that sdlfilter keygen made", s.Env)
		}
		return text, "the environment variable " + s.Env, nil
	}
	f, err := os.Open(s.File)
	if err != nil {
		return "", "", fmt.Errorf("key: file %s %s; sdlfilter keygen makes one", s.File, form.Reason(err))
	}
	defer f.Close()
	content, err := form.ReadLimited(f)
	if err != nil {
		return "", "", fmt.Errorf("key: file %s %s", s.File, form.Reason(err))
	}
	return string(content), "file " + s.File, nil
}

func keyError(text string) string {
	const want = "32 bytes in base64, as sdlfilter keygen makes them"
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	switch {
	case strings.TrimSpace(text) == "":
		return want + ", and is empty"
	case err != nil:
		return want + ", and what is there is not base64"
	case len(b) != 32:
		return fmt.Sprintf("%s, and has %d bytes", want, len(b))
	}
	return want + ", and what is there cannot serve as a key: it is all one byte"
}

// Exposed says in words that others than its owner can read the key's file; ""
// where they cannot, or where the key is not in a file. It is a warning: on some
// systems that hand secrets to containers the mode cannot be chosen.
func (s Secret) Exposed() string {
	if s.File == "" {
		return ""
	}
	info, err := os.Stat(s.File)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("key file %s can be read by others than its owner (mode %04o); chmod 600 it", s.File,
		info.Mode().Perm())
}

// guessable says in words that the key does not look like 32 random bytes; "" where it
// does. Nothing of the key is in it, not how it was found out either.
func guessable(key keystream.Key) string {
	if key.PlausibleBits() >= keystream.EnoughBits {
		return ""
	}
	return fmt.Sprintf(
		"the key looks like text, or like a pattern, and not like 32 random bytes: it has fewer than %d bits to guess, and who guesses it has every "+
			"original value; make one with sdlfilter keygen", keystream.EnoughBits)
}

// Warnings is what there is to say of the key and of where it is kept.
func (s Secret) Warnings(key keystream.Key) (list []string) {
	for _, w := range []string{s.Exposed(), guessable(key)} {
		if w != "" {
			list = append(list, w)
		}
	}
	return list
}
