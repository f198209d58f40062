package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestExpansion(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"plain": "from a file\r\n\n", "binary": "\xff\xfe", "colon": "a: b",
		"large": strings.Repeat("x", 1<<20+1)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		written string // in the file
		name    string // the pipeline's name
		wrong   string
	}{
		{written: "${DATA}", name: "data/in.parquet"},
		{written: "a ${WIDTH} b ${ROWS} c", name: "a 12.5 b 4096 c"},
		{written: "${ROWS}", name: "4096"},
		{written: "'${ROWS}'", name: "4096"},
		{written: "${EMPTY:-default}", name: "default"},
		{written: "${NOWHERE:-a: b}", wrong: "is not YAML"},
		{written: `"${NOWHERE:-a: b}"`, name: "a: b"},
		{written: "${DATA:-default}", name: "data/in.parquet"},
		{written: "x${NOWHERE:-}", name: "x"},
		{written: "$${DATA}", name: "${DATA}"},
		{written: "$$${DATA}", name: "$${DATA}"},
		{written: "$${DATA} ${ROWS}", name: "${DATA} 4096"},
		{written: "$DATA $", name: "$DATA $"},
		{written: "${file:plain}", name: "from a file"},
		{written: "${file:colon}", name: "a: b"},
		{written: `"${WORDS}"`, name: "{role: key}"},
		{written: "${file:nowhere}", wrong: "name: refers to ${file:nowhere}, but the file does not exist (p.yaml:1:7)"},
		{written: "${file:binary}", wrong: "is not UTF-8 text"},
		{written: "${file:large}", wrong: "is larger than a configuration may be"},
		{written: "${file:}", wrong: "must refer to ${NAME}"},
		{written: "${}", wrong: "must refer to ${NAME}"},
		{written: "${1A}", wrong: "must refer to ${NAME}"},
		{written: "a ${DATA", wrong: "has a ${ without its }"},
		{written: "${NOWHERE}", wrong: "the environment variable NOWHERE, which is not set"},
	}
	for _, test := range tests {
		p, err := Parse("p.yaml", []byte("name: "+test.written+"\n"+base), Options{LookupEnv: lookup})
		switch {
		case test.wrong == "" && err != nil:
			t.Errorf("%s: %v", test.written, err)
		case test.wrong == "" && p.Name != test.name:
			t.Errorf("%s must give %q, got %q", test.written, test.name, p.Name)
		case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)):
			t.Errorf("%s must fail with %q, got %v", test.written, test.wrong, err)
		}
	}
}

// The text of an expanded variable is a value, never YAML. It has the type that it would have in
// the file.
func TestExpansionHasTheTypeOfItsText(t *testing.T) {
	parse := func(text string) (*Pipeline, error) {
		return Parse("p.yaml", []byte(base+text), Options{LookupEnv: lookup})
	}
	if p, err := parse("window:\n  records: ${ROWS}\n"); err != nil || p.Window.Records != 4096 {
		t.Errorf("a number must be a number: %v", err)
	}
	if _, err := parse("window:\n  records: '${ROWS}'\n"); err == nil {
		t.Error("a number in quotes must stay text")
	}
	if _, err := parse("window: ${WORDS}\n"); err == nil || !strings.Contains(err.Error(), "must be a mapping") {
		t.Errorf("text that looks like a mapping must stay text, got %v", err)
	}
	if _, err := parse("identity: ${LIST}\n"); err == nil || !strings.Contains(err.Error(), "must be a list") {
		t.Errorf("text that looks like a list must stay text, got %v", err)
	}
}

func TestLoadReadsFilesAndStandardInput(t *testing.T) {
	t.Chdir(t.TempDir())
	p, err := Load("-", Options{Stdin: strings.NewReader(base), LookupEnv: lookup})
	if err != nil || p.Name != "standard input" {
		t.Errorf("standard input must load, got %v", err)
	}
	if err := os.WriteFile("nightly.yaml", []byte("\ufeff"+strings.ReplaceAll(base, "\n", "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err = Load("nightly.yaml", Options{LookupEnv: lookup}); err != nil {
		t.Errorf("byte order mark and CRLF must load, got %v", err)
	} else if p.Name != "nightly" {
		t.Errorf("the name must be the file's, got %q", p.Name)
	}
	var errs Errors
	if _, err = Load("nowhere.yaml", Options{}); !errors.As(err, &errs) ||
		err.Error() != "the configuration does not exist (nowhere.yaml)" {
		t.Errorf("a missing file: got %v", err)
	}
	if _, err = Load(".", Options{}); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a folder: got %v", err)
	}
	if err := os.WriteFile("large.yaml", []byte(strings.Repeat("#", 1<<20+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = Load("large.yaml", Options{}); err == nil ||
		!strings.Contains(err.Error(), "larger than a configuration may be") {
		t.Errorf("a large file: got %v", err)
	}
}

// The time to read a file is bounded by its length.
func TestHostileFilesEndSoon(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 20 {
		n, before := string(rune('b'+i)), string(rune('a'+i))
		if i == 0 {
			before = "a0"
		}
		bomb += n + ": &" + n + " [" + strings.Repeat("*"+before+", ", 9) + "*" + before + "]\n"
	}
	for name, text := range map[string]string{
		"aliases":   bomb,
		"brackets":  strings.Repeat("[", 200_000),
		"braces":    strings.Repeat("{a: ", 200_000),
		"dashes":    strings.Repeat("- ", 200_000),
		"closed":    strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000),
		"documents": strings.Repeat("---\n", 200_000),
		"keys":      strings.Repeat("a: 1\n", 50_000),
	} {
		start := time.Now()
		_, err := Parse(name, []byte(text), Options{LookupEnv: lookup})
		if err == nil {
			t.Errorf("%s must not load", name)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
}

// Callers that open the data report errors against the configuration, with its places.
func TestErrorfHasThePlace(t *testing.T) {
	p, err := Parse("p.yaml", []byte(base), Options{Set: []string{"masks.0.noise.sd=5"}, LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, want string }{
		{"columns.wage", "columns.wage: must exist (p.yaml:5:9)"},
		{"columns.person.income.role", "columns.person.income.role: must exist (p.yaml:6:25)"},
		{p.MaskPath(0) + ".columns[0]", "masks[0].noise.columns[0]: must exist (p.yaml:8:23)"},
		{p.MaskPath(0) + ".tiers[3].above", "masks[0].noise.tiers[3].above: must exist (p.yaml:8:12)"},
		{p.MaskPath(0) + ".sd", "masks[0].noise.sd: must exist (--set masks.0.noise.sd)"},
		{"report.json", "report.json: must exist (p.yaml:1:1)"},
	} {
		if got := p.Errorf(test.path, "must %s", "exist").Error(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	if got := (&Pipeline{Name: "x"}).Errorf("columns", "must exist").Error(); got != "columns: must exist (pipeline x)" {
		t.Errorf("without a file: got %s", got)
	}
}

func TestSHA256IsOfWhatIsInEffect(t *testing.T) {
	sum := func(text string, set ...string) string {
		p, err := Parse("p.yaml", []byte(text), Options{Set: set, LookupEnv: lookup})
		if err != nil {
			t.Fatal(err)
		}
		return p.SHA256()
	}
	plain := sum(base)
	for what, other := range map[string]string{
		"a comment":          sum("# comment\n" + base),
		"a default":          sum(base + "window: {records: 65536}\n"),
		"order":              sum(strings.Replace(base, "version: 1\n", "", 1) + "version: 1\n"),
		"a way of writing":   sum(strings.Replace(base, "35%", `"35.0 %"`, 1)),
		"the same by a flag": sum(base, "masks.0.noise.sd=35%"),
	} {
		if other != plain {
			t.Errorf("%s must make no difference", what)
		}
	}
	for what, other := range map[string]string{
		"a parameter": sum(base, "masks.0.noise.sd=36%"),
		"order of columns": sum(
			strings.Replace(base, "  wage: {role: sensitive, decimals: 2}\n  person.income: {role: other}\n",
				"  person.income: {role: other}\n  wage: {role: sensitive, decimals: 2}\n", 1)),
		"a zero as default": sum(base, "assess.replicates=0"),
		"a name":            sum(base, "name=other"),
		"a mask's name":     sum(base, "masks.0.name=other"),
		"the key's place":   sum(base, "key.file=other.key"),
	} {
		if other == plain {
			t.Errorf("%s must make a difference", what)
		}
	}
}

func TestPublicPath(t *testing.T) {
	for path, want := range map[string]string{
		"out/report.json": "out/report.public.json", "report": "report.public", "out.d/report": "out.d/report.public",
		"a/.report": "a/.report.public", "r.tar.gz": "r.tar.public.gz", "": "",
	} {
		if got := PublicPath(path); got != want {
			t.Errorf("%q must give %q, got %q", path, want, got)
		}
	}
}

func TestNoMasksIsWarnedOf(t *testing.T) {
	p, err := Load(filepath.Join("testdata", "no-masks.good.yaml"), Options{LookupEnv: lookup})
	if err != nil || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "no masks") {
		t.Errorf("must warn, got %v and %v", p, err)
	}
}
