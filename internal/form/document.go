package form

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

// Document is a text and its nodes: where each begins and ends, which the YAML
// library tells half of. It is for changing a part of a file and leaving every
// other byte as it is. What it finds must be checked by reading the changed text
// again; it does not know every way to write YAML.
type Document struct {
	text  []byte
	eol   string
	lines []int // offsets at which lines begin, in the library's count of lines
	root  *yaml.Node
}

// At returns the node that the steps lead to; nil where they lead nowhere.
func (d *Document) At(steps ...Step) *yaml.Node { return Follow(d.root, steps...) }

// Edited is the text with edits that do not overlap.
func (d *Document) Edited(edits ...Edit) string { return d.edited(0, len(d.text), edits) }

// NewDocument reads a text; file is the name that errors, of type Errors, give it.
func NewDocument(file string, text []byte) (*Document, error) {
	root, errs := new(Dialect).parse(file, text)
	if len(errs) > 0 {
		return nil, errs.Sorted()
	}
	d := &Document{text: text, eol: "\n", root: root, lines: []int{0}}
	if bytes.Contains(text, []byte("\r\n")) {
		d.eol = "\r\n"
	}
	at := 0
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		at = len("\ufeff")
		d.lines[0] = at
	}
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		at += size
		if r == '\r' && at < len(text) && text[at] == '\n' {
			at++
		}
		switch r {
		case '\n', '\r', '\u0085', '\u2028', '\u2029':
			d.lines = append(d.lines, at)
		}
	}
	return d, nil
}

// start is the offset of a node.
func (d *Document) start(n *yaml.Node) int {
	at := d.lines[min(n.Line, len(d.lines))-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(d.text[at:])
		at += size
	}
	return at
}

// end is the offset behind a node. indent is the column, from 0, of the block
// collection that holds it: what ends a block scalar.
func (d *Document) end(n *yaml.Node, indent int) int {
	at := d.start(n)
	if at >= len(d.text) {
		return at
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		return d.endOfCollection(n, at)
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for at++; at < len(d.text) && d.text[at] != '"'; at++ {
			if d.text[at] == '\\' {
				at++
			}
		}
		return min(at+1, len(d.text))
	case n.Style&yaml.SingleQuotedStyle != 0:
		for at++; at < len(d.text); at++ {
			if d.text[at] != '\'' {
				continue
			}
			if at+1 == len(d.text) || d.text[at+1] != '\'' {
				return at + 1
			}
			at++
		}
		return at
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return d.endOfBlockScalar(at, indent)
	}
	return d.endOfPlain(n.Value, at)
}

// endOfPlain follows a plain scalar, in whose text a line end with indentation
// may stand for a space of the value.
func (d *Document) endOfPlain(value string, at int) int {
	for _, r := range value {
		if r == ' ' || r == '\t' || r == '\n' {
			for at < len(d.text) && strings.IndexByte(" \t\r\n", d.text[at]) >= 0 {
				at++
			}
			continue
		}
		at += utf8.RuneLen(r)
	}
	return min(at, len(d.text))
}

// endOfBlockScalar goes to the end of the last line that belongs to a scalar
// whose | or > is at the offset.
func (d *Document) endOfBlockScalar(at, indent int) int {
	line := sort.SearchInts(d.lines, at+1) // the one after that of the offset
	end := d.lineEnd(at)
	for ; line < len(d.lines); line++ {
		text := d.text[d.lines[line]:d.lineEnd(d.lines[line])]
		switch spaces := len(text) - len(bytes.TrimLeft(text, " ")); {
		case len(bytes.TrimSpace(text)) == 0:
		case spaces > indent:
			end = d.lines[line] + len(text)
		default:
			return end
		}
	}
	return end
}

func (d *Document) endOfCollection(n *yaml.Node, at int) int {
	open := d.text[at]
	if n.Style&yaml.FlowStyle == 0 || open != '[' && open != '{' {
		return d.end(n.Content[len(n.Content)-1], n.Column-1)
	}
	at++
	if len(n.Content) > 0 {
		at = d.end(n.Content[len(n.Content)-1], 0)
	}
	for at < len(d.text) {
		switch d.text[at] {
		case ']', '}':
			return at + 1
		case '#':
			at = d.lineEnd(at)
		default:
			at++
		}
	}
	return at
}

// lineEnd is the offset of the line end at or after an offset.
func (d *Document) lineEnd(at int) int {
	end := len(d.text)
	if line := sort.SearchInts(d.lines, at+1); line < len(d.lines) {
		end = d.lines[line]
	}
	return max(at, len(bytes.TrimRight(d.text[:end], "\r\n\u0085\u2028\u2029")))
}

// Edit is a stretch of a text and what takes its place.
type Edit struct {
	start, end int
	text       string
}

// edited returns the stretch of the text from start to end with edits that lie in
// it and do not overlap.
func (d *Document) edited(start, end int, edits []Edit) string {
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.start - b.start })
	var b strings.Builder
	for _, e := range edits {
		b.Write(d.text[start:e.start])
		b.WriteString(e.text)
		start = e.end
	}
	b.Write(d.text[start:end])
	return b.String()
}

// Set returns the edit that gives a member of a mapping, which must not be empty, the text as its
// value; the member need not exist. text is a scalar; isText reports that it needs quotes in JSON.
func (d *Document) Set(mapping *yaml.Node, name, text string, isText bool) Edit {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if key.Value != name {
			continue
		}
		start, end := d.start(value), d.end(value, mapping.Column-1)
		switch {
		case !isText:
		case value.Style&yaml.DoubleQuotedStyle != 0, key.Style&yaml.DoubleQuotedStyle != 0:
			text = quote(text)
		case value.Style&yaml.SingleQuotedStyle != 0:
			text = "'" + text + "'"
		}
		if start == end && start > 0 && d.text[start-1] == ':' {
			text = " " + text
		}
		return Edit{start, end, text}
	}
	first, last := mapping.Content[0], mapping.Content[len(mapping.Content)-1]
	json := first.Style&yaml.DoubleQuotedStyle != 0
	if json {
		name = quote(name)
		if isText {
			text = quote(text)
		}
	}
	return d.add(mapping, d.end(last, mapping.Column-1), name+": "+text)
}

// add returns the edit that appends a member to a mapping whose last member ends
// at the offset.
func (d *Document) add(mapping *yaml.Node, end int, member string) Edit {
	if mapping.Style&yaml.FlowStyle != 0 {
		return Edit{end, end, ", " + member}
	}
	end = d.lineEnd(end)
	return Edit{end, end, d.eol + strings.Repeat(" ", mapping.Column-1) + member}
}
