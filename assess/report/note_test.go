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
	"github.com/sdlfilter/sdlfilter/assess/correct"
	"github.com/sdlfilter/sdlfilter/assess/report"
)

func noise(λ float64, more ...report.Member[any]) report.Mask {
	return report.Mask{Mask: "noise", Columns: []string{"a"}, Parameters: append(report.Ordered[any]{{Name: "sd", Value: λ}, {Name: "distribution", Value: "normal"}}, more...),
		NoiseSD: report.Ordered[assess.Float]{{Name: "a", Value: assess.Float(λ)}}}
}

func parameters(kind string, list ...report.Member[any]) report.Mask {
	return report.Mask{Mask: kind, Columns: []string{"a"}, Parameters: list}
}

func tiered() report.Member[any] {
	return report.Member[any]{Name: "tiers", Value: []any{map[string]any{"above": 120.0, "variance_factor": 4.0}}}
}

// noteReport is a report of one column with mean 100 and a released variance of 900.
func noteReport(masks ...report.Mask) *report.Report {
	m := assess.Moments{N: 1000, Mean: 100, SD: 30}
	return &report.Report{Name: "note", Masks: masks, Columns: report.Columns{{Name: "a", Masked: true, Original: m, Released: m}}}
}

// TestNoteSaysWhatCanBeCorrected: by the published masks, and with the numbers
// that package correct gives.
func TestNoteSaysWhatCanBeCorrected(t *testing.T) {
	bias := parameters("bias", report.Member[any]{Name: "range", Value: 0.3}, report.Member[any]{Name: "phi", Value: 0.1})
	clip := parameters("truncate", report.Member[any]{Name: "lower", Value: 0.0}, report.Member[any]{Name: "mode", Value: "clip"})
	swap := parameters("swap", report.Member[any]{Name: "keys", Value: []any{"k"}}, report.Member[any]{Name: "rate", Value: 0.1})
	round := parameters("round", report.Member[any]{Name: "base", Value: 5.0})
	plain := correct.Masking{}
	for _, c := range []struct {
		name            string
		masks           []report.Mask
		publish         []string
		want            string
		least, greatest correct.Masking // of the noise
	}{
		{"noise", []report.Mask{noise(10)}, []string{"sd"}, report.CorrectionFormula, plain.WithNoise(10, 1), plain.WithNoise(10, 1)},
		{"noise, nothing published", []report.Mask{noise(10)}, nil, report.CorrectionUnpublished, plain, plain},
		{"bias by φ", []report.Mask{bias}, []string{"phi"}, report.CorrectionFormula, plain.WithBias(0.1), plain.WithBias(0.1)},
		{"bias by range", []report.Mask{bias}, []string{"range"}, report.CorrectionFormula, plain.WithBias(0.3 / 3), plain.WithBias(0.3 / 3)},
		{"bias and noise", []report.Mask{bias, noise(10)}, []string{"phi", "sd"}, report.CorrectionFormula, plain.WithBias(0.1).WithNoise(10, 1), plain.WithBias(0.1).WithNoise(10, 1)},
		{"noise and bias", []report.Mask{noise(10), bias}, []string{"phi", "sd"}, report.CorrectionFormula, plain.WithNoise(10, 1).WithBias(0.1), plain.WithNoise(10, 1).WithBias(0.1)},
		{"bias and noise, half published", []report.Mask{bias, noise(10)}, []string{"sd"}, report.CorrectionUnpublished, plain, plain},
		{"tiers", []report.Mask{noise(10, tiered())}, []string{"sd", "tiers"}, report.CorrectionBounds, plain.WithNoise(10, 1), plain.WithNoise(10, 4)},
		{"tiers not published", []report.Mask{noise(10, tiered())}, []string{"sd"}, report.CorrectionUnpublished, plain, plain},
		{"clip", []report.Mask{noise(10), clip}, []string{"sd", "lower"}, report.CorrectionApproximate, plain.WithNoise(10, 1), plain.WithNoise(10, 1)},
		{"clip alone", []report.Mask{clip}, []string{"lower"}, report.CorrectionNone, plain, plain},
		{"round", []report.Mask{noise(10), round}, []string{"sd", "base"}, report.CorrectionFormula, plain.WithNoise(10, 1).WithRounding(5), plain.WithNoise(10, 1).WithRounding(5)},
		{"round, not published", []report.Mask{round}, nil, report.CorrectionUnpublished, plain, plain},
		{"swap", []report.Mask{swap}, nil, report.CorrectionUnneeded, plain, plain},
		{"noise of everything", []report.Mask{noise(40)}, []string{"sd"}, report.CorrectionFormula, plain, plain},
	} {
		note, ok := noteReport(c.masks...).Public(c.publish).Note.Columns.Get("a")
		if !ok || note.Correction != c.want {
			t.Errorf("%s: %q, want %q", c.name, note.Correction, c.want)
			continue
		}
		if c.least == plain {
			if note.Corrected != nil {
				t.Errorf("%s: corrected to %+v", c.name, *note.Corrected)
			}
			continue
		}
		if note.Corrected == nil {
			t.Errorf("%s: not corrected", c.name)
			continue
		}
		for what, pair := range map[string][2]float64{
			"least SD": {float64(note.Corrected.SD.Least), math.Sqrt(c.greatest.Variance(100, 900))}, "greatest SD": {float64(note.Corrected.SD.Greatest), math.Sqrt(c.least.Variance(100, 900))},
			"least ρ": {float64(note.Corrected.Reliability.Least), c.greatest.Reliability(100, 900)}, "greatest ρ": {float64(note.Corrected.Reliability.Greatest), c.least.Reliability(100, 900)},
			"φ²": {float64(note.Phi2), c.least.Phi2},
		} {
			if !(math.Abs(pair[0]-pair[1]) < 1e-9) {
				t.Errorf("%s: %s %v, want %v", c.name, what, pair[0], pair[1])
			}
		}
	}
	if note := noteReport().Public(nil).Note; note != nil {
		t.Error("a note on a release without masks")
	}
}

// TestNoteTellsNothingMore: whatever a report holds in places that are not
// published, the public twin is the same, byte for byte.
func TestNoteTellsNothingMore(t *testing.T) {
	for _, publish := range [][]string{nil, {"sd"}, {"phi"}, {"range"}, {"rate", "keys"}, {"tiers"}, {"lower", "mode"}, {"sd", "tiers", "rate"}} {
		var texts [2]string
		for k := range texts {
			r, _ := canariesFrom(t, 100_000*(k+1), publish)
			p := r.Public(publish)
			texts[k] = string(must(t)(p.JSON())) + string(must(t)(p.HTML()))
		}
		if texts[0] != texts[1] {
			t.Errorf("publish %v: the public twin depends on what is not published", publish)
		}
	}
}

// canariesFrom plants other canaries from every start, but in what is published.
func canariesFrom(t *testing.T, start int, publish []string) (*report.Report, map[string]string) {
	t.Helper()
	r, _ := canaries(t)
	// Where λ and its tiers are published, so is the efficiency of a column that
	// has no other mask.
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
			if slices.Contains(publish, p.Name) { // fill replaces a value behind an interface whatever keep says
				r.Masks[i].Parameters[k].Value = p.Value
			}
		}
	}
	return r, c.planted
}

// TestNoteOfAReportThatWasRead is the same as that of the run.
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

// TestProgramsRun runs the worked examples: they print what the masks did and that
// the correction undoes it, and their functions agree with package correct.
func TestProgramsRun(t *testing.T) {
	for name, r := range map[string]*report.Report{
		"noise": noteReport(noise(15)),
		"bias, noise in tiers": noteReport(parameters("bias", report.Member[any]{Name: "phi", Value: 0.1}), noise(8, tiered()),
			parameters("round", report.Member[any]{Name: "base", Value: 5.0})),
	} {
		note := r.Public([]string{"sd", "phi", "tiers", "base"}).Note
		y := []float64{80, 150, 110, 60, 125, 119}
		of := correct.Masking{}.WithNoise(15, 1)
		if name != "noise" {
			of = correct.Masking{}.WithBias(0.1).WithNoise(8, correct.MeanFactor(y, []correct.Tier{{Above: 120, Factor: 4}})).WithRounding(5)
		}
		want := of.Variance(stat.MeanVariance(y, nil))
		for _, p := range note.Programs {
			t.Run(name+" "+p.Language, func(t *testing.T) {
				var cmd *exec.Cmd
				switch p.Language {
				case "Python":
					cmd = exec.Command("python3", "-c", p.Code+"\nprint('check', corrected_variance([80., 150., 110., 60., 125., 119.]))\n")
				case "R":
					cmd = exec.Command("Rscript", "-e", p.Code+"\ncat('check', format(corrected_variance(c(80, 150, 110, 60, 125, 119)), digits = 15), '\\n')\n")
				default:
					t.Fatalf("a program in %s, which this test cannot run", p.Language)
				}
				if _, err := exec.LookPath(cmd.Path); err != nil {
					t.Skipf("%s is not here", cmd.Path)
				}
				text, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				rows := 0
				for _, line := range strings.Split(string(text), "\n") {
					fields := strings.Fields(line)
					if len(fields) == 2 && fields[0] == "check" {
						rows++
						if got, err := strconv.ParseFloat(fields[1], 64); err != nil || !(math.Abs(got-want) < 1e-8*want) {
							t.Errorf("corrected variance %s, want %v", fields[1], want)
						}
					}
					if len(fields) < 4 {
						continue
					}
					var v [3]float64
					numeric := true
					for i, f := range fields[len(fields)-3:] {
						if v[i], err = strconv.ParseFloat(f, 64); err != nil {
							numeric = false
						}
					}
					if !numeric {
						continue
					}
					rows++
					// 20,000 records: the masks leave a relative error of about
					// (1−ρ)·√(2/n) ≈ 0.4 % in an SD or a slope; 2.5 % is six times that.
					if !(math.Abs(v[1]/v[2]-1) < 0.025) {
						t.Errorf("corrected differs from true: %s", line)
					}
					if !strings.HasPrefix(line, "mean") && !(math.Abs(v[0]/v[2]-1) > 0.05) {
						t.Errorf("what was released hardly differs: %s", line)
					}
				}
				if rows != 5 {
					t.Errorf("%d rows with numbers, want 5:\n%s", rows, text)
				}
			})
		}
	}
}

// TestProgramsKeepNamesInComments: a column's name ends no comment.
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
		for i, line := range strings.FieldsFunc(p.Code, func(r rune) bool { return strings.ContainsRune("\n\r\u2028\u0085", r) }) {
			if strings.Contains(line, "import os") && (i > 0 || !strings.HasPrefix(line, "#")) {
				t.Errorf("%s: the name stands in line %d", p.Language, i+1)
			}
		}
	}
}
