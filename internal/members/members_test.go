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

// Every byte at every position of a word is handled as in encoding/json.
func TestSkipString(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				for _, before := range []string{"a", "\x7f", "!", "\xc3\xa9"} {
					p := []byte("\"" + strings.Repeat(before, at) + string([]byte{byte(c)}) + strings.Repeat("b", length-at-1) + "\"")
					if c >= 0x80 {
						continue // UTF-8 is checked elsewhere
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

// Every byte at every position of a number is handled as in encoding/json.
func TestSkipNumber(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				p := []byte(strings.Repeat("7", at) + string([]byte{byte(c)}) + strings.Repeat("3", length-at-1))
				if at > 0 {
					p[0] = '-'
				}
				if p[0] != '-' && p[0]-'0' > 9 {
					continue // no number begins with this byte, so none is expected
				}
				// The longest prefix that is a number, or more than the number if its end is
				// invalid.
				want := -1
				for end := len(p); end > 0 && want < 0; end-- {
					if json.Valid(p[:end]) && len(strings.TrimSpace(string(p[:end]))) == end {
						want = end
					}
				}
				if rest := p[max(want, 0):]; len(rest) > 0 && (rest[0] == '.' || rest[0]|0x20 == 'e') {
					want = -1
				}
				if got := skipNumber(p, 0); got != want {
					t.Fatalf("%q: the number ends at %d, want %d", p, got, want)
				}
			}
		}
	}
}

// A record with one changed byte, or truncated anywhere, is accepted if and only if it is valid
// JSON without duplicate members, even if it has the usual form. Its values equal those of
// encoding/json.
func TestScanOfUsualRecords(t *testing.T) {
	tree := NewTree()
	layout := &microdata.Layout{Schema: &microdata.Schema{}}
	for i, name := range []string{"a", "longer name", "c"} {
		tree.Column(Root, name, true)
		layout.Read = append(layout.Read, microdata.Want{Field: i})
	}
	plan := tree.Plan(layout, false, false)
	var b microdata.Block
	hold := func(text string) {
		t.Helper()
		b.Reset(0, 0, 1, 3)
		s := plan.Records(1)
		defer s.Release()
		if err := s.Gather([][]byte{[]byte(text)}); err != nil {
			t.Fatal(err)
		}
		reason := s.Scan(&b, 0, 0, len(text))
		var members map[string]json.RawMessage
		valid := json.Unmarshal([]byte(text), &members) == nil && members != nil && utf8.ValidString(text)
		if !valid || reason == Twice {
			if reason == "" || valid && strings.Count(text, ":") == len(members) {
				t.Fatalf("%q: %q, valid: %v", text, reason, valid)
			}
			return
		}
		if reason != "" {
			t.Fatalf("%q is rejected: %s", text, reason)
		}
		for i, name := range []string{"a", "longer name", "c"} {
			at := s.Values(i)[0]
			if got := string(s.Data[at.Start:at.End]); got != string(members[name]) {
				t.Fatalf("%q: %s is %q, want %q", text, name, got, members[name])
			}
		}
	}
	for _, text := range []string{`{"a":"xyz","longer name":-12.5e3,"c":123456789}`,
		`{"c": 7, "longer name": "v", "a": 10}`, `{"a":0,"a":1}`, `{"c":1,"longer name":2,"c":3}`} {
		hold(text)
		for i := range len(text) {
			hold(text[:i])
			hold(text[:i] + text[i+1:])
			for _, c := range "\"\\{}[]:,0-.e an\x00\n" {
				hold(text[:i] + string(c) + text[i+1:])
				hold(text[:i] + string(c) + text[i:])
			}
		}
	}
}
