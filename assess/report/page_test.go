package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
)

// pages are all pages of all examples.
func pages(t *testing.T) map[string][]byte {
	out := map[string][]byte{}
	for name, make := range examples {
		r := make()
		out[name] = must(t)(r.HTML())
		out[name+" public"] = must(t)(r.Public([]string{"sd", "phi", "efficiency"}).HTML())
	}
	return out
}

// element is one element of a page with the text below it.
type element struct {
	name string
	attr map[string]string
	text string
	path string // names of the elements around it
}

// elements reads a page, which is written as well-formed XML, so that a parser
// that forgives nothing can check it.
func elements(text []byte) ([]*element, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Entity = xml.HTMLEntity
	var all, open []*element
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attr: map[string]string{}}
			for _, o := range open {
				e.path += o.name + ">"
			}
			for _, a := range token.Attr {
				if _, twice := e.attr[a.Name.Local]; twice {
					return nil, fmt.Errorf("<%s>: attribute %s is there twice", e.name, a.Name.Local)
				}
				e.attr[a.Name.Local] = a.Value
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, o := range open {
				o.text += string(token)
			}
		}
	}
	return all, nil
}

func TestPagesAreWellFormed(t *testing.T) {
	for name, text := range pages(t) {
		all, err := elements(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ids := map[string]bool{}
		for _, e := range all {
			if id, ok := e.attr["id"]; ok {
				if ids[id] {
					t.Errorf("%s: id %q is there twice", name, id)
				}
				ids[id] = true
			}
		}
		for _, e := range all {
			if ref := e.attr["aria-labelledby"]; ref != "" && !ids[ref] {
				t.Errorf("%s: aria-labelledby=%q names nothing", name, ref)
			}
			if ref, ok := strings.CutPrefix(e.attr["href"], "#"); ok && !ids[ref] {
				t.Errorf("%s: href=#%s names nothing", name, ref)
			}
			for _, v := range e.attr {
				if ref, ok := strings.CutPrefix(v, "url(#"); ok && !ids[strings.TrimSuffix(ref, ")")] {
					t.Errorf("%s: %s names nothing", name, v)
				}
			}
		}
	}
}

func TestPagesAreAccessible(t *testing.T) {
	for name, text := range pages(t) {
		all, err := elements(text)
		if err != nil {
			t.Fatal(err)
		}
		level, captions, tables, h1 := 0, 0, 0, 0
		for _, e := range all {
			switch e.name {
			case "html":
				if e.attr["lang"] != "en" {
					t.Errorf("%s: no language", name)
				}
			case "h1", "h2", "h3":
				n := int(e.name[1] - '0')
				if n > level+1 {
					t.Errorf("%s: heading %q skips a level", name, e.text)
				}
				level = n
				if n == 1 {
					h1++
				}
			case "table":
				tables++
				if !strings.Contains(e.path, "div>") {
					t.Errorf("%s: a table stands outside of a box that scrolls", name)
				}
			case "caption":
				captions++
			case "th":
				if e.attr["scope"] == "" {
					t.Errorf("%s: heading cell %q without scope", name, e.text)
				}
			case "svg":
				if e.attr["aria-label"] == "" || e.attr["role"] == "" {
					t.Errorf("%s: a figure without role or label", name)
				}
			case "title":
				if strings.TrimSpace(e.text) == "" && name != "empty public" {
					t.Errorf("%s: an empty title", name)
				}
			}
			if e.attr["class"] == "pt" && (e.attr["tabindex"] != "0" || e.attr["aria-label"] == "") {
				t.Errorf("%s: a mark of the map that no keyboard reaches", name)
			}
		}
		if h1 != 1 || captions != tables {
			t.Errorf("%s: %d h1, %d tables, %d captions", name, h1, tables, captions)
		}
	}
}

// TestPagesAskForNothing: no element and no style that makes a browser fetch.
func TestPagesAskForNothing(t *testing.T) {
	all := pages(t)
	r := example.Hostile()
	all["map"] = report.RUMapSVG(report.MapOf(&r.Columns[0], r.Gate), report.SVGOptions{Standalone: true})
	for name, text := range all {
		list, err := elements(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			switch e.name {
			case "script", "link", "iframe", "img", "image", "object", "embed", "video", "audio", "source", "base", "form", "use", "foreignObject", "input":
				t.Errorf("%s: <%s>", name, e.name)
			case "style":
				for _, bad := range []string{"url(", "@import", "//", "expression"} {
					if strings.Contains(e.text, bad) {
						t.Errorf("%s: style with %s", name, bad)
					}
				}
			}
			for a, v := range e.attr {
				if strings.HasPrefix(a, "on") || a == "src" || a == "srcset" || a == "style" || a == "action" || a == "ping" ||
					a == "href" && !strings.HasPrefix(v, "#") {
					t.Errorf("%s: <%s %s=%q>", name, e.name, a, v)
				}
				if strings.Contains(v, "://") && a != "xmlns" {
					t.Errorf("%s: <%s %s=%q>", name, e.name, a, v)
				}
			}
		}
		if bytes.Contains(text, []byte("<script")) || bytes.Contains(text, []byte("<img")) {
			t.Errorf("%s: a name became markup", name)
		}
	}
}

// TestPageNumbersAreTheJSONs: what the page shows is what the JSON holds, to the
// digits shown, and it says of each number where it is from.
func TestPageNumbersAreTheJSONs(t *testing.T) {
	for name, make := range examples {
		r := make()
		p := r.Public([]string{"sd"})
		compare(t, name, must(t)(r.HTML()), must(t)(r.JSON()), 3)
		compare(t, name+" public", must(t)(p.HTML()), must(t)(p.JSON()), 3)
	}
	r := example.Released()
	// Six moments of two sides for two columns, five figures of utility, risks, …:
	// far fewer would mean that the page lost its numbers.
	compare(t, "released", must(t)(r.HTML()), must(t)(r.JSON()), 120)
}

func compare(t *testing.T, name string, page, text []byte, least int) {
	t.Helper()
	all, err := elements(page)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var document any
	if err := d.Decode(&document); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range all {
		path, ok := e.attr["data-path"]
		if !ok {
			continue
		}
		seen++
		v, err := lookup(document, path)
		if err != nil {
			t.Errorf("%s: %s: %v", name, path, err)
			continue
		}
		raw := fmt.Sprint(v)
		if v == nil {
			raw = "null"
		}
		if raw != e.attr["data-value"] {
			t.Errorf("%s: %s is %s in the JSON, %s in the page", name, path, raw, e.attr["data-value"])
		}
		if !shows(e.text, raw) {
			t.Errorf("%s: %s is %s and the page shows %q", name, path, raw, e.text)
		}
	}
	if seen < least {
		t.Errorf("%s: %d numbers with a place, want at least %d", name, seen, least)
	}
}

// lookup follows a JSON pointer.
func lookup(v any, path string) (any, error) {
	for _, name := range strings.Split(path, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[name]
			if !ok {
				return nil, fmt.Errorf("no member %q", name)
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(node) {
				return nil, fmt.Errorf("no element %q", name)
			}
			v = node[i]
		default:
			return nil, fmt.Errorf("nothing below")
		}
	}
	return v, nil
}

// shows says whether a text is the value rounded to the digits that it shows.
func shows(text, raw string) bool {
	text = strings.NewReplacer("−", "-", ",", "", "\u00a0", "", "⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4",
		"⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9").Replace(text)
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(text, "R = "), "± "))
	switch raw {
	case "null":
		return text == "–"
	case "Infinity":
		return text == "∞"
	case "-Infinity":
		return text == "-∞"
	}
	value, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return false
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		text, value = share, 100*value
	}
	mantissa, exponent, _ := strings.Cut(text, "×10")
	shown, err := strconv.ParseFloat(mantissa, 64)
	if err != nil {
		return false
	}
	// Half of the last digit, and a little for binary fractions.
	half := 0.5
	if _, fraction, ok := strings.Cut(mantissa, "."); ok {
		for range fraction {
			half /= 10
		}
	} else if shown == value {
		return true
	}
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		if err != nil {
			return false
		}
		scale, err := strconv.ParseFloat("1e"+strconv.Itoa(e), 64)
		if err != nil {
			return false
		}
		shown, half = shown*scale, half*scale
	}
	d := shown - value
	return d <= half*1.0001 && -d <= half*1.0001
}

func TestShows(t *testing.T) {
	for _, c := range []struct {
		text, raw string
		want      bool
	}{
		{"28,155", "28155", true}, {"28,155", "28156", false}, {"3.75×10⁻⁵", "3.7499e-05", true}, {"3.75×10⁻⁵", "3.76e-05", false},
		{"87.2\u00a0%", "0.8722", true}, {"87.2\u00a0%", "0.8732", false}, {"∞", "Infinity", true}, {"–", "null", true}, {"0", "null", false},
		{"−7.5", "-7.46", true}, {"± 163", "163.3", true}, {"± 163", "164", false},
	} {
		if got := shows(c.text, c.raw); got != c.want {
			t.Errorf("shows(%q, %s) = %v", c.text, c.raw, got)
		}
	}
}
