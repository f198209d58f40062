package project

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// dataOf are the numbers of a page that say where in the JSON they are.
var dataOf = regexp.MustCompile(`data-path="([^"]*)" data-value="([^"]*)"`)

// at is what a JSON pointer points to.
func at(t *testing.T, doc any, pointer string) any {
	t.Helper()
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch in := doc.(type) {
		case map[string]any:
			doc = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				t.Fatalf("%s is not in the report", pointer)
			}
			doc = in[i]
		}
	}
	return doc
}

// TestPages: the page has the figures of the JSON beside it, each rule with what was found, and what a table lost; the
// public one appears with the release alone, and has nothing of the persons, of rules, or of who left.
func TestPages(t *testing.T) {
	for name, c := range map[string]struct {
		rule      string
		published bool
	}{"released": {"[{max_linked: 1}]", true}, "withheld": {"[{min_k: 2}]", false}} {
		t.Run(name, func(t *testing.T) {
			care := newCare(t)
			care.pair()
			care.write("visits.csv", "vid,pid,kind\n1,P1,a\n2,P2,b\n3,P3,a\n4,P4,b\n5,P9,a\n") // the last of nobody
			care.project = strings.Replace(strings.Replace(care.project, "[{min_k: 2}]", c.rule, 1),
				"json: DIR/out/report.json", "json: DIR/out/report.json, html: DIR/out/report.html", 1)
			result, err := care.run()
			if err != nil || result.Refused() == c.published {
				t.Fatalf("refused %v, %v", result != nil && result.Refused(), err)
			}
			read := func(name string) string {
				text, err := os.ReadFile(filepath.Join(care.dir, "out", name))
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				return string(text)
			}
			page, public := read("report.html"), read("report.public.html")
			if info, err := os.Stat(filepath.Join(care.dir, "out", "report.html")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			var doc any
			if err := json.Unmarshal([]byte(read("report.json")), &doc); err != nil {
				t.Fatal(err)
			}
			found := dataOf.FindAllStringSubmatch(page, -1)
			if want := 5 + 2*len(result.Report.Tables) + 1; len(found) < want {
				t.Errorf("%d figures, want %d", len(found), want)
			}
			for _, f := range found {
				want, _ := at(t, doc, f[1]).(float64)
				if got, err := strconv.ParseFloat(f[2], 64); err != nil || got != want {
					t.Errorf("%s: the page has %s, the report %v", f[1], f[2], want)
				}
			}
			rules := strings.Count(page, `<li class="held">`) + strings.Count(page, `<li class="broken">`)
			if rules != len(result.Report.Gate.Rules) || strings.Contains(page, `<li class="broken">`) == c.published ||
				strings.Contains(page, "Withheld") == c.published || !strings.Contains(page, "refer to no record") ||
				!strings.Contains(page, "Confidential") {
				t.Errorf("%d rules of %d, or other words:\n%s", rules, len(result.Report.Gate.Rules), page)
			}
			if (public != "") != c.published {
				t.Errorf("the public page is %q", public)
			}
			for _, banned := range []string{"Confidential", "/persons", "rule", "k of", "refer to no", "quarantine", result.Report.ConfigSHA256} {
				if body := public[strings.Index(public, "<body")+1:]; public != "" && strings.Contains(body, banned) {
					t.Errorf("%q is in the public page:\n%s", banned, body)
				}
			}
			if c.published && (!strings.Contains(public, "visits.csv") ||
				!strings.Contains(public, `<span class="name">visits.pid</span> is the <span class="name">pid</span> of a record of persons`)) {
				t.Errorf("the public page is\n%s", public)
			}
		})
	}
}
