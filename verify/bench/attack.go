package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/attack"
)

// attackBench is what the parts of the attack's benchmark share.
type attackBench struct {
	dir, filter, tests               string
	targets, released, nearest, runs int
	out                              io.Writer
}

// The sizes for which there are times to reach, and the memory.
const (
	issueTargets  = 1000
	issueReleased = 1_000_000
	issueNearest  = 100_000
	issueMB       = 300
)

func benchAttack(ctx context.Context, args []string, out io.Writer) error {
	b := attackBench{out: out}
	flags := flag.NewFlagSet("attack", flag.ContinueOnError)
	flags.StringVar(&b.dir, "dir", "", "where data are and what is made goes")
	flags.StringVar(&b.filter, "filter", "", "sdlfilter, built")
	flags.StringVar(&b.tests, "tests", "", "where intruder.test, linkage.test and uniqueness.test are")
	flags.IntVar(&b.targets, "targets", issueTargets, "targets that are sought in the release")
	flags.IntVar(&b.released, "released", issueReleased, "released records")
	flags.IntVar(&b.nearest, "nearest", issueNearest, "records of which each seeks its nearest")
	flags.IntVar(&b.runs, "runs", 5, "runs of each, in turn, after a warm-up")
	only := flags.String("only", "library,command", "which measurements")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, path := range []*string{&b.dir, &b.filter, &b.tests} {
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if b.targets < 1 || b.released < b.targets || b.nearest < 2 || b.runs < 1 {
		return fmt.Errorf("needs at least 1 target, as many released records, 2 records that seek their nearest, and 1 run")
	}
	fmt.Fprintf(out, "%d cores, %s; medians of %d runs in turn, after a warm-up.\n\n", runtime.GOMAXPROCS(0),
		runtime.Version(), b.runs)
	parts := map[string]func(context.Context) error{"library": b.library, "command": b.command}
	for name := range strings.SplitSeq(*only, ",") {
		part := parts[name]
		if part == nil {
			return fmt.Errorf("-only: must be of library and command, got %q", name)
		}
		if err := part(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// library runs BenchmarkSpeed of the packages, which hold their data in memory.
func (b *attackBench) library(ctx context.Context) error {
	seek := []string{"-targets", strconv.Itoa(b.targets), "-released", strconv.Itoa(b.released)}
	packages := []struct {
		name  string
		sizes []string
	}{
		{"linkage", append(seek[:len(seek):len(seek)], "-nearest", strconv.Itoa(b.nearest))},
		{"intruder", seek},
		{"uniqueness", []string{"-records", strconv.Itoa(b.released)}},
	}
	var order []string
	times, above := map[string][]float64{}, map[string][]float64{}
	for round := range b.runs + 1 {
		for _, p := range packages {
			argv := append([]string{filepath.Join(b.tests, p.name+".test"), "-test.run", "^$", "-test.bench", "^BenchmarkSpeed$",
				"-test.benchtime", "1x"}, p.sizes...)
			u, err := measure(ctx, b.dir, argv...)
			if err != nil {
				return err
			}
			results, err := parseBenchmarks(u.out)
			if err != nil {
				return err
			}
			for _, r := range results {
				name := p.name + strings.TrimPrefix(r.name, "Speed")
				if round == 0 {
					order = append(order, name)
					continue
				}
				times[name] = append(times[name], r.seconds)
				above[name] = append(above[name], r.metrics["MB-above"])
			}
		}
	}
	describe := b.described()
	rows := [][]string{{"", "s", "goal", "MB above the data", "goal"}}
	for _, name := range order {
		d, ok := describe[name]
		if !ok {
			return fmt.Errorf("BenchmarkSpeed/%s is not described", name)
		}
		toReach, toHold := "", ""
		if d.toReach > 0 {
			toReach = fmt.Sprintf("%g", d.toReach)
		}
		if d.memoryLimited {
			toHold = strconv.Itoa(issueMB)
		}
		rows = append(rows,
			[]string{d.what, seconds(median(times[name])), toReach, fmt.Sprintf("%.0f", median(above[name])), toHold})
	}
	table(b.out, rows)
	return nil
}

// speedGoal is what one of BenchmarkSpeed is about, and what is asked of it.
type speedGoal struct {
	what          string
	toReach       float64 // seconds; 0: nothing is asked of it
	memoryLimited bool    // whether memory is to stay within issueMB
}

// described are the benchmarks by package and name; times and memory are asked of the sizes
// of the issue alone.
func (b *attackBench) described() map[string]speedGoal {
	few := fmt.Sprintf("%s targets, %s released, 4 numeric keys", thousands(b.targets), thousands(b.released))
	each := fmt.Sprintf("nearest, %s against %s, 4 numeric keys", thousands(b.nearest), thousands(b.nearest))
	classes := fmt.Sprintf("frequencies, k-anonymity, individual risk, %s records, 4 categorical keys",
		thousands(b.released))
	atSize := b.targets == issueTargets && b.released == issueReleased
	nearestAtSize := b.nearest == issueNearest
	return map[string]speedGoal{
		"linkage/few":              {"linkage, " + few, when(atSize, 3), atSize},
		"linkage/tree/noise=10":    {each + ": k-d tree, noise of 10 %", when(nearestAtSize, 10), false},
		"linkage/blocks/noise=10":  {each + ": blocks, noise of 10 %", 0, false},
		"linkage/tree/noise=100":   {each + ": k-d tree, noise of 100 %", when(nearestAtSize, 10), false},
		"linkage/blocks/noise=100": {each + ": blocks, noise of 100 %", 0, false},
		"intruder/d1/noise=20":     {"posterior d.1, " + few + ", noise of 20 %", when(atSize, 6), atSize},
		"intruder/d1/noise=100":    {"posterior d.1, " + few + ", noise of 100 %", when(atSize, 6), atSize},
		"uniqueness/table":         {classes, when(b.released == issueReleased, 0.6), false},
		"uniqueness/hash": {classes + ", codes too large for a table", when(b.released == issueReleased, 0.6),
			false},
		"uniqueness/missing": {classes + ", 2 % missing", when(b.released == issueReleased, 0.6), false},
	}
}

func when(is bool, v float64) float64 {
	if is {
		return v
	}
	return 0
}

// command runs sdlfilter attack on two Parquet files.
func (b *attackBench) command(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := measure(ctx, b.dir, self, "data-attack", "-dir", b.dir, "-released", strconv.Itoa(b.released)); err !=
		nil {
		return err
	}
	cases := b.cases()
	list := make([]func(context.Context) (usage, error), len(cases))
	for i, c := range cases {
		list[i] = func(ctx context.Context) (usage, error) {
			return measure(ctx, b.dir, append([]string{b.filter}, c.args...)...)
		}
	}
	taken, err := inTurn(ctx, b.runs, list)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "`sdlfilter attack`, the whole process, on two Parquet files of %s records, %s targets:\n\n",
		thousands(b.released), thousands(b.targets))
	rows := [][]string{{"", "wall s", "CPU s", "peak MB", "MB above the data", "found"}}
	for i, c := range cases {
		var r attack.Result
		if err := json.Unmarshal(taken[i][0].out, &r); err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		found := c.summary(&r)
		if found == "" {
			return fmt.Errorf("%s: the result has no such part", c.what)
		}
		p := medianOf(taken[i], peak)
		rows = append(rows,
			[]string{c.what, seconds(medianOf(taken[i], wall)), seconds(medianOf(taken[i], cpu)), fmt.Sprintf("%.0f", p),
				fmt.Sprintf("%.0f", p-c.data), found})
	}
	table(b.out, rows)
	return nil
}

// attackCase is a call of the command that is measured.
type attackCase struct {
	what    string
	args    []string
	data    float64                       // MB of the columns that are asked for
	summary func(r *attack.Result) string // what the result says, "" where it lacks the part
}

// cases are the calls of the command: linkage, the posterior beside it, uniqueness.
func (b *attackBench) cases() []attackCase {
	original, released := attackFile(b.dir, "original", b.released), attackFile(b.dir, "released", b.released)
	linked := []string{"attack", "--json", "--original", original, "--released", released, "--keys", "a,b,c,d",
		"--targets", strconv.Itoa(b.targets)}
	posterior := append(linked[:len(linked):len(linked)], "--knowledge", "d1", "--sigma",
		strconv.FormatFloat(noiseOfRelease, 'g', -1, 64))
	numbers := 2 * 4 * 8 * float64(b.released) / 1e6
	codes := 4 * 4 * float64(b.released) / 1e6
	return []attackCase{
		{"linkage, interval disclosure, utility", linked, numbers, func(r *attack.Result) string {
			if r.Linkage == nil {
				return ""
			}
			return fmt.Sprintf("%.1f of %s linked", r.Linkage.ExpectedCorrect, thousands(r.Targets))
		}},
		{"the same and the posterior d.1", posterior, numbers, func(r *attack.Result) string {
			if r.Bayes == nil {
				return ""
			}
			return fmt.Sprintf("%.1f linked correctly expected", float64(r.Bayes.ExpectedCorrect))
		}},
		{"uniqueness with SUDA2, of the original alone",
			[]string{"attack", "--json", "--original", original, "--categorical", "sex,age,occupation,area"}, codes,
			func(r *attack.Result) string {
				if r.Uniqueness == nil {
					return ""
				}
				return fmt.Sprintf("%s uniques", thousands(r.Uniqueness.SampleUniques))
			}},
	}
}
