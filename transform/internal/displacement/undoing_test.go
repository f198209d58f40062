package displacement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// A permutation that a swap can make of a few records, and its probability.
type outcomeOfSwap struct {
	from []int // of each record: the record whose value it holds
	prob float64
}

// enumeratedSwaps goes through all orders of the records and all partners, as docs/methods.md describes a swap, for
// records with these values of the attribute. It shares no code with the program.
func enumeratedSwaps(attribute []int, unique, dataset bool, rate float64) map[string]*outcomeOfSwap {
	n := len(attribute)
	law := map[string]*outcomeOfSwap{}
	note := func(from []int, p float64) {
		name := fmt.Sprint(from)
		if law[name] == nil {
			law[name] = &outcomeOfSwap{append([]int{}, from...), 0}
		}
		law[name].prob += p
	}
	count := map[int]int{}
	for _, a := range attribute {
		count[a]++
	}
	from := make([]int, n)
	for i := range from {
		from[i] = i
	}
	var orders [][]int
	var permute func(order, rest []int)
	permute = func(order, rest []int) {
		if len(rest) == 0 {
			orders = append(orders, append([]int{}, order...))
		}
		for k := range rest {
			others := append(append([]int{}, rest[:k]...), rest[k+1:]...)
			permute(append(order, rest[k]), others)
		}
	}
	permute(nil, append([]int{}, from...))
	each := 1 / float64(len(orders))
	exchange := func(i, j int) { from[i], from[j] = from[j], from[i] }
	if !dataset || unique {
		for _, order := range orders {
			paired := make([]bool, n)
			var next func(k int, p float64)
			next = func(k int, p float64) {
				for k < n && (paired[order[k]] || unique && count[attribute[order[k]]] > 1) {
					k++
				}
				if k == n {
					note(from, p)
					return
				}
				i := order[k]
				var partners []int
				for j := range n {
					if !paired[j] && attribute[j] != attribute[i] {
						partners = append(partners, j)
					}
				}
				if len(partners) == 0 {
					next(k+1, p)
					return
				}
				for _, j := range partners {
					paired[i], paired[j] = true, true
					exchange(i, j)
					next(k+1, p*rate/float64(len(partners)))
					exchange(i, j)
					next(k+1, p*(1-rate)/float64(len(partners)))
					paired[i], paired[j] = false, false
				}
			}
			next(0, each)
		}
		return law
	}
	for _, order := range orders {
		for heads := range 1 << n {
			p := each
			for i := range n {
				if heads>>i&1 == 1 {
					p *= rate
				} else {
					p *= 1 - rate
				}
			}
			taken := make([]bool, n) // in a pair among the heads, or as one of the others
			var left []int
			var late func(k int, p float64)
			late = func(k int, p float64) {
				if k == len(left) {
					note(from, p)
					return
				}
				i := left[k]
				number := map[int]int{}
				total := 0
				for j := range n {
					if heads>>j&1 == 0 && !taken[j] && attribute[j] != attribute[i] {
						number[attribute[j]]++
						total++
					}
				}
				if total == 0 {
					late(k+1, p)
					return
				}
				for a, m := range number {
					for _, j := range order { // the first of its combination
						if attribute[j] == a && heads>>j&1 == 0 && !taken[j] {
							taken[j] = true
							exchange(i, j)
							late(k+1, p*float64(m)/float64(total)/2)
							exchange(i, j)
							late(k+1, p*float64(m)/float64(total)/2)
							taken[j] = false
							break
						}
					}
				}
			}
			var next func(k int, p float64)
			next = func(k int, p float64) {
				if k == n {
					late(0, p)
					return
				}
				i := order[k]
				if heads>>i&1 == 0 || taken[i] {
					next(k+1, p)
					return
				}
				number := map[int]int{}
				total := 0
				for j := range n {
					if heads>>j&1 == 1 && !taken[j] && attribute[j] != attribute[i] {
						number[attribute[j]]++
						total++
					}
				}
				if total == 0 {
					left = append(left, i)
					next(k+1, p)
					left = left[:len(left)-1]
					return
				}
				for a, m := range number {
					for _, j := range order {
						if attribute[j] == a && heads>>j&1 == 1 && !taken[j] {
							taken[i], taken[j] = true, true
							exchange(i, j)
							next(k+1, p*float64(m)/float64(total))
							exchange(i, j)
							taken[i], taken[j] = false, false
							break
						}
					}
				}
			}
			next(0, p)
		}
	}
	return law
}

// errorsOf are the expected squared errors of the snooper's three estimates of the value of record t: its own released
// value, that of the record that most probably holds the original (any of several, all alike), and the mean. Each
// released value has noise of variance noise.
func errorsOf(law map[string]*outcomeOfSwap, x []float64, t int, noise float64) (released, likeliest, mean float64) {
	n := len(x)
	at := make([]float64, n) // the probability that record j holds the original value of t
	for _, o := range law {
		for j := range n {
			if o.from[j] == t {
				at[j] += o.prob
			}
		}
	}
	best, squares := at[t], 0.0
	for j := range n {
		if at[j] > best+1e-12 {
			best = at[j]
		}
		squares += at[j] * at[j]
	}
	var holders []int
	for j := range n {
		if at[j] > best-1e-12 && (j == t || at[t] < best-1e-12) {
			holders = append(holders, j)
		}
	}
	if at[t] > best-1e-12 {
		holders = []int{t}
	}
	for _, o := range law {
		estimate := 0.0
		for j := range n {
			estimate += at[j] * x[o.from[j]]
		}
		mean += o.prob * (x[t] - estimate) * (x[t] - estimate)
		released += o.prob * (x[t] - x[o.from[t]]) * (x[t] - x[o.from[t]])
		for _, j := range holders {
			likeliest += o.prob * (x[t] - x[o.from[j]]) * (x[t] - x[o.from[j]]) / float64(len(holders))
		}
	}
	return released + noise, likeliest + noise, mean + noise*squares
}

// What the Displacer expects of the three estimates is that of the enumeration, for groups of at most eight records,
// each policy and scope, several rates, with noise and without. Groups stand in any order in the data, before and
// after larger ones.
func TestUndoingIsThatOfTheEnumeration(t *testing.T) {
	for _, attribute := range [][]int{
		{0, 1}, {0, 1, 2}, {0, 0, 1}, {1, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 3}, {0, 2, 1, 2}, {0, 0, 1, 1, 1},
		{3, 0, 1, 1, 2}, {0, 1, 2, 3, 4},
		{0, 1, 1, 2, 2, 2}, {0, 0, 1, 1, 2, 2}, {0, 1, 2, 3, 4, 5}, {0, 0, 0, 1, 1, 1, 1}, {0, 1, 1, 1, 1, 1, 1, 1},
		{0, 0, 0, 0, 1, 1, 1, 2},
	} {
		for _, policy := range []string{"unique", "random"} {
			for _, scope := range []string{"window", "dataset"} {
				rates := []float64{0.3, 0.95, 1}
				switch heads := scope == "dataset" && policy == "random"; {
				case testing.Short() && (len(attribute) > 6 || heads && len(attribute) > 5), heads && len(attribute) > 7:
					continue // seconds, minutes
				case testing.Short():
					rates = []float64{0.7, 1}
				}
				for _, rate := range rates {
					t.Run(fmt.Sprint(policy, scope, rate, attribute), func(t *testing.T) {
						compareUndoing(t, policy, scope, rate, attribute)
					})
				}
			}
		}
	}
}

func compareUndoing(t *testing.T, policy, scope string, rate float64, attribute []int) {
	r := rand.New(rand.NewPCG(uint64(len(attribute)), 8))
	n := len(attribute) + 24
	b := new(microdata.Block)
	b.Reset(0, 0, n, 4)
	var columns [4][]float64
	for k := range columns {
		columns[k] = b.Columns[k].Alloc(n, false).Values
	}
	var rows []int
	x := make([]float64, len(attribute))
	for i := range n {
		columns[0][i] = math.Round(1e4 * math.Exp(r.NormFloat64()))
		columns[1][i], columns[2][i], columns[3][i] = 1, 0, float64(i%3)
		if i%2 == 1 && len(rows) < len(attribute) || n-i <= len(attribute)-len(rows) {
			columns[1][i], columns[3][i] = 0, float64(attribute[len(rows)])
			x[len(rows)] = columns[0][i]
			rows = append(rows, i)
		}
	}
	law := enumeratedSwaps(attribute, policy == "unique", scope == "dataset", rate)
	for _, sd := range []float64{0, 700} {
		variance := 0.0
		if sd > 0 {
			variance = sd*sd + 1.0/12 // the noise is rounded to whole numbers
		}
		p := &Pairer{Rate: rate, Unique: policy == "unique", Dataset: scope == "dataset"}
		d := New([]Column{{Index: 0, Swaps: []int{0}, Moments: func(float64) (shift, square float64) { return 0, variance }}},
			[]*Swap{NewSwap([]int{1, 2, 3}, []int{0}, p)}, n, nil)
		if d.NeedsSurvey() {
			if err := d.Survey(b); err != nil {
				t.Fatal(err)
			}
			d.EndSurvey()
		}
		if err := d.Apply(b); err != nil {
			t.Fatal(err)
		}
		m := b.Columns[0].Moved
		for k, row := range rows {
			released, likeliest, mean := errorsOf(law, x, k, variance)
			for name, pair := range map[string][2]float64{
				"the released value": {m.Total[row], released}, "the most probable one": {m.Likeliest[row], likeliest},
				"the mean": {m.Mean[row], mean},
			} {
				if got, want := pair[0]/m.Weight[row], pair[1]; !(math.Abs(got-want) <= 1e-8*want+1e-5) {
					t.Errorf("noise %v, record %d: %s has the expected square %v, want %v", sd, k, name, got, want)
				}
			}
		}
	}
}
