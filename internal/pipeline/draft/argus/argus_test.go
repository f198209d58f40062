package argus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const someMetadata = `A 1 1 9
  <RECODEABLE>
B 3 1
  <RECODEABLE>
V 5 4
  <NUMERIC>
W 10 1
  <WEIGHT>
H 12 1
  <HOLDING>
R 14 1
  <REQUEST> "1"
`

// job is a batch file of one table with one line, or two, in place of others.
func job(table, rule, suppress, more string) string {
	return fmt.Sprintf(
		"<OPENMICRODATA> \"x.asc\"\n<OPENMETADATA> \"x.rda\"\n<SPECIFYTABLE> %s\n<SAFETYRULE> %s\n<READMICRODATA>\n<SUPPRESS> %s\n%s\n", table, rule, suppress, more)
}

// convert converts a batch file and returns what the configuration says of the table, and the notes.
func convert(t *testing.T, batch, metadata string) (string, []Note) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"x.arb": batch, "x.rda": metadata,
		"x.asc": "1 1  1,5 1 1 1\n2 2   20 2 2 2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	done, err := Convert(filepath.Join(dir, "x.arb"), filepath.Join(dir, "out"), func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if done.Wrong() != (done.Config == "") {
		t.Errorf("wrong %v, configuration %q", done.Wrong(), done.Config)
	}
	if done.Config == "" {
		if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
			t.Error("a folder is left")
		}
		return "", done.Notes
	}
	text, err := os.ReadFile(done.Config)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), done.Notes
}

const (
	values = `"A""B"|"V"`
	counts = `"A""B"|<freq>`
)

// What a line means, where it has an equivalent.
func TestEquivalents(t *testing.T) {
	for _, c := range []struct{ table, rule, suppress, want string }{
		{values, "P(15,100,1)", "MOD(1)", "unsafe: [{p_percent: 15}]\n    protect: {suppress: {cost: value}}"},
		{values, "P(15)", "NET(1)", "unsafe: [{p_percent: 15}]"},
		{values, "P(10,50,1)|P(0,100,0)", "MOD(1)", "unsafe: [{pq: [10, 50]}]"},
		{values, "NK(1,80)|NK(2,90)", "MOD(1)", "unsafe: [{dominance: [1, 80]}, {dominance: [2, 90]}]"},
		{values, "NK(0,0)|NK(0,0)|NK(2,90)", "MOD(1)", "holding: \"H\""},
		{counts, "FREQ(3,40)", "MOD(1)", "unsafe: [{threshold: 3}]\n    interval: {absolute: 0, percent: 40}"},
		{counts, "FREQ(3,40)|FREQ(0,0)", "MOD(1)", "types: {\"A\": string, \"B\": string}}}\nhierarchies"},
		{values, "P(15,100,1)|ZERO(2.5)", "MOD(1)", "zeros: unsafe\n    interval: {absolute: 2.5, percent: 0}"},
		{values, "P(15,100,1)|FREQ(3,10)|MAN(20)", "MOD(1)", "percent: 20}"},
		{values, "P(15,100,1)|FREQ(3,30)|MAN(20)", "MOD(1)", "percent: 30}"},
		{values, "REQ(60,70,0,10)", "MOD(1)", "unsafe: [{request: 60}]"},
		{values, "REQ(70,60,4,10)", "MOD(1)", "unsafe: [{request: 60}, {threshold: 4}]"},
		{values, "P(15,100,1)|WGT(1)", "MOD(1)", "weight: \"W\""},
		{values, "P(15,100,1)", "OPT(1,5)", "protect: {suppress: {cost: value, effort: optimal, patience: 5m}}"},
		{values, "P(15,100,1)", "CTA(1)", "protect: {adjust: {}}"},
		{values, "P(15,100,1)", "GH(1,100,0,1)", "protect: {suppress: {cost: value}}"},
		{values, "P(15,100,1)", "MOD(0,5)", "protect: {suppress: {cost: value}}"},
		{values + `||-2`, "P(15,100,1)", "MOD(1)", "cost: unit"},
		{values + `|"V"|"V"|0`, "P(15,100,1)", "MOD(1)", "cost: log"},
		{counts + `||-1`, "FREQ(3,40)", "MOD(1)", "cost: value"},
		{counts, "FREQ(3,40)", "RND(1,5,0,10,0,2,1)", "protect: {round: {base: 5, patience: 10m}}"},
		{`"b""a"|"v"`, "P(15,100,1)", "MOD(1)", "rows: [\"B\", \"A\"]"},
	} {
		text, notes := convert(t, job(c.table, c.rule, c.suppress, ""), someMetadata)
		if !strings.Contains(text, c.want) {
			t.Errorf("%s, %s, %s: not %q: %s %v", c.table, c.rule, c.suppress, c.want, text, notes)
		}
	}
}

// What has no equivalent is an error by its line where leaving it out would protect less or publish more, else a
// warning. Nothing is left out without a word.
func TestNothingIsDropped(t *testing.T) {
	plain := job(values, "P(15,100,1)", "MOD(1)", "")
	for _, c := range []struct {
		batch, metadata string
		line            int
		words           string
		wrong           bool
	}{
		{job(values, "P(15,100,2)", "MOD(1)", ""), "", 4, "2 contributors", true},
		{job(values, "P(15,2)", "MOD(1)", ""), "", 4, "2 contributors", true},
		{job(values, "QQ(1)", "MOD(1)", ""), "", 4, "not known", true},
		{job(values, "P(x)", "MOD(1)", ""), "", 4, "must be a number", true},
		{job(values, "NK(1)", "MOD(1)", ""), "", 4, "must have 2", true},
		{job(values, "FREQ 3", "MOD(1)", ""), "", 4, "NAME(numbers)", true},
		{job(counts, "P(15)", "MOD(1)", ""), "", 4, "to counts", true},
		{job(values, "P(15)|MIS(1)", "MOD(1)", ""), "", 4, "missing codes", false},
		{job(values, "REQ(70,60,0,10)", "MOD(1)", ""), "", 4, "lower percentage", false},
		{job(values, "REQ(70,0,3,10)", "MOD(1)", ""), "", 4, "threshold", false},
		{job(values, "FREQ(3,10)|MAN(20)", "MOD(1)", ""), "", 4, "greatest margin", false},
		{job(values+`|"W"`, "P(15)", "MOD(1)", ""), "", 3, "shadow", true},
		{job(values+`||-3`, "P(15)", "MOD(1)", ""), "", 3, "the cost", false},
		{job(values+`||-1`, "P(15)", "MOD(1)", ""), "", 3, "the cost", false},
		{job(values+`||"V",0.5`, "P(15)", "MOD(1)", ""), "", 3, "power", false},
		{job(`"A""V"|"V"`, "P(15)", "MOD(1)", ""), "", 3, "no variable of codes", true},
		{job(`"A""A"|"V"`, "P(15)", "MOD(1)", ""), "", 3, "twice", true},
		{job(`"A"|"B"`, "P(15)", "MOD(1)", ""), "", 3, "no numeric", true},
		{job(values, "P(15)", "GH(1,50,0,1)", ""), "", 6, "50 %", true},
		{job(values, "P(15)", "MOD(1,5,1,1,1,,0.9,1.1)", ""), "", 6, "LOWERMARG", true},
		{job(values, "P(15)", "MOD(2)", ""), "", 6, "no such table", true},
		{job(values, "P(15)", "RND(1,5)", ""), "", 6, "only counts", true},
		{job(counts, "FREQ(3,1)", "RND(1,5,2)", ""), "", 6, "beyond its two neighbours", false},
		{job(values, "P(15)", "CKM(1)", ""), "", 6, "cell keys", true},
		{job(values, "P(15)", "XYZ(1)", ""), "", 6, "not known", true},
		{job(values, "P(15)", "MOD(1)", "<SUPPRESS> OPT(1)"), "", 7, "line 6", true},
		{job(values, "P(15)", "MOD(1)", "<SPECIFYTABLE> \"A\"|\"V\"\n<SAFETYRULE> P(10)\n<SUPPRESS> MOD(2)"), "", 7,
			"table 1", true},
		{job(values, "P(15)", "MOD(1)", "<SPECIFYTABLE> \"A\"|\"V\"\n<SAFETYRULE> P(15)"), "", 7, "no <SUPPRESS>", false},
		{job(values, "P(15)", "MOD(1)", "<RECODE> 1, A, 2"), "", 7, "recoding", true},
		{job(values, "P(15)", "MOD(1)", "<CLEAR>"), "", 7, "of its own", true},
		{job(values, "P(15)", "MOD(1)", "<ANCO>"), "", 7, "not known", true},
		{job(values, "P(15)", "MOD(1)", "<WHATEVER>"), "", 7, "not known", true},
		{job(values, "P(15)", "MOD(1)", "whatever"), "", 7, "keyword", true},
		{job(values, "P(15)", "MOD(1)", "<SAFETYRULE> P(20)"), "", 7, "must follow", true},
		{job(values, "P(15)", "MOD(1)", "<OPENTABLEDATA> \"x.asc\""), "", 7, "only data", true},
		{job(values, "P(15)", "MOD(1)", "<APRIORI> \"no.hst\",1,\";\""), "", 7, "cannot be read", true},
		{job(values, "P(15)", "MOD(1)", "<APRIORI> \"x.asc\",1,\" \",0,1"), "", 7, "same contributors", false},
		{job(values, "P(15)", "MOD(1)", "<WRITETABLE> (1,6,,\"t.jj\")"), "", 7, "report.jj", false},
		{job(values, "P(15)", "MOD(1)", "<WRITETABLE> (1,9,,\"t.csv\")"), "", 7, "1 to 7", true},
		{job(values, "P(15)", "MOD(1)", "<WRITETABLE> (1,1,,\"t.csv\")"), "", 7, "t.csv", false},
		{job(values, "P(15)", "MOD(1)", "<SOLVER> FREE"), "", 7, "not needed", false},
		{job(values, "P(15)", "MOD(1)", "<LOGBOOK> \"l.txt\""), "", 7, "not needed", false},
		{job(values, "P(15)", "MOD(1)", "<GOINTERACTIVE>"), "", 7, "not needed", false},
		{job(values, "", "MOD(1)", ""), "", 3, "no rule", false},
		{plain, "A 1 1\n<RECODEABLE>\n<DISTANCE> 1 2\nB 3 1\n<RECODEABLE>\nV 5 4\n<NUMERIC>\n", 3, "<DISTANCE>", false},
		{plain, "A 1 1\n<RECODEABLE>\n<CODELIST> \"a.cdl\"\nB 3 1\n<RECODEABLE>\nV 5 4\n<NUMERIC>\n", 3, "<CODELIST>", false},
		{plain, "A 1 1\n<RECODEABLE>\n<OTHER>\nB 3 1\n<RECODEABLE>\nV 5 4\n<NUMERIC>\n", 3, "not known", true},
		{plain, "<SPSS>\n" + someMetadata, 1, "SPSS", true},
		{plain, "A x 1\n<RECODEABLE>\nB 3 1\n<RECODEABLE>\nV 5 4\n<NUMERIC>\n", 1, "whole number", true},
		{plain, strings.ReplaceAll(someMetadata, "<HOLDING>", "<HOLDING>\n<WEIGHT>"), 11, "what a line before says", true},
		{job(values, "P(15)|WGT(1)", "MOD(1)", ""), strings.ReplaceAll(someMetadata, "<WEIGHT>", "<HOLDING>"), 4, "<WEIGHT>",
			true},
		{job(values, "NK(0,0)|NK(0,0)|NK(1,70)", "MOD(1)", ""), strings.ReplaceAll(someMetadata, "<HOLDING>", ""), 4,
			"<HOLDING>", true},
		{job(values, "REQ(70,0,0,1)", "MOD(1)", ""), strings.ReplaceAll(someMetadata, "<REQUEST>", "<HOLDING>"), 4,
			"<REQUEST>", true},
	} {
		metadata := c.metadata
		if metadata == "" {
			metadata = someMetadata
		}
		_, notes := convert(t, c.batch, metadata)
		if !slices.ContainsFunc(notes, func(n Note) bool {
			return n.Line == c.line && strings.Contains(n.Text, c.words) && n.Wrong == c.wrong
		}) {
			t.Errorf("line %d of\n%s%s\nis not said to be %q (error %v): %v", c.line, c.batch, c.metadata, c.words, c.wrong,
				notes)
		}
	}
}

// Records become CSV: fields by their places, trimmed, with a decimal point; requests as yes and no.
func TestRecords(t *testing.T) {
	dir := t.TempDir()
	rule := "REQ(60,0,0,10)|WGT(1)|P(0,100,0)|P(0,100,0)|P(5,100,1)"
	for name, text := range map[string]string{"x.arb": job(values, rule, "MOD(1)", ""), "x.rda": someMetadata,
		"x.asc": "1 1  1,5 1 7 1\n2 2   20 2 8 2\n\x1a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Convert(filepath.Join(dir, "x.arb"), filepath.Join(dir, "out"), func([]byte) error {
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "out", "records.csv"))
	if want := "A,B,V,H,R,W\n1,1,1.5,7,yes,1\n2,2,20,8,no,2\n"; err != nil || string(got) != want {
		t.Errorf("%v, %q", err, got)
	}
}
