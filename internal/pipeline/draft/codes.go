package draft

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// usualTexts are the usual codes for missing values in columns of text, in lower case.
var usualTexts = []string{"na", "n/a", "#n/a", "nan", "null", "none", "nil", ".", "..", "-", "?", "missing", "unknown",
	"refused", "refusal", "dk", "don't know", "dont know",
	"not stated", "not available", "not applicable", "no answer", "k.a.", "k. a.", "keine angabe", "weiss nicht",
	"weiß nicht", "verweigert", "inconnu", "sans réponse"}

// usualCode reports whether a number is one of the usual codes for missing values: −1 to −9, and numbers of nines,
// eights or sevens, or of nines with a last digit from 6 on, such as 97, 998, −99 or 9999999. They are conventions and
// no respondent's values, so that a draft may have them.
func usualCode(x float64) bool {
	if x != math.Trunc(x) || x == 0 || math.Abs(x) >= 1e12 {
		return false
	}
	digits := strconv.FormatFloat(math.Abs(x), 'f', 0, 64)
	if len(digits) == 1 {
		return x < 0 || x >= 7
	}
	all := func(d byte) bool { return strings.Trim(digits, string(d)) == "" }
	return all('9') || all('8') || all('7') || strings.Trim(digits[:len(digits)-1], "9") == "" &&
		digits[len(digits)-1] >= '6'
}

// How often a code must occur. A value that is not far from the others must occur far more often than its neighbours.
const (
	fewestCodes  = 3
	leastShare   = 0.001
	besideShare  = 4  // times as often as its neighbours beyond the end of the other values
	amidShare    = 10 // times as often as its neighbours among the others
	fewestAmid   = 20
	neighbours   = 5
	farFromOther = 0.5 // of the range of the other values
	farSteps     = 5   // times as far as any two neighbours among the nearest of them are apart
	fewDigits    = 4   // the least distance of codes of one digit
)

// valueCount is a value of a column and how often it occurs.
type valueCount struct {
	value float64
	n     int
}

// findCodes finds the values of a numeric column that look like codes for missing values: usual ones that lie far from
// the others, or occur far more often than those near them.
func findCodes(counts map[float64]int) (codes []valueCount) {
	total := 0
	all := make([]valueCount, 0, len(counts))
	for v, n := range counts {
		all = append(all, valueCount{v, n})
		total += n
	}
	slices.SortFunc(all, func(a, b valueCount) int {
		if a.value < b.value {
			return -1
		}
		return 1
	})
	some := func(c valueCount) bool {
		return usualCode(c.value) && c.n >= fewestCodes && float64(c.n) >= leastShare*float64(total)
	}
	// The codes at either end: the longest run of them that is far from the other values, or stands out.
	from, to := 0, len(all)
	for from < to && some(all[from]) && all[from].value < 0 {
		from++
	}
	for from > 0 && !stands(all[:from], all[from:to], true) {
		from--
	}
	for to > from && some(all[to-1]) && all[to-1].value > 0 {
		to--
	}
	for to < len(all) && !stands(all[to:], all[from:to], false) {
		to++
	}
	codes = append(codes, all[:from]...)
	rest := all[from:to]
	for i, c := range rest {
		if !some(c) || c.n < fewestAmid {
			continue
		}
		near := 0
		for _, o := range slices.Concat(rest[max(0, i-neighbours):i], rest[i+1:min(len(rest), i+1+neighbours)]) {
			near = max(near, o.n)
		}
		if c.n >= amidShare*near && len(rest) > 2*neighbours {
			codes = append(codes, c)
		}
	}
	return append(codes, all[to:]...)
}

// stands reports whether codes at one end of a column's values stand apart from the others.
func stands(codes, others []valueCount, below bool) bool {
	if len(others) == 0 {
		return false
	}
	low, high := others[0].value, others[len(others)-1].value
	gap, beside := codes[0].value-high, others[max(0, len(others)-neighbours):]
	if below {
		gap, beside = low-codes[len(codes)-1].value, others[:min(neighbours, len(others))]
	}
	near := 0
	for _, o := range beside {
		near += o.n
	}
	least := 3.0
	if math.Abs(codes[0].value) < 10 && codes[0].value > 0 {
		least = fewDigits
	}
	often := true
	for _, c := range codes {
		often = often && float64(c.n) >= besideShare*float64(near)/float64(len(beside))
	}
	switch {
	case below && low < 0: // the others are below 0 too
		return often && gap > farFromOther*(high-low)
	case gap >= least && (gap > farFromOther*(high-low) || gap >= farSteps*step(others, below)):
		return true
	case below:
		return often || gap >= 3
	}
	return often && (gap > 1 || len(others) > 2*neighbours)
}

// step returns the greatest distance of two neighbours among the twenty values at an end.
func step(others []valueCount, below bool) (most float64) {
	const some = 20
	if len(others) > some {
		if below {
			others = others[:some]
		} else {
			others = others[len(others)-some:]
		}
	}
	for i := 1; i < len(others); i++ {
		most = max(most, others[i].value-others[i-1].value)
	}
	if most == 0 {
		return math.Inf(1)
	}
	return most
}

// setCodes notes the codes of a column, and describes the column without them.
func (c *Column) setCodes(numbers map[float64]int, texts map[string]int) {
	if c.Field.Numeric() && !c.Capped {
		codes := findCodes(numbers)
		for _, code := range codes {
			c.Codes = append(c.Codes, strconv.FormatFloat(code.value, 'f', -1, 64))
			c.Coded += code.n
			c.sum -= code.value * float64(code.n)
			c.squares -= code.value * code.value * float64(code.n)
			delete(numbers, code.value)
		}
		if len(codes) > 0 {
			c.least, c.most, c.Negative = math.Inf(1), math.Inf(-1), false
			for v := range numbers {
				c.least, c.most, c.Negative = min(c.least, v), max(c.most, v), c.Negative || v < 0
			}
			c.left = c.Coded
			c.Values, c.Distinct = c.Values-c.Coded, c.Distinct-len(codes)
		}
		return
	}
	for _, text := range slices.Sorted(func(yield func(string) bool) {
		for t := range texts {
			if !yield(t) {
				return
			}
		}
	}) {
		if n := texts[text]; n < c.Values && c.Distinct > 1 {
			c.Codes, c.Coded = append(c.Codes, text), c.Coded+n
		}
	}
}

// declared returns the codes as a configuration declares them; "" if there are none.
func (c *Column) declared() string {
	if len(c.Codes) == 0 {
		return ""
	}
	list := make([]string, len(c.Codes))
	for i, code := range c.Codes {
		if list[i] = code; !c.Field.Numeric() {
			list[i] = fmt.Sprintf("%q", code)
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// Proposal is a sentence about the codes of a column; "" if it has none.
func (c *Column) Proposal() string {
	if len(c.Codes) == 0 {
		return ""
	}
	are := "looks like a code for missing values"
	if len(c.Codes) > 1 {
		are = "look like codes for missing values"
	}
	return fmt.Sprintf("%s %s (%d records): missing: %s", strings.Join(c.Codes, ", "), are, c.Coded, c.declared())
}
