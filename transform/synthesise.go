package transform

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
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
	checkColumns(&ps, "columns", m.Columns, "column")
	if n := len(m.Columns) + len(m.On); n > greatestColumns {
		ps.Addf("on", "must leave at most %d columns together with those that are synthesised, got %d", greatestColumns, n)
	}
	if len(m.On) > 0 {
		checkColumns(&ps, "on", m.On, "column")
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
	checkStrata(&ps, m.By, m.Columns)
	if len(m.Categories) > 0 {
		checkColumns(&ps, "categories", m.Categories, "column")
	}
	for i, name := range m.Categories {
		if name != "" && !slices.Contains(m.Columns, name) && !slices.Contains(m.On, name) {
			ps.Addf(fmt.Sprintf("categories[%d]", i), "must be one of columns or on, got %q%s", name,
				check.Suggest(name, slices.Concat(m.Columns, m.On)))
		}
	}
	checkWord(&ps, "method", m.Method, "parametric", "normal", "cart")
	checkWord(&ps, "bounds", m.Bounds, "data", "none")
	m.checkRules(&ps)
	switch {
	case m.Leaf == nil:
	case !m.trees():
		ps.Addf("leaf", "must be given with method: cart only; regressions have no leaves")
	case *m.Leaf < leastLeaf || *m.Leaf > greatestK:
		ps.Addf("leaf", "must be at least %d and at most %d, got %d: values drawn from fewer records disclose these records",
			leastLeaf, greatestK, *m.Leaf)
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

func (m *Synthesise) ofCopy(number int) Params {
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

func (m *Synthesise) checkAmong(masks []Spec, i int) check.Problems {
	return append(checkDataset(masks, i, "columns", ""), checkCopies(masks, i, m.copies())...)
}

// Describe implements Params.
func (m *Synthesise) Describe() Description {
	return Description{
		Scope: ScopeDataset, Reads: m.readColumns(), NumbersRead: "on", Numbers: m.On, FitsData: true,
		Retype: m.releasedField,
		Axis:   m.mapAxis(), Parameters: m.parameters, Action: m.action, Published: m,
		Instead: "noise, which takes each record by itself",
		among:   m.checkAmong, copies: m.copies(), ofCopy: m.ofCopy, heldOut: m.heldOut(), texts: m.Categories,
	}
}

// Masks implements Params.
func (m *Synthesise) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Synthesise) Reads() []string { return slices.Concat(m.On, m.By) }

func (m *Synthesise) readColumns() []ReadColumn {
	var list []ReadColumn
	for i, name := range m.On {
		list = append(list, ReadColumn{fmt.Sprintf("on[%d]", i), name, "what a model goes by"})
	}
	return append(list, strataRead(m.By)...)
}

// releasedField: texts stay texts.
func (m *Synthesise) releasedField(f microdata.Field) (microdata.Field, bool) {
	if f.Numeric() || !m.ofCategories(f.Name) {
		return f, false
	}
	return categoryField(f, nil)
}

func (m *Synthesise) compile(c *Chain, i int) (step, error) {
	done := part("synthesise", float64(m.copyNumber()), float64(len(m.On))) + c.digestOf("on", m.On...) +
		c.digestOf("by", m.By...)
	if len(m.Categories) > 0 {
		done += digestOfTexts("categories", sorted(m.Categories)...)
	}
	if m.trees() {
		done += part("cart", float64(m.leaf()))
	}
	if m.Method == "normal" {
		done += part("normal")
	}
	if h := m.heldOut(); h > 0 {
		done += part("held out", h)
	}
	if m.Bounds == "none" {
		done += part("unbounded")
	}
	arithmetic := m.synthesis()
	if len(arithmetic.rules) > 0 {
		var names []string
		for _, r := range arithmetic.rules {
			names = append(names, r.name())
		}
		done += digestOfTexts("rules", names...)
	}
	if arithmetic.ordered = c.replicate == 0 && len(c.setup.Identity) > 0; arithmetic.ordered {
		done += part("ordered")
	}
	arithmetic.key = c.setup.Key
	s, err := newWholeOn(c, i, arithmetic, done, m.On)
	if err != nil {
		return nil, err
	}
	if err := s.settleRules(c, arithmetic.rules); err != nil {
		return nil, err
	}
	for _, col := range s.columns {
		s.drawsWords(c, col.Name, col.done.text) // the choice of a residual
		s.drawsNormals(c, col.Name+"\x00smooth", col.done.text+"smooth;")
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
func (m *Synthesise) mapAxis() Axis {
	if m.Method != "cart" {
		return Axis{}
	}
	return Axis{Rank: 4, Field: "leaf", From: Amount{Value: leastLeaf}, To: Amount{Value: 50}}
}

func (m *Synthesise) parameters() []Parameter {
	var list []Parameter
	if len(m.On) > 0 {
		list = append(list, Parameter{"on", jsonWords(m.On)})
	}
	if len(m.By) > 0 {
		list = append(list, Parameter{"by", jsonWords(m.By)})
	}
	if len(m.Categories) > 0 {
		list = append(list, Parameter{"categories", jsonWords(m.Categories)})
	}
	list = append(list, Parameter{"method", wordOr(m.Method, "parametric")})
	if m.trees() {
		list = append(list, Parameter{"leaf", float64(m.leaf())})
	}
	if m.Bounds != "" {
		list = append(list, Parameter{"bounds", m.Bounds})
	}
	if len(m.Rules) > 0 {
		list = append(list, Parameter{"rules", jsonWords(m.Rules)})
	}
	if h := m.heldOut(); h > 0 {
		list = append(list, Parameter{"held_out", h})
	}
	if m.copies() > 1 {
		return append(list, Parameter{"copies", float64(m.copies())})
	}
	return append(list, Parameter{"copy", float64(m.copyNumber())})
}

func (m *Synthesise) action(string, float64) Action {
	if m.Columns == nil {
		return nil
	}
	return Synthesis{On: m.On, By: m.By, Method: wordOr(m.Method, "parametric"), HeldOut: m.heldOut(),
		Bounded: m.Bounds != "none", Ruled: m.Rules != nil}
}

// PublishedAction implements Publishing.
func (m *Synthesise) PublishedAction(p Published, _ string) Action {
	s := Synthesis{On: p.list("on"), By: p.list("by"), Method: p.word("method"), Bounded: p.word("bounds") != "none",
		Ruled: p.Has("rules")}
	if p.Has("held_out") {
		s.HeldOut = p.numberOr("held_out", math.NaN())
	}
	return s
}

// Words implements Publishing.
func (m *Synthesise) Words(p Published, _ string) string {
	s, ofCategories := "synthesis: all values were drawn from models of the data", ""
	switch p.word("method") {
	case "parametric":
		s += ", linear regressions with residuals like those of the data"
		ofCategories = ", by logistic regression where they were drawn"
	case "normal":
		s += ", linear regressions with normal residuals around a mean that was drawn as well"
		ofCategories = ", by logistic regression where they were drawn"
	case "cart":
		s += ", the leaves of trees, numbers with noise beside them"
		if v, ok := p.number("leaf"); ok {
			s += ", of at least " + p.Number(v) + " records a leaf"
		}
	}
	if on := p.list("on"); on != nil {
		s += ", given " + strings.Join(on, ", ")
	}
	if by := p.list("by"); by != nil {
		s += ", a model for each value of " + strings.Join(by, ", ")
	}
	if categories := p.list("categories"); categories != nil {
		s += "; " + strings.Join(categories, ", ") + " as categories" + ofCategories
	}
	if p.Named("bounds") && p.word("bounds") != "none" {
		s += "; no number lies beyond the least and greatest of the data"
	}
	if rules := p.list("rules"); rules != nil {
		s += "; by rule " + strings.Join(rules, ", ")
	}
	if v, ok := p.number("held_out"); ok {
		s += "; models were fitted without " + p.Number(math.Round(1e4*v)/100) + " % of the records"
	}
	if v, ok := p.number("copy"); ok {
		s += fmt.Sprintf("; this is copy %s", p.Number(v))
	}
	if v, ok := p.number("copies"); ok {
		s += fmt.Sprintf("; in %s copies, each with draws of its own", p.Number(v))
	}
	return s
}

// EfficiencyFollows implements Publishing: the variance of the draws depends on the data, not on
// a parameter.
func (m *Synthesise) EfficiencyFollows(_, _ func(string) bool) bool { return true }
