package draft

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// survey writes a CSV file of n records with a mark in every value.
func survey(t *testing.T, delimiter string, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(strings.Join([]string{"person_id", "familyName", "sex", "state_id", "income", "note", "x"}, delimiter) +
		"\n")
	for i := range n {
		fmt.Fprintln(&b, strings.Join([]string{
			fmt.Sprintf("CANARY-%05d", i), fmt.Sprintf("Canary%d", i%997), []string{"canaryF", "canaryM"}[i%2],
			fmt.Sprint(770 + i%9),
			fmt.Sprintf("%d.%02d", 31337+i*7, i%100), fmt.Sprintf("canary remark %d", i), "",
		}, delimiter))
	}
	path := filepath.Join(t.TempDir(), "survey.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The draft can be loaded without an error, contains the expected guesses, and contains no value of
// a record.
func TestDraftIsValidAndSilent(t *testing.T) {
	for _, delimiter := range []string{",", ";", "\t", "|"} {
		path := survey(t, delimiter, 1000)
		d, err := Of(context.Background(), path, &csv.SourceConfig{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		text := d.Write()
		// the name may contain any digits
		written := strings.ReplaceAll(strings.ToLower(text), strings.ToLower(filepath.Dir(path)), "DIR")
		if strings.Contains(written, "canary") || strings.Contains(written, "31337") || strings.Contains(written, "770") {
			t.Errorf("delimiter %q: the configuration contains a value of a record:\n%s", delimiter, text)
		}
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := config.Load(file, config.Options{})
		if err != nil {
			t.Fatalf("delimiter %q: %v\n%s", delimiter, err, text)
		}
		want := map[string]microdata.Role{
			"person_id": microdata.Identifier, "familyName": microdata.Identifier, "sex": microdata.Key,
			"state_id": microdata.Key,
			"income":   microdata.Sensitive, "note": microdata.Identifier, "x": microdata.Other,
		}
		for name, role := range want {
			if c := p.Columns.Named(name); c == nil || c.Role != role {
				t.Errorf("delimiter %q: %s is %+v, want role %s", delimiter, name, c, role)
			}
		}
	}
}

func TestGuessRole(t *testing.T) {
	text, whole, float, date := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64,
		arrow.FixedWidthTypes.Date32
	for _, c := range []struct {
		name     string
		kind     arrow.DataType
		distinct int
		decimals int
		want     microdata.Role
		unsure   bool
	}{
		{"ssn", text, 1000, 0, microdata.Identifier, false},
		{"PersonId", whole, 1000, 0, microdata.Identifier, false},
		{"state_id", whole, 50, 0, microdata.Key, false},
		{"house", text, 3, 0, microdata.Key, false}, // a type of house, not an address
		{"zip", text, 1000, 0, microdata.Identifier, true},
		{"birth_date", date, 900, 0, microdata.Key, false},
		{"seen", date, 900, 0, microdata.Key, false},
		{"net income", float, 800, 2, microdata.Sensitive, false},
		{"income", text, 8, 0, microdata.Sensitive, true},
		{"hh_weight", float, 400, -1, microdata.Other, false},
		{"q17", whole, 5, 0, microdata.Key, true},
		{"q18", whole, 1000, 0, microdata.Identifier, true},
		{"q19", float, 1000, 3, microdata.Sensitive, true},
		{"q20", text, 7, 0, microdata.Key, false},
		{"q21", text, 700, 0, microdata.Identifier, true},
		{"q22", arrow.ListOf(whole), 0, 0, microdata.Other, true},
	} {
		look := &Look{Records: 1000}
		col := &Column{Field: microdata.Field{Name: c.name, Type: c.kind}, Values: 1000, Distinct: c.distinct,
			Decimals: c.decimals}
		if got := look.GuessRole(col); got.Role != c.want || got.Unsure != c.unsure {
			t.Errorf("%s: %s (unsure %v: %s), want %s (unsure %v)", c.name, got.Role, got.Unsure, got.Why, c.want, c.unsure)
		}
	}
}

// A name that YAML would read differently, or that contains a line end, stays a name.
func TestNamesAreQuoted(t *testing.T) {
	for _, name := range []string{"yes", "1", "a: b", "a\nb", "#", "- x", "{", "", "null", "é", "'", `"`, "a, b", "%s"} {
		d := &Draft{Name: "n", Source: "{csv: {path: a.csv}}", Sink: "{csv: {path: b.csv}}", Looked: "all 10 records",
			Listed: []Listed{
				{&Column{Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}, Values: 10, Distinct: 9},
					Guess{Role: microdata.Sensitive, Why: "w"}}}}
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(d.Write()), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := config.Load(file, config.Options{})
		if name == "" {
			continue // a column must have a name
		}
		if err != nil || p.Columns.Named(name) == nil {
			t.Errorf("column name %q: error %v, or the column is not listed", name, err)
		}
	}
}

// A running number and a code of fixed length are identifiers; an amount is not.
func TestNumbering(t *testing.T) {
	for _, c := range []struct {
		name  string
		value func(i int) int
		want  microdata.Role
	}{
		{"running", func(i int) int { return i + 1 }, microdata.Identifier},
		{"running from somewhere, with gaps", func(i int) int { return 5_000_000 + 2*i }, microdata.Identifier},
		{"a code", func(i int) int { return 100_000_000 + i*i*797 }, microdata.Identifier},
		{"an amount", func(i int) int { return i * i * 31 }, microdata.Sensitive},
	} {
		var b strings.Builder
		b.WriteString("q\n")
		for i := range 1000 {
			fmt.Fprintln(&b, c.value(i))
		}
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Of(context.Background(), path, &csv.SourceConfig{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Listed[0]; got.Role != c.want {
			t.Errorf("%s: role %s (%s), want %s", c.name, got.Role, got.Why, c.want)
		}
	}
}

func TestAsk(t *testing.T) {
	d := &Draft{Listed: []Listed{
		{&Column{Field: microdata.Field{Name: "a", Type: arrow.PrimitiveTypes.Float64}},
			Guess{Role: microdata.Sensitive, Why: "w", Unsure: true}},
		{&Column{Field: microdata.Field{Name: "b", Type: arrow.PrimitiveTypes.Float64}},
			Guess{Role: microdata.Sensitive, Why: "w"}},
		{&Column{Field: microdata.Field{Name: "c", Type: arrow.PrimitiveTypes.Float64}},
			Guess{Role: microdata.Identifier, Why: "w", Unsure: true}},
	}}
	var out bytes.Buffer
	if err := d.Ask(strings.NewReader("nonsense\n KEY \n\n"), &out); err != nil {
		t.Fatal(err)
	}
	if d.Listed[0].Role != microdata.Key || d.Listed[1].Role != microdata.Sensitive ||
		d.Listed[2].Role != microdata.Identifier {
		t.Errorf("the roles are %s, %s and %s, want key, sensitive and identifier", d.Listed[0].Role, d.Listed[1].Role,
			d.Listed[2].Role)
	}
	if strings.Contains(out.String(), `"b"`) || !strings.Contains(out.String(), `there is no role "nonsense"`) {
		t.Errorf("the questions are\n%s", out.String())
	}
}
