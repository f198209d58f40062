package csv

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/text"
)

// foreignStart returns an error if the first line of a file shows that another program's
// convention was used: lines that end with CR alone, or the line sep= of Excel.
func foreignStart(line []byte) error {
	for rest := line; ; {
		at := bytes.IndexByte(rest, '\r')
		if at < 0 {
			break
		}
		if rest = rest[at+1:]; len(rest) > 0 && rest[0] == '\n' {
			continue // within quotes
		}
		return errors.New(
			`the lines end with CR alone, as old programs of the Macintosh write them; convert them first (tr '\r' '\n')`)
	}
	if word := bytes.Trim(line, `"`); len(word) < 8 && bytes.HasPrefix(bytes.ToLower(word), []byte("sep=")) {
		return errors.New("the first line is sep=, with which Excel is told the delimiter; remove it, and say delimiter here")
	}
	return nil
}

// checkNames returns an error if some names of a header look like values: then the first record
// is most likely one of data. The error gives their places alone. If the configuration says
// header: true, they are names.
func (s *source) checkNames(names []string) error {
	if s.config.Header != nil {
		return nil
	}
	var places []string
	for i, name := range names {
		if s.valueLike(name) {
			places = append(places, fmt.Sprintf("column %d", i+1))
		}
	}
	if places == nil {
		return nil
	}
	return fmt.Errorf(
		"the file seems to have no header: the first record has values in the place of names (%s); if it has none, say header: false and names; if these are names, say header: true", check.Places(places))
}

// written is a date with the name of a month, such as 3-Mar-2020 or March 3, 2020.
var written = regexp.MustCompile(
	strings.ReplaceAll(`(?i)^(\d{1,2}[-. /]*MONTH[-., /]*\d{2,4}|MONTH[-. /]+\d{1,2}[-., /]+\d{2,4})$`,
		"MONTH", `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*`))

// valueLike reports whether a name looks like a value: a number in any notation, a date, a time, an address of e-mail,
// a text for a missing value, or any text with digits and without a letter, such as the number of a phone or a person.
func (s *source) valueLike(name string) bool {
	word := strings.TrimSpace(name)
	if word == "" {
		return false // has no name, and gets one
	}
	const values = text.SeenInteger | text.SeenWide | text.SeenReal | text.SeenDate | text.SeenTimestamp |
		text.SeenTimestampUTC
	if text.KindOf([]byte(word))&values != 0 || s.numbers.kind([]byte(word), nil)&values != 0 ||
		s.nulls.has([]byte(word)) {
		return true
	}
	if strings.ContainsRune(word, '@') || written.MatchString(word) {
		return true
	}
	return strings.ContainsFunc(word, unicode.IsDigit) && !strings.ContainsFunc(word, unicode.IsLetter)
}
