package attack

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// coded attacks n records with a text key, a numeric key and one more categorical key.
func coded(t *testing.T, n int, seed uint64, masks string) *attack.Result {
	t.Helper()
	dir := t.TempDir()
	g := rand.New(rand.NewPCG(seed, 4))
	var rows strings.Builder
	rows.WriteString("id,place,age,sex\n")
	for i := range n {
		fmt.Fprintf(&rows, "R%d,%s,%d,%s\n", i, string("abcdef"[min(g.IntN(6), g.IntN(6))]), 20+min(g.IntN(4), g.IntN(4)),
			string("fm"[g.IntN(2)]))
	}
	for name, text := range map[string]string{"in.csv": rows.String(),
		"k": base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := config.Parse("test.yaml", []byte(strings.ReplaceAll(`version: 1
key: {file: DIR/k}
source: {csv: {path: DIR/in.csv}}
sink: {csv: {path: DIR/out.csv}}
columns: {place: {role: key}, age: {role: key}, sex: {role: key}}
unlisted: drop
masks: [`+masks+`]
assess: {keys: [place, age, sex], intruder: {categorical: [age], inversion: true}}
`, "DIR", dir)), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := Run(context.Background(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func columnOf(t *testing.T, r *attack.Result, name string) inversion.CategoryResult {
	t.Helper()
	for _, c := range r.Inversion.Categories {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("%s is not among %+v", name, r.Inversion.Categories)
	return inversion.CategoryResult{}
}

// The attack claims suppressed cells as if only records of rare combinations lost any. Records that are
// candidates for these lose cells too, so that claims can be wrong; a column fails only where they are
// right more often than a guess. After a recoding they are about the recoded category.
func TestClaimsOfHiddenCellsAreTrue(t *testing.T) {
	claims := map[string]int{}
	for seed := range uint64(12) {
		for _, missing := range []string{"none", "any"} {
			for _, before := range []string{"", "{recode: {columns: [place], map: {a: x, b: x, c: y, d: y}, other: z}}, "} {
				r := coded(t, 60, seed,
					fmt.Sprintf("%s{suppress: {keys: [place, age, sex], k: %d, missing: %s}}", before, 2+seed%3, missing))
				for _, name := range []string{"place", "age", "sex"} {
					c := columnOf(t, r, name)
					claims[missing+before] += c.Claims
					if c.Claims > c.Hidden || c.By == inversion.Minimality &&
						(c.Recovered > c.Claims || float64(c.Recovered) <= c.Guess*float64(c.Claims)) {
						t.Errorf("seed %d, missing %s, column %s: wrong claims in %+v", seed, missing, name, c)
					}
					if c.By != inversion.Minimality && before == "" && !c.Passed || c.Claims == 0 && c.By == inversion.Minimality {
						t.Errorf("seed %d, missing %s, column %s: %+v", seed, missing, name, c)
					}
				}
			}
		}
	}
	for way, n := range claims {
		if n == 0 && strings.HasPrefix(way, "none") {
			t.Errorf("%s: the attack claims no suppressed cell in any trial", way)
		}
	}
}

// Matrices are applied to categories in columns of text and of numbers, and recovered categories
// are counted.
func TestPosteriorOfColumns(t *testing.T) {
	for _, c := range []struct{ column, categories string }{{"place", "[a, b, c, d, e, f]"},
		{"age", "['20', '21', '22', '23']"}, {"age", "['20.0', '21', '2.2e1', '23']"}} {
		keep := func(v string) *attack.Result {
			return coded(t, 2000, 7, fmt.Sprintf("{pram: {columns: [%s], categories: %s, keep: %s}}", c.column, c.categories, v))
		}
		r := columnOf(t, keep("1"), c.column)
		if r.Posterior == nil || *r.Posterior != 1 || r.Passed || r.Recovered != 2000 || r.By != inversion.Bayes {
			t.Errorf("%s with keep 1: %+v, want all 2000 recovered", c.column, r)
		}
		before := 0.0
		for _, v := range []string{"0.4", "0.6", "0.8", "0.95"} {
			r := columnOf(t, keep(v), c.column)
			if r.Posterior == nil || r.Rarest == nil || !(*r.Posterior > before && *r.Posterior < 1) ||
				*r.Rarest > *r.Posterior || !r.Passed || r.Recovered != 0 {
				t.Fatalf("%s with keep %s: %+v", c.column, v, r)
			}
			before = *r.Posterior
		}
	}
}

// The gate counts recovered categories and explains how they are recovered.
func TestCategoriesComputedBackAreJudged(t *testing.T) {
	r := coded(t, 300, 1,
		"{pram: {columns: [place], categories: [a, b, c, d, e, f], keep: 1}}, {recode: {columns: [sex], map: {f: w, m: m}}}")
	id := r.Identity()
	if *id.Inverted != 600 || strings.Join(id.InvertedBy, "; ") != "place, by bayes; sex, by renaming" ||
		id.Posterior != 1 {
		t.Errorf("%d values recovered by %q, posterior %v", *id.Inverted, id.InvertedBy, id.Posterior)
	}
	// Only one category remains: the release reveals only how frequent it was.
	r = coded(t, 300, 1, "{recode: {columns: [sex], map: {f: x, m: x}}}")
	if id := r.Identity(); *id.Inverted != 0 || !(float64(id.Posterior) >= 0.5 && id.Posterior < 0.7) {
		t.Errorf("one category: %d values recovered, posterior %v", *id.Inverted, id.Posterior)
	}
}

// A released column that is no key tells of a category as a key does; one that is withheld does not.
func TestColumnsBesideACategory(t *testing.T) {
	g := rand.New(rand.NewPCG(6, 36))
	var rows strings.Builder
	rows.WriteString("job,town,code,weight,day,case,mail,stamp,digits\n")
	for i := range 3000 {
		job := g.IntN(3)
		day := time.Date(2000+9*job+i%9, 1, 1+i%365, i%24, i/60%60, i%60, 0, time.UTC)
		fmt.Fprintf(&rows, "%s,%s%d,%d,%d,%s,CASE-2024-%sW-%06d,%x@%s.nz,%d%s,%d\n", string("abc"[job]), string("xyz"[job]),
			g.IntN(4), 10*job+g.IntN(5)+1, i,
			day.Format(time.DateTime), string("NSE"[job]), g.IntN(1_000_000), g.Uint64(), []string{"kiwi", "moa", "kea"}[job],
			10+i%20, day.Format("012006"), 10_000_000+g.IntN(20_000_000))
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"in.csv": rows.String(),
		"k": base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ columns, more, masks, told string }{
		{"town: {role: other}, weight: {role: other}", "", "", "job follows from town"},
		{"weight: {role: other}, code: {role: other}", "", "", "job follows from code"},
		{"code: {role: key}", "", "", "job follows from code"},
		{"code: {role: sensitive, unmasked: true}", "", "", "job follows from code"},
		{"town: {role: identifier}, weight: {role: other}", "", "", ""},
		{"town: {role: identifier}, weight: {role: key}", "", "", ""},
		// A column that is no key is judged as well.
		{"job: {role: sensitive}, town: {role: other}", "assess: {intruder: {inversion: true}}", "", "job follows from town"},
		{"job: {role: other}, town: {role: other}", "assess: {intruder: {inversion: true}}", "", "job follows from town"},
		{"job: {role: other}, weight: {role: other}", "assess: {intruder: {inversion: true}}", "", ""},
		{"job: {role: sensitive}, town: {role: key}", "gate: {rules: [{max_posterior: 0.9}]}\nassess: {keys: [town]}", "",
			"job follows from town"},
		{"job: {role: sensitive}, weight: {role: key}", "gate: {rules: [{max_posterior: 0.9}]}\nassess: {keys: [weight]}", "",
			""},
		{"job: {role: sensitive}, town: {role: sensitive}, code: {role: key}", "gate: {}\nassess: {keys: [code]}",
			", {recode: {columns: [town], prefix: 1}}", "job follows from town"},
		// Values that nearly all occur once tell by their order, and texts by some of their characters.
		{"day: {role: other}", "", "", "job follows from day"},
		{"case: {role: other}", "", "", "job follows from case"},
		{"mail: {role: other}, weight: {role: other}", "", "", "job follows from mail"},
		{"stamp: {role: other}", "", "", "job follows from stamp"},
		{"digits: {role: other}, weight: {role: other}", "", "", ""},
		// What is there for something else as well tells no less.
		{"code: {role: other}", "weight: code", "", "job follows from code"},
		{"code: {role: identifier}", "weight: code", "", ""},
		{"code: {role: other}, weight: {role: other}", "weight: code", ", {round: {columns: [code], base: 1}}",
			"code, by identity; job follows from code"},
		{"code: {role: other}, weight: {role: other}", "weight: code",
			", {calibrate: {columns: [code], on: [weight], least: 3, share: 0.9}}", "job follows from code"},
		{"job: {role: key, level: person}, town: {role: other}", "household: town", "", "job follows from town"},
		{"town: {role: sensitive}", "assess: {keys: [job], intruder: {inversion: true, uniqueness: {sensitive: [town]}}}", "",
			"job follows from town"},
		{"town: {role: other}", "", ", {pseudonym: {columns: [town], scope: t, form: hex}}", "job follows from town"},
	} {
		if !strings.Contains(c.columns, "job:") {
			c.columns = "job: {role: key}, " + c.columns
		}
		if !strings.Contains(c.more, "assess:") {
			c.more += "\nassess: {keys: [job], intruder: {inversion: true}}"
		}
		p, err := config.Parse("test.yaml", []byte(strings.ReplaceAll(`version: 1
key: {file: DIR/k}
source: {csv: {path: DIR/in.csv}}
sink: {csv: {path: DIR/out.csv}}
columns: {`+c.columns+`}
unlisted: drop
masks: [{pram: {columns: [job], categories: [a, b, c], keep: 0.6}}`+c.masks+`]
`+c.more+"\n", "DIR", dir)), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := Run(context.Background(), p, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if id := r.Identity(); strings.Join(id.InvertedBy, "; ") != c.told || (id.Posterior == 1) != (c.told != "") {
			t.Errorf("%+v: %q, posterior %v", c, id.InvertedBy, id.Posterior)
		}
	}
}

// Of a recoded column that is no key, the original category is inferred where it is sensitive; of an identifier, and of
// numbers, never.
func TestRecodedCategoriesThatAreNoKeys(t *testing.T) {
	g := rand.New(rand.NewPCG(6, 41))
	var rows strings.Builder
	rows.WriteString("diagnosis,clinic,sex\n")
	for range 2000 {
		d := g.IntN(6)
		fmt.Fprintf(&rows, "%s%d,c%d,%s\n", string("ab"[d%2]), d, 7*d, string("fm"[g.IntN(2)]))
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"in.csv": rows.String(),
		"k": base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ role, clinic, mask, told string }{
		{"sensitive", "other", "recode: {columns: [diagnosis], prefix: 1}", "diagnosis follows from clinic"},
		{"sensitive", "sensitive, unmasked: true", "recode: {columns: [diagnosis], map: {'a*': a, 'b*': b}}",
			"diagnosis follows from clinic"},
		{"sensitive", "identifier", "recode: {columns: [diagnosis], prefix: 1}", ""},
		{"other", "other", "recode: {columns: [diagnosis], prefix: 1}", ""},
		{"other", "other", "pram: {columns: [diagnosis], keep: 0.5, categories: [a0, a2, a4, b1, b3, b5]}",
			"diagnosis follows from clinic"},
		{"identifier", "other", "recode: {columns: [diagnosis], prefix: 1}", ""},
	} {
		p, err := config.Parse("test.yaml", []byte(strings.ReplaceAll(`version: 1
key: {file: DIR/k}
source: {csv: {path: DIR/in.csv}}
sink: {csv: {path: DIR/out.csv}}
columns: {diagnosis: {role: `+c.role+`}, clinic: {role: `+c.clinic+`}, sex: {role: key}}
masks: [{`+c.mask+`}]
gate: {}
`, "DIR", dir)), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			if c.role == "identifier" {
				continue // nothing masks what never leaves
			}
			t.Fatal(err)
		}
		r, _, err := Run(context.Background(), p, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		told := ""
		if r != nil {
			told = strings.Join(r.Identity().InvertedBy, "; ")
		}
		if told != c.told {
			t.Errorf("%+v: %q", c, told)
		}
	}
}
