package attack_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// guessed returns the result for one secret column, with one numeric and one categorical
// key.
func guessed(t *testing.T, d attack.Data, targets int, s attack.Secret) attack.GuessedColumn {
	t.Helper()
	r := run(t, d, attack.Options{Targets: targets, Attribute: &attack.Attribute{Within: 0.05, Of: []attack.Secret{s}}})
	if len(r.Attribute.Columns) != 1 || r.Attribute.Columns[0].Name != s.Name {
		t.Fatalf("got %+v", r.Attribute)
	}
	return r.Attribute.Columns[0]
}

// The guesses equal those of a search through all pairs, with the credit shared among ties.
func TestAttributeIsWhatAllPairsSay(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 15))
	for _, categories := range []bool{false, true} {
		const n = 90
		key, drawn := make([]float64, n), make([]float64, n)
		group, x, y, held := make([]int32, n), make([]float64, n), make([]float64, n), make([]bool, n)
		for i := range n {
			key[i], drawn[i], group[i] = float64(rng.IntN(12)), float64(rng.IntN(12)), int32(rng.IntN(3))
			x[i], y[i], held[i] = float64(rng.IntN(6)), float64(rng.IntN(6)), rng.IntN(3) == 0
		}
		key[0], drawn[1], x[4], y[7] = 0, 11, math.NaN(), math.NaN()
		d := attack.Data{
			Numeric: []attack.NumericColumn{{Name: "k", Original: key, Released: drawn},
				{Name: "x", Original: x, Released: y}},
			Linked:      []int{0, 1},
			Categorical: []attack.CategoricalColumn{{Name: "g", Original: group}}}
		got := guessed(t, d, 0, attack.Secret{Name: "x", Original: x, Released: y, Categories: categories, HeldOut: held})
		span := slices.Max(append(slices.Clone(key), drawn...)) - min(slices.Min(key), slices.Min(drawn))
		var right [2]float64
		var targets [2]int
		for i := range n {
			if x[i] != x[i] {
				continue
			}
			best, ties, credit := math.Inf(1), 0.0, 0.0
			for r := range n {
				dist := math.Abs(key[i]-drawn[r]) / span
				if group[i] != group[r] {
					dist++
				}
				if dist < best-1e-12 {
					best, ties, credit = dist, 0, 0
				}
				if dist <= best+1e-12 {
					ties++
					if x[i] == y[r] { // a twentieth of an SD is less than 1
						credit++
					}
				}
			}
			side := 0
			if held[i] {
				side = 1
			}
			targets[side]++
			right[side] += credit / ties
		}
		near(t, "right of those learnt from", got.Learnt.Right, right[0])
		near(t, "right of those set aside", got.HeldOut.Right, right[1])
		p, q := (right[0]+1)/float64(targets[0]+2), (right[1]+1)/float64(targets[1]+2)
		near(t, "excess", got.Excess, p-q)
		se := math.Sqrt(p*(1-p)/float64(targets[0]+2) + q*(1-q)/float64(targets[1]+2))
		near(t, "its standard error", got.StdError, se)
		near(t, "the most that it may be", got.Most, max(0, p-q+2*se))
		if got.Learnt.Targets != targets[0] || got.HeldOut.Targets != targets[1] || right[0] == 0 || right[1] == 0 {
			t.Errorf("%+v, want %v targets", got, targets)
		}
		if few := guessed(t, d, 10, attack.Secret{Name: "x", Original: x, Released: y, HeldOut: held}); few.Learnt.Targets !=
			10 || few.HeldOut.Targets != 10 {
			t.Errorf("of ten targets: %+v", few)
		}
		if none := guessed(t, d, 0, attack.Secret{Name: "x", Original: x, Released: y, HeldOut: make([]bool, n)}); none.
			HeldOut.Targets != 0 || none.Most != 1 {
			t.Errorf("where none is set aside nothing is known, and it says %+v", none)
		}
		for few, most := range map[int]bool{9: true, 10: false} {
			if c := guessed(t, d, few, attack.Secret{Name: "x", Original: x, Released: y, HeldOut: held}); (c.Most == 1) !=
				most {
				t.Errorf("of %d records: %+v", few, c)
			}
		}
	}
}

// secretData returns a key that is weakly correlated with the secret, a group, and a category; a
// fifth is set aside.
func secretData(n int) (key, secret, category []float64, group []int32) {
	rng := rand.New(rand.NewPCG(6, 15))
	for range n {
		k := rng.NormFloat64()
		key, secret = append(key, k), append(secret, 0.5*k+rng.NormFloat64())
		category, group = append(category, math.Floor(3*rng.Float64()+0.4*math.Abs(k))), append(group, int32(rng.IntN(3)))
	}
	return key, secret, category, group
}

// drawnBy returns the release of a synthesise mask for the secret and the category, and the records
// set aside.
func drawnBy(t *testing.T, m transform.Synthesise, columns ...[]float64) (out [][]float64, held []bool) {
	t.Helper()
	key, err := keystream.NewKey(append(make([]byte, 31), 9))
	if err != nil {
		t.Fatal(err)
	}
	setup := transform.Setup{Key: key, Window: 1 << 20}
	for i := range columns {
		name := []string{"secret", "category", "key"}[i]
		setup.Columns = append(setup.Columns,
			transform.ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64},
				Decimals: -1, SD: 1})
	}
	chain, err := transform.NewChain([]transform.Spec{{Params: &m}}, setup)
	if err != nil {
		t.Fatal(err)
	}
	n := len(columns[0])
	block := func() *microdata.Block {
		b := new(microdata.Block)
		b.Reset(0, 0, n, len(columns))
		for i, values := range columns {
			copy(b.Columns[i].Alloc(n, false).Values, values)
		}
		return b
	}
	if err := chain.Survey(block()); err != nil {
		t.Fatal(err)
	}
	if err := chain.EndSurvey(); err != nil {
		t.Fatal(err)
	}
	b := block()
	if err := chain.Apply(b); err != nil {
		t.Fatal(err)
	}
	for i := range columns {
		out = append(out, b.Columns[i].Out().Values)
	}
	set := chain.HeldOut()[0]
	for i := range n {
		held = append(held, set.Of("", 0, int64(i)))
	}
	return out, held
}

// The measure detects a synthesiser that leaks: direct draws from leaves of one record by the key,
// and whole records copied from the training data. It detects no leak in the draws of the masks:
// for regressions only chance, within five standard errors. From leaves of 10 with noise, a
// record's own value is drawn once in ten, and about half of these lie within a twentieth of an SD.
func TestAttributeSeesALeak(t *testing.T) {
	const n, share = 4000, 0.3
	key, secret, category, group := secretData(n)
	yes := share
	data := func(released []float64) attack.Data {
		return attack.Data{Numeric: []attack.NumericColumn{{Name: "key", Original: key, Released: released}},
			Linked:      []int{0},
			Categorical: []attack.CategoricalColumn{{Name: "group", Original: group}}}
	}
	for name, m := range map[string]transform.Synthesise{
		"parametric": {Columns: []string{"secret", "category"}, On: []string{"key"}, Categories: []string{"category"},
			HeldOut: &yes},
		"cart": {Columns: []string{"secret", "category"}, On: []string{"key"}, Categories: []string{"category"},
			Method: "cart", HeldOut: &yes},
		"all of it": {Columns: []string{"key", "secret", "category"}, Categories: []string{"category"}, Method: "cart",
			HeldOut: &yes},
	} {
		out, held := drawnBy(t, m, secret, category, key)
		for i, s := range []attack.Secret{{Name: "secret", Original: secret, Released: out[0], HeldOut: held},
			{Name: "category", Original: category, Released: out[1], Categories: true, HeldOut: held}} {
			c := guessed(t, data(out[2]), 0, s)
			expected := 0.0
			if name == "cart" {
				expected = 0.1
			}
			if c.Excess > expected+5*c.StdError || c.Excess < -5*c.StdError {
				t.Errorf("%s, column %d: excess %v ± %v", name, i, c.Excess, c.StdError)
			}
		}
	}
	// The leaks: the training values are in the release at the nearest key.
	_, held := drawnBy(t, transform.Synthesise{Columns: []string{"secret"}, HeldOut: &yes}, secret)
	var learnt []int
	for i := range n {
		if !held[i] {
			learnt = append(learnt, i)
		}
	}
	ofOne, copied, keys := make([]float64, n), make([]float64, n), make([]float64, n)
	rng := rand.New(rand.NewPCG(7, 15))
	for i := range n {
		best := learnt[0]
		for _, r := range learnt {
			if math.Abs(key[r]-key[i]) < math.Abs(key[best]-key[i]) {
				best = r
			}
		}
		row := learnt[rng.IntN(len(learnt))]
		ofOne[i], copied[i], keys[i] = secret[best], secret[row], key[row]
	}
	group = make([]int32, n) // the release does not contain the group
	for _, leak := range []struct {
		name           string
		released, keys []float64
		least          float64
	}{
		{"leaves of one", ofOne, key, 0.9},
		// A row is drawn at least once with probability 1 − exp(−n/learnt) = .76, and 3 % are
		// correct by chance.
		{"rows as they are", copied, keys, 0.65},
	} {
		c := guessed(t, data(leak.keys), 1000,
			attack.Secret{Name: "secret", Original: secret, Released: leak.released, HeldOut: held})
		if c.Excess < leak.least || c.Most < c.Excess || c.HeldOut.Right/float64(c.HeldOut.Targets) > 0.1 {
			t.Errorf("%s: %+v", leak.name, c)
		}
	}
}

func TestAttributeIsRefused(t *testing.T) {
	d, _ := few()
	n := len(d.Numeric[0].Original)
	whole := attack.Secret{Name: "s", Original: make([]float64, n), Released: make([]float64, n), HeldOut: make([]bool, n)}
	short := whole
	short.HeldOut = short.HeldOut[1:]
	alone := attack.Data{Numeric: d.Numeric, Linked: d.Linked[:1]}
	own := whole
	own.Name = d.Numeric[d.Linked[0]].Name
	for _, c := range []struct {
		d    attack.Data
		o    attack.Attribute
		want string
	}{
		{d, attack.Attribute{}, "must have synthetic columns with records that were set aside"},
		{d, attack.Attribute{Within: math.NaN(), Of: []attack.Secret{whole}}, "within must be at least 0"},
		{d, attack.Attribute{Within: math.Inf(1), Of: []attack.Secret{whole}}, "within must be at least 0"},
		{d, attack.Attribute{Of: []attack.Secret{short}}, "must have 4 records"},
		{alone, attack.Attribute{Of: []attack.Secret{own}}, "must have a key beside it"},
	} {
		if _, err := attack.Run(t.Context(), c.d, attack.Options{Attribute: &c.o}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if r := run(t, d, attack.Options{Attribute: &attack.Attribute{Of: []attack.Secret{whole}}}); r.Attribute.Columns[0].
		Learnt.Right != 4 {
		t.Errorf("equal values: %+v", r.Attribute)
	}
}
