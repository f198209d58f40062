package expectation

import "math"

// sizes are the numbers of records with one value that are tried as sharing a draw, where it is known that some do but
// not how many: the members of a household, or of a firm. With the greatest, all records of a value share one draw, as
// they do in the release if no other household has it.
var sizes = []int{2, 3, 4, 6, 8, 12, 16, 24, 50, 100, 1000, math.MaxInt}

// lumps say how the records of each of some values share draws.
type lumps [][]lump

// lump is a number of draws each of which as many records have.
type lump struct{ records, draws float64 }

// add adds n records of one value to those of the i-th of a list: lumps of a size, and one of the rest. A number of
// records that is not whole, which stands for others that are not known, counts as a part of a lump.
func (l *lumps) add(i int, n float64, size int) {
	if size <= 1 {
		return
	}
	if i == len(*l) {
		*l = append(*l, nil)
	}
	whole := math.Floor(n / float64(size))
	if whole > 0 {
		(*l).put(i, lump{float64(size), whole})
	}
	if rest := n - whole*float64(size); rest > 0 {
		up := math.Ceil(rest)
		(*l).put(i, lump{up, rest / up})
	}
}

func (l lumps) put(i int, of lump) {
	for k := range l[i] {
		if l[i][k].records == of.records {
			l[i][k].draws += of.draws
			return
		}
	}
	l[i] = append(l[i], of)
}

// atMostShared is atMost for records in lumps.
func (w *window) atMostShared(t float64) (probability, mean float64) {
	mean = w.below
	variance, third, draws, widest := 0.0, 0.0, 0.0, 0.0
	w.each(t, w.p)
	none, all := 0.0, 0.0 // logarithms of the probabilities that no record, and that each, is below
	for i, p := range w.p {
		for _, l := range w.lumps[i] {
			v := l.draws * l.records * l.records * p * (1 - p)
			mean += l.draws * l.records * p
			variance += v
			third += v * l.records * (1 - 2*p)
			draws += l.draws
			none += l.draws * math.Log1p(-p)
			all += l.draws * math.Log(p)
			widest = max(widest, l.records*l.records)
		}
	}
	need := w.k - w.below
	switch {
	case need <= 0:
		return 1, mean
	case need > w.records:
		return 0, mean
	case need == 1:
		return -math.Expm1(none), mean
	case need == w.records:
		return math.Exp(all), mean
	case variance < sparse*widest && draws*need <= exactly*exactly:
		return w.sharedBinomial(int(need)), mean
	case variance < 1e-12:
		if mean > w.k-0.5 {
			return 1, mean
		}
		return 0, mean
	}
	return edgeworth(w.k-0.5-mean, variance, third), mean
}

// sharedBinomial is poissonBinomial for records in lumps.
func (w *window) sharedBinomial(need int) float64 {
	few := make([]float64, need)
	few[0] = 1
	for i, p := range w.p {
		for _, l := range w.lumps[i] {
			if p == 0 {
				continue
			}
			m := int(l.records)
			for range int(math.Round(l.draws)) {
				for j := need - 1; j >= 0; j-- {
					few[j] *= 1 - p
					if j >= m {
						few[j] += few[j-m] * p
					}
				}
			}
		}
	}
	sum := 0.0
	for _, v := range few {
		sum += v
	}
	return max(0, min(1, 1-sum))
}
