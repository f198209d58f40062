package tabulate

import (
	"math/big"
	"slices"
)

// Relations finds the linear relations between numbers that hold in every record, such as total = domestic +
// export, from a set of records that spans all of them.
type Relations struct {
	n       int
	records int64     // records with a number other than 0
	span    [][]int64 // the numbers of records that are independent of each other, at most n
	echelon [][]int64 // the same modulo prime, with leading 1s
}

// prime is the modulus of the test whether a record depends on others: a record that does not passes
// with probability 5e-10, so relations must be verified by the sums.
const prime = 1<<31 - 1

// NewRelations returns the search for relations between n numbers.
func NewRelations(n int) *Relations { return &Relations{n: n} }

// Add adds records: numbers[k][i] is number k of record i.
func (r *Relations) Add(numbers [][]int64) {
	if len(numbers) == 0 {
		return
	}
	record := make([]int64, r.n)
	for i := range numbers[0] {
		if len(r.span) == r.n { // there is no relation
			return
		}
		for k := range numbers {
			record[k] = numbers[k][i]
		}
		r.add(record)
	}
}

func (r *Relations) add(record []int64) {
	rest := make([]int64, r.n)
	zero := true
	for k, x := range record {
		zero = zero && x == 0
		if rest[k] = x % prime; rest[k] < 0 {
			rest[k] += prime
		}
	}
	if zero {
		return
	}
	r.records++
	for _, row := range r.echelon {
		at := leading(row)
		if f := rest[at]; f != 0 {
			for k := at; k < r.n; k++ {
				rest[k] = (rest[k] + (prime-f)*row[k]) % prime
			}
		}
	}
	at := leading(rest)
	if at < 0 {
		return
	}
	f := inverse(rest[at])
	for k := range rest {
		rest[k] = rest[k] * f % prime
	}
	r.echelon = append(r.echelon, rest)
	slices.SortFunc(r.echelon, func(a, b []int64) int { return leading(a) - leading(b) })
	r.span = append(r.span, slices.Clone(record))
}

func leading(row []int64) int { return slices.IndexFunc(row, func(x int64) bool { return x != 0 }) }

// inverse returns 1/x modulo prime.
func inverse(x int64) int64 {
	y := int64(1)
	for e := prime - 2; e > 0; e >>= 1 {
		if e&1 == 1 {
			y = y * x % prime
		}
		x = x * x % prime
	}
	return y
}

// Merge adds the records of another search.
func (r *Relations) Merge(o *Relations) {
	records := r.records + o.records
	for _, record := range o.span {
		r.add(record)
	}
	r.records = records
}

// Find returns a basis of the relations: whole numbers f with Σ f_k x_k = 0 in every record, each list without a common
// divisor. It returns none if there are too few records to tell a relation from a coincidence.
func (r *Relations) Find() (relations [][]*big.Int) {
	if len(r.span) == r.n || r.records < int64(len(r.span))+coincidence {
		return nil
	}
	rows := make([][]*big.Rat, len(r.span))
	for i, record := range r.span {
		for _, x := range record {
			rows[i] = append(rows[i], new(big.Rat).SetInt64(x))
		}
	}
	pivots := reduce(rows)
	for free := range r.n {
		if slices.Contains(pivots, free) {
			continue
		}
		f := make([]*big.Rat, r.n)
		for k := range f {
			f[k] = new(big.Rat)
		}
		f[free].SetInt64(1)
		for i, at := range pivots {
			f[at].Neg(rows[i][free])
		}
		relations = append(relations, whole(f))
	}
	return relations
}

// Within returns a basis of the relations that follow from the given ones and are only between the numbers to keep.
func Within(relations [][]*big.Int, keep []bool) (within [][]*big.Int) {
	var order []int // the numbers to keep last
	for _, last := range []bool{false, true} {
		for k := range keep {
			if keep[k] == last {
				order = append(order, k)
			}
		}
	}
	rows := make([][]*big.Rat, len(relations))
	for i, f := range relations {
		for _, k := range order {
			rows[i] = append(rows[i], new(big.Rat).SetInt(f[k]))
		}
	}
	for i, at := range reduce(rows) {
		if !keep[order[at]] {
			continue
		}
		f := make([]*big.Rat, len(keep))
		for place, k := range order {
			f[k] = rows[i][place]
		}
		within = append(within, whole(f))
	}
	return within
}

// reduce brings rows into reduced row echelon form, and returns the columns of the leading ones.
func reduce(rows [][]*big.Rat) (pivots []int) {
	if len(rows) == 0 {
		return nil
	}
	for k := range rows[0] {
		done := len(pivots)
		at := slices.IndexFunc(rows[done:], func(row []*big.Rat) bool { return row[k].Sign() != 0 })
		if at < 0 {
			continue
		}
		rows[done], rows[done+at] = rows[done+at], rows[done]
		f := new(big.Rat).Inv(rows[done][k])
		for _, x := range rows[done] {
			x.Mul(x, f)
		}
		for i, row := range rows {
			if f := new(big.Rat).Set(row[k]); i != done && f.Sign() != 0 {
				for c, x := range row {
					x.Sub(x, new(big.Rat).Mul(f, rows[done][c]))
				}
			}
		}
		if pivots = append(pivots, k); len(pivots) == len(rows) {
			break
		}
	}
	return pivots
}

// whole multiplies rational numbers so that they are whole and without a common divisor.
func whole(f []*big.Rat) []*big.Int {
	times, common := big.NewInt(1), new(big.Int)
	for _, x := range f {
		times.Div(new(big.Int).Mul(times, x.Denom()), new(big.Int).GCD(nil, nil, times, x.Denom()))
	}
	out := make([]*big.Int, len(f))
	for k, x := range f {
		out[k] = new(big.Int).Div(new(big.Int).Mul(x.Num(), times), x.Denom())
		common.GCD(nil, nil, common, new(big.Int).Abs(out[k]))
	}
	for _, x := range out {
		x.Div(x, common)
	}
	return out
}
