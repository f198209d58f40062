package attack

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// Attribute disclosure of synthetic columns is measured for the records that the release's chain
// has set aside, as numbers and as codes. For a sample it is reported but not used by rules.
func TestAttributeOfARelease(t *testing.T) {
	const n = 400
	masks :=
		"{synthesise: {columns: [debt], on: [age], held_out: 0.3}}, {noise: {columns: [wage], sd: 5%}}, {synthesise: {columns: [weight], categories: [weight], method: cart, held_out: 0.2}}"
	const keys = "assess: {keys: [age, region, weight], replicates: 0, intruder: {attribute: {within: 0.1}}"
	p := survey(t, n, masks, keys+"}")
	r, d, err := Run(t.Context(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Attribute == nil || len(r.Attribute.Columns) != 2 || r.Linkage != nil || r.Attribute.Within != 0.1 {
		t.Fatalf("the result is %+v, want attribute disclosure of 2 columns alone", r)
	}
	debt, weight := r.Attribute.Columns[0], r.Attribute.Columns[1]
	if debt.Name != "debt" || weight.Name != "weight" {
		t.Fatalf("the columns are %s and %s, want debt and weight", debt.Name, weight.Name)
	}
	pl, chain, pairs := releaseOf(t, p)
	set := chain.HeldOut()
	held, missing := [2]int{}, 0
	for i := range n {
		if scope, stream, place := pairs.Place(i); scope != "" || stream != 0 || place != int64(i) {
			t.Fatalf("record %d has the place %q %d %d", i, scope, stream, place)
		}
		if i%9 == 4 {
			missing++ // debt
		} else if set[0].Of("", 0, int64(i)) {
			held[0]++
		}
		if set[1].Of("", 0, int64(i)) {
			held[1]++
		}
	}
	if debt.HeldOut.Targets != held[0] || debt.Learnt.Targets != n-missing-held[0] || weight.HeldOut.Targets != held[1] ||
		weight.Learnt.Targets != n-held[1] || held[1] >= held[0] {
		t.Errorf("debt %+v and weight %+v, want %v of %d records held out", debt, weight, held, n)
	}
	id := r.Identity()
	if float64(id.AttributeDisclosure) != max(debt.Most, weight.Most) || id.AttributeDisclosure > 0.3 {
		t.Errorf("the measure of the rule is %v, want the greater of %+v and %+v, at most 0.3", id.AttributeDisclosure, debt,
			weight)
	}
	if some, err := Some(t.Context(), pl, chain, pairs, []string{"attribute"}); err != nil ||
		some.Identity().AttributeDisclosure != id.AttributeDisclosure {
		t.Errorf("part attribute alone: %v, want disclosure %v (error %v)", some, id.AttributeDisclosure, err)
	}
	// The weight is a number in the file and is guessed as a category: by equality.
	right := 0.0
	for _, c := range d.Numeric {
		if c.Name == "weight" {
			for i, v := range c.Released {
				if v == c.Original[i] {
					right++
				}
			}
		}
	}
	if right == 0 || weight.Learnt.Right == 0 {
		t.Errorf("no weight is guessed right (%v released weights are right): the test checks nothing", right)
	}

	p = survey(t, n, masks, keys+", sample: 100}")
	if r, _, err = Run(t.Context(), p, pipeline.Options{}); err != nil || r.Attribute == nil || r.Sampled != 100 {
		t.Fatalf("with a sample of 100: result %+v, error %v", r, err)
	}
	if id := r.Identity(); !math.IsNaN(float64(id.AttributeDisclosure)) {
		t.Errorf("with a sample, the measure of the rule is %v, want NaN", id.AttributeDisclosure)
	}
}

// For synthetic texts, too, records set aside are distinguished from those used for the model, and
// the guesses are released values.
func TestAttributeOfTexts(t *testing.T) {
	const n = 300
	p := survey(t, n, "{synthesise: {columns: [region], categories: [region], on: [age], method: cart, held_out: 0.2}}",
		"assess: {keys: [age, region], replicates: 0, intruder: {attribute: {}}}")
	pl, chain, pairs := releaseOf(t, p)
	o := attributeOf(pl, pairs, chain)
	if o == nil || len(o.Of) != 1 {
		t.Fatalf("attributeOf returns %+v, want one column", o)
	}
	secret := o.Of[0]
	if secret.Name != "region" || len(secret.Original) != n || len(secret.Released) != n || len(secret.HeldOut) != n {
		t.Fatalf("column %s has %d original values, %d released values and %d marks of held-out records", secret.Name,
			len(secret.Original), len(secret.Released), len(secret.HeldOut))
	}
	texts := column(t, p, "region")
	codes, moved := map[string]float64{}, 0
	for i, text := range texts {
		if code, known := codes[text]; known && code != secret.Original[i] {
			t.Fatalf("record %d: %q has the code %v, and %v in another record", i, text, secret.Original[i], code)
		}
		codes[text] = secret.Original[i]
		if secret.Released[i] != secret.Original[i] {
			moved++
		}
	}
	// No column predicts the region, of which there are three in turn: two thirds are wrong.
	if len(codes) != 3 || moved < n/3 {
		t.Errorf("%d codes, want 3; %d of %d released values differ, want at least a third", len(codes), moved, n)
	}
	if attributeOf(pl, pairs, nil) != nil {
		t.Error("attributeOf without a chain is not nil")
	}
}
