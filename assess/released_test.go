package assess

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// regions returns a block of n records from the given one on. Its first column is a region that is
// released more coarsely, with some nulls on either side; its second is a number that is released
// as another one.
func regions(first, n int) *microdata.Block {
	text := func(of func(i int) string) *array.String {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		defer b.Release()
		for i := range n {
			if s := of(first + i); s != "" {
				b.Append(s)
			} else {
				b.AppendNull()
			}
		}
		return b.NewStringArray()
	}
	b := &microdata.Block{}
	b.Reset(0, int64(first), n, 2)
	b.Columns[0].Array, b.Columns[0].ReleasedArray = text(region), text(coarse)
	v := b.Columns[1].Alloc(n, false)
	for i := range n {
		v.Values[i] = float64(first + i)
	}
	for i, x := range b.Columns[1].Mutable().Values {
		b.Columns[1].Mutable().Values[i] = x + 1000
	}
	return b
}

func region(i int) string {
	if i%10 == 3 {
		return ""
	}
	return fmt.Sprintf("r%d", i%7)
}

func coarse(i int) string {
	if i%10 == 3 || i%11 == 5 {
		return ""
	}
	return fmt.Sprintf("c%d", i%7/3)
}

// The sample keeps the released code of a carried column next to the original, through merging,
// encoding and pruning, with and without measured columns.
func TestReleasedCodes(t *testing.T) {
	const n = 400
	for name, o := range map[string]Options{
		"categories alone": {Carry: []int{0}, Released: []int{0}},
		"beside a number":  {Columns: []Column{{Name: "x", Index: 1, Masked: true}}, Carry: []int{0}, Released: []int{0}},
		"two, one of them": {Carry: []int{0, 1}, Released: []int{1}},
		"both":             {Carry: []int{0, 1}, Released: []int{0, 1}},
	} {
		for _, sample := range []int{-1, 50} {
			o.Sample, o.Key = sample, testKey(t)
			parts := []*Accumulator{newAccumulator(t, o), newAccumulator(t, o)}
			parts[0].Add(regions(0, 150))
			parts[1].Add(regions(150, n-150))
			text, err := parts[1].MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			other := newAccumulator(t, o)
			if err := other.UnmarshalBinary(text); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			a := parts[0]
			if err := a.Merge(other); err != nil {
				t.Fatal(err)
			}
			p := a.Pairs()
			want := n
			if sample > 0 {
				want = sample
			}
			for c, index := range p.CarriedColumns {
				released := p.CarriedReleased[c]
				if !slices.Contains(o.Released, index) {
					if released != nil {
						t.Errorf("%s: column %d has released codes that were not requested", name, index)
					}
					continue
				}
				if len(released) != want || len(p.Carried[c]) != want {
					t.Fatalf("%s, sample %d: %d codes, want %d", name, sample, len(released), want)
				}
				for i := range want {
					code := p.Carried[c][i]
					switch {
					case index == 1 && released[i] != code+1000:
						t.Fatalf("%s: record %d has %v for %v", name, i, released[i], code)
					case index == 0 && sample < 0:
						same := func(got float64, text string) bool {
							if text == "" {
								return got != got
							}
							return got == microdata.CategoryCode([]byte(text))
						}
						if !same(code, region(i)) || !same(released[i], coarse(i)) {
							t.Fatalf("%s: record %d is %v, %v", name, i, code, released[i])
						}
					}
				}
			}
			if m, err := a.Measure(t.Context()); err != nil || m.Records != n || len(m.Columns) != len(o.Columns) {
				t.Errorf("%s: %v, %v", name, m, err)
			}
			o2 := o
			o2.Released = nil
			if newAccumulator(t, o2).UnmarshalBinary(text) == nil || newAccumulator(t, o2).Merge(a) == nil {
				t.Errorf("%s: an accumulator without released codes was merged with one that has them", name)
			}
		}
	}
}

// coarsen is a mask of codes.
type coarsen struct{ column int }

func (coarsen) NeedsSurvey() bool             { return false }
func (coarsen) Survey(*microdata.Block) error { return nil }
func (coarsen) EndSurvey() error              { return nil }
func (m coarsen) Apply(b *microdata.Block) error {
	v := b.Columns[m.column].Mutable()
	for i := range v.Values {
		v.Values[i] = 1
		if v.Valid != nil && i%2 == 0 {
			v.Valid.Clear(i)
		}
	}
	return nil
}

// For masks that are tried, Masked returns the categories that they release.
func TestMaskedCategories(t *testing.T) {
	a := newAccumulator(t, Options{Carry: []int{0, 1}, Released: []int{0}, Sample: -1, Key: testKey(t)})
	a.Add(regions(0, 60))
	p, err := a.Masked(coarsen{0})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range p.CarriedReleased[0] {
		if gone := i%2 == 0 || region(i) == ""; gone && v == v || !gone && v != 1 {
			t.Fatalf("record %d is %v", i, v)
		}
	}
	if p.CarriedReleased[1] != nil || len(p.CarriedReleased[0]) != 60 {
		t.Errorf("%v", p.CarriedReleased)
	}
}
