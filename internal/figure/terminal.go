package figure

import (
	"bytes"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable replaces characters that could control a terminal, because a column's name
// may contain escape sequences. A no-break space, which formatted numbers contain,
// becomes a space.
func Printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '\u00a0' {
			return ' '
		}
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
}

// PageText replaces what a page must not have: control characters, which a column's or a group's name may contain.
func PageText(page []byte) []byte {
	return bytes.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\t' || c == utf8.RuneError {
			return '?'
		}
		return c
	}, page)
}

// Terminal collects text for a terminal: lines of at most Width cells, with ANSI
// colours and a few special characters if Color is set; otherwise the program's own
// text is ASCII.
type Terminal struct {
	strings.Builder
	Color bool
	Width int
}

// The width of a terminal of unknown width, and the least width for tables.
const (
	defaultWidth = 100
	leastWidth   = 60
)

// NewTerminal returns a terminal of the given width; 0 stands for 100, and less than 60
// for 60.
func NewTerminal(color bool, width int) Terminal {
	if width <= 0 {
		width = defaultWidth
	}
	return Terminal{Color: color, Width: max(width, leastWidth)}
}

// Line writes a line without trailing spaces.
func (t *Terminal) Line(text string) {
	t.WriteString(strings.TrimRight(text, " "))
	t.WriteByte('\n')
}

// Paint puts ANSI attributes around a text: 1 bold, 2 dim, 31 red, 32 green.
func (t *Terminal) Paint(code, text string) string {
	if !t.Color || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Words converts text of the program for this terminal: to ASCII if it has no colours.
func (t *Terminal) Words(s string) string {
	s = strings.ReplaceAll(s, "\u00a0", " ")
	if t.Color {
		return s
	}
	return plainSigns.Replace(s)
}

var plainSigns = strings.NewReplacer("−", "-", "±", "+/-", "∞", "infinite", "–", "-", "₀", "0", "×10", "e", "’", "'",
	"…", ".",
	"√", "root ", "×", "x", "·", "*", "¼", "1/4", "✓", "ok:", "✗", "no:",
	"⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9", "⁻", "-")

// Cut shortens text of the program to a width, with an ellipsis that this terminal can
// show.
func (t *Terminal) Cut(s string, width int) string { return t.Words(Cut(t.Words(s), width)) }

// Wrapped writes text of the program in indented lines, with the ANSI attributes code
// or "".
func (t *Terminal) Wrapped(indent, code, text string) {
	for _, l := range Wrap(t.Words(text), t.Width-len(indent)) {
		t.Line(indent + t.Paint(code, l))
	}
}

// Cells returns the width of s on a terminal: East Asian characters and most
// pictographs take two cells, combining marks and direction marks none.
func Cells(s string) (n int) {
	for _, c := range s {
		switch {
		case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		case c >= 0x1100 && c <= 0x115f, c >= 0x2e80 && c <= 0xa4cf, c >= 0xac00 && c <= 0xd7a3,
			c >= 0xf900 && c <= 0xfaff, c >= 0xfe30 && c <= 0xfe6f, c >= 0xff00 && c <= 0xff60, c >= 0x1f300 && c <= 0x1faff,
			c >= 0x20000 && c <= 0x3fffd:
			n += 2
		default:
			n++
		}
	}
	return n
}

// Isolated encloses a name that contains right-to-left letters in U+2068 and U+2069
// (Unicode UAX 9), so that the name does not reorder the text around it.
func Isolated(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool {
		return unicode.In(c, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Samaritan,
			unicode.Mandaic, unicode.Adlam)
	}) {
		return "\u2068" + s + "\u2069"
	}
	return s
}

// Cut shortens s to at most width cells.
func Cut(s string, width int) string {
	if Cells(s) <= width {
		return s
	}
	kept := ""
	for _, c := range s {
		if Cells(kept+string(c)) > width-1 {
			break
		}
		kept += string(c)
	}
	return kept + "…"
}

// Pad fills s with spaces to width cells.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", int(math.Max(0, float64(width-Cells(s)))))
}

// Left fills s with spaces on the left to width cells.
func Left(s string, width int) string {
	return strings.Repeat(" ", int(math.Max(0, float64(width-Cells(s))))) + s
}

// Wrap breaks text at spaces into lines of at most width cells; a longer word is broken
// at the width.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && Cells(line)+1+Cells(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for Cells(line) > width {
			end := 0
			for i, c := range line {
				if Cells(line[:i]+string(c)) > width {
					break
				}
				end = i + utf8.RuneLen(c)
			}
			lines = append(lines, line[:end])
			line = line[end:]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
