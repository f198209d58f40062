package keystream

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The nine samples for FF1 that NIST publishes with SP 800-38G (FF1samples.pdf).
func TestFF1AgainstTheSamplesOfNIST(t *testing.T) {
	const k128, k192, k256 = "2B7E151628AED2A6ABF7158809CF4F3C", "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F",
		"2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94"
	const digits, letters, ten, eleven = "0123456789", "0123456789abcdefghi", "39383736353433323130",
		"3737373770717273373737"
	for i, c := range []struct {
		key, tweak string
		radix      int
		from, to   string
	}{
		{k128, "", 10, digits, "2433477484"}, {k128, ten, 10, digits, "6124200773"},
		{k128, eleven, 36, letters, "a9tv40mll9kdu509eum"},
		{k192, "", 10, digits, "2830668132"}, {k192, ten, 10, digits, "2496655549"},
		{k192, eleven, 36, letters, "xbj3kv35jrawxv32ysr"},
		{k256, "", 10, digits, "6657667009"}, {k256, ten, 10, digits, "1001623463"},
		{k256, eleven, 36, letters, "xs8a0azh2avyalyzuwd"},
	} {
		key, _ := hex.DecodeString(c.key)
		tweak, _ := hex.DecodeString(c.tweak)
		x, _ := new(big.Int).SetString(c.from, c.radix)
		if got := newFF1(key).encrypt(x, c.radix, len(c.from), tweak).Text(c.radix); fmt.Sprintf("%0*s", len(c.from),
			got) != c.to {
			t.Errorf("sample %d: %s, want %s", i+1, got, c.to)
		}
	}
}

// A permutation of a million numbers gives each of them once, and other ones under another tweak, label and key. The
// short form takes 20,000 of them: of a function that is no permutation, 200 pairs would be expected to meet (n²/2N).
func TestPermutationIsOne(t *testing.T) {
	n, k := big.NewInt(LeastDomain+3), permutationKey(t, 1) // no power of two, so it walks
	p, of := k.Permutation("a"), 20_000
	if !testing.Short() {
		of = LeastDomain + 3
	}
	seen, moved := make([]bool, LeastDomain+3), 0
	for i := range of {
		y := p.Of(big.NewInt(int64(i)), n, []byte("x")).Int64()
		if y < 0 || y >= LeastDomain+3 || seen[y] {
			t.Fatalf("%d is given twice, or is beyond", y)
		}
		seen[y] = true
		if y != int64(i) {
			moved++
		}
	}
	if moved < of-20 { // one stays on average, Poisson
		t.Errorf("%d of %d stay", of-moved, of)
	}
	one := big.NewInt(5)
	for what, other := range map[string]*big.Int{"tweak": p.Of(one, n, []byte("y")),
		"label": k.Permutation("b").Of(one, n, []byte("x")),
		"key":   permutationKey(t, 2).Permutation("a").Of(one, n, []byte("x"))} {
		if other.Cmp(p.Of(one, n, []byte("x"))) == 0 {
			t.Errorf("another %s gives the same", what)
		}
	}
}

// The values of a permutation are uniform, also above 64 bits: χ² with 99 degrees of freedom is beyond 160 less than
// once in 10,000 seeds, and this one is fixed.
func TestPermutationIsUniform(t *testing.T) {
	for _, n := range []*big.Int{big.NewInt(9_000_000), new(big.Int).Exp(big.NewInt(26), big.NewInt(20), nil)} {
		p, r := permutationKey(t, 3).Permutation("u"), rand.New(rand.NewPCG(4, 4))
		counts := make([]float64, 100)
		for range 5000 {
			y := p.Of(big.NewInt(r.Int64N(9_000_000)), n, nil)
			counts[y.Mul(y, big.NewInt(100)).Div(y, n).Int64()]++
		}
		chi := 0.0
		for _, c := range counts {
			chi += (c - 50) * (c - 50) / 50
		}
		if chi > 160 || chi < 50 {
			t.Errorf("below %v: χ² = %v", n, chi)
		}
	}
}

func TestPermutationRefusesSmallDomains(t *testing.T) {
	for _, c := range [][2]int64{{0, LeastDomain - 1}, {-1, LeastDomain}, {LeastDomain, LeastDomain}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d of %d is permuted", c[0], c[1])
				}
			}()
			permutationKey(t, 1).Permutation("a").Of(big.NewInt(c[0]), big.NewInt(c[1]), nil)
		}()
	}
}

func permutationKey(t *testing.T, seed byte) Key {
	t.Helper()
	secret := make([]byte, keySize)
	for i := range secret {
		secret[i] = seed + byte(7*i)
	}
	k, err := NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
