package draft

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// A survey of 300 households of one to four persons. Weights and the numbers of households are found by
// name or by what their values look like; neither they nor postcodes get a mask of numbers.
func TestSurveysGetNoNoiseOnWeights(t *testing.T) {
	var b strings.Builder
	b.WriteString("grp,nr,person_weight,db090,w0,w1,plz,area,amount,steps,far,last\n")
	n := 0
	for h := range 300 {
		for p := range 1 + h%4 {
			// w0 has mean 1: pairs of records around it.
			w0 := 1 + 0.25*float64(1-2*(n%2))*math.Mod(float64(n/2)*0.37, 1)
			fmt.Fprintf(&b, "%d,%d,%.3f,%.2f,%.6f,%.6f,%d,%d,%d,%d,%d,%d\n", 7000+h*3, h%150+1000*p, 100+float64(h%7)*1.5,
				200.25+float64(h), w0, w0*1.01, 10000+h*17%8000, 1000+n*91%8999, n*n%977, 10*h, h/30, 7000+h*3)
			n++
		}
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "d.csv")
	if err := os.WriteFile(data, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Of(t.Context(), data, &csv.SourceConfig{Path: data})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Guess{
		"grp":           {Role: microdata.Identifier, Use: householdID, Unsure: true},
		"nr":            {Role: microdata.Sensitive, Unsure: true}, // a value comes back later
		"person_weight": {Role: microdata.Other, Use: weights},
		"db090":         {Role: microdata.Other, Use: weights},
		"w0":            {Role: microdata.Other, Use: weights, Unsure: true},
		"w1":            {Role: microdata.Sensitive, Unsure: true}, // of mean 1.01
		"plz":           {Role: microdata.Key},
		"area":          {Role: microdata.Key, Unsure: true}, // four digits each
		"amount":        {Role: microdata.Sensitive},
		"steps":         {Role: microdata.Identifier, Use: householdID, Unsure: true},
		"far":           {Role: microdata.Key, Unsure: true}, // ten values of 75 records
		"last":          {Role: microdata.Identifier, Use: householdID, Unsure: true},
	}
	if len(d.Listed) != len(want) {
		t.Fatalf("%d columns", len(d.Listed))
	}
	for _, c := range d.Listed {
		got := c.Guess
		if got.Why == "" {
			t.Errorf("%s: no reason", c.Field.Name)
		}
		if got.Why = ""; got != want[c.Field.Name] {
			t.Errorf("%s: %+v (%s), want %+v", c.Field.Name, got, c.Why, want[c.Field.Name])
		}
	}
	file := filepath.Join(dir, "c.yaml")
	text := d.Write()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := config.Load(file, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Weight != "person_weight" || !strings.Contains(text, "\n# household: grp\n") {
		t.Errorf("weight %q in\n%s", p.Weight, text)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "noise:") &&
			(!strings.Contains(line, "amount") || strings.Contains(line, "w0") || strings.Contains(line, "grp") ||
				strings.Contains(line, "plz")) {
			t.Error(line)
		}
	}
}

// A weight beside a height is that of a body; one alone may be that of a body.
func TestWeightsOfBodies(t *testing.T) {
	for _, c := range []struct {
		columns string
		want    microdata.Role
		use     use
		unsure  bool
	}{
		{"weight,height", microdata.Sensitive, noUse, true},
		{"weight,income", microdata.Other, weights, true},
		{"final_weight,income", microdata.Other, weights, false},
		{"weight_id,income", microdata.Identifier, noUse, false},
	} {
		data := filepath.Join(t.TempDir(), "d.csv")
		text := c.columns + "\n"
		for i := range 200 {
			text += fmt.Sprintf("%d.5,%d\n", 40+i*7%400, 150+i%60)
		}
		if strings.Contains(c.columns, "weight,") && !strings.Contains(c.columns, "final") {
			text = strings.ReplaceAll(text, "4", "1") // below 400
		}
		if err := os.WriteFile(data, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Of(t.Context(), data, &csv.SourceConfig{Path: data})
		if err != nil {
			t.Fatal(err)
		}
		if g := d.Listed[0].Guess; g.Role != c.want || g.Use != c.use || g.Unsure != c.unsure {
			t.Errorf("%s: %+v", c.columns, g)
		}
	}
	// Without a value in each record, weights are not named for the pipeline.
	d := &Draft{Listed: []Listed{{&Column{Values: 9}, Guess{Use: weights}}, {&Column{Values: 10}, Guess{}}}}
	if got := d.using(weights); got != "" {
		t.Errorf("weights of some records: %q", got)
	}
}
