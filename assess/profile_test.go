package assess

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func testColumns() []Column {
	return []Column{{Name: "income", Unit: "USD", Index: 0}, {Name: "time", Index: 1}, {Name: "class", Index: 2},
		{Name: "constant", Index: 3}}
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
			if g.N != int64(len(x)) || g.N+g.Nulls != got.Records || g.Min != x[0] || g.Max != x[len(x)-1] ||
				g.Decimals != w.Decimals || !slices.Equal(g.Quantiles, w.Quantiles) {
				t.Errorf("%s: %+v, want %+v", w.Name, g, w)
			}
			sd := math.Sqrt(variance(x))
			if !(math.Abs(g.SD-sd) <= 1e-11*sd) || math.Abs(w.SD-sd) > 1e-11*sd {
				t.Errorf("%s: SD %v and %v, want %v", w.Name, g.SD, w.SD, sd)
			}
			for _, q := range g.Quantiles {
				target, err := orderstat.ParseTarget(q.Target)
				must(t, err)
				if want := x[target.Rank(len(x))-1]; q.Value != want {
					t.Errorf("%s: %s = %v, want %v", w.Name, q.Target, q.Value, want)
				}
			}
			if !(math.Abs(got.Covariance[i][i]-sd*sd) <= 1e-11*sd*sd) || got.Covariance[i][0] != got.Covariance[0][i] {
				t.Errorf("%s: covariance %v", w.Name, got.Covariance[i])
			}
		}
		if d := []int{got.Columns[0].Decimals, got.Columns[2].Decimals, got.Columns[3].Decimals}; !slices.Equal(d,
			[]int{-1, 0, 1}) {
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
	if c := read.Columns[0]; c.N != 0 || !math.IsNaN(c.Mean) || !math.IsNaN(c.SD) || !math.IsNaN(c.Min) ||
		c.Quantiles != nil {
		t.Errorf("%+v", c)
	}
}

func TestProfileOfALargeDataSetSaysThatItIsSampled(t *testing.T) {
	p := NewProfiler([]Column{{Name: "x"}})
	for _, b := range normalBlocks(t, 1, 150_000, 50_000, 1) {
		p.Add(b)
	}
	got := p.Profile()
	if got.QuantilesOf != QuantilesOfSample || p.sample.Len() != defaultSample {
		t.Errorf("quantiles of %s, %d records", got.QuantilesOf, p.sample.Len())
	}
	// N(100, 15²): the median of 100,000 has the standard error 15·1.25/√100000 = 0.06, and that of
	// the 150,000 themselves 0.05.
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
			t.Errorf("%s: the case has no effect on the file", name)
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
			t.Fatalf("a saved profile is refused: %v", err)
		}
	})
}
