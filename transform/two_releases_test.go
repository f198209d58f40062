package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// twice returns the first column of two releases of data under one key.
func twice(t *testing.T, setup Setup, columns []testColumn, a, b []Spec) (x, y []float64) {
	t.Helper()
	return releaseOf(t, setup, columns, a), releaseOf(t, setup, columns, b)
}

func releaseOf(t *testing.T, setup Setup, columns []testColumn, masks []Spec) []float64 {
	t.Helper()
	c := chain(t, setup, masks...)
	if c.NeedsSurvey() {
		surveyed(t, c, setup.Window, columns...)
	}
	return slices.Clone(apply(t, c, block(0, len(columns[0].Values), columns...)).Columns[0].Out().Values)
}

// releaseData returns income, another amount, two keys, an attribute and a number of the
// respondent.
func releaseData(n int) []testColumn {
	columns := namingData(n)
	id := floats(0, make([]float64, n)...)
	for i := range id.Values {
		id.Values[i] = float64(i)
	}
	return append(columns, id)
}

// TestDifferenceOfTwoReleases: the value before the noise is known in part, and exactly if it is
// clipped, so common noise of two releases would reveal the original: without this protection, all
// 1,054 of 1,054. The difference is as near as √2 times the noise, not 0: the share within a
// fiftieth of that is 2·0.02·φ(0) = 1.6 %, and with 100 or more records 10 % is impossible (7 SE).
func TestDifferenceOfTwoReleases(t *testing.T) {
	columns := releaseData(3000)
	setup := testSetup(t, columns...)
	setup.Window = 500
	x := columns[0].Values
	noise := func() Spec { return mask(&Noise{Columns: []string{"a"}, SD: amount(200)}) }
	truncate := func(lower, upper *float64) Spec {
		return mask(&Truncate{Columns: []string{"a"}, Lower: lower, Upper: upper})
	}
	swap := func(key, attribute string) Spec {
		return mask(&Swap{Keys: []string{key}, Attribute: attribute, Columns: []string{"a"}, Rate: ptr(0.5),
			Policy: "random"})
	}
	for _, c := range []struct {
		name  string
		a, b  []Spec
		sd    func(x float64) float64
		known func(x float64) (float64, bool) // the value before the noise in the second release, if the intruder knows it
	}{
		{"upper", []Spec{noise()}, []Spec{truncate(nil, ptr(500.0)), noise()}, nil, func(x float64) (float64, bool) {
			return 500, x > 500
		}},
		{"lower", []Spec{noise()}, []Spec{truncate(ptr(500.0), nil), noise()}, nil, func(x float64) (float64, bool) {
			return 500, x < 500
		}},
		{"two bounds", []Spec{truncate(nil, ptr(2000.0)), noise()}, []Spec{truncate(nil, ptr(500.0)), noise()}, nil,
			func(x float64) (float64, bool) { return 500, x > 500 && x < 2000 }},
		{"round", []Spec{noise()}, []Spec{mask(&Round{Columns: []string{"a"}, Base: ptr(1000.0)}), noise()}, nil,
			func(x float64) (float64, bool) { return math.RoundToEven(x/1000) * 1000, true }},
		{"round of other bases", []Spec{mask(&Round{Columns: []string{"a"}, Base: ptr(1.0)}), noise()},
			[]Spec{mask(&Round{Columns: []string{"a"}, Base: ptr(1000.0)}), noise()},
			nil, func(x float64) (float64, bool) { return math.RoundToEven(x/1000) * 1000, true }},
		{"bias behind a clip", []Spec{mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.2)})},
			[]Spec{truncate(nil, ptr(500.0)), mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.2)})},
			func(x float64) float64 { return 0.2 * math.Hypot(x, 500) / math.Sqrt2 }, func(x float64) (float64, bool) {
				return 500, x > 500 && x < 600
			}},
		{"noise of two standard deviations", []Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(100)})}, []Spec{noise()},
			nil, nil},
		{"tiers", []Spec{noise()},
			[]Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(200), Tiers: []Tier{{Above: ptr(500.0),
				VarianceFactor: ptr(4.0)}}})}, nil, nil},
		{"swaps over other keys", []Spec{swap("c", "d"), noise()}, []Spec{swap("d", "c"), truncate(nil, ptr(500.0)), noise()},
			nil, func(x float64) (float64, bool) { return 500, x > 500 }},
		{"a swap of the attribute", []Spec{swap("c", "d"), noise()},
			[]Spec{swap("c", "e"), truncate(nil, ptr(500.0)), noise()}, nil, func(x float64) (float64, bool) {
				return 500, x > 500
			}},
	} {
		for _, identity := range [][]int{nil, {5}} {
			setup.Identity = identity
			a, b := twice(t, setup, columns, c.a, c.b)
			near, n := 0, 0
			for i := range x {
				// known + A − B; and for λ₁z and λ₂z with λ₂ = 2λ₁: 2A − B.
				estimate, ok, sd := 2*a[i]-b[i], true, math.Sqrt2*200
				if c.known != nil {
					var known float64
					known, ok = c.known(x[i])
					estimate = known + a[i] - b[i]
				}
				if c.sd != nil {
					sd = math.Sqrt2 * c.sd(x[i])
				}
				if ok {
					n++
					if math.Abs(estimate-x[i]) < sd/50 {
						near++
					}
				}
			}
			if n < 100 {
				t.Fatalf("%s: only %d records are attacked", c.name, n)
			}
			if near > n/10 {
				t.Errorf("%s, identity %v: %d of %d originals recovered", c.name, identity, near, n)
			}
		}
	}
}

// TestTwoFilesByPlace: two different files under one key share no noise, an identical record at the
// same place keeps its release, and a swap of one file reveals nothing about a swap of the other.
func TestTwoFilesByPlace(t *testing.T) {
	const n = 2000
	columns := releaseData(n)
	setup := testSetup(t, columns...)
	setup.Window = n
	other := slices.Clone(columns)
	other[0].Values = incomes(n, 99)
	for i := 0; i < n; i += 10 {
		other[0].Values[i] = columns[0].Values[i]
	}
	for name, m := range map[string]Spec{
		"noise":   mask(&Noise{Columns: []string{"a"}, SD: amount(200)}),
		"laplace": mask(&Noise{Columns: []string{"a"}, SD: amount(200), Distribution: "laplace"}),
		"uniform": mask(&Noise{Columns: []string{"a"}, SD: amount(200), Distribution: "uniform"}),
	} {
		y, z := releaseOf(t, setup, columns, []Spec{m}), releaseOf(t, setup, other, []Spec{m})
		exact := 0
		for i := range y {
			same := columns[0].Values[i] == other[0].Values[i]
			if same && y[i] != z[i] {
				t.Fatalf("%s: an unchanged record at its place gets a different release", name)
			}
			if !same && math.Abs(y[i]-z[i]-(columns[0].Values[i]-other[0].Values[i])) < 0.02 {
				exact++
			}
		}
		// Two independent noises are within 0.02 of each other with probability
		// below 1e-4.
		if exact > 5 {
			t.Errorf("%s: y′ − y = x′ − x in %d of %d records", name, exact, n)
		}
	}
	// Exchanged records: a coin of 1/2 each. If the files share keys but no values, the two sets
	// are independent: among the records exchanged in one file, the share exchanged in the other
	// equals the overall share, within 5 SE of √(0.25/700).
	other[0].Values = incomes(n, 99)
	for _, policy := range []string{"unique", "random"} {
		for _, scope := range []string{"window", "dataset"} {
			// A key with 400 values, so that some records are unique in key and attribute.
			wide := func(columns []testColumn) []testColumn {
				columns = slices.Clone(columns)
				columns[2] = floats(0, columns[5].Values...)
				columns[2].Values = slices.Clone(columns[2].Values)
				for i := range columns[2].Values {
					columns[2].Values[i] = float64(i * 7919 % 700)
				}
				return columns
			}
			swap := []Spec{
				mask(&Swap{Keys: []string{"c"}, Attribute: "d", Columns: []string{"a"}, Rate: ptr(0.5), Policy: policy,
					Scope: scope})}
			one, two := wide(columns), wide(other)
			y, z := releaseOf(t, setup, one, swap), releaseOf(t, setup, two, swap)
			var first, second, both float64
			for i := range y {
				a, b := y[i] != one[0].Values[i], z[i] != two[0].Values[i]
				if a {
					first++
				}
				if b {
					second++
				}
				if a && b {
					both++
				}
			}
			if first < 500 || second < 500 {
				t.Fatalf("%s, %s: %v and %v records exchanged: too few to tell", policy, scope, first, second)
			}
			// Records without a partner are exchanged in neither file, so the sets are similar to
			// some degree; with shared draws they would be equal.
			if overlap := both / min(first, second); overlap > 0.85 {
				t.Errorf("%s, %s: %.0f %% of the records exchanged in one file are exchanged in the other", policy, scope,
					100*overlap)
			}
		}
	}
}

// TestNobodyIsKnownByPlace: without identities, 1,000 records would have shared the draws of their
// few values. Their places are their identities, and they are counted.
func TestNobodyIsKnownByPlace(t *testing.T) {
	const n = 3000
	columns := []testColumn{floats(2, make([]float64, n)...), floats(0, make([]float64, n)...)}
	for i := range n {
		columns[0].Values[i] = float64(100 * (i % 16))
		columns[1].Values[i] = float64(i)
		if i%3 == 0 {
			columns[1].Null = append(columns[1].Null, i)
		}
	}
	setup := testSetup(t, columns...)
	setup.Identity = []int{1}
	noise := mask(&Noise{Columns: []string{"a"}, SD: amount(200)})
	c := chain(t, setup, noise)
	whole := apply(t, c, block(0, n, columns...)).Columns[0].Out().Values
	draws := map[float64]int{}
	for i := 0; i < n; i += 3 {
		draws[whole[i]-columns[0].Values[i]]++
	}
	// 1,000 normal draws on a grid of 0.01 with SD 200: about 9 pairs coincide.
	if len(draws) < 950 {
		t.Errorf("1,000 records without identity have %d different draws", len(draws))
	}
	if got := c.Unidentified(); got != n/3 {
		t.Errorf("%d records are counted, want %d", got, n/3)
	}
	// For any division into blocks. In another scope records without identity have other draws, and
	// the others the same.
	part := apply(t, c, block(1000, 1100, columns...)).Columns[0].Out().Values
	if !slices.Equal(part, whole[1000:1100]) {
		t.Error("a record in a block of its own has different draws")
	}
	b := block(0, n, columns...)
	b.Scope = "survey"
	scoped := apply(t, c, b).Columns[0].Out().Values
	same := 0
	for i := range scoped {
		if i%3 != 0 && scoped[i] != whole[i] {
			t.Fatal("a respondent gets a different release in another topic")
		}
		if i%3 == 0 && scoped[i] == whole[i] {
			same++
		}
	}
	if same > 20 {
		t.Errorf("%d of 1,000 records without identity have the same draw in another topic", same)
	}
	// Rejected records are not released, so they do not count. A survey counts once.
	columns[0].Values[0] = math.NaN()
	again := chain(t, setup, noise)
	apply(t, again, block(0, n, columns...))
	if got := again.Unidentified(); got != n/3-1 {
		t.Errorf("%d records are counted, want %d", got, n/3-1)
	}
}

// TestOneDecimalNumberOneDraw: 0.1 + 0.2 and 0.3 are the same number in a column with one decimal
// and have the same release each time, so averaging reveals nothing.
func TestOneDecimalNumberOneDraw(t *testing.T) {
	tenth, fifth := 0.1, 0.2
	x, y := floats(1, 0.3, 1.1, 7), floats(1, tenth+fifth, 1.1+1e-12, 7)
	if x.Values[0] == y.Values[0] {
		t.Fatal("the float64s must differ")
	}
	setup := testSetup(t, x)
	for _, masks := range [][]Spec{
		{mask(&Noise{Columns: []string{"a"}, SD: amount(5)})},
		{mask(&Noise{Columns: []string{"a"}, SD: amount(5), Tiers: []Tier{{Above: ptr(0.3), VarianceFactor: ptr(100.0)}}})},
		{mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.5)})},
		{mask(&Noise{Columns: []string{"a"}, SD: amount(5)}),
			mask(&Truncate{Columns: []string{"a"}, Lower: ptr(0.0), Mode: "redraw"})},
	} {
		if a, b := releaseOf(t, setup, []testColumn{x}, masks), releaseOf(t, setup, []testColumn{y}, masks); !slices.Equal(a,
			b) {
			t.Errorf("%s: %v and %v", masks[0].Kind(), a, b)
		}
	}
}

// randomChain returns a chain of one to three masks on column a, and the constants that an intruder
// knows. It always adds noise or exchanges, because otherwise nothing would be protected.
func randomChain(r *rand.Rand, setup Setup) (masks []Spec, bounds []float64) {
	for {
		masks, bounds = nil, nil
		for range 1 + r.IntN(1+r.IntN(3)) { // short chains reveal most
			masks = append(masks, randomMask(r, &bounds))
		}
		draws := slices.ContainsFunc(masks, func(m Spec) bool {
			return m.Kind() == "noise" || m.Kind() == "bias" || m.Kind() == "swap"
		})
		if _, err := NewChain(masks, setup); err == nil && draws {
			return masks, bounds
		}
	}
}

func randomMask(r *rand.Rand, bounds *[]float64) Spec {
	pick := func(v ...float64) *float64 { return &v[r.IntN(len(v))] }
	word := func(v ...string) string { return v[r.IntN(len(v))] }
	switch r.IntN(8) {
	case 0, 1:
		n := &Noise{Columns: []string{"a"}, SD: amount(*pick(50, 200)), Distribution: word("normal", "laplace", "uniform")}
		if r.IntN(3) == 0 {
			n.Tiers = []Tier{{Above: pick(300, 800), VarianceFactor: pick(0.25, 4)}}
			*bounds = append(*bounds, *n.Tiers[0].Above)
		}
		return mask(n)
	case 2:
		return mask(&Bias{Columns: []string{"a"}, Phi: pick(0.05, 0.2)})
	case 3, 4:
		t := &Truncate{Columns: []string{"a"}, Mode: word("clip", "clip", "redraw")}
		if r.IntN(2) == 0 {
			t.Upper = pick(500, 800)
			*bounds = append(*bounds, *t.Upper)
		} else {
			t.Lower = pick(200, 300)
			*bounds = append(*bounds, *t.Lower)
		}
		return mask(t)
	case 5:
		return mask(&Round{Columns: []string{"a"}, Base: pick(1, 100, 1000)})
	default:
		keys := [][2]string{{"c", "d"}, {"d", "c"}, {"c", "e"}, {"e", "d"}}[r.IntN(4)]
		return mask(&Swap{Keys: keys[:1], Attribute: keys[1], Columns: []string{"a"}, Rate: pick(0.2, 0.6),
			Policy: word("unique", "random"), Scope: word("window", "dataset")})
	}
}

// near returns a chain that differs from another in one mask: one more, one less or another one at
// some place.
func near(r *rand.Rand, setup Setup, masks []Spec, bounds []float64) ([]Spec, []float64) {
	for {
		other, known := slices.Clone(masks), slices.Clone(bounds)
		at := r.IntN(len(other) + 1)
		switch {
		case r.IntN(2) == 0: // a value made known before a draw
			var m Spec
			var more []float64
			for m.Params == nil || m.Kind() != "truncate" && m.Kind() != "round" {
				more = nil
				m = randomMask(r, &more)
			}
			known = append(known, more...)
			other = slices.Insert(other, r.IntN(len(other)), m)
		case at < len(other) && r.IntN(2) == 0:
			other[at] = randomMask(r, &known)
		case at < len(other) && len(other) > 1 && r.IntN(2) == 0:
			other = slices.Delete(other, at, at+1)
		default:
			other = slices.Insert(other, at, randomMask(r, &known))
		}
		if _, err := NewChain(other, setup); err == nil {
			return other, known
		}
	}
}

// TestNoCombinationIsNearer: no pA + qB + c, with p and q from −3 to 3 and c a combination of the
// bounds that the intruder knows, with factors from −3 to 3, is nearer to the originals than one
// release alone. The intruder knows between which bounds a value lies.
//
// For one release alone, factors of up to 6 replace p and q, because the sum of two independent
// draws of one law, p + q times the mean, is at most √½ nearer than twice one draw. Records are
// grouped by the cells between the bounds, with at least 400 records, where the root of a mean
// square has a standard error below 7 % (Laplace: √(5/4n) = 5.6 %). Five of these below √½ give
// 0.707·0.65 = 0.46: below this, draws are shared. The share of exact hits may rise by at most
// 5·√(0.25/400).
func TestNoCombinationIsNearer(t *testing.T) {
	const n = 2400
	columns := releaseData(n)
	setup := testSetup(t, columns...)
	setup.Window = 600
	pairs := 300
	if testing.Short() {
		pairs = 40
	}
	for _, identity := range [][]int{nil, {5}} {
		setup.Identity = identity
		r := rand.New(rand.NewPCG(2026, 11))
		for range pairs {
			a, known := randomChain(r, setup)
			b, bounds := near(r, setup, a, known)
			if r.IntN(4) == 0 {
				b, bounds = randomChain(r, setup)
				bounds = append(bounds, known...)
			}
			y, z := twice(t, setup, columns, a, b)
			slices.Sort(bounds)
			bounds = slices.Compact(bounds)
			for _, cell := range cellsOf(columns[0].Values, bounds, 400) {
				if found := nearer(columns[0].Values, y, z, bounds, cell); found != "" {
					t.Errorf("identity %v: %s\nA %s\nB %s", identity, found, describeMasks(a), describeMasks(b))
				}
			}
		}
	}
}

func describeMasks(masks []Spec) (text string) {
	for _, m := range masks {
		text += fmt.Sprintf("%s %+v; ", m.Kind(), m.Params)
	}
	return text
}

// cellOf are the records between two neighbouring bounds.
type cellOf struct {
	lower, upper float64
	records      []int
}

// cellsOf returns the cells with at least so many records.
func cellsOf(x, bounds []float64, least int) (out []cellOf) {
	all := append(append([]float64{0}, bounds...), 3000) // the few greatest values alone would determine a mean square
	for k := 1; k < len(all); k++ {
		c := cellOf{lower: all[k-1], upper: all[k]}
		for i, v := range x {
			if v >= c.lower && v < c.upper {
				c.records = append(c.records, i)
			}
		}
		if len(c.records) >= least {
			out = append(out, c)
		}
	}
	return out
}

// nearer returns the combination that is nearer to the originals than one release, if there is one.
func nearer(x, y, z, bounds []float64, cell cellOf) string {
	constants := []float64{0}
	for _, b := range bounds[:min(2, len(bounds))] {
		var more []float64
		for k := -3.0; k <= 3; k++ {
			for _, c := range constants {
				more = append(more, c+k*b)
			}
		}
		constants = more
	}
	// best returns the smallest root mean square of pA + qB + c − x over all c, and the greatest
	// share of hits. Values outside the cell are replaced by its nearer bound.
	best := func(p, q float64) (rms, share float64) {
		rms = math.Inf(1)
		for _, c := range constants {
			var sq float64
			hits := 0
			for _, i := range cell.records {
				d := min(max(p*y[i]+q*z[i]+c, cell.lower), cell.upper) - x[i]
				sq += d * d
				if math.Abs(d) < 0.5 {
					hits++
				}
			}
			n := float64(len(cell.records))
			rms, share = min(rms, math.Sqrt(sq/n)), max(share, float64(hits)/n)
		}
		return rms, share
	}
	alone, hit := math.Inf(1), 0.0
	for k := -6.0; k <= 6; k++ {
		for _, w := range [][2]float64{{k, 0}, {0, k}} {
			rms, share := best(w[0], w[1])
			alone, hit = min(alone, rms), max(hit, share)
		}
	}
	for p := -3.0; p <= 3; p++ {
		for q := -3.0; q <= 3; q++ {
			if p == 0 || q == 0 {
				continue
			}
			if rms, share := best(p, q); rms < 0.46*alone || share > hit+0.125 {
				return fmt.Sprintf(
					"%v A %+v B + c of %d records is within ± %.4g (one release ± %.4g), hits %.3f (%.3f), bounds %v",
					p, q, len(cell.records), rms, alone, share, hit, bounds)
			}
		}
	}
	return ""
}
