package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// DataError says that what was asked for does not fit the data or the key at
// hand: it was found before anything was written, and the cure is not in the
// data. What can be said with its place in the configuration is a config.Errors.
type DataError struct{ Problem string }

func (e *DataError) Error() string { return e.Problem }

func DataErrorf(format string, args ...any) error {
	return &DataError{fmt.Sprintf(format, args...)}
}

// Plan is what a configuration means for the source at hand.
type Plan struct {
	Config    *config.Pipeline
	Source    connectors.Source
	Layout    *microdata.Layout
	Columns   []transform.ColumnInfo // what the masks touch or read
	identity  []int                  // indexes in layout.Read
	Assessed  []assess.Column
	Carry     []int // indexes in layout.Read of swap keys and attributes
	Cut       connectors.Cut
	Masked    []string // in the order of the schema
	Constant  []string // columns of one value alone, whose standard deviation a percentage refers to
	Intruder  IntruderColumns
	Displacer *transform.Displacer // nil where no mask moves values between records
	paths     []string             // of the masks in the configuration, where they are not its own list; nil: they are
}

// NewPlan decides which columns are decoded and what leaves. Nothing is read
// but the schema. A column or mask that names nothing in the data is an error.
func NewPlan(p *config.Pipeline, src connectors.Source, carries bool) (*Plan, error) {
	return NewPlanAt(p, nil, src, carries)
}

// NewPlanAt is newPlan of masks that stand elsewhere in the configuration, each at
// one of paths.
func NewPlanAt(p *config.Pipeline, paths []string, src connectors.Source, carries bool) (*Plan, error) {
	pl := &Plan{Config: p, Source: src, paths: paths}
	pl.supposeNumbers()
	if err := pl.checkColumns(); err != nil {
		return nil, err
	}
	b := &layoutBuilder{schema: src.Schema(), index: map[microdata.Want]int{}}
	inMask := map[string]microdata.Form{}
	for _, m := range p.Masks {
		for _, name := range m.Params.Masks() {
			f := b.field(name)
			if form, seen := inMask[name]; !seen || form == microdata.Array {
				inMask[name] = formOf(f, transform.Computes(m.Params))
			}
		}
	}
	// Masked columns, in the order of the schema.
	for _, f := range src.Schema().Fields {
		form, ok := inMask[f.Name]
		if !ok {
			continue
		}
		pl.Masked = append(pl.Masked, f.Name)
		i := b.want(f.Name, form, false)
		pl.Columns = append(pl.Columns, transform.ColumnInfo{Name: f.Name, Index: i, Field: f})
		if form == microdata.Numbers {
			pl.Assessed = append(pl.Assessed, assess.Column{Name: f.Name, Unit: pl.Unit(f.Name), Index: i, Masked: true, Exchanged: exchanged(p.Masks, f.Name)})
		}
	}
	// Swapping keys and attributes are compared, exactly, in the form that holds any type.
	for _, m := range p.Masks {
		for _, name := range m.Params.Reads() {
			if slices.ContainsFunc(pl.Columns, func(c transform.ColumnInfo) bool { return c.Name == name }) {
				continue
			}
			i := b.want(name, microdata.Array, false)
			pl.Columns = append(pl.Columns, transform.ColumnInfo{Name: name, Index: i, Field: b.field(name)})
			pl.Carry = append(pl.Carry, i)
		}
	}
	for _, name := range p.Identity {
		pl.identity = append(pl.identity, b.want(name, microdata.Array, false))
	}
	// Numeric columns that are keys or sensitive are measured beside the masked
	// ones, so that the report shows what masking does to the correlations, and
	// that a sensitive column leaves as it is (R is infinite).
	for _, c := range p.Columns {
		f := b.field(c.Name)
		if _, masked := inMask[c.Name]; masked || !f.Numeric() ||
			c.Role != microdata.Sensitive && c.Role != microdata.Key && !pl.compared(c.Name) {
			continue
		}
		i := b.want(c.Name, microdata.Numbers, true)
		pl.Assessed = append(pl.Assessed, assess.Column{Name: c.Name, Unit: c.Unit, Index: i})
	}
	if err := pl.setIntruder(b, inMask); err != nil {
		return nil, err
	}
	for i, f := range src.Schema().Fields {
		c := p.Columns.Named(f.Name)
		if c == nil || c.Role == microdata.Identifier {
			continue
		}
		out := microdata.Output{Field: f, Source: i, Column: -1, Decimals: -1}
		if form, ok := inMask[f.Name]; ok {
			out.Masked, out.Column = true, b.want(f.Name, form, false)
		} else if !carries {
			out.Column = b.want(f.Name, microdata.Array, false)
		}
		b.layout.Release = append(b.layout.Release, out)
	}
	if err := pl.keyed(b); err != nil {
		return nil, err
	}
	if len(b.layout.Release) == 0 {
		return nil, config.Errors{p.Errorf("columns", "no column of the source would be released")}
	}
	b.layout.Schema = src.Schema()
	pl.Layout = &b.layout
	if transform.NeedsWindow(p.Masks) {
		pl.Cut = connectors.Cut{Records: p.Window.Records, Exact: true}
	}
	return pl, nil
}

// keyed sees to it that a column which becomes the messages' key is decoded, and
// that no identity column of JSON values, of several types, goes where a column
// has one.
func (pl *Plan) keyed(b *layoutBuilder) error {
	sink, _ := pl.Config.Sink.Config.(interface{ KeyColumn() string })
	for i := range b.layout.Release {
		out := &b.layout.Release[i]
		if sink != nil && sink.KeyColumn() == out.Field.Name && out.Column < 0 {
			out.Column = b.want(out.Field.Name, microdata.Array, false)
		}
		if out.Field.Type.ID() == arrow.DENSE_UNION && !writesJSON(pl.Config) {
			return config.Errors{pl.Config.Errorf("columns."+out.Field.Name,
				"is an identity column of JSON messages, whose values may be of several types, and the sink's columns are of one; withhold it (role identifier), or release into JSON")}
		}
	}
	return nil
}

// supposeNumbers takes a column for numbers that a mask computes with and of
// which a text source has seen no value: an empty file, or a column of nulls
// alone, is no mistake of the configuration.
func (pl *Plan) supposeNumbers() {
	schema := pl.Source.Schema()
	for _, m := range pl.Config.Masks {
		if !transform.Computes(m.Params) {
			continue
		}
		for _, name := range m.Params.Masks() {
			if i := schema.Index(name); i >= 0 && schema.Fields[i].Unseen {
				schema.Fields[i].Type = arrow.PrimitiveTypes.Float64
			}
		}
	}
}

// formOf is how a column is held that a mask changes. One that does not compute
// moves values of any type; numeric ones are held as numbers so that they are
// assessed.
func formOf(f microdata.Field, computes bool) microdata.Form {
	if !computes && !f.Numeric() {
		return microdata.Array
	}
	return microdata.Numbers
}

// checkColumns holds the configured names and types against the schema.
func (pl *Plan) checkColumns() error {
	p, schema := pl.Config, pl.Source.Schema()
	var problems config.Errors
	addf := func(path, format string, args ...any) { problems = append(problems, p.Errorf(path, format, args...)) }
	// Where the fields are cut at the wrong character, every column is missing: one error says why.
	if source, ok := pl.Source.(interface{ Missplit() string }); ok && slices.ContainsFunc(p.Columns, func(c config.Column) bool { return schema.Index(c.Name) < 0 }) {
		if delimiter := source.Missplit(); delimiter != "" {
			return config.Errors{p.Errorf("source."+p.Source.Kind, "the fields of the first records are separated by %q: say so (delimiter: %q)", delimiter, delimiter)}
		}
	}
	for _, c := range p.Columns {
		i := schema.Index(c.Name)
		if i < 0 {
			addf("columns."+c.Name, "the source has no such column%s", check.Suggest(c.Name, schema.Names()))
			continue
		}
		f := schema.Fields[i]
		if d, fixed := f.Decimals(); c.Decimals != nil && fixed && d != *c.Decimals {
			addf("columns."+c.Name+".decimals", "must be %d, which the column's type %s fixes, got %d", d, f.Type, *c.Decimals)
		}
	}
	if p.Unlisted != "drop" {
		var extra []string
		for _, f := range schema.Fields {
			if p.Columns.Named(f.Name) == nil {
				extra = append(extra, f.Name)
			}
		}
		if len(extra) > 0 {
			addf("columns", "the source has columns that are not listed: %s; list them, or say `unlisted: drop`", strings.Join(extra, ", "))
		}
	}
	for i, m := range p.Masks {
		path := pl.MaskPath(i)
		computes := transform.Computes(m.Params)
		for _, name := range m.Params.Masks() {
			j := schema.Index(name)
			if j < 0 {
				continue // reported above: masks name listed columns
			}
			switch f := schema.Fields[j]; {
			case !computes && f.Nested():
				addf(path+".columns", "%s is nested (%s) and cannot be swapped", name, f.Type)
			case computes && !f.Numeric():
				hint := ""
				if f.Type.ID() == arrow.STRING && (p.Source.Kind == "csv" || p.Source.Kind == "jsonl") {
					hint = fmt.Sprintf("; where only some of its values are no numbers, source.%s.types: {%s: float64} sends their records to quarantine", p.Source.Kind, name)
				}
				addf(path+".columns", "%s is %s, and %s needs a number%s", name, f.Type, m.Kind(), hint)
			}
		}
		for _, name := range m.Params.Reads() {
			if j := schema.Index(name); j >= 0 && schema.Fields[j].Nested() {
				addf(path, "%s is nested (%s) and cannot be compared", name, schema.Fields[j].Type)
			}
		}
	}
	for _, name := range p.Identity {
		if j := schema.Index(name); j >= 0 && !keystream.CanIdentify(schema.Fields[j].Type) {
			addf("identity", "%s has type %s, which cannot identify a respondent", name, schema.Fields[j].Type)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// MaskPath names mask i as the configuration does.
func (pl *Plan) MaskPath(i int) string {
	if pl.paths != nil {
		return pl.paths[i]
	}
	return pl.Config.MaskPath(i)
}

func (pl *Plan) Unit(column string) string { return pl.Config.Columns.Named(column).Unit }

// layoutBuilder collects what is to be decoded, each column once in each form.
type layoutBuilder struct {
	schema *microdata.Schema
	layout microdata.Layout
	index  map[microdata.Want]int
}

func (b *layoutBuilder) field(name string) microdata.Field {
	return b.schema.Fields[b.schema.Index(name)]
}

// want asks for a column and returns its index in a block. measured asks for
// numbers that are only measured, never released.
func (b *layoutBuilder) want(name string, as microdata.Form, measured bool) int {
	w := microdata.Want{Field: b.schema.Index(name), As: as, Measured: measured}
	if i, ok := b.index[w]; ok {
		return i
	}
	b.layout.Read = append(b.layout.Read, w)
	b.index[w] = len(b.layout.Read) - 1
	return len(b.layout.Read) - 1
}
