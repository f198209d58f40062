package csv

import (
	"bytes"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// notation is the way in which a file writes numbers, if it is not 1234.5: the decimal
// mark, and the separator of groups of three digits.
type notation struct {
	point byte   // '.' or ','
	group []byte // one character in UTF-8; empty: digits are not grouped
}

// usual reports whether numbers are written with a point and without groups.
func (n *notation) usual() bool { return n.point == '.' && len(n.group) == 0 }

// plain writes a number with a point and without groups to buf. It returns false for a text that is
// not a number in this notation, for example 12.5 if the decimal mark is a comma. Exponents stay as
// they are.
func (n *notation) plain(p, buf []byte) ([]byte, bool) {
	buf = buf[:0]
	whole, rest := p, []byte(nil)
	for i, c := range p {
		if c == n.point || c|0x20 == 'e' {
			whole, rest = p[:i], p[i:]
			break
		}
	}
	if len(whole) > 0 && whole[0] == '-' {
		buf, whole = append(buf, '-'), whole[1:]
	}
	if buf = n.digits(buf, whole); buf == nil {
		return nil, false
	}
	if len(rest) > 0 && rest[0] == n.point {
		buf, rest = append(buf, '.'), rest[1:]
	}
	for _, c := range rest {
		if c-'0' > 9 && c|0x20 != 'e' && c != '+' && c != '-' {
			return nil, false
		}
	}
	return append(buf, rest...), true
}

// digits appends the digits of the part before the decimals; nil if a group other than
// the first does not have three digits, or if there is any other character.
func (n *notation) digits(buf, whole []byte) []byte {
	for first := true; ; first = false {
		group, rest, more := whole, []byte(nil), false
		if len(n.group) > 0 {
			group, rest, more = bytes.Cut(whole, n.group)
		}
		if first && more && (len(group) == 0 || len(group) > 3) || !first && len(group) != 3 {
			return nil
		}
		for _, c := range group {
			if c-'0' > 9 {
				return nil
			}
		}
		buf = append(buf, group...)
		if !more {
			return buf
		}
		whole = rest
	}
}

// kind is text.KindOf for a file of this notation.
func (n *notation) kind(content, buf []byte) text.Kinds {
	if n.usual() || len(content) == 0 {
		return text.KindOf(content)
	}
	if p, ok := n.plain(content, buf); ok {
		return text.KindOf(p)
	}
	k := text.KindOf(content)
	if k&(text.SeenInteger|text.SeenReal|text.SeenWide) != 0 {
		return text.SeenString // a number in another notation
	}
	return k
}

// content returns the text of a value of a type in the form that text.ParseNumber and
// text.Builder read.
func (n *notation) content(p, buf []byte, t arrow.DataType) []byte {
	if n.usual() || !(microdata.Field{Type: t}).Numeric() {
		return p
	}
	if q, ok := n.plain(p, buf); ok {
		return q
	}
	if special := text.KindOf(p)&text.SeenSpecial != 0; special {
		return p
	}
	return notNumber
}

// notNumber replaces a number in another notation: no type can read it.
var notNumber = []byte("?")

// notation of a source.
func (c *SourceConfig) notation() notation {
	n := notation{point: '.', group: []byte(c.Thousands)}
	if c.Decimal != "" {
		n.point = c.Decimal[0]
	}
	return n
}

// oneCharacter reports whether a text is one character of UTF-8.
func oneCharacter(s string) bool {
	_, size := utf8.DecodeRuneInString(s)
	return s != "" && size == len(s)
}
