package tabulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/form"
)

// MapSimulate are values of the parameters of Simulate.
type MapSimulate struct {
	Variable []string `yaml:"variable" doc:"variables whose codes records exchange; by default the variable of the tables, or else the first of rows"`
}

// MapMarkov are values of the parameters of Markov.
type MapMarkov struct {
	Variable []string  `yaml:"variable" doc:"variables whose codes records exchange; by default the variable of the tables, or else the first of rows"`
	Theta    []float64 `yaml:"theta" required:"true" doc:"probabilities of a change, each above 0 and at most 1"`
}

// variablesOf are the variables of the tables of one value.
func (t *Config) variablesOf(table *Table) (names []string) {
	for i := range t.Tables {
		if !t.Tables[i].Linked(table) {
			continue
		}
		for _, v := range t.Tables[i].Rows {
			if !slices.Contains(names, v) {
				names = append(names, v)
			}
		}
	}
	return names
}

// usualExchange compares exchanges where nothing is said, of tables of two variables at
// least.
func (c *candidates) usualExchange(keyed bool) {
	if c.variables < 2 {
		return
	}
	c.method(MapMethod{Simulate: &MapSimulate{}})
	if keyed {
		c.method(MapMethod{Markov: &MapMarkov{Theta: []float64{0.2, 0.5, 1}}})
		c.method(MapMethod{Swap: &MapSwap{Rate: []float64{0.1, 0.3, 0.5}}})
	}
}

func (c *candidates) exchange(m MapMethod) {
	respondents := c.table.Protect.respondents()
	if left := "simulate, markov and swap, which are not audited for holdings as respondents"; c.holding &&
		respondents == "protect" {
		if !slices.Contains(c.omitted, left) {
			c.omitted = append(c.omitted, left)
		}
		return
	}
	if m.Simulate != nil {
		for _, v := range orElse(m.Simulate.Variable, c.table.Protect.Exchanged()) {
			c.add(TableCandidate{Protect: Protect{Simulate: &Simulate{Variable: v, Respondents: respondents}}})
		}
		return
	}
	if m.Swap != nil {
		c.swap(m.Swap, respondents)
		return
	}
	for _, v := range orElse(m.Markov.Variable, c.table.Protect.Exchanged()) {
		for _, theta := range m.Markov.Theta {
			c.add(TableCandidate{Protect: Protect{Markov: &Markov{Variable: v, Theta: theta, Respondents: respondents}}})
		}
	}
}

// validateMapExchange returns how many points an exchange gives.
func (l *loader) validateMapExchange(t *Config, m *MapMethod, table *Table, at string) float64 {
	known := t.variablesOf(table)
	name, variables, points := "simulate", []string(nil), 1.0
	switch {
	case m.Simulate != nil:
		variables = m.Simulate.Variable
	case m.Swap != nil:
		name, variables, points = "swap", m.Swap.Variable, l.validateMapSwap(m.Swap, table, known, at)
	default:
		name, variables, points = "markov", m.Markov.Variable, float64(len(m.Markov.Theta))
		for k, theta := range m.Markov.Theta {
			if !(theta > 0 && theta <= 1) {
				l.Wrong(fmt.Sprintf("%s.markov.theta[%d]", at, k), "must be above 0 and at most 1, got %v", theta)
			}
		}
		if len(m.Markov.Theta) == 0 && l.Given(at+".markov.theta") {
			l.Wrong(at+".markov.theta", "must name at least one probability")
		}
	}
	if len(known) == 1 {
		l.Wrong(at,
			"must be another method: %s has one variable, and with one variable alone an exchange of its codes changes no count",
			table.Name)
	}
	for k, v := range variables {
		if !slices.Contains(known, v) {
			l.Wrong(fmt.Sprintf("%s.%s.variable[%d]", at, name, k), "must be a variable of the table, got %q%s", v,
				form.Instead(v, known))
		}
	}
	return points * float64(max(len(variables), 1))
}

// flowExchange writes a method in which records change places.
func (p *Protect) flowExchange() string {
	var parts []string
	if v := p.Exchanged(); v != "" {
		parts = append(parts, "variable: "+form.Quote(v))
	}
	if p.Markov != nil {
		parts = append(parts, "theta: "+form.Number(p.Markov.Theta))
	}
	if p.Swap != nil {
		parts = append(parts, p.Swap.flow()...)
	}
	if p.respondents() == "ignore" {
		parts = append(parts, "respondents: ignore")
	}
	return "{" + p.Name() + ": {" + strings.Join(parts, ", ") + "}}"
}
