package keystream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pinned"
)

// The estimated bits of keys of many shapes, exactly. TestPlausibleBits only checks on which side
// of the limit they are.
func TestFiguresOfPlausibleBits(t *testing.T) {
	var f pinned.Figures
	add := func(name string, secret []byte) {
		k, err := NewKey(secret)
		if err != nil {
			t.Fatal(err)
		}
		f.Add(name, float64(k.PlausibleBits()))
	}
	for _, text := range []string{"password", "the quick brown fox jumps over the lazy dog",
		"blue fish jump over wall cold rain", "CORRECTHORSEBATTERYSTAPLEPURPLEX",
		"CorrectHorseBatteryStaplePurpleX", "Survey-2026-Secret-Key-Household", "Über Äpfel, Öl und Spaß; 7 Männer",
		"ab cd ef gh ij kl mn op qr st uv wx", "aB3dE5", "a\tb\nc d", "31415926535897932384626433832795",
		"deadbeef0123456789abcdef", "DEADBEEF0123456789ABCDEF", "zq+/", "hello hello world word w",
		"fives sixes SEVEN eight Ninety ten1 ELEVEN"} {
		add(fmt.Sprintf("%q", text), bytes.Repeat([]byte(text), 33)[:32])
	}
	for n := 2; n <= 32; n += 3 {
		r, secret, period := rand.New(rand.NewPCG(uint64(n), 3)), make([]byte, 32), make([]byte, 32)
		for i := range secret {
			secret[i] = byte(5 + 11*r.IntN(n))
		}
		add(fmt.Sprint(n, " bytes"), secret)
		for i := range period {
			period[i] = byte(r.Uint32())
			if i >= n {
				period[i] = period[i-n]
			}
		}
		add(fmt.Sprint("period ", n), period)
		for i := range period {
			if period[i] = byte(r.Uint32()); i >= n {
				period[i] = 0
			}
		}
		add(fmt.Sprint(n, " bytes and zeros"), period)
		for _, step := range []int{1, 7} {
			for i := range period {
				period[i] = byte(n*n + step*i)
			}
			add(fmt.Sprint("counted from ", n*n, " by ", step), period)
		}
		for i := range period {
			period[i] = byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/ -_.,;:"[r.IntN(2*n+8)])
		}
		add(fmt.Sprint("letters of ", 2*n+8), period)
	}
	f.Check(t, "testdata/plausible_bits.txt")
}
