package pinned

import (
	"math"
	"slices"
	"testing"
)

func figures(a ...float64) *Figures {
	f := new(Figures)
	f.Add("one", a...)
	f.Add("two", math.NaN(), math.Inf(1), 0)
	return f
}

func TestDifferences(t *testing.T) {
	text := string(figures(1, 1e-9, 12345.678).text())
	for name, c := range map[string]struct {
		f    *Figures
		want []string
	}{
		"the same":     {figures(1, 1e-9, 12345.678), nil},
		"rounded":      {figures(1+1e-8, 1e-9, 12345.6781), nil},
		"the last":     {figures(1, 1e-9, 12345.69), []string{"one: number 2 is 12345.69, want 12345.678"}},
		"small":        {figures(1, 2e-9, 12345.678), []string{"one: number 1 is 2e-09, want 1e-09"}},
		"not a number": {figures(math.NaN(), 1e-9, 12345.678), []string{"one: number 0 is NaN, want 1"}},
		"fewer":        {figures(1, 1e-9), []string{"one: 2 numbers, want 3"}},
	} {
		if got := c.f.differences(text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	other := new(Figures)
	other.Add("two", math.NaN(), math.Inf(-1), 0)
	other.Add("three")
	if got, want := other.differences(text), []string{"one: is no longer there", "two: number 1 is -Inf, want +Inf",
		"three: is new"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A tree has a row for each of its leaves. Additional rows are not a difference; every other
// deviation is.
func TestTrees(t *testing.T) {
	type part struct {
		Name  string
		Value float64
		Whole bool
		List  []int
		New   map[string]string `json:",omitempty"`
	}
	of := func(parts ...part) *Figures {
		f := new(Figures)
		f.AddTree("all", parts, func(path string) bool { return path == "all[1].Value" })
		return f
	}
	a, b := part{Name: "a\tb", Value: 1.5, List: []int{7, 8}}, part{Name: "c", Value: 2.5, Whole: true}
	text := string(of(a, b).text())
	if want := "all has\t2\nall[0].List has\t2\nall[0].List[0]\t7\nall[0].List[1]\t8\nall[0].Name = a b\nall[0].Value\t1.5\nall[0].Whole = false\nall[1].List = <nil>\nall[1].Name = c\nall[1].Whole = true\n"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	changed := func(change func(a, b *part)) []string {
		a, b := a, b
		a.List = slices.Clone(a.List)
		change(&a, &b)
		return of(a, b).differences(text)
	}
	for name, c := range map[string]struct {
		change func(a, b *part)
		want   []string
	}{
		"nothing":      {func(a, b *part) {}, nil},
		"what is left": {func(a, b *part) { b.Value = 3 }, nil},
		"a new member": {func(a, b *part) { b.New = map[string]string{"x": "y"} }, nil},
		"a number":     {func(a, b *part) { a.Value = 1.6 }, []string{"all[0].Value: number 0 is 1.6, want 1.5"}},
		"a text":       {func(a, b *part) { b.Name = "d" }, []string{"all[1].Name = c: is no longer there"}},
		"a truth":      {func(a, b *part) { b.Whole = false }, []string{"all[1].Whole = true: is no longer there"}},
		"a longer list": {func(a, b *part) {
			a.List = append(a.List, 9)
		}, []string{"all[0].List has: number 0 is 3, want 2"}},
		"a last item": {func(a, b *part) { a.List[1] = 9 }, []string{"all[0].List[1]: number 0 is 9, want 8"}},
	} {
		if got := changed(c.change); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
