package attack

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
)

// WriteRecords writes a CSV for the data steward with one row per record of d. r must be
// the result of an attack on d. The columns are: record, the position in the file from 0,
// as in r's lists; f_k, F_k, risk, household_risk, suda2 (the score) and dis from
// uniqueness; linked, the probability that linkage finds the record as a target, 1 if it
// is certain; posterior and rank, those of the target's own record for the Bayesian
// intruder. Columns of parts that were not requested are omitted. Fields of records that
// were not targets are empty. No value of a respondent is written. It returns an error if
// r does not belong to d, or the error of w.
func WriteRecords(w io.Writer, r *Result, d Data) error {
	n, err := d.check()
	if err != nil {
		return fmt.Errorf("records: %w", err)
	}
	if len(r.chosen) != r.Targets || r.Sampled > 0 && r.Sampled != n || r.Sampled == 0 && r.Records != int64(n) {
		return fmt.Errorf("records: must be the %d that the attack was run on, got %d", r.measured(), n)
	}
	columns := r.columns(n)
	c := csv.NewWriter(w)
	row := []string{"record"}
	for _, column := range columns {
		row = append(row, column.name)
	}
	if err := c.Write(row); err != nil {
		return fmt.Errorf("records: %w", err)
	}
	for i := range n {
		row = append(row[:0], strconv.Itoa(d.place(i)))
		for _, column := range columns {
			row = append(row, field(column.values[i]))
		}
		if err := c.Write(row); err != nil {
			return fmt.Errorf("records: %w", err)
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("records: %w", err)
	}
	return nil
}

// measured returns the number of records that the attack was computed on.
func (r *Result) measured() int64 {
	if r.Sampled > 0 {
		return int64(r.Sampled)
	}
	return r.Records
}

type recordColumn struct {
	name   string
	values []float64 // by record, NaN for an empty field
}

func (r *Result) columns(n int) (list []recordColumn) {
	add := func(name string, values []float64) { list = append(list, recordColumn{name, values}) }
	if u := r.Uniqueness; u != nil {
		add("f_k", u.SampleFrequency)
		add("F_k", u.PopulationFrequency)
		add("risk", u.Risk)
		if u.Persons != nil {
			add("person_k", u.Persons.Frequency)
		}
		if u.Household != nil {
			add("household_risk", u.Household.Risk)
		}
		if u.SUDA2 != nil {
			add("suda2", u.SUDA2.Score)
			add("dis", u.SUDA2.DIS)
		}
	}
	if r.Linkage != nil {
		add("linked", r.spread(n, func(target int) float64 { return r.Linkage.Linked[target] }))
	}
	if r.Bayes != nil {
		add("posterior", r.spread(n, func(target int) float64 { return r.Bayes.PerTarget[target].Posterior }))
		add("rank", r.spread(n, func(target int) float64 { return r.Bayes.PerTarget[target].Rank }))
	}
	return list
}

// spread returns by record the values of the targets, NaN for a record that was not a
// target.
func (r *Result) spread(n int, of func(target int) float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = math.NaN()
	}
	for target, record := range r.chosen {
		values[record] = of(target)
	}
	return values
}

func field(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
