package draft

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// An identifier of persons that several records have is proposed as identity and person, and what is proposed is a
// valid configuration; one of which each record has its own, or a classification, is not.
func TestWavesAreProposed(t *testing.T) {
	racetest.Further(t)
	for name, c := range map[string]struct {
		header string
		id     func(i int) string
		want   string
	}{
		"three waves":            {"pid", func(i int) string { return fmt.Sprint("P", i%100) }, "pid"},
		"one after another":      {"person_id", func(i int) string { return fmt.Sprint(4000 + i/3) }, "person_id"},
		"a sixth is there twice": {"pid", func(i int) string { return fmt.Sprint("P", i%250) }, "pid"},
		"fewer":                  {"pid", func(i int) string { return fmt.Sprint("P", i%251) }, ""},
		"one each":               {"pid", func(i int) string { return fmt.Sprint("P", i) }, ""},
		"of households":          {"hhnr", func(i int) string { return fmt.Sprint(4000 + i/3) }, ""},
		"of streets":             {"street", func(i int) string { return fmt.Sprint("street ", i%150) }, ""},
	} {
		dir := t.TempDir()
		data := filepath.Join(dir, "d.csv")
		var b strings.Builder
		fmt.Fprintf(&b, "%s,wave,region,age,income\n", c.header)
		for i := range 300 {
			fmt.Fprintf(&b, "%s,%d,%s,%d,%d\n", c.id(i), 1+i/100, []string{"n", "s"}[i%2], 20+i%50, 1000+i*i%977)
		}
		if err := os.WriteFile(data, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Of(t.Context(), data, &csv.SourceConfig{Path: data})
		if err != nil {
			t.Fatal(err)
		}
		text := d.Write()
		const proposed = "# intruder: {linkage: {}, uniqueness: {person: ["
		if got := strings.Contains(text, proposed+c.want+"]}}"); got != (c.want != "") || !got &&
			strings.Contains(text, proposed) {
			t.Fatalf("%s: %v in\n%s", name, got, text)
		}
		if c.want == "" {
			continue
		}
		text = strings.Replace(text, "# identity:", "identity:", 1)
		line := text[strings.Index(text, proposed)+2:]
		line, _, _ = strings.Cut(line, "\n")
		at := strings.Index(text, "assess: {keys:")
		end := at + strings.Index(text[at:], "]}") + 1
		text = text[:end] + ", " + line + text[end:]
		p,
			err := config.Parse(filepath.Join(dir, "c.yaml"), []byte(text), config.Options{Environ: func() []string {
			return nil
		}})
		if err != nil || len(p.UniquenessPerson()) != 1 || p.UniquenessPerson()[0] != c.want || len(p.Identity) != 1 ||
			p.Identity[0] != c.want {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}
