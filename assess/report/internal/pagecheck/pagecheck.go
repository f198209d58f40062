// Package pagecheck compares what a report's page shows with the report's JSON.
package pagecheck

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Element is one element of a page with the text below it.
type Element struct {
	Name string
	Attr map[string]string
	Text string
	Path string // names of the elements around it
}

// Elements reads a page. Pages are written as well-formed XML, so that a strict parser
// can check them (strict); a browser saves them as HTML.
func Elements(text []byte, strict bool) ([]*Element, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Entity = xml.HTMLEntity
	if !strict {
		d.Strict, d.AutoClose = false, xml.HTMLAutoClose
	}
	var all, open []*Element
	var words bytes.Buffer // all text so far
	var from []int         // where the text of each open element begins
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
			e := &Element{Name: token.Name.Local, Attr: map[string]string{}}
			for _, o := range open {
				e.Path += o.Name + ">"
			}
			for _, a := range token.Attr {
				if _, twice := e.Attr[a.Name.Local]; twice {
					return nil, fmt.Errorf("<%s>: attribute %s is there twice", e.Name, a.Name.Local)
				}
				e.Attr[a.Name.Local] = a.Value
			}
			all, open, from = append(all, e), append(open, e), append(from, words.Len())
		case xml.EndElement:
			k := len(open) - 1
			open[k].Text = string(words.Bytes()[from[k]:])
			open, from = open[:k], from[:k]
		case xml.CharData:
			words.Write(token)
		}
	}
	return all, nil
}

// Compare checks every number of a page that has a place in the JSON (data-path): the
// exact value (data-value), and the text shown, rounded to its digits. It returns the
// number of these and a list of the differences.
func Compare(page, text []byte, strict bool) (seen int, problems []string, err error) {
	all, err := Elements(page, strict)
	if err != nil {
		return 0, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var document any
	if err := d.Decode(&document); err != nil {
		return 0, nil, err
	}
	for _, e := range all {
		path, ok := e.Attr["data-path"]
		if !ok {
			continue
		}
		seen++
		v, err := lookup(document, path)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", path, err))
			continue
		}
		raw := fmt.Sprint(v)
		if v == nil {
			raw = "null"
		}
		if raw != e.Attr["data-value"] {
			problems = append(problems, fmt.Sprintf("%s is %s in the JSON, %s in the page", path, raw, e.Attr["data-value"]))
		}
		if !shows(path, e.Text, raw) {
			problems = append(problems, fmt.Sprintf("%s is %s and the page shows %q", path, raw, e.Text))
		}
	}
	return seen, problems, nil
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

// shows reports whether a text is the value rounded to the digits that it shows. A share may
// be rounded up; the share by which the gate judges the precision is rounded down.
func shows(path, text, raw string) bool {
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
	share, isShare := strings.CutSuffix(text, "%")
	if isShare {
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
	up, down := half, half
	switch {
	case strings.HasSuffix(path, "/efficiency_gate"):
		up, down = 0, 2*half
	case isShare:
		up = 2 * half
	}
	d, little := shown-value, 0.0001*half
	return d <= up+little && -d <= down+little
}
