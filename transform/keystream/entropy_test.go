package keystream

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPlausibleBits: keys invented by people are recognised; random keys are accepted, in any
// alphabet.
func TestPlausibleBits(t *testing.T) {
	text := func(s string) []byte { return []byte(strings.Repeat(s, 32)[:32]) }
	counted := func(from, step int) []byte {
		b := make([]byte, 32)
		for i := range b {
			b[i] = byte(from + step*i)
		}
		return b
	}
	decoded := func(s string) []byte { // the base64 form consists of words
		b, err := base64.StdEncoding.DecodeString((s + strings.Repeat(s, 43))[:42] + "A=")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	few := func(n int) []byte {
		r, b := rand.New(rand.NewPCG(uint64(n), 2)), make([]byte, 32)
		for i := range b {
			b[i] = byte(17 + 31*r.IntN(n))
		}
		return b
	}
	half := make([]byte, 32)
	copy(half, []byte{0x8f, 0x13, 0xd2, 0x77, 0x01, 0xe4, 0xba, 0x5c, 0x90, 0x3e, 0x6a})
	random := []byte{0x8f, 0x13, 0xd2, 0x77, 0x01, 0xe4, 0xba, 0x5c, 0x90, 0x3e, 0x6a, 0xc8, 0x25, 0xf1, 0x44}
	for name, secret := range map[string][]byte{
		"a word again and again": text("password"), "a sentence": text("the quick brown fox jumps over the lazy dog"),
		"short words": text("blue fish jump over wall cold rain"), "a passphrase": text("correct horse battery staple !!! 1"),
		"capitals":   text("CORRECTHORSEBATTERYSTAPLEPURPLEX"),
		"camel case": text("CorrectHorseBatteryStaplePurpleX"), "with a year": text("Survey-2026-Secret-Key-Household"),
		"an umlaut": []byte("Schlüssel für die Erhebung 2026")[:32], "digits": text("31415926535897932384626433832795"),
		"counted": counted(0, 1), "counted down": counted(200, -3), "counted by 7": counted(1, 7),
		"two bytes": few(2), "five bytes": few(5), "twelve bytes": few(12),
		"a period of eight":   bytes.Repeat(random[:8], 4),
		"a period of fifteen": append(bytes.Repeat(random, 2), random[:2]...), "zeros behind": half,
		"alternating":     bytes.Repeat([]byte{0x00, 0xff}, 16),
		"base64 words":    decoded("correcthorsebatterystaplepurplemonkeydishwasher"),
		"base64 repeated": decoded("password"),
	} {
		k, err := NewKey(secret)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if bits := k.PlausibleBits(); bits >= EnoughBits {
			t.Errorf("%s: %d plausible bits, want fewer than %d", name, bits, EnoughBits)
		}
	}
	draw := func(letters string) func(r *rand.Rand, b []byte) {
		return func(r *rand.Rand, b []byte) {
			for i := range b {
				b[i] = letters[r.IntN(len(letters))]
			}
		}
	}
	const small, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	for name, fill := range map[string]func(r *rand.Rand, b []byte){
		"base64 text": draw(small + strings.ToUpper(small) + digits + "+/"),
		"printable":   draw(small + strings.ToUpper(small) + digits + `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`),
	} {
		r, secret := rand.New(rand.NewPCG(3, 3)), make([]byte, 32)
		low := 0
		for range 2000 {
			fill(r, secret)
			k, err := NewKey(secret)
			if err != nil {
				t.Fatal(err)
			}
			if k.PlausibleBits() < EnoughBits {
				low++
			}
		}
		if low > 2 {
			t.Errorf("random %s: %d of 2,000 keys are below %d bits", name, low, EnoughBits)
		}
	}
	least, r, secret := 256, rand.NewChaCha8([32]byte{7}), make([]byte, 32)
	for range 20_000 { // with a fixed seed, because one key in some millions has fewer
		_, _ = r.Read(secret)
		k, err := NewKey(secret)
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, k.PlausibleBits())
	}
	// A sequence in the base64 form that looks like a word of five letters occurs at one place in a
	// hundred and costs 20 of the 280 bits. Only seven such words in one key would give less than
	// 140.
	if least < 140 {
		t.Errorf("a random key has %d plausible bits", least)
	}
	if bits := Generate().PlausibleBits(); bits < EnoughBits {
		t.Errorf("a generated key has %d plausible bits", bits)
	}
	if (Key{}).PlausibleBits() != 0 {
		t.Error("the zero Key holds no secret")
	}
}

// The class of a text's bytes, with the first and last byte of each class and their neighbours.
func TestAlphabets(t *testing.T) {
	long := func(s string) []byte { return []byte(strings.Repeat(s, 640)[:640]) } // so long that few letters are enough
	for _, c := range []struct {
		letters string
		want    int
	}{
		{"0123456789", 10}, {"09", 2}, {"0123456789af", 12}, {"0123456789abcdef", 16}, {"0123456789ABCDEF", 16},
		{"0123456789abcdefg", 17}, {"0123456789ABCDEFG", 17}, {"abcdefghijklmnopqrstuvwxyz", 26},
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 26},
		{"abcdefghijklmnopqrstuvwxyzA", 27}, {"aZ09+/", 6}, {" ~", 2},
	} {
		if got := alphabet(long(c.letters)); got != c.want {
			t.Errorf("%q: %d, want %d", c.letters, got, c.want)
		}
	}
	// With so many different letters their number does not matter, and the class decides.
	for _, c := range []struct {
		letters string
		want    int
	}{
		{"abcdefghijklmnopqrstuvwxyzabcdef", 26}, {"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF", 26},
		{"`bcdefghijklmnopqrstuvwxyzabcdef", 95}, {"{bcdefghijklmnopqrstuvwxyzabcdef", 95},
		{"@BCDEFGHIJKLMNOPQRSTUVWXYZABCDEF", 95}, {"[BCDEFGHIJKLMNOPQRSTUVWXYZABCDEF", 95},
		{"aBcdefghijklmnopqrstuvwxyzabcdef", 64}, {"0bcdefghijklmnopqrstuvwxyzabcdef", 64},
		{"+/cdefghijklmnopqrstuvwxyz012389", 64}, {"zZcdefghijklmnopqrstuvwxyz01238A", 64},
		{" bcdefghijklmnopqrstuvwxyzabcdef", 95}, {"~bcdefghijklmnopqrstuvwxyzabcdef", 95},
		{":bcdefghijklmnopqrstuvwxyzabcdef", 95}, {",bcdefghijklmnopqrstuvwxyzabcdef", 95},
		{"\x1fbcdefghijklmnopqrstuvwxyzabcdef", 256}, {"\x7fbcdefghijklmnopqrstuvwxyzabcdef", 256},
		{"\xffbcdefghijklmnopqrstuvwxyzabcdef", 256},
		{"0123456789abcdef0123456789abcdef", 16}, {"0123456789ABCDEF0123456789ABCDEF", 16},
		{"0123456789abcdef01234567", 16}, {"0123456789ABCDEF01234567", 16}, {"0123456789ABCDEG01234567", 64},
	} {
		if got := alphabet([]byte(c.letters)); got != c.want {
			t.Errorf("%q: %d, want %d", c.letters, got, c.want)
		}
	}
}
