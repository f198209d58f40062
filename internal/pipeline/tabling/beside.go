package tabling

import (
	"context"
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// mostEntered is the number of cells of a table up to which a ledger says how they add up.
const mostEntered = 100_000

// adding returns how the cells of a table add up, and which of them are held back, for a ledger; none of a large one.
func (p *protected) adding(t *tabulation.Config, table int) (variables []ledger.Variable, hidden []int64) {
	if p.size(table) > mostEntered {
		return nil, nil
	}
	for _, d := range p.set.Tables[table].Dimensions {
		v := ledger.Variable{Column: t.Variable(d.Name).Leaf()}
		leaf := map[int32]int32{}
		for _, node := range d.Leaves(0) {
			leaf[node] = int32(len(v.Leaves))
			v.Leaves = append(v.Leaves, d.Codes[node])
		}
		for node := range d.Codes {
			var below []int32
			for _, n := range d.Leaves(node) {
				below = append(below, leaf[n])
			}
			slices.Sort(below)
			v.Nodes = append(v.Nodes, below)
		}
		variables = append(variables, v)
	}
	for at := range p.size(table) {
		if p.hidden(p.set.Cell(table, at)) {
			hidden = append(hidden, int64(at))
		}
	}
	return variables, hidden
}

// closest returns how closely nobody is to know the largest contribution of a cell, in percent of it, by the rules of
// a table of values: p of p %, and of a pq rule; of dominance, what the others must have at least beside the largest
// ones; of rules without a formula the interval, 30 % by default.
func closest(t *tabulation.Table) (percent float64) {
	for _, u := range t.Unsafe {
		switch {
		case u.PPercent > 0:
			percent = max(percent, u.PPercent)
		case len(u.PQ) == 2:
			percent = max(percent, u.PQ[0])
		case len(u.Dominance) == 2:
			percent = max(percent, 100*(100/u.Dominance[1]-1))
		case t.Interval != nil && t.Interval.Percent > 0:
			percent = max(percent, t.Interval.Percent)
		default:
			percent = max(percent, 30)
		}
	}
	return percent
}

// judgeRecords adds a rule for each release of records in the ledger of the pipeline which hides what the tables tell
// of, unless the gate allows it: the release still passes its own gate, for whoever also has the tables. It fails
// where that is not computed.
func (r *records) judgeRecords(ctx context.Context, rep *Report, list []*protected) error {
	if !rep.Gate.Passed {
		return nil // withheld anyway
	}
	tables := r.entry(list, rep)
	rep.Warnings = append(rep.Warnings, r.ledger.Opened(tables)...)
	for _, e := range r.ledger.BesideRecords(tables) {
		if slices.Contains(r.config.Gate.AllowRecords, e.Name()) {
			continue
		}
		broken, why, err := r.again(ctx, &e, tables)
		if err != nil {
			return err
		}
		v := assess.RuleVerdict{
			Rule: fmt.Sprintf("release %d of the ledger (%s) holds its rules for whoever also has the tables", e.Number,
				e.Name()),
			Measure: "records", Limit: 0, Found: assess.Float(broken), Passed: why == ""}
		if !v.Passed {
			v.Found = max(v.Found, 1)
			v.Advice = fmt.Sprintf("a total less what that release tells of the others in its cell tells of one of "+
				"them: %s. "+
				"Hold more cells back, make the tables of what it released, or allow it (gate.allow_records: "+
				"[%s])", why,
				e.Name())
			rep.Gate.Passed = false
		}
		rep.Gate.Rules = append(rep.Gate.Rules, v)
	}
	if !rep.Gate.Passed {
		rep.Withheld = withheldBecause(rep.Gate)
	}
	return nil
}

// again judges a release of the ledger once more, together with the tables. why says that it would not pass, or why
// that is not known; "" if it would. broken is the number of rules that it would break.
func (r *records) again(ctx context.Context, e *ledger.Listed, tables *ledger.Tables) (broken int, why string,
	err error) {
	p, held, why := r.ledger.Again(e, tables)
	if why != "" {
		return 0, "what both tell is not judged, since " + why, nil
	}
	if !r.source.Rewindable() {
		return 0, "what both tell is not judged, since the records can be read only once", nil
	}
	source, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return 0, "", fmt.Errorf("source: %w", err)
	}
	defer source.Close()
	rep, err := filejob.JudgeAgain(ctx, p, source, r.key, held)
	switch {
	case ctx.Err() != nil:
		return 0, "", context.Cause(ctx)
	case err != nil: // its masks do not fit today's records
		return 0, "what both tell is not judged, since its masks cannot be applied to today's records", nil
	case rep.Ledger.Not != "":
		return 0, "what both tell is not judged: " + rep.Ledger.Not, nil
	}
	for _, v := range rep.Gate.Rules {
		if !v.Passed {
			if broken++; broken > 1 {
				why += "; "
			}
			why += v.Rule
		}
	}
	if broken > 0 {
		why = "it would not hold: " + why
	} else if !rep.Gate.Passed {
		return 1, "it would be withheld", nil
	}
	return broken, why, nil
}
