package linkage

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// NearestOf calls visit for each target with the released records that are nearest to it by Gower's
// distance: their indices in ascending order, more than one if they are tied, and all records if no two
// differ in any key. It calls visit once for each target, from several goroutines at once; the list is
// valid only during the call. Missing keys count as in Link.
//
// It compares every pair: 2,000 targets and 100,000 records of four keys take about 2 s of processor
// time (BenchmarkNearestOf). It returns an error if the keys do not fit each other, or if the context
// ends.
func NearestOf(ctx context.Context, targets, released Keys, visit func(target int, nearest []int32)) error {
	m := targets.Len()
	none := make([]int32, m) // no target has a record that is known to be its own
	for i := range none {
		none[i] = -1
	}
	o := Options{Distance: Gower, Truth: none}
	if err := check(targets, released, &o); err != nil {
		return err
	}
	s, err := newSpace(targets, released, &o)
	if err != nil {
		return err
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), m) {
		group.Go(func() {
			defer bug.Guard()
			var list []int32
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= m {
					return
				}
				list = s.nearestTo(list[:0], i, released.Len())
				visit(i, list)
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

// nearestTo appends to list the indices of those of the n records that are nearest to
// target i.
func (s *space) nearestTo(list []int32, i, n int) []int32 {
	target, best := s.target(i), math.Inf(1)
	complete := !slices.ContainsFunc(target, math.IsNaN) && !slices.ContainsFunc(s.lacking, func(l *lacking) bool { return l != nil })
	for r := range n {
		var sum float64
		if complete {
			sum = s.upTo(best, target, s.record(r))
		} else {
			sum = s.between(target, s.record(r))
		}
		switch {
		case sum < best:
			best, list = sum, append(list[:0], int32(r))
		case sum == best:
			list = append(list, int32(r))
		}
	}
	return list
}

// upTo returns the same sum as between, for records without missing coordinates. If the sum exceeds
// best, it may return a smaller value, but one above best.
func (s *space) upTo(best float64, a, b []float64) float64 {
	sum := 0.0
	for j, v := range a {
		switch {
		case s.kinds[j] == absolute:
			sum += float64(math.Abs(v-b[j]) * s.weights[j])
		case v != b[j]:
			sum += s.weights[j]
		}
		if sum > best {
			break
		}
	}
	return sum
}
