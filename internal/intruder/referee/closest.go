package referee

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
)

// Closest compares released records with the closest original and the closest control record, by Gower's distance.
type Closest struct {
	Released int `json:"released" doc:"number of released records that were looked at"`
	// Nearer is DCROverfittingProtection's closer_to_training of SDMetrics, but for ranges that are the same for
	// both files.
	Nearer *Rate `json:"nearer,omitempty" doc:"released records that are nearer to an original record than to any control record"`
	Tied   *Rate `json:"tied,omitempty" doc:"released records that are as near to a control record"`
	// Share counts, of a tie with a original and b control records, a/(a+b): if the release tells of its own
	// records what it tells of others, all n + m of them are as likely to be the closest, and Share is n/(n+m).
	Share    *Rate     `json:"share,omitempty" doc:"released records whose closest record is an original one; of a original and b control records that tie it counts a/(a+b)"`
	Expected *float64  `json:"expected,omitempty" doc:"the share if nothing is memorised: that of the original records among original and control records; 0.5 if there are as many of both"`
	Excess   *Interval `json:"excess,omitempty" doc:"(share − expected)/(1 − expected), 0 if nothing is memorised, 1 if every released record is nearest to an original one"`
	Original Distances `json:"original" doc:"distances to original records"`
	Control  Distances `json:"control" doc:"distances to control records"`
	Not      string    `json:"not,omitempty" doc:"why there is no comparison"`
}

// Distances are those of released records to the records of one file.
type Distances struct {
	Same   *Rate    `json:"same,omitempty" doc:"released records that are equal to a record in all columns compared"`
	Median *float64 `json:"median,omitempty" doc:"median distance to the closest record, as a mean over the columns, each from 0 to 1"`
	Ratio  *float64 `json:"ratio,omitempty" doc:"median of the distance to the closest record divided by that to the second closest; 1 if both are 0"`
}

// Membership is how well the distance to the closest released record tells original from control records.
type Membership struct {
	Targets   [2]int    `json:"targets" doc:"numbers of original and of control records"`
	AUC       *Interval `json:"auc,omitempty" doc:"probability that an original record is nearer to the release than a control record, 0.5 if nothing is told; interval by DeLong, DeLong and Clarke-Pearson (1988)"`
	Advantage *Interval `json:"advantage,omitempty" doc:"share of the original minus share of the control records that are called members, by a distance that was chosen on the other half of the records; below 0 by chance"`
	Not       string    `json:"not,omitempty" doc:"why it was not measured"`
}

// near is what a search finds for a target.
type near struct {
	distance, second float64
	tied             int
}

// nearest returns the nearest candidates of each target, and the second nearest if they are asked for.
func (k searchKeys) nearest(ctx context.Context, second bool) ([]near, error) {
	search, err := k.search()
	if err != nil {
		return nil, err
	}
	search.Second = second
	found := make([]near, k.targets.Len())
	return found, search.Visit(ctx, func(i int, n *linkage.Neighbours) {
		found[i] = near{n.Distance, n.Second, len(n.Records)}
	})
}

func (r *run) closest(ctx context.Context) error {
	released := sample(r.d.Len(Released), r.o.Attempts, r.draws(2))
	c := &Closest{Released: len(released)}
	r.r.Closest = c
	if min(len(released), r.d.Len(Original)) < leastRecords {
		c.Not = "there are fewer than 10 original or released records"
		return nil
	}
	var found [2][]near
	for k, s := range []Side{Original, Control} {
		if r.d.Len(s) == 0 {
			c.Not = "there are no control records to compare with"
			return nil
		}
		var keys searchKeys
		keys.targets, keys.ranges = r.keys(r.known, Released, released)
		keys.candidates, _ = r.keys(r.known, s, nil)
		var err error
		if found[k], err = keys.nearest(ctx, true); err != nil {
			return err
		}
		*[]*Distances{&c.Original, &c.Control}[k] = r.distancesOf(found[k], r.d.Len(s))
	}
	if !r.usable {
		c.Not = "the control records cannot serve as such"
		return nil
	}
	var nearer, tied, share float64
	for i, a := range found[0] {
		switch b := found[1][i]; {
		case a.distance < b.distance:
			nearer++
			share++
		case a.distance == b.distance:
			tied++
			share += float64(a.tied) / float64(a.tied+b.tied)
		}
	}
	n := len(released)
	c.Nearer, c.Tied, c.Share = rate(n, nearer, r.z), rate(n, tied, r.z), rate(n, share, r.z)
	expected := float64(r.d.Len(Original)) / float64(r.d.Len(Original)+r.d.Len(Control))
	c.Expected = &expected
	beyond := func(x float64) float64 { return (x - expected) / (1 - expected) }
	c.Excess = &Interval{beyond(c.Share.Share), beyond(c.Share.Lower), beyond(c.Share.Upper)}
	return nil
}

// distancesOf describes the distances to the records of one file.
func (r *run) distancesOf(found []near, records int) (d Distances) {
	same := 0.0
	distances, ratios := make([]float64, len(found)), make([]float64, len(found))
	for i, n := range found {
		distances[i], ratios[i] = n.distance/float64(len(r.known)), 1
		if n.distance == 0 {
			same++
		}
		if n.second > 0 {
			ratios[i] = n.distance / n.second
		}
	}
	d.Same, d.Median = rate(len(found), same, r.z), median(distances)
	if records > 1 {
		d.Ratio = median(ratios)
	}
	return d
}

func (r *run) membership(ctx context.Context) error {
	m := &Membership{Targets: [2]int{len(r.targets[0]), len(r.targets[1])}}
	r.r.Membership = m
	switch {
	case m.Targets[1] == 0:
		m.Not = "there are no control records, who are not members"
		return nil
	case !r.usable:
		m.Not = "the control records cannot serve as such"
		return nil
	case min(m.Targets[0], m.Targets[1]) < leastTargets:
		m.Not = "there are fewer than 10 original or control records"
		return nil
	}
	found, err := r.targetKeys(r.known).nearest(ctx, false)
	if err != nil {
		return err
	}
	distances := make([]float64, len(found))
	for i, n := range found {
		distances[i] = n.distance
	}
	members, others := distances[:m.Targets[0]], distances[m.Targets[0]:]
	m.AUC, m.Advantage = r.auc(members, others), r.advantage(members, others)
	return nil
}

// leastTargets is the least number of targets of each group for membership.
const leastTargets = 10

// auc returns the probability that a member is nearer than another record, ties counting half, with the interval by
// DeLong et al. (1988, "Comparing the areas under two or more correlated receiver operating characteristic curves",
// Biometrics 44): the variance is that of the placements of the members over their number plus that of the others. If
// all placements are equal, Wilson's interval for as many attempts as the smaller group has takes its place.
func (r *run) auc(members, others []float64) *Interval {
	value, v := placements(members, others)
	_, w := placements(others, members)
	half := r.z * math.Sqrt(v/float64(len(members))+w/float64(len(others)))
	if half == 0 {
		n := min(len(members), len(others))
		wilson := rate(n, value*float64(n), r.z)
		return &Interval{value, wilson.Lower, wilson.Upper}
	}
	return &Interval{value, max(0, value-half), min(1, value+half)}
}

// placements returns the mean over x of the share of y that is greater, ties counting half, and its variance over x.
func placements(x, y []float64) (mean, variance float64) {
	sorted := slices.Clone(y)
	slices.Sort(sorted)
	share := make([]float64, len(x))
	for i, v := range x {
		from, _ := slices.BinarySearch(sorted, v)
		to, _ := slices.BinarySearch(sorted, math.Nextafter(v, math.Inf(1)))
		share[i] = (float64(len(sorted)-to) + float64(to-from)/2) / float64(len(sorted))
		mean += share[i] / float64(len(x))
	}
	for _, s := range share {
		variance += (s - mean) * (s - mean) / float64(len(x)-1)
	}
	return mean, variance
}

// advantage chooses, on every second record, the distance up to which calling records members does best, and measures
// it on the other ones; then the other way round. The mean has no bias from the choice.
func (r *run) advantage(members, others []float64) *Interval {
	var value, variance float64
	for half := range 2 {
		limit := bestLimit(everySecond(members, half), everySecond(others, half))
		for k, group := range [2][]float64{members, others} {
			rest := everySecond(group, 1-half)
			called := 0.0
			for _, d := range rest {
				if d <= limit {
					called++
				}
			}
			n := float64(len(rest))
			value += []float64{0.5, -0.5}[k] * called / n
			// With one success and one failure added (Agresti and Caffo 2000), so that no variance is 0.
			p := (called + 1) / (n + 2)
			variance += p * (1 - p) / (n + 2) / 4
		}
	}
	half := r.z * math.Sqrt(variance)
	return &Interval{value, max(-1, value-half), min(1, value+half)}
}

func everySecond(values []float64, from int) (list []float64) {
	for i := from; i < len(values); i += 2 {
		list = append(list, values[i])
	}
	return list
}

// bestLimit returns the distance up to which the share of members exceeds that of the others most.
func bestLimit(members, others []float64) float64 {
	type one struct {
		distance float64
		step     int // in units of 1/(members·others), so that no rounding decides
	}
	var list []one
	for _, d := range members {
		list = append(list, one{d, len(others)})
	}
	for _, d := range others {
		list = append(list, one{d, -len(members)})
	}
	slices.SortFunc(list, func(a, b one) int { return cmp.Compare(a.distance, b.distance) })
	limit, most, sum := math.Inf(-1), 0, 0
	for i, o := range list {
		sum += o.step
		if (i+1 == len(list) || list[i+1].distance > o.distance) && sum > most {
			limit, most = o.distance, sum
		}
	}
	return limit
}

// median returns that of values, the mean of the middle two, which it sorts; nil if there are none.
func median(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	m := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	return &m
}
