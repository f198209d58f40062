package tabling

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// audited returns the report on a published file, or the error.
func audited(t *testing.T, dir, text, table string) (*Report, error) {
	t.Helper()
	return auditedWith(t, dir, text, table, nil)
}

// auditedWith is audited with further marks of suppressed cells.
func auditedWith(t *testing.T, dir, text, table string, marks []string) (*Report, error) {
	t.Helper()
	write(t, dir, "table.csv", table)
	c,
		err := tabulation.Parse("t.yaml", []byte(strings.ReplaceAll(text, "%s", dir)),
		config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return Audit(context.Background(), c, Foreign{Path: filepath.Join(dir, "table.csv"), HeldBack: marks},
		pipeline.Options{Version: "audit"})
}

// A published file is judged by its suppressed cells, in any order of columns and lines. A file of
// other records is refused, with errors by line.
func TestForeignTablesAreAudited(t *testing.T) {
	dir := shopsIn(t)
	if _, err := run(t, dir, shopTables); err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(filepath.Join(dir, "out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := audited(t, dir, shopTables, string(own))
	if err != nil || !rep.Gate.Passed || rep.Withheld != "" || rep.Version != "audit" || rep.Finished.Before(rep.Started) {
		t.Fatalf("the published table itself: error %v, report %+v, want a passed gate", err, rep)
	}
	lines := strings.Split(strings.TrimSpace(string(own)), "\n")
	slices.Reverse(lines[1:])
	if rep, err = audited(t, dir, shopTables, "\ufeff"+strings.Join(lines, "\n")); err != nil || !rep.Gate.Passed {
		t.Errorf("lines in another order: error %v, report %+v, want a passed gate", err, rep)
	}
	if rep, err = audited(t, dir, shopTables,
		`"`+strings.NewReplacer(",", `", "`, "\n", "\"\n\"").Replace(strings.Join(lines, "\n"))+`"`); err != nil || !rep.Gate.Passed {
		t.Errorf("values in quotes, with a space after each comma: error %v, report %+v, want a passed gate", err, rep)
	}
	one := strings.ReplaceAll(shopTables,
		shopTables[strings.Index(shopTables, "  - name: sizes"):strings.Index(shopTables, "gate:")], "")
	one = strings.Replace(one, ", {table: turnover, min_efficiency: 0.9}", "", 1)
	const part = "value, size , region\n18,total,total\n5,total,n1\n4,big,n1\nx,small,n1\n5,total,s1\n,small,s1\n1,big,s1\n"
	rep, err = audited(t, dir, one, part)
	if err != nil || rep.Gate.Passed || !slices.Contains(rep.Tables[0].Disclosed, "region=n1, size=small") ||
		!slices.Contains(rep.Tables[0].Disclosed, "region=s1, size=big") {
		t.Errorf("cells that can be computed: error %v, report %+v, want them named", err, rep)
	}
	if rep != nil && (rep.Tables[0].Published != 5 || rep.Tables[0].Primary != 3 || rep.Tables[0].Secondary != 11) {
		t.Errorf("the table report is %+v, want 5 published, 3 primary and 11 secondary cells", rep.Tables[0])
	}
	head := "table,region,size,value\n"
	for _, c := range []struct{ table, want string }{
		{"", "table.csv must be CSV with a header"},
		{"region,size\n", "must have a column value\ntable: DIR/table.csv must have a column table"},
		{head + "by-region,total,total,19\n",
			"table.csv:2: cell region=total, size=total has another value than the records give"},
		{head + "by-region,total,total,17.4\n", "another value"},
		{head + "sizes,,total,18\nturnover,,total,146.8\n", "table.csv:3: cell size=total has another value"},
		{head + "by-region,total,total,18\nby-region,elsewhere,total,3\n", `table.csv:3: `},
		{head + "by-regions,n1,total,5\n", `table.csv:2: the configuration has no table "by-regions"`},
		{head + "by-region,n1,total\n", "table.csv:2: must have as many fields as the header"},
		{head + "\"by-region,n1\n", "table.csv:2: must have as many fields as the header"},
		{"value,table,region,size,value\n18,by-region,total,total,\n", "must have one column value, not several"},
		{head + "by-region,total,total,\nsizes,,total,c\n", "table.csv publishes no cell"},
		{head + strings.Repeat("none,n1,total,5\n", 12),
			"table.csv:11: the configuration has no table \"none\"\ntable: and 2 lines more"},
	} {
		_, err := audited(t, dir, shopTables, c.table)
		var data *pipeline.DataError
		if !errors.As(err, &data) {
			t.Errorf("table %q: error %v, want a DataError without values", c.table, err)
			continue
		}
		text := strings.ReplaceAll(err.Error(), dir, "DIR") // the name may contain any digits
		if !strings.Contains(text, c.want) || strings.Contains(text, "146") || strings.Count(err.Error(), "\n") > 10 {
			t.Errorf("table %q: error %v, want a DataError without values", c.table, err)
		}
	}
	if rep, err := audited(t, dir, shopTables,
		head+"turnover,,total,146.75\nsizes,,total,18\nby-region,n1,total,c\n"); err != nil || rep.Tables[2].Published != 1 ||
		rep.Tables[1].Published != 1 || rep.Tables[0].Published != 1 {
		t.Errorf("marks must count as suppressed: error %v, report %+v", err, rep)
	}
	c,
		err := tabulation.Parse("t.yaml", []byte(strings.ReplaceAll(shopTables, "%s", dir)),
		config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Audit(context.Background(), c, Foreign{Path: filepath.Join(dir, "gone.csv")}, pipeline.Options{}); err ==
		nil || !strings.Contains(err.Error(), "gone.csv") {
		t.Errorf("missing file: error %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Audit(ended, c, Foreign{Path: filepath.Join(dir, "out.csv")}, pipeline.Options{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("with an ended context, the error is %v, want context.Canceled", err)
	}
	if _, err := Run(ended, c, pipeline.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context, the error is %v, want context.Canceled", err)
	}
}

// A respondent who is alone in a cell knows its value, and so the only other suppressed cell: an
// audit reports this, unless respondents are ignored.
func TestForeignTablesAreAuditedForRespondents(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", "region,turnover\nr1,100\nr2,90\nr2,110\nr3,10\nr3,20\nr3,30\n")
	const text = `version: 1
source: {csv: {path: %s/in.csv}}
tables: [{name: t, rows: [region], value: turnover, unsafe: [{threshold: 3}], protect: {suppress: {respondents: WHICH}}}]
sink: {csv: {path: %s/out.csv}}
`
	for which, want := range map[string][]string{"protect": {"region=r2"}, "ignore": nil} {
		rep, err := audited(t, dir, strings.ReplaceAll(text, "WHICH", which), "region,value\ntotal,360\nr3,60\n")
		if err != nil {
			t.Fatal(err)
		}
		got := rep.Tables[0]
		if len(got.Disclosed) > 0 || len(got.Narrow) > 0 || !slices.Equal(got.Respondent, want) ||
			rep.Gate.Passed != (want == nil) {
			t.Errorf("respondents: %s: the report is %+v", which, rep)
		}
	}
}

// What stands in the place of a value is a number, nothing, or a mark of a cell that is held back.
// Any other text may be the value in another form, and so is no protection.
func TestForeignTablesAreReadInFull(t *testing.T) {
	dir := shopsIn(t)
	rest := ""
	for _, text := range []string{"", "c", "x", "s", ".", ":", "-", "..", " .. ", "NaN", "NA", "1*", "(1)", `"1,0"`,
		"1 firm", "1 000", "'1", "~1", "１", "1e", "e", "<3", "C", "...", "Inf", "one", "1?"} {
		for _, own := range [][]string{nil, {"NA", " confidential"}, {"NaN"}} {
			table := "table,region,size,value\nby-region,total,total,18\nby-region,n1,small," + text + "\n"
			_, err := auditedWith(t, dir, shopTables, table, own)
			held := slices.Contains(append([]string{"", "..", "c", "x", "s", ".", ":", "-"}, own...), strings.TrimSpace(text))
			if held != (err == nil) {
				t.Errorf("value %q, marks %q: error %v, held back %v", text, own, err, held)
			}
			if held {
				continue
			}
			message := strings.ReplaceAll(err.Error(), dir, "DIR")
			if !strings.Contains(message, "DIR/table.csv:3: value of cell region=n1, size=small must be a number") ||
				text == "１" && strings.Contains(message, text) {
				t.Errorf("value %q: error %v, want the place and no value", text, err)
			}
			rest += text
		}
	}
	if rest == "" {
		t.Error("no text was refused")
	}
	const sdmx = "STRUCTURE,STRUCTURE_ID,ACTION,TABLE,region,size,OBS_VALUE,OBS_STATUS,CONF_STATUS\ndataflow,A:B(1.0),I,by-region,total,total,18,A,F\ndataflow,A:B(1.0),I,by-region,n1,small,VALUE,Q,C\n"
	for text, want := range map[string]string{
		"": "", "3e": "table.csv:3: OBS_VALUE of cell region=n1, size=small must be a number"} {
		_, err := audited(t, dir, shopTables, strings.Replace(sdmx, "VALUE,Q", text+",Q", 1))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("OBS_VALUE %q: error %v, want %q", text, err, want)
		}
	}
	for _, mark := range []string{"3", "<5", "n.a.3", "５", "½"} {
		if _, err := auditedWith(t, dir, shopTables, "table,region,size,value\nby-region,total,total,18\n",
			[]string{"NA", mark}); err == nil || !strings.Contains(err.Error(), "must have no digit") ||
			strings.Contains(err.Error(), mark) {
			t.Errorf("mark %q: error %v", mark, err)
		}
	}
}
