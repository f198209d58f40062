package displacement

// meetDistinct is meetFew if all combinations have different sizes, as they mostly have in large
// groups: each is then a class of its own. Each step adds to all cells, to some of them 0: that
// takes less time than leaving these out.
func (g *cohort) meetDistinct(free []int32, pairs []float64, weight float64) {
	n := len(free)
	total := int32(0)
	var left [few]float64 // free, as floating-point numbers
	var sums [few][few]float64
	for c, f := range free {
		total += f
		left[c] = float64(f)
		copy(sums[c][:], pairs[c*n:c*n+n])
	}
	here := left[:n]
	for total > 0 {
		all := float64(total)
		last := false
		for _, f := range here {
			last = last || f == all
		}
		if last {
			break
		}
		// The pair's expectation, given what is free.
		for a, fa := range here {
			p := weight * fa / all / (all - fa)
			row := &sums[a]
			row[0] += p * left[0]
			row[1] += p * left[1]
			row[2] += p * left[2]
			row[3] += p * left[3]
			row[4] += p * left[4]
			row[5] += p * left[5]
			row[6] += p * left[6]
			row[7] += p * left[7]
		}
		a := draft(free, g.random.Int32N(total), -1)
		b := draft(free, g.random.Int32N(total-free[a]), a)
		free[a]--
		free[b]--
		left[a]--
		left[b]--
		total -= 2
	}
	for a := range n {
		for b := range n {
			if a != b { // a record is not paired with one of its own combination
				pairs[a*n+b] = sums[a][b]
			}
		}
	}
}
