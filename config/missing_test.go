package config

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

const coded = `version: 1
key: {file: k}
source: {csv: {path: in.csv}}
columns:
  x: {role: other, missing: MISSING}
  s: {role: other, missing: [refused, "99"]}
masks: [MASK]
sink: {csv: {path: out.csv}}
`

func parseCoded(missing, mask string) (*Pipeline, error) {
	text := strings.NewReplacer("MISSING", missing, "MASK", mask).Replace(coded)
	return Parse("test.yaml", []byte(text), Options{Environ: func() []string { return nil }})
}

// The short list and the mapping mean the same; a range may have one end.
func TestMissingIsRead(t *testing.T) {
	var texts []string
	for _, missing := range []string{
		"[-9, {from: 97, to: 99}, 1e7, {from: 1000}, {to: -100}]",
		"{codes: [-9, {from: 97, to: 99}, 1e7, {from: 1000}, {to: -100}], as: keep}",
		"{codes: [{code: -9}, {from: 97, to: 99}, {code: '1e7'}, {from: 1000}, {to: -100}], as: null}",
		"{codes: [-9, {from: 97, to: 99}, 1e7, {from: 1000}, {to: -100}], as: 'null'}",
	} {
		p, err := parseCoded(missing, "")
		if err != nil {
			t.Fatalf("%s: %v", missing, err)
		}
		d := p.Columns[0].Missing.Declared()
		if d.Null != strings.Contains(missing, "null") {
			t.Errorf("%s: as null: %v", missing, d.Null)
		}
		texts = append(texts, strings.Join(d.Texts(), "; "))
		f := microdata.Field{Type: arrow.PrimitiveTypes.Float64}
		for x, want := range map[float64]bool{-9: true, 97: true, 98.5: true, 99: true, 99.01: false, 96.9: false, 1e7: true,
			1000: true, 999: false, math.Inf(1): true, -100: true, -99: false} {
			if d.Declares(f, x) != want {
				t.Errorf("%s declares %v: %v", missing, x, !want)
			}
		}
		if s := p.Columns[1].Missing.Declared(); s.Null || !s.DeclaresText("refused") || !s.DeclaresText("99") ||
			s.DeclaresText("9") {
			t.Errorf("the texts are %v", s)
		}
	}
	for _, text := range texts[1:] {
		if text != texts[0] {
			t.Errorf("read as %q and %q", texts[0], text)
		}
	}
	p, _ := parseCoded("[-9, {from: 97, to: 99}]", "")
	again, err := Parse("test.yaml", p.canonical(), Options{Environ: func() []string { return nil }})
	if err != nil || again.SHA256() != p.SHA256() {
		t.Errorf("the canonical text is not read as the same: %v\n%s", err, p.canonical())
	}
}

func TestMissingIsRefused(t *testing.T) {
	for _, tt := range []struct{ missing, mask, want string }{
		{"-9", "", "write it in brackets"},
		{"{as: null}", "", "columns.x.missing"},
		{"[{from: 5, to: 4}]", "", "from the smaller to the greater"},
		{"[{from: 5, code: 4}]", "", "a code or a range, not both"},
		{"[{}]", "", "must be a code, or a range"},
		{"[-9, -9]", "", "must not repeat a code"},
		{`[""]`, "", "must be a number or a text"},
		{"{codes: [-9], as: drop}", "", "must be one of keep, null"},
		{"[99]", "{topcode: {columns: [x], upper: 99}}", "masks[0].topcode.upper: must not have a code"},
		{"[{from: 90}]", "{topcode: {columns: [x], lower: 95, upper: 99, replace: mean}}", ""},
		{"[{from: 90}]", "{topcode: {columns: [x], lower: 95}}", "masks[0].topcode.lower: must not have a code"},
		{"[{from: 90}]", "{truncate: {columns: [x], lower: 0, upper: 97}}", "masks[0].truncate.upper: must not have a code"},
		{"{codes: [{from: 90}], as: null}", "{truncate: {columns: [x], lower: 0, upper: 97}}", ""},
		{"[1]", "{recode: {columns: [s], map: {a: b, refused: c}}}", "must not have a code that columns.s.missing declares"},
		{"[1]", "{recode: {columns: [s], map: {a: refused}, other: c}}",
			"must not have a code that columns.s.missing declares"},
		{"[1]", "{recode: {columns: [s], map: {a: b}, other: '99'}}", "must not have a code that columns.s.missing declares"},
		{"[1]", "{pram: {columns: [s], keep: 0.8, categories: [a, refused]}}",
			"must not have a code that columns.s.missing declares"},
		{"[1]", "{pram: {columns: [s], keep: 0.8, categories: [a, b]}}", ""},
	} {
		_, err := parseCoded(tt.missing, tt.mask)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s, %s: error %v, want %q", tt.missing, tt.mask, err, tt.want)
		}
	}
	// What only the type of a column shows.
	m := Missing{Codes: []MissingCode{{Code: "refused"}, {From: new(float64)}}}
	if ps := m.Fits(microdata.Field{Type: arrow.PrimitiveTypes.Int64}); len(ps) != 1 || ps[0].Path != "codes[0]" {
		t.Errorf("numbers: %v", ps)
	}
	if ps := m.Fits(microdata.Field{Type: arrow.BinaryTypes.String}); len(ps) != 1 || ps[0].Path != "codes[1]" {
		t.Errorf("texts: %v", ps)
	}
	if ps := m.Fits(microdata.Field{Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)}); len(ps) != 2 {
		t.Errorf("lists: %v", ps)
	}
}

// Whatever a setting makes of declared codes may let out what the file does not.
func TestMissingLoosens(t *testing.T) {
	text := strings.NewReplacer("MISSING", "{codes: [-9], as: null}", "MASK", "").Replace(coded)
	for _, set := range []string{"columns.x.missing.as=keep", "columns.x.missing.codes.1.code=-8"} {
		p, err := Parse("test.yaml", []byte(text), Options{Environ: func() []string { return nil }, Set: []string{set}})
		if err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		if len(p.Loosened) != 1 {
			t.Errorf("%s: loosened %v", set, p.Loosened)
		}
	}
	// A field of what the file writes in short is not set without a word.
	_,
		err := Parse("test.yaml", []byte(text),
		Options{Environ: func() []string { return nil }, Set: []string{"columns.x.missing.codes.0.code=-8"}})
	if err == nil || !strings.Contains(err.Error(), "is not a mapping in the file") {
		t.Errorf("the error is %v", err)
	}
}
