package tabling

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// If a cell with value 0 is unsafe, it is suppressed by the rule for zeros. Then nobody is assumed
// to know that a cell is not zero, although other cells with value 0 are never suppressed.
func TestUnsafeZerosAreHeldBack(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("a,b,v\n")
	for _, cell := range []string{"x,q", "y,p", "y,q", "z,p", "z,q"} {
		text.WriteString(strings.Repeat(cell+",30\n", 9))
	}
	write(t, dir, "in.csv", text.String()+strings.Repeat("x,p,0\n", 5))
	for zeros, want := range map[string]bool{"unsafe": true, "safe": false} {
		_, p := protectedOf(t, dir, `version: 1
source: {csv: {path: %s/in.csv}}
tables: [{name: t, rows: [a, b], value: v, zeros: `+zeros+`, unsafe: [{dominance: [1, 90]}], protect: {suppress: {}}}]
sink: {csv: {path: %s/out.csv}}
`)
		found := 0
		for cell, v := range p.question.Value {
			if v == 0 {
				found++
				if p.question.Hidden[cell] != want || (p.ruleName(int32(cell)) == "zeros") != want ||
					(p.rules.Status[cell] == tables.Primary) != want {
					t.Errorf("%s: the cell of value 0 is suppressed: %v, by %q", zeros, p.question.Hidden[cell],
						p.ruleName(int32(cell)))
				}
			}
		}
		if found != 1 {
			t.Fatalf("%d cells have the value 0, want 1", found)
		}
		if known := p.question.Lower != nil; known == want {
			t.Errorf("%s: the question has lower bounds of other cells: %v", zeros, known)
		}
	}
}

// A published file that suppresses a cell with value 0 is judged as if zeros may be suppressed:
// nobody is assumed to know that a cell is not zero, and no required range is shortened for that. A
// file that publishes its zeros is judged as configured.
func TestForeignTablesThatHoldZerosBack(t *testing.T) {
	dir := t.TempDir()
	counts := map[string]int{"x1,p": 1, "x2,p": 1, "x1,q": 9, "x2,q": 8, "y1,p": 7, "y1,q": 6, "y2,p": 9}
	var text strings.Builder
	text.WriteString("a,b\n")
	for cell, n := range counts {
		text.WriteString(strings.Repeat(cell+"\n", n))
	}
	write(t, dir, "in.csv", text.String())
	judged := func(zeros, table string) *protected {
		t.Helper()
		write(t, dir, "table.csv", table)
		c := configured(t, dir, fmt.Sprintf(`version: 1
source: {csv: {path: %%s/in.csv}}
hierarchies: {a: {prefix: [1, 2]}}
tables: [{name: t, rows: [a, b], unsafe: [{threshold: 3}], protect: {suppress: {zeros: %s}}}]
sink: {csv: {path: %%s/out.csv}}
`, zeros))
		_, o := pipeline.Options{Version: "test", Log: zerolog.Nop()}.Ready(t.Context())
		r, err := open(t.Context(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		families, _, err := r.cellsOf(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.unsafe(t.Context(), families[0])
		if err != nil {
			t.Fatal(err)
		}
		for cell := range p.question.Hidden {
			p.question.Hidden[cell] = true
		}
		if err := r.readTable(Foreign{Path: dir + "/table.csv"}, []*protected{p}); err != nil {
			t.Fatal(err)
		}
		p.foreignBounds()
		if err := p.auditForeign(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	const given = "a,b,value\ntotal,total,41\ntotal,p,18\ntotal,q,23\nx,total,19\ny,total,22\ny1,total,13\ny1,p,7\ny1,q,6\ny2,total,9\n"
	for what, c := range map[string]struct {
		table string
		like  string
	}{
		"held back": {given, "may"},
		"published": {given + "y2,q,0\n", "never"},
	} {
		got, want := judged("never", c.table), judged(c.like, c.table)
		if !slices.Equal(got.rules.Down, want.rules.Down) {
			t.Errorf("%s: required ranges reach down by %v, want %v", what, got.rules.Down, want.rules.Down)
		}
		if (got.question.Lower == nil) != (c.like == "may") || !slices.Equal(got.question.Lower, want.question.Lower) {
			t.Errorf("%s: the known lower bounds are %v, want %v", what, got.question.Lower, want.question.Lower)
		}
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !slices.EqualFunc(got.ranges.Low, want.ranges.Low, same) || got.verdict.Safe() != want.verdict.Safe() {
			t.Errorf("%s: the inferred lower ends are %v, want %v", what, got.ranges.Low, want.ranges.Low)
		}
	}
	if a, b := judged("may", given), judged("never", given+"y2,q,0\n"); slices.Equal(a.rules.Down, b.rules.Down) {
		t.Error("both cases require the same ranges: the test checks nothing")
	}
}
