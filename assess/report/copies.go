package report

import (
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Copy is one of several releases that a run has made of the same data.
type Copy struct {
	Number   int          `json:"number" doc:"number of the copy, from 1, which replaces {copy} in the release's path"`
	Records  int64        `json:"records" doc:"records released"`
	Passed   bool         `json:"passed" doc:"whether this copy passes the gate; either all copies are published or none"`
	Withheld string       `json:"withheld,omitempty" doc:"which rules do not hold for this copy"`
	Columns  []CopyColumn `json:"columns" doc:"the measured columns"`
}

// CopyColumn is a column of a copy.
type CopyColumn struct {
	Column    string        `json:"column"`
	Released  PublicMoments `json:"released"`
	RealisedU assess.Float  `json:"realised_U" doc:"U of this copy alone"`
}

// CopyOf returns the entry for a copy, from the report of that copy.
func (r *Report) CopyOf(number int) Copy {
	c := Copy{Number: number, Records: r.Records.Released, Passed: r.Gate.Passed, Withheld: r.Withheld,
		Columns: []CopyColumn{}}
	for _, m := range r.Columns {
		c.Columns = append(c.Columns, CopyColumn{
			m.Name, PublicMoments{N: m.Released.N, Nulls: m.Released.Nulls, Mean: m.Released.Mean, SD: m.Released.SD},
			m.Utility.RealisedU,
		})
	}
	return c
}

// copiesWords tells data users that a release consists of several copies; "" if there is only one.
func (r *Release) copiesWords() string {
	if r == nil || len(r.Copies) == 0 {
		return ""
	}
	var names []string
	for _, c := range r.Copies {
		names = append(names, c.Path)
	}
	return fmt.Sprintf(
		"The release is %d copies of the same records, each with draws of its own in the synthetic columns: %s. Analyse each as if it were the data and put the results together as said at these columns; never one below the other, as if the records were more. "+
			"Means and SDs of the released columns, where they are listed here, are those of the first copy.", len(names),
		strings.Join(names, ", "))
}
