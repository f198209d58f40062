package argus

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// input is a file of records, or of cells of finished tables, with its metadata.
type input struct {
	path string
	line int
	*metadata
}

// table is one <SPECIFYTABLE> with what other lines say of it.
type table struct {
	line      int
	in        *input
	rows      []*variable
	value     *variable // nil: counts
	cost      string
	ruled     bool     // a line with rules was there, if without one
	rules     []string // as a configuration has them
	percent   float64  // protection of rules without a formula
	manual    bool     // MAN gave it
	absolute  float64
	zeros     bool
	weighted  bool
	holdings  bool
	requested bool
	protect   string
	protected int // the line
	apriori   [][]string
}

// batch is a batch file.
type batch struct {
	notes
	path   string
	inputs []*input
	tables []*table
	out    string // what the first <WRITETABLE> calls its file
	jj     string
	read   bool // <READMICRODATA> or <READTABLE> was there
}

// readBatch reads a batch file and the metadata that it names.
func readBatch(path string, list *[]Note) (*batch, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &batch{notes: notes{path, list}, path: path}
	for i, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "\\\\") ||
			strings.HasPrefix(strings.ToUpper(line), "<COMMENT>") {
			continue
		}
		end := strings.IndexByte(line, '>')
		if line[0] != '<' || end < 0 {
			b.wrong(i+1, "must begin with a keyword such as <SUPPRESS>")
			continue
		}
		rest := strings.TrimSpace(line[end+1:])
		if n, _, comment := strings.Cut(rest, "//"); comment && strings.Count(n, "\"")%2 == 0 {
			rest = strings.TrimSpace(n)
		}
		b.command(strings.ToUpper(line[1:end]), rest, i+1)
	}
	if len(b.tables) == 0 {
		b.wrong(0, "has no <SPECIFYTABLE>")
	} else if !b.read {
		b.warn(0, "has neither <READMICRODATA> nor <READTABLE>: the tables are made all the same")
	}
	return b, nil
}

// command reads one line.
func (b *batch) command(word, rest string, line int) {
	switch word {
	case "OPENMICRODATA", "OPENTABLEDATA":
		b.open(word == "OPENTABLEDATA", rest, line)
	case "OPENMETADATA":
		b.describe(rest, line)
	case "SPECIFYTABLE":
		b.specify(rest, line)
	case "SAFETYRULE":
		if len(b.tables) == 0 || b.tables[len(b.tables)-1].ruled {
			b.wrong(line, "<SAFETYRULE> must follow a <SPECIFYTABLE>")
			return
		}
		b.safety(b.tables[len(b.tables)-1], rest, line)
	case "READMICRODATA":
		b.read = true
	case "READTABLE":
		b.read = true
		if rest != "" && rest[0] != '0' {
			b.warn(line, "totals are not computed, and must be the sums of their parts: else the run ends with status 2")
		}
	case "APRIORI", "APRIORY":
		b.listed(rest, line)
	case "SUPPRESS":
		b.suppress(rest, line)
	case "WRITETABLE":
		b.write(rest, line)
	case "RECODE":
		b.wrong(line,
			"a recoding is not carried out, and without it the tables would show more: recode the records, or give a hierarchy without these codes")
	case "CLEAR":
		b.wrong(line, "must be a batch file of its own from here: a configuration is one set of tables")
	case "COVER", "ANCO", "JJ":
		b.wrong(line, "<%s> is not known", word)
	case "SOLVER", "LOGBOOK", "VERSIONINFO", "SILENT", "GOINTERACTIVE":
		b.warn(line, "<%s> is not needed", word)
	default:
		b.wrong(line, "<%s> is not known", word)
	}
}

// open names the next data.
func (b *batch) open(table bool, rest string, line int) {
	if len(b.inputs) > 0 && (!table || !b.inputs[0].table) {
		b.wrong(line, "must be the only data: only files of finished tables can be several")
	}
	b.inputs = append(b.inputs,
		&input{path: beside(b.path, unquoted(rest)), line: line, metadata: &metadata{table: table}})
}

// describe reads the metadata of the last data.
func (b *batch) describe(rest string, line int) {
	if len(b.inputs) == 0 || len(b.inputs[len(b.inputs)-1].variables) > 0 {
		b.wrong(line, "<OPENMETADATA> must follow <OPENMICRODATA> or <OPENTABLEDATA>")
		return
	}
	in := b.inputs[len(b.inputs)-1]
	m, err := readMetadata(beside(b.path, unquoted(rest)), in.table, b.list)
	if err != nil {
		b.wrong(line, "the metadata cannot be read: %v", err)
		return
	}
	in.metadata = m
}

// specify reads "Size""Region"|"Turnover"|shadow|cost,lambda.
func (b *batch) specify(rest string, line int) {
	t := &table{line: line}
	b.tables = append(b.tables, t)
	if len(b.inputs) == 0 {
		b.wrong(line, "<SPECIFYTABLE> must follow the data and their metadata")
		return
	}
	t.in = b.inputs[len(b.inputs)-1]
	fields := cut(rest, '|')
	fields = append(fields, "", "", "", "")
	for _, name := range words(fields[0]) {
		v := t.in.find(name)
		switch {
		case v == nil || v.kind != code:
			b.wrong(line, "%q is no variable of codes (<RECODEABLE>)", name)
		case slices.Contains(t.rows, v):
			b.wrong(line, "%q is there twice", name)
		default:
			t.rows = append(t.rows, v)
		}
	}
	response := unquoted(fields[1])
	if !strings.EqualFold(response, "<freq>") {
		if v := t.in.find(response); v != nil && v.numeric {
			t.value = v
		} else {
			b.wrong(line, "%q is no numeric variable", response)
		}
	}
	if shadow := unquoted(fields[2]); shadow != "" && !strings.EqualFold(shadow, response) {
		b.wrong(line, "a shadow variable is not possible: the rules judge the value itself, and %q could ask for more",
			shadow)
	}
	b.costs(t, fields[3], fields[4], response, line)
}

// costs says which cost of a configuration is that of a table. Costs do not bear on protection.
func (b *batch) costs(t *table, field, lambda, response string, line int) {
	parts := append(cut(field, ','), "")
	if lambda == "" {
		lambda = parts[1]
	}
	switch cost := unquoted(parts[0]); {
	case cost == "-2":
		t.cost = "unit"
	case cost == "" || strings.EqualFold(cost, response) || cost == "-1" && t.value == nil:
		t.cost = "value"
	default:
		t.cost = "value"
		b.warn(line,
			"the cost %q is not possible: cells are held back by their value; the column cost of an a-priori list can say another", cost)
	}
	switch power, err := strconv.ParseFloat(unquoted(lambda), 64); {
	case lambda == "" || err == nil && power == 1:
	case err == nil && power == 0 && t.cost == "value":
		t.cost = "log"
	default:
		b.warn(line, "a power of costs is not possible: the costs are taken as they are")
	}
}

// arguments reads "NAME(1, 2)": the numbers must be numbers.
func (b *batch) arguments(text string, line int) (name string, args []float64, ok bool) {
	name, inside, found := strings.Cut(text, "(")
	inside, behind, closed := strings.Cut(inside, ")")
	if !found || !closed || strings.TrimSpace(behind) != "" {
		b.wrong(line, "must be of the form NAME(numbers), got %q", text)
		return "", nil, false
	}
	for _, field := range cut(inside, ',') {
		if field == "" {
			args = append(args, 0)
			continue
		}
		n, err := strconv.ParseFloat(unquoted(field), 64)
		if err != nil {
			b.wrong(line, "%q must be a number", field)
			return "", nil, false
		}
		args = append(args, n)
	}
	return strings.ToUpper(strings.TrimSpace(name)), args, true
}

// at returns the table with a number.
func (b *batch) at(number float64, line int) *table {
	if i := int(number); float64(i) == number && i >= 1 && i <= len(b.tables) {
		return b.tables[i-1]
	}
	b.wrong(line, "there is no such table")
	return nil
}

// listed reads "file", table, "separator", ignore errors, expand.
func (b *batch) listed(rest string, line int) {
	f := append(cut(rest, ','), "", "", "")
	number, err := strconv.Atoi(f[1])
	if err != nil {
		b.wrong(line, "must be \"file\", number of the table, \"separator\"")
		return
	}
	t := b.at(float64(number), line)
	separator := strings.Trim(f[2], "\"")
	if t == nil {
		return
	}
	if len(separator) != 1 {
		b.wrong(line, "the separator of the a-priori list must be one character in quotation marks")
		return
	}
	path := beside(b.path, unquoted(f[0]))
	text, err := os.ReadFile(path)
	if err != nil {
		b.wrong(line, "the a-priori list cannot be read: %v", err)
		return
	}
	for i, l := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(l) == "" {
			continue
		}
		var row []string
		for _, field := range cut(l, separator[0]) {
			row = append(row, unquoted(field))
		}
		if slices.ContainsFunc(row, func(field string) bool { return strings.ContainsAny(field, ";\"\r\n") }) {
			b.wrong(line, "line %d of the a-priori list has a code with ; or a quotation mark", i+1)
			continue
		}
		t.apriori = append(t.apriori, row)
	}
	if len(f) > 4 && f[4] == "1" {
		b.warn(line,
			"changes of a cell are not made to those with the same contributors above and below it; the sums join them")
	}
}

// write reads (table, type, options, "file").
func (b *batch) write(rest string, line int) {
	f := append(cut(strings.TrimSuffix(strings.TrimPrefix(rest, "("), ")"), ','), "", "", "", "")
	number, err := strconv.Atoi(f[0])
	if err != nil || b.at(float64(number), line) == nil {
		if err != nil {
			b.wrong(line, "must be (number of the table, type, options, \"file\")")
		}
		return
	}
	name := filepath.Base(strings.ReplaceAll(unquoted(f[3]), "\\", "/"))
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if name == "" || name == "." {
		b.wrong(line, "names no file")
		return
	}
	switch f[1] {
	case "6":
		b.jj = name + ".jj"
		b.warn(line, "the cells in the format JJ are one file with all tables: report.jj")
	case "1", "2", "3", "4", "5", "7":
		if b.out == "" {
			b.out = name
		}
		b.warn(line,
			"all tables are one file, %s.csv, with the columns table, codes, value and status; what is confidential is in report.cells", b.out)
	default:
		b.wrong(line, "the type of a table must be 1 to 7")
	}
}
