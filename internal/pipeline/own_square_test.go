package pipeline

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// chainOf returns the chain of some masks on one column, wage, with two decimals.
func chainOf(t *testing.T, masks string) (*transform.Chain, assess.Column) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte("wage,region,kind\n150.25,a,x\n100.5,a,y\n900.75,b,x\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	p := parsed(t, dir,
		"columns: {wage: {role: sensitive, decimals: 2}, region: {role: key}, kind: {role: other}}\nmasks: ["+masks+"]\n")
	pl := planFor(t, p, true)
	progress := new(Progress)
	if err := pl.Settle(t.Context(), progress); err != nil {
		t.Fatal(err)
	}
	key, err := keystream.ParseKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	chain, err := pl.newChain(t.Context(), key, progress)
	if err != nil {
		t.Fatal(err)
	}
	return chain, pl.Assessed[0]
}

const swapped = "{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random}}"

// If masks have no closed form, the expectation for a record with an unchanged value is the mean of
// a fixed number of its own draws, and its variance is that of this mean. Both equal two passes
// over the same draws, and are near the theoretical values.
func TestOwnSquareIsTheMeanOfDraws(t *testing.T) {
	chain,
		column := chainOf(t,
		swapped+
			", {noise: {columns: [wage], sd: 3, distribution: laplace}}, {noise: {columns: [wage], sd: 4}}, {noise: {columns: [wage], sd: 50, distribution: laplace}}, {truncate: {columns: [wage], lower: 100, mode: redraw}}")
	if _, known := chain.Law("wage"); known {
		t.Fatal("the masks have a closed form: the test checks nothing")
	}
	own, err := ownSquare(chain, column)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := chain.Unmixed("wage")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []float64{100, 150.25, 5000} {
		var b microdata.Block
		b.Reset(0, 0, 2048, column.Index+1)
		values := make([]float64, 2048)
		for i := range values {
			values[i] = x
		}
		b.Columns[column.Index].Original.Values = values
		if err := rest.Replicate(1 << 29).Apply(&b); err != nil {
			t.Fatal(err)
		}
		var d []float64
		mean, squares := 0.0, 0.0
		for _, y := range b.Columns[column.Index].Out().Values {
			d = append(d, math.Pow(y-x, 2))
			mean += math.Pow(y-x, 2) / 2048
		}
		for _, v := range d {
			squares += (v - mean) * (v - mean)
		}
		square, noise := own(x)
		if want := squares / 2047 / 2048; len(d) != 2048 || !(math.Abs(square-mean) <= 1e-9*mean) ||
			!(math.Abs(noise-want) <= 1e-9*want) {
			t.Errorf("at %v: mean square %v with variance %v; the %d draws give %v and %v", x, square, noise, len(d), mean, want)
		}
		// For a value at the bound, the draws lie on one side, and far from it on both: E d² is the
		// variance 50², and E d⁴ of Laplace is 6 · 50⁴, so the mean of 2,048 draws has a standard
		// deviation of √5 · 50² / √2048. In between, the bound cuts off a part.
		if sd := math.Sqrt(5) * 2500 / math.Sqrt(2048); x != 150.25 && !(math.Abs(square-2500) <= 5*sd) || x == 150.25 &&
			square >= 2500 {
			t.Errorf("at %v: mean square %v, want 2500, or less near the bound", x, square)
		}
	}
}

// With a closed form, the expectation is exact. With only a swap, an unchanged value has no error.
func TestOwnSquareOfALaw(t *testing.T) {
	for masks, want := range map[string]float64{"{noise: {columns: [wage], sd: 30}}": 900,
		"{noise: {columns: [wage], sd: 3}}, {bias: {columns: [wage], phi: 0.1}}": 0} {
		chain, column := chainOf(t, masks)
		law, known := chain.Law("wage")
		own, err := ownSquare(chain, column)
		if err != nil || !known {
			t.Fatal(known, err)
		}
		square, noise := own(150.25)
		if _, by := law.Moments(150.25); square != by || noise != 0 || want > 0 && !(math.Abs(square-want) <= 0.01) {
			t.Errorf("%s: mean square %v ± %v, the law gives %v", masks, square, noise, by)
		}
	}
	chain, column := chainOf(t, swapped)
	own, err := ownSquare(chain, column)
	if err != nil {
		t.Fatal(err)
	}
	if square, noise := own(150.25); square != 0 || noise != 0 {
		t.Errorf("a swap alone: mean square %v ± %v, want 0", square, noise)
	}
}
