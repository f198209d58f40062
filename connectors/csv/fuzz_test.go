package csv

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/text"
)

// records splits all of p with the tokeniser; malformed records are nil.
func records(t *testing.T, d *dialect, p []byte) [][]string {
	n, count := d.split(p, 0, true)
	if n != len(p) {
		t.Fatalf("split returns %d of the last %d bytes", n, len(p))
	}
	var b bounds
	d.tokenise(&b, p, count, true)
	out := make([][]string, count)
	at := uint32(0)
	for r := range out {
		out[r] = []string{}
		for f := range d.fields {
			start, end := b.field(r, f)
			if start < at || end < start || int(end) > len(p) {
				t.Fatalf("record %d, field %d: [%d, %d) after %d of %d", r, f, start, end, at, len(p))
			}
			at = start
			raw := p[start:end]
			if len(raw) > 0 && raw[0] == d.quote && (len(raw) < 2 || raw[len(raw)-1] != d.quote) {
				t.Fatalf("record %d, field %d: quotes that do not match", r, f)
			}
			content, _ := d.bare(raw)
			out[r] = append(out[r], string(content))
		}
	}
	for _, m := range b.malformed {
		out[m.row] = nil
	}
	return out
}

// FuzzCSV: if encoding/csv reads a text without an error, the tokeniser reads the same. The
// tokeniser never fails, and the division of the text into pieces makes no difference.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"a,b,c\n1,2,3\n", "a,b\r\n\"x\",\"y, z\"\r\n", "a,b\n\"x\"\"y\",\n", "a,b\n1\n", "a,b\n\"x\ny\",2\n", "a,b\n\"x",
		"a,b\nx\"y,z\n", "a,b\n\"x\"y,z\n3,4",
		"\n\na,b\n\n1,2\n\n", "a\n\n1\n", "a,b\n1,2\r", "a,b\n\"\",\"\"\"\"\n", "a,b\nx\"y,\"p\nq\",1\n3,z\n",
		"a,b\n1\n\n2,y\n", "\"a\r\nb\",c\r\n1,2",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) > 500 {
			t.Skip("piece by piece takes the square of the length")
		}
		r := csv.NewReader(bytes.NewReader(p))
		r.FieldsPerRecord = -1
		want, err := r.ReadAll()
		d := &dialect{delimiter: ',', quote: '"', fields: 2}
		if err == nil && len(want) > 0 {
			d.fields = len(want[0])
		}
		got := records(t, d, p)
		if err == nil && d.fields > 1 {
			if len(got) != len(want) {
				t.Fatalf("%q: %d records, want %d", p, len(got), len(want))
			}
			for i, w := range want {
				if (got[i] == nil) != (len(w) != d.fields) {
					t.Fatalf("%q: record %d: got %q, want %q", p, i, got[i], w)
				}
				for k := range got[i] {
					// encoding/csv turns every CRLF within quotes into LF.
					if g := bytes.ReplaceAll([]byte(got[i][k]), []byte("\r\n"), []byte("\n")); string(g) != w[k] {
						t.Fatalf("%q: record %d: got %q, want %q", p, i, got[i], w)
					}
				}
			}
		}
		// One record at a time, from text that grows byte by byte.
		count, at := 0, 0
		for end := 0; end <= len(p); end++ {
			n, k := d.split(p[at:end], 1, end == len(p))
			at += n
			count += k
			for k > 0 && end == len(p) {
				n, k = d.split(p[at:], 1, true)
				at += n
				count += k
			}
		}
		if count != len(got) || at > len(p) {
			t.Fatalf("%q: %d records piece by piece, %d at once", p, count, len(got))
		}
		if n, k := text.SplitLines(p, 0, true, d.blank); bytes.IndexByte(p, '"') < 0 && (n != len(p) || k != len(got)) {
			t.Fatalf("%q: %d lines, %d records", p, k, len(got))
		}
	})
}

// Empty lines after the last record are not records and do not end the input, for any number of
// them and any alignment to the eight bytes that are examined together.
func TestEmptyLinesAtTheEnd(t *testing.T) {
	d := &dialect{delimiter: ',', quote: '"', fields: 2}
	for n := range 5 {
		for empty := range 25 {
			for _, end := range []string{"", "\r", "\r\n"} {
				for _, first := range []string{"", "12345,6\n", "1234567,8\n"} {
					p := []byte(first + strings.Repeat("1,2\n", n) + strings.Repeat("\n", empty) + end)
					want := n
					if first != "" {
						want++
					}
					got := records(t, d, p)
					if len(got) != want {
						t.Fatalf("%q: %d records, want %d", p, len(got), want)
					}
					for i, r := range got {
						if len(r) != 2 || i > 0 && (r[0] != "1" || r[1] != "2") {
							t.Errorf("%q: record %d is %q", p, i, r)
						}
					}
				}
			}
		}
	}
}
