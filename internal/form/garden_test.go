package form

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
)

// garden is a configuration that has every kind of field.
type garden struct {
	Version int                `yaml:"version" required:"true" doc:"version; 1"`
	Name    string             `yaml:"name" doc:"the garden's name"`
	Beds    beds               `yaml:"beds" required:"true" doc:"the beds, by name"`
	Tools   []tool             `yaml:"tools" doc:"the tools"`
	Water   *water             `yaml:"water" doc:"how it is watered"`
	Shade   float64            `yaml:"shade" share:"whole" doc:"share in the shade"`
	Growth  float64            `yaml:"growth" share:"part" doc:"growth"`
	Soil    string             `yaml:"soil" default:"loam" enum:"loam,sand,clay" doc:"the soil"`
	Height  map[string]float64 `yaml:"height" doc:"heights by plant"`
	Open    bool               `yaml:"open" default:"true" doc:"whether it is open"`
	Gate    lock               `yaml:"gate" doc:"the gate's lock"`
	Label   label              `yaml:"label" doc:"the label, in capitals"`
	place   int
	Notes   string `yaml:"-"`
}

type beds []bed

type bed struct {
	Name   string   `yaml:",name"`
	Length int      `yaml:"length" required:"true" doc:"in metres"`
	Plants []string `yaml:"plants" enum:"rose,oak,fern" doc:"what grows there"`
	Soil   *string  `yaml:"soil" doc:"another soil"`
}

type water struct {
	Litres int `yaml:"litres" default:"10" doc:"litres a day"`
	pump   `yaml:",inline"`
}

type pump struct {
	Power float64 `yaml:"power" default:"0.5" doc:"of the pump"`
}

type tool struct {
	Spade *spade `yaml:"spade" choice:"true" doc:"a spade"`
	Hose  string `yaml:"hose" choice:"true" doc:"a hose"`
}

type spade struct {
	Width int `yaml:"width" default:"20" doc:"in centimetres"`
}

type lock struct {
	Key string `yaml:"key" choice:"true" doc:"which key"`
	Pin string `yaml:"pin" choice:"true" doc:"where the pin is"`
}

// label is written in capitals.
type label string

func (l *label) UnmarshalText(text []byte) error {
	if s := string(text); s != strings.ToUpper(s) {
		return fmt.Errorf("must be in capitals, got %q", s)
	}
	*l = label(text)
	return nil
}

func (l label) MarshalText() ([]byte, error) { return []byte(l), nil }

var gardens = &Dialect{
	Begin:       "version: 1",
	Prefix:      "GARDEN_",
	NoSettings:  []string{"GARDEN_SECRET"},
	Later:       map[reflect.Type]map[string]string{reflect.TypeFor[water](): {"rain": "it comes with a later one"}},
	NotAMapping: map[reflect.Type]string{reflect.TypeFor[lock](): "must be {key: …} or {pin: …}"},
	Synonyms:    map[string]string{"mud": "clay"},
	Written: func(owner, t reflect.Type) *jsonschema.Schema {
		if t == reflect.TypeFor[label]() {
			return &jsonschema.Schema{Type: "string", Pattern: "^[^a-z]*$"}
		}
		if owner == reflect.TypeFor[pump]() || owner == reflect.TypeFor[water]() && t.Kind() == reflect.Float64 {
			return &jsonschema.Schema{Type: "number", Maximum: "9"}
		}
		return nil
	},
}

var gardenForm = gardens.Of(reflect.TypeFor[garden]())

const plot = `version: 1
beds:
  north: {length: 3}
`

func variables(name string) (string, bool) {
	value, set := map[string]string{"SEVEN": "7", "EMPTY": "", "PASSWORD": "hunter22", "MAP": "{length: 1}", "BAD": "\xff",
		"YES": "true"}[name]
	return value, set
}

// read reads a garden; all problems are in the error.
func read(text string, set ...string) (*garden, *Reading, error) {
	g := &garden{}
	r, err := gardens.Read("g.yaml", []byte(text), gardenForm, g, Options{Set: set, LookupEnv: variables})
	if err == nil {
		err = r.Err()
	}
	return g, r, err
}

func mustRead(t *testing.T, text string, set ...string) (*garden, *Reading) {
	t.Helper()
	g, r, err := read(text, set...)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return g, r
}

func TestEveryShapeIsRead(t *testing.T) {
	g, _ := mustRead(t, `version: 1
name: "7"
beds:
  a.b: {length: 3, plants: [rose, oak], soil: peat}
tools: [{hose: long}, {spade: {}}]
water: {power: 2}
shade: 12.5%
growth: 250 %
height: {oak: 20, fern: .5}
open: false
gate: {pin: north}
label: HOME
`)
	peat := "peat"
	want := &garden{
		Version: 1, Name: "7", Beds: beds{{Name: "a.b", Length: 3, Plants: []string{"rose", "oak"}, Soil: &peat}},
		Tools: []tool{{Hose: "long"}, {Spade: &spade{Width: 20}}}, Water: &water{Litres: 10, pump: pump{Power: 2}},
		Shade: 0.125, Growth: 2.5, Soil: "loam", Height: map[string]float64{"oak": 20, "fern": 0.5}, Gate: lock{Pin: "north"},
		Label: "HOME",
	}
	if !reflect.DeepEqual(g, want) {
		t.Errorf("read\n%+v, must be\n%+v", g, want)
	}
	g, _ = mustRead(t, plot)
	if !g.Open || g.Soil != "loam" || g.Water != nil || g.Tools != nil || g.place != 0 {
		t.Errorf("defaults: %+v", g)
	}
}

// A value that could not be read gives one error, and its expected content gives no further ones.
func TestOneErrorForAValueThatCannotBeRead(t *testing.T) {
	_, r, _ := read(plot + "shade: dark\nwater: [3]\ntools: [{hose: long}, 7]\n")
	before := strings.Count(r.Err().Error(), "\n")
	r.Wrong("shade", "must be below 1")
	r.Wrong("water.litres", "must be below 9")
	r.WrongAt("water", "water.power", "is required")
	r.Wrong("tools[1].hose", "must be short")
	if got := r.Err().Error(); before != 2 || strings.Count(got, "\n") != before {
		t.Errorf("errors:\n%s", got)
	}
	r.Wrong("tools[0].hose", "must be short")
	r.Wrong("name", "must be given")
	if got := r.Err().Error(); strings.Count(got, "\n") != before+2 {
		t.Errorf("errors:\n%s", got)
	}
}

// Each case is one mistake, with its complete error.
func TestWhatIsWrongIsSaidWithItsPlace(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"version: 1\n", "beds: is required: the beds, by name (g.yaml:1:1)"},
		{
			"[1]",
			"must be a mapping of version, name, beds, tools, water, shade, growth, soil, height, open, gate, label, got a list (g.yaml:1:1)"},
		{
			"wage",
			"must be a mapping of version, name, beds, tools, water, shade, growth, soil, height, open, gate, label, got a single value; is this the configuration? (g.yaml:1:1)"},
		{"", `is empty; a configuration begins with "version: 1" (g.yaml:1:1)`},
		{plot + "colour: red",
			"colour: is not a field here; there are version, name, beds, tools, water, shade, growth, soil, height, open, gate, label (g.yaml:4:1)"},
		{plot + "sahde: 1", `sahde: is not a field here (did you mean "shade"?) (g.yaml:4:1)`},
		{plot + "water: {power: 90,5}",
			"water.5: is not a field here: a comma ends a value; write the decimals of a number behind a point (g.yaml:4:19)"},
		{plot + "water: {power: 90, 05%}",
			"water.05%: is not a field here: a comma ends a value; write the decimals of a number behind a point (g.yaml:4:20)"},
		{plot + "water: {power: 90, '%'}", "water.%: is not a field here; there are litres, power (g.yaml:4:20)"},
		{plot + "water: {power: 90, 5: 1}", "water.5: is not a field here; there are litres, power (g.yaml:4:20)"},
		{plot + "water: {power: .inf, 5}",
			"water.power: must be a number, got the number .inf (g.yaml:4:16)\nwater.5: is not a field here; there are litres, power (g.yaml:4:22)"},
		{plot + "water:\n  power: 90\n  5:", "water.5: is not a field here; there are litres, power (g.yaml:6:3)"},
		{"version: 1\nbed: {}", `bed: is not a field here (did you mean "beds"?) (g.yaml:2:1)`},
		{plot + "version: 1", "version: is given twice, first in line 1; remove one (g.yaml:4:1)"},
		{plot + "? [a]\n: b", "a field's name must be a word, got a list (g.yaml:4:3)"},
		{plot + "name:", "name: must be text, got nothing; remove the field or give it a value (g.yaml:4:6)"},
		{plot + "name: 7", `name: must be text, got the number 7; write it in quotes: "7" (g.yaml:4:7)`},
		{plot + "name: true", `name: must be text, got true; write it in quotes: "true" (g.yaml:4:7)`},
		{plot + "name: [a]", "name: must be a single value, got a list (g.yaml:4:7)"},
		{plot + "name: " + strings.Repeat("é", 61) + ": x",
			`is not YAML: a second ": " in one line, or wrong indentation; a value that holds ": " needs quotes (g.yaml:4:68)`},
		{plot + "water: {litres: '3'}",
			"water.litres: must be a whole number, got text; remove the quotes around 3 (g.yaml:4:17)"},
		{plot + "water: {litres: 3.0}", "water.litres: must be a whole number, got the number 3.0; write 3 (g.yaml:4:17)"},
		{plot + "water: {litres: 1e99}", "water.litres: must be a whole number, got the number 1e99 (g.yaml:4:17)"},
		{plot + "water: {litres: 99999999999999999999}",
			"water.litres: must be a whole number of at most 64 bits, got 99999999999999999999 (g.yaml:4:17)"},
		{plot + "water: {power: much}", `water.power: must be a number, got the text "much" (g.yaml:4:16)`},
		{plot + "water: {power: 5%}", `water.power: must be a number, got the text "5%" (g.yaml:4:16)`},
		{plot + "water: {power: '5'}", "water.power: must be a number, got text; remove the quotes around 5 (g.yaml:4:16)"},
		{plot + "water: {power: 1e999}", "water.power: must be a number that a double holds, got 1e999 (g.yaml:4:16)"},
		{plot + "water: {power: .nan}", "water.power: must be a number, got the number .nan (g.yaml:4:16)"},
		{plot + "water: {rain: 1}", "water.rain: is not in this version: it comes with a later one (g.yaml:4:9)"},
		{plot + "water: 3", "water: must be a mapping of litres, power, got the number 3 (g.yaml:4:8)"},
		{plot + "shade: 101%", `shade: must be at most 100%, got the text "101%" (g.yaml:4:8)`},
		{plot + "shade: 90",
			"shade: must be a share from 0 to 1, or a percentage, got the number 90; write 0.9 or 90% (g.yaml:4:8)"},
		{plot + "soil: laom", `soil: must be one of loam, sand, clay, got "laom" (did you mean "loam"?) (g.yaml:4:7)`},
		{plot + "soil: Mud", `soil: must be one of loam, sand, clay, got "Mud", which is called "clay" here (g.yaml:4:7)`},
		{plot + "open: 'true'", "open: must be true or false, got text; remove the quotes around true (g.yaml:4:7)"},
		{plot + "open: yes", `open: must be true or false, got the text "yes" (g.yaml:4:7)`},
		{plot + "gate: hunter22", "gate: must be {key: …} or {pin: …} (g.yaml:4:7)"},
		{plot + "gate: {}", "gate: must have exactly one of key, pin, got none of them (g.yaml:4:7)"},
		{plot + "gate: {key: a, pin: b}",
			"gate.pin: must not stand beside key: exactly one of key, pin is allowed (g.yaml:4:16)"},
		{plot + "tools: spade", "tools: must be a list, got the text \"spade\" (g.yaml:4:8)"},
		{plot + "tools: [{}]", "tools[0]: must have exactly one of spade, hose, got none of them (g.yaml:4:9)"},
		{plot + "  b: {length: 1, plants: rose}",
			`beds.b.plants: must be a list, got the text "rose"; write it in brackets: [rose] (g.yaml:4:26)`},
		{plot + "  b: {length: 1, plants: [rose, oka]}",
			`beds.b.plants[1]: must be one of rose, oak, fern, got "oka" (did you mean "oak"?) (g.yaml:4:33)`},
		{plot + "  b: {}", "beds.b.length: is required: in metres (g.yaml:4:6)"},
		{plot + "label: home", `label: must be in capitals, got "home" (g.yaml:4:8)`},
		{plot + "label:", "label: must be a value, got nothing (g.yaml:4:7)"},
		{plot + "height: [1]", "height: must be a mapping (name: value), got a list (g.yaml:4:9)"},
	} {
		_, _, err := read(test.text)
		if err == nil || err.Error() != test.want {
			t.Errorf("%q\nmust say %s\ngot      %v", strings.TrimPrefix(test.text, plot), test.want, err)
		}
		var all Errors
		var one Error
		if !errors.As(err, &all) || !errors.As(err, &one) || one != all[0] {
			t.Errorf("%q: %T", test.text, err)
		}
	}
}

// Errors have the order of the file, whichever step detects them; those of settings come last, and
// each occurs once.
func TestErrorsAreInOrder(t *testing.T) {
	_, r, _ := read("shade: 2\nopen: 3\nversion: 1\nname: ${NOWHERE}\nbeds: {}\n", "water.litres=x", "soil=mud",
		"no-value")
	r.Wrong("version", "must be odd")
	r.Wrong("version", "must be odd")
	r.Wrong("beds", "must be some")
	err := r.Err()
	if err == nil {
		t.Fatal("no error")
	}
	var lines []string
	for _, line := range strings.Split(err.Error(), "\n") {
		name, _, _ := strings.Cut(line, ":")
		lines = append(lines, name)
	}
	if got, want := strings.Join(lines,
		" "), "shade open version name beds must be path.to.field=value (--set no-value) soil water.litres"; got != want {
		t.Errorf("%s\nin\n%v", got, err)
	}
}

func TestExpansionIsNeverShown(t *testing.T) {
	g,
		_ := mustRead(t,
		plot+
			"water:\n  litres: ${SEVEN}\nname: a ${SEVEN} $${SEVEN}${EMPTY:-!}\nsoil: ${NOWHERE:-sand}\ngate: {key: '${MAP}'}\n")
	if g.Water.Litres != 7 || g.Name != "a 7 ${SEVEN}!" || g.Soil != "sand" || g.Gate.Key != "{length: 1}" {
		t.Errorf("%+v %+v", g, g.Water)
	}
	for _, field := range []string{"soil: ${PASSWORD}", "label: ${PASSWORD}", "water: {litres: '${PASSWORD}'}",
		"open: ${PASSWORD}", "shade: ${PASSWORD}", "water: ${PASSWORD}", "tools: ${PASSWORD}", "height: {a: '${PASSWORD}'}"} {
		_, _, err := read(plot + field)
		if err == nil || strings.Contains(err.Error(), "hunter") || !strings.Contains(err.Error(), "${PASSWORD}") &&
			!strings.Contains(err.Error(), "mapping") {
			t.Errorf("%s: %v", field, err)
		}
	}
	// A later error about an expanded value does not show the value either.
	_, r := mustRead(t, plot+"name: ${PASSWORD}")
	r.Wrong("name", "must be short, got %q: %s", "hunter22", "not hunter22, and got hunter22")
	if err := r.Err(); strings.Contains(err.Error(), "hunter") {
		t.Error(err)
	}
	_, r = mustRead(t, plot+"name: ${EMPTY}")
	r.Wrong("name", "must be longer, got nothing")
	if err := r.Err(); err.Error() != "name: must be longer, got nothing (g.yaml:4:7)" {
		t.Error(err)
	}
	// In quotes it stays text.
	if _, _, err := read(plot + "open: '${YES}'"); err == nil ||
		!strings.Contains(err.Error(), "must be true or false, got text; remove the quotes around ${YES}") {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"${NOWHERE}": "the environment variable NOWHERE, which is not set", "${BAD}": "which is not UTF-8 text",
		"x ${SEVEN": "has a ${ without its }", "${}": "must refer to ${NAME}",
		"${file:nowhere}": "but the file does not exist",
	} {
		if _, _, err := read(plot + "name: " + text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
