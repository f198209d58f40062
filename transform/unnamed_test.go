package transform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// unnamed adds 1 without adding to the name; late adds to the name after its draws.
type unnamed struct{ late bool }

func (unnamed) Check() check.Problems { return nil }

func (unnamed) Masks() []string { return []string{"a"} }

func (unnamed) Reads() []string { return nil }

func (unnamed) Describe() Description { return Description{} }

func (u unnamed) Compile(c *Chain, i int) (core.Step, error) {
	col, err := c.Arithmetic(i, "a")
	if err != nil {
		return nil, err
	}
	if u.late {
		c.Stream(i, col)
		c.AddToHistory(i, col, core.Part("plus", 1))
	}
	return addOne{}, nil
}

type addOne struct{}

func (addOne) Apply(*Chain, *core.Work, *microdata.Block) error { return nil }

// TestUnnamedKindsDoNotRun: a kind of mask that does not add its effect to the name, or does so
// only after its draws, cannot be part of a chain, at any place.
func TestUnnamedKindsDoNotRun(t *testing.T) {
	columns := namingData(10)
	setup := testSetup(t, columns...)
	noise := mask(&Noise{Columns: []string{"a"}, SD: amount(1)})
	for name, u := range map[string]unnamed{"nothing": {}, "late": {late: true}} {
		for _, masks := range [][]Spec{{mask(u)}, {noise, mask(u)}, {mask(u), noise},
			{mask(&Round{Columns: []string{"b"}, Base: ptr(5.0)}), mask(u)}} {
			c := &Chain{Masks: masks, Setup: setup}
			if _, err := core.CompileChain(masks, setup, 0, nil); err == nil || !strings.Contains(err.Error(), "draws") {
				t.Errorf("%s: %d masks: chain %v, error %v", name, len(masks), c, err)
			}
		}
	}
}

// TestNamesEndApart: no name is a prefix of another one that could be read in two ways: parts end
// with semicolons, and texts follow their length.
func TestNamesEndApart(t *testing.T) {
	columns := namingData(10)
	setup := testSetup(t, columns...)
	seen := map[string]string{}
	for _, label := range []string{"x", "x;", "x;by 1:y", "1:x", ";"} {
		for _, second := range []string{"", "y", ";by 1:y"} {
			masks := []Spec{{Name: label, Params: &Noise{Columns: []string{"a"}, SD: amount(1)}}}
			if second != "" {
				masks = append(masks, Spec{Name: second, Params: &Noise{Columns: []string{"a"}, SD: amount(1)}})
			}
			p, ok := probe(t, setup, columns, masks)
			if !ok {
				t.Fatal("no chain")
			}
			what := fmt.Sprintf("%q, %q", label, second)
			if other, twice := seen[p.next]; twice {
				t.Errorf("%s and %s share the name %q", what, other, p.next)
			}
			seen[p.next] = what
		}
	}
}

// The name contains everything that a chain has done to its records: any other mask, on any column
// or on other records, gives another name.
func TestDoneTellsOfAllColumns(t *testing.T) {
	columns := swapData(10, 7, 2, 3)
	setup := testSetup(t, columns...)
	noise := func(name, column string, sd float64) Spec {
		return Spec{Name: name, Params: &Noise{Columns: []string{column}, SD: &Amount{Value: sd}}}
	}
	seen := map[string]int{}
	for i, masks := range [][]Spec{
		nil,
		{noise("x", "a", 1)},
		{noise("x", "a", 2)},
		{noise("y", "a", 1)},
		{noise("x", "d", 1)},
		{noise("x", "a", 1), noise("y", "d", 1)},
		{noise("x", "a", 1), mask(&Round{Columns: []string{"b"}, Base: ptr(2.0)})},
		{mask(&Sample{Rate: ptr(0.5)}), noise("x", "a", 1)},
		{mask(&Sample{Rate: ptr(0.6)}), noise("x", "a", 1)},
	} {
		done := chain(t, setup, masks...).Done()
		if done != chain(t, setup, masks...).Done() {
			t.Errorf("%d: %q once alone", i, done)
		}
		if k, twice := seen[done]; twice {
			t.Errorf("%d and %d have the same name", k, i)
		}
		seen[done] = i
	}
}
