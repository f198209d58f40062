package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

const (
	replicates = 200    // M of the paper
	boundary   = 35_000 // USD; above it, masking with unequal variances doubles λ²
)

// key is public and protects nothing: the figures are of public data.
func key() (keystream.Key, error) {
	secret := sha256.Sum256([]byte("sdlfilter: figures of the papers"))
	return keystream.NewKey(secret[:])
}

// incomes reads the 177 incomes that were constructed to match table 1 of the paper.
func incomes(root string) ([]float64, error) {
	f, err := os.Open(filepath.Join(root, "assess", "testdata", "tfs376_reconstruction.csv"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var x []float64
	lines := bufio.NewScanner(f)
	lines.Scan() // header
	for lines.Scan() {
		v, err := strconv.ParseFloat(lines.Text(), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: must be a number", f.Name(), len(x)+2)
		}
		x = append(x, v)
	}
	return x, lines.Err()
}

// measure returns U and R of y = max(0, x + ε), Var ε = λ² = f·S², by replication:
// equations 11, 12 and 14. If unequal, λ² is twice that above the boundary.
func measure(ctx context.Context, x []float64, k keystream.Key, f float64, unequal bool) (*assess.ColumnMeasures,
	error) {
	lower, above, factor := 0.0, float64(boundary), 2.0
	noise := &transform.Noise{Columns: []string{"income"}, SD: &transform.Amount{Value: math.Sqrt(f), Relative: true}}
	if unequal {
		noise.Tiers = []transform.Tier{{Above: &above, VarianceFactor: &factor}}
	}
	chain, err := transform.NewChain([]transform.Spec{
		{Params: noise},
		{Params: &transform.Truncate{Columns: []string{"income"}, Lower: &lower}},
	}, transform.Setup{Key: k, Columns: []transform.ColumnInfo{{
		Name: "income", Field: microdata.Field{Name: "income", Type: arrow.PrimitiveTypes.Float64}, SD: deviation(x),
		Mean: math.NaN(),
	}}})
	if err != nil {
		return nil, err
	}
	a, err := assess.New(assess.Options{
		Columns: []assess.Column{{Name: "income", Unit: "USD", Masked: true}}, Key: k,
		Targets: []string{"min", "p99", "max"}, Replicates: replicates,
		Replicate: func(m int) assess.Masker { return chain.Replicate(m) },
	})
	if err != nil {
		return nil, err
	}
	b := new(microdata.Block)
	b.Reset(0, 0, len(x), 1)
	copy(b.Columns[0].Alloc(len(x), false).Values, x)
	if err := chain.Apply(b); err != nil {
		return nil, err
	}
	a.Add(b)
	m, err := a.Measure(ctx)
	if err != nil {
		return nil, err
	}
	return m.Column("income"), nil
}

// deviation returns S, with divisor n−1.
func deviation(x []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(x)-1))
}

// shares returns the values of λ² as shares of S²: from 5 to 100 percent, as in the paper.
func shares() []float64 { return steps(0.05, 1, 0.01) }

// curvesOf returns the curves of figures 5 to 7 for one strategy, by "target, knowledge": U in
// 10⁻⁷ and R in 10⁻⁸.
func curvesOf(ctx context.Context, x []float64, k keystream.Key, unequal bool) (map[string]curve, error) {
	curves := map[string]curve{}
	for _, f := range shares() {
		c, err := measure(ctx, x, k, f, unequal)
		if err != nil {
			return nil, err
		}
		for _, r := range c.Risk {
			at := r.Target + ", " + r.Knowledge
			v := curves[at]
			v.parameter = "lambda^2/S^2"
			v.points = append(v.points, point{f, float64(c.Utility.U) * 1e7, float64(r.R) * 1e8})
			curves[at] = v
		}
	}
	return curves, nil
}

// empirical draws figures 5 to 7 of Duncan, Keller-McNulty and Stokes (2004).
func empirical(ctx context.Context, root string) ([]chart, error) {
	x, err := incomes(root)
	if err != nil {
		return nil, err
	}
	k, err := key()
	if err != nil {
		return nil, err
	}
	equal, err := curvesOf(ctx, x, k, false)
	if err != nil {
		return nil, err
	}
	unequal, err := curvesOf(ctx, x, k, true)
	if err != nil {
		return nil, err
	}
	named := func(of map[string]curve, id, name string, style int) curve {
		c := of[id]
		c.id, c.name, c.style = id, name, style
		return c
	}
	base := chart{
		source: "177 incomes built to table 1 of the paper; y = max(0, x + ε), λ² from 5 % (right) to 100 % of S²; M = 200",
		x:      axis{label: "data utility U, 10⁻⁷/USD²", min: 3, max: 10, ticks: steps(3, 10, 1)},
		y:      axis{label: "disclosure risk R, 10⁻⁸/USD²", min: 0.2, max: 20, log: true, ticks: decades(0.2, 20)},
		level:  &level{4, "largest tolerable risk, R = 4·10⁻⁸: an error of 5,000 USD"},
	}
	five, six, seven := base, base, base
	five.name, five.title = "duncan2004-figure5", "Figure 5: maximum or minimum as target"
	five.y.min, five.y.max, five.y.ticks = 0.5, 50, decades(0.5, 50)
	five.curves = []curve{named(equal, "max, position", "maximum, position known", 0),
		named(equal, "min, position", "minimum, position known", 1)}
	for _, f := range []float64{0.12, 0.17} {
		for _, p := range five.curves[0].points {
			if math.Abs(p.parameter-f) < 1e-9 {
				five.marks = append(five.marks,
					mark{x: p.x, y: p.y, text: fmt.Sprintf("λ² = %.2f S²", f), left: f < 0.13, down: f > 0.13})
			}
		}
	}
	five.describe =
		"R against U. The minimum's R stays above the tolerable risk for every λ² and settles at 25 (10⁻⁸); the maximum's reaches it at λ² = 0.15 S², U = 8.8 (10⁻⁷), in this run of 200 replicates."
	six.name, six.title = "duncan2004-figure6", "Figure 6: position against index, 99th percentile"
	six.curves = []curve{named(equal, "p99, index", "index known: the linked record", 0),
		named(equal, "p99, position", "position known: the 99th percentile of the release", 1)}
	six.describe = "R against U. Position knowledge has the greater R for every λ²."
	seven.name, seven.title = "duncan2004-figure7", "Figure 7: equal against unequal variance, 99th percentile by position"
	seven.curves = []curve{
		named(equal, "p99, position", "equal variance", 0),
		named(unequal, "p99, position", "unequal variance: λ² doubled above 35,000 USD", 1),
	}
	seven.curves[0].id, seven.curves[1].id = "equal variance", "unequal variance"
	seven.describe = "R against U. At every U the release with unequal variance has the smaller R."
	return []chart{five, six, seven}, nil
}
