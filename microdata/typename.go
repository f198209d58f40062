package microdata

import "github.com/apache/arrow-go/v18/arrow"

// TypeName is the name of a type in messages, which is that of the configuration's types where it
// has one: string for texts of every layout, date for days; a dictionary has the name of its values.
func TypeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return TypeName(t.ValueType)
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return "string"
	case *arrow.Date32Type:
		return "date"
	}
	return t.String()
}
