package intruder

import (
	"context"
	"math"
	"runtime"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
)

// Joint is what an intruder finds who matches all targets at once, knowing that no two of them have one
// record: the extension that Fienberg, Makov and Sanil (1997), section 5, propose.
type Joint struct {
	Correct float64 `json:"correct" doc:"number of targets that are matched with their own record; of m equal records each counts 1/m"`
}

// jointly gives each target a record of its own, so that the product of the densities is greatest: the
// most probable match of all, if each is as likely before. The threshold is not used.
func jointly(ctx context.Context, p *Problem, l likelihood, perBatch int) (*Joint, error) {
	m, n := len(p.Truth), len(p.Released[0])
	cost := make([]float64, m*n)
	if err := densities(ctx, l, perBatch, m, n, cost); err != nil {
		return nil, err
	}
	correct, err := linkage.Assign(ctx, cost, m, n, valuesOf(p.Targets), valuesOf(p.Released), func(a int) int {
		return int(p.Truth[a])
	})
	if err != nil {
		return nil, err
	}
	return &Joint{Correct: correct}, nil
}

// valuesOf returns the function that gives the keys of a target or record.
func valuesOf(columns [][]float64) func(i int) []float64 {
	return func(i int) []float64 {
		values := make([]float64, len(columns))
		for j, c := range columns {
			values[j] = c[i]
		}
		return values
	}
}

// densities fills the matrix of m targets and n records with negative log densities, in each row from 0.
func densities(ctx context.Context, l likelihood, perBatch, m, n int, cost []float64) error {
	batches := (m + perBatch - 1) / perBatch
	errs := make([]error, batches)
	next := make(chan int)
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), batches) {
		wait.Go(func() {
			defer bug.Guard()
			for b := range next {
				errs[b] = densitiesOf(ctx, l, b*perBatch, min((b+1)*perBatch, m), n, cost)
			}
		})
	}
	for b := range batches {
		next <- b
	}
	close(next)
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func densitiesOf(ctx context.Context, l likelihood, first, end, n int, cost []float64) error {
	targets := make([]int, end-first)
	for a := range targets {
		targets[a] = first + a
	}
	b, err := l.batch(targets)
	if err != nil {
		return err
	}
	q, f := make([]float64, blockRecords), make([]float64, blockRecords)
	for lo := 0; lo < n; lo += blockRecords {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+blockRecords, n)
		if err := b.load(lo, hi); err != nil {
			return err
		}
		for a, target := range targets {
			b.fill(a, lo, hi, q[:hi-lo], f[:hi-lo])
			row := cost[target*n+lo : target*n+hi]
			for i := range row {
				row[i] = q[i] - math.Log(f[i])
			}
		}
	}
	for _, target := range targets {
		row := cost[target*n : (target+1)*n]
		least := math.Inf(1)
		for _, v := range row {
			if v < least {
				least = v
			}
		}
		for i, v := range row {
			// Where no density is above 0, no record is more likely than another.
			if row[i] = v - least; math.IsInf(least, 1) {
				row[i] = 0
			}
		}
	}
	return nil
}
