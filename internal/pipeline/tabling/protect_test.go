package tabling

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// A total of two respondents, each alone in one part: if zeros are never suppressed, everybody
// knows that it is at least two, and each respondent knows in any case that it is at least their
// own value. The required lower bound is no lower than that, so the tables can be published; the
// required upper bound is that of the rule. If respondents are ignored, only the general knowledge
// counts.
func TestRangesEndWhereMoreIsKnown(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("a,b\n")
	for cell, n := range map[string]int{"x1,p": 1, "x2,p": 1, "x1,q": 9, "x2,q": 8, "y1,p": 7, "y1,q": 6, "y2,p": 9,
		"y2,q": 11} {
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
			t.Fatalf("%s: withheld because %s, %v", c.suppress, res.Report.Withheld, res.Report.Families[0].Refused)
		}
		found := false
		for _, row := range read(t, dir, "cells.csv") {
			if row[1] == "x" && row[2] == "p" {
				found = true
				if needLow, needHigh := row[7], row[8]; needLow != c.want || needHigh != "5" {
					t.Errorf("%s: the required range is %s to %s, want %s to 5", c.suppress, needLow, needHigh, c.want)
				}
			}
		}
		if !found {
			t.Error("the cell is missing")
		}
	}
}

// If zeros are never suppressed, a respondent who is alone in one part of a total knows that the
// other parts are at least one unit each. A wider range is impossible, and the table is not
// withheld for it.
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
		t.Fatalf("withheld because %s, %v", res.Report.Withheld, res.Report.Families[0].Refused)
	}
	for _, row := range read(t, dir, "cells.csv") {
		if row[1] == "x" && row[2] == "p" && (row[3] != "1005" || row[7] != "1001" || row[8] != "1155") {
			t.Errorf("the total is %s with the required range %s to %s; want 1005, 1001 to 1155", row[3], row[7], row[8])
		}
	}
}

// If a run is cancelled during the search for cells to suppress, it does not wait for the search.
func TestProtectionEndsWithTheRun(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", "a,b\n"+strings.Repeat("x,p\nx,q\nx,q\nx,q\ny,p\ny,p\ny,p\ny,q\n", 2))
	c, err := tabulation.Parse("t.yaml", []byte(strings.ReplaceAll(`version: 1
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
	if p, err := r.protect(ctx, families[0]); err != nil || p.verdict.Safe() != (p.unprotectable == nil) {
		t.Fatalf("protect returns %v and error %v", p, err)
	}
	over := errors.New("over")
	cancel(over)
	if _, err := r.protect(ctx, families[0]); !errors.Is(err, over) {
		t.Errorf("with an ended context, protect returns %v, want its cause", err)
	}
}

// If zeros may be suppressed, every empty cell may be, in any corner of the table; if they never
// are, none may be.
func TestCellsOfNobodyMayBeHeldBack(t *testing.T) {
	for _, a := range [][2]string{{"x", "y"}, {"y", "x"}} {
		for _, b := range [][2]string{{"p", "q"}, {"q", "p"}} {
			dir := t.TempDir()
			write(t, dir, "in.csv", "a,b\n"+strings.Repeat("x,p\nx,q\ny,p\ny,q\n", 5))
			full, err := os.ReadFile(filepath.Join(dir, "in.csv"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, "in.csv", strings.ReplaceAll(string(full), a[1]+","+b[1]+"\n", ""))
			for zeros, want := range map[string]int{"may": 0, "never": 1} {
				_, p := protectedOf(t, dir, `version: 1
source: {csv: {path: %s/in.csv}}
tables: [{name: t, rows: [a, b], unsafe: [{threshold: 2}], protect: {suppress: {zeros: `+zeros+`}}}]
sink: {csv: {path: %s/out.csv}}
`)
				empty := 0
				for _, status := range p.rules.Status {
					if status == tables.Empty {
						empty++
					}
				}
				if empty != want {
					t.Errorf("zeros %s, empty cell %s, %s: %d cells count as known, want %d", zeros, a[1], b[1], empty, want)
				}
			}
		}
	}
}

// For a suppressed cell, the file of all cells contains the range that can be computed: an unknown
// end, on either side, is empty.
func TestRangesWithoutAnEnd(t *testing.T) {
	dir := shopsIn(t)
	_, p := protectedOf(t, dir, shopTables)
	for cell := range p.status {
		if !p.ranged(int32(cell)) {
			continue
		}
		for _, c := range []struct {
			low, high float64
			want      [2]string
		}{
			{2, 5, [2]string{"2", "5"}}, {math.Inf(-1), 5, [2]string{"", "5"}}, {-1, math.Inf(1), [2]string{"-1", ""}},
			{math.Inf(-1), math.Inf(1), [2]string{}},
		} {
			p.ranges.Low[cell], p.ranges.High[cell] = c.low, c.high
			if f := p.cellFields(int32(cell)); [2]string(f[6:8]) != c.want || f[8] != "" {
				t.Errorf("range %v to %v is written %q", c.low, c.high, f)
			}
		}
		return
	}
	t.Error("no cell is suppressed")
}
