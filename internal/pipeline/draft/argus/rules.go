package argus

import (
	"fmt"
	"strconv"
	"strings"
)

// text is a number as a configuration has it.
func text(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// safety reads the rules of a table. The first two of a kind (of FREQ and REQ: the first) are for contributors, those
// behind for holdings. Contributors of one holding are one contributor then, also for the first ones, which makes no
// unsafe cell safe.
func (b *batch) safety(t *table, rest string, line int) {
	t.ruled = true
	seen := map[string]int{}
	for _, field := range cut(rest, '|') {
		if field == "" {
			continue
		}
		name, args, ok := b.arguments(field, line)
		if !ok {
			continue
		}
		seen[name]++
		if n := map[string]int{"P": 2, "NK": 2, "FREQ": 1, "REQ": 1}[name]; n > 0 && seen[name] > n && args[0] > 0 {
			t.holdings = true
		}
		b.rule(t, name, args, line)
	}
	if t.holdings {
		if len(t.in.of(holding)) == 0 {
			b.wrong(line, "has a rule for holdings, and the metadata have no <HOLDING>")
		}
	}
}

// rule adds one rule.
func (b *batch) rule(t *table, name string, args []float64, line int) {
	n := len(args)
	need := map[string][2]int{"P": {1, 3}, "NK": {2, 2}, "FREQ": {2, 2}, "ZERO": {1, 1}, "REQ": {4, 4}, "WGT": {1, 1},
		"MIS": {1, 1}, "MAN": {1, 1}}
	limits, known := need[name]
	switch {
	case !known:
		b.wrong(line, "the rule %s is not known", name)
		return
	case n < limits[0] || n > limits[1]:
		b.wrong(line, "the rule %s has %d numbers, and must have %d", name, n, limits[1])
		return
	}
	if t.value == nil && strings.Contains("P NK ZERO REQ", name) && args[0] != 0 {
		b.wrong(line, "the rule %s cannot be applied to counts", name)
		return
	}
	switch name {
	case "P":
		b.percent(t, args, line)
	case "NK":
		if args[0] > 0 {
			t.add("{dominance: [%s, %s]}", text(args[0]), text(args[1]))
		}
	case "FREQ":
		if args[0] >= 2 {
			t.add("{threshold: %s}", text(args[0]))
		}
		if args[0] > 0 {
			b.margin(t, args[1], line)
		}
	case "ZERO":
		t.zeros = true
		t.absolute = max(t.absolute, args[0])
	case "REQ":
		b.asked(t, args, line)
	case "WGT":
		if t.weighted = args[0] == 1; t.weighted && len(t.in.of(weight)) == 0 {
			b.wrong(line, "WGT(1) needs a variable with <WEIGHT>")
		}
	case "MIS":
		if args[0] == 1 {
			b.warn(line, "MIS(1) is not possible: cells of missing codes are judged like all others")
		}
	case "MAN":
		t.manual = true
		b.margin(t, args[0], line)
	}
}

// percent reads P(p), P(p, n) or P(p, q, n).
func (b *batch) percent(t *table, args []float64, line int) {
	p, q, n := args[0], 100.0, 1.0
	switch len(args) {
	case 2:
		n = args[1]
	case 3:
		q, n = args[1], args[2]
	}
	switch {
	case p == 0:
	case n > 1:
		b.wrong(line,
			"P for %s contributors who combine what they know is not possible; p_percent is about one, so that more cells would be published", text(n))
	case q == 100:
		t.add("{p_percent: %s}", text(p))
	default:
		t.add("{pq: [%s, %s]}", text(p), text(q))
	}
}

// asked reads REQ(percent of the first code, of the second code, least number of contributors, margin).
func (b *batch) asked(t *table, args []float64, line int) {
	limit := args[0]
	if args[1] > 0 && (limit == 0 || args[1] < limit) {
		limit = args[1]
	}
	if limit == 0 {
		return
	}
	if len(t.in.of(request)) == 0 {
		b.wrong(line, "REQ needs a variable with <REQUEST>")
	}
	if args[0] != args[1] && args[1] > 0 {
		b.warn(line, "both codes of a request have the lower percentage, %s", text(limit))
	}
	t.requested = true
	t.add("{request: %s}", text(limit))
	if args[2] >= 2 {
		b.warn(line, "the least number of contributors holds for all cells (threshold)")
		t.add("{threshold: %s}", text(args[2]))
	}
	b.margin(t, args[3], line)
}

// margin is the protection of rules without a formula; the greatest one holds for all of them.
func (b *batch) margin(t *table, percent float64, line int) {
	if t.percent > 0 && t.percent != percent {
		b.warn(line, "the greatest margin holds for all rules that have one")
	}
	t.percent = max(t.percent, percent)
}

func (t *table) add(format string, args ...any) {
	rule := fmt.Sprintf(format, args...)
	for _, r := range t.rules {
		if r == rule {
			return
		}
	}
	t.rules = append(t.rules, rule)
}

// suppress reads how one table, or with 0 all of them together, are protected.
func (b *batch) suppress(rest string, line int) {
	rest, _, _ = strings.Cut(rest, ")")
	name, args, ok := b.arguments(rest+")", line)
	if !ok {
		return
	}
	of := b.tables
	if args[0] != 0 {
		t := b.at(args[0], line)
		if t == nil {
			return
		}
		of = []*table{t}
	}
	args = append(args, make([]float64, 8)...)
	protect := ""
	switch name {
	case "MOD", "NET":
		protect = "suppress"
		if args[6] != 0 || args[7] != 0 {
			b.wrong(line,
				"bounds that an intruder knows in advance (LOWERMARG, UPPERMARG) are not possible; he is taken to know only that no value is below 0")
		}
	case "GH":
		protect = "suppress"
		if args[1] > 0 && args[1] < 100 {
			b.wrong(line,
				"bounds that an intruder knows in advance (%s %%) are not possible; he is taken to know only that no value is below 0", text(args[1]))
		}
	case "OPT":
		protect = "optimal"
		if args[1] > 0 {
			protect += " " + text(args[1])
		}
	case "RND":
		protect = "round " + text(args[1])
		if args[2] > 0 {
			b.warn(line, "no count is rounded beyond its two neighbours, also where %s steps were allowed", text(args[2]))
		}
		if args[3] > 0 {
			protect += " " + text(args[3])
		}
	case "CTA":
		protect = "adjust"
	case "CKM":
		b.wrong(line,
			"cell keys of τ-ARGUS are numbers in the records; here they follow from a release key and the identity of a record, so that the changes would be others: write protect: cell_key yourself")
		return
	default:
		b.wrong(line, "the method %q is not known", name)
		return
	}
	for _, t := range of {
		if t.protect != "" && t.protect != protect {
			b.wrong(line, "line %d protects the same table in another way", t.protected)
		}
		t.protect, t.protected = protect, line
		if strings.HasPrefix(protect, "round") && t.value != nil {
			b.wrong(line, "only counts are rounded")
		}
	}
}
