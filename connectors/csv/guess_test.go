package csv

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// Settings that the configuration omits are detected from the text. Configured settings do not
// change.
func TestGuess(t *testing.T) {
	wide := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune("a;b\n1,5;Ö\n2;x\n")) {
		wide = binary.LittleEndian.AppendUint16(wide, u)
	}
	ragged := "a;b;c\n" + strings.Repeat("1;2;3\n", 30)
	for name, c := range map[string]struct {
		text       string
		configured SourceConfig
		want       SourceConfig
	}{
		"plain":             {text: "a,b\n1.5,x\n"},
		"one column":        {text: "a\n1,5\n2,5\n"}, // the first record has one field
		"semicolons":        {text: "a;b\n1;x\n", want: SourceConfig{Delimiter: ";"}},
		"a record is short": {text: ragged + "1;2\n", want: SourceConfig{Delimiter: ";"}},
		"decimal commas":    {text: "a;b\n1,5;x\n-2;y\n;z\n", want: SourceConfig{Delimiter: ";", Decimal: ","}},
		"with a mark, CRLF": {text: "\xef\xbb\xbfa;b\r\nx;1,5\r\ny;2,25\r\n",
			want: SourceConfig{Delimiter: ";", Decimal: ","}},
		"groups of digits": {text: "a;b\n1.234,5;x\n2;y\n",
			want: SourceConfig{Delimiter: ";", Decimal: ",", Thousands: "."}},
		"groups before commas": {text: "a;b\n1.234;x\n2,5;y\n",
			want: SourceConfig{Delimiter: ";", Decimal: ",", Thousands: "."}},
		"groups in another column": {text: "a;b\n1,5;1.234\n2,5;1.234\n",
			want: SourceConfig{Delimiter: ";", Decimal: ","}},
		"points in another column":  {text: "a;b\n1,5;1.25\n2,5;1.5\n", want: SourceConfig{Delimiter: ";"}},
		"commas in text":            {text: "a;b\n1,5;x\nMain St. 1,5;y\n", want: SourceConfig{Delimiter: ";"}},
		"pairs of numbers are text": {text: "a;b\n1,5,7;x\n2,5;y\n", want: SourceConfig{Delimiter: ";"}},
		"decimal commas with tabs":  {text: "a\tb\n1,5\tx\n", want: SourceConfig{Delimiter: "\t", Decimal: ","}},
		"one byte a letter":         {text: "a,b\nK\xf6ln,1\n", want: SourceConfig{Encoding: "windows-1252"}},
		"one byte a letter at the top": {text: "Gr\xf6\xdfe;b\n1,5;2\n",
			want: SourceConfig{Encoding: "windows-1252", Delimiter: ";", Decimal: ","}},
		"UTF-8": {text: "a,b\nKöln,1\n"},
		"UTF-16": {
			text: string(wide), want: SourceConfig{Encoding: "utf-16", Delimiter: ";", Decimal: ","}},
		"a letter that is cut": {text: "a\n" + strings.Repeat("x", 64<<10-3) + "ö\n"},
		"told": {text: "a;b\n1,5;x\n", configured: SourceConfig{Delimiter: ",", Decimal: "."},
			want: SourceConfig{Delimiter: ",", Decimal: "."}},
	} {
		got := c.configured
		got.Path = filepath.Join(t.TempDir(), "in.csv")
		if err := os.WriteFile(got.Path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := got.guess(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got.Encoding != c.want.Encoding || got.Delimiter != c.want.Delimiter || got.Decimal != c.want.Decimal ||
			got.Thousands != c.want.Thousands {
			t.Errorf("%s: encoding %q, delimiter %q, decimal %q, thousands %q, want %q, %q, %q, %q", name,
				got.Encoding, got.Delimiter, got.Decimal, got.Thousands, c.want.Encoding, c.want.Delimiter, c.want.Decimal,
				c.want.Thousands)
		}
	}
}
