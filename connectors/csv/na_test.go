package csv

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// na means missing values in quotes and without them, in columns of every type and in every notation; nulls only
// without.
func TestNAInQuotesAndWithout(t *testing.T) {
	const plain = "id;income;edu;day\n1;-9;NA;2020-01-02\n2;1.234,5;a;NA\n3;;b;2021-03-04\n4;7;NA;2022-05-06\n"
	var quoted string
	for line := range strings.Lines(plain) {
		quoted += `"` + strings.ReplaceAll(strings.TrimSpace(line), ";", `";"`) + "\"\n"
	}
	for _, tt := range []struct {
		name, text string
		na         bool
		income     string // type
		nulls      [3]int // of income, edu, day
	}{
		{"plain, na", plain, true, "float64", [3]int{2, 2, 1}},
		{"quoted, na", quoted, true, "float64", [3]int{2, 2, 1}},
		{"plain, nulls", plain, false, "float64", [3]int{2, 2, 1}},
		{"quoted, nulls", quoted, false, "float64", [3]int{1, 0, 0}},
	} {
		path := filepath.Join(t.TempDir(), "in.csv")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := &SourceConfig{Path: path, Delimiter: ";", Decimal: ",", Thousands: "."}
		if tt.na {
			c.NA = []string{"-9", "NA"}
		} else {
			c.Nulls = []string{"", "-9", "NA"}
		}
		if ps := c.Check(); len(ps) > 0 {
			t.Fatal(ps)
		}
		src, err := c.Open(context.Background())
		if err != nil {
			t.Fatalf("%s: %v\n%s", tt.name, err, tt.text)
		}
		fields := src.Schema().Fields
		if got := fields[1].Type.String(); got != tt.income {
			t.Errorf("%s: income has type %s, want %s", tt.name, got, tt.income)
		}
		if got := fields[3].Type.ID(); tt.nulls[2] > 0 && got != arrow.DATE32 {
			t.Errorf("%s: day has type %s", tt.name, got)
		}
		for _, numbers := range []bool{true, false} {
			income := microdata.Want{Field: 1, As: microdata.Array}
			if numbers {
				income.As = microdata.Numbers
			}
			layout := &microdata.Layout{Schema: src.Schema(),
				Read: []microdata.Want{income, {Field: 2, As: microdata.Array}, {Field: 3, As: microdata.Array}}}
			r, err := src.Read(context.Background(), layout, connectors.Cut{})
			if err != nil {
				t.Fatal(err)
			}
			raw, err := r.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var b microdata.Block
			if err := raw.Decode(&b); err != nil {
				t.Fatal(err)
			}
			for k := range tt.nulls {
				got := 0
				if a := b.Columns[k].Array; a != nil {
					got = a.NullN()
				} else {
					got = b.N - b.Columns[k].Original.Valid.Count(b.N)
				}
				if got != tt.nulls[k] || len(b.Rejects) > 0 {
					t.Errorf("%s: column %d has %d missing values, want %d; %d records are rejected", tt.name, k+1, got, tt.nulls[k],
						len(b.Rejects))
				}
			}
			r.Close()
		}
		src.Close()
	}
}

// The decimal mark is guessed from numbers in quotes too, also where the comma separates fields.
func TestDecimalIsGuessedInQuotes(t *testing.T) {
	for _, tt := range []struct{ text, decimal, thousands string }{
		{"\"id\";\"x\"\n\"1\";\"1.234,50\"\n\"2\";\"-9\"\n\"3\";\"2.000,25\"\n", ",", "."},
		{"\"id\";\"x\"\n\"1\";\"12,5\"\n\"2\";\"\"\n\"3\";\"7\"\n", ",", ""},
		{"\"id\",\"x\"\n\"1\",\"12,5\"\n\"2\",\"1.000,75\"\n", ",", "."},
		{"\"id\",\"x\"\n\"1\",\"1,234\"\n\"2\",\"12,345\"\n", "", ""},    // grouped
		{"\"id\",\"x\",\"y\"\n\"1\",\"12,5\",\"1.5\"\n", "", ""},         // both marks
		{"\"id\",\"x\"\n\"1\",\"Smith, John\"\n\"2\",\"a,5\"\n", "", ""}, // texts
		{"id;x\n1;1,5\n2;3,25\n", ",", ""},                               // without quotes
		{"\"id\";\"x\"\n\"1\";\"a\nb,5\"\n\"2\";\"3,5\"\n", "", ""},      // a line end in quotes
		{"\"id\";\"x;y\"\n\"1\";\"3,5\"\n\"2\";\"4,5\"\n", ",", ""},      // the separator in quotes
	} {
		path := filepath.Join(t.TempDir(), "in.csv")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := &SourceConfig{Path: path}
		if err := c.guess(context.Background()); err != nil {
			t.Fatal(err)
		}
		if c.Decimal != tt.decimal || c.Thousands != tt.thousands {
			t.Errorf("%q: guessed %q and %q, want %q and %q", tt.text, c.Decimal, c.Thousands, tt.decimal, tt.thousands)
		}
	}
}
