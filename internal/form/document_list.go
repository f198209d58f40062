package form

import (
	"bytes"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// stretch is the part of the text that a list takes: what is in brackets, or
// whole lines from the first dash on, with the comment behind the last element.
func (d *Document) stretch(list *yaml.Node) (start, end int) {
	start, end = d.start(list), d.end(list, 0)
	if !flow(list) {
		end = d.lineEnd(end)
	}
	return start, end
}

// ListText is the text of a list with edits that lie in it.
func (d *Document) ListText(list *yaml.Node, edits ...Edit) string {
	start, end := d.stretch(list)
	return d.edited(start, end, edits)
}

func flow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

// indented moves the lines of a block from one column to another.
func indented(block string, from, to int) string {
	lines := strings.SplitAfter(block, "\n")
	for i, line := range lines[1:] {
		if strings.TrimSpace(line) == "" {
			continue
		}
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		lines[i+1] = strings.Repeat(" ", to) + line[min(spaces, from):]
	}
	return strings.Join(lines, "")
}

// ReplaceList returns the edit that puts the text of a list elsewhere in the document
// in place of the top-level field of that name, which may be missing.
func (d *Document) ReplaceList(field string, list *yaml.Node, text string) Edit {
	if !flow(list) {
		text = indented(text, list.Column-1, 0)
	}
	old := child(d.root, Step{Name: field})
	if old == nil {
		last := d.root.Content[len(d.root.Content)-1]
		name := field + ": "
		switch {
		case d.root.Content[0].Style&yaml.DoubleQuotedStyle != 0:
			name = quote(field) + ": "
		case !flow(list):
			name, text = field+":", d.eol+"  "+indented(text, 0, d.root.Column+1)
		}
		return d.add(d.root, d.end(last, d.root.Column-1), name+text)
	}
	var start, end int
	if old.Kind == yaml.SequenceNode {
		start, end = d.stretch(old)
	} else { // a settings' list over no list of the file's
		start, end = d.start(old), d.end(old, d.root.Column-1)
	}
	column := old.Column - 1
	switch block := old.Kind == yaml.SequenceNode && !flow(old); {
	case flow(list) && block && column == d.root.Column-1:
		text = "  " + text // what is in brackets must be indented, dashes need not
	case flow(list) && start > 0 && d.text[start-1] == ':':
		text = " " + text
	case flow(list):
	case block:
		text = indented(text, 0, column)
	case len(bytes.TrimSpace(d.text[d.lines[old.Line-1]:start])) == 0: // a line of its own
		text = indented(text, 0, column)
	default:
		start = len(bytes.TrimRight(d.text[:start], " \t"))
		comment := string(d.text[end:d.lineEnd(end)])
		end += len(comment)
		text = comment + d.eol + strings.Repeat(" ", d.root.Column+1) + indented(text, 0, d.root.Column+1)
	}
	return Edit{start, end, text}
}

// SameBut reports whether two documents say the same except for a top-level field.
func SameBut(a, b *Document, field string) bool {
	without := func(root *yaml.Node) *yaml.Node {
		rest := *root
		rest.Content = nil
		for i := 0; i+1 < len(root.Content); i += 2 {
			if root.Content[i].Value != field {
				rest.Content = append(rest.Content, root.Content[i], root.Content[i+1])
			}
		}
		return &rest
	}
	return sameNodes(without(a.root), without(b.root))
}

func sameNodes(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.Tag == b.Tag && a.Style == b.Style &&
		slices.EqualFunc(a.Content, b.Content, sameNodes)
}
