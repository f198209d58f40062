package draft

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// drafted drafts a configuration for a CSV file and loads it.
func drafted(t *testing.T, text string) (*config.Pipeline, string) {
	t.Helper()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "d.csv"), filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(data, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Of(t.Context(), data, &csv.SourceConfig{Path: data})
	if err != nil {
		t.Fatal(err)
	}
	written := d.Write()
	if err := os.WriteFile(file, []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := config.Load(file, config.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, written)
	}
	return p, strings.ReplaceAll(written, dir, "DIR")
}

// The proposed map has two parameters in each strategy, which fit its masks, and masks neither codes nor what does not
// vary.
func TestDraftsHaveAMapOfTwoParameters(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	wages, keys, plain := "income,debt,rent,age,sex\n", "age,sex\n", "sex,region\n"
	for i := range 200 {
		wages += fmt.Sprintf("%d.25,%d.5,7777.5,%d,%d\n", 31337000+rng.IntN(9000), rng.IntN(900)-300, 20+rng.IntN(60), 1+i%2)
		keys += fmt.Sprintf("%d,%d\n", 20+i%60, 1+i%2)
		plain += fmt.Sprintf("%d,%c\n", i%2, 'a'+i%3)
	}
	p, text := drafted(t, wages)
	strategies, err := p.MapStrategies()
	if err != nil {
		t.Fatal(err)
	}
	if len(strategies) != 2 || p.Map.Column != "income" {
		t.Fatalf("%d strategies of %q in\n%s", len(strategies), p.Map.Column, text)
	}
	for i, second := range []string{"masks.1.bias.range", "masks.1.microaggregate.k"} {
		axes := strategies[i].Axes
		if len(axes) != 2 || axes[0].Path != "masks.0.noise.sd" || axes[1].Path != second || len(axes[0].Values) < 3 ||
			len(axes[1].Values) < 3 {
			t.Errorf("%s: %+v", strategies[i].Name, axes)
		}
	}
	_, maps, _ := strings.Cut(text, "\nmap:")
	for _, want := range []string{"noise: {columns: [income, debt], sd", "microaggregate: {columns: [age], k",
		"truncate: {columns: [income], lower: 0}"} {
		if !strings.Contains(maps, want) {
			t.Errorf("%s is missing in\n%s", want, maps)
		}
	}
	if strings.Contains(text, "31337") || strings.Contains(text, "7777") {
		t.Errorf("a value is in\n%s", text)
	}

	p, text = drafted(t, keys)
	if strategies, err = p.MapStrategies(); err != nil || len(strategies) != 1 || len(strategies[0].Axes) != 2 ||
		p.Map.Column != "age" {
		t.Errorf("only keys: %v, %v in\n%s", strategies, err, text)
	}
	if !strings.Contains(text, "\n    - {min_k: 3}\n") { // no rule on sensitive columns withholds
		t.Errorf("only keys: no rule withholds in\n%s", text)
	}
	if p, text = drafted(t, plain); p.Map != nil || !strings.Contains(text, "# `sdlfilter map` compares amounts") {
		t.Errorf("nothing to vary:\n%s", text)
	}
}

// A snooper links by at most 64 keys: of more, the configuration names those first of which it is sure, and is valid.
func TestManyKeysAreCut(t *testing.T) {
	var head, row []string
	for i := range 80 {
		head, row = append(head, fmt.Sprintf("q%d", i)), append(row, "%[1]d")
	}
	head, row = append(head, "age"), append(row, "%[2]d")
	text := strings.Join(head, ",") + "\n"
	for i := range 100 {
		text += fmt.Sprintf(strings.Join(row, ",")+"\n", 1+i%3, 20+i%50)
	}
	p, written := drafted(t, text)
	if len(p.Assess.Keys) != 64 || p.Assess.Keys[0] != "age" || p.Assess.Keys[63] != "q62" ||
		!strings.Contains(written, "17 more have that role") {
		t.Errorf("keys %v", p.Assess.Keys)
	}
	for _, line := range strings.Split(written, "\n") {
		if utf8.RuneCountInString(line) > 80 && !strings.HasPrefix(line, "source:") {
			t.Errorf("wider than 80 characters: %s", line)
		}
	}
}

// How many values stay is told from steps and zeros; it agrees with what noise of 20 % leaves.
func TestWhatStaysIsTold(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 20_000
	c := &Column{Field: microdata.Field{Type: arrow.PrimitiveTypes.Int64}}
	values := make([]float64, n)
	for i := range values {
		if values[i] = math.Abs(math.Round(5 * rng.NormFloat64())); i%4 == 0 {
			values[i] = 0
		}
		c.Values++
		c.sum, c.squares = c.sum+values[i], c.squares+values[i]*values[i]
		if values[i] == 0 {
			c.zeros++
		}
	}
	mean := c.sum / n
	sd := math.Sqrt(c.squares/n - mean*mean)
	stay := 0
	for _, v := range values {
		if math.Max(0, math.Round(v+0.2*sd*rng.NormFloat64())) == v {
			stay++
		}
	}
	// A zero that noise rounds to zero stays with the half below it: counted as half and the half of those within a step,
	// too. Four standard errors of a share of n draws are below 0.0142.
	if got, want := c.stays(), float64(stay)/n; math.Abs(got-want) > 0.0142 {
		t.Errorf("%.4f stay, want %.4f", got, want)
	}
	for _, w := range []struct {
		sd     float64
		places int
		want   float64
	}{{1000, 0, 0.05}, {20, 0, 0.2}, {40, 0, 0.1}, {1, 0, 0.5}, {1, 2, 0.05}, {0.44, 1, 0.5}, {1, -1, 0.05}} {
		c := &Column{Values: 10, Decimals: w.places, Negative: true, squares: 10 * w.sd * w.sd}
		if got := c.unchanged(); got != w.want {
			t.Errorf("SD %v of %d decimals: %v, want %v", w.sd, w.places, got, w.want)
		}
	}
}

// Labels of few words and names that end in id say what a column is; words that end so do not.
func TestLabelsSayRoles(t *testing.T) {
	for _, c := range []struct {
		name, label string
		distinct    int
		labels      int
		want        microdata.Role
	}{
		{"CASEID", "", 900, 0, microdata.Identifier}, {"utilityid", "", 300, 0, microdata.Identifier},
		{"respid", "", 5, 0, microdata.Key},
		{"prepaid", "", 300, 0, microdata.Sensitive}, {"steroid", "", 300, 0, microdata.Sensitive},
		{"v1", "Beginning salary", 90, 0, microdata.Sensitive}, {"v1", "", 90, 0, microdata.Key},
		{"v2", "Previous experience (months)", 300, 0, microdata.Key},
		{"v2", "How often do you do this in an average week", 300, 0, microdata.Sensitive},
		{"v3", "", 300, 150, microdata.Key}, {"v3", "", 300, 149, microdata.Sensitive},
	} {
		col := &Column{Field: microdata.Field{Name: c.name, Type: arrow.PrimitiveTypes.Float64}, Values: 1000,
			Distinct: c.distinct, most: 1e9}
		col.Field.Described = &microdata.Description{Label: c.label, Values: make([]microdata.ValueLabel, c.labels)}
		if g := (&Look{}).GuessRole(col); g.Role != c.want || !g.Unsure {
			t.Errorf("%s (%s), %d different, %d labels: %+v, want %s", c.name, c.label, c.distinct, c.labels, g, c.want)
		}
	}
}
