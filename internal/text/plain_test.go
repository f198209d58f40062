package text

import (
	"bytes"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
)

// plainNumber matches plain numbers: at most 15 bytes after the sign.
var plainNumber = regexp.MustCompile(`^-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)$`)

// lone returns p as the only field of a text, surrounded by other digits and points.
func lone(p []byte) *Fields {
	data := append([]byte("9.9.9.9.9,"), p...)
	end := uint32(len(data))
	return &Fields{Text: append(data, ",9.9.9.9.9"...), Starts: []uint32{9}, Skip: 1, Ends: []uint32{end}}
}

// checkPlain compares the quick classification of a field with KindOf and strconv, and reports
// whether there was one.
func checkPlain(t *testing.T, p []byte) bool {
	t.Helper()
	f := lone(p)
	known := len(bytes.TrimPrefix(p, []byte("-"))) <= longestPlain && plainNumber.Match(p)
	kinds, next := f.PlainKinds(0, 1)
	if string(p) == "-0" {
		known = false
	}
	switch {
	case known != (next == 1) && len(p) <= longestPlain: // with a sign it may be one byte short
		t.Fatalf("%q: known %v, want %v", p, next == 1, known)
	case next == 1 && kinds != KindOf(p):
		t.Fatalf("%q: kinds %b, want %b", p, kinds, KindOf(p))
	case next == 0 && kinds != 0:
		t.Fatalf("%q: kinds %b of no field", p, kinds)
	}
	values := []float64{-1}
	if f.PlainFloats(values, 0, false) == 1 {
		want, err := strconv.ParseFloat(string(p), 64)
		if err != nil || math.Float64bits(want) != math.Float64bits(values[0]) {
			t.Fatalf("%q: %v, want %v", p, values[0], want)
		}
		if got, ok := ParseFloat(p); !ok || math.Float64bits(got) != math.Float64bits(values[0]) {
			t.Fatalf("%q: %v, ParseFloat gives %v", p, values[0], got)
		}
	} else if next == 1 {
		t.Fatalf("%q: has a kind and no value", p)
	}
	values[0] = -1
	if f.PlainFloats(values, 0, true) == 1 {
		want, err := strconv.ParseInt(string(p), 10, 64)
		if err != nil || math.Float64bits(float64(want)) != math.Float64bits(values[0]) {
			t.Fatalf("%q: whole %v, want %v", p, values[0], want)
		}
	} else if next == 1 && kinds == SeenInteger {
		t.Fatalf("%q: is an integer and has no value", p)
	}
	return next == 1
}

// The quick classification of numbers equals that of KindOf and strconv: for all texts of up to
// five of the relevant characters, and for longer ones.
func TestPlainNumbers(t *testing.T) {
	alphabet := []byte("0179.-/:e,+\x00\x0f\xae\xb0")
	classified := 0
	var all func(p []byte, n int)
	all = func(p []byte, n int) {
		if checkPlain(t, p) {
			classified++
		}
		if n > 0 {
			for _, c := range alphabet {
				all(append(p, c), n-1)
			}
		}
	}
	all(make([]byte, 0, 8), 5)
	rng := rand.New(rand.NewPCG(8, 17))
	for range 400_000 {
		p := make([]byte, 6+rng.IntN(12))
		for i := range p {
			p[i] = alphabet[rng.IntN(3+rng.IntN(len(alphabet)-2))]
		}
		if rng.IntN(2) == 0 {
			p[rng.IntN(len(p))] = '.'
		}
		if rng.IntN(4) == 0 {
			p[0] = '-'
		}
		if checkPlain(t, p) {
			classified++
		}
	}
	for range 400_000 { // numbers of every size and with every number of decimals
		x := rng.NormFloat64() * math.Pow(10, float64(rng.IntN(15)))
		if checkPlain(t, strconv.AppendFloat(nil, x, 'f', rng.IntN(8), 64)) {
			classified++
		}
	}
	if classified < 250_000 {
		t.Errorf("only %d were known", classified)
	}
}

// A field near either end of its text, or that ends before it begins, is left to the general code.
func TestPlainNumbersAtTheEnds(t *testing.T) {
	text := []byte("1.5,2.5")
	f := &Fields{Text: text, Starts: []uint32{0}, Ends: []uint32{3, 7}, StartStep: 1, EndStep: 2}
	for n := range text {
		f.Text = text[:n+1]
		f.Ends = []uint32{uint32(n + 1)}
		if k, next := f.PlainKinds(0, 1); next == 1 && k != KindOf(f.Text) {
			t.Errorf("%q: %b", f.Text, k)
		}
	}
	f = &Fields{Text: bytes.Repeat([]byte("1"), 64), Starts: []uint32{9}, Skip: 1, Ends: []uint32{9}, StartStep: 1,
		EndStep: 1}
	if _, next := f.PlainKinds(0, 1); next != 0 {
		t.Error("a field of a malformed record has a kind")
	}
	if f.PlainFloats(make([]float64, 1), 0, false) != 0 {
		t.Error("a field of a malformed record has a value")
	}
}

// FuzzPlainNumbers: numbers read quickly equal those of strconv.
func FuzzPlainNumbers(f *testing.F) {
	for _, s := range []string{"0", "-0", "1e5", "+1", ".5", "5.", "0x1", "1_000", "007", "0.5", "-.5", "123456789012345",
		"9007199254740993", "4.9e-324", "nan", "12345678.1234", "1234.56789012"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) { checkPlain(t, p) })
}
