package uniqueness

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/golden"
)

// readCSV reads a file of numbers by the names of its columns.
func readCSV(t *testing.T, name ...string) map[string][]float64 {
	t.Helper()
	names, columns := golden.Columns(t, name...)
	by := make(map[string][]float64, len(names))
	for j, column := range names {
		by[column] = columns[j]
	}
	return by
}

func columnsOf(data map[string][]float64, names ...string) []Column {
	var columns []Column
	for _, name := range names {
		columns = append(columns, Column{name, Codes(data[name])})
	}
	return columns
}

// near reports whether got agrees with want to 1e-9, relative to the larger of |want|
// and floor.
func near(got, want, floor float64) bool {
	return math.Abs(got-want) <= 1e-9*max(math.Abs(want), floor)
}

func wantColumn(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !near(got[i], want[i], 1e-12) {
			t.Fatalf("%s, record %d: got %v, want %v", what, i, got[i], want[i])
		}
	}
}

var k7 = []string{"urbrur", "roof", "walls", "water", "electcon", "relat", "sex"}

func measure(t *testing.T, data Data, o Options) *Result {
	t.Helper()
	r, err := Measure(context.Background(), data, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// frequencyGolden are the totals of freqCalc and indivRisk.
type frequencyGolden struct {
	Alpha   float64 `json:"alpha"`
	N1      int     `json:"n1_sample_uniques"`
	N2      int     `json:"n2"`
	Viol2   int     `json:"viol_2anon"`
	Viol3   int     `json:"viol_3anon"`
	Viol5   int     `json:"viol_5anon"`
	SumRisk float64 `json:"sum_risk_approx"`
	MaxRisk float64 `json:"max_risk_approx"`
}

func TestGoldenFrequenciesAndRisk(t *testing.T) {
	tests := []struct {
		golden string
		input  []string
		keys   []string
		weight string
	}{
		{"f01_testdata_k7", []string{"data", "testdata.csv"}, k7, "sampling_weight"},
		{"f03_francdat", []string{"data", "francdat.csv"}, []string{"Key1", "Key2", "Key3", "Key4"}, "w"},
		{"f05_testdata_NA_alpha0", []string{"golden", "f05_testdata_NA_input.csv"}, k7, "sampling_weight"},
		{"f05_testdata_NA_alpha0.5", []string{"golden", "f05_testdata_NA_input.csv"}, k7, "sampling_weight"},
		{"f05_testdata_NA_alpha1", []string{"golden", "f05_testdata_NA_input.csv"}, k7, "sampling_weight"},
	}
	for _, test := range tests {
		t.Run(test.golden, func(t *testing.T) {
			input, want := readCSV(t, test.input...), readCSV(t, "golden", test.golden+".csv")
			var totals frequencyGolden
			golden.JSON(t, &totals, "golden", test.golden+".json")
			data := Data{Keys: columnsOf(input, test.keys...), Weights: input[test.weight]}
			o := Options{Alpha: totals.Alpha, K: []int{2, 3, 5}, Estimator: Approximate}
			r := measure(t, data, o)
			wantColumn(t, "f", r.SampleFrequency, want["fk"])
			wantColumn(t, "F", r.PopulationFrequency, want["Fk"])
			if r.SampleUniques != totals.N1 || r.Violations[2] != totals.Viol2 || r.Violations[3] != totals.Viol3 ||
				r.Violations[5] != totals.Viol5 {
				t.Errorf("uniques %d, violations %v, want %+v", r.SampleUniques, r.Violations, totals)
			}
			// For 1 < f < 2 sdcMicro has no formula and returns 0.
			undefined := 0.0
			for i, f := range want["fk"] {
				if f > 1 && f < 2 {
					if want["risk_approx"][i] != 0 || !(r.Risk[i] > 0) {
						t.Fatalf("record %d, f = %v: risk %v, the package %v", i, f, r.Risk[i], want["risk_approx"][i])
					}
					undefined += r.Risk[i]
					want["risk_approx"][i] = r.Risk[i]
				}
			}
			wantColumn(t, "approximate risk", r.Risk, want["risk_approx"])
			if !near(r.ExpectedReidentifications-undefined, totals.SumRisk, 0) ||
				!near(r.MaxIndividualRisk, max(totals.MaxRisk, r.MaxIndividualRisk), 0) {
				t.Errorf("sum %v, max %v, want %+v", r.ExpectedReidentifications-undefined, r.MaxIndividualRisk, totals)
			}

			o.Estimator = Exact
			exact := measure(t, data, o)
			compared := 0
			for i, f := range want["fk"] {
				// sdcMicro's alternating sum of f − 2 terms loses about f·log10(1/p)
				// digits to (p/q)^f relative to the sum; above f = 10 or for fractional
				// f it cannot serve as a reference.
				if f == math.Trunc(f) && f <= 10 {
					compared++
					if !near(exact.Risk[i], want["risk_exact"][i], 0) {
						t.Fatalf("exact risk, record %d, f = %v: got %v, want %v", i, f, exact.Risk[i], want["risk_exact"][i])
					}
				}
			}
			if compared < 8 {
				t.Errorf("%d records compared", compared)
			}
		})
	}
}

func TestGoldenHouseholdRisk(t *testing.T) {
	input, want := readCSV(t, "data", "testdata.csv"), readCSV(t, "golden", "f06_measure_risk_household.csv")
	var totals struct {
		Risk      float64 `json:"global_risk_ER"`
		Household float64 `json:"hier_risk_ER"`
	}
	golden.JSON(t, &totals, "golden", "f06_measure_risk_household.json")
	r := measure(t,
		Data{Keys: columnsOf(input, k7...), Weights: input["sampling_weight"], Household: Codes(input["ori_hid"])},
		Options{Alpha: 1, Estimator: Approximate})
	wantColumn(t, "risk", r.Risk, want["risk"])
	wantColumn(t, "household risk", r.Household.Risk, want["hier_risk"])
	if !near(r.ExpectedReidentifications, totals.Risk, 0) ||
		!near(r.Household.ExpectedReidentifications, totals.Household, 0) {
		t.Errorf("expected %v, by household %v, want %+v", r.ExpectedReidentifications, r.Household.ExpectedReidentifications,
			totals)
	}
}

func TestGoldenKAnonymity(t *testing.T) {
	input := readCSV(t, "data", "testdata.csv")
	var want struct {
		Sample     map[string]int `json:"sample"`
		Population map[string]int `json:"population"`
	}
	golden.JSON(t, &want, "golden", "f07_kAnon_violations_testdata.json")
	r := measure(t, Data{Keys: columnsOf(input, k7...), Weights: input["sampling_weight"]},
		Options{Alpha: 1, K: []int{2, 3, 5, 10}})
	for k, n := range want.Sample {
		limit, _ := strconv.Atoi(k[2:])
		if got := r.ViolationsBelow(float64(limit)); got != n || r.Violations[limit] != n {
			t.Errorf("sample, k = %d: %d and %d, want %d", limit, got, r.Violations[limit], n)
		}
	}
	for k, n := range want.Population {
		limit, _ := strconv.Atoi(k[2:])
		if got := r.PopulationViolationsBelow(float64(limit)); got != n {
			t.Errorf("population, k = %d: %d, want %d", limit, got, n)
		}
	}
}

func TestGoldenLDiversity(t *testing.T) {
	input, want := readCSV(t, "data", "testdata.csv"), readCSV(t, "golden", "l01_ldiversity_testdata.csv")
	r := measure(t,
		Data{Keys: columnsOf(input, "urbrur", "roof", "walls", "water", "sex"),
			Sensitive: columnsOf(input, "electcon", "relat")},
		Options{Alpha: 1, RecursiveC: 2})
	for column, d := range r.LDiversity {
		wantColumn(t, column+" entropy", d.Entropy, want[column+"_Entropy_Ldiversity"])
		distinct, recursive := make([]float64, len(d.Distinct)), make([]float64, len(d.Recursive))
		for i := range distinct {
			distinct[i], recursive[i] = float64(d.Distinct[i]), float64(d.Recursive[i])
		}
		wantColumn(t, column+" distinct", distinct, want[column+"_Distinct_Ldiversity"])
		wantColumn(t, column+" recursive", recursive, want[column+"_Recursive_Ldiversity"])
		if float64(d.DistinctMin) != slices.Min(distinct) || d.EntropyMin != slices.Min(d.Entropy) ||
			float64(d.RecursiveMin) != slices.Min(recursive) {
			t.Errorf("%s: minima %+v", column, []any{d.DistinctMin, d.EntropyMin, d.RecursiveMin})
		}
	}
	// The package returns 0 for several columns together, which no class with a value
	// can have.
	if slices.Max(want["MultiEntropy_Ldiversity"]) != 0 || r.LDiversityMulti.EntropyMin < 1 {
		t.Errorf("several columns: %v, the package at most %v", r.LDiversityMulti.EntropyMin,
			slices.Max(want["MultiEntropy_Ldiversity"]))
	}
}

func TestGoldenSUDA2(t *testing.T) {
	for file, scores := range map[string]Scores{"s01_suda2_testdata_k7_orig": ScoresElliot,
		"s02_suda2_testdata_k7_new": ScoresIHSN} {
		t.Run(file, func(t *testing.T) {
			input, want := readCSV(t, "data", "testdata.csv"), readCSV(t, "golden", file+".csv")
			var totals struct {
				Positive      int     `json:"n_score_positive"`
				Sum           float64 `json:"sum_score"`
				Max           float64 `json:"max_score"`
				Contributions []struct {
					Variable     string
					Contribution float64
				} `json:"attribute_contributions"`
			}
			golden.JSON(t, &totals, "golden", file+".json")
			r := measure(t, Data{Keys: columnsOf(input, k7...)},
				Options{Alpha: 1, SUDA2: &SUDA2Options{MaxSize: 7, Scores: scores, SampleFraction: 0.01}})
			wantColumn(t, "score", r.SUDA2.Score, want["score"])
			positive := 0
			for _, s := range r.SUDA2.Score {
				if s > 0 {
					positive++
				}
			}
			if positive != totals.Positive || !near(r.SUDA2.Mean*4580, totals.Sum, 0) || r.SUDA2.Max != totals.Max {
				t.Errorf("%d positive, mean %v, max %v, want %+v", positive, r.SUDA2.Mean, r.SUDA2.Max, totals)
			}
			for _, c := range totals.Contributions {
				if got := 100 * r.SUDA2.Contribution[c.Variable]; !near(got, c.Contribution, 0) {
					t.Errorf("contribution of %s: %v, want %v", c.Variable, got, c.Contribution)
				}
			}
			// The package stores DIS in single precision (2⁻²⁴ for each of four roundings) and
			// converts it to 1/DIS − 1.
			for i, d := range r.SUDA2.DIS {
				if w := want["disScore"][i]; !(math.Abs(d-w) <= 4*0x1p-24*w) {
					t.Fatalf("DIS score, record %d: got %v, want %v", i, d, w)
				}
			}
		})
	}
}
