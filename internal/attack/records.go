package attack

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
)

// WriteRecords writes a CSV for the steward with one row a record of d, which r was
// computed on: record is its place in the file from 0, as in r's lists; f_k and F_k, risk,
// household_risk, suda2 (the score) and dis are of uniqueness; linked is the share of
// the record's credit as a target of linkage, 1 where it is found for certain;
// posterior and rank are what the Bayesian intruder gives to the target's own
// record. Columns of parts that were not asked for are left out, fields of records
// that were no target are empty. No value of a respondent is written. It returns an
// error where r is not of d, or w's.
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

// measured is how many records the attack was computed on.
func (r *Result) measured() int64 {
	if r.Sampled > 0 {
		return int64(r.Sampled)
	}
	return r.Records
}

type recordColumn struct {
	name   string
	values []float64 // by record, NaN where there is nothing to say
}

func (r *Result) columns(n int) (list []recordColumn) {
	add := func(name string, values []float64) { list = append(list, recordColumn{name, values}) }
	if u := r.Uniqueness; u != nil {
		add("f_k", u.SampleFrequency)
		add("F_k", u.PopulationFrequency)
		add("risk", u.Risk)
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

// spread gives the records their values as targets.
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
