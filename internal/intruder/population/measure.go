package population

import (
	"context"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// Result holds the expected numbers of population uniques and of correct matches.
type Result struct {
	Model   string   `json:"model" doc:"how the log-linear model is fitted: default, ce, pml, weighted or ipf"`
	Formula string   `json:"formula" doc:"terms of the log-linear model beside its intercept"`
	Keys    []string `json:"keys" doc:"keys whose combinations are the cells of the table"`
	LeftOut []string `json:"left_out,omitempty" doc:"keys that the intruder knows and the formula leaves out: by them, more records are unique"`

	Records int     `json:"records" doc:"number of records with a value of each of these keys"`
	Missing int     `json:"missing" doc:"number of records without one of them, which are left out"`
	Size    float64 `json:"size" doc:"size of the population by the weights of these records"`

	Cells      int64 `json:"cells" doc:"number of cells of the table, empty ones among them"`
	Occupied   int   `json:"occupied" doc:"number of cells with at least one record"`
	Parameters int   `json:"parameters" doc:"number of coefficients that are estimated"`
	Iterations int   `json:"iterations" doc:"iterations of the fit"`
	Converged  bool  `json:"converged" doc:"whether the fit converged; if not, no rule is judged by it"`

	SampleUniques int `json:"sample_uniques" doc:"number of cells with one record"`
	// ModelUniques is Σ μ_k e^−μ_k over all cells.
	ModelUniques float64 `json:"model_uniques" doc:"the same as the model expects it: far from sample_uniques, the model does not hold, and neither do tau1 and tau2"`

	Tau1   float64 `json:"tau1" doc:"expected number of sample uniques that are unique in the population"`
	Tau1SE float64 `json:"tau1_se" doc:"standard error of tau1 as a prediction of that number, if the model holds"`
	Tau2   float64 `json:"tau2" doc:"expected number of correct matches, if for each sample unique one of the persons in the population with its keys is named"`
	Tau2SE float64 `json:"tau2_se" doc:"standard error of tau2 as a prediction of that number, if the model holds"`

	ModRisk ModRisk `json:"modrisk" doc:"what modRisk of sdcMicro reports, for comparison: it takes the expected count of the sample as that of the population, and divides by the number of occupied cells"`
}

// ModRisk holds the figures of sdcMicro's modRisk.
type ModRisk struct {
	GR1 float64 `json:"gr1" doc:"its first risk measure"`
	GR2 float64 `json:"gr2" doc:"its second risk measure"`
}

// Errors of a prediction that a rule allows for.
const errorsOf = 2

// UniquesMost is τ₁ with two standard errors, at most the number of sample uniques.
func (r *Result) UniquesMost() float64 {
	return math.Min(r.Tau1+errorsOf*r.Tau1SE, float64(r.SampleUniques))
}

// MatchesMost is τ₂ with two standard errors, at most the number of sample uniques.
func (r *Result) MatchesMost() float64 {
	return math.Min(r.Tau2+errorsOf*r.Tau2SE, float64(r.SampleUniques))
}

// Understates reports whether there are more sample uniques than the model explains: by four SDs of their
// number, which is at most Poisson. Its fitted counts of unique cells are then too great, and τ₁ and τ₂
// too small. So it is where terms are missing, and where there are so many that the model repeats the
// sample. A model that expects too many uniques overstates τ₁ and τ₂ as a rule.
func (r *Result) Understates() bool {
	return float64(r.SampleUniques)-r.ModelUniques > 4*math.Sqrt(max(r.ModelUniques, 1))
}

// Measure fits the model and predicts. A *Refusal is an error about the data or about a model that
// is too large for them.
func Measure(ctx context.Context, d Data, o Options) (*Result, error) {
	if err := check(d, o); err != nil {
		return nil, err
	}
	t, err := newTable(d)
	if err != nil {
		return nil, err
	}
	m, err := newDesign(d, o, t, o.Model == asked.Weighted)
	if err != nil {
		return nil, err
	}
	r := &Result{Model: o.Model.String(), Formula: o.Formula.String(), Records: t.records, Missing: t.missing,
		Size: t.weight, Cells: t.size, Occupied: len(t.cells)}
	for _, v := range d.Variables {
		r.Keys = append(r.Keys, v.Name)
	}
	for _, c := range t.cells {
		if c.count == 1 {
			r.SampleUniques++
		}
	}
	sound, theirs := t.counts(o.Model), t.theirCounts(o.Model)
	f, err := fitCounts(ctx, m, sound)
	if err != nil {
		return nil, err
	}
	r.Parameters, r.Iterations, r.Converged = len(f.keep), f.iterations, f.converged
	if err := r.predict(ctx, t, f, o.Model); err != nil {
		return nil, err
	}
	if theirs != nil {
		if f, err = fitCounts(ctx, m, theirs); err != nil {
			return nil, err
		}
	}
	r.compare(t, f)
	return r, nil
}

// counts returns what the model is fitted to.
func (t *table) counts(model asked.Model) *counts {
	c := &counts{y: t.column(func(c *cell) float64 { return c.count })}
	switch model {
	case asked.CE:
		c.offset = t.column(func(c *cell) float64 { return math.Log(c.count / c.weight) })
		c.empty = math.Log(float64(t.records) / t.weight)
	case asked.PML:
		c.y = t.column(func(c *cell) float64 { return c.weight })
	case asked.Weighted:
		c.extra = t.column(func(c *cell) float64 { return c.weight })
	}
	return c
}

// theirCounts returns what sdcMicro fits the model to; nil if it is the same.
func (t *table) theirCounts(model asked.Model) *counts {
	const added = 0.1 // to the mean inclusion probability of a cell
	switch model {
	case asked.CE:
		return &counts{y: t.column(func(c *cell) float64 { return c.count }),
			offset: t.column(func(c *cell) float64 { return math.Log(c.count/c.weight + added) }), empty: math.Log(added)}
	case asked.PML:
		each := float64(t.all) / t.allWeight
		return &counts{y: t.column(func(c *cell) float64 { return math.RoundToEven(c.weight * each) })}
	}
	return nil
}

func (t *table) column(of func(*cell) float64) []float64 {
	values := make([]float64, len(t.cells))
	for i := range t.cells {
		values[i] = of(&t.cells[i])
	}
	return values
}

// further returns v, the mean of the number of further persons in the population who share the keys
// of a sample unique, from its fitted value.
func (c *cell) further(model asked.Model, mu float64) float64 {
	π := min(c.inclusion, 1) // a weight below 1 counts as 1
	if model == asked.PML {
		return mu * (1 - π)
	}
	return mu / π * (1 - π)
}

// predict sets τ₁ and τ₂ and their standard errors.
func (r *Result) predict(ctx context.Context, t *table, f *fit, model asked.Model) error {
	each := 1.0 // of a fitted value: the expected count of the sample
	if model == asked.PML {
		each = float64(t.records) / t.weight
	}
	g1, g2 := make([]float64, f.m.k), make([]float64, f.m.k)
	var spread1, spread2 float64
	err := f.each(ctx, func(columns []int, values []float64, _, _, eta float64, occupied int) {
		mu := meanOf(eta)
		r.ModelUniques += each * mu * math.Exp(-each*mu)
		if occupied < 0 || t.cells[occupied].count != 1 {
			return
		}
		v := t.cells[occupied].further(model, mu)
		p, q := alone(v), match(v)
		r.Tau1 += p
		r.Tau2 += q
		spread1 += p * (1 - p)
		spread2 += max(matchSquare(v)-q*q, 0)
		for i, j := range columns { // v·d/dv, since ∂v/∂β = v·x
			g1[j] -= values[i] * v * p
			g2[j] += values[i] * (p - q)
		}
	})
	if err != nil {
		return err
	}
	var scatter []float64
	if model == asked.PML {
		scatter = t.column(func(c *cell) float64 { return c.square })
	}
	for _, of := range []struct {
		g      []float64
		spread float64
		se     *float64
	}{{g1, spread1, &r.Tau1SE}, {g2, spread2, &r.Tau2SE}} {
		v, err := f.variance(of.g, scatter)
		if err != nil {
			return err
		}
		*of.se = math.Sqrt(v + of.spread)
	}
	return nil
}

// compare sets the figures of modRisk: the fitted count stands for that of the population, and the
// sums are divided by the number of occupied cells.
func (r *Result) compare(t *table, f *fit) {
	f.occupied(func(_ []int, _ []float64, eta float64, cell int) {
		if t.cells[cell].count == 1 {
			v := (1 - t.cells[cell].inclusion) * meanOf(eta)
			r.ModRisk.GR1 += alone(v)
			r.ModRisk.GR2 += match(v)
		}
	})
	r.ModRisk.GR1 /= float64(len(t.cells))
	r.ModRisk.GR2 /= float64(len(t.cells))
}

// alone is P(N = 0), match E(1/(N + 1)) and matchSquare E(1/(N + 1)²) of a Poisson number N of mean v.
func alone(v float64) float64 { return math.Exp(-v) }

func match(v float64) float64 {
	if v == 0 {
		return 1
	}
	return -math.Expm1(-v) / v
}

func matchSquare(v float64) float64 {
	if v > 40 { // ∫ −ln(1−u)·e^−vu du = Σ (j−1)!/v^(j+1), to e^−v
		sum, add := 0.0, 1/(v*v)
		for j := 1.0; add > 1e-17*sum && j < v; j++ {
			sum += add
			add *= j / v
		}
		return sum
	}
	sum, p := 0.0, math.Exp(-v)
	for j := 0.0; j < 400; j++ {
		sum += p / ((j + 1) * (j + 1))
		p *= v / (j + 1)
	}
	return sum
}
