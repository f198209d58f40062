package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/golden"
)

// referenceFile writes columns as CSV, with an empty field for a missing value.
func referenceFile(t *testing.T, dir, name string, names []string, columns ...golden.Values) {
	t.Helper()
	var text strings.Builder
	text.WriteString(strings.Join(names, ",") + "\n")
	for i := range columns[0] {
		for j, column := range columns {
			if j > 0 {
				text.WriteByte(',')
			}
			if v := column[i]; !math.IsNaN(v) {
				text.WriteString(strconv.FormatFloat(v, 'f', -1, 64))
			}
		}
		text.WriteByte('\n')
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// For a pair of original and masked files, the command prints the figures that an independent script
// computes (scripts/reference): utility, interval disclosure, linkage by three distances.
func TestAttackReferencePair(t *testing.T) {
	ref, dir := golden.ReadReference(t), t.TempDir()
	names := []string{"income", "spending", "savings", "hours"}
	var original, masked []golden.Values
	for _, name := range names {
		original, masked = append(original, ref.Numeric[name]), append(masked, ref.Masked[name])
	}
	referenceFile(t, dir, "original.csv", names, original...)
	referenceFile(t, dir, "masked.csv", names, masked...)
	got := attacked(t, dir, "--original", "original.csv", "--released", "masked.csv", "--keys", strings.Join(names, ","),
		"--interval", "0.05,0.1,0.2,0.5,1")
	want := ref.Utility
	agrees(t, "records", figure(t, got, "records"), float64(len(original[0])))
	agrees(t, "il1", figure(t, got, "utility", "change", "il1"), want.IL1)
	agrees(t, "il1s", figure(t, got, "utility", "il1s"), want.IL1s)
	agrees(t, "il1s per cell", figure(t, got, "utility", "il1s_per_cell"), want.PerCell)
	agrees(t, "eigen", figure(t, got, "utility", "eigen"), want.Eigen)
	if len(want.Interval) != 5 {
		t.Fatalf("%d widths", len(want.Interval))
	}
	for width, risk := range want.Interval {
		agrees(t, "interval "+width, figure(t, got, "interval", width), risk)
	}
	whole := strings.Join(ref.Linkage.Columns, ",")
	for distance, found := range map[string]float64{"standardised": ref.Linkage.Standardised, "gower": ref.Linkage.Gower,
		"mahalanobis": ref.Linkage.Mahalanobis} {
		got := attacked(t, dir, "--original", "original.csv", "--released", "masked.csv", "--keys", whole, "--distance",
			distance, "--one-to-one")
		if d := at(t, got, "linkage", "distance"); d != distance {
			t.Errorf("distance %v, want %v", d, distance)
		}
		agrees(t, distance, figure(t, got, "linkage", "expected_correct"), found)
		agrees(t, distance+", share", figure(t, got, "linkage", "correct_share"), found/float64(len(original[0])))
		if distance == "standardised" {
			agrees(t, "one to one", figure(t, got, "linkage", "one_to_one_correct"), ref.Linkage.OneToOneCorrect)
		}
	}
}

// The same for categorical keys, with and without missing values, record by record.
func TestAttackReferenceUniqueness(t *testing.T) {
	ref, dir := golden.ReadReference(t), t.TempDir()
	keys := []string{"region", "age", "sex", "trade"}
	write := func(file string, of map[string]golden.Values) {
		var columns []golden.Values
		for _, name := range keys {
			columns = append(columns, of[name])
		}
		referenceFile(t, dir, file, append(slices.Clone(keys), "illness", "weight", "household"),
			append(columns, ref.Sensitive["illness"], ref.Weights, ref.Household)...)
	}
	write("whole.csv", ref.Keys)
	write("gaps.csv", ref.KeysWithGaps)
	rows := filepath.Join(dir, "rows.csv")
	search := func(file string, alpha float64, more ...string) map[string]any {
		t.Helper()
		return attacked(t, dir,
			append([]string{"--original", file, "--categorical", strings.Join(keys, ","), "--weight", "weight", "--alpha",
				fmt.Sprint(alpha), "--records", rows}, more...)...)
	}
	check := func(what string, got map[string]any, want golden.Frequencies) {
		t.Helper()
		if len(want.Below) == 0 {
			t.Fatal("no counts")
		}
		for k, n := range want.Below {
			agrees(t, fmt.Sprint(what, ", below ", k), figure(t, got, "uniqueness", "violations", fmt.Sprint(k)), float64(n))
		}
		expected := 0.0
		for _, r := range want.Exact {
			expected += r
		}
		agrees(t, what+", expected", figure(t, got, "uniqueness", "expected_reidentifications"), expected)
		agrees(t, what+", greatest", figure(t, got, "uniqueness", "max_individual_risk"), slices.Max(want.Exact))
		sameColumns(t, table(t, rows), map[string][]float64{"f": want.SampleF, "F": want.PopulationF, "risk": want.Exact},
			map[string]string{"f_k": "f", "F_k": "F", "risk": "risk"})
	}
	check("whole", search("whole.csv", 1, "--estimator", "exact"), ref.Frequencies)
	if len(ref.WithGaps) != 3 {
		t.Fatalf("%d values of α", len(ref.WithGaps))
	}
	for _, want := range ref.WithGaps {
		check(fmt.Sprint("α = ", want.Alpha), search("gaps.csv", want.Alpha, "--estimator", "exact"), want)
	}
	got := search("whole.csv", 1, "--estimator", "exact", "--household", "household", "--sensitive", "illness")
	sameColumns(t, table(t, rows), map[string][]float64{"household": ref.HouseholdRisk, "suda": ref.SUDA2["elliot"].Score},
		map[string]string{"household_risk": "household", "suda2": "suda"})
	agrees(t, "SUDA2", figure(t, got, "uniqueness", "suda2", "max"), slices.Max(ref.SUDA2["elliot"].Score))
	agrees(t, "distinct l", figure(t, got, "uniqueness", "l_diversity", "illness", "distinct_min"),
		slices.Min(ref.Diversity.Distinct))
	agrees(t, "entropy l", figure(t, got, "uniqueness", "l_diversity", "illness", "entropy_min"),
		slices.Min(ref.Diversity.Entropy))
	agrees(t, "recursive l", figure(t, got, "uniqueness", "l_diversity", "illness", "recursive_min"),
		slices.Min(ref.Diversity.Recursive))
}
