package assess

import (
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
)

// A spike is a value that at least spikeShare of the records have, leastSpike of them at least, and spikeHeight times
// as many as either distinct value beside it: an income of 0, or a code. Figures of a column with one say little of the
// other values, and so it is measured in two parts.
const (
	spikeShare  = 0.05
	spikeHeight = 5
	leastSpike  = 10
)

// Spikes are the values that many records of a masked column share, and the figures of the other records.
type Spikes struct {
	Values  []Spike `json:"values" doc:"in ascending order"`
	Rest    Rest    `json:"rest"`
	Sampled bool    `json:"sampled" doc:"whether all of this is of the keyed sample, not of all records"`
}

// Spike is a value that many records share.
type Spike struct {
	Value    Float `json:"value"`
	Share    Float `json:"share" doc:"share of the original values that are this one"`
	Released Float `json:"released_share" doc:"share of the released values that are this one"`
	Kept     Float `json:"kept" doc:"share of the records with this original value that are released with it; null if none of them is released with a value"`
}

// Rest has the figures of the records with both values whose original value is no spike, in this release (realised).
type Rest struct {
	N           int              `json:"n" doc:"number of records with an original and a released value whose original value is no spike"`
	Original    RestMoments      `json:"original"`
	Released    RestMoments      `json:"released"`
	RMSE        Float            `json:"rmse" doc:"root of the mean of (x − y)²: by how much a snooper who knows the index misses a typical one of these records"`
	RealisedR   Float            `json:"realised_R" doc:"1/mean of (x − y)², the disclosure risk of a typical one of these records by index in this release"`
	RealisedU   Float            `json:"realised_U" doc:"1/(S_y²/n + (ȳ − x̄)²) of these records in this release"`
	U0          Float            `json:"U0" doc:"n/S_x² of these records"`
	Percentiles []RestPercentile `json:"percentiles"`
}

// RestMoments are those of one side of a Rest.
type RestMoments struct {
	Mean Float `json:"mean"`
	SD   Float `json:"sd"`
}

// RestPercentile is the ⌈np⌉-th value of a Rest.
type RestPercentile struct {
	Name     string `json:"name"`
	Original Float  `json:"original"`
	Released Float  `json:"released"`
}

// spikesOf measures a column in two parts; nil if it has no spike, or not two different values beside it. x and y are
// original and released values, NaN where there is none.
func spikesOf(x, y []float64) *Spikes {
	if !mayShare(x) {
		return nil
	}
	sorted := slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return v != v })
	slices.Sort(sorted)
	values := spikesIn(sorted)
	if values == nil {
		return nil
	}
	all := float64(len(sorted))
	s := &Spikes{}
	released := 0.0
	for _, v := range y {
		if v == v {
			released++
		}
	}
	for _, v := range values {
		var of, with, kept, out float64
		for i, w := range x {
			if y[i] == v {
				out++
			}
			if w != v {
				continue
			}
			of++
			if y[i] == y[i] {
				with++
			}
			if y[i] == v {
				kept++
			}
		}
		s.Values = append(s.Values, Spike{Float(v), Float(of / all), Float(out / released), Float(kept / with)})
	}
	var before, after []float64
	for i, v := range x {
		if v == v && y[i] == y[i] && !slices.Contains(values, v) {
			before, after = append(before, v), append(after, y[i])
		}
	}
	s.Rest = restOf(before, after)
	return s
}

func restOf(x, y []float64) (rest Rest) {
	square := 0.0
	for i, v := range x {
		d := v - y[i]
		square += d * d
	}
	n := float64(len(x))
	of, out := comoment.Of(x), comoment.Of(y)
	rest = Rest{
		N: len(x), Original: RestMoments{Float(math.NaN()), Float(math.NaN())},
		Released: RestMoments{Float(math.NaN()), Float(math.NaN())},
		RMSE:     Float(math.Sqrt(square / n)), RealisedR: Float(n / square), RealisedU: Float(math.NaN()),
		U0:          Float(math.NaN()),
		Percentiles: []RestPercentile{},
	}
	if n == 0 {
		rest.RealisedR = Float(math.NaN())
		return rest
	}
	rest.Original.Mean, rest.Released.Mean = Float(of.Mi), Float(out.Mi)
	if n > 1 {
		rest.Original.SD, rest.Released.SD = Float(math.Sqrt(of.Variance())), Float(math.Sqrt(out.Variance()))
		bias := out.Mi - of.Mi
		rest.RealisedU, rest.U0 = Float(1/(out.Variance()/n+bias*bias)), Float(n/of.Variance())
	}
	x, y = slices.Clone(x), slices.Clone(y)
	slices.Sort(x)
	slices.Sort(y)
	for _, p := range []int{10, 50, 90} {
		k := max(1, (len(x)*p+99)/100) - 1
		rest.Percentiles = append(rest.Percentiles, RestPercentile{"p" + strconv.Itoa(p), Float(x[k]), Float(y[k])})
	}
	return rest
}

// mayShare reports whether some value may be that of spikeShare of the records: values are counted by a hash, so that a
// column without equal values need not be sorted.
func mayShare(x []float64) bool {
	var counts [1 << 10]int
	n := 0
	for _, v := range x {
		if v == v {
			counts[math.Float64bits(v+0)*0x9e3779b97f4a7c15>>54]++ // −0 + 0 is 0
			n++
		}
	}
	return float64(slices.Max(counts[:])) >= max(leastSpike, spikeShare*float64(n))
}

// spikesIn returns the spikes among ascending values; nil if there is none, or if not two different values are left.
func spikesIn(sorted []float64) (spikes []float64) {
	before, others := 0, 0
	for from := 0; from < len(sorted); {
		count := alikeFrom(sorted, from)
		after := 0
		if from+count < len(sorted) {
			after = alikeFrom(sorted, from+count)
		}
		if float64(count) >= spikeShare*float64(len(sorted)) && count >= leastSpike &&
			count >= spikeHeight*max(before, after) {
			spikes = append(spikes, sorted[from]+0)
		} else {
			others++
		}
		before, from = count, from+count
	}
	if others < 2 {
		return nil
	}
	return spikes
}

// alikeFrom returns how many ascending values equal the one at from.
func alikeFrom(sorted []float64, from int) int {
	return sort.Search(len(sorted)-from, func(i int) bool { return sorted[from+i] > sorted[from] })
}
