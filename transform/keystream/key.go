package keystream

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// keySize is the length of a release key in bytes.
const keySize = 32

// Labels of everything that is derived from a release key. Whoever changes a derivation must
// change its label's number, and docs/keystream.md.
const (
	labelID       = "sdlfilter/key-id/2"
	labelStream   = "sdlfilter/stream/2"   // draws that are never released
	labelPlace    = "sdlfilter/place/2"    // draws of a release, by place
	labelIdentity = "sdlfilter/identity/2" // draws of a release, by identity
	labelDigest   = "sdlfilter/digest/2"
	labelBinding  = "sdlfilter/binding/2"
	labelApart    = "sdlfilter/apart/1"
)

// noSecret is the panic message of a draw from the zero Key.
const noSecret = "keystream: the zero Key holds no secret: use NewKey, ParseKey or Generate"

// redacted is printed in place of a key, under any verb.
const redacted = "[secret]"

// Key is the release key: 32 secret bytes. It is never printed; only Text returns the
// secret. The zero Key holds no secret, and drawing from it panics.
type Key struct{ sealed *sealed }

// sealed keeps the secret behind two pointers: package fmt prints unexported fields of a
// caller's structure without calling their methods, and so prints an address and not the bytes.
type sealed struct {
	secret  *[keySize]byte
	digests func() *aes256 // AES under the subkey of identity digests, which every block uses
}

// NewKey returns the key of 32 secret bytes. Any other length, and 32 equal bytes, are an error.
func NewKey(secret []byte) (Key, error) {
	if len(secret) != keySize {
		return Key{}, fmt.Errorf("key: must be %d bytes, got %d", keySize, len(secret))
	}
	if bytes.Count(secret, secret[:1]) == keySize {
		return Key{}, errors.New("key: must be random, got 32 equal bytes; `sdlfilter keygen` makes a fresh one")
	}
	s := new([keySize]byte)
	copy(s[:], secret)
	k := Key{&sealed{secret: s}}
	k.sealed.digests = sync.OnceValue(func() *aes256 { return newAES(k.derive(labelDigest, keySize)) })
	return k, nil
}

// ParseKey reads a key as Text writes it: standard base64 with padding, white
// space around it ignored.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	// The decoder ignores line breaks inside the text; a key must be one line.
	if strings.ContainsAny(text, "\r\n") {
		return Key{}, errors.New("key: must be one line of base64, got several")
	}
	// The decoder's own error has only the place of the fault, and tells no more
	// than the length does.
	secret, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return Key{}, fmt.Errorf("key: must be %d bytes in standard base64 (%d characters), got %d characters that are not",
			keySize, base64.StdEncoding.EncodedLen(keySize), len(text))
	}
	return NewKey(secret)
}

// Generate returns a new key from the system's random source; its PlausibleBits are at least
// EnoughBits.
func Generate() Key {
	var secret [keySize]byte
	for {
		// Read never fails: the runtime ends the process if the system has no
		// randomness.
		_, _ = rand.Read(secret[:])
		if k, err := NewKey(secret[:]); err == nil && k.PlausibleBits() >= EnoughBits {
			return k
		}
	}
}

// IsZero reports whether the key is the zero Key, which holds no secret.
func (k Key) IsZero() bool { return k.sealed == nil }

// Equal reports whether two keys hold the same secret.
func (k Key) Equal(o Key) bool {
	if k.IsZero() || o.IsZero() {
		return k.IsZero() && o.IsZero()
	}
	return *k.sealed.secret == *o.sealed.secret
}

// Text returns the secret in the base64 form that ParseKey reads; nothing else returns it. The
// zero Key gives "".
func (k Key) Text() string {
	if k.IsZero() {
		return ""
	}
	return base64.StdEncoding.EncodeToString(k.sealed.secret[:])
}

// ID is a short public name of the key, 16 hexadecimal digits: it distinguishes two keys and
// reveals neither. The zero Key gives "".
func (k Key) ID() string {
	if k.IsZero() {
		return ""
	}
	return hex.EncodeToString(k.derive(labelID, 8))
}

// Version names the derivations of all draws that are released: of two releases with the same Key.ID and other
// versions, no draw is known to be the same.
const Version = "2"

// Apart returns a key of its own for what a text names, such as draws that stand for those of another key and never
// leave.
func (k Key) Apart(text string) Key {
	apart, err := NewKey(k.derive(labelApart+" "+text, keySize))
	if err != nil {
		panic("keystream: " + err.Error()) // 32 equal bytes, with a probability of 2⁻²⁴⁸
	}
	return apart
}

// derive returns n bytes of HKDF-SHA256 of the key, without salt, under the
// given info.
func (k Key) derive(info string, n int) []byte {
	if k.IsZero() {
		panic(noSecret)
	}
	out, err := hkdf.Key(sha256.New, k.sealed.secret[:], nil, info, n)
	if err != nil {
		// Only lengths beyond 255 hashes are refused.
		panic("keystream: " + err.Error())
	}
	return out
}

// String hides the secret.
func (k Key) String() string { return redacted }

// GoString hides the secret.
func (k Key) GoString() string { return redacted }

// Format hides the secret under every verb and flag.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText hides the secret.
func (k Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON hides the secret.
func (k Key) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalYAML hides the secret.
func (k Key) MarshalYAML() (any, error) { return redacted, nil }

// LogValue hides the secret.
func (k Key) LogValue() slog.Value { return slog.StringValue(redacted) }
