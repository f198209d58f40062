package pipeline

import (
	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// DeclareMissing gives the fields of a source the codes for missing values that the configuration declares. A
// code that a column cannot have is an error.
func DeclareMissing(p *config.Pipeline, src connectors.Source) error {
	var problems config.Errors
	schema, texts := src.Schema(), src.Abilities().JSONText
	for i := range p.Columns {
		c := &p.Columns[i]
		declared := c.Missing.Declared()
		at := schema.Index(c.Name)
		if declared == nil || at < 0 {
			continue
		}
		f := &schema.Fields[at]
		if !f.Unseen {
			for _, problem := range c.Missing.Fits(*f) {
				problems = append(problems, p.Errorf("columns."+c.Name+".missing."+problem.Path, "%s", problem.Text))
			}
		}
		declared.JSON = texts != nil && texts(at)
		f.Missing = declared
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// wantCoded asks for the released columns with declared codes that nothing else reads, so that the codes are counted.
func (pl *Plan) wantCoded(b *layoutBuilder) {
	for i, f := range b.schema.Fields {
		if c := pl.Config.Columns.Named(f.Name); c == nil || c.Role == microdata.Identifier || f.Missing == nil {
			continue
		}
		index, read := b.read(i)
		if !read {
			index = b.want(f.Name, microdata.Array, false)
		}
		pl.Coded = append(pl.Coded,
			assess.CodedColumn{Name: f.Name, Index: index, Codes: f.Missing.Texts(), Null: f.Missing.Null})
	}
}

// Restored calls encode, of a sink, while the kept codes for missing values are in what leaves.
func Restored[T any](b *microdata.Block, encode func() (T, error)) (T, error) {
	undo, err := transform.Restore(b)
	if err != nil {
		var none T
		return none, err
	}
	defer undo()
	return encode()
}
