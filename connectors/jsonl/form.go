package jsonl

import (
	"bytes"
	"fmt"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/members"
)

// declare is of connectors.SourceConfigAbilities: an input without records has the listed columns.
func (c *SourceConfig) declare(columns []connectors.DeclaredColumn, _, _ bool) {
	c.listed = c.listed[:0]
	for _, column := range columns {
		c.listed = append(c.listed, column.Name)
	}
}

// list makes columns of the listed names, in their order.
func (n *node) list(names []string) {
	for i, name := range names {
		at := place{chunk: 1<<61 + int64(i)} // before those of which only the type is declared
		for k := n.at(name); k != n; k = k.parent {
			if at.compare(k.first) < 0 {
				k.first = at
			}
		}
	}
}

// otherForm is the error for a file whose beginning p has another form of JSON; nil if it has none that is
// known. An input is taken for one of them only if fewer than half of its lines are objects: otherwise the
// lines that are not go to quarantine.
func otherForm(p []byte) error {
	var first []byte
	line := 0
	lines(p, func(r, from, to int) {
		if r == 0 {
			line = 1 + bytes.Count(p[:from], []byte{'\n'})
			first, p = p[from:to], p[from:]
		}
	})
	if line == 0 {
		return nil
	}
	const object, cure = "JSON Lines has one object a line", "makes JSON Lines of it"
	end := members.SkipValue(p, 0, 0)
	switch {
	case first[0] == '[':
		return fmt.Errorf("line %d: the file is a JSON array, and %s; jq -c '.[]' FILE %s", line, object, cure)
	case first[0] != '{' || end < 0:
		return nil
	case end > len(first):
		return fmt.Errorf("line %d: the object goes on in the next line, and %s; jq -c . FILE %s", line, object, cure)
	}
	if next := members.Space(first, end); next < len(first) && (first[next] == '{' || first[next] == ',') {
		return fmt.Errorf("line %d: one object follows the other, and %s; jq -c . FILE %s", line, object, cure)
	}
	return nil
}
