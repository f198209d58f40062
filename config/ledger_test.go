package config

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/transform"
)

// What an earlier release was is read from what Releasing gave: its masks with the names that their draws have, but for
// those of a sample, and nothing that judges or writes.
func TestBefore(t *testing.T) {
	parse := func(columns, masks string) *Pipeline {
		text :=
			"version: 1\nkey: {env: K}\nsource: {csv: {path: in.csv}}\nsink: {csv: {path: out.csv}}\nidentity: [pid]\nledger: releases\n" +
				"columns: {pid: {role: identifier}, " + columns + "}\nmasks: [" + masks +
				"]\ngate: {rules: [{column: wage, min_rmse: 1}]}\nquarantine: {jsonl: q.jsonl}\nreport: {json: r.json}\n"
		p, err := Parse("p.yaml", []byte(text), Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return p
	}
	const wage, noise = "wage: {role: sensitive}", "{noise: {columns: [wage], sd: 3}}"
	today := parse(wage, "{name: other, noise: {columns: [wage], sd: 7}}")
	for name, c := range map[string]struct {
		masks string
		kinds []string
	}{
		"one":          {noise, []string{"noise"}},
		"sample first": {"{sample: {rate: 0.5}}, " + noise, []string{"noise"}},
		"several":      {noise + ", {round: {columns: [wage], base: 5}}", []string{"noise", "round"}},
		"none":         {"", nil},
		"sample before": {"{sample: {rate: 0.5}}, " + noise + ", {round: {columns: [wage], base: 5}}",
			[]string{"noise", "round"}},
	} {
		columns := wage
		if len(c.kinds) == 0 {
			columns = "wage: {role: sensitive, unmasked: true}"
		}
		then := parse(columns, c.masks)
		b, err := today.Before("release 1", then.Releasing())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var kinds, labels, want []string
		for _, m := range b.Masks {
			kinds, labels = append(kinds, m.Kind()), append(labels, m.Name)
		}
		for i, m := range then.Masks {
			if m.Kind() != "sample" {
				want = append(want, transform.Label(then.Masks, i))
			}
		}
		if strings.Join(kinds, " ") != strings.Join(c.kinds, " ") || strings.Join(labels, " ") != strings.Join(want, " ") {
			t.Errorf("%s: masks %q named %q, want %q named %q", name, kinds, labels, c.kinds, want)
		}
		if b.Ledger != "" || b.Gate.Judges() || b.Report.JSON != "" || b.Quarantine.JSONL != "" || b.Unlisted != "drop" ||
			len(b.Identity) != 1 {
			t.Errorf("%s: it judges or writes: %+v", name, b)
		}
	}
	// Codes for missing values are what a release was read with.
	coded := "wage: {role: sensitive, missing: {codes: [-1]}}"
	for name, c := range map[string]struct {
		then, now string
		refused   string
	}{
		"the same":     {coded, coded, ""},
		"none then":    {wage, coded, "columns.wage.missing was another one"},
		"none now":     {coded, wage, "columns.wage.missing was another one"},
		"another code": {coded, strings.Replace(coded, "-1", "-2", 1), "columns.wage.missing was another one"},
		"not listed now": {wage + ", tax: {role: other, missing: {codes: [-1]}}", wage,
			"columns.tax.missing) are not declared today"},
		"no codes": {wage + ", tax: {role: other}", wage, ""},
	} {
		_, err := parse(c.now, noise).Before("release 1", parse(c.then, noise).Releasing())
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: error %v, want %q", name, err, c.refused)
		}
	}
}

// A ledger is a file, an object or a table. What is wrong with one is said without what may be a secret in it, and none
// lies where records are read from or a release is replaced.
func TestPlacesOfALedger(t *testing.T) {
	objectpath.Know("s3")
	for at, want := range map[string]string{
		"releases.sdl": "", "s3://bucket/ledger": "", "postgres://u@h/d?table=s.t": "", "s3://bucket/out.csv.d/ledger": "",
		"s3://bucket/out/ledger": "must not lie in the folder of the release", "s3://bucket/in/ledger": "must not lie where the source is read",
		"s3://bucket/r.json": "must not be the file of the", "s3://bucket/ledger/": "and no folder", "s3://bucket": "must name an object",
		"s3://id:s3cret@b/l": "must hold no credentials", "postgres://u:s3cret@h/d?table=s.t": "must not hold a password",
		"postgres://u:s3cret@h/d": "must not hold a password", "postgres://h/d?table=t": "SCHEMA.TABLE",
		"postgres://h/d?table=s.t&password=$s3cret": "must not hold a password", "mysql://u:s3cret@h/d": "is not known",
		"~/ledger": "which only a shell reads", "-": "must be a file",
	} {
		p, err := Parse("p.yaml", []byte("version: 1\nkey: {env: K}\nsource: {csv: {path: s3://bucket/in}}\nsink: {csv: {path: s3://bucket/out}}\n"+
			"columns: {wage: {role: sensitive}}\nmasks: [{noise: {columns: [wage], sd: 3}}]\nreport: {json: s3://bucket/r.json}\nledger: '"+at+"'\n"),
			Options{Environ: func() []string { return nil }})
		switch {
		case (err != nil) != (want != ""):
			t.Errorf("%s: error %v, want %q", at, err, want)
		case err == nil && p.Ledger != at:
			t.Errorf("%s: is %q", at, p.Ledger)
		case err != nil && (!strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "ledger: ") && want[:8] != "must not" ||
			strings.Contains(err.Error(), "s3cret") || strings.Count(err.Error(), "\n") > 0):
			t.Errorf("%s: error %v, want %q", at, err, want)
		}
	}
}
