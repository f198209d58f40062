package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttackCanary: whatever the intruder knows, and however the attack ends, its output contains no
// value of a respondent.
func TestAttackCanary(t *testing.T) {
	for i, format := range canaryFormats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			canaryInputs(t, dir)
			// a trace begins before there is a folder for other outputs
			if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
				t.Fatal(err)
			}
			in, broken, truncated := "in."+format, "broken."+format, "truncated."+format
			knowledge := []string{"--keys", "wage", "--categorical", "kind,name", "--sensitive", "note", "--household", "note",
				"--person", "note,kind"}
			for k, c := range []struct {
				status int
				args   []string
			}{
				{
					0,
					append([]string{"--original", in, "--released", in, "--earlier", in, "--one-to-one", "--knowledge", "d1",
						"--sigma", "5000", "--distance", "gower"}, knowledge...)},
				{
					0,
					append([]string{"--original", in, "--released", in, "--id", "name", "--knowledge", "d2", "--sigma-prior",
						"400,1e9"}, knowledge...)},
				{0, []string{"--original", in, "--categorical", "name,wage", "--sensitive", "note"}},
				{
					0,
					append([]string{"--original", in, "--released", in, "--control", in, "--aux", "wage,kind", "--aux", "name,note",
						"--models", "wage ~ kind + note"}, knowledge...)},
				// --records has no rows
				{exitUsage,
					[]string{"--original", in, "--released", in, "--referee", "--attempts", "50", "--models", "log(wage) ~ name"}},
				{exitUsage,
					[]string{"--original", in, "--released", in, "--control", in, "--models", "kind ~ wage", "--keys", "wage"}},
				{-1, []string{"--original", in, "--released", broken, "--control", truncated, "--keys", "wage"}},
				{-1, []string{"--original", broken, "--released", in, "--keys", "wage", "--categorical", "name"}},
				{-1, []string{"--original", broken, "--released", in, "--id", "note", "--keys", "wage"}},
				{-1, append([]string{"--original", broken, "--released", broken}, knowledge...)},
				{-1, []string{"--original", truncated, "--released", in, "--keys", "wage"}},
				{-1, []string{"--original", truncated, "--released", in, "--keys", "wage", "--id", "name"}},
				{exitFailed, []string{"--original", in, "--released", in, "--id", "kind", "--keys", "wage"}}, // repetitions
				{exitUsage, []string{"--original", in, "--released", in, "--keys", "name"}},
				{exitUsage, []string{"--original", in, "--categorical", "kind", "--weight", "note"}},
				{exitUsage, []string{"--original", in, "--released", in, "--keys", "wage", "--knowledge", "d1", "--sigma", "1",
					"--population", "5"}},
			} {
				if !takesPart(k, i, len(canaryFormats)) {
					continue
				}
				for _, json := range []bool{false, true} {
					args := append([]string{"attack", "--verbose", "--progress", "json", "--records", "out/rows.csv", "--html",
						"out/page.html", "--trace", "out/trace"}, c.args...)
					if json {
						args = append(args, "--json")
					}
					printed, err := program(t, dir, args...).CombinedOutput()
					checkCanaries(t, strings.Join(args, " "), printed, true)
					checkStatus(t, err, c.status, printed)
				}
				checkFiles(t, filepath.Join(dir, "out"))
			}
		})
	}
}

// TestAssessCanary: the assessment of a release made elsewhere shows no identifier and no column
// that was not requested. The confidential page contains the extremes of the columns, like every
// report.
func TestAssessCanary(t *testing.T) {
	for i, format := range canaryFormats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			canaryInputs(t, dir)
			in, broken, truncated := "in."+format, "broken."+format, "truncated."+format
			for k, c := range []struct {
				status int
				args   []string
			}{
				{0, []string{"--original", in, "--released", in}},
				{0, []string{"--original", in, "--released", in, "--id", "name"}},
				{-1, []string{"--original", broken, "--released", in, "--columns", "wage"}},
				{-1, []string{"--original", truncated, "--released", in, "--id", "name"}},
				{exitFailed, []string{"--original", in, "--released", in, "--id", "kind"}}, // repetitions
				{exitUsage, []string{"--original", in, "--released", in, "--columns", "name"}},
			} {
				if k > 1 && !takesPart(k, i, len(canaryFormats)) { // the first two write the page
					continue
				}
				for _, json := range []bool{false, true} {
					args := append([]string{"assess", "--progress", "json", "--html", "out/report.html"}, c.args...)
					if json {
						args = append(args, "--json")
					}
					printed, err := program(t, dir, args...).CombinedOutput()
					checkCanaries(t, strings.Join(args, " "), printed, !json)
					checkStatus(t, err, c.status, printed)
				}
				checkFiles(t, filepath.Join(dir, "out"))
			}
			page, err := os.ReadFile(filepath.Join(dir, "out", "report.html"))
			if err != nil {
				t.Fatal(err)
			}
			// The pictures of 400 values; no value may be readable in them.
			if !strings.Contains(string(page), `class="figure distribution"`) {
				t.Error("the page has no picture of the values")
			}
		})
	}
}

// TestIntruderCanary: the same for a run with rules about respondents, whether they hold or not.
func TestIntruderCanary(t *testing.T) {
	const intruder = "keys: [wage, kind], sample: 1000, intruder: {linkage: {distance: gower, one_to_one: true}, bayes: {}, uniqueness: {household: name}, " +
		"interval: [0.05], utility: {propensity: true}, inversion: true}, "
	for _, c := range []struct {
		name, input, rule string
		status            int
	}{
		{"passes", "in.csv", "{max_linked: 1}, {max_correct_links: 400}, {max_individual_risk: 1}", 0},
		{"quarantine", "broken.csv", "{max_linked: 1}", exitQuarantined},
		{"refused", "in.csv", "{max_linked: 0}", exitRefused},
		{"wrong", "in.csv", "{max_linked: 2}", exitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			canaryInputs(t, dir)
			text := canaryConfig("csv", c.input, c.rule)
			text = strings.Replace(text, "assess: {", "assess: {"+intruder, 1)
			if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"validate", "pipeline.yaml"},
				{"attack", "--verbose", "--progress", "json", "--records", "out/rows.csv", "pipeline.yaml"},
				{"attack", "--json", "--html", "out/page.html", "pipeline.yaml"},
				{"run", "--verbose", "--progress", "json", "pipeline.yaml"},
			} {
				printed, err := program(t, dir, args...).CombinedOutput()
				checkCanaries(t, strings.Join(args, " "), printed, true)
				if args[0] == "run" {
					checkStatus(t, err, c.status, printed)
				}
			}
			checkFiles(t, filepath.Join(dir, "out"))
			if c.status == exitUsage {
				return
			}
			// The report contains the extremes of the column, but not in the intruder's part.
			raw, err := os.ReadFile(filepath.Join(dir, "out", "report.json"))
			if err != nil {
				t.Fatal(err)
			}
			var report struct{ Attack json.RawMessage }
			if err := json.Unmarshal(raw, &report); err != nil {
				t.Fatal(err)
			}
			if len(report.Attack) == 0 {
				t.Error("the report has no attack")
			}
			checkCanaries(t, "the report's attack", report.Attack, true)
			for _, public := range []string{"report.public.json", "report.public.html"} {
				text, err := os.ReadFile(filepath.Join(dir, "out", public))
				if c.status == exitRefused && os.IsNotExist(err) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, word := range []string{"linkage", "Linkage", "max_linked", "uniques", "posterior"} {
					if strings.Contains(string(text), word) {
						t.Errorf("%s tells of the intruder: %q", public, word)
					}
				}
			}
		})
	}
}
