package keystream

import "math"

// NormalsOfWords writes the standard normal draw of each word, NormalQuantile of (w + ½)/2⁵² with the first 52 bits w,
// with the same bits: the quotient for the middle of the distribution first, for all of them without a branch, and then
// those in its tails.
func NormalsOfWords(to []float64, words []uint64) {
	const batch = 256
	var tails [batch]uint8
	num, den := &central.num, &central.den
	for len(words) > 0 {
		n := min(len(words), batch)
		y := to[:n]
		found := 0
		for i, word := range words[:n] {
			q := openUnit(word) - 0.5
			r := 0.180625 - float64(q*q)
			a, b := float64(num[7]*r)+num[6], float64(den[7]*r)+den[6]
			a, b = float64(a*r)+num[5], float64(b*r)+den[5]
			a, b = float64(a*r)+num[4], float64(b*r)+den[4]
			a, b = float64(a*r)+num[3], float64(b*r)+den[3]
			a, b = float64(a*r)+num[2], float64(b*r)+den[2]
			a, b = float64(a*r)+num[1], float64(b*r)+den[1]
			a, b = float64(a*r)+num[0], float64(b*r)+den[0]
			y[i] = float64(q*a) / b
			tails[found&(batch-1)] = uint8(i)
			found += int(math.Float64bits(0.425-math.Abs(q)) >> 63)
		}
		for k := range found {
			i := tails[k]
			y[i] = NormalQuantile(openUnit(words[i]))
		}
		to, words = to[n:], words[n:]
	}
}

// openUnit returns a number of the open interval from 0 to 1 for a word.
func openUnit(word uint64) float64 { return float64((float64(word>>12) + 0.5) * 0x1p-52) }
