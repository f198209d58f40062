package jsonl

import (
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects may be nested, as in encoding/json.
const maxDepth = 10000

func space(p []byte, i int) int {
	for i < len(p) && (p[i] == ' ' || p[i] == '\t' || p[i] == '\r' || p[i] == '\n') {
		i++
	}
	return i
}

// plain marks the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for b := 0x20; b < 256; b++ {
		t[b] = b != '"' && b != '\\'
	}
	return t
}()

// skipString returns the place after the string at p[i], which is its quote,
// or -1 where it is not valid.
func skipString(p []byte, i int) int {
	for i++; i < len(p); {
		for i < len(p) && plain[p[i]] {
			i++
		}
		if i >= len(p) {
			return -1
		}
		switch p[i] {
		case '"':
			return i + 1
		case '\\':
			if i+1 >= len(p) {
				return -1
			}
			switch p[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if _, ok := hex4(p, i+2); !ok {
					return -1
				}
				i += 6
			default:
				return -1
			}
		default:
			return -1
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

// skipValue returns the place after the value at p[i], or -1 where it is not
// valid.
func skipValue(p []byte, i, depth int) int {
	if i >= len(p) {
		return -1
	}
	switch c := p[i]; {
	case c == '"':
		return skipString(p, i)
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
	i = space(p, i+1)
	if i < len(p) && p[i] == end {
		return i + 1
	}
	for {
		if object {
			if i >= len(p) || p[i] != '"' {
				return -1
			}
			if i = skipString(p, i); i < 0 {
				return -1
			}
			if i = space(p, i); i >= len(p) || p[i] != ':' {
				return -1
			}
			i = space(p, i+1)
		}
		if i = skipValue(p, i, depth); i < 0 {
			return -1
		}
		if i = space(p, i); i >= len(p) {
			return -1
		}
		switch p[i] {
		case end:
			return i + 1
		case ',':
			i = space(p, i+1)
		default:
			return -1
		}
	}
}

// unquote appends what a valid string says, quotes included in raw. ok is false
// where it says half of a surrogate pair, which is no text.
func unquote(dst, raw []byte) (text []byte, ok bool) {
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

// quote appends s as a JSON string.
func quote(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if plain[c] {
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
