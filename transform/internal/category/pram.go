package category

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// PRAM replaces each category by one that is drawn from the row of a transition matrix:
// the post-randomisation method of Gouweleeuw, Kooiman, Willenborg and de Wolf (1998),
// Journal of Official Statistics 14, 463.
type PRAM struct {
	Columns     []string                      `yaml:"columns" doc:"the columns to mask, all with the same matrix"`
	Matrix      map[string]map[string]float64 `yaml:"matrix" doc:"the transition matrix: for each category, the probability of each category that may be released instead; each row sums to 1, and a category that is left out has probability 0"`
	Keep        *float64                      `yaml:"keep" share:"whole" doc:"instead of matrix: the probability that a category is released unchanged; the rest is spread evenly over the other categories"`
	Categories  []string                      `yaml:"categories" doc:"with keep: all possible categories"`
	Invariant   bool                          `yaml:"invariant" doc:"adjust the matrix so that the expected frequencies are those of the original"`
	Frequencies map[string]float64            `yaml:"frequencies" doc:"with invariant: how often each category occurs in the original, as counts or shares; by default counted in a first pass"`
	By          []string                      `yaml:"by" doc:"with invariant, without frequencies: strata, each with its own frequencies and its own matrix"`
	Other       *string                       `yaml:"other" doc:"a category that replaces values which are not among the categories; without it such a record goes to quarantine"`
}

// Check implements Params.
func (m *PRAM) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	switch {
	case m.Matrix == nil && m.Keep == nil:
		ps.Addf("", "must have matrix or keep, got neither")
	case m.Matrix != nil && m.Keep != nil:
		ps.Addf("", "must have matrix or keep, got both")
	}
	if m.Keep != nil {
		ps.Between("keep", *m.Keep, 0, 1)
	}
	m.checkCategories(&ps)
	m.checkMatrix(&ps)
	m.checkFrequencies(&ps)
	m.checkStrata(&ps)
	if list := m.Listed(); m.Other != nil && len(list) > 0 && !slices.Contains(list, *m.Other) {
		ps.Addf("other", "must be one of the categories, got %q%s", *m.Other, check.Suggest(*m.Other, list))
	}
	return ps
}

func (m *PRAM) checkCategories(ps *check.Problems) {
	if m.Matrix != nil && m.Categories != nil {
		ps.Addf("categories", "must be left out with matrix, whose rows are the categories")
	}
	if m.Keep != nil && m.Matrix == nil && len(m.Listed()) < 2 {
		ps.Addf("categories", "must list at least 2 categories for keep, got %d", len(m.Listed()))
	}
	for i, name := range m.Categories {
		if slices.Contains(m.Categories[:i], name) {
			ps.Addf(fmt.Sprintf("categories[%d]", i), "must not repeat a category, got %q again", name)
		}
	}
}

// rowTolerance is how far the sum of a row of a matrix may be from 1: thirds and sixths written
// with a few decimals do not add up to 1 exactly.
const rowTolerance = 1e-6

func (m *PRAM) checkMatrix(ps *check.Problems) {
	if m.Matrix != nil && len(m.Matrix) == 0 {
		ps.Addf("matrix", "must have at least one row")
	}
	for _, from := range slices.Sorted(maps.Keys(m.Matrix)) {
		sum, sound := 0.0, true
		for _, to := range slices.Sorted(maps.Keys(m.Matrix[from])) {
			v := m.Matrix[from][to]
			if !(v >= 0 && v <= 1) {
				ps.Addf("matrix."+from+"."+to, "must be a probability between 0 and 1, got %v", v)
				sound = false
			}
			if _, row := m.Matrix[to]; !row {
				ps.Addf("matrix."+from+"."+to, "must be one of the categories that have a row, got %q%s", to,
					check.Suggest(to, slices.Sorted(maps.Keys(m.Matrix))))
				sound = false
			}
			sum += v
		}
		if sound && math.Abs(sum-1) > rowTolerance {
			ps.Addf("matrix."+from, "must sum to 1, got %v", sum)
		}
	}
}

func (m *PRAM) checkFrequencies(ps *check.Problems) {
	switch {
	case !m.Invariant && m.Frequencies != nil && (m.Categories != nil || m.Matrix != nil):
		ps.Addf("frequencies", "must be left out without invariant")
	}
	list, total := m.Listed(), 0.0
	for _, name := range slices.Sorted(maps.Keys(m.Frequencies)) {
		v := m.Frequencies[name]
		if !(v >= 0) || math.IsInf(v, 1) {
			ps.Addf("frequencies."+name, "must be a count or a share, at least 0, got %v", v)
		}
		if !slices.Contains(list, name) {
			ps.Addf("frequencies."+name, "must be one of the categories, got %q%s", name, check.Suggest(name, list))
		}
		total += v
	}
	if !m.Invariant || m.Frequencies == nil {
		return
	}
	for _, name := range list {
		if !(m.Frequencies[name] > 0) {
			ps.Addf("frequencies",
				"must be above 0 for each category, got none for %q: leave it out of the categories, or give it a frequency", name)
			return
		}
	}
}

// Listed returns the categories of the matrix's rows in the order of their text.
func (m *PRAM) Listed() []string {
	var list []string
	switch {
	case m.Matrix != nil:
		list = slices.Collect(maps.Keys(m.Matrix))
	case m.Categories != nil:
		list = slices.Clone(m.Categories)
	default:
		list = slices.Collect(maps.Keys(m.Frequencies))
	}
	slices.Sort(list)
	return list
}

// Transition returns the transition matrix, row by row in the order of categories; each row sums
// to 1. If frequencies are counted in a first pass, it is the matrix from which the invariant
// matrices are computed.
func (m *PRAM) Transition() (categories []string, p [][]float64) {
	categories = m.Listed()
	k := len(categories)
	for i, from := range categories {
		row := make([]float64, k)
		sum := 0.0
		for j, to := range categories {
			switch {
			case m.Matrix != nil:
				row[j] = m.Matrix[from][to]
			case i == j:
				row[j] = *m.Keep
			default:
				row[j] = (1 - *m.Keep) / float64(k-1)
			}
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
		p = append(p, row)
	}
	if m.Frequencies != nil {
		frequencies := make([]float64, k)
		for i, name := range categories {
			frequencies[i] = m.Frequencies[name]
		}
		p = InvariantMatrix(p, frequencies)
	}
	return categories, p
}

// InvariantMatrix returns R = P·Q with Q_lk = π_k P_kl / Σ_m π_m P_ml, the chance that what
// is released as l was k: π R = π (Gouweleeuw et al. 1998, section 5, the two-stage
// procedure), π being the frequencies, as counts or shares. A category whose frequency is 0
// is never released.
func InvariantMatrix(p [][]float64, frequencies []float64) [][]float64 {
	k := len(frequencies)
	r := make([][]float64, k)
	for i := range r {
		r[i] = make([]float64, k)
	}
	totals := make([]float64, k)
	for l := range k {
		for i, f := range frequencies {
			totals[l] += f * p[i][l]
		}
	}
	if a, b, even := evenMatrix(p); even && k > manyCategories {
		invariantEven(r, a, b, totals, frequencies)
		return r
	}
	for l, total := range totals {
		if total == 0 {
			continue // nothing is released as l at the first stage
		}
		for i := range k {
			if p[i][l] == 0 {
				continue
			}
			for j, f := range frequencies {
				r[i][j] += p[i][l] * (f * p[j][l] / total)
			}
		}
	}
	return r
}

// manyCategories is the number of categories above which the matrix of keep is neither listed nor multiplied by others
// cell by cell.
const manyCategories = 100

// evenMatrix reports whether a matrix is aI + bJ, as keep makes it, where J has 1 everywhere.
func evenMatrix(p [][]float64) (a, b float64, even bool) {
	if len(p) < 2 {
		return 0, 0, false
	}
	kept, other := p[0][0], p[0][1]
	for k, row := range p {
		for l, v := range row {
			want := other
			if k == l {
				want = kept
			}
			if !(math.Abs(v-want) <= 1e-12*want) { // rows are divided by their sums
				return 0, 0, false
			}
		}
	}
	return kept - other, other, kept > other
}

// invariantEven writes the invariant matrix of P = aI + bJ with a > 0, π_j Σ_l P_il P_jl/t_l, where t_l are the totals
// Σ_m π_m P_ml: Σ_l (aδ_il + b)(aδ_jl + b)/t_l = a²δ_ij/t_i + ab/t_i + ab/t_j + b² Σ_l 1/t_l.
func invariantEven(r [][]float64, a, b float64, totals, frequencies []float64) {
	per, sum := make([]float64, len(totals)), 0.0
	for l, total := range totals {
		if total > 0 {
			per[l] = 1 / total
			sum += per[l]
		}
	}
	for i, row := range r {
		for j, f := range frequencies {
			row[j] = f * (float64(a*b*(per[i]+per[j])) + float64(b*b*sum))
		}
		row[i] += float64(frequencies[i] * float64(a*a*per[i]))
	}
}

// Describe implements Params.
func (m *PRAM) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeRecord, Reads: m.readColumns(), OnCategories: true, LeavesAll: m.leavesAll, Retype: m.releasedField,
		NeedsFrequencies: m.needsFrequencies(), Axis: m.mapAxis(), Parameters: m.Parameters,
		Action: m.action, Published: m, OnColumn: m.onColumn, Among: m.CheckAmong, Frequencies: m.newFrequencies,
		KeepsCode: m.keepsCode, Mechanism: m.mechanism,
		// a category that the matrix does not have, or that the first pass has not seen
		Rejects: m.Other == nil || m.needsFrequencies() != "",
	}
}

// keepsCode: a category stays what it is, whoever has it. The one that replaces others stands for them too.
func (m *PRAM) keepsCode(c microdata.Code) bool {
	if m.Other == nil {
		return true
	}
	if c.IsText {
		return c.Text != *m.Other
	}
	x, err := strconv.ParseFloat(*m.Other, 64)
	return err != nil || x != c.Number
}

// Masks implements Params.
func (m *PRAM) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *PRAM) Reads() []string { return m.By }

func (m *PRAM) readColumns() []core.ReadColumn {
	var list []core.ReadColumn
	for i, name := range m.By {
		list = append(list, core.ReadColumn{Field: fmt.Sprintf("by[%d]", i), Name: name, As: "a stratum"})
	}
	return list
}

func (m *PRAM) releasedField(f microdata.Field) (microdata.Field, bool) {
	return core.CategoryField(f, m.Listed())
}

// mapAxis: the probability that a category is kept, from .5 to .95.
func (m *PRAM) mapAxis() core.Axis {
	if m.Matrix != nil {
		return core.Axis{}
	}
	return core.Axis{Rank: 3, Field: "keep", From: core.Amount{Value: 0.5}, To: core.Amount{Value: 0.95}}
}

// Parameters: The matrix is the one that categories were drawn with. With
// frequencies of a first pass, the invariant matrices would disclose the original frequencies
// and are left out. So is the matrix that keep makes of many categories.
func (m *PRAM) Parameters() []core.Parameter {
	var list []core.Parameter
	if !m.plain() && (m.Keep != nil || m.Matrix != nil) && m.needsFrequencies() == "" && len(m.Check()) == 0 {
		categories, p := m.Transition()
		rows := make(map[string]any, len(p))
		for k, row := range p {
			cells := make(map[string]any, len(row))
			for l, v := range row {
				cells[categories[l]] = v
			}
			rows[categories[k]] = cells
		}
		list = append(list, core.Parameter{Name: "matrix", Value: rows})
	}
	list = core.WithNumber(list, "keep", m.Keep)
	if m.Categories != nil {
		list = append(list, core.Parameter{Name: "categories", Value: core.JsonWords(m.Categories)})
	}
	if m.Invariant {
		list = append(list, core.Parameter{Name: "invariant", Value: true})
	}
	if m.Frequencies != nil {
		table := make(map[string]any, len(m.Frequencies))
		for name, v := range m.Frequencies {
			table[name] = v
		}
		list = append(list, core.Parameter{Name: "frequencies", Value: table})
	}
	if m.By != nil {
		list = append(list, core.Parameter{Name: "by", Value: core.JsonWords(m.By)})
	}
	if m.Other != nil {
		list = append(list, core.Parameter{Name: "other", Value: *m.Other})
	}
	return list
}

// plain reports whether keep says of many categories all that the matrix would.
func (m *PRAM) plain() bool {
	return m.Keep != nil && m.Matrix == nil && !m.Invariant && len(m.Listed()) > manyCategories
}

func (m *PRAM) action(string, float64) core.Action {
	if m.Keep == nil && m.Matrix == nil || len(m.Check()) > 0 {
		return nil
	}
	categories, p := m.Transition()
	a := core.Randomising{Categories: categories, Matrix: p, Other: m.Other}
	if m.needsFrequencies() != "" {
		a.Counted, a.By = true, m.By
	}
	return a
}

// PublishedAction implements Publishing: the matrix as far as it is published, nil where
// it is not.
func (m *PRAM) PublishedAction(p core.Published, _ string) core.Action {
	v, _ := p.Parameters("matrix")
	rows, _ := v.(map[string]any)
	if keep, ok := p.Float("keep"); ok && !p.Has("matrix") && !p.Has("invariant") &&
		len(p.List("categories")) > manyCategories {
		plain := &PRAM{Keep: &keep, Categories: p.List("categories")}
		a := core.Randomising{}
		a.Categories, a.Matrix = plain.Transition()
		return a
	}
	if len(rows) == 0 {
		return core.Randomising{Counted: p.Flag("invariant") && !p.Has("frequencies"), By: p.List("by")}
	}
	a := core.Randomising{Categories: slices.Sorted(maps.Keys(rows))}
	for _, from := range a.Categories {
		cells, _ := rows[from].(map[string]any)
		row := make([]float64, len(a.Categories))
		for l, to := range a.Categories {
			row[l], _ = cells[to].(float64)
		}
		a.Matrix = append(a.Matrix, row)
	}
	return a
}

// Words implements Publishing.
func (m *PRAM) Words(p core.Published, column string) string {
	s := "post-randomisation (PRAM): each category was replaced by one drawn from the row of a transition matrix"
	if keep, ok := p.Float("keep"); ok && !p.Has("invariant") {
		s += "; it stayed with probability " + p.Number(keep)
	}
	if p.Flag("invariant") {
		s += "; the matrix was made so that the expected frequencies are the original's"
		if by := p.List("by"); by != nil {
			s += ", in each stratum by " + strings.Join(by, ", ")
		}
	}
	return s
}

// EfficiencyFollows implements Publishing.
func (m *PRAM) EfficiencyFollows(has, named func(string) bool) bool {
	if !has("matrix") && has("keep") && !has("invariant") { // of many categories, see Parameters
		return named("keep") && named("categories")
	}
	return has("matrix") && named("matrix")
}

func (m *PRAM) onColumn(column string) core.Params {
	q := *m
	q.Columns = []string{column}
	return &q
}

func (m *PRAM) mechanism(string) core.Mechanism {
	switch {
	case m.Invariant:
		return core.Mechanism{Not: "the matrix is made of the frequencies of the data (invariant)"}
	case m.plain():
		k := float64(len(m.Listed()))
		even := (1 - *m.Keep) / (k - 1)
		return core.Mechanism{Kind: core.Responding, Categories: int(k), Matrix: [][]float64{{*m.Keep, even}, {even,
			*m.Keep}}}
	case len(m.Check()) > 0:
		return core.Mechanism{Not: "its parameters are not valid"}
	}
	_, p := m.Transition()
	return core.Mechanism{Kind: core.Responding, Categories: len(p), Matrix: p}
}

// leavesAll: each category is kept with probability 1, or is the only one
// of an invariant matrix.
func (m *PRAM) leavesAll() bool {
	if m.Invariant && m.Frequencies != nil {
		there := 0
		for _, n := range m.Frequencies {
			if n > 0 {
				there++
			}
		}
		if there < 2 {
			return true
		}
	}
	if m.Keep != nil {
		return *m.Keep >= 1
	}
	for from, row := range m.Matrix {
		if !(row[from] >= 1) {
			return false
		}
	}
	return true
}
