package assess

import (
	"slices"
	"strings"
	"testing"
)

// The number of records kept at either end of a column, and for the order, decreases with the
// number of columns, so that they fit into 32 and 64 MiB. A configured number is kept.
func TestDefaultsFallWithTheColumns(t *testing.T) {
	for _, c := range []struct {
		columns, carry  int
		extremes, order int
	}{
		{1, 0, 100, 8192}, {1, 5, 100, 8192}, {42, 0, 100, 8192}, {43, 0, 100, 8128}, {85, 0, 100, 4112}, {86, 0, 100, 4096},
		{102, 0, 100, 4096}, {103, 0, 98, 4096}, {102, 4, 98, 4096}, {1023, 0, 1, 4096}, {1100, 0, 1, 4096},
		{3000, 0, 1, 4096},
	} {
		o := Options{Columns: numbered(c.columns)}
		for i := range c.carry {
			o.Carry = append(o.Carry, c.columns+i)
		}
		got, _, err := o.resolve()
		must(t, err)
		if got.Extremes != c.extremes || got.OrderBins != c.order || got.Sample != 100_000 {
			t.Errorf("%d columns and %d: %d extremes, %d bins, a sample of %d", c.columns, c.carry, got.Extremes, got.OrderBins,
				got.Sample)
		}
		o.Extremes, o.OrderBins, o.Sample = 3, 5000, -1
		if got, _, err = o.resolve(); err != nil || got.Extremes != 3 || got.OrderBins != 5000 || got.Sample != -1 {
			t.Errorf("%d columns: %+v, %v", c.columns, got, err)
		}
	}
}

// Carried columns are sorted, without duplicates and without assessed columns. An index below 0 is
// refused at any place, and so are two columns with the same index.
func TestCarriedColumns(t *testing.T) {
	of := func(indexes ...int) (list []Column) {
		for _, i := range indexes {
			list = append(list, Column{Name: "c", Index: i})
		}
		return list
	}
	for _, c := range []struct {
		columns []Column
		carry   []int
		want    []int
		refused string
	}{
		{of(0), nil, nil, ""}, {of(2, 0), []int{5, 0, 3, 5, 2, 0}, []int{3, 5}, ""}, {of(0), []int{1, -1}, nil, "carry"},
		{of(0), []int{-1, 1}, nil, "carry"},
		{of(0, 1, 1), nil, nil, "given once"}, {of(1, 0, 1), nil, nil, "given once"}, {of(0, -1), nil, nil, "at least 0"},
		{of(-1, 0), nil, nil, "at least 0"}, {nil, nil, nil, "columns"},
	} {
		o := Options{Columns: c.columns, Carry: c.carry}
		got, _, err := o.resolve()
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) || err == nil &&
			!slices.Equal(got.Carry, c.want) {
			t.Errorf("%v, %v: %v, %v", c.columns, c.carry, got.Carry, err)
		}
	}
	for i, targets := range [][]string{{"p5", "max"}, {"max", "p5"}} {
		_, _, err := Options{Columns: of(0), Targets: targets}.resolve()
		if err == nil || !strings.Contains(err.Error(), "targets["+string(rune('0'+i))+"]") {
			t.Errorf("%v: %v", targets, err)
		}
	}
}
