package csv

import (
	"strings"
)

// Delimiters are what separates the fields of the CSV files that people have.
const Delimiters = ",;\t|"

// GuessDelimiter returns the character of Delimiters that stands most often in
// every one of the records that a text begins with, and equally often in each; the
// given one where no other does so more often. Text in double quotes is passed
// over.
func GuessDelimiter(head []byte, byDefault byte) byte {
	records := firstRecords(head)
	best, most := byDefault, inEach(records, byDefault)
	for _, d := range []byte(Delimiters) {
		if n := inEach(records, d); n > most {
			best, most = d, n
		}
	}
	return best
}

// firstRecords cuts text at line ends outside quotes and leaves out what is quoted:
// at most 100 records. The last, which may not be whole, is left out where there
// are others.
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

// inEach is how often a character stands in every record, 0 where they differ.
func inEach(records []string, c byte) int {
	n := -1
	for _, r := range records {
		k := strings.Count(r, string(rune(c)))
		if n >= 0 && k != n {
			return 0
		}
		n = k
	}
	return max(n, 0)
}
