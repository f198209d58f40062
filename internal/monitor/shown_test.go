package monitor

import (
	"bufio"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/synthetic"
)

// served returns everything that a client can read: each page and one round of events.
func served(t *testing.T, m *Monitor) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range []string{"/", "/metrics", "/livez", "/readyz", "/report", "/column?name=wage",
		"/column?name=wage&size=slim", "/column?name=hours"} {
		_, all[path] = get(t, m.Handler(), path)
	}
	server := httptest.NewServer(m.Handler())
	defer server.Close()
	answer, err := http.Get(server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
	}()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		all["/events"] += lines.Text() + "\n"
		if strings.HasPrefix(all["/events"], "retry") && strings.Contains(all["/events"], "event: state\ndata: ") {
			break
		}
	}
	http.DefaultClient.CloseIdleConnections()
	return all
}

var anyNumber = regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]?\d+)?`)

// TestNoRespondentsValue: neither a value of a respondent is served, nor a number from which one
// follows: a risk or an error that leads from the mean to it, or a square of one.
func TestNoRespondentsValue(t *testing.T) {
	m := New(Info{Name: "survey"})
	for k := 1; k <= 3; k++ {
		s := synthetic.Snapshot(k, 170+10*float64(k))
		// A rule for every target: its result is a hidden risk.
		limit := 5000.0
		judged := assess.Judge(
			[]assess.Rule{{Column: "wage", MinRMSE: &limit}, {Column: "wage", Target: "max", Knowledge: "mean", MinRMSE: &limit},
				{Column: "wage", Target: "p99", MaxRisk: new(float64)}},
			&assess.Measures{Columns: s.Columns})
		s.Gate.Rules = append(s.Gate.Rules, judged.Rules...)
		s.Withheld = strings.Join([]string{"wage: max is ", strconv.FormatFloat(synthetic.Greatest, 'f', -1, 64)}, "")
		m.Snapshot(s)
	}
	canaries := []float64{synthetic.Least, synthetic.Greatest, synthetic.ReleasedLeast, synthetic.ReleasedGreatest,
		synthetic.Edge, synthetic.Percentile99}
	const mean, near = 603.7314, 0.015 // of the value: also a rounded number that leads to it
	whole := synthetic.Snapshot(3, 200).Columns[0]
	means := []float64{mean, float64(whole.Released.Mean)}
	for path, text := range served(t, m) {
		for _, c := range canaries {
			if digits := strconv.FormatFloat(c, 'f', -1, 64); strings.Contains(text, digits[:len(digits)-2]) {
				t.Errorf("%s holds %s", path, digits)
			}
		}
		if strings.HasPrefix(path, "/column") || path == "/" {
			// Coordinates and colours are the page's own numbers.
			text, _, _ = strings.Cut(text, "svg")
		}
		if path == "/metrics" {
			// Figures of the process, such as bytes, are not figures of the data.
			var own []string
			for _, l := range strings.Split(text, "\n") {
				if strings.HasPrefix(l, "sdlfilter_") {
					own = append(own, l)
				}
			}
			text = strings.Join(own, "\n")
		}
		for _, word := range anyNumber.FindAllString(text, -1) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil || v <= 0 {
				continue
			}
			// Only for values far from the mean, so that no number leads to them by chance.
			for _, c := range []float64{synthetic.Greatest, synthetic.Percentile99} {
				for _, about := range means {
					// The last is for R_se of the knowledge by the mean, 2·SD(ȳ)/d³ with an SD of
					// 1.
					for _, d := range []float64{v, 1 / math.Sqrt(v), math.Sqrt(v), math.Cbrt(2 / v)} {
						if math.Abs(about+d-c) < near*c {
							t.Errorf("%s: %s leads from the mean to %v", path, word, c)
						}
					}
				}
			}
		}
	}
	// A check that cannot fail proves nothing: the whole report does contain the values.
	text, err := synthetic.Snapshot(3, 200).JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []float64{synthetic.Least, synthetic.Greatest, synthetic.Edge} {
		if !strings.Contains(string(text), strconv.FormatFloat(c, 'f', -1, 64)) {
			t.Errorf("the confidential report does not hold %v", c)
		}
	}
}

func TestReportIsAReport(t *testing.T) {
	m := New(Info{})
	if status, body := get(t, m.Handler(), "/report"); status != http.StatusNotFound || body != "no snapshot yet\n" {
		t.Errorf("before the first snapshot: %d %q", status, body)
	}
	m.Snapshot(synthetic.Snapshot(4, 200))
	status, text := get(t, m.Handler(), "/report")
	r, err := report.Parse([]byte(text))
	if status != http.StatusOK || err != nil {
		t.Fatalf("status %d, %v", status, err)
	}
	if r.Snapshot != 4 || !reflect.DeepEqual(r.Records, synthetic.Snapshot(4, 200).Records) ||
		r.Window.Records.Read != 20_000 || len(r.Window.Columns) != 0 {
		t.Errorf("snapshot %d, records %+v, window %+v", r.Snapshot, r.Records, r.Window)
	}
	wage := r.Columns[0]
	if wage.Name != "wage" || wage.Original.N != 80_000 || wage.Original.Mean != 600 || wage.Original.SD != 450 ||
		wage.Released.Mean != 610 ||
		wage.Utility.Efficiency != 0.84 || wage.Histogram != nil {
		t.Errorf("wage: %+v", wage)
	}
	for _, v := range []assess.Float{wage.Original.Min, wage.Original.Max, wage.Released.Min, wage.Released.Max} {
		if !math.IsNaN(float64(v)) {
			t.Errorf("an extreme is there: %v", v)
		}
	}
	if r.Correlation.Original[0][1] != 0.42 || r.Correlation.Released[1][0] != 0.38 {
		t.Errorf("correlation %+v", r.Correlation)
	}
	for _, k := range wage.Risk {
		if (k.SE == k.SE) != (k.R == k.R) {
			t.Errorf("%s, %s: R %v, and R_se %v", k.Target, k.Knowledge, k.R, k.SE)
		}
		shownR, shownRealised := !math.IsNaN(float64(k.R)), !math.IsNaN(float64(k.RealisedR))
		if typical := k.Target == "typical"; shownRealised != typical || shownR != (typical || k.Knowledge != "mean") {
			t.Errorf("%s, %s: R %v, realised R %v", k.Target, k.Knowledge, k.R, k.RealisedR)
		}
	}
	if wage.Utility.SE != 0.001 {
		t.Errorf("U %v, and U_se %v", wage.Utility.U, wage.Utility.SE)
	}
	if f := r.Gate.Rules[0].Found; f != 2.5e-5 && math.Abs(float64(f)-2.37e-5) > 1e-6 {
		t.Errorf("the rule on R found %v", f)
	}
}

// TestFewRespondents: two shown states of a column differ by at least 10 values or not at all, and
// with fewer than 10 values nothing is shown.
func TestFewRespondents(t *testing.T) {
	m := New(Info{})
	take := func(n int64, mean float64) (c assess.ColumnMeasures, correlation assess.Correlation) {
		t.Helper()
		s := synthetic.Snapshot(1, 200)
		wage := &s.Columns[0]
		wage.Original.N, wage.Released.N = n, n
		wage.Original.Mean, wage.Original.SD = assess.Float(mean), 0.1
		s.Correlation.Original[0][1] = assess.Float(2*math.Mod(mean, 2) - 1)
		m.Snapshot(s)
		_, text := get(t, m.Handler(), "/report")
		var r report.Report
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		return r.Columns[0], r.Correlation
	}
	for _, step := range []struct {
		n            int64
		mean         float64
		wantN        int64
		want, wantAt assess.Float // mean and correlation; NaN: none
	}{
		{9, 100, 9, assess.Float(math.NaN()), assess.Float(math.NaN())},
		{10, 101, 10, 101, 1},
		{11, 102, 10, 101, 1},
		{19, 104, 10, 101, 1},
		{20, 104, 20, 104, -1},
		{20, 105, 20, 105, 1},
		{12, 106, 20, 105, 1},
		{10, 108, 10, 108, -1},
	} {
		c, correlation := take(step.n, step.mean)
		same := func(a, b assess.Float) bool { return a == b || a != a && b != b }
		at := assess.Float(math.NaN())
		if len(correlation.Original) > 0 {
			at = correlation.Original[0][1]
		}
		if c.Original.N != step.wantN || !same(c.Original.Mean, step.want) || !same(at, step.wantAt) {
			t.Errorf("%d values with mean %v: shown n %d, mean %v, correlation %v; want %d, %v, %v", step.n, step.mean,
				c.Original.N, c.Original.Mean, at,
				step.wantN, step.want, step.wantAt)
		}
		if nothing := step.n < fewest; nothing != (len(c.Risk) == 0) || nothing != math.IsNaN(float64(c.Utility.U)) {
			t.Errorf("%d values: %d risks, U %v", step.n, len(c.Risk), c.Utility.U)
		}
	}
}

// figuresOf returns all figures of a column that a view shows.
func figuresOf(v *view) (list []float64) {
	c := v.columns["wage"].measures
	for _, f := range []assess.Float{c.Original.Mean, c.Original.SD, c.MeanSquaredDifference, c.Utility.U,
		c.Utility.RealisedU, c.Utility.U0, c.Utility.Efficiency} {
		list = append(list, float64(f))
	}
	for _, k := range c.Risk {
		list = append(list, float64(k.R), float64(k.RMSE), float64(k.RealisedR))
	}
	return list
}

// TestTwoNights: the metrics of two nights whose data differ by one record, and those of a stream before and after a
// restart without its state, are two views of which the second knows nothing of the first. Who has both, and knows how
// each figure goes by the SD, learns the value of the record no nearer than from its own noise. The SDs that agree with
// all figures together are an interval.
func TestTwoNights(t *testing.T) {
	shown := func(sd, n float64) *report.Report {
		λ := 0.35 * sd
		c := assess.ColumnMeasures{Name: "wage", Masked: true,
			Original: assess.Moments{N: int64(n), Mean: 0, SD: assess.Float(sd)},
			Released: assess.Moments{N: int64(n), Mean: 0, SD: assess.Float(math.Hypot(sd, λ))},
			// Of another mask, with an absolute λ of 1.
			Utility: assess.Utility{U: assess.Float(n / (sd*sd + λ*λ)), RealisedU: assess.Float(n / (sd*sd + λ*λ)),
				U0: assess.Float(n / (sd * sd)), Efficiency: assess.Float(sd * sd / (sd*sd + 1))},
			MeanSquaredDifference: assess.Float(λ * λ)}
		add := func(target, knowledge string, error float64) {
			r := assess.Float(1 / (error * error))
			c.Risk = append(c.Risk, assess.Risk{Target: target, Knowledge: knowledge, R: r, RMSE: assess.Float(error),
				RealisedR: r, Replicates: 200})
		}
		add("typical", "mean", sd)
		add("typical", "index", λ)
		add("typical", "record", λ/math.Sqrt(1+0.35*0.35))
		for i, target := range []string{"min", "p01", "p10", "p90", "p99", "max"} {
			for k, knowledge := range []string{"index", "position", "record"} {
				add(target, knowledge, λ*(0.93+0.07*float64(i)+0.023*float64(k))) // chance is alike in both nights
			}
		}
		r := &report.Report{}
		r.SetMeasures(&assess.Measures{Columns: []assess.ColumnMeasures{c}})
		return r
	}
	exact := func(sd, n float64) []float64 { // four digits, and two of risks
		c := shown(sd, n).Columns[0]
		list := []float64{float64(rounded(c.Original.SD, digits)), float64(rounded(c.Utility.U, digits))}
		for _, k := range c.Risk {
			list = append(list, float64(rounded(k.RMSE, riskDigits)))
		}
		return list
	}
	coarse := func(sd, n float64) []float64 { return figuresOf(viewOf(shown(sd, n), nil)) }
	for _, n := range []float64{300, 2_000, 30_000} {
		of := map[string]float64{}
		for name, figures := range map[string]func(sd, n float64) []float64{"four digits": exact, "shown": coarse} {
			// bounds of the SDs with the figures of sd
			bounds := func(sd, n float64) (least, greatest float64) {
				want := figures(sd, n)
				agrees := func(sd float64) bool {
					for i, f := range figures(sd, n) {
						if f != want[i] && (f == f || want[i] == want[i]) {
							return false
						}
					}
					return true
				}
				end := func(far float64) float64 {
					near := sd
					for range 40 {
						if mid := (near + far) / 2; agrees(mid) {
							near = mid
						} else {
							far = mid
						}
					}
					return near
				}
				return end(sd / 3), end(3 * sd)
			}
			const trials = 24
			sum := 0.0
			for trial := range trials {
				sd := math.Pow(10, float64(trial)/trials) // the place of a figure among its steps
				x := 0.3 * math.Sqrt(n) * sd
				from, to := bounds(sd, n)
				least, greatest := bounds(math.Sqrt(((n-1)*sd*sd+x*x*n/(n+1))/n), n+1)
				before, now := (from+to)/2, (least+greatest)/2
				found := math.Sqrt(math.Max(0, (n*now*now-(n-1)*before*before)*(n+1)/n))
				sum += math.Pow(math.Min(math.Abs(found-x)/(0.35*sd), 10), 2)
			}
			of[name] = math.Sqrt(sum / trials)
		}
		t.Logf("%v records: ± %.3f λ with four digits, ± %.2f λ as shown", n, of["four digits"], of["shown"])
		if of["shown"] < 1.5 || of["four digits"] > 0.7 {
			t.Errorf("%v records: the value of one is known to ± %.3f λ, with four digits to %.3f", n, of["shown"],
				of["four digits"])
		}
	}
}

// TestCoarseFigures: the bias goes by the SD, not by itself; what a rule has found is as coarse as the figure; and an
// error that rounds to 0 is not shown as 0, which would be infinite risk.
func TestCoarseFigures(t *testing.T) {
	c := assess.ColumnMeasures{Name: "wage", Masked: true, Original: assess.Moments{N: 1_600, Mean: 600, SD: 450},
		Released: assess.Moments{N: 1_600}, Utility: assess.Utility{Bias: 31.4, Efficiency: 0.8372}}
	v := showColumn(&c, assess.Verdict{}, nil)
	if u := v.measures.Utility; u.Bias != 50 || u.Efficiency != 0.8 {
		t.Errorf("bias %v, efficiency %v", u.Bias, u.Efficiency)
	}
	rule := assess.RuleVerdict{Column: "wage", Measure: "min_efficiency", Limit: 0.5, Found: 0.8372, Passed: true}
	if got := showRule(&report.Report{}, rule, v); got.Found != 0.8 {
		t.Errorf("the rule found %v", got.Found)
	}
	nan := assess.Float(math.NaN())
	for _, c := range []struct {
		n              int64
		exact, want, r assess.Float
	}{{40, 70, nan, nan}, {40, 30, 50, 0.0004}, {40, 0, 0, assess.Float(math.Inf(1))},
		{1e6, 102, nan, nan}, {1e6, 98, 98, 0.000104}} { // of more than 100 it tells the distance
		of := assess.ColumnMeasures{Original: assess.Moments{N: c.n},
			Risk: []assess.Risk{{Target: "typical", Knowledge: "index", RMSE: 50}}}
		k := showRisk(&of, assess.Risk{Target: "max", Knowledge: "index", RMSE: c.exact, R: 1, Replicates: 200})
		if k.RMSE != c.want && (k.RMSE == k.RMSE || c.want == c.want) || k.R != c.r && (k.R == k.R || c.r == c.r) {
			t.Errorf("an error of %v among %d values is shown as %v, R as %v", c.exact, c.n, k.RMSE, k.R)
		}
	}
}

// TestWithoutReplicates: then R of an order statistic is the realised one.
func TestWithoutReplicates(t *testing.T) {
	s := synthetic.Snapshot(1, 200)
	for i := range s.Columns[0].Risk {
		s.Columns[0].Risk[i].Replicates = 0
	}
	v := viewOf(s, nil)
	for _, k := range v.columns["wage"].measures.Risk {
		if there := !math.IsNaN(float64(k.R)); there != (k.Target == "typical") {
			t.Errorf("%s, %s: R %v", k.Target, k.Knowledge, k.R)
		}
	}
	if points := v.columns["wage"].ru.Points; len(points) != 2 {
		t.Errorf("%d points on the map, want those of the typical target", len(points))
	}
}

func TestRounded(t *testing.T) {
	inf := assess.Float(math.Inf(1))
	for _, c := range []struct{ in, want assess.Float }{
		{603.7314, 603.7}, {-0.000123456, -0.0001235}, {0, 0}, {inf, inf}, {-inf, -inf}, {math.MaxFloat64, inf},
		{18777.2, 18780},
	} {
		if got := rounded(c.in, 4); got != c.want {
			t.Errorf("rounded(%v) is %v, want %v", c.in, got, c.want)
		}
	}
	if got := rounded(assess.Float(math.NaN()), 4); got == got {
		t.Errorf("rounded(NaN) is %v", got)
	}
}

func TestColumn(t *testing.T) {
	m := New(Info{})
	for k := 1; k <= longestHistory+3; k++ {
		m.Snapshot(synthetic.Snapshot(k, 150+3*float64(k)))
	}
	d, ok := m.column("wage", false)
	if !ok || len(d.History) != longestHistory || d.History[0].Snapshot != longestHistory+3 ||
		d.History[longestHistory-1].Snapshot != 4 {
		t.Fatalf("%v, %d snapshots", ok, len(d.History))
	}
	if w := d.History[0].Worst; w == nil || w.Target != "min" || w.Knowledge != "position" {
		t.Errorf("worst %+v", w)
	}
	if n := strings.Count(d.SVG, `<g class="trail `); n != 8 {
		t.Errorf("%d trails, want 8", n)
	}
	slim, _ := m.column("wage", true)
	if !strings.Contains(slim.SVG, `width="328"`) || !strings.Contains(d.SVG, `width="680"`) {
		t.Error("the map is not drawn in the size that was asked for")
	}
	if _, ok := m.column("nothing", false); ok {
		t.Error("a column that is not there")
	}
	if status, _ := get(t, m.Handler(), "/column?name=%ff%3Cb%3E"); status != http.StatusNotFound {
		t.Errorf("a column that is not there: %d", status)
	}
}

// TestShownHasNoAttack: results of an intruder are only in the confidential report.
func TestShownHasNoAttack(t *testing.T) {
	r := synthetic.Snapshot(1, 500)
	r.Attack = &attack.Result{Schema: attack.Schema, Targets: 7}
	if v := viewOf(r, nil); v.report.Attack != nil || r.Attack == nil {
		t.Error("the live page has the attack, or the report has it no longer")
	}
}

// TestRoundedBesideItsLimit: the result of a rule is not shown if its rounded value lies on the
// other side of the limit.
func TestRoundedBesideItsLimit(t *testing.T) {
	for _, c := range []struct {
		measure             string
		found, shown, limit assess.Float
		passed, seen        bool
	}{
		{"min_efficiency", 0.79996, 0.8, 0.8, false, false},
		{"min_efficiency", 0.8, 0.8, 0.8, true, true},
		{"min_efficiency", 0.7, 0.7, 0.8, false, true},
		{"min_rmse", 4990, 5000, 5000, false, false},
		{"min_rmse", 5100, 5100, 5000, true, true},
		{"max_risk", 4.01e-5, 4e-5, 4e-5, false, false},
		{"max_risk", 3.9e-5, 4.1e-5, 4e-5, true, false},
		{"max_risk", 5e-5, 5e-5, 4e-5, false, true},
	} {
		rule := assess.RuleVerdict{Measure: c.measure, Limit: c.limit, Found: c.found, Passed: c.passed}
		if got := besideLimit(rule, c.shown); (got == c.shown) != c.seen || (got == got) != c.seen {
			t.Errorf("%+v shows %v", c, got)
		}
	}
}

// A limit on ε is shown with what was found, also of columns of few respondents: both follow from the configuration.
func TestPrivacyRuleIsShown(t *testing.T) {
	rule := assess.RuleVerdict{Column: "wage", Measure: "max_epsilon", Limit: 2, Found: 1.234567, Advice: "a"}
	r := &report.Report{Columns: report.Columns{{Name: "wage", Risk: []assess.Risk{{Target: "max", RMSE: 77}}}}}
	for _, c := range []*columnView{nil, {}, {enough: true}} {
		if got := showRule(r, rule, c); got != rule {
			t.Errorf("shows %+v", got)
		}
	}
	rule.Measure = "max_metric_epsilon"
	if got := showRule(r, rule, &columnView{enough: true}); got != rule {
		t.Errorf("shows %+v", got)
	}
}

// Of a rule that is neither about risk nor about efficiency the page has no figure: not that of another measure.
func TestOtherRulesShowNoFigure(t *testing.T) {
	r := &report.Report{
		Columns: report.Columns{{Name: "wage", Original: assess.Moments{N: 100_000},
			Risk: []assess.Risk{{Target: assess.TargetTypical, R: 0.5, RMSE: 77}}}}}
	for _, measure := range []string{"max_unchanged", "max_exact", "max_posterior", "min_rmse"} {
		rule := assess.RuleVerdict{Column: "wage", Measure: measure, Limit: 0.1, Found: 77, Passed: true, Advice: "a"}
		got := showRule(r, rule, &columnView{enough: true})
		if found := got.Found == 77; found != (measure == "min_rmse") || !found && got.Found == got.Found ||
			got.Advice == "a" {
			t.Errorf("%s shows %+v", measure, got)
		}
	}
}
