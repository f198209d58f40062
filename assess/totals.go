package assess

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/joint"
	"github.com/sdlfilter/sdlfilter/assess/internal/totals"
)

// Totals is a published table of sums of a masked column over cells of the records.
type Totals struct {
	Entry  int64 // of the ledger
	Name   string
	Column string // that is summed
	By     []TotalsBy
	Hidden []int64 // the places of the cells that are held back, row-major over the nodes, the last variable fastest
	// Percent is how closely nobody is to know the largest value of a cell, in percent of it, by the rules of the
	// table; 0: they do not say.
	Percent float64
}

// KnownTotals says how many of the largest values of a table's inner cells are known more closely by records and
// tables together than its rules allow, and not by the records alone.
type KnownTotals struct {
	Totals
	Values int
}

// TotalsBy is a variable of a table: the column with its codes, and its nodes, each with the leaves below it.
type TotalsBy struct {
	Column string
	Leaves []string
	Nodes  [][]int32
}

// told is what totals tell of a column: further columns for a snooper who has them, and further observations of its
// values, which are independent of those of its masks.
type told struct {
	columns []joint.Column
	lean    []joint.Column // those that rest on the column alone: beside many others few tell less
	held    []Held
	// by record, the standard deviations of what is left of its value by the records, and with the totals
	before, after []float64
	// within is after, of some records, for respondents (totals.System.Within)
	within func(of []int) ([]float64, error)
}

// summed is a masked column of which totals were published, and what else is known of it.
type summed struct {
	name string
	x, y []float64 // by record
	own  int
	held []Held // what the releases have of it
}

var errSample = errors.New("the sample does not hold all records (assess: sample: all)")

var errDependent = errors.New("columns of their sums are linear functions of each other, which is not computed")

// dependent reports whether a column is, but for a thousandth of its spread, a linear function of others: the sums of
// one are then equations for the others too. Records that lack a value are left out.
func dependent(columns [][]float64) bool {
	if len(columns) < 2 {
		return false
	}
	var rows []int
	for i := range columns[0] {
		if !slices.ContainsFunc(columns, func(c []float64) bool { return c[i] != c[i] }) {
			rows = append(rows, i)
		}
	}
	var basis [][]float64 // orthogonal, each with mean 0
	for _, c := range columns {
		left, mean := make([]float64, len(rows)), 0.0
		for k, i := range rows {
			left[k] = c[i]
			mean += c[i] / float64(len(rows))
		}
		for k := range left {
			left[k] -= mean
		}
		before := inner(left, left)
		for range 2 { // once more for what rounding leaves
			for _, b := range basis {
				share := inner(left, b) / inner(b, b)
				for k := range left {
					left[k] -= share * b[k]
				}
			}
		}
		if !(inner(left, left) > 1e-6*before) {
			return true
		}
		basis = append(basis, left)
	}
	return false
}

func inner(a, b []float64) (sum float64) {
	for k := range a {
		sum += a[k] * b[k]
	}
	return sum
}

// systemOf returns the equations of the totals of a column. members has the codes of the records, by column.
func systemOf(list []Totals, column string, n int, members map[string][]float64) (*totals.System, error) {
	var tables []totals.Table
	for _, t := range list {
		if t.Column != column {
			continue
		}
		one := totals.Table{Hidden: t.Hidden}
		for _, by := range t.By {
			codes, err := by.codes(members[by.Column], n)
			if err != nil {
				return nil, fmt.Errorf("table %s of entry %d: column %s %w", t.Name, t.Entry, by.Column, err)
			}
			one.Codes, one.Nodes = append(one.Codes, codes), append(one.Nodes, by.Nodes)
		}
		tables = append(tables, one)
	}
	s, err := totals.New(n, tables)
	if err != nil {
		return nil, fmt.Errorf("the tables of %s: %w", column, err)
	}
	return s, nil
}

// codes returns the leaf of each record.
func (by *TotalsBy) codes(values []float64, n int) ([]int32, error) {
	leaf := map[float64]int32{}
	for i, text := range by.Leaves {
		v := cell.ShownText(text)
		if _, there := leaf[v]; there {
			return nil, errors.New("has codes of one number")
		}
		leaf[v] = int32(i)
	}
	if len(values) != n {
		return nil, errors.New("is not among today's")
	}
	codes := make([]int32, n)
	for i, v := range values {
		c, there := leaf[v]
		if !there {
			return nil, errors.New("has codes today that the table does not have")
		}
		codes[i] = c
	}
	return codes, nil
}

// tellingBy returns what the totals of a column tell beside the columns of a frame, which has all n records.
func (c *summed) tellingBy(s *totals.System, list []joint.Column, n int) (*told, error) {
	x, y := c.x[:n], c.y[:n]
	columns := make([]joint.Column, len(list), len(list)+1)
	for k, of := range list {
		columns[k] = of
		columns[k].Values = of.Values[:n]
	}
	seen := make([]estimate.Observed, len(c.held))
	for k, h := range c.held {
		if h.Law == nil {
			return nil, fmt.Errorf("the masks of %s have no law of a single value in closed form", c.name)
		}
		seen[k] = estimate.Observed{Values: h.Values[:n], Law: h.Law}
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("no release has %s", c.name)
	}
	t := &told{}
	add := func(estimates []float64, name string) error {
		variances := c.variances(estimates, n)
		found, err := s.Tell(x, y, estimates, variances)
		if err != nil {
			return fmt.Errorf("the tables of %s: %w", c.name, err)
		}
		t.before, t.after = make([]float64, n), make([]float64, n)
		for i, v := range variances {
			t.before[i], t.after[i] = math.Sqrt(v), math.Sqrt(v)
			if sd := found.SD[i]; sd == sd && v > 0 {
				t.after[i] = math.Sqrt(v * sd * sd / (v + sd*sd))
			}
		}
		t.within = func(of []int) ([]float64, error) {
			sds, err := s.Within(x, y, estimates, variances, of)
			if err != nil {
				return nil, fmt.Errorf("the tables of %s: %w", c.name, err)
			}
			for k, i := range of {
				v := variances[i]
				if sd := sds[k]; sd == sd && v > 0 {
					sds[k] = math.Sqrt(v * sd * sd / (v + sd*sd))
				} else {
					sds[k] = math.Sqrt(v)
				}
			}
			return sds, nil
		}
		t.held = heldBy(x, found)
		all := slices.Clone(seen)
		for _, h := range t.held {
			all = append(all, estimate.Observed{Values: h.Values, Law: h.Law})
		}
		mean := estimate.Posterior(x, all)
		for i := range mean {
			if mean[i] != mean[i] || found.SD[i] == 0 {
				mean[i] = found.Best[i]
			}
		}
		t.columns = append(t.columns,
			joint.Column{Name: c.name + " by totals" + name, Values: found.Best},
			joint.Column{Name: "mean of " + c.name + " by totals" + name, Values: found.Mean},
			joint.Column{Name: c.name + " by totals and laws" + name, Values: mean})
		return nil
	}
	alone := estimate.Posterior(x, seen)
	for i := range alone {
		if alone[i] != alone[i] {
			alone[i] = y[i]
		}
	}
	if err := add(alone, ""); err != nil {
		return nil, err
	}
	t.lean = slices.Clone(t.columns)
	columns = append(columns, joint.Column{Name: c.name, Values: alone})
	frame := joint.New(joint.WithDigits(columns, n, [][]float64{x}), n, true)
	return t, add(frame.Estimates(x, y, c.own), " and other columns")
}

// variances returns the variances of the errors of estimates: by those of the draws at each original, times what
// estimates near it leave of them on average. What a rounding or a bound has not changed has none.
func (c *summed) variances(estimates []float64, n int) []float64 {
	v := make([]float64, n)
	var rows []int
	for i := range v {
		inverse, drawn, same := 0.0, false, false
		for _, h := range c.held {
			y := h.Values[i]
			switch {
			case y != y:
			case h.Law.Fixed():
				same = same || y == c.x[i]
			default:
				_, square := h.Law.Moments(c.x[i])
				inverse, drawn = inverse+1/square, true
			}
		}
		switch {
		case same || math.IsInf(inverse, 1):
			continue
		case drawn:
			v[i] = 1 / inverse
		default:
			v[i] = 1
		}
		if c.x[i] == c.x[i] && estimates[i] == estimates[i] {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		switch {
		case estimates[a] < estimates[b]:
			return -1
		case estimates[a] > estimates[b]:
			return 1
		}
		return 0
	})
	left := make([]float64, len(rows)+1) // sums of squares in units of v
	for k, i := range rows {
		d := c.x[i] - estimates[i]
		left[k+1] = left[k] + d*d/v[i]
	}
	near := min(len(rows), max(20, min(400, len(rows)/20)))
	for k, i := range rows {
		from := max(0, min(k-near/2, len(rows)-near))
		v[i] *= (left[from+near] - left[from]) / float64(near)
	}
	return v
}

// heldBy returns observations by totals as releases of their own, those with about the same error together: the laws
// of their errors are normal, with the least of their standard deviations.
func heldBy(x []float64, found *totals.Told) []Held {
	const step = 1.1
	size, n := 0.0, 0.0
	for _, v := range x {
		if v == v {
			size, n = size+math.Abs(v), n+1
		}
	}
	least := max(1e-9*size/max(n, 1), math.SmallestNonzeroFloat32)
	classes, list := map[int]int{}, []Held(nil)
	for i, sd := range found.SD {
		if sd != sd {
			continue
		}
		class := int(math.Floor(math.Log(max(sd, least)) / math.Log(step)))
		k, there := classes[class]
		if !there {
			k = len(list)
			classes[class] = k
			list = append(list, Held{Values: slices.Repeat([]float64{math.NaN()}, len(x)),
				Law: normalLaw(math.Pow(step, float64(class)))})
		}
		list[k].Values[i] = found.Seen[i]
	}
	return list
}

// normalLaw is the law of a value with a normal error of a standard deviation.
type normalLaw float64

func (sd normalLaw) Moments(float64) (shift, square float64) { return 0, float64(sd * sd) }
func (sd normalLaw) Below(x, t float64) float64 {
	return math.Erfc((x-t)/float64(sd)/math.Sqrt2) / 2
}
func (sd normalLaw) BelowEach(x []float64) func(t float64, p []float64) {
	return func(t float64, p []float64) {
		for i, v := range x {
			p[i] = sd.Below(v, t)
		}
	}
}
func (sd normalLaw) Reach(x float64) (low, high float64) { return x - 8*float64(sd), x + 8*float64(sd) }
func (sd normalLaw) Support() (low, high, step float64)  { return math.Inf(-1), math.Inf(1), 0 }
func (sd normalLaw) Fixed() bool                         { return false }

// withTotals returns the columns of a frame of all releases with what published totals tell of the masked columns;
// holders are the records behind those of the sample.
func (f *recordFrame) withTotals(list []joint.Column, own []int) ([]joint.Column, error) {
	e := f.a.opts.Earlier
	if e == nil || len(e.Totals) == 0 {
		return list, nil
	}
	if !f.complete {
		return nil, errSample
	}
	members := map[string][]float64{}
	for i, b := range f.a.opts.Beside {
		if b.Member {
			members[b.Name] = f.data.Values[f.a.layout.BesideAt(i)]
		}
	}
	n := len(f.rows)
	var originals [][]float64
	for c, column := range f.a.opts.Columns {
		if slices.ContainsFunc(e.Totals, func(t Totals) bool { return t.Column == column.Name }) {
			originals = append(originals, f.originals(c))
		}
	}
	if dependent(originals) {
		return nil, errDependent
	}
	for c, column := range f.a.opts.Columns {
		if !slices.ContainsFunc(e.Totals, func(t Totals) bool { return t.Column == column.Name }) {
			continue
		}
		if !column.Masked {
			return nil, fmt.Errorf("column %s of tables is not masked", column.Name)
		}
		s, err := systemOf(e.Totals, column.Name, n, members)
		if err != nil {
			return nil, err
		}
		one := summed{name: column.Name, x: f.originals(c), y: f.released[c], own: own[c]}
		for _, o := range f.observed(c) {
			law, _ := o.Law.(Law)
			one.held = append(one.held, Held{Values: o.Values, Law: law})
		}
		t, err := one.tellingBy(s, list, n)
		if err != nil {
			return nil, err
		}
		for _, of := range e.Totals {
			if of.Column == column.Name && of.Percent > 0 {
				values, err := of.known(one.x[:n], t, members)
				if err != nil {
					return nil, err
				}
				f.known = append(f.known, KnownTotals{Totals: of, Values: values})
			}
		}
		f.behind(t.columns)
		list = append(list, t.columns...)
		f.lean[c] = joint.New(t.columns[:len(t.lean)], n, true)
	}
	return list, nil
}

// known counts the largest values of inner cells that become known more closely than the rules of the table allow, to
// anybody or to a respondent, who knows her own. What the records alone tell as closely, the rules about records judge.
func (t *Totals) known(x []float64, of *told, members map[string][]float64) (count int, err error) {
	largest := map[string]int{}
	var codes [][]int32
	for _, by := range t.By {
		one, _ := by.codes(members[by.Column], len(x)) // as in systemOf
		codes = append(codes, one)
	}
	for i, v := range x {
		var key []byte
		for _, one := range codes {
			key = append(key, byte(one[i]), byte(one[i]>>8), byte(one[i]>>16), byte(one[i]>>24))
		}
		if at, there := largest[string(key)]; v == v && (!there || math.Abs(v) > math.Abs(x[at])) {
			largest[string(key)] = i
		}
	}
	tops := slices.Sorted(maps.Values(largest))
	within, err := of.within(tops)
	if err != nil {
		return 0, err
	}
	for k, i := range tops {
		if least := t.Percent / 100 * math.Abs(x[i]); min(of.after[i], within[k]) < least && of.before[i] >= least {
			count++
		}
	}
	return count, nil
}

// judgeTotals requires that no largest value of a cell becomes known more closely, by records and tables together,
// than the rules of the tables allow.
func judgeTotals(m *Measures) (broken []RuleVerdict) {
	for _, k := range m.Known {
		if k.Values == 0 {
			continue
		}
		broken = append(broken, RuleVerdict{Column: k.Column, Measure: "totals", Limit: 0, Found: Float(k.Values),
			Rule: fmt.Sprintf("%s: no largest value of a cell of table %s (entry %d) is known within %s %% by records and "+
				"tables together", k.Column, k.Name, k.Entry, stated(k.Percent)),
			Advice: "a total less what records tell of the others in its cell tells of the largest: more noise for small " +
				"values, or fewer cells"})
	}
	return broken
}

// behind adds to columns of the sample the values of the holders.
func (f *recordFrame) behind(columns []joint.Column) {
	n := len(f.rows)
	for k := range columns {
		columns[k].Values = append(slices.Clone(columns[k].Values), slices.Repeat([]float64{math.NaN()}, len(f.holders))...)
	}
	for h, at := range f.holders {
		for i := range n {
			if h.Row == f.data.Row[i] && h.From.Compare(f.data.From[i]) == 0 {
				for _, c := range columns {
					c.Values[at] = c.Values[i]
				}
			}
		}
	}
}

// ByTotals returns what published totals tell of masked columns, which columns has in Sought with what the releases
// have of each: further columns beside those that are seen, and further observations of the columns' values. complete
// says that the records are all there are.
func ByTotals(list []Totals, members map[string][]float64, seen []Seen, columns []Sought, held map[string][]Held,
	complete bool) (more []Seen, observed map[string][]Held, err error) {
	if len(list) == 0 {
		return nil, nil, nil
	}
	if !complete {
		return nil, nil, errSample
	}
	var originals [][]float64
	for _, c := range columns {
		if slices.ContainsFunc(list, func(t Totals) bool { return t.Column == c.Name }) {
			originals = append(originals, c.Original)
		}
	}
	if dependent(originals) {
		return nil, nil, errDependent
	}
	frame := columnsOf(seen)
	observed = map[string][]Held{}
	for _, c := range columns {
		if !slices.ContainsFunc(list, func(t Totals) bool { return t.Column == c.Name }) {
			continue
		}
		n := len(c.Original)
		s, err := systemOf(list, c.Name, n, members)
		if err != nil {
			return nil, nil, err
		}
		one := summed{name: c.Name, x: c.Original, y: c.Released, own: c.Own, held: held[c.Name]}
		t, err := one.tellingBy(s, frame, n)
		if err != nil {
			return nil, nil, err
		}
		observed[c.Name] = t.held
		frame = append(frame, t.columns...)
		for _, add := range t.columns {
			more = append(more, Seen{Name: add.Name, Values: add.Values})
		}
	}
	return more, observed, nil
}
