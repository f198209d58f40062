package joint

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// members are the records of each unit, in their order.
func members(unit []float64) (list [][]int) {
	at := map[float64]int{}
	for i, u := range unit {
		if _, there := at[u]; !there {
			at[u] = len(list)
			list = append(list, nil)
		}
		list[at[u]] = append(list[at[u]], i)
	}
	return list
}

// inUnits fills values by unit.
func (w *world) inUnits(units [][]int, fill func(rows []int, out []float64)) []float64 {
	out := make([]float64, w.n)
	for _, rows := range units {
		fill(rows, out)
	}
	return out
}

// across is one way in which a column tells of another one across the records of a unit.
type across struct {
	name string
	more func(w *world, p *panel, units [][]int) [][]float64 // columns beside the wage, the year and the person
	// snooper is the estimate of one who knows how the column was made.
	snooper func(p *panel, units [][]int, y []float64, more [][]float64) []float64
	room    float64 // of the snooper's mean square, that the estimator may leave
}

const bounded = 5000.0

var acrossUnits = []across{
	{"running sum", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.inUnits(units, func(rows []int, out []float64) {
			sum := 0.0
			for _, i := range rows {
				sum += p.x[i]
				out[i] = sum
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 { return p.x }, 1},
	{"running sum with noise", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.inUnits(units, func(rows []int, out []float64) {
			sum := 0.0
			for _, i := range rows {
				sum += p.x[i]
				out[i] = sum + 50*w.r.NormFloat64()
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			for k, i := range rows {
				if v[i] = more[0][i]; k > 0 {
					v[i] -= more[0][rows[k-1]]
				}
			}
		}
		return v
	}, 1.05},
	{"change", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.inUnits(units, func(rows []int, out []float64) {
			out[rows[0]] = math.NaN()
			for k, i := range rows[1:] {
				out[i] = p.x[i] - p.x[rows[k]]
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			mean := 0.0
			for _, i := range rows {
				mean += (y[i] - p.x[i]) / float64(len(rows))
			}
			for _, i := range rows {
				v[i] = p.x[i] + mean
			}
		}
		return v
	}, 1.05},
	{"part of last year's", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.inUnits(units, func(rows []int, out []float64) {
			out[rows[0]] = math.NaN()
			for k, i := range rows[1:] {
				out[i] = math.Round(1e4*p.x[i]/p.x[rows[k]]) / 1e4
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			sx, sy := 0.0, 0.0
			for _, i := range rows {
				sx, sy = sx+p.x[i], sy+y[i]
			}
			for _, i := range rows {
				v[i] = p.x[i] * sy / sx
			}
		}
		return v
	}, 1.05},
	{"share of the unit", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.inUnits(units, func(rows []int, out []float64) {
			sx := 0.0
			for _, i := range rows {
				sx += p.x[i]
			}
			for _, i := range rows {
				out[i] = math.Round(1e4*p.x[i]/sx) / 1e4
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			sy := 0.0
			for _, i := range rows {
				sy += y[i]
			}
			for _, i := range rows {
				v[i] = more[0][i] * sy
			}
		}
		return v
	}, 1.05},
	{"greatest of the unit", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.inUnits(units, func(rows []int, out []float64) {
			most := 0.0
			for _, i := range rows {
				most = max(most, p.x[i])
			}
			for _, i := range rows {
				out[i] = most
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			best := rows[0]
			for _, i := range rows {
				if v[i] = min(y[i], more[0][i]); y[i] > y[best] {
					best = i
				}
			}
			v[best] = more[0][best]
		}
		return v
	}, 1.02},
	{"place in the unit", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.inUnits(units, func(rows []int, out []float64) {
			for _, i := range rows {
				for _, j := range rows {
					if p.x[j] <= p.x[i] {
						out[i]++
					}
				}
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			var values []float64
			for _, i := range rows {
				values = append(values, y[i])
			}
			slices.Sort(values)
			for _, i := range rows {
				v[i] = values[int(more[0][i])-1]
			}
		}
		return v
	}, 1.02},
	{"total of a number that is withheld", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.inUnits(units, func(rows []int, out []float64) {
			for k := 0; k < len(rows); k += 2 {
				pair := rows[k:min(k+2, len(rows))]
				sum := 0.0
				for _, i := range pair {
					sum += p.x[i]
				}
				for _, i := range pair {
					out[i] = sum
				}
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			for k := 0; k < len(rows); k += 2 {
				pair := rows[k:min(k+2, len(rows))]
				for _, i := range pair {
					lack := more[0][i]
					for _, j := range pair {
						lack -= y[j]
					}
					v[i] += lack / float64(len(pair))
				}
			}
		}
		return v
	}, 1.02},
	{"a second draw, along the years", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.noisy(p.x, 300)}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			var n, st, sv, stt, stv float64
			for k, i := range rows {
				t, m := float64(k), math.Log(max(1, (y[i]+more[0][i])/2))
				n, st, sv, stt, stv = n+1, st+t, sv+m, stt+t*t, stv+t*m
			}
			slope := (stv - st*sv/n) / (stt - st*st/n)
			for k, i := range rows {
				v[i] = math.Exp(sv/n + slope*(float64(k)-st/n))
			}
		}
		return v
	}, 1.05},
	{"a better draw, along the years", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.noisy(p.x, 100)}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			var n, st, sv, stt, stv float64
			for k, i := range rows {
				t, m := float64(k), math.Log(max(1, more[0][i]))
				n, st, sv, stt, stv = n+1, st+t, sv+m, stt+t*t, stv+t*m
			}
			slope := (stv - st*sv/n) / (stt - st*st/n)
			for k, i := range rows {
				v[i] = math.Exp(sv/n + slope*(float64(k)-st/n))
			}
		}
		return v
	}, 1.05},
	{"a better draw beside the total", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.noisy(p.x, 100), w.inUnits(units, func(rows []int, out []float64) {
			sum := 0.0
			for _, i := range rows {
				sum += p.x[i]
			}
			for _, i := range rows {
				out[i] = sum
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			lack := more[1][rows[0]]
			for _, i := range rows {
				v[i] = more[0][i]
				lack -= v[i]
			}
			for _, i := range rows {
				v[i] += lack / float64(len(rows))
			}
		}
		return v
	}, 1.02},
	{"bounds beside the total", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.inUnits(units, func(rows []int, out []float64) {
			sum := 0.0
			for _, i := range rows {
				sum += p.x[i]
			}
			for _, i := range rows {
				out[i] = sum
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			lack, n := more[0][rows[0]], 0.0
			for _, i := range rows {
				if lack -= y[i]; y[i] == bounded {
					n++
				}
			}
			for _, i := range rows {
				if y[i] == bounded {
					v[i] += lack / n
				}
			}
		}
		return v
	}, 1.02},
	{"a second draw beside the total", func(w *world, p *panel, units [][]int) [][]float64 {
		return [][]float64{w.noisy(p.x, 300), w.inUnits(units, func(rows []int, out []float64) {
			sum := 0.0
			for _, i := range rows {
				sum += p.x[i]
			}
			for _, i := range rows {
				out[i] = sum
			}
		})}
	}, func(p *panel, units [][]int, y []float64, more [][]float64) []float64 {
		v := slices.Clone(y)
		for _, rows := range units {
			lack := more[1][rows[0]]
			for _, i := range rows {
				v[i] = (y[i] + more[0][i]) / 2
				lack -= v[i]
			}
			for _, i := range rows {
				v[i] += lack / float64(len(rows))
			}
		}
		return v
	}, 1.02},
}

// A total of the household in each year tells by itself, or with the household's number, who is in it. The snooper of
// the test knows which records a total is of; the estimator must find out, and be as good but for 4 % of the error:
// some totals in whole numbers are those of two households.
func TestTotalsOfPartsOfUnits(t *testing.T) {
	for seed := range uint64(9) {
		w := newWorld(200+seed, 2400)
		const members, years = 3, 4
		unit := w.of(func(i int) float64 { return float64(1000 + i/(members*years)) })
		year := w.of(func(i int) float64 { return float64(2000 + i%years) })
		grid := []float64{1, 100, 1, 100, 0.02}[seed/2]
		x := w.of(func(i int) float64 { return math.Round(grid*math.Exp(6.5+0.5*w.r.NormFloat64())) / grid })
		percent := seed >= 4 && seed < 8
		y := w.of(func(i int) float64 {
			if percent {
				return x[i] * (1 + 0.2*w.r.NormFloat64())
			}
			return x[i] + 100*w.r.NormFloat64()
		})
		weight := func(i int) float64 {
			if percent {
				return y[i] * y[i]
			}
			return 1
		}
		part := func(i int) int { return i/(members*years)*years + i%years }
		sums, lack, weights := map[int]float64{}, map[int]float64{}, map[int]float64{}
		for i := range x {
			weights[part(i)] += weight(i)
			sums[part(i)] += x[i]
			lack[part(i)] += x[i] - y[i]
		}
		total := w.of(func(i int) float64 { return sums[part(i)] })
		v := w.of(func(i int) float64 { return y[i] + lack[part(i)]*weight(i)/weights[part(i)] })
		want := leastSquares(x, v, y, total)
		order := w.r.Perm(w.n)
		put := func(v []float64) []float64 { return w.of(func(i int) float64 { return v[order[i]] }) }
		list := columns(put(y), put(year), put(total))
		if seed%2 == 0 {
			list = append(list, Column{Name: "unit", Values: put(unit)})
		}
		got := New(list, w.n, true).Estimate(put(x), put(y), 0, nil)
		if error, best := math.Sqrt(got.Square), math.Sqrt(want); error > 1.04*best || error < 0.9*best {
			t.Errorf("seed %d: error %v, the snooper's %v; told by %v", seed, error, best, got.Tells)
		}
	}
}

// Of a sample of 12 % few units of three are whole: 1 in 23 of those with several records. More agree with their total
// than with that of others; of totals of other units, as many.
func TestTotalsOfFewWholeUnits(t *testing.T) {
	w := newWorld(7, 27_000)
	unit := w.of(func(i int) float64 { return float64(1000 + i/3) })
	x, other := w.incomes(), w.incomes()
	total := w.of(func(i int) float64 { return x[i/3*3] + x[i/3*3+1] + x[i/3*3+2] })
	unlike := w.of(func(i int) float64 { return other[i/3*3] + other[i/3*3+1] + other[i/3*3+2] })
	y := w.noisy(x, 60)
	rows := slices.DeleteFunc(w.r.Perm(w.n), func(int) bool { return w.r.Float64() > 0.12 })
	put := func(v []float64) (some []float64) {
		for _, i := range rows {
			some = append(some, v[i])
		}
		return some
	}
	for _, z := range [][]float64{total, unlike} {
		list := append(columns(put(y), put(z)), Column{Name: "unit", Values: put(unit)})
		got := New(list, len(rows), false).Estimate(put(x), put(y), 0, nil)
		if is := &z[0] == &total[0]; got.Open != is {
			t.Errorf("total %v: open %v, mean square %v, told by %v", is, got.Open, got.Square, got.Tells)
		}
	}
}

func TestAcrossUnits(t *testing.T) {
	for k, a := range acrossUnits {
		w := newWorld(uint64(100+k), 2400)
		p := newPanel(w, 600, 4, 0.03, 0.15)
		if strings.HasSuffix(a.name, "along the years") {
			p = newPanel(w, 200, 12, 0.03, 0.005)
		}
		units := members(p.person)
		for i := range p.x {
			p.x[i] = math.Round(100*p.x[i]) / 100
		}
		y := w.noisy(p.x, 300)
		if a.name == "bounds beside the total" {
			y = w.of(func(i int) float64 { return min(bounded, p.x[i]) })
		}
		more := a.more(w, &p, units)
		v := a.snooper(&p, units, y, more)
		want := squareOf(p.x, v)
		if want > 0 { // and fits it with all that is released
			z := [][]float64{v, y, p.year}
			for _, m := range more {
				filled := slices.Clone(m)
				for i, of := range filled {
					if of != of {
						filled[i] = 0
					}
				}
				z = append(z, filled)
			}
			want = min(want, leastSquares(p.x, z...))
		}
		for _, person := range []bool{true, false} {
			list := columns(append([][]float64{y, p.year}, more...)...)
			if person {
				list = append(list, Column{Name: "person", Values: p.person})
			}
			f := New(list, w.n, true)
			f.InOrder = !person
			got := f.Estimate(p.x, y, 0, nil)
			if error, best := math.Sqrt(got.Square), math.Sqrt(want); !(error <= a.room*best+0.01) || error < 0.8*best-0.01 {
				t.Errorf("%s, person known %v: error %v, the snooper's %v; told by %v", a.name, person, error, best, got.Tells)
			}
		}
	}
}

// The greatest wage of a household is released with each of its members: it is the value of one of them, of the one
// whose released wage is the greatest, mostly. So often as the snooper of the test states a value, the claims must.
func TestGreatestIsStated(t *testing.T) {
	w := newWorld(11, 1500)
	unit, x, _, _ := household(w)
	y := w.noisy(x, 300)
	greatest, of := map[float64]float64{}, map[float64]int{}
	for i, h := range unit {
		greatest[h] = max(greatest[h], x[i])
		if k, there := of[h]; !there || y[i] > y[k] {
			of[h] = i
		}
	}
	right := 0.0
	for h, i := range of {
		if x[i] == greatest[h] {
			right++
		}
	}
	list := append(columns(y, w.of(func(i int) float64 { return greatest[unit[i]] })),
		Column{Name: "unit", Values: unit, GroupOnly: true})
	claims := New(list, w.n, true).Claims(x, y, 0, []float64{0.5})
	if got := statedWithin(x, claims, 0.5); got < right/float64(w.n) {
		t.Errorf("%v of the values are stated, the snooper's %v", got, right/float64(w.n))
	}
}
