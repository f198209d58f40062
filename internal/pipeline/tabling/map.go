package tabling

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablemap"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// Map makes the R-U confidentiality map of the tables of one value. The records are tabulated
// once; the tables are then protected, audited and judged in every way that the configuration
// compares, each as Run would. It releases nothing. The errors are those of Run.
func Map(ctx context.Context, t *tabulation.Config, o pipeline.Options) (*tablemap.Map, error) {
	ctx, o = o.Ready(ctx)
	t = t.Mapping()
	of, err := t.Mapped()
	if err != nil {
		return nil, err
	}
	candidates, left, err := t.Candidates()
	if err != nil {
		return nil, err
	}
	r, err := open(ctx, t, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	families, tally, err := r.cellsOf(ctx, o)
	if err != nil {
		return nil, err
	}
	if n := tally.refused.Nobody; n > 0 {
		return nil,
			config.Errors{
				t.Errorf("identity",
					"%s of no identity: methods that need none would count them, and others not; mend them, or list (map.methods) those alone that are of one kind", recordsOf(n))}
	}
	g := &mapping{records: r}
	m := &tablemap.Map{
		Name: t.Name, Version: o.Version, Value: t.Tables[of[0]].Value, Records: tally.read - tally.lostRecords(), Left: left,
		MaxRisk: assess.Float(math.Inf(1)),
	}
	for _, i := range of {
		m.Tables = append(m.Tables, t.Tables[i].Name)
	}
	limited := g.rules(m, of)
	if err := g.others(ctx, families, of); err != nil {
		return nil, err
	}
	if err := g.dependent(families, tally.relations); err != nil {
		return nil, err
	}
	m.Cells = g.family.set.Cells()
	o.Progress.Start("map", int64(len(candidates)))
	for i := range candidates {
		p, err := g.point(ctx, &candidates[i])
		if err != nil {
			return nil, err
		}
		p.Configured = i == 0
		m.Points = append(m.Points, *p)
		o.Progress.Add(1)
	}
	m.Recommend(limited, g.failures)
	return m, nil
}

// mapping is a map while it is made.
type mapping struct {
	*records
	family   *family  // the mapped tables
	failures []string // the failed rules about the other tables
}

// others judges the tables that the map does not vary, as configured, and finds the errors of the
// mapped tables that do not depend on their protection.
func (g *mapping) others(ctx context.Context, families []*family, of []int) error {
	for _, f := range families {
		if slices.Equal(f.of, of) {
			g.family = f
			if _, err := g.unsafe(ctx, f); err != nil {
				return err
			}
			continue
		}
		p, err := g.protect(ctx, f)
		if err != nil {
			return err
		}
		g.judgeOther(p)
	}
	return nil
}

// dependent notes that the mapped tables depend on others, together with which the map does not protect them.
func (g *mapping) dependent(families []*family, found []relation) error {
	groups, err := g.groups(families, found)
	for _, group := range groups {
		if len(group.families) > 1 && slices.Contains(group.families, g.family) {
			g.failures = append(g.failures, "the mapped tables do not depend on others: "+strings.Join(group.words, "; "))
		}
	}
	return err
}

// rules notes the rules of the gate about the mapped tables, and reports whether each table has
// a rule that limits what can be inferred.
func (g *mapping) rules(m *tablemap.Map, of []int) (limited bool) {
	held := map[string]bool{}
	for _, rule := range g.config.Gate.Rules {
		names := m.Tables
		if rule.Table != "*" {
			if !slices.Contains(m.Tables, rule.Table) {
				continue
			}
			names = []string{rule.Table}
		}
		words := ""
		switch {
		case rule.MaxRisk != nil:
			m.MaxRisk = min(m.MaxRisk, assess.Float(*rule.MaxRisk))
			words = fmt.Sprintf("risk at most %v", *rule.MaxRisk)
		case rule.MinRange != "":
			words = "what can be inferred of every unsafe cell reaches as far as its rule asks"
		case rule.MinUtility != nil:
			m.MinUtility = max(m.MinUtility, assess.Float(*rule.MinUtility))
			words = fmt.Sprintf("utility at least %v", *rule.MinUtility)
		case rule.MinEfficiency != nil:
			words = fmt.Sprintf("efficiency at least %v", *rule.MinEfficiency)
		case rule.MaxDisclosed != nil:
			words = "at most 0 unsafe cells can be computed"
		}
		for _, name := range names {
			m.Rules = append(m.Rules, name+": "+words)
			held[name] = held[name] || rule.MaxRisk != nil || rule.MinRange != ""
		}
	}
	return len(held) == len(of) && !slices.ContainsFunc(m.Tables, func(name string) bool { return !held[name] })
}

// point protects the mapped tables in one way and judges all tables.
func (g *mapping) point(ctx context.Context, c *tabulation.TableCandidate) (*tablemap.Point, error) {
	with, err := g.config.With(c)
	if err != nil {
		return nil, err
	}
	r, f := *g.records, *g.family
	r.config, f.table = with, &with.Tables[g.family.of[0]]
	point := &tablemap.Point{Method: methodOf(&c.Protect), Setting: c.String()}
	p, err := r.protect(ctx, &f)
	var wrong config.Errors
	switch {
	case errors.As(err, &wrong):
		point.Impossible = wrong[0].Text
		return point, nil
	case err != nil:
		return nil, err
	}
	point.Admissible, point.CutShort = true, p.cutShort
	for at, i := range f.of {
		report := p.tableReport(at, &with.Tables[i])
		judgeTable(with, p, &report, func(v assess.RuleVerdict) {
			if !v.Passed {
				point.Admissible, point.Broken = false, append(point.Broken, v.Rule)
			}
		})
	}
	p.measure(point)
	return point, nil
}

// judgeOther has the gate judge tables that the map does not vary.
func (g *mapping) judgeOther(p *protected) {
	for at, i := range p.of {
		report := p.tableReport(at, &g.config.Tables[i])
		judgeTable(g.config, p, &report, func(v assess.RuleVerdict) {
			if !v.Passed {
				g.failures = append(g.failures, v.Rule)
			}
		})
		if p.cutShort {
			g.failures = append(g.failures,
				report.Name+": the search was cut short (patience), and another run may hold other cells back")
		}
	}
}

// measure returns the risk and the utility of all cells of the mapped tables; a cell that two
// of them share counts once.
func (p *protected) measure(point *tablemap.Point) {
	filled, same := 0, 0
	for cell, status := range p.status {
		c := int32(cell)
		if status == tables.Primary {
			point.Unsafe++
		}
		if p.hidden(c) {
			point.HeldBack++
		}
		if p.isEmpty(c) {
			continue
		}
		if filled++; !p.hidden(c) && p.publishedValue(c) == p.question.Value[cell] {
			same++
		}
	}
	point.Efficiency = 1
	if filled > 0 {
		point.Efficiency = assess.Float(float64(same) / float64(filled))
	}
	risk, square, utility := p.riskOf(func(yield func(int32) bool) {
		for cell := range p.status {
			if !yield(int32(cell)) {
				return
			}
		}
	})
	point.R, point.Error, point.U = assess.Float(risk), assess.Float(square), assess.Float(utility)
}
