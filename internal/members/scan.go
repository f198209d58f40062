package members

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects may be nested, as in encoding/json.
const maxDepth = 10000

// Space returns the place of the first byte from p[i] on that is not white space.
func Space(p []byte, i int) int {
	for i < len(p) && p[i] <= ' ' && (p[i] == ' ' || p[i] == '\n' || p[i] == '\t' || p[i] == '\r') {
		i++
	}
	return i
}

// plain reports bytes that stand for themselves in a string.
func plain(c byte) bool { return c >= 0x20 && c != '"' && c != '\\' }

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special sets the high bit of those of eight bytes that do not stand for
// themselves in a string. Bits above the lowest that is set may be wrong, since
// borrows run upwards.
func special(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs
}

// SkipString returns the place after the string at p[i], which is its quote, or
// -1 where it is not valid. Whether it is UTF-8 is not looked at.
func SkipString(p []byte, i int) int {
	i++
	for {
		for i+8 <= len(p) {
			if m := special(binary.LittleEndian.Uint64(p[i:])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for i < len(p) && plain(p[i]) {
			i++
		}
		if i >= len(p) {
			return -1
		}
		if p[i] == '"' {
			return i + 1
		}
		if i = skipEscape(p, i); i < 0 {
			return -1
		}
	}
}

// skipEscape returns the place after the escape at p[i], or -1 where there is
// none.
func skipEscape(p []byte, i int) int {
	if p[i] != '\\' || i+1 >= len(p) {
		return -1
	}
	switch p[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if _, ok := hex4(p, i+2); ok {
			return i + 6
		}
	}
	return -1
}

func hex4(p []byte, i int) (rune, bool) {
	if i+4 > len(p) {
		return 0, false
	}
	var r rune
	for _, c := range p[i : i+4] {
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// skipNumber returns the place after the number at p[i], or -1.
func skipNumber(p []byte, i int) int {
	if p[i] == '-' {
		i++
	}
	switch {
	case i >= len(p) || p[i]-'0' > 9:
		return -1
	case p[i] == '0':
		i++
	default:
		i = skipDigits(p, i)
	}
	if i < len(p) && p[i] == '.' {
		k := skipDigits(p, i+1)
		if k == i+1 {
			return -1
		}
		i = k
	}
	if i < len(p) && p[i]|0x20 == 'e' {
		i++
		if i < len(p) && (p[i] == '+' || p[i] == '-') {
			i++
		}
		k := skipDigits(p, i)
		if k == i {
			return -1
		}
		i = k
	}
	return i
}

func skipDigits(p []byte, i int) int {
	for i+8 <= len(p) {
		// A byte is a digit where it differs from '0' by less than 10: by adding 0x76 others get
		// their high bit, and nothing runs into the next byte.
		x := binary.LittleEndian.Uint64(p[i:]) ^ ones*'0'
		if m := ((x&^highs + ones*0x76) | x) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(p) && p[i]-'0' <= 9 {
		i++
	}
	return i
}

func skipWord(p []byte, i int, word string) int {
	if len(p)-i >= len(word) && string(p[i:i+len(word)]) == word {
		return i + len(word)
	}
	return -1
}

// SkipValue returns the place after the value at p[i], or -1 where it is not
// valid. depth is how many arrays and objects it lies in.
func SkipValue(p []byte, i, depth int) int {
	if i >= len(p) {
		return -1
	}
	switch c := p[i]; {
	case c == '"':
		return SkipString(p, i)
	case c == '-' || c-'0' <= 9:
		return skipNumber(p, i)
	case c == 't':
		return skipWord(p, i, "true")
	case c == 'f':
		return skipWord(p, i, "false")
	case c == 'n':
		return skipWord(p, i, "null")
	case c == '[':
		return skipList(p, i, depth+1, false)
	case c == '{':
		return skipList(p, i, depth+1, true)
	}
	return -1
}

// skipList returns the place after the array or object at p[i].
func skipList(p []byte, i, depth int, object bool) int {
	end := byte(']')
	if object {
		end = '}'
	}
	if depth > maxDepth {
		return -1
	}
	i = Space(p, i+1)
	if i < len(p) && p[i] == end {
		return i + 1
	}
	for {
		if object {
			if i >= len(p) || p[i] != '"' {
				return -1
			}
			if i = SkipString(p, i); i < 0 {
				return -1
			}
			if i = Space(p, i); i >= len(p) || p[i] != ':' {
				return -1
			}
			i = Space(p, i+1)
		}
		if i = SkipValue(p, i, depth); i < 0 {
			return -1
		}
		if i = Space(p, i); i >= len(p) {
			return -1
		}
		switch p[i] {
		case end:
			return i + 1
		case ',':
			i = Space(p, i+1)
		default:
			return -1
		}
	}
}

// Unquote appends the content of a valid string, with quotes in raw. ok is false if it contains
// half of a surrogate pair, which is not text.
func Unquote(dst, raw []byte) (text []byte, ok bool) {
	ok = true
	p := raw[1 : len(raw)-1]
	for i := 0; i < len(p); {
		if p[i] != '\\' {
			k := i
			for k < len(p) && p[k] != '\\' {
				k++
			}
			dst = append(dst, p[i:k]...)
			i = k
			continue
		}
		switch c := p[i+1]; c {
		case 'u':
			r, _ := hex4(p, i+2)
			i += 6
			if utf16.IsSurrogate(r) {
				var low rune
				if i+1 < len(p) && p[i] == '\\' && p[i+1] == 'u' {
					low, _ = hex4(p, i+2)
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					ok = false
				} else {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst, ok
}

// Quote appends s as a JSON string.
func Quote(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if plain(c) {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}
