package attack

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
)

// Attribute requests a measure of what a release that was drawn from models discloses
// about the records that the models were fitted to, beyond what it discloses about
// records that were set aside (held out).
type Attribute struct {
	Within float64 // a guessed number is correct within this number of SDs of the original column
	Of     []Secret
}

// Secret is a column that the intruder guesses: numbers, or codes of categories, NaN if a value is missing.
// HeldOut says for each record whether it was set aside.
type Secret struct {
	Name               string
	Original, Released []float64
	Categories         bool
	HeldOut            []bool
}

// Disclosure holds the results of guessing synthetic columns, in the form of "attribute" in the program's
// output.
type Disclosure struct {
	Within  float64         `json:"within" doc:"a guessed number is correct if it is within this many SDs of the original column; a category, if it is the same"`
	Columns []GuessedColumn `json:"columns" doc:"the synthetic columns, in the order of the masks"`
}

// GuessedColumn measures how often the value of the nearest released record is that of the target: Giomi,
// Boenisch, Wehmeyer and Tasnádi (2023), section 4.3. Their control records are the records that were set
// aside.
type GuessedColumn struct {
	Name    string  `json:"name"`
	Learnt  Guesses `json:"learnt" doc:"guesses for records to which the models were fitted"`
	HeldOut Guesses `json:"held_out" doc:"guesses for records that were set aside, about which the release discloses no more than about anybody"`
	// Excess is the difference of the shares of correct guesses and StdError its standard error, with one
	// correct and one wrong guess added on each side (Agresti and Caffo 2000), so that they are usable for
	// few records or without any correct guess.
	Excess   float64 `json:"excess" doc:"share of correct guesses for records to which the models were fitted minus the share for records set aside, with one correct and one wrong guess added to each (Agresti and Caffo 2000)"`
	StdError float64 `json:"std_error" doc:"standard error of the excess"`
	Most     float64 `json:"most" doc:"upper bound of the excess, which the gate judges: excess plus two standard errors, limited to 0 to 1; 1 if either group has fewer than 10 records"`
}

// Guesses counts targets and those whose value was guessed correctly.
type Guesses struct {
	Targets int     `json:"targets"`
	Right   float64 `json:"right" doc:"number of targets whose value is that of the released record nearest by the other keys; if m records tie, each counts 1/m"`
}

// leastGuessed is the least number of targets on each side for a usable result.
const leastGuessed = 10

// disclosed computes Excess, StdError and Most from the guesses.
func (c *GuessedColumn) disclosed() {
	share := func(g Guesses) (p, variance float64) {
		n := float64(g.Targets) + 2
		p = (g.Right + 1) / n
		return p, p * (1 - p) / n
	}
	p, v := share(c.Learnt)
	q, w := share(c.HeldOut)
	c.Excess, c.StdError = p-q, math.Sqrt(v+w)
	c.Most = min(1, max(0, c.Excess+2*c.StdError))
	if min(c.Learnt.Targets, c.HeldOut.Targets) < leastGuessed {
		c.Most = 1
	}
}

// Most returns the greatest Most of all columns.
func (d *Disclosure) Most() (most float64) {
	for _, c := range d.Columns {
		most = max(most, c.Most)
	}
	return most
}

// check returns an error unless there are columns, each with the n records of the data and with at
// least one other key to guess it by.
func (o *Attribute) check(d *Data, n int) error {
	if !(o.Within >= 0) || math.IsInf(o.Within, 1) {
		return fmt.Errorf("attribute: within must be at least 0 and finite, got %v", o.Within)
	}
	if len(o.Of) == 0 {
		return errors.New("attribute: must have synthetic columns with records that were set aside, got none")
	}
	for i := range o.Of {
		s := &o.Of[i]
		if len(s.Original) != n || len(s.Released) != n || len(s.HeldOut) != n {
			return fmt.Errorf("attribute: column %q: must have %d records like the others, got %d, released %d, held out %d",
				s.Name, n, len(s.Original), len(s.Released), len(s.HeldOut))
		}
		if targets, _ := d.keysBut(s.Name); len(targets.Numeric)+len(targets.Categorical) == 0 {
			return fmt.Errorf("attribute: column %q: must have a key beside it to be guessed by, got none", s.Name)
		}
	}
	return nil
}

// keysBut returns all keys except the column with the given name, of the original and
// of the release.
func (d *Data) keysBut(name string) (original, released linkage.Keys) {
	for _, j := range d.Linked {
		if c := &d.Numeric[j]; c.Name != name {
			original.Numeric, released.Numeric = append(original.Numeric, c.Original), append(released.Numeric, c.Released)
		}
	}
	for i := range d.Categorical {
		if c := &d.Categorical[i]; c.Name != name {
			original.Categorical, released.Categorical = append(original.Categorical, c.Original),
				append(released.Categorical, c.released())
		}
	}
	return original, released
}

// only returns the keys of the given records.
func only(k linkage.Keys, records []int32) (some linkage.Keys) {
	for _, c := range k.Numeric {
		some.Numeric = append(some.Numeric, at(c, records))
	}
	for _, c := range k.Categorical {
		some.Categorical = append(some.Categorical, at(c, records))
	}
	return some
}

func at[T any](column []T, records []int32) []T {
	list := make([]T, len(records))
	for i, r := range records {
		list[i] = column[r]
	}
	return list
}

// attribute guesses each secret column for records that the models were fitted to and for
// records that were set aside, at most Targets of each, evenly spaced over those that have a
// value.
func (a *attack) attribute(ctx context.Context) error {
	r := &Disclosure{Within: a.o.Attribute.Within}
	for i := range a.o.Attribute.Of {
		s := &a.o.Attribute.Of[i]
		c := GuessedColumn{Name: s.Name}
		near := 0.0
		if m := loss.MomentsOf(s.Original); !s.Categories && m.SD != nil {
			near = a.o.Attribute.Within * *m.SD
		}
		for _, side := range []struct {
			held bool
			to   *Guesses
		}{{false, &c.Learnt}, {true, &c.HeldOut}} {
			var records []int32
			for k, v := range s.Original {
				if v == v && s.HeldOut[k] == side.held {
					records = append(records, int32(k))
				}
			}
			records = spread(records, a.o.Targets)
			if err := a.guess(ctx, s, records, near, side.to); err != nil {
				return err
			}
		}
		c.disclosed()
		r.Columns = append(r.Columns, c)
	}
	a.r.Attribute = r
	return nil
}

// spread returns at most n elements of a list, from the middles of n equal stretches;
// all if n is 0.
func spread(list []int32, n int) []int32 {
	if n <= 0 || n >= len(list) {
		return list
	}
	some := make([]int32, n)
	for i := range some {
		some[i] = list[(2*int64(i)+1)*int64(len(list))/(2*int64(n))]
	}
	return some
}

// guess counts the records whose value differs by at most near from the value of the nearest
// released record; tied records share the credit.
func (a *attack) guess(ctx context.Context, s *Secret, records []int32, near float64, to *Guesses) error {
	to.Targets = len(records)
	if len(records) == 0 {
		return nil
	}
	original, released := a.d.keysBut(s.Name)
	credit := make([]float64, len(records))
	search, err := linkage.NewNearest(only(original, records), released, nil)
	if err != nil {
		return err
	}
	err = search.Visit(ctx, func(i int, nearest *linkage.Neighbours) {
		right, x := 0, s.Original[records[i]]
		for _, r := range nearest.Records {
			if math.Abs(s.Released[r]-x) <= near {
				right++
			}
		}
		credit[i] = float64(right) / float64(len(nearest.Records))
	})
	for _, v := range credit {
		to.Right += v
	}
	return err
}
