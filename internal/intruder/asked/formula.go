package asked

import (
	"fmt"
	"slices"
	"strings"
)

// Formula lists the terms of a log-linear model beside its intercept: main effects have one
// variable, interactions several.
type Formula struct{ Terms [][]string }

// MainEffects returns the formula with the main effects of some variables alone.
func MainEffects(names []string) Formula {
	var f Formula
	for _, name := range names {
		f.Terms = append(f.Terms, []string{name})
	}
	return f
}

// ParseFormula reads terms joined by +: a variable, an interaction a:b, or a*b for a + b + a:b. A
// name that has one of these characters or a space stands in backticks; a tilde may lead. Each
// variable of an interaction must have its main effect.
func ParseFormula(text string) (Formula, error) {
	var f Formula
	rest := strings.TrimPrefix(strings.TrimSpace(text), "~")
	for {
		names, crossed, after, err := nextTerm(rest)
		if err != nil {
			return f, err
		}
		if crossed {
			f.addSubsets(names)
		} else {
			f.add(names)
		}
		if after == "" {
			break
		}
		rest = after[1:] // after the +
	}
	for _, term := range f.Terms {
		for _, name := range term {
			if !f.Has([]string{name}) {
				return f, fmt.Errorf("must have the main effect of %q, which is in the interaction %s", name, Term(term))
			}
		}
	}
	return f, nil
}

// nextTerm reads the names of a term; after is "" or begins with a +.
func nextTerm(text string) (names []string, crossed bool, after string, err error) {
	for {
		name, rest, err := nextName(text)
		if err != nil {
			return nil, false, "", err
		}
		if slices.Contains(names, name) {
			return nil, false, "", fmt.Errorf("must not have %q twice in one term", name)
		}
		names = append(names, name)
		switch {
		case rest == "" || rest[0] == '+':
			return names, crossed, rest, nil
		case rest[0] == '*' && (crossed || len(names) == 1):
			crossed = true
		case rest[0] != ':' || crossed:
			return nil, false, "",
				fmt.Errorf(
					"must be terms joined by +, each a key, an interaction such as a:b, or a*b for a + b + a:b; names with other characters in backticks, as in `a:b`")
		}
		text = rest[1:]
	}
}

const special = "+:*~^()|`"

// nextName reads a name and what follows it.
func nextName(text string) (name, rest string, err error) {
	text = strings.TrimSpace(text)
	if quoted, ok := strings.CutPrefix(text, "`"); ok {
		name, rest, ok = strings.Cut(quoted, "`")
		if !ok {
			return "", "", fmt.Errorf("must close the backtick of a name")
		}
	} else {
		end := strings.IndexAny(text, special)
		if end < 0 {
			end = len(text)
		}
		name, rest = strings.TrimSpace(text[:end]), text[end:]
	}
	if name == "" {
		return "", "", fmt.Errorf("must have a variable before and after each +, : and *")
	}
	return name, strings.TrimSpace(rest), nil
}

// Has reports whether a term is among those of the formula, in any order of its variables.
func (f *Formula) Has(term []string) bool {
	return slices.ContainsFunc(f.Terms, func(t []string) bool { return sameSet(t, term) })
}

func sameSet(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

func (f *Formula) add(term []string) {
	if !f.Has(term) {
		f.Terms = append(f.Terms, term)
	}
}

// addSubsets adds a term for each set of some of the names, the smaller ones first.
func (f *Formula) addSubsets(names []string) {
	for size := 1; size <= len(names); size++ {
		var choose func(from int, chosen []string)
		choose = func(from int, chosen []string) {
			if len(chosen) == size {
				f.add(slices.Clone(chosen))
				return
			}
			for i := from; i < len(names); i++ {
				choose(i+1, append(chosen, names[i]))
			}
		}
		choose(0, nil)
	}
}

// Variables returns the variables in the order of their main effects.
func (f Formula) Variables() (names []string) {
	for _, t := range f.Terms {
		if len(t) == 1 {
			names = append(names, t[0])
		}
	}
	return names
}

// Interactions reports whether some term has several variables.
func (f Formula) Interactions() bool {
	return slices.ContainsFunc(f.Terms, func(t []string) bool { return len(t) > 1 })
}

// String returns the formula as ParseFormula reads it.
func (f Formula) String() string {
	var terms []string
	for _, t := range f.Terms {
		terms = append(terms, Term(t))
	}
	return strings.Join(terms, " + ")
}

// Term returns a term as ParseFormula reads it.
func Term(names []string) string {
	quoted := slices.Clone(names)
	for i, name := range quoted {
		if strings.ContainsAny(name, special+" \t") {
			quoted[i] = "`" + name + "`"
		}
	}
	return strings.Join(quoted, ":")
}
