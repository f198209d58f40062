package keystream

import (
	"bytes"
	"math"
	"unicode"
	"unicode/utf8"
)

// EnoughBits is the least number of random bits that a key should have (PlausibleBits).
const EnoughBits = 128

// PlausibleBits estimates how many bits of chance are in the key: what somebody who
// guesses keys of the shapes that people make would have to try, log₂, at most 256.
// It is the least of what the key costs to write
//
//   - with its alphabet: digits, letters, the bytes that it has, …;
//   - as text of words, where it is text, or its base64 form is words;
//   - as copies of what stood before in it, as in repeated text;
//   - as differences of neighbours, as in 1, 2, 3, ….
//
// An estimate below EnoughBits says that the key was not made by chance; one above it
// does not say that it was. The zero Key has 0 bits.
func (k Key) PlausibleBits() int {
	if k.IsZero() {
		return 0
	}
	secret := k.sealed.secret[:]
	least := min(copied(secret), words(secret), words([]byte(k.Text())))
	for _, step := range []func(a, b byte) byte{func(a, b byte) byte { return b - a }, func(a, b byte) byte { return a ^ b }} {
		differences := make([]byte, keySize-1)
		for i := range differences {
			differences[i] = step(secret[i], secret[i+1])
		}
		least = min(least, 8+copied(differences))
	}
	return int(min(least, 8*keySize))
}

// copied is the least cost of a text of single bytes and of copies of two and more
// bytes from before. A single byte costs what the alphabet does, a copy its length
// and where it begins.
func copied(text []byte) float64 {
	letter := math.Log2(float64(alphabet(text)))
	cost := make([]float64, len(text)+1)
	for to := 1; to <= len(text); to++ {
		cost[to] = cost[to-1] + letter
		for from := to - 2; from > 0; from-- {
			// The copy may run into what it writes, as a period does.
			at := bytes.Index(text[:to-1], text[from:to])
			if at < 0 || at >= from {
				break
			}
			pointer := math.Log2(float64(from)) + math.Log2(float64(len(text)))
			cost[to] = min(cost[to], cost[from]+pointer)
		}
	}
	return 1 + cost[len(text)]
}

// alphabet is how many bytes a text draws on: of a usual class that holds them all,
// or where they are few, as many as they are. Of 32 random bytes some 30 differ, so
// only a count below 20 says something.
func alphabet(text []byte) int {
	var has [256]bool
	distinct := 0
	for _, b := range text {
		if !has[b] {
			has[b] = true
			distinct++
		}
	}
	n := 256
	for _, class := range []struct {
		size int
		in   func(b byte) bool
	}{
		{95, func(b byte) bool { return b >= ' ' && b <= '~' }},
		{64, func(b byte) bool { return isLetter(b) || isDigit(b) || b == '+' || b == '/' }},
		{26, func(b byte) bool { return b >= 'a' && b <= 'z' }},
		{26, func(b byte) bool { return b >= 'A' && b <= 'Z' }},
		{16, func(b byte) bool { return isDigit(b) || b >= 'a' && b <= 'f' }},
		{16, func(b byte) bool { return isDigit(b) || b >= 'A' && b <= 'F' }},
		{10, isDigit},
	} {
		all := true
		for _, b := range text {
			all = all && class.in(b)
		}
		if all {
			n = min(n, class.size)
		}
	}
	if distinct < 20*len(text)/keySize && distinct < n {
		n = distinct
	}
	return n
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }
func isDigit(b byte) bool  { return b >= '0' && b <= '9' }

// bitsOfWords is what a letter of a word is worth: words drawn from a list of 7,776
// have 12.9 bits for some five letters, sentences less.
const bitsOfWords = 2.5

// words is what a text of printable characters is worth where runs of five letters
// and more, small but for the first or all great, are words, and shorter ones between
// blanks; ∞ where it is no text.
func words(text []byte) float64 {
	if !utf8.Valid(text) {
		return math.Inf(1)
	}
	runes := []rune(string(text))
	bits, run := 0.0, 0
	single := math.Log2(float64(alphabet(text)))
	blank := true // before the run
	end := func(at int) {
		if run >= 5 || blank && (at == len(runes) || runes[at] == ' ') {
			bits += float64(bitsOfWords * float64(run))
		} else {
			bits += float64(single * float64(run))
		}
		run, blank = 0, at < len(runes) && runes[at] == ' '
	}
	upper := false // the run so far is capitals
	for i, r := range runes {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return math.Inf(1)
		}
		switch {
		case unicode.IsUpper(r):
			if run > 0 && !upper {
				end(i)
			}
			run++
			upper = true
		case unicode.IsLetter(r):
			if upper && run > 1 {
				end(i)
			}
			run++
			upper = false
		default:
			end(i)
			upper = false
			if r == ' ' && i > 0 {
				bits++ // between words
			} else {
				bits += single
			}
		}
	}
	end(len(runes))
	return bits
}
