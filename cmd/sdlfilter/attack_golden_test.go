package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/golden"
)

// attacked runs `sdlfilter attack … --json` like a user and returns the object.
func attacked(t *testing.T, dir string, args ...string) map[string]any {
	t.Helper()
	cmd := program(t, dir, append([]string{"attack", "--json"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("attack %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return object(t, out)
}

func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// at returns a nested member of an object.
func at(t *testing.T, o any, path ...string) any {
	t.Helper()
	for i, name := range path {
		m, ok := o.(map[string]any)
		if !ok || m[name] == nil {
			t.Fatalf("there is no %s", strings.Join(path[:i+1], " / "))
		}
		o = m[name]
	}
	return o
}

func figure(t *testing.T, o any, path ...string) float64 {
	t.Helper()
	v, ok := at(t, o, path...).(float64)
	if !ok {
		t.Fatalf("%s is no number", strings.Join(path, " / "))
	}
	return v
}

// agrees checks agreement to a relative 1e-9.
func agrees(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s is %.15g, want %.15g", what, got, want)
	}
}

// table reads the numbers of a CSV file by column; any other text becomes NaN.
func table(t *testing.T, path string) map[string][]float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string][]float64{}
	for j, name := range rows[0] {
		for _, row := range rows[1:] {
			v, err := strconv.ParseFloat(row[j], 64)
			if err != nil {
				v = math.NaN()
			}
			columns[name] = append(columns[name], v)
		}
	}
	return columns
}

func readObject(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return object(t, text)
}

// For each pair of original and masked files, the command prints the figures that the reference
// computes.
func TestAttackGoldenPairs(t *testing.T) {
	folder := golden.Path(t, "golden")
	for _, id := range []string{
		"p01_casc_additive10", "p04_casc_restr", "p05_tarragona_mdav3", "p06_tarragona_mafast3",
		"p09_eia_multiplicative_formula", "p12_testdata_additive_NA", "p13_testdata_topbottom", "p14_testdata_identity",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			want := readObject(t, filepath.Join(folder, id+"_measures.json"))
			var keys []string
			for _, name := range at(t, want, "columns").([]any) {
				keys = append(keys, name.(string))
			}
			got := attacked(t, folder, "--original", id+"_orig.csv", "--released", id+"_masked.csv", "--keys",
				strings.Join(keys, ","),
				"--interval", "0.01,0.05,0.1,0.2,0.5,1", "--targets", "50")
			n := figure(t, want, "n")
			if s := at(t, got, "schema"); s != "sdlfilter.attack/1" {
				t.Errorf("schema %v", s)
			}
			agrees(t, "records", figure(t, got, "records"), n)
			agrees(t, "targets", figure(t, got, "targets"), 50)
			if k := at(t, got, "keys"); fmt.Sprint(k) != fmt.Sprint(at(t, want, "columns")) {
				t.Errorf("keys %v", k)
			}
			for width, risk := range at(t, want, "dRisk").(map[string]any) {
				agrees(t, "interval "+width, figure(t, got, "interval", strings.TrimPrefix(width, "k=")), risk.(float64))
			}
			agrees(t, "il1s", figure(t, got, "utility", "il1s"), figure(t, want, "IL1s"))
			agrees(t, "il1s per cell", figure(t, got, "utility", "il1s_per_cell"), figure(t, want, "IL1s_per_cell"))
			agrees(t, "il1", figure(t, got, "utility", "change", "il1"), figure(t, want, "IL1"))
			// those of the reference are only rounding errors there
			if !strings.HasPrefix(id, "p01") && !strings.HasPrefix(id, "p04") {
				agrees(t, "eigen", figure(t, got, "utility", "eigen"), figure(t, want, "eigen"))
			}
			figure(t, got, "utility", "pmse")
			for _, key := range keys {
				figure(t, got, "utility", "ks", key)
				figure(t, got, "utility", "wasserstein", key)
			}
		})
	}
}

// The CASC census data: almost everyone is identified, and interval disclosure is 0.
func TestAttackGoldenLinkage(t *testing.T) {
	folder := golden.Path(t, "golden")
	keys := "AGI,EMCONTRB,FEDTAX,PTOTVAL,STATETAX,TAXINC,POTHVAL,INTVAL,PEARNVAL,FICA,WSALVAL,ERNVAL"
	for distance, want := range map[string][2]float64{"gower": {978, 1057}, "standardised": {1007, 1069},
		"mahalanobis": {1012, 1064}} {
		got := attacked(t, folder, "--original", "p01_casc_additive10_orig.csv", "--released",
			"p01_casc_additive10_masked.csv", "--keys", keys,
			"--distance", distance, "--one-to-one")
		if d := at(t, got, "linkage", "distance"); d != distance {
			t.Errorf("distance %v, want %v", d, distance)
		}
		agrees(t, distance, figure(t, got, "linkage", "expected_correct"), want[0])
		agrees(t, distance+", share", figure(t, got, "linkage", "correct_share"), want[0]/1080)
		agrees(t, distance+", one to one", figure(t, got, "linkage", "one_to_one_correct"), want[1])
		if v := figure(t, got, "interval", "0.05"); v != 0 {
			t.Errorf("interval 0.05 is %v", v)
		}
	}
	// For 704 records of the microaggregated data (k01), the own record is one of the three equal
	// nearest ones; ties share the credit.
	got := attacked(t, folder, "--original", "p05_tarragona_mdav3_orig.csv", "--released",
		"p05_tarragona_mdav3_masked.csv",
		"--keys", "PAID.UP.CAPITAL,SHORT.TERM.DEBT,SALES", "--distance", "gower")
	agrees(t, "k01", figure(t, got, "linkage", "expected_correct"), 704./3)
}

// Frequencies, risks and scores, in total and record by record.
func TestAttackGoldenUniqueness(t *testing.T) {
	dir := golden.Path(t)
	folder := filepath.Join(dir, "golden")
	const k7 = "urbrur,roof,walls,water,electcon,relat,sex"
	for _, c := range []struct{ id, input, keys, weight, alpha string }{
		{"f01_testdata_k7", "data/testdata.csv", k7, "sampling_weight", "1"},
		{"f03_francdat", "data/francdat.csv", "Key1,Key2,Key3,Key4", "w", "1"},
		{"f05_testdata_NA_alpha0", "golden/f05_testdata_NA_input.csv", k7, "sampling_weight", "0"},
		{"f05_testdata_NA_alpha0.5", "golden/f05_testdata_NA_input.csv", k7, "sampling_weight", "0.5"},
		{"f05_testdata_NA_alpha1", "golden/f05_testdata_NA_input.csv", k7, "sampling_weight", "1"},
	} {
		t.Run(c.id, func(t *testing.T) {
			want := readObject(t, filepath.Join(folder, c.id+".json"))
			rows := filepath.Join(t.TempDir(), "rows.csv")
			got := attacked(t, dir, "--original", c.input, "--categorical", c.keys, "--weight", c.weight, "--alpha", c.alpha,
				"--count", "released", "--records", rows)
			for k, name := range map[string]string{"2": "viol_2anon", "3": "viol_3anon", "5": "viol_5anon"} {
				agrees(t, "violations of "+k, figure(t, got, "uniqueness", "violations", k), figure(t, want, name))
			}
			columns := map[string]string{"f_k": "fk", "F_k": "Fk"}
			// The reference assigns the risk 0 to frequencies between 1 and 2.
			if c.alpha != "0.5" {
				columns["risk"] = "risk_approx"
				agrees(t, "expected", figure(t, got, "uniqueness", "expected_reidentifications"),
					figure(t, want, "sum_risk_approx"))
			}
			agrees(t, "greatest risk", figure(t, got, "uniqueness", "max_individual_risk"), figure(t, want, "max_risk_approx"))
			sameColumns(t, table(t, rows), table(t, filepath.Join(folder, c.id+".csv")), columns)
		})
	}
	rows := filepath.Join(t.TempDir(), "rows.csv")
	got := attacked(t, dir, "--original", "data/testdata.csv", "--categorical", k7, "--weight", "sampling_weight",
		"--household", "ori_hid", "--records", rows)
	want := readObject(t, filepath.Join(folder, "f06_measure_risk_household.json"))
	agrees(t, "expected", figure(t, got, "uniqueness", "expected_reidentifications"), figure(t, want, "global_risk_ER"))
	agrees(t, "households", figure(t, got, "uniqueness", "household", "expected_reidentifications"),
		figure(t, want, "hier_risk_ER"))
	sameColumns(t, table(t, rows), table(t, filepath.Join(folder, "f06_measure_risk_household.csv")),
		map[string]string{"risk": "risk", "household_risk": "hier_risk"})
	want = readObject(t, filepath.Join(folder, "s01_suda2_testdata_k7_orig.json"))
	agrees(t, "SUDA2", figure(t, got, "uniqueness", "suda2", "max"), figure(t, want, "max_score"))
	agrees(t, "SUDA2, mean", figure(t, got, "uniqueness", "suda2", "mean"), figure(t, want, "sum_score")/4580)
	sameColumns(t, table(t, rows), table(t, filepath.Join(folder, "s01_suda2_testdata_k7_orig.csv")),
		map[string]string{"suda2": "score"})

	got = attacked(t, dir, "--original", "data/testdata.csv", "--categorical", "urbrur,roof,walls,water,sex",
		"--sensitive", "electcon,relat")
	want = readObject(t, filepath.Join(folder, "l01_ldiversity_testdata.json"))
	for _, name := range []string{"electcon", "relat"} {
		agrees(t, "distinct l of "+name, figure(t, got, "uniqueness", "l_diversity", name, "distinct_min"),
			figure(t, want, "min", name+"_Distinct_Ldiversity"))
		agrees(t, "entropy l of "+name, figure(t, got, "uniqueness", "l_diversity", name, "entropy_min"),
			figure(t, want, "min", name+"_Entropy_Ldiversity"))
	}

	// Counted from the released record, as the reference does, its suppression leaves nobody below
	// 3. For a snooper who knows the original keys 25 persons have fewer candidates (by all pairs).
	got = attacked(t, folder, "--original", "c01_localSuppression_testdata2_k3_input.csv", "--released",
		"c01_localSuppression_testdata2_k3_masked.csv",
		"--categorical", "urbrur,roof,walls,water,sex", "--count", "released")
	agrees(t, "violations after suppression", figure(t, got, "uniqueness", "violations", "3"), 0)
	got = attacked(t, folder, "--original", "c01_localSuppression_testdata2_k3_input.csv", "--released",
		"c01_localSuppression_testdata2_k3_masked.csv",
		"--categorical", "urbrur,roof,walls,water,sex")
	agrees(t, "violations for a snooper", figure(t, got, "uniqueness", "violations", "3"), 25)
}

// sameColumns compares columns of two tables, with the names of the first table.
func sameColumns(t *testing.T, got, want map[string][]float64, names map[string]string) {
	t.Helper()
	for mine, theirs := range names {
		a, b := got[mine], want[theirs]
		if len(a) == 0 || len(a) != len(b) {
			t.Fatalf("%s has %d records, want %d", mine, len(a), len(b))
		}
		for i := range a {
			if !(math.Abs(a[i]-b[i]) <= 1e-9*math.Abs(b[i])) {
				t.Fatalf("%s of record %d is %v, want %v", mine, i, a[i], b[i])
			}
		}
	}
}
