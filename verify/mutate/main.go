// Command mutate changes the program in one place at a time and sees whether a test of
// the same package fails (make mutate; the results are in docs/testing.md):
//
//	(cd verify && go build -o ../.cache/verify/ ./mutate)
//	.cache/verify/mutate -n 40 -packages ./transform
//
// The source tree is never touched: a mutant is built with the go command's -overlay.
// Which mutants are drawn depends on the seed, the package and its source alone. A
// mutant that does not compile does not count; another is drawn in its place.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// defaults are the packages that the project watches, each with those below it.
const defaults = "./transform,./assess ./assess/internal/...,./connectors/parquet,./connectors/kafka,./internal/publish,./internal/pipeline/..."

// settings are what the flags say.
type settings struct {
	patterns []string // packages; those of one pattern are one population
	n        int      // mutants of each pattern
	seed     uint64
	tests    string  // only tests whose names match
	file     string  // only mutants of files whose path contains it
	share    float64 // least share of mutants killed
	patience time.Duration
	slow     time.Duration // tests that take longer are left out; 0: none
	memory   int           // of a test, MB
	list     bool
	named    bool // those of named.txt in place of a sample
	same     bool // those of equivalent.txt in place of a sample
	long     bool // tests without -short
}

func main() {
	var s settings
	patterns := flag.String("packages", "",
		"packages, by comma, of which those that match one `pattern` are sampled together (default "+defaults+")")
	flag.IntVar(&s.n, "n", 50, "`mutants` of each pattern")
	flag.Uint64Var(&s.seed, "seed", 12, "`seed` of the sample")
	flag.StringVar(&s.file, "file", "", "only mutants whose place (path:line) contains this `text`")
	flag.StringVar(&s.tests, "run", "^(Test|Fuzz|Example)", "only tests whose names match this `expression`")
	flag.Float64Var(&s.share, "least", 0, "exit with 1 where a smaller `share` was killed")
	flag.DurationVar(&s.patience, "patience", 30*time.Second,
		"how long a mutant's tests may take beyond ten times what they took before")
	flag.DurationVar(&s.slow, "slow", 0,
		"leave out tests that take longer than this `duration` by themselves, 0: none; what survives may then be noticed by them")
	flag.IntVar(&s.memory, "memory", 6000, "`megabytes` of address space that a mutant's tests may use")
	flag.BoolVar(&s.list, "list", false, "list the sample, run nothing")
	flag.BoolVar(&s.named, "named", false, "try the mutants of named.txt, no sample")
	flag.BoolVar(&s.same, "equivalent", false,
		"try the mutants of equivalent.txt, no sample: one that is killed does not belong there")
	flag.BoolVar(&s.long, "long", false, "run the tests without -short")
	flag.Parse()
	if *patterns != "" {
		s.patterns = strings.Split(*patterns, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run samples and tries the mutants of every pattern, and prints a line for each and a
// table for all.
func run(ctx context.Context, s settings, to io.Writer) error {
	out := bufio.NewWriter(to)
	defer out.Flush()
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	list, err := changes(named)
	if err != nil {
		return err
	}
	alike, err := equivalences(equivalent)
	if err != nil {
		return err
	}
	switch {
	case s.patterns != nil:
	case s.named:
		s.patterns = patternsOf(list)
	case s.same:
		s.patterns = foldersOf(alike)
	default:
		s.patterns = strings.Split(defaults, ",")
	}
	var all tally
	var table strings.Builder
	for _, pattern := range s.patterns {
		packages, err := load(ctx, pattern)
		if err != nil {
			return err
		}
		mutants, same, err := population(&s, list, alike, pattern, packages)
		if err != nil {
			return err
		}
		mutants, over := drawMutants(s, mutants, same)
		if len(same) > 0 {
			fmt.Fprintf(out, "# %d of equivalent.txt are not drawn; %d of them would have been\n", len(same), over)
		}
		t, err := try(ctx, s, scratch, packages, mutants, out)
		if err != nil {
			return fmt.Errorf("%s: %w", pattern, err)
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", strings.TrimPrefix(pattern, "./"), t)
		all.add(t)
	}
	if s.list {
		return nil
	}
	fmt.Fprintf(out,
		"\n| package | mutants | killed | timed out | survived | not reached by a test | share killed |\n|---|---|---|---|---|---|---|\n%s| all | %s |\n", table.String(), all)
	if s.same && all.killed+all.late > 0 {
		return fmt.Errorf("%d of equivalent.txt were killed: they can be told apart", all.killed+all.late)
	}
	if all.share() < s.share {
		return fmt.Errorf("%.1f %% were killed, wanted %.1f %%", 100*all.share(), 100*s.share)
	}
	return nil
}

// population is the mutants of the packages of a pattern in the order in which they are
// tried, and which of them are left out because they are equivalent.
func population(s *settings, list []change, alike []equivalence, pattern string, packages []*pkg) (all []mutant,
	same map[span]bool, err error) {
	if s.named {
		s.n = len(list)
		all, err = mutantsNamed(list, pattern, packages)
		return all, nil, err
	}
	some, err := mutantsEquivalent(alike, packages)
	if err != nil || s.same {
		s.n = len(alike)
		return some, nil, err
	}
	same = map[span]bool{}
	for _, m := range some {
		same[m.key()] = true
	}
	return sample(*s, packages), same, nil
}

// sample puts the mutants of some packages in the order in which they are tried.
func sample(s settings, packages []*pkg) []mutant {
	var all []mutant
	hash := fnv.New64a()
	for _, p := range packages {
		io.WriteString(hash, p.ImportPath)
		for _, m := range p.mutants() {
			if strings.Contains(m.place(), s.file) {
				all = append(all, m)
			}
		}
	}
	g := rand.New(rand.NewPCG(s.seed, hash.Sum64()))
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// tally counts what became of mutants.
type tally struct{ killed, late, survived, unreached int }

func (t *tally) add(other tally) {
	t.killed += other.killed
	t.late += other.late
	t.survived += other.survived
	t.unreached += other.unreached
}

func (t tally) all() int { return t.killed + t.late + t.survived + t.unreached }

// share is the share that tests noticed; a test that never ends notices too.
func (t tally) share() float64 {
	if t.all() == 0 {
		return 1
	}
	return float64(t.killed+t.late) / float64(t.all())
}

func (t tally) String() string {
	return fmt.Sprintf("%d | %d | %d | %d | %d | %.0f %%", t.all(), t.killed, t.late, t.survived, t.unreached,
		100*t.share())
}

// drawMutants returns the first n mutants that compile and are not the same as the program, and how
// many of the latter were passed over for them.
func drawMutants(s settings, mutants []mutant, same map[span]bool) (some []mutant, over int) {
	for _, m := range mutants {
		if len(some) == s.n {
			break
		}
		switch {
		case same[m.key()]:
			over++
		case s.named || s.same || m.compiles():
			some = append(some, m)
		}
	}
	return some, over
}

// try runs mutants.
func try(ctx context.Context, s settings, scratch string, packages []*pkg, mutants []mutant, out *bufio.Writer) (
	t tally, err error) {
	if s.list || len(mutants) == 0 {
		for _, m := range mutants {
			fmt.Fprintf(out, "%s\n", m)
		}
		return t, nil
	}
	r, err := reach(ctx, s, scratch, packages)
	if err != nil {
		return t, err
	}
	fmt.Fprintf(out, "# %d tests, %v\n", len(r.tests), r.total().Round(time.Millisecond))
	if r.together, err = assemble(ctx, scratch, mutants); err != nil {
		return t, err
	}
	fmt.Fprintf(out, "# %d mutants, %d of them built together\n", len(mutants), len(r.together.number))
	for _, m := range mutants {
		fate, by, err := r.try(ctx, s, scratch, m)
		if errors.Is(err, errNotCompiled) && !s.named {
			continue
		}
		if err != nil {
			return t, err
		}
		switch fate {
		case killed:
			t.killed++
		case late:
			t.late++
		case survived:
			t.survived++
		case unreached:
			t.unreached++
		}
		fmt.Fprintf(out, "%-9s %s%s\n", fate, m, by)
		if err := out.Flush(); err != nil {
			return t, err
		}
	}
	return t, nil
}

// relative shortens a path for people.
func relative(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(dir, path)
	if err != nil || strings.HasPrefix(short, "..") {
		return path
	}
	return short
}
