package tabulation

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

const keyedTables = `version: 1
NAMEsource: {csv: {path: in.csv}}
key: {env: RELEASE_KEY}
identity: [id]
tables: [{name: t, rows: [a], unsafe: [{threshold: 3}], protect: {cell_key: {}}}]
sink: {csv: {path: SINK}}
REPORT`

// What a configuration of tables has of a pipeline's: its name, the key in the environment that it is read with, and
// files that are apart.
func TestWhatTablesHaveOfAPipeline(t *testing.T) {
	text := base64.StdEncoding.EncodeToString([]byte("0123456789abcdefghijklmnopqrstuv"))
	opts := config.Options{Environ: func() []string { return nil }, LookupEnv: func(name string) (string, bool) {
		return text, name == "RELEASE_KEY"
	}}
	for name, want := range map[string]string{"": "some", "name: other\n": "other", "name: ''\n": ""} {
		p,
			err := Parse("dir/some.yaml",
			[]byte(strings.NewReplacer("NAME", name, "SINK", "out.csv", "REPORT", "").Replace(keyedTables)), opts)
		if err != nil || p.Name != want {
			t.Errorf("%q: %+v, %v", name, p, err)
			continue
		}
		if _, err := p.Key.Resolve(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, c := range []struct{ file, sink, report, want string }{
		{"t.yaml", "out.csv", "", ""}, {"-", "out.csv", "", ""},
		{"t.yaml", "t.yaml", "", "sink.csv.path: must not be the configuration itself"},
		{"-", "t.csv", "report: {json: '-'}\n", "report.json: must be a file, got -"},
		{"t.yaml", "in.csv", "", "sink.csv.path: must not be the source itself"},
		{"t.yaml", "out.csv", "report: {json: a.json, html: a.json}\n",
			"report.html: must not be the file of the report (report.json)"},
		{"t.yaml", "out.csv", "report: {json: $HOME/a.json}\n", "report.json: must be a path, got"},
	} {
		_,
			err := Parse(c.file,
			[]byte(strings.NewReplacer("NAME", "", "SINK", c.sink, "REPORT", c.report).Replace(keyedTables)), opts)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
