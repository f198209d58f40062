package transform

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Copies mask the same data under the same key. The draws of a copy depend on its number, and
// columns of other masks are equal in all copies.
func TestCopies(t *testing.T) {
	columns := tiedData(600, 8)
	masks := []Spec{mask(&Noise{Columns: []string{"c"}, SD: amount(1)}),
		synthesise(Synthesise{Columns: []string{"a", "b"}, Copies: ptr(3)})}
	if got := Copies(masks); got != 3 || Copies(masks[:1]) != 1 || CopiesOf(masks, "b") != 3 || CopiesOf(masks, "c") != 1 {
		t.Fatalf("%d copies", got)
	}
	var all [][][]float64
	for number := 1; number <= 3; number++ {
		one := OfCopy(masks, number)
		alone := []Spec{masks[0], synthesise(Synthesise{Columns: []string{"a", "b"}, Copy: ptr(number)})}
		if !reflect.DeepEqual(one, alone) {
			t.Fatalf("copy %d is %+v", number, one[1].Params)
		}
		all = append(all, whole(t, chain(t, testSetup(t, columns...), one...), 100, columns...))
	}
	if *masks[1].Params.(*Synthesise).Copies != 3 || masks[1].Params.(*Synthesise).Copy != nil {
		t.Error("OfCopy changed its argument")
	}
	for i := range all {
		for j := range i {
			for k := range 2 {
				if slices.Equal(all[i][k], all[j][k]) {
					t.Errorf("copies %d and %d have the same values in column %d", i+1, j+1, k)
				}
			}
			if !slices.Equal(all[i][2], all[j][2]) {
				t.Errorf("copies %d and %d have different noise, which could be averaged", i+1, j+1)
			}
		}
	}
}

func TestCopiesAreRefused(t *testing.T) {
	for want, m := range map[string]*Synthesise{
		"copies: must be at least 2 and at most 100, got 1":   {Columns: []string{"a"}, Copies: ptr(1)},
		"copies: must be at least 2 and at most 100, got 101": {Columns: []string{"a"}, Copies: ptr(101)},
		"copy: must not be given together with copies":        {Columns: []string{"a"}, Copies: ptr(2), Copy: ptr(1)},
	} {
		if ps := m.Check(); len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), want) {
			t.Errorf("got %v, want %s", ps, want)
		}
	}
	two := func(first, second int) []Spec {
		return []Spec{synthesise(Synthesise{Columns: []string{"a"}, Copies: ptr(first)}),
			synthesise(Synthesise{Columns: []string{"b"}}), synthesise(Synthesise{Columns: []string{"c"}, Copies: ptr(second)})}
	}
	if ps := CheckSpecs(two(3, 3)); len(ps) != 0 {
		t.Error(ps)
	}
	if ps := CheckSpecs(two(3, 2)); len(ps) != 1 ||
		!strings.HasPrefix(ps[0].Error(), "[2].synthesise.copies: must be the same in each mask, got 2, and 3 at mask [0]") {
		t.Error(ps)
	}
}
