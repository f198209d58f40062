package entered_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Tables that are of the columns or masks of a release, but of more records than it has, of other codes than it shows,
// or by another table of a mask, do not follow from it, whichever was first.
func TestTablesOfMoreThanWasReleased(t *testing.T) {
	racetest.Further(t)
	const plain = "region: {role: key}, tax: {role: sensitive, decimals: 2}"
	const asItIs = "wage: {role: sensitive, decimals: 2, unmasked: true}"
	const rule = "{column: tax, target: typical, knowledge: all_releases, min_rmse: 1}, {column: tax, max_unchanged: 1}"
	const hidden = "{noise: {columns: [tax], sd: 5}}"
	const rest = "assess: {replicates: 2, targets: [p50], sample: all, intruder: {inversion: false}}\n"
	edit := func(t *testing.T, path string, change func(string) string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(change(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	half := func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		return strings.Join(lines[:len(lines)/2], "")
	}
	recoded := noise + ", {recode: {columns: [region], file: DIR/map.csv}}"
	byMap := release{name: "people", rest: rest, masks: recoded, columns: "region: {role: key}",
		rule: "{column: wage, target: typical, knowledge: all_releases, min_rmse: 50}, {column: wage, max_unchanged: 1}"}
	const noisy = "wage: {role: sensitive, decimals: 2}"
	line := func(n int, change func(field []string)) func(string) string {
		return func(text string) string {
			lines := strings.SplitAfter(text, "\n")
			fields := strings.Split(lines[n], ",")
			change(fields)
			lines[n] = strings.Join(fields, ",")
			return strings.Join(lines, "")
		}
	}
	b := release{name: "b", rest: rest, columns: plain, masks: hidden, rule: rule}
	with := func(change func(*release)) release { r := b; change(&r); return r }
	for name, c := range map[string]struct {
		release       release
		tables        string              // the masks of the tables of the noisy wage; "": the wage is as it is
		source        func(string) string // what is changed of the source
		other, mapped func(string) string // what is other, of the source and of the map, for the records
		follow        bool
	}{
		"all":            {release: b, follow: true},
		"a sample":       {release: with(func(r *release) { r.masks = "{sample: {rate: 0.5}}, " + hidden })},
		"another source": {release: b, other: half},
		"one less": {release: b, other: func(text string) string {
			return text[:strings.LastIndex(strings.TrimSpace(text), "\n")+1]
		}},
		"a file": {release: byMap, tables: recoded, follow: true},
		"another file": {release: byMap, tables: recoded,
			mapped: func(text string) string { return strings.ReplaceAll(text, "r1,A", "r1,B") }},
		"one without identity": {release: byMap, tables: recoded, source: line(7, func(f []string) { f[0] = "" })},
	} {
		for _, first := range []string{"records", "tables"} {
			t.Run(fmt.Sprintf("%s %s first", name, first), func(t *testing.T) {
				dir := records(t, 300)
				source, codes := filepath.Join(dir, "in.csv"), filepath.Join(dir, "map.csv")
				if c.source != nil {
					edit(t, source, c.source)
				}
				text, err := os.ReadFile(source)
				if err != nil {
					t.Fatal(err)
				}
				published := func(what string) bool {
					t.Helper()
					pairs := "from,to\nr0,A\nr1,A\nr2,B\nr3,B\nr4,C\nr5,C\n"
					now := string(text)
					if c.other != nil && what == "records" {
						now = c.other(now)
					}
					if c.mapped != nil && what == "records" {
						pairs = c.mapped(pairs)
					}
					for path, text := range map[string]string{source: now, codes: pairs} {
						if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					if what == "tables" {
						masks, wage := "", asItIs
						if c.tables != "" {
							masks, wage = "masks: ["+c.tables+"]\n", noisy
						}
						return tablesOf(t, dir, "t", "", 3, masks, wage).Report.Gate.Passed
					}
					p := c.release.parse(t, dir)
					p.Columns.Named("wage").Unmasked = c.tables == ""
					result, err := filejob.Run(t.Context(), p, pipeline.Options{Log: zerolog.Nop()})
					if err != nil {
						t.Fatal(err)
					}
					return result.Report.Gate.Passed
				}
				second := map[string]string{"records": "tables", "tables": "records"}[first]
				if !published(first) {
					t.Fatalf("%s do not pass at first", first)
				}
				if got := published(second); got != c.follow {
					t.Errorf("%s after %s: passes %v, want %v", second, first, got, c.follow)
				}
			})
		}
	}
}
