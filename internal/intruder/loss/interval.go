package loss

import (
	"fmt"
	"math"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// Interval is interval disclosure at several widths k, the member "interval" of the
// attack's result. The keys of its maps are the widths as short decimals: "0.05".
//
// A limitation: a record counts only if the original value of every column lies in its
// interval. So the measure falls with each further column, while a further column helps
// an intruder who links records. On the CASC census set (1,080 records, 12 columns, 10
// % noise) it reports 0 at k = 0.05 where linkage finds 1,057 of the 1,080. A small
// value does not mean that the risk of identity disclosure is small; compare it with
// linkage, or compute it for single columns.
type Interval struct {
	// Risk is sdcMicro's dRisk: the share of records with
	// y_j − k·S_yj ≤ x_j ≤ y_j + k·S_yj in every column, where S_yj is the SD of the
	// released column (divisor n−1) and a cell that is missing on either side counts as
	// inside. This definition has two faults: more noise makes the interval wider, and
	// a completely suppressed release has risk 1.
	Risk map[string]float64 `json:"risk"`
	// Sound uses S_xj, the SD of the original, and ignores missing cells: it is the
	// share of records that have at least one cell with both values, and whose cells
	// with both values are all inside.
	Sound map[string]float64 `json:"sound"`
}

// IntervalOf computes interval disclosure at the given widths, in units of an SD. It
// returns an error if the pair is not valid or a width is negative or infinite.
func IntervalOf(p Pair, widths []float64) (*Interval, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	k := len(p.Names)
	sx, sy := make([]float64, k), make([]float64, k)
	for j := range p.Names {
		sx[j], sy[j] = MomentsOf(p.Original[j]).sd(), MomentsOf(p.Released[j]).sd()
	}
	for i, width := range widths {
		if !(width >= 0) || math.IsInf(width, 1) {
			return nil, fmt.Errorf("interval[%d]: must be at least 0 and finite, got %v", i, width)
		}
	}
	shares := make([][2]float64, len(widths))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, width := range widths {
		g.Go(func() error {
			defer bug.Guard()
			shares[i] = inside(p, width, sx, sy)
			return nil
		})
	}
	_ = g.Wait() // no function returns an error
	v := &Interval{Risk: map[string]float64{}, Sound: map[string]float64{}}
	for i, width := range widths {
		name := strconv.FormatFloat(width, 'g', -1, 64)
		v.Risk[name], v.Sound[name] = shares[i][0], shares[i][1]
	}
	return v, nil
}

// Bits of the state of a record in inside.
const (
	outside      = 1 << iota // of an interval of Risk
	outsideSound             // of an interval of Sound
	compared
)

func inside(p Pair, width float64, sx, sy []float64) (share [2]float64) {
	n := p.Records()
	state := make([]byte, n)
	for j := range p.Names {
		// The conversions round the products before they are added, on every processor.
		risk, sound := float64(width*sy[j]), float64(width*sx[j])
		released := p.Released[j][:n]
		for i, x := range p.Original[j][:n] {
			y := released[i]
			if x != x || y != y {
				continue
			}
			state[i] |= compared
			// If an SD is unknown (one value), no cell is outside, as in R.
			if x < y-risk || x > y+risk {
				state[i] |= outside
			}
			if x < y-sound || x > y+sound {
				state[i] |= outsideSound
			}
		}
	}
	var all, certain int
	for _, s := range state {
		if s&outside == 0 {
			all++
		}
		if s&(outsideSound|compared) == compared {
			certain++
		}
	}
	return [2]float64{float64(all) / float64(n), float64(certain) / float64(n)}
}
