package draft

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/jsonl"
	"github.com/sdlfilter/sdlfilter/internal/pinned"
)

// Drafts of data of every kind do not change unnoticed, line by line.
func TestDraftsDoNotChange(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	table := func(head string, n int, row func(i int) string) string {
		var b strings.Builder
		fmt.Fprintln(&b, head)
		for i := range n {
			fmt.Fprintln(&b, row(i))
		}
		return b.String()
	}
	var f pinned.Figures
	cases := map[string]struct {
		file, text string
		source     connectors.SourceConfig
	}{
		"wages": {
			"wages.csv", table("person_id;birthday;sex;region;wage;tax;weight;score;note;code", 300, func(i int) string {
				tax := fmt.Sprintf("%d,5", i*37%91-20)
				if i%7 == 0 {
					tax = ""
				}
				return fmt.Sprintf("P%04d;19%02d-0%d-1%d;%s;r%d;%d,25;%s;%d,125;%d;text %d;%06d", i, 10+i%80, 1+i%9, i%10,
					[]string{"f", "m"}[i%2], i%12, 900+i*i%977, tax, 1+i%3, i%10, i, 100000+i*i*3)
			}), &csv.SourceConfig{Path: "wages.csv"}},
		"few records": {"few.csv", "id,income,kind\n1,2.5,a\n2,-3.25,b\n3,1e-3,a\n", &csv.SourceConfig{Path: "few.csv"}},
		"nothing to mask": {"plain.csv", table("sex,region", 60, func(i int) string {
			return fmt.Sprintf("%d,%d", i%2, i%3)
		}), &csv.SourceConfig{Path: "plain.csv"}},
		"texts": {"texts.csv", table("name,kind", 60, func(i int) string { return fmt.Sprintf("N%d,k%d", i, i%5) }),
			&csv.SourceConfig{Path: "texts.csv"}},
		"nested": {
			"nested.jsonl",
			table(
				`{"id":0,"home":{"rooms":3},"tags":["a"],"wage":12.5,"at":"2026-01-02T03:04:05Z","married":true,"empty":null,"precise":0.1234567890123}`, 60, func(i int) string {
					return fmt.Sprintf(
						`{"id":%d,"home":{"rooms":%d},"tags":["b"],"wage":%d.5,"at":"2026-01-02T03:04:%02dZ","married":%v,"empty":null,"precise":0.%d234567890123}`, i+1, i%4, i*i, i%60, i%2 == 0, i)
				}), &jsonl.SourceConfig{Path: "nested.jsonl"}},
		"broken": {"broken.csv", table("id,wage", 40, func(i int) string {
			if i == 39 {
				return "7,8,9"
			}
			return fmt.Sprintf("%d,%d.50", i, i*i)
		}), &csv.SourceConfig{Path: "broken.csv"}},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		if err := os.WriteFile(c.file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Of(t.Context(), c.file, c.source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.AddTree(name, strings.Split(d.Write(), "\n"), nil)
		d.Stream, d.Rare = true, 3 // as for a topic with the same columns
		f.AddTree(name+" as a topic", strings.Split(d.Write(), "\n"), nil)
	}
	f.Check(t, filepath.Join(here, "testdata", "figures.tsv"))
}
