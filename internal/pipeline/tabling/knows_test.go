package tabling

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// knownTables is a configuration with perturbed counts over one hierarchy.
const knownTables = `version: 1
source: {csv: {path: %s/in.csv}}
key: {file: %s/key}
identity: [id]
hierarchies: {a: {prefix: [1, 2]}}
tables: [{name: t, rows: [a, b], unsafe: [{threshold: 3}], protect: {cell_key: {max: 2, variance: 1}}}]
sink: {csv: {path: %s/out.csv}}
`

// A respondent with a record in an inner cell knows that this cell and all its totals are at least
// one, and knows nothing more about other cells. Respondents who know no more than everybody are
// omitted.
func TestWhatRespondentsKnow(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("id,a,b\n")
	id := 100
	for _, cell := range []string{"x1,p", "x1,p", "x1,q", "x2,p", "x2,q", "x2,q", "x2,q", "y1,p", "y1,p", "y1,p"} {
		rows.WriteString(string(rune('0'+id/100)) + string(rune('0'+id/10%10)) + string(rune('0'+id%10)) + "," + cell + "\n")
		id++
	}
	write(t, dir, "in.csv", rows.String())
	write(t, dir, "key", testKey)
	_, p := protectedOf(t, dir, knownTables)
	cell := map[string]int32{}
	for i := range p.set.Cells() {
		cell[p.set.Name(i)] = int32(i)
	}
	find := func(a, b string) int32 {
		t.Helper()
		for name, i := range cell {
			if strings.Contains(name, a) && strings.Contains(name, b) {
				return i
			}
		}
		t.Fatalf("no cell has %s and %s in %v", a, b, cell)
		return -1
	}
	own := p.ownParts()
	for i, v := range own {
		if want := min(1, float64(p.cells.Contributors[i])); v != want {
			t.Errorf("own part of %s is %v, want %v", p.set.Name(i), v, want)
		}
	}
	q := p.question
	q.Lower = make([]float64, len(q.Value))
	list, known := p.respondents(q, own)
	if !known || len(list) != 5 { // y1,q is empty
		t.Fatalf("respondents known: %v, %d in number, want true and 5", known, len(list))
	}
	above := map[int32][]int32{}
	for i := range p.set.Sums() {
		s := p.set.Sum(i)
		for _, part := range s.Parts {
			above[part] = append(above[part], s.Total)
		}
	}
	for _, r := range list {
		want := make([]float64, len(own))
		var up func(at int32)
		up = func(at int32) {
			want[at] = 1
			for _, total := range above[at] {
				up(total)
			}
		}
		up(r.inner)
		if !slices.Equal(r.own, want) || want[p.grand()] != 1 {
			t.Errorf("a respondent in %s knows the own parts %v, want %v", p.set.Name(int(r.inner)), r.own, want)
		}
	}
	// If everybody knows all cells except the first total, or except the inner cell, the respondent
	// still knows more. If everybody knows all cells, the respondent does not.
	for open, want := range map[int32]int{p.grand(): 5, list[0].inner: 1, list[len(list)-1].inner: 1, find("y1", "q"): 0, -1: 0} {
		for i := range q.Lower {
			q.Lower[i] = 1
		}
		if open >= 0 {
			q.Lower[open] = 0
		}
		if got, _ := p.respondents(q, own); len(got) != want {
			t.Errorf("with cell %d not known to everybody, %d respondents know more, want %d", open, len(got), want)
		}
	}
	p.options.Holdings = true
	if _, known := p.respondents(q, own); known {
		t.Error("with holdings, respondents are known, but a holding can be in several cells")
	}
	p.options.Holdings = false

	// Without the respondent with this number, the rest is unchanged.
	knower := []int32{-1, 4, 2, 4}
	if got := withoutRespondent([]float64{1, 2, 3, 4}, knower, 4); !slices.Equal(got, []float64{1, 0, 3, 0}) {
		t.Errorf("without the respondent, the values are %v", got)
	}
	p.status = make([]tables.Status, len(q.Value))
	p.status[0], p.status[1], p.status[len(p.status)-1] = tables.Primary, tables.Primary, tables.Primary
	p.verdict = audit.Verdict{Disclosed: []int32{1}}
	if got := p.uncertain(); !slices.Equal(got, []int32{0, int32(len(p.status) - 1)}) {
		t.Errorf("uncertain returns %v", got)
	}
}

// Two counts have a known total. A respondent in one of them is certain of both if nothing else is
// possible, and of none if one more value is possible.
func TestRespondentsAreCertain(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", "id,a\n1,x\n2,y\n3,y\n4,y\n")
	write(t, dir, "key", testKey)
	text := strings.NewReplacer("hierarchies: {a: {prefix: [1, 2]}}\n", "", "rows: [a, b]", "rows: [a]").Replace(knownTables)
	_, p := protectedOf(t, dir, text)
	var x, y int32 = -1, -1
	for i, v := range p.question.Value {
		switch v {
		case 1:
			x = int32(i)
		case 3:
			y = int32(i)
		}
	}
	any := func(int, int64) (int64, []float64) { return 0, nil } // all counts are equally probable
	certain := func(lowX, highX float64, own float64) []int32 {
		t.Helper()
		q := p.question
		n := len(q.Value)
		q.Hidden, q.Lower, q.Upper = make([]bool, n), slices.Clone(q.Value), slices.Clone(q.Value)
		q.Hidden[x], q.Hidden[y] = true, true
		q.Lower[x], q.Upper[x], q.Lower[y], q.Upper[y] = lowX, highX, 0, math.Inf(1)
		parts := make([]float64, n)
		parts[x] = own
		list, err := p.certainOf(q, any, parts, []int32{x, y})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := certain(0, 1, 1); !slices.Equal(got, []int32{x, y}) {
		t.Errorf("one record is possible: the respondent is certain of %v, want both cells", got)
	}
	if got := certain(0, 2, 1); len(got) > 0 {
		t.Errorf("two records are possible: the respondent is certain of %v, want no cell", got)
	}
	if got := certain(0, 1, 0); len(got) > 0 {
		t.Errorf("a respondent in neither cell is certain of %v, want no cell", got)
	}
	if got := certain(1, 1, 1); len(got) > 0 {
		t.Errorf("a respondent who knows no more than everybody is certain of %v, want no cell", got)
	}
}
