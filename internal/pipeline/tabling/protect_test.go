package tabling

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// A total of two respondents, each alone in her part, is known by everybody to be at
// least two where zeros are never held back, and by each of them to be no less than her
// own in any case: what is asked for below is no more than that, so that the tables can
// be published, and above it is what the rule asks. Where respondents are not looked at,
// what everybody knows is all.
func TestRangesEndWhereMoreIsKnown(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("a,b\n")
	for cell, n := range map[string]int{"x1,p": 1, "x2,p": 1, "x1,q": 9, "x2,q": 8, "y1,p": 7, "y1,q": 6, "y2,p": 9, "y2,q": 11} {
		text.WriteString(strings.Repeat(cell+"\n", n))
	}
	write(t, dir, "in.csv", text.String())
	for _, c := range []struct{ suppress, want string }{
		{"zeros: never", "2"}, {"zeros: may", "1"},
		{"zeros: never, respondents: ignore", "2"}, {"zeros: may, respondents: ignore", "0"},
	} {
		res, err := run(t, dir, fmt.Sprintf(`version: 1
source: {csv: {path: %%s/in.csv}}
hierarchies: {a: {prefix: [1, 2]}}
tables: [{name: t, rows: [a, b], unsafe: [{threshold: 3}], protect: {suppress: {%s}}}]
sink: {csv: {path: %%s/out.csv}}
report: {cells: %%s/cells.csv}
`, c.suppress))
		if err != nil {
			t.Fatal(err)
		}
		if res.Report.Withheld != "" {
			t.Fatalf("%s: withheld: %s, %v", c.suppress, res.Report.Withheld, res.Report.Families[0].Refused)
		}
		found := false
		for _, row := range read(t, dir, "cells.csv") {
			if row[1] == "x" && row[2] == "p" {
				found = true
				if needLow, needHigh := row[7], row[8]; needLow != c.want || needHigh != "5" {
					t.Errorf("%s: asked for %s to %s, want %s to 5", c.suppress, needLow, needHigh, c.want)
				}
			}
		}
		if !found {
			t.Error("the cell is missing")
		}
	}
}

// Who is alone in one part of a total knows, where zeros are never held back, that the
// other parts are at least one unit each: a range that asks for less cannot be had, and
// the table is not withheld for it.
func TestRangesEndWhereARespondentKnowsMore(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("a,b,v\n")
	for _, cell := range []string{"y1,p", "y1,q", "y2,p", "y2,q", "x1,q", "x2,q"} {
		text.WriteString(strings.Repeat(cell+",300\n", 9))
	}
	write(t, dir, "in.csv", text.String()+"x1,p,1000\nx2,p,5\n")
	res, err := run(t, dir, `version: 1
source: {csv: {path: %s/in.csv}}
hierarchies: {a: {prefix: [1, 2]}}
tables: [{name: t, rows: [a, b], value: v, unsafe: [{p_percent: 15}], protect: {suppress: {}}}]
sink: {csv: {path: %s/out.csv}}
report: {cells: %s/cells.csv}
`)
	if err != nil {
		t.Fatal(err)
	}
	if res.Report.Withheld != "" {
		t.Fatalf("withheld: %s, %v", res.Report.Withheld, res.Report.Families[0].Refused)
	}
	for _, row := range read(t, dir, "cells.csv") {
		if row[1] == "x" && row[2] == "p" && (row[3] != "1005" || row[7] != "1001" || row[8] != "1155") {
			t.Errorf("the total is %s, and %s to %s is asked for; want 1005, and 1001 to 1155", row[3], row[7], row[8])
		}
	}
}

// Who ends a run while cells are looked for to hold back does not wait for the search.
func TestProtectionEndsWithTheRun(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", "a,b\n"+strings.Repeat("x,p\nx,q\nx,q\nx,q\ny,p\ny,p\ny,p\ny,q\n", 2))
	c, err := config.ParseTabulation("t.yaml", []byte(strings.ReplaceAll(`version: 1
source: {csv: {path: %s/in.csv}}
tables: [{name: t, rows: [a, b], unsafe: [{threshold: 3}], protect: {suppress: {}}}]
sink: {csv: {path: %s/out.csv}}
`, "%s", dir)), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	o := pipeline.Options{Version: "test", Log: zerolog.Nop()}
	_, o = o.Ready(ctx)
	r, err := open(ctx, c, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	families, _, err := r.cellsOf(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := r.protect(ctx, families[0]); err != nil || p.verdict.Safe() != (p.refused == nil) {
		t.Fatalf("%v, %v", p, err)
	}
	over := errors.New("over")
	cancel(over)
	if _, err := r.protect(ctx, families[0]); !errors.Is(err, over) {
		t.Errorf("the run is over, and the search ends with %v", err)
	}
}
