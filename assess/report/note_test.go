package report_test

import (
	"fmt"
	"math"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/correct"
)

func noise(λ float64, more ...report.Member[any]) report.Mask {
	return report.Mask{Mask: "noise", Columns: []string{"a"},
		Parameters: append(report.Ordered[any]{{Name: "sd", Value: λ}, {Name: "distribution", Value: "normal"}}, more...),
		NoiseSD:    report.Ordered[assess.Float]{{Name: "a", Value: assess.Float(λ)}}}
}

func parameters(kind string, list ...report.Member[any]) report.Mask {
	return report.Mask{Mask: kind, Columns: []string{"a"}, Parameters: list}
}

func tiered() report.Member[any] {
	return report.Member[any]{Name: "tiers", Value: []any{map[string]any{"above": 120.0, "variance_factor": 4.0}}}
}

// noteReport returns a report of one column with mean 100 and a released variance of 900.
func noteReport(masks ...report.Mask) *report.Report {
	m := assess.Moments{N: 1000, Mean: 100, SD: 30}
	return &report.Report{Name: "note", Masks: masks,
		Columns: report.Columns{{Name: "a", Masked: true, Original: m, Released: m}}}
}

// TestNoteSaysWhatCanBeCorrected: according to the published masks, with the numbers of package
// correct.
func TestNoteSaysWhatCanBeCorrected(t *testing.T) {
	bias := parameters("bias", report.Member[any]{Name: "range", Value: 0.3}, report.Member[any]{Name: "phi", Value: 0.1})
	clip := parameters("truncate", report.Member[any]{Name: "lower", Value: 0.0},
		report.Member[any]{Name: "mode", Value: "clip"})
	redraw := parameters("truncate", report.Member[any]{Name: "lower", Value: 0.0},
		report.Member[any]{Name: "mode", Value: "redraw"})
	swap := parameters("swap", report.Member[any]{Name: "keys", Value: []any{"k"}},
		report.Member[any]{Name: "rate", Value: 0.1})
	round := parameters("round", report.Member[any]{Name: "base", Value: 5.0})
	inf := math.Inf(1)
	none := correct.Interval{Least: -1}
	at := func(v float64) correct.Interval { return correct.Interval{Least: v, Greatest: v} }
	clipped := []string{"sd", "lower", "upper", "mode"}
	for _, c := range []struct {
		name     string
		masks    []report.Mask
		publish  []string
		want     string
		variance correct.Interval // corrected; empty: not mentioned
		programs int
	}{
		{"noise", []report.Mask{noise(10)}, []string{"sd"}, report.CorrectionFormula, at(800), 2},
		{"noise, nothing published", []report.Mask{noise(10)}, nil, report.CorrectionUnpublished, none, 0},
		{"bias by φ", []report.Mask{bias}, []string{"phi"}, report.CorrectionFormula, at(800 / 1.01), 2},
		{"bias by range", []report.Mask{bias}, []string{"range"}, report.CorrectionFormula, at(800 / 1.01), 2},
		{"bias and noise", []report.Mask{bias, noise(10)}, []string{"phi", "sd"}, report.CorrectionFormula, at(700 / 1.01),
			2},
		{"noise and bias", []report.Mask{noise(10), bias}, []string{"phi", "sd"}, report.CorrectionFormula,
			at(800/1.01 - 100), 2},
		{"bias and noise, half published", []report.Mask{bias, noise(10)}, []string{"sd"}, report.CorrectionUnpublished, none,
			0},
		{"tiers", []report.Mask{noise(10, tiered())}, []string{"sd", "tiers"}, report.CorrectionBounds,
			correct.Interval{Least: 500, Greatest: 800}, 2},
		{"tiers not published", []report.Mask{noise(10, tiered())}, []string{"sd"}, report.CorrectionUnpublished, none, 0},
		{"clip", []report.Mask{noise(10), clip}, clipped, report.CorrectionLeast, correct.Interval{Least: 800, Greatest: inf},
			0},
		{"clip of normal noise", []report.Mask{noise(10), clip}, append(clipped, "distribution"), report.CorrectionLeast,
			correct.Interval{Least: 800, Greatest: inf}, 2},
		{"clip, bounds not published", []report.Mask{noise(10), clip}, []string{"sd"}, report.CorrectionLeast,
			correct.Interval{Least: 800, Greatest: inf}, 0},
		{"clip alone", []report.Mask{clip}, []string{"lower"}, report.CorrectionLeast,
			correct.Interval{Least: 900, Greatest: inf}, 0},
		{"clip of what is not published", []report.Mask{noise(10), clip}, []string{"lower"}, report.CorrectionUnpublished,
			none, 0},
		{"bias and clip", []report.Mask{bias, clip}, []string{"phi", "lower"}, report.CorrectionNone, none, 0},
		{"redraw of tiers", []report.Mask{noise(10, tiered()), redraw}, append(clipped, "tiers"), report.CorrectionNone, none,
			0},
		{"redraw", []report.Mask{noise(10), redraw}, append(clipped, "distribution"), report.CorrectionLeast,
			correct.Interval{Least: 800, Greatest: inf}, 0},
		{"round, smooth", []report.Mask{noise(10), round}, []string{"sd", "base", "distribution"}, report.CorrectionFormula,
			at(800 - 25./12), 2},
		{"round, with noise of a distribution that is not published", []report.Mask{noise(8), round}, []string{"sd", "base"},
			report.CorrectionBounds, correct.Interval{Least: 27.5*27.5 - 64, Greatest: 32.5*32.5 - 64}, 0},
		{"round alone", []report.Mask{round}, []string{"base"}, report.CorrectionBounds,
			correct.Interval{Least: 27.5 * 27.5, Greatest: 32.5 * 32.5}, 0},
		{"round, not published", []report.Mask{noise(10), round}, []string{"sd"}, report.CorrectionNone, none, 0},
		{"swap", []report.Mask{swap}, nil, report.CorrectionUnneeded, none, 0},
		{"a mask that nobody knows, first", []report.Mask{parameters("blur"), noise(10)}, []string{"sd"},
			report.CorrectionNone, none, 0},
		{"a mask that nobody knows, last", []report.Mask{noise(10), parameters("blur")}, []string{"sd"},
			report.CorrectionNone, none, 0},
		{"noise of everything", []report.Mask{noise(40)}, []string{"sd"}, report.CorrectionFormula, none, 0},
	} {
		public := noteReport(c.masks...).Public(c.publish)
		note, ok := public.Note.Columns.Get("a")
		if !ok || note.Correction != c.want {
			t.Errorf("%s: %q, want %q", c.name, note.Correction, c.want)
			continue
		}
		if len(public.Note.Programs) != c.programs {
			t.Errorf("%s: %d programs, want %d", c.name, len(public.Note.Programs), c.programs)
		}
		found := none
		if note.Corrected != nil {
			found = correct.Interval{Least: math.Pow(float64(note.Corrected.SD.Least), 2),
				Greatest: math.Pow(float64(note.Corrected.SD.Greatest), 2)}
		}
		close := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-9 }
		if !close(found.Least, c.variance.Least) || !close(found.Greatest, c.variance.Greatest) {
			t.Errorf("%s: variance %v, want %v", c.name, found, c.variance)
		}
		if c.want != report.CorrectionUnneeded && c.want != report.CorrectionFormula &&
			c.want != report.CorrectionUnpublished {
			for _, s := range note.Statistics {
				if c.want == report.CorrectionBounds && len(c.masks) == 1 && c.masks[0].Mask == "noise" {
					continue // tiers do not change mean and covariance
				}
				if strings.Contains(strings.ToLower(s.Text), "needs no correction") ||
					strings.Contains(strings.ToLower(s.Text), "need no correction") {
					t.Errorf("%s: %s: %q", c.name, s.Statistic, s.Text)
				}
			}
		}
	}
	if note := noteReport().Public(nil).Note; note != nil {
		t.Error("a note on a release without masks")
	}
}

// TestNoteTellsNothingMore: the public report is the same, byte for byte, whatever unpublished
// values a report contains.
func TestNoteTellsNothingMore(t *testing.T) {
	for _, publish := range [][]string{nil, {"sd"}, {"phi"}, {"range"}, {"rate", "keys"}, {"tiers"}, {"lower", "mode"},
		{"sd", "tiers", "rate"}} {
		var texts [2]string
		for k := range texts {
			r, _ := canariesFrom(t, 100_000*(k+1), publish)
			p := r.Public(publish)
			texts[k] = string(must(t)(p.JSON())) + string(must(t)(p.HTML()))
		}
		if texts[0] != texts[1] {
			t.Errorf("publish %v: the public report depends on unpublished values", publish)
		}
	}
}

// canariesFrom fills everything except the published values with other canaries for every start.
func canariesFrom(t *testing.T, start int, publish []string) (*report.Report, map[string]string) {
	t.Helper()
	r, _ := canaries(t)
	// If λ and its tiers are published, the efficiency of a column without another mask is published
	// too.
	follows := slices.Contains(publish, "sd") && slices.Contains(publish, "tiers")
	c := &canary{next: start, planted: map[string]string{}, keep: func(path string) bool {
		if allowed(path) || follows && strings.HasSuffix(path, ".Utility.Efficiency") {
			return true
		}
		for i, m := range r.Masks {
			for k, p := range m.Parameters {
				if slices.Contains(publish, p.Name) && strings.HasPrefix(path, fmt.Sprintf(".Masks[%d].Parameters[%d].", i, k)) {
					return true
				}
			}
			if strings.HasPrefix(path, fmt.Sprintf(".Masks[%d].NoiseSD", i)) && slices.Contains(publish, "sd") {
				return true
			}
		}
		return false
	}}
	names := map[int][]report.Member[any]{}
	for i, m := range r.Masks {
		names[i] = slices.Clone(m.Parameters)
	}
	c.fill(reflect.ValueOf(r).Elem(), "")
	for i, list := range names {
		for k, p := range list {
			r.Masks[i].Parameters[k].Name = p.Name
			if slices.Contains(publish, p.Name) { // fill replaces a value behind an interface whatever keep returns
				r.Masks[i].Parameters[k].Value = p.Value
			}
		}
	}
	return r, c.planted
}

// TestNoteOfAReportThatWasRead: the note of a report after reading equals that of the run.
func TestNoteOfAReportThatWasRead(t *testing.T) {
	publish := []string{"sd", "phi", "tiers", "lower", "rate", "keys"}
	for name, make := range examples {
		r := make()
		read, err := report.Parse(must(t)(r.JSON()))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(must(t)(read.Public(publish).JSON())), string(must(t)(r.Public(publish).JSON())); got != want {
			t.Errorf("%s: the public twin changes when the report is read", name)
		}
	}
}

// TestProgramsRun runs the worked examples: they print the effect of the masks and the corrected
// values, and their functions agree with package correct.
func TestProgramsRun(t *testing.T) {
	y := []float64{80, 150, 110, 60, 125, 119}
	mean, variance := stat.MeanVariance(y, nil)
	one := correct.Masking{}.WithNoise(15, 1).Variance(mean, variance)
	least, greatest := correct.MeanFactorRange(y, []correct.Tier{{Above: 120, Factor: 4}}, 16)
	if least == 1 || greatest == 4 {
		t.Fatalf("limits %v to %v, which any program would find", least, greatest)
	}
	clip := parameters("truncate", report.Member[any]{Name: "lower", Value: 60.0},
		report.Member[any]{Name: "upper", Value: 150.0}, report.Member[any]{Name: "mode", Value: "clip"})
	for _, c := range []struct {
		name  string
		masks []report.Mask
		want  [2]float64 // of corrected_variance(y)
	}{
		{"noise", []report.Mask{noise(15)}, [2]float64{one, one}},
		{"bias, noise in tiers",
			[]report.Mask{parameters("bias", report.Member[any]{Name: "phi", Value: 0.1}), noise(8, tiered())},
			[2]float64{correct.Masking{}.WithBias(0.1).WithNoise(8, greatest).Variance(mean, variance),
				correct.Masking{}.WithBias(0.1).WithNoise(8, least).Variance(mean, variance)}},
		{"noise in tiers, bias, rounding",
			[]report.Mask{noise(8, tiered()), parameters("bias", report.Member[any]{Name: "phi", Value: 0.1}),
				parameters("round", report.Member[any]{Name: "base", Value: 5.0})},
			[2]float64{correct.Masking{}.WithNoise(8, 4).WithBias(0.1).WithRounding(5).Variance(mean, variance),
				correct.Masking{}.WithNoise(8, 1).WithBias(0.1).WithRounding(5).Variance(mean, variance)}},
		{"clip", []report.Mask{noise(15), clip}, [2]float64{}},
	} {
		programs := noteReport(c.masks...).Public(
			[]string{"sd", "phi", "tiers", "base", "distribution", "lower", "upper", "mode"}).Note.Programs
		if len(programs) != 2 {
			t.Errorf("%s: %d programs", c.name, len(programs))
		}
		for _, p := range programs {
			t.Run(c.name+" "+p.Language, func(t *testing.T) {
				check := map[string]string{
					"Python": "\nprint('check', *corrected_variance([80., 150., 110., 60., 125., 119.]))\n",
					"R":      "\ncat('check', format(corrected_variance(c(80, 150, 110, 60, 125, 119)), digits = 15), '\\n')\n",
				}[p.Language]
				if c.name == "clip" {
					check = ""
				}
				got := tableOf(t, p, check)
				if check != "" &&
					!(math.Abs(got["check"][0]-c.want[0]) < 1e-8*c.want[0] && math.Abs(got["check"][1]-c.want[1]) < 1e-8*c.want[1]) {
					t.Errorf("corrected variance %v, want %v", got["check"], c.want)
				}
				for _, row := range []string{"mean", "standard deviation", "correlation with w", "slope of w on it"} {
					v := got[row]
					if len(v) < 3 {
						t.Fatalf("no row %q: %v", row, got)
					}
					released, least, most, true := v[0], v[1], v[len(v)-2], v[len(v)-1]
					// 20,000 records: the masks leave a relative error of about (1−ρ)·√(2/n) ≈ 0.4
					// % in an SD or a slope; 2.5 % is six times that.
					if !(least < 1.025*true && most > 0.975*true) {
						t.Errorf("%s: corrected to %v to %v, but the truth is %v", row, least, most, true)
					}
					if least == most && row != "mean" && c.name != "clip" && !(math.Abs(released/true-1) > 0.05) {
						t.Errorf("%s: the release hardly differs: %v of %v", row, released, true)
					}
				}
			})
		}
	}
}

// tableOf runs a program and returns the numbers at the end of each row, by the text before them.
func tableOf(t *testing.T, p report.Program, more string) map[string][]float64 {
	t.Helper()
	command := map[string][]string{"Python": {"python3", "-c"}, "R": {"Rscript", "-e"}}[p.Language]
	if command == nil {
		t.Fatalf("a program in %s, which this test cannot run", p.Language)
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		t.Skipf("%s is not here", command[0])
	}
	text, err := exec.Command(path, command[1], p.Code+more).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	rows := map[string][]float64{}
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		var v []float64
		for len(fields) > 0 {
			f, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			if err != nil {
				break
			}
			v, fields = append([]float64{f}, v...), fields[:len(fields)-1]
		}
		if len(v) > 1 {
			rows[strings.Join(fields, " ")] = v
		}
	}
	return rows
}

// TestProgramsKeepNamesInComments: a column's name cannot end a comment.
func TestProgramsKeepNamesInComments(t *testing.T) {
	r := noteReport(noise(15))
	const name = "a\nimport os\r\u2028system('x') @PHI2@"
	r.Columns[0].Name = name
	r.Masks[0].Columns[0], r.Masks[0].NoiseSD[0].Name = name, name
	programs := r.Public([]string{"sd"}).Note.Programs
	if len(programs) != 2 {
		t.Fatalf("%d programs, want 2", len(programs))
	}
	for _, p := range programs {
		for i, line := range strings.FieldsFunc(p.Code, func(r rune) bool {
			return strings.ContainsRune("\n\r\u2028\u0085", r)
		}) {
			if strings.Contains(line, "import os") && (i > 0 || !strings.HasPrefix(line, "#")) {
				t.Errorf("%s: the column's name is in line %d", p.Language, i+1)
			}
		}
	}
}
