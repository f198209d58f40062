package tabling

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/jj"
	"github.com/sdlfilter/sdlfilter/internal/tables/suppress"
)

// jjFile is the confidential file of all cells and sums in the format JJ; the configuration
// has tables of one value then.
func (o *outputs) jjFile() ([]byte, error) {
	var b bytes.Buffer
	p := o.list[0]
	err := p.jj().Write(&b, p.options.Decimals)
	return b.Bytes(), err
}

// jj is a family in the format JJ: its cells in the order of its tables, one that two of them
// share once, in the unit of the value.
func (p *protected) jj() *jj.Table {
	t := &jj.Table{}
	most := 0.0
	for c, v := range p.question.Value {
		most = max(most, p.cells.Gross[c], v+p.rules.Up[c], p.rules.Down[c]-v)
	}
	least := 0.0
	if p.cells.Negative != nil { // of which nothing is known: as good as none
		most *= 10
		least = -most
	}
	cost := p.costOf()
	for c, v := range p.question.Value {
		cell := jj.Cell{
			Value: p.number(v), Cost: cost(int32(c)), Status: p.jjStatus(int32(c)),
			Lower: p.number(least), Upper: p.number(most), Down: p.number(p.rules.Down[c]), Up: p.number(p.rules.Up[c]),
		}
		if l := p.question.Lower; l != nil && !math.IsInf(l[c], -1) {
			cell.Lower = p.number(l[c])
		}
		t.Cells = append(t.Cells, cell)
	}
	for i := range p.set.Sums() {
		s := p.set.Sum(i)
		t.Sums = append(t.Sums, jj.Sum{Total: s.Total, Parts: s.Parts})
	}
	return t
}

func (p *protected) jjStatus(cell int32) byte {
	mayNot := p.rules.Published != nil && p.rules.Published[cell]
	if s := p.table.Protect.Suppress; p.question.Value[cell] == 0 {
		mayNot = mayNot || s == nil || s.Zeros == "never"
	}
	switch {
	case p.status[cell] == tables.Primary:
		return jj.Unsafe
	case p.hidden(cell):
		return jj.Secondary
	case mayNot:
		return jj.Fixed
	}
	return jj.Safe
}

// costOf gives what it costs to hold each cell back.
func (p *protected) costOf() func(cell int32) float64 {
	o := suppress.Options{Own: p.costs}
	if s := p.table.Protect.Suppress; s != nil {
		o.Cost = costs[s.Cost]
	}
	return func(cell int32) float64 { return o.CostOf(p.question, cell) }
}

var costs = map[string]suppress.Cost{"unit": suppress.Unit, "value": suppress.Value, "log": suppress.Log}

// isJJ reports whether a file is in the format JJ, by its name.
func isJJ(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".jj") }

// readJJ reads which cells a file in the format JJ holds back: one that was written here (report.jj),
// with the statuses that another tool has given to its cells. Costs, bounds and protection levels
// are not looked at: the rules of the configuration hold.
func (f *foreignTable) readJJ() error {
	if len(f.list) > 1 {
		return pipeline.DataErrorf("table: %s: must be CSV, where tables are of several values", f.path)
	}
	file, err := os.Open(f.path)
	if err != nil {
		return pipeline.DataErrorf("table: %s %s", f.path, form.Reason(err))
	}
	defer file.Close()
	t, problems := jj.Read(file)
	for _, problem := range problems {
		f.say("%s:%s", f.path, problem.Error())
	}
	if t != nil {
		f.enterJJ(t)
	}
	return f.problem()
}

// enterJJ holds cells and sums against those of the tables.
func (f *foreignTable) enterJJ(t *jj.Table) {
	p := f.list[0]
	if len(t.Cells) != p.set.Cells() {
		f.say("%s: has %d cells, must have the %d of the tables, as report.jj has them", f.path, len(t.Cells), p.set.Cells())
		return
	}
	for i := range t.Cells {
		if math.Abs(t.Cells[i].Value*math.Pow10(p.options.Decimals)-p.question.Value[i]) > 0.5+1e-9 {
			f.say("%s: cell %d, %s, has another value than the records give", f.path, i, p.set.Name(i))
		}
		p.question.Hidden[i] = t.Cells[i].Held()
	}
	key := func(total int32, parts []int32) string {
		sorted := slices.Clone(parts)
		slices.Sort(sorted)
		return fmt.Sprint(total, sorted)
	}
	there, known := map[string]bool{}, map[string]bool{}
	for _, s := range t.Sums {
		there[key(s.Total, s.Parts)] = true
	}
	for i := range p.set.Sums() {
		s := p.set.Sum(i)
		if known[key(s.Total, s.Parts)] = true; !there[key(s.Total, s.Parts)] {
			f.say("%s: the sum of %s from %s on is not there", f.path, p.set.Name(int(s.Total)), p.set.Name(int(s.Parts[0])))
		}
	}
	for _, s := range t.Sums {
		if !known[key(s.Total, s.Parts)] {
			f.say("%s: %s has a sum that the tables do not have", f.path, p.set.Name(int(s.Total)))
		}
	}
}
