package draft

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Listed is a column as the configuration lists it.
type Listed struct {
	*Column
	Guess
}

// List gives the columns of a look with their guessed roles.
func (l *Look) List() []Listed {
	var listed []Listed
	for i := range l.Columns {
		listed = append(listed, Listed{&l.Columns[i], l.GuessRole(&l.Columns[i])})
	}
	return listed
}

// Draft is what a configuration is written from.
type Draft struct {
	Name         string // of the pipeline
	Source, Sink string // as YAML in flow style: {csv: {path: a.csv}}
	Guessed      bool   // options of the source were guessed from its content
	Looked       string // how much of the source was read
	Listed       []Listed
	Stream       bool // the source is a topic, whose records are masked as they come
	Rare         int  // members of messages that are not listed because few messages have them
}

// roles is the comment in the configuration that explains the roles.
const roles = `#   identifier  never leaves, but must exist
#   key         what a snooper may know of a respondent from elsewhere
#   sensitive   what a snooper is after
#   other       leaves, neither of these`

// Write returns the configuration. It is valid as it is, but the gate withholds a run with it:
// its rules on sensitive columns hold only if these are masked.
func (d *Draft) Write() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# A first configuration, made by looking at the data (%s).", d.Looked)
	line("# The roles are guesses: read them, then choose masks and what the gate demands.")
	line("#")
	line("#   sdlfilter keygen --out release.key     once; whoever has the key can undo the masks")
	line("#   sdlfilter validate FILE                says what is wrong, all at once")
	line("#   sdlfilter preview FILE                 the first rows as they would leave")
	line("#   sdlfilter map FILE                     which mask, and how much of it")
	line("version: 1")
	line("name: %s", scalar(d.Name))
	line("key: {file: release.key}")
	if id := d.identity(); id != "" {
		line("# With it, the same value of the same respondent is masked alike in every release:")
		line("# identity: [%s]", id)
	}
	if h := d.using(householdID); h != "" {
		line("# The risk by the whole record then takes the members of a household together:")
		line("# household: %s", h)
	}
	if w := d.using(weights); w != "" { // a value in each record
		line("# How many persons of the population a record stands for. No noise is put on it: an exact weight tells records apart,")
		line("# so round it, or calibrate it behind the masks.")
		line("weight: %s", w)
	}
	if d.Guessed {
		line("# How its text is to be read was guessed from its content: compare `sdlfilter preview` with the file.")
	}
	line("source: %s", d.Source)
	line("")
	line("# The columns that may leave, and what they are; nothing else leaves.")
	line("%s", roles)
	line("columns:")
	d.columns(line)
	if d.Rare > 0 {
		line("  # fewer than one in twenty messages have one of %d further members: list those that are columns", d.Rare)
	}
	line("unlisted: fail")
	line("")
	d.masks(line)
	line("")
	line("sink: %s", d.Sink)
	line("")
	d.gate(line)
	line("report: {json: %s, html: %s}", scalar(d.Name+".report.json"), scalar(d.Name+".report.html"))
	return b.String()
}

func (d *Draft) columns(line func(string, ...any)) {
	wide := 0
	for _, c := range d.Listed {
		wide = max(wide, len(scalar(c.Field.Name)))
	}
	for _, c := range d.Listed {
		unsure := ""
		if c.Unsure {
			unsure = "PLEASE CHECK: "
		}
		line("  # %s%s%s", unsure, oneLine.Replace(c.Why), missing(c.Column, d.records()))
		codes := ""
		if declared := c.declared(); declared != "" {
			codes = ", missing: " + declared
			line("  # PLEASE CHECK: %d records have what looks like a code for a missing value; leave out of `missing` what is a value", c.Coded)
		}
		line("  %-*s {role: %s%s%s}", wide+1, scalar(c.Field.Name)+":", c.Role, codes, c.options(d.Stream))
	}
}

// oneLine keeps the name of a nested type's member from ending a comment.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ", "\u0085", " ", "\u2028", " ", "\u2029", " ")

// options returns what a column needs in addition to its role for the configuration to be valid
// before a mask is chosen.
func (c Listed) options(stream bool) string {
	decimals := ""
	if stream && c.Field.Numeric() && c.Decimals >= 0 {
		decimals = fmt.Sprintf(", decimals: %d", c.Decimals) // a stream cannot find them in a first pass
	}
	if c.Role == microdata.Sensitive {
		return decimals + ", unmasked: true"
	}
	return decimals
}

func missing(c *Column, records int) string {
	if n := records - c.Values - c.left; n > 0 && c.Values > 0 {
		return fmt.Sprintf("; %.3g %% without a value", 100*float64(n)/float64(records))
	}
	return ""
}

// records returns the greatest number of values of any column.
func (d *Draft) records() int {
	n := 0
	for _, c := range d.Listed {
		n = max(n, c.Values+c.left)
	}
	return n
}

// identity returns the first identifier that has a value in every record and differs between
// nearly all of them; "" if there is none.
func (d *Draft) identity() string {
	for _, c := range d.Listed {
		if c.Role == microdata.Identifier && !c.Unsure && c.Values == d.records() && (c.Capped || c.share() >= nearlyAll) {
			return scalar(c.Field.Name)
		}
	}
	return ""
}

// using returns the first column of a use; "" if there is none.
func (d *Draft) using(what use) string {
	for _, c := range d.Listed {
		if c.Use == what && (what != weights || c.Role != microdata.Sensitive && c.Values == d.records()) {
			return scalar(c.Field.Name)
		}
	}
	return ""
}

// of returns the columns of a role; with numeric, only numeric ones.
func (d *Draft) of(role microdata.Role, numeric bool) []Listed {
	var list []Listed
	for _, c := range d.Listed {
		if c.Role == role && (!numeric || c.Field.Numeric()) {
			list = append(list, c)
		}
	}
	return list
}

func names(list []Listed) string {
	var out []string
	for _, c := range list {
		out = append(out, scalar(c.Field.Name))
	}
	return strings.Join(out, ", ")
}

func (d *Draft) masks(line func(string, ...any)) {
	sensitive := d.of(microdata.Sensitive, true)
	line("# Masks, in the order in which they apply. Take the # away from what is to be used, and")
	line("# `unmasked: true` from its columns; `sdlfilter map` finds amounts that fit the gate.")
	line("# masks:")
	if len(sensitive) == 0 {
		line("#   - noise: {columns: [COLUMN], sd: 20%%}     # %% of the column's standard deviation, or a number in its unit")
		return
	}
	all := names(sensitive)
	line("#   - bias:     {columns: [%s], range: 0.05}     # each value times 1 ± about 5 %%", all)
	amount := "20%     # % of the column's standard deviation, or a number in its unit"
	if d.Stream {
		amount = "AMOUNT     # in the column's unit; a percentage of its standard deviation needs a profile"
	}
	number, comment, _ := strings.Cut(amount, " ")
	line("#   - noise:    {columns: [%s], sd: %s} %s", all, number, comment)
	var positive []Listed
	for _, c := range sensitive {
		if !c.Negative {
			positive = append(positive, c)
		}
	}
	if len(positive) > 0 {
		line("#   - truncate: {columns: [%s], lower: 0}     # no value below 0 was seen", names(positive))
	}
	if keys := d.of(microdata.Key, false); len(keys) >= 2 {
		line("#   - swap:     {keys: [%s], attribute: %s, columns: [%s], rate: 0.1}", names(keys[1:min(3, len(keys))]), scalar(keys[0].Field.Name), all)
	}
}

func (d *Draft) gate(line func(string, ...any)) {
	sensitive, keys := d.of(microdata.Sensitive, true), d.of(microdata.Key, true)
	line("# What must hold for the release to leave. As long as nothing is masked, nothing does.")
	if len(sensitive)+len(keys) == 0 {
		line("# gate:")
		line("#   rules:")
		line("#     - {column: COLUMN, knowledge: index, min_rmse: 100}   # nobody's value is known to better than 100 by linking")
		return
	}
	if len(keys) > 0 {
		line("assess: {keys: [%s]}     # what a snooper links by", names(keys))
	}
	line("gate:")
	line("  rules:")
	for _, c := range sensitive {
		name := scalar(c.Field.Name)
		line("    - {column: %s, max_unchanged: 0.05}     # at most 5 %% of the values leave as they are", name)
		line("    - {column: %s, min_efficiency: 0.8}     # the mean stays as precise as that of 80 %% of the records", name)
		line("    # - {column: %s, knowledge: index, min_rmse: 100}     # in the column's unit: known to no better than ± 100 by linking", name)
	}
	if d.Stream {
		line("    # whether a respondent is found again is in the final report alone: a stream releases before")
		return
	}
	if len(keys) > 0 {
		line("    - {max_linked: 0.05}     # at most 5 %% of the records are found again by their keys")
	}
	line("    # - {min_k: 3}     # every combination of the keys is shared by 3 records")
}

// scalar writes a name as YAML on one line, in quotes if necessary.
func scalar(name string) string {
	text, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name})
	out := strings.TrimRight(string(text), "\n")
	if err != nil || strings.ContainsAny(out, "\n\r,[]{}#:") {
		return fmt.Sprintf("%q", name)
	}
	return out
}
