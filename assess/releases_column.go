package assess

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
)

// Together is what a snooper knows of a masked column who holds all releases of the ledger, for the rules of
// Rule.OfColumns.
type Together struct {
	// Unchanged is the share of respondents of whom some release has the original value, with two standard errors where
	// the records are a sample, or draws are not those of the earlier releases.
	Unchanged Float
	// Mean has R of each target for whoever knows the mean of the originals and those of all releases.
	Mean []Risk
	// Order is R of the typical record by the order of the records, which tells nothing; NaN where it may, and OrderNot
	// says why.
	Order    Float
	OrderNot string
}

// OfColumns reports whether the rule limits a measure of Together: with a ledger, what all releases tell of a column
// whatever else is known of the record. One that says releases: alone does not.
func (r Rule) OfColumns() bool {
	return r.Releases != ReleasesAlone && (r.limitsUnchanged() || r.Knowledge == KnowledgeMean ||
		r.Knowledge == KnowledgeOrder)
}

// limitsUnchanged reports whether the rule limits the share of unchanged values, to less than all.
func (r Rule) limitsUnchanged() bool { return r.MaxUnchanged != nil && *r.MaxUnchanged < 1 }

// together returns what all releases tell of a column; nil without a ledger, or if it is not known.
func (r *reckoning) together(c int, m *ColumnMeasures) *Together {
	e := r.a.opts.Earlier
	if e == nil || e.Not != "" || !m.Masked || m.Original.N == 0 {
		return nil
	}
	x := r.data.Original(c)
	var shown [][]float64
	if !r.a.opts.Columns[c].Withheld {
		shown = append(shown, r.data.Released(c))
	}
	for i, b := range r.a.opts.Beside {
		if b.Release > 0 && !b.Before && b.Piece == 0 && b.Of == m.Name {
			shown = append(shown, r.data.Values[r.a.layout.BesideAt(i)])
		}
	}
	t := &Together{Unchanged: Float(unchangedIn(x, shown, r.data.Complete)), Order: Float(math.NaN())}
	original := r.a.original.At(c, c)
	population, low, high := original.Cii/original.N, original.Mi, original.Mi
	for _, y := range shown {
		if n, mean, square := moved(x, y); n > 1 {
			width := 2 * math.Sqrt(2*max(0, square-mean*mean)/(n-1)) // of the sample, and of draws that are not known
			low, high = min(low, original.Mi+mean-width), max(high, original.Mi+mean+width)
		}
	}
	add := func(target string, square float64) {
		t.Mean = append(t.Mean, Risk{Target: target, Knowledge: KnowledgeMean, R: Float(estimate.Risk(square)),
			RMSE: Float(math.Sqrt(square))})
	}
	add(TargetTypical, population)
	for _, f := range r.targets[c] {
		apart := max(0, max(low-f.tau, f.tau-high)-f.slack)
		add(f.target.Name, apart*apart)
	}
	switch {
	case m.Order == nil:
		t.OrderNot = "what the order of the records tells was not measured"
	case m.Order.Departs && !m.Order.Shuffled:
		t.OrderNot = "the records leave in an order that tells of the column, and the fit of it to several releases is not computed"
	default:
		if t.OrderNot = e.orderNot(m.Name); t.OrderNot == "" {
			t.Order = Float(estimate.Risk(population))
		}
	}
	return t
}

// orderNot says why it is not known that the order of an earlier release tells nothing of a column; "" if none does.
func (e *Earlier) orderNot(column string) string {
	if e.OrderNot == nil {
		return "the order of earlier releases is not known"
	}
	return e.OrderNot(column)
}

// unchangedIn returns the share of the originals x that some release has, at its upper end (two standard errors).
func unchangedIn(x []float64, shown [][]float64, complete bool) float64 {
	n, hits := 0.0, 0.0
	for i, v := range x {
		there, equal := false, false
		for _, y := range shown {
			there, equal = there || y[i] == y[i], equal || y[i] == v
		}
		if v == v && there {
			n++
			if equal {
				hits++
			}
		}
	}
	switch {
	case n == 0 && complete:
		return 0
	case n == 0:
		return math.NaN()
	}
	const z = 2
	p := hits / n
	if complete {
		return min(1, p+z*math.Sqrt(p*(1-p)/n))
	}
	// Wilson's interval has an end above 0 where no record of a sample is unchanged.
	return min(1, (p+z*z/(2*n)+z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n)))/(1+z*z/n))
}

// moved returns the number of records of which a release has a number, and mean and mean square of its change.
func moved(x, y []float64) (n, mean, square float64) {
	for i, v := range cell.KnownValues(y) {
		if d := v - x[i]; d == d && v < Categories {
			n, mean, square = n+1, mean+d, square+d*d
		}
	}
	return n, mean / n, square / n
}

// judgeTogether judges a rule of OfColumns, which this release meets, by all of them.
func (r Rule) judgeTogether(c *ColumnMeasures, v RuleVerdict, not string) RuleVerdict {
	v.Rule += ", by all releases in the ledger"
	v.Found, v.Passed, v.Advice = Float(math.NaN()), false, ""
	t := c.Together
	if t == nil {
		v.Advice = notOfAll(cmp.Or(not, "it has no values today"))
		return v
	}
	if r.MaxUnchanged != nil {
		v.Found = t.Unchanged
		if v.Passed = float64(v.Found) <= *r.MaxUnchanged; !v.Passed {
			v.Advice = unchangedAdvice
		}
		return v
	}
	worst, target := Float(math.NaN()), ""
	if r.Knowledge == KnowledgeOrder {
		target = TargetTypical
		if worst = t.Order; worst != worst {
			v.Advice = notOfAll(t.OrderNot)
			return v
		}
	} else {
		for _, k := range t.Mean {
			if r.Target != "" && r.Target != k.Target {
				continue
			}
			if target == "" || !(k.R <= worst) {
				worst, target = k.R, k.Target
			}
			if worst != worst {
				break // nothing is worse than what is not known
			}
		}
	}
	rmse := math.Sqrt(1 / float64(worst))
	_, needed := r.riskVerdict(c.Unit)
	if r.MaxRisk != nil {
		v.Found, v.Passed = worst, float64(worst) <= *r.MaxRisk
	} else {
		v.Found, v.Passed = Float(rmse), rmse >= needed
	}
	if !v.Passed {
		v.Advice = fmt.Sprintf("%s: whoever knows the mean of the originals and those of all releases knows the target to ± %s",
			target, withUnit(rmse, c.Unit))
	}
	return v
}
