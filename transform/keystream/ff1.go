package keystream

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/big"
)

const labelPermutation = "sdlfilter/permutation/1"

// LeastDomain is the least number of values that Permutation.Of permutes: NIST SP 800-38G Revision 1 requires it of
// FF1, since a smaller domain can be searched.
const LeastDomain = 1_000_000

// Permutation is a keyed permutation of the numbers below a bound: FF1 of NIST SP 800-38G under AES-256, on binary
// numerals, walked until the result is below the bound (Black and Rogaway 2002), which takes less than two steps on
// average. It is safe for concurrent use.
type Permutation struct{ ff1 ff1 }

// Permutation returns the permutations under a label, which names their purpose.
func (k Key) Permutation(label string) *Permutation {
	info := binary.BigEndian.AppendUint64([]byte(labelPermutation), uint64(len(label)))
	return &Permutation{newFF1(k.derive(string(append(info, label...)), keySize))}
}

// Of returns what the permutation of the numbers below n that the tweak names makes of x, 0 ≤ x < n. It panics if n is
// less than LeastDomain, or x is not one of them.
func (p *Permutation) Of(x, n *big.Int, tweak []byte) *big.Int {
	if n.Cmp(big.NewInt(LeastDomain)) < 0 || x.Sign() < 0 || x.Cmp(n) >= 0 {
		panic("keystream: a permutation needs a million numbers or more, and one of them")
	}
	digits := new(big.Int).Sub(n, big.NewInt(1)).BitLen()
	for y := x; ; {
		if y = p.ff1.encrypt(y, 2, digits, tweak); y.Cmp(n) < 0 {
			return y
		}
	}
}

// String hides the subkey.
func (p *Permutation) String() string { return redacted }

// GoString hides the subkey.
func (p *Permutation) GoString() string { return redacted }

// ff1 is FF1 of NIST SP 800-38G, algorithm 7, on numerals that are given as one number.
type ff1 struct{ block cipher.Block }

func newFF1(key []byte) ff1 {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("keystream: " + err.Error()) // only another length than 16, 24 or 32 is refused
	}
	return ff1{block}
}

// encrypt returns the number whose numeral of n digits FF1 makes of that of x.
func (f ff1) encrypt(x *big.Int, radix, n int, tweak []byte) *big.Int {
	u := n / 2
	v := n - u
	power := func(m int) *big.Int { return new(big.Int).Exp(big.NewInt(int64(radix)), big.NewInt(int64(m)), nil) }
	modulus := [2]*big.Int{power(u), power(v)}
	a, b := new(big.Int).DivMod(x, modulus[1], new(big.Int))
	width := (new(big.Int).Sub(modulus[1], big.NewInt(1)).BitLen() + 7) / 8 // b of the standard: bytes of a half
	d := 4*((width+3)/4) + 4

	p := [aes.BlockSize]byte{1, 2, 1, byte(radix >> 16), byte(radix >> 8), byte(radix), 10, byte(u)}
	binary.BigEndian.PutUint32(p[8:], uint32(n))
	binary.BigEndian.PutUint32(p[12:], uint32(len(tweak)))
	pad := (aes.BlockSize - (len(tweak)+width+1)%aes.BlockSize) % aes.BlockSize
	q := make([]byte, len(tweak)+pad+1+width)
	copy(q, tweak)
	s := make([]byte, 0, d+aes.BlockSize)
	for i := range 10 {
		q[len(tweak)+pad] = byte(i)
		b.FillBytes(q[len(q)-width:])
		r := p
		f.block.Encrypt(r[:], r[:])
		for at := 0; at < len(q); at += aes.BlockSize {
			for k := range r {
				r[k] ^= q[at+k]
			}
			f.block.Encrypt(r[:], r[:])
		}
		s = append(s[:0], r[:]...)
		for j := uint64(1); len(s) < d; j++ {
			next := r
			binary.BigEndian.PutUint64(next[8:], binary.BigEndian.Uint64(next[8:])^j)
			f.block.Encrypt(next[:], next[:])
			s = append(s, next[:]...)
		}
		c := new(big.Int).SetBytes(s[:d])
		c.Mod(c.Add(c, a), modulus[i%2])
		a, b = b, c
	}
	return a.Add(a.Mul(a, modulus[1]), b)
}
