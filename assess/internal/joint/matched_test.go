package joint

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// couples are records with m numbers that go with one that stays, of which couples of one cell have exchanged all m.
type couples struct {
	stayed, cell []float64
	x, y         [][]float64 // by number that moved: the originals, and as released
	of           []int       // by row, whose values it has
}

// exchanged makes n records in cells of a size. Each number is ρ times what stayed plus independent noise, of variance 1
// together. Of the couples of a cell a share has exchanged.
func exchanged(r *rand.Rand, n, size, m int, rho, share float64) couples {
	c := couples{x: make([][]float64, m), y: make([][]float64, m)}
	for i := range n {
		c.stayed, c.cell, c.of = append(c.stayed, r.NormFloat64()), append(c.cell, float64(i/size)), append(c.of, i)
		for k := range m {
			c.x[k] = append(c.x[k], rho*c.stayed[i]+math.Sqrt(1-rho*rho)*r.NormFloat64())
		}
	}
	for from := 0; from < n; from += size {
		order := r.Perm(size)
		for k := 0; k+1 < size; k += 2 {
			if a, b := from+order[k], from+order[k+1]; r.Float64() < share {
				c.of[a], c.of[b] = b, a
			}
		}
	}
	for k := range m {
		for _, j := range c.of {
			c.y[k] = append(c.y[k], c.x[k][j])
		}
	}
	return c
}

// frame has what is released of them, and by column what is known of the originals.
func (c *couples) frame(complete bool) (*Frame, [][]float64, Exchange) {
	list := []Column{{Name: "cell", Values: c.cell}, {Name: "stayed", Values: c.stayed}}
	originals := [][]float64{nil, nil}
	e := Exchange{Within: []int{0}, Couples: true}
	for k := range c.x {
		e.Moved = append(e.Moved, len(list))
		list, originals = append(list, Column{Name: "moved", Values: c.y[k]}), append(originals, c.x[k])
	}
	return New(list, len(c.cell), complete), originals, e
}

// known is what a snooper reaches who knows the law: by Bayes over the couples that each record can be of, where only
// its own exchange is looked at. The square is that of the mean, of the first number; hits counts the likeliest.
func (c *couples) known(size int, rho, share float64) (square float64, hits int) {
	n, m := len(c.of), len(c.x)
	normal := func(v, mean, variance float64) float64 { return -(v-mean)*(v-mean)/2/variance - math.Log(variance)/2 }
	has := func(who, values int) (l float64) {
		for k := range m {
			l += normal(c.y[k][values], rho*c.stayed[who], 1-rho*rho)
		}
		return l
	}
	// of any record: m numbers with variance 1 and covariances ρ²
	free := func(values int) float64 {
		sum, squares := 0.0, 0.0
		for k := range m {
			sum, squares = sum+c.y[k][values], squares+c.y[k][values]*c.y[k][values]
		}
		v, f := 1-rho*rho, 1-rho*rho+float64(m)*rho*rho
		return -(squares/v-rho*rho*sum*sum/v/f)/2 - (float64(m-1)*math.Log(v)+math.Log(f))/2
	}
	for i := range n {
		from := i / size * size
		var weights []float64
		for j := from; j < from+size; j++ {
			l := math.Log(1-share) + has(i, i)
			if j != i {
				a, b := math.Log(1-share)+has(j, j), math.Log(share)+free(j)
				either := max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
				l = math.Log(share/float64(size-1)) + has(i, j) + has(j, i) - either
			}
			weights = append(weights, l)
		}
		most := slices.Max(weights)
		sum, mean := 0.0, 0.0
		for j, l := range weights {
			sum, mean = sum+math.Exp(l-most), mean+math.Exp(l-most)*c.y[0][from+j]
		}
		d := c.x[0][i] - mean/sum
		square += d * d / float64(n)
		if c.y[0][from+slices.Index(weights, most)] == c.x[0][i] {
			hits++
		}
	}
	return square, hits
}

// What is found by a fitted law comes near to what a snooper reaches who knows the law. The tolerance of the square:
// 1,000 records have a mean square with a relative standard error of about √(κ − 1)/√1000 each, κ ≤ 20 for errors that
// are 0 in most records, of which the two have most in common; 0.15 is as much as both have of their own. Shares of
// records differ by less than four standard errors of a share, 4·√(1/4/1000) = 0.06.
func TestMatched(t *testing.T) {
	for _, of := range []struct {
		size, m    int
		rho, share float64
	}{{20, 20, 0.7, 0.9}, {20, 1, 0.9, 0.6}, {100, 10, 0.7, 0.3}, {10, 4, 0.5, 0.5}, {2, 3, 0.6, 0.5}} {
		r := rand.New(rand.NewPCG(7, uint64(of.m)))
		c := exchanged(r, 1000, of.size, of.m, of.rho, of.share)
		f, originals, e := c.frame(true)
		found := f.Matched(e, originals)
		square, hits := c.known(of.size, of.rho, of.share)
		for k := range found {
			if found[k] == nil {
				t.Fatalf("%+v: nothing is found", of)
			}
		}
		if got := squareTo(c.x[0], found[0].Mean); math.Abs(got/square-1) > 0.15 {
			t.Errorf("%+v: mean square %.4f, with the law %.4f", of, got, square)
		}
		if got := equal(c.x[0], found[0].Likeliest); math.Abs(float64(got-hits)) > 60 {
			t.Errorf("%+v: %d are right, with the law %d", of, got, hits)
		}
		one, all, _ := c.frame(true)
		alone := one.Matched(Exchange{Moved: e.Moved[:1], Within: e.Within, Couples: true}, all)
		if of.m >= 10 && squareTo(c.x[0], alone[0].Mean) < 1.3*square {
			t.Errorf("%+v: one column alone tells as much as %d", of, of.m)
		}
	}
}

// Where nothing that stayed tells of what moved, the likeliest is the record's own released value, and no more are
// right than have stayed: a law that is fitted to the records themselves would know each again. Of many columns that
// tell nothing those that seem to are taken.
func TestMatchedByChance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, n := range []int{200, 1000} {
		c := exchanged(r, n, 20, 10, 0, 0.9)
		f, originals, e := c.frame(true)
		for range 30 {
			noise := make([]float64, n)
			for i := range noise {
				noise[i] = r.NormFloat64()
			}
			f, originals = f.With(Column{Name: "noise", Values: noise}), append(originals, nil)
		}
		found := f.Matched(e, originals)[0]
		// Of those that have not stayed each is taken for one of 19 at random: with four standard errors.
		stayed, others := equal(c.x[0], c.y[0]), 0.9*float64(n)
		most := float64(stayed) + others/19 + 4*math.Sqrt(others/19)
		if got := equal(c.x[0], found.Likeliest); float64(got) > most {
			t.Errorf("%d records: %d are right, %d have stayed", n, got, stayed)
		}
		if got, mean := squareTo(c.x[0], found.Mean), squareTo(c.x[0], make([]float64, n)); got < 0.9*mean {
			t.Errorf("%d records: mean square %.3f, of the mean %.3f", n, got, mean)
		}
	}
}

// Of a large group not all records are compared with each, but always the one that has its values.
func TestMatchedInLargeGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 37))
	c := exchanged(r, 2000, 500, 20, 0.8, 0.8)
	f, originals, e := c.frame(true)
	_, hits := c.known(500, 0.8, 0.8)
	// With fewer records to be taken for, more are right; fewer by four standard errors of a share, 4·√(1/4·2000).
	if got := equal(c.x[0], f.Matched(e, originals)[0].Likeliest); got < hits-90 || got > hits+400 {
		t.Errorf("%d are right, with the law %d", got, hits)
	}
}

// What tells no more than the released value is left out.
func TestMatchedTells(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 43))
	x, y, near, far := make([]float64, 500), make([]float64, 500), make([]float64, 500), make([]float64, 500)
	for i := range x {
		x[i] = r.NormFloat64()
		y[i], near[i], far[i] = x[i]+0.5*r.NormFloat64(), x[i]+0.4*r.NormFloat64(), x[i]+0.6*r.NormFloat64()
	}
	x[0], y[1] = math.NaN(), math.NaN()
	s := Sought{X: x, Y: y} // a line through y leaves 0.25/1.25 = 0.2 of the variance, the others 0.16 and 0.36
	if !(&Matched{Mean: near}).Tells(s) || (&Matched{Mean: far}).Tells(s) {
		t.Error("what leaves 0.16 of the variance does not tell, or what leaves 0.36 does")
	}
}

// A record that has a row's own values is found where it is not in the sample, or among more records than are compared.
func TestMatchedBeyondTheSample(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 13))
	c := exchanged(r, 2000, 100, 10, 0.8, 0.8)
	f, originals, e := c.frame(true)
	whole := f.Matched(e, originals)[0]
	half := couples{x: make([][]float64, 10), y: make([][]float64, 10)}
	for i := 0; i < 2000; i += 2 {
		half.cell, half.stayed = append(half.cell, c.cell[i]), append(half.stayed, c.stayed[i])
		for k := range 10 {
			half.x[k], half.y[k] = append(half.x[k], c.x[k][i]), append(half.y[k], c.y[k][i])
		}
	}
	f, originals, e = half.frame(false)
	f.Share = 0.5
	part := f.Matched(e, originals)[0]
	a, b := float64(equal(c.x[0], whole.Likeliest))/2000, float64(equal(half.x[0], part.Likeliest))/1000
	// With fewer records to be taken for, more are right: the error is to the safe side. Fewer are by chance alone, four
	// standard errors of a share of 1,000.
	if b < a-0.06 || b > a+0.2 {
		t.Errorf("of all %.3f are right, of a half %.3f", a, b)
	}
}

// A further mask hides who has whose values exactly, not to whom they belong: with noise of a variance of 0.01 nearly as
// many are known as by the law without it. What it adds to the variance is no sign that values are another record's, and
// how many have stayed is estimated.
func TestMatchedBehindNoise(t *testing.T) {
	for _, of := range []struct{ rho, share, sd, most float64 }{
		{0.8, 0.6, 0.1, 0.05}, {0.8, 0.6, 1, 0.45}, {0.6, 0.03, 0.1, 0.04},
	} {
		r := rand.New(rand.NewPCG(17, 19))
		c := exchanged(r, 1000, 20, 4, of.rho, of.share)
		square, _ := c.known(20, of.rho, of.share) // by the law without the noise
		for k := range c.y {
			for i := range c.y[k] {
				c.y[k][i] += of.sd * r.NormFloat64()
			}
		}
		f, originals, e := c.frame(true)
		got := squareTo(c.x[0], f.Matched(e, originals)[0].Mean)
		if t.Logf("%+v: mean square %.4f, with the law %.4f", of, got, square); got > square+of.most {
			t.Errorf("%+v: mean square %.4f, with the law %.4f", of, got, square)
		}
	}
}

// Records that agree where those that exchange differ are no candidates, and what is missing is no value.
func TestMatchedApart(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 29))
	c := exchanged(r, 400, 2, 2, 0.7, 0.5)
	area := make([]float64, 400) // the two of each cell differ in it
	for i := range area {
		area[i] = float64(i % 2)
	}
	for i := 0; i < 400; i += 8 {
		c.x[1][i] = math.NaN()
	}
	for i, j := range c.of {
		c.y[1][i] = c.x[1][j]
	}
	f, originals, e := c.frame(true)
	f = f.With(Column{Name: "area", Values: area})
	originals = append(originals, nil)
	apart := e
	apart.Apart = []int{len(originals) - 1}
	a, b := f.Matched(e, originals)[0], f.Matched(apart, originals)[0]
	if !slices.Equal(a.Likeliest, b.Likeliest) {
		t.Error("the two of a cell differ, and are not compared")
	}
	clear(area)
	f, originals, _ = c.frame(true)
	f = f.With(Column{Name: "area", Values: area})
	none := f.Matched(apart, append(originals, nil))[0]
	if !slices.Equal(none.Likeliest, c.y[0]) {
		t.Error("records that agree are compared")
	}
	if slices.ContainsFunc(a.Mean, math.IsNaN) {
		t.Error("a mean is missing")
	}
}
