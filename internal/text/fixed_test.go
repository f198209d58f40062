package text

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// scaled is AppendScaled, based on the digits of strconv.
func scaled(k int64, decimals int, pad bool) []byte {
	digits := strconv.FormatInt(k, 10)
	sign := ""
	if k < 0 {
		sign, digits = "-", digits[1:]
	}
	for len(digits) <= decimals {
		digits = "0" + digits
	}
	whole, part := digits[:len(digits)-decimals], digits[len(digits)-decimals:]
	for !pad && part != "" && part[len(part)-1] == '0' {
		part = part[:len(part)-1]
	}
	if part != "" {
		whole += "." + part
	}
	return []byte(sign + whole)
}

func checkScaled(t *testing.T, k int64, decimals int, pad bool) {
	t.Helper()
	want := scaled(k, decimals, pad)
	for _, room := range []int{0, 3, 64} { // anything written after the number stays within the memory
		dst := append(make([]byte, 0, 2+room), "<>"...)
		got := AppendScaled(dst, k, decimals, pad)
		if !bytes.Equal(got[:2], []byte("<>")) || !bytes.Equal(got[2:], want) {
			t.Fatalf("%d with %d decimals, padded %v: %q, want %q", k, decimals, pad, got[2:], want)
		}
	}
}

// Numbers are written with the digits of strconv: all numbers of up to four digits, those next to
// each power of ten, and others of every size.
func TestScaledDigits(t *testing.T) {
	var numbers []int64
	for k := range int64(10_000) {
		numbers = append(numbers, k)
	}
	for k := int64(1); k < math.MaxInt64/10; k *= 10 {
		numbers = append(numbers, k-1, k, k+1, 5*k, 9*k)
	}
	rng := rand.New(rand.NewPCG(3, 30))
	for range 20_000 {
		numbers = append(numbers, rng.Int64()>>rng.IntN(63), 100*rng.Int64N(1_000_000))
	}
	numbers = append(numbers, math.MaxInt64)
	for i, k := range numbers {
		for d := range 9 {
			checkScaled(t, k, d, i%2 == 0)
			checkScaled(t, -k, d, i%2 == 1)
		}
	}
}

// Every eight digits are those of the number.
func TestEightDigits(t *testing.T) {
	for u := uint64(0); u < 1e8; u += 1 + u%7 {
		x, rest := digitsOf(u), u
		if eightDigits(x) != u {
			t.Fatalf("%d: read back as %d", u, eightDigits(x))
		}
		for i := 7; i >= 0; i-- {
			if x>>(8*i)&0xff != rest%10 {
				t.Fatalf("%d: %x", u, x)
			}
			rest /= 10
		}
	}
}

// FuzzAppendFixed: the written text is read back as the same number, bit by bit, and has no more
// than the requested decimals if the number has at most so many.
func FuzzAppendFixed(f *testing.F) {
	for _, x := range []float64{0, math.Copysign(0, -1), 0.1, -0.05, 999999.99, 1e6, 99999999, 1e8, 1e15, 1e22, 5e-324,
		math.NaN(), math.Inf(1)} {
		f.Add(x, 2, true)
		f.Add(x, 7, false)
	}
	f.Fuzz(func(t *testing.T, x float64, decimals int, pad bool) {
		decimals %= 24
		got := AppendFixed(nil, x, decimals, pad)
		back, err := strconv.ParseFloat(string(got), 64)
		if err != nil || back != x && x == x { // -0 may be written as 0
			t.Fatalf("%v: %q", x, got)
		}
		if decimals < 0 || math.Abs(x) >= 1e15 {
			return
		}
		short := strconv.FormatFloat(x, 'f', decimals, 64)
		if y, _ := strconv.ParseFloat(short, 64); y == x && x != 0 && decimals < 16 &&
			math.Abs(x)*math.Pow(10, float64(decimals)) < 1<<52 {
			if point := bytes.IndexByte(got, '.'); point >= 0 && len(got)-point-1 > decimals {
				t.Fatalf("%v with %d decimals: %q", x, decimals, got)
			}
		}
	})
}
