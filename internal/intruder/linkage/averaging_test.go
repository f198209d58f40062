package linkage

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// released masks two columns with the chain of the program, in a file of the
// given order of the respondents, and puts them back in the respondents' order.
func released(t *testing.T, key byte, identity bool, order []int, columns [2][]float64, noise, phi float64) Keys {
	t.Helper()
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = key + byte(i)*7
	}
	k, err := keystream.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	setup := transform.Setup{Key: k}
	for i, name := range []string{"wage", "rent", "person"} {
		setup.Columns = append(setup.Columns, transform.ColumnInfo{Name: name, Index: i,
			Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}, Decimals: 6})
	}
	if identity {
		setup.Identity = []int{2}
	}
	masks := []transform.Spec{
		{Params: &transform.Noise{Columns: []string{"wage", "rent"}, SD: &transform.Amount{Value: noise}}}}
	if phi > 0 {
		masks = append(masks, transform.Spec{Params: &transform.Bias{Columns: []string{"wage"}, Phi: &phi}})
	}
	chain, err := transform.NewChain(masks, setup)
	if err != nil {
		t.Fatal(err)
	}
	n := len(order)
	b := new(microdata.Block)
	b.Reset(0, 0, n, 3)
	for c := range 3 {
		v := b.Columns[c].Alloc(n, false).Values
		for at, i := range order {
			if v[at] = float64(i); c < 2 {
				v[at] = columns[c][i]
			}
		}
	}
	if err := chain.Apply(b); err != nil {
		t.Fatal(err)
	}
	var r Keys
	for c := range 2 {
		x := make([]float64, n)
		for at, i := range order {
			x[i] = b.Columns[c].Out().Values[at]
		}
		r.Numeric = append(r.Numeric, x)
	}
	return r
}

// If k releases have different keys, or one key with draws by place while the order of
// the file changes, the mean squared error of the mean is λ²/k. The squared error of
// one record has a relative SD of √2, so that the mean of n = 4000 is within
// 5·√(2/4000) = 11 %. With identity the mean gains nothing.
func TestAveragingOfReleases(t *testing.T) {
	racetest.Alone(t)
	const n, k, lambda = 4000, 8, 30.0
	random := rand.New(rand.NewPCG(13, 14))
	var columns [2][]float64
	for range n {
		columns[0] = append(columns[0], math.Round(1e6*(500+100*random.NormFloat64()))/1e6)
		columns[1] = append(columns[1], math.Round(1e6*(50+60*random.NormFloat64()))/1e6)
	}
	original := numeric(columns[0], columns[1])
	for _, c := range []struct {
		name     string
		identity bool
		ownKeys  bool
		falls    bool
	}{
		{"a key each", false, true, true},
		{"a key each, with identity", true, true, true},
		{"one key, by place", false, false, true},
		{"one key, with identity", true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var releases []Keys
			for j := range k {
				key := byte(1)
				if c.ownKeys {
					key += byte(j)
				}
				releases = append(releases, released(t, key, c.identity, random.Perm(n), columns, lambda, 0))
			}
			a, err := Average(t.Context(), original, releases, Options{}, true)
			if err != nil {
				t.Fatal(err)
			}
			if a.Releases != k || len(a.Columns) != 2 {
				t.Fatalf("%d releases, %d columns", a.Releases, len(a.Columns))
			}
			for j, column := range a.Columns {
				if column.Compared != n || column.Equal == c.falls {
					t.Errorf("column %d: %d compared, equal %v", j, column.Compared, column.Equal)
				}
				for m, mse := range column.MSE {
					want := lambda * lambda
					if c.falls {
						want /= float64(m + 1)
					}
					if !(math.Abs(float64(mse)/want-1) < 0.11) {
						t.Errorf("column %d: the mean of %d has MSE %v, want %v", j, m+1, mse, want)
					}
					if column.R[m] != 1/mse || !c.falls && mse != column.MSE[0] {
						t.Errorf("column %d: the mean of %d has MSE %v and R %v, the first alone MSE %v", j, m+1, mse, column.R[m],
							column.MSE[0])
					}
				}
				switch {
				case !c.falls && (column.Within != 0 || column.Limit != column.MSE[0]):
					t.Errorf("column %d: within %v, limit %v", j, column.Within, column.Limit)
				case c.falls && !(math.Abs(float64(column.Within)/(lambda*lambda)-1) < 0.11):
					t.Errorf("column %d: within %v", j, column.Within)
				// MSE and Within/k estimate the same λ²/k: their difference has the two's errors.
				case c.falls && !(column.Limit < 2*0.11*lambda*lambda/k):
					t.Errorf("column %d: limit %v", j, column.Limit)
				}
			}
			single, averaged := a.Linkage.Single, a.Linkage.Averaged
			if !c.falls {
				if !reflect.DeepEqual(single, averaged) {
					t.Errorf("linkage finds %v in one release and %v in the mean", single.ExpectedCorrect, averaged.ExpectedCorrect)
				}
				return
			}
			// With two keys the number of records near a target is proportional to the
			// area of the noise, λ²/k: so k times as many targets are found, as long as
			// these are few. The numbers found are binomial, with a variance of at most
			// their mean.
			found, alone := averaged.ExpectedCorrect, single.ExpectedCorrect
			if !(found > 2*alone && math.Abs(found-k*alone) < 5*math.Sqrt(found+k*k*alone)) {
				t.Errorf("linkage finds %v in one release and %v in the mean of %d", alone, found, k)
			}
		})
	}
}

// The mean does not reduce an error that all releases share: here they are derived from
// one masked file, each with its own noise. Of 20² + 10² the part 20² remains.
func TestAveragingLeavesWhatReleasesShare(t *testing.T) {
	const n, k = 4000, 10
	random := rand.New(rand.NewPCG(15, 16))
	var x []float64
	releases := make([]Keys, k)
	for j := range releases {
		releases[j].Numeric = make([][]float64, 1)
	}
	for range n {
		v := 100 * random.NormFloat64()
		x = append(x, v)
		shared := v + 20*random.NormFloat64()
		for j := range releases {
			releases[j].Numeric[0] = append(releases[j].Numeric[0], shared+10*random.NormFloat64())
		}
	}
	a, err := Average(t.Context(), numeric(x), releases, Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	c := a.Columns[0]
	// As above, 11 %.
	for _, of := range [][2]float64{{float64(c.MSE[0]), 500}, {float64(c.MSE[k-1]), 410}, {float64(c.Limit), 400},
		{float64(c.Within), 100}} {
		if !(math.Abs(of[0]/of[1]-1) < 0.11) {
			t.Errorf("%v, want %v", of[0], of[1])
		}
	}
	if a.Linkage != nil || c.Equal {
		t.Errorf("linkage %v, equal %v", a.Linkage, c.Equal)
	}
}

func TestAveragingByHand(t *testing.T) {
	original := numeric([]float64{1, 2, missing, 4, 9}, []float64{0, 0, 0, 0, 0})
	releases := []Keys{
		numeric([]float64{7, 4, 2, 3, missing, 1}, []float64{7, 0, 0, 0, 0, 0}),
		numeric([]float64{7, 6, 2, 3, 8, 3}, []float64{7, 0, 0, 0, 0, 0}),
	}
	o := Options{Truth: []int32{5, 2, 3, 1, 4}}
	a, err := Average(t.Context(), original, releases, o, true)
	if err != nil {
		t.Fatal(err)
	}
	// Compared are 1: 1, 3; 2: 2, 2; 4: 4, 6.
	text, err := json.Marshal(a.Columns)
	if want := `[{"compared":3,"mse":[0,0.6666666666666666],"R":["Infinity",1.5],"within":1.3333333333333333,"limit":0,"equal":false},` +
		`{"compared":5,"mse":[0,0],"R":["Infinity","Infinity"],"within":0,"limit":0,"equal":true}]`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want\n%s", text, err, want)
	}
	if got := means([][]float64{releases[0].Numeric[0], releases[1].Numeric[0]}); !slices.Equal(got,
		[]float64{7, 5, 2, 3, 8, 2}) {
		t.Errorf("means %v", got)
	}
	single, err := Average(t.Context(), original, releases[:1], o, true)
	if err != nil || single.Columns[0].MSE[0] != 0 || !math.IsNaN(float64(single.Columns[0].Within)) ||
		!single.Columns[0].Equal {
		t.Errorf("%+v, %v", single.Columns, err)
	}
	for _, bad := range [][]Keys{nil, {original, numeric([]float64{1}, []float64{1})}, {numeric([]float64{1})}} {
		if _, err := Average(t.Context(), original, bad, Options{}, false); err == nil {
			t.Errorf("%d releases that do not fit are averaged", len(bad))
		}
	}
}
