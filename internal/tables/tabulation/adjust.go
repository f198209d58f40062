package tabulation

import (
	"math"
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/form"
)

// Adjust are the parameters of controlled tabular adjustment.
type Adjust struct {
	Within *Interval `yaml:"within" doc:"the greatest change of every value, up or down: absolute in the unit of the value, or percent of the value, whichever is greater. It is published with the tables, so it must not be chosen by looking at them. By default it follows from the rules: twice as far as an unsafe count must change, and for values as far as leaves the whole range that the rules require"`
	Cost   string    `yaml:"cost" default:"relative" enum:"relative,unit" doc:"what is made small: relative (default): the sum of the changes, each divided by its value; unit: the sum of the changes. The cost column of apriori takes precedence"`

	Respondents string          `yaml:"respondents" default:"protect" enum:"protect,ignore" doc:"protect (default): also protect against respondents, who know their own part of each value; ignore: protect against outsiders only"`
	Patience    config.Duration `yaml:"patience" doc:"time limit of the search for directions in which unsafe cells change that need smaller changes of others, such as 30s; the best that were found by then are used, and another run may find others. By default the search ends after a fixed amount of work, some seconds"`
}

// mostPercent is the greatest part of a value by which it may change, and mostPercentOfCounts that of a count: with 100
// or more, a published value does not bound the true one above.
const (
	mostPercent         = 300
	mostPercentOfCounts = 90
)

// AdjustedWithin returns by how much an adjustment may change a cell, in the unit of the value, of which cells have
// whole numbers of 10^-decimals. Unless it is given it follows from the rules alone: somebody who sees a value that was
// raised as far as they require must believe it possible that the value was lower than it is by as much, and the other
// way round.
func (t *Table) AdjustedWithin(decimals int) Interval {
	if w := t.Protect.Adjust.Within; w != nil {
		return *w
	}
	own := t.ownInterval()
	share, threshold := own.Percent, 0
	for _, u := range t.Unsafe {
		switch {
		case u.Threshold != 0:
			threshold = max(threshold, u.Threshold)
		case u.PPercent != 0:
			share = max(share, u.PPercent)
		case len(u.PQ) == 2:
			share = max(share, 100*u.PQ[0]/u.PQ[1])
		case len(u.Dominance) == 2:
			share = max(share, 100*(100/u.Dominance[1]-1))
		case u.Request != 0:
			share = max(share, 100*(100/u.Request-1))
		}
	}
	w := Interval{Absolute: 2 * own.Absolute}
	most := float64(mostPercent)
	if t.counted() {
		w.Absolute = max(w.Absolute, float64(threshold-1)+own.Absolute)
		most = mostPercentOfCounts
	}
	if share == 0 {
		return w
	}
	// What rules require is rounded up to whole units: by at most 5 percent of values of 20 units, and less of greater
	// ones.
	w.Absolute = max(w.Absolute, (math.Ceil(share*40/100)+2)/math.Pow10(decimals))
	if share += 5; share < 100 {
		most = min(most, math.Ceil(200*share/(100-share)))
	}
	w.Percent = most
	return w
}

// validateAdjust checks a table whose values are adjusted.
func (l *loader) validateAdjust(table *Table, at string) {
	a := table.Protect.Adjust
	if a == nil || !l.Sound(at+".protect") {
		return
	}
	path := form.Join(at+".protect", "adjust")
	if a.Within != nil {
		var ps check.Problems
		ps.AtLeast("within.absolute", a.Within.Absolute, 0)
		most := float64(mostPercent)
		if table.counted() {
			most = mostPercentOfCounts
		}
		ps.Between("within.percent", a.Within.Percent, 0, most)
		if a.Within.Absolute == 0 && a.Within.Percent == 0 {
			ps.Addf("within", "must be above 0, in absolute or percent")
		}
		l.Within(path, ps)
	}
	if table.Absolute {
		l.Wrong(at+".absolute", "must be left out with adjust, which is for values that are not negative")
	}
}

// flowAdjust writes the method as a configuration has it.
func (p *Protect) flowAdjust() string {
	a := p.Adjust
	text := "{adjust: {cost: " + a.Cost
	if a.Within != nil {
		text += ", within: " + a.Within.flow()
	}
	if a.Patience > 0 {
		text += ", patience: " + time.Duration(a.Patience).String()
	}
	return text + ignored(p) + "}}"
}
