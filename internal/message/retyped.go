package message

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// CheckTypes returns an error if a mask changes the type of a column. It is for writers
// that release with the schema of the incoming messages.
func CheckTypes(l *microdata.Layout) error {
	for _, o := range l.Release {
		if of := l.Schema.Fields[o.Source].Type; o.Masked && !arrow.TypeEqual(o.Field.Type, of) {
			return fmt.Errorf(
				"column %s becomes %s, and messages of this format keep the types of the source's schema, here %s: release numbers (midpoints, a bound), "+
					"or into another format (sink.kafka.format: arrow, or json)", o.Field.Name, microdata.TypeName(o.Field.Type),
				microdata.TypeName(of))
		}
	}
	return nil
}
