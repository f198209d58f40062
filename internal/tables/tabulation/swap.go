package tabulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/form"
)

// TableSwap are the parameters of swapping in a table.
type TableSwap struct {
	Variable string   `yaml:"variable" doc:"the variable whose codes are paired; records with paired codes exchange them. The counts by this variable and the counts by all other variables together do not change; by default the first of rows"`
	Match    []string `yaml:"match" doc:"variables in which both records of an exchange have equal codes: the counts by these variables together with the paired variable do not change either"`
	Rate     float64  `yaml:"rate" required:"true" doc:"the share of the records of the rarer of two paired codes that are exchanged with as many records of the other code, within equal codes of match; above 0, at most 1"`

	Respondents string `yaml:"respondents" default:"protect" enum:"protect,ignore" doc:"protect (default): also protect against respondents, who know their own record; ignore: protect against outsiders only"`
}

// MapSwap are values of the parameters of TableSwap.
type MapSwap struct {
	Variable []string  `yaml:"variable" doc:"variables whose codes are paired; by default the variable of the tables, or else the first of rows"`
	Match    []string  `yaml:"match" doc:"variables in which both records of an exchange have equal codes, at every point"`
	Rate     []float64 `yaml:"rate" required:"true" doc:"shares of records that are exchanged, each above 0 and at most 1"`
}

// Matched are the variables in which records that change places are alike.
func (p *Protect) Matched() []string {
	if p.Swap != nil {
		return p.Swap.Match
	}
	return nil
}

// validateSwap checks what a swap has beside what all exchanges have.
func (l *loader) validateSwap(table *Table, known []string, path string) {
	s := table.Protect.Swap
	if s == nil {
		return
	}
	if l.Given(path+".rate") && l.Sound(path+".rate") {
		var ps check.Problems
		if !(s.Rate > 0 && s.Rate <= 1) {
			ps.Addf("rate", "must be above 0 and at most 1, got %v", s.Rate)
		}
		l.Within(path, ps)
	}
	if !l.Sound(path+".match", path+".variable") || len(known) == 0 {
		return
	}
	exchanged := s.Variable
	if exchanged == "" {
		exchanged = table.Rows[0]
	}
	l.validateMatch(s.Match, known, exchanged, path)
}

// validateMatch checks the variables in which both records of an exchange are alike; one must
// be left in which they are not.
func (l *loader) validateMatch(match, known []string, exchanged, at string) {
	for k, v := range match {
		path := fmt.Sprintf("%s.match[%d]", at, k)
		switch {
		case !slices.Contains(known, v):
			l.Wrong(path, "must be a variable of the table, got %q%s", v, form.Instead(v, known))
		case v == exchanged:
			l.Wrong(path, "must not be the variable whose codes are paired, got %q", v)
		case slices.Contains(match[:k], v):
			l.Wrong(path, "must not repeat a variable, got %q again", v)
		}
	}
	left := slices.DeleteFunc(slices.Clone(known), func(v string) bool {
		return v == exchanged || slices.Contains(match, v)
	})
	if len(left) == 0 && len(known) > 1 {
		l.Wrong(at+".match",
			"must leave out at least one variable, in which exchanged records differ: otherwise nothing is changed")
	}
}

// swap crosses the values of the parameters of a swap.
func (c *candidates) swap(m *MapSwap, respondents string) {
	for _, v := range orElse(m.Variable, c.table.Protect.Exchanged()) {
		for _, rate := range m.Rate {
			c.add(
				TableCandidate{
					Protect: Protect{Swap: &TableSwap{Variable: v, Match: m.Match, Rate: rate, Respondents: respondents}}})
		}
	}
}

// validateMapSwap returns how many points the rates of a swap give.
func (l *loader) validateMapSwap(m *MapSwap, table *Table, known []string, at string) float64 {
	at += ".swap"
	for k, rate := range m.Rate {
		if !(rate > 0 && rate <= 1) {
			l.Wrong(fmt.Sprintf("%s.rate[%d]", at, k), "must be above 0 and at most 1, got %v", rate)
		}
	}
	if len(m.Rate) == 0 && l.Given(at+".rate") {
		l.Wrong(at+".rate", "must name at least one rate")
	}
	for _, v := range orElse(m.Variable, table.Protect.Exchanged()) {
		if v == "" && len(table.Rows) > 0 {
			v = table.Rows[0]
		}
		if slices.Contains(known, v) {
			l.validateMatch(m.Match, known, v, at)
		}
	}
	return float64(len(m.Rate))
}

// flow writes what a swap has beside what all exchanges have.
func (s *TableSwap) flow() (parts []string) {
	if len(s.Match) > 0 {
		var names []string
		for _, v := range s.Match {
			names = append(names, form.Quote(v))
		}
		parts = append(parts, "match: ["+strings.Join(names, ", ")+"]")
	}
	return append(parts, "rate: "+form.Number(s.Rate))
}
