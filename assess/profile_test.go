package assess

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestDecimals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		values []float64
		want   int
	}{
		{nil, 0}, {[]float64{nan, inf}, 0}, {[]float64{1, 2, -3}, 0}, {[]float64{1e20, -1e300}, 0}, {[]float64{1 << 52, 1<<53 + 2}, 0},
		{[]float64{0.1}, 1}, {[]float64{1, 2.5, -0.25}, 2}, {[]float64{50.05, 18777.2}, 2}, {[]float64{0.5, nan, 1e18}, 1},
		{[]float64{0.30000000000000004}, -1}, {[]float64{1e-9}, 9}, {[]float64{1e-10}, -1}, {[]float64{1. / 3}, -1}, {[]float64{math.Pi}, -1},
		{[]float64{123456.789012345}, 9}, {[]float64{12345678.901234567}, -1}, {[]float64{math.SmallestNonzeroFloat64}, -1},
	} {
		if got := decimalsOf(c.values, 0); got != c.want {
			t.Errorf("%v: %d decimals, want %d", c.values, got, c.want)
		}
	}
	// Against the definition, on values of every number of decimals.
	rng := rand.New(rand.NewPCG(1, 9))
	for range 3000 {
		d := rng.IntN(10)
		x := math.Round(rng.NormFloat64()*1e4*powers[d]) / powers[d]
		want := 0
		for math.Round(x*powers[want])/powers[want] != x {
			want++
		}
		if got := decimalsOf([]float64{x}, 0); got != want {
			t.Fatalf("%v: %d decimals, want %d", x, got, want)
		}
	}
}

func testColumns() []Column {
	return []Column{{Name: "income", Unit: "USD", Index: 0}, {Name: "time", Index: 1}, {Name: "class", Index: 2}, {Name: "constant", Index: 3}}
}

// A profile of any split is that of the whole, and that of the definitions.
// A float32 shows the decimals of the shortest number that it stands for; one
// whose digits go to its last bit shows none.
func TestDecimalsOfSingle(t *testing.T) {
	single := func(values ...float64) []float64 {
		for i, v := range values {
			values[i] = float64(float32(v))
		}
		return values
	}
	for _, c := range []struct {
		values []float64
		want   int
	}{
		{single(1, 2, 3e10), 0},
		{single(9.3, -0.1, 12), 1},
		{single(1999.99, 0.05, 3), 2},
		{single(0.000123, math.NaN()), 6},
		{single(math.Pi, math.E), noGrid},
		{single(9.3, 100000/3.0), noGrid},
	} {
		if got := decimalsOfSingle(c.values, 0); got != c.want {
			t.Errorf("%v: got %d, want %d", c.values, got, c.want)
		}
	}
}

func TestProfile(t *testing.T) {
	for _, nulls := range []bool{false, true} {
		const n = 5003
		table := makePairs(21, n, nulls)
		whole := NewProfiler(testColumns())
		whole.Add(table.block(0, n))
		parts := [2]*Profiler{NewProfiler(testColumns()), NewProfiler(testColumns())}
		for from, i := 0, 0; from < n; from, i = from+701, i+1 {
			parts[i%2].Add(table.block(from, min(n, from+701)))
		}
		must(t, parts[0].Merge(parts[1]))
		want, got := whole.Profile(), parts[0].Profile()
		if got.QuantilesOf != QuantilesOfAll || got.Records != want.Records || got.Schema != ProfileSchema {
			t.Errorf("%+v", got)
		}
		for i, w := range want.Columns {
			var x []float64
			for r, v := range table.x[i] {
				if !table.rejected[r] && !math.IsNaN(v) {
					x = append(x, v)
				}
			}
			slices.Sort(x)
			g := got.Columns[i]
			if g.N != int64(len(x)) || g.N+g.Nulls != got.Records || g.Min != x[0] || g.Max != x[len(x)-1] || g.Decimals != w.Decimals || !slices.Equal(g.Quantiles, w.Quantiles) {
				t.Errorf("%s: %+v, want %+v", w.Name, g, w)
			}
			sd := math.Sqrt(variance(x))
			if math.Abs(g.SD-sd) > 1e-11*sd || math.Abs(w.SD-sd) > 1e-11*sd {
				t.Errorf("%s: SD %v and %v, want %v", w.Name, g.SD, w.SD, sd)
			}
			for _, q := range g.Quantiles {
				target, err := parseTarget(q.Target)
				must(t, err)
				if want := x[target.rank(len(x))-1]; q.Value != want {
					t.Errorf("%s: %s = %v, want %v", w.Name, q.Target, q.Value, want)
				}
			}
			if math.Abs(got.Covariance[i][i]-sd*sd) > 1e-11*sd*sd || got.Covariance[i][0] != got.Covariance[0][i] {
				t.Errorf("%s: covariance %v", w.Name, got.Covariance[i])
			}
		}
		if d := []int{got.Columns[0].Decimals, got.Columns[2].Decimals, got.Columns[3].Decimals}; !slices.Equal(d, []int{-1, 0, 1}) {
			t.Errorf("decimals %v, want -1, 0, 1", d)
		}

		text, err := SaveProfile(got)
		must(t, err)
		read, err := LoadProfile(text)
		must(t, err)
		again, err := SaveProfile(read)
		must(t, err)
		if string(again) != string(text) || read.Column("time").SD != got.Column("time").SD || read.Column("none") != nil {
			t.Errorf("a profile changes when it is saved and loaded:\n%s", text)
		}
	}
}

func TestProfileOfNothing(t *testing.T) {
	p := NewProfiler(testColumns()).Profile()
	text, err := SaveProfile(p)
	must(t, err)
	read, err := LoadProfile(text)
	must(t, err)
	if c := read.Columns[0]; c.N != 0 || !math.IsNaN(c.Mean) || !math.IsNaN(c.SD) || !math.IsNaN(c.Min) || c.Quantiles != nil {
		t.Errorf("%+v", c)
	}
}

func TestProfileOfALargeDataSetSaysThatItIsSampled(t *testing.T) {
	p := NewProfiler([]Column{{Name: "x"}})
	for _, b := range normalBlocks(t, 1, 150_000, 50_000, 1) {
		p.Add(b)
	}
	got := p.Profile()
	if got.QuantilesOf != QuantilesOfSample || p.sample.len() != defaultSample {
		t.Errorf("quantiles of %s, %d records", got.QuantilesOf, p.sample.len())
	}
	// N(100, 15²): the median of 100,000 has the standard error 15·1.25/√100000 =
	// 0.06, that of the 150,000 themselves 0.05.
	for _, q := range got.Columns[0].Quantiles {
		if q.Target == "p50" && math.Abs(q.Value-100) > 0.4 {
			t.Errorf("median %v", q.Value)
		}
	}
}

func TestLoadProfileRefuses(t *testing.T) {
	good, err := SaveProfile(NewProfiler([]Column{{Name: "wage"}}).Profile())
	must(t, err)
	for name, text := range map[string]string{
		"nothing":           "",
		"not YAML":          "a: [",
		"another schema":    strings.Replace(string(good), "profile/1", "profile/2", 1),
		"an unknown field":  string(good) + "secret4711: 1\n",
		"a second document": string(good) + "---\na: 1\n",
		"a word for an SD":  strings.Replace(string(good), "sd: .nan", "sd: secret4711", 1),
		"a negative SD":     strings.Replace(string(good), "sd: .nan", "sd: -4711", 1),
		"ten decimals":      strings.Replace(string(good), "decimals: 0", "decimals: 10", 1),
		"no name":           strings.Replace(string(good), "name: wage", `name: ""`, 1),
		"no covariance":     strings.Replace(string(good), "[[.nan]]", "[]", 1),
		"a ragged matrix":   strings.Replace(string(good), "[[.nan]]", "[[1, 2]]", 1),
	} {
		if text == string(good) {
			t.Errorf("%s: the case changes nothing", name)
		}
		_, err := LoadProfile([]byte(text))
		if err == nil {
			t.Errorf("%s must be refused", name)
		} else if strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: the error shows a value: %v", name, err)
		}
	}
}

func FuzzLoadProfile(f *testing.F) {
	p := NewProfiler([]Column{{Name: "wage"}})
	b := new(microdata.Block)
	b.Reset(0, 0, 3, 1)
	copy(b.Columns[0].Alloc(3, false).Values, []float64{1, 2.5, 4})
	p.Add(b)
	good, err := SaveProfile(p.Profile())
	must(f, err)
	f.Add(good)
	f.Add([]byte("schema: sdlfilter.profile/1\ncolumns: [{name: a}]\ncovariance: [[1]]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := LoadProfile(text)
		if err != nil {
			return
		}
		again, err := SaveProfile(p)
		must(t, err)
		if _, err := LoadProfile(again); err != nil {
			t.Fatalf("what was loaded and saved is refused: %v", err)
		}
	})
}
