package group

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/golden"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

// micro groups k records; groups of two have to be asked for.
func micro(k int, columns ...string) *Microaggregate {
	m := &Microaggregate{Columns: columns, K: &k}
	if k == 2 {
		m.Least = &k
	}
	return m
}

// Results of the established R package, to 1e-9: MDAV, and each column separately.
func TestMicroaggregateGolden(t *testing.T) {
	for _, tt := range []struct {
		file   string
		method string
	}{{"p05_tarragona_mdav3", "mdav"}, {"p06_tarragona_mafast3", "univariate"}} {
		t.Run(tt.file, func(t *testing.T) {
			_, x := golden.Columns(t, "golden", tt.file+"_orig.csv")
			_, want := golden.Columns(t, "golden", tt.file+"_masked.csv")
			var columns []testColumn
			for _, v := range x {
				columns = append(columns, floats(-1, v...))
			}
			m := micro(3, "a", "b", "c")
			m.Method = tt.method
			got := whole(t, chain(t, testSetup(t, columns...), mask(m)), 100, columns...)
			for k := range want {
				for i, w := range want[k] {
					if !(math.Abs(got[k][i]-w) <= 1e-9*max(1, math.Abs(w))) {
						t.Fatalf("column %d, record %d: got %v, want %v", k, i, got[k][i], w)
					}
				}
			}
		})
	}
}

// microData returns skewed columns and a column with two strata, with some missing values.
func microData(n int, seed uint64) []testColumn {
	r := rand.New(rand.NewPCG(seed, 3))
	columns := []testColumn{floats(-1, make([]float64, n)...), floats(-1, make([]float64, n)...),
		floats(-1, make([]float64, n)...), floats(0, make([]float64, n)...)}
	for i := range n {
		columns[0].Values[i] = math.Exp(2 * r.NormFloat64())
		columns[1].Values[i] = columns[0].Values[i] + r.NormFloat64()
		columns[2].Values[i] = 1e6 + r.Float64()
		columns[3].Values[i] = float64(r.IntN(2))
		for k := range 3 {
			if r.IntN(12) == 0 {
				columns[k].Null = append(columns[k].Null, i)
			}
		}
	}
	return columns
}

// Invariants of every release, whatever the groups: each value occurs in at least k records of the
// stratum or equals no original value, means are kept, and exactly the missing values are missing.
func TestMicroaggregateInvariants(t *testing.T) {
	for _, n := range []int{60, 500} {
		for _, k := range []int{2, 3, 7} {
			for _, method := range []string{"", "univariate"} {
				for _, by := range [][]string{nil, {"d"}} {
					columns := microData(n, uint64(n+k))
					m := micro(k, "a", "b", "c")
					m.Method, m.By, m.Share = method, by, ptr(1.0)
					got := whole(t, chain(t, testSetup(t, columns...), mask(m)), 64, columns...)
					for c := range 3 {
						missing := map[int]bool{}
						for _, i := range columns[c].Null {
							missing[i] = true
						}
						type key struct{ stratum, value float64 }
						held := map[key]int{}
						before, after, values := 0.0, 0.0, 0.0
						for i, y := range got[c] {
							if (y != y) != missing[i] {
								t.Fatalf("record %d: missing is %v, was %v", i, y != y, missing[i])
							}
							if y == y {
								stratum := 0.0
								if by != nil {
									stratum = columns[3].Values[i]
								}
								held[key{stratum, y}]++
								before, after, values = before+columns[c].Values[i], after+y, values+1
							}
						}
						for of, count := range held {
							if count < k {
								t.Errorf("n = %d, k = %d, %s, by %v: only %d records have the value %v", n, k, method, by, count, of.value)
							}
						}
						// Records with rare patterns take the means of others, so the mean may
						// change slightly under MDAV. If columns are masked separately it does not.
						if method != "" && math.Abs(after-before) > 1e-9*math.Abs(before) {
							t.Errorf("%s: sum %v, was %v", method, after, before)
						}
					}
				}
			}
		}
	}
}

// The limits of the blocks do not matter, neither in the survey nor afterwards.
func TestMicroaggregateBlocks(t *testing.T) {
	columns := microData(700, 9)
	m := micro(5, "a", "b", "c")
	m.By = []string{"d"}
	first := whole(t, chain(t, testSetup(t, columns...), mask(m)), 700, columns...)
	for _, size := range []int{1, 64, 333} {
		got := whole(t, chain(t, testSetup(t, columns...), mask(m)), size, columns...)
		for c := range first {
			if !slices.EqualFunc(first[c], got[c], func(a, b float64) bool {
				return math.Float64bits(a) == math.Float64bits(b)
			}) {
				t.Errorf("blocks of %d change column %d", size, c)
			}
		}
	}
}

// The median of a group with an even and with an odd number of records.
func TestMicroaggregateMedian(t *testing.T) {
	columns := []testColumn{floats(-1, 1, 2, 9, 10, 20, 60, 61)}
	for _, tt := range []struct {
		k    int
		want []float64
	}{{3, []float64{2, 2, 2, 40, 40, 40, 40}}, {2, []float64{1.5, 1.5, 9.5, 9.5, 60, 60, 60}}} {
		m := micro(tt.k, "a")
		m.Method, m.Aggregate = "univariate", "median"
		if got := whole(t, chain(t, testSetup(t, columns...), mask(m)), 7, columns...); !slices.Equal(got[0], tt.want) {
			t.Errorf("k = %d: %v, want %v", tt.k, got[0], tt.want)
		}
	}
}

// Released values have the column's number of decimals, and rejected records take no part.
func TestMicroaggregateGridAndRejects(t *testing.T) {
	columns := []testColumn{floats(1, 1, 1.1, 1.1, math.Inf(1), 8, 8.1, 8.1)}
	c := chain(t, testSetup(t, columns...), mask(micro(3, "a")))
	if err := c.Survey(block(0, 7, columns...)); err != nil {
		t.Fatal(err)
	}
	if err := c.EndSurvey(); err != nil {
		t.Fatal(err)
	}
	b := apply(t, c, block(0, 7, columns...))
	if !b.Rejected(3) {
		t.Error("an infinite value was not rejected")
	}
	got := slices.Delete(slices.Clone(b.Columns[0].Out().Values), 3, 4)
	if want := []float64{1.1, 1.1, 1.1, 8.1, 8.1, 8.1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := c.Touched()[0].Records; n != 2 {
		t.Errorf("touched %d records, want the 2 whose values changed", n)
	}
}

// If the data do not allow the mask, the error gives the place and the remedy, and no value.
func TestMicroaggregateRefusals(t *testing.T) {
	few := floats(0, 1234567, 2345678)
	constant := floats(0, 7654321, 7654321, 7654321, 7654321)
	missing := floats(0, 0, 0, 0, 0)
	missing.Null = []int{0, 1, 2, 3}
	plain := floats(0, 1000001, 2000002, 3000003, 4000004)
	strata := floats(0, 0, 0, 0, 9)
	alone, rest := floats(0, 1111111, 2222222, 3333333, 4444444), floats(0, 5555555, 6666666, 7777777, 8888888)
	alone.Null, rest.Null = []int{0, 1}, []int{2, 3}
	both := func(m *Microaggregate, method string, by ...string) *Microaggregate {
		m.Method, m.By = method, by
		return m
	}
	for _, tt := range []struct {
		what    string
		columns []testColumn
		m       *Microaggregate
		want    string
	}{
		{"fewer records than k", []testColumn{few}, micro(3, "a"),
			"masks[0].microaggregate.k: must be at most the records with a value in the same columns: the data have 2, got 3; lower k"},
		{"likewise in a column", []testColumn{few}, both(micro(3, "a"), "univariate"),
			"masks[0].microaggregate.k: must be at most the records with a value in columns[0]: the data have 2, got 3; lower k"},
		{"the last stratum", []testColumn{plain, strata}, both(micro(2, "a"), "", "b"),
			"masks[0].microaggregate.k: must be at most the records with a value in the same columns: a stratum has 1, got 2; name fewer columns in by"},
		{"the last stratum, by column", []testColumn{plain, strata}, both(micro(2, "a"), "univariate", "b"),
			"masks[0].microaggregate.k: must be at most the records with a value in columns[0]: a stratum has 1, got 2"},
		{"a constant column", []testColumn{plain, constant}, micro(2, "a", "b"),
			`masks[0].microaggregate.columns[1]: must have different values: those of "b" are all the same`},
		{"no value", []testColumn{plain, missing}, micro(2, "a", "b"),
			`masks[0].microaggregate.columns[1]: must have values: all of "b" are missing`},
		{"patterns that nobody else has", []testColumn{alone, rest}, micro(3, "a", "b"),
			"masks[0].microaggregate.k: must be at most"},
	} {
		c := chain(t, testSetup(t, tt.columns...), mask(tt.m))
		if err := c.Survey(block(0, len(tt.columns[0].Values), tt.columns...)); err != nil {
			t.Fatal(err)
		}
		err := c.EndSurvey()
		var of *core.SurveyError
		if !errors.As(err, &of) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.what, err, tt.want)
			continue
		}
		for _, column := range tt.columns {
			for _, v := range column.Values {
				if v > 1000 && strings.Contains(err.Error(), strconv.FormatFloat(v, 'f', 0, 64)) {
					t.Errorf("%s: shows a value: %v", tt.what, err)
				}
			}
		}
		if c.Apply(block(0, len(tt.columns[0].Values), tt.columns...)) == nil {
			t.Errorf("%s: masks all the same", tt.what)
		}
	}
}

// A file without records is no error.
func TestMicroaggregateNothing(t *testing.T) {
	columns := []testColumn{floats(0)}
	c := chain(t, testSetup(t, columns...), mask(micro(3, "a")))
	if err := c.Survey(block(0, 0, columns...)); err != nil {
		t.Fatal(err)
	}
	if err := c.EndSurvey(); err != nil {
		t.Error(err)
	}
}

// Exactly as many records as a group needs are enough. A stratum without any value does not count
// as too small.
func TestMicroaggregateOfJustEnough(t *testing.T) {
	a := floats(-1, 1, 2, 6, 0, 0)
	a.Null = []int{3, 4}
	by := floats(0, 1, 1, 1, 2, 2)
	m := micro(3, "a")
	m.By = []string{"b"}
	got := whole(t, chain(t, testSetup(t, a, by), mask(m)), 5, a, by)
	if want := []float64{3, 3, 3}; !slices.Equal(got[0][:3], want) || got[0][3] == got[0][3] || got[0][4] == got[0][4] {
		t.Errorf("got %v, want %v and two nulls", got[0], want)
	}
}

// A record with a rare pattern takes the values of the nearest group, in its own columns, and its
// own value enters no mean.
func TestMicroaggregateRarePattern(t *testing.T) {
	a := floats(-1, 1, 2, 3, 101, 102, 103, 100)
	b := floats(-1, 1, 2, 3, 101, 102, 103, 0)
	b.Null = []int{6}
	got := whole(t, chain(t, testSetup(t, a, b), mask(micro(3, "a", "b"))), 7, a, b)
	if want := []float64{2, 2, 2, 102, 102, 102, 102}; !slices.Equal(got[0], want) || got[1][6] == got[1][6] {
		t.Errorf("got %v, want %v", got[0], want)
	}
}

// Replicates of the same values share one result; those of other values have their own.
func TestMicroaggregateReplicates(t *testing.T) {
	columns := microData(300, 4)
	for i := range columns {
		columns[i].Null = nil
	}
	c := chain(t, testSetup(t, columns...), mask(micro(4, "a", "b", "c")))
	want := whole(t, c, 300, columns...)
	for m := range 3 {
		got := whole(t, c.Replicate(m+1), 300, columns...)
		if !slices.Equal(got[0], want[0]) {
			t.Error("a replicate of a mask that draws nothing differs from the release")
		}
	}
	columns[0].Values[7]++
	if got := whole(t, c.Replicate(4), 300, columns...); slices.Equal(got[0], want[0]) {
		t.Error("a replicate on different values has the result for the first values")
	}
	noisy := chain(t, testSetup(t, columns...), mask(&record.Noise{Columns: []string{"a"}, SD: amount(5)}),
		mask(micro(4, "a", "b", "c")))
	if slices.Equal(whole(t, noisy.Replicate(1), 300, columns...)[0], whole(t, noisy.Replicate(2), 300, columns...)[0]) {
		t.Error("replicates of noise in front of groups are all the same")
	}
}

// A record that was not in the survey is not released unmasked.
func TestMicroaggregateOtherRecords(t *testing.T) {
	columns := microData(100, 6)
	for i := range columns {
		columns[i].Null = nil
	}
	c := chain(t, testSetup(t, columns...), mask(micro(4, "a", "b", "c")))
	if err := c.Survey(block(0, 90, columns...)); err != nil {
		t.Fatal(err)
	}
	if err := c.EndSurvey(); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*microdata.Block{block(80, 100, columns...), block(90, 100, columns...)} {
		if c.Apply(b) == nil {
			t.Error("a record that was in no survey was masked")
		}
	}
	other := block(0, 90, columns...)
	other.Scope = "elsewhere"
	if c.Apply(other) == nil {
		t.Error("masked a record of another scope")
	}
}

// Places with gaps, from two streams in turn and from two scopes, as in a topic: each record gets
// the value of its own group.
func TestMicroaggregatePlaces(t *testing.T) {
	columns := microData(120, 8)
	for i := range columns {
		columns[i].Null = nil
	}
	of := func(stream int) *microdata.Block {
		b := block(40*stream, 40*stream+40, columns...)
		b.Stream, b.Scope = stream%2, []string{"x", "x", "y"}[stream]
		for i := range b.N {
			b.Places = append(b.Places, int64(100+3*i))
		}
		return b
	}
	c := chain(t, testSetup(t, columns...), mask(micro(4, "a", "b", "c")))
	for stream := range 3 {
		if err := c.Survey(of(stream)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.EndSurvey(); err != nil {
		t.Fatal(err)
	}
	want := whole(t, chain(t, testSetup(t, columns...), mask(micro(4, "a", "b", "c"))), 120, columns...)
	for _, stream := range []int{2, 0, 1} {
		if got := apply(t, c, of(stream)).Columns[0].Out().Values; !slices.Equal(got, want[0][40*stream:40*stream+40]) {
			t.Errorf("stream %d has the values of another stream", stream)
		}
	}
	gap := of(1)
	gap.Places[5]++
	if c.Apply(gap) == nil {
		t.Error("a record between two of the survey, which was not in it, was masked")
	}
}

// If the data exceed the memory, the survey's error suggests an alternative.
func TestMicroaggregateMemory(t *testing.T) {
	columns := microData(50, 1)
	c := chain(t, testSetup(t, columns...), mask(micro(3, "a", "b")))
	c.Steps[0].(*gathered.Step).All = little{}
	err := c.Survey(block(0, 50, columns...))
	if err == nil || !strings.Contains(err.Error(), "masks[0].microaggregate: must not be used on so many records") ||
		!strings.Contains(err.Error(), "noise, bias or round") {
		t.Errorf("got %v", err)
	}
}

type little struct{}

func (little) MaskAll(*gathered.Data) *decision.Refusal { return nil }
func (little) Most() int                                { return 99 }
func (little) Takes() (record, value int64)             { return 0, 0 }
