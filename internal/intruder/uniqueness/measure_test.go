package uniqueness

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// francdat is the published example of eight records (Capobianchi, Polettini and
// Lucarelli), whose frequencies are given there.
func francdat() Data {
	return Data{
		Keys: []Column{
			{"Key1", []int32{1, 1, 1, 3, 4, 4, 6, 1}},
			{"Key2", []int32{2, 2, 2, 3, 3, 3, 2, 2}},
			{"Key3", []int32{5, 1, 1, 1, 1, 1, 1, 5}},
			{"Key4", []int32{1, 1, 1, 5, 4, 1, 5, 1}},
		},
		Weights:   []float64{18, 45.5, 39, 17, 541, 8, 5, 92},
		Household: []int32{0, 0, 1, 1, 1, 2, -1, -1},
		Sensitive: []Column{{"a", []int32{0, 1, 1, 0, 2, 0, 0, 0}}, {"b", []int32{3, 4, 5, 3, -1, 3, 3, 4}}},
	}
}

func TestEightRecords(t *testing.T) {
	o := DefaultOptions()
	r := measure(t, francdat(), o)
	if want := []float64{2, 2, 2, 1, 1, 1, 1, 2}; !slices.Equal(r.SampleFrequency, want) {
		t.Errorf("f = %v, want %v", r.SampleFrequency, want)
	}
	if want := []float64{110, 84.5, 84.5, 17, 541, 8, 5, 110}; !slices.Equal(r.PopulationFrequency, want) {
		t.Errorf("F = %v, want %v", r.PopulationFrequency, want)
	}
	if r.SampleUniques != 4 || r.MinFrequency != 1 || !reflect.DeepEqual(r.Violations, map[int]int{2: 4, 3: 8, 5: 8}) {
		t.Errorf("uniques %d, least %v, violations %v", r.SampleUniques, r.MinFrequency, r.Violations)
	}
	// Record 6 with f = 1, F = 5: p/q·ln(1/p) with p = 1/5.
	if want := math.Log(5) / 4; !(math.Abs(r.Risk[6]-want) <= 1e-15) || r.MaxIndividualRisk != r.Risk[6] {
		t.Errorf("risk %v, max %v, want %v", r.Risk[6], r.MaxIndividualRisk, want)
	}
	if want := 1 - (1-r.Risk[2])*(1-r.Risk[3])*(1-r.Risk[4]); !(math.Abs(r.Household.Risk[4]-want) <= 1e-15) ||
		r.Household.Risk[7] != r.Risk[7] {
		t.Errorf("household risks %v, want %v for record 4", r.Household.Risk, want)
	}
	// Class {0, 7}: a is 0, 0; class {1, 2}: 1, 1; b is 3, 4 and 4, 5.
	if d := r.LDiversity["a"]; d.DistinctMin != 1 || d.Distinct[0] != 1 || d.EntropyMin != 1 || d.RecursiveMin != 1 {
		t.Errorf("l-diversity of a: %+v", d)
	}
	if d := r.LDiversity["b"]; d.Distinct[0] != 2 || !(math.Abs(d.Entropy[0]-2) <= 1e-15) || d.Recursive[0] != 2 ||
		d.Distinct[4] != 0 || d.DistinctMin != 1 {
		t.Errorf("l-diversity of b: %+v", d)
	}
	// Given a, the classes keep both values of b; given b, a has one value in each.
	if d := r.LDiversityMulti; d.Distinct[0] != 1 || d.DistinctMin != 1 || d.EntropyMin != 1 {
		t.Errorf("l-diversity of both: %+v", d)
	}
	// Uniques: on Key1 alone records 3 (3) and 6 (6); on Key2 none; on Key1 and Key4
	// records 3, 4, 5 and 6.
	uniques := map[string]int{}
	for _, c := range r.Combinations {
		uniques[strings.Join(c.Keys, "+")] = c.Uniques
	}
	if len(r.Combinations) != 4+6+4 || uniques["Key1"] != 2 || uniques["Key2"] != 0 || uniques["Key1+Key4"] != 4 ||
		uniques["Key1+Key2+Key4"] != 4 {
		t.Errorf("combinations %v", uniques)
	}
	// MSUs: record 3 {Key1}, {Key2, Key4}; record 4 {Key4}; record 5 {Key1, Key4},
	// {Key2, Key4}; record 6 {Key1}, {Key2, Key4}. With four keys, sets of one weigh
	// 3·2·1 and sets of two 2·1.
	if want := []float64{0, 0, 0, 8, 6, 4, 8, 0}; !slices.Equal(r.SUDA2.Score, want) {
		t.Errorf("SUDA2 scores %v, want %v", r.SUDA2.Score, want)
	}
	if r.SUDA2.Max != 8 || r.SUDA2.Mean != 26./8 || !slices.Equal(r.SUDA2.Sizes, []int64{3, 4, 0, 0}) {
		t.Errorf("SUDA2 %+v", r.SUDA2)
	}
	if c := r.SUDA2.Contribution; !(math.Abs(c["Key4"]-14./26) <= 1e-15) || c["Key3"] != 0 ||
		!(math.Abs(c["Key1"]-14./26) <= 1e-15) {
		t.Errorf("contributions %v", c)
	}
}

func TestJSON(t *testing.T) {
	raw, err := json.Marshal(measure(t, francdat(), DefaultOptions()))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	violations, _ := object["violations"].(map[string]any)
	household, _ := object["household"].(map[string]any)
	suda2, _ := object["suda2"].(map[string]any)
	diversity, _ := object["l_diversity"].(map[string]any)
	a, _ := diversity["a"].(map[string]any)
	for path, got := range map[string]any{
		"keys": object["keys"], "expected_reidentifications": object["expected_reidentifications"],
		"max_individual_risk": object["max_individual_risk"], "violations.2": violations["2"],
		"violations.3": violations["3"],
		"violations.5": violations["5"], "household.expected_reidentifications": household["expected_reidentifications"],
		"suda2.max": suda2["max"], "suda2.mean": suda2["mean"],
		"l_diversity.a.distinct_min": a["distinct_min"], "l_diversity.a.entropy_min": a["entropy_min"],
	} {
		if got == nil {
			t.Errorf("%s is absent in %s", path, raw)
		}
	}
}

// Records that lack keys, counted one by one by the rule of Options.Alpha.
func bruteFrequencies(data Data, alpha float64) (f, F []float64) {
	n := len(data.Keys[0].Codes)
	f, F = make([]float64, n), make([]float64, n)
	for i := range n {
		for j := range n {
			same, compatible, complete := true, true, true
			for _, key := range data.Keys {
				a, b := key.Codes[i], key.Codes[j]
				same = same && a == b
				complete = complete && b >= 0
				compatible = compatible && (a == b || a < 0 || b < 0)
			}
			share := 0.0
			switch {
			case same, complete && compatible:
				share = 1
			case compatible:
				share = alpha
			}
			f[i] += share
			w := 1.0
			if data.Weights != nil {
				w = data.Weights[j]
			}
			F[i] += share * w
		}
	}
	return f, F
}

// randomData returns n records with keys of the given cardinalities, a share of them
// missing.
func randomData(random *rand.Rand, n int, cards []int, missing float64) Data {
	var data Data
	for j, card := range cards {
		codes := make([]int32, n)
		for i := range codes {
			// Squared: frequencies of all sizes.
			u := random.Float64()
			codes[i] = int32(u * u * float64(card))
			if random.Float64() < missing {
				codes[i] = -1
			}
		}
		data.Keys = append(data.Keys, Column{string(rune('a' + j)), codes})
	}
	data.Weights = make([]float64, n)
	for i := range data.Weights {
		data.Weights[i] = float64(1 + random.IntN(20))
	}
	return data
}

func TestMissingValuesAgainstPairwiseCount(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, missing := range []float64{0, 0.02, 0.3, 0.9} {
		for _, cards := range [][]int{{5}, {3, 4}, {2, 3, 4, 5}, {2, 2, 2, 2, 2, 2, 2, 2, 2},
			{math.MaxInt32, math.MaxInt32, math.MaxInt32}} {
			for _, alpha := range []float64{0, 0.25, 1} {
				data := randomData(random, 250, cards, missing)
				r := measure(t, data, Options{Alpha: alpha})
				f, F := bruteFrequencies(data, alpha)
				for i := range f {
					// Weights and α are dyadic: no rounding.
					if r.SampleFrequency[i] != f[i] || r.PopulationFrequency[i] != F[i] {
						t.Fatalf("%v, α = %v, missing %v, record %d: f = %v, F = %v, want %v, %v", cards, alpha, missing, i,
							r.SampleFrequency[i], r.PopulationFrequency[i], f[i], F[i])
					}
				}
			}
		}
	}
}

func TestProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 20 {
		data := randomData(random, 300, []int{3, 5, 4, 2}, []float64{0, 0.1}[round%2])
		data.Sensitive = []Column{{"s", data.Keys[0].Codes}, {"u", data.Keys[2].Codes}}
		data.Household = data.Keys[1].Codes
		o := DefaultOptions()
		o.Alpha = 0.5
		r := measure(t, data, o)

		if round%2 == 0 {
			// Without missing keys, the reciprocals of f sum to the number of classes.
			sum, classes := 0.0, map[[4]int32]bool{}
			for i, f := range r.SampleFrequency {
				sum += 1 / f
				classes[[4]int32{data.Keys[0].Codes[i], data.Keys[1].Codes[i], data.Keys[2].Codes[i], data.Keys[3].Codes[i]}] = true
			}
			if !(math.Abs(sum-float64(len(classes))) <= 1e-9) {
				t.Errorf("Σ 1/f = %v, %d classes", sum, len(classes))
			}
		}

		// The table of combinations agrees with each combination measured alone.
		for _, c := range r.Combinations {
			var alone Data
			for _, key := range data.Keys {
				if slices.Contains(c.Keys, key.Name) {
					alone.Keys = append(alone.Keys, key)
				}
			}
			if want := measure(t, alone, Options{Alpha: 0.5, K: []int{2}}).Violations[2]; c.Uniques != want {
				t.Fatalf("%v: %d uniques, alone %d", c.Keys, c.Uniques, want)
			}
		}

		// A further record lowers the f or F of no record.
		more := data
		more.Household, more.Sensitive = nil, nil
		more.Keys = slices.Clone(data.Keys)
		from := random.IntN(300)
		for j, key := range more.Keys {
			more.Keys[j].Codes = append(slices.Clone(key.Codes), key.Codes[from])
		}
		more.Weights = append(slices.Clone(data.Weights), 3)
		grown := measure(t, more, Options{Alpha: 0.5})
		for i, f := range r.SampleFrequency {
			if grown.SampleFrequency[i] < f || grown.PopulationFrequency[i] < r.PopulationFrequency[i] {
				t.Fatalf("record %d: f falls from %v to %v", i, f, grown.SampleFrequency[i])
			}
		}

		// The records' order does not matter.
		order := random.Perm(300)
		turned := measure(t, permuted(data, order), o)
		for to, from := range order {
			if turned.SampleFrequency[to] != r.SampleFrequency[from] || turned.Risk[to] != r.Risk[from] ||
				turned.SUDA2.Score[to] != r.SUDA2.Score[from] ||
				turned.LDiversityMulti.Distinct[to] != r.LDiversityMulti.Distinct[from] {
				t.Fatalf("record %d differs in another order", from)
			}
		}
		if !reflect.DeepEqual(turned.Combinations, r.Combinations) || !reflect.DeepEqual(turned.Violations, r.Violations) {
			t.Error("totals differ in another order")
		}
	}
}

func permuted(data Data, order []int) Data {
	column := func(codes []int32) []int32 {
		turned := make([]int32, len(order))
		for to, from := range order {
			turned[to] = codes[from]
		}
		return turned
	}
	turned := Data{Household: column(data.Household), Weights: make([]float64, len(order))}
	for to, from := range order {
		turned.Weights[to] = data.Weights[from]
	}
	for _, c := range data.Keys {
		turned.Keys = append(turned.Keys, Column{c.Name, column(c.Codes)})
	}
	for _, c := range data.Sensitive {
		turned.Sensitive = append(turned.Sensitive, Column{c.Name, column(c.Codes)})
	}
	return turned
}

// Results are the same, bit by bit, for any number of goroutines; 100,000 records are enough for
// several pieces.
func TestGoroutinesMakeNoDifference(t *testing.T) {
	data := randomData(rand.New(rand.NewPCG(7, 8)), 100_000, []int{9, 8, 70, 60, 3}, 0.01)
	data.Sensitive = []Column{{"s", data.Keys[4].Codes}}
	data.Household = data.Keys[3].Codes
	data.Keys = data.Keys[:4]
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	one := measure(t, data, DefaultOptions())
	runtime.GOMAXPROCS(3)
	if three := measure(t, data, DefaultOptions()); !reflect.DeepEqual(one, three) {
		t.Error("one and three goroutines differ")
	}
}

func TestWithoutWeights(t *testing.T) {
	data := francdat()
	data.Weights = nil
	r := measure(t, data, DefaultOptions())
	for i, f := range r.SampleFrequency {
		if r.Risk[i] != 1/f || r.PopulationFrequency[i] != f {
			t.Errorf("record %d: risk %v, F = %v for f = %v", i, r.Risk[i], r.PopulationFrequency[i], f)
		}
	}
	// The sum of 1/f is the number of classes.
	if !(math.Abs(r.ExpectedReidentifications-6) <= 1e-15) {
		t.Errorf("expected %v, want 6", r.ExpectedReidentifications)
	}
	for i, s := range r.SUDA2.Score {
		if want := map[bool]float64{true: 1, false: 0}[s > 0]; r.SUDA2.DIS[i] != want {
			t.Errorf("record %d: DIS %v, want %v in a population", i, r.SUDA2.DIS[i], want)
		}
	}
}

func TestLDiversityOfMissingAndSkewedValues(t *testing.T) {
	// One class of ten: values 5, 3, 1 times, one missing. c = 1: 5 < 3+1 fails. c = 2:
	// 5 < 2·4 holds, 5 < 2·1 does not.
	key := Column{"k", make([]int32, 10)}
	values := Column{"s", []int32{4, 4, 4, 4, 4, 9, 9, 9, 0, -1}}
	for c, want := range map[float64]int{1: 1, 2: 2, 5.5: 3} {
		d := measure(t, Data{Keys: []Column{key}, Sensitive: []Column{values}}, Options{RecursiveC: c}).LDiversity["s"]
		if d.RecursiveMin != want || d.DistinctMin != 3 {
			t.Errorf("c = %v: %+v, want l = %d", c, d, want)
		}
		entropy := -(5./9*math.Log(5./9) + 3./9*math.Log(3./9) + 1./9*math.Log(1./9))
		if !(math.Abs(d.EntropyMin-math.Exp(entropy)) <= 1e-14) {
			t.Errorf("entropy %v, want %v", d.EntropyMin, math.Exp(entropy))
		}
	}
}

func TestRecursiveLevelIsStrict(t *testing.T) {
	for _, test := range []struct {
		counts []int64
		c      float64
		want   int32
	}{{[]int64{4, 3, 1}, 1, 1}, {[]int64{4, 3, 2}, 1, 2}, {[]int64{4, 3, 2}, 2, 2}, {[]int64{4, 3, 2}, 2.1, 3},
		{[]int64{4}, 9, 1}} {
		if got := recursiveLevel(test.counts, test.c); got != test.want {
			t.Errorf("%v, c = %v: l = %d, want %d", test.counts, test.c, got, test.want)
		}
	}
}

// Given that u is missing, s has two values; given u = 0, s is missing. Given s, u has
// one value or none. In the second file each column has two values given the other one.
func TestLDiversityOfSeveralWithMissing(t *testing.T) {
	d := measure(t, Data{Keys: []Column{{"k", make([]int32, 4)}}, Sensitive: []Column{
		{"s", []int32{0, 1, -1, -1}}, {"u", []int32{-1, -1, 0, 0}}}}, Options{RecursiveC: 3}).LDiversityMulti
	if d.DistinctMin != 1 || d.EntropyMin != 1 || d.RecursiveMin != 1 {
		t.Errorf("got %+v", d)
	}
	d = measure(t, Data{Keys: []Column{{"k", make([]int32, 4)}}, Sensitive: []Column{
		{"s", []int32{-1, -1, 0, 1}}, {"u", []int32{0, 1, -1, -1}}}}, Options{RecursiveC: 3}).LDiversityMulti
	if d.DistinctMin != 2 || !(math.Abs(d.EntropyMin-2) <= 1e-15) || d.RecursiveMin != 2 {
		t.Errorf("got %+v", d)
	}
}

func TestCodes(t *testing.T) {
	nan, zero := math.NaN(), 0.0
	got := Codes([]float64{3, nan, -1, -zero, 3, 0, math.Inf(1), nan})
	if want := []int32{2, -1, 0, 1, 2, 1, 3, -1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestErrors(t *testing.T) {
	tests := map[string]struct {
		change func(*Data, *Options)
		want   string
	}{
		"no keys":    {func(d *Data, _ *Options) { d.Keys = nil }, "keys: must be 1 to 64 columns, got 0"},
		"no records": {func(d *Data, _ *Options) { d.Keys[0].Codes = nil }, "keys: must have 1 to"},
		"ragged": {func(d *Data, _ *Options) {
			d.Keys[1].Codes = d.Keys[1].Codes[1:]
		}, "keys[1] (Key2): must have 8 records"},
		"twice": {func(d *Data, _ *Options) { d.Keys[1].Name = "Key1" }, "keys[1] (Key1): must not be named twice"},
		"code": {func(d *Data, _ *Options) {
			d.Sensitive[0].Codes[3] = -2
		}, "sensitive[0] (a): must be codes from 0, or -1 for missing; record 4 is neither"},
		"weights": {func(d *Data, _ *Options) { d.Weights = d.Weights[1:] }, "weights: must have 8 records"},
		"weight": {func(d *Data, _ *Options) {
			d.Weights[2] = math.NaN()
		}, "weights[2]: must be a finite number, at least 0"},
		"households":   {func(d *Data, _ *Options) { d.Household = d.Household[1:] }, "household: must have 8 records"},
		"household":    {func(d *Data, _ *Options) { d.Household[5] = -7 }, "household[5]: must be a code from 0"},
		"alpha":        {func(_ *Data, o *Options) { o.Alpha = 1.5 }, "alpha: must be from 0 to 1, got 1.5"},
		"k":            {func(_ *Data, o *Options) { o.K = []int{0} }, "k: must be at least 1, got 0"},
		"estimator":    {func(_ *Data, o *Options) { o.Estimator = 5 }, "estimator: must be exact or approx, got 5"},
		"c":            {func(_ *Data, o *Options) { o.RecursiveC = 0 }, "recursive c: must be above 0 and finite, got 0"},
		"combinations": {func(_ *Data, o *Options) { o.Combinations = -1 }, "combinations: must be at least 0, got -1"},
		"size": {func(_ *Data, o *Options) {
			o.SUDA2.MaxSize = 5
		}, "suda2.max_size: must be from 0 to the number of keys, 4, got 5"},
		"scores": {func(_ *Data, o *Options) {
			o.SUDA2.Scores = 2
		}, "suda2.scores: must be ScoresElliot or ScoresIHSN, got 2"},
		"fraction": {func(_ *Data, o *Options) {
			o.SUDA2.SampleFraction = 2
		}, "suda2.sample_fraction: must be above 0 and at most 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			data, o := francdat(), DefaultOptions()
			test.change(&data, &o)
			r, err := Measure(context.Background(), data, o)
			if r != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Measure(ctx, francdat(), DefaultOptions()); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", r, err)
	}
}
