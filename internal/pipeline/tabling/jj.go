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

// jjFile is the confidential file of all cells and sums in the format JJ. With it, the
// configuration has tables of one value only.
func (o *outputs) jjFile() ([]byte, error) {
	var b bytes.Buffer
	p := o.list[0]
	err := p.jj().Write(&b, p.options.Decimals)
	return b.Bytes(), err
}

// jj returns a family in the format JJ: its cells in the order of its tables, each once even if
// two tables share it, in the unit of the value.
func (p *protected) jj() *jj.Table {
	t := &jj.Table{}
	most := 0.0
	for c, v := range p.question.Value {
		most = max(most, p.cells.Gross[c], v+p.rules.Up[c], p.rules.Down[c]-v)
	}
	least := 0.0
	if p.cells.Negative != nil { // no bounds are known: write very wide ones
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

// costOf returns the cost of suppressing each cell.
func (p *protected) costOf() func(cell int32) float64 {
	o := suppress.Options{Own: p.costs}
	if s := p.table.Protect.Suppress; s != nil {
		o.Cost = costs[s.Cost]
	}
	return func(cell int32) float64 { return o.CostOf(p.question, cell) }
}

var costs = map[string]suppress.Cost{"unit": suppress.Unit, "value": suppress.Value, "log": suppress.Log}

// isJJ reports by its name whether a file is in the format JJ.
func isJJ(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".jj") }

// readJJ reads which cells are suppressed in a file in the format JJ. The file has the cells and
// sums of the tables, and statuses that another tool gave them. Costs, bounds and protection
// levels are ignored: the rules of the configuration apply.
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

// enterJJ compares the cells and sums of a file with those of the tables: by cell numbers if these
// are those of report.jj, otherwise by values and sums.
func (f *foreignTable) enterJJ(t *jj.Table) {
	p := f.list[0]
	if len(t.Cells) != p.set.Cells() {
		f.say("%s: has %d cells, must have the %d of the tables", f.path, len(t.Cells), p.set.Cells())
		return
	}
	n := p.asNumbered(t)
	if n.other == 0 && len(n.sums) == 0 {
		for i := range t.Cells {
			p.question.Hidden[i] = t.Cells[i].Held()
		}
		return
	}
	cellOf, mixed := p.renumbered(t)
	switch {
	case cellOf != nil && len(mixed) == 0:
		for i := range t.Cells {
			p.question.Hidden[cellOf[i]] = t.Cells[i].Held()
		}
	case cellOf != nil:
		for _, class := range mixed {
			f.say(
				"%s: which of the cells %s is held back cannot be told from their values and sums, which are alike: they must be numbered as report.jj numbers them", f.path, p.names(class))
		}
	case 2*n.other > len(t.Cells):
		f.say(
			"%s: must have the values and sums of the tables: in no numbering of its cells are they those that the records give",
			f.path)
	default:
		for _, i := range n.values {
			f.say("%s: cell %d, %s, has another value than the records give", f.path, i, p.set.Name(i))
		}
		for _, text := range n.sums {
			f.say("%s: %s", f.path, text)
		}
	}
}

// numbered describes how a file with the cell numbers of report.jj differs from the tables.
type numbered struct {
	values []int // the first cells with another value
	other  int   // the number of cells with another value
	sums   []string
}

func (p *protected) asNumbered(t *jj.Table) (n numbered) {
	for i := range t.Cells {
		if math.Abs(t.Cells[i].Value*math.Pow10(p.options.Decimals)-p.question.Value[i]) > 0.5+1e-9 {
			if n.other++; n.other <= mostWrong+1 {
				n.values = append(n.values, i)
			}
		}
	}
	if 2*n.other > len(t.Cells) { // numbered otherwise, or of other tables
		return n
	}
	there, known := map[string]bool{}, map[string]bool{}
	for _, s := range t.Sums {
		there[sumKey(s)] = true
	}
	for i := range p.set.Sums() {
		s := p.set.Sum(i)
		k := sumKey(jj.Sum{Total: s.Total, Parts: s.Parts})
		if known[k] = true; !there[k] {
			n.sums = append(n.sums,
				fmt.Sprintf("the sum of %s from %s on is not there", p.set.Name(int(s.Total)), p.set.Name(int(s.Parts[0]))))
		}
	}
	for _, s := range t.Sums {
		if !known[sumKey(s)] {
			n.sums = append(n.sums, fmt.Sprintf("%s has a sum that the tables do not have", p.set.Name(int(s.Total))))
		}
	}
	return n
}

// sumKey returns a key of a sum that does not depend on the order of its parts.
func sumKey(s jj.Sum) string {
	sorted := slices.Clone(s.Parts)
	slices.Sort(sorted)
	return fmt.Sprint(s.Total, sorted)
}

// names lists the first cells by name.
func (p *protected) names(cells []int32) string {
	var names []string
	for _, c := range cells[:min(len(cells), 3)] {
		names = append(names, p.set.Name(int(c)))
	}
	text := strings.Join(names, "; ")
	if more := len(cells) - len(names); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
