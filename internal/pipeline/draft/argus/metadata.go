package argus

import (
	"os"
	"strconv"
	"strings"
)

// kind is what a variable is for.
type kind int

const (
	unknown kind = iota
	code
	number
	weight
	holding
	request
	frequency
	largest
	status
	lower
	upper
	unused // known, and not needed
)

// variable is one of the metadata.
type variable struct {
	name       string
	line       int
	from, wide int // in fixed format: the first place, from 1, and the number of places
	missing    []string
	kind       kind
	numeric    bool // a code that is a value, too
	total      string
	levels     []int
	hierarchy  string // path
	lead       string
	decimals   int // -1: not said
	requests   []string
}

// metadata are those of one file of data.
type metadata struct {
	notes
	table     bool // of finished tables
	separator string
	variables []*variable
	statuses  map[string]byte // s, u, p or e, an empty cell
}

// find returns a variable by its name, in which case does not count.
func (m *metadata) find(name string) *variable {
	for _, v := range m.variables {
		if strings.EqualFold(v.name, name) {
			return v
		}
	}
	return nil
}

// of returns the variables of a kind.
func (m *metadata) of(k kind) (found []*variable) {
	for _, v := range m.variables {
		if v.kind == k {
			found = append(found, v)
		}
	}
	return found
}

// readMetadata reads an .rda file.
func readMetadata(path string, table bool, list *[]Note) (*metadata, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &metadata{notes: notes{path, list}, table: table,
		statuses: map[string]byte{"S": 's', "U": 'u', "P": 'p', "E": 'e'}}
	if table {
		m.separator = ";"
	}
	for i, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case line[0] == '<':
			end := strings.IndexByte(line, '>')
			if end < 0 {
				m.wrong(i+1, "a keyword must end with >")
				continue
			}
			m.keyword(strings.ToUpper(line[1:end]), words(line[end+1:]), i+1)
		default:
			m.declare(words(line), i+1)
		}
	}
	for _, v := range m.variables {
		if v.kind == unknown && v.numeric {
			v.kind = number
		}
	}
	return m, nil
}

// declare reads the line of a variable: its name, its place in fixed format, its width, and the codes of missing
// values.
func (m *metadata) declare(fields []string, line int) {
	v := &variable{name: fields[0], line: line, decimals: -1, lead: ".", total: "Total"}
	if m.find(v.name) != nil {
		m.wrong(line, "variable %s is there twice", v.name)
	}
	m.variables = append(m.variables, v)
	rest := fields[1:]
	take := func(what string) (n int) {
		if len(rest) == 0 {
			m.wrong(line, "variable %s has no %s", v.name, what)
			return 1
		}
		n, err := strconv.Atoi(rest[0])
		if err != nil || n < 1 {
			m.wrong(line, "the %s of variable %s must be a whole number above 0", what, v.name)
			n = 1
		}
		rest = rest[1:]
		return n
	}
	if !m.table {
		if m.separator == "" {
			v.from = take("place")
		}
		v.wide = take("width")
	}
	for _, code := range rest {
		if code != "" {
			v.missing = append(v.missing, code)
		}
	}
}

// keyword reads one line about the last variable, or about the file.
func (m *metadata) keyword(word string, fields []string, line int) {
	first := ""
	if len(fields) > 0 {
		first = fields[0]
	}
	switch word {
	case "SEPARATOR":
		if len(first) != 1 {
			m.wrong(line, "the separator must be one character, such as \";\"")
			return
		}
		if len(m.variables) > 0 && !m.table {
			m.wrong(line, "<SEPARATOR> must stand before the variables")
		}
		m.separator = first
		return
	case "SPSS":
		m.wrong(line, "files of SPSS are not read; export the records as text")
		return
	case "SAFE", "UNSAFE", "PROTECT":
		for text, s := range m.statuses {
			if s == map[string]byte{"SAFE": 's', "UNSAFE": 'u', "PROTECT": 'p'}[word] {
				delete(m.statuses, text)
			}
		}
		m.statuses[first] = map[string]byte{"SAFE": 's', "UNSAFE": 'u', "PROTECT": 'p'}[word]
		return
	}
	if len(m.variables) == 0 {
		m.wrong(line, "<%s> stands before the first variable", word)
		return
	}
	m.property(m.variables[len(m.variables)-1], word, first, fields, line)
}

// property reads a line about a variable.
func (m *metadata) property(v *variable, word, first string, fields []string, line int) {
	is := func(k kind) {
		if v.kind != unknown && v.kind != k {
			m.wrong(line, "variable %s cannot be this beside what a line before says", v.name)
		}
		v.kind = k
	}
	switch word {
	case "RECODEABLE", "RECODABLE":
		is(code)
	case "NUMERIC":
		v.numeric = true
		switch strings.ToUpper(first) {
		case "":
		case "<LOWERPL>":
			is(lower)
		case "<UPPERPL>":
			is(upper)
		case "<SHADOW>", "<COST>", "<COSTVAR>":
			is(unused)
		default:
			m.wrong(line, "%q behind <NUMERIC> is not known", first)
		}
	case "WEIGHT":
		is(weight)
	case "HOLDING":
		is(holding)
	case "REQUEST":
		is(request)
		v.requests = fields
	case "FREQUENCY":
		is(frequency)
	case "MAXSCORE":
		is(largest)
	case "STATUS":
		is(status)
	case "TOTCODE":
		v.total = first
	case "DECIMALS":
		n, err := strconv.Atoi(first)
		if err != nil || n < 0 || n > 9 {
			m.wrong(line, "the number of decimals must be 0 to 9")
			return
		}
		v.decimals = n
	case "HIERARCHICAL":
	case "HIERLEVELS":
		at := 0
		for _, f := range fields {
			n, err := strconv.Atoi(f)
			if err != nil || n < 0 {
				m.wrong(line, "<HIERLEVELS> must be whole numbers")
				return
			}
			if n > 0 {
				at += n
				v.levels = append(v.levels, at)
			}
		}
	case "HIERCODELIST":
		v.hierarchy = beside(m.file, first)
	case "HIERLEADSTRING":
		v.lead = first
	case "MISSING":
		v.missing = append(v.missing, fields...)
	case "CODELIST", "DISTANCE", "TRUNCABLE":
		m.warn(line, "<%s> is not used: %s", word,
			map[string]string{"CODELIST": "tables have codes, not their labels", "DISTANCE": "costs do not go by distance",
				"TRUNCABLE": "it only says what may be recoded"}[word])
	case "RECORDKEY", "PFILE", "PFILE_FREQ", "PFILE_CONT", "PFILE_SEP", "CKM", "INCLUDEZEROS", "PARITY", "SCALING",
		"SEPARATION":
		if word == "RECORDKEY" {
			is(unused)
		}
		m.warn(line, "<%s> is not used: it is about cell keys", word)
	default:
		m.wrong(line, "<%s> is not known", word)
	}
}
