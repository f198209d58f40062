package config

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// byHand is a typical hand-written file.
const byHand = `# nightly, as agreed
version: 1   # of the format
key: {file: release.key}
source: {parquet: {path: "${DATA}"}}
columns:
  wage:   {role: sensitive, decimals: 2, unit: "€/Woche"}   # gross
  région: {role: key}
  age:    {role: key}

masks:       # in this order
  # what moves everything
  - bias: {columns: [wage], range: 0.05}    # about ±5 %

  - name: Überlagerung
    noise:
      columns: [wage]
      # of the SD
      sd: 35%          # see the map
      tiers: [{above: 1000, variance_factor: 2},
              {above: 5000,   variance_factor:   3 }]
  - truncate: {columns: [wage], lower: 50}  # no upper bound
  - round:
      columns:
        - wage
      # decimals come last
      decimals: 0
sink:
    parquet: {path: out.parquet}

map:
  vary:
    masks.0.bias.range: {from: 0.01, to: 0.1, steps: 3}
    masks.1.noise.sd: {from: 5%, to: 100%, steps: 7}
    masks.1.noise.tiers.1.variance_factor: {from: 1, to: 10, steps: 4}
    masks.2.truncate.upper: {from: 1000, to: 100000, steps: 3, scale: log}
    masks.3.round.decimals: {from: -1, to: 2}
  strategies:
      - name: swap
        masks:
          # partners of one age
          - swap: {keys: [age], attribute: région, columns: [wage],
              rate: 0.1}    # π
          # and a little noise
          - noise:
              columns: [wage]
              sd: 5%   # the least
        vary:
          masks.0.swap.rate: {from: 0.01, to: 0.5}
          masks.1.noise.sd: {from: 5%, to: 20%}
      - {name: flow, masks: [{bias: {columns: [wage], range: 0.05}}, {noise: {columns: [wage], sd: '35%'}}], vary: {masks.1.noise.sd: {from: 5%, to: 20%}}}
# the end
`

// rewrite applies a choice and returns the text.
func rewrite(t *testing.T, text, strategy string, values map[string]float64, set ...string) string {
	t.Helper()
	p, err := Parse("p.yaml", []byte(text), Options{LookupEnv: lookup, Set: set})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out, err := p.Rewritten(strategy, values)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", strategy, values, err, text)
	}
	return string(out)
}

// In the configured masks only the numbers change, and no other byte.
func TestRewrittenChangesNumbersAlone(t *testing.T) {
	text := byHand
	values := map[string]float64{
		"masks.0.bias.range": 0.02, "masks[1].noise.sd": 0.1 + 0.2, "masks.1.noise.tiers.1.variance_factor": 2.5,
		"masks.2.truncate.upper": 12345.6789, "masks.3.round.decimals": -1,
	}
	replace := strings.NewReplacer("range: 0.05}    #", "range: 0.02}    #", "sd: 35%  ", "sd: 30%  ",
		"variance_factor:   3 }", "variance_factor:   2.5 }",
		"lower: 50}", "lower: 50, upper: 12345.6789}", "decimals: 0\n", "decimals: -1\n")
	want := replace.Replace(text)
	for name, c := range map[string]struct{ text, want string }{
		"as it is":         {text, want},
		"CRLF":             {strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(want, "\n", "\r\n")},
		"byte order mark":  {"\ufeff" + text, "\ufeff" + want},
		"no last line end": {strings.TrimRight(text, "\n"), strings.TrimRight(want, "\n")},
		"a separator in it": {strings.Replace(text, "# gross", "# gross\u2028  # net", 1),
			strings.Replace(want, "# gross", "# gross\u2028  # net", 1)},
	} {
		if got := rewrite(t, c.text, Configured, values); got != c.want {
			t.Errorf("%s: must be\n%s\ngot\n%s", name, c.want, got)
		}
	}
	if got := rewrite(t, text, Configured, nil); got != text {
		t.Errorf("without values nothing changes, got\n%s", got)
	}
	one := map[string]float64{"masks.1.noise.sd": 1. / 3}
	if got, want := rewrite(t, text, Configured, one), strings.Replace(text, "sd: 35%", "sd: 33.33333333333%", 1); got !=
		want {
		t.Errorf("one value changes one number, got\n%s", got)
	}
}

// The description of a choice agrees with the rewritten file.
func TestChoiceInWords(t *testing.T) {
	p, err := Parse("p.yaml", []byte(byHand), Options{LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		strategy string
		values   map[string]float64
		want     string
	}{
		{Configured, map[string]float64{"masks.1.noise.sd": 0.05}, "masks.1.noise.sd 5%"},
		{Configured, map[string]float64{"masks[1].noise.sd": 1. / 3, "masks.3.round.decimals": -1},
			"masks.1.noise.sd 33.33333333333%, masks.3.round.decimals -1"},
		{Configured, nil, ""},
		{"flow", map[string]float64{"masks.1.noise.sd": 0.1}, "flow, masks.1.noise.sd 10%"},
	} {
		if got, err := p.Choice(c.strategy, c.values); err != nil || got != c.want {
			t.Errorf("%s %v must read %q, got %q, %v", c.strategy, c.values, c.want, got, err)
		}
	}
	if _, err := p.Choice("nobody", nil); err == nil {
		t.Error("there is no such strategy")
	}
}

// A number may be written in many ways.
func TestRewrittenScalars(t *testing.T) {
	const before,
		after = "version: 1\nkey: {file: release.key}\nsource: {parquet: {path: in.parquet}}\ncolumns: {wage: {role: sensitive, decimals: 2}}\nsink: {parquet: {path: out.parquet}}\nmasks:\n",
		"map: {vary: {PATH: {from: 1RELATIVE, to: 20RELATIVE}}}\n"
	tests := []struct {
		masks, path, relative string
		value                 float64
		want                  string
	}{
		{"- noise: {columns: [wage], sd: 35%}\n", "masks.0.noise.sd", "%", 0.2, "- noise: {columns: [wage], sd: 20%}\n"},
		{"- noise: {sd: 35%, columns: [wage]}\n", "masks.0.noise.sd", "%", 0.2, "- noise: {sd: 20%, columns: [wage]}\n"},
		{"- noise: {columns: [wage], sd: \"35%\"}\n", "masks.0.noise.sd", "%", 0.2,
			"- noise: {columns: [wage], sd: \"20%\"}\n"},
		{"- noise: {columns: [wage], sd: '35%' }\n", "masks.0.noise.sd", "", 2.5, "- noise: {columns: [wage], sd: '2.5' }\n"},
		{"- noise: {columns: [wage], sd: 35}\n", "masks.0.noise.sd", "%", 0.125, "- noise: {columns: [wage], sd: 12.5%}\n"},
		{"- noise: {columns: [wage], sd: \"\\u003335%\"}\n", "masks.0.noise.sd", "%", 0.2,
			"- noise: {columns: [wage], sd: \"20%\"}\n"},
		{"- noise: {columns: [wage], sd: \"${WIDTH}%\"}\n", "masks.0.noise.sd", "%", 0.2,
			"- noise: {columns: [wage], sd: \"20%\"}\n"},
		{"- noise:\n    columns: [wage]\n    sd: ${WIDTH}%   # from outside\n", "masks.0.noise.sd", "%", 0.2,
			"- noise:\n    columns: [wage]\n    sd: 20%   # from outside\n"},
		{"- noise:\n    columns: [wage]\n    sd: ${NOWHERE:-12\n      %}\n", "masks.0.noise.sd", "%", 0.2,
			"- noise:\n    columns: [wage]\n    sd: 20%\n"},
		{"- noise:\n    columns: [wage]\n    sd: |-\n      35%\n\n    # then\n    distribution: normal\n", "masks.0.noise.sd",
			"%", 0.2, "- noise:\n    columns: [wage]\n    sd: 20%\n\n    # then\n    distribution: normal\n"},
		{"- noise:\n    columns: [wage]\n    ? sd\n    : 35%\n", "masks.0.noise.sd", "%", 0.2,
			"- noise:\n    columns: [wage]\n    ? sd\n    : 20%\n"},
		{"  - truncate: {columns: [wage], lower: 0.5}\n", "masks.0.truncate.lower", "", 1e-7,
			"  - truncate: {columns: [wage], lower: 1e-07}\n"},
		{"  - truncate: {columns: [wage], lower: 0.5,}\n", "masks.0.truncate.upper", "", 1e16,
			"  - truncate: {columns: [wage], lower: 0.5, upper: 1e+16,}\n"},
		{"  - truncate: {columns: [wage], lower: 0.5 # least\n    }\n", "masks.0.truncate.upper", "", 3,
			"  - truncate: {columns: [wage], lower: 0.5, upper: 3 # least\n    }\n"},
		{"  - truncate: {lower: 0.5, columns: [wage\n    ]}\n", "masks.0.truncate.upper", "", 3,
			"  - truncate: {lower: 0.5, columns: [wage\n    ], upper: 3}\n"},
		{"  - truncate:\n      lower: 0.5\n      columns: # which\n      - wage  # this\n    # next\n",
			"masks.0.truncate.upper", "", 3,
			"  - truncate:\n      lower: 0.5\n      columns: # which\n      - wage  # this\n      upper: 3\n    # next\n"},
		{"  - truncate:\n      columns: [wage]\n      lower: 0.5\n      mode: >-\n        clip\n", "masks.0.truncate.upper",
			"", 3, "  - truncate:\n      columns: [wage]\n      lower: 0.5\n      mode: >-\n        clip\n      upper: 3\n"},
		{"  [ truncate: {columns: [wage], lower: 0.5} ]\n", "masks.0.truncate.lower", "", 3,
			"  [ truncate: {columns: [wage], lower: 3} ]\n"},
		{"  [{\"truncate\": {\"columns\": [\"wage\"], \"lower\": 0.5}}]\n", "masks.0.truncate.upper", "", 3,
			"  [{\"truncate\": {\"columns\": [\"wage\"], \"lower\": 0.5, \"upper\": 3}}]\n"},
		{"  [{\"noise\": {\"columns\": [\"wage\"], \"sd\": 0.5}}]\n", "masks.0.noise.sd", "%", 0.03,
			"  [{\"noise\": {\"columns\": [\"wage\"], \"sd\": \"3%\"}}]\n"},
	}
	for _, test := range tests {
		tail := strings.NewReplacer("PATH", test.path, "RELATIVE", test.relative).Replace(after)
		got := rewrite(t, before+test.masks+tail, Configured, map[string]float64{test.path: test.value})
		if want := before + test.want + tail; got != want {
			t.Errorf("%s must become\n%s\ngot\n%s", test.masks, want, got)
		}
	}
}

func TestRewrittenToAnotherStrategy(t *testing.T) {
	text := byHand
	start, end := strings.Index(text, "  - bias"), strings.Index(text, "sink:")
	got := rewrite(t, text, "swap", map[string]float64{"masks.0.swap.rate": 0.25, "masks.1.noise.sd": 0.07})
	want := text[:start] + `  - swap: {keys: [age], attribute: région, columns: [wage],
      rate: 0.25}    # π
  # and a little noise
  - noise:
      columns: [wage]
      sd: 7%   # the least
` + text[end:]
	// A comment above the first mask stays with the list.
	if got != want {
		t.Errorf("must be\n%s\ngot\n%s", want, got)
	}
	got = rewrite(t, text, "flow", map[string]float64{"masks.1.noise.sd": 0.07})
	want = text[:start] + "  [{bias: {columns: [wage], range: 0.05}}, {noise: {columns: [wage], sd: '7%'}}]\n" + text[end:]
	if got != want {
		t.Errorf("must be\n%s\ngot\n%s", want, got)
	}
	// A rewritten file can be mapped and rewritten again.
	again := rewrite(t, got, "swap", map[string]float64{"masks.0.swap.rate": 0.25, "masks.1.noise.sd": 0.07})
	if want := rewrite(t, text, "swap", map[string]float64{"masks.0.swap.rate": 0.25, "masks.1.noise.sd": 0.07}); again !=
		want {
		t.Errorf("must be\n%s\ngot\n%s", want, again)
	}
}

// shifted indents all lines except the first.
func shifted(block string, by int) string {
	lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
	return strings.Join(lines, "\n"+strings.Repeat(" ", by)) + "\n"
}

func TestRewrittenPlacesAList(t *testing.T) {
	const head = "version: 1\nkey: {file: release.key}\nsource: {parquet: {path: in.parquet}}\ncolumns: {wage: {role: sensitive, decimals: 2}}\nsink: {parquet: {path: out.parquet}}\n"
	const block = "map:\n  strategies:\n  - name: a\n    masks:\n    - round: {columns: [wage], base: 1}\n    # then\n    - noise: {columns: [wage], sd: 1}\n"
	const flow = "map: {strategies: [{name: a, masks: [{round: {columns: [wage], base: 1}},\n  {noise: {columns: [wage], sd: 1}}]}]}\n"
	const old = "round: {columns: [wage], base: 7}"
	const newBlock = "- round: {columns: [wage], base: 1}\n# then\n- noise: {columns: [wage], sd: 1}\n"
	const newFlow = "[{round: {columns: [wage], base: 1}},\n  {noise: {columns: [wage], sd: 1}}]"
	for _, test := range []struct{ name, text, want string }{
		{"block for block", head + "masks:\n    - " + old + " # old\n" + block,
			head + "masks:\n" + shifted("    "+newBlock, 4) + block},
		{"block for dashes at the margin", head + "masks:\n- " + old + "\n" + block, head + "masks:\n" + newBlock + block},
		{"block for flow", head + "masks: [" + old + "]  # old\n" + block,
			head + "masks:  # old\n" + shifted("  "+newBlock, 2) + block},
		{"flow for block", head + "masks:\n  - " + old + "\n" + flow, head + "masks:\n  " + newFlow + "\n" + flow},
		{"flow for dashes at the margin", head + "masks: # all\n- " + old + "\n" + flow,
			head + "masks: # all\n  " + newFlow + "\n" + flow},
		{"flow for flow", head + "masks: [ " + old + "\n  ]\n" + flow, head + "masks: " + newFlow + "\n" + flow},
		{"block where there are none", head + block, head + block + "masks:\n" + shifted("  "+newBlock, 2)},
		{"flow where there are none", head + strings.TrimRight(flow, "\n"), head + flow + "masks: " + newFlow},
		{
			"JSON",
			`{"version": 1, "key": {"file": "k"}, "source": {"csv": {"path": "i"}}, "columns": {"wage": {"role": "sensitive"}}, "sink": {"csv": {"path": "o"}}, "map": {"strategies": [{"name": "a", "masks": [{"round": {"columns": ["wage"], "base": 1}}]}]}}`,
			`{"version": 1, "key": {"file": "k"}, "source": {"csv": {"path": "i"}}, "columns": {"wage": {"role": "sensitive"}}, "sink": {"csv": {"path": "o"}}, "map": {"strategies": [{"name": "a", "masks": [{"round": {"columns": ["wage"], "base": 1}}]}]}, "masks": [{"round": {"columns": ["wage"], "base": 1}}]}`},
	} {
		want := test.want
		if test.name == "block where there are none" {
			want = strings.TrimRight(want, "\n") + "\n"
		}
		if got := rewrite(t, test.text, "a", nil); got != want {
			t.Errorf("%s: must be\n%s\ngot\n%s", test.name, want, got)
		}
	}
}

func TestRewrittenErrors(t *testing.T) {
	text := byHand
	for _, test := range []struct {
		name, strategy string
		values         map[string]float64
		options        Options
		want           string
	}{
		{"an unknown strategy", "swop", nil, Options{}, `has none of the name "swop"`},
		{"an unknown parameter", Configured, map[string]float64{"masks.0.bias.phi": 1}, Options{},
			"must have the parameter masks.0.bias.phi among those that vary"},
		{"no parameter", Configured, map[string]float64{"sd": 1}, Options{},
			"must have the parameter sd among those that vary"},
		{"an impossible value", Configured, map[string]float64{"masks.2.truncate.upper": 49}, Options{},
			"masks[2].truncate.upper must be at least 50, which is lower, got 49"},
		{"a mask from outside", Configured, map[string]float64{"masks.4.round.base": 2},
			Options{
				Set: []string{"masks.4.round.columns.0=wage", "masks.4.round.base=1", "map.vary.masks.4.round.base.from=1",
					"map.vary.masks.4.round.base.to=5", "map.vary.masks.4.round.base.steps=2"}},
			"must have masks.4.round.base in the file itself"},
		{"the environment overrides it", Configured, map[string]float64{"masks.1.noise.sd": 0.2},
			Options{Environ: environ("SDLFILTER_MASKS__1__NOISE__SD=40%")},
			"would not take effect as mapped: settings of masks from outside the file (environment SDLFILTER_MASKS__1__NOISE__SD) would change them"},
		{"the environment changes another strategy", "swap", nil,
			Options{Environ: environ("SDLFILTER_MAP__STRATEGIES__0__MASKS__0__SWAP__RATE=0.4")},
			"(environment SDLFILTER_MAP__STRATEGIES__0__MASKS__0__SWAP__RATE)"},
	} {
		test.options.LookupEnv = lookup
		p, err := Parse("p.yaml", []byte(text), test.options)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if out, err := p.Rewritten(test.strategy, test.values); err == nil || !strings.Contains(err.Error(), test.want) ||
			out != nil {
			t.Errorf("%s must fail with\n%s\ngot\n%v", test.name, test.want, err)
		}
	}
	if _, err := (&Pipeline{Map: &Map{}}).Rewritten(Configured, nil); err == nil {
		t.Error("a pipeline that was not loaded has no text")
	}
}

// A setting of the command line is not part of the file. A setting of a rewritten field does not
// prevent the rewriting.
func TestRewrittenBesideSettings(t *testing.T) {
	text := byHand
	values := map[string]float64{"masks.1.noise.sd": 0.2}
	got := rewrite(t, text, Configured, values, "masks.1.noise.sd=80%", "masks.1.noise.distribution=laplace",
		"source.parquet.path=other.parquet")
	if want := strings.Replace(text, "sd: 35%", "sd: 20%", 1); got != want {
		t.Errorf("must be\n%s\ngot\n%s", want, got)
	}
	rewrite(t, text, "flow", values, "masks[0].bias.range=0.07")
}

// The written number equals the mapped one, bit by bit.
func TestRewrittenIsWhatWasMapped(t *testing.T) {
	p, err := Parse("p.yaml", []byte(byHand), Options{LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	strategies, err := p.MapStrategies()
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range strategies[0].Axes {
		for _, v := range a.Values {
			text := rewrite(t, byHand, Configured, map[string]float64{a.Path: v})
			q, err := Parse("q.yaml", []byte(text), Options{LookupEnv: lookup})
			if err != nil {
				t.Fatal(err)
			}
			variant, _ := q.variant(Configured)
			if got := numberAt(variant.axes[i].parameter, q.Masks); got != v {
				t.Errorf("%s: %v was mapped, %v is written", a.Path, v, got)
			}
		}
	}
}

// numberAt returns the value of a parameter in a list of masks.
func numberAt(p parameter, masks []transform.Spec) float64 {
	switch m := masks[p.mask].Params.(type) {
	case *transform.Bias:
		return *m.Range
	case *transform.Noise:
		if len(p.fields) == 1 {
			return m.SD.Value
		}
		return *m.Tiers[1].VarianceFactor
	case *transform.Truncate:
		return *m.Upper
	case *transform.Round:
		return float64(*m.Decimals)
	}
	return 0
}
