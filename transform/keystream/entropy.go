package keystream

import (
	"bytes"
	"math"
	"unicode"
	"unicode/utf8"
)

// EnoughBits is the least number of random bits that a key should have (PlausibleBits).
const EnoughBits = 128

// PlausibleBits estimates how many random bits the key has: log₂ of the number of keys that
// somebody would have to try who guesses keys of the kinds that people make, at most 256.
// It is the least of the numbers of bits needed to write the key
//
//   - with its alphabet: digits, letters, the bytes that it has, …;
//   - as text of words, if it or its base64 form is such a text;
//   - with copies of earlier parts of it, as in repeated text;
//   - as differences of successive bytes, as in 1, 2, 3, ….
//
// An estimate below EnoughBits shows that the key is not random; one above it does not show
// that it is. The zero Key has 0 bits.
func (k Key) PlausibleBits() int {
	if k.IsZero() {
		return 0
	}
	secret := k.sealed.secret[:]
	least := min(copied(secret), words(secret), words([]byte(k.Text())))
	for _, step := range []func(a, b byte) byte{func(a, b byte) byte { return b - a }, func(a, b byte) byte {
		return a ^ b
	}} {
		differences := make([]byte, keySize-1)
		for i := range differences {
			differences[i] = step(secret[i], secret[i+1])
		}
		least = min(least, 8+copied(differences))
	}
	return int(min(least, 8*keySize))
}

// copied returns the least number of bits to write a text as single bytes and copies of two and
// more earlier bytes. A single byte costs the bits of the alphabet, a copy those of its length
// and of its beginning.
func copied(text []byte) float64 {
	letter := math.Log2(float64(alphabet(text)))
	cost := make([]float64, len(text)+1)
	for to := 1; to <= len(text); to++ {
		cost[to] = cost[to-1] + letter
		for from := to - 2; from > 0; from-- {
			// The copy may overlap the bytes that it writes, as in a periodic text.
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

// alphabet returns the size of a text's alphabet: that of a usual class that contains all of its
// bytes, or the number of distinct bytes if there are few. Of 32 random bytes about 30 differ, so
// only a number below 20 is evidence.
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

// bitsOfWords is the number of bits per letter of a word: words drawn from a list of 7,776
// have 12.9 bits for about five letters, sentences less.
const bitsOfWords = 2.5

// words returns the number of bits of a text of printable characters. Runs of five and more
// letters, all capitals or small except for the first, are words, and so are shorter runs
// between blanks. The result is ∞ for bytes that are not such a text.
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
	upper := false // the run so far consists of capitals
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
