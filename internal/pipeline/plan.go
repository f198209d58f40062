package pipeline

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// DataError is an error about data or a key that do not fit the configuration, found before
// anything was written. Errors with a place in the configuration are config.Errors instead.
type DataError struct{ Problem string }

func (e *DataError) Error() string { return e.Problem }

// DataErrorf returns a DataError with the given text.
func DataErrorf(format string, args ...any) error {
	return &DataError{fmt.Sprintf(format, args...)}
}

// Plan is what a configuration means for the given source. Job.Plan makes it from the schema
// only; Job.Masks adds what depends on the data.
type Plan struct {
	Config    *config.Pipeline
	Source    connectors.Source
	Layout    *microdata.Layout      // which columns are decoded, in which form, and which are released
	Columns   []transform.ColumnInfo // that the masks change or read
	identity  []int                  // indexes in layout.Read
	persons   []int                  // the columns that identify a respondent, for replicates
	levels    []string               // what to say of columns that may be the same within households
	instead   []int                  // by identity column: the column that stands in for it; −1: none
	household transform.Households   // nothing if no draw belongs to a household
	Assessed  []assess.Column        // measured columns: masked ones first, in the order of the schema
	Carry     []int                  // indexes in layout.Read of swap keys and attributes
	Cut       connectors.Cut         // how the source is cut into blocks if a mask needs windows
	Masked    []string               // in the order of the schema
	Beside    []assess.BesideColumn  // released columns that are not assessed, for the risk by the whole record
	pieces    int                    // the columns of Beside of whose texts there are pieces
	Unseen    []string               // those of which the sample holds nothing
	Coded     []assess.CodedColumn   // columns with declared codes for missing values
	Watched   []assess.WatchedColumn // masked columns of which all records together tell what the masks have left
	weights   []transform.ColumnInfo // by which the uniqueness is estimated; empty if by none
	passed    int                    // how many columns of the layout a pass over the originals needs
	Constant  []string               // columns with only one value, whose standard deviation a percentage refers to
	Intruder  IntruderColumns        // empty if no intruder is configured
	// indexes in layout.Read of the configuration's Joins, whose original values the sample holds
	Joins     []int
	Displacer *transform.Displacer // nil if no mask moves values between records
	locator   *assess.Locator      // of the survey; nil if it has not counted values
	sorted    map[string][]float64 // sorted original values of the columns for which masks need them

	correlations transform.Correlations            // of original columns, if masks need them
	frequencies  map[string]*transform.Frequencies // of original categories, if masks need them
	people       map[transform.PeopleOf]*places.People

	weight struct { // of the sample: the column of weights in a block, whether it must be carried, and its released values
		index           int
		known           bool
		carry, released []int
	}

	earlier    []*EarlierRelease // of the records, by the ledger
	totals     []assess.Totals   // tables of sums of the records, by the ledger
	byCounts   []Counted         // columns by which records were counted, by the ledger
	tables     int               // releases of tables that are judged with this one
	earlierNot string            // why it cannot be computed what they tell; "" if it can
	amounts    *assess.Profile   // in the place of the profile's file: those of an earlier release; nil: none
	fromLedger bool              // whether there is a ledger

	earlierKnown *assess.Earlier                                 // that the assessment has
	doubts       func(read, released, unidentified int64) string // of WithLedger
	shapes       map[string]assess.Shape                         // of released columns
	copies       map[string][]copied                             // of FindCopies, by masked column

	paths []string // of the masks in the configuration, if they are not those of its list "masks"; else nil
}

// newPlan decides which columns are decoded and which are released. It reads only the schema.
// A column or mask that names no column of the data is an error. Its parameters are fields of Job.
func newPlan(p *config.Pipeline, paths []string, src connectors.Source, carries bool) (*Plan, error) {
	pl := &Plan{Config: p, Source: src, paths: paths}
	if err := DeclareMissing(p, src); err != nil {
		return nil, err
	}
	pl.supposeNumbers()
	if err := pl.checkColumns(); err != nil {
		return nil, err
	}
	b := &layoutBuilder{schema: src.Schema(), index: map[microdata.Want]int{}, masked: map[string]microdata.Form{}}
	b.layout.Schema = src.Schema()
	pl.wantMasked(b)
	pl.watch(b)
	pl.wantCompared(b)
	pl.wantMeasured(b)
	if err := pl.setIntruder(b); err != nil {
		return nil, err
	}
	if err := pl.carryJoins(b); err != nil {
		return nil, err
	}
	pl.release(b, carries)
	if err := pl.keyed(b); err != nil {
		return nil, err
	}
	pl.wantWeight(b)
	pl.passed = len(b.layout.Read)
	pl.wantBeside(b)
	pl.wantCoded(b)
	if len(b.layout.Release) == 0 {
		return nil, config.Errors{p.Errorf("columns", "no column of the source would be released")}
	}
	pl.Layout = &b.layout
	if transform.NeedsWindow(p.Masks) {
		pl.Cut = connectors.Cut{Records: p.Window.Records, Exact: true}
	}
	return pl, nil
}

// wantMasked asks for the columns that masks change, in the order of the schema.
func (pl *Plan) wantMasked(b *layoutBuilder) {
	for _, m := range pl.Config.Masks {
		for _, name := range m.Params.Masks() {
			b.masked[name] = formOf(pl.Config.Masks, b.field(name))
		}
	}
	for _, f := range b.schema.Fields {
		form, ok := b.masked[f.Name]
		if !ok {
			continue
		}
		pl.Masked = append(pl.Masked, f.Name)
		days := transform.InDays(pl.Config.Masks, f)
		i := b.want(f.Name, form, false)
		b.layout.Read[i].Days = days
		pl.Columns = append(pl.Columns, transform.ColumnInfo{Name: f.Name, Index: i, Field: f, Days: days})
		if (form == microdata.Numbers || days) && !slices.ContainsFunc(pl.Config.Masks, func(m transform.Spec) bool {
			return transform.Weighs(m.Params) && slices.Contains(m.Params.Masks(), f.Name)
		}) {
			fits, held := transform.FitsData(pl.Config.Masks, f.Name)
			pl.Assessed = append(pl.Assessed, assess.Column{
				Name: f.Name, Unit: pl.Unit(f.Name), Index: i, Key: pl.Config.Columns.Named(f.Name).Role == microdata.Key,
				Masked:    true,
				Exchanged: exchanged(pl.Config.Masks, f.Name), Fitted: fits, HeldOut: held,
				Elsewhere: elsewhere(pl.Config.Masks, f.Name),
				Copies:    transform.CopiesOf(pl.Config.Masks, f.Name), Undoing: undoing(pl.Config.Masks, f.Name),
				Alike:  transform.Displaces(pl.Config.Masks, f.Name),
				Shared: pl.Config.DrawsByHousehold() && pl.Config.Columns.Named(f.Name).Level == config.OfHousehold,
			})
		}
	}
}

// Identity returns the indexes, in a block's columns, of the columns that identify a
// respondent.
func (pl *Plan) Identity() []int { return pl.identity }

// wantCompared asks for the columns that masks read and do not change, such as keys and
// attributes of swaps, and for the columns that identify a respondent. They are compared
// exactly, in array form, which can hold any type.
func (pl *Plan) wantCompared(b *layoutBuilder) {
	for _, m := range pl.Config.Masks {
		for _, name := range m.Params.Reads() {
			if slices.ContainsFunc(pl.Columns, func(c transform.ColumnInfo) bool { return c.Name == name }) {
				continue
			}
			i := b.want(name, microdata.Array, false)
			pl.Columns = append(pl.Columns, transform.ColumnInfo{Name: name, Index: i, Field: b.field(name)})
			pl.Carry = append(pl.Carry, i)
		}
	}
	pl.carryCategories(b)
	for _, name := range pl.Config.Identity {
		pl.identity = append(pl.identity, b.want(name, microdata.Array, false))
	}
	if slices.ContainsFunc(pl.Assessed, func(c assess.Column) bool { return c.Masked }) {
		pl.persons = slices.Clone(pl.identity)
		pl.Carry = append(pl.Carry, pl.identity...)
	}
	pl.instead = pl.insteadOf(b, pl.Config.Identity...)
	pl.wantHousehold(b)
}

// carryCategories asks the sample for codes of masked columns that are not held as numbers and
// that replicates need: another mask reads them, or a mask of all records takes them together.
func (pl *Plan) carryCategories(b *layoutBuilder) {
	for _, m := range pl.Config.Masks {
		names := m.Params.Reads()
		if transform.ScopeOf(m.Params) == transform.ScopeDataset && transform.OnCategories(m.Params) {
			names = m.Params.Masks() // the mask decides about each of them by all of them
		}
		for _, name := range m.Params.Masks() {
			if transform.TakesTexts(m.Params, name) {
				names = append(slices.Clone(names), name)
			}
		}
		for _, name := range names {
			if form, masked := b.masked[name]; masked && form == microdata.Array {
				if i := b.want(name, form, false); !slices.Contains(pl.Carry, i) {
					pl.Carry = append(pl.Carry, i)
				}
			}
		}
	}
}

// wantMeasured asks for numeric columns that are keys or sensitive, in addition to the masked
// ones. The report then shows how masking changes the correlations, and that a sensitive column
// is released unchanged (R is infinite).
func (pl *Plan) wantMeasured(b *layoutBuilder) {
	for _, c := range pl.Config.Columns {
		if _, masked := b.masked[c.Name]; masked || !b.field(c.Name).Numeric() ||
			c.Role != microdata.Sensitive && c.Role != microdata.Key && !pl.compared(c.Name) {
			continue
		}
		i := b.want(c.Name, microdata.Numbers, true)
		pl.Assessed = append(pl.Assessed, assess.Column{Name: c.Name, Unit: c.Unit, Index: i, Key: c.Role == microdata.Key})
	}
}

// release decides which columns are released, and which of them must be decoded for that.
func (pl *Plan) release(b *layoutBuilder, carries bool) {
	for i, f := range b.schema.Fields {
		c := pl.Config.Columns.Named(f.Name)
		if c == nil || c.Role == microdata.Identifier {
			continue
		}
		out := microdata.Output{Field: f, Source: i, Column: -1, Decimals: -1}
		if form, ok := b.masked[f.Name]; ok {
			out.Masked, out.Column = true, b.want(f.Name, form, false)
			out.Field, _ = transform.FieldAfter(pl.Config.Masks, f)
		} else if f.Missing != nil && f.Missing.Null {
			// No byte or statistic of the source may survive: its codes are in them.
			out.Masked, out.Column = true, b.want(f.Name, microdata.Array, false)
		} else if !carries {
			out.Column = b.want(f.Name, microdata.Array, false)
		}
		if f.Missing != nil && f.Missing.Null {
			out.Field.Nullable = true
		}
		b.layout.Release = append(b.layout.Release, out)
	}
}

// keyed asks for the column that becomes the messages' key. It is an error if an identity
// column of JSON values, which may have several types, would have to be held in a column of
// one type.
func (pl *Plan) keyed(b *layoutBuilder) error {
	key := pl.Config.Sink.Abilities().KeyColumn
	for i := range b.layout.Release {
		out := &b.layout.Release[i]
		if key != "" && key == out.Field.Name && out.Column < 0 {
			out.Column = b.want(out.Field.Name, microdata.Array, false)
		}
		if out.Field.Type.ID() == arrow.DENSE_UNION && !writesJSON(pl.Config) {
			return config.Errors{pl.Config.Errorf("columns."+out.Field.Name,
				"is an identity column of JSON messages, whose values may be of several types, and the sink's columns are of one; withhold it (role identifier), or release into JSON")}
		}
	}
	return nil
}

// supposeNumbers makes a column numeric if a mask computes with it and a text source has seen
// no value of it: an empty file, or a column of nulls only, is no error of the configuration.
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

// formOf returns the form in which a masked column is held. Masks that do not compute accept
// any type. A numeric column is held as numbers so that it is assessed, unless the release has
// another type, or pseudonyms, which are no amounts.
func formOf(masks []transform.Spec, f microdata.Field) microdata.Form {
	if _, retyped := transform.FieldAfter(masks, f); retyped >= 0 || !f.Numeric() || transform.Renames(masks, f.Name) {
		return microdata.Array
	}
	return microdata.Numbers
}

// MaskPath returns the path of mask i in the configuration.
func (pl *Plan) MaskPath(i int) string {
	if pl.paths != nil {
		return pl.paths[i]
	}
	return pl.Config.MaskPath(i)
}

// Unit returns the unit that the configuration gives a column; for dates, days; "" if it gives none.
func (pl *Plan) Unit(column string) string {
	if unit := pl.Config.Columns.Named(column).Unit; unit != "" {
		return unit
	}
	if i := slices.IndexFunc(pl.Columns, func(c transform.ColumnInfo) bool { return c.Name == column }); i >= 0 &&
		pl.Columns[i].Days {
		return "days"
	}
	return ""
}

// layoutBuilder collects the columns to be decoded, each column once in each form.
type layoutBuilder struct {
	schema *microdata.Schema
	layout microdata.Layout
	index  map[microdata.Want]int
	masked map[string]microdata.Form // the columns that masks change, and how they are held
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
