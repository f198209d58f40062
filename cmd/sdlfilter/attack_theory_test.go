package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// normalKeys draws n records with one standard normal key per SD of noise, and their release.
func normalKeys(rng *rand.Rand, n int, sigma []float64) (original, released [][]float64) {
	for range n {
		x, z := make([]float64, len(sigma)), make([]float64, len(sigma))
		for j, s := range sigma {
			x[j] = rng.NormFloat64()
			z[j] = x[j] + s*rng.NormFloat64()
		}
		original, released = append(original, x), append(released, z)
	}
	return original, released
}

// nearest counts the records whose own release is the nearest, in SDs of the noise: for independent
// normal noise with known SDs this is the record with the greatest posterior.
func nearest(original, released [][]float64, sigma []float64) (own float64) {
	for i, x := range original {
		best, at := math.Inf(1), -1
		for l, z := range released {
			d := 0.0
			for j, s := range sigma {
				d += (x[j] - z[j]) * (x[j] - z[j]) / (s * s)
			}
			if d < best {
				best, at = d, l
			}
		}
		if at == i {
			own++
		}
	}
	return own
}

func writeKeys(t *testing.T, path string, rows [][]float64) {
	t.Helper()
	var b bytes.Buffer
	for j := range rows[0] {
		if j > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "k%d", j)
	}
	for _, row := range rows {
		b.WriteByte('\n')
		for j, v := range row {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%.17g", v)
		}
	}
	b.WriteByte('\n')
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Three normal keys with noise of three SDs: a Bayesian intruder who knows them links as many
// records as an independent simulation, and with the correct probabilities.
func TestAttackFindsWhatTheoryExpects(t *testing.T) {
	const n, sets = 800, 12
	sigma := []float64{0.2, 0.3, 0.5}
	rng := rand.New(rand.NewPCG(6, 1))
	var sum, squares float64
	for range sets {
		x, z := normalKeys(rng, n, sigma)
		own := nearest(x, z, sigma)
		sum, squares = sum+own, squares+own*own
	}
	mean := sum / sets
	sd := math.Sqrt((squares - sets*mean*mean) / (sets - 1))

	dir := t.TempDir()
	x, z := normalKeys(rng, n, sigma)
	writeKeys(t, filepath.Join(dir, "x.csv"), x)
	writeKeys(t, filepath.Join(dir, "z.csv"), z)
	got := attacked(t, dir, "--original", "x.csv", "--released", "z.csv", "--keys", "k0,k1,k2", "--knowledge", "d1",
		"--sigma", "k0=0.2,k1=0.3,k2=0.5")
	correct, expected := figure(t, got, "bayes", "correct"), figure(t, got, "bayes", "expected_correct")
	if own := nearest(x, z, sigma); correct != own {
		t.Errorf("%v correct links, brute force finds %v", correct, own)
	}
	// 5 SDs of one data set compared with the mean of 12; the SD itself is estimated from 12.
	if tolerance := 5 * sd * math.Sqrt(1+1./sets); math.Abs(correct-mean) > tolerance {
		t.Errorf("%v correct links, simulation %v ± %v", correct, mean, tolerance)
	}
	// A link with posterior p is correct with probability p: the difference of hits and posteriors
	// has variance Σp(1−p), at most Σp.
	if tolerance := 5 * math.Sqrt(expected); math.Abs(correct-expected) > tolerance {
		t.Errorf("%v correct links, he expects %v ± %v", correct, expected, tolerance)
	}
	if k := at(t, got, "bayes", "knowledge"); k != "d.1" {
		t.Errorf("knowledge %v", k)
	}
	ranks := 0.0
	for _, r := range at(t, got, "bayes", "rank").([]any) {
		ranks += r.(float64)
	}
	if len(at(t, got, "bayes", "rank").([]any)) != 11 || math.Abs(ranks-n) > 1e-6 {
		t.Errorf("ranks add up to %v", ranks)
	}
}

// averagingRecords is enough for the error of a mean squared error: its relative SD
// is √(2/n) = 2.2 %.
const averagingRecords = 4000

// averagingRun releases records, forwards or backwards, under a given key.
func averagingRun(t *testing.T, dir, name, key string, backwards, identity bool) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("person,no,wage\n")
	rng := rand.New(rand.NewPCG(6, 2))
	rows := make([]string, averagingRecords)
	for i := range rows {
		rows[i] = fmt.Sprintf("p%d,%d,%.2f\n", i, i, 500+100*rng.NormFloat64())
	}
	for i := range rows {
		if backwards {
			i = len(rows) - 1 - i
		}
		b.WriteString(rows[i])
	}
	same := ""
	if identity {
		same = "identity: [person]\n"
	}
	config := fmt.Sprintf(`version: 1
name: averaging
key: {file: %[1]s.key}
%[2]ssource: {csv: {path: %[1]s.in.csv}}
columns: {person: {role: identifier}, no: {role: other}, wage: {role: sensitive, decimals: 2}}
masks: [noise: {columns: [wage], sd: 40}]
sink: {csv: {path: %[1]s.csv}}
assess: {replicates: 0}
`, name, same)
	for file, text := range map[string]string{".in.csv": b.String(), ".yaml": config,
		".key": base64.StdEncoding.EncodeToString([]byte((key + strings.Repeat("-", 32))[:32]))} {
		if err := os.WriteFile(filepath.Join(dir, name+file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := program(t, dir, "run", "-q", name+".yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// With `identity` a second release reveals nothing more, whatever the order of its records. With
// new keys, k releases leave 1/k of the error.
func TestAttackAveraging(t *testing.T) {
	dir := t.TempDir()
	averagingRun(t, dir, "same1", "one key", false, true)
	averagingRun(t, dir, "same2", "one key", true, true)
	args := []string{"--original", "same1.in.csv", "--released", "same1.csv", "--id", "no", "--keys", "wage"}
	got := attacked(t, dir, append(args, "--earlier", "same2.csv")...)
	column := at(t, got, "averaging", "columns").([]any)[0]
	mse := at(t, column, "mse").([]any)
	if at(t, column, "equal") != true || len(mse) != 2 || mse[0] != mse[1] {
		t.Errorf("two releases with identity: %v", column)
	}
	if one, all := figure(t, got, "averaging", "linkage", "single", "expected_correct"), figure(t, got, "averaging",
		"linkage", "averaged", "expected_correct"); one != all {
		t.Errorf("linkage finds %v by one release and %v by two that are alike", one, all)
	}
	words,
		err := program(t, dir, append(append([]string{"attack"}, args...), "--earlier", "same2.csv")...).CombinedOutput()
	if err != nil || !strings.Contains(strings.Join(strings.Fields(string(words)), " "), "nothing more") {
		t.Errorf("in words: %v\n%s", err, words)
	}

	// The same key without identity, and fresh keys: the draws are new.
	averagingRun(t, dir, "new1", "one key", false, false)
	averagingRun(t, dir, "new2", "one key", true, false)
	averagingRun(t, dir, "new3", "another", false, true)
	averagingRun(t, dir, "new4", "a third", false, false)
	got = attacked(t, dir, "--original", "new1.in.csv", "--released", "new1.csv", "--id", "no", "--keys", "wage",
		"--earlier", "new2.csv,new3.csv,new4.csv")
	column = at(t, got, "averaging", "columns").([]any)[0]
	if column.(map[string]any)["equal"] == true {
		t.Error("releases with fresh noise are called equal")
	}
	for k, v := range at(t, column, "mse").([]any) {
		// 5 SDs of χ²(n)/n.
		want := 40. * 40 / float64(k+1)
		if math.Abs(v.(float64)-want) > 5*math.Sqrt(2./averagingRecords)*want {
			t.Errorf("the mean of %d releases has an error of %v, want %v", k+1, v, want)
		}
	}
}

// Deterministic masks, and masks whose effect can be removed by rounding, are inverted. The gate
// reports the column and the mask, even without a rule about it.
func TestInversionRefusesTheRelease(t *testing.T) {
	for _, c := range []struct {
		name, masks, want string
	}{
		{"noise below the grid", "{noise: {columns: [wage], sd: 0.0001}}", "wage, by small noise (noise#1)"},
		{"rounding to what is there", "{round: {columns: [wage], decimals: 2}}", "wage, by identity"},
		{"clipping alone", "{truncate: {columns: [wage], lower: 300, mode: clip}}", "wage, by inside bounds (truncate#1)"},
		{"bias below the grid", "{bias: {columns: [wage], phi: 0.000001}}", "wage, by small bias (bias#1)"},
		{"a tier without noise", "{noise: {columns: [wage], sd: 100, tiers: [{above: 500, variance_factor: 0}]}}",
			"wage, by tier (noise#1)"},
		{"noise", "{noise: {columns: [wage], sd: 20}}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			averagingRun(t, dir, "r", "key", false, false)
			text, err := os.ReadFile(filepath.Join(dir, "r.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			config := strings.NewReplacer("{noise: {columns: [wage], sd: 40}}", c.masks, "[noise: {columns: [wage], sd: 40}]",
				"["+c.masks+"]",
				"replicates: 0", "replicates: 0, keys: [wage], intruder: {inversion: true}", "r.csv", "second.csv").Replace(
				string(text))
			if err := os.WriteFile(filepath.Join(dir, "second.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			printed, err := program(t, dir, "run", "second.yaml").CombinedOutput()
			status := exitRefused
			if c.want == "" {
				status = 0
			}
			checkStatus(t, err, status, printed)
			if !strings.Contains(strings.Join(strings.Fields(string(printed)), " "), c.want) {
				t.Errorf("%q is not said:\n%s", c.want, printed)
			}
			if _, err := os.Stat(filepath.Join(dir, "second.csv")); (err == nil) != (status == 0) {
				t.Errorf("status %d, and the release: %v", status, err)
			}
		})
	}
}
