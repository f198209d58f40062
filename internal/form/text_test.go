package form

import (
	"bytes"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/check"
)

var wholes = []string{
	plot,
	plot + "name: a${EMPTY:-$}${SEVEN}\nsoil: clay\nopen: false\nshade: 5%\ngrowth: 3\nlabel: A B\n",
	plot +
		"tools: [{hose: h}, {spade: {width: 3}}]\nwater: {litres: 0}\nheight: {b: 1e-3, a: 2}\ngate: {pin: \"{\\\"x\\\"}\"}\n",
	"version: 1\nbeds: {a.b: {length: 1, plants: [], soil: ''}, 'c\"': {length: 2, plants: [oak]}}\n",
}

// Written text can be read, and gives the same text again.
func TestCanonicalReadsBack(t *testing.T) {
	for _, text := range wholes {
		g, _ := mustRead(t, text)
		written := Canonical(gardenForm, g)
		again, _ := mustRead(t, string(written))
		if twice := Canonical(gardenForm, again); !bytes.Equal(written, twice) {
			t.Errorf("%s\n%s", written, twice)
		}
	}
	g, _ := mustRead(t, wholes[2])
	const want = `{"version":1,"beds":{"north":{"length":3}},"tools":[{"hose":"h"},{"spade":{"width":3}}],"water":{"litres":0,"power":0.5},"soil":"loam","height":{"a":2,"b":0.001},"open":true,"gate":{"pin":"{\"x\"}"}}`
	if got := string(Canonical(gardenForm, g)); got != want {
		t.Errorf("%s\nmust be\n%s", got, want)
	}
	// A zero that must be given was given.
	g, _ = mustRead(t, strings.Replace(plot, "version: 1", "version: 0", 1))
	if got := string(Canonical(gardenForm, g)); !strings.HasPrefix(got, `{"version":0,`) {
		t.Error(got)
	}
	// Expanded text is not expanded again.
	g, _ = mustRead(t, plot+"name: $${SEVEN}\n")
	if got := string(Canonical(gardenForm, g)); !strings.Contains(got, `"$${SEVEN}"`) {
		t.Error(got)
	}
}

func TestSchemaTakesWhatIsRead(t *testing.T) {
	text, err := gardens.Schema(gardenForm, "garden", "A garden.")
	if err != nil {
		t.Fatal(err)
	}
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("g.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("g.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	for _, text := range append(wholes, plot+"water: {litres: '${SEVEN}'}", plot+"soil: '${SOIL}'") {
		if err := valid(text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	for _, field := range []string{"soil: mud", "colour: red", "label: home", "open: 3", "water: {power: 10}",
		"water: {litres: x}", "water: []", "gate: {key: a, pin: b}", "gate: {}", "shade: much", "growth: '%'",
		"height: {a: b}", "  b: {}", "  b: {length: 1, plants: [elm]}"} {
		if valid(plot+field) == nil {
			t.Errorf("the schema takes %s", field)
		}
	}
	if !strings.Contains(string(text), `"default": "loam"`) ||
		!strings.Contains(string(text), `"description": "the soil"`) {
		t.Errorf("%s", text)
	}
}

// A text is edited at the intended place, and nowhere else.
func TestEditsOfAText(t *testing.T) {
	water := []Step{{Name: "water"}}
	for _, test := range []struct{ text, name, value, want string }{
		{"water: {litres: 3} # daily\nb: 1\n", "litres", "4", "water: {litres: 4} # daily\nb: 1\n"},
		{"water: {litres: 3}\n", "power", "4", "water: {litres: 3, power: 4}\n"},
		{"water:\n  litres: 3 # x\n\nb: 1\n", "litres", "40", "water:\n  litres: 40 # x\n\nb: 1\n"},
		{"water:\n  litres: 3 # x\n\nb: 1\n", "power", "4", "water:\n  litres: 3 # x\n  power: 4\n\nb: 1\n"},
		{"water:\r\n  litres: 'a''b'\r\nb: 1\r\n", "litres", "5%", "water:\r\n  litres: '5%'\r\nb: 1\r\n"},
		{"water:\r\n  litres: 3\r\nb: 1\r\n", "power", "5", "water:\r\n  litres: 3\r\n  power: 5\r\nb: 1\r\n"},
		{`{"water": {"litres": "a\"b"}}`, "litres", "5%", `{"water": {"litres": "5%"}}`},
		{`{"water": {"litres": 3}}`, "power", "5%", `{"water": {"litres": 3, "power": "5%"}}`},
		{"water:\n  litres: |\n    a\n    b\n  c: 1\n", "litres", "x", "water:\n  litres: x\n  c: 1\n"},
		{"water:\n  litres: a\n    b\n  c: 1\n", "litres", "x", "water:\n  litres: x\n  c: 1\n"},
		{"water:\n  litres:\n  c: 1\n", "litres", "x", "water:\n  litres: x\n  c: 1\n"},
		{"\ufeffwater: {é: 1, litres: 2}\n", "litres", "x", "\ufeffwater: {é: 1, litres: x}\n"},
	} {
		d, err := NewDocument("g.yaml", []byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Edited(d.Set(d.At(water...), test.name, test.value, strings.HasSuffix(test.value, "%"))); got !=
			test.want {
			t.Errorf("%q\nmust become %q\ngot         %q", test.text, test.want, got)
		}
	}
	const text = "a:\n- one # 1\n- two\nb: [x,\n  y]\nc: 3\n"
	d, err := NewDocument("g.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Edited(d.ReplaceList("a", d.At(Step{Name: "b"}), d.ListText(d.At(Step{Name: "b"})))); got !=
		"a:\n  [x,\n  y]\nb: [x,\n  y]\nc: 3\n" {
		t.Errorf("%q", got)
	}
	if got := d.Edited(d.ReplaceList("b", d.At(Step{Name: "a"}), d.ListText(d.At(Step{Name: "a"})))); got !=
		"a:\n- one # 1\n- two\nb:\n  - one # 1\n  - two\nc: 3\n" {
		t.Errorf("%q", got)
	}
	other, err := NewDocument("g.yaml", []byte("a: [1]\nb: [x, y]\nc: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !SameBut(d, other, "a") || SameBut(d, other, "b") || d.At(Step{Name: "a"}, Step{Index: 2}) != nil ||
		d.At(Step{Name: "a"}, Step{Name: "x"}) != nil || d.At(Step{Name: "a"}, Step{Index: 1}).Value != "two" {
		t.Error("same but for one field")
	}
}

func TestProblemsWithin(t *testing.T) {
	_, r, _ := read(plot + "water: {litre: 3, power: x}\n")
	before := len(r.errs)
	r.Within("water", check.Problems{{Path: "litres", Text: "must be given"}, {Path: "power", Text: "must be more"}})
	if len(r.errs) != before {
		t.Errorf("reported twice: %v", r.Err())
	}
	r.Within("beds", check.Problems{{Path: "", Text: "must be more"}})
	if got := r.Err().Error(); !strings.Contains(got, "beds: must be more (g.yaml:3:3)") {
		t.Error(got)
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]string{"a[1].b.c": "a[1].b", "a[1]": "a", "a": ""} {
		if got := Parent(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if Join("", "a") != "a" || Join("a", "b") != "a.b" || Dotted("a[1].b[22]") != "a.1.b.22" {
		t.Error("paths")
	}
	if Instead("x", nil) != "" || Instead("lenght", []string{"length"}) != ` (did you mean "length"?)` ||
		Instead("q", []string{"aa", "bb"}) != "; there are aa, bb" {
		t.Error("names")
	}
}
