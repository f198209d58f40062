package intruder

import (
	"math"
	"sort"
)

// Moments are the mean and the standard deviation (divisor one less than the number)
// of a probability over targets.
type Moments struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// RankRow is one row of tables 4.3 to 4.6 of Fienberg, Makov and Sanil.
type RankRow struct {
	Rank       string  `json:"rank"`       // "1" … "10", ">10"
	Number     float64 `json:"number"`     // of targets; a fraction where records tie
	Cumulative float64 `json:"cumulative"` // of targets at this rank or a better one
	Posterior  Moments `json:"posterior" doc:"posterior of the true record"`
	TopTen     Moments `json:"top_ten" doc:"posterior of the ten best records together"`
}

// CurvePoint holds the intruder's results at one threshold.
type CurvePoint struct {
	Threshold float64 `json:"threshold"`
	Links     int     `json:"links"`
	Correct   float64 `json:"correct"`
	Expected  float64 `json:"expected_correct"`
	Precision float64 `json:"precision" doc:"correct links divided by links"` // Correct/Links
	// Correct/targets that have a record
	Recall float64 `json:"recall" doc:"correct links divided by targets with a record"`
}

// Worst is a target that is easy to find, with the indices of the target and of its
// record.
type Worst struct {
	Target    int     `json:"target"`
	Record    int     `json:"record"`
	Rank      float64 `json:"rank" doc:"rank of the true record; for tied records the mean of their ranks"`
	Posterior float64 `json:"posterior"`
}

// Quadrature bounds the error of the numerical integration under d.2, see
// docs/intruder.md.
type Quadrature struct {
	// LogDensityError bounds the error of the logarithm of one key's density: the
	// greatest difference between the rule and the same rule with twice the step, plus
	// the error of the interpolation table if there is one.
	LogDensityError float64 `json:"log_density_error" doc:"bound of the error of the logarithm of one key's density"`
	// PosteriorError bounds the relative error of a posterior that follows from
	// LogDensityError.
	PosteriorError float64 `json:"posterior_error" doc:"bound of the relative error of a posterior"`
}

// Learned is what the intruder learns from units whose records are unknown to him.
type Learned struct {
	Units      int          `json:"units"`
	Iterations int          `json:"iterations"`
	Converged  bool         `json:"converged"`
	Keys       []LearnedKey `json:"keys"`
}

// LearnedKey is the posterior of the variances of one key: inverse gamma again.
type LearnedKey struct {
	PhiShape   float64 `json:"phi_shape"`
	PhiScale   float64 `json:"phi_scale"`
	SigmaShape float64 `json:"sigma_shape"`
	SigmaScale float64 `json:"sigma_scale"`
}

// Result is the "bayes" object of an attack. Counts are fractions where records tie:
// k records of equal density share their k ranks, with 1/k of the target at each rank,
// and a link to one of k best records is correct with probability 1/k.
type Result struct {
	// "d.1" or "d.2"
	Knowledge string  `json:"knowledge" doc:"d.1: variances of bias and noise are known; d.2: they have priors"`
	Threshold float64 `json:"threshold" doc:"a link is made if the greatest posterior exceeds this"`
	// Correct is the number of correct links at the threshold, Links the number of
	// links.
	Correct float64 `json:"correct" doc:"number of correct links; a tie of m records counts 1/m"`
	Links   int     `json:"links" doc:"number of links"`
	// ExpectedCorrect is the number of correct links that the intruder expects: the sum
	// of the posteriors of the links. It agrees with Correct if the intruder's model is
	// true.
	ExpectedCorrect float64 `json:"expected_correct" doc:"number of correct links that the intruder himself expects"`
	// PosteriorOfCorrect is the posterior of the true record over the correct links at
	// the threshold (the figures beside the counts in tables 2 and 3 of Trottini et
	// al.).
	PosteriorOfCorrect Moments `json:"posterior_of_correct" doc:"posterior of the true record, over the correct links"`
	// Rank counts the targets whose record has rank 1, 2, … 10, and a later one.
	Rank [11]float64 `json:"rank" doc:"number of targets whose record has rank 1, 2, … 10, and above 10"`

	// Jointly is what a joint match of all targets finds; nil if it was not asked for.
	Jointly *Joint `json:"jointly,omitempty" doc:"what is found by matching all targets at once, each to a record of its own"`

	Model      Model `json:"model"`
	Targets    int   `json:"targets"`
	WithRecord int   `json:"with_record" doc:"number of targets whose true record is known"`
	Records    int   `json:"records"`
	Population int   `json:"population"`
	// sum over targets of P(not in the release)
	Outside    float64      `json:"expected_outside" doc:"number of targets that the intruder expects to be absent from the release"`
	Ranks      []RankRow    `json:"ranks"`
	Curve      []CurvePoint `json:"curve" doc:"links, precision and recall by threshold"`
	Worst      []Worst      `json:"worst" doc:"targets most easily found: index among the targets, index of the record, both from 0"`
	Quadrature *Quadrature  `json:"quadrature,omitempty" doc:"bounds of the error of the integration over priors"`
	Learned    *Learned     `json:"auxiliary,omitempty" doc:"what the intruder learns from units without knowing which records are theirs"`

	// PerTarget has one entry per target, in the order of the targets.
	PerTarget []TargetResult `json:"-"`
}

// TargetResult is the intruder's result on one target. Rank and Posterior belong to the
// true record and are 0 if it is unknown.
type TargetResult struct {
	Rank      float64 // 1 + records before it + half of the others that tie with it
	Ties      int     // records with the same density as the true record, itself included
	Posterior float64
	Best      float64 // greatest posterior of a record
	TopTen    float64 // posterior of the ten best together
	Outside   float64 // posterior of not being in the release
	Linked    bool    // at the threshold
}

// linked is the decision rule (Trottini et al. A4): the best record is linked if its
// posterior exceeds t. A target is not linked if the probability that it is outside the
// release exceeds the posterior of every record (Fienberg et al.: the likeliest of the
// n+1 classes).
func (o *outcome) linked(t float64) bool {
	return o.best > t && o.best >= o.outside
}

// credit is the probability that a link is correct: 1 over the number of tied records
// if the true record is among the best, else 0.
func (o *outcome) credit() float64 {
	if o.ties == 0 || o.greater > 0 {
		return 0
	}
	return 1 / float64(o.ties)
}

// weighted accumulates mean and SD with the shares of targets as weights.
type weighted struct{ w, mean, m2 float64 }

func (a *weighted) add(w, x float64) {
	if w == 0 {
		return
	}
	a.w += w
	d := x - a.mean
	a.mean += d * w / a.w
	a.m2 += w * d * (x - a.mean)
}

func (a *weighted) moments() Moments {
	m := Moments{Mean: a.mean}
	if a.w > 1 {
		m.SD = math.Sqrt(a.m2 / (a.w - 1))
	}
	return m
}

var rankNames = [11]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", ">10"}

// summarise fills in the totals from the targets' outcomes, in their order.
func (r *Result) summarise(outcomes []outcome, truth []int32, worst int) {
	r.Targets = len(outcomes)
	r.PerTarget = make([]TargetResult, len(outcomes))
	var posterior, topTen [11]weighted
	var correct weighted
	for a := range outcomes {
		o := &outcomes[a]
		t := &r.PerTarget[a]
		*t = TargetResult{Ties: o.ties, Posterior: o.posterior, Best: o.best, TopTen: o.topTen, Outside: o.outside,
			Linked: o.linked(r.Threshold)}
		r.Outside += o.outside
		if t.Linked {
			r.Links++
			r.ExpectedCorrect += o.best
			r.Correct += o.credit()
			correct.add(o.credit(), o.posterior)
		}
		if o.ties == 0 {
			continue
		}
		r.WithRecord++
		t.Rank = float64(o.greater) + (float64(o.ties)+1)/2
		for j := range r.Rank {
			first, last := j, j+1 // ranks first+1 … last
			if j == 10 {
				last = math.MaxInt
			}
			share := float64(min(last, o.greater+o.ties)-max(first, o.greater)) / float64(o.ties)
			if share > 0 {
				r.Rank[j] += share
				posterior[j].add(share, o.posterior)
				topTen[j].add(share, o.topTen)
			}
		}
	}
	r.PosteriorOfCorrect = correct.moments()
	cumulative := 0.0
	for j, name := range rankNames {
		cumulative += r.Rank[j]
		r.Ranks = append(r.Ranks, RankRow{name, r.Rank[j], cumulative, posterior[j].moments(), topTen[j].moments()})
	}
	r.curve(outcomes)
	r.worst(outcomes, truth, worst)
}

// curve fills in the points at thresholds 0, 0.01, … 0.99 and stops at the first
// threshold without a link.
func (r *Result) curve(outcomes []outcome) {
	r.Curve = []CurvePoint{}
	for step := 0; step < 100; step++ {
		p := CurvePoint{Threshold: float64(step) / 100}
		for a := range outcomes {
			if o := &outcomes[a]; o.linked(p.Threshold) {
				p.Links++
				p.Correct += o.credit()
				p.Expected += o.best
			}
		}
		if p.Links == 0 {
			break
		}
		p.Precision = p.Correct / float64(p.Links)
		if r.WithRecord > 0 {
			p.Recall = p.Correct / float64(r.WithRecord)
		}
		r.Curve = append(r.Curve, p)
	}
}

func (r *Result) worst(outcomes []outcome, truth []int32, limit int) {
	if limit == 0 {
		limit = 10
	}
	r.Worst = []Worst{}
	for a := range outcomes {
		if outcomes[a].ties > 0 {
			r.Worst = append(r.Worst, Worst{a, int(truth[a]), r.PerTarget[a].Rank, outcomes[a].posterior})
		}
	}
	sort.SliceStable(r.Worst, func(i, j int) bool { return r.Worst[i].Posterior > r.Worst[j].Posterior })
	r.Worst = r.Worst[:min(limit, len(r.Worst))]
}
