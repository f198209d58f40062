package core

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Params is the configuration of one mask.
type Params interface {
	// Check reports what is wrong with the parameters themselves.
	Check() check.Problems
	// Masks returns the columns whose values the mask may change.
	Masks() []string
	// Reads returns the further columns that it must see.
	Reads() []string
	// Describe returns what the mask declares of itself.
	Describe() Description
}

// Spec is one entry of a configuration's list of masks.
type Spec struct {
	Name   string // for messages, the map and the keystream; "" where none was given
	Params Params
}

// Kind returns the name of the mask's kind in a configuration.
func (s Spec) Kind() string {
	for _, k := range kinds {
		if reflect.TypeOf(k.New()) == reflect.TypeOf(s.Params) {
			return k.Name
		}
	}
	return ""
}

// Kind is a mask that a configuration can name.
type Kind struct {
	Name string
	Doc  string // one sentence, for the JSON Schema
	New  func() Params
}

// Amount is a quantity in the column's unit, or a fraction of the column's
// standard deviation, written as a percentage.
type Amount struct {
	Value    float64
	Relative bool // Value is a fraction of the SD: 0.35 for "35%"
}

// UnmarshalText reads "12.5" or "35%".
func (a *Amount) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	number, relative := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return fmt.Errorf("must be a number in the column's unit or a percentage of its standard deviation, got %q", s)
	}
	if relative {
		v /= 100
	}
	a.Value, a.Relative = v, relative
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (a Amount) MarshalText() ([]byte, error) {
	if a.Relative {
		return []byte(strconv.FormatFloat(a.Value*100, 'g', 15, 64) + "%"), nil
	}
	return strconv.AppendFloat(nil, a.Value, 'g', -1, 64), nil
}

// KindOf returns the kind of mask that has the parameters P.
func KindOf[T any, P interface {
	*T
	Params
}](name, doc string) Kind {
	return Kind{Name: name, Doc: doc, New: func() Params { return P(new(T)) }}
}

var kinds []Kind

// Register adds kinds of masks to those that a configuration can name. It is called before any configuration is read.
func Register(list ...Kind) { kinds = append(kinds, list...) }

// Kinds returns the masks that a configuration can name, in the order in which they were registered.
func Kinds() []Kind { return kinds }

// OrZero returns a number that may not be given, 0 if it is not.
func OrZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
