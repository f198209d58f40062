package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// mapBench is what the parts of the map's benchmark share.
type mapBench struct {
	dir, filter, script, tests string
	records, replicates        int
	points, rReplicates, runs  int
	out                        io.Writer
}

// mapSize is one map of one column.
type mapSize struct {
	records, replicates int
	targets             []string
	withRules           bool // with rules, so that a point is chosen and measured again
}

// The targets of a map of 3, 6 and 12. Six are the issue's, and R's.
var (
	fewTargets  = []string{"min", "p10", "p99"}
	sixTargets  = []string{"min", "p01", "p10", "p90", "p99", "max"}
	manyTargets = []string{"min", "p01", "p05", "p10", "p20", "p40", "p60", "p80", "p90", "p95", "p99", "max"}
)

// The size for which there is a time to reach, which assess.BenchmarkExplore has.
const (
	issueRecords    = 100_000
	issueReplicates = 200
	issuePoints     = 20
)

func benchMap(ctx context.Context, args []string, out io.Writer) error {
	b := mapBench{out: out}
	flags := flag.NewFlagSet("map", flag.ContinueOnError)
	flags.StringVar(&b.dir, "dir", "", "where data are and what is made goes")
	flags.StringVar(&b.filter, "filter", "", "sdlfilter, built")
	flags.StringVar(&b.script, "script", "", "bench-map.R")
	flags.StringVar(&b.tests, "tests", "", "where assess.test is")
	flags.IntVar(&b.records, "records", issueRecords, "records")
	flags.IntVar(&b.replicates, "replicates", issueReplicates, "replicates of every point")
	flags.IntVar(&b.points, "points", issuePoints, "points of the grid")
	flags.IntVar(&b.rReplicates, "r-replicates", 10, "replicates that R runs; its time is scaled to all of them")
	flags.IntVar(&b.runs, "runs", 5, "runs of each, in turn, after a warm-up")
	only := flags.String("only", "side,bare,growth", "which measurements")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, path := range []*string{&b.dir, &b.filter, &b.script, &b.tests} {
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if b.records < 4 || b.replicates < 4 || b.points < 2 || b.rReplicates < 1 {
		return errors.New("needs at least 4 records, 4 replicates, 2 points and 1 replicate of R")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := measure(ctx, b.dir, self, "data-map", "-dir", b.dir, "-records", strconv.Itoa(b.records)); err != nil {
		return err
	}
	fmt.Fprintf(out,
		"%d cores, %s. %s records of 1 column, %s replicates of %d points; medians of %d runs in turn, after a warm-up.\n\n",
		runtime.GOMAXPROCS(0), runtime.Version(), thousands(b.records), thousands(b.replicates), b.points, b.runs)
	parts := map[string]func(context.Context) error{"side": b.sideBySide, "bare": b.bare, "growth": b.growth}
	for name := range strings.SplitSeq(*only, ",") {
		part := parts[name]
		if part == nil {
			return fmt.Errorf("-only: must be of side, bare and growth, got %q", name)
		}
		if err := part(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// filterMap runs sdlfilter map on a Parquet file and returns what it took; its
// output is the map as JSON.
func (b *mapBench) filterMap(size mapSize) func(context.Context) (usage, error) {
	return func(ctx context.Context) (usage, error) {
		gate := ""
		if size.withRules {
			gate =
				"gate:\n  rules:\n    - {column: wage, target: p90, knowledge: index, min_rmse: 100}\n    - {column: wage, min_efficiency: 0.5}\n"
		}
		text := fmt.Sprintf(`version: 1
name: bench-map
key: {file: %q}
source: {parquet: {path: %q}}
columns:
  wage: {role: sensitive, decimals: 2}
masks:
  - noise: {columns: [wage], sd: 35%%}
sink: {parquet: {path: never.parquet}}
assess: {sample: all, replicates: %d, targets: [%s]}
%smap: {vary: {masks.0.noise.sd: {from: 5%%, to: 100%%, steps: %d, scale: variance}}}
`, filepath.Join(b.dir, "bench.key"), mapFile(b.dir, size.records, "parquet"), size.replicates, strings.Join(size.targets, ", "), gate, b.points)
		config := filepath.Join(b.dir, "map.yaml")
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return usage{}, err
		}
		return measure(ctx, b.dir, b.filter, "map", "--json", config)
	}
}

// inR runs the loop in R; what it took is of the loop alone and scaled to all
// replicates, the peak memory is the process's.
func (b *mapBench) inR(how string) func(context.Context) (usage, error) {
	return func(ctx context.Context) (usage, error) {
		u, err := measure(ctx, b.dir, "Rscript", "--vanilla", b.script, mapFile(b.dir, b.records, "csv"),
			strconv.Itoa(b.rReplicates), strconv.Itoa(b.points), how)
		if err != nil {
			return u, err
		}
		first, rest, _ := bytes.Cut(u.out, []byte("\n"))
		if _, err := fmt.Sscan(string(first), &u.wall, &u.cpu); err != nil {
			return u, fmt.Errorf("first line of %s: %w", b.script, err)
		}
		scale := float64(b.replicates) / float64(b.rReplicates)
		u.wall, u.cpu, u.out = u.wall*scale, u.cpu*scale, rest
		return u, nil
	}
}

// sideBySide sets the program beside the loop in R.
func (b *mapBench) sideBySide(ctx context.Context) error {
	size := mapSize{records: b.records, replicates: b.replicates, targets: sixTargets}
	gated := size
	gated.withRules = true
	contestants := []struct {
		name string
		run  func(context.Context) (usage, error)
	}{
		{"`sdlfilter map`, the whole process", b.filterMap(size)},
		{"the same with rules: the chosen point is judged again on as many new replicates", b.filterMap(gated)},
		{"R, plain: new draws at each point, `round`, `sort`", b.inR("plain")},
		{"R, common random numbers", b.inR("common")},
		{"R, tuned: also `floor` for `round`, `quantile` (partial sort) for `sort`", b.inR("tuned")},
	}
	list := make([]func(context.Context) (usage, error), len(contestants))
	for i, c := range contestants {
		list[i] = c.run
	}
	taken, err := inTurn(ctx, b.runs, list)
	if err != nil {
		return err
	}
	rows := [][]string{{"", "wall s", "CPU s", "ns a value", "peak MB", "wall, ratio", "CPU, ratio"}}
	values := float64(b.records) * float64(b.replicates) * float64(b.points)
	for i, c := range contestants {
		wallRatio, cpuRatio := "1", "1"
		if i > 0 {
			wallRatio = fmt.Sprintf("%.2f", medianRatio(taken[i], taken[0], wall))
			cpuRatio = fmt.Sprintf("%.2f", medianRatio(taken[i], taken[0], cpu))
		}
		w := medianOf(taken[i], wall)
		rows = append(rows, []string{c.name, seconds(w), seconds(medianOf(taken[i], cpu)), fmt.Sprintf("%.1f", w/values*1e9),
			fmt.Sprintf("%.0f", medianOf(taken[i], peak)), wallRatio, cpuRatio})
	}
	fmt.Fprintf(b.out,
		"R runs %d of %d replicates, and its time, of the loop alone, is multiplied by %.4g: it is linear in them. It uses one core.\n\n",
		b.rReplicates, b.replicates, float64(b.replicates)/float64(b.rReplicates))
	table(b.out, rows)
	return b.agree(taken[0][0].out, taken[2][0].out, taken[3][0].out, taken[4][0].out)
}

// agree holds the map against R's, so that the same is timed. At the first point,
// noise of 5 %, S_y² varies by 2·0.05/√n of itself around its expectation over the
// replicates, and the bias adds 0.05²/M: 2 % hold for all sizes that are worth
// timing. R of a record is M/χ²_M in units of 1/λ²; between two estimates of at
// least 10 replicates a factor of 20 is not exceeded once in a million times.
func (b *mapBench) agree(ours []byte, theirs ...[]byte) error {
	var m rumap.Map
	if err := json.Unmarshal(ours, &m); err != nil {
		return err
	}
	if len(m.Points) != b.points {
		return fmt.Errorf("the map has %d points, not %d", len(m.Points), b.points)
	}
	last := m.Points[b.points-1]
	ofMax := math.NaN()
	for _, r := range last.Risk {
		if r.Target == "max" && r.Knowledge == assess.KnowledgeIndex {
			ofMax = float64(r.R)
		}
	}
	compared := fmt.Sprintf("U at the first point, and R (max, index) at the last: sdlfilter %.4g, %.2g",
		float64(m.Points[0].U), ofMax)
	for _, text := range theirs {
		var u, r []float64
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			var a, c float64
			if _, err := fmt.Sscan(lines.Text(), &a, &c); err != nil {
				return fmt.Errorf("the output of R: %w", err)
			}
			u, r = append(u, a), append(r, c)
		}
		if len(u) != b.points {
			return fmt.Errorf("the loop in R found %d points, not %d", len(u), b.points)
		}
		compared += fmt.Sprintf("; R %.4g, %.2g", u[0], r[b.points-1])
		if !(math.Abs(u[0]/float64(m.Points[0].U)-1) < 0.02) {
			return fmt.Errorf("they do not measure the same: %s", compared)
		}
		if ratio := r[b.points-1] / ofMax; b.rReplicates >= 10 && !(ratio > 1.0/20 && ratio < 20) {
			return fmt.Errorf("they do not measure the same: %s", compared)
		}
	}
	fmt.Fprintf(b.out, "%s.\n\n", compared)
	return nil
}

// bare runs the library's benchmark, which has a size of its own.
func (b *mapBench) bare(ctx context.Context) error {
	var times []float64
	for range b.runs {
		u, err := measure(ctx, b.dir, filepath.Join(b.tests, "assess.test"), "-test.run", "^$", "-test.bench",
			"^BenchmarkExplore$", "-test.benchtime", "1x")
		if err != nil {
			return err
		}
		results, err := parseBenchmarks(u.out)
		if err != nil {
			return err
		}
		times = append(times, results[0].seconds)
	}
	t := median(times)
	fmt.Fprintf(b.out,
		"The computation alone, `assess.BenchmarkExplore` (%d replicates of %d points, %s records, 6 targets), takes %s s, %.1f ns for each value; the goal is 3 s.\n\n",
		issueReplicates, issuePoints, thousands(issueRecords), seconds(t), t/(issueReplicates*issuePoints*issueRecords)*1e9)
	return nil
}

// growth halves and doubles records, replicates and targets one at a time.
func (b *mapBench) growth(ctx context.Context) error {
	base := mapSize{records: b.records, replicates: b.replicates, targets: sixTargets}
	sizes := []mapSize{base,
		{b.records / 2, b.replicates, sixTargets, false}, {b.records * 2, b.replicates, sixTargets, false},
		{b.records, b.replicates / 2, sixTargets, false}, {b.records, b.replicates * 2, sixTargets, false},
		{b.records, b.replicates, fewTargets, false}, {b.records, b.replicates, manyTargets, false},
	}
	list := make([]func(context.Context) (usage, error), len(sizes))
	for i, size := range sizes {
		list[i] = b.filterMap(size)
	}
	taken, err := inTurn(ctx, b.runs, list)
	if err != nil {
		return err
	}
	rows := [][]string{{"records", "replicates", "targets", "wall s", "CPU s", "CPU, ratio", "peak MB"}}
	for i, size := range sizes {
		rows = append(rows, []string{thousands(size.records), thousands(size.replicates), strconv.Itoa(len(size.targets)),
			seconds(medianOf(taken[i], wall)), seconds(medianOf(taken[i], cpu)),
			fmt.Sprintf("%.2f", medianRatio(taken[i], taken[0], cpu)),
			fmt.Sprintf("%.0f", medianOf(taken[i], peak))})
	}
	table(b.out, rows)
	return nil
}
