package truth

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	formFlag       = flag.String("form", "small", "how much is compared: small, short or full")
	onlyFlag       = flag.String("only", "", "compare only cells whose name contains this")
	tableFlag      = flag.String("table", "", "a Markdown file whose table of ratios is written anew")
	referencesFlag = flag.String("references", "", "a folder in which brute force is kept between runs")
	listFlag       = flag.Bool("list", false, "log every figure and not only those that fail")
)

func formOf(t *testing.T) form {
	t.Helper()
	for i, name := range []string{"small", "short", "full"} {
		if *formFlag == name {
			return form(i)
		}
	}
	t.Fatalf("-form: must be small, short or full, got %q", *formFlag)
	return small
}

// files makes each data set once, and its CSV.
type files struct {
	dir   string
	cache map[string]*file
}

func (s *files) of(t testing.TB, name string, n int) (*file, string) {
	id := fmt.Sprintf("%s-%d", name, n)
	path := filepath.Join(s.dir, id+".csv")
	if f := s.cache[id]; f != nil {
		return f, path
	}
	if s.cache == nil {
		s.cache = map[string]*file{}
	}
	f := shapeNamed(name).make(n)
	f.write(t, path)
	s.cache[id] = f
	return f, path
}

func windowOf(c chain) int {
	for _, m := range c {
		if s, ok := m.(swap); ok && s.window > 0 {
			return s.window
		}
	}
	return 0
}

// The reported figures for every target and knowledge state, U and the efficiency equal the truth
// within both standard errors, for all masks, distributions and sizes of the file: R is not
// understated and U not overstated, and without "approximate" in the report, R is not overstated
// and U not understated either.
func TestTruth(t *testing.T) {
	of := formOf(t)
	if of == small && testing.Short() {
		t.Skip("seconds")
	}
	data := &files{dir: tempDir(t)}
	results := &table{}
	m := map[form]int{small: 200, short: 200, full: 400}[of]
	for _, e := range entries {
		if of == small && !slices.Contains(smallEntries, e.name) {
			continue
		}
		for _, name := range e.shapesOf(of) {
			references := map[int]map[string]figure{}
			for _, s := range sizes[of] {
				cell := fmt.Sprintf("%s/%s/%d of %d", e.name, name, s.sample, s.n)
				if !strings.Contains(cell, *onlyFlag) {
					continue
				}
				t.Run(cell, func(t *testing.T) {
					f, path := data.of(t, name, s.n)
					c := e.of(f)
					if references[s.n] == nil {
						started := time.Now()
						b := bruteForce{f: f, c: c, seed: e.name + name, m: m * max(1, 5*3000/s.n), draws: 20_000}
						references[s.n] = b.replicates()
						t.Logf("brute force: %v", time.Since(started).Round(time.Millisecond))
					}
					started := time.Now()
					r := job{f: f, masks: c.yaml(), path: path, sample: s.sample, replicates: 200, window: windowOf(c), key: 1}.run(t)
					t.Logf("%s: program: %v", c, time.Since(started).Round(time.Millisecond))
					results.add(e.name, judge(t, f, r, references[s.n]))
				})
			}
		}
	}
	results.write(t)
}

// judge compares a report with the truth, and returns every figure.
func judge(t *testing.T, f *file, r *report, truth map[string]figure) []outcome {
	t.Helper()
	var list []outcome
	all := r.figures()
	for _, name := range names() {
		s, ok := all[name]
		if !ok {
			if name != gateUtility {
				t.Errorf("%s: not in the report", name)
			}
			continue
		}
		expected, ok := truth[name]
		if !ok {
			continue
		}
		o := compare(name, s, expected, f.size(), f.unit())
		if target, knowledge, _ := strings.Cut(name, " "); knowledge == "position" && target[0] == 'p' {
			o.bin = math.Abs(f.sorted[rank(target, len(f.sorted))-1]) / 4096
		}
		switch {
		case o.unsafe():
			t.Errorf("UNSAFE %v", o)
		case o.timid():
			t.Errorf("timid  %v", o)
		case *listFlag:
			t.Logf("       %v", o)
		}
		list = append(list, o)
	}
	return list
}

// names returns the names of all compared figures.
func names() []string {
	list := []string{utility, gateUtility, typicalMean, typicalIndex}
	for _, target := range targets {
		list = append(list, target+" mean", target+" index", target+" position")
	}
	return list
}
