package keystream

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"go.yaml.in/yaml/v3"
)

// testKey returns a known key for tests: bytes n, n+1, …
func testKey(n byte) Key {
	var secret [keySize]byte
	for i := range secret {
		secret[i] = n + byte(i)
	}
	k, err := NewKey(secret[:])
	if err != nil {
		panic(err)
	}
	return k
}

func TestNewKey(t *testing.T) {
	good := make([]byte, keySize)
	good[31] = 1
	for _, c := range []struct {
		name   string
		secret []byte
		err    string
	}{
		{"32 bytes", good, ""},
		{"none", nil, "key: must be 32 bytes, got 0"},
		{"31 bytes", good[1:], "key: must be 32 bytes, got 31"},
		{"33 bytes", append(slices.Clone(good), 1), "key: must be 32 bytes, got 33"},
		{"zeros", make([]byte, 32), "key: must be random, got 32 equal bytes"},
		{"equal", bytes.Repeat([]byte{7}, 32), "key: must be random, got 32 equal bytes"},
	} {
		_, err := NewKey(c.secret)
		if (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
	}
	k, err := NewKey(good)
	if err != nil {
		t.Fatal(err)
	}
	text := k.Text()
	good[0] = 9
	if k.Text() != text {
		t.Error("changing the slice that the key was made from changed the key")
	}
}

func TestParseKey(t *testing.T) {
	text := testKey(1).Text()
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"as written", text, true},
		{"white space around", " \t\r\n" + text + "\r\n\n", true},
		{"empty", "", false},
		{"white space only", " \n", false},
		{"broken over lines", text[:20] + "\n" + text[20:], false},
		{"no padding", strings.TrimRight(text, "="), false},
		{"URL alphabet", base64.URLEncoding.EncodeToString(bytes.Repeat([]byte{0xfb, 0xff}, 16)), false},
		{"hexadecimal", hex.EncodeToString([]byte(text)[:32]), false},
		{"loose last bits", text[:42] + "B=", false},
		{"24 bytes", base64.StdEncoding.EncodeToString([]byte(text)[:24]), false},
		{"equal bytes", base64.StdEncoding.EncodeToString(make([]byte, 32)), false},
	} {
		k, err := ParseKey(c.text)
		if (err == nil) != c.ok {
			t.Errorf("%s: error %v", c.name, err)
		}
		if c.ok && !k.Equal(testKey(1)) {
			t.Errorf("%s: another key", c.name)
		}
		if err != nil && len(c.text) > 8 && strings.Contains(err.Error(), c.text[:8]) {
			t.Errorf("%s: the error shows the text: %v", c.name, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"", "=", testKey(1).Text(), " " + testKey(200).Text() + "\n", strings.Repeat("A", 44),
		strings.Repeat("/", 43) + "=", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "\xff\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err != nil {
			if !k.IsZero() {
				t.Error("a key is returned together with an error")
			}
			if trimmed := strings.TrimSpace(text); len(trimmed) > 16 && strings.Contains(err.Error(), trimmed[:16]) {
				t.Errorf("the error shows the text: %v", err)
			}
			return
		}
		if k.Text() != strings.TrimSpace(text) {
			t.Error("a key was read from a text in which it is not written")
		}
		if again, err := ParseKey(k.Text()); err != nil || !again.Equal(k) {
			t.Errorf("ParseKey of the key's text returns %v", err)
		}
	})
}

func TestGenerate(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		k := Generate()
		if again, err := ParseKey(k.Text()); err != nil || !again.Equal(k) {
			t.Fatalf("a generated key does not read back: %v", err)
		}
		seen[k.Text()] = true
		seen[k.ID()] = true
	}
	if len(seen) != 200 {
		t.Errorf("100 generated keys gave %d texts and names, want 200", len(seen))
	}
}

func TestZeroKey(t *testing.T) {
	var k Key
	if !k.IsZero() || k.Text() != "" || k.ID() != "" || !k.Equal(Key{}) || k.Equal(testKey(1)) || testKey(1).Equal(k) {
		t.Error("the zero Key must have no secret and be equal only to itself")
	}
	defer func() {
		if recover() == nil {
			t.Error("Stream of the zero Key must panic")
		}
	}()
	k.Stream("noise", "wage", 0)
}

// TestKeyNeverPrints prints a key, and values that contain one, in every way that a program might
// use by mistake, and searches the output for its bytes in every encoding.
func TestKeyNeverPrints(t *testing.T) {
	key := testKey(0xa1)
	secret := key.sealed.secret[:]
	type holder struct {
		Key    Key
		hidden Key
		inner  struct{ k *Key }
		list   []Key
		byName map[string]Key
	}
	h := holder{Key: key, hidden: key, list: []Key{key}, byName: map[string]Key{"k": key}}
	h.inner.k = &key
	stream := key.Stream("noise", "wage", 0)
	leaves, binding := key.Release(Name{Mask: "noise", Column: "wage"}), key.Binding()
	var subkeys []byte
	for _, info := range []string{streamInfo("noise", "wage", 0), string(named(labelPlace, "noise", "", "wage", "")),
		string(named(labelIdentity, "noise", "", "wage")), labelBinding} {
		subkeys = append(subkeys, key.derive(info, 2*keySize)...)
	}

	var out bytes.Buffer
	things := []any{key, &key, h, &h, []Key{key}, map[string]Key{"k": key}, map[Key]int{key: 1}, stream, *stream, leaves,
		*leaves, binding, *binding,
		struct{ s *Stream }{stream}, struct{ s Stream }{*stream}}
	for _, v := range things {
		for _, verb := range "vTtbcdoOqxXUeEfFgGsp" {
			for _, flags := range []string{"", "+", "#", "-", " ", "0", "# ", "100.100", ".3"} {
				fmt.Fprintf(&out, "%"+flags+string(verb)+"\n", v)
			}
		}
		fmt.Fprintln(&out, v)
		fmt.Fprintln(&out, fmt.Errorf("wrapped: %v", v))
		slog.New(slog.NewTextHandler(&out, nil)).Info("key", "k", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("key", "k", v)
		log := zerolog.New(&out)
		log.Info().Interface("k", v).Any("a", v).Msgf("%v", v)
	}
	for _, v := range []any{key, &key, map[string]Key{"k": key}, struct{ K Key }{key}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Errorf("JSON: %v", err)
		}
		out.Write(b)
		if b, err = yaml.Marshal(v); err != nil {
			t.Errorf("YAML: %v", err)
		}
		out.Write(b)
	}
	type element struct{ K Key }
	if b, err := xml.Marshal(element{key}); err != nil {
		t.Errorf("XML: %v", err)
	} else {
		out.Write(b)
	}
	out.WriteString(key.String() + key.GoString())

	if n := strings.Count(out.String(), redacted); n < 100 {
		t.Errorf("%q occurs %d times in the output, want more: the test prints nothing", redacted, n)
	}
	for name, bytes32 := range map[string][]byte{"secret": secret, "place subkey": subkeys[:32],
		"digest subkey": subkeys[32:]} {
		for encoding, trace := range traces(bytes32) {
			if strings.Contains(strings.ToLower(out.String()), strings.ToLower(trace)) {
				t.Errorf("%s printed as %s", name, encoding)
			}
		}
	}
}

// traces returns parts of a secret in every encoding in which it could be printed.
func traces(secret []byte) map[string]string {
	part := secret[4:10]
	joined := func(format, sep string) string {
		s := make([]string, len(part))
		for i, b := range part {
			s[i] = fmt.Sprintf(format, b)
		}
		return strings.Join(s, sep)
	}
	return map[string]string{
		"raw":           string(part),
		"quoted":        strings.Trim(fmt.Sprintf("%q", part), `"`),
		"hex":           hex.EncodeToString(part),
		"base64":        base64.StdEncoding.EncodeToString(secret)[8:20],
		"base64 url":    base64.URLEncoding.EncodeToString(secret)[8:20],
		"decimal":       joined("%d", " "),
		"decimal comma": joined("%d", ","),
		"Go syntax":     joined("%#x", ", "),
		"hex spaced":    joined("%x", " "),
		"octal":         joined("%o", " "),
		"binary":        joined("%b", " "),
		"unicode":       joined("%U", " "),
	}
}
