package transform

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// labelled is an extension type that is stored as texts.
type labelled struct{ arrow.ExtensionBase }

func (*labelled) ArrayType() reflect.Type                    { return reflect.TypeFor[labelledArray]() }
func (*labelled) ExtensionName() string                      { return "labelled" }
func (*labelled) ExtensionEquals(o arrow.ExtensionType) bool { return o.ExtensionName() == "labelled" }
func (*labelled) Serialize() string                          { return "" }
func (*labelled) Deserialize(arrow.DataType, string) (arrow.ExtensionType, error) {
	return nil, errors.New("is not read")
}

type labelledArray struct{ array.ExtensionArrayBase }

// The categories of an extension type are those of its storage type.
func TestCategoriesOfAnExtension(t *testing.T) {
	m := &Recode{Columns: []string{"a"}, Map: map[string]string{"Graz": "South", "Linz": "North"}}
	got, _ := categories(t, []Spec{mask(m)}, &labelled{arrow.ExtensionBase{Storage: arrow.BinaryTypes.String}},
		`["Graz", null, "Linz", "Wien"]`)
	if want := []string{"South", "null", "North", "rejected"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
