package tabulation

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/sampling"
)

// TableSample are the parameters of a sample of a table's records.
type TableSample struct {
	OneIn int `yaml:"one_in" required:"true" doc:"one record in this many is drawn, at least 2: each record with probability 1/one_in, independently of the others. The same key draws the same records in every table and release"`
}

// MapSample are values of the parameters of TableSample.
type MapSample struct {
	OneIn []int `yaml:"one_in" required:"true" doc:"values of one_in, each at least 2; at most 20 values"`
}

// mostSamples bounds how many samples a map draws: each count keeps one number for each.
const mostSamples = 20

// Samples are the samples that a table's value needs, each by of how many records one is
// drawn, ascending; those that a map tries with them.
func (t *Config) Samples(table *Table) (oneIn []int) {
	if s := table.Protect.Sample; s != nil {
		oneIn = append(oneIn, s.OneIn)
	}
	for _, c := range t.tries(table) {
		if s := c.Protect.Sample; s != nil {
			oneIn = append(oneIn, s.OneIn)
		}
	}
	slices.Sort(oneIn)
	return slices.Compact(oneIn)
}

// tries are the ways in which a map protects a table; none if there is no map, or the map is
// not about this table.
func (t *Config) tries(table *Table) []TableCandidate {
	if !t.mapping {
		return nil
	}
	mapped, err := t.Mapped()
	if err != nil || !t.Tables[mapped[0]].Linked(table) {
		return nil
	}
	list, _, err := t.Candidates()
	if err != nil {
		return nil
	}
	return list
}

// validateMapSample returns how many points the samples of a map give.
func (l *loader) validateMapSample(m *MapSample, at string) float64 {
	at += ".sample.one_in"
	for k, oneIn := range m.OneIn {
		for _, p := range sampling.Check(oneIn) {
			l.Wrong(fmt.Sprintf("%s[%d]", at, k), "%s", p.Text)
		}
	}
	switch {
	case len(m.OneIn) == 0 && l.Given(at):
		l.Wrong(at, "must name at least one number")
	case len(m.OneIn) > mostSamples:
		l.Wrong(at, "must name at most %d numbers, got %d", mostSamples, len(m.OneIn))
	}
	return float64(len(m.OneIn))
}
