package example

import (
	"math"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/population"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// targets is the number of respondents that are sought.
const targets = 1000

// Attack returns the result of an attack on the survey's release, with all parts.
func Attack() *attack.Result {
	return &attack.Result{
		Schema: attack.Schema, Targets: targets, Records: n - 3, Keys: []string{"wage", "hours"},
		Linkage: &linkage.Result{Distance: linkage.Standardised, ExpectedCorrect: 23.5, CorrectShare: 0.0235,
			OneToOneCorrect: pointer(41)},
		Bayes:      bayes(),
		Uniqueness: unique(),
		Population: &population.Result{Model: "pml", Formula: "region + education + region:education",
			Keys: []string{"region", "education"}, LeftOut: []string{"ethnicity", "experience"},
			Records: n - 5, Missing: 2, Size: 1_250_000, Cells: 320, Occupied: 211, Parameters: 43, Iterations: 7,
			Converged: true, SampleUniques: 31, ModelUniques: 28.5,
			Tau1: 1.25, Tau1SE: 1.0625, Tau2: 4.5, Tau2SE: 1.375, ModRisk: population.ModRisk{GR1: 0.0525, GR2: 0.0875}},
		Interval:      map[string]float64{"0.01": 0, "0.05": 0.0004, "0.1": 0.0031},
		IntervalSound: map[string]float64{"0.01": 0, "0.05": 0.0003, "0.1": 0.0028},
		Utility:       cost(),
		Replicated:    &uniqueness.Replicated{Uniques: 40, Standing: 3, Share: 0.075},
		Categories: &loss.Categories{PMSE: 0.0125, Expected: 0.000625, Combinations: 57, Columns: []loss.CategoryLoss{
			{Name: "region", Records: n - 3, Changed: 4120, Original: 3.125, Released: 2.75, Lost: 0.8125, Distance: 0.03125},
			{Name: "sex", Records: n - 3, Changed: 211, Missing: 211, Original: 0.9921875, Released: 1.0625, Lost: 0.0078125,
				Distance: 0.0075},
		}},
		Attribute: &attack.Disclosure{Within: 0.05, Columns: []attack.GuessedColumn{
			{Name: "wage", Learnt: attack.Guesses{Targets: targets, Right: 41.5},
				HeldOut: attack.Guesses{Targets: targets, Right: 38}, Excess: 0.00349, StdError: 0.008790, Most: 0.02107},
			{Name: "hours", Learnt: attack.Guesses{Targets: targets, Right: 517.25},
				HeldOut: attack.Guesses{Targets: targets, Right: 300.5}, Excess: 0.21632, StdError: 0.0214, Most: 0.25912},
		}},
		Averaging: &attack.Averaging{
			Releases: 3,
			Columns: []attack.AveragedColumn{
				{Name: "wage",
					AveragedColumn: linkage.AveragedColumn{Compared: 28100, MSE: []assess.Float{25911.4, 13002.5, 8700.25},
						R: []assess.Float{1 / 25911.4, 1 / 13002.5, 1 / 8700.25}, Within: 25800.5, Limit: 100.25}},
				{Name: "hours", AveragedColumn: linkage.AveragedColumn{Compared: 27700, MSE: []assess.Float{12.25, 12.25, 12.25},
					R: []assess.Float{1 / 12.25, 1 / 12.25, 1 / 12.25}, Within: 0, Limit: 12.25, Equal: true}},
			},
			Linkage: &linkage.AveragingLinkage{
				Single:   &linkage.Result{Distance: linkage.Standardised, ExpectedCorrect: 23.5, CorrectShare: 0.0235},
				Averaged: &linkage.Result{Distance: linkage.Standardised, ExpectedCorrect: 35.25, CorrectShare: 0.03525},
			},
		},
		Inversion: &inversion.Result{Passed: true, Confidence: inversion.DefaultConfidence, Columns: []inversion.ColumnResult{
			{Name: "wage", Masked: true, Grid: 0.01, Records: n - 3, Guess: 0.004, Passed: true,
				Inversions: []inversion.Inversion{
					{Kind: inversion.Heap, Mask: "truncate", Claims: 1904, Recovered: 3, Chance: 0.004},
					{Kind: inversion.Luck, Claims: n - 3 - 1904, Recovered: 9, Chance: 0.0005},
				}},
			{Name: "hours", Masked: true, Grid: 1, Records: n - 3 - 412, Guess: 0.41, Passed: true,
				Inversions: []inversion.Inversion{
					{Kind: inversion.Luck, Mask: "main noise", Claims: n - 3 - 412, Recovered: 3140, Chance: 0.1137},
				}},
		}},
	}
}

// Broken returns the result of an attack on a sample of a release that its masks do not
// protect, with linkage, uniqueness and inversion only.
func Broken() *attack.Result {
	a := Attack()
	a.Sampled, a.Targets, a.Keys, a.Categorical = 5000, 5000, []string{"wage"}, []string{"region", "education"}
	a.Linkage = &linkage.Result{Distance: linkage.Gower, ExpectedCorrect: 1210.25, CorrectShare: 0.24205}
	a.Population, a.Unfitted = nil, "population uniques are told from all records only (assess.sample: all)"
	a.Bayes, a.Interval, a.IntervalSound, a.Utility, a.Averaging = nil, nil, nil, nil, nil
	u := a.Uniqueness
	u.Records, u.SampleUniques, u.Violations, u.ExpectedReidentifications = 5000, 871,
		map[int]int{2: 871, 3: 1410, 5: 2112}, 102.5
	u.Household, u.Persons, u.SUDA2, u.LDiversity, u.LDiversityMulti = nil, nil, nil, nil, nil
	a.PersonsUnmeasured = "a sample does not hold all records of a person (assess.sample: all)"
	hours := &a.Inversion.Columns[1]
	hours.Passed, hours.By, hours.Recovered, hours.Share, hours.BeyondGuess = false, inversion.Tier, 20110, 0.725, 0.315
	hours.Inversions = append(hours.Inversions,
		inversion.Inversion{Kind: inversion.Tier, Mask: "main noise", Claims: 20110, Recovered: 20110,
			Certainty: 1, Chance: 0.41, Deterministic: true, Fails: true})
	a.Inversion.Passed = false
	return a
}

// bayes returns a result with counts that fall as ranks and thresholds rise.
func bayes() *intruder.Result {
	b := &intruder.Result{
		Jointly: &intruder.Joint{Correct: 44.5}, Knowledge: "d.1", Threshold: 0.1, Links: 70, Correct: 21,
		ExpectedCorrect:    19.75,
		PosteriorOfCorrect: intruder.Moments{Mean: 0.312, SD: 0.204}, Model: intruder.BiasNoise,
		Targets: targets, WithRecord: targets, Records: n - 3, Population: 1_250_000, Outside: 612.5,
		Rank: [11]float64{38.5, 27, 19.5, 16, 14, 11, 10, 9, 8, 7, 840},
		Quadrature: &intruder.Quadrature{
			LogDensityError: 1e-13, PosteriorError: 2e-13,
		},
		Learned: &intruder.Learned{Units: 25, Iterations: 12, Converged: true, Keys: []intruder.LearnedKey{
			{PhiShape: 402, PhiScale: 0.11, SigmaShape: 414.5, SigmaScale: 10500}}},
	}
	sum := 0.0
	for i, v := range b.Rank {
		sum += v
		rank := strconv.Itoa(i + 1)
		if i == 10 {
			rank = ">10"
		}
		b.Ranks = append(b.Ranks, intruder.RankRow{Rank: rank, Number: v, Cumulative: sum,
			Posterior: intruder.Moments{Mean: 0.25 / float64(i+1), SD: 0.125 / float64(i+1)},
			TopTen:    intruder.Moments{Mean: 0.5, SD: 0.25}})
	}
	for step := range 72 {
		// With each threshold fewer links are made, of which a greater share is right; at 0
		// every target is linked to its likeliest record, which is right for those of rank 1.
		links := targets * (72 - step) * (72 - step) / (72 * 72) / (1 + step)
		if links == 0 {
			break
		}
		correct := math.Round(2*float64(links)*(38.5+13.5*float64(step))/1000) / 2
		b.Curve = append(b.Curve,
			intruder.CurvePoint{Threshold: float64(step) / 100, Links: links, Correct: correct, Expected: correct + 0.25,
				Precision: correct / float64(links), Recall: correct / targets})
	}
	at := b.Curve[10]
	b.Links, b.Correct, b.ExpectedCorrect = at.Links, at.Correct, at.Expected
	for i := range 10 {
		b.Worst = append(b.Worst,
			intruder.Worst{Target: 97 * i, Record: 97*28*i + 14, Rank: 1, Posterior: 0.99 - float64(i)/32})
	}
	return b
}

func unique() *uniqueness.Result {
	u := &uniqueness.Result{
		Keys: []string{"region", "education", "ethnicity", "experience"}, Records: n - 3, MinFrequency: 1,
		SampleUniques: 1903,
		Violations:    map[int]int{2: 1903, 3: 4107, 5: 8210}, Estimator: "exact",
		ExpectedReidentifications: 412.75, MaxIndividualRisk: 0.0871, Count: uniqueness.CountSnooper,
		Household: &uniqueness.Household{ExpectedReidentifications: 903.5, MaxRisk: 0.2144},
		Persons: &uniqueness.Persons{Persons: 9_120, Several: 8_104, Unknown: 3, MinFrequency: 1, Uniques: 2_211,
			UniqueShare: 2_211. / 9_120, MaxIndividualRisk: 0.1525, Found: 0.3905,
			Violations: map[int]int{2: 2_211, 3: 4_004, 5: 6_890}},
		SUDA2: &uniqueness.SUDA2{Max: 22.5, Mean: 0.3125, MaxSize: 4, Sizes: []int64{0, 112, 1204, 987},
			Contribution: map[string]float64{"region": 0.42, "education": 0.71, "ethnicity": 0.38, "experience": 0.97},
			DISMax:       0.125, DISMean: 0.0031},
		LDiversity: map[string]uniqueness.Diversity{
			"union": {DistinctMin: 1, EntropyMin: 1, RecursiveMin: 1},
			"class": {DistinctMin: 2, EntropyMin: 1.75, RecursiveMin: 2},
		},
		LDiversityMulti: &uniqueness.Diversity{DistinctMin: 2, EntropyMin: 1.875, RecursiveMin: 2},
	}
	for size, list := range [][]uniqueness.Combination{
		{{Uniques: 0}, {Uniques: 1}, {Uniques: 0}, {Uniques: 4}},
		{{Uniques: 9}, {Uniques: 2}, {Uniques: 61}, {Uniques: 11}, {Uniques: 240}, {Uniques: 35}},
		{{Uniques: 30}, {Uniques: 871}, {Uniques: 140}, {Uniques: 602}},
	} {
		for i, keys := range combinations(u.Keys, size+1) {
			list[i].Keys = keys
			u.Combinations = append(u.Combinations, list[i])
		}
	}
	return u
}

// combinations returns all sets of size keys.
func combinations(keys []string, size int) (sets [][]string) {
	if size == 0 {
		return [][]string{{}}
	}
	for i := range keys {
		for _, rest := range combinations(keys[i+1:], size-1) {
			sets = append(sets, append([]string{keys[i]}, rest...))
		}
	}
	return sets
}

func cost() *loss.Utility {
	change := loss.Change{IL1: 812_000, IL1s: 10_400.5, PerCell: 0.0925, PerComparedCell: 0.0931, Relative: 0.1604,
		Cells: loss.Cells{All: 4 * (n - 3), Compared: 4*(n-3) - 412, Moved: 2*(n-3) - 412, Zeros: 310, ZerosMoved: 0}}
	of := func(mean, sd float64, missing int64) loss.Moments {
		return loss.Moments{N: n - 3 - missing, Missing: missing, Mean: &mean, SD: &sd}
	}
	estimate := func(value, half float64) loss.Estimate {
		return loss.Estimate{Value: value, Error: half / 2, Lower: value - half, Upper: value + half}
	}
	return &loss.Utility{
		IL1s: change.IL1s, IL1sPerCell: change.PerCell, Eigen: pointer(0.0625), PMSE: pointer(0.0004),
		KS:          map[string]float64{"wage": 0.0471, "hours": 0.0102},
		Wasserstein: map[string]float64{"wage": 14.25, "hours": 0.31},
		Change:      change,
		Structure: loss.Structure{Covariance: loss.Differences{Entries: 10, Mean: 0.031, Max: 0.1311},
			Correlation: loss.Differences{Entries: 6, Mean: 0.0125, Max: 0.041}, Eigen: pointer(0.0625), EigenLeftOut: 1,
			Rank: 3},
		Propensity: &loss.Propensity{PMSE: 0.0004, Expected: 0.00002, Ratio: pointer(20), Terms: 5, Records: 2 * (n - 3),
			Iterations: 4},
		Regressions: []loss.Overlap{
			{Response: "wage", Predictors: []string{"education", "experience"}, Level: 0.95, Records: [2]int{n - 3, n - 3},
				Mean: 0.875,
				Coefficients: []loss.Coefficient{
					{Term: loss.Intercept, Original: estimate(-386, 23.5), Released: estimate(-379, 25), Overlap: 0.86},
					{Term: "education", Original: estimate(60.9, 1.625), Released: estimate(61.1, 1.75), Overlap: 0.9},
					{Term: "experience", Original: estimate(10.6, 0.375), Released: estimate(10.5, 0.4375), Overlap: 0.865},
				}}},
		Columns: []loss.ColumnLoss{
			{Name: "wage", Original: of(603.73, 453.55, 0), Released: of(606.91, 482.37, 0),
				Change: loss.Change{IL1: 500_000, IL1s: 6_100, PerCell: 0.2167, PerComparedCell: 0.2167, Relative: 0.2411}},
			{Name: "hours", Original: of(40.3, 10.02, 412), Released: of(40.29, 10.61, 412),
				Change: loss.Change{IL1: 312_000, IL1s: 4_300.5, PerCell: 0.1528, PerComparedCell: 0.155, Relative: 0.0797}},
		},
	}
}

func pointer(v float64) *float64 { return &v }

// hostile replaces every word of an attack by word, which looks like markup.
func hostile(a *attack.Result, word string) {
	a.Keys[0], a.Bayes.Knowledge, a.Bayes.Model, a.Bayes.Ranks[0].Rank = word, word, intruder.Model(word), word
	u := a.Uniqueness
	u.Keys[0], u.Estimator, u.Combinations[0].Keys[0] = word, word, word
	u.LDiversity[word], u.SUDA2.Contribution[word] = u.LDiversity["union"], 0.5
	a.Interval[word], a.IntervalSound[word] = 0.5, 0.25
	a.Utility.KS[word], a.Utility.Wasserstein[word], a.Utility.Columns[0].Name = 0.5, 2, word
	o := &a.Utility.Regressions[0]
	o.Response, o.Predictors[0], o.Coefficients[0].Term, o.LeftOut = word, word, word, []string{word}
	c := &a.Inversion.Columns[0]
	c.Name, c.By, c.Passed, c.Recovered, c.Inversions[0].Kind, c.Inversions[0].Mask = word, inversion.Kind(word), false, 1,
		inversion.Kind(word), word
	averaged := &a.Averaging.Columns[0]
	averaged.Name, averaged.MSE[0], averaged.R[0], averaged.R[2] = word, 0, assess.Float(math.Inf(1)),
		assess.Float(math.NaN())
}
