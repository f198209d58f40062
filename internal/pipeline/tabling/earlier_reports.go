package tabling

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
)

// judge notes the cells of releases and of parts about which too much can be inferred.
func (s *system) judge() {
	s.open = make([][]string, 3)
	for _, sh := range s.list {
		p := sh.protected
		demanded := func(cell int32) bool { return p.rules.Up[cell] > 0 || p.rules.Down[cell] > 0 }
		add := func(kind int, cell int32) {
			if name := p.set.Name(int(cell)); demanded(cell) && !slices.Contains(s.open[kind], name) {
				s.open[kind] = append(s.open[kind], name)
			}
		}
		for _, c := range p.verdict.Disclosed {
			add(0, c)
		}
		for _, c := range p.verdict.Narrow {
			add(1, c)
		}
		for _, in := range p.insiders {
			add(2, in.Infers)
		}
	}
}

// reports returns what is said of the earlier releases.
func (e *earlier) reports(list []*protected) (reports []Earlier) {
	if e == nil {
		return nil
	}
	for i, l := range e.releases {
		if len(l.names) == 0 {
			continue
		}
		rep := Earlier{Name: l.report.Name, SHA256: l.report.Cells.SHA256, Tables: l.names}
		if l.vintage > 0 {
			rep.Records, rep.Today = e.recordsOf(l.vintage)
		}
		var seen []*system
		for _, p := range list {
			if p.system == nil || slices.Contains(seen, p.system.system) {
				continue
			}
			s := p.system.system
			seen = append(seen, s)
			if !slices.ContainsFunc(s.layers, func(x *layer) bool { return x.release == i }) {
				continue
			}
			rep.Known = append(rep.Known, s.known[:min(len(s.known), reportCells)]...)
			for _, names := range s.open {
				rep.Open = append(rep.Open, names[:min(len(names), reportCells)]...)
			}
		}
		reports = append(reports, rep)
	}
	return reports
}

// recordsOf returns how many records a vintage has, and how many of them are of today.
func (e *earlier) recordsOf(vintage int) (all, today int64) {
	for in, n := range e.parts {
		if in>>vintage&1 == 1 {
			all += n
			today += n * int64(in&1)
		}
	}
	return all, today
}

// judgeEarlier compares what can be inferred together with earlier releases with what must always hold.
func (p *protected) judgeEarlier(name string, add func(assess.RuleVerdict)) {
	if p.system == nil || len(p.system.system.releases) == 0 || p.unprotectable != nil {
		return
	}
	open := 1 // if they could not be audited together
	if !p.system.apart {
		open = 0
		for _, names := range p.system.system.open {
			open += len(names)
		}
	}
	add(assess.RuleVerdict{
		Rule: name + ": nothing follows from it and earlier releases together", Measure: "max_earlier", Limit: 0,
		Found: assess.Float(open), Passed: open == 0,
		Advice: advice(open > 0,
			"the report names the cells (earlier); a coarser classification leaves more room, and values of which one is not the sum of others cannot be protected together with earlier releases"),
	})
}
