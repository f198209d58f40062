package pipeline

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// audited is a release of many records that all have the same original value, and what is stated of it.
type audited struct {
	plan  *Plan
	chain *transform.Chain
	place int64 // of the next record
}

func auditOf(t *testing.T, columns, masks, of string) *audited {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte("wage,sex\n150.25,f\n100.5,m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := parsed(t, dir, "columns: {"+columns+"}\nmasks: ["+masks+"]\nassess: {privacy: {"+of+"}}\nunlisted: drop\n")
	pl := planFor(t, p, false)
	progress := new(Progress)
	if err := pl.Settle(t.Context(), progress); err != nil {
		t.Fatal(err)
	}
	chain, err := pl.newChain(t.Context(), keytest.Key(3), progress)
	if err != nil {
		t.Fatal(err)
	}
	return &audited{plan: pl, chain: chain}
}

// release calls see with n released values of records that have the value x, each at a place of its own.
func (a *audited) release(t *testing.T, x float64, n int, see func(y float64)) {
	t.Helper()
	index := a.plan.Assessed[0].Index
	const size = 1 << 16
	for done := 0; done < n; done += size {
		var b microdata.Block
		b.Reset(0, a.place, min(size, n-done), len(a.plan.Layout.Read))
		a.place += size
		v := b.Columns[index].Alloc(b.N, false)
		for i := range v.Values {
			v.Values[i] = x
		}
		if err := a.chain.Apply(&b); err != nil {
			t.Fatal(err)
		}
		for _, y := range b.Columns[index].Out().Values {
			see(y)
		}
	}
}

// lowerBound returns a bound that lies above ε of a mechanism with probability 1e-6 at most: of the events that y is at
// most, or at least, one of the cuts, that with the greatest estimate on the first half of the draws is tested on the
// second half, with bounds of Clopper and Pearson on either probability (Jagielski, Ullman and Oprea 2020, "Auditing
// differentially private machine learning", NeurIPS, section 4). delta is δ of the mechanism.
func (a *audited) lowerBound(t *testing.T, x, other float64, n int, cuts []float64, delta float64) float64 {
	t.Helper()
	count := func(x float64, n int) (below []int) {
		below = make([]int, len(cuts)+1)
		a.release(t, x, n, func(y float64) {
			k, _ := slices.BinarySearch(cuts, y) // the first cut at or above y
			below[k]++
		})
		for k := 1; k < len(below); k++ {
			below[k] += below[k-1]
		}
		return below // below[k]: y ≤ cuts[k]
	}
	bounds := func(k, m int) (lower, upper float64) {
		const half = 1e-6 / 4
		lower, upper = 0, 1
		if k > 0 {
			lower = distuv.Beta{Alpha: float64(k), Beta: float64(m - k + 1)}.Quantile(half)
		}
		if k < m {
			upper = distuv.Beta{Alpha: float64(k + 1), Beta: float64(m - k)}.Quantile(1 - half)
		}
		return lower, upper
	}
	of := func(k, l, m int) float64 {
		lower, _ := bounds(k, m)
		_, upper := bounds(l, m)
		return math.Log((lower - delta) / upper)
	}
	p, q := count(x, n), count(other, n)
	best, at, above := math.Inf(-1), 0, false
	for k := range cuts {
		if v := of(p[k], q[k], n); v > best {
			best, at, above = v, k, false
		}
		if v := of(n-p[k], n-q[k], n); v > best {
			best, at, above = v, k, true
		}
	}
	p, q = count(x, n), count(other, n)
	if above {
		return of(n-p[at], n-q[at], n)
	}
	return of(p[at], q[at], n)
}

// The greatest ε that draws of the chain can prove is never above what is stated, and not far below; a mechanism with
// half of the noise that is stated is found out. Among the cases are chains whose figure is that of one of several
// masks.
func TestAuditOfStatedPrivacy(t *testing.T) {
	n := 100_000
	if !testing.Short() {
		n = 5_000_000 // twice, for either value
	}
	const wage = "wage: {role: sensitive, decimals: 1}"
	clip := "{truncate: {columns: [wage], lower: 0, upper: 100}}, "
	noise := func(sd float64, law string) string {
		return fmt.Sprintf("{noise: {columns: [wage], sd: %v, distribution: %s}}", sd, law)
	}
	for _, c := range []struct {
		what, stated, made, of string
		x, other               float64
		share                  float64 // of the stated ε that draws must prove
	}{
		{"Laplace", clip + noise(100, "laplace"), "", "", 0, 100, 0.9},
		{"beyond the bounds", clip + noise(100, "laplace"), "", "", -1e6, 1e6, 0.9},
		{"coarse grid", clip + noise(100, "laplace") + ", {round: {columns: [wage], base: 50}}", "", "", 0, 100, 0.8},
		{"clipped behind", clip + noise(100, "laplace") + ", {truncate: {columns: [wage], lower: 0, upper: 100}}", "", "", 0,
			100, 0.9},
		{"two noises", clip + noise(100, "laplace") + ", " + noise(10, "normal"), "", "", 0, 100, 0.8},
		{"clip between two noises", clip + noise(50, "laplace") + ", " + clip + noise(100, "laplace"), "", "", 0, 100, 0.3},
		{"rounded in front", clip + "{round: {columns: [wage], base: 40}}, " + noise(100, "laplace"), "", "", 0, 100, 0.5},
		{
			"rounded outwards",
			"{truncate: {columns: [wage], lower: 19.9, upper: 60.1}}, {round: {columns: [wage], base: 40}}, " +
				noise(100, "laplace"), "", "", 19.9, 60.1, 0.8},
		{"normal", clip + noise(200, "normal"), "", "delta: 1e-3", 0, 100, 0.4},
		{"half of the noise that is stated", clip + noise(100, "laplace"), clip + noise(50, "laplace"), "", 0, 100, 1.5},
		{"wider bounds than are stated", clip + noise(100, "laplace"),
			"{truncate: {columns: [wage], lower: 0, upper: 200}}, " + noise(100, "laplace"), "", 0, 200, 1.5},
		{"half of the normal noise", clip + noise(200, "normal"), clip + noise(100, "normal"), "delta: 1e-3", 0, 100, 1.02},
	} {
		made := c.made
		if made == "" {
			made = c.stated
		}
		stated := auditOf(t, wage, c.stated, c.of).plan.Privacy().Of("wage")
		epsilon, delta := float64(stated.Epsilon), 0.0
		if c.of != "" {
			delta = float64(stated.Delta)
		}
		var cuts []float64
		for y := -600.0; y <= 800; y += 20 {
			cuts = append(cuts, y)
		}
		found := auditOf(t, wage, made, c.of).lowerBound(t, c.x, c.other, n, cuts, delta)
		t.Logf("%s: ε %.4f stated, at least %.4f found", c.what, epsilon, found)
		if !(found >= c.share*epsilon) {
			t.Errorf("%s: ε %.4f stated, only %.4f found: the audit is too weak", c.what, epsilon, found)
		}
		if broken := c.made != ""; (found > epsilon) != broken {
			t.Errorf("%s: ε %.4f stated, at least %.4f found", c.what, epsilon, found)
		}
	}
}

// The attack on floating point (Mironov 2012, "On significance of the least significant bits for differential
// privacy"): x + ε as float64s reaches other numbers from one x than from another. Here every released value is the
// float64 nearest to a decimal, and every such value near two originals is reached from both, whatever decimals the
// originals have. With λ = 2 in steps of 0.1, the farthest value that is looked for is 43 steps away and has the
// probability 1/28.3·e^(−43/14.1) = 0.0017 under the Laplace law (scale 14.1 steps), 0.0020 under the normal one: of
// 200,000 draws none is left out by chance (e^−300).
func TestReachedValuesDoNotTellTheOriginal(t *testing.T) {
	for _, law := range []string{"laplace", "normal"} {
		a := auditOf(t, "wage: {role: sensitive, decimals: 1}", "{noise: {columns: [wage], sd: 2, distribution: "+law+"}}",
			"")
		var reached []map[float64]int
		for _, x := range []float64{10.1, 10.4, 10.7000000001, math.Nextafter(10.4, 11)} {
			at := map[float64]int{}
			a.release(t, x, 200_000, func(y float64) {
				if k := math.RoundToEven(y * 10); k/10 != y || math.Float64bits(y) == math.Float64bits(math.Copysign(0, -1)) {
					t.Fatalf("%s: released a number that is not the nearest to a decimal", law)
				}
				at[y]++
			})
			reached = append(reached, at)
		}
		for k := range 81 {
			y := float64(64+k) / 10 // 6.4 … 14.4
			for i, at := range reached {
				if at[y] == 0 {
					t.Errorf("%s: %v is not reached from original %d", law, y, i)
				}
			}
		}
	}
}

// The metric figure: of two values d apart, the logarithm of a ratio is at most ε·d, and it is reached far from both.
func TestAuditOfMetricPrivacy(t *testing.T) {
	n := 300_000
	if !testing.Short() {
		n = 5_000_000
	}
	a := auditOf(t, "wage: {role: sensitive, decimals: 1}", "{noise: {columns: [wage], sd: 90, distribution: laplace}}",
		"")
	stated := a.plan.Privacy().Of("wage")
	found := a.lowerBound(t, 560, 500, n, []float64{480, 500, 530, 560, 600}, 0)
	most := float64(stated.Metric) * 60
	// "two wages 60 apart differ at most by e^0.94"
	if !(found <= most && found >= 0.85*most) || math.Abs(most-0.9428) > 1e-4 {
		t.Errorf("60 apart: at least %v found, at most %v stated", found, most)
	}
	if stated.Distance != 90 || !math.IsNaN(float64(stated.Epsilon)) || stated.Epsilon == assess.Float(0) {
		t.Errorf("%+v", stated)
	}
}
