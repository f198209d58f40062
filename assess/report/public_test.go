package report_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
)

// canary fills every number and text below v with a unique value and records it, unless keep says
// that it may be public.
type canary struct {
	next    int
	planted map[string]string // as text, by place
	keep    func(path string) bool
}

func (c *canary) fill(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.fill(v.Elem(), path)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[report.Mask]() && v.FieldByName("Mask").String() == "" {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Type.String() == "time.Time" || !f.IsExported() {
				continue
			}
			c.fill(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Map:
		// Names are filled too, because measures are stored by name.
		filled := reflect.MakeMap(v.Type())
		for _, key := range v.MapKeys() {
			name, value := reflect.New(key.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			c.fill(name, fmt.Sprintf("%s{%v}", path, key))
			c.fill(value, fmt.Sprintf("%s[%v]", path, key))
			filled.SetMapIndex(name, value)
		}
		if !v.IsNil() {
			v.Set(filled)
		}
	case reflect.Array:
		for i := range v.Len() {
			c.fill(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.fill(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Interface:
		switch v.Interface().(type) {
		case float64:
			n := c.number(path)
			v.Set(reflect.ValueOf(float64(n)))
		case string:
			v.Set(reflect.ValueOf(c.word(path)))
		}
	case reflect.Float64:
		if !c.keep(path) {
			v.SetFloat(float64(c.number(path)))
		}
	case reflect.Int, reflect.Int64:
		if !c.keep(path) {
			v.SetInt(c.number(path))
		}
	case reflect.String:
		if !c.keep(path) {
			v.SetString(c.word(path))
		}
	}
}

func (c *canary) number(path string) int64 {
	c.next++
	n := int64(730_000 + c.next*13)
	c.planted[path] = fmt.Sprint(n)
	return n
}

func (c *canary) word(path string) string {
	w := fmt.Sprintf("canary%dx", c.number(path))
	c.planted[path] = w
	return w
}

// allowed reports whether a place may be shown in the public report; all others are canaries.
func allowed(path string) bool {
	if strings.HasPrefix(path, ".Attack.") {
		// Only the names of the format and the distance, which are not results.
		return strings.HasSuffix(path, ".Schema") || strings.HasSuffix(path, ".Distance")
	}
	for _, suffix := range []string{
		".Name", ".Version", ".Unit", ".Schema", ".Mask", ".Masked", ".Passed", ".Target", ".Knowledge", ".Measure",
		".Column",
		".Records.Counts.Read", ".Records.Counts.Released", ".Records.Counts.Quarantined", ".Records.Counts.LeftOut",
		".Released.N", ".Released.Nulls", ".Released.Mean", ".Released.SD",
	} {
		// A mask's name is chosen by the steward, and may reveal a parameter.
		if strings.HasSuffix(path, suffix) && !(suffix == ".Name" && strings.Contains(path, "Masks")) &&
			!strings.Contains(path, ".Window.") {
			return true
		}
	}
	// The columns of a mask, and the names of its parameters.
	return strings.Contains(path, ".Masks[") && (strings.Contains(path, ".Columns[") || strings.HasSuffix(path, "].Name"))
}

func canaries(t *testing.T) (*report.Report, map[string]string) {
	t.Helper()
	r := example.Withheld()
	r.Attack = example.Attack() // every part of it
	other := example.Withheld()
	r.Window = &report.Window{Columns: other.Columns, Correlation: other.Correlation}
	names := map[int][]string{}
	for i, m := range r.Masks {
		for _, p := range m.Parameters {
			names[i] = append(names[i], p.Name)
		}
	}
	c := &canary{planted: map[string]string{}, keep: allowed}
	c.fill(reflect.ValueOf(r).Elem(), "")
	for i, list := range names {
		for k, name := range list {
			r.Masks[i].Parameters[k].Name = name
		}
	}
	if len(c.planted) < 800 {
		t.Fatalf("only %d canaries", len(c.planted))
	}
	return r, c.planted
}

func TestPublicShowsNoOriginal(t *testing.T) {
	r, planted := canaries(t)
	p := r.Public(nil)
	for what, text := range map[string][]byte{"json": must(t)(p.JSON()), "html": must(t)(p.HTML())} {
		plain := strings.NewReplacer(",", "", "\u00a0", "").Replace(string(text))
		for place, value := range planted {
			if strings.Contains(plain, value) || strings.Contains(string(text), value) {
				t.Errorf("%s shows the value of %s", what, place)
			}
		}
	}
	// The same canaries are in the confidential report, which shows that the search works.
	full := string(must(t)(r.JSON()))
	missing := 0
	for place, value := range planted {
		if !strings.Contains(full, value) {
			missing++
			t.Logf("%s is not in the confidential report", place)
		}
	}
	if missing > 0 {
		t.Errorf("%d canaries are not even in the confidential report", missing)
	}
}

// TestPublicIsTheSameWithoutAnAttack: for any published parameters, an attack changes no byte of
// the public report.
func TestPublicIsTheSameWithoutAnAttack(t *testing.T) {
	with, without := example.Released(), example.Released()
	without.Attack = nil
	for _, publish := range [][]string{nil, {"attack", "intruder", "efficiency", "sd", "phi"}} {
		a, b := with.Public(publish), without.Public(publish)
		if !bytes.Equal(must(t)(a.JSON()), must(t)(b.JSON())) || !bytes.Equal(must(t)(a.HTML()), must(t)(b.HTML())) {
			t.Errorf("publish %v: the public report contains results of the attack", publish)
		}
		if publish != nil {
			continue // and it repeats its texts
		}
		for _, word := range []string{"intruder\"", "linkage", "re-identif", "uniqueness", "respondent be found"} {
			if bytes.Contains(must(t)(a.HTML()), []byte(word)) || bytes.Contains(must(t)(a.JSON()), []byte(word)) {
				t.Errorf("publish %v: the public report contains %q", publish, word)
			}
		}
	}
}

func TestPublicShowsWhatIsPublished(t *testing.T) {
	r := example.Released()
	text := func(publish ...string) string { return string(must(t)(r.Public(publish).JSON())) }
	html := func(publish ...string) string { return string(must(t)(r.Public(publish).HTML())) }
	for _, c := range []struct {
		publish []string
		in, out []string
	}{
		{nil, []string{`"mean": 606.91`, `"sd": 482.37`, `"read": 28155`},
			[]string{"158.7", "35%", "0.05", "variance_factor", "efficiency", "603.73", "18601", "noise_sd", "k-5d41402a",
				"9f2c1de0"}},
		{[]string{"sd"}, []string{"\"wage\": 158,\n", `"hours": 3.5`}, []string{"158.7", "35%", "variance_factor", `"efficiency": 0.88`}},
		{[]string{"phi"}, []string{"0.01666"}, []string{`"range"`, "158.7"}},
		{[]string{"rate", "keys"}, []string{`"rate": 0.1`, "experience"}, []string{"158.7", "attribute"}},
		{[]string{"efficiency"}, []string{`"efficiency": 0.88`, `"efficiency": 0.9`}, []string{"158", "0.8722"}},
		// hours has only noise, but in tiers; wage also has bias.
		{[]string{"sd", "tiers"}, []string{`"efficiency": 0.9`, "variance_factor"}, []string{`"efficiency": 0.88`}},
		{[]string{"sd", "tiers", "phi", "lower"}, []string{`"efficiency": 0.9`, `"efficiency": 0.88`}, []string{"0.8918"}},
	} {
		got := text(c.publish...)
		for _, want := range c.in {
			if !strings.Contains(got, want) {
				t.Errorf("publish %v: %q is missing", c.publish, want)
			}
		}
		for _, bad := range c.out {
			if strings.Contains(got, bad) {
				t.Errorf("publish %v: shows %q", c.publish, bad)
			}
		}
	}
	if page := html("sd"); !strings.Contains(page, "158 USD/week") || strings.Contains(page, "18,777") ||
		strings.Contains(page, "known to") {
		t.Error("the public page must show λ in its unit, and neither maximum nor risk")
	}
}

// Two public reports of data that differ by one record: λ in per cent, and the efficiency, go by the SD. Nobody who has
// both, and both numbers of records and means, learns the value of the record nearer than from its own noise. λ of a
// number is exact.
func TestPublicReportsOfTwoNights(t *testing.T) {
	for _, c := range []struct {
		publish, mask string
		least         float64 // of the error, in λ; without the rounding it is less than 0.001
	}{{"sd", "35%", 1}, {"efficiency", "", 1}} {
		for _, n := range []float64{200, 2_000, 30_000} {
			sum, trials := 0.0, 40
			for trial := range trials {
				sd := math.Pow(10, float64(trial)/float64(trials)) // the place of a figure among its steps
				fixed := (0.3 + float64(trial)/float64(trials)) * sd
				figure := func(sd, n float64) float64 {
					λ := 0.35 * sd
					r := &report.Report{Masks: []report.Mask{{Mask: "noise", Columns: []string{"wage"},
						Parameters: report.Ordered[any]{{Name: "sd", Value: c.mask}},
						NoiseSD:    report.Ordered[assess.Float]{{Name: "wage", Value: assess.Float(λ)}}}}}
					moments := assess.Moments{N: int64(n), SD: assess.Float(sd)}
					r.SetMeasures(&assess.Measures{Columns: []assess.ColumnMeasures{{Name: "wage", Masked: true, Original: moments,
						Released: moments,
						Utility:  assess.Utility{Efficiency: assess.Float(sd * sd / (sd*sd + fixed*fixed))}}}})
					p := r.Public([]string{c.publish})
					if c.publish == "sd" {
						return float64(p.Masks[0].NoiseSD[0].Value) / 0.35
					}
					e := float64(p.Columns[0].Value.Utility.Efficiency)
					return fixed * math.Sqrt(e/(1-e))
				}
				x := 0.3 * math.Sqrt(n) * sd // from the mean
				after := math.Sqrt(((n-1)*sd*sd + x*x*n/(n+1)) / n)
				before := figure(sd, n)
				now := figure(after, n+1)
				found := math.Sqrt(math.Max(0, (n*now*now-(n-1)*before*before)*(n+1)/n))
				if error := math.Abs(found-x) / (0.35 * sd); error < 10 {
					sum += error * error
				} else { // also an efficiency of 1, from which nothing follows
					sum += 100
				}
			}
			if rms := math.Sqrt(sum / float64(trials)); !(rms > c.least) {
				t.Errorf("publish %s: the value of one of %v records is known to ± %.3f λ", c.publish, n, rms)
			}
		}
	}
	r := example.Released()
	for _, n := range []int64{9, 10} {
		r.Columns[0].Released.N = n
		p := r.Public([]string{"sd", "efficiency"})
		λ, _ := p.Masks[1].NoiseSD.Get("wage")
		if e := p.Columns[0].Value.Utility.Efficiency; (λ == λ) != (n == 10) || (e == e) != (n == 10) {
			t.Errorf("of %d values λ is %v and the efficiency %v", n, λ, e)
		}
	}
	r = example.Released()
	r.Masks[1].Parameters[0].Value = 158.7
	if λ, _ := r.Public([]string{"sd"}).Masks[1].NoiseSD.Get("wage"); λ != 158.7 {
		t.Errorf("λ of a number is stated as %v", λ)
	}
}

// The mean of one value is that value, two values follow from their mean and SD, and equal values
// equal their mean.
func TestPublicMomentsAreOfManyValues(t *testing.T) {
	for _, c := range []struct {
		n    int64
		sd   assess.Float
		want bool
	}{{1, assess.Float(math.NaN()), false}, {2, 7, false}, {9, 7, false}, {10, 7, true}, {10, 0, false},
		{28155, 0, false}} {
		r := example.Released()
		r.Columns[0].Released.N, r.Columns[0].Released.SD = c.n, c.sd
		text, page := string(must(t)(r.Public([]string{"sd"}).JSON())), string(must(t)(r.Public([]string{"sd"}).HTML()))
		if strings.Contains(text, "606.91") != c.want || strings.Contains(page, "606.91") != c.want {
			t.Errorf("of %d values with SD %v the mean is shown: %v, want %v", c.n, c.sd, !c.want, c.want)
		}
		if !c.want && (strings.Contains(text, `"sd": 482.37`) || strings.Contains(text, "no variance to correct to")) {
			t.Errorf("the variance of %d values with SD %v is published", c.n, c.sd)
		}
	}
}

func TestPublicRoundTrip(t *testing.T) {
	want := must(t)(example.Released().Public([]string{"sd", "tiers"}).JSON())
	p, err := report.ParsePublic(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := must(t)(p.JSON()); !bytes.Equal(got, want) {
		t.Error("changes on its way through ParsePublic")
	}
	if _, err := report.ParsePublic([]byte(`{"schema": "sdlfilter.report/1"}`)); err == nil {
		t.Error("a confidential report was read as a public one")
	}
}

func TestPublicOfAWithheldRelease(t *testing.T) {
	r := example.Released()
	r.Withheld = "the sink failed"
	if r.Public(nil).Gate.Passed {
		t.Error("the public report of a withheld release claims that it passed")
	}
}

func TestPublicKeepsInfinity(t *testing.T) {
	r := example.Released()
	r.Columns[0].Released.Mean = assess.Float(math.NaN())
	if text := string(must(t)(r.Public(nil).JSON())); !strings.Contains(text, `"mean": null`) {
		t.Error("a mean that is not a number must be null")
	}
}
