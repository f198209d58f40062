package replicate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// turnsOf returns the groups of replicates that a worker makes one after another: each by itself
// or, if a question asks for Answer.Between, together with the next one on the same subset.
func turnsOf(replicates, subsets int, questions []Question) [][]int {
	var turns [][]int
	pairs := slices.ContainsFunc(questions, func(q Question) bool { return q.Between })
	for i := range replicates {
		switch {
		case !pairs:
			turns = append(turns, []int{i})
		case i/subsets%2 == 1: // the second of two
		case i+subsets < replicates:
			turns = append(turns, []int{i, i + subsets})
		default:
			turns = append(turns, []int{i})
		}
	}
	return turns
}

// take makes the replicates of one turn, for every point.
func (r *replicator) take(ctx context.Context, turn []int, subsets []*Subset, answers [][][]Answer) error {
	e := r.trial
	masks := make([][]Masker, len(turn))
	for j, i := range turn {
		masks[j] = e.Each(e.From + i)
	}
	for p := range e.Points {
		for j, i := range turn {
			err := ctx.Err()
			if err == nil {
				r.second = j > 0
				answers[p][i], err = r.until(ctx, p, masks[j][p], subsets[i%len(subsets)])
			}
			if err != nil {
				return fmt.Errorf("assess: replicate %d: %w", e.From+i, err)
			}
		}
	}
	if e.Done != nil {
		for range turn {
			e.Done(e.Points)
		}
	}
	return nil
}

// until is run; masks that can be cancelled are cancelled when ctx ends.
func (r *replicator) until(ctx context.Context, point int, mask Masker, s *Subset) ([]Answer, error) {
	if c, ok := mask.(interface{ Cancel() }); ok {
		defer context.AfterFunc(ctx, c.Cancel)()
	}
	answers, err := r.run(point, mask, s)
	if d, ok := mask.(interface{ Discard() }); ok {
		d.Discard()
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return answers, err
}

// pair stores the released values of the first of two replicates, and compares those of the second
// with them.
func (r *replicator) pair(k int, a *Answer, x, y []float64, valid microdata.Bitmap) {
	a.Between = math.NaN()
	if !r.questions[k].Between {
		return
	}
	if r.earlier == nil {
		r.earlier = make([][]float64, len(r.questions))
	}
	if !r.second {
		r.earlier[k] = append(r.earlier[k][:0], y...)
		return
	}
	n, sum := 0.0, 0.0
	for i, v := range r.earlier[k] {
		if w := y[i]; v == v && w == w && valid.Has(i) {
			n++
			sum += float64((x[i] - v) * (x[i] - w))
		}
	}
	a.Between = sum / n
}
