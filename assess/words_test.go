package assess

import (
	"math"
	"strings"
	"testing"
)

// Numbers in readable form: four digits for results, the stated digits for limits, and integers for
// large numbers.
func TestNumbersInWords(t *testing.T) {
	for _, c := range []struct {
		v                           float64
		number, stated, in, withUse string
	}{
		{0, "0", "0", "0 USD", "0 USD"},
		{0.123456789, "0.1235", "0.123456789", "0.123456789 USD", "0.1235 USD"},
		{999.96, "1000", "999.96", "999.96 USD", "1000 USD"},
		{1000, "1000", "1000", "1000 USD", "1000 USD"},
		{123456.75, "1.235e+05", "123456.75", "123456.75 USD", "123457 USD"},
		{-1000.5, "-1000", "-1000.5", "-1000.5 USD", "-1000 USD"},
		{999999999999999, "1e+15", "999999999999999", "999999999999999 USD", "999999999999999 USD"},
		{1e15, "1e+15", "1e+15", "1e+15 USD", "1e+15 USD"},
		{-1e15, "-1e+15", "-1e+15", "-1e+15 USD", "-1e+15 USD"},
	} {
		if got := number(c.v); got != c.number {
			t.Errorf("%v: number %s, want %s", c.v, got, c.number)
		}
		if got := stated(c.v); got != c.stated {
			t.Errorf("%v: stated %s, want %s", c.v, got, c.stated)
		}
		if got := statedIn(c.v, "USD"); got != c.in {
			t.Errorf("%v: stated %s, want %s", c.v, got, c.in)
		}
		if got := withUnit(c.v, "USD"); got != c.withUse {
			t.Errorf("%v: %s, want %s", c.v, got, c.withUse)
		}
		if got := withUnit(c.v, "") + " USD"; got != c.withUse {
			t.Errorf("%v without a unit: %s, want %s", c.v, got, c.withUse)
		}
	}
	// A value that misses a limit also misses it in its written form, with as few digits as this
	// needs.
	for _, c := range []struct {
		v, limit float64
		want     string
	}{
		{99, 100, "99 m"}, {99.999, 100, "99.999 m"}, {99.9999999, 100, "99.9999999 m"}, {4999.6, 5000, "4999.6 m"},
		{4999.4, 5000, "4999 m"},
		{100, 100, "100 m"}, {100.00001, 100, "100 m"}, {0.99996, 1, "0.99996 m"}, {1 - 1e-16, 1, "0.9999999999999999 m"},
		{123456, 200000, "123456 m"},
	} {
		if got := shortOf(c.v, c.limit, "m"); got != c.want {
			t.Errorf("%v short of %v: %s, want %s", c.v, c.limit, got, c.want)
		}
	}
}

// The exact text and advice of each rule.
func TestVerdictsInWords(t *testing.T) {
	at := func(knowledge string, r, se float64) Measures {
		k := Risk{Target: "max", Knowledge: knowledge, R: Float(r), RMSE: Float(math.Sqrt(1 / r)), SE: Float(se),
			Sampled: se > 0}
		return Measures{Columns: []ColumnMeasures{{Name: "wage", Unit: "USD", Masked: true, Risk: []Risk{k}}}}
	}
	for _, c := range []struct {
		rule         Rule
		m            Measures
		text, advice string
	}{
		{Rule{Column: "wage", Target: "max", Knowledge: "index", MinRMSE: ptr(20)}, at("index", 0.01, 0),
			"wage: RMSE of max (index) at least 20 USD",
			"max is known by index to within 10 USD: with added noise R = 1/λ², so λ of at least 20 USD where the target lies (a tier does it there alone)"},
		{Rule{Column: "wage", Target: "max", Knowledge: "index", MaxRisk: ptr(0.0025)}, at("index", 0.01, 0.001),
			"wage: R of max (index) at most 0.0025 (at two standard errors)",
			"max is known by index to within 8.944 USD: with added noise R = 1/λ², so λ of at least 20 USD where the target lies (a tier does it there alone)"},
		{Rule{Column: "wage", Knowledge: "position", MinRMSE: ptr(20)}, at("position", 0.01, 0),
			"wage: RMSE of every target (position) at least 20 USD (worst: max by position)",
			"max is known by position to within 10 USD: more noise or a bias must move the released order statistic by 20 USD; a bound near the target keeps it near whatever the noise"},
		{Rule{Column: "wage", Target: "max", MinRMSE: ptr(20)}, at("order", 0.01, 0),
			"wage: RMSE of max at least 20 USD (worst: max by order)",
			"max is known by order to within 10 USD: release the records in another order (sink.order: shuffled), or sort the source by what tells nothing of the column"},
		{Rule{Column: "wage", MinRMSE: ptr(20)}, at("mean", 0.01, 0),
			"wage: RMSE of every target at least 20 USD (worst: max by mean)",
			"max is known by mean to within 10 USD: the released mean lies that near to it, and noise does not change that; it takes a bias of the mean, or another limit for this target"},
		{Rule{Column: "wage", MaxRisk: ptr(0.01)}, at("mean", 0.01, 0),
			"wage: R of every target at most 0.01 (worst: max by mean)", ""},
		{Rule{Column: "wage", Target: "max", MaxRisk: ptr(0.01)}, at("mean", math.NaN(), 0),
			"wage: R of max at most 0.01 (worst: max by mean)",
			"the risk of max by mean could not be measured; a rule without its measure does not hold"},
		{Rule{Column: "wage", Target: "p50", Knowledge: "mean", MaxRisk: ptr(1)}, at("mean", 0.01, 0),
			"wage: R of p50 (mean) at most 1", "p50 (mean) is not measured; a rule without its measure does not hold"},
		{Rule{Column: "hours", MaxRisk: ptr(1)}, at("mean", 0.01, 0), "hours: R of every target at most 1",
			"the column is not assessed; a rule without its measure does not hold"},
		{Rule{Column: "wage", Knowledge: "mean"}, at("mean", 0.01, 0),
			"wage: RMSE of every target (mean) at least NaN USD (worst: max by mean)",
			"max is known by mean to within 10 USD: the released mean lies that near to it, and noise does not change that; it takes a bias of the mean, or another limit for this target"},
	} {
		v := c.rule.judgeRisk(c.m.Column(c.rule.Column))
		if v.Rule != c.text || v.Advice != c.advice || v.Passed != (c.advice == "") {
			t.Errorf("%+v:\n%q\n%q\nwant\n%q\n%q", v, v.Rule, v.Advice, c.text, c.advice)
		}
	}
	// What tells decides the advice.
	for tells, advice := range map[string]string{OrderOfRecords: "sink.order: shuffled", "hours": "mask these columns too"} {
		m := at("record", 0.01, 0)
		m.Columns[0].Risk[0].Tells = []string{"person", tells}
		if v := (Rule{Column: "wage", MinRMSE: ptr(20)}).judgeRisk(&m.Columns[0]); !strings.Contains(v.Advice, advice) {
			t.Errorf("told by %s: %s", tells, v.Advice)
		}
	}
	// With an interval the end is reported, of R and of its RMSE.
	m := at("index", 0.01, 0.001)
	if v := (Rule{Column: "wage", MaxRisk: ptr(1)}).judgeRisk(&m.Columns[0]); !(math.Abs(float64(v.Found)-0.0125) <= 1e-12) || !v.Passed {
		t.Errorf("%+v", v)
	}
	if v := (Rule{Column: "wage", MinRMSE: ptr(8.9)}).judgeRisk(&m.Columns[0]); !(math.Abs(float64(v.Found)-math.Sqrt(80)) <= 1e-12) || !v.Passed {
		t.Errorf("%+v", v)
	}
	if v := (Rule{Column: "wage", MinRMSE: ptr(9)}).judgeRisk(&m.Columns[0]); v.Passed || v.Limit != 9 ||
		v.Measure != "min_rmse" {
		t.Errorf("%+v", v)
	}
	plain := ColumnMeasures{Name: "age"}
	if v := (Rule{Column: "age", MaxRisk: ptr(1)}).judgeRisk(&plain); v.Passed || v.Found == v.Found ||
		v.Advice != "no mask changes the column: it is released as it is, and whoever links a record knows its value" {
		t.Errorf("%+v", v)
	}
}
