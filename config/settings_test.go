package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

const base = `version: 1
key: {file: release.key}
source: {parquet: {path: in.parquet}}
columns:
  wage: {role: sensitive, decimals: 2}
  person.income: {role: other}
masks:
  - noise: {columns: [wage], sd: 35%}
sink: {parquet: {path: out.parquet}}
`

func TestSet(t *testing.T) {
	tests := []struct {
		set  []string
		got  func(p *Pipeline) any
		want any
		err  string // the expected error; "": none
	}{
		{set: []string{"name=a=b"}, got: func(p *Pipeline) any { return p.Name }, want: "a=b"},
		{set: []string{"name=2026"}, got: func(p *Pipeline) any { return p.Name }, want: "2026"},
		{set: []string{"name=${NOT} expanded"}, got: func(p *Pipeline) any { return p.Name }, want: "${NOT} expanded"},
		{set: []string{"masks.0.noise.sd=20%"}, got: sd, want: transform.Amount{Value: 0.2, Relative: true}},
		{set: []string{"masks[0].noise.sd=20"}, got: sd, want: transform.Amount{Value: 20}},
		{set: []string{"masks.0.noise.sd=20", "masks.0.noise.sd=30"}, got: sd, want: transform.Amount{Value: 30}},
		{set: []string{"source.parquet.path=other.parquet"}, got: func(p *Pipeline) any {
			return pathOf(p.Source.Config)
		}, want: "other.parquet"},
		{set: []string{"window.records=128"}, got: func(p *Pipeline) any { return p.Window.Records }, want: 128},
		{set: []string{"columns.wage.unit=USD"}, got: func(p *Pipeline) any {
			return p.Columns.Named("wage").Unit
		}, want: "USD"},
		{set: []string{"columns.person.income.unit=USD"}, got: func(p *Pipeline) any {
			return p.Columns.Named("person.income").Unit
		}, want: "USD"},
		{set: []string{"columns.new.one.role=key"}, got: func(p *Pipeline) any {
			return string(p.Columns.Named("new.one").Role)
		}, want: "key"},
		{set: []string{"identity.0=wage", "identity.1=person.income"}, got: func(p *Pipeline) any {
			return strings.Join(p.Identity, " ")
		}, want: "wage person.income"},
		{set: []string{"masks.1.round.columns.0=wage", "masks.1.round.base=5"}, got: func(p *Pipeline) any {
			return *p.Masks[1].Params.(*transform.Round).Base
		}, want: 5.0},
		{set: []string{"assess.sample=all"}, got: func(p *Pipeline) any { return p.Assess.Sample }, want: All},

		{set: []string{"name"}, err: "must be path.to.field=value (--set name)"},
		{set: []string{"=x"}, err: "must be path.to.field=value (--set =x)"},
		{set: []string{"masks.0.noise.ds=3"},
			err: `no field "ds" in masks.0.noise (did you mean "sd"?) (--set masks.0.noise.ds)`},
		{set: []string{"soruce.parquet.path=x"},
			err: `no field "soruce" (did you mean "source"?) (--set soruce.parquet.path)`},
		{set: []string{"masks.2.noise.sd=3"},
			err: `masks is a list of 1: the next part of the path must be a number from 0 to 1, got "2" (--set masks.2.noise.sd)`},
		{set: []string{"masks.first.noise.sd=3"},
			err: `masks is a list of 1: the next part of the path must be a number from 0 to 1, got "first" (--set masks.first.noise.sd)`},
		{set: []string{"masks=[]"},
			err: "masks is a list, and only single values can be set; set an element: masks.0 (--set masks)"},
		{set: []string{"window=5"}, err: "window is a mapping, and only single values can be set"},
		{set: []string{"name.x=5"}, err: `name is a single value and has no field "x" (--set name.x)`},
		{set: []string{"assess.keys.0=wage", "assess.intruder.bayes.phi.wage=0.1"}, got: func(p *Pipeline) any {
			return p.Assess.Intruder.Bayes.Phi["wage"]
		}, want: 0.1},
		{set: []string{"assess.emit.0.http=x"}, err: "assess.emit.0.http is not in this version"},
		{set: []string{"masks.0.noise.sd=-3"}, err: "masks[0].noise.sd: must be at least 0, got -3 (--set masks.0.noise.sd)"},
		{set: []string{"window.records=many"},
			err: `window.records: must be a whole number, got the text "many" (--set window.records)`},
		{set: []string{"masks.1.round.base=5"},
			err: "masks[1].round.columns: is required: the columns to mask (--set masks.1.round.base)"},
		{set: []string{"source.csv.path=x"},
			err: "source.csv: must not stand beside parquet: exactly one of parquet, csv, jsonl, arrow, kafka, postgres, iceberg, xlsx, spss, stata, sas is allowed (--set source.csv.path)"},
		{set: []string{"name=\xff"}, err: "must be UTF-8 text (--set name)"},
	}
	for _, test := range tests {
		p, err := Parse("pipeline.yaml", []byte(base), Options{Set: test.set, LookupEnv: lookup})
		switch {
		case test.err == "" && err != nil:
			t.Errorf("--set %q: %v", test.set, err)
		case test.err == "":
			if got := test.got(p); got != test.want {
				t.Errorf("--set %q must give %v, got %v", test.set, test.want, got)
			}
		case err == nil || !strings.Contains(err.Error(), test.err):
			t.Errorf("--set %q must fail with\n%s\ngot\n%v", test.set, test.err, err)
		}
	}
}

func sd(p *Pipeline) any { return *p.Masks[0].Params.(*transform.Noise).SD }

func environ(entries ...string) func() []string { return func() []string { return entries } }

func TestPrecedence(t *testing.T) {
	const file = base + "window: {records: 100}\n"
	tests := []struct {
		env  []string
		set  []string
		file string
		want int
	}{
		{file: base, want: 65536},
		{file: file, want: 100},
		{file: file, env: []string{"SDLFILTER_WINDOW__RECORDS=200"}, want: 200},
		{file: base, env: []string{"SDLFILTER_WINDOW__RECORDS=200"}, want: 200},
		{file: file, env: []string{"SDLFILTER_WINDOW__RECORDS=200"}, set: []string{"window.records=300"}, want: 300},
	}
	for _, test := range tests {
		p,
			err := Parse("pipeline.yaml", []byte(test.file),
			Options{Set: test.set, LookupEnv: lookup, Environ: environ(test.env...)})
		if err != nil {
			t.Errorf("environment %q, --set %q: %v", test.env, test.set, err)
		} else if p.Window.Records != test.want || len(p.Warnings) > 0 {
			t.Errorf("environment %q, --set %q must give %d, got %d and %q", test.env, test.set, test.want, p.Window.Records,
				p.Warnings)
		}
	}
}

func TestEnvironmentSettings(t *testing.T) {
	p,
		err := Parse("pipeline.yaml", []byte(base+"name: ${SDLFILTER_TITLE:-x}\n"),
		Options{LookupEnv: lookup, Environ: environ(
			"HOME=/root",
			"SDLFILTER_KEY=never a setting",
			"SDLFILTER_TITLE=the file refers to it",
			"SDLFILTER_SOURCE__PARQUET__PATH=env.parquet",
			"SDLFILTER_COLUMNS__WAGE__UNIT=USD",
			"SDLFILTER_COLUMNS__PERSON.INCOME__UNIT=EUR",
			"SDLFILTER_IDENTITY__10=k", "SDLFILTER_IDENTITY__0=wage", "SDLFILTER_IDENTITY__1=person.income",
			"SDLFILTER_MASK__0__NOISE__SD=3",
			"SDLFILTER_COLUMNS__AGE__ROLE=key",
		)})
	if err != nil {
		t.Fatal(err)
	}
	if got := pathOf(p.Source.Config); got != "env.parquet" {
		t.Errorf("source path must be the environment's, got %s", got)
	}
	if p.Columns.Named("wage").Unit != "USD" || p.Columns.Named("person.income").Unit != "EUR" {
		t.Errorf("units must be the environment's, got %v", p.Columns)
	}
	if got := strings.Join(p.Identity, " "); got != "wage person.income" {
		t.Errorf("identity must be appended in order, got %s", got)
	}
	want := []string{
		`environment SDLFILTER_COLUMNS__AGE__ROLE is not a setting: columns has no "age" (did you mean "wage"?)`,
		`environment SDLFILTER_IDENTITY__10 is not a setting: identity is a list of 2: the next part of the path must be a number from 0 to 2, got "10"`,
		`environment SDLFILTER_MASK__0__NOISE__SD is not a setting: no field "mask" (did you mean "masks"?)`,
		"the noise of wage is a percentage of a standard deviation that changes with the data: name a profile, or give sd in the column's unit, " +
			"so that the same value of the same respondent is masked alike in every release",
	}
	if strings.Join(p.Warnings, "\n") != strings.Join(want, "\n") {
		t.Errorf("warnings must be\n%s\ngot\n%s", strings.Join(want, "\n"), strings.Join(p.Warnings, "\n"))
	}

	_,
		err = Parse("pipeline.yaml", []byte(base),
		Options{LookupEnv: lookup, Environ: environ("SDLFILTER_WINDOW__RECORDS=many")})
	const text = `window.records: must be a whole number, got the text "many" (environment SDLFILTER_WINDOW__RECORDS)`
	if err == nil || err.Error() != text {
		t.Errorf("a bad setting must fail with\n%s\ngot\n%v", text, err)
	}
}

// A setting that fails changes nothing. All errors are reported together, those of the file first.
func TestErrorsOfFileAndFlagsTogether(t *testing.T) {
	_,
		err := Parse("pipeline.yaml", []byte(base+"nmae: x\n"),
		Options{Set: []string{"masks.0.noise.sd=-3", "windw.records=5"}, LookupEnv: lookup})
	var all Errors
	if !errors.As(err, &all) || len(all) != 3 {
		t.Fatalf("must give three errors, got %v", err)
	}
	if all[0].Path != "nmae" || all[0].Line != 10 || all[0].Column != 1 {
		t.Errorf("the first error must be the file's at 10:1, got %+v", all[0])
	}
	if all[1].File != "--set masks.0.noise.sd" && all[2].File != "--set masks.0.noise.sd" {
		t.Errorf("an error must name the flag, got %v", err)
	}
	var one Error
	if !errors.As(err, &one) {
		t.Error("errors.As must find an Error")
	}
}

// The table makes a connector known: a name and a pointer to its struct.
func TestTablesGiveFreshValues(t *testing.T) {
	for _, k := range append(sources(), sinks()...) {
		if a, b := k.fresh(), k.fresh(); a == b {
			t.Errorf("%s: must give a value of its own each time", k.name)
		}
	}
}
