package exchange

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// The masks are matrix masks M = AXB + C (Duncan and Keller-McNulty 2000, section 2.2). X is 6 × 3:
// two protected variables, and the variable that distinguishes the two areas of a swap; keys are
// equal throughout. The matrices are built here from the draws of the keystream, and M from the
// matrices.
func TestMatrixForm(t *testing.T) {
	const n = 6
	x := [3][]float64{{15, 20, 25, 30, 45, 60}, {1, 2, 3, 4, 5, 6}, {11, 11, 11, 12, 12, 12}}
	columns := []testColumn{floats(9, x[0]...), floats(9, x[1]...), floats(0, x[2]...), floats(0, make([]float64, n)...)}
	setup := testSetup(t, columns...)
	setup.Key = testKey(t, 5)
	X := mat.NewDense(n, 2, nil)
	for j := range 2 {
		X.SetCol(j, x[j])
	}
	released := func(masks ...core.Spec) *mat.Dense {
		b := apply(t, chain(t, setup, masks...), block(0, n, columns...))
		M := mat.NewDense(n, 2, nil)
		for j := range 2 {
			M.SetCol(j, b.Columns[j].Out().Values)
		}
		return M
	}
	normals := func(label, done string, j int, M mat.Matrix) []float64 {
		z := make([]float64, n)
		name := keystream.Name{Mask: label, Done: done, Column: []string{"a", "b"}[j]}
		setup.Key.Release(name).Normals(z, keystream.Records{Values: mat.Col(nil, j, M)})
		return z
	}
	// Released values are multiples of 1e-9. Each entry may differ by half of that for the noise
	// and, through θ, for the product.
	const tolerance = 1.1e-9
	var C, M mat.Dense

	// Noise: A = I, B = I, C = E with columns λε. The name of a stream contains what was done to
	// the column; normal draws are distribution 0.
	const lambda, phi = 7.5, 0.1
	noises := func(before string, X mat.Matrix) {
		E := mat.NewDense(n, 2, nil)
		for j := range 2 {
			E.SetCol(j, normals("noise#1", before+core.Part("noise", 0, lambda, 1e9, 0), j, X))
		}
		C.Scale(lambda, E)
	}
	noises("", X)
	M.Add(X, &C)
	noise := mask(&record.Noise{Columns: []string{"a", "b"}, SD: amount(lambda)})
	if got := released(noise); !mat.EqualApprox(got, &M, tolerance) {
		t.Errorf("noise: got\n%v\nwant X + C\n%v", mat.Formatted(got), mat.Formatted(&M))
	}

	// Bias: θ differs by record and column, so each column j has A_j = diag(θ_·j), and M is the sum
	// over j of A_j X B_j, where B_j selects column j.
	bias := mask(&record.Bias{Columns: []string{"a", "b"}, Phi: ptr(phi)})
	M.Zero()
	for j := range 2 {
		A := mat.NewDiagDense(n, nil)
		for i, z := range normals("bias#1", core.Part("bias", phi, 1e9), j, X) {
			A.SetDiag(i, 1+phi*z)
		}
		B := mat.NewDiagDense(2, nil)
		B.SetDiag(j, 1)
		var AX, AXB mat.Dense
		AX.Mul(A, X)
		AXB.Mul(&AX, B)
		M.Add(&M, &AXB)
	}
	if got := released(bias); !mat.EqualApprox(got, &M, tolerance) {
		t.Errorf("bias: got\n%v\nwant ΣA_j X B_j\n%v", mat.Formatted(got), mat.Formatted(&M))
	}

	// Bias then noise (Trottini et al. 2004, eq. 2): the sum of the two.
	noises(core.Part("bias", phi, 1e9)+"by 6:bias#1;", released(bias))
	M.Add(&M, &C)
	if got := released(bias, noise); !mat.EqualApprox(got, &M, 2*tolerance) {
		t.Errorf("bias and noise: got\n%v\nwant ΣA_j X B_j + C\n%v", mat.Formatted(got), mat.Formatted(&M))
	}

	// Swap: A = Π W(i_k, j_k)^δ_k, where W(i, j) is the identity with rows i and j exchanged.
	// Policy random over three records in each of two areas forms pairs of all of them.
	s := &Swap{Keys: []string{"d"}, Attribute: "c", Columns: []string{"a", "b"}, Rate: ptr(0.5), Policy: "random"}
	exchanges := func(before ...core.Spec) *mat.Dense {
		c := chain(t, setup, append(before, mask(s))...)
		step := c.Steps[len(before)].(*windowSwap)
		b := block(0, n, columns...)
		if len(before) > 0 {
			b = apply(t, chain(t, setup, before...), b)
		}
		w := core.Work{Streams: c.StreamsOf(""), Leaves: true}
		sw := swapScratchOf(&w)
		if err := sw.grouping.Find(b, step.keys, 0, n); err != nil {
			t.Fatal(err)
		}
		step.words(c, &w, b, 0, n)
		step.Rate = 1 // all K pairs, the exchanged ones and the others
		all := sw.matcher.Match(nil, step.Policy, sw.grouping.Group, sw.grouping.Combo, &sw.Words, 0)
		if len(all) != 3 {
			t.Fatalf("%d pairs, want 3", len(all))
		}
		step.Rate = 0.5
		A := mat.DenseCopyOf(mat.NewDiagDense(n, []float64{1, 1, 1, 1, 1, 1}))
		exchanged := 0
		for _, p := range all {
			// δ_k is the coin of the candidate, which is the first of the pair.
			if step.Heads(sw.Coin[p.I]) {
				A.Mul(exchangeMatrix(n, p), mat.DenseCopyOf(A))
				exchanged++
			}
		}
		if exchanged == 0 || exchanged == 3 {
			t.Fatalf("%d of 3 pairs are exchanged: choose a key that shows both", exchanged)
		}
		return A
	}
	M.Mul(exchanges(), X)
	if got := released(mask(s)); !mat.Equal(got, &M) {
		t.Errorf("swap: got\n%v\nwant AX\n%v", mat.Formatted(got), mat.Formatted(&M))
	}

	// All together: M = A(ΣA_j X B_j + C).
	M.Mul(exchanges(bias, noise), released(bias, noise))
	if got := released(bias, noise, mask(s)); !mat.Equal(got, &M) {
		t.Errorf("all: got\n%v\nwant\n%v", mat.Formatted(got), mat.Formatted(&M))
	}
}

// exchangeMatrix is W(i, j).
func exchangeMatrix(n int, p coding.Pair) *mat.Dense {
	W := mat.NewDense(n, n, nil)
	for k := range n {
		W.Set(k, k, 1)
	}
	i, j := int(p.I), int(p.J)
	W.Set(i, i, 0)
	W.Set(j, j, 0)
	W.Set(i, j, 1)
	W.Set(j, i, 1)
	return W
}
