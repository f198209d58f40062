package synthesis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// Synthesise replaces all values of its columns by draws from models of them, one column
// after another in the order in which they are written: the first from its own distribution,
// each next one given On and those before it. Duncan and Keller-McNulty (2000), section 6.1;
// Raghunathan, Reiter and Rubin (2003); Reiter (2003), partially synthetic data.
//
// Numbers are modelled by a linear regression whose residuals are drawn from those of the data, each
// with a little normal noise added (a smoothed bootstrap, Silverman and Young 1987), so that no
// original value or residual is released. Categories, which are those of the data, are modelled by a
// multinomial logistic regression. With method cart both are drawn from the leaves of trees instead.
// Which numbers are a value that many records share (a spike) is drawn as a category first.
// Parameters are estimates, not draws from a posterior; Reiter and Kinney (2012) have shown the
// combining rule for this case.
type Synthesise struct {
	Columns []string `yaml:"columns" doc:"the columns to synthesise, in this order: each column is drawn conditionally on those before it"`
	On      []string `yaml:"on" doc:"columns that are not masked and on which all models depend: numeric columns, or columns named in categories; without them no synthetic record belongs to a person"`
	By      []string `yaml:"by" doc:"strata: a separate model is fitted for each combination of values of these columns"`
	// Categories are numbers or texts.
	Categories []string `yaml:"categories" doc:"which of columns and on are categorical (numbers or texts): they are drawn by logistic regression, and each category has one effect in the models of other columns"`
	Method     string   `yaml:"method" doc:"parametric (default): linear and logistic regressions; normal: the same with normal residuals and a mean that is drawn; cart: draws from the leaves of trees, smoothed for numbers" enum:"parametric,normal,cart"`
	Leaf       *int     `yaml:"leaf" doc:"with cart, the least number of records in a leaf, from 5; by default 10"`
	Bounds     string   `yaml:"bounds" doc:"data (default): no number is drawn beyond the least and greatest value of the column, so that it keeps its sign; none: numbers may lie beyond" enum:"data,none"`
	Rules      []string `yaml:"rules" doc:"values that follow from others, such as \"income = 0 if age < 16\": records that meet the condition, on columns of on or drawn before, get the value, and models are of the others"`
	HeldOut    *float64 `yaml:"held_out" share:"whole" doc:"the share of records, from 0.01 to 0.5, that are set aside at random, drawn with the key, and not used to fit the models, so that assess.intruder.attribute can measure what the release discloses about the others; by default 0"`
	Copy       *int     `yaml:"copy" doc:"the number of this synthetic copy, from 1 (default): each copy has its own random draws"`
	Copies     *int     `yaml:"copies" doc:"how many synthetic copies one run releases, from 2, each with its own random draws and in its own file: {copy} in the sink's path stands for the copy's number"`
}

// greatestCopy bounds the number of copies of one data set: the averages over many copies come
// near to the predictions of the model.
const greatestCopy = 100

// Check implements Params.
func (m *Synthesise) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	if n := len(m.Columns) + len(m.On); n > core.GreatestColumns {
		ps.Addf("on", "must leave at most %d columns together with those that are synthesised, got %d", core.GreatestColumns, n)
	}
	if len(m.On) > 0 {
		core.CheckColumns(&ps, "on", m.On, "column")
	}
	for i, name := range m.On {
		if k := slices.Index(m.Columns, name); k >= 0 && name != "" {
			ps.Addf(fmt.Sprintf("on[%d]", i),
				"must not be one of the columns that are synthesised, got %q, which is columns[%d]", name, k)
		}
		if k := slices.Index(m.By, name); k >= 0 && name != "" {
			ps.Addf(fmt.Sprintf("on[%d]", i), "must not be a stratum too, got %q, which is by[%d]", name, k)
		}
	}
	core.CheckStrata(&ps, m.By, m.Columns)
	if len(m.Categories) > 0 {
		core.CheckColumns(&ps, "categories", m.Categories, "column")
	}
	for i, name := range m.Categories {
		if name != "" && !slices.Contains(m.Columns, name) && !slices.Contains(m.On, name) {
			ps.Addf(fmt.Sprintf("categories[%d]", i), "must be one of columns or on, got %q%s", name,
				check.Suggest(name, slices.Concat(m.Columns, m.On)))
		}
	}
	core.CheckWord(&ps, "method", m.Method, "parametric", "normal", "cart")
	core.CheckWord(&ps, "bounds", m.Bounds, "data", "none")
	m.checkRules(&ps)
	switch {
	case m.Leaf == nil:
	case !m.trees():
		ps.Addf("leaf", "must be given with method: cart only; regressions have no leaves")
	case *m.Leaf < leastLeaf || *m.Leaf > core.GreatestK:
		ps.Addf("leaf", "must be at least %d and at most %d, got %d: values drawn from fewer records disclose these records",
			leastLeaf, core.GreatestK, *m.Leaf)
	}
	if m.HeldOut != nil {
		ps.Between("held_out", *m.HeldOut, 0.01, 0.5)
	}
	if m.Copy != nil && (*m.Copy < 1 || *m.Copy > greatestCopy) {
		ps.Addf("copy", "must be at least 1 and at most %d, got %d", greatestCopy, *m.Copy)
	}
	switch {
	case m.Copies == nil:
	case *m.Copies < 2 || *m.Copies > greatestCopy:
		ps.Addf("copies", "must be at least 2 and at most %d, got %d", greatestCopy, *m.Copies)
	case m.Copy != nil:
		ps.Addf("copy", "must not be given together with copies, which are numbered from 1; remove one of the two")
	}
	return ps
}

func (m *Synthesise) trees() bool { return m.Method == "cart" }

func (m *Synthesise) leaf() int {
	if m.Leaf == nil {
		return defaultLeaf
	}
	return *m.Leaf
}

func (m *Synthesise) heldOut() float64 {
	if m.HeldOut == nil {
		return 0
	}
	return *m.HeldOut
}

func (m *Synthesise) ofCategories(column string) bool { return slices.Contains(m.Categories, column) }

func (m *Synthesise) copies() int {
	if m.Copies == nil {
		return 1
	}
	return *m.Copies
}

func (m *Synthesise) ofCopy(number int) core.Params {
	one := *m
	one.Copy, one.Copies = &number, nil
	return &one
}

func (m *Synthesise) copyNumber() int {
	if m.Copy == nil {
		return 1
	}
	return *m.Copy
}

func (m *Synthesise) checkAmong(masks []core.Spec, i int) check.Problems {
	return append(core.CheckDataset(masks, i, "columns", ""), checkCopies(masks, i, m.copies())...)
}

// Describe implements Params.
func (m *Synthesise) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeDataset, Reads: m.readColumns(), NumbersRead: "on", Numbers: m.On, FitsData: true,
		Retype: m.releasedField,
		Axis:   m.mapAxis(), Parameters: m.parameters, Action: m.action, Published: m,
		Instead: "noise, which takes each record by itself",
		Among:   m.checkAmong, Copies: m.copies(), OfCopy: m.ofCopy, HeldOut: m.heldOut(), Texts: m.Categories,
	}
}

// Masks implements Params.
func (m *Synthesise) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Synthesise) Reads() []string { return slices.Concat(m.On, m.By) }

func (m *Synthesise) readColumns() []core.ReadColumn {
	var list []core.ReadColumn
	for i, name := range m.On {
		list = append(list, core.ReadColumn{Field: fmt.Sprintf("on[%d]", i), Name: name, As: "what a model goes by"})
	}
	return append(list, core.StrataRead(m.By)...)
}

// ReleasedField: texts stay texts.
func (m *Synthesise) releasedField(f microdata.Field) (microdata.Field, bool) {
	if f.Numeric() || !m.ofCategories(f.Name) {
		return f, false
	}
	return core.CategoryField(f, nil)
}

func (m *Synthesise) Compile(c *core.Chain, i int) (core.Step, error) {
	done := core.Part("synthesise", float64(m.copyNumber()), float64(len(m.On))) + c.DigestOf("on", m.On...) +
		c.DigestOf("by", m.By...)
	if len(m.Categories) > 0 {
		done += core.DigestOfTexts("categories", core.Sorted(m.Categories)...)
	}
	if m.trees() {
		done += core.Part("cart", float64(m.leaf()))
	}
	if m.Method == "normal" {
		done += core.Part("normal")
	}
	if h := m.heldOut(); h > 0 {
		done += core.Part("held out", h)
	}
	if m.Bounds == "none" {
		done += core.Part("unbounded")
	}
	arithmetic := m.synthesis()
	if len(arithmetic.rules) > 0 {
		var names []string
		for _, r := range arithmetic.rules {
			names = append(names, r.name())
		}
		done += core.DigestOfTexts("rules", names...)
	}
	if arithmetic.ordered = c.ReplicateNumber == 0 && len(c.Setup.Identity) > 0; arithmetic.ordered {
		done += core.Part("ordered")
	}
	arithmetic.key = c.Setup.Key
	s, err := gathered.NewOn(c, i, arithmetic, done, m.On)
	if err != nil {
		return nil, err
	}
	if err := settleRules(s, c, arithmetic.rules); err != nil {
		return nil, err
	}
	for _, col := range s.Columns {
		s.DrawsWords(c, col.Name, col.Done.Text) // the choice of a residual
		s.DrawsNormals(c, col.Name+"\x00smooth", col.Done.Text+"smooth;")
	}
	return s, nil
}

func (m *Synthesise) synthesis() *synthesis {
	s := &synthesis{heldOut: m.heldOut(), normal: m.Method == "normal", unbounded: m.Bounds == "none", rules: m.rules()}
	if m.trees() {
		s.leaf = m.leaf()
	}
	for _, name := range m.On {
		s.onCategories = append(s.onCategories, slices.Contains(m.Categories, name))
	}
	for _, name := range m.Columns {
		s.categories = append(s.categories, slices.Contains(m.Categories, name))
	}
	return s
}

// mapAxis: the least leaf of trees, from 5 to 50; regressions have no parameter to
// vary.
func (m *Synthesise) mapAxis() core.Axis {
	if m.Method != "cart" {
		return core.Axis{}
	}
	return core.Axis{Rank: 4, Field: "leaf", From: core.Amount{Value: leastLeaf}, To: core.Amount{Value: 50}}
}

func (m *Synthesise) parameters() []core.Parameter {
	var list []core.Parameter
	if len(m.On) > 0 {
		list = append(list, core.Parameter{Name: "on", Value: core.JsonWords(m.On)})
	}
	if len(m.By) > 0 {
		list = append(list, core.Parameter{Name: "by", Value: core.JsonWords(m.By)})
	}
	if len(m.Categories) > 0 {
		list = append(list, core.Parameter{Name: "categories", Value: core.JsonWords(m.Categories)})
	}
	list = append(list, core.Parameter{Name: "method", Value: core.WordOr(m.Method, "parametric")})
	if m.trees() {
		list = append(list, core.Parameter{Name: "leaf", Value: float64(m.leaf())})
	}
	if m.Bounds != "" {
		list = append(list, core.Parameter{Name: "bounds", Value: m.Bounds})
	}
	if len(m.Rules) > 0 {
		list = append(list, core.Parameter{Name: "rules", Value: core.JsonWords(m.Rules)})
	}
	if h := m.heldOut(); h > 0 {
		list = append(list, core.Parameter{Name: "held_out", Value: h})
	}
	if m.copies() > 1 {
		return append(list, core.Parameter{Name: "copies", Value: float64(m.copies())})
	}
	return append(list, core.Parameter{Name: "copy", Value: float64(m.copyNumber())})
}

func (m *Synthesise) action(string, float64) core.Action {
	if m.Columns == nil {
		return nil
	}
	return core.Synthesis{On: m.On, By: m.By, Method: core.WordOr(m.Method, "parametric"), HeldOut: m.heldOut(),
		Bounded: m.Bounds != "none", Ruled: m.Rules != nil}
}

// PublishedAction implements Publishing.
func (m *Synthesise) PublishedAction(p core.Published, _ string) core.Action {
	s := core.Synthesis{On: p.List("on"), By: p.List("by"), Method: p.Word("method"), Bounded: p.Word("bounds") != "none",
		Ruled: p.Has("rules")}
	if p.Has("held_out") {
		s.HeldOut = p.NumberOr("held_out", math.NaN())
	}
	return s
}

// Words implements Publishing.
func (m *Synthesise) Words(p core.Published, _ string) string {
	s, ofCategories := "synthesis: all values were drawn from models of the data", ""
	switch p.Word("method") {
	case "parametric":
		s += ", linear regressions with residuals like those of the data"
		ofCategories = ", by logistic regression where they were drawn"
	case "normal":
		s += ", linear regressions with normal residuals around a mean that was drawn as well"
		ofCategories = ", by logistic regression where they were drawn"
	case "cart":
		s += ", the leaves of trees, numbers with noise beside them"
		if v, ok := p.Float("leaf"); ok {
			s += ", of at least " + p.Number(v) + " records a leaf"
		}
	}
	if on := p.List("on"); on != nil {
		s += ", given " + strings.Join(on, ", ")
	}
	if by := p.List("by"); by != nil {
		s += ", a model for each value of " + strings.Join(by, ", ")
	}
	if categories := p.List("categories"); categories != nil {
		s += "; " + strings.Join(categories, ", ") + " as categories" + ofCategories
	}
	if p.Named("bounds") && p.Word("bounds") != "none" {
		s += "; no number lies beyond the least and greatest of the data"
	}
	if rules := p.List("rules"); rules != nil {
		s += "; by rule " + strings.Join(rules, ", ")
	}
	if v, ok := p.Float("held_out"); ok {
		s += "; models were fitted without " + p.Number(math.Round(1e4*v)/100) + " % of the records"
	}
	if v, ok := p.Float("copy"); ok {
		s += fmt.Sprintf("; this is copy %s", p.Number(v))
	}
	if v, ok := p.Float("copies"); ok {
		s += fmt.Sprintf("; in %s copies, each with draws of its own", p.Number(v))
	}
	return s
}

// EfficiencyFollows implements Publishing: the variance of the draws depends on the data, not on
// a parameter.
func (m *Synthesise) EfficiencyFollows(_, _ func(string) bool) bool { return true }

// checkCopies reports an error if another mask before mask i asks for a different number of
// copies.
func checkCopies(masks []core.Spec, i, own int) (ps check.Problems) {
	if own < 2 {
		return nil
	}
	for k, m := range masks[:i] {
		if n := core.Declared(m.Params).Copies; n > 1 && n != own {
			ps.Addf(fmt.Sprintf("[%d].%s.copies", i, masks[i].Kind()),
				"must be the same in each mask, got %d, and %d at mask [%d]", own, n, k)
			break
		}
	}
	return ps
}
