package truth

import (
	"math"
	"slices"
)

// form is the extent of the comparison.
type form int

const (
	small form = iota // plain go test: seconds
	short             // make test-truth-short, in CI: minutes
	full              // make test-truth
)

// entry is a chain with amounts in units of the file, and the shapes on which the form short
// compares it; the full form uses every suitable shape.
type entry struct {
	name  string
	of    func(f *file) chain
	short []string
	not   []string // shapes without room for it
}

func inf(sign int) float64 { return math.Inf(sign) }

// amount is a share of the interquartile range; for few or nearly constant values it is at least a
// unit of the last decimal.
func amount(f *file, share float64) float64 {
	v := f.grid(share * f.iqr())
	if v == 0 {
		v = math.Pow10(-max(f.decimals, 0))
	}
	return v
}

// inside returns bounds at two quantiles.
func inside(f *file, lower, upper float64) bounds {
	b := bounds{inf(-1), inf(1)}
	if lower > 0 {
		b.lower = f.grid(f.quantile(lower))
	}
	if upper < 1 {
		b.upper = f.grid(f.quantile(upper))
	}
	return b
}

func noised(kind string, share float64) func(f *file) chain {
	return func(f *file) chain { return chain{noise{sd: amount(f, share), kind: kind}} }
}

func clipped(lower, upper float64) func(f *file) chain {
	return func(f *file) chain { return chain{clip{inside(f, lower, upper)}} }
}

func redrawn(kind string, share, lower, upper float64) func(f *file) chain {
	return func(f *file) chain {
		b := inside(f, lower, upper)
		return chain{noise{sd: amount(f, share), kind: kind, bounds: &b}}
	}
}

func tiered(kind string, share float64, factors ...float64) func(f *file) chain {
	return func(f *file) chain {
		m := noise{sd: amount(f, share), kind: kind}
		for i, factor := range factors {
			above := f.grid(f.quantile([]float64{0.5, 0.9}[i]))
			if i > 0 && above <= m.tiers[i-1].above {
				break
			}
			m.tiers = append(m.tiers, tier{above, factor})
		}
		return chain{m}
	}
}

func swapped(key string, rate float64, random bool, windows int) func(f *file) chain {
	return func(f *file) chain {
		m := swap{key: key, rate: rate, random: random}
		if windows > 0 {
			m.window = len(f.x)/windows + 1
		}
		return chain{m}
	}
}

// then applies chains one after another.
func then(parts ...func(f *file) chain) func(f *file) chain {
	return func(f *file) chain {
		var c chain
		for _, p := range parts {
			c = append(c, p(f)...)
		}
		return c
	}
}

func biased(phi float64) func(f *file) chain {
	return func(f *file) chain { return chain{bias{phi}} }
}

func rounded(share float64) func(f *file) chain {
	return func(f *file) chain { return chain{round{amount(f, share)}} }
}

var entries = []entry{
	{name: "noise", of: noised("normal", 0.3), short: []string{"lognormal", "pareto1.5", "few"}},
	{name: "noise, little", of: noised("normal", 0.02), short: []string{"lognormal", "far"}},
	{name: "noise, much", of: noised("normal", 2), short: []string{"pareto1.2"}},
	{name: "noise, below the decimals", of: func(f *file) chain {
		return chain{noise{sd: 0.05 * math.Pow10(-max(f.decimals, 0)), kind: "normal"}}
	}, short: []string{"integers"}, not: []string{"far"}},
	{name: "noise, seldom above the decimals", of: func(f *file) chain {
		return chain{noise{sd: 0.22 * math.Pow10(-max(f.decimals, 0)), kind: "normal"}}
	}, short: []string{"integers"}, not: []string{"far"}},
	{name: "noise, near the decimals", of: func(f *file) chain {
		return chain{noise{sd: 0.7 * math.Pow10(-max(f.decimals, 0)), kind: "normal"}}
	}, short: []string{"integers"}, not: []string{"far"}},
	{name: "laplace", of: noised("laplace", 0.3), short: []string{"halfzeros"}},
	{name: "uniform", of: noised("uniform", 0.3), short: []string{"lognormal"}},
	{name: "uniform, little", of: noised("uniform", 0.02), short: []string{"pareto1.2"}},
	{name: "tiers up", of: tiered("normal", 0.2, 2, 9), short: []string{"lognormal", "halfzeros"}},
	{name: "tiers down to none", of: tiered("laplace", 0.2, 0.5, 0), short: []string{"pareto1.5", "integers"}},
	{name: "bias", of: biased(0.1), short: []string{"pareto1.5", "halfzeros"}},
	{name: "bias, noise", of: then(biased(0.1), noised("normal", 0.1)), short: []string{"pareto1.2"}},
	{name: "clip above", of: clipped(0, 0.97), short: []string{"pareto1.5"}},
	{name: "clip both", of: clipped(0.05, 0.995), short: []string{"lognormal"}},
	{name: "noise, clip", of: then(noised("normal", 0.3), clipped(0.05, 0.97)), short: []string{"lognormal"}},
	{name: "bias, clip", of: then(biased(0.15), clipped(0, 0.97)), short: []string{"pareto1.5"}},
	{name: "clip, noise", of: then(clipped(0.05, 0.97), noised("laplace", 0.2)), short: []string{"pareto1.2"}},
	{name: "redraw normal", of: redrawn("normal", 0.4, 0.05, 0.97), short: []string{"lognormal"}, not: []string{"few"}},
	{name: "redraw laplace", of: redrawn("laplace", 0.4, 0.05, 1), short: []string{"pareto1.5"}},
	{name: "redraw uniform", of: redrawn("uniform", 0.4, 0.05, 0.97), short: []string{"normal"}},
	{name: "round", of: rounded(0.25), short: []string{"lognormal", "few"}, not: []string{"far"}},
	{name: "noise, round", of: then(noised("normal", 0.2), rounded(0.25)), short: []string{"lognormal"},
		not: []string{"far"}},
	{name: "round, noise", of: then(rounded(0.25), noised("uniform", 0.2)), short: []string{"halfzeros"},
		not: []string{"far"}},
	{name: "noise, noise", of: then(noised("uniform", 0.2), noised("laplace", 0.1)), short: []string{"lognormal"}},
	{name: "swap unique window", of: swapped("few", 0.5, false, 10), short: []string{"lognormal"}},
	{name: "swap random window", of: swapped("many", 0.3, true, 10), short: []string{"pareto1.5", "ordered"}},
	{name: "swap unique dataset", of: swapped("few", 0.5, false, 0), short: []string{"lognormal"}},
	{name: "swap random dataset", of: swapped("many", 0.3, true, 0), short: []string{"lognormal", "pareto1.5"}},
	{name: "swap random dataset, small groups", of: swapped("few", 0.6, true, 0), short: []string{"lognormal"}},
	{name: "noise, swap", of: then(noised("normal", 0.2), swapped("many", 0.3, true, 0)), short: []string{"lognormal"}},
	{name: "swap, noise", of: then(swapped("few", 0.6, true, 10), noised("normal", 0.2)), short: []string{"pareto1.5"}},
	{name: "swap, clip", of: then(swapped("many", 0.3, true, 0), clipped(0, 0.97)), short: []string{"lognormal"}},
	{name: "clip, swap", of: then(clipped(0, 0.97), swapped("many", 0.3, true, 10)), short: []string{"lognormal"}},
	{name: "bias, swap", of: then(biased(0.1), swapped("few", 0.5, true, 0)), short: []string{"pareto1.5"}},
	{name: "swap, swap", of: then(swapped("many", 0.3, true, 10), swapped("few", 0.5, true, 10)),
		short: []string{"lognormal"}},
}

// smallEntries are those that plain go test compares.
var smallEntries = []string{"noise, little", "tiers up", "tiers down to none", "bias", "noise, clip",
	"swap random window"}

// size is the number of records of a file and of the program's sample.
type size struct{ n, sample int }

var sizes = map[form][]size{
	small: {{3000, 100_000}, {6000, 500}},
	short: {{3000, 100_000}, {6000, 500}, {150_000, 5000}},
	full:  {{3000, 100_000}, {6000, 500}, {150_000, 5000}, {150_000, 100_000}},
}

// shapesOf lists the files on which a form compares a chain.
func (e entry) shapesOf(of form) []string {
	switch of {
	case small:
		return e.short[len(e.short)-1:]
	case short:
		return e.short
	}
	var names []string
	for _, s := range shapes {
		if !slices.Contains(e.not, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}
