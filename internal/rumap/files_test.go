package rumap_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/mapexample"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

var update = flag.Bool("update", false, "rewrite the schema")

func written(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jsonOf(t *testing.T, m *rumap.Map) []byte {
	return written(t, func(w io.Writer) error { return rumap.WriteJSON(w, m) })
}

func TestSchemaIsCurrent(t *testing.T) {
	text, err := jsonSchema()
	if err != nil {
		t.Fatal(err)
	}
	const path = "map.schema.json"
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(kept, text) {
		t.Errorf("%s is not what the types say (rewrite with -update): %v", path, err)
	}
}

func TestMapsFollowTheSchema(t *testing.T) {
	text, err := jsonSchema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("map.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("map.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(text []byte) error {
		v, err := validator.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	for name, m := range mapexample.All() {
		if err := check(jsonOf(t, m)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := string(jsonOf(t, mapexample.Noise()))
	for what, change := range map[string][2]string{
		"another schema":   {rumap.Schema, "sdlfilter.map/2"},
		"unknown member":   {`"column"`, `"secret": 1, "column"`},
		"word for a risk":  {`"R": 0.`, `"R": "small", "x": 0.`},
		"no efficiency":    {`"efficiency":`, `"efficient":`},
		"word for a count": {`"replicates": 200`, `"replicates": "many"`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s: the sample holds no %s", what, change[0])
		}
		if check([]byte(bad)) == nil {
			t.Errorf("%s: the schema allows it", what)
		}
	}
}

// TestJSONRoundTrip: the written JSON can be read, and gives the same JSON again.
func TestJSONRoundTrip(t *testing.T) {
	for name, m := range mapexample.All() {
		text := jsonOf(t, m)
		var back rumap.Map
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again := jsonOf(t, &back); !bytes.Equal(again, text) {
			t.Errorf("%s: is written otherwise after it was read", name)
		}
	}
	m := mapexample.Noise()
	m.Points[0].Parameters["x"] = math.NaN()
	if err := rumap.WriteJSON(io.Discard, m); err == nil || !strings.Contains(err.Error(), "finite") {
		t.Errorf("a parameter that is not a number: %v", err)
	}
}

// TestCSVHoldsEveryRisk: one row for each risk of each point and group, with exactly the numbers of
// the map.
func TestCSVHoldsEveryRisk(t *testing.T) {
	for name, m := range mapexample.All() {
		text := written(t, func(w io.Writer) error { return rumap.WriteCSV(w, m) })
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		column := map[string]int{}
		for i, h := range rows[0] {
			column[h] = i
		}
		rows = rows[1:]
		number := func(s string) float64 {
			switch s {
			case "":
				return math.NaN()
			case "Infinity":
				return math.Inf(1)
			}
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return v
		}
		same := func(what, s string, v float64) {
			if got := number(s); got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
				t.Errorf("%s: %s is %q, want %v", name, what, s, v)
			}
		}
		risks := func(p *rumap.Point, list []rumap.Risk, efficiency assess.Float, values []string) {
			for _, k := range list {
				if len(rows) == 0 {
					t.Fatalf("%s: too few rows", name)
				}
				row := rows[0]
				rows = rows[1:]
				if row[0] != p.Strategy || row[column["target"]] != k.Target || row[column["knowledge"]] != k.Knowledge {
					t.Fatalf("%s: row %q, want %s of %s", name, row, k.Target, p.Strategy)
				}
				same("R", row[column["R"]], float64(k.R))
				same("R_se", row[column["R_se"]], float64(k.RSE))
				same("rmse", row[column["rmse"]], float64(k.RMSE))
				same("efficiency", row[column["efficiency"]], float64(efficiency))
				beside := map[string]float64{}
				if p.Loss != nil && values == nil {
					beside["ks"] = float64(max(p.Loss.KS["wage"], p.Loss.KS["hours/week"]))
					beside["pmse"] = float64(*p.Loss.PMSE)
					if p.Loss.Overlap != nil {
						beside["overlap"] = float64(*p.Loss.Overlap)
					}
					beside["attribute_disclosure"] = float64(p.Respondents["max_attribute_disclosure"])
				}
				for _, figure := range []string{"ks", "pmse", "overlap", "attribute_disclosure"} {
					at, there := column[figure]
					if there != (name == "losses") {
						t.Errorf("%s: a column %s: %v", name, figure, there)
					} else if v, of := beside[figure]; there && of {
						same(figure, row[at], v)
					} else if there {
						same(figure, row[at], math.NaN())
					}
				}
				for i, a := range m.Axes {
					v, ok := p.Parameters[a.Path]
					if !ok {
						v = math.NaN()
					}
					same(a.Path, row[1+i], v)
				}
				for i, g := range m.Groups {
					if want := append(values, make([]string, len(m.Groups))...)[i]; row[len(row)-1-len(m.Groups)+i] != want {
						t.Errorf("%s: group %s is %q, want %q", name, g, row[len(row)-1-len(m.Groups)+i], want)
					}
				}
			}
		}
		for i := range m.Points {
			p := &m.Points[i]
			risks(p, p.Risk, p.Efficiency, nil)
			for k := range p.Groups {
				risks(p, p.Groups[k].Risk, p.Groups[k].Efficiency, p.Groups[k].Values)
			}
		}
		if len(rows) != 0 {
			t.Errorf("%s: %d rows too many", name, len(rows))
		}
	}
	m := mapexample.Groups()
	m.Points[0].Groups[0].Values = nil
	if err := rumap.WriteCSV(io.Discard, m); err == nil {
		t.Error("a group without values is written")
	}
}

// TestPictures: well-formed SVG without NaN, and a PNG of the same proportions that is not blank.
func TestPictures(t *testing.T) {
	for name, m := range mapexample.All() {
		svg := written(t, func(w io.Writer) error { return rumap.WriteSVG(w, m, rumap.PictureOptions{}) })
		d := xml.NewDecoder(bytes.NewReader(svg))
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := token.(xml.StartElement); ok {
				for _, a := range e.Attr {
					if a.Name.Local != "aria-label" && (strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf")) {
						t.Errorf("%s: <%s %s=%q>", name, e.Name.Local, a.Name.Local, a.Value)
					}
					if a.Name.Local == "tabindex" {
						t.Errorf("%s: a file that waits for a keyboard", name)
					}
				}
			}
		}
	}
	m := mapexample.Noise()
	for _, o := range []rumap.PictureOptions{{}, {Width: 720, Height: 600}} {
		raster, err := png.Decode(bytes.NewReader(written(t, func(w io.Writer) error { return rumap.WritePNG(w, m, o) })))
		if err != nil {
			t.Fatal(err)
		}
		width, height := 1440, 960
		if o.Width > 0 {
			width, height = o.Width, o.Height
		}
		if b := raster.Bounds(); b.Dx() != width || b.Dy() != height {
			t.Errorf("%d × %d pixels, want %d × %d", b.Dx(), b.Dy(), width, height)
		}
	}
}

// single returns the picture of a map that has only one.
func single(t *testing.T, m *rumap.Map, subjects ...rumap.Subject) figure.RUMap {
	t.Helper()
	list := m.Pictures(subjects...)
	if len(list) != 1 || list[0].Title != "" {
		t.Fatalf("%d pictures, want one without a title", len(list))
	}
	return list[0]
}

// TestSmallMultiples: with more than 8 curves, each picture has at most 8, and all curves occur
// once, with the mark of every point.
func TestSmallMultiples(t *testing.T) {
	crossed := mapexample.Grid()
	crossed.Points = nil
	for b := range 20 {
		for f := range 25 {
			p := mapexample.Grid().Points[0]
			p.Parameters = map[string]float64{"masks.0.bias.phi": float64(b), "masks.1.noise.sd": float64(f + 1)}
			p.Efficiency = assess.Float(1 / (1 + 0.01*float64(b*f)))
			crossed.Points = append(crossed.Points, p)
		}
	}
	crossed.Judge()
	twelve := mapexample.Noise()
	twelve.Rules = twelve.Rules[:1] // max under two knowledge states
	for i := range twelve.Points {
		twelve.Points[i].Strategy = "strategy " + strconv.Itoa(i%12)
	}
	twelve.Judge()
	for name, c := range map[string]struct {
		m      *rumap.Map
		panels int
		titles []string
	}{
		"strategies": {mapexample.Strategies(), 5,
			[]string{"typical, index", "p99, index", "p99, position", "max, index", "max, position"}},
		"crossed": {crossed, 3, []string{"max, index (1 of 3)", "max, index (2 of 3)", "max, index (3 of 3)"}},
		"twelve":  {twelve, 12, nil},
		"eight":   {mapexample.Noise(), 1, nil},
	} {
		list := c.m.Pictures()
		if len(list) != c.panels {
			t.Errorf("%s: %d panels, want %d", name, len(list), c.panels)
			continue
		}
		marks, joined, recommended := map[string]int{}, 0, 0
		for i, ru := range list {
			if len(ru.Curves) > 8 || len(ru.Curves) == 0 {
				t.Errorf("%s: %d curves in one picture", name, len(ru.Curves))
			}
			if c.titles != nil && ru.Title != c.titles[i] {
				t.Errorf("%s: panel %d is %q, want %q", name, i, ru.Title, c.titles[i])
			}
			for _, curve := range ru.Curves {
				joined += len(curve.R)
			}
			for _, l := range ru.Lines {
				if l.Target != "" && len(list) > 1 && !strings.Contains(ru.Title, l.Target) && name != "twelve" {
					t.Errorf("%s: the line of %s in %q", name, l.Target, ru.Title)
				}
			}
			for _, s := range ru.Settings {
				if s.Recommended {
					recommended++
				}
				for _, k := range s.Marks {
					marks[fmt.Sprint(s.Name, k.Label, s.Efficiency)]++
				}
			}
		}
		subjects := len(c.m.Protected())
		if want := subjects * len(c.m.Points); len(marks) != want || joined != want {
			t.Errorf("%s: %d marks and %d places on curves, want %d of each", name, len(marks), joined, want)
		}
		for k, n := range marks {
			if n != 1 {
				t.Errorf("%s: %s is drawn %d times", name, k, n)
			}
		}
		if c.m.Recommended != nil && recommended == 0 {
			t.Errorf("%s: the recommended point is on no panel", name)
		}
	}
}

// TestPictureShowsTheRulesSubjects: one curve for each strategy and protected subject, at the
// coordinates of the map, and one mark for each of their points.
func TestPictureShowsTheRulesSubjects(t *testing.T) {
	m := mapexample.Noise()
	ru := single(t, m)
	if len(ru.Curves) != 3 || len(ru.Settings) != len(m.Points) || len(ru.Lines) != 2 || ru.MinEfficiency != 0.7 {
		t.Fatalf("%d curves, %d settings, lines %v, efficiency %v", len(ru.Curves), len(ru.Settings), ru.Lines,
			ru.MinEfficiency)
	}
	recommended := 0
	for i, s := range ru.Settings {
		p := m.Points[i]
		if s.Efficiency != float64(p.Efficiency) || s.Admissible != p.Admissible || len(s.Marks) != 3 {
			t.Errorf("setting %d: %+v", i, s)
		}
		if s.Recommended {
			recommended++
			if i != m.Recommended.Point {
				t.Errorf("point %d is marked, %d is recommended", i, m.Recommended.Point)
			}
		}
		for _, k := range s.Marks {
			target, knowledge, _ := strings.Cut(k.Label, ", ")
			for _, r := range p.Risk {
				if r.Target == target && r.Knowledge == knowledge && (float64(r.R) != k.R || float64(r.RSE) != k.RSE) {
					t.Errorf("%s is %v at point %d, want %v", k.Label, k.R, i, r.R)
				}
			}
		}
	}
	if recommended != 1 {
		t.Errorf("%d points are marked as recommended", recommended)
	}
	if free := single(t, mapexample.Free()); len(free.Curves) != 2 || len(free.Lines) != 0 {
		t.Errorf("without rules: %d curves, lines %v", len(free.Curves), free.Lines)
	}
	if named := single(t, m, rumap.Subject{Target: "min", Knowledge: "index"}); len(named.Curves) != 1 {
		t.Errorf("one subject by name: %d curves", len(named.Curves))
	}
	// Two parameters: one curve for each value of the parameter with fewer values.
	if grid := single(t, mapexample.Grid()); len(grid.Curves) != 3 || len(grid.Curves[0].R) != 10 {
		t.Errorf("a grid of 3 × 10: %d curves", len(grid.Curves))
	}
	var thin, strong int
	for _, c := range single(t, mapexample.Groups()).Curves {
		switch c.Style.Weight {
		case figure.Thin:
			thin++
		case figure.Strong:
			strong++
		}
	}
	if thin != 3 || strong != 1 {
		t.Errorf("of 4 groups %d curves are thin and %d strong", thin, strong)
	}
}

// TestCurvesAreOfTheClosedForm: index risk against efficiency of additive noise is R = 1/{S²(U₀/U −
// 1)}, for any order of the points.
func TestCurvesAreOfTheClosedForm(t *testing.T) {
	m := mapexample.Noise()
	for i, j := 0, len(m.Points)-1; i < j; i, j = i+1, j-1 {
		m.Points[i], m.Points[j] = m.Points[j], m.Points[i]
	}
	variance := float64(m.Records) / float64(m.U0)
	for _, c := range single(t, m, rumap.Subject{Target: "max", Knowledge: "index"}).Curves {
		for i, u := range c.Efficiency {
			if i > 0 && u >= c.Efficiency[i-1] {
				t.Errorf("efficiency rises with noise at %d", i)
			}
			// The rounding error of 1/u − 1 is at most a few units in the last place of 1/u.
			if want := 1 / (variance * (1/u - 1)); !(math.Abs(c.R[i]-want) <= 1e-12*want/(1-u)) {
				t.Errorf("R = %v at efficiency %v, want %v", c.R[i], u, want)
			}
		}
	}
}

func TestSummaryFitsATerminal(t *testing.T) {
	sequences := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "",
		"\x1b[1;31m", "", "\x1b[1;32m", "")
	for name, m := range mapexample.All() {
		for _, width := range []int{0, 60, 80, 132} {
			for _, color := range []bool{false, true} {
				var b bytes.Buffer
				rumap.Summary(&b, m, color, width)
				for _, line := range strings.Split(b.String(), "\n") {
					plain := sequences.Replace(line)
					if strings.Contains(plain, "\x1b") || !color && plain != line {
						t.Errorf("%s: escape sequences in %q", name, line)
					}
					if limit := map[bool]int{true: 100, false: width}[width == 0]; figure.Cells(plain) > limit {
						t.Errorf("%s: %d columns of %d: %s", name, figure.Cells(plain), limit, plain)
					}
					if !color && strings.IndexFunc(plain, func(c rune) bool { return c > '~' }) >= 0 {
						t.Errorf("%s: %q is not ASCII", name, plain)
					}
				}
				rows := strings.Count(b.String(), "yes") + strings.Count(b.String(), " no")
				if name == "noise" && !color && width == 0 && rows < len(m.Points) {
					t.Errorf("%d rows for %d points", rows, len(m.Points))
				}
			}
		}
	}
}

func TestSummarySaysWhatItFound(t *testing.T) {
	say := func(m *rumap.Map) string {
		var b bytes.Buffer
		rumap.Summary(&b, m, false, 0)
		return b.String()
	}
	m := mapexample.Noise()
	text := say(m)
	for _, want := range []string{"recommended: noise.sd 40 % of SD\n", "efficiency 86.2 %",
		"binds: R of max at most 4e-05 (max, index)", "200 further replicates"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := say(mapexample.None()); !strings.Contains(text, "No point is recommended") ||
		!strings.Contains(text, mapexample.None().Reason[:30]) {
		t.Errorf("no reason in\n%s", text)
	}
	if text := say(mapexample.Groups()); !strings.Contains(text, "region = west") {
		t.Errorf("no worst group in\n%s", text)
	}
}
