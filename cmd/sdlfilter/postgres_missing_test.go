package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// What stands in place of a value that is missing, by column and of each type that declares codes.
var postgresCodes = map[string][]string{"income": {"-9", "9999999"}, "debt": {"-8"}, "age": {"97", "98", "99"},
	"region": {"refused"}, "score": {"-1.5"}}

// codedSurvey makes two tables of the same records: coded has declared codes, and nulled has nothing in their place.
func (b *base) codedSurvey(records int) {
	r := rand.New(rand.NewPCG(8, 9))
	var coded, nulled strings.Builder
	for i := range records {
		values := map[string]string{
			"income": fmt.Sprintf("%.2f", 500+2000*r.ExpFloat64()), "debt": fmt.Sprint(r.IntN(10_000)),
			"age":    fmt.Sprint(18 + r.IntN(70)),
			"region": []string{"north", "south", "east"}[r.IntN(3)], "score": fmt.Sprint(float64(r.IntN(4000)) / 8),
		}
		for k, out := range []*strings.Builder{&coded, &nulled} {
			fmt.Fprintf(out, ",(%d", i)
			again := rand.New(rand.NewPCG(uint64(i), 7)) // the same for both
			for _, column := range []string{"income", "debt", "age", "region", "score"} {
				text, codes := values[column], postgresCodes[column]
				if at := again.IntN(7 * len(codes)); at < len(codes) {
					if text = codes[at]; k == 1 {
						text = "NULL"
					}
				}
				if column == "region" && text != "NULL" {
					text = "'" + text + "'"
				}
				out.WriteString("," + text)
			}
			out.WriteString(")")
		}
	}
	for name, rows := range map[string]string{"coded": coded.String(), "nulled": nulled.String()} {
		b.do(
			"CREATE TABLE " + name +
				" (id integer PRIMARY KEY, income numeric(12,2), debt bigint, age smallint, region varchar(20), score double precision); INSERT INTO " + name + " VALUES " + rows[1:])
	}
}

// Declared codes of a table are missing values: the figures and the released values are those of the same table with
// nulls in their place, from a table and from a file, into a table and into a file. The codes leave as they are, or as
// null.
func TestPostgresDeclaredCodes(t *testing.T) {
	b := newBase(t)
	b.codedSurvey(1500)
	b.write("coded.csv", b.csv("SELECT * FROM coded ORDER BY id"))
	columns := func(as string) string {
		missing := func(codes string) string {
			if as == "" {
				return ""
			}
			return ", missing: {codes: [" + codes + "], as: " + as + "}"
		}
		return "columns:\n  id: {role: other}\n  income: {role: sensitive" + missing("-9, 9999999") +
			"}\n  debt: {role: sensitive" + missing("-8") + "}\n  age: {role: key" + missing("{from: 97, to: 99}") +
			"}\n  region: {role: key" + missing("refused") + "}\n  score: {role: sensitive, decimals: 3" + missing("-1.5") +
			"}\n"
	}
	const masks = "masks:\n  - noise: {columns: [income, score], sd: 20%}\n  - microaggregate: {columns: [debt], k: 3}\n  - recode: {columns: [region], map: {north: n, south: s, east: n}}\n" +
		"assess: {replicates: 5, sample: all, keys: [age, region]}\n"
	figures := func(name string, byRecord bool) string {
		var r struct {
			Columns map[string]map[string]any `json:"columns"`
			Records any                       `json:"records"`
			Masks   any                       `json:"masks"`
			Codes   any                       `json:"missing_codes"`
		}
		if err := json.Unmarshal([]byte(b.read(name)), &r); err != nil {
			t.Fatal(err)
		}
		if r.Columns["income"] == nil || r.Columns["score"] == nil {
			t.Fatalf("%s has no figures of income or of score", name)
		}
		for _, c := range r.Columns { // a reader of a release with codes can tell them apart
			var kept []any
			risks, _ := c["risk"].([]any)
			for _, k := range risks {
				if byRecord || k.(map[string]any)["knowledge"] != "record" {
					kept = append(kept, k)
				}
			}
			c["risk"] = kept
			delete(c, "remark")
		}
		r.Codes = nil
		text, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	run := func(name, source, sink, as string) {
		t.Helper()
		b.write(name+".yaml", "version: 1\nkey: {file: k}\nidentity: [id]\nsource: {"+source+"}\nsink: {"+sink+"}\n"+
			columns(as)+masks+"report: {json: "+name+".json}\n")
		if status, words := b.run("run", "--quiet", name+".yaml"); status != 0 {
			t.Fatalf("%s: status %d\n%s", name, status, words)
		}
	}
	table := func(name string) string { return b.connector("table: S." + name + ", order: [id]") }
	of := func(name string) string { return numbered(t, b.csv("SELECT * FROM "+name+" ORDER BY id")) }
	run("plain", table("nulled"), b.connector("table: S.plain_out"), "")
	want := of("plain_out")
	if strings.Count(want, `""`) < 500 {
		t.Fatalf("the table has %d missing values", strings.Count(want, `""`))
	}
	for name, source := range map[string]string{"a_table": table("coded"),
		"a_file": "csv: {path: coded.csv, types: {income: 'decimal(12,2)', debt: int64, age: int64, region: string, score: float64}}"} {
		run(name+"_null", source, b.connector("table: S."+name+"_null"), "'null'")
		if got := of(name + "_null"); got != want {
			t.Errorf("%s, as null: the release differs from that of missing values: %s", name, firstDifference(got, want))
		}
		run(name+"_keep", source, b.connector("table: S."+name+"_keep"), "keep")
		kept, codes := strings.Split(of(name+"_keep"), "\n"), 0
		for i, row := range strings.Split(want, "\n") {
			cells, with := strings.Fields(row), strings.Fields(kept[i])
			for j := range cells {
				if cells[j] == with[j] {
					continue
				}
				code := strings.Trim(with[j], `"[]`)
				if column := []string{"id", "income", "debt", "age", "region", "score"}[j]; strings.Trim(cells[j], `"[]`) != "" ||
					!strings.Contains(" "+strings.Join(postgresCodes[column], " ")+" ", " "+shortest(t, code)+" ") {
					t.Fatalf("%s, kept: row %d is %s, want %s", name, i, kept[i], row)
				}
				codes++
			}
		}
		if codes < 500 {
			t.Errorf("%s: %d codes are kept, want 500 and more", name, codes)
		}
		run(name+"_csv", source, "csv: {path: "+name+".csv}", "keep")
		if got, want := numbered(t, b.read(name+".csv")), of(name+"_keep"); got != want {
			t.Errorf("%s: kept in a file they differ from those in a table: %s", name, firstDifference(got, want))
		}
		for other, byRecord := range map[string]bool{name + "_null": true, name + "_keep": false, name + "_csv": false} {
			if got, want := figures(other+".json", byRecord), figures("plain.json", byRecord); got != want {
				t.Errorf("%s: the figures differ from those of missing values: %s", other, firstDifference(got, want))
			}
		}
	}
}

// shortest is a number in the form of postgresCodes.
func shortest(t *testing.T, text string) string {
	t.Helper()
	if text == "1e+07" || text == "9.999999e+06" {
		return "9999999"
	}
	return text
}
