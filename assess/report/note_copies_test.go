package report_test

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/correct"
	"gonum.org/v1/gonum/stat"
)

// The note's programs, applied to files of copies, give the means and slopes of package correct.
func TestNoteProgramsPutCopiesTogether(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(15, 4))
	var copies []report.Release
	var paths []string
	var q, u [2][]float64
	for number := range 4 {
		var y, x []float64
		rows := [][]string{{"kind", "wage", "age"}}
		for i := range 150 {
			a := float64(i%40) + 0.5
			w := 100 + 3*a + 20*rng.ExpFloat64()
			row := []string{"a,b", strconv.FormatFloat(w, 'g', -1, 64), strconv.FormatFloat(a, 'g', -1, 64)}
			if i == 17 {
				row[1] = "" // left out
			} else {
				y, x = append(y, w), append(x, a)
			}
			rows = append(rows, row)
		}
		path := filepath.Join(dir, "release-"+strconv.Itoa(number+1)+".csv")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := csv.NewWriter(file).WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		paths, copies = append(paths, path),
			append(copies, report.Release{Path: filepath.Base(path), SHA256: strconv.Itoa(number)})
		mean, variance := stat.MeanVariance(y, nil)
		q[0], u[0] = append(q[0], mean), append(u[0], variance/float64(len(y)))
		a, b := stat.LinearRegression(x, y, nil, false)
		_, spread := stat.MeanVariance(x, nil)
		rest := 0.0
		for i := range y {
			rest += (y[i] - a - b*x[i]) * (y[i] - a - b*x[i])
		}
		q[1], u[1] = append(q[1], b), append(u[1], rest/float64(len(y)-2)/(spread*float64(len(y)-1)))
	}
	r := noteReport(parameters("synthesise"))
	r.Release = report.ReleaseOfCopies("release-{copy}.csv", copies)
	public := r.Public(nil)
	if general := strings.Join(public.Note.General, " "); !strings.Contains(general, "4 copies of the same records") ||
		!strings.Contains(general, "release-4.csv") {
		t.Errorf("the note does not mention copies: %s", general)
	}
	if len(public.Note.Programs) != 2 {
		t.Fatalf("%d programs", len(public.Note.Programs))
	}
	aside := noteReport(parameters("synthesise", report.Member[any]{Name: "held_out", Value: 0.2}))
	aside.Release = r.Release
	type program struct {
		report.Program
		fitted float64
	}
	var programs []program
	for _, c := range []struct {
		*report.Report
		publish []string
		fitted  float64
		want    string
	}{{r, nil, 1, ""}, {aside, []string{"held_out"}, 0.8, "u/0.8: Models were fitted without 20 % of the records,"},
		{aside, nil, 0.5, "u/0.5: Models were fitted without a share of the records that is not published"}} {
		note := c.Public(c.publish).Note
		for _, p := range note.Programs {
			programs = append(programs, program{p, c.fitted})
		}
		list, text := note.Columns[0].Value.Statistics, ""
		for _, s := range list {
			text += s.Formula + ": " + s.Text + "; "
		}
		if !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "fitted") {
			t.Errorf("with %v published: %s", c.publish, text)
		}
	}
	for _, p := range programs {
		t.Run(p.Language, func(t *testing.T) {
			tableOf(t, p.Program, "") // unchanged
			name, command := "note.py", "python3"
			if p.Language == "R" {
				name, command = "note.R", "Rscript"
			}
			program, err := exec.LookPath(command)
			if err != nil {
				t.Skipf("%s is not here", command)
			}
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, []byte(p.Code), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(program, append([]string{file, "wage", "age"}, paths...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for k, row := range []string{"mean", "slope on the other"} {
				variances := slices.Clone(u[k])
				for i := range variances {
					variances[i] /= p.fitted
				}
				want, err := correct.Combine(q[k], variances)
				if err != nil {
					t.Fatal(err)
				}
				interval := want.Interval(0.95)
				found := false
				for line := range strings.Lines(string(out)) {
					after, ok := strings.CutPrefix(line, row)
					if !ok {
						continue
					}
					found = true
					fields := strings.Fields(after)
					for i, v := range []float64{want.Estimate, math.Sqrt(want.Variance), interval.Least, interval.Greatest} {
						if got, err := strconv.ParseFloat(fields[i], 64); err != nil || !(math.Abs(got-v) <= 1e-4*math.Abs(v)) {
							t.Errorf("%s: %v, want %v", row, fields, v)
						}
					}
				}
				if !found {
					t.Errorf("no row %s in %s", row, out)
				}
			}
		})
	}
}
