package keystream

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// The expected values are those of docs/keystream.md §10, computed with Python's hmac module.
func TestPseudonym(t *testing.T) {
	secret := make([]byte, keySize)
	for i := range secret {
		secret[i] = byte(i)
	}
	key, err := NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ label, data, want string }{
		{"kafka-key", "", "KEoQCRcJzayIxXd_4ITrbw"},
		{"kafka-key", "respondent-17", "cJqDaBcdvSjaLFd8oEOAbw"},
		{"other", "respondent-17", "nLMIMJqDybc3gosbM6nM5g"},
	} {
		got := key.Pseudonym([]byte("x"), test.label, []byte(test.data))
		if text := base64.RawURLEncoding.EncodeToString(got[1:]); got[0] != 'x' || text != test.want {
			t.Errorf("%s of %q: %s, want %s", test.label, test.data, text, test.want)
		}
	}
}

func TestPseudonymsFromManyGoroutines(t *testing.T) {
	key := Generate()
	p := key.Pseudonyms("kafka-key")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			var buf []byte
			for i := range 500 {
				data := fmt.Appendf(nil, "respondent-%d", i)
				buf = p.Append(buf[:0], data)
				if want := key.Pseudonym(nil, "kafka-key", data); string(buf) != string(want) {
					t.Errorf("%s: %x, want %x", data, buf, want)
					return
				}
			}
		})
	}
	group.Wait()
	if text := fmt.Sprintf("%v %+v %#v", p, p, p); strings.ReplaceAll(text, redacted, "") != "  " {
		t.Errorf("printed %q", text)
	}
}

func TestPseudonymDoesNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector, which runs with -short, makes pools forget")
	}
	p := Generate().Pseudonyms("kafka-key")
	buf, data := make([]byte, 0, PseudonymSize), []byte("respondent-17")
	if n := testing.AllocsPerRun(100, func() { buf = p.Append(buf[:0], data) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPseudonym(b *testing.B) {
	p := Generate().Pseudonyms("kafka-key")
	var buf []byte
	data := []byte("respondent-17")
	for b.Loop() {
		buf = p.Append(buf[:0], data)
	}
}
