package keystream

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/big"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write ziggurat_table.go and testdata/vectors.json anew")

// bigZiggurat computes the ziggurat from its definition: 256 layers of equal area
// v = x₁ f(x₁) + ∫ f beyond x₁, f(x) = exp(−x²/2), x₀ = v/f(x₁) and
// f(x_{i+1}) = f(x_i) + v/x_i, with x₁ such that the topmost layer closes at
// f(x₂₅₆) = 1.
func bigZiggurat(prec uint) (x, f [257]*big.Float, tail *big.Float) {
	number := func() *big.Float { return new(big.Float).SetPrec(prec) }
	root := number().Mul(bigPi(prec), bigF(prec, 2))
	root.Sqrt(root)
	// closing runs through the layers and returns f(x₂₅₆) − 1.
	closing := func(r *big.Float) *big.Float {
		tail = number().Sub(bigF(prec, 1), bigNormalCDF(r))
		v := number().Mul(tail, root)
		x[1], f[1] = r, bigGauss(r)
		v.Add(v, number().Mul(r, f[1]))
		x[0] = number().Quo(v, f[1])
		f[0] = bigGauss(x[0])
		for i := 1; ; i++ {
			f[i+1] = number().Add(f[i], number().Quo(v, x[i]))
			if i == 255 {
				x[256] = bigF(prec, 0)
				return number().Sub(f[256], bigF(prec, 1))
			}
			l := bigLog(f[i+1])
			x[i+1] = number().Sqrt(l.Mul(l, bigF(prec, -2)))
		}
	}
	// The secant rule from two values near the root; it is known to 16 digits.
	r0, r1 := bigF(prec, 3.654152885361008), bigF(prec, 3.654152885361009)
	g0 := closing(r0)
	for range 12 {
		g1 := closing(r1)
		step := number().Sub(r1, r0)
		step.Mul(step, g1)
		if g1.Sign() == 0 || step.Sign() == 0 {
			break
		}
		step.Quo(step, number().Sub(g1, g0))
		r0, g0, r1 = r1, g1, number().Sub(r1, step)
		if step.MantExp(nil) < 10-int(prec) {
			break
		}
	}
	f[256] = bigF(prec, 1)
	return x, f, tail
}

// TestZigguratTable compares the committed tables with the definition.
func TestZigguratTable(t *testing.T) {
	x, f, tail := bigZiggurat(256)
	round := func(v *big.Float) float64 { r, _ := v.Float64(); return r }
	if *update {
		writeZiggurat(t, x, f, round(tail))
	}
	if got := round(tail); got != tailProbability {
		t.Errorf("tail probability: table has %x, definition gives %x", tailProbability, got)
	}
	for i := range x {
		if want := round(x[i]); zigguratX[i] != want {
			t.Errorf("x[%d]: table has %x, definition gives %x", i, zigguratX[i], want)
		}
		if want := round(f[i]); zigguratF[i] != want {
			t.Errorf("f[%d]: table has %x, definition gives %x", i, zigguratF[i], want)
		}
	}
}

func writeZiggurat(t *testing.T, x, f [257]*big.Float, tail float64) {
	var b bytes.Buffer
	fmt.Fprintf(&b, zigguratHead, tail)
	table := func(v [257]*big.Float) {
		for i, w := range v {
			r, _ := w.Float64()
			if i%4 == 0 {
				b.WriteString("\t")
			}
			fmt.Fprintf(&b, "%x,", r)
			if i%4 == 3 || i == 256 {
				b.WriteString("\n")
			} else {
				b.WriteString(" ")
			}
		}
	}
	table(x)
	b.WriteString("}\n\n// zigguratF are the heights exp(−x²/2) at zigguratX.\nvar zigguratF = [257]float64{\n")
	table(f)
	b.WriteString("}\n")
	if err := os.WriteFile("ziggurat_table.go", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Log("ziggurat_table.go is written; run the tests again")
}

const zigguratHead = `package keystream

// The ziggurat's tables: 256 layers of equal area under exp(−x²/2), computed with
// 256 bits and rounded to float64 (docs/keystream.md says how). The test
// TestZigguratTable computes them anew, and with -update writes this file.

// tailProbability is 1 − Φ(x₁): what lies beyond the ziggurat's base, on one side.
const tailProbability = %x

// zigguratX are the layers' right edges: x₀ the width of the base layer as if its
// tail were part of its rectangle, x₁ where the tail begins, x₂₅₆ = 0.
var zigguratX = [257]float64{
`

// TestZigguratInside: the fast path of a layer accepts only points of the rectangle under the
// curve, up to the last unit of j.
func TestZigguratInside(t *testing.T) {
	for i, l := range layers {
		if l.inside > 1<<53 {
			t.Errorf("layer %d: inside %d beyond the range of j", i, l.inside)
		}
		if l.scale != math.Ldexp(zigguratX[i], -53) {
			t.Errorf("layer %d: scale %x is not x/2^53", i, l.scale)
		}
		// inside is x[i+1]/x[i]·2⁵³, rounded to a float64 and truncated to an integer.
		want := new(big.Float).SetPrec(256).Quo(bigF(256, zigguratX[i+1]), bigF(256, zigguratX[i]))
		want.SetMantExp(want, 53)
		d := new(big.Float).Sub(want, new(big.Float).SetUint64(l.inside))
		if off, _ := d.Float64(); off < -1 || off > 2 {
			t.Errorf("layer %d: inside is %d, %g off", i, l.inside, off)
		}
	}
}
