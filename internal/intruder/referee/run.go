package referee

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
)

// Options say what the attacks use.
type Options struct {
	Attempts int    // attacks of each kind
	Seed     uint64 // of all draws
	Level    float64
	// Known are the columns that the intruder knows of a target; nil: all.
	Known []string
	// Secrets are the columns that are inferred, each from the other known ones; nil: all that the intruder knows.
	Secrets []string
	// Aux are the two groups of columns that two data sets of an intruder hold; nil: linkability is not measured.
	Aux [][]string
	// Actor is who is judged, and Stated what the user says of the clauses of ISO/IEC 27559, by ClauseNames.
	Actor  string
	Stated map[string]string
}

// DefaultAttempts give intervals of at most ± 0.022.
const DefaultAttempts = 2000

// Result is what the referee finds.
type Result struct {
	Columns  []string `json:"columns" doc:"columns that were compared"`
	Attempts int      `json:"attempts" doc:"attacks of each kind that were asked for"`
	Seed     uint64   `json:"seed" doc:"of the draws"`
	Level    float64  `json:"level" doc:"of the intervals"`
	Records  Records  `json:"records"`
	// Controlled is false if there are no control records, or if they cannot serve as such.
	Controlled bool     `json:"controlled" doc:"whether risks are corrected by control records"`
	Warnings   []string `json:"warnings,omitempty" doc:"what limits the results"`

	SinglingOut *SinglingOut `json:"singling_out,omitempty" doc:"the first criterion of the European guidance (WP216)"`
	Linkability *Outcome     `json:"linkability,omitempty" doc:"the second criterion: whether the release connects two data sets about the same respondents"`
	Inference   []Secret     `json:"inference,omitempty" doc:"the third criterion: whether a column is inferred from the others by the nearest released record"`
	Rarest      []Secret     `json:"rarest,omitempty" doc:"whether a column is inferred from a combination of categories that occurs once in the release"`
	Closest     *Closest     `json:"closest,omitempty" doc:"distances of released records to the closest original and control records"`
	Membership  *Membership  `json:"membership,omitempty" doc:"whether the distance to the closest released record tells who was among the original records"`
	Likeness    *Likeness    `json:"likeness,omitempty" doc:"utility: how like the original the release is"`
	Framework   *Framework   `json:"framework,omitempty" doc:"the findings in the order of ISO/IEC 27559"`
}

// Records are the numbers of records of the three files.
type Records struct {
	Original int `json:"original"`
	Released int `json:"released"`
	Control  int `json:"control"`
}

// Secret is an Outcome for a column that is inferred.
type Secret struct {
	Column string `json:"column"`
	Outcome
}

// run is the state of one measurement.
type run struct {
	d       *Data
	o       *Options
	r       *Result
	z       float64   // of the intervals
	known   []int     // columns that the intruder knows
	secrets []int     // columns to infer
	aux     [][]int   // two groups of columns
	spans   []float64 // by column: the range of numbers in all files
	lacking []bool    // by column: whether any file lacks a value
	usable  bool      // whether the control records can serve as such

	targets [2][]int32 // of the original and of the control file
}

// draws returns the random numbers of one part, so that no part moves those of another.
func (r *run) draws(part uint64) *rand.Rand { return rand.New(rand.NewPCG(r.o.Seed, part)) }

// parallel is the number of goroutines; no result depends on it.
func parallel() int { return runtime.GOMAXPROCS(0) }

// Run measures all that the data allow. It returns an error if data or options are not valid, or if ctx ends.
func Run(ctx context.Context, d Data, o Options) (*Result, error) {
	r, err := newRun(&d, &o)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"control", r.control},
		{"closest records", r.closest},
		{"membership", r.membership},
		{"reversed files", r.reversed},
		{"singling out", r.singlingOut},
		{"linkability", r.linkability},
		{"inference", r.inference},
		{"rarest combinations", r.rarest},
		{"likeness", r.likeness},
	} {
		if err := part.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	r.framework()
	return r.r, nil
}

func newRun(d *Data, o *Options) (*run, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if o.Attempts < 1 {
		return nil, fmt.Errorf("attempts: must be at least 1, got %d", o.Attempts)
	}
	if !(o.Level > 0 && o.Level < 1) {
		return nil, fmt.Errorf("level: must be between 0 and 1, got %v", o.Level)
	}
	if len(o.Aux) != 0 && len(o.Aux) != 2 {
		return nil, fmt.Errorf("aux: must be two groups of columns, got %d", len(o.Aux))
	}
	r := &run{d: d, o: o, z: quantile(o.Level), r: &Result{Attempts: o.Attempts, Seed: o.Seed, Level: o.Level,
		Records: Records{d.Len(Original), d.Len(Released), d.Len(Control)}}}
	for j := range d.Columns {
		c := &d.Columns[j]
		r.r.Columns = append(r.r.Columns, c.Name)
		r.spans = append(r.spans, c.span())
		r.lacking = append(r.lacking, c.Sides[Original].missing() || c.Sides[Released].missing() ||
			c.Sides[Control].missing())
	}
	return r, r.name()
}

// name finds the columns that the options name, and the targets.
func (r *run) name() (err error) {
	named := func(names, otherwise []string) []int {
		if len(names) == 0 {
			names = otherwise
		}
		var list []int
		if err == nil {
			list, err = r.d.index(names)
		}
		return list
	}
	r.known = named(r.o.Known, r.r.Columns)
	if err != nil {
		return fmt.Errorf("known: %w", err)
	}
	if r.secrets = named(r.o.Secrets, r.o.Known); len(r.secrets) == 0 {
		r.secrets = r.known
	}
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	for _, group := range r.o.Aux {
		if r.aux = append(r.aux, named(group, nil)); len(group) == 0 {
			return fmt.Errorf("aux: each of the two groups must have a column, got none")
		}
	}
	if err != nil {
		return fmt.Errorf("aux: %w", err)
	}
	for k, s := range []Side{Original, Control} {
		r.targets[k] = sample(r.d.Len(s), r.o.Attempts, r.draws(10+uint64(k)))
	}
	return nil
}

// targetKeys returns the keys of the targets, those of the original first, and the ranges of the numeric ones.
func (r *run) targetKeys(columns []int) (k searchKeys) {
	original, ranges := r.keys(columns, Original, r.targets[0])
	control, _ := r.keys(columns, Control, r.targets[1])
	k.targets, k.ranges = joined(original, control), ranges
	k.candidates, _ = r.keys(columns, Released, nil)
	return k
}

// side returns the group of target i, and its record.
func (r *run) side(i int) (group int, s Side, record int32) {
	if n := len(r.targets[0]); i >= n {
		return 1, Control, r.targets[1][i-n]
	}
	return 0, Original, r.targets[0][i]
}

// rates returns the rates of both groups of targets by each target's credit, NaN for those that are not attacked.
func (r *run) rates(credit []float64) (attack, control *Rate) {
	var attempts [2]int
	var successes [2]float64
	for i, c := range credit {
		if group, _, _ := r.side(i); c == c {
			attempts[group]++
			successes[group] += c
		}
	}
	return rate(attempts[0], successes[0], r.z), rate(attempts[1], successes[1], r.z)
}
