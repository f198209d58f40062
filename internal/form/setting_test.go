package form

import (
	"reflect"
	"strings"
	"testing"
)

func TestSettings(t *testing.T) {
	for _, test := range []struct{ set, path, want string }{
		{set: "name=Eden", path: "name", want: "Eden"},
		{set: "name=7", path: "name", want: "7"},
		{set: "water.litres=3", path: "water.litres", want: "3"},
		{set: "tools.0.hose=short", path: "tools[0].hose", want: "short"},
		{set: "tools[0].spade.width=3", path: "tools[0].spade.width", want: "3"},
		{set: "beds.north.length=4", path: "beds.north.length", want: "4"},
		{set: "beds.x.y.length=4", path: "beds.x.y.length", want: "4"},
		{set: "beds.north.plants.0=oak", path: "beds.north.plants[0]", want: "oak"},
		{set: "height.a.b=4", path: "height.a.b", want: "4"},
	} {
		_, r := mustRead(t, plot, test.set)
		if n := r.values[test.path]; n == nil || n.Value != test.want || !r.Given(test.path) {
			t.Errorf("%s: %s is not %s", test.set, test.path, test.want)
		}
		if c := r.Changes(); len(c) != 1 || c[0].Path != test.path || c[0].Now != test.want ||
			c[0].Origin != "--set "+strings.Split(test.set, "=")[0] {
			t.Errorf("%s: %+v", test.set, c)
		}
	}
	for set, want := range map[string]string{
		"name":             "must be path.to.field=value (--set name)",
		"=x":               "must be path.to.field=value (--set =x)",
		"nmae=x":           `no field "nmae" (did you mean "name"?) (--set nmae)`,
		"name.x=y":         `name is a single value and has no field "x" (--set name.x)`,
		"tools.1.hose=x":   `tools is a list of 0: the next part of the path must be a number from 0 to 0, got "1" (--set tools.1.hose)`,
		"tools.-1.hose=x":  `tools is a list of 0: the next part of the path must be a number from 0 to 0, got "-1" (--set tools.-1.hose)`,
		"tools=x":          "tools is a list, and only single values can be set; set an element: tools.0 (--set tools)",
		"beds=x":           "beds is a mapping, and only single values can be set; go on with a dot and a field (--set beds)",
		"beds.north=x":     `beds.north is a mapping, and only single values can be set; go on with a dot and a field; there are length, plants, soil (--set beds.north)`,
		"water.rain=x":     "water.rain is not in this version: it comes with a later one (--set water.rain)",
		"name=\xff":        "must be UTF-8 text (--set name)",
		"water.litres=x":   `water.litres: must be a whole number, got the text "x" (--set water.litres)`,
		"beds.new.plants=": "beds.new.plants is a list, and only single values can be set; set an element: beds.new.plants.0 (--set beds.new.plants)",
	} {
		if _, _, err := read(plot, set); err == nil || err.Error() != want {
			t.Errorf("%q must say %s, got %v", set, want, err)
		}
	}
}

func TestSettingsOfTheEnvironment(t *testing.T) {
	environ := []string{"GARDEN_NAME=e", "GARDEN_WATER__LITRES=5", "GARDEN_BEDS__NORTH__LENGTH=6", "GARDEN_SECRET=s",
		"GARDEN_OWN=o", "GARDEN_NMAE=x",
		"GARDEN_TOOLS__10__HOSE=k", "GARDEN_TOOLS__0__HOSE=a", "OTHER=1", "GARDEN_BEDS__SOUTH__LENGTH=1"}
	for i := 1; i < 10; i++ {
		environ = append(environ, "GARDEN_TOOLS__"+string(rune('0'+i))+"__HOSE="+string(rune('a'+i)))
	}
	g := &garden{}
	text := "version: 1\nname: f # ${GARDEN_OWN}\nbeds: {North: {length: 1}}\nwater: {litres: 1}\n"
	r,
		err := gardens.Read("g.yaml", []byte(text), gardenForm, g,
		Options{Set: []string{"water.litres=9"}, Environ: func() []string { return environ }})
	if err != nil || r.Err() != nil {
		t.Fatal(err, r.Err())
	}
	if g.Name != "e" || g.Water.Litres != 9 || g.Beds[0].Length != 6 || len(g.Beds) != 1 || len(g.Tools) != 11 ||
		g.Tools[10].Hose != "k" || g.Tools[9].Hose != "j" {
		t.Errorf("%+v", g)
	}
	want := []string{
		`environment GARDEN_BEDS__SOUTH__LENGTH is not a setting: beds has no "south" (did you mean "North"?)`,
		`environment GARDEN_NMAE is not a setting: no field "nmae" (did you mean "name"?)`,
	}
	if !reflect.DeepEqual(r.Warnings(), want) {
		t.Errorf("warnings %q", r.Warnings())
	}
	// The file's value stays the old one, for any number of settings.
	for _, c := range r.Changes() {
		switch c.Path {
		case "water.litres":
			if c.Old == nil || *c.Old != "1" || c.Now != "9" || c.Origin != "--set water.litres" || c.Added {
				t.Errorf("%+v", c)
			}
		case "tools[10].hose":
			if c.Old != nil || !c.Added || !reflect.DeepEqual(c.Names, []string{"tools", "hose"}) {
				t.Errorf("%+v", c)
			}
		}
	}
	if len(r.Changes()) != 14 || len(r.Origins()) != 14 {
		t.Errorf("%d changes, %d origins", len(r.Changes()), len(r.Origins()))
	}
	if path, ok := FlagPath("tools[3].hose=x=y"); path != "tools.3.hose" || !ok {
		t.Error(path)
	}
	if _, ok := FlagPath("tools"); ok {
		t.Error("no path")
	}
}

// The questions of the owner of the types before it validates.
func TestWhatIsKnown(t *testing.T) {
	_, r,
		_ := read(
		"version: x\nbeds: {a: {length: 1, plants: [rose]}, b: 3}\ntools: [{hose: h}]\nwater: {litre: 3}\nname: ${SEVEN}\nsoil: sand\n")
	for path, want := range map[string]bool{"version": true, "beds.a.length": true, "beds.a.soil": false, "shade": false,
		"": true} {
		if r.Given(path) != want {
			t.Errorf("given %q", path)
		}
	}
	for path, want := range map[string]bool{"version": false, "beds": true, "beds.b": false, "beds.b.length": false,
		"beds.a": true, "": true} {
		if r.Known(path) != want {
			t.Errorf("known %q", path)
		}
	}
	for path, want := range map[string]bool{"version": false, "beds": false, "beds.a": true, "tools": true, "water": false,
		"wat": true} {
		if r.Sound(path) != want {
			t.Errorf("sound %q", path)
		}
	}
	if r.Sound("tools", "version") || !r.Misspelt("water", "litres") || r.Misspelt("water", "power") ||
		!r.HasStrange("water") || r.HasStrange("beds") {
		t.Error("of several paths, of names")
	}
	if r.Literal("name") || !r.Literal("soil") || r.Literal("shade") {
		t.Error("literal")
	}
	if !r.NamesRead("beds") || r.NamesRead("height") {
		t.Error("names")
	}
	r.Wrong("beds", "must be more")
	if r.NamesRead("beds") {
		t.Error("names of problems of the whole document")
	}
}

func TestProblemsOfAValue(t *testing.T) {
	_, r := mustRead(t, plot+"water: {litres: 3}\ntools: [{hose: h}]\n")
	var ps = []struct{ path, want string }{
		{"water.litres", "water.litres: must be more (g.yaml:4:17)"},
		{"water.power", "water.power: must be more (g.yaml:4:8)"},
		{"tools[0].spade.width", "tools[0].spade.width: must be more (g.yaml:5:9)"},
		{"height", "height: must be more (g.yaml:1:1)"},
	}
	for _, test := range ps {
		if got := r.Problem(test.path, test.path, "must be more").Error(); got != test.want {
			t.Errorf("%s, must be %s", got, test.want)
		}
	}
	r.WrongName("water.litres", "must be called otherwise")
	if err := r.Err(); err.Error() != "water.litres: must be called otherwise (g.yaml:4:9)" {
		t.Error(err)
	}
}
