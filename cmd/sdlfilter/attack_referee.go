package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/internal/intruder/referee"
)

// refereeFlags are the flags of attack about releases whose records need not correspond to original ones.
type refereeFlags struct {
	asked     bool
	unmatched bool
	control   string
	columns   []string
	secrets   []string
	aux       []string
	attempts  int
	seed      uint64
	models    []string
	actor     string
	state     []string
}

func (r *refereeFlags) add(f *pflag.FlagSet) {
	f.StringVar(&r.control, "control", "",
		"records of the same population that the release was not made of: asks for the referee")
	f.BoolVar(&r.asked, "referee", false, "the referee without control records: success rates, which are upper bounds")
	f.BoolVar(&r.unmatched, "unmatched", false,
		"released records correspond to no original ones: --keys and --categorical are what the referee's intruder knows, and the other attacks are not made")
	f.StringSliceVar(&r.columns, "columns", nil,
		"columns that the referee compares; all that the files share where none is given")
	f.StringSliceVar(&r.secrets, "secrets", nil,
		"columns that the referee infers, each from the other known ones; all that are known where none is given")
	f.StringArrayVar(&r.aux, "aux", nil,
		"columns of one data set of an intruder, given twice: does the release link the two?")
	f.IntVar(&r.attempts, "attempts", referee.DefaultAttempts, "attacks of each kind")
	f.Uint64Var(&r.seed, "seed", 1, "of the referee's draws")
	f.StringArrayVar(&r.models, "models", nil,
		"a regression to compare, as \"log(wage) ~ education + experience\"; may be repeated")
	f.StringVar(&r.actor, "actor", "", "who is judged, for the report: recipient, public, …")
	f.StringArrayVar(&r.state, "state", nil, "clause=text: what you state of a clause of ISO/IEC 27559 ("+
		strings.Join(referee.ClauseNames, ", ")+"), for the report")
}

// mostStated is the greatest length of a statement, in bytes.
const mostStated = 2000

// refereed asks for what needs no correspondence of records.
func (a *attackFlags) refereed() (err error) {
	r, f := &a.referee, &a.foreign
	for _, text := range r.models {
		m, err := asked.ParseLinearModel(text)
		if err != nil {
			return fmt.Errorf("--models: %w", err)
		}
		f.Models = append(f.Models, m)
	}
	if r.control == "" && !r.asked {
		return a.refuse("is about the referee, who is asked for by --control or --referee", "unmatched", "columns", "secrets",
			"aux", "attempts", "seed", "actor", "state")
	}
	if r.control != "" {
		if f.Control, err = a.format.source(r.control); err != nil {
			return err
		}
	}
	o := &referee.Options{Attempts: r.attempts, Seed: r.seed, Level: 0.95, Secrets: r.secrets, Actor: r.actor,
		Stated: map[string]string{}}
	f.Referee, f.Columns, f.Unmatched = o, r.columns, r.unmatched
	if r.attempts < 1 || r.attempts > mostAttempts {
		return fmt.Errorf("--attempts must be from 1 to %d, got %d", mostAttempts, r.attempts)
	}
	for _, group := range r.aux {
		names := strings.Split(group, ",")
		for i := range names {
			names[i] = strings.TrimSpace(names[i])
		}
		o.Aux = append(o.Aux, names)
	}
	if n := len(o.Aux); n != 0 && n != 2 {
		return fmt.Errorf("--aux must be given twice, with the columns of two data sets, got %d", n)
	}
	return errors.Join(r.statements(o), distinct("columns", r.columns), distinct("secrets", r.secrets),
		distinct("aux", slices.Concat(o.Aux...)))
}

// mostAttempts bounds the memory of the attacks.
const mostAttempts = 1_000_000

// statements reads what the user states.
func (r *refereeFlags) statements(o *referee.Options) error {
	if len(r.actor) > mostStated {
		return fmt.Errorf("--actor must have at most %d bytes, got %d", mostStated, len(r.actor))
	}
	for _, text := range r.state {
		clause, words, ok := strings.Cut(text, "=")
		clause = strings.TrimSpace(clause)
		switch {
		case !ok || !slices.Contains(referee.ClauseNames, clause):
			return fmt.Errorf("--state must be clause=text, with one of the clauses %s", strings.Join(referee.ClauseNames, ", "))
		case o.Stated[clause] != "":
			return fmt.Errorf("--state: %q is given twice", clause)
		case len(words) > mostStated:
			return fmt.Errorf("--state: what is stated of %q must have at most %d bytes, got %d", clause, mostStated, len(words))
		}
		o.Stated[clause] = words
	}
	return nil
}

// distinct returns an error unless the names of columns are there, each once.
func distinct(flag string, names []string) error {
	for i, name := range names {
		switch {
		case name == "":
			return fmt.Errorf("--%s: a column has no name", flag)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("--%s: %q is given twice", flag, name)
		}
	}
	return nil
}
