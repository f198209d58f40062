package category

import (
	"math/big"
	"strings"
	"unicode"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// The form like: a permutation of all texts that have the shape of the value. Numbers, as integer columns hold them and
// as they are written without leading zeros, are permuted among those of as many digits, and below a million all
// together; in a text of another shape each digit becomes a digit, each letter from a to z and from A to Z one of its
// case, and all else stays. A value of one shape never becomes one of another.

// noShape is why a text has no pseudonym of form like.
const (
	tooShort = "has too few letters and digits for a pseudonym of form like: fewer than a million values have its shape"
	foreign  = "has letters or digits for which there is no pseudonym of form like: those from a to z, A to Z and 0 to 9 have one"
)

// Like returns the pseudonym of a text; the reason says why it has none.
func (p *pseudonyms) Like(text string) (pseudonym, reason string) {
	digits, negative := strings.CutPrefix(text, "-")
	if isWhole(digits) && text != "-0" {
		return p.likeWhole(digits, negative), ""
	}
	return p.likeShape(text)
}

// isWhole reports whether a text is a whole number as integers are written.
func isWhole(text string) bool {
	return text == "0" || core.AllDigits(text) && text[0] != '0'
}

// classBounds are the least numbers of the classes of whole numbers: the powers of ten from 10^6 on, and the bounds of
// the types of integers and of float64, so that a pseudonym is of the type that holds the value, whatever the type of
// the column.
var classBounds = func() (list []*big.Int) {
	for _, text := range strings.Fields(
		"0 1000000 10000000 100000000 1000000000 2147483648 4294967296 10000000000 100000000000 1000000000000 " +
			"10000000000000 100000000000000 1000000000000000 9007199254740992 10000000000000000 100000000000000000 1000000000000000000 " +
			"9223372036854775808 10000000000000000000 18446744073709551616") {
		x, _ := new(big.Int).SetString(text, 10)
		list = append(list, x)
	}
	return list
}()

// classOf returns the least number of the class of a whole number, and the least that is above it.
func classOf(x *big.Int) (from, to *big.Int) {
	for i, bound := range classBounds[1:] {
		if x.Cmp(bound) < 0 {
			return classBounds[i], bound
		}
	}
	from = classBounds[len(classBounds)-1]
	for to = new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil); x.Cmp(to) >= 0; to = new(big.Int).Mul(to,
		big.NewInt(10)) {
		from = to
	}
	return from, to
}

// likeWhole is like of a whole number. Those below 0 are counted from −1 on: then the least number of a type has the
// class of the type, too.
func (p *pseudonyms) likeWhole(digits string, negative bool) string {
	x, _ := new(big.Int).SetString(digits, 10)
	sign, first := "", big.NewInt(0)
	if negative {
		sign, first = "-", big.NewInt(1)
	}
	x.Sub(x, first)
	from, to := classOf(x)
	y := p.permute.Of(x.Sub(x, from), new(big.Int).Sub(to, from), []byte(sign+"whole "+from.String()))
	return sign + y.Add(y.Add(y, from), first).String()
}

// likeShape is like of any other text. The first digit of a number with leading zeros stays 0.
func (p *pseudonyms) likeShape(text string) (pseudonym, reason string) {
	const lower, upper, decimal = 'a', 'A', '0'
	fixed := -1
	if core.AllDigits(strings.TrimPrefix(text, "-")) {
		fixed = strings.IndexByte(text, '0')
	}
	shape := []rune(text)
	x, n := new(big.Int), big.NewInt(1)
	radix := func(i int) (first rune, size int64) {
		switch r := shape[i]; {
		case i == fixed:
		case r >= '0' && r <= '9':
			return decimal, 10
		case r >= 'a' && r <= 'z':
			return lower, 26
		case r >= 'A' && r <= 'Z':
			return upper, 26
		}
		return 0, 1
	}
	kinds := make([]rune, len(shape)) // what stays of the text
	for i, r := range shape {
		first, size := radix(i)
		if kinds[i] = r; size > 1 {
			kinds[i] = first
			x.Add(x.Mul(x, big.NewInt(size)), big.NewInt(int64(r-first)))
			n.Mul(n, big.NewInt(size))
		} else if unicode.IsLetter(r) || unicode.IsDigit(r) && i != fixed || r == unicode.ReplacementChar {
			return "", foreign
		}
	}
	if n.Cmp(big.NewInt(keystream.LeastDomain)) < 0 {
		return "", tooShort
	}
	y := p.permute.Of(x, n, []byte("shape "+string(kinds)))
	rest := new(big.Int)
	for i := len(shape) - 1; i >= 0; i-- {
		if first, size := radix(i); size > 1 {
			y.DivMod(y, big.NewInt(size), rest)
			shape[i] = first + rune(rest.Int64())
		}
	}
	return string(shape), ""
}
