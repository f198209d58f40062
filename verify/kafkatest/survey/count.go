package survey

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Released is one record that a reader has read.
type Released struct {
	Partition int32 // of the released topic
	Value     []byte
}

// Values are the released values of the masked columns, wage and hours, by record
// id. They are compared bit by bit.
type Values map[string][2]float64

// Count is the result of checking a release.
type Count struct {
	Values     Values
	Duplicates int
	problems   []string
	more       int
}

// problem stores the first few of possibly 200,000 faults.
func (c *Count) problem(format string, args ...any) {
	if len(c.problems) == 10 {
		c.more++
		return
	}
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// Err returns the faults of the release as an error; nil if there are none.
func (c *Count) Err() error {
	if len(c.problems) == 0 {
		return nil
	}
	text := strings.Join(c.problems, "\n")
	if c.more > 0 {
		text += fmt.Sprintf("\nand %d more", c.more)
	}
	return errors.New(text)
}

// Expectation describes the expected release.
type Expectation struct {
	Records  Records
	Counts   []int64 // by partition: offsets 0 to Counts[p]-1 were produced
	Without  map[string]bool
	Repeated bool // at_least_once: a record may come twice, with the same values
	Anywhere bool // partitions and order are not kept, as in files
}

// Counts returns how many of the first n records each partition has.
func (r Records) Counts(n int64) []int64 {
	counts := make([]int64, r.Partitions)
	for i := range n {
		counts[r.Home(i)]++
	}
	return counts
}

// answer is a released record; pointers distinguish a missing member from an empty one.
type answer struct {
	ID         *string  `json:"id"`
	Name       *string  `json:"name"`
	Wage       *float64 `json:"wage"`
	Hours      *float64 `json:"hours"`
	Education  *int     `json:"education"`
	Experience *int     `json:"experience"`
	Region     *string  `json:"region"`
	Ethnicity  *string  `json:"ethnicity"`
}

// Check checks a release: every input record must be there once, in its partition, in
// the order of the input, with every member that is not masked unchanged, and without
// its identifier.
func (e Expectation) Check(released []Released) *Count {
	c := &Count{Values: make(Values, len(released))}
	last := make([]int64, len(e.Counts))
	for i := range last {
		last[i] = -1
	}
	for i, r := range released {
		e.one(c, last, i, r)
	}
	missing := 0
	var first string
	for p, n := range e.Counts {
		for o := range n {
			id := ID(int32(p), o)
			if _, there := c.Values[id]; !there && !e.Without[id] {
				if missing == 0 {
					first = id
				}
				missing++
			}
		}
	}
	if missing > 0 {
		c.problem("%d records are missing, %s the first", missing, first)
	}
	if c.Duplicates > 0 && !e.Repeated {
		c.problem("%d records came more than once", c.Duplicates)
	}
	return c
}

// one checks one record. last has the highest offset so far in each partition.
func (e Expectation) one(c *Count, last []int64, i int, r Released) {
	var a answer
	if err := json.Unmarshal(r.Value, &a); err != nil {
		c.problem("released record %d is not JSON: %v", i, err)
		return
	}
	if a.ID == nil || a.Wage == nil || a.Hours == nil || a.Education == nil || a.Experience == nil || a.Region == nil ||
		a.Ethnicity == nil {
		c.problem("released record %d lacks a member: %s", i, r.Value)
		return
	}
	if a.Name != nil || strings.Contains(string(r.Value), "Respondent-") {
		c.problem("%s: the identifier was released", *a.ID)
	}
	p, o, err := Place(*a.ID)
	if err != nil || int(p) >= len(e.Counts) || o >= e.Counts[p] {
		c.problem("%s was never put in", *a.ID)
		return
	}
	if e.Without[*a.ID] {
		c.problem("%s was to be held back and was released", *a.ID)
	}
	values := [2]float64{*a.Wage, *a.Hours}
	if before, again := c.Values[*a.ID]; again {
		c.Duplicates++
		if before != values {
			c.problem("%s was released twice, with different values: %v and %v", *a.ID, before, values)
		}
	} else if !e.Anywhere {
		// Records must first occur in the order of the input, even if they may be repeated.
		if p != r.Partition {
			c.problem("%s is in partition %d", *a.ID, r.Partition)
		}
		if o < last[p] {
			c.problem("%s comes after the record at offset %d", *a.ID, last[p])
		}
		last[p] = max(last[p], o)
	}
	c.Values[*a.ID] = values
	in := e.Records.At(p, o)
	if *a.Education != in.Education || *a.Experience != in.Experience || *a.Region != in.Region ||
		*a.Ethnicity != in.Ethnicity {
		c.problem("%s: a member that is not masked has changed: %s", *a.ID, r.Value)
	}
}

// Same compares the values of two releases, record by record.
func Same(got, want Values) error {
	c := &Count{}
	ids := make([]string, 0, len(want))
	for id := range want {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		if g, there := got[id]; !there {
			c.problem("%s is not in the release", id)
		} else if g != want[id] {
			c.problem("%s has the values %v, undisturbed it had %v", id, g, want[id])
		}
	}
	for id := range got {
		if _, there := want[id]; !there {
			c.problem("%s is not in the undisturbed release", id)
		}
	}
	return c.Err()
}

// Masked returns an error if the values are not masked: a program that copies records
// unchanged would pass every other check.
func (e Expectation) Masked(v Values) error {
	same := 0
	for id, values := range v {
		p, o, err := Place(id)
		if err != nil {
			return err
		}
		in := e.Records.At(p, o)
		if values[0] == in.Wage || values[1] == in.Hours {
			same++
		}
	}
	// Noise of SD 50 leaves a wage with 2 decimals unchanged once in 12,000; noise of SD 5
	// leaves hours with 1 decimal unchanged once in 125.
	if same > 10+len(v)/25 {
		return fmt.Errorf("%d of %d records have a value as it went in", same, len(v))
	}
	return nil
}
