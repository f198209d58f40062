package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/pagecheck"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/mapexample"
)

// pages returns all pages of all examples.
func pages(t *testing.T) map[string][]byte {
	out := map[string][]byte{}
	for name, make := range examples {
		r := make()
		out[name] = must(t)(r.HTML())
		out[name+" board"] = must(t)(r.Board())
		out[name+" public"] = must(t)(r.Public([]string{"sd", "phi", "tiers", "efficiency"}).HTML())
	}
	out["crowded board"], out["measured"] = must(t)(example.Crowded().Board()), must(t)(example.Measured().HTML())
	out["attack"], out["attack broken"] = must(t)(alone(example.Attack()).HTML()), must(t)(alone(example.Broken()).HTML())
	for _, name := range []string{"strategies", "groups", "none", "hostile", "empty"} {
		out["map "+name], _ = mapPage(t, mapexample.All()[name])
	}
	return out
}

func TestPagesAreWellFormed(t *testing.T) {
	for name, text := range pages(t) {
		all, err := pagecheck.Elements(text, true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ids := map[string]bool{}
		for _, e := range all {
			if id, ok := e.Attr["id"]; ok {
				if ids[id] {
					t.Errorf("%s: id %q is there twice", name, id)
				}
				ids[id] = true
			}
		}
		for _, e := range all {
			if ref := e.Attr["aria-labelledby"]; ref != "" && !ids[ref] {
				t.Errorf("%s: aria-labelledby=%q refers to no element", name, ref)
			}
			if ref, ok := strings.CutPrefix(e.Attr["href"], "#"); ok && !ids[ref] {
				t.Errorf("%s: href=#%s refers to no element", name, ref)
			}
			for _, v := range e.Attr {
				if ref, ok := strings.CutPrefix(v, "url(#"); ok && !ids[strings.TrimSuffix(ref, ")")] {
					t.Errorf("%s: %s refers to no element", name, v)
				}
			}
		}
	}
}

func TestPagesAreAccessible(t *testing.T) {
	for name, text := range pages(t) {
		all, err := pagecheck.Elements(text, true)
		if err != nil {
			t.Fatal(err)
		}
		level, captions, tables, h1 := 0, 0, 0, 0
		for _, e := range all {
			switch e.Name {
			case "html":
				if e.Attr["lang"] != "en" {
					t.Errorf("%s: no language", name)
				}
			case "h1", "h2", "h3":
				n := int(e.Name[1] - '0')
				if n > level+1 {
					t.Errorf("%s: heading %q skips a level", name, e.Text)
				}
				level = n
				if n == 1 {
					h1++
				}
			case "table":
				tables++
				if !strings.Contains(e.Path, "div>") {
					t.Errorf("%s: a table is not inside a box that scrolls", name)
				}
			case "caption":
				captions++
			case "th":
				if e.Attr["scope"] == "" {
					t.Errorf("%s: heading cell %q without scope", name, e.Text)
				}
			case "svg":
				if e.Attr["aria-label"] == "" || e.Attr["role"] == "" {
					t.Errorf("%s: a figure without role or label", name)
				}
			case "title":
				if strings.TrimSpace(e.Text) == "" && name != "empty public" {
					t.Errorf("%s: an empty title", name)
				}
			}
			if class := e.Attr["class"]; (class == "pt" || strings.HasPrefix(class, "pt ")) &&
				(e.Attr["tabindex"] != "0" || e.Attr["aria-label"] == "") {
				t.Errorf("%s: a mark of the map that no keyboard reaches", name)
			}
		}
		if h1 != 1 || captions != tables {
			t.Errorf("%s: %d h1, %d tables, %d captions", name, h1, tables, captions)
		}
	}
}

// TestPagesAskForNothing: no element and no style makes a browser load anything.
func TestPagesAskForNothing(t *testing.T) {
	all := pages(t)
	r := example.Hostile()
	all["map"] = figure.RUMapSVG(report.MapOf(&r.Columns[0], r.Gate), figure.SVGOptions{Standalone: true})
	for name, text := range all {
		list, err := pagecheck.Elements(text, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			switch e.Name {
			case "script", "link", "iframe", "img", "image", "object", "embed", "video", "audio", "source", "base", "form",
				"use", "foreignObject", "input":
				t.Errorf("%s: <%s>", name, e.Name)
			case "style":
				for _, bad := range []string{"url(", "@import", "//", "expression"} {
					if strings.Contains(e.Text, bad) {
						t.Errorf("%s: style with %s", name, bad)
					}
				}
			}
			for a, v := range e.Attr {
				if strings.HasPrefix(a, "on") || a == "src" || a == "srcset" || a == "style" || a == "action" || a == "ping" ||
					a == "href" && !strings.HasPrefix(v, "#") {
					t.Errorf("%s: <%s %s=%q>", name, e.Name, a, v)
				}
				if strings.Contains(v, "://") && a != "xmlns" {
					t.Errorf("%s: <%s %s=%q>", name, e.Name, a, v)
				}
			}
		}
		if bytes.Contains(text, []byte("<script")) || bytes.Contains(text, []byte("<img")) {
			t.Errorf("%s: a name became markup", name)
		}
	}
}

// TestPageNumbersAreTheJSONs: the page shows the numbers of the JSON, rounded to the shown digits,
// and gives the origin of each number.
func TestPageNumbersAreTheJSONs(t *testing.T) {
	for name, make := range examples {
		r := make()
		p := r.Public([]string{"sd", "phi", "tiers", "lower"})
		compare(t, name, must(t)(r.HTML()), must(t)(r.JSON()), 3)
		compare(t, name+" board", must(t)(r.Board()), must(t)(r.JSON()), 5)
		compare(t, name+" public", must(t)(p.HTML()), must(t)(p.JSON()), 3)
	}
	r := example.Released()
	// Six moments of two sides for two columns, five figures of utility, risks, …: far fewer would
	// mean that the page has lost its numbers.
	compare(t, "released", must(t)(r.HTML()), must(t)(r.JSON()), 120)
}

// TestStandardErrorsStandBesideRAndU: every R and every U of a masked column has
// its Monte-Carlo standard error.
func TestStandardErrorsStandBesideRAndU(t *testing.T) {
	r := example.Released()
	all, err := pagecheck.Elements(must(t)(r.HTML()), true)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, e := range all {
		shown[e.Attr["data-path"]] = true
	}
	for _, c := range r.Columns {
		if !c.Masked {
			continue
		}
		for _, name := range []string{"U", "U_se"} {
			if !shown["/columns/"+c.Name+"/utility/"+name] {
				t.Errorf("%s: %s is not shown", c.Name, name)
			}
		}
		for k := range c.Risk {
			for _, name := range []string{"R", "R_se"} {
				if path := fmt.Sprintf("/columns/%s/risk/%d/%s", c.Name, k, name); !shown[path] {
					t.Errorf("%s is not shown", path)
				}
			}
		}
	}
}

func compare(t *testing.T, name string, page, text []byte, least int) {
	t.Helper()
	seen, problems, err := pagecheck.Compare(page, text, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", name, p)
	}
	if seen < least {
		t.Errorf("%s: %d numbers with a place, want at least %d", name, seen, least)
	}
}

// Numbers for people: whole ones have all digits, others four.
func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 5: "5", 1864: "1,864", -3: "-3", 123456: "123,456", 0.0429184: "0.04292",
		2.5: "2.500"} {
		if got := report.Number(x); got != want {
			t.Errorf("%v is shown as %q, want %q", x, got, want)
		}
	}
}
