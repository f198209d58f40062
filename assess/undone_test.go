package assess

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/joint"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
)

// knownOrigins knows fixed squares.
type knownOrigins struct {
	typical float64
	at      []float64
	near    bool
}

func (o *knownOrigins) Undone([]float64) (float64, []float64, bool) {
	return o.typical, o.at, o.at != nil
}
func (o *knownOrigins) Near(int64, []float64) bool { return o.near }

// undoneRow returns the square that undo leaves of one of 200, for values 0, 10, 20 and 30 of which the last is the
// target.
func undoneRow(u Undoing, target int, complete bool, linked ...float64) (square float64, row Risk) {
	x := []float64{20, 0, 30, 10}
	t := &riskTable{reckoning: &reckoning{a: &Accumulator{opts: Options{Columns: []Column{{Undoing: u}}}}}}
	t.data = &replicate.Data{N: 4, Records: 4, Complete: complete, Values: [][]float64{x, x}}
	if !complete {
		t.data.Records = 4000
	}
	t.of = view{x: &comoment.Pair{N: 4, Mi: 15, Cii: 500},
		targets: []located{{target: orderstat.Target{}, tau: 30, record: &sample.Extreme{X: 30}}}}
	for _, y := range linked {
		t.of.answers = append(t.of.answers, replicate.Answer{Linked: []float64{y}})
	}
	typical := Risk{}
	typical.set(200, 0)
	t.undo(-1, &typical)
	if target < 0 {
		return 1 / float64(typical.R), typical
	}
	row.set(200, 0)
	t.undo(target, &row)
	return 1 / float64(row.R), row
}

// The variance is 125, so a square of 200 is a correlation of 1 − 200/250 = 0.2, and the best linear estimate has (1 +
// 0.2)/2 of the square.
func TestUndoingLowersTheSquare(t *testing.T) {
	exact := &knownOrigins{typical: 50, at: []float64{1, 2, 3, 4}}
	for name, c := range map[string]struct {
		u        Undoing
		target   int
		complete bool
		linked   []float64
		want     float64
	}{
		"nothing moves": {Undoing{}, -1, true, nil, 200},
		"ranked":        {Undoing{Ranked: true}, -1, true, nil, 120},
		"shuffled":      {Undoing{Shuffled: true}, -1, true, nil, 100},
		"origins":       {Undoing{Ranked: true, Origins: exact}, -1, true, nil, 50},
		"origins, worse": {Undoing{Ranked: true, Origins: &knownOrigins{typical: 900, at: []float64{1, 2, 3, 4}}}, -1, true,
			nil, 120},
		"origins, unknown": {Undoing{Ranked: true, Origins: &knownOrigins{}}, -1, true, nil, 120},
		"a sample, near":   {Undoing{Ranked: true, Origins: &knownOrigins{near: true}}, -1, false, nil, 0},
		"a sample, far":    {Undoing{Ranked: true, Origins: exact}, -1, false, nil, 120},
		// 15 + 0.2·(y − 15) is 16 and 14: errors 14 and 16.
		"target":                     {Undoing{Ranked: true}, 0, true, []float64{20, math.NaN(), 10}, 200},
		"target, near":               {Undoing{Ranked: true}, 0, true, []float64{90, 100}, 2}, // 30 and 32: 0² and 2²
		"target, origins":            {Undoing{Ranked: true, Origins: exact}, 0, true, nil, 4},
		"target, shuffled":           {Undoing{Shuffled: true}, 0, true, []float64{21, 25}, 45}, // 7² − 8/2
		"target, shuffled, the mean": {Undoing{Shuffled: true}, 0, true, []float64{11, 15}, 200},
		"target without replicates":  {Undoing{Ranked: true}, 0, true, nil, 200},
	} {
		got, row := undoneRow(c.u, c.target, c.complete, c.linked...)
		if !(math.Abs(got-c.want) <= 1e-9*(1+c.want)) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if safe := name == "a sample, near"; row.Approximate != safe || (row.Errs == ErrsSafe) != safe {
			t.Errorf("%s: approximate %v, errs %q", name, row.Approximate, row.Errs)
		}
		if want := math.Sqrt(got); !(math.Abs(float64(row.RMSE)-want) <= 1e-9*(1+want)) {
			t.Errorf("%s: RMSE %v, want %v", name, row.RMSE, want)
		}
	}
}

// What a snooper has undone by index counts once: with a square of 200 of what is released, of which 100 is left by
// index, one who has the record and errs by 90 in square leaves 90, and not as many parts of what is left by index as of
// what is released; one who errs by more leaves what is left by index. Where nothing is moved, parts are what is stated.
func TestRecordUndoesOnce(t *testing.T) {
	f := &recordFrame{reckoning: &reckoning{a: &Accumulator{}}, complete: true}
	k := Risk{Target: TargetTypical, Knowledge: KnowledgeIndex}
	k.set(100, 0)
	for _, c := range []struct {
		square float64
		moved  bool
		want   float64
	}{{90, true, 90}, {150, true, 100}, {90, false, 45}, {0, true, 0}} {
		found := joint.Result{Square: c.square, Index: 200, Noise: 4}
		row := f.risk(k, joint.Found{Square: c.square, Index: 200, Realised: c.square}, &found, c.moved)
		if got := 1 / float64(row.R); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v", c, got)
		}
		if want := float64(row.R) * 2 / c.square; c.moved && c.want == c.square && c.square > 0 &&
			math.Abs(float64(row.SE)-want) > 1e-9 {
			t.Errorf("%+v: standard error %v, want %v", c, row.SE, want)
		}
	}
}
