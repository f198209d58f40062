package members

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestFrame(t *testing.T) {
	for names, want := range map[string]string{
		"":            "{}",
		"a b":         `{"a":_,"b":_}`,
		"p.x p.y z":   `{"p":{"x":_,"y":_},"z":_}`,
		"a p.q.x p.r": `{"a":_,"p":{"q":{"x":_},"r":_}}`,
		"p.x z p.y":   `{"p.x":_,"z":_,"p.y":_}`,
		"p p.x":       `{"p":_,"p.x":_}`,
		"p.x p":       `{"p.x":_,"p":_}`,
		"p..x":        `{"p..x":_}`,
		`q"`:          `{"q\"":_}`,
	} {
		var release []microdata.Output
		for n := range strings.FieldsSeq(names) {
			release = append(release, microdata.Output{Field: microdata.Field{Name: n}})
		}
		if got := strings.Join(Frame(release), "_"); got != want {
			t.Errorf("%q: got %s, want %s", names, got, want)
		}
	}
}

func FuzzStrings(f *testing.F) {
	f.Add("a\"b\\\n\u2028\x00é😀")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		q := Quote(nil, s)
		var back string
		if err := json.Unmarshal(q, &back); err != nil || back != s {
			t.Fatalf("%q is written %s and read %q, %v", s, q, back, err)
		}
		p, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Unquote(nil, p); !ok || string(got) != s {
			t.Fatalf("%s is read %q", p, got)
		}
	})
}

// Every byte at every place of a word is seen to, as encoding/json sees to it.
func TestSkipString(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				for _, before := range []string{"a", "\x7f", "!", "\xc3\xa9"} {
					p := []byte("\"" + strings.Repeat(before, at) + string([]byte{byte(c)}) + strings.Repeat("b", length-at-1) + "\"")
					if c >= 0x80 {
						continue // UTF-8 is looked at elsewhere
					}
					want := len(p)
					if !json.Valid(p) {
						want = -1
					}
					if c == '"' {
						want = len(before)*at + 2
					}
					if got := SkipString(p, 0); got != want {
						t.Fatalf("%q: the string ends at %d, want %d", p, got, want)
					}
				}
			}
		}
	}
}
