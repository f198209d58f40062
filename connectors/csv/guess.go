package csv

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/internal/text"
)

// guess guesses from the text its encoding, the delimiter
// and the decimal mark, if they are not configured. The delimiter is also guessed for a file
// with the extension .tsv, which may be wrong.
func (c *SourceConfig) guess(ctx context.Context) error {
	if c.Encoding == "" {
		head, err := c.beginning(ctx)
		if err != nil {
			return err
		}
		c.Encoding = guessEncoding(head)
	}
	head, err := c.beginning(ctx)
	if err != nil {
		return err
	}
	head = bytes.TrimPrefix(head, []byte(text.ByteOrderMark))
	d := c.dialect().delimiter
	if c.Delimiter == "" || c.tabbed() {
		if guess := guessDelimiter(head, d); guess != d {
			d, c.Delimiter = guess, string(rune(guess))
		}
	}
	if c.Decimal == "" && c.Thousands == "" {
		c.Decimal, c.Thousands = guessDecimal(head, d)
	}
	return nil
}

// beginning returns the first 64 KiB of the source's text, converted to UTF-8 if the
// configuration has another encoding.
func (c *SourceConfig) beginning(ctx context.Context) (head []byte, err error) {
	decode, err := text.DecoderOf(c.Encoding)
	if err != nil {
		return nil, err
	}
	in, err := text.OpenEncoded(ctx, c.Path, c.Stdin, decode, Kind.Extensions...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return beginningOf(ctx, in)
}

// guessEncoding returns utf-16 if the text has its byte order mark, windows-1252 if the text is not
// UTF-8, and "" otherwise. Windows-1252 is the most frequent one-byte encoding; the others have
// different letters, but the same digits.
func guessEncoding(head []byte) string {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return "utf-16"
	}
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(head) { // not the cut end of the text
			return "windows-1252"
		}
		head = head[n:]
	}
	return ""
}

var (
	withComma   = regexp.MustCompile(`^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+$`)
	withPoint   = regexp.MustCompile(`^[+-]?\d+\.\d+$`)
	wholeNumber = regexp.MustCompile(`^[+-]?\d*$`)
	grouped     = regexp.MustCompile(`^[+-]?\d{1,3}(\.\d{3})+(,\d+)?$`)
)

// guessDecimal returns a comma if some column of a text has only numbers with a comma, and no
// column has numbers with a point other than one that groups digits. thousands is then a point
// if the numbers of a column are grouped with it. Where the comma separates fields too, numbers with a comma are in
// quotes, and those of which all have three digits behind it are grouped by it.
func guessDecimal(head []byte, delimiter byte) (decimal, thousands string) {
	records := firstFields(head, delimiter)
	if len(records) == 0 {
		return "", ""
	}
	type column struct{ comma, groups, other, uneven bool }
	columns := make([]column, len(records[0]))
	for _, fields := range records[1:] {
		if len(fields) != len(columns) {
			continue // broken
		}
		for i, f := range fields {
			f = strings.TrimSpace(f)
			groups := grouped.MatchString(f)
			if !groups && withPoint.MatchString(f) {
				return "", ""
			}
			c := &columns[i]
			c.groups = c.groups || groups
			c.comma = c.comma || withComma.MatchString(f)
			c.other = c.other || !groups && !withComma.MatchString(f) && !wholeNumber.MatchString(f)
			c.uneven = c.uneven || withComma.MatchString(f) && len(f)-strings.IndexByte(f, ',') != 4
		}
	}
	for _, c := range columns {
		if c.comma && !c.other && (delimiter != ',' || c.uneven) {
			decimal = ","
			if c.groups {
				thousands = "."
			}
		}
	}
	return decimal, thousands
}

// firstFields cuts text into the fields, without quotes, of at most 100 records. The last record, which may be
// incomplete, is left out if there are others.
func firstFields(head []byte, delimiter byte) (records [][]string) {
	var fields []string
	var b strings.Builder
	quoted, some := false, false
	field := func() {
		fields = append(fields, b.String())
		b.Reset()
	}
	for _, c := range head {
		switch {
		case c == '"':
			quoted, some = !quoted, true
		case quoted:
			b.WriteByte(c)
		case c == delimiter:
			field()
			some = true
		case c == '\n':
			if some {
				field()
				records = append(records, fields)
			}
			if fields, some = nil, false; len(records) == 100 {
				return records
			}
		case c != '\r':
			b.WriteByte(c)
			some = true
		}
	}
	if len(records) == 0 && some {
		field()
		records = append(records, fields)
	}
	return records
}

// delimiters are the usual delimiters of CSV files.
const delimiters = ",;\t|"

// guessDelimiter returns the character of delimiters that occurs most often in the first
// record of a text, and equally often in nine of ten of the other records, since some may be
// malformed; byDefault if no other one occurs more often. Text in double quotes is ignored.
func guessDelimiter(head []byte, byDefault byte) byte {
	records := firstRecords(head)
	best, most := byDefault, inEach(records, byDefault)
	for _, d := range []byte(delimiters) {
		if n := inEach(records, d); n > most {
			best, most = d, n
		}
	}
	return best
}

// firstRecords cuts text into at most 100 records at line ends outside quotes, and removes
// quoted text. The last record, which may be incomplete, is left out if there are others.
func firstRecords(head []byte) []string {
	var records []string
	var b strings.Builder
	quoted := false
	for _, c := range head {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\n' && !quoted:
			if b.Len() > 0 {
				records = append(records, b.String())
			}
			b.Reset()
		case !quoted:
			b.WriteByte(c)
		}
	}
	if len(records) == 0 {
		records = append(records, b.String())
	}
	return records[:min(len(records), 100)]
}

// inEach returns how often a character occurs in the first record; 0 if more than a tenth of
// the records differ from that.
func inEach(records []string, c byte) int {
	n, same := strings.Count(records[0], string(rune(c))), 0
	for _, r := range records {
		if strings.Count(r, string(rune(c))) == n {
			same++
		}
	}
	if 10*same < 9*len(records) {
		return 0
	}
	return n
}
