package referee

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reference holds what anonymeter 1.1.0 and SDMetrics 0.32.0 find (scripts/reference/referee.py).
type reference struct {
	Univariate, Multivariate, Linkability referenceRisk
	Inference                             map[string]referenceRisk
	Closer                                float64 `json:"closer_to_training"`
	Marginals, Pairs                      map[string]float64
}

type referenceRisk struct {
	AttackRate         float64 `json:"attack_rate"`
	AttackError        float64 `json:"attack_error"`
	Risk, Lower, Upper float64
	Attack, Control    float64
}

// referenceFile is a file of testdata, or the one that make test-referee has made anew.
func referenceFile(name string) string {
	return filepath.Join(cmp.Or(os.Getenv("REFEREE_REFERENCE"), "testdata"), name)
}

func references(t *testing.T) (r map[string]reference) {
	t.Helper()
	text, err := os.ReadFile(referenceFile("reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// results are those of the scenarios, for both comparisons.
var results = map[string]*Result{}

// result measures a scenario, the first time.
func result(t *testing.T, k int, name string) *Result {
	t.Helper()
	if results[name] == nil {
		results[name] = mustRun(t, scenario(name, uint64(k+1)), options())
	}
	return results[name]
}

// TestAgreesWithAnonymeter: success rates and risks lie within anonymeter's intervals. Its singling out has no usable
// correction for control files of another size (it finds 22 and 656 predicates of 1,000 where 230 single out in as many
// records), so there only the success rates are compared.
func TestAgreesWithAnonymeter(t *testing.T) {
	for k, name := range scenarios {
		want := references(t)[name]
		got := result(t, k, name)
		compare := func(what string, o *Outcome, w referenceRisk, risks bool) {
			t.Helper()
			t.Logf("%s %s: %.3f (%.3f), risk %.3f (%.3f to %.3f), control %v (%v)", name, what, o.Attack.centre, w.AttackRate,
				o.Risk.Value, w.Lower, w.Upper, o.Control.Successes, w.Control)
			if math.Abs(o.Attack.centre-w.AttackRate) > w.AttackError {
				t.Errorf("%s, %s: %.3f succeed, %.3f ± %.3f by anonymeter", name, what, o.Attack.centre, w.AttackRate,
					w.AttackError)
			}
			if risks && (o.Risk.Value < w.Lower || o.Risk.Value > w.Upper) {
				t.Errorf("%s, %s: risk %.3f, %.3f to %.3f by anonymeter", name, what, o.Risk.Value, w.Lower, w.Upper)
			}
		}
		same := got.Records.Original == got.Records.Control
		compare("univariate", got.SinglingOut.Univariate, want.Univariate, same)
		compare("multivariate", got.SinglingOut.Multivariate, want.Multivariate, same)
		// As many single out in a control file of any size as in one of the original's: of other draws, so within 0.06,
		// which is 4 SDs of a difference of two shares of 1,000 near 0.25, and a law that is extrapolated.
		for mode, c := range map[*Outcome]float64{got.SinglingOut.Univariate: references(t)["leaky"].Univariate.Control,
			got.SinglingOut.Multivariate: references(t)["leaky"].Multivariate.Control} {
			if !same && math.Abs(mode.Control.Successes-c) > 60 {
				t.Errorf("%s: %v of control records, %v in a file of the original's size", name, mode.Control.Successes, c)
			}
		}
		compare("linkability", got.Linkability, want.Linkability, true)
		for i := range got.Inference {
			s := &got.Inference[i]
			compare("inference of "+s.Column, &s.Outcome, want.Inference[s.Column], true)
		}
	}
}

// TestAgreesWithSDMetrics: the share of closer records lies within the interval of the sample, and marginals and pairs
// are the same but for rounding.
func TestAgreesWithSDMetrics(t *testing.T) {
	for k, name := range scenarios {
		want := references(t)[name]
		got := result(t, k, name)
		if n := got.Closest.Nearer; want.Closer < n.Lower-1e-9 || want.Closer > n.Upper+1e-9 {
			t.Errorf("%s: %.4f are closer, %v by SDMetrics", name, n.Share, want.Closer)
		}
		for _, m := range got.Likeness.Marginals {
			if w := want.Marginals[m.Column]; math.Abs(*m.Similarity-w) > 1e-12 {
				t.Errorf("%s, %s: %v, %v by SDMetrics", name, m.Column, *m.Similarity, w)
			}
		}
		for _, p := range got.Likeness.Pairs {
			w, there := want.Pairs[strings.Join(p.Columns[:], ",")]
			if there != (p.Measure != "correlation_ratio") || there && math.Abs(*p.Similarity-w) > 1e-9 {
				t.Errorf("%s, %v: %v, %v by SDMetrics", name, p.Columns, *p.Similarity, w)
			}
		}
	}
}
