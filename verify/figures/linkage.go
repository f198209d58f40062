package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/parquet-go/parquet-go"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// targets is the least number of records that the experiment of figure 1 seeks.
const targets = 771

// runs is the number of runs of the experiment that are averaged.
const runs = 5

// record has the columns of the CPS records that the experiment uses.
type record struct {
	Wage       float64 `parquet:"wage"`
	Education  int64   `parquet:"education"`
	Experience int64   `parquet:"experience"`
	Ethnicity  string  `parquet:"ethnicity"`
	SMSA       string  `parquet:"smsa"`
	Region     string  `parquet:"region"`
	PartTime   string  `parquet:"parttime"`
}

// unusual returns the records of the rarest combinations of the categorical columns, as
// many combinations as together have the number of targets.
func unusual(records []record) [][]int {
	type combination [4]string
	members := map[combination][]int{}
	for i, r := range records {
		c := combination{r.Ethnicity, r.SMSA, r.Region, r.PartTime}
		members[c] = append(members[c], i)
	}
	var groups [][]int
	for _, g := range members {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b []int) int { return cmp.Or(len(a)-len(b), a[0]-b[0]) })
	sought := 0
	for i, g := range groups {
		if sought += len(g); sought >= targets {
			return groups[:i+1]
		}
	}
	return groups
}

// whiten writes the numeric columns in coordinates in which their covariance
// matrix is the identity: x = mean + L·w, L the Cholesky factor of the covariance.
func whiten(records []record) ([][3]float64, error) {
	x := mat.NewDense(len(records), 3, nil)
	var mean [3]float64
	for i, r := range records {
		x.SetRow(i, []float64{r.Wage, float64(r.Education), float64(r.Experience)})
		for j := range mean {
			mean[j] += x.At(i, j) / float64(len(records))
		}
	}
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, x, nil)
	var factor mat.Cholesky
	if !factor.Factorize(&cov) {
		return nil, errors.New("the covariance matrix of the numeric columns must have full rank")
	}
	var l mat.TriDense
	factor.LTo(&l)
	w := make([][3]float64, len(records))
	for i := range w {
		for j := range 3 {
			v := x.At(i, j) - mean[j]
			for h := range j {
				v -= l.At(j, h) * w[i][h]
			}
			w[i][j] = v / l.At(j, j)
		}
	}
	return w, nil
}

// reidentified returns the sum of the credit for finding the sought records among others:
// 1 if the nearest released record in the metric of the covariance matrix is the record's
// own, 1/k if that is one of k equally near ones.
func reidentified(white, released [][3]float64, sought, among []int) (credit float64) {
	for _, t := range sought {
		at := white[t]
		own := squared(at, released[t])
		ties := 0
		for _, i := range among {
			d := squared(at, released[i])
			if d < own {
				ties = 0
				break
			}
			if d == own {
				ties++
			}
		}
		if ties > 0 {
			credit += 1 / float64(ties)
		}
	}
	return credit
}

func squared(a, b [3]float64) float64 {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return x*x + y*y + z*z
}

// linkageFigure draws figure 1 of Duncan, Keller-McNulty and Stokes (2004). The paper's
// is from an experiment of Kim and Winkler with the Annual Housing Survey of 1993; this
// one is from the same experiment with the Current Population Survey of 1988.
func linkageFigure(ctx context.Context, root string) ([]chart, error) {
	records, err := parquet.ReadFile[record](filepath.Join(root, "examples", "cps", "cps1988.parquet"))
	if err != nil {
		return nil, err
	}
	white, err := whiten(records)
	if err != nil {
		return nil, err
	}
	groups := unusual(records)
	sought := slices.Concat(groups...)
	variances := []float64{0.0049, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2333, 0.5, 1, 9}
	within, overall, err := credits(ctx, white, groups, variances)
	if err != nil {
		return nil, err
	}
	lines := []curve{
		{id: "numbers and categories", name: "linked by the masked wage, education, experience and four unmasked categories",
			style: 0},
		{id: "numbers", name: "linked by the masked wage, education, experience alone, among all 28,155 records", style: 1},
	}
	for l, credit := range [][]float64{within, overall} {
		lines[l].parameter, lines[l].dots = "lambda^2", true
		for v, variance := range variances {
			share := credit[v] / float64(runs*len(sought))
			lines[l].points = append(lines[l].points, point{variance, 1 / (1 + variance), 100 * share})
		}
	}
	return []chart{{
		name: "duncan2004-figure1", title: "Figure 1: correlated noise and record linkage",
		source: fmt.Sprintf(
			"CPS 1988, not the paper's survey: %d records of unusual categories sought; λ² from 0.0049 (right) to 1, and 9 (left)", len(sought)),
		x:      axis{label: "data utility U = 1/(1+λ²), without unit", min: 0, max: 1, ticks: steps(0, 1, 0.1)},
		y:      axis{label: "disclosure risk R, % of the sought records found", min: 0, max: 80, ticks: steps(0, 80, 10)},
		curves: lines,
		describe: "R against U. With the categories R falls from 75 % at λ² = 0.0049 to 16 % at 0.2333, 6 % at 1 and 2 % at 9; " +
			"without them from 14 % to 0.3 % at 0.2333 and to nothing.",
	}}, nil
}

// credits returns the sums over all runs, by variance of the noise, of the credit for finding
// the records of the groups, among those of their own group and among all records.
func credits(ctx context.Context, white [][3]float64, groups [][]int, variances []float64) (within, overall []float64,
	err error) {
	sought := slices.Concat(groups...)
	everyone := make([]int, len(white))
	for i := range everyone {
		everyone[i] = i
	}
	k, err := key()
	if err != nil {
		return nil, nil, err
	}
	within, overall = make([]float64, len(variances)), make([]float64, len(variances))
	noise, released := make([][3]float64, len(white)), make([][3]float64, len(white))
	draws := make([]float64, len(white))
	for run := 1; run <= runs; run++ {
		for j, name := range []string{"wage", "education", "experience"} {
			k.Stream("kim", name, run).Normals(draws, keystream.Records{})
			for i, v := range draws {
				noise[i][j] = v
			}
		}
		for v, variance := range variances {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			// Noise with covariance matrix λ²Σ (Kim 1986) is λ times independent
			// normal deviates in white coordinates.
			for i := range released {
				for j := range 3 {
					released[i][j] = white[i][j] + math.Sqrt(variance)*noise[i][j]
				}
			}
			for _, g := range groups {
				within[v] += reidentified(white, released, g, g)
			}
			overall[v] += reidentified(white, released, sought, everyone)
		}
	}
	return within, overall, nil
}
