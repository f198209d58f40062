package transform

import (
	"reflect"
	"testing"
)

// A key that is drawn anew shows no more which records may have exchanged values. One that is hidden in some records, or
// coarser, still does; of the attribute, records that differ may agree in a coarser coding.
func TestMovesTogether(t *testing.T) {
	rate := 0.5
	swap := Spec{Params: &Swap{Keys: []string{"job", "city"}, Attribute: "sex", Columns: []string{"wage", "rent"}, Rate: &rate}}
	suppress := Spec{Params: &Suppress{Keys: []string{"job", "sex"}}}
	digits := 1
	recode := Spec{Params: &Recode{Columns: []string{"city", "sex"}, Prefix: &digits}}
	pram := Spec{Params: &PRAM{Columns: []string{"job"}}}
	k := 2
	suppress.Params.(*Suppress).K = &k
	all := []string{"job", "city"}
	for what, of := range map[string]struct {
		masks []Spec
		want  []MovedTogether
	}{
		"alone":           {[]Spec{swap}, []MovedTogether{{[]string{"wage", "rent"}, all, []string{"sex"}, true, false}}},
		"hidden":          {[]Spec{suppress, swap}, []MovedTogether{{[]string{"wage", "rent"}, all, []string{"sex"}, true, false}}},
		"coarser":         {[]Spec{swap, recode}, []MovedTogether{{[]string{"wage", "rent"}, all, []string{}, true, false}}},
		"drawn anew":      {[]Spec{swap, pram}, []MovedTogether{{[]string{"wage", "rent"}, all[1:], []string{"sex"}, true, false}}},
		"not an exchange": {[]Spec{suppress, pram}, nil},
		"by ranks": {[]Spec{pram, {Params: &RankSwap{Columns: []string{"wage", "rent"}, P: &rate}}}, []MovedTogether{
			{Moved: []string{"wage"}, Couples: true, Ranks: true}, {Moved: []string{"rent"}, Couples: true, Ranks: true}}},
		"moved by another": {[]Spec{{Params: &Swap{Attribute: "wage", Columns: []string{"age"}, Rate: &rate}}, swap}, nil},
	} {
		got := MovesTogether(of.masks)
		if what == "moved by another" {
			if len(got) != 2 || len(got[0].Apart) > 0 {
				t.Errorf("%s: %+v", what, got)
			}
			continue
		}
		if !reflect.DeepEqual(got, of.want) {
			t.Errorf("%s: %+v, want %+v", what, got, of.want)
		}
	}
}
