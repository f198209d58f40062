package attack_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

var update = flag.Bool("update", false, "rewrite the schema")

func jsonOf(t *testing.T, r *attack.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	must(t, e.Encode(r))
	return b.Bytes()
}

func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	must(t, json.Unmarshal(text, &v))
	return v
}

// mixed runs an attack with all parts on artificial, slightly masked respondents.
func mixed(t *testing.T) (attack.Data, attack.Options) {
	masks := noise(0.2, "wage", "education")
	plain := respondents(300)
	d := masked(t, plain, 1, masks)
	e := masked(t, plain, 2, masks)
	d.Earlier = [][][]float64{{e.Numeric[0].Released, e.Numeric[1].Released, e.Numeric[2].Released}}
	o := everything(nil, 0)
	o.Inversion.Masks = append(o.Inversion.Masks, masks)
	o.Averaging = true
	o.Targets = 40
	o.Linkage.Distance = linkage.Gower
	prior := intruder.InverseGammaAround(3)
	o.Bayes = &intruder.Options{Keys: []intruder.Key{{Phi: 0.1, SigmaPrior: prior}}, Population: 500}
	return d, o
}

// TestContract: the members of the program's contract are in their documented places.
func TestContract(t *testing.T) {
	d, o := mixed(t)
	v := object(t, jsonOf(t, run(t, d, o)))
	number, list := reflect.TypeFor[float64](), reflect.TypeFor[[]any]()
	word := reflect.TypeFor[string]()
	for place, want := range map[string]reflect.Type{
		"schema": word, "targets": number, "records": number, "keys": list,
		"linkage.distance": word, "linkage.expected_correct": number, "linkage.correct_share": number,
		"linkage.one_to_one_correct": number,
		"bayes.knowledge":            word, "bayes.threshold": number, "bayes.correct": number, "bayes.links": number,
		"bayes.expected_correct":          number,
		"bayes.posterior_of_correct.mean": number, "bayes.posterior_of_correct.sd": number, "bayes.rank": list,
		"uniqueness.keys": list, "uniqueness.violations.2": number, "uniqueness.violations.3": number,
		"uniqueness.violations.5":               number,
		"uniqueness.expected_reidentifications": number, "uniqueness.max_individual_risk": number,
		"uniqueness.household.expected_reidentifications": number, "uniqueness.suda2.max": number,
		"uniqueness.suda2.mean":                     number,
		"uniqueness.l_diversity.union.distinct_min": number, "uniqueness.l_diversity.union.entropy_min": number,
		"interval.0;05": number, "interval_sound.0;05": number,
		"utility.il1s": number, "utility.il1s_per_cell": number, "utility.eigen": number, "utility.pmse": number,
		"utility.ks.wage": number, "utility.wasserstein.wage": number,
	} {
		var at any = v
		for _, member := range strings.Split(place, ".") {
			o, _ := at.(map[string]any)
			at = o[strings.ReplaceAll(member, ";", ".")]
		}
		if reflect.TypeOf(at) != want {
			t.Errorf("%s: %v", place, at)
		}
	}
	if v["schema"] != "sdlfilter.attack/1" || v["bayes"].(map[string]any)["knowledge"] != "d.2" {
		t.Errorf("schema %v, bayes %v", v["schema"], v["bayes"])
	}
	if rank := v["bayes"].(map[string]any)["rank"].([]any); len(rank) != 11 {
		t.Errorf("rank has %d entries", len(rank))
	}
	if len(v["interval"].(map[string]any)) != 3 {
		t.Errorf("interval: %v", v["interval"])
	}
}

// parts holds the members that each part of the options produces.
var parts = map[string]func(to *attack.Options, of attack.Options){
	"linkage":                 func(to *attack.Options, of attack.Options) { to.Linkage = of.Linkage },
	"bayes":                   func(to *attack.Options, of attack.Options) { to.Bayes = of.Bayes },
	"uniqueness":              func(to *attack.Options, of attack.Options) { to.Uniqueness = of.Uniqueness },
	"interval,interval_sound": func(to *attack.Options, of attack.Options) { to.Intervals = of.Intervals },
	"utility":                 func(to *attack.Options, of attack.Options) { to.Loss = of.Loss },
	"averaging":               func(to *attack.Options, of attack.Options) { to.Averaging = true },
	"inversion":               func(to *attack.Options, of attack.Options) { to.Inversion = of.Inversion },
}

// TestPartsStandAlone: each part can be requested alone and has the same results as
// together with the others, which are then absent; the gate gets only the measure of
// this part.
func TestPartsStandAlone(t *testing.T) {
	d, o := few()
	all := object(t, jsonOf(t, run(t, d, o)))
	always := []string{"schema", "targets", "records", "keys"}
	for members, ask := range parts {
		var part attack.Options
		ask(&part, o)
		r := run(t, d, part)
		v := object(t, jsonOf(t, r))
		want := append(strings.Split(members, ","), always...)
		if len(v) != len(want) {
			t.Errorf("%s alone has %d members", members, len(v))
		}
		for _, name := range want {
			got := all[name]
			if name == "averaging" {
				delete(got.(map[string]any), "linkage") // this is the measure of both together
			}
			if v[name] == nil || !reflect.DeepEqual(v[name], got) {
				t.Errorf("%s alone: %s is %v, beside the others %v", members, name, v[name], got)
			}
		}
		id := r.Identity()
		for part, absent := range map[string]bool{
			"linkage": math.IsNaN(float64(id.Linked)), "bayes": math.IsNaN(float64(id.CorrectLinks)),
			"uniqueness": math.IsNaN(float64(id.MinK)) && math.IsNaN(float64(id.MaxIndividualRisk)),
			"inversion":  id.Inverted == nil,
		} {
			if absent != (part != members) {
				t.Errorf("%s alone: the gate is told %+v", members, id)
			}
		}
	}
	if v := object(t, jsonOf(t, run(t, d, attack.Options{}))); len(v) != len(always) {
		t.Errorf("nothing asked: %v", v)
	}
}

func compiled(t *testing.T) *validator.Schema {
	t.Helper()
	text, err := attack.JSONSchema()
	must(t, err)
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	must(t, err)
	c := validator.NewCompiler()
	must(t, c.AddResource("attack.json", document))
	schema, err := c.Compile("attack.json")
	must(t, err)
	return schema
}

func TestSchemaIsCurrent(t *testing.T) {
	text, err := attack.JSONSchema()
	must(t, err)
	const path = "attack.schema.json"
	if *update {
		must(t, os.WriteFile(path, text, 0o644))
	}
	kept, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(kept, text) {
		t.Errorf("%s is not what the types say (rewrite with -update): %v", path, err)
	}
}

func TestAttacksFollowTheSchema(t *testing.T) {
	schema := compiled(t)
	check := func(text []byte) error {
		v, err := validator.UnmarshalJSON(bytes.NewReader(text))
		must(t, err)
		return schema.Validate(v)
	}
	d, o := mixed(t)
	good := jsonOf(t, run(t, d, o))
	if err := check(good); err != nil {
		t.Error(err)
	}
	d, o = few()
	if err := check(jsonOf(t, run(t, d, o))); err != nil {
		t.Error(err)
	}
	if err := check(jsonOf(t, broken(t))); err != nil {
		t.Error(err)
	}
	for members, ask := range parts {
		var part attack.Options
		ask(&part, o)
		if err := check(jsonOf(t, run(t, d, part))); err != nil {
			t.Errorf("%s: %v", members, err)
		}
	}
	for what, change := range map[string][2]string{
		"another schema":    {attack.Schema, "sdlfilter.attack/2"},
		"unknown member":    {`"linkage"`, `"secret": 1, "linkage"`},
		"unknown distance":  {`"distance": "gower"`, `"distance": "near"`},
		"word for a share":  {`"correct_share": `, `"correct_share": "most", "correct": `},
		"fraction of a man": {`"targets": 40`, `"targets": 40.5`},
		"no width":          {`"0.05": `, `"0.05": "x", "0.06": `},
	} {
		bad := strings.Replace(string(good), change[0], change[1], 1)
		if bad == string(good) {
			t.Fatalf("%s: the sample holds none", what)
		}
		if check([]byte(bad)) == nil {
			t.Errorf("%s: the schema allows it", what)
		}
	}
}

// broken returns a result with values that are infinite or not a number: a value next
// to 0 whose relative change overflows, and a column that is missing throughout.
func broken(t *testing.T) *attack.Result {
	d, o := few()
	nan := math.NaN()
	d.Numeric[0].Original = []float64{1e-310, 2, nan, 10}
	d.Numeric = append(d.Numeric,
		attack.NumericColumn{Name: "b", Original: []float64{nan, nan, nan, nan}, Released: []float64{1, nan, 1, 1}})
	d.Earlier = [][][]float64{{{1, 3, 2, 10}, {1, 1, 1, 1}}}
	d.Categorical[0].Released = []int32{0, -1, -1, 0}
	return run(t, d, o)
}

func TestInfiniteNumbersAreWords(t *testing.T) {
	r := broken(t)
	if !math.IsInf(r.Utility.Change.IL1, 1) || !math.IsNaN(float64(r.Averaging.Columns[1].MSE[0])) {
		t.Fatalf("IL1 %v, MSE %v: the sample is all numbers", r.Utility.Change.IL1, r.Averaging.Columns[1].MSE[0])
	}
	r.Linkage.CorrectShare = math.Inf(-1)
	r.Bayes.Threshold = math.NaN()
	v := object(t, jsonOf(t, r))
	if got := v["utility"].(map[string]any)["change"].(map[string]any)["il1"]; got != "Infinity" {
		t.Errorf("il1: %v", got)
	}
	if got := v["averaging"].(map[string]any)["columns"].([]any)[1].(map[string]any)["mse"].([]any)[0]; got != nil {
		t.Errorf("mse: %v", got)
	}
	if got := v["linkage"].(map[string]any)["correct_share"]; got != "-Infinity" {
		t.Errorf("correct_share: %v", got)
	}
	if got, there := v["bayes"].(map[string]any)["threshold"]; got != nil || !there {
		t.Errorf("threshold: %v", got)
	}
}

// TestJSONIsThatOfTheTypes: if all numbers are finite, the encoder of this package
// writes the same as encoding/json, except for empty lists.
func TestJSONIsThatOfTheTypes(t *testing.T) {
	d, o := mixed(t)
	r := run(t, d, o)
	type plain attack.Result
	text, err := json.Marshal(plain(*r))
	must(t, err)
	var strip func(v any) any
	strip = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				v[k] = strip(e)
			}
		case []any:
			if len(v) == 0 {
				return nil
			}
			for i := range v {
				v[i] = strip(v[i])
			}
		}
		return v
	}
	got, want := strip(object(t, jsonOf(t, r))), strip(object(t, text))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("written otherwise than by encoding/json")
	}
	// Members have the order of the contract.
	last := -1
	for _, name := range []string{"schema", "targets", "records", "keys", "linkage", "bayes", "uniqueness", "interval",
		"utility"} {
		at := bytes.Index(jsonOf(t, r), []byte("\n  \""+name+"\": "))
		if at <= last {
			t.Errorf("%s stands at %d, after %d", name, at, last)
		}
		last = at
	}
	if !bytes.Contains(jsonOf(t, r), []byte(`">10"`)) {
		t.Error("signs are escaped")
	}
}

func rows(t *testing.T, r *attack.Result, d attack.Data) [][]string {
	t.Helper()
	var b bytes.Buffer
	must(t, attack.WriteRecords(&b, r, d))
	list, err := csv.NewReader(&b).ReadAll()
	must(t, err)
	return list
}

func TestRecordsByHand(t *testing.T) {
	d, o := few()
	d.Records = 8
	d.Categorical[0].Released = []int32{0, 0, 1, 2}
	o.Uniqueness.SUDA2 = nil
	o.Bayes.Keys[0].Sigma = 0.01 // so that posteriors are 0 or 1
	o.Targets = 2                // the records 1 and 3
	got := rows(t, run(t, d, o), d)
	half, one := uniqueness.IndividualRisk(2, 0.5), uniqueness.IndividualRisk(1, 0.5)
	// Record 2 has rank 2.5 for its own 3, which is as far away as 1.
	want := [][]string{
		{"record", "f_k", "F_k", "risk", "household_risk", "linked", "posterior", "rank"},
		{"0", "2", "4", number(half), number(1 - (1-half)*(1-half)), "", "", ""},
		{"1", "2", "4", number(half), number(1 - (1-half)*(1-half)), "0", "0", "2.5"},
		{"2", "1", "2", number(one), number(one), "", "", ""},
		{"3", "1", "2", number(one), number(one), "1", "1", "1"},
	}
	for i := range want {
		for j := range want[i] {
			if got[i][j] != want[i][j] && !alike(got[i][j], want[i][j]) {
				t.Errorf("row %d, %s: %q, want %q", i, want[0][j], got[i][j], want[i][j])
			}
		}
	}
	if len(got) != len(want) || len(got[0]) != len(want[0]) {
		t.Errorf("%d rows of %v", len(got), got[0])
	}
}

func number(v float64) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func alike(a, b string) bool {
	var x, y float64
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return math.Abs(x-y) <= 1e-12
}

func TestRecordsHoldNoValue(t *testing.T) {
	d, o := mixed(t)
	r := run(t, d, o)
	list := rows(t, r, d)
	if len(list) != 301 ||
		!slices.Equal(list[0],
			[]string{"record", "f_k", "F_k", "risk", "household_risk", "suda2", "dis", "linked", "posterior", "rank"}) {
		t.Fatalf("%d rows of %v", len(list), list[0])
	}
	targets := 0
	for i, row := range list[1:] {
		if row[7] != "" {
			targets++
		}
		wage := number(d.Numeric[0].Original[i])
		if slices.Contains(row, wage) {
			t.Errorf("record %d: its wage is written", i)
		}
	}
	if targets != 40 {
		t.Errorf("%d targets", targets)
	}
	if list := rows(t, run(t, d, attack.Options{Linkage: &attack.Linkage{}}), d); !slices.Equal(list[0],
		[]string{"record", "linked"}) {
		t.Errorf("linkage alone: %v", list[0])
	}
	other, _ := few()
	if err := attack.WriteRecords(&bytes.Buffer{}, r, other); err == nil ||
		!strings.Contains(err.Error(), "must be the 300") {
		t.Errorf("other records: %v", err)
	}
	if err := attack.WriteRecords(full{}, r, d); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
