package postgres

import (
	"errors"
	"fmt"
	"strings"
)

// maxName is the length of a name in bytes, from which on a server cuts names off without
// an error.
const maxName = 63

// table is the name of a table; an empty schema is that of the connection's search path.
type table struct{ schema, name string }

// quoted is the name as it stands in a statement.
func (t table) quoted() string {
	if t.schema == "" {
		return quote(t.name)
	}
	return quote(t.schema) + "." + quote(t.name)
}

// String is the name in messages.
func (t table) String() string {
	if t.schema == "" {
		return "table " + t.name
	}
	return "table " + t.schema + "." + t.name
}

// quote makes an identifier of any name.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal makes a text constant of any text, whatever standard_conforming_strings says.
func literal(text string) string {
	text = strings.ReplaceAll(text, `\`, `\\`)
	return `E'` + strings.ReplaceAll(text, `'`, `\'`) + `'`
}

// parseTable reads NAME or SCHEMA.NAME. A part in double quotes may hold dots; two double
// quotes in it stand for one. Nothing is folded: names are those of the catalogue.
func parseTable(text string) (table, error) {
	var parts []string
	rest := text
	for {
		part, after, err := namePart(rest)
		if err != nil {
			return table{}, err
		}
		parts = append(parts, part)
		if after == "" {
			break
		}
		rest = after[1:] // the dot
	}
	switch len(parts) {
	case 1:
		return table{name: parts[0]}, nil
	case 2:
		return table{schema: parts[0], name: parts[1]}, nil
	}
	return table{}, fmt.Errorf("must be a table or SCHEMA.TABLE, got %q", text)
}

// namePart cuts the first part off a name: what follows it is empty or begins with a dot.
func namePart(text string) (part, after string, err error) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text, '.')
		if end < 0 {
			end = len(text)
		}
		part, after = text[:end], text[end:]
		if strings.Contains(part, `"`) {
			return "", "", fmt.Errorf(`must have a whole part in double quotes or none of it, got %q`, part)
		}
		return part, after, checkName(part)
	}
	var name strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '"':
			name.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == '"':
			name.WriteByte('"')
			i++
		case i+1 < len(text) && text[i+1] != '.':
			return "", "", fmt.Errorf("must have a dot or nothing after the quotes of a part, got %q", text)
		default:
			return name.String(), text[i+1:], checkName(name.String())
		}
	}
	return "", "", fmt.Errorf("must end the quotes that it begins, got %q", text)
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("must name a table: survey, or public.survey")
	case len(name) > maxName:
		return fmt.Errorf("must have names of at most %d bytes, got %q", maxName, name)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("must not hold the character NUL, got %q", name)
	}
	return nil
}
