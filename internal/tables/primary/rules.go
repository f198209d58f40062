package primary

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// Rule is one rule of sensitivity; exactly one of its fields is set. Cells without
// contributors violate none. Below, X is the total of a cell and x₁ ≥ x₂ ≥ … are its
// contributions, in absolute values if the tabulation has them so.
type Rule struct {
	// Threshold is the least number of contributors of a safe cell.
	Threshold int
	// PPercent: the second largest contributor must not be able to estimate the largest
	// contribution to within less than p percent: X − x₁ − x₂ ≥ (p/100) x₁.
	PPercent float64
	// PQ is the same if everybody already knows the contributions of all others to
	// within q percent: (q/100) (X − x₁ − x₂) ≥ (p/100) x₁.
	PQ *PQ
	// Dominance: the n largest contributions must not exceed k percent of X.
	Dominance *Dominance
	// Request: the contribution of a contributor who requested protection must not
	// exceed this percentage of X.
	Request float64
}

// PQ is the prior-posterior rule: P percent must remain where Q percent was known.
type PQ struct{ P, Q float64 }

// Dominance is the (n,k) rule.
type Dominance struct {
	N int
	K float64
}

// Zeros says whether cells of value 0 with contributors are safe.
type Zeros uint8

// If contributions cannot be negative, a value of 0 shows that every contribution is 0.
// This may be public knowledge or a disclosure.
const (
	ZerosSafe Zeros = iota
	ZerosUnsafe
)

// Interval is the protection that rules without a formula of their own (Threshold,
// Request, zeros, the list) require: the greater of its two parts.
type Interval struct {
	Absolute float64 // in units of the table
	Percent  float64 // of the value
}

// Options of the primary rules.
type Options struct {
	Rules    []Rule
	Zeros    Zeros
	Interval *Interval // nil: for counts the threshold itself, else 30 percent
	List     []Listed
}

// Listed is an entry of the a-priori list.
type Listed struct {
	Cell int
	As   As
	Up   float64 // for Unsafe and Levels: required protection, in units; 0: that of the Interval
	Down float64
	Line int
}

// As is the status that an entry of the list gives to a cell.
type As uint8

// Safe and Unsafe take precedence over the rules. A Published cell is safe and is not a
// candidate for secondary suppression. An entry without a status is unsafe. Levels give a cell that breaks a
// rule more protection than the rule requires.
const (
	Unsafe As = iota
	Safe
	Published
	Levels
)

// Result holds the results of the rules for a set: arrays with one element per cell.
type Result struct {
	Status []tables.Status // Free, Empty or Primary
	// of primary cells: how far above and below the value the inferred interval must reach, in units
	Up, Down  []float64
	Rule      []int16 // the first rule that a primary cell violates, or ByZero or ByList
	Published []bool  // must not be suppressed; nil if there are none
}

// Values of Result.Rule for cells that are primary for another reason than a rule, and
// for other cells (None).
const (
	ByZero = -1
	ByList = -2
	None   = -3
)

// Most returns the number of largest contributions that the rules use.
func Most(rules []Rule) int {
	most := 0
	for _, r := range rules {
		if r.PPercent != 0 || r.PQ != nil {
			most = max(most, 2)
		}
		if r.Dominance != nil {
			most = max(most, r.Dominance.N)
		}
	}
	return most
}

// Check returns the problems of the options for a table of counts or of values.
func (o Options) Check(counts bool) check.Problems {
	var problems check.Problems
	for i, r := range o.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		set := 0
		for _, has := range []bool{r.Threshold != 0, r.PPercent != 0, r.PQ != nil, r.Dominance != nil, r.Request != 0} {
			if has {
				set++
			}
		}
		if set != 1 {
			problems.Addf(at, "must be exactly one of threshold, p_percent, pq, dominance, request")
			continue
		}
		if counts && r.Threshold == 0 {
			problems.Addf(at, "only threshold is a rule for counts")
		}
		switch {
		case r.Threshold != 0 && r.Threshold < 2:
			problems.Addf(at+".threshold", "must be at least 2, got %d", r.Threshold)
		case r.PPercent != 0:
			problems.Above(at+".p_percent", r.PPercent, 0)
		case r.PQ != nil:
			problems.Above(at+".pq[0]", r.PQ.P, 0)
			problems.Between(at+".pq[1]", r.PQ.Q, 0, 100)
			if r.PQ.P >= r.PQ.Q {
				problems.Addf(at+".pq",
					"p must be less than q: the rule cannot require more uncertainty than there was before publication, got %v and %v",
					r.PQ.P, r.PQ.Q)
			}
		case r.Dominance != nil:
			if r.Dominance.N < 1 {
				problems.Addf(at+".dominance[0]", "must be at least 1, got %d", r.Dominance.N)
			}
			if k := r.Dominance.K; !(k > 0 && k < 100) {
				problems.Addf(at+".dominance[1]", "must be between 0 and 100, both excluded, got %v", k)
			}
		case r.Request != 0:
			problems.Between(at+".request", r.Request, 0, 100)
		}
	}
	if o.Interval != nil {
		problems.AtLeast("interval.absolute", o.Interval.Absolute, 0)
		problems.AtLeast("interval.percent", o.Interval.Percent, 0)
	}
	return problems
}

// Apply applies the rules to the cells. It returns the problems of Check, and problems
// if there are negative contributions and rules that compare contributions, if the
// cells keep too few of the largest contributions, or if the list has two statuses for
// a cell.
func Apply(c *tables.Cells, o Options) (*Result, check.Problems) {
	problems := o.Check(c.Counts)
	if Most(o.Rules) > c.Most {
		problems.Addf("rules", "need the %d largest contributions, but the cells keep %d", Most(o.Rules), c.Most)
	}
	compares := func(r Rule) bool { return r.Threshold == 0 }
	if c.Negative != nil && !c.Absolute && slices.ContainsFunc(o.Rules, compares) {
		problems.Addf("rules",
			"compare contributions, and some are negative (%s): tabulate their absolute values, or shift them", negative(c))
	}
	if len(problems) > 0 {
		return nil, problems
	}
	n := c.Set.Cells()
	r := &Result{Status: make([]tables.Status, n), Up: make([]float64, n), Down: make([]float64, n),
		Rule: make([]int16, n)}
	for cell := range n {
		r.Rule[cell] = None
		if c.Contributors[cell] == 0 && c.Value[cell] == 0 {
			r.Status[cell] = tables.Empty
			continue
		}
		for i, rule := range o.Rules {
			if up, broken := rule.broken(c, cell, o.Interval); broken {
				r.primary(cell, i, up)
			}
		}
		if o.Zeros == ZerosUnsafe && !c.Counts && c.Value[cell] == 0 {
			r.primary(cell, ByZero, o.Interval.at(0, 1))
		}
	}
	r.list(c, o, &problems)
	for cell := range n {
		if r.Status[cell] == tables.Primary {
			r.bound(c, cell)
		}
	}
	return r, problems
}

// negative names the first inner cells with negative contributions.
func negative(c *tables.Cells) string {
	total := make([]bool, len(c.Value))
	for i := range c.Set.Sums() {
		total[c.Set.Sum(i).Total] = true
	}
	var names []string
	more := 0
	for cell, n := range c.Negative {
		switch {
		case n == 0 || total[cell]:
		case len(names) < 3:
			names = append(names, "cell "+c.Set.Name(cell))
		default:
			more++
		}
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d cells more", more))
	}
	return strings.Join(names, "; ")
}

// at returns the protection required around a value; without an interval it returns
// otherwise.
func (i *Interval) at(value, otherwise float64) float64 {
	if i == nil {
		return otherwise
	}
	return max(i.Absolute, i.Percent/100*value)
}

func (r *Result) primary(cell, rule int, up float64) {
	if r.Status[cell] != tables.Primary {
		r.Rule[cell] = int16(rule)
	}
	r.Status[cell] = tables.Primary
	r.Up[cell] = max(r.Up[cell], up)
	r.Down[cell] = r.Up[cell]
}

// bound rounds the protection of a cell up to whole units, at least one, because
// otherwise the cell could be computed. Without negative contributions it limits the
// lower protection to the value of the cell.
func (r *Result) bound(c *tables.Cells, cell int) {
	r.Up[cell], r.Down[cell] = max(math.Ceil(r.Up[cell]), 1), max(math.Ceil(r.Down[cell]), 1)
	if c.Negative == nil {
		r.Down[cell] = min(r.Down[cell], c.Value[cell])
	}
}

// broken returns whether a cell violates the rule and the protection that it then
// requires: the least amount by which the upper end of the inferred interval must
// exceed X so that the rule holds at that end (Hundepool et al., Statistical Disclosure
// Control, 2012, §4.2.2: upper protection levels).
func (r Rule) broken(c *tables.Cells, cell int, interval *Interval) (up float64, broken bool) {
	x := c.Value[cell]
	total := x
	if c.Absolute {
		total = c.Gross[cell]
	}
	if c.Contributors[cell] == 0 {
		return 0, false
	}
	switch {
	case r.Threshold != 0:
		if c.Contributors[cell] >= int64(r.Threshold) {
			return 0, false
		}
		otherwise := 0.3 * max(x, -x)
		if c.Counts {
			otherwise = float64(r.Threshold)
		}
		return interval.at(max(x, -x), otherwise), true
	case r.PPercent != 0:
		s := c.Slots(cell, 2)
		up = r.PPercent/100*s[0] - (total - s[0] - s[1])
	case r.PQ != nil:
		s := c.Slots(cell, 2)
		up = r.PQ.P/r.PQ.Q*s[0] - (total - s[0] - s[1])
	case r.Dominance != nil:
		sum := 0.0
		for _, s := range c.Slots(cell, r.Dominance.N) {
			sum += s
		}
		up = 100/r.Dominance.K*sum - total
	case r.Request != 0:
		if c.Requested == nil || c.Requested[cell] <= r.Request/100*total {
			return 0, false
		}
		return max(100/r.Request*c.Requested[cell]-total, interval.at(total, 0)), true
	}
	return up, up > 0
}

// list applies the a-priori list.
func (r *Result) list(c *tables.Cells, o Options, problems *check.Problems) {
	listed := map[int]Listed{}
	for _, l := range o.List {
		at := fmt.Sprintf("list:%d", l.Line)
		if l.Cell < 0 || l.Cell >= len(r.Status) {
			problems.Addf(at, "cell %d is outside the tables", l.Cell)
			continue
		}
		if old, again := listed[l.Cell]; again {
			if old.As != l.As {
				problems.Addf(at, "cell %s stands in line %d as something else", c.Set.Name(l.Cell), old.Line)
			}
			continue
		}
		listed[l.Cell] = l
		if l.As == Levels {
			if r.Status[l.Cell] != tables.Primary {
				problems.Addf(at, "cell %s breaks no rule, so that it has no protection levels", c.Set.Name(l.Cell))
			}
			r.Up[l.Cell], r.Down[l.Cell] = max(r.Up[l.Cell], l.Up), max(r.Down[l.Cell], l.Down)
			continue
		}
		if l.As == Unsafe {
			r.primary(l.Cell, ByList, max(l.Up, o.Interval.at(max(c.Value[l.Cell], -c.Value[l.Cell]), 0)))
			r.Down[l.Cell] = max(r.Down[l.Cell], l.Down)
			continue
		}
		if r.Status[l.Cell] == tables.Primary {
			r.Status[l.Cell], r.Rule[l.Cell], r.Up[l.Cell], r.Down[l.Cell] = tables.Free, None, 0, 0
		}
		if l.As == Published {
			if r.Published == nil {
				r.Published = make([]bool, len(r.Status))
			}
			r.Published[l.Cell] = true
		}
	}
}
