package transform

import (
	"fmt"
	"math"
	"testing"
)

// many returns the names of n columns, numbered from from.
func many(from, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("v", from+i)
	}
	return list
}

// A parameter is accepted at its bounds and refused one step beyond, with its path.
func TestParametersAtTheirBounds(t *testing.T) {
	a := []string{"a"}
	nan, inf := math.NaN(), math.Inf(1)
	freq := func(v float64) *PRAM {
		return &PRAM{Columns: a, Keep: ptr(0.5), Invariant: true, Frequencies: map[string]float64{"x": 1, "y": v}}
	}
	matrix := func(p float64) *PRAM {
		return &PRAM{Columns: a, Matrix: map[string]map[string]float64{"x": {"x": p, "y": 1 - p}, "y": {"y": 1}}}
	}
	suppress := func(k int, more ...float64) *Suppress {
		m := &Suppress{Keys: a, K: &k}
		if len(more) > 0 {
			m.Importance = map[string]float64{"a": more[0]}
		}
		return m
	}
	rank := func(r, bottom, top float64) *RankSwap {
		return &RankSwap{Columns: a, MinCorrelation: ptr(r), Bottom: ptr(bottom), Top: ptr(top)}
	}
	trees := func(leaf int) *Synthesise { return &Synthesise{Columns: a, Method: "cart", Leaf: &leaf} }
	for what, c := range map[string]struct {
		p    Params
		path string // "-": no problem
	}{
		"64 columns of a shuffle":    {&Shuffle{Columns: many(0, 60), On: many(60, 4)}, "-"},
		"65 columns of a shuffle":    {&Shuffle{Columns: many(0, 60), On: many(60, 5)}, "on"},
		"64 columns of a synthesis":  {&Synthesise{Columns: many(0, 63), On: many(63, 1)}, "-"},
		"65 columns of a synthesis":  {&Synthesise{Columns: many(0, 63), On: many(63, 2)}, "on"},
		"64 columns of groups":       {&Microaggregate{Columns: many(0, 64), K: ptr(3)}, "-"},
		"65 columns of groups":       {&Microaggregate{Columns: many(0, 65), K: ptr(3)}, "columns"},
		"groups of one":              {micro(1, "a"), "k"},
		"groups of two":              {&Microaggregate{Columns: a, K: ptr(2)}, "k"},
		"groups of two, asked for":   {&Microaggregate{Columns: a, K: ptr(2), Least: ptr(2)}, "-"},
		"groups of fewer than least": {&Microaggregate{Columns: a, K: ptr(4), Least: ptr(5)}, "k"},
		"groups as small as least":   {&Microaggregate{Columns: a, K: ptr(5), Least: ptr(5)}, "-"},
		"means of one":               {&Topcode{Columns: a, Upper: ptr(1.0), Replace: "mean", Least: ptr(1)}, "least"},
		"means of two, asked for":    {&Topcode{Columns: a, Upper: ptr(1.0), Replace: "mean", Least: ptr(2)}, "-"},
		"no share":                   {&Topcode{Columns: a, Upper: ptr(1.0), Replace: "mean", Share: ptr(0.0)}, "share"},
		"a share above 1":            {&RankSwap{Columns: a, P: ptr(0.1), Share: ptr(1.1)}, "share"},
		"a share of all":             {&RankSwap{Columns: a, P: ptr(0.1), Share: ptr(1.0)}, "-"},
		"ends of one":                {&RankSwap{Columns: a, P: ptr(0.1), Least: ptr(1)}, "least"},
		"groups of a million":        {micro(1_000_000, "a"), "-"},
		"groups of more":             {micro(1_000_001, "a"), "k"},
		"2 correlated columns":       {&Noise{Columns: many(0, 2), SD: percent(1), Correlated: true}, "-"},
		"1 correlated column":        {&Noise{Columns: many(0, 1), SD: percent(1), Correlated: true}, "columns"},
		"64 correlated columns":      {&Noise{Columns: many(0, 64), SD: percent(1), Correlated: true}, "-"},
		"65 correlated columns":      {&Noise{Columns: many(0, 65), SD: percent(1), Correlated: true}, "columns"},
		"12 keys":                    {&Suppress{Keys: many(0, 12), K: ptr(2)}, "-"},
		"13 keys":                    {&Suppress{Keys: many(0, 13), K: ptr(2)}, "keys"},
		"k of 1":                     {suppress(1), "k"},
		"k of 2":                     {suppress(2), "-"},
		"k of a million":             {suppress(1_000_000), "-"},
		"k of more":                  {suppress(1_000_001), "k"},
		"a little importance":        {suppress(2, 1e-9), "-"},
		"no importance":              {suppress(2, 0), "importance.a"},
		"no number of importance":    {suppress(2, nan), "importance.a"},
		"all importance":             {suppress(2, inf), "importance.a"},
		"no frequency":               {freq(0), "frequencies"},
		"a frequency below 0":        {freq(-1), "frequencies.y"},
		"an infinite frequency":      {freq(inf), "frequencies.y"},
		"no number of frequency":     {freq(nan), "frequencies.y"},
		"a small frequency":          {freq(1e-9), "-"},
		"a certain row":              {matrix(1), "-"},
		"another certain row":        {matrix(0), "-"},
		"a probability below 0":      {matrix(-0.01), "matrix.x.x"},
		"a row that sums to 1 nearly": {
			&PRAM{Columns: a, Matrix: map[string]map[string]float64{"x": {"x": 0.5, "y": 0.5 + 9e-7}, "y": {"y": 1}}}, "-"},
		"a row that does not": {
			&PRAM{Columns: a, Matrix: map[string]map[string]float64{"x": {"x": 0.5, "y": 0.5 - 2e-6}, "y": {"y": 1}}},
			"matrix.x"},
		"no row":            {&PRAM{Columns: a, Matrix: map[string]map[string]float64{}}, "matrix"},
		"an empty map":      {&Recode{Columns: a, Map: map[string]string{}}, "map"},
		"an empty file":     {&Recode{Columns: a, File: "f", Table: map[string]string{}}, "file"},
		"one bound":         {&Recode{Columns: a, Breaks: []float64{1}}, "breaks"},
		"two bounds":        {&Recode{Columns: a, Breaks: []float64{1, 2}}, "-"},
		"an infinite bound": {&Recode{Columns: a, Breaks: []float64{1, inf}}, "breaks[1]"},
		"the same bound":    {&Recode{Columns: a, Breaks: []float64{1, 1}}, "breaks[1]"},
		"words beside midpoints": {&Recode{Columns: a, Breaks: []float64{1, 2}, Midpoints: true, Other: ptr("x")},
			"other"},
		"a number beside midpoints": {&Recode{Columns: a, Breaks: []float64{1, 2}, Midpoints: true, Other: ptr("-7")},
			"-"},
		"a level beside bounds":          {&Recode{Columns: a, Breaks: []float64{1, 2}, Level: ptr(1)}, "level"},
		"labels between":                 {&Recode{Columns: a, Breaks: []float64{1, 2, 3}, Labels: many(0, 2)}, "-"},
		"labels of the ends too":         {&Recode{Columns: a, Breaks: []float64{1, 2, 3}, Labels: many(0, 4)}, "-"},
		"labels of one end":              {&Recode{Columns: a, Breaks: []float64{1, 2, 3}, Labels: many(0, 3)}, "labels"},
		"labels for more":                {&Recode{Columns: a, Breaks: []float64{1, 2, 3}, Labels: many(0, 5)}, "labels"},
		"ends that leave something":      {rank(0.5, 0.5, 0.49), "-"},
		"ends that leave nothing":        {rank(0.5, 0.5, 0.5), "top"},
		"no end":                         {rank(0.5, 0, 0), "-"},
		"an end of all":                  {rank(0.5, 1, 0), "bottom"},
		"a correlation of 0":             {rank(0, 0, 0), "min_correlation"},
		"a correlation of 1":             {rank(1, 0, 0), "min_correlation"},
		"no number of correlation":       {rank(nan, 0, 0), "min_correlation"},
		"all ranks":                      {ranked(1, "a"), "-"},
		"more than all ranks":            {ranked(1.01, "a"), "p"},
		"leaves of one less":             {trees(4), "leaf"},
		"leaves as small as may be":      {trees(5), "-"},
		"leaves of a million":            {trees(1_000_000), "-"},
		"leaves of more":                 {trees(1_000_001), "leaf"},
		"the first copy":                 {&Synthesise{Columns: a, Copy: ptr(1)}, "-"},
		"the last copy":                  {&Synthesise{Columns: a, Copy: ptr(100)}, "-"},
		"a copy behind it":               {&Synthesise{Columns: a, Copy: ptr(101)}, "copy"},
		"one of several copies":          {&Synthesise{Columns: a, Copies: ptr(1)}, "copies"},
		"two copies":                     {&Synthesise{Columns: a, Copies: ptr(2)}, "-"},
		"a hundred copies":               {&Synthesise{Columns: a, Copies: ptr(100)}, "-"},
		"a hundred and one":              {&Synthesise{Columns: a, Copies: ptr(101)}, "copies"},
		"one in a hundred is set aside":  {&Synthesise{Columns: a, HeldOut: ptr(0.01)}, "-"},
		"fewer are set aside":            {&Synthesise{Columns: a, HeldOut: ptr(0.009)}, "held_out"},
		"half of them is set aside":      {&Synthesise{Columns: a, HeldOut: ptr(0.5)}, "-"},
		"more than half are set aside":   {&Synthesise{Columns: a, HeldOut: ptr(0.51)}, "held_out"},
		"a percentile of the upper half": {&Topcode{Columns: a, UpperPercentile: ptr(50.1)}, "-"},
		"the median as an upper bound":   {&Topcode{Columns: a, UpperPercentile: ptr(50.0)}, "upper_percentile"},
		"the greatest as an upper bound": {&Topcode{Columns: a, UpperPercentile: ptr(100.0)}, "upper_percentile"},
		"a percentile of the lower half": {&Topcode{Columns: a, LowerPercentile: ptr(49.9)}, "-"},
		"the median as a lower bound":    {&Topcode{Columns: a, LowerPercentile: ptr(50.0)}, "lower_percentile"},
		"the least as a lower bound":     {&Topcode{Columns: a, LowerPercentile: ptr(0.0)}, "lower_percentile"},
		"no number as a percentile":      {&Topcode{Columns: a, UpperPercentile: ptr(nan)}, "upper_percentile"},
		"bounds that are one":            {&Topcode{Columns: a, Lower: ptr(2.0), Upper: ptr(2.0)}, "-"},
		"bounds that cross":              {&Topcode{Columns: a, Lower: ptr(2.0), Upper: ptr(1.9)}, "upper"},
		"15 decimals":                    {&Round{Columns: a, Decimals: ptr(15)}, "-"},
		"16 decimals":                    {&Round{Columns: a, Decimals: ptr(16)}, "decimals"},
		"15 places before the point":     {&Round{Columns: a, Decimals: ptr(-15)}, "-"},
		"16 places before the point":     {&Round{Columns: a, Decimals: ptr(-16)}, "decimals"},
		"a smallest step":                {&Round{Columns: a, Base: ptr(math.SmallestNonzeroFloat64)}, "-"},
		"a sample of all":                {&Sample{Rate: ptr(1.0)}, "-"},
		"a sample of more":               {&Sample{Rate: ptr(1.0000001)}, "rate"},
		"a sample of few":                {&Sample{Rate: ptr(math.SmallestNonzeroFloat64)}, "-"},
		"a whole stratum":                {&Sample{By: "s", Rates: map[string]float64{"x": 1}}, "-"},
		"more than a stratum":            {&Sample{By: "s", Rates: map[string]float64{"x": 1.01}}, "rates.x"},
		"no swap":                        {swapMask("random", "", 0), "-"},
		"all swapped":                    {swapMask("random", "", 1), "-"},
		"less than no swap":              {swapMask("random", "", -0.01), "rate"},
		"more than all swapped":          {swapMask("random", "", 1.01), "rate"},
		"a map at two levels":            {&Recode{Columns: a, Map: map[string]string{"x": "y"}, Level: ptr(100)}, "-"},
		"bounds and a map": {&Recode{Columns: a, Map: map[string]string{"x": "y"}, Breaks: []float64{1, 2}},
			""},
		"midpoints without bounds": {&Recode{Columns: a, Map: map[string]string{"x": "y"}, Midpoints: true},
			"midpoints"},
		"labels without bounds": {&Recode{Columns: a, Map: map[string]string{"x": "y"}, Labels: []string{"x"}},
			"labels"},
		"midpoints and labels": {
			&Recode{Columns: a, Breaks: []float64{1, 2}, Labels: []string{"x"}, Midpoints: true}, "midpoints"},
		"strata without counting": {
			&PRAM{Columns: a, Keep: ptr(0.5), Categories: []string{"x", "y"}, By: []string{"s"}}, "by"},
		"strata with counting": {
			&PRAM{Columns: a, Keep: ptr(0.5), Categories: []string{"x", "y"}, Invariant: true, By: []string{"s"}}, "-"},
		"strata with given frequencies": {
			&PRAM{Columns: a, Keep: ptr(0.5), Invariant: true, Frequencies: map[string]float64{"x": 1, "y": 2},
				By: []string{"s"}}, "by"},
		"a stratum that the mask changes": {
			&PRAM{Columns: a, Keep: ptr(0.5), Categories: []string{"x", "y"}, Invariant: true, By: []string{"a"}}, "by[0]"},
	} {
		ps := c.p.Check()
		if (len(ps) == 0) != (c.path == "-") || len(ps) > 0 && ps[0].Path != c.path {
			t.Errorf("%s: %v, want the first at %q", what, ps, c.path)
		}
	}
}

// A mask that counts the original categories must come before all masks that change or omit them.
func TestCountsAreOfTheOriginal(t *testing.T) {
	counts := mask(&PRAM{Columns: []string{"a"}, Keep: ptr(0.5), Categories: []string{"x", "y"}, Invariant: true,
		By: []string{"s"}})
	given := mask(
		&PRAM{Columns: []string{"a"}, Keep: ptr(0.5), Invariant: true, Frequencies: map[string]float64{"x": 1, "y": 2}})
	recode := func(column string) Spec {
		return mask(&Recode{Columns: []string{column}, Map: map[string]string{"x": "y"}, Other: ptr("o")})
	}
	even, uneven := mask(&Sample{Rate: ptr(0.5)}), mask(&Sample{By: "u", Rates: map[string]float64{"x": 1}})
	for what, c := range map[string]struct {
		masks []Spec
		wrong int
	}{
		"alone":                 {[]Spec{counts}, 0},
		"behind another column": {[]Spec{recode("b"), counts}, 0},
		"behind its own":        {[]Spec{recode("b"), recode("a"), counts}, 1},
		"behind its stratum":    {[]Spec{recode("s"), counts}, 1},
		"behind both":           {[]Spec{recode("s"), recode("a"), counts}, 2},
		"before its own":        {[]Spec{counts, recode("a")}, 0},
		"behind a sample":       {[]Spec{even, counts}, 0},
		"behind uneven rates":   {[]Spec{uneven, counts}, 1},
		"given":                 {[]Spec{uneven, recode("a"), given}, 0},
	} {
		if ps := CheckSpecs(c.masks); len(ps) != c.wrong {
			t.Errorf("%s: %v, want %d", what, ps, c.wrong)
		}
	}
}
